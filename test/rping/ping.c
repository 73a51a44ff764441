/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The text of a ping, as rping writes it, and where it differs.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "ping.h"

static void
test_text(void **state)
{
	char data[80];

	uroce_rping_fill(data, 40, 0);
	assert_string_equal(data, "rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ");
	uroce_rping_fill(data, 40, 2);
	assert_string_equal(data, "rdma-ping-2: CDEFGHIJKLMNOPQRSTUVWXYZ[\\");
	uroce_rping_fill(data, 80, 0);
	assert_string_equal(
		data,
		"rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyzABCDEFGH");
	/* after the 58th it begins again */
	uroce_rping_fill(data, 40, 58);
	assert_string_equal(data, "rdma-ping-58: ABCDEFGHIJKLMNOPQRSTUVWXY");
	uroce_rping_fill(data, 26, 2147483647);
	assert_int_equal(strlen(data), 25);
}

static void
test_bytes(void **state)
{
	static const char none[4] = { 'a', 'b', 'c', 'd' };

	assert_int_equal(uroce_rping_text_bytes("abc", 4), 4);
	assert_int_equal(uroce_rping_text_bytes("a\0c", 4), 2);
	/* no zero: not beyond what there is */
	assert_int_equal(uroce_rping_text_bytes(none, 4), 4);
}

static void
test_compare(void **state)
{
	assert_int_equal(uroce_rping_compare("abc", "abc", 4), 4);
	assert_int_equal(uroce_rping_compare("abc", "xbc", 4), 0);
	assert_int_equal(uroce_rping_compare("abc", "abx", 4), 2);
	assert_int_equal(uroce_rping_compare("abc", "abx", 2), 2);
}

UROCE_TESTS(rping_ping)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_compare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
