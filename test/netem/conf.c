/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The text form of an impairment: its meaning, and the error message for a wrong one.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "model.h"
#include "uroce_config.h"
#include "uroce_netem.h"

static void
test_all(void **state)
{
	struct uroce_netem_conf c;
	char error[256];

	assert_int_equal(uroce_netem_conf_parse(&c,
						"loss=0.5,burst=3,reorder=0.25,dup=1,corrupt=0.125,ecn=0,"
						"delay=10,jitter=1.5ms,late=50,limit=7,seed=99",
						error, sizeof(error)), 0);
	assert_int_equal(c.loss, 1u << 31);
	assert_int_equal(c.burst, 3);
	assert_int_equal(c.reorder, 1u << 30);
	assert_int_equal(c.dup, UINT32_MAX);
	assert_int_equal(c.corrupt, 1u << 29);
	assert_int_equal(c.ecn, 0);
	assert_int_equal(c.delay_ns, 10000);
	assert_int_equal(c.jitter_ns, 1500000);
	assert_int_equal(c.late_ns, 50000);
	assert_int_equal(c.limit, 7);
	assert_int_equal(c.seed, 99);
}

static void
test_defaults(void **state)
{
	struct uroce_netem_conf c;
	char error[256];

	assert_int_equal(uroce_netem_conf_parse(&c, "delay=300ns", error, sizeof(error)), 0);
	assert_int_equal(c.delay_ns, 300);
	assert_int_equal(c.loss | c.reorder | c.dup | c.corrupt | c.ecn, 0);
	assert_int_equal(c.burst, 1);
	assert_int_equal(c.limit, UROCE_NETEM_LIMIT);
	assert_int_equal(c.late_ns, UROCE_NETEM_REORDER_NS);
	assert_int_equal(c.seed, 1);
	/* a probability above 0 counts, however small */
	assert_int_equal(uroce_netem_conf_parse(&c, "loss=1e-30", error, sizeof(error)), 0);
	assert_int_equal(c.loss, 1);
}

static const struct {
	const char *text;
	const char *says;
} wrong[] = {
	{ "loss", "loss has no value: give it as loss=VALUE" },
	{ "loss=", "0.01" },
	{ "loss=1.1", "from 0 to 1" },
	{ "loss=-0.1", "from 0 to 1" },
	{ "loss=nan", "from 0 to 1" },
	{ "loss=0.1x", "from 0 to 1" },
	{ "ecn=2", "ecn=2" },
	{ "corrupt=2", "corrupt=2" },
	{ "reorder=2", "reorder=2" },
	{ "dup=2", "dup=2" },
	{ "delay=5h", "up to 10s" },
	{ "delay=11s", "up to 10s" },
	{ "delay=-1", "up to 10s" },
	{ "jitter=nan", "up to 10s" },
	{ "late=11s", "up to 10s" },
	{ "burst=0", "burst=0" },
	{ "burst=65537", "1 to 65536" },
	{ "limit=0", "limit=0" },
	{ "limit=2000000", "1 to 1048576" },
	{ "seed=-1", "seed=-1" },
	{ "seed=99999999999999999999", "seed=" },
	{ "bandwidth=3", "loss=, burst=" },
	{ "", "loss=, burst=" },
	{ ",", "loss=, burst=" },
	{ "loss=0.1,loss=0.1", "loss is given more than once" },
	{ "delay=1ms,loss=0.1,delay=2ms", "delay is given more than once" },
};

static void
test_wrong(void **state)
{
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		char error[256] = "";

		if (uroce_netem_check(wrong[i].text, error, sizeof(error)) != EINVAL)
			fail_msg("'%s' is taken", wrong[i].text);
		if (strstr(error, wrong[i].says) == NULL)
			fail_msg("of '%s' it says: %s", wrong[i].text, error);
	}
}

UROCE_TESTS(netem_conf)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
