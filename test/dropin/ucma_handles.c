/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Handles: the lowest free number, up to the limit.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cma_world.h"
#include "eal.h"
#include "groups.h"
#include "ucma_fixture.h"
#include "ucma/ucma_handles.h"
#include "uroce_config.h"

static void
test_handles(void **state)
{
	struct uroce_ucma_handles handles = { .room = 0 };
	static char object;
	uint32_t handle;

	assert_null(uroce_ucma_handle_find(&handles, 0));
	for (uint32_t i = 0; i < UROCE_UCMA_MAX_HANDLES; i++) {
		assert_int_equal(uroce_ucma_handle_alloc(&handles, &object, &handle), 0);
		assert_int_equal(handle, i);
	}
	assert_int_equal(uroce_ucma_handle_alloc(&handles, &object, &handle), -ENOMEM);
	uroce_ucma_handle_free(&handles, 77);
	uroce_ucma_handle_free(&handles, 5);
	assert_null(uroce_ucma_handle_find(&handles, 77));
	assert_int_equal(uroce_ucma_handle_alloc(&handles, &object, &handle), 0);
	assert_int_equal(handle, 5);
	assert_int_equal(uroce_ucma_handle_alloc(&handles, &object, &handle), 0);
	assert_int_equal(handle, 77);
	free(handles.objects);
}

UROCE_TESTS(ucma_handles)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handles),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
