/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Chooses the queues by which workers send and receive. There may be more workers than queues of the port, or than
 * rings that a net_memif peer reads. While no worker polls.
 */

#include "port/memif/memif.h"
#include "port/port.h"
#include "port/worker/worker.h"

/* Does a thread at the other end receive from this TX queue? A net_memif peer whose application drives its workers may
 * have fewer workers than rings. */
static bool
has_reader(const struct uroce_port *port, unsigned int queue)
{
	return queue < port->used_queues && (port->memif == NULL || !port->dev.poll_progress ||
					     uroce_memif_is_read(port->memif, (uint16_t)queue));
}

/* @return the TX queue of worker i: its own, or one that other workers use, too */
static unsigned int
tx_queue(const struct uroce_port *port, unsigned int i)
{
	unsigned int first = 0;

	if (has_reader(port, i))
		return i;
	if (has_reader(port, i % port->used_queues))
		return i % port->used_queues;
	while (first < port->used_queues && !has_reader(port, first))
		first++;
	return first % port->used_queues;
}

void
uroce_port_share_queues(struct uroce_port *port)
{
	bool shares = false;

	for (unsigned int i = 0; i < port->nb_queues; i++) {
		struct uroce_port_queue *q = &port->queues[i];
		struct uroce_worker *feeder = port->queues[i % port->used_queues].worker;

		q->no_rx = i >= port->used_queues;
		__atomic_store_n(&q->worker->feeder, q->no_rx ? feeder : NULL, __ATOMIC_RELAXED);
		q->tx_id = (uint16_t)tx_queue(port, i);
		shares |= q->tx_id != i;
	}
	for (unsigned int i = 0; i < port->nb_queues; i++)
		port->queues[i].tx_lock = shares ? &port->queues[port->queues[i].tx_id].lock : NULL;
}

void
uroce_port_use_queues(struct uroce_port *port, unsigned int n)
{
	__atomic_store_n(&port->used_queues, (uint16_t)n, __ATOMIC_RELAXED);
	uroce_port_share_queues(port);
}
