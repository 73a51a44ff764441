/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the command line of uroce-perf: valid arguments, and the message for each wrong one.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "options.h"

#define MAX_ARGS 16

static char error[512];

/* Parse a line of words. argv of the options lives as long as the next call. */
static int
parse(struct perf_options *o, const char *line)
{
	static char words[512];
	static char program[] = "uroce-perf";
	char *argv[MAX_ARGS] = { program };
	char *save = NULL;
	int argc = 1;

	error[0] = '\0';
	assert_true(strlen(line) < sizeof(words));
	strcpy(words, line);
	for (char *word = strtok_r(words, " ", &save); word != NULL;
	     word = strtok_r(NULL, " ", &save)) {
		assert_true(argc < MAX_ARGS - 1);
		argv[argc++] = word;
	}
	return uroce_perf_options_parse(o, argc, argv, error, sizeof(error));
}

static void
test_defaults(void **state)
{
	struct perf_options o;

	assert_int_equal(parse(&o, ""), 0);
	assert_int_equal(o.op, PERF_WRITE);
	assert_int_equal(o.mode, PERF_BW);
	assert_int_equal(o.role, PERF_BOTH);
	assert_int_equal(o.size, 65536);
	assert_int_equal(o.mtu, 4096);
	assert_int_equal(o.qps, 1);
	assert_int_equal(o.workers, 0);
	assert_int_equal(o.depth, 128);
	assert_int_equal(o.buffers, 0);
	assert_true(o.time_s == 5);
	assert_int_equal(o.iters, 0);
	assert_int_equal(o.fault, -1);
	assert_false(o.verify || o.all_sizes || o.mtu_given || o.help || o.version);
	assert_null(o.json);
	assert_string_equal(o.oob.text, "tcp:127.0.0.1:18515");
}

static void
test_all_given(void **state)
{
	struct perf_options o;

	assert_int_equal(
		parse(&o, "--op send-imm --transport rc --mode lat --size 4097 --mtu 1024 --qps 64 "
			  "--depth=7"),
		0);
	assert_int_equal(o.op, PERF_SEND_IMM);
	assert_int_equal(o.mode, PERF_LAT);
	assert_int_equal(o.size, 4097);
	assert_int_equal(o.mtu, 1024);
	assert_true(o.mtu_given);
	assert_int_equal(o.qps, 64);
	assert_int_equal(o.depth, 7);
	assert_int_equal(parse(&o, "--buffers 512K"), 0);
	assert_int_equal(o.buffers, 524288);
	assert_int_equal(parse(&o, "--workers 3"), 0);
	assert_int_equal(o.workers, 3);
	assert_int_equal(o.qps, 3);
	assert_int_equal(parse(&o, "--workers 3 --qps 5"), 0);
	assert_int_equal(o.qps, 5);
	assert_true(o.stats_period_s == 0);
	assert_int_equal(parse(&o, "--stats-period 0.5"), 0);
	assert_true(o.stats_period_s == 0.5);
	assert_int_equal(parse(&o, "--time 0.25 --verify --fault 0 --json - --size all"), 0);
	assert_true(o.time_s == 0.25);
	assert_true(o.verify && o.all_sizes);
	assert_int_equal(o.fault, 0);
	assert_string_equal(o.json, "-");
	assert_int_equal(
		parse(&o,
		      "--client fd00::1 --addr 10.0.0.1/24 --addr fd00::2/64 --oob unix:/x --iters 9"),
		0);
	assert_int_equal(o.role, PERF_CLIENT);
	assert_int_equal(o.peer.raw[0], 0xfd);
	assert_int_equal(o.nb_addrs, 2);
	assert_string_equal(o.addrs[1], "fd00::2/64");
	assert_true(o.oob.is_unix);
	assert_int_equal(o.iters, 9);
	assert_false(o.go_back_n);
	assert_int_equal(parse(&o, "--server --addr 10.0.0.1/24 --go-back-n"), 0);
	assert_true(o.go_back_n);
	assert_int_equal(o.role, PERF_SERVER);
	assert_false(o.share_memory);
	assert_int_equal(parse(&o, "--server --addr 10.0.0.1/24 --share-memory"), 0);
	assert_true(o.share_memory);
	assert_false(o.floor);
	assert_int_equal(parse(&o, "--client 10.0.0.1 --addr 10.0.0.2/24 --floor"), 0);
	assert_true(o.floor);
	assert_null(o.limits);
	assert_int_equal(parse(&o, "--limits log2_window=12,mtu=1500"), 0);
	assert_string_equal(o.limits, "log2_window=12,mtu=1500");
}

