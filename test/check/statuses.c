/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Groups of tests that end in every way, for test/check/group_status. The name of a group says how it ends.
 */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "groups.h"

static void
test_passes(void **state)
{
}

UROCE_TESTS(passes)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

UROCE_TESTS(fails)
{
	return 1;
}

UROCE_TESTS(exits_2)
{
	exit(2);
}

UROCE_TESTS(exits_66)
{
	exit(66);	/* as ThreadSanitizer does after a report */
}

UROCE_TESTS(exits_77)
{
	exit(77);
}

UROCE_TESTS(killed)
{
	raise(SIGKILL);
	return 0;
}
