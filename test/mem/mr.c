/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Memory regions: which memory can be registered (ibv_reg_mr(3), R46), what a key resolves (R18, R20), and that dead
 * keys stay dead.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_bitops.h>
#include <rte_common.h>

#include "groups.h"
#include "uroce_config.h"
#include "uroce_verbs.h"
#include "mem/mr.h"
#include "mem/numa.h"
#include "mem/pd.h"
#include "eal.h"

#define LW  IBV_ACCESS_LOCAL_WRITE
#define RW  IBV_ACCESS_REMOTE_WRITE
#define RR  IBV_ACCESS_REMOTE_READ
#define RA  IBV_ACCESS_REMOTE_ATOMIC
#define ALL (LW | RW | RR | RA)
#define GRANTED (ALL | IBV_ACCESS_MW_BIND | IBV_ACCESS_FLUSH_GLOBAL | UROCE_ACCESS_STABLE)

static struct ibv_context context;
static struct uroce_pd pd = { .ibv = { .context = &context }, .protection = &pd.ibv };
static struct uroce_pd other_pd = { .ibv = { .context = &context }, .protection = &other_pd.ibv };
static char memory[65536];

static struct uroce_mr *
reg(struct uroce_mrs *t, void *va, size_t length, unsigned int access)
{
	return uroce_mr_create(t, &pd.ibv, va, length, (uintptr_t)va, access);
}

static void
assert_refused(struct uroce_mrs *t, void *va, size_t length, unsigned int access, int error)
{
	errno = 0;
	assert_null(reg(t, va, length, access));
	assert_int_equal(errno, error);
	assert_int_equal(t->count, 0);
}

static int
create_table(void **state)
{
	static struct uroce_mrs t;

	*state = &t;
	return uroce_mrs_init(&t, 6, -1);
}

static int
destroy_table(void **state)
{
	uroce_mrs_fini(*state);
	return 0;
}

static void
test_table_sizes(void **state)
{
	struct uroce_mrs t;

	assert_int_equal(uroce_mrs_init(&t, 0, -1), -EINVAL);
	assert_int_equal(uroce_mrs_init(&t, UROCE_LOG2_LIMIT_MR + 1, -1), -EINVAL);
	/* more than EAL's memory */
	assert_int_equal(uroce_mrs_init(&t, UROCE_LOG2_LIMIT_MR, -1), -ENOMEM);
	/* for a node that does not exist, any node will do */
	assert_int_equal(uroce_mrs_init(&t, 1, RTE_MAX_NUMA_NODES - 1), 0);
	uroce_mrs_fini(&t);
}

static void
test_fields(void **state)
{
	struct uroce_mrs *t = *state;
	struct uroce_mr *mr = reg(t, memory + 3, 1001, LW | RR);

	assert_non_null(mr);
	assert_ptr_equal(mr->ibv.context, &context);
	assert_ptr_equal(mr->ibv.pd, &pd.ibv);
	assert_ptr_equal(mr->ibv.addr, memory + 3);
	assert_int_equal(mr->ibv.length, 1001);
	assert_int_equal(mr->ibv.lkey, mr->ibv.rkey);
	assert_int_not_equal(mr->ibv.lkey, 0);
	assert_int_equal(mr->access, LW | RR);
	assert_int_equal(t->count, 1);
	assert_int_equal((uintptr_t)t->keys % RTE_CACHE_LINE_SIZE, 0);
	assert_int_equal(sizeof(*t->keys), RTE_CACHE_LINE_SIZE);
	uroce_mr_destroy(mr, NULL, NULL);
	assert_int_equal(t->count, 0);
}

/* Each combination of granted rights with each combination of requested rights. */
static void
test_rights_matrix(void **state)
{
	struct uroce_mrs *t = *state;
	const uint64_t addr = (uintptr_t)memory;

	for (unsigned int granted = 0; granted < 32; granted++) {
		struct uroce_mr *mr;

		if ((granted & (RW | RA)) != 0 && (granted & LW) == 0) {
			assert_refused(t, memory, sizeof(memory), granted, EINVAL); /* R46 */
			continue;
		}
		mr = reg(t, memory, sizeof(memory), granted);
		assert_non_null(mr);
		for (unsigned int asked = 0; asked < 32; asked++) {
			const struct uroce_mr_key *k = uroce_mr_lookup(t, mr->ibv.rkey, &pd.ibv, addr,
								       1, asked);

			if ((asked & ~granted) == 0)
				assert_ptr_equal(k, mr->slot);
			else
				assert_null(k);
		}
		uroce_mr_destroy(mr, NULL, NULL);
	}
}

