/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The history of a QP: each counter has a name of its own, and the first cause of an error stays.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "verbs/qp/history.h"

#define TRACE_STRING_BYTES 32	/* of rte_trace_point_emit_string(), which cuts off longer ones */

static void
expect_names(const char *const *names, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		assert_non_null(names[i]);
		assert_true(strlen(names[i]) > 0);
		for (unsigned int j = 0; j < i; j++)
			assert_string_not_equal(names[i], names[j]);
	}
}

static void
test_names(void **state)
{
	expect_names(uroce_qp_counter_names, UROCE_QP_COUNTER_COUNT);
	expect_names(uroce_qp_cause_names, UROCE_CAUSE_COUNT);
	for (unsigned int i = 0; i < UROCE_CAUSE_COUNT; i++)
		assert_true(strlen(uroce_qp_cause_names[i]) < TRACE_STRING_BYTES);
}

static uint32_t
sum(const struct uroce_qp_history *h)
{
	uint32_t n = 0;

	for (unsigned int i = 0; i < UROCE_QP_COUNTER_COUNT; i++)
		n += h->counters[i];
	return n;
}

static void
test_counters(void **state)
{
	struct uroce_qp_history h = { 0 };

	for (unsigned int i = 0; i < UROCE_QP_COUNTER_COUNT; i++) {
		uroce_qp_history_count(&h, i, i + 1);
		assert_int_equal(h.counters[i], i + 1);
	}
	uroce_qp_history_reset(&h);
	assert_int_equal(sum(&h), 0);
}

/* Unknown NAK codes from the peer do not count. */
static void
test_naks(void **state)
{
	struct uroce_qp_history h = { 0 };

	for (unsigned int code = 0; code < 256; code++) {
		uroce_qp_history_nak(&h, UROCE_QP_NAKS_RECEIVED, (uint8_t)code);
		uroce_qp_history_nak(&h, UROCE_QP_NAKS_SENT, (uint8_t)code);
	}
	for (unsigned int code = 0; code < UROCE_QP_NAK_CODES; code++) {
		assert_int_equal(h.counters[UROCE_QP_NAKS_RECEIVED + code], 1);
		assert_int_equal(h.counters[UROCE_QP_NAKS_SENT + code], 1);
	}
	assert_int_equal(sum(&h), 2 * UROCE_QP_NAK_CODES);
}

static void
test_verdict(void **state)
{
	struct uroce_qp_history h = { 0 };

	uroce_qp_history_verdict(&h, UROCE_DROP_PKEY, 7);
	uroce_qp_history_verdict(&h, UROCE_DUPLICATE, 9);
	assert_int_equal(h.counters[UROCE_QP_NOT_OK], 2);
	assert_int_equal(h.last_verdict, UROCE_DUPLICATE);
	assert_int_equal(h.last_verdict_ns, 9);
}

static void
test_cause(void **state)
{
	struct uroce_qp_history h = { 0 };

	uroce_qp_history_failed(&h, UROCE_CAUSE_REFUSED, IBV_WC_SUCCESS, UROCE_NAK_ACCESS, 5);
	uroce_qp_history_failed(&h, UROCE_CAUSE_SEND, IBV_WC_RETRY_EXC_ERR, UROCE_OK, 6);
	assert_int_equal(h.cause, UROCE_CAUSE_REFUSED);
	assert_int_equal(h.verdict, UROCE_NAK_ACCESS);
	assert_int_equal(h.status, IBV_WC_SUCCESS);
	assert_int_equal(h.cause_ns, 5);
	uroce_qp_history_count(&h, UROCE_QP_TIMEOUTS, 3);
	uroce_qp_history_mended(&h);
	assert_int_equal(h.cause, UROCE_CAUSE_NONE);
	assert_int_equal(h.counters[UROCE_QP_TIMEOUTS], 3);
	uroce_qp_history_failed(&h, UROCE_CAUSE_SEND, IBV_WC_RETRY_EXC_ERR, UROCE_OK, 8);
	assert_int_equal(h.cause, UROCE_CAUSE_SEND);
	assert_int_equal(h.status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(h.verdict, UROCE_OK);
	assert_int_equal(h.cause_ns, 8);
}

UROCE_TESTS(history)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_naks),
		cmocka_unit_test(test_verdict),
		cmocka_unit_test(test_cause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
