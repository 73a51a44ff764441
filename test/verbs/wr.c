/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The work request calls of struct ibv_qp_ex: each builds the same WQE as ibv_post_send() for the same request, and
 * only the requested calls exist.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "verbs/address/ah.h"
#include "eal.h"
#include "fake.h"
#include "wr_fixture.h"

static void
refused(enum ibv_qp_type type, uint32_t mask, uint64_t send_ops, uint32_t create_flags, int error)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = wr_pair.cq, .recv_cq = wr_pair.cq, .qp_type = type, .pd = wr_pair.pd, .comp_mask = mask,
		.send_ops_flags = send_ops, .create_flags = create_flags,
	};

	errno = 0;
	assert_null(uroce_create_qp_ex(fake.context, &attr));
	assert_int_equal(errno, error);
	assert_int_equal(fake.attached, 2);
}

static void
test_create(void **state)
{
	const uint32_t with_ops = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	refused(IBV_QPT_RC, with_ops, IBV_QP_EX_WITH_TSO, 0, EOPNOTSUPP);
	refused(IBV_QPT_RC, with_ops, UINT64_C(1) << 40, 0, EOPNOTSUPP);
	refused(IBV_QPT_UD, with_ops, IBV_QP_EX_WITH_RDMA_WRITE, 0, EOPNOTSUPP);
	refused(IBV_QPT_UC, with_ops, IBV_QP_EX_WITH_RDMA_READ, 0, EOPNOTSUPP);
	refused(IBV_QPT_UC, with_ops, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, 0, EOPNOTSUPP);
	refused(IBV_QPT_RC, IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS, 0,
		IBV_QP_CREATE_SCATTER_FCS, EOPNOTSUPP);
	refused(IBV_QPT_UD, IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS, 0,
		IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | IBV_QP_CREATE_SOURCE_QPN, EOPNOTSUPP);
	refused(IBV_QPT_RC, IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS, 0,
		IBV_QP_CREATE_BLOCK_SELF_MCAST_LB, EOPNOTSUPP);
	refused(IBV_QPT_RC, IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER, 0, 0, EOPNOTSUPP);
	refused(IBV_QPT_RC, IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH, 0, 0, EOPNOTSUPP);
	refused(IBV_QPT_RC, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, IBV_QP_EX_WITH_SEND, 0, EINVAL);
	refused(IBV_QPT_RAW_PACKET, with_ops, IBV_QP_EX_WITH_SEND, 0, EOPNOTSUPP);
}

