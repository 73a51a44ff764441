/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Draws the configuration of a world from the seed.
 */

#include <string.h>

#include "uroce_config.h"
#include "world.h"

#define MEMORY_BYTES	 (1 << 20) /* memory of an end, if there are few ends */
#define MEMORY_ALL_BYTES (4 << 20) /* memory of all ends */
#define MOST_ENDS	 16
#define LEAST_RX_MBUFS	 (2 * UROCE_BURST + 1) /* enough for a round: frames may be chains of two */
#define LONGEST_RUN	 3 /* lost frames in a row: a request and its responses may be lost several times within 7 retries */
#define MOST_HARMED	 3 /* so 5 of 8 transmissions arrive, and 2 of their responses */
#define SHARE(x)	 ((uint32_t)((x) * UINT32_MAX))

static uint32_t
draw_share(struct sim_random *r, double highest)
{
	return random_once_in(r, 2) ? 0 : random_below(r, SHARE(highest));
}

static void
draw_impairment(struct sim_random *r, struct uroce_netem_conf *c)
{
	c->loss = draw_share(r, 0.045);
	c->burst = random_once_in(r, 3) ? random_between(r, 2, 8) : 1;
	c->dup = draw_share(r, 0.09);
	c->corrupt = draw_share(r, 0.025);
	c->ecn = draw_share(r, 0.2);
	c->reorder = draw_share(r, 0.09);
	c->late_ns = random_below(r, random_once_in(r, 4) ? 50000000 : 200000);
	c->jitter_ns = random_once_in(r, 2) ? 0 : random_below(r, 100000);
}

/* A wire that is not a bottleneck for long: its queue holds all, or half, of the packets that QPs have in flight. */
static void
draw_wire(struct sim_random *r, struct link_conf *c, bool perfect)
{
	struct bottleneck_conf *w = &c->wire;

	c->switched = random_once_in(r, 2);
	w->rate = UINT64_C(1000000000) * random_between(r, 1, 100);
	c->tx_bytes = random_between(r, 1, 1 << 18);
	w->mark_max_bytes = random_once_in(r, 2) ? 0 : random_between(r, 1, 1 << 18);
	w->mark_min_bytes = random_below(r, w->mark_max_bytes + 1);
	w->mark_share = (uint32_t)random_draw(r);
	if (!perfect)
		w->limit_bytes = random_between(r, 1 << 18, 1 << 23);
}

static void
draw_link(struct sim_random *r, struct link_conf *c)
{
	bool perfect = random_once_in(r, 5);

	c->netem.delay_ns = random_below(r, random_once_in(r, 2) ? 2000 : 500000);
	c->quantum_ns = random_once_in(r, 2) ? 1 : 1 + random_below(r, 50000);
	if (random_once_in(r, 4))
		draw_wire(r, c, perfect);
	if (perfect)
		return;
	draw_impairment(r, &c->netem);
	c->mishaps = random_once_in(r, 3);
	c->longest_run = LONGEST_RUN;
	c->most_harmed = MOST_HARMED;
	c->truncate = draw_share(r, 0.008);
	if (random_once_in(r, 4))
		c->rx_frames = random_between(r, 256, 4096);
}

/* Few ends are likelier: more happens between the same two. */
static unsigned int
draw_ends(struct sim_random *r)
{
	if (random_once_in(r, 3))
		return random_between(r, 4, MOST_ENDS);
	return random_once_in(r, 2) ? 3 : 2;
}

void
world_draw(struct sim_random *r, struct world_conf *c)
{
	memset(c, 0, sizeof(*c));
	c->ends = draw_ends(r);
	c->ipv6 = random_once_in(r, 2);
	c->vlan = random_once_in(r, 4);
	c->least_mbps = 1000; /* a packet takes much less time than any timeout */
	c->multi_seg = !random_once_in(r, 3);
	c->split = random_once_in(r, 2);
	c->plain_ends = random_once_in(r, 3) ? random_draw(r) : 0;
	c->memory_bytes = RTE_MIN(MEMORY_BYTES, MEMORY_ALL_BYTES / c->ends / 4096 * 4096);
	c->send_burst = random_once_in(r, 2) ? UROCE_BURST : random_between(r, 1, UROCE_BURST);
	c->hold_ns = random_once_in(r, 2) ? 0 : random_below(r, 200000);
	c->pool_mbufs = random_once_in(r, 4) ? 63 : c->ends > 4 ? 255 : 1023;
	draw_link(r, &c->link);
	c->rx_mbufs = link_does_harm(&c->link) && random_once_in(r, 4) ? random_between(r, LEAST_RX_MBUFS, 300) : 2047;
}
