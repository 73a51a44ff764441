/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests output ports: the transmission time of frames, the limit of the queue, and marking.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bottleneck.h"
#include "cmocka_compat.h"
#include "groups.h"

#define GBPS  UINT64_C(1000000000)
#define BYTES (1000 - BOTTLENECK_FRAME_BYTES) /* of a frame that takes 1000 bytes on the wire */

static struct bottleneck
make(struct bottleneck_conf conf)
{
	struct bottleneck b;

	bottleneck_init(&b, &conf, 1, 1);
	return b;
}

static uint64_t
take(struct bottleneck *b, uint64_t now_ns, enum bottleneck_fate fate)
{
	uint64_t out_ns;

	assert_int_equal(bottleneck_take(b, now_ns, BYTES, true, &out_ns), fate);
	return out_ns;
}

static void
test_no_rate(void **state)
{
	struct bottleneck b = make((struct bottleneck_conf){ .limit_bytes = 1, .mark_max_bytes = 1 });

	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(take(&b, 7, BOTTLENECK_PASSED), 7);
	assert_int_equal(bottleneck_backlog(&b, 7), 0);
	assert_int_equal(bottleneck_falls_to(&b, 7, 0), 7);
}

static void
test_one_after_the_other(void **state)
{
	struct bottleneck b = make((struct bottleneck_conf){ .rate = 8 * GBPS }); /* 1 byte/ns */

	assert_int_equal(take(&b, 100, BOTTLENECK_PASSED), 1100);
	assert_int_equal(bottleneck_backlog(&b, 100), 1000);
	assert_int_equal(take(&b, 100, BOTTLENECK_PASSED), 2100);
	assert_int_equal(bottleneck_backlog(&b, 600), 1500);
	assert_int_equal(bottleneck_falls_to(&b, 600, 1500), 600);
	assert_int_equal(bottleneck_falls_to(&b, 600, 400), 1700);
	assert_int_equal(take(&b, 5000, BOTTLENECK_PASSED), 6000); /* the port was idle */
	assert_int_equal(b.frames, 3);
	assert_int_equal(b.bytes, 3000);
	assert_int_equal(b.deepest_bytes, 1000);
}

/* Fractions of a nanosecond add up to the right time for 300 frames at 3 Gb/s. */
static void
test_rounding(void **state)
{
	struct bottleneck b = make((struct bottleneck_conf){ .rate = 3 * GBPS });
	uint64_t out_ns = 0;

	for (unsigned int i = 0; i < 300; i++)
		out_ns = take(&b, 0, BOTTLENECK_PASSED);
	assert_uint_in_range(out_ns, 799800, 800000);
}

static void
test_limit(void **state)
{
	struct bottleneck b = make((struct bottleneck_conf){ .rate = 8 * GBPS, .limit_bytes = 3000 });

	for (unsigned int i = 0; i < 3; i++)
		take(&b, 0, BOTTLENECK_PASSED);
	take(&b, 0, BOTTLENECK_DROPPED);
	take(&b, 999, BOTTLENECK_DROPPED);
	assert_int_equal(take(&b, 1000, BOTTLENECK_PASSED), 4000);
	assert_int_equal(b.dropped, 2);
	assert_int_equal(b.frames, 4);
}

/* DCTCP: no marks below the threshold, all frames above. */
static void
test_step_marks(void **state)
{
	struct bottleneck b = make((struct bottleneck_conf){
		.rate = 8 * GBPS, .mark_min_bytes = 2000, .mark_max_bytes = 2000 });
	uint64_t out_ns;

	take(&b, 0, BOTTLENECK_PASSED);
	take(&b, 0, BOTTLENECK_PASSED);
	take(&b, 0, BOTTLENECK_MARKED);
	assert_int_equal(bottleneck_take(&b, 0, BYTES, false, &out_ns), BOTTLENECK_PASSED);
	take(&b, 2500, BOTTLENECK_PASSED);
	assert_int_equal(b.marked, 1);
}

/* RED: half-way between the thresholds half of the share is marked. */
static void
test_red_marks(void **state)
{
	struct bottleneck b = make((struct bottleneck_conf){ .rate = 8 * GBPS,
							     .mark_min_bytes = 10000,
							     .mark_max_bytes = 30000,
							     .mark_share = UINT32_MAX / 5 });
	uint64_t now_ns = 0, out_ns;

	for (unsigned int i = 0; i < 11; i++)
		take(&b, now_ns, BOTTLENECK_PASSED); /* the queue is never longer than 10000 bytes */
	for (unsigned int i = 0; i < 10; i++)
		bottleneck_take(&b, now_ns, BYTES, true, &out_ns);
	b.marked = 0;
	for (unsigned int i = 0; i < 10000; i++) {
		now_ns = bottleneck_falls_to(&b, now_ns, 20000);
		bottleneck_take(&b, now_ns, BYTES, true, &out_ns);
	}
	assert_uint_in_range(b.marked, 900, 1100);
	for (unsigned int i = 0; i < 11; i++)
		bottleneck_take(&b, now_ns, BYTES, true, &out_ns);
	for (unsigned int i = 0; i < 10; i++)
		take(&b, now_ns, BOTTLENECK_MARKED);
}

UROCE_TESTS(sim_bottleneck)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_rate),
		cmocka_unit_test(test_one_after_the_other),
		cmocka_unit_test(test_rounding),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_step_marks),
		cmocka_unit_test(test_red_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
