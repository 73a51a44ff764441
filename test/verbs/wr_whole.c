/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The work request calls of struct ibv_qp_ex post all or nothing: lists, a full queue, and refused requests that leave
 * nothing behind.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "verbs/address/ah.h"
#include "eal.h"
#include "fake.h"
#include "wr_fixture.h"

static void
nothing_posted(uint32_t tail, unsigned int doorbells)
{
	assert_int_equal(wr_built()->sq.tail, tail);
	assert_int_equal(fake.doorbells, doorbells);
	assert_false(rte_spinlock_is_locked(&wr_built()->sq.lock));
	assert_int_equal(uroce_ah_of(ah)->refs, 0);
}

static void
test_lists(void **state)
{
	wr_begin(1, 0);
	ibv_wr_send(ex);
	wr_set_entry(1);
	ex->wr_id = 2;
	ibv_wr_rdma_write(ex, 9, 10);
	wr_set_entry(2);
	ex->wr_id = 3;
	ibv_wr_rdma_read(ex, 9, 10);
	wr_set_entry(3);
	/* the worker sees nothing before ibv_wr_complete() */
	assert_int_equal(wr_built()->sq.tail, 0);
	assert_int_equal(fake.doorbells, 0);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(fake.doorbells, 1);
	for (uint64_t i = 1; i <= 3; i++) {
		const struct uroce_sqe *sqe = wr_take(wr_built());

		assert_int_equal(sqe->wr_id, i);
		assert_int_equal(sqe->length, i);
	}
	/* an empty list */
	ibv_wr_start(ex);
	assert_int_equal(ibv_wr_complete(ex), 0);
	nothing_posted(3, 1);
	wr_begin(4, 0);
	ibv_wr_send(ex);
	ibv_wr_abort(ex);
	nothing_posted(3, 1);
}

/* The queue takes WR_DEPTH requests, and a list that does not fit is discarded. */
static void
test_full(void **state)
{
	for (unsigned int round = 0; round < 20; round++) {
		uint32_t tail = wr_built()->sq.tail;
		unsigned int doorbells = fake.doorbells;

		ibv_wr_start(ex);
		for (unsigned int i = 0; i <= WR_DEPTH; i++) {
			ibv_wr_send(ex);
			wr_set_entry(1);
		}
		assert_int_equal(ibv_wr_complete(ex), ENOMEM);
		nothing_posted(tail, doorbells);
		ibv_wr_start(ex);
		for (unsigned int i = 0; i < WR_DEPTH; i++)
			ibv_wr_send(ex);
		assert_int_equal(ibv_wr_complete(ex), 0);
		ibv_wr_start(ex);
		ibv_wr_send(ex);
		assert_int_equal(ibv_wr_complete(ex), ENOMEM);
		for (unsigned int i = 0; i < WR_DEPTH; i++)
			wr_take(wr_built());
	}
}

static void
make_bad(unsigned int what)
{
	struct ibv_sge sges[UROCE_MAX_SGE + 1];
	uint32_t max_sge = wr_built()->sq.max_sge;

	memset(sges, 0, sizeof(sges));
	switch (what) {
	case 0: ex->wr_flags = IBV_SEND_IP_CSUM; ibv_wr_send(ex); break;
	case 1: ex->wr_flags = 1 << 20; ibv_wr_send(ex); break;
	case 2: ibv_wr_send(ex); ibv_wr_set_sge_list(ex, max_sge + 1, sges); break;
	case 3: ibv_wr_send(ex); ibv_wr_set_inline_data(ex, data, wr_built()->sq.max_inline + 1u); break;
	case 4: ibv_wr_send(ex); ibv_wr_set_inline_data(ex, data, SIZE_MAX); break;
	case 5: ibv_wr_rdma_read(ex, 1, 2); ibv_wr_set_inline_data(ex, data, 8); break;
	case 6: ibv_wr_atomic_fetch_add(ex, 1, 2, 3); ibv_wr_set_inline_data(ex, data, 8); break;
	case 7: ibv_wr_atomic_fetch_add(ex, 1, 2, 3); wr_set_entry(7); break;
	case 8: ibv_wr_atomic_cmp_swp(ex, 1, 2, 3, 4); break;
	default: ibv_wr_atomic_cmp_swp(ex, 1, 2, 3, 4); ibv_wr_set_sge_list(ex, 2, sges); break;
	}
}

