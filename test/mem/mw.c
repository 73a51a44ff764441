/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Memory windows: what may be bound to which region (R48), what a window's key resolves and for which QP, what
 * invalidates it (R33), and what keeps a region from being deregistered (R47).
 */

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "uroce_verbs.h"
#include "mem/mw.h"
#include "mem/pd.h"
#include "base/rcu.h"
#include "eal.h"

#define LW IBV_ACCESS_LOCAL_WRITE
#define RW IBV_ACCESS_REMOTE_WRITE
#define RR IBV_ACCESS_REMOTE_READ
#define RA IBV_ACCESS_REMOTE_ATOMIC
#define MWB IBV_ACCESS_MW_BIND
#define ZB IBV_ACCESS_ZERO_BASED

#define BYTES 8192

static struct ibv_context context;
static struct uroce_pd pd = { .ibv = { .context = &context }, .protection = &pd.ibv };
static struct uroce_pd other_pd = { .ibv = { .context = &context }, .protection = &other_pd.ibv };
static uint8_t memory[BYTES];
static struct uroce_mrs t;
static struct uroce_mw_owner qp, other_qp;
static struct uroce_mr *mr;

static int
set_up(void **state)
{
	(void)state;
	if (uroce_mrs_init(&t, 6, -1) != 0)
		return -1;
	mr = uroce_mr_create(&t, &pd.ibv, memory, BYTES, (uintptr_t)memory, LW | RW | RR | MWB);
	return mr == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
	(void)state;
	if (uroce_mr_destroy(mr, NULL, NULL) != 0)
		return -1;
	uroce_mrs_fini(&t);
	return 0;
}

static struct uroce_mw *
window(enum ibv_mw_type type)
{
	struct uroce_mw *mw = uroce_mw_create(&t, &pd.ibv, type);

	assert_non_null(mw);
	return mw;
}

/* A valid bind to the middle of the region. */
static struct uroce_mw_bind
good(struct uroce_mw *mw)
{
	return (struct uroce_mw_bind){
		.mw = mw,
		.rkey = uroce_mw_next_rkey(mw, 0x5a),
		.lkey = mr->ibv.lkey,
		.addr = (uintptr_t)memory + 1000,
		.length = 100,
		.access = RR | RW,
		.pd = &pd.ibv,
		.qp = &qp,
	};
}

static const struct uroce_mr_key *
look(uint32_t rkey, const struct uroce_mw_owner *of, uint64_t addr, uint64_t length, uint32_t access)
{
	return uroce_key_lookup(&t, rkey, &pd.ibv, of, addr, length, access);
}

static void
type_2_belongs_to_its_qp(void **state)
{
	struct uroce_mw *mw = window(IBV_MW_TYPE_2);
	struct uroce_mw_bind b = good(mw);
	const struct uroce_mr_key *k;

	(void)state;
	assert_null(look(b.rkey, &qp, b.addr, 1, RR));
	assert_int_equal(uroce_mw_bind(&t, &b), 0);
	assert_int_equal(b.rkey & 0xff, 0x5a);
	assert_int_equal(b.rkey >> 8, mw->key >> 8);
	k = look(b.rkey, &qp, b.addr, 100, RR | RW);
	assert_non_null(k);
	assert_ptr_equal(uroce_mr_va(k, b.addr + 7), memory + 1007);
	assert_ptr_equal(k->mr, mr);
	assert_false(uroce_key_is_referable(k, true));
	/* another QP, no QP, another PD */
	assert_null(look(b.rkey, &other_qp, b.addr, 1, RR));
	assert_null(look(b.rkey, NULL, b.addr, 1, RR));
	assert_null(uroce_key_lookup(&t, b.rkey, &other_pd.ibv, &other_qp, b.addr, 1, RR));
	/* range and rights; a window's key is not an lkey */
	assert_null(look(b.rkey, &qp, b.addr - 1, 1, RR));
	assert_null(look(b.rkey, &qp, b.addr, 101, RR));
	assert_null(look(b.rkey, &qp, b.addr + 100, 1, RR));
	assert_non_null(look(b.rkey, &qp, b.addr + 100, 0, RR));
	assert_null(look(b.rkey, &qp, UINT64_MAX, 2, RR));
	assert_null(look(b.rkey, &qp, b.addr, 1, RA));
	assert_null(look(b.rkey, &qp, b.addr, 1, 0));
	assert_null(look(b.rkey, &qp, b.addr, 1, LW));
	uroce_mw_destroy(mw);
	assert_null(look(b.rkey, &qp, b.addr, 1, RR));
}

