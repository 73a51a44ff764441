/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The queues of a port, one for each of its workers. A queue keeps its counters when a restart removes it. Control
 * threads; others read the workers without a lock.
 */

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_malloc.h>

#include "base/rcu.h"
#include "port/driven.h"
#include "port/ethdev/ethdev.h"
#include "port/memif/memif.h"
#include "port/port.h"
#include "port/registry.h"
#include "port/worker/inbox.h"
#include "port/worker/worker.h"

static_assert(1u << RTE_DIM(((struct uroce_port *)0)->outgrown) >= UROCE_MAX_WORKERS, "uroce_port.outgrown");

/* Make room for n queues. Other threads may still read the smaller array, which therefore stays. */
static int
grow(struct uroce_port *port, unsigned int n)
{
	struct uroce_port_queue *queues;

	if (n <= port->room)
		return 0;
	n = rte_align32pow2(n);
	queues = rte_zmalloc_socket("uroce_queues", n * sizeof(*queues), alignof(struct uroce_port_queue), port->numa_node);
	if (queues == NULL)
		return -ENOMEM;
	if (port->room != 0) {
		memcpy(queues, port->queues, port->most_queues * sizeof(*queues));
		port->outgrown[port->nb_outgrown++] = port->queues;
	}
	port->room = (uint16_t)n;
	__atomic_store_n(&port->queues, queues, __ATOMIC_RELAXED);
	return 0;
}

static void
queue_init(struct uroce_port *port, unsigned int i, struct uroce_worker *w)
{
	struct uroce_port_queue *q = &port->queues[i];

	q->port = port;
	q->port_id = port->port_id;
	q->id = (uint16_t)i;
	q->rx_fd = -1;
	q->tx_stalled = false;
	q->tx_since_ns = 0;
	q->handover = (struct uroce_handover){ .frames = q->held };
	__atomic_store_n(&q->worker, w, __ATOMIC_RELAXED);
}

static void
set_count(struct uroce_port *port, unsigned int n)
{
	port->most_queues = RTE_MAX(port->most_queues, (uint16_t)n);
	/* pairs with the acquire in uroce_port_queues() */
	__atomic_store_n(&port->nb_queues, (uint16_t)n, __ATOMIC_RELEASE);
}

int
uroce_port_set_workers(struct uroce_port *port, struct uroce_worker *const *workers, unsigned int n)
{
	int ret = grow(port, RTE_MAX(n, uroce_driven_most()));

	if (ret < 0)
		return ret;
	port->wants_rx_interrupts = false;
	for (unsigned int i = 0; i < n; i++) {
		port->wants_rx_interrupts |= uroce_worker_has_fd(workers[i]);
		queue_init(port, i, workers[i]);
	}
	set_count(port, n);
	return 0;
}

static uint64_t
steered(const struct uroce_port_queue *q)
{
	return __atomic_load_n(&q->counters[UROCE_PORT_STEERED], __ATOMIC_RELAXED);
}

/* Does another queue, the feeder, receive the frames of this queue's worker, and do both receive few of their own? */
static bool
is_crossed(const struct uroce_port_queue *q)
{
	const struct uroce_port_queue *feeder = &q->port->queues[q->fed_by];

	return q->fed >= UROCE_FED_FRAMES && q != feeder && !q->no_rx && !feeder->no_rx &&
	       steered(feeder) - q->fed_steered < UROCE_FED_FRAMES / UROCE_FED_PART &&
	       steered(q) - q->fed_own < UROCE_FED_FRAMES / UROCE_FED_PART;
}

/* Let each worker receive the frames of its QPs itself: the peer's worker i sends by ring i, and the QPs that it sends
 * to may belong to another worker of this end. */
static void
uncross(struct uroce_port *port)
{
	for (uint16_t i = 0; i < port->nb_queues; i++) {
		if (is_crossed(&port->queues[i]))
			uroce_memif_swap(port, i, port->queues[i].fed_by);
		port->queues[i].fed = 0;
	}
}

/* Runs while all workers are held. */
static void
follow_held(void *arg)
{
	struct uroce_port *port = arg;

	if (port->dev.poll_progress && uroce_memif_may_swap(port->memif))
		uncross(port);
	uroce_port_share_queues(port);
}

/* EAL's interrupt thread. */
static void
follow(void *arg)
{
	struct uroce_port *port = arg;

	__atomic_store_n(&port->follows, false, __ATOMIC_RELAXED);
	uroce_hold_workers(follow_held, port);
}

static void
publish(void *arg)
{
	struct uroce_port *port = arg;

	set_count(port, port->nb_queues + 1u);
	uroce_port_share_queues(port);
}

static int
add_worker(struct uroce_port *port, struct uroce_worker *w)
{
	struct uroce_worker *workers[UROCE_MAX_WORKERS];
	const unsigned int n = port->nb_queues;
	int ret;

	if (port->stopped || n >= port->room || w->conf.log2_window < port->conf.log2_window)
		return -EINVAL;
	queue_init(port, n, w);
	ret = n < port->open_queues ? uroce_ethdev_add_pool(&port->queues[n]) : 0;
	if (ret < 0)
		return ret;
	ret = uroce_workers_get(&w, 1);
	if (ret < 0)
		return ret;
	uroce_registry_lock(); /* telemetry reads the workers */
	uroce_hold_workers(publish, port);
	uroce_registry_unlock();
	for (unsigned int i = 0; i <= n; i++)
		workers[i] = port->queues[i].worker;
	uroce_inboxes_size(workers, n + 1);
	uroce_worker_add_queue(w, &port->queues[n]);
	return 0;
}

int
uroce_port_add_worker(struct uroce_port *port, struct uroce_worker *w)
{
	int ret;

	pthread_mutex_lock(&port->life);
	pthread_rwlock_wrlock(&port->dev.engines_lock);
	ret = add_worker(port, w);
	pthread_rwlock_unlock(&port->dev.engines_lock);
	pthread_mutex_unlock(&port->life);
	return ret;
}

void
uroce_port_free_queues(struct uroce_port *port)
{
	for (unsigned int i = 0; i < port->nb_outgrown; i++)
		rte_free(port->outgrown[i]);
	rte_free(port->queues);
}

void
uroce_port_attach(struct uroce_port *port)
{
	struct uroce_worker *workers[UROCE_MAX_WORKERS];

	for (unsigned int i = 0; i < port->nb_queues; i++)
		workers[i] = port->queues[i].worker;
	uroce_inboxes_size(workers, port->nb_queues);
	port->follow = follow;
	uroce_memif_attach(port);
	for (unsigned int i = 0; i < port->nb_queues; i++)
		uroce_worker_add_queue(port->queues[i].worker, &port->queues[i]);
	uroce_port_upkeep_by(port, 0);
}

void
uroce_port_detach(struct uroce_port *port)
{
	for (unsigned int i = 0; i < port->nb_queues; i++)
		uroce_worker_del_queue(port->queues[i].worker, &port->queues[i]);
	rte_eal_alarm_cancel(follow, port);
	uroce_memif_detach(port);
	uroce_rcu_wait();
	uroce_workers_drain();
}
