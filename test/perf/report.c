/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the results: figures derived from a run's counts, printed as text and as JSON.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "report.h"

static const struct perf_row row = {
	.params = { .op = PERF_SEND_IMM,
		    .mode = PERF_RATE,
		    .size = 4097,
		    .mtu = 1024,
		    .qps = 3,
		    .depth = 9,
		    .verify = true },
	.buffers = 4096,
	.lcores = 2,
	.seconds = 2,
	.ops = 4000000,
	.bytes = 4000000ull * 4097,
	.retransmits = 5,
	.errors = 1,
	.verified_bytes = 77,
	.handed_over = 12,
	.late_rounds = 13,
	.lat_us = { 0.5, 1.25, 3, 4, 1000 },
};

static char text[8192];

static void
print(int (*json)(FILE *, const struct perf_row *, unsigned int), const struct perf_row *rows,
      unsigned int n)
{
	FILE *f = fmemopen(text, sizeof(text), "w");

	assert_non_null(f);
	if (json != NULL)
		assert_int_equal(json(f, rows, n), 0);
	else
		uroce_perf_report_table(f, rows, n);
	fclose(f);
}

static void
test_figures(void **state)
{
	struct perf_row none = row;

	assert_true(uroce_perf_row_mops(&row) == 2);
	assert_true(uroce_perf_row_gbps(&row) == 2e6 * 4097 * 8 / 1e9);
	none.seconds = 0;
	none.ops = 0;
	assert_true(uroce_perf_row_mops(&none) == 0);
	assert_true(uroce_perf_row_gbps(&none) == 0);
}

static void
test_latencies(void **state)
{
	struct perf_histogram *h = malloc(sizeof(*h));
	struct perf_row r = row;

	assert_non_null(h);
	uroce_perf_histogram_init(h);
	uroce_perf_row_latency(&r, h, 1000000000);
	assert_true(r.lat_us.min == 0 && r.lat_us.max == 0);
	for (unsigned int i = 0; i < 1000; i++)
		uroce_perf_histogram_add(h, i == 0 ? 500 : 2000);
	uroce_perf_row_latency(&r, h, 1000000000);
	assert_true(r.lat_us.min == 0.5);
	assert_true(r.lat_us.p50 == 2 && r.lat_us.p99 == 2 && r.lat_us.p999 == 2 &&
		    r.lat_us.max == 2);
	free(h);
}

static void
test_json(void **state)
{
	static const char *const members[] = {
		"\"op\": \"send-imm\"",
		"\"transport\": \"rc\"",
		"\"mode\": \"rate\"",
		"\"size\": 4097",
		"\"mtu\": 1024",
		"\"qps\": 3",
		"\"depth\": 9",
		"\"buffers\": 4096",
		"\"lcores\": 2",
		"\"seconds\": 2.000000000",
		"\"ops\": 4000000",
		"\"bytes\": 16388000000",
		"\"gbps\": 65.552000",
		"\"mops\": 2.000000",
		("\"lat_us\": {\"min\": 0.500, \"p50\": 1.250, \"p99\": 3.000, \"p999\": 4.000, "
		 "\"max\": 1000.000}"),
		"\"lost\": 0",
		"\"retransmits\": 5",
		"\"errors\": 1",
		"\"verified_bytes\": 77",
		"\"handed_over\": 12",
		"\"late_rounds\": 13",
	};

	print(uroce_perf_report_json, &row, 1);
	for (unsigned int i = 0; i < RTE_DIM(members); i++) {
		if (strstr(text, members[i]) == NULL)
			fail_msg("no %s in %s", members[i], text);
	}
	assert_int_equal(text[0], '[');
}

static void
test_json_rows(void **state)
{
	const struct perf_row rows[2] = { row, row };

	print(uroce_perf_report_json, rows, 0);
	assert_string_equal(text, "[]\n");
	print(uroce_perf_report_json, rows, 2);
	assert_non_null(strstr(text, "},\n  {"));
	assert_non_null(strstr(text, "}\n]\n"));
}

/* A full disk is an error. */
static void
test_json_not_written(void **state)
{
	FILE *f = fopen("/dev/full", "w");

	assert_non_null(f);
	assert_int_equal(uroce_perf_report_json(f, &row, 1), -1);
	fclose(f);
}

