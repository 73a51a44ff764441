/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The queue is a binary heap whose root is the frame that is due first.
 */

#include "link_queue.h"

#include <stdlib.h>

static bool
is_before(const struct link_frame *a, const struct link_frame *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

void
link_queue_push(struct link_queue *q, struct link_frame *f)
{
	uint32_t i = q->count++;

	if (q->count > q->room) {
		q->room = q->room * 2 + 64;
		q->frames = realloc(q->frames, q->room * sizeof(q->frames[0]));
		SIM_CHECK(q->frames != NULL, "out of memory");
	}
	for (; i > 0 && is_before(f, q->frames[(i - 1) / 2]); i = (i - 1) / 2)
		q->frames[i] = q->frames[(i - 1) / 2];
	q->frames[i] = f;
}

static struct link_frame *
queue_pop(struct link_queue *q)
{
	struct link_frame *first = q->frames[0], *last = q->frames[--q->count];
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < q->count) {
		if (child + 1 < q->count && is_before(q->frames[child + 1], q->frames[child]))
			child++;
		if (!is_before(q->frames[child], last))
			break;
		q->frames[i] = q->frames[child];
		i = child;
	}
	q->frames[i] = last;
	return first;
}

void
link_queue_clear(struct link_queue *q)
{
	while (q->count > 0)
		free(q->frames[--q->count]);
}

struct link_frame *
link_queue_due(struct link_queue *q, uint64_t now_ns)
{
	return q->count > 0 && q->frames[0]->due_ns <= now_ns ? queue_pop(q) : NULL;
}
