/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Stops a port and starts it again while its device and QPs stay (uroce_stop_port(), uroce_start_port()). Meanwhile the
 * workers have no queue of the port, and drop its frames. Control threads, under the port's `life`.
 */

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/rcu.h"
#include "port/affinity.h"
#include "port/ethdev/ethdev.h"
#include "port/ethdev/link.h"
#include "port/ethdev/watch.h"
#include "port/port.h"
#include "port/registry.h"
#include "port/worker/worker.h"
#include "uroce.h"
#include "verbs/device/context.h"
#include "verbs/qp/qp.h"

static void
stop(struct uroce_port *port)
{
	pthread_mutex_lock(&port->lock);
	uroce_watch_pause(port);
	pthread_mutex_unlock(&port->lock);
	uroce_port_detach(port);
	uroce_steer_stop(port);
	uroce_neighbors_purge(&port->neighbors);
	uroce_ethdev_pause(port);
}

int
uroce_stop_port(struct ibv_context *context)
{
	struct uroce_port *port = uroce_port_of_context(context);
	int ret = 0;

	pthread_mutex_lock(&port->life);
	if (port->stopped)
		ret = EINVAL;
	else
		stop(port);
	pthread_mutex_unlock(&port->life);
	return ret;
}

/* A port's workers, in the order of its queues. */
struct crew {
	struct uroce_worker *workers[UROCE_MAX_WORKERS];
	unsigned int n;
};

static bool
crew_has(const struct crew *c, const struct uroce_worker *w)
{
	for (unsigned int i = 0; i < c->n; i++)
		if (c->workers[i] == w)
			return true;
	return false;
}

static void
crew_get(const struct uroce_port *port, struct crew *c)
{
	c->n = port->nb_queues;
	for (unsigned int i = 0; i < c->n; i++)
		c->workers[i] = port->queues[i].worker;
}

static int
crew_set(struct uroce_port *port, const struct crew *c)
{
	int ret;

	uroce_registry_lock(); /* telemetry reads the workers */
	ret = uroce_port_set_workers(port, c->workers, c->n);
	uroce_registry_unlock();
	return ret;
}

/* Call fn for each QP of the device until it returns an error. QPs may be destroyed meanwhile, but not created. */
static int
each_qp(struct uroce_device *dev, int (*fn)(struct uroce_qp *qp, const void *arg), const void *arg)
{
	struct uroce_qp *qp;
	int ret = 0;

	uroce_registry_lock(); /* only one thread may be the watcher */
	uroce_rcu_watch_begin();
	/* the acquires pair with the release in publish() of qp.c */
	qp = __atomic_load_n(&dev->qps.gsi, __ATOMIC_ACQUIRE);
	if (qp != NULL)
		ret = fn(qp, arg);
	for (uint64_t i = 0; ret == 0 && i < UINT64_C(1) << dev->qps.log2; i++) {
		qp = __atomic_load_n(&dev->qps.qps[i], __ATOMIC_ACQUIRE);
		if (qp != NULL)
			ret = fn(qp, arg);
	}
	uroce_rcu_watch_end();
	uroce_registry_unlock();
	return ret;
}

static int
check_worker(struct uroce_qp *qp, const void *arg)
{
	const struct uroce_worker *w = uroce_worker_of(qp->engine);

	if (qp == qp->dev->qps.gsi || crew_has(arg, w))
		return 0;
	UROCE_LOG(ERR,
		  "%s: QP %#x belongs to worker %u, which the port no longer uses: pass it, too, or move the QP\n",
		  qp->dev->ibv.name, qp->ibv.qp_num, w->index);
	return -EBUSY;
}

/* The CM's QP1 goes where the port's workers are: the program does not have it. */
static void
move_gsi(struct uroce_port *port, const struct crew *crew)
{
	/* pairs with the release in publish() */
	struct uroce_qp *gsi = __atomic_load_n(&port->dev.qps.gsi, __ATOMIC_ACQUIRE);

	if (gsi != NULL && !crew_has(crew, uroce_worker_of(gsi->engine)))
		uroce_port_qp_move(gsi, crew->workers[0]);
}

/* Does the QP's longest packet fit the port? QP1 sends only short ones. */
static int
check_mtu(struct uroce_qp *qp, const void *arg)
{
	const struct uroce_port *port = arg;
	uint32_t bytes = __atomic_load_n(&qp->mtu_bytes, __ATOMIC_RELAXED);

	if (qp == qp->dev->qps.gsi || bytes <= 128u << uroce_mtu_of_ethernet(port->mtu))
		return 0;
	UROCE_LOG(ERR,
		  "%s: QP %#x has the path MTU %u, which needs an Ethernet MTU of %u, and port %u would have %u: pass a "
		  "higher mtu, or reset the QP\n",
		  qp->dev->ibv.name, qp->ibv.qp_num, bytes, bytes + UROCE_MTU_OVERHEAD, port->port_id, port->mtu);
	return -EINVAL;
}