static void
test_flags(void **state)
{
	struct uroce_mrs *t = *state;

	for (unsigned int bit = 0; bit < 32; bit++) {
		const unsigned int flag = RTE_BIT32(bit);
		struct uroce_mr *mr;

		if (bit > 8 && (flag & IBV_ACCESS_OPTIONAL_RANGE) == 0) {
			assert_refused(t, memory, 1, LW | flag, EINVAL);
			continue;
		}
		if (flag == IBV_ACCESS_ON_DEMAND) {
			assert_refused(t, memory, 1, LW | flag, EOPNOTSUPP);
			continue;
		}
		mr = reg(t, memory, 1, LW | flag);
		assert_non_null(mr);
		/* unknown bits grant nothing */
		assert_int_equal(mr->slot->access & ~(unsigned int)GRANTED, 0);
		uroce_mr_destroy(mr, NULL, NULL);
	}
	/* wrong flags are reported before wrong memory */
	assert_refused(t, NULL, 1, 1u << 31, EINVAL);
}

static void
test_lengths(void **state)
{
	struct uroce_mrs *t = *state;
	void *high = (void *)(UINTPTR_MAX - 10);

	assert_refused(t, memory, 0, LW, EINVAL);
	assert_refused(t, memory, SIZE_MAX, LW, EINVAL);
	assert_refused(t, memory, UROCE_MAX_MR_BYTES + 1, LW, EINVAL);
	/* the region ends with the address space: it does not wrap, but there is no memory */
	assert_refused(t, high, 11, 0, EFAULT);
	assert_refused(t, high, 12, 0, EINVAL);
	/* the address for the peers must not wrap either */
	errno = 0;
	assert_null(uroce_mr_create(t, &pd.ibv, memory, 12, UINT64_MAX - 10, LW));
	assert_int_equal(errno, EINVAL);
}

static void
test_bounds(void **state)
{
	struct uroce_mrs *t = *state;
	const uint64_t addr = (uintptr_t)memory + 100;
	struct uroce_mr *mr = reg(t, memory + 100, 1000, ALL);
	const struct {
		uint64_t addr;
		uint64_t length;
		bool resolves;
	} rows[] = {
		{ addr, 1, true },
		{ addr, 1000, true },
		{ addr + 999, 1, true },
		{ addr + 1, 999, true },
		{ addr, 1001, false },
		{ addr - 1, 1, false },
		{ addr - 1, 2, false },
		{ addr + 999, 2, false },
		{ addr + 1000, 1, false },
		{ addr + 1, 1000, false },
		/* a length of 0 also needs an address inside the region */
		{ addr, 0, true },
		{ addr + 1000, 0, true },
		{ addr + 1001, 0, false },
		{ addr - 1, 0, false },
		/* R20 */
		{ addr, UINT64_MAX, false },
		{ addr + 1, UINT64_MAX - addr, false },
		{ addr + 500, UINT64_MAX - 499, false },
		{ UINT64_MAX, 1, false },
		{ UINT64_MAX - 5, 100, false },
		{ 0, UINT64_MAX, false },
		{ 0, 1, false },
	};

	assert_non_null(mr);
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		const struct uroce_mr_key *k = uroce_mr_lookup(t, mr->ibv.rkey, &pd.ibv, rows[i].addr,
							       rows[i].length, RW);

		if (rows[i].resolves != (k != NULL))
			fail_msg("row %u", i);
		if (k != NULL)
			assert_ptr_equal(uroce_mr_va(k, rows[i].addr), rows[i].addr);
	}
	uroce_mr_destroy(mr, NULL, NULL);
}

/* ibv_reg_mr_iova(3): the addresses for the peers may differ from the local ones, up to the last address. */
static void
test_addresses_of_the_peers(void **state)
{
	static const uint64_t addrs[] = { 0, 1, 0x1000, UINT64_MAX - 999 };
	struct uroce_mrs *t = *state;

	for (unsigned int i = 0; i < RTE_DIM(addrs); i++) {
		const uint64_t addr = addrs[i];
		struct uroce_mr *mr = uroce_mr_create(t, &pd.ibv, memory + 7, 1000, addr, ALL);
		const uint32_t key = mr->ibv.rkey;

		assert_ptr_equal(uroce_mr_va(uroce_mr_lookup(t, key, &pd.ibv, addr, 1000, RR), addr),
				 memory + 7);
		assert_ptr_equal(
			uroce_mr_va(uroce_mr_lookup(t, key, &pd.ibv, addr + 999, 1, RR), addr + 999),
			memory + 1006);
		assert_null(uroce_mr_lookup(t, key, &pd.ibv, addr, 1001, RR));
		assert_null(uroce_mr_lookup(t, key, &pd.ibv, addr - 1, 1, RR));
		assert_null(uroce_mr_lookup(t, key, &pd.ibv, addr + 1000, 1, RR));
		assert_null(uroce_mr_lookup(t, key, &pd.ibv, (uintptr_t)memory + 7, 1, RR));
		uroce_mr_destroy(mr, NULL, NULL);
	}
}