/* A bad request alone, before a good one, and behind it. */
static void
test_bad(void **state)
{
	for (unsigned int what = 0; what < 10; what++) {
		for (unsigned int where = 0; where < 4; where++) {
			wr_begin(0, 0);
			if (where & 1) {
				ibv_wr_send(ex);
				wr_set_entry(1);
			}
			make_bad(what);
			ex->wr_flags = 0;
			if (where & 2) {
				ibv_wr_send(ex);
				wr_set_entry(1);
			}
			assert_int_equal(ibv_wr_complete(ex), EINVAL);
			nothing_posted(0, 0);
		}
	}
	/* a setter without a request does nothing */
	wr_begin(0, 0);
	wr_set_entry(1);
	ibv_wr_set_inline_data(ex, data, 1);
	assert_int_equal(ibv_wr_complete(ex), 0);
	nothing_posted(0, 0);
}

static void
test_states(void **state)
{
	for (enum ibv_qp_state s = IBV_QPS_RESET; s <= IBV_QPS_ERR; s++) {
		wr_built()->state = s;
		ibv_wr_start(ex);
		ibv_wr_send(ex);
		assert_int_equal(ibv_wr_complete(ex), s < IBV_QPS_RTS ? EINVAL : 0);
		if (s >= IBV_QPS_RTS)
			wr_take(wr_built());
	}
}

/* A discarded list releases its address handles. */
static void
test_bad_ud(void **state)
{
	wr_begin(0, 0);
	ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);		/* no address was set */
	nothing_posted(0, 0);
	for (unsigned int what = 0; what < 4; what++) {
		wr_begin(0, 0);
		ibv_wr_send(ex);
		ibv_wr_set_ud_addr(ex, ah, 1, 2);
		ibv_wr_send(ex);
		if (what == 0)
			ibv_wr_set_ud_addr(ex, NULL, 1, 2);
		else if (what == 1)
			ibv_wr_set_ud_addr(ex, ah, 0x1000000, 2);
		else if (what == 2)
			ibv_wr_set_inline_data(ex, data, sizeof(data));
		else	/* the address is set a second time */
			for (unsigned int i = 0; i < 2; i++)
				ibv_wr_set_ud_addr(ex, ah, 1, 2);
		assert_int_equal(ibv_wr_complete(ex), EINVAL);
		nothing_posted(0, 0);
	}
	wr_begin(0, 0);
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, ah, 1, 2);
	ibv_wr_abort(ex);
	nothing_posted(0, 0);
}

static void
test_bad_xrc(void **state)
{
	for (unsigned int what = 0; what < 3; what++) {
		wr_begin(0, 0);
		if (what == 0) {
			ibv_wr_send(ex);	/* no SRQ was set */
		} else if (what == 1) {
			ibv_wr_send(ex);
			ibv_wr_set_xrc_srqn(ex, 0x1000000);
		} else {
			ibv_wr_local_inv(ex, 5);
			ibv_wr_set_xrc_srqn(ex, 1);
		}
		assert_int_equal(ibv_wr_complete(ex), EINVAL);
		nothing_posted(0, 0);
	}
}

UROCE_TESTS(wr_whole)
{
	const struct CMUnitTest tests[] = {
		RC(test_lists),
		RC(test_full),
		RC(test_bad),
		RC(test_states),
		UD(test_bad_ud),
		XRC(test_bad_xrc),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
