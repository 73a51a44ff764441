/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A table of mishaps. A mishap alone does not advance the clock: a world at rest stays at rest.
 */

#include "mishap.h"

#include <rte_common.h>

#include "trace.h"
#include "wire/opcode.h"
#include "world.h"

#define RANDOM_STREAM 17
#define LEAST_NS      1000
#define TIMEOUT_NS    1000000 /* timeouts exceed it by some round trips: it costs one or two retries */
#define GAP	      20      /* most time until the next mishap, as a multiple of the longest one */

static unsigned int
draw_end(struct mishaps *m, const struct world *w)
{
	return random_below(&m->random, w->conf.ends);
}

static void
cut_wire(struct mishaps *m, struct world *w, uint64_t until_ns)
{
	const unsigned int to = draw_end(m, w);

	link_cut(&w->link, draw_end(m, w), to, until_ns);
}

static void
pull_cable(struct mishaps *m, struct world *w, uint64_t until_ns)
{
	link_pull(&w->link, draw_end(m, w), until_ns);
}

static void
part_network(struct mishaps *m, struct world *w, uint64_t until_ns)
{
	link_partition(&w->link, random_draw(&m->random), until_ns);
}

static void
stop_end(struct mishaps *m, struct world *w, uint64_t until_ns)
{
	end_stop(w->ends[draw_end(m, w)], until_ns);
}

static void
starve_end(struct mishaps *m, struct world *w, uint64_t until_ns)
{
	end_starve(w->ends[draw_end(m, w)], until_ns);
}

static void
deafen_end(struct mishaps *m, struct world *w, uint64_t until_ns)
{
	end_deafen(w->ends[draw_end(m, w)], until_ns);
}

/* Lose a response or the last packet of a request: a peer waits for these, and no later packet replaces them. */
static void
lose_one(struct mishaps *m, struct world *w, uint64_t until_ns)
{
	static const uint8_t opcodes[] = {
		UROCE_RC_ACKNOWLEDGE,	     UROCE_RC_ATOMIC_ACKNOWLEDGE, UROCE_RC_READ_REQUEST,
		UROCE_RC_READ_RESPONSE_LAST, UROCE_RC_READ_RESPONSE_ONLY, UROCE_RC_WRITE_LAST,
		UROCE_RC_WRITE_ONLY,	     UROCE_RC_SEND_LAST,	  UROCE_RC_SEND_ONLY,
	};

	uint32_t nth;
	uint8_t opcode;
	unsigned int to;

	RTE_SET_USED(until_ns);
	if (link_choices(&w->link) >= LINK_CHOSEN)
		return;
	nth = random_between(&m->random, 1, 8);
	opcode = opcodes[random_below(&m->random, RTE_DIM(opcodes))];
	to = draw_end(m, w);
	link_choose(&w->link, draw_end(m, w), to, opcode, nth);
}

static const struct mishap {
	const char *name;
	void (*happen)(struct mishaps *m, struct world *w, uint64_t until_ns);
} mishaps[] = {
	{ "a wire is cut", cut_wire },	 { "a cable is pulled", pull_cable },
	{ "a partition", part_network }, { "an end is stopped", stop_end },
	{ "no mbufs", starve_end },	 { "no receive mbufs", deafen_end },
	{ "a chosen loss", lose_one },
};

/* Halves the longest time at random, so that short times are about as likely as long ones. */
static uint64_t
draw_time(struct mishaps *m, uint64_t longest_ns)
{
	while (longest_ns > 2 * LEAST_NS && !random_once_in(&m->random, 4))
		longest_ns /= 2;
	return LEAST_NS + random_draw(&m->random) % longest_ns;
}

static void
plan(struct mishaps *m, uint64_t after_ns)
{
	m->next_ns = after_ns + 2 * m->longest_ns + draw_time(m, GAP * m->longest_ns);
}

void
mishaps_init(struct mishaps *m, const struct world *w, uint64_t seed)
{
	*m = (struct mishaps){ .next_ns = UINT64_MAX };
	random_init(&m->random, seed, RANDOM_STREAM);
	if (!w->conf.link.mishaps)
		return;
	m->longest_ns = TIMEOUT_NS + link_round_trip_ns(&w->conf.link);
	m->next_ns = w->now_ns + draw_time(m, GAP * m->longest_ns);
}

/* Mishaps that are over by now took place while the world was at rest. */
void
mishaps_happen(struct mishaps *m, struct world *w)
{
	const struct mishap *mishap;
	uint64_t until_ns;

	while (w->now_ns >= m->next_ns) {
		until_ns = m->next_ns + draw_time(m, m->longest_ns);
		plan(m, until_ns);
		if (until_ns <= w->now_ns)
			continue;
		mishap = &mishaps[random_below(&m->random, RTE_DIM(mishaps))];
		trace_note(w->now_ns, "%s, until %ju us", mishap->name, (uintmax_t)until_ns / 1000);
		mishap->happen(m, w, until_ns);
		m->count++;
	}
}