static void
test_protection_domain(void **state)
{
	struct uroce_mrs *t = *state;
	struct uroce_mr *mr = reg(t, memory, 10, ALL);
	const uint64_t addr = (uintptr_t)memory;

	assert_non_null(uroce_mr_lookup(t, mr->ibv.rkey, &pd.ibv, addr, 1, 0));
	assert_null(uroce_mr_lookup(t, mr->ibv.rkey, &other_pd.ibv, addr, 1, 0));
	assert_null(uroce_mr_lookup(t, mr->ibv.rkey, NULL, addr, 1, 0));
	uroce_mr_destroy(mr, NULL, NULL);
}

/* In an empty table and in one with a region: every other key of its slot, and every empty slot. */
static void
test_wrong_keys(void **state)
{
	struct uroce_mrs *t = *state;
	const uint64_t addr = (uintptr_t)memory;
	struct uroce_mr *mr;

	for (uint32_t slot = 0; slot < 64; slot++) {
		/* no region: the sanitizer of undefined behavior detects a bad access */
		uroce_key_prefetch_region(t, slot << 26);
		assert_null(uroce_mr_lookup(t, slot << 26, &pd.ibv, 0, 0, 0));
	}
	mr = reg(t, memory, sizeof(memory), ALL);
	for (uint32_t slot = 0; slot < 64; slot++) {
		for (uint32_t low = 0; low < 1000; low++) {
			const uint32_t key = slot << 26 | low;

			assert_true(uroce_mr_lookup(t, key, &pd.ibv, addr, 1, 0) == NULL ||
				    key == mr->ibv.rkey);
		}
	}
	for (unsigned int bit = 0; bit < 32; bit++)
		assert_null(uroce_mr_lookup(t, mr->ibv.rkey ^ RTE_BIT32(bit), &pd.ibv, addr, 1, 0));
	assert_null(uroce_mr_lookup(t, 0, &pd.ibv, addr, 1, 0));
	uroce_mr_destroy(mr, NULL, NULL);
}

/* The same memory, and parts of it, many times, each with its own key and rights. */
static void
test_same_memory_many_times(void **state)
{
	static const unsigned int rights[] = { 0, LW, LW | RW, RR, ALL, ALL, ALL, LW | RA };
	struct uroce_mrs *t = *state;
	struct uroce_mr *mrs[RTE_DIM(rights)];

	for (unsigned int i = 0; i < RTE_DIM(rights); i++) {
		mrs[i] = reg(t, memory + (i % 4) * 5, sizeof(memory) - 100, rights[i]);
		assert_non_null(mrs[i]);
		for (unsigned int j = 0; j < i; j++)
			assert_int_not_equal(mrs[i]->ibv.rkey, mrs[j]->ibv.rkey);
	}
	for (unsigned int i = 0; i < RTE_DIM(rights); i++) {
		const uint64_t addr = (uintptr_t)mrs[i]->ibv.addr;
		const uint32_t key = mrs[i]->ibv.rkey;

		assert_ptr_equal(uroce_mr_lookup(t, key, &pd.ibv, addr, 1, rights[i])->mr, mrs[i]);
		assert_true((uroce_mr_lookup(t, key, &pd.ibv, addr, 1, RR) != NULL) ==
			    ((rights[i] & RR) != 0));
		assert_true((uroce_mr_lookup(t, key, &pd.ibv, addr, 1, RW) != NULL) ==
			    ((rights[i] & RW) != 0));
	}
	/* destroying one leaves the others */
	for (unsigned int i = 0; i < RTE_DIM(rights); i++) {
		uroce_mr_destroy(mrs[i], NULL, NULL);
		for (unsigned int j = i + 1; j < RTE_DIM(rights); j++)
			assert_non_null(uroce_mr_lookup(t, mrs[j]->ibv.lkey, &pd.ibv,
							(uintptr_t)mrs[j]->ibv.addr, 1, 0));
	}
}

