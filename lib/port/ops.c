/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What a port lends its device: workers for QPs, turns, paths, progress. Control threads, but for
 * the doorbell, which any thread rings.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "port/clock.h"
#include "port/filler.h"
#include "port/link.h"
#include "port/log.h"
#include "port/mcast.h"
#include "port/path.h"
#include "port/port.h"
#include "port/worker.h"
#include "verbs/qp.h"

/* QPs go round the device's workers. */
static int
qp_attach(struct uroce_qp *qp)
{
	struct uroce_port *port = uroce_port_of(qp->dev);

	pthread_mutex_lock(&port->lock);
	qp->engine = &port->queues[port->next_queue++ % port->nb_queues].worker->engine;
	pthread_mutex_unlock(&port->lock);
	return 0;
}

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
progress(struct uroce_device *dev)
{
	uroce_filler_wait(uroce_port_of(dev), uroce_clock_ns());
	uroce_workers_progress(); /* what one device waits for, another may have to send */
}

static void
mr_waits(struct uroce_device *dev, const struct ibv_mr *mr, uint32_t frames, uint64_t ns)
{
	UROCE_LOG(WARNING,
		  "%s: deregistering the region %#" PRIx32 " (%zu bytes at %p) has waited for %" PRIu64
		  " s: %" PRIu32 " frames that lead into it have been sent, and a port keeps them\n",
		  dev->ibv.name, mr->lkey, mr->length, mr->addr, ns / 1000000000, frames);
}

static void
clocks(struct uroce_device *dev, uint64_t *device_ns, uint64_t *wall_ns)
{
	struct timespec wall;

	RTE_SET_USED(dev); /* the clock is the process's */
	*device_ns = uroce_clock_ns();
	clock_gettime(CLOCK_REALTIME, &wall);
	*wall_ns = (uint64_t)wall.tv_sec * 1000000000 + (uint64_t)wall.tv_nsec;
}

static int
query_gid(struct uroce_device *dev, unsigned int index, struct ibv_gid_entry *entry)
{
	struct uroce_port *port = uroce_port_of(dev);
	int ret = -EINVAL;

	if (index >= UROCE_MAX_GID)
		return ret;
	pthread_mutex_lock(&port->lock);
	ret = -ENODATA; /* as ibv_query_gid_ex(3) says of an empty entry */
	if (port->gids[index].used) {
		memcpy(entry->gid.raw, port->gids[index].subnet.gid, sizeof(entry->gid.raw));
		entry->gid_type = IBV_GID_TYPE_ROCE_V2;
		ret = 0;
	}
	pthread_mutex_unlock(&port->lock);
	return ret;
}

const struct uroce_device_ops uroce_port_ops = {
	.qp_attach = qp_attach,
	.qp_detach = uroce_engine_qp_detach,
	.engine_enter = engine_enter,
	.engine_exit = engine_exit,
	.engine_now = uroce_engine_now,
	.timer_arm = uroce_engine_timer_arm,
	.timer_remove = uroce_engine_timer_remove,
	.clocks = clocks,
	.qp_changed = uroce_engine_qp_changed,
	.doorbell = uroce_engine_doorbell,
	.path_init = uroce_port_path_init,
	.path_fini = uroce_port_path_fini,
	.progress = progress,
	.mr_waits = mr_waits,
	.query_port = uroce_port_query,
	.query_gid = query_gid,
	.mcast_join = uroce_port_mcast_join,
	.mcast_leave = uroce_port_mcast_leave,
};