/* A bind that was posted for a destroyed window must not bind its successor, which may have its slot and its
 * address. */
static void
bind_of_a_slots_former_window(void **state)
{
	struct uroce_mw *mw = window(IBV_MW_TYPE_2);
	struct uroce_mw_bind b = good(mw);

	(void)state;
	b.rkey ^= 0x100;
	assert_int_equal(uroce_mw_bind(&t, &b), -EINVAL);
	assert_null(look(b.rkey, &qp, b.addr, 1, RR));
	b.rkey ^= 0x100;
	assert_int_equal(uroce_mw_bind(&t, &b), 0);
	uroce_mw_destroy(mw);
}

static void
type_1_belongs_to_its_pd(void **state)
{
	struct uroce_mw *mw = window(IBV_MW_TYPE_1);
	struct uroce_mw_bind b = good(mw);
	const uint32_t first = b.rkey;

	(void)state;
	assert_int_not_equal(first, mw->key);
	assert_int_equal(uroce_mw_bind(&t, &b), 0);
	assert_non_null(look(first, &qp, b.addr, 100, RR));
	assert_non_null(look(first, &other_qp, b.addr, 100, RR));
	assert_null(uroce_key_lookup(&t, first, &other_pd.ibv, &qp, b.addr, 1, RR));
	/* a bind of a bound window kills the old key */
	b.rkey = uroce_mw_next_rkey(mw, 0);
	b.addr += 2000;
	assert_int_equal(uroce_mw_bind(&t, &b), 0);
	assert_null(look(first, &qp, b.addr, 1, RR));
	assert_null(look(b.rkey, &qp, b.addr - 2000, 1, RR));
	assert_non_null(look(b.rkey, &qp, b.addr, 100, RR));
	/* length 0, with and without a region, unbinds */
	for (unsigned int i = 0; i < 2; i++) {
		struct uroce_mw_bind nothing = { .mw = mw, .pd = &pd.ibv, .qp = &qp };

		assert_int_equal(uroce_mr_destroy(mr, NULL, NULL), -EBUSY);
		nothing.lkey = i == 0 ? mr->ibv.lkey : 0;
		nothing.rkey = uroce_mw_next_rkey(mw, 0);
		assert_int_equal(uroce_mw_bind(&t, &nothing), 0);
		assert_null(look(nothing.rkey, &qp, b.addr, 0, RR));
		assert_true(LIST_EMPTY(&mr->windows));
		b.rkey = uroce_mw_next_rkey(mw, 0);
		assert_int_equal(uroce_mw_bind(&t, &b), 0);
	}
	uroce_mw_destroy(mw);
}

static void
refused(struct uroce_mw_bind b)
{
	assert_int_equal(uroce_mw_bind(&t, &b), -EINVAL);
	assert_null(look(b.rkey, &qp, b.addr, 0, RR));
	assert_true(LIST_EMPTY(&mr->windows));
}

static struct uroce_mr *
region(struct ibv_pd *of, uint64_t start, unsigned int access)
{
	return uroce_mr_create(&t, of, memory, BYTES, start, access);
}

