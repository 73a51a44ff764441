/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Parameters of congestion control: defaults, limits, and changes while a worker reads them; and which paths get an ECN
 * mark.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>

#include <rte_common.h>

#include "eal.h"
#include "fake.h"
#include "base/rcu.h"
#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "verbs/device/congestion.h"

#define READER 3	/* its RCU reader id */
#define CHANGES 200

static void
defaults_are_filled_in(void **state)
{
	const struct uroce_congestion want = {
		.size = sizeof(want),
		.np_cnp_dscp = 48, .rpg_threshold = 5, .rpg_min_dec_fac = 50, .dce_tcp_g = 1020,
		.initial_alpha_value = 1024, .np_min_time_between_cnps = 50, .rpg_min_rate = 10,
		.rpg_ai_rate = 40, .rpg_hai_rate = 200, .rpg_time_reset = 55, .rpg_byte_reset = 10000000,
		.rate_reduce_monitor_period = 4, .dce_tcp_rtt = 55,
	};
	struct uroce_congestion got = { .size = sizeof(got) };

	(void)state;
	uroce_get_congestion(fake.context, &got);
	assert_memory_equal(&got, &want, sizeof(got));
	assert_int_equal(uroce_set_congestion(fake.context, NULL), 0);
	uroce_get_congestion(fake.context, &got);
	assert_memory_equal(&got, &want, sizeof(got));
}

static void
what_is_set_is_got(void **state)
{
	const struct uroce_congestion set = {
		.size = sizeof(set),
		.off = 1, .np_cnp_dscp = 255, .rpg_threshold = 255, .rpg_min_dec_fac = 100, .dce_tcp_g = 1023,
		.initial_alpha_value = 1, .np_min_time_between_cnps = 1000000, .rpg_max_rate = 1000000,
		.rpg_min_rate = 1000000, .rpg_ai_rate = 1, .rpg_hai_rate = 1000000, .rpg_time_reset = 1,
		.rpg_byte_reset = 1, .rate_to_set_on_first_cnp = 1000000, .rate_reduce_monitor_period = 1,
		.dce_tcp_rtt = 1000000,
	};
	struct uroce_congestion got = { .size = sizeof(got) };

	(void)state;
	assert_int_equal(uroce_set_congestion(fake.context, &set), 0);
	uroce_get_congestion(fake.context, &got);
	assert_memory_equal(&got, &set, sizeof(got));
}

static void
what_is_out_of_range_changes_nothing(void **state)
{
	static const struct uroce_congestion bad[] = {
		{ .off = 2 }, { .np_cnp_dscp = 64 }, { .np_cnp_dscp = 254 }, { .rpg_min_dec_fac = 101 },
		{ .dce_tcp_g = 1024 }, { .initial_alpha_value = 1025 }, { .np_min_time_between_cnps = 1000001 },
		{ .rpg_max_rate = 1000001 }, { .rpg_min_rate = 1000001 }, { .rpg_ai_rate = 1000001 },
		{ .rpg_hai_rate = 1000001 }, { .rate_to_set_on_first_cnp = 1000001 }, { .rpg_time_reset = 1000001 },
		{ .rate_reduce_monitor_period = 1000001 }, { .dce_tcp_rtt = 1000001 },
		{ .rpg_min_rate = 11, .rpg_max_rate = 10 },
	};
	struct uroce_congestion before = { .size = sizeof(before) }, after = { .size = sizeof(after) };

	(void)state;
	uroce_get_congestion(fake.context, &before);
	for (unsigned int i = 0; i < RTE_DIM(bad); i++) {
		struct uroce_congestion c = bad[i];

		c.size = sizeof(c);
		assert_int_equal(uroce_set_congestion(fake.context, &c), EINVAL);
	}
	uroce_get_congestion(fake.context, &after);
	assert_memory_equal(&before, &after, sizeof(before));
}

static void
a_slow_line_has_a_slower_least_rate(void **state)
{
	const struct uroce_congestion slow = { .size = sizeof(slow), .rpg_max_rate = 5 };
	struct uroce_congestion got = { .size = sizeof(got) };

	(void)state;
	assert_int_equal(uroce_set_congestion(fake.context, &slow), 0);
	uroce_get_congestion(fake.context, &got);
	assert_int_equal(got.rpg_min_rate, 5);
}

static uint8_t
marked(uint8_t traffic_class)
{
	struct uroce_template_conf conf = {
		.vlan_tci = 0xffff, .src_gid = { [10] = 0xff, 0xff, 10, 0, 0, 1 },
		.dst_gid = { [10] = 0xff, 0xff, 10, 0, 0, 2 }, .traffic_class = traffic_class,
	};
	struct uroce_path path = { .set_up = true };

	assert_int_equal(uroce_template_init(&path.headers, &conf), 0);
	uroce_congestion_mark(&fake.dev, &path);
	return uroce_template_traffic_class(&path.headers);
}

static void
what_may_be_marked(void **state)
{
	const struct uroce_congestion off = { .size = sizeof(off), .off = 1 };

	(void)state;
	assert_int_equal(marked(0), 2);
	assert_int_equal(marked(0xb8), 0xb8 | 2);	/* keeps the application's DSCP */
	for (uint8_t ecn = 1; ecn < 4; ecn++)
		assert_int_equal(marked(0x60 | ecn), 0x60 | ecn);	/* keeps the application's ECN bits */
	assert_int_equal(uroce_set_congestion(fake.context, &off), 0);
	assert_int_equal(marked(0), 0);
	assert_int_equal(marked(0x61), 0x61);
}

/* A worker that reads the parameters all the time: each time they are one set or the other, and not freed. */
static void *
reader(void *arg)
{
	bool *stop = arg;
	bool wrong = false;

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		uroce_rcu_begin_read(READER);
		for (int i = 0; i < 100; i++) {
			const struct uroce_congestion *c = uroce_congestion_of(&fake.dev);

			wrong |= c->rpg_ai_rate != c->rpg_hai_rate || c->rpg_ai_rate != c->rpg_time_reset;
		}
		uroce_rcu_end_read(READER);
	}
	return wrong ? arg : NULL;
}

static void
workers_see_one_set_or_the_other(void **state)
{
	struct uroce_congestion c = { .size = sizeof(c), .rpg_ai_rate = 1, .rpg_hai_rate = 1, .rpg_time_reset = 1 };
	bool stop = false;
	pthread_t thread;
	void *ret;

	(void)state;
	assert_int_equal(uroce_set_congestion(fake.context, &c), 0);
	uroce_rcu_register(READER);
	assert_int_equal(pthread_create(&thread, NULL, reader, &stop), 0);
	for (uint32_t i = 2; i < CHANGES; i++) {
		c.rpg_ai_rate = c.rpg_hai_rate = c.rpg_time_reset = i;
		assert_int_equal(uroce_set_congestion(fake.context, &c), 0);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_null(ret);
	uroce_rcu_unregister(READER);
}

UROCE_TESTS(congestion_parameters)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(defaults_are_filled_in, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(what_is_set_is_got, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(what_is_out_of_range_changes_nothing, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(a_slow_line_has_a_slower_least_rate, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(what_may_be_marked, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(workers_see_one_set_or_the_other, fake_setup, fake_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