/* Calls that were not requested are null. */
static void
test_only_what_was_asked_for(void **state)
{
	struct ibv_qp *qp = wr_create(IBV_QPT_RC, IBV_QP_EX_WITH_RDMA_READ, 0);
	const struct ibv_qp_ex *some = uroce_qp_to_qp_ex(qp);

	assert_non_null(some->wr_rdma_read);
	assert_null(some->wr_rdma_write);
	assert_null(some->wr_rdma_write_imm);
	assert_null(some->wr_send);
	assert_null(some->wr_send_imm);
	assert_null(some->wr_atomic_cmp_swp);
	assert_null(some->wr_atomic_fetch_add);
	assert_null(some->wr_send_tso);
	assert_null(some->wr_set_ud_addr);
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

static void
test_sends(void **state)
{
	struct ibv_sge sge = wr_entry(17);
	struct ibv_send_wr wr = { .wr_id = 0x1122334455667788, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND };
	const unsigned int flags[] = { 0, IBV_SEND_SIGNALED, IBV_SEND_SOLICITED, IBV_SEND_FENCE,
				       IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_FENCE };

	for (unsigned int i = 0; i < RTE_DIM(flags); i++) {
		wr.send_flags = flags[i];
		wr.opcode = IBV_WR_SEND;
		wr_begin(wr.wr_id, flags[i]);
		ibv_wr_send(ex);
		wr_set_entry(17);
		assert_int_equal(ibv_wr_complete(ex), 0);
		wr_same_as(wr);
		wr.opcode = IBV_WR_SEND_WITH_IMM;
		wr.imm_data = 0x99887766;
		wr_begin(wr.wr_id, flags[i]);
		ibv_wr_send_imm(ex, wr.imm_data);
		wr_set_entry(17);
		assert_int_equal(ibv_wr_complete(ex), 0);
		wr_same_as(wr);
	}
}

static void
test_rdma(void **state)
{
	struct ibv_sge sge = wr_entry(18);
	struct ibv_send_wr wr = {
		.wr_id = 5, .sg_list = &sge, .num_sge = 1, .imm_data = 0x99887766,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED,
		.wr.rdma = { .remote_addr = 0xa1a2a3a4a5a6a7a8, .rkey = 0xb1b2b3b4 },
	};

	wr_begin(5, wr.send_flags);
	ibv_wr_rdma_write(ex, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr);
	wr_set_entry(18);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr_same_as(wr);
	wr_begin(5, wr.send_flags);
	ibv_wr_rdma_write_imm(ex, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr, wr.imm_data);
	wr_set_entry(18);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr_same_as(wr);
	wr_begin(5, wr.send_flags);
	ibv_wr_rdma_read(ex, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr);
	wr_set_entry(18);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.opcode = IBV_WR_RDMA_READ;
	wr_same_as(wr);
}

static void
test_atomics(void **state)
{
	struct ibv_sge sge = wr_entry(8);
	struct ibv_send_wr wr = {
		.wr_id = 6, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
		.wr.atomic = { .remote_addr = 0xa1a2a3a4a5a6a7a8, .rkey = 0xb1b2b3b4,
			       .compare_add = 0xc1c2c3c4c5c6c7c8, .swap = 0xd1d2d3d4d5d6d7d8 },
	};

	wr_begin(6, 0);
	ibv_wr_atomic_cmp_swp(ex, wr.wr.atomic.rkey, wr.wr.atomic.remote_addr, wr.wr.atomic.compare_add,
			      wr.wr.atomic.swap);
	wr_set_entry(8);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr_same_as(wr);
	wr_begin(6, 0);
	ibv_wr_atomic_fetch_add(ex, wr.wr.atomic.rkey, wr.wr.atomic.remote_addr, wr.wr.atomic.compare_add);
	wr_set_entry(8);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.wr.atomic.swap = 0;
	wr_same_as(wr);
}

static void
test_memory(void **state)
{
	uint64_t eight = 0xe1e2e3e4e5e6e7e8;
	struct ibv_sge value = { .addr = (uintptr_t)&eight, .length = 8 };
	struct ibv_sge sge = wr_entry(17);
	struct ibv_mw *mw = uroce_alloc_mw(wr_pair.pd, IBV_MW_TYPE_2);
	struct ibv_mw *type1 = uroce_alloc_mw(wr_pair.pd, IBV_MW_TYPE_1);
	struct ibv_mr mr = { .lkey = 0x4321 };
	struct ibv_mw_bind_info info = { .mr = &mr, .addr = 0x1000, .length = 64,
					 .mw_access_flags = IBV_ACCESS_REMOTE_READ };
	struct ibv_send_wr wr = { .wr_id = 5, .send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED };
	uint32_t old, rkey;

	wr_begin(5, wr.send_flags);
	ibv_wr_send_inv(ex, 0xb1b2b3b4);
	wr_set_entry(17);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.invalidate_rkey = 0xb1b2b3b4;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr_same_as(wr);
	wr_begin(5, wr.send_flags);
	ibv_wr_local_inv(ex, 0xb1b2b3b4);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.opcode = IBV_WR_LOCAL_INV;
	wr.num_sge = 0;
	wr_same_as(wr);
	wr_begin(5, wr.send_flags);
	ibv_wr_atomic_write(ex, 0xb1b2b3b4, 0xa1a2a3a4a5a6a7a8, &eight);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.opcode = IBV_WR_ATOMIC_WRITE;
	wr.send_flags |= IBV_SEND_INLINE;
	wr.wr.rdma.rkey = 0xb1b2b3b4;
	wr.wr.rdma.remote_addr = 0xa1a2a3a4a5a6a7a8;
	wr.sg_list = &value;
	wr.num_sge = 1;
	wr_same_as(wr);

	/* a window gets its new key when the request is posted */
	old = mw->rkey;
	rkey = ibv_inc_rkey(old);
	wr_begin(5, 0);
	ibv_wr_bind_mw(ex, mw, rkey, &info);
	ibv_wr_abort(ex);
	assert_int_equal(mw->rkey, old);
	wr_begin(5, 0);
	ibv_wr_bind_mw(ex, mw, rkey, &info);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(mw->rkey, rkey);
	wr = (struct ibv_send_wr){ .wr_id = 5, .opcode = IBV_WR_BIND_MW,
				   .bind_mw = { .mw = mw, .rkey = rkey, .bind_info = info } };
	wr_same_as(wr);
	old = mw->rkey;
	for (unsigned int what = 0; what < 4; what++) {
		struct ibv_mw_bind_info bad = info;

		if (what == 0)
			bad.mw_access_flags = IBV_ACCESS_MW_BIND;
		wr_begin(5, 0);
		ibv_wr_bind_mw(ex, what == 1 ? type1 : what == 2 ? NULL : mw, rkey, &bad);
		if (what == 3)
			wr_set_entry(8);
		assert_int_equal(ibv_wr_complete(ex), EINVAL);
		assert_int_equal(mw->rkey, old);
	}
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	assert_int_equal(uroce_dealloc_mw(type1), 0);
}

#ifdef UROCE_WR_HAS_FLUSH
static void
test_flush(void **state)
{
	struct ibv_send_wr wr = { .wr_id = 5, .send_flags = IBV_SEND_SIGNALED };

	uroce_send_wr_flush(&wr, 0xb1b2b3b4, 0xa1a2a3a4a5a6a7a8, 4097, IBV_FLUSH_PERSISTENT, IBV_FLUSH_MR);
	wr_begin(5, wr.send_flags);
	ibv_wr_flush(ex, 0xb1b2b3b4, 0xa1a2a3a4a5a6a7a8, 4097, IBV_FLUSH_PERSISTENT, IBV_FLUSH_MR);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr_same_as(wr);
}
#endif

static void
test_data(void **state)
{
	struct ibv_sge sges[4] = { wr_entry(1), wr_entry(0), wr_entry(300), wr_entry(7) };
	struct ibv_send_wr wr = { .sg_list = sges, .num_sge = 4, .opcode = IBV_WR_SEND };
	const struct ibv_data_buf bufs[3] = { { data + 3, 1 }, { NULL, 0 }, { data + 3, 90 } };

	wr_begin(0, 0);
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, 4, sges);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr_same_as(wr);
	/* without data */
	wr_begin(0, 0);
	ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.num_sge = 0;
	wr_same_as(wr);
	/* inline, from one buffer and from several */
	wr.send_flags = IBV_SEND_INLINE;
	sges[2].length = 90;
	wr_begin(0, 0);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data_list(ex, 3, bufs);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.num_sge = 3;
	wr_same_as(wr);
	wr_begin(0, 0);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, data + 3, 90);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.sg_list = &sges[2];
	wr.num_sge = 1;
	wr_same_as(wr);
	/* R42: too long for a message, but the queue takes it */
	wr.send_flags = 0;
	sges[2].length = UROCE_MAX_MSG_BYTES;
	sges[3].length = 1;
	wr.num_sge = 2;
	wr_begin(0, 0);
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, 2, &sges[2]);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(uroce_sqe_at(&wr_built()->sq, wr_built()->sq.head)->posted_status, IBV_WC_LOC_LEN_ERR);
	wr_same_as(wr);
}

