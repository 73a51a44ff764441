/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Compares the rates of DCQCN with a second implementation of the paper's equations, in floating point.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include <rte_common.h>

#include "cmocka_compat.h"
#include "groups.h"
#include "transport/congestion/dcqcn.h"
#include "uroce.h"
#include "uroce_config.h"

#define US UINT64_C(1000)
#define LINE_MBPS 40000

static const struct uroce_congestion conf = {
	.size = sizeof(conf),
	.rpg_threshold = 5, .rpg_min_dec_fac = 50, .dce_tcp_g = 1020, .initial_alpha_value = 1024,
	.rpg_min_rate = 10, .rpg_ai_rate = 40, .rpg_hai_rate = 200, .rpg_time_reset = 55,
	.rpg_byte_reset = 1000000, .rate_reduce_monitor_period = 4, .dce_tcp_rtt = 55,
};

/* The paper's R_C, R_T, alpha, T and BC, in Mb/s. */
struct paper {
	double rc, rt, alpha, line, min;
	int t, bc;
	double bytes;
};

static void
paper_cnp(struct paper *p, double g)
{
	p->rt = p->rc;
	p->rc *= 1 - p->alpha / 2;
	if (p->rc < p->min)
		p->rc = p->min;
	p->alpha = (1 - g) * p->alpha + g;
	p->t = p->bc = 0;
	p->bytes = 0;
}

static void
paper_increase(struct paper *p, const struct uroce_congestion *c)
{
	int most = RTE_MAX(p->t, p->bc), least = RTE_MIN(p->t, p->bc);

	if (least > c->rpg_threshold)
		p->rt += c->rpg_hai_rate;
	else if (most > c->rpg_threshold)
		p->rt += c->rpg_ai_rate;
	if (p->rt > p->line)
		p->rt = p->line;
	p->rc = (p->rt + p->rc) / 2;
}

static void
assert_near(double got, double want)
{
	if (got < want * 0.999 - 0.1 || got > want * 1.001 + 0.1)
		fail_msg("got %f, expected %f", got, want);
}

static void
assert_same(const struct uroce_dcqcn *d, const struct paper *p)
{
	assert_near((double)d->current_bps / 1e6, p->rc);
	assert_near((double)d->target_bps / 1e6, p->rt);
	assert_near((double)d->alpha / UROCE_DCQCN_ONE * 1000, p->alpha * 1000);
}

/* Run both for this many ticks of 55 us, while the flow sends at its rate. */
static void
run(struct uroce_dcqcn *d, struct paper *p, const struct uroce_congestion *c, uint64_t *now_ns, int ticks)
{
	for (int i = 0; i < ticks; i++) {
		uint32_t bytes = (uint32_t)(p->rc * 55 / 8);

		uroce_dcqcn_sent(d, c, bytes);
		p->bytes += bytes;
		if (p->bytes >= c->rpg_byte_reset) {
			p->bytes -= c->rpg_byte_reset;
			p->bc++;
			paper_increase(p, c);
		}
		*now_ns += 55 * US;
		assert_int_equal(uroce_dcqcn_due(d), *now_ns);
		uroce_dcqcn_step(d, c, *now_ns);
		p->alpha *= 1 - 1.0 / 256;
		p->t++;
		paper_increase(p, c);
		assert_same(d, p);
	}
}

static void
a_rate_is_what_the_paper_says(void **state)
{
	struct paper p = { .rc = LINE_MBPS, .rt = LINE_MBPS, .alpha = 1, .line = LINE_MBPS, .min = 10 };
	static const int quiet[] = { 1, 1, 2, 0, 7, 30, 3, 0, 0, 0, 0, 90, 1, 1, 1, 200 };
	uint64_t now_ns = 1000000;
	struct uroce_dcqcn d;

	(void)state;
	uroce_dcqcn_start(&d, &conf, LINE_MBPS, now_ns);
	assert_same(&d, &p);
	for (unsigned int i = 0; i < RTE_DIM(quiet); i++) {
		now_ns += 50 * US;	/* before the next tick, as CNPs arrive */
		uroce_dcqcn_cnp(&d, &conf, now_ns);
		paper_cnp(&p, 1.0 / 256);
		assert_same(&d, &p);
		run(&d, &p, &conf, &now_ns, quiet[i]);
	}
}

