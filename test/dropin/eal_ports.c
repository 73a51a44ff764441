/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The ports of EAL that become RDMA devices, by UROCE_EAL_ARGS.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_bus.h>

#include "eal_ports.h"
#include "groups.h"

static void
test_members(void **state)
{
	static const char args[] = "--no-huge --vdev=net_tap0,mac=fixed --vdev net_bonding0,mode=1,slave=net_tap0,"
				   "member=0000:41:00.0,slave=42:00.1 --vdev=net_tap1 "
				   "--vdev=net_bonding1,member=net_tap10";

	assert_true(uroce_eal_ports_is_member(args, "net_tap0"));
	assert_true(uroce_eal_ports_is_member(args, "net_tap10"));
	assert_true(uroce_eal_ports_is_member(args, "0000:41:00.0"));
	assert_true(uroce_eal_ports_is_member(args, "0000:42:00.1"));
	assert_false(uroce_eal_ports_is_member(args, "net_tap1"));
	assert_false(uroce_eal_ports_is_member(args, "net_bonding0"));
	assert_false(uroce_eal_ports_is_member(args, "0001:42:00.1"));
	assert_false(uroce_eal_ports_is_member(args, "fixed"));
}

static void
test_no_members(void **state)
{
	assert_false(uroce_eal_ports_is_member("", "net_tap0"));
	assert_false(uroce_eal_ports_is_member("--vdev=net_other0,slave=net_tap0", "net_tap0"));
	assert_false(uroce_eal_ports_is_member("--vdev=net_bonding0 --vdev=net_tap0,slave=net_tap0", "net_tap0"));
}

/* DPDK's parser of a device on this bus takes the argument; a bus that EAL does not have gets none. */
static void
test_no_device(void **state)
{
	const int buses = (rte_bus_find_by_name("auxiliary") != NULL) + (rte_bus_find_by_name("vmbus") != NULL);
	char *argv[UROCE_EAL_PORTS_ARGS];

	assert_int_equal(uroce_eal_ports_args("--no-pci --base-virtaddr=1", argv), buses);
	for (int i = 0; i < buses; i++)
		assert_memory_equal(argv[i], "--allow=", strlen("--allow="));
	assert_int_equal(uroce_eal_ports_args("--no-pci -b 41:00.0", argv), 0);
	assert_int_equal(uroce_eal_ports_args("--block=41:00.0", argv), 0);
	assert_int_equal(uroce_eal_ports_args("--allow=auxiliary:mlx5_core.sf.2 --allow=vmbus:x", argv), 0);
}

static void
assert_next(const char **given, const char *expected)
{
	char *device = uroce_eal_ports_next(given);

	assert_non_null(device);
	assert_string_equal(device, expected);
	free(device);
}

static void
test_named(void **state)
{
	const char *given = " --no-huge --vdev=net_memif0,role=server\t-m 64 --vdev  net_null1\n-a 41:00.0 "
			    "-a0000:42:00.0 --allow=0000:43:00.0,mprq_en=1 --allow 44:00.0 -l 0";
	const char *none = "--no-huge --vdevs=1 -b 41:00.0 --allows -l 0", *last = "--vdev";

	assert_next(&given, "net_memif0,role=server");
	assert_next(&given, "net_null1");
	assert_next(&given, "41:00.0");
	assert_next(&given, "0000:42:00.0");
	assert_next(&given, "0000:43:00.0,mprq_en=1");
	assert_next(&given, "44:00.0");
	assert_null(uroce_eal_ports_next(&given));
	assert_string_equal(given, " -l 0");
	assert_null(uroce_eal_ports_next(&none));
	assert_next(&last, "");
	assert_null(uroce_eal_ports_next(&last));
}

UROCE_TESTS(eal_ports)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_no_members),
		cmocka_unit_test(test_no_device),
		cmocka_unit_test(test_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