static void
test_sig_all(void **state)
{
	struct ibv_qp *qp = wr_create(IBV_QPT_RC, WR_RC_OPS, 1);
	struct ibv_qp_ex *all = uroce_qp_to_qp_ex(qp);

	ibv_wr_start(all);
	ibv_wr_send(all);
	assert_int_equal(ibv_wr_complete(all), 0);
	assert_int_equal(wr_take(uroce_qp_of(qp))->flags, IBV_SEND_SIGNALED);
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

static void
test_ud(void **state)
{
	struct ibv_sge sge = wr_entry(17);
	struct ibv_send_wr wr = {
		.wr_id = 7, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = 3,
		.wr.ud = { .ah = ah, .remote_qpn = 0xabcdef, .remote_qkey = 0x80010000 },
	};

	wr_begin(7, 0);
	ibv_wr_send_imm(ex, 3);
	ibv_wr_set_ud_addr(ex, ah, 0xabcdef, 0x80010000);
	wr_set_entry(17);
	assert_int_equal(uroce_ah_of(ah)->refs, 1);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr_same_as(wr);
}

/* Each request names its SRQ; requests on local memory have none. */
static void
test_xrc(void **state)
{
	struct ibv_sge sge = wr_entry(8);
	struct ibv_send_wr wr = {
		.wr_id = 7, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.qp_type.xrc.remote_srqn = 0xabcdef,
	};

	wr_begin(7, 0);
	ibv_wr_send(ex);
	ibv_wr_set_xrc_srqn(ex, 0xabcdef);
	wr_set_entry(8);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr_same_as(wr);
	wr.opcode = IBV_WR_RDMA_READ;
	wr.wr.rdma.remote_addr = 0x8000;
	wr.wr.rdma.rkey = 9;
	wr.qp_type.xrc.remote_srqn = 0;
	wr_begin(7, 0);
	ibv_wr_rdma_read(ex, 9, 0x8000);
	wr_set_entry(8);
	ibv_wr_set_xrc_srqn(ex, 0);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr_same_as(wr);
	wr_begin(7, 0);
	ibv_wr_local_inv(ex, 5);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(wr_take(wr_built())->rkey, 5);
}

UROCE_TESTS(wr)
{
	const struct CMUnitTest tests[] = {
		RC(test_create),
		RC(test_only_what_was_asked_for),
		RC(test_sends),
		RC(test_rdma),
		RC(test_atomics),
		RC(test_memory),
#ifdef UROCE_WR_HAS_FLUSH
		RC(test_flush),
#endif
		RC(test_data),
		RC(test_sig_all),
		UD(test_ud),
		XRC(test_xrc),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