/* Start the device with the workers that the port has now. @return 0 or -errno: the device is stopped */
static int
resume(struct uroce_port *port, const struct uroce_port_conf *conf)
{
	uint16_t mtu = port->mtu;
	int ret;

	ret = uroce_ethdev_resume(port, conf, uroce_watch_wants_reset(port));
	if (ret == 0) {
		ret = uroce_port_mtu_check(port);
		if (ret == 0)
			ret = each_qp(&port->dev, check_mtu, port);
		if (ret < 0)
			uroce_ethdev_pause(port);
	}
	if (ret < 0)
		port->mtu = mtu;
	return ret;
}

static int
start(struct uroce_port *port, const struct uroce_port_conf *conf, const struct crew *crew)
{
	struct crew before;
	int ret;

	crew_get(port, &before);
	ret = each_qp(&port->dev, check_worker, crew);
	if (ret < 0)
		return ret;
	ret = crew_set(port, crew);
	if (ret < 0)
		return ret;
	move_gsi(port, crew);
	ret = resume(port, conf);
	if (ret < 0) {
		crew_set(port, &before);
		move_gsi(port, &before);
		return ret;
	}
	port->conf = *conf;
	uroce_device_set_comp_vectors(&port->dev, crew->n);
	pthread_mutex_lock(&port->lock);
	uroce_watch_resume(port);
	uroce_ethdev_listen(port, port->published);
	pthread_mutex_unlock(&port->lock);
	uroce_steer_start(port);
	uroce_port_attach(port);
	uroce_workers_put(before.workers, before.n);
	return 0;
}

/* Get the workers that the program passes, or those that the port has. */
static int
crew_init(const struct uroce_port *port, struct uroce_worker *const *workers, unsigned int n, struct crew *c)
{
	int ret = 0;

	crew_get(port, c);
	if (workers != NULL) {
		ret = uroce_port_workers_check(port->port_id, workers, n);
		if (ret < 0)
			return ret;
		memcpy(c->workers, workers, n * sizeof(workers[0]));
		c->n = n;
	}
	return uroce_workers_get(c->workers, c->n);
}

/* Change what a restart may change. */
static int
conf_init(const struct uroce_port *port, const struct uroce_port_conf *program_conf, struct uroce_port_conf *conf)
{
	struct uroce_port_conf wanted;
	int ret;

	*conf = port->conf;
	if (program_conf == NULL)
		return 0;
	ret = uroce_port_conf_get(port->port_id, program_conf, &wanted);
	conf->mtu = wanted.mtu;
	conf->nb_rx_desc = wanted.nb_rx_desc;
	conf->nb_tx_desc = wanted.nb_tx_desc;
	conf->rx_mbufs = wanted.rx_mbufs;
	return ret;
}

static int
start_port(struct uroce_port *port, const struct uroce_port_conf *program_conf, struct uroce_worker *const *workers,
	   unsigned int nb_workers)
{
	struct uroce_port_conf conf;
	struct crew crew;
	int ret;

	if (!port->stopped)
		return -EBUSY;
	if (uroce_watch_is_removed(port))
		return -ENODEV;
	ret = conf_init(port, program_conf, &conf);
	if (ret < 0)
		return ret;
	ret = crew_init(port, workers, nb_workers, &crew);
	if (ret < 0)
		return ret;
	pthread_rwlock_wrlock(&port->dev.engines_lock);
	ret = uroce_port_window_check(port->port_id, &conf, crew.workers, crew.n);
	if (ret == 0)
		ret = start(port, &conf, &crew);
	pthread_rwlock_unlock(&port->dev.engines_lock);
	if (ret < 0)
		uroce_workers_put(crew.workers, crew.n);
	return ret;
}

int
uroce_start_port(struct ibv_context *context, const struct uroce_port_conf *conf, struct uroce_worker *const *workers,
		 unsigned int nb_workers)
{
	struct uroce_port *port = uroce_port_of_context(context);
	int ret;

	pthread_mutex_lock(&port->life);
	ret = start_port(port, conf, workers, nb_workers);
	pthread_mutex_unlock(&port->life);
	return -ret;
}