static void
test_table(void **state)
{
	struct perf_row big = row;

	big.params.size = 64 << 10;
	print(NULL, &row, 1);
	assert_non_null(strstr(
		text, "send-imm  rc        rate    4097  1024     3      9      2    65.552    2.0000"));
	assert_non_null(strstr(text, "verified 4097: 77 of 16388000000 bytes"));
	assert_non_null(strstr(text, "handed over 4097: 12 frames\n"));
	assert_non_null(strstr(text, "late 4097: 13 rounds, which began 200 us or more after the one before\n"));
	print(NULL, &big, 1);
	assert_non_null(strstr(text, " 64K "));
}

/* 4097 bytes take 131.104 ns at 250 Gb/s: 2 M/s are 0.262 of that */
static void
test_floor(void **state)
{
	struct perf_row rows[3] = { row, row, row };

	rows[0].floor = (struct perf_floor){ 250, "memcpy", 200, 1, 140.26, 301.4, 900.2, 0, 0, 0 };
	rows[1].params.size = 64;
	rows[1].params.mode = PERF_LAT;
	rows[1].floor = (struct perf_floor){ 0, "", 0, 1, 140.26, 301.4, 900.2, 3, 904, 2700 };
	print(NULL, rows, 3);
	assert_non_null(strstr(text, " errors  share\n"));
	assert_non_null(strstr(text, "      1  0.262\n"));
	assert_non_null(strstr(text, "floor 4097: CRC and copy (memcpy) 250.0 Gb/s a core, with the sender's CRC 200.0; "
				     "mbufs over a ring 140.3 M/s, there and back 301 ns, p99.9 900; bytes: 0.262 of what it allows\n"));
	assert_non_null(strstr(text, "      1  0.241\n"));
	assert_non_null(strstr(text, "floor 64: mbufs over a ring 140.3 M/s, there and back 301 ns, p99.9 900, 3 in a row 904 ns, "
				     "p99.9 2700; round trip: 0.241 of what it allows\n"));
	assert_non_null(strstr(text, "      1\n")); /* the third row has no share */
	print(NULL, &row, 1);
	assert_null(strstr(text, "share"));
	assert_null(strstr(text, "floor"));
}

/* The bound of less than a packet between two processes is unknown. */
static void
test_no_share(void **state)
{
	struct perf_row r = row;

	r.params.size = 1000;
	r.floor = (struct perf_floor){ .gbps = 250, .copy = "avx512", .cores = 2 };
	print(NULL, &r, 1);
	assert_non_null(strstr(text, "      1      -\n"));
	assert_non_null(strstr(text, "floor 1000: CRC and copy (avx512) 250.0 Gb/s a core\n"));
	print(uroce_perf_report_json, &r, 1);
	assert_non_null(strstr(text, "\"bound\": null, \"share\": null}"));
	/* no measured floor applies */
	r.floor.gbps = 0;
	print(NULL, &r, 1);
	assert_non_null(strstr(text, "      1      -\n"));
	assert_null(strstr(text, "floor"));
	print(uroce_perf_report_json, &r, 1);
	assert_non_null(strstr(text, "\"bound\": null, \"share\": null}"));
}

static void
test_json_floor(void **state)
{
	struct perf_row r = row;

	print(uroce_perf_report_json, &r, 1);
	assert_null(strstr(text, "floor"));
	r.floor = (struct perf_floor){ 250, "memcpy", 200, 1, 140.26, 301.4, 900.2, 0, 0, 0 };
	print(uroce_perf_report_json, &r, 1);
	assert_non_null(strstr(text, "\"handed_over\": 12, \"late_rounds\": 13,\n   \"floor\": {\"gbps\": 250.000, \"copy\": "
				     "\"memcpy\", \"pair_gbps\": 200.000, \"cores\": 1, \"mops\": 140.260, \"rtt_ns\": 301.4, "
				     "\"rtt_p999_ns\": 900.2, \"span\": 0, \"span_ns\": 0.0, \"span_p999_ns\": 0.0},\n"
				     "   \"bound\": \"bytes\", \"share\": 0.2622}"));
}

UROCE_TESTS(perf_report)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figures),
		cmocka_unit_test(test_latencies),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_rows),
		cmocka_unit_test(test_json_not_written),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_floor),
		cmocka_unit_test(test_no_share),
		cmocka_unit_test(test_json_floor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
