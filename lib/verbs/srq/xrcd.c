/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * XRC domains, ibv_open_xrcd(3): one for each inode in the process; each call without an inode opens a new one. Control
 * threads.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/stat.h>

#include <rte_common.h>

#include "uroce.h"
#include "uroce_config.h"
#include "verbs/device/context.h"
#include "verbs/device/device.h"
#include "verbs/srq/xrc.h"

/* Under dev->lock. */
static struct uroce_xrc_domain *
find(struct uroce_device *dev, const struct stat *st)
{
	struct uroce_xrc_domain *domain;

	LIST_FOREACH(domain, &dev->xrc_domains, link) {
		if (domain->fd >= 0 && domain->st_dev == st->st_dev && domain->st_ino == st->st_ino)
			return domain;
	}
	return NULL;
}

/* Under dev->lock. @return NULL and errno */
static struct uroce_xrc_domain *
create(struct uroce_device *dev, int fd, const struct stat *st)
{
	struct uroce_xrc_domain *domain = calloc(1, sizeof(*domain));

	if (domain == NULL)
		return NULL;
	domain->fd = -1;
	if (fd != -1) {
		/* the open file keeps its inode number from reuse when it is deleted */
		domain->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (domain->fd < 0) {
			free(domain);
			return NULL;
		}
		domain->st_dev = st->st_dev;
		domain->st_ino = st->st_ino;
	}
	pthread_mutex_init(&domain->lock, NULL);
	LIST_INIT(&domain->targets);
	LIST_INSERT_HEAD(&dev->xrc_domains, domain, link);
	return domain;
}

/* Under dev->lock. */
static void
put(struct uroce_xrc_domain *domain)
{
	if (--domain->opens != 0)
		return;
	LIST_REMOVE(domain, link);
	if (domain->fd >= 0)
		close(domain->fd);
	pthread_mutex_destroy(&domain->lock);
	free(domain);
}

/* Under dev->lock. @return NULL and errno */
static struct uroce_xrc_domain *
get(struct uroce_device *dev, int fd, int oflags)
{
	struct uroce_xrc_domain *domain = NULL;
	struct stat st;

	if (fd != -1) {
		if (fstat(fd, &st) != 0)
			return NULL;
		domain = find(dev, &st);
		if (domain == NULL && !(oflags & O_CREAT)) {
			errno = EAGAIN;		/* as the kernel returns */
			return NULL;
		}
		if (domain != NULL && (oflags & O_CREAT) && (oflags & O_EXCL)) {
			errno = EINVAL;
			return NULL;
		}
	}
	if (domain == NULL)
		domain = create(dev, fd, &st);
	if (domain != NULL)
		domain->opens++;
	return domain;
}

static int
check_init_attr(const struct ibv_xrcd_init_attr *attr)
{
	const uint32_t needed = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;

	if (attr->comp_mask >= IBV_XRCD_INIT_ATTR_RESERVED)
		return EOPNOTSUPP;
	return (attr->comp_mask & needed) == needed ? 0 : EINVAL;
}

struct ibv_xrcd *
uroce_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *init_attr)
{
	struct uroce_device *dev = uroce_device_of(context);
	int ret = check_init_attr(init_attr);
	struct uroce_xrcd *xrcd;

	if (ret != 0) {
		errno = ret;
		return NULL;
	}
	if (!uroce_device_count(dev, &dev->xrcd_count, UROCE_MAX_XRCD)) {
		errno = ENOMEM;
		return NULL;
	}
	xrcd = calloc(1, sizeof(*xrcd));
	if (xrcd != NULL) {
		pthread_mutex_lock(&dev->lock);
		xrcd->domain = get(dev, init_attr->fd, init_attr->oflags);
		pthread_mutex_unlock(&dev->lock);
		xrcd->ibv.context = context;
	}
	if (xrcd == NULL || xrcd->domain == NULL) {
		ret = errno;
		free(xrcd);
		uroce_device_uncount(dev, &dev->xrcd_count);
		errno = ret;
		return NULL;
	}
	uroce_context_get(context);
	return &xrcd->ibv;
}

int
uroce_close_xrcd(struct ibv_xrcd *ibv)
{
	struct uroce_xrcd *xrcd = uroce_xrcd_of(ibv);
	struct ibv_context *context = ibv->context;
	struct uroce_device *dev = uroce_device_of(context);

	/* R47; pairs with the releases in uroce_srq_xrc_fini() and uroce_xrc_handle_destroy() */
	if (__atomic_load_n(&xrcd->refs, __ATOMIC_ACQUIRE) != 0)
		return EBUSY;
	pthread_mutex_lock(&dev->lock);
	put(xrcd->domain);
	pthread_mutex_unlock(&dev->lock);
	free(xrcd);
	uroce_device_uncount(dev, &dev->xrcd_count);
	uroce_context_put(context);
	return 0;
}
