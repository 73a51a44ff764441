/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The inboxes of workers. Control threads create them; workers put frames into them, within a poll.
 */

#include <assert.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "base/log.h"
#include "port/counters.h"
#include "port/port.h"
#include "port/sleep/wake.h"
#include "port/worker/inbox.h"
#include "uroce.h"

#define FEW (UROCE_BURST / 2) /* frames in an inbox for which no pool is checked */

/* The inboxes of workers that no thread polls must leave mbufs for other workers. (A ring keeps one slot free.) */
static_assert((UROCE_MAX_WORKERS - 1) * FEW < UROCE_RX_MBUFS - UROCE_RX_DESC, "FEW");
static_assert(UROCE_INBOX - 1 <= UROCE_PAYLOAD_MBUFS / 4, "UROCE_INBOX");
static_assert(UROCE_INBOX <= UROCE_MAX_INBOX, "UROCE_MAX_INBOX");

struct rte_ring *
uroce_inbox_ring(const struct uroce_worker *w, uint32_t frames)
{
	static unsigned int sequence; /* atomic */
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "uroce_inbox_%u", __atomic_fetch_add(&sequence, 1, __ATOMIC_RELAXED));
	return rte_ring_create_elem(name, sizeof(struct uroce_inbox_item), frames, w->numa_node,
				    RING_F_SC_DEQ | RING_F_EXACT_SZ);
}

int
uroce_inbox_create(struct uroce_worker *w, uint32_t frames)
{
	w->inbox = uroce_inbox_ring(w, frames);
	w->inbox_grows = frames == UROCE_INBOX - 1;
	return w->inbox != NULL ? 0 : -rte_errno;
}

void
uroce_inbox_free(struct uroce_worker *w)
{
	struct uroce_inbox_item item;

	while (rte_ring_sc_dequeue_elem(w->inbox, &item, sizeof(item)) == 0)
		rte_pktmbuf_free(item.packet.mbuf);
	rte_ring_free(w->inbox);
}

void
uroce_inbox_drain(struct uroce_worker *w)
{
	struct uroce_inbox_item item;

	for (unsigned int n = rte_ring_count(w->inbox); n > 0; n--) {
		if (rte_ring_sc_dequeue_elem(w->inbox, &item, sizeof(item)) != 0)
			break;
		if (w->by_port[item.port_id] != NULL &&
		    rte_ring_mp_enqueue_elem(w->inbox, &item, sizeof(item)) == 0)
			continue;
		rte_pktmbuf_free(item.packet.mbuf);
		uroce_counter_add(&w->lost, 1);
	}
}

/* May the pool lose an mbuf to the inbox? Mbufs in lcores' caches do not count. */
static bool
is_spared(const struct rte_ring *inbox, const struct rte_mempool *pool)
{
	return rte_ring_count(inbox) < FEW ||
	       rte_mempool_get_ops(pool->ops_index)->get_count(pool) > pool->size / UROCE_INBOX_SPARE;
}

bool
uroce_inbox_put(struct uroce_worker *to, const struct uroce_packet *p, const struct uroce_port_queue *q)
{
	struct uroce_inbox_item item = { .packet = *p, .port_id = q->port_id, .queue = q->id };

	if (!is_spared(to->inbox, p->mbuf->pool) || rte_ring_mp_enqueue_elem(to->inbox, &item, sizeof(item)) != 0)
		return false;
	uroce_worker_handed(to);
	return true;
}

/* Loopback frames use mbufs of the sender's small pools: they fill the inbox up to UROCE_INBOX only. */
unsigned int
uroce_inbox_put_loopback(struct uroce_worker *to, const struct uroce_inbox_item *items, unsigned int n)
{
	unsigned int count = rte_ring_count(to->inbox);

	if (count >= UROCE_INBOX - 1)
		return 0;
	n = rte_ring_mp_enqueue_burst_elem(to->inbox, items, sizeof(items[0]), RTE_MIN(n, UROCE_INBOX - 1 - count),
					   NULL);
	if (n != 0)
		uroce_worker_handed(to);
	return n;
}
