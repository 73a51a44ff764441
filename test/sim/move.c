/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Moves QPs between the two engines of an end. On a network that does harm the second engine has few records, so that
 * QPs have to do without.
 */

#include "move.h"

#include <rte_common.h>
#include <rte_malloc.h>

#include "end.h"
#include "link.h"
#include "trace.h"
#include "verbs/qp/qp.h"
#include "world.h"

#define ONCE_IN 4 /* mean number of an end's rounds between two moves */

void
moves_init(struct end *e)
{
	const struct world *w = e->world;
	struct uroce_engine_limits limits = e->limits;

	if (link_does_harm(&w->conf.link)) {
		limits.reorder_frames = 32;
		limits.reorder_qps = limits.recoveries = 2;
		limits.rates = 1;
	}
	e->moves = rte_zmalloc(NULL, sizeof(*e->moves), RTE_CACHE_LINE_SIZE);
	SIM_CHECK(e->moves != NULL, "out of memory");
	SIM_CHECK(uroce_engine_init(&e->moves->engine, e->header_pool, e->payload_pool, &limits, w->now_ns) == 0,
		  "uroce_engine_init fails");
	random_init(&e->moves->random, w->seed, MOVE_STREAM + ((uint64_t)e->index << 32));
}

void
moves_fini(struct end *e)
{
	uroce_engine_fini(&e->moves->engine);
	rte_free(e->moves);
}

/* @return a random QP of the device; NULL: it has none */
static struct uroce_qp *
draw_qp(struct moves *m, struct uroce_device *dev)
{
	uint32_t slots = UINT32_C(1) << dev->qps.log2, first = random_below(&m->random, slots);

	for (uint32_t i = 0; i < slots; i++) {
		struct uroce_qp *qp = dev->qps.qps[(first + i) % slots];

		if (qp != NULL)
			return qp;
	}
	return NULL;
}

void
moves_happen(struct end *e, uint64_t now_ns)
{
	struct moves *m = e->moves;
	struct uroce_engine *to;
	struct uroce_qp *qp;

	while (random_once_in(&m->random, ONCE_IN)) {
		qp = draw_qp(m, &e->host.dev);
		if (qp == NULL)
			return;
		to = qp->engine == &e->engine ? &m->engine : &e->engine;
		SIM_CHECK(uroce_engine_qp_move(qp, to, now_ns), "a QP does not move: a thread rings its doorbell");
		m->count++;
	}
}

void
moves_receive(struct uroce_qp *const *qps, const struct uroce_packet *packets, unsigned int n, uint64_t now_ns)
{
	for (unsigned int i = 0; i < n; i++)
		uroce_engine_receive(qps[i]->engine, &qps[i], &packets[i], 1, now_ns);
}