static void
test_table_full(void **state)
{
	struct uroce_mrs *t = *state;
	struct uroce_mr *mrs[64];
	uint64_t slots = 0;

	for (unsigned int i = 0; i < 64; i++) {
		mrs[i] = reg(t, memory, 1 + i, LW);
		assert_non_null(mrs[i]);
		slots |= RTE_BIT64(mrs[i]->ibv.rkey >> 26);
	}
	assert_int_equal(slots, UINT64_MAX);
	errno = 0;
	assert_null(reg(t, memory, 1, LW));
	assert_int_equal(errno, ENOMEM);
	uroce_mr_destroy(mrs[17], NULL, NULL);
	mrs[17] = reg(t, memory, 1, LW);
	assert_non_null(mrs[17]);
	assert_null(reg(t, memory, 1, LW));
	for (unsigned int i = 0; i < 64; i++)
		uroce_mr_destroy(mrs[i], NULL, NULL);
	/* slot 0 still holds its last owner's data, except the key */
	assert_ptr_equal(t->keys[0].pd, &pd.ibv);
	assert_null(uroce_mr_lookup(t, 0, &pd.ibv, (uintptr_t)memory, 1, 0));
}

/* A dead key resolves for no later owner of its slot, and no later owner gets it. */
static void
test_keys_never_come_back(void **state)
{
	enum {
		REUSES = 20000
	};
	static uint32_t old[REUSES];
	const uint64_t addr = (uintptr_t)memory;
	struct uroce_mrs *t = *state;
	struct uroce_mr *others[63];

	/* the regions below all reuse one slot */
	for (unsigned int i = 0; i < RTE_DIM(others); i++)
		others[i] = reg(t, memory, 1, 0);
	for (unsigned int i = 0; i < REUSES; i++) {
		struct uroce_mr *mr = reg(t, memory, sizeof(memory), ALL);

		assert_non_null(mr);
		old[i] = mr->ibv.rkey;
		assert_non_null(uroce_mr_lookup(t, old[i], &pd.ibv, addr, 1, RW));
		for (unsigned int j = i < 100 ? 0 : i - 100; j < i; j++)
			assert_null(uroce_mr_lookup(t, old[j], &pd.ibv, addr, 1, 0));
		if (i == REUSES - 1) {
			for (unsigned int j = 0; j < i; j++)
				assert_null(uroce_mr_lookup(t, old[j], &pd.ibv, addr, 1, 0));
		}
		uroce_mr_destroy(mr, NULL, NULL);
		assert_null(uroce_mr_lookup(t, old[i], &pd.ibv, addr, 1, 0));
	}
	for (unsigned int i = 0; i < RTE_DIM(others); i++)
		uroce_mr_destroy(others[i], NULL, NULL);
}

static int
setup(void **state)
{
	test_eal_init(NULL);
	return 0;
}

/* READ responses reference stable memory; without an ICRC, also other memory that no atomic operation can change. */
static void
test_referable(void **state)
{
	static const struct {
		unsigned int access;
		bool with_icrc;
		bool without;
	} cases[] = {
		{ RR, false, true },
		{ LW | RW | RR, false, true },
		{ ALL, false, false },
		{ RR | UROCE_ACCESS_STABLE, true, true },
		{ ALL | UROCE_ACCESS_STABLE, true, true },
	};
	struct uroce_mrs *t = *state;

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		struct uroce_mr *mr = reg(t, memory, sizeof(memory), cases[i].access);

		assert_non_null(mr);
		assert_int_equal(uroce_key_is_referable(mr->slot, false), cases[i].with_icrc);
		assert_int_equal(uroce_key_is_referable(mr->slot, true), cases[i].without);
		assert_int_equal(uroce_mr_destroy(mr, NULL, NULL), 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, create_table, destroy_table)

/* The library asks the kernel, and only when the application asks for the node. */
static void
test_numa_node(void **state)
{
	struct uroce_mrs *t = *state;
	struct uroce_mr *mr;

	memory[0] = 1;
	mr = reg(t, memory, sizeof(memory), LW);
	assert_non_null(mr);
	assert_int_equal(uroce_mr_numa_node(mr), uroce_numa_node(memory));
	uroce_mr_destroy(mr, NULL, NULL);
}

UROCE_TESTS(mr)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_sizes),
		TEST(test_referable),
		TEST(test_fields),
		TEST(test_rights_matrix),
		TEST(test_flags),
		TEST(test_lengths),
		TEST(test_bounds),
		TEST(test_addresses_of_the_peers),
		TEST(test_protection_domain),
		TEST(test_wrong_keys),
		TEST(test_same_memory_many_times),
		TEST(test_table_full),
		TEST(test_keys_never_come_back),
		TEST(test_numa_node),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
