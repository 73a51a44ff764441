/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Address handles by LID: librdmacm gets one, to the port itself; all other calls without a GID are refused, as on
 * RoCE.
 */

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ah.h"
#include "cma_world.h"
#include "eal.h"
#include "uroce.h"

/* of victim.c, which is bound as librdmacm is */
static struct ibv_ah *(*victim_create_ah)(struct ibv_ah *(*create)(struct ibv_pd *pd, struct ibv_ah_attr *attr),
					  struct ibv_pd *pd, struct ibv_ah_attr *attr);

static void
test_resolve(void **state)
{
	const struct ibv_ah_attr by_lid = { .port_num = 1 };
	struct ibv_ah_attr attr = by_lid;
	union ibv_gid gid;

	assert_true(uroce_lid_resolve(world_context(0), &attr));
	assert_int_equal(attr.is_global, 1);
	assert_int_equal(uroce_query_gid(world_context(0), 1, attr.grh.sgid_index, &gid), 0);
	assert_memory_equal(gid.raw, attr.grh.dgid.raw, sizeof(gid.raw));
	assert_false(uroce_lid_resolve(world_context(0), &attr));	/* the attributes have a GID */
	attr = by_lid;
	attr.dlid = 1;
	assert_false(uroce_lid_resolve(world_context(0), &attr));
	attr = by_lid;
	attr.port_num = 2;
	assert_false(uroce_lid_resolve(world_context(0), &attr));
	assert_int_equal(attr.is_global, 0);
}

static void
test_callers(void **state)
{
	struct ibv_pd *pd = uroce_alloc_pd(world_context(0));
	struct ibv_ah_attr attr = { .port_num = 1 };
	struct ibv_ah *ah;

	assert_non_null(pd);
	errno = 0;
	assert_null(ibv_create_ah(pd, &attr));
	assert_int_equal(errno, EINVAL);
	ah = victim_create_ah(ibv_create_ah, pd, &attr);
	assert_non_null(ah);
	assert_int_equal(attr.is_global, 0);	/* the caller's attributes do not change */
	assert_int_equal(uroce_destroy_ah(ah), 0);
	attr.dlid = 1;
	assert_null(victim_create_ah(ibv_create_ah, pd, &attr));
	assert_int_equal(uroce_dealloc_pd(pd), 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_resolve, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_callers, world_setup, world_teardown),
	};
	void *victim;

	test_eal_init(NULL);
	victim = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
	if (victim == NULL)
		return 1;
	*(void **)&victim_create_ah = dlsym(victim, "victim_create_ah");
	return victim_create_ah == NULL ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
