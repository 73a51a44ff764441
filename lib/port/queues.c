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

#include <rte_malloc.h>

#include "base/rcu.h"
#include "port/memif/memif.h"
#include "port/port.h"
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

int
uroce_port_set_workers(struct uroce_port *port, struct uroce_worker *const *workers, unsigned int n)
{
	int ret = grow(port, n);

	if (ret < 0)
		return ret;
	port->wants_rx_interrupts = false;
	for (unsigned int i = 0; i < n; i++) {
		struct uroce_port_queue *q = &port->queues[i];

		q->port = port;
		q->port_id = port->port_id;
		q->id = (uint16_t)i;
		q->rx_fd = -1;
		port->wants_rx_interrupts |= uroce_worker_has_fd(workers[i]);
		q->tx_stalled = false;
		q->tx_since_ns = 0;
		q->handover = (struct uroce_handover){ .frames = q->held };
		__atomic_store_n(&q->worker, workers[i], __ATOMIC_RELAXED);
	}
	port->most_queues = RTE_MAX(port->most_queues, (uint16_t)n);
	/* pairs with the acquire in uroce_port_queues() */
	__atomic_store_n(&port->nb_queues, (uint16_t)n, __ATOMIC_RELEASE);
	return 0;
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
	uroce_memif_detach(port);
	uroce_rcu_wait();
	uroce_workers_drain();
}