/* C10-72, C10-73: the window and the region belong to the QP's PD; the region allows binds and is not zero-based. */
static void
refuses_regions(struct uroce_mw *mw)
{
	struct uroce_mr *foreign = region(&other_pd.ibv, (uintptr_t)memory, LW | RW | MWB);
	struct uroce_mr *plain = region(&pd.ibv, (uintptr_t)memory, LW | RW);
	struct uroce_mr *zero = region(&pd.ibv, 0, LW | RW | MWB | ZB);
	struct uroce_mw_bind b = good(mw);

	b.pd = &other_pd.ibv;
	refused(b);
	b.lkey = foreign->ibv.lkey;
	refused(b);
	b.pd = &pd.ibv;
	refused(b);
	b.lkey = plain->ibv.lkey;
	refused(b);
	b.lkey = zero->ibv.lkey;
	b.addr = 0;
	refused(b);
	b = good(mw);
	b.rkey = foreign->ibv.lkey; /* not a window's key */
	assert_int_equal(uroce_mw_bind(&t, &b), -EINVAL);
	assert_int_equal(uroce_mr_destroy(zero, NULL, NULL), 0);
	assert_int_equal(uroce_mr_destroy(plain, NULL, NULL), 0);
	assert_int_equal(uroce_mr_destroy(foreign, NULL, NULL), 0);
}

/* C10-74: no more rights than the region's memory allows; reading is always allowed. */
static void
refuses_rights(struct uroce_mw *mw)
{
	struct uroce_mr *readable = region(&pd.ibv, (uintptr_t)memory, MWB);
	struct uroce_mw_bind b = good(mw);

	b.lkey = readable->ibv.lkey;
	b.access = RW;
	refused(b);
	b.access = RA;
	refused(b);
	b.access = IBV_ACCESS_FLUSH_GLOBAL;
	refused(b);
	b.access = RR;
	assert_int_equal(uroce_mw_bind(&t, &b), 0);
	uroce_mw_destroy(mw);
	assert_int_equal(uroce_mr_destroy(readable, NULL, NULL), 0);
}

/* C10-75 */
static void
refuses_ranges(struct uroce_mw *mw)
{
	struct uroce_mw_bind b = good(mw);

	b.addr = (uintptr_t)memory - 1;
	refused(b);
	b.addr = (uintptr_t)memory + BYTES - 99;
	refused(b);
	b.addr = UINT64_MAX;
	refused(b);
	b = good(mw);
	b.length = BYTES + 1;
	refused(b);
	b.length = UINT64_MAX;
	refused(b);
}

/* The lkey of a window, of a null region, of a destroyed region, and one that never existed; and a destroyed window. */
static void
refuses_what_is_not_there(struct uroce_mw *mw, struct uroce_mw *gone)
{
	struct uroce_mr *short_lived = region(&pd.ibv, (uintptr_t)memory, LW | RW | MWB);
	struct uroce_mr *null = uroce_mr_create_null(&t, &pd.ibv);
	struct uroce_mw_bind b = good(mw);

	b.lkey = mw->key;
	refused(b);
	b.lkey = null->ibv.lkey;
	refused(b);
	b.lkey = mr->ibv.lkey ^ 1;
	refused(b);
	b.lkey = 0;
	refused(b);
	b.lkey = short_lived->ibv.lkey;
	assert_int_equal(uroce_mr_destroy(short_lived, NULL, NULL), 0);
	refused(b);
	b = good(gone);
	uroce_mw_destroy(gone);
	refused(b);
	assert_int_equal(uroce_mr_destroy(null, NULL, NULL), 0);
}

static void
r48_rules_of_both_types(void **state)
{
	(void)state;
	for (int type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		struct uroce_mw *mw = window(type);

		refuses_regions(mw);
		refuses_ranges(mw);
		refuses_what_is_not_there(mw, window(type));
		refuses_rights(mw); /* its last bind succeeds */
	}
}

/* R48: o10-36.2.2, o10-37.2.30, o10-37.2.40 */
static void
r48_rules_of_a_type(void **state)
{
	struct uroce_mw *one = window(IBV_MW_TYPE_1), *two = window(IBV_MW_TYPE_2);
	struct uroce_mw_bind b = good(one);

	(void)state;
	b.access |= ZB;
	refused(b);
	b = good(two);
	b.length = 0;
	refused(b);
	b = good(two);
	assert_int_equal(uroce_mw_bind(&t, &b), 0);
	b.rkey = uroce_mw_next_rkey(two, 0x5b);
	assert_int_equal(uroce_mw_bind(&t, &b), -EINVAL);
	assert_null(look(b.rkey, &qp, b.addr, 1, RR));
	assert_non_null(look(b.rkey - 1, &qp, b.addr, 1, RR));
	uroce_mw_destroy(one);
	uroce_mw_destroy(two);
	errno = 0;
	assert_null(uroce_mw_create(&t, &pd.ibv, 3));
	assert_int_equal(errno, EINVAL);
}

