/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The trace points: EAL knows them by name, describes their fields, and keeps what was written, of those and only those
 * that were asked for.
 */

#define ALLOW_EXPERIMENTAL_API

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_common.h>
#include <rte_trace.h>
#include <rte_trace_point.h>

#include "cmocka_compat.h"
#include "eal.h"
#include "base/trace.h"
#include "groups.h"

static const struct {
	const char *name;
	const char *fields; /* in their order */
} points[] = {
	{ "lib.uroce.qp.state", "uint16_t device; uint32_t qpn; string_bounded_t from[32]; string_bounded_t to[32];" },
	{ "lib.uroce.qp.error",
	  "uint16_t device; uint32_t qpn; string_bounded_t cause[32]; uint8_t status; "
	  "string_bounded_t verdict[32];" },
	{ "lib.uroce.retransmit",
	  "uint16_t device; uint32_t qpn; uint32_t psn; uint32_t psns; string_bounded_t why[32];" },
	{ "lib.uroce.go_back",
	  "uint16_t device; uint32_t qpn; uint32_t psn; uint32_t next; uint8_t retries_left; "
	  "string_bounded_t why[32];" },
	{ "lib.uroce.probe", "uint16_t device; uint32_t qpn; uint32_t psn;" },
	{ "lib.uroce.nak.sent", "uint16_t device; uint32_t qpn; uint32_t psn; uint8_t syndrome;" },
	{ "lib.uroce.nak.received", "uint16_t device; uint32_t qpn; uint32_t psn; uint8_t syndrome;" },
	{ "lib.uroce.rnr.sent", "uint16_t device; uint32_t qpn; uint32_t psn; uint8_t timer;" },
	{ "lib.uroce.rnr.received",
	  "uint16_t device; uint32_t qpn; uint32_t psn; uint8_t timer; uint8_t retries_left;" },
	{ "lib.uroce.sack.sent", "uint16_t device; uint32_t qpn; uint32_t psn;" },
	{ "lib.uroce.sack.received", "uint16_t device; uint32_t qpn; uint32_t psn;" },
	{ "lib.uroce.cnp.sent", "uint16_t device; uint32_t qpn; uint32_t dest_qpn;" },
	{ "lib.uroce.cnp.received", "uint16_t device; uint32_t qpn; uint8_t obeyed;" },
	{ "lib.uroce.cm.state",
	  "uint32_t local_id; uint32_t local_qpn; uint32_t remote_qpn; "
	  "string_bounded_t from[32]; string_bounded_t to[32];" },
};

static char directory[] = "/tmp/uroce-test-trace-XXXXXX";
static uint8_t trace[1 << 20];
static size_t trace_bytes;

static void
write_all(uint8_t mark)
{
	const uint32_t qpn = 0xabcd00u + mark;

	uroce_trace_qp_state(7, qpn, IBV_QPS_RTS, IBV_QPS_SQE);
	uroce_trace_qp_error(7, qpn, "the cause", IBV_WC_RETRY_EXC_ERR, "the_verdict");
	uroce_trace_retransmit(7, qpn, 0x111111, 0x222222, "missing");
	uroce_trace_go_back(7, qpn, 0x333333, 0x444444, 5, "timeout");
	uroce_trace_probe(7, qpn, 0x555555);
	uroce_trace_nak_sent(7, qpn, 0x666666, 0x60);
	uroce_trace_nak_received(7, qpn, 0x777777, 0x62);
	uroce_trace_rnr_sent(7, qpn, 0x888888, 18);
	uroce_trace_rnr_received(7, qpn, 0x999999, 19, 6);
	uroce_trace_sack_sent(7, qpn, 0xaaaaaa);
	uroce_trace_sack_received(7, qpn, 0xbbbbbb);
	uroce_trace_cnp_sent(7, qpn, 0xcccccc);
	uroce_trace_cnp_received(7, qpn, true);
	uroce_trace_cm_state(0xdddddddd, qpn, 0xeeeeee, "REQ sent", "established");
}

/* Save the trace, and read the events of all threads. */
static void
save(void)
{
	char command[128];
	FILE *f;

	assert_int_equal(rte_trace_save(), 0);
	snprintf(command, sizeof(command), "find %s -name 'channel0_*' -exec cat {} +", directory);
	f = popen(command, "r");
	assert_non_null(f);
	trace_bytes = fread(trace, 1, sizeof(trace), f);
	assert_int_equal(pclose(f), 0);
	assert_uint_in_range(trace_bytes, 1, sizeof(trace) - 1);
}

/* Does the trace contain device 7, the QP and these bytes, one after the other? */
static bool
has(uint8_t mark, const void *fields, size_t bytes)
{
	const uint32_t qpn = 0xabcd00u + mark;
	uint8_t wanted[128] = { 7, 0 };

	assert_true(bytes + 6 <= sizeof(wanted));
	memcpy(wanted + 2, &qpn, sizeof(qpn));
	memcpy(wanted + 6, fields, bytes);
	return memmem(trace, trace_bytes, wanted, 6 + bytes) != NULL;
}

