/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Each status and each event has a name of its own; other values are "unknown".
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "uroce.h"

static void
test_wc_status(void **state)
{
	assert_string_equal(uroce_wc_status_str(IBV_WC_SUCCESS), "success");
	assert_string_equal(uroce_wc_status_str(IBV_WC_WR_FLUSH_ERR), "work request flushed");
	assert_string_equal(uroce_wc_status_str(IBV_WC_TM_RNDV_INCOMPLETE + 1), "unknown");
	assert_string_equal(uroce_wc_status_str(-1), "unknown");
	for (int i = IBV_WC_SUCCESS; i <= IBV_WC_TM_RNDV_INCOMPLETE; i++) {
		assert_non_null(uroce_wc_status_str(i));
		for (int k = IBV_WC_SUCCESS; k < i; k++)
			assert_string_not_equal(uroce_wc_status_str(i), uroce_wc_status_str(k));
	}
}

static void
test_event_type(void **state)
{
	assert_string_equal(uroce_event_type_str(IBV_EVENT_CQ_ERR), "CQ error");
	assert_string_equal(uroce_event_type_str(IBV_EVENT_WQ_FATAL + 1), "unknown");
	assert_string_equal(uroce_event_type_str(-1), "unknown");
	for (int i = IBV_EVENT_CQ_ERR; i <= IBV_EVENT_WQ_FATAL; i++) {
		assert_non_null(uroce_event_type_str(i));
		for (int k = IBV_EVENT_CQ_ERR; k < i; k++)
			assert_string_not_equal(uroce_event_type_str(i), uroce_event_type_str(k));
	}
}

static void
test_node_type(void **state)
{
	assert_string_equal(uroce_node_type_str(IBV_NODE_CA), "channel adapter");
	assert_string_equal(uroce_node_type_str(IBV_NODE_UNKNOWN), "unknown");
	assert_string_equal(uroce_node_type_str(IBV_NODE_UNSPECIFIED + 1), "unknown");
	assert_string_equal(uroce_node_type_str(0), "unknown");
	for (int i = IBV_NODE_CA; i <= IBV_NODE_UNSPECIFIED; i++)
		for (int k = 0; k < i; k++)
			assert_string_not_equal(uroce_node_type_str(i), uroce_node_type_str(k));
}

static void
test_port_state(void **state)
{
	assert_string_equal(uroce_port_state_str(IBV_PORT_ACTIVE), "active");
	assert_string_equal(uroce_port_state_str(IBV_PORT_ACTIVE_DEFER + 1), "unknown");
	assert_string_equal(uroce_port_state_str(-1), "unknown");
	for (int i = IBV_PORT_NOP; i <= IBV_PORT_ACTIVE_DEFER; i++)
		for (int k = IBV_PORT_NOP; k < i; k++)
			assert_string_not_equal(uroce_port_state_str(i), uroce_port_state_str(k));
}

UROCE_TESTS(strings)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wc_status),
		cmocka_unit_test(test_event_type),
		cmocka_unit_test(test_node_type),
		cmocka_unit_test(test_port_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
