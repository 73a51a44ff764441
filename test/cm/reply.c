/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Replies without a connection, byte by byte: the fields copied from the message, and zeros elsewhere.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cm/ib/internal.h"
#include "groups.h"
#include "pair.h"

static struct test_pair pair;
static struct uroce_cm_path path;
static uint8_t message[UROCE_CM_MAD_BYTES], expected[UROCE_CM_MAD_BYTES];

static int
setup(void **state)
{
	static const uint8_t reply_to[] = {
		1, 7, 2, 3, 0, 0, 0, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
	};

	test_pair_init(&pair, 51);
	path = test_end_path(&pair.end[TEST_SERVER]);
	memset(message, 0xff, sizeof(message)); /* no other field of the message may return */
	memcpy(message, reply_to, sizeof(reply_to));
	memcpy(message + 24, (const uint8_t[]){ 0xa1, 0xa2, 0xa3, 0xa4, 0xb1, 0xb2, 0xb3, 0xb4 },
	       8);
	memset(expected, 0, sizeof(expected));
	memcpy(expected, reply_to, sizeof(reply_to));
	memcpy(expected + 24, (const uint8_t[]){ 0xb1, 0xb2, 0xb3, 0xb4, 0xa1, 0xa2, 0xa3, 0xa4 },
	       8);
	return 0;
}

static int
teardown(void **state)
{
	test_pair_fini(&pair);
	return 0;
}

static void
check_sent(void)
{
	assert_int_equal(pair.on_wire, 1);
	assert_memory_equal(pair.last[TEST_CLIENT].bytes, expected, UROCE_CM_MAD_BYTES);
	assert_memory_equal(&pair.last[TEST_CLIENT].path, &path, sizeof(path));
}

static void
rej_of_a_rep(void **state)
{
	expected[17] = 0x12;
	expected[24 + 8] = 0x40;
	expected[24 + 9] = 3 << 1;
	expected[24 + 11] = 6;
	memcpy(expected + 24 + 12, "abc", 3);
	uroce_cm_reply_rej(pair.end[TEST_SERVER].cm, &path, message, UROCE_CM_ABOUT_REP, 6, "abc",
			   3);
	check_sent();
}

static void
rej_of_a_req_has_one_id(void **state)
{
	expected[17] = 0x12;
	memset(expected + 24, 0, 4);
	expected[24 + 11] = 8;
	uroce_cm_reply_rej(pair.end[TEST_SERVER].cm, &path, message, UROCE_CM_ABOUT_REQ, 8, NULL,
			   0);
	check_sent();
}

static void
drep(void **state)
{
	expected[17] = 0x16;
	uroce_cm_reply_drep(pair.end[TEST_SERVER].cm, &path, message);
	check_sent();
}

static void
apr(void **state)
{
	expected[17] = 0x1a;
	expected[24 + 9] = 1;
	uroce_cm_reply_apr(pair.end[TEST_SERVER].cm, &path, message, 1);
	check_sent();
}

static void
sidr_rep(void **state)
{
	expected[17] = 0x18;
	memcpy(expected + 24, message + 24, 4);
	memset(expected + 28, 0, 4);
	expected[24 + 4] = 2;
	memset(expected + 24 + 12, 0xff, 8); /* the service ID */
	uroce_cm_reply_sidr(pair.end[TEST_SERVER].cm, &path, message, 2);
	check_sent();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UROCE_TESTS(cm_reply)
{
	const struct CMUnitTest tests[] = {
		TEST(rej_of_a_rep), TEST(rej_of_a_req_has_one_id), TEST(drep), TEST(apr),
		TEST(sidr_rep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