static void
five_halvings_of_the_way_back_come_first(void **state)
{
	uint64_t now_ns = 1000000, gap = LINE_MBPS * UINT64_C(1000000) / 2;
	struct uroce_dcqcn d;

	(void)state;
	uroce_dcqcn_start(&d, &conf, LINE_MBPS, now_ns);
	uroce_dcqcn_cnp(&d, &conf, now_ns);
	uroce_dcqcn_cnp(&d, &conf, now_ns + 4 * US);	/* so that the target can rise */
	gap /= 2;
	for (int i = 0; i < 5; i++) {
		uroce_dcqcn_step(&d, &conf, uroce_dcqcn_due(&d));
		gap /= 2;
		assert_uint_in_range(d.target_bps - d.current_bps, gap - gap / 100, gap + gap / 100);
	}
	assert_int_equal(d.target_bps, LINE_MBPS * UINT64_C(1000000) / 2);
	uroce_dcqcn_step(&d, &conf, uroce_dcqcn_due(&d));	/* additive increase */
	assert_int_equal(d.target_bps, (LINE_MBPS / 2 + 40) * UINT64_C(1000000));
	for (int i = 0; i < 6; i++)
		uroce_dcqcn_sent(&d, &conf, 1000000);
	/* five more byte stages; the sixth is hyper increase */
	assert_int_equal(d.target_bps, (LINE_MBPS / 2 + 6 * 40 + 200) * UINT64_C(1000000));
}

static void
nothing_is_below_the_least_rate(void **state)
{
	uint64_t now_ns = 1000000;
	struct uroce_dcqcn d;

	(void)state;
	uroce_dcqcn_start(&d, &conf, LINE_MBPS, now_ns);
	for (int i = 0; i < 100000; i++, now_ns += 1000)
		uroce_dcqcn_cnp(&d, &conf, now_ns);
	assert_int_equal(d.current_bps, 10000000);
	assert_uint_in_range(d.alpha, UROCE_DCQCN_ONE * 99 / 100, UROCE_DCQCN_ONE);
}

/* The minimum also holds if the first rate was set lower, or if the minimum is raised later. */
static void
a_rate_does_not_go_back_below_the_least(void **state)
{
	struct uroce_congestion c = conf;
	struct uroce_dcqcn d;

	(void)state;
	c.rate_to_set_on_first_cnp = 2;
	uroce_dcqcn_start(&d, &c, LINE_MBPS, 1000000);
	for (uint32_t i = 0; i < 2; i++, c.rpg_min_rate = 1000) {
		uroce_dcqcn_cnp(&d, &c, 2000000 + i * 1000 * US);
		for (int steps = 0; steps < 20; steps++) {
			assert_true(d.current_bps >= c.rpg_min_rate * UINT64_C(1000000));
			uroce_dcqcn_step(&d, &c, uroce_dcqcn_due(&d));
		}
	}
}

static void
cnps_at_once_reduce_once(void **state)
{
	struct uroce_dcqcn d;

	(void)state;
	uroce_dcqcn_start(&d, &conf, LINE_MBPS, 1000000);
	for (unsigned int i = 0; i < 4; i++)
		uroce_dcqcn_cnp(&d, &conf, 1000000 + i * US);
	assert_int_equal(d.current_bps, LINE_MBPS * UINT64_C(500000));
	uroce_dcqcn_cnp(&d, &conf, 1000000 + 4 * US);
	assert_int_equal(d.current_bps, LINE_MBPS * UINT64_C(250000));
}