#define HAS(mark, ...) has(mark, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void
test_names(void **state)
{
	for (unsigned int i = 0; i < RTE_DIM(points); i++) {
		rte_trace_point_t *point = rte_trace_point_lookup(points[i].name);

		if (point == NULL)
			fail_msg("%s is not there", points[i].name);
		assert_true(rte_trace_point_is_enabled(point));
	}
}

/* Compare the fields with rte_trace's description of each event, which has a member per line. */
static void
test_fields(void **state)
{
	char *text = NULL, *at, *end;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	assert_int_equal(rte_trace_metadata_dump(f), 0);
	fclose(f);
	for (char *c = text; *c != '\0'; c++)
		*c = *c == '\n' || *c == '\t' ? ' ' : *c;
	for (unsigned int i = 0; i < RTE_DIM(points); i++) {
		char name[64], members[1024], fields[256] = "", *word, *rest;

		snprintf(name, sizeof(name), "name = \"%s\";", points[i].name);
		at = strstr(text, name);
		assert_non_null(at);
		at = strchr(at, '{');
		assert_non_null(at);
		end = strchr(at, '}');
		assert_non_null(end);
		assert_uint_in_range(end - at, 1, sizeof(members) - 1);
		snprintf(members, sizeof(members), "%.*s", (int)(end - at - 1), at + 1);
		for (word = strtok_r(members, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
			snprintf(fields + strlen(fields), sizeof(fields) - strlen(fields), "%s%s",
				 fields[0] == '\0' ? "" : " ", word);
		assert_string_equal(fields, points[i].fields);
	}
	free(text);
}

static void
test_written(void **state)
{
	write_all(1);
	save();
	assert_true(memmem(trace, trace_bytes, "missing", 8) != NULL);
	assert_true(memmem(trace, trace_bytes, "the_verdict", 12) != NULL);
	assert_true(memmem(trace, trace_bytes, "established", 12) != NULL);
	assert_true(HAS(1, 'R', 'T', 'S', 0));
	assert_true(HAS(1, 't', 'h', 'e', ' ', 'c', 'a', 'u', 's', 'e', 0));
	assert_true(HAS(1, 0x11, 0x11, 0x11, 0, 0x22, 0x22, 0x22, 0, 'm', 'i', 's', 's', 'i', 'n', 'g', 0));
	assert_true(HAS(1, 0x33, 0x33, 0x33, 0, 0x44, 0x44, 0x44, 0, 5, 't', 'i', 'm', 'e', 'o', 'u', 't', 0));
	assert_true(HAS(1, 0x55, 0x55, 0x55, 0));
	assert_true(HAS(1, 0x66, 0x66, 0x66, 0, 0x60));
	assert_true(HAS(1, 0x77, 0x77, 0x77, 0, 0x62));
	assert_true(HAS(1, 0x88, 0x88, 0x88, 0, 18));
	assert_true(HAS(1, 0x99, 0x99, 0x99, 0, 19, 6));
	assert_true(HAS(1, 0xaa, 0xaa, 0xaa, 0));
	assert_true(HAS(1, 0xbb, 0xbb, 0xbb, 0));
	assert_true(HAS(1, 0xcc, 0xcc, 0xcc, 0));
	assert_true(HAS(1, 1));
}

/* Disabled trace points write nothing. */
static void
test_off(void **state)
{
	assert_true(rte_trace_pattern("lib.uroce.*", false) > 0);
	write_all(2);
	assert_true(rte_trace_pattern("lib.uroce.go_back", true) > 0);
	write_all(3);
	save();
	assert_true(HAS(1, 0x55, 0x55, 0x55, 0));
	assert_false(HAS(2, 0x55, 0x55, 0x55, 0));
	assert_false(HAS(2, 0x33, 0x33, 0x33, 0));
	assert_false(HAS(3, 0x55, 0x55, 0x55, 0));
	assert_true(HAS(3, 0x33, 0x33, 0x33, 0));
}

/* An unknown state has a name, too. */
static void
test_unknown_state(void **state)
{
	assert_true(rte_trace_pattern("lib.uroce.qp.state", true) > 0);
	uroce_trace_qp_state(7, 0xabcd04, IBV_QPS_UNKNOWN, (enum ibv_qp_state)99);
	save();
	assert_true(HAS(4, '?', 0));
}

UROCE_TESTS(trace)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	cmocka_unit_test(test_fields),	      cmocka_unit_test(test_written),
		cmocka_unit_test(test_off),	cmocka_unit_test(test_unknown_state),
	};
	char option[64], command[64];
	int ret;

	if (mkdtemp(directory) == NULL)
		return 1;
	snprintf(option, sizeof(option), "--trace-dir=%s", directory);
	test_eal_init("--trace=lib.uroce.*", option, "--trace-bufsz=64K", NULL);
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command) != 0 ? 1 : ret;
}
