/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the output of --stats-period for two samples: rates of counters that have changed, and no others.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "stats.h"

static struct perf_stats_sample before, after;
static char text[4096];

static const char *
written(const char *end)
{
	FILE *out = fmemopen(text, sizeof(text), "w");

	assert_non_null(out);
	uroce_perf_stats_write(out, 4, end, &before, &after);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void
add(unsigned int dev, const char *name, uint64_t from, uint64_t to)
{
	unsigned int i = after.nb_counters;

	for (i = 0; i < after.nb_counters && strcmp(after.counters[dev][i].name, name) != 0;)
		i++;
	before.counters[dev][i] = (struct uroce_counter){ name, from };
	after.counters[dev][i] = (struct uroce_counter){ name, to };
	before.nb_counters = after.nb_counters = i >= after.nb_counters ? i + 1 : after.nb_counters;
}

static int
setup(void **state)
{
	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	before.at_ns = 1000000000;
	after.at_ns = 3000000000;
	before.nb_devs = after.nb_devs = 1;
	before.nb_workers = after.nb_workers = 2;
	after.names[0] = before.names[0] = "uroce0";
	add(0, "rx_frames", 1000, 3001000);
	add(0, "tx_frames", 500, 1000500);
	add(0, "sent_bytes", 7, UINT64_C(2500000007));
	add(0, "received_bytes", 0, 250000000);
	add(0, "retransmitted_packets", 5, 17);
	before.loads[0] = (struct uroce_worker_load){ .busy_ns = 100, .total_ns = 1000 };
	after.loads[0] = (struct uroce_worker_load){ .busy_ns = 600, .total_ns = 2000 };
	after.loads[1] = (struct uroce_worker_load){ .busy_ns = 0, .total_ns = 2000 };
	return 0;
}

static void
test_rates(void **state)
{
	assert_string_equal(written("client"),
			    "stats 4.0 s  client: 10.00 Gb/s sent, 1.00 Gb/s received, 12 retransmitted, "
			    "busy 50.0, 0.0 %\n"
			    "stats 4.0 s  client uroce0: rx 1.500 Mpps, tx 0.500 Mpps\n");
}

/* Error counters are printed only if they have changed. */
static void
test_trouble(void **state)
{
	add(0, "ok", 0, 100);
	add(0, "drop_icrc", 1, 4);
	add(0, "drop_vlan", 9, 9);
	add(0, "tx_drop_stalled", 0, 2);
	add(0, "nak_rnr", 0, 1);
	add(0, "timeouts", 0, 6);
	add(0, "sent_acks", 0, 6);
	assert_non_null(strstr(written("server"), "tx 0.500 Mpps, drop_icrc 3, tx_drop_stalled 2, nak_rnr 1, "
						  "timeouts 6\n"));
}

/* A worker that another end reports: only the ports are printed. */
static void
test_borrowed(void **state)
{
	before.nb_workers = after.nb_workers = 0;
	assert_string_equal(written("server"), "stats 4.0 s  server uroce0: rx 1.500 Mpps, tx 0.500 Mpps\n");
}

static void
test_several_ports(void **state)
{
	before.nb_devs = after.nb_devs = 2;
	after.names[1] = "uroce1";
	memcpy(before.counters[1], before.counters[0], sizeof(before.counters[0]));
	memcpy(after.counters[1], before.counters[0], sizeof(before.counters[0]));
	assert_non_null(strstr(written("client"), "client uroce0: rx 1.500 Mpps, tx 0.500 Mpps\n"));
	assert_non_null(strstr(text, "client uroce1: rx 0.000 Mpps, tx 0.000 Mpps\n"));
}

/* No time has passed, or there is no port: nothing is printed. */
static void
test_nothing(void **state)
{
	after.at_ns = before.at_ns;
	memset(text, 0, sizeof(text));
	assert_string_equal(written("client"), "");
	after.at_ns++;
	after.nb_devs = 0;
	assert_string_equal(written("client"), "");
}

/* Without the option there is no thread, and stopping it is a no-op. */
static void
test_off(void **state)
{
	static const char *const names[PERF_STATS_ENDS] = { "client", "server" };
	const struct app_host *const hosts[PERF_STATS_ENDS] = { NULL, NULL };
	static struct perf_stats s;

	assert_int_equal(uroce_perf_stats_start(&s, 0, names, hosts), 0);
	uroce_perf_stats_stop(&s);
	assert_int_equal(s.round, 0);
}

UROCE_TESTS(perf_stats)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_rates, setup),   cmocka_unit_test_setup(test_trouble, setup),
		cmocka_unit_test_setup(test_borrowed, setup), cmocka_unit_test_setup(test_several_ports, setup),
		cmocka_unit_test_setup(test_nothing, setup), cmocka_unit_test_setup(test_off, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
