/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Null regions: reads return zeros, writes go nowhere, and only their own PD may use them.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "uroce_config.h"
#include "mem/mr.h"
#include "mem/pd.h"
#include "eal.h"

static struct ibv_context context;
static struct uroce_pd pd = { .ibv = { .context = &context }, .protection = &pd.ibv };
static struct uroce_pd other_pd = { .ibv = { .context = &context }, .protection = &other_pd.ibv };
static struct uroce_mrs t;

static void
reads_zeros_and_swallows(void **state)
{
	static const uint8_t zeros[UROCE_NULL_BYTES];
	static const uint64_t addresses[] = { 0, 1, 0xdeadbeef, UINT64_MAX };
	struct uroce_mr *mr = uroce_mr_create_null(&t, &pd.ibv);
	const uint32_t key = mr->ibv.lkey;

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		const uint64_t addr = addresses[i];
		const struct uroce_mr_key *k = uroce_mr_lookup(&t, key, &pd.ibv, addr, UROCE_NULL_BYTES, 0);
		rte_iova_t iova;

		assert_non_null(k);
		assert_memory_equal(uroce_mr_va(k, addr), zeros, UROCE_NULL_BYTES);
		k = uroce_mr_lookup(&t, key, &pd.ibv, addr, UROCE_NULL_BYTES, IBV_ACCESS_LOCAL_WRITE);
		assert_non_null(k);
		memset(uroce_mr_va(k, addr), 0xff, UROCE_NULL_BYTES);
		assert_int_equal(uroce_mr_iova(k, addr, 8), RTE_BAD_IOVA);
		assert_false(uroce_mr_may_attach(k, addr, 8, true, &iova));
		k = uroce_mr_lookup(&t, key, &pd.ibv, addr, UROCE_NULL_BYTES, 0);
		assert_memory_equal(uroce_mr_va(k, addr), zeros, UROCE_NULL_BYTES);
	}
	assert_int_equal(uroce_mr_destroy(mr, NULL, NULL), 0);
	assert_null(uroce_mr_lookup(&t, key, &pd.ibv, 0, 1, 0));
}

static void
is_local_and_its_pds(void **state)
{
	struct uroce_mr *mr = uroce_mr_create_null(&t, &pd.ibv);
	const uint32_t key = mr->ibv.rkey;

	(void)state;
	/* no region behind it: the sanitizer of undefined behavior detects a bad access */
	uroce_key_prefetch_region(&t, key);
	assert_null(uroce_mr_lookup(&t, key, &other_pd.ibv, 0, 1, 0));
	assert_null(uroce_mr_lookup(&t, key, &pd.ibv, 0, 1, IBV_ACCESS_REMOTE_READ));
	assert_null(uroce_mr_lookup(&t, key, &pd.ibv, 0, 1, IBV_ACCESS_REMOTE_WRITE));
	assert_null(uroce_mr_lookup(&t, key, &pd.ibv, 0, 8, IBV_ACCESS_REMOTE_ATOMIC));
	/* more than the block of zeros */
	assert_null(uroce_mr_lookup(&t, key, &pd.ibv, 0, UROCE_NULL_BYTES + 1, 0));
	assert_true(uroce_mr_is_null(mr));
	assert_int_equal(uroce_mr_destroy(mr, NULL, NULL), 0);
}

UROCE_TESTS(null)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_zeros_and_swallows),
		cmocka_unit_test(is_local_and_its_pds),
	};
	int failed;

	test_eal_init(NULL);
	if (uroce_mrs_init(&t, 4, -1) != 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	uroce_mrs_fini(&t);
	return failed;
}
