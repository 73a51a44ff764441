/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Messages on stderr: which are printed, and which are not.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "complain.h"
#include "groups.h"

static char said[1024];
static int ends[2], before;

static void
listen_to_it(void)
{
	assert_int_equal(pipe(ends), 0);
	before = dup(STDERR_FILENO);
	assert_true(before >= 0);
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	close(ends[1]);
}

static const char *
heard(void)
{
	ssize_t n;

	assert_int_equal(dup2(before, STDERR_FILENO), STDERR_FILENO);
	close(before);
	n = read(ends[0], said, sizeof(said) - 1);
	close(ends[0]);
	assert_true(n >= 0);
	said[n] = '\0';
	return said;
}

static void
test_line(void **state)
{
	listen_to_it();
	uroce_complain("%d of %s", 7, "them");
	assert_string_equal(heard(), "uroce: 7 of them\n");
}

static void
test_types(void **state)
{
	static const enum ibv_qp_type supported[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND,
						      IBV_QPT_XRC_RECV };

	for (unsigned int i = 0; i < sizeof(supported) / sizeof(supported[0]); i++) {
		listen_to_it();
		uroce_complain_qp_type(supported[i]);
		assert_string_equal(heard(), "");
	}
	listen_to_it();
	uroce_complain_qp_type(IBV_QPT_RAW_PACKET);
	assert_non_null(strstr(heard(), "IBV_QPT_RAW_PACKET"));
	listen_to_it();
	uroce_complain_qp_type(IBV_QPT_RAW_PACKET);	/* only once */
	assert_string_equal(heard(), "");
	listen_to_it();
	uroce_complain_qp_type(IBV_QPT_DRIVER);
	assert_non_null(strstr(heard(), "IBV_QPT_DRIVER"));
	listen_to_it();
	uroce_complain_qp_type((enum ibv_qp_type)1000);
	assert_non_null(strstr(heard(), "1000"));
}

static void
test_descriptors(void **state)
{
	struct rlimit old, small;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	listen_to_it();
	small = old;
	small.rlim_cur = 64;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
	uroce_complain_descriptors(8);
	assert_string_equal(heard(), "");
	listen_to_it();
	uroce_complain_descriptors(65);
	assert_non_null(strstr(heard(), "of the limit of 64 (ulimit -n)"));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

UROCE_TESTS(complain)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
