/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates and destroys address handles. Workers only count references, because the release of a path takes locks that
 * a worker must not wait for. A later control call frees a handle that was destroyed with sends in flight. Control
 * threads.
 */

#include <errno.h>

#include <rte_malloc.h>

#include "uroce.h"
#include "uroce_config.h"
#include "mem/pd.h"
#include "verbs/address/ah.h"
#include "verbs/device/congestion.h"
#include "verbs/qp/qp.h"
#include "wire/headers.h"
#include "wire/opcode.h"

LIST_HEAD(ah_list, uroce_ah);

bool
uroce_ah_attr_ok(const struct ibv_ah_attr *attr)
{
	/* RoCE addresses are GIDs. UCX passes flow labels of more than 20 bits, of which the low 20 are used */
	return attr->is_global != 0 && attr->port_num == 1 && attr->grh.sgid_index < UROCE_MAX_GID;
}

static int
ah_init(struct uroce_device *dev, struct uroce_ah *ah, struct ibv_pd *pd, const struct ibv_ah_attr *attr)
{
	/* no QPNs: each send derives its UDP source port from the QPNs at its two ends */
	int ret = -dev->ops.port->path_init(dev, attr, 0, &ah->path);

	if (ret != 0)
		return ret;
	uroce_congestion_mark(dev, &ah->path);
	ah->has_flow_label = (attr->grh.flow_label & UROCE_FLOW_LABEL_MASK) != 0;
	ah->ibv.context = pd->context;
	ah->ibv.pd = pd;
	uroce_pd_get(pd);
	return 0;
}

struct ibv_ah *
uroce_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct uroce_device *dev = uroce_device_of(pd->context);
	struct uroce_ah *ah;
	int ret = EINVAL;

	uroce_ahs_reap(dev);
	if (!uroce_ah_attr_ok(attr))
		goto fail;
	ret = ENOMEM;
	if (!uroce_device_count(dev, &dev->ah_count, UROCE_MAX_AH))
		goto fail;
	ah = uroce_device_alloc(dev, "uroce_ah", sizeof(*ah));
	if (ah == NULL)
		goto uncount;
	ret = ah_init(dev, ah, pd, attr);
	if (ret == 0)
		return &ah->ibv;
	rte_free(ah);
uncount:
	uroce_device_uncount(dev, &dev->ah_count);
fail:
	errno = ret;
	return NULL;
}

int
uroce_destroy_ah(struct ibv_ah *ibv)
{
	struct uroce_device *dev = uroce_device_of(ibv->context);
	struct uroce_ah *ah = uroce_ah_of(ibv);

	uroce_pd_put(ibv->pd);
	pthread_mutex_lock(&dev->lock);
	LIST_INSERT_HEAD(&dev->dead_ahs, ah, link);
	pthread_mutex_unlock(&dev->lock);
	uroce_ahs_reap(dev);
	return 0;
}

/* Called without dev->lock, because the port takes locks of its own. */
static void
free_list(struct uroce_device *dev, struct ah_list *list)
{
	struct uroce_ah *ah;

	while ((ah = LIST_FIRST(list)) != NULL) {
		LIST_REMOVE(ah, link);
		dev->ops.port->path_fini(dev, &ah->path);
		rte_free(ah);
		uroce_device_uncount(dev, &dev->ah_count);
	}
}

void
uroce_ahs_reap(struct uroce_device *dev)
{
	struct ah_list unused = LIST_HEAD_INITIALIZER(unused);
	struct uroce_ah *ah, *next;

	pthread_mutex_lock(&dev->lock);
	for (ah = LIST_FIRST(&dev->dead_ahs); ah != NULL; ah = next) {
		next = LIST_NEXT(ah, link);
		/* pairs with the release in uroce_ah_put() */
		if (__atomic_load_n(&ah->refs, __ATOMIC_ACQUIRE) != 0)
			continue;
		LIST_REMOVE(ah, link);
		LIST_INSERT_HEAD(&unused, ah, link);
	}
	pthread_mutex_unlock(&dev->lock);
	free_list(dev, &unused);
}

void
uroce_ah_put_queued(struct uroce_qp *qp)
{
	if (qp->transport != UROCE_TRANSPORT_UD)
		return;
	for (uint32_t i = qp->sq.head; i != qp->sq.tail; i++)
		uroce_ah_put(uroce_sqe_at(&qp->sq, i)->ud.ah);
}