static void
zero_based_windows(void **state)
{
	struct uroce_mw *mw = window(IBV_MW_TYPE_2);
	struct uroce_mw_bind b = good(mw);
	const struct uroce_mr_key *k;

	(void)state;
	b.access |= ZB;
	assert_int_equal(uroce_mw_bind(&t, &b), 0);
	k = look(b.rkey, &qp, 0, 100, RR);
	assert_non_null(k);
	assert_ptr_equal(uroce_mr_va(k, 3), memory + 1003);
	assert_null(look(b.rkey, &qp, 1, 100, RR));
	assert_null(look(b.rkey, &qp, b.addr, 1, RR));
	k = uroce_key_lookup_whole(&t, b.rkey, &pd.ibv, &qp, RR);
	assert_non_null(k);
	assert_int_equal(k->length, 100);
	assert_null(uroce_key_lookup_whole(&t, b.rkey, &pd.ibv, &other_qp, RR));
	uroce_mw_destroy(mw);
}

/* R33 */
static void
r33_invalidation(void **state)
{
	struct uroce_mw *one = window(IBV_MW_TYPE_1), *two = window(IBV_MW_TYPE_2);
	struct uroce_mw_bind b = good(one);
	uint64_t grace = 0;

	(void)state;
	assert_int_equal(uroce_mw_bind(&t, &b), 0);
	/* a type 1 window; a region, with windows and without; an unused key */
	assert_int_equal(uroce_mw_invalidate_local(&t, b.rkey, &pd.ibv, &qp, &grace), -EINVAL);
	assert_int_equal(uroce_mw_invalidate_local(&t, mr->ibv.rkey, &pd.ibv, &qp, &grace), -EINVAL);
	assert_non_null(look(b.rkey, &qp, b.addr, 1, RR));
	uroce_mw_destroy(one);
	assert_int_equal(uroce_mw_invalidate_local(&t, mr->ibv.rkey, &pd.ibv, &qp, &grace), -EINVAL);
	assert_non_null(uroce_mr_lookup(&t, mr->ibv.rkey, &pd.ibv, (uintptr_t)memory, 1, RR));
	assert_int_equal(uroce_mw_invalidate_local(&t, 0, &pd.ibv, &qp, &grace), -EINVAL);
	assert_int_equal(uroce_mw_invalidate_local(&t, two->key, &pd.ibv, &qp, &grace), -EINVAL);

	b = good(two);
	assert_int_equal(uroce_mw_bind(&t, &b), 0);
	assert_int_equal(uroce_mw_invalidate(&t, b.rkey ^ 1, &pd.ibv, &qp), -EINVAL);
	assert_int_equal(uroce_mw_invalidate(&t, b.rkey, &other_pd.ibv, &qp), -EINVAL);
	assert_int_equal(uroce_mw_invalidate(&t, b.rkey, &pd.ibv, &other_qp), -EINVAL);
	assert_non_null(look(b.rkey, &qp, b.addr, 1, RR));
	assert_int_equal(uroce_mw_invalidate(&t, b.rkey, &pd.ibv, &qp), 0);
	assert_null(look(b.rkey, &qp, b.addr, 1, RR));
	assert_int_equal(uroce_mw_invalidate(&t, b.rkey, &pd.ibv, &qp), -EINVAL);
	/* a bind to another QP with the same key succeeds; the owner's local invalidate succeeds on any QP */
	b.qp = &other_qp;
	assert_int_equal(uroce_mw_bind(&t, &b), 0);
	assert_null(look(b.rkey, &qp, b.addr, 1, RR));
	assert_non_null(look(b.rkey, &other_qp, b.addr, 1, RR));
	assert_int_equal(grace, 0);
	assert_int_equal(uroce_mw_invalidate_local(&t, b.rkey, &pd.ibv, &qp, &grace), 0);
	assert_int_not_equal(grace, 0);
	assert_true(uroce_rcu_has_ended(grace));
	uroce_mw_destroy(two);
}

