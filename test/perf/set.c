/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the command set: valid values, the message for each wrong one, and that a refused value changes nothing.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "prompt/set.h"

static char error[512];

static void
defaults(struct perf_options *o)
{
	char program[] = "uroce-perf", *argv[] = { program, NULL };

	assert_int_equal(uroce_perf_options_parse(o, 1, argv, error, sizeof(error)), 0);
}

static int
set(struct perf_options *o, const char *name, const char *value)
{
	error[0] = '\0';
	return uroce_perf_set(o, name, value, error, sizeof(error));
}

static void
test_taken(void **state)
{
	const char *impair = "loss=0.5,seed=3";
	struct perf_options o;

	defaults(&o);
	assert_int_equal(set(&o, "op", "read"), 0);
	assert_int_equal(o.op, PERF_READ);
	assert_int_equal(set(&o, "mode", "lat"), 0);
	assert_int_equal(o.mode, PERF_LAT);
	assert_int_equal(set(&o, "size", "4K"), 0);
	assert_int_equal(o.size, 4096);
	assert_int_equal(set(&o, "mtu", "1024"), 0);
	assert_int_equal(o.mtu, 1024);
	assert_int_equal(set(&o, "qps", "7"), 0);
	assert_int_equal(o.qps, 7);
	assert_int_equal(set(&o, "depth", "9"), 0);
	assert_int_equal(o.depth, 9);
	assert_int_equal(set(&o, "buffers", "8M"), 0);
	assert_int_equal(o.buffers, 8 << 20);
	assert_int_equal(set(&o, "buffers", "off"), 0);
	assert_int_equal(o.buffers, 0);
	assert_int_equal(set(&o, "verify", "on"), 0);
	assert_true(o.verify);
	assert_int_equal(set(&o, "fault", "5"), 0);
	assert_int_equal(o.fault, 5);
	assert_int_equal(set(&o, "fault", "off"), 0);
	assert_int_equal(o.fault, -1);
	assert_int_equal(set(&o, "verify", "off"), 0);
	assert_false(o.verify);
	assert_int_equal(set(&o, "impair", impair), 0);
	assert_ptr_equal(o.impair, impair);
	assert_int_equal(set(&o, "congestion", "off"), 0);
	assert_true(o.no_congestion);
	assert_ptr_equal(o.impair, impair);
	assert_int_equal(set(&o, "congestion", "on"), 0);
	assert_false(o.no_congestion);
	assert_int_equal(set(&o, "impair", "off"), 0);
	assert_null(o.impair);
}

/* Of time and iters the later one counts. */
static void
test_time_and_iters(void **state)
{
	struct perf_options o;

	defaults(&o);
	assert_int_equal(set(&o, "time", "2.5"), 0);
	assert_int_equal(set(&o, "iters", "100"), 0);
	assert_int_equal(o.iters, 100);
	assert_int_equal(set(&o, "time", "3"), 0);
	assert_int_equal(o.iters, 0);
	assert_true(o.time_s == 3);
}

/* Consequences of an option end with it. */
static void
test_consequences(void **state)
{
	struct perf_options o;

	defaults(&o);
	assert_int_equal(set(&o, "size", "16K"), 0);
	assert_int_equal(set(&o, "op", "fetch-add"), 0);
	assert_int_equal(o.size, 8);
	assert_int_equal(set(&o, "op", "write"), 0);
	assert_int_equal(o.size, 16384);
	assert_int_equal(set(&o, "size", "all"), 0);
	assert_true(o.all_sizes);
	assert_int_equal(set(&o, "op", "cmp-swap"), 0);
	assert_false(o.all_sizes);
	assert_int_equal(set(&o, "op", "write"), 0);
	assert_true(o.all_sizes);
	assert_int_equal(set(&o, "size", "8"), 0);
	assert_false(o.all_sizes);
}

/* The default operation of UD is SEND. */
static void
test_datagrams(void **state)
{
	struct perf_options o;

	defaults(&o);
	assert_int_equal(set(&o, "transport", "ud"), 0);
	assert_int_equal(o.op, PERF_SEND);
	assert_int_equal(set(&o, "transport", "rc"), 0);
	assert_int_equal(o.op, PERF_WRITE);
	assert_int_equal(set(&o, "op", "read"), 0);
	assert_int_equal(set(&o, "transport", "ud"), -EINVAL);
	assert_int_equal(o.transport, PERF_RC);
	assert_non_null(strstr(error, "transport ud does not support op read: use send or send-imm"));
}

static void
test_refused(void **state)
{
	static const struct {
		const char *name;
		const char *value;
		const char *says;
	} cases[] = {
		{ "op", "flush", "op flush: use write, write-imm" },
		{ "size", "3G", "size 3G: use a number of bytes" },
		{ "size", "-1", "size -1: use a number of bytes" },
		{ "size", "--verify", "use a number of bytes" },
		{ "mtu", "1500", "mtu 1500: use 256" },
		{ "qps", "0", "qps 0: use a number from 1" },
		{ "depth", "x", "depth x: use a number" },
		{ "time", "0", "time 0: use seconds" },
		{ "time", "nan", "time nan: use seconds" },
		{ "iters", "0", "iters 0: use a number" },
		{ "verify", "maybe", "verify maybe: use on or off" },
		{ "fault", "3", "add verify" },
		{ "fault", "x", "fault x: use the number" },
		{ "impair", "loss=2", "from 0 to 1" },
		{ "congestion", "1", "congestion 1: use on or off" },
		{ "transport", "tcp", "transport tcp: use rc, uc or ud" },
	};
	struct perf_options o, before;

	defaults(&o);
	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		before = o;
		assert_int_equal(set(&o, cases[i].name, cases[i].value), -EINVAL);
		if (strstr(error, cases[i].says) == NULL || strstr(error, "--give") != NULL)
			fail_msg("set %s %s: %s", cases[i].name, cases[i].value, error);
		assert_memory_equal(&o, &before, sizeof(o));
	}
}

UROCE_TESTS(perf_set)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken),	     cmocka_unit_test(test_time_and_iters),
		cmocka_unit_test(test_consequences), cmocka_unit_test(test_datagrams),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
