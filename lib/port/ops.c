/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The operations that a device calls on its port and workers: turns, paths, progress. Control threads; any thread may
 * ring the doorbell.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include <rte_ethdev.h>
#include <rte_lcore.h>

#include "base/clock.h"
#include "base/rcu.h"
#include "port/affinity.h"
#include "port/driven.h"
#include "port/worker/tx_kick.h"
#include "port/ethdev/link.h"
#include "base/log.h"
#include "port/mcast.h"
#include "port/cm/service.h"
#include "port/path.h"
#include "port/port.h"
#include "port/registry.h"
#include "port/resolve.h"
#include "port/sleep/sleep.h"
#include "port/steer/steer.h"
#include "port/worker/tx.h"
#include "port/worker/worker.h"
#include "uroce.h"
#include "verbs/qp/qp.h"

static void
engine_enter(struct uroce_engine *engine)
{
	uroce_worker_enter(uroce_worker_of(engine));
}

static void
engine_exit(struct uroce_engine *engine)
{
	uroce_worker_exit(uroce_worker_of(engine));
}

static void
engine_put(struct uroce_engine *engine)
{
	struct uroce_worker *w = uroce_worker_of(engine);

	uroce_workers_put(&w, 1);
}

static void
progress(struct uroce_device *dev)
{
	uroce_tx_kick_wait(uroce_port_of(dev), uroce_clock_ns());
	uroce_workers_progress(); /* all workers: the awaited frame may come from another device of this process */
}

static void
wake(struct uroce_device *dev)
{
	struct uroce_port *port = uroce_port_of(dev);

	for (unsigned int i = 0; i < port->nb_queues; i++)
		uroce_worker_nudge(port->queues[i].worker);
}

/* Poll the device's workers that the calling thread owns, and those without an owner. */
static void
poll_ours(struct uroce_device *dev, struct uroce_cq *cq)
{
	struct uroce_port *port = uroce_port_of(dev);

	RTE_SET_USED(cq);
	for (unsigned int i = 0; i < uroce_port_queues(port); i++)
		if (uroce_worker_is_ours(uroce_port_worker(port, i)))
			uroce_worker_round(uroce_port_worker(port, i));
}

/* Ring by the ring of the QP's thread domain. Only the thread that polls the worker: another one may have to wake it.
 * @return false: not possible */
static inline bool
ring_as_poller(struct uroce_qp *qp)
{
	struct uroce_bells *bells = __atomic_load_n(&qp->sq.bells, __ATOMIC_RELAXED);

	if (bells == NULL || !uroce_worker_is_poller(uroce_worker_of(bells->engine)) || !uroce_bells_push(bells, qp))
		return false;
	/* another thread may poll the worker by now, and sleep: pairs with the heavy barrier in arm() */
	uroce_rcu_barrier_light();
	return true;
}

/* Ring the doorbell of a worker whose thread may be asleep. */
static void
doorbell(struct uroce_qp *qp)
{
	struct uroce_worker *w;

	if (!ring_as_poller(qp))
		uroce_engine_doorbell(qp);
	/* Only now: if the QP has moved since, uroce_qp_move() wakes the thread of its new worker. */
	w = uroce_worker_of(uroce_qp_engine(qp));
	/* pairs with the stores in uroce_worker_sleep() and arm() */
	if (unlikely(__atomic_load_n(&w->sleep, __ATOMIC_SEQ_CST) > UROCE_SLEEP_SPARE))
		uroce_worker_posted(w);
}

static void
mr_waits(struct uroce_device *dev, const struct ibv_mr *mr, uint32_t frames, uint64_t ns)
{
	UROCE_LOG(WARNING,
		  "%s: deregistering the region %#" PRIx32 " (%zu bytes at %p) has waited for %" PRIu64
		  " s: a port has not freed %" PRIu32 " frames that reference it; uroce_dereg_mr() times out after "
		  "%llu s\n",
		  dev->ibv.name, mr->lkey, mr->length, mr->addr, ns / 1000000000, frames,
		  UROCE_MR_WAIT_MAX_NS / 1000000000);
}

static void
revoke(struct uroce_qp *qp)
{
	const struct uroce_worker *w = uroce_worker_of(qp->engine);
	struct uroce_port_queue *q = w->by_port[qp->dev->port_id];

	if (q != NULL)
		uroce_tx_revoke(q, qp);
}

