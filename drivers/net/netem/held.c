/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The heap of delayed frames. Called by the thread that polls the queue.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <rte_debug.h>

#include "held.h"

int
uroce_netem_held_init(struct uroce_netem_held *h, uint32_t room)
{
	h->frames = calloc(room, sizeof(*h->frames));
	h->count = 0;
	h->room = room;
	h->order = 0;
	return h->frames == NULL ? -ENOMEM : 0;
}

void
uroce_netem_held_fini(struct uroce_netem_held *h)
{
	for (uint32_t i = 0; i < h->count; i++)
		rte_pktmbuf_free(h->frames[i].mbuf);
	free(h->frames);
	h->frames = NULL;
	h->count = 0;
}

static bool
is_before(const struct uroce_netem_held_frame *a, const struct uroce_netem_held_frame *b)
{
	return a->due != b->due ? a->due < b->due : a->order < b->order;
}

void
uroce_netem_held_put(struct uroce_netem_held *h, struct rte_mbuf *m, uint64_t due)
{
	struct uroce_netem_held_frame frame = { .due = due, .order = h->order++, .mbuf = m };
	uint32_t at = h->count++;

	RTE_ASSERT(at < h->room);
	for (; at > 0 && is_before(&frame, &h->frames[(at - 1) / 2]); at = (at - 1) / 2)
		h->frames[at] = h->frames[(at - 1) / 2];
	h->frames[at] = frame;
}

struct rte_mbuf *
uroce_netem_held_get(struct uroce_netem_held *h, uint64_t now)
{
	struct uroce_netem_held_frame last;
	struct rte_mbuf *m;
	uint32_t at = 0, child;

	if (h->count == 0 || h->frames[0].due > now)
		return NULL;
	m = h->frames[0].mbuf;
	last = h->frames[--h->count];
	for (; (child = 2 * at + 1) < h->count; at = child) {
		if (child + 1 < h->count && is_before(&h->frames[child + 1], &h->frames[child]))
			child++;
		if (!is_before(&h->frames[child], &last))
			break;
		h->frames[at] = h->frames[child];
	}
	h->frames[at] = last;
	return m;
}
