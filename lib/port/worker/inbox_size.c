/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Makes the inboxes of workers larger, as the number of workers that hand frames over to them grows. Control threads.
 */

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "base/log.h"
#include "port/worker/inbox.h"
#include "port/worker/worker.h"
#include "uroce.h"

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
		g.rings[i] = uroce_inbox_ring(workers[i], frames);
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
