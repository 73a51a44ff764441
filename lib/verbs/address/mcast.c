/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Attaches UD QPs to multicast groups (R49). The QPs of a published group never change: a new copy replaces the group,
 * which is freed when no worker reads it. The port joins a group with its first QP and leaves it after the last.
 * Control threads; workers look groups up.
 */

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "base/rcu.h"
#include "uroce.h"
#include "verbs/address/mcast.h"
#include "verbs/qp/qp.h"
#include "wire/gid.h"
#include "wire/opcode.h"

struct uroce_mcast_group {
	struct uroce_mcast_group *next;	/* in the bucket. control: release; worker: acquire */
	union ibv_gid mgid;
	uint32_t qp_count;
	struct uroce_qp *qps[];
};

void
uroce_mcast_init(struct uroce_mcast *m)
{
	memset(m, 0, sizeof(*m));
	pthread_mutex_init(&m->lock, NULL);
}

void
uroce_mcast_fini(struct uroce_mcast *m)
{
	RTE_VERIFY(m->group_count == 0);
	pthread_mutex_destroy(&m->lock);
}

/* Hash the last 4 bytes, where the addresses of groups differ most. */
static unsigned int
bucket_of(const uint8_t mgid[16])
{
	uint32_t word;

	memcpy(&word, mgid + 12, sizeof(word));
	return (word * 0x9e3779b1u) >> (32 - UROCE_LOG2_MCAST_BUCKETS);
}

unsigned int
uroce_mcast_receivers(const struct uroce_device *dev, const uint8_t mgid[16],
		      struct uroce_qp *qps[UROCE_MAX_MCAST_QPS])
{
	const struct uroce_mcast_group *g;

	/* pairs with the release in publish() */
	for (g = __atomic_load_n(&dev->mcast.buckets[bucket_of(mgid)], __ATOMIC_ACQUIRE); g != NULL;
	     g = __atomic_load_n(&g->next, __ATOMIC_ACQUIRE)) {
		if (memcmp(&g->mgid, mgid, sizeof(g->mgid)) != 0)
			continue;
		memcpy(qps, g->qps, g->qp_count * sizeof(g->qps[0]));
		return g->qp_count;
	}
	return 0;
}

/* @return the pointer that leads to the group, or the NULL at the end of its bucket. Under the lock. */
static struct uroce_mcast_group **
find(struct uroce_mcast *m, const union ibv_gid *mgid)
{
	struct uroce_mcast_group **at = &m->buckets[bucket_of(mgid->raw)];

	while (*at != NULL && memcmp(&(*at)->mgid, mgid, sizeof(*mgid)) != 0)
		at = &(*at)->next;
	return at;
}

static bool
has(const struct uroce_mcast_group *g, const struct uroce_qp *qp)
{
	for (uint32_t i = 0; g != NULL && i < g->qp_count; i++)
		if (g->qps[i] == qp)
			return true;
	return false;
}

/* Copy a group without one of its QPs, with room for another. @param g NULL: an empty group. @return NULL: no memory */
static struct uroce_mcast_group *
copy_without(const struct uroce_device *dev, const struct uroce_mcast_group *g, const union ibv_gid *mgid,
	     const struct uroce_qp *qp)
{
	uint32_t room = (g == NULL ? 0 : g->qp_count) + 1;
	struct uroce_mcast_group *copy;

	copy = uroce_device_alloc(dev, "uroce_mcast", sizeof(*copy) + room * sizeof(copy->qps[0]));
	if (copy == NULL)
		return NULL;
	copy->mgid = *mgid;
	copy->next = g == NULL ? NULL : g->next;
	for (uint32_t i = 0; i + 1 < room; i++)
		if (g->qps[i] != qp)
			copy->qps[copy->qp_count++] = g->qps[i];
	return copy;
}

/* Replace a group by another, or by the next of its bucket. */
static void
publish(struct uroce_mcast_group **at, struct uroce_mcast_group *by)
{
	struct uroce_mcast_group *old = *at;

	/* pairs with the acquires in uroce_mcast_receivers() */
	__atomic_store_n(at, by, __ATOMIC_RELEASE);
	if (old == NULL)
		return;
	uroce_rcu_wait();
	rte_free(old);
}

static int
check(const struct uroce_qp *qp, const union ibv_gid *gid)
{
	if (qp->dev->ops.port->mcast_join == NULL)
		return EOPNOTSUPP;
	if (qp->transport != UROCE_TRANSPORT_UD || !uroce_gid_is_multicast(gid->raw))
		return EINVAL;
	return 0;
}

/* Under the lock. */
static int
attach(struct uroce_qp *qp, const union ibv_gid *mgid)
{
	struct uroce_device *dev = qp->dev;
	struct uroce_mcast_group **at = find(&dev->mcast, mgid);
	struct uroce_mcast_group *g = *at, *copy;
	int ret = 0;

	if (has(g, qp))
		return 0;
	if (g == NULL ? dev->mcast.group_count == UROCE_MAX_MCAST_GROUPS : g->qp_count == UROCE_MAX_MCAST_QPS)
		return ENOMEM;
	copy = copy_without(dev, g, mgid, NULL);
	if (copy == NULL)
		return ENOMEM;
	copy->qps[copy->qp_count++] = qp;
	if (g == NULL)
		ret = -dev->ops.port->mcast_join(dev, mgid);
	if (ret != 0) {
		rte_free(copy);
		return ret;
	}
	dev->mcast.group_count += g == NULL;
	qp->mcast_groups++;
	publish(at, copy);
	return 0;
}

int
uroce_attach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
	struct uroce_qp *qp = uroce_qp_of(ibv);
	int ret = check(qp, gid);

	RTE_SET_USED(lid);	/* RoCE has no LIDs */
	if (ret != 0)
		return ret;
	pthread_mutex_lock(&qp->dev->mcast.lock);
	ret = attach(qp, gid);
	pthread_mutex_unlock(&qp->dev->mcast.lock);
	return ret;
}

/* Under the lock. */
static int
detach(struct uroce_qp *qp, const union ibv_gid *mgid)
{
	struct uroce_device *dev = qp->dev;
	struct uroce_mcast_group **at = find(&dev->mcast, mgid);
	struct uroce_mcast_group *copy;

	if (!has(*at, qp))
		return EINVAL;
	if ((*at)->qp_count > 1) {
		copy = copy_without(dev, *at, mgid, qp);
		if (copy == NULL)
			return ENOMEM;
		publish(at, copy);
	} else {
		publish(at, (*at)->next);
		dev->mcast.group_count--;
		dev->ops.port->mcast_leave(dev, mgid);
	}
	qp->mcast_groups--;
	return 0;
}

int
uroce_detach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
	struct uroce_qp *qp = uroce_qp_of(ibv);
	int ret = check(qp, gid);

	RTE_SET_USED(lid);
	if (ret != 0)
		return ret;
	pthread_mutex_lock(&qp->dev->mcast.lock);
	ret = detach(qp, gid);
	pthread_mutex_unlock(&qp->dev->mcast.lock);
	return ret;
}

bool
uroce_mcast_is_attached(struct uroce_qp *qp)
{
	bool attached;

	pthread_mutex_lock(&qp->dev->mcast.lock);
	attached = qp->mcast_groups != 0;
	pthread_mutex_unlock(&qp->dev->mcast.lock);
	return attached;
}