static void
clocks(struct uroce_device *dev, uint64_t *device_ns, uint64_t *wall_ns)
{
	struct timespec wall;

	RTE_SET_USED(dev); /* all devices of the process share one clock */
	*device_ns = uroce_clock_ns();
	clock_gettime(CLOCK_REALTIME, &wall);
	*wall_ns = (uint64_t)wall.tv_sec * 1000000000 + (uint64_t)wall.tv_nsec;
}

/* @return the index of the kernel interface below the port; 0: there is none */
static uint32_t
if_index(uint16_t port_id)
{
	struct rte_eth_dev_info info;

	return rte_eth_dev_info_get(port_id, &info) == 0 ? info.if_index : 0;
}

static int
query_gid(struct uroce_device *dev, unsigned int index, struct ibv_gid_entry *entry)
{
	struct uroce_port *port = uroce_port_of(dev);
	int ret = -EINVAL;

	if (index >= UROCE_MAX_GID)
		return ret;
	pthread_mutex_lock(&port->lock);
	ret = -ENODATA; /* an empty entry, as in ibv_query_gid_ex(3) */
	if (port->gids[index].used) {
		memcpy(entry->gid.raw, port->gids[index].subnet.gid, sizeof(entry->gid.raw));
		entry->gid_type = IBV_GID_TYPE_ROCE_V2;
		entry->ndev_ifindex = if_index(port->port_id);
		ret = 0;
	}
	pthread_mutex_unlock(&port->lock);
	return ret;
}

static int
find_gid(struct uroce_device *dev, const union ibv_gid *gid)
{
	return uroce_port_find_gid(uroce_port_of(dev), gid->raw);
}

static int
route(struct uroce_device *dev, const union ibv_gid *sgid, const union ibv_gid *dgid, uint8_t *sgid_index)
{
	unsigned int index = 0;
	int ret;

	uroce_registry_lock();
	ret = uroce_port_route(uroce_port_of(dev), sgid != NULL ? sgid->raw : NULL, dgid->raw, &index);
	uroce_registry_unlock();
	*sgid_index = (uint8_t)index;
	return ret;
}

static int
resolve(struct uroce_device *dev, const union ibv_gid *dgid)
{
	int ret;

	uroce_registry_lock();
	ret = uroce_port_resolve(uroce_port_of(dev), dgid->raw);
	uroce_registry_unlock();
	/* the neighbor table is full, or the route is gone */
	return ret == 0 || ret == -EINPROGRESS ? ret : -EHOSTUNREACH;
}

static const struct uroce_port_ops port_ops = {
	.clocks = clocks,
	.path_init = uroce_port_path_init,
	.path_fini = uroce_port_path_fini,
	.query_port = uroce_port_query,
	.query_gid = query_gid,
	.find_gid = find_gid,
	.route = route,
	.resolve = resolve,
	.mcast_join = uroce_port_mcast_join,
	.mcast_leave = uroce_port_mcast_leave,
	.flow_label = uroce_steer_label,
	.revoke = revoke,
	.mr_waits = mr_waits,
};

static const struct uroce_worker_ops worker_ops = {
	.qp_attach = uroce_port_qp_attach,
	.qpn_suits = uroce_steer_suits,
	.engine_enter = engine_enter,
	.engine_exit = engine_exit,
	.engine_put = engine_put,
	.doorbell = doorbell,
	.progress = progress,
	.wake = wake,
	.poll = poll_ours,
};

static const struct uroce_worker_ops driven_worker_ops = {
	.qp_attach = uroce_port_qp_attach,
	.qpn_suits = uroce_steer_suits,
	.engine_enter = engine_enter,
	.engine_exit = engine_exit,
	.engine_put = engine_put,
	.doorbell = doorbell,
	.progress = progress,
	.wake = wake,
	.poll = uroce_driven_poll,
};

const struct uroce_device_ops uroce_port_ops = {
	.transport = &uroce_transport_ops,
	.worker = &worker_ops,
	.port = &port_ops,
	.service = &uroce_service_ops,
};

const struct uroce_device_ops uroce_driven_port_ops = {
	.transport = &uroce_transport_ops,
	.worker = &driven_worker_ops,
	.port = &port_ops,
	.service = &uroce_service_ops,
};
