/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sends dummy frames to make a driver free transmitted mbufs. Drivers without rte_eth_tx_done_cleanup() free them
 * only when they send more: mlx5 and iavf with the next burst, virtio when its ring is nearly full. A
 * deregistration that waits for the last frames would wait forever. A dummy is an Ethernet loopback test (type 0x9000)
 * from the port's address to itself, which no switch forwards. Waiting threads and workers.
 */

#include <rte_ethdev.h>

#include "port/worker/tx_kick.h"
#include "port/port.h"
#include "port/worker/tx.h"
#include "port/worker/worker.h"

#define ETHER_TYPE_LOOPBACK 0x9000
#define LOOPBACK_BYTES      4 /* skip count and function: zeros, without meaning */
#define SHARE               64 /* the interval between bursts is this part of the wait */

void
uroce_tx_kick_wait(struct uroce_port *port, uint64_t now_ns)
{
	struct uroce_tx_kick *f = &port->filler;

	/* a waiting thread calls this all the time: after a pause, another wait has begun */
	if (now_ns > __atomic_load_n(&f->last_ns, __ATOMIC_RELAXED) + UROCE_TX_KICK_WAIT_NS)
		__atomic_store_n(&f->since_ns, now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&f->last_ns, now_ns, __ATOMIC_RELAXED);
}

/* Are dummy frames due? The interval grows with the wait: the awaited frames may be in another port's ring. */
static bool
due(struct uroce_port_queue *q, uint64_t now_ns)
{
	const struct uroce_tx_kick *f = &q->port->filler;
	uint64_t since_ns = __atomic_load_n(&f->since_ns, __ATOMIC_RELAXED);
	uint64_t last_ns = __atomic_load_n(&f->last_ns, __ATOMIC_RELAXED);

	if (now_ns < since_ns + UROCE_TX_KICK_WAIT_NS || now_ns > last_ns + UROCE_TX_KICK_WAIT_NS)
		return false;
	if (now_ns < q->filler_ns)
		return false;
	q->filler_ns = now_ns + RTE_MAX(UROCE_TX_KICK_NS, (now_ns - since_ns) / SHARE);
	return true;
}

/* Create a burst of dummy frames. @return their number; less than UROCE_BURST: no more mbufs */
static unsigned int
create(struct uroce_port_queue *q, struct rte_mbuf *frames[UROCE_BURST])
{
	unsigned int n = 0;
	void *l3;

	for (; n < UROCE_BURST; n++) {
		frames[n] = uroce_frame_create(q, &q->port->mac, ETHER_TYPE_LOOPBACK, LOOPBACK_BYTES, &l3);
		if (frames[n] == NULL)
			break;
	}
	return n;
}

void
uroce_tx_kick_send(struct uroce_port_queue *q, uint64_t now_ns)
{
	struct rte_mbuf *frames[UROCE_BURST];
	unsigned int n;

	if (!due(q, now_ns))
		return;
	n = create(q, frames);
	for (unsigned int i = 0; i < n; i++)
		uroce_tx_local(q, frames[i]);
	uroce_counter_add(&q->counters[UROCE_PORT_FILLERS_SENT], n);
}

unsigned int
uroce_tx_kick_push(struct uroce_port_queue *q)
{
	struct rte_mbuf *frames[UROCE_BURST];
	unsigned int n, sent;
	int ret;

	if (q->nb_tx != 0)
		return 0;
	n = create(q, frames);
	ret = uroce_tx_burst(q, frames, n);
	sent = ret > 0 ? (unsigned int)ret : 0;
	rte_pktmbuf_free_bulk(frames + sent, n - sent);
	uroce_counter_add(&q->counters[UROCE_PORT_TX_FRAMES], sent);
	uroce_counter_add(&q->counters[UROCE_PORT_FILLERS_SENT], sent);
	return sent;
}
