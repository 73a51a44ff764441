/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Keeps requests that came early, until what is before them has come. What is kept, of whom, and for how long is
 * bounded; what is not kept is sent again by who needs it. Called by the responder, on the QP's worker.
 */

#include <assert.h>
#include <errno.h>

#include <rte_debug.h>
#include <rte_malloc.h>

#include "transport/internal.h"
#include "uroce_config.h"

static_assert((UROCE_EARLY_WINDOW & (UROCE_EARLY_WINDOW - 1)) == 0 && UROCE_EARLY_WINDOW >= 64, "UROCE_EARLY_WINDOW");
static_assert(UROCE_EARLY_FRAMES < UINT16_MAX, "UROCE_EARLY_FRAMES");

int
uroce_early_init(struct uroce_early_store *s, int numa_node)
{
	TAILQ_INIT(&s->holders);
	TAILQ_INIT(&s->free);
	s->qps = rte_zmalloc_socket("uroce_early", UROCE_EARLY_QPS * sizeof(s->qps[0]), RTE_CACHE_LINE_SIZE,
				    numa_node);
	s->frames = rte_zmalloc_socket("uroce_early_frames", UROCE_EARLY_FRAMES * sizeof(s->frames[0]),
				       RTE_CACHE_LINE_SIZE, numa_node);
	if (s->qps == NULL || s->frames == NULL) {
		rte_free(s->qps);
		rte_free(s->frames);
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < UROCE_EARLY_QPS; i++)
		TAILQ_INSERT_TAIL(&s->free, &s->qps[i], link);
	for (unsigned int i = 0; i < UROCE_EARLY_FRAMES; i++)
		s->frames[i].next = (uint16_t)(i + 1);
	s->first_free = 0;
	s->frames_free = UROCE_EARLY_FRAMES;
	return 0;
}

void
uroce_early_fini(struct uroce_early_store *s)
{
	RTE_VERIFY(TAILQ_EMPTY(&s->holders) && s->frames_free == UROCE_EARLY_FRAMES);
	rte_free(s->qps);
	rte_free(s->frames);
}
