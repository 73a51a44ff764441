/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Decides what happens to each frame. Losses follow Gilbert's model: in one state every frame is lost, in the other
 * none is; the probabilities of a transition are constant.
 */

#include <string.h>

#include "model.h"
#include "uroce_config.h"

/* splitmix64: its state is a counter, so each seed gives a stream of its own */
static uint64_t
mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint64_t
draw(struct uroce_netem_model *m)
{
	m->random += 0x9e3779b97f4a7c15ull;
	return mix(m->random);
}

/* Draws no number for a share of 0: an impairment that is off does not change the random numbers of the others. */
static bool
happens(struct uroce_netem_model *m, uint32_t share)
{
	return share != 0 && (share == UINT32_MAX || (uint32_t)(draw(m) >> 32) < share);
}

static uint64_t
draw_below(struct uroce_netem_model *m, uint64_t bound)
{
	return (uint64_t)((unsigned __int128)draw(m) * bound >> 64);
}

void
uroce_netem_model_init(struct uroce_netem_model *m, const struct uroce_netem_conf *conf, uint64_t stream)
{
	double loss = (double)conf->loss / UINT32_MAX;
	double run = conf->burst > 1 ? conf->burst : 1;

	memset(m, 0, sizeof(*m));
	m->conf = *conf;
	m->random = mix(conf->seed) ^ mix(~stream);
	if (conf->loss == UINT32_MAX || run == 1)
		return;
	/* begin runs of `run` frames so often that the share of lost frames is `loss` */
	m->end_run = (uint32_t)(UINT32_MAX / run);
	loss /= run * (1 - loss);
	m->begin_run = loss < 1 ? (uint32_t)(UINT32_MAX * loss) : UINT32_MAX;
}

static bool
is_lost(struct uroce_netem_model *m)
{
	if (m->end_run == 0)
		return happens(m, m->conf.loss);
	m->losing = m->losing ? !happens(m, m->end_run) : happens(m, m->begin_run);
	return m->losing;
}

static uint64_t
draw_delay(struct uroce_netem_model *m, bool *reordered)
{
	const struct uroce_netem_conf *c = &m->conf;
	uint64_t delay_ns = c->delay_ns;

	*reordered = happens(m, c->reorder);
	if (*reordered)
		delay_ns += c->late_ns;
	if (c->jitter_ns != 0)
		delay_ns += draw_below(m, c->jitter_ns + 1);
	return delay_ns;
}

void
uroce_netem_decide(struct uroce_netem_model *m, uint32_t bytes, struct uroce_netem_fate *fate)
{
	const struct uroce_netem_conf *c = &m->conf;
	bool late;

	memset(fate, 0, sizeof(*fate));
	fate->lost = is_lost(m);
	if (fate->lost)
		return;
	fate->twice = happens(m, c->dup);
	fate->marked = happens(m, c->ecn);
	fate->corrupted = happens(m, c->corrupt) && bytes != 0;
	if (fate->corrupted)
		fate->bit = (uint32_t)draw_below(m, (uint64_t)bytes * 8);
	fate->delay_ns = draw_delay(m, &fate->reordered);
	if (fate->twice)
		fate->twin_delay_ns = draw_delay(m, &late);
}
