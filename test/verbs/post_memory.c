/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Posting binds, invalidations and FLUSHes: which fields count, and which requests are refused.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_byteorder.h>
#include <rte_common.h>

#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "mem/mw.h"
#include "eal.h"
#include "fake.h"

static struct fake_pair pair;
static struct uroce_qp *qp;

static int
setup(void **state)
{
	fake_setup(state);
	pair = fake_pair_create(16);
	qp = uroce_qp_of(fake_qp_create(&pair));
	fake_qp_to(&qp->ibv, IBV_QPS_RTS);
	memset(qp->sq.ring, 0xff, ((size_t)qp->sq.mask + 1) * qp->sq.stride);
	return 0;
}

static int
teardown(void **state)
{
	assert_int_equal(uroce_destroy_qp(&qp->ibv), 0);
	fake_pair_destroy(&pair);
	return fake_teardown(state);
}

static int
post(struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad;

	return uroce_post_send(&qp->ibv, &wr, &bad);
}

static const struct uroce_sqe *
posted(struct ibv_send_wr wr)
{
	assert_int_equal(post(wr), 0);
	return uroce_sqe_at(&qp->sq, qp->sq.head++);
}

static void
local_invalidate(void **state)
{
	/* the scatter/gather list is ignored */
	const struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_LOCAL_INV, .num_sge = 1000,
					.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE | IBV_SEND_SOLICITED,
					.invalidate_rkey = 0x12345678 };
	const struct uroce_sqe *sqe = posted(wr);

	(void)state;
	assert_int_equal(sqe->rkey, 0x12345678);
	assert_int_equal(sqe->wr_id, 1);
	assert_int_equal(sqe->num_sge, 0);
	assert_int_equal(sqe->length, 0);
	assert_int_equal(sqe->flags, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	assert_int_equal(sqe->posted_status, IBV_WC_SUCCESS);
}

static void
flush(void **state)
{
	struct ibv_send_wr wr = { .wr_id = 2, .send_flags = IBV_SEND_SIGNALED };
	const struct uroce_sqe *sqe;

	(void)state;
	uroce_send_wr_flush(&wr, 0x11223344, 0x5566778899aabbcc, 4097, IBV_FLUSH_PERSISTENT, IBV_FLUSH_MR);
	sqe = posted(wr);
	assert_int_equal(sqe->opcode, 14);
	assert_int_equal(sqe->rkey, 0x11223344);
	assert_int_equal(sqe->remote_addr, 0x5566778899aabbcc);
	assert_int_equal(sqe->length, 4097);
	assert_int_equal(sqe->imm, rte_cpu_to_be_32(0x12));
	assert_int_equal(sqe->posted_status, IBV_WC_SUCCESS);
	/* R42: a request that is too long is queued, and fails in its turn */
	uroce_send_wr_flush(&wr, 0, 0, (uint64_t)UROCE_MAX_MSG_BYTES + 1, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	assert_int_equal(posted(wr)->posted_status, IBV_WC_LOC_LEN_ERR);
	uroce_send_wr_flush(&wr, 0, 0, UROCE_MAX_MSG_BYTES, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	assert_int_equal(posted(wr)->posted_status, IBV_WC_SUCCESS);
}

/* R48: the application chooses the low 8 bits of the key of a type 2 window, and only those. */
static void
r48_the_new_key(void **state)
{
	struct ibv_mw *mw = uroce_alloc_mw(pair.pd, IBV_MW_TYPE_2);
	const uint32_t before = mw->rkey;
	const struct uroce_sqe *sqe;

	(void)state;
	sqe = posted((struct ibv_send_wr){ .opcode = IBV_WR_BIND_MW,
					   .bind_mw = { .mw = mw, .rkey = 0xffffff00 | ((before + 1) & 0xff) } });
	assert_int_equal(sqe->rkey, ibv_inc_rkey(before));
	assert_int_equal(mw->rkey, sqe->rkey);
	assert_int_equal(sqe->bind_lkey, 0);
	assert_int_equal(uroce_dealloc_mw(mw), 0);
}

static void
what_is_refused(void **state)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_LOCAL_INV, IBV_WR_BIND_MW, IBV_WR_FLUSH };
	struct ibv_mw *one = uroce_alloc_mw(pair.pd, IBV_MW_TYPE_1), *two = uroce_alloc_mw(pair.pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = { .bind_mw = { .mw = two } };

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(opcodes); i++) {
		wr.opcode = opcodes[i];
		wr.send_flags = IBV_SEND_INLINE;
		assert_int_equal(post(wr), EINVAL);
		wr.send_flags = IBV_SEND_IP_CSUM;
		assert_int_equal(post(wr), EINVAL);
		wr.send_flags = 1u << 30;
		assert_int_equal(post(wr), EINVAL);
		/* UD QPs support none of these */
		wr.send_flags = 0;
		qp->transport = uroce_qp_transport(IBV_QPT_UD);
		assert_int_equal(post(wr), EINVAL);
		qp->transport = uroce_qp_transport(IBV_QPT_UC);
		assert_int_equal(post(wr), opcodes[i] == IBV_WR_FLUSH ? EINVAL : 0);
		qp->transport = uroce_qp_transport(IBV_QPT_RC);
	}
	wr = (struct ibv_send_wr){ .opcode = IBV_WR_BIND_MW };
	assert_int_equal(post(wr), EINVAL);
	wr.bind_mw.mw = one;			/* o10-37.2.34 */
	assert_int_equal(post(wr), EINVAL);
	wr.bind_mw.mw = two;
	wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_MW_BIND;
	assert_int_equal(post(wr), EINVAL);
	wr.bind_mw.bind_info.mw_access_flags = 0;
	qp->sq.head = qp->sq.tail;
	for (uint32_t i = 0; i < qp->sq.capacity; i++)
		assert_int_equal(post(wr), 0);
	const uint32_t rkey = two->rkey;
	wr.bind_mw.rkey = rkey + 1;
	assert_int_equal(post(wr), ENOMEM);
	assert_int_equal(two->rkey, rkey);
	assert_int_equal(uroce_dealloc_mw(one), 0);
	assert_int_equal(uroce_dealloc_mw(two), 0);
}

UROCE_TESTS(post_memory)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(local_invalidate),
		TEST(flush),
		TEST(r48_the_new_key),
		TEST(what_is_refused),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