static void
test_every_op_and_mode(void **state)
{
	struct perf_options o;
	char line[64];

	for (unsigned int i = 0; i < PERF_OP_COUNT; i++) {
		snprintf(line, sizeof(line), "--op %s", uroce_perf_ops[i].name);
		assert_int_equal(parse(&o, line), 0);
		assert_int_equal(o.op, i);
	}
	for (unsigned int i = 0; i < PERF_MODE_COUNT; i++) {
		snprintf(line, sizeof(line), "--mode %s", uroce_perf_modes[i]);
		assert_int_equal(parse(&o, line), 0);
		assert_int_equal(o.mode, i);
	}
}

/* Wrong arguments, and words of the message that state the remedy. */
static const struct {
	const char *line;
	const char *says;
} wrong[] = {
	{ "--op flush", "write, write-imm, read, send, send-imm, fetch-add or cmp-swap" },
	{ "--transport uc --op read", "--transport uc does not support --op read" },
	{ "--transport uc --op fetch-add", "write, write-imm, send or send-imm" },
	{ "--transport ud --op write", "--transport ud does not support --op write: use send or send-imm" },
	{ "--transport ud --size 4097", "one packet" },
	{ "--transport ud --mtu 1024 --size 2K", "1024" },
	{ "--transport uc --verify", "use --op write-imm" },
	{ "--transport tcp", "rc, uc or ud" },
	{ "--impair loss=2", "from 0 to 1" },
	{ "--impair loss=0.1,loss=0.2", "--impair loss is given more than once" },
	{ "--congestion maybe", "on or off" },
	{ "-i --json -", "the prompt is on standard output" },
	{ "--mode fast", "bw, rate or lat" },
	{ "--size 3G", "64K" },
	{ "--size -1", "64K" },
	{ "--size 1025M", "64K" },
	{ "--size 1KK", "64K" },
	{ "--size K", "64K" },
	{ "--size 99999999999999999999", "64K" },
	{ "--size 0 --op fetch-add", "leave --size out" },
	{ "--size 0 --op cmp-swap", "leave --size out" },
	{ "--mtu 1500", "256, 512, 1024, 2048 or 4096" },
	{ "--mtu 128", "256, 512, 1024, 2048 or 4096" },
	{ "--mtu 8192", "256, 512, 1024, 2048 or 4096" },
	{ "--qps 0", "from 1 to 65536" },
	{ "--qps 65537", "from 1 to 65536" },
	{ "--qps 1x", "from 1 to 65536" },
	{ "--workers 65", "from 1 to 64" },
	{ "--workers 2 --qps 1", "raise --qps 1" },
	{ "--depth 0", "from 1 to 32768" },
	{ "--depth 32769", "from 1 to 32768" },
	{ "--buffers 0", "from 1 to 67108864" },
	{ "--buffers 65M", "from 1 to 67108864" },
	{ "--buffers all", "from 1 to 67108864" },
	{ "--time 0", "seconds above 0" },
	{ "--time -1", "seconds above 0" },
	{ "--time nan", "seconds above 0" },
	{ "--time 1e9", "seconds above 0" },
	{ "--time soon", "seconds above 0" },
	{ "--iters 0", "from 1 to" },
	{ "--stats-period 0", "seconds from 0.1" },
	{ "--stats-period -1", "seconds from 0.1" },
	{ "--stats-period nan", "seconds from 0.1" },
	{ "--stats-period 1e9", "seconds from 0.1" },
	{ "--stats-period 1s", "seconds from 0.1" },
	{ "--time 1 --iters 1", "exclude each other" },
	{ "--server --addr 10.0.0.1/24 --floor", "use it there" },
	{ "--server --client 10.0.0.1", "exclude each other" },
	{ "--client here", "one of its --addr" },
	{ "--client 10.0.0.1/24", "one of its --addr" },
	{ "--addr 10.0.0.1", "prefix length" },
	{ "--addr 10.0.0.1/33", "prefix length" },
	{ "--addr 10.0.0.256/24", "prefix length" },
	{ "--addr fd00::1/129", "prefix length" },
	{ "--addr /24", "prefix length" },
	{ "--addr 10.0.0.1/24 --addr 10.0.0.1/24", "is given twice" },
	{ "--addr fd00::1/64 --addr 10.0.0.1/24 --addr fd00:0::1/48", "is given twice" },
	{ "--server --oob 127.0.0.1", "tcp:PORT, tcp:HOST:PORT or unix:PATH" },
	{ "--oob tcp:5000", "--server or --client" },
	{ "--fault 1", "--verify" },
	{ "--verify --fault x", "the first is 0" },
	{ "--nonsense", "--nonsense is not an option" },
	{ "--verify=yes", "takes no value" },
	{ "-x", "go before a --" },
	{ "--verify -xy", "-xy is not an option" },
	{ "-ixy", "-ixy is not an option" },
	{ "--op", "--op needs a value" },
	{ "--limits log2_window=99", "log2_window 99 is not in 5..13" },
	{ "write", "'write' is not an option" },
};

