/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Imports are not supported: each call returns an error.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "groups.h"
#include "uroce.h"

static void
nothing_is_imported(void **state)
{
	struct ibv_context context = { .cmd_fd = -1 };
	struct ibv_pd pd = { .context = &context };

	(void)state;
	errno = 0;
	assert_null(uroce_import_device(0));
	assert_int_equal(errno, EOPNOTSUPP);
	errno = 0;
	assert_null(uroce_import_pd(&context, 1));
	assert_int_equal(errno, EOPNOTSUPP);
	errno = 0;
	assert_null(uroce_import_mr(&pd, 1));
	assert_int_equal(errno, EOPNOTSUPP);
	errno = 0;
	assert_null(uroce_import_dm(&context, 1));
	assert_int_equal(errno, EOPNOTSUPP);
	errno = 0;
	assert_null(uroce_reg_dmabuf_mr(&pd, 0, 4096, 0, 0, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EOPNOTSUPP);
	uroce_unimport_pd(NULL);
	uroce_unimport_mr(NULL);
	uroce_unimport_dm(NULL);
}

UROCE_TESTS(import)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_imported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