/* R47 */
static void
r47_windows_hold_their_region(void **state)
{
	struct uroce_mw *a = window(IBV_MW_TYPE_2), *b = window(IBV_MW_TYPE_2);
	struct uroce_mw_bind of_a = good(a), of_b = good(b);
	const struct uroce_mr_change change = { &pd.ibv, memory, 100, (uintptr_t)memory, LW };

	(void)state;
	assert_int_equal(uroce_mw_bind(&t, &of_a), 0);
	assert_int_equal(uroce_mw_bind(&t, &of_b), 0);
	assert_int_equal(uroce_mr_destroy(mr, NULL, NULL), -EBUSY);
	assert_int_equal(uroce_mr_change(mr, &change, NULL, NULL), -EBUSY);
	assert_non_null(uroce_mr_lookup(&t, mr->ibv.rkey, &pd.ibv, (uintptr_t)memory, BYTES, RR));
	assert_int_equal(uroce_mw_invalidate(&t, of_a.rkey, &pd.ibv, &qp), 0);
	assert_int_equal(uroce_mr_destroy(mr, NULL, NULL), -EBUSY);
	/* the QP is destroyed */
	uroce_mw_owner_gone(&t, &qp);
	assert_true(LIST_EMPTY(&qp.windows));
	assert_null(look(of_b.rkey, &qp, of_b.addr, 1, RR));
	assert_int_equal(uroce_mr_change(mr, &change, NULL, NULL), 0);
	assert_int_equal(mr->ibv.length, 100);
	uroce_mw_destroy(a);
	uroce_mw_destroy(b);
}

/* Posting a bind draws the key of a type 1 window while a control thread holds the table's lock. The test's mutex
 * reports a thread that locks it twice; such a thread then unlocks too early. */
static void
a_key_is_drawn_without_the_tables_lock(void **state)
{
	struct uroce_mw *mw = window(IBV_MW_TYPE_1);
	pthread_mutexattr_t attr;
	uint32_t first, second;

	(void)state;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_destroy(&t.lock);
	assert_int_equal(pthread_mutex_init(&t.lock, &attr), 0);
	pthread_mutexattr_destroy(&attr);
	assert_int_equal(pthread_mutex_lock(&t.lock), 0);
	first = uroce_mw_next_rkey(mw, 0);
	second = uroce_mw_next_rkey(mw, 0);
	assert_int_equal(pthread_mutex_trylock(&t.lock), EBUSY);
	assert_int_equal(pthread_mutex_unlock(&t.lock), 0);
	assert_int_not_equal(first, mw->key);
	assert_int_not_equal(first, second);
	uroce_mw_destroy(mw);
}

/* Windows and regions share one table; no key is 0, whichever low bits the application chooses. */
static void
the_table_is_shared(void **state)
{
	struct uroce_mw *mws[63];

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(mws); i++) {
		mws[i] = window(IBV_MW_TYPE_2);
		assert_int_not_equal(uroce_mw_next_rkey(mws[i], 0), 0);
	}
	errno = 0;
	assert_null(uroce_mw_create(&t, &pd.ibv, IBV_MW_TYPE_1));
	assert_int_equal(errno, ENOMEM);
	assert_null(uroce_mr_create(&t, &pd.ibv, memory, 1, 0, LW));
	assert_null(uroce_mr_create_null(&t, &pd.ibv));
	for (unsigned int i = 0; i < RTE_DIM(mws); i++)
		uroce_mw_destroy(mws[i]);
	assert_int_equal(t.count, 1);
}

UROCE_TESTS(mw)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(type_2_belongs_to_its_qp), TEST(type_1_belongs_to_its_pd), TEST(r48_rules_of_both_types),
		TEST(r48_rules_of_a_type),	TEST(zero_based_windows),	TEST(r33_invalidation),
		TEST(r47_windows_hold_their_region), TEST(the_table_is_shared),
		TEST(bind_of_a_slots_former_window), TEST(a_key_is_drawn_without_the_tables_lock),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