static void
test_wrong(void **state)
{
	struct perf_options o;

	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		if (parse(&o, wrong[i].line) != -EINVAL || strstr(error, wrong[i].says) == NULL)
			fail_msg("%s: '%s' does not say '%s'", wrong[i].line, error, wrong[i].says);
	}
}

static void
test_too_many_addresses(void **state)
{
	static char program[] = "uroce-perf", option[] = "--addr";
	char values[UROCE_APP_MAX_ADDRESSES + 1][32];
	char *argv[2 * UROCE_APP_MAX_ADDRESSES + 4] = { program };
	struct perf_options o;
	int argc = 1;

	for (unsigned int i = 0; i < RTE_DIM(values); i++) {
		snprintf(values[i], sizeof(values[i]), "10.0.%u.%u/16", i / 256, i % 256);
		argv[argc++] = option;
		argv[argc++] = values[i];
	}
	assert_int_equal(uroce_perf_options_parse(&o, argc - 2, argv, error, sizeof(error)), 0);
	assert_int_equal(uroce_perf_options_parse(&o, argc, argv, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "more than"));
}

static void
test_atomics_are_8_bytes(void **state)
{
	struct perf_options o;

	assert_int_equal(parse(&o, "--op fetch-add"), 0);
	assert_int_equal(o.size, 8);
	assert_false(o.size_ignored);
	assert_int_equal(parse(&o, "--op cmp-swap --size 64K"), 0);
	assert_int_equal(o.size, 8);
	assert_true(o.size_ignored);
	assert_int_equal(parse(&o, "--size all --op cmp-swap"), 0);
	assert_false(o.all_sizes);
	assert_true(o.size_ignored);
}

static void
test_sizes(void **state)
{
	uint32_t bytes;

	assert_int_equal(uroce_perf_size_parse("0", &bytes), 0);
	assert_int_equal(bytes, 0);
	assert_int_equal(uroce_perf_size_parse("1k", &bytes), 0);
	assert_int_equal(bytes, 1024);
	assert_int_equal(uroce_perf_size_parse("3M", &bytes), 0);
	assert_int_equal(bytes, 3 << 20);
	assert_int_equal(uroce_perf_size_parse("1024M", &bytes), 0);
	assert_int_equal(bytes, UROCE_PERF_MAX_SIZE);
	assert_int_equal(uroce_perf_size_parse("", &bytes), -EINVAL);
	assert_int_equal(uroce_perf_size_parse(" 1", &bytes), -EINVAL);
	assert_int_equal(uroce_perf_size_parse("1048577K", &bytes), -EINVAL);
}

static void
test_addresses(void **state)
{
	static const uint8_t mapped[16] = { [10] = 0xff, 0xff, 10, 1, 2, 3 };
	union ibv_gid gid;

	assert_int_equal(uroce_app_gid_parse("10.1.2.3", &gid), 0);
	assert_memory_equal(gid.raw, mapped, 16);
	assert_true(uroce_app_gid_is_v4(&gid));
	assert_int_equal(uroce_app_cidr_parse("fd00::1/64", &gid), 0);
	assert_false(uroce_app_gid_is_v4(&gid));
	assert_int_equal(uroce_app_cidr_parse("::ffff:10.1.2.3/24", &gid), 0);
	assert_int_equal(uroce_app_cidr_parse("::ffff:10.1.2.3/64", &gid), -EINVAL);
}

/* Options of uroce-perf that are found among EAL's arguments if the -- is missing. EAL gets options that both have. */
static void
test_has(void **state)
{
	assert_true(uroce_perf_options_has("--op"));
	assert_true(uroce_perf_options_has("--size=64K"));
	assert_true(uroce_perf_options_has("--server"));
	assert_false(uroce_perf_options_has("--no-huge"));
	assert_false(uroce_perf_options_has("--help"));
	assert_false(uroce_perf_options_has("--version"));
	assert_false(uroce_perf_options_has("--"));
	assert_false(uroce_perf_options_has("-l"));
}

UROCE_TESTS(perf_options)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_all_given),
		cmocka_unit_test(test_every_op_and_mode),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_too_many_addresses),
		cmocka_unit_test(test_atomics_are_8_bytes),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
