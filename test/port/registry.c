/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The table of open devices: the index of a port, a full table, and which ports a look-up returns.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "groups.h"
#include "port/registry.h"

static void
test_lowest_first(void **state)
{
	assert_int_equal(uroce_registry_reserve(7), 0);
	assert_int_equal(uroce_registry_reserve(3), 1);
	assert_int_equal(uroce_registry_reserve(5), 2);
	/* the lowest free index is used */
	uroce_registry_release(1);
	assert_int_equal(uroce_registry_reserve(9), 1);
	for (unsigned int i = 0; i < 3; i++)
		uroce_registry_release(i);
}

static void
test_one_device_a_port(void **state)
{
	assert_int_equal(uroce_registry_reserve(0), 0);
	assert_int_equal(uroce_registry_reserve(0), -EBUSY);
	assert_int_equal(uroce_registry_reserve(4), 1);
	/* also behind a free index */
	uroce_registry_release(0);
	assert_int_equal(uroce_registry_reserve(4), -EBUSY);
	/* the refused calls have reserved nothing */
	assert_int_equal(uroce_registry_reserve(0), 0);
	uroce_registry_release(0);
	uroce_registry_release(1);
}

static void
test_full(void **state)
{
	for (int i = 0; i < UROCE_MAX_DEVICES; i++)
		assert_int_equal(uroce_registry_reserve((uint16_t)(100 + i)), i);
	assert_int_equal(uroce_registry_reserve(1), -ENOSPC);
	assert_int_equal(uroce_registry_reserve(100), -EBUSY);
	uroce_registry_release(UROCE_MAX_DEVICES - 1);
	assert_int_equal(uroce_registry_reserve(1), UROCE_MAX_DEVICES - 1);
	for (unsigned int i = 0; i < UROCE_MAX_DEVICES; i++)
		uroce_registry_release(i);
	assert_int_equal(uroce_registry_reserve(100), 0);
	uroce_registry_release(0);
}

static void
test_publish(void **state)
{
	static struct uroce_port first, last;

	last.dev.index = UROCE_MAX_DEVICES - 1;
	for (unsigned int i = 0; i < UROCE_MAX_DEVICES; i++)
		assert_null(uroce_registry_port(i));
	uroce_registry_publish(&first);
	uroce_registry_publish(&last);
	uroce_registry_lock();
	assert_ptr_equal(uroce_registry_port(0), &first);
	assert_null(uroce_registry_port(1));
	assert_ptr_equal(uroce_registry_port(UROCE_MAX_DEVICES - 1), &last);
	/* an index from uroce_path.out or the application may have any value */
	assert_null(uroce_registry_port(UROCE_MAX_DEVICES));
	assert_null(uroce_registry_port(UINT32_MAX));
	uroce_registry_unlock();
	uroce_registry_unpublish(&first);
	assert_null(uroce_registry_port(0));
	assert_ptr_equal(uroce_registry_port(UROCE_MAX_DEVICES - 1), &last);
	uroce_registry_unpublish(&last);
	assert_null(uroce_registry_port(UROCE_MAX_DEVICES - 1));
}

/* A reserved index without a port is not returned. */
static void
test_reserved_is_not_seen(void **state)
{
	assert_int_equal(uroce_registry_reserve(2), 0);
	assert_null(uroce_registry_port(0));
	uroce_registry_release(0);
}

UROCE_TESTS(port_registry)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lowest_first),
		cmocka_unit_test(test_one_device_a_port),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_publish),
		cmocka_unit_test(test_reserved_is_not_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
