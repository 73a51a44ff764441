/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * DCQCN's equations, in integers. pacer.c calls it, on the engine's thread.
 */

#include "transport/congestion/dcqcn.h"

#include <assert.h>

#include "uroce.h"
#include "uroce_config.h"

#define MBPS UINT64_C(1000000)
#define US UINT64_C(1000)
#define WHOLE 1024		/* a dce_tcp_g or initial_alpha_value of 1 */

static_assert(UROCE_CONGESTION_MAX_RATE * MBPS <= UINT64_MAX / UROCE_DCQCN_ONE, "a rate times alpha");

void
uroce_dcqcn_start(struct uroce_dcqcn *d, const struct uroce_congestion *conf, uint32_t link_mbps, uint64_t now_ns)
{
	uint32_t line = conf->rpg_max_rate != 0 ? conf->rpg_max_rate
		      : link_mbps != 0 ? RTE_MIN(link_mbps, (uint32_t)UROCE_CONGESTION_MAX_RATE) : UROCE_RPG_MAX_RATE;
	uint32_t first = conf->rate_to_set_on_first_cnp != 0 ? conf->rate_to_set_on_first_cnp : line;

	*d = (struct uroce_dcqcn){
		.line_bps = line * MBPS,
		.current_bps = RTE_MIN(first, line) * MBPS,
		.alpha = conf->initial_alpha_value * (UROCE_DCQCN_ONE / WHOLE),
		.increase_ns = now_ns + conf->rpg_time_reset * US,
		.decay_ns = now_ns + conf->dce_tcp_rtt * US,
		.bytes_left = conf->rpg_byte_reset,
	};
	d->target_bps = d->current_bps;
}

void
uroce_dcqcn_cnp(struct uroce_dcqcn *d, const struct uroce_congestion *conf, uint64_t now_ns)
{
	uint64_t least = RTE_MIN(conf->rpg_min_rate * MBPS, d->line_bps);
	uint64_t kept = d->current_bps * conf->rpg_min_dec_fac / 100;

	if (d->reduced_ns != 0 && now_ns - d->reduced_ns < conf->rate_reduce_monitor_period * US)
		return;
	/* the target must not be below the least rate */
	d->target_bps = RTE_MAX(d->current_bps, least);
	d->current_bps -= d->current_bps * d->alpha / (2 * UROCE_DCQCN_ONE);
	d->current_bps = RTE_MAX(RTE_MAX(d->current_bps, kept), least);
	d->alpha = (uint32_t)(((uint64_t)d->alpha * conf->dce_tcp_g +
			       (uint64_t)UROCE_DCQCN_ONE * (WHOLE - conf->dce_tcp_g)) / WHOLE);
	d->reduced_ns = now_ns;
	d->increase_ns = now_ns + conf->rpg_time_reset * US;
	d->decay_ns = now_ns + conf->dce_tcp_rtt * US;
	d->bytes_left = conf->rpg_byte_reset;
	d->time_stage = d->byte_stage = 0;
}

/* Increase the rate: fast recovery, then additive increase, then hyper increase. */
static void
increase(struct uroce_dcqcn *d, const struct uroce_congestion *conf)
{
	if (RTE_MIN(d->time_stage, d->byte_stage) > conf->rpg_threshold)
		d->target_bps += conf->rpg_hai_rate * MBPS;
	else if (RTE_MAX(d->time_stage, d->byte_stage) > conf->rpg_threshold)
		d->target_bps += conf->rpg_ai_rate * MBPS;
	d->target_bps = RTE_MIN(d->target_bps, d->line_bps);
	d->current_bps = (d->current_bps + d->target_bps) / 2;
}

void
uroce_dcqcn_step(struct uroce_dcqcn *d, const struct uroce_congestion *conf, uint64_t at_ns)
{
	if (d->decay_ns <= at_ns) {
		d->alpha = (uint32_t)((uint64_t)d->alpha * conf->dce_tcp_g / WHOLE);
		d->decay_ns += conf->dce_tcp_rtt * US;
	}
	if (d->increase_ns <= at_ns) {
		d->time_stage++;
		increase(d, conf);
		d->increase_ns += conf->rpg_time_reset * US;
	}
}

void
uroce_dcqcn_sent(struct uroce_dcqcn *d, const struct uroce_congestion *conf, uint32_t bytes)
{
	if (bytes < d->bytes_left) {
		d->bytes_left -= bytes;
		return;
	}
	/* the excess counts toward the next increase; one call increases the rate at most once */
	bytes -= d->bytes_left;
	d->bytes_left = conf->rpg_byte_reset > bytes ? conf->rpg_byte_reset - bytes : 1;
	d->byte_stage++;
	increase(d, conf);
}

void
uroce_dcqcn_skip(struct uroce_dcqcn *d, uint64_t ns)
{
	d->increase_ns += ns;
	d->decay_ns += ns;
}
