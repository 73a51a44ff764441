/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The model's decisions: as frequent as configured, the same for the same seed, different for another.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "model.h"
#include "uroce_config.h"

#define FRAMES 200000
#define BYTES  100

struct tally {
	unsigned int lost, runs, twice, marked, reordered, corrupted;
	uint64_t delay_ns, max_delay_ns;
	uint64_t bits;	/* total */
};

static struct uroce_netem_conf
conf_of(const char *text)
{
	struct uroce_netem_conf conf;
	char error[256];

	if (uroce_netem_conf_parse(&conf, text, error, sizeof(error)) != 0)
		fail_msg("%s", error);
	return conf;
}

static struct tally
run(const char *text)
{
	struct uroce_netem_conf conf = conf_of(text);
	struct uroce_netem_model m;
	struct tally t = { 0 };
	bool losing = false;

	uroce_netem_model_init(&m, &conf, 0);
	for (unsigned int i = 0; i < FRAMES; i++) {
		struct uroce_netem_fate fate;

		uroce_netem_decide(&m, BYTES, &fate);
		t.lost += fate.lost;
		t.runs += fate.lost && !losing;
		losing = fate.lost;
		t.twice += fate.twice;
		t.marked += fate.marked;
		t.reordered += fate.reordered;
		t.corrupted += fate.corrupted;
		if (fate.lost)
			assert_false(fate.twice || fate.marked || fate.reordered || fate.corrupted);
		assert_true(fate.bit < BYTES * 8);
		t.bits += fate.corrupted ? fate.bit : 0;
		t.delay_ns += fate.delay_ns;
		if (fate.delay_ns > t.max_delay_ns)
			t.max_delay_ns = fate.delay_ns;
	}
	return t;
}

/* Within 5 %; the seeds are fixed, so the result does not vary. */
static void
assert_near(uint64_t is, double should)
{
	assert_true((double)is > 0.95 * should && (double)is < 1.05 * should);
}

static void
test_shares(void **state)
{
	struct tally t = run("loss=0.1,dup=0.2,ecn=0.3,reorder=0.05,corrupt=0.5");

	assert_near(t.lost, 0.1 * FRAMES);
	assert_near(t.runs, 0.09 * FRAMES);
	assert_near(t.twice, 0.9 * 0.2 * FRAMES);
	assert_near(t.marked, 0.9 * 0.3 * FRAMES);
	assert_near(t.reordered, 0.9 * 0.05 * FRAMES);
	assert_near(t.corrupted, 0.9 * 0.5 * FRAMES);
	assert_near(t.bits, 0.9 * 0.5 * FRAMES * (BYTES * 8 - 1) / 2);
	assert_int_equal(t.max_delay_ns, UROCE_NETEM_REORDER_NS);
}

static void
test_none_and_all(void **state)
{
	struct tally t = run("seed=3");

	assert_int_equal(t.lost + t.twice + t.marked + t.reordered + t.corrupted, 0);
	assert_int_equal(t.max_delay_ns, 0);
	t = run("loss=1");
	assert_int_equal(t.lost, FRAMES);
	t = run("loss=1,burst=5");
	assert_int_equal(t.lost, FRAMES);
	t = run("dup=1,corrupt=1");
	assert_int_equal(t.twice, FRAMES);
	assert_int_equal(t.corrupted, FRAMES);
}

static void
test_bursts(void **state)
{
	struct tally t = run("loss=0.1,burst=10");

	assert_near(t.lost, 0.1 * FRAMES);
	assert_near(t.runs, 0.01 * FRAMES);
}

static void
test_delays(void **state)
{
	struct tally t = run("delay=10,jitter=4");

	assert_near(t.delay_ns, 12000.0 * FRAMES);
	assert_true(t.max_delay_ns <= 14000 && t.max_delay_ns > 13900);
}

/* A duplicate gets decisions of its own. */
static void
test_twins(void **state)
{
	struct uroce_netem_conf conf = conf_of("dup=0.5,delay=10,jitter=4,reorder=0.1,late=1ms");
	unsigned int late = 0, twice = 0, apart = 0;
	struct uroce_netem_model m;

	uroce_netem_model_init(&m, &conf, 0);
	for (unsigned int i = 0; i < FRAMES; i++) {
		struct uroce_netem_fate fate;

		uroce_netem_decide(&m, BYTES, &fate);
		assert_true(fate.delay_ns >= 10000 && fate.delay_ns <= (fate.reordered ? 1014000 : 14000));
		if (!fate.twice) {
			assert_int_equal(fate.twin_delay_ns, 0);
			continue;
		}
		assert_true(fate.twin_delay_ns >= 10000 && fate.twin_delay_ns <= 1014000);
		twice++;
		late += fate.twin_delay_ns > 14000;
		apart += fate.twin_delay_ns != fate.delay_ns;
	}
	assert_near(late, 0.1 * twice);
	assert_true(apart > 0.99 * twice);
}

static void
test_seeds(void **state)
{
	struct uroce_netem_conf conf = conf_of("loss=0.5,jitter=1");
	struct uroce_netem_model same[2], other, stream;
	unsigned int differ_by_seed = 0, differ_by_stream = 0;

	uroce_netem_model_init(&same[0], &conf, 1);
	uroce_netem_model_init(&same[1], &conf, 1);
	uroce_netem_model_init(&stream, &conf, 2);
	conf.seed++;
	uroce_netem_model_init(&other, &conf, 1);
	for (unsigned int i = 0; i < 1000; i++) {
		struct uroce_netem_fate a, b, c, d;

		uroce_netem_decide(&same[0], BYTES, &a);
		uroce_netem_decide(&same[1], BYTES, &b);
		uroce_netem_decide(&other, BYTES, &c);
		uroce_netem_decide(&stream, BYTES, &d);
		assert_memory_equal(&a, &b, sizeof(a));
		differ_by_seed += a.lost != c.lost;
		differ_by_stream += a.lost != d.lost;
	}
	assert_true(differ_by_seed > 400 && differ_by_seed < 600);
	assert_true(differ_by_stream > 400 && differ_by_stream < 600);
}

/* An empty frame has no bit to corrupt. */
static void
test_empty(void **state)
{
	const struct uroce_netem_conf conf = { .corrupt = UINT32_MAX, .limit = 1 };
	struct uroce_netem_model m;
	struct uroce_netem_fate fate;

	uroce_netem_model_init(&m, &conf, 0);
	uroce_netem_decide(&m, 0, &fate);
	assert_false(fate.corrupted);
	uroce_netem_decide(&m, 1, &fate);
	assert_true(fate.corrupted && fate.bit < 8);
}

UROCE_TESTS(netem_model)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_none_and_all),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_delays),
		cmocka_unit_test(test_twins),
		cmocka_unit_test(test_seeds),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
