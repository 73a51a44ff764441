/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The inboxes of workers. An inbox grows with the number of workers that hand frames over to it.
 */

#include <assert.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "base/log.h"
#include "port/counters.h"
#include "port/sleep/wake.h"
#include "port/worker/inbox.h"
#include "uroce.h"

#define FEW (UROCE_BURST / 2) /* frames in an inbox for which no pool is checked */

/* The inboxes of workers that no thread polls must leave mbufs for other workers. (A ring keeps one slot free.) */
static_assert((UROCE_MAX_WORKERS - 1) * FEW < UROCE_RX_MBUFS - UROCE_RX_DESC, "FEW");
static_assert(UROCE_INBOX - 1 <= UROCE_PAYLOAD_MBUFS / 4, "UROCE_INBOX");
static_assert(UROCE_INBOX <= UROCE_MAX_INBOX, "UROCE_MAX_INBOX");

static struct rte_ring *
ring_create(const struct uroce_worker *w, uint32_t frames)
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
	w->inbox = ring_create(w, frames);
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

/* Inboxes and the larger rings that replace them. */
struct growth {
	struct uroce_worker *const *workers;
	struct rte_ring *rings[UROCE_MAX_WORKERS]; /* then the replaced rings; NULL: the inbox is large enough */
	unsigned int n;
};

/* Replace the inboxes, while no worker is polled. */
static void
replace(void *arg)
{
	struct growth *g = arg;

	for (unsigned int i = 0; i < g->n; i++) {
		struct rte_ring *old = g->workers[i]->inbox;
		struct uroce_inbox_item item;

		if (g->rings[i] == NULL)
			continue;
		while (rte_ring_sc_dequeue_elem(old, &item, sizeof(item)) == 0)
			rte_ring_mp_enqueue_elem(g->rings[i], &item, sizeof(item)); /* it is larger */
		g->workers[i]->inbox = g->rings[i];
		g->rings[i] = old;
	}
}

void
uroce_inboxes_size(struct uroce_worker *const *workers, unsigned int n)
{
	uint32_t frames = rte_align32pow2(UROCE_INBOX * RTE_MAX(n - 1, 1u)) - 1;
	struct growth g = { .workers = workers, .n = n };
	bool any = false;

	frames = RTE_MIN(frames, UROCE_MAX_INBOX - 1u);
	for (unsigned int i = 0; i < n; i++) {
		if (!workers[i]->inbox_grows || rte_ring_get_capacity(workers[i]->inbox) >= frames)
			continue;
		g.rings[i] = ring_create(workers[i], frames);
		if (g.rings[i] == NULL)
			UROCE_LOG(DEBUG, "worker %u: no memory for an inbox of %u frames: it keeps one of %u\n",
				  workers[i]->index, frames, rte_ring_get_capacity(workers[i]->inbox));
		any |= g.rings[i] != NULL;
	}
	if (any)
		uroce_hold_workers(replace, &g);
	for (unsigned int i = 0; i < n; i++)
		rte_ring_free(g.rings[i]);
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
uroce_inbox_put(struct uroce_worker *to, const struct uroce_packet *p, uint16_t port_id)
{
	struct uroce_inbox_item item = { .packet = *p, .port_id = port_id };

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