static void
a_cnp_leaves_so_much_at_least(void **state)
{
	struct uroce_congestion c = conf;
	struct uroce_dcqcn d;

	(void)state;
	c.rpg_min_dec_fac = 80;
	uroce_dcqcn_start(&d, &c, LINE_MBPS, 1000000);
	uroce_dcqcn_cnp(&d, &c, 1000000);
	assert_int_equal(d.current_bps, LINE_MBPS * UINT64_C(800000));
}

static void
the_line_is_reached_again(void **state)
{
	uint64_t now_ns = 1000000;
	struct uroce_dcqcn d;
	unsigned int steps = 0;

	(void)state;
	uroce_dcqcn_start(&d, &conf, LINE_MBPS, now_ns);
	assert_true(uroce_dcqcn_is_line(&d));
	uroce_dcqcn_cnp(&d, &conf, now_ns);
	for (; !uroce_dcqcn_is_line(&d); steps++)
		uroce_dcqcn_step(&d, &conf, uroce_dcqcn_due(&d));
	assert_int_equal(steps, 9);	/* half of the line rate is missing; each step halves that, to 1/1024 */
}

static void
where_the_line_comes_from(void **state)
{
	struct uroce_congestion c = conf;
	struct uroce_dcqcn d;

	(void)state;
	uroce_dcqcn_start(&d, &c, 0, 1000000);
	assert_int_equal(d.line_bps, UROCE_RPG_MAX_RATE * UINT64_C(1000000));
	uroce_dcqcn_start(&d, &c, UINT32_MAX - 1, 1000000);
	assert_int_equal(d.line_bps, UROCE_CONGESTION_MAX_RATE * UINT64_C(1000000));
	c.rpg_max_rate = 5000;
	uroce_dcqcn_start(&d, &c, 25000, 1000000);
	assert_int_equal(d.line_bps, UINT64_C(5000000000));
	assert_int_equal(d.current_bps, d.line_bps);
	c.rate_to_set_on_first_cnp = 2000;
	uroce_dcqcn_start(&d, &c, 25000, 1000000);
	assert_int_equal(d.current_bps, UINT64_C(2000000000));
	/* a line slower than the minimum rate */
	c.rpg_max_rate = 0;
	uroce_dcqcn_start(&d, &c, 5, 1000000);
	uroce_dcqcn_cnp(&d, &c, 1000000);
	assert_int_equal(d.current_bps, 5000000);
}

static void
more_than_a_stage_of_bytes_at_once_is_one(void **state)
{
	struct uroce_dcqcn d;

	(void)state;
	uroce_dcqcn_start(&d, &conf, LINE_MBPS, 1000000);
	uroce_dcqcn_sent(&d, &conf, 999999);
	assert_int_equal(d.byte_stage, 0);
	uroce_dcqcn_sent(&d, &conf, 2);
	assert_int_equal(d.byte_stage, 1);
	assert_int_equal(d.bytes_left, 999999);
	uroce_dcqcn_sent(&d, &conf, UINT32_MAX);
	assert_int_equal(d.byte_stage, 2);
	uroce_dcqcn_sent(&d, &conf, 1);
	assert_int_equal(d.byte_stage, 3);
	assert_int_equal(d.bytes_left, 1000000);
}

UROCE_TESTS(dcqcn)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rate_is_what_the_paper_says),
		cmocka_unit_test(five_halvings_of_the_way_back_come_first),
		cmocka_unit_test(nothing_is_below_the_least_rate),
		cmocka_unit_test(a_rate_does_not_go_back_below_the_least),
		cmocka_unit_test(cnps_at_once_reduce_once),
		cmocka_unit_test(a_cnp_leaves_so_much_at_least),
		cmocka_unit_test(the_line_is_reached_again),
		cmocka_unit_test(where_the_line_comes_from),
		cmocka_unit_test(more_than_a_stage_of_bytes_at_once_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
