/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The output port keeps no list of frames: the time until the wire is free gives the length of the queue.
 */

#include "bottleneck.h"

#include <string.h>

#include <rte_common.h>

#define PS_PER_NS 1000

void
bottleneck_init(struct bottleneck *b, const struct bottleneck_conf *conf, uint64_t seed,
		uint64_t stream)
{
	memset(b, 0, sizeof(*b));
	b->conf = *conf;
	random_init(&b->random, seed, stream);
	if (conf->rate == 0)
		return;
	b->ps_per_byte = UINT64_C(8000000000000) / conf->rate;
	SIM_CHECK(b->ps_per_byte > 0, "a rate of %ju bit/s is too high", (uintmax_t)conf->rate);
}

uint64_t
bottleneck_backlog(const struct bottleneck *b, uint64_t now_ns)
{
	uint64_t now_ps = now_ns * PS_PER_NS;

	return b->free_ps > now_ps ? (b->free_ps - now_ps) / b->ps_per_byte : 0;
}

uint64_t
bottleneck_falls_to(const struct bottleneck *b, uint64_t now_ns, uint32_t bytes)
{
	uint64_t at_ps;

	if (b->conf.rate == 0 || bottleneck_backlog(b, now_ns) <= bytes)
		return now_ns;
	at_ps = b->free_ps - bytes * b->ps_per_byte;
	return (at_ps + PS_PER_NS - 1) / PS_PER_NS;
}

static bool
is_marked(struct bottleneck *b, uint64_t backlog)
{
	const struct bottleneck_conf *c = &b->conf;
	uint64_t share;

	if (c->mark_max_bytes == 0 || backlog < c->mark_min_bytes)
		return false;
	if (backlog >= c->mark_max_bytes)
		return true;
	share = c->mark_share * (backlog - c->mark_min_bytes) / (c->mark_max_bytes - c->mark_min_bytes);
	return random_draw(&b->random) >> 32 < share;
}

enum bottleneck_fate
bottleneck_take(struct bottleneck *b, uint64_t now_ns, uint32_t bytes, bool capable,
		uint64_t *out_ns)
{
	uint64_t backlog;
	bool marked;

	*out_ns = now_ns;
	if (b->conf.rate == 0)
		return BOTTLENECK_PASSED;
	bytes += BOTTLENECK_FRAME_BYTES;
	backlog = bottleneck_backlog(b, now_ns);
	b->deepest_bytes = RTE_MAX(b->deepest_bytes, (uint32_t)backlog);
	if (b->conf.limit_bytes != 0 && backlog + bytes > b->conf.limit_bytes) {
		b->dropped++;
		return BOTTLENECK_DROPPED;
	}
	marked = is_marked(b, backlog) && capable;
	b->free_ps = RTE_MAX(b->free_ps, now_ns * PS_PER_NS) + bytes * b->ps_per_byte;
	*out_ns = (b->free_ps + PS_PER_NS - 1) / PS_PER_NS;
	b->frames++;
	b->bytes += bytes;
	b->marked += marked;
	return marked ? BOTTLENECK_MARKED : BOTTLENECK_PASSED;
}
