/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The work request calls of struct ibv_qp_ex: each makes the WQE that ibv_post_send() makes of the same request;
 * lists, what is refused and leaves nothing behind, and threads that wait for one another.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_common.h>

#include "uroce.h"
#include "uroce_config.h"
#include "verbs/ah.h"
#include "eal.h"
#include "fake.h"

#define RC_OPS (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND | \
		IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | \
		IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | \
		IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV | \
		IBV_QP_EX_WITH_ATOMIC_WRITE)
#define XRC_OPS (RC_OPS & ~IBV_QP_EX_WITH_ATOMIC_WRITE)
#define UD_OPS (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define DEPTH 5

static struct fake_pair pair;
static struct ibv_qp_ex *ex;	/* built */
static struct ibv_qp *plain;	/* posted */
static struct ibv_ah *ah;
static uint8_t data[600];

static struct ibv_qp *
create(enum ibv_qp_type type, uint64_t send_ops, int sig_all)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = pair.cq, .recv_cq = pair.cq, .qp_type = type, .sq_sig_all = sig_all, .pd = pair.pd,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = 1, .max_send_sge = 4, .max_inline_data = 100 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | (send_ops != 0 ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
		.send_ops_flags = send_ops,
	};
	struct ibv_qp *qp = uroce_create_qp_ex(fake.context, &attr);

	assert_non_null(qp);
	assert_int_equal(attr.cap.max_send_wr, DEPTH);
	/* as if it had been connected */
	uroce_qp_of(qp)->state = IBV_QPS_RTS;
	return qp;
}

static void
start(enum ibv_qp_type type, uint64_t send_ops, int sig_all)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh.sgid_index = 1 };
	struct ibv_qp *qp;

	fake_open(8);
	pair = fake_pair_create(16);
	ah = uroce_create_ah(pair.pd, &attr);
	assert_non_null(ah);
	qp = create(type, send_ops, sig_all);
	ex = uroce_qp_to_qp_ex(qp);
	assert_ptr_equal(ex, qp);
	plain = create(type, 0, sig_all);
	assert_null(uroce_qp_to_qp_ex(plain));
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + 1);
}

static int
setup_rc(void **state)
{
	start(IBV_QPT_RC, RC_OPS, 0);
	return 0;
}

static int
setup_ud(void **state)
{
	start(IBV_QPT_UD, UD_OPS, 0);
	return 0;
}

static int
setup_xrc(void **state)
{
	start(IBV_QPT_XRC_SEND, XRC_OPS, 0);
	return 0;
}

static int
teardown(void **state)
{
	assert_int_equal(uroce_destroy_qp(&ex->qp_base), 0);
	assert_int_equal(uroce_destroy_qp(plain), 0);
	/* nobody holds it any more */
	assert_int_equal(uroce_ah_of(ah)->refs, 0);
	assert_int_equal(uroce_destroy_ah(ah), 0);
	fake_pair_destroy(&pair);
	return fake_teardown(state);
}

static struct uroce_qp *
built(void)
{
	return uroce_qp_of(&ex->qp_base);
}

/* What the worker would take next of a queue; its handle is given back, as the completer does. */
static struct uroce_sqe *
take(struct uroce_qp *qp)
{
	struct uroce_sqe *sqe;

	assert_int_not_equal(qp->sq.head, qp->sq.tail);
	sqe = uroce_sqe_at(&qp->sq, qp->sq.head++);
	if (qp->ibv.qp_type == IBV_QPT_UD)
		uroce_ah_put(sqe->ud.ah);
	return sqe;
}

/* The WQE that was built is the one that this makes. */
static void
same_as(struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad;
	struct uroce_sqe *sqe;
	size_t bytes;

	assert_int_equal(uroce_post_send(plain, &wr, &bad), 0);
	sqe = take(uroce_qp_of(plain));
	bytes = sizeof(*sqe) + (sqe->flags & IBV_SEND_INLINE ? sqe->length
						: sqe->num_sge * sizeof(struct ibv_sge));
	assert_memory_equal(take(built()), sqe, bytes);
	assert_int_equal(built()->sq.head, built()->sq.tail);
}

static void
begin(uint64_t wr_id, unsigned int flags)
{
	ibv_wr_start(ex);
	ex->wr_id = wr_id;
	ex->wr_flags = flags;
}

static struct ibv_sge
entry(uint32_t length)
{
	return (struct ibv_sge){ .addr = (uintptr_t)data + 3, .length = length, .lkey = 0x1234 };
}

static void
set_entry(uint32_t length)
{
	ibv_wr_set_sge(ex, 0x1234, (uintptr_t)data + 3, length);
}

/* ---- what is asked for ---- */

static void
refused(enum ibv_qp_type type, uint32_t mask, uint64_t send_ops, uint32_t create_flags, int error)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = pair.cq, .recv_cq = pair.cq, .qp_type = type, .pd = pair.pd, .comp_mask = mask,
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
	refused(IBV_QPT_RC, IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER, 0, 0, EOPNOTSUPP);
	refused(IBV_QPT_RC, IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH, 0, 0, EOPNOTSUPP);
	refused(IBV_QPT_RC, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, IBV_QP_EX_WITH_SEND, 0, EINVAL);
	refused(IBV_QPT_RAW_PACKET, with_ops, IBV_QP_EX_WITH_SEND, 0, EOPNOTSUPP);
}

/* Calls that were not asked for are not there. */
static void
test_only_what_was_asked_for(void **state)
{
	struct ibv_qp *qp = create(IBV_QPT_RC, IBV_QP_EX_WITH_RDMA_READ, 0);
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

/* ---- each call ---- */

static void
test_sends(void **state)
{
	struct ibv_sge sge = entry(17);
	struct ibv_send_wr wr = { .wr_id = 0x1122334455667788, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND };
	const unsigned int flags[] = { 0, IBV_SEND_SIGNALED, IBV_SEND_SOLICITED, IBV_SEND_FENCE,
				       IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_FENCE };

	for (unsigned int i = 0; i < RTE_DIM(flags); i++) {
		wr.send_flags = flags[i];
		wr.opcode = IBV_WR_SEND;
		begin(wr.wr_id, flags[i]);
		ibv_wr_send(ex);
		set_entry(17);
		assert_int_equal(ibv_wr_complete(ex), 0);
		same_as(wr);
		wr.opcode = IBV_WR_SEND_WITH_IMM;
		wr.imm_data = 0x99887766;
		begin(wr.wr_id, flags[i]);
		ibv_wr_send_imm(ex, wr.imm_data);
		set_entry(17);
		assert_int_equal(ibv_wr_complete(ex), 0);
		same_as(wr);
	}
}

static void
test_rdma(void **state)
{
	struct ibv_sge sge = entry(18);
	struct ibv_send_wr wr = {
		.wr_id = 5, .sg_list = &sge, .num_sge = 1, .imm_data = 0x99887766,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED,
		.wr.rdma = { .remote_addr = 0xa1a2a3a4a5a6a7a8, .rkey = 0xb1b2b3b4 },
	};

	begin(5, wr.send_flags);
	ibv_wr_rdma_write(ex, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr);
	set_entry(18);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.opcode = IBV_WR_RDMA_WRITE;
	same_as(wr);
	begin(5, wr.send_flags);
	ibv_wr_rdma_write_imm(ex, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr, wr.imm_data);
	set_entry(18);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	same_as(wr);
	begin(5, wr.send_flags);
	ibv_wr_rdma_read(ex, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr);
	set_entry(18);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.opcode = IBV_WR_RDMA_READ;
	same_as(wr);
}

static void
test_atomics(void **state)
{
	struct ibv_sge sge = entry(8);
	struct ibv_send_wr wr = {
		.wr_id = 6, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
		.wr.atomic = { .remote_addr = 0xa1a2a3a4a5a6a7a8, .rkey = 0xb1b2b3b4,
			       .compare_add = 0xc1c2c3c4c5c6c7c8, .swap = 0xd1d2d3d4d5d6d7d8 },
	};

	begin(6, 0);
	ibv_wr_atomic_cmp_swp(ex, wr.wr.atomic.rkey, wr.wr.atomic.remote_addr, wr.wr.atomic.compare_add,
			      wr.wr.atomic.swap);
	set_entry(8);
	assert_int_equal(ibv_wr_complete(ex), 0);
	same_as(wr);
	begin(6, 0);
	ibv_wr_atomic_fetch_add(ex, wr.wr.atomic.rkey, wr.wr.atomic.remote_addr, wr.wr.atomic.compare_add);
	set_entry(8);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.wr.atomic.swap = 0;
	same_as(wr);
}

static void
test_memory(void **state)
{
	uint64_t eight = 0xe1e2e3e4e5e6e7e8;
	struct ibv_sge value = { .addr = (uintptr_t)&eight, .length = 8 };
	struct ibv_sge sge = entry(17);
	struct ibv_mw *mw = uroce_alloc_mw(pair.pd, IBV_MW_TYPE_2);
	struct ibv_mw *type1 = uroce_alloc_mw(pair.pd, IBV_MW_TYPE_1);
	struct ibv_mr mr = { .lkey = 0x4321 };
	struct ibv_mw_bind_info info = { .mr = &mr, .addr = 0x1000, .length = 64,
					 .mw_access_flags = IBV_ACCESS_REMOTE_READ };
	struct ibv_send_wr wr = { .wr_id = 5, .send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED };
	uint32_t old, rkey;

	begin(5, wr.send_flags);
	ibv_wr_send_inv(ex, 0xb1b2b3b4);
	set_entry(17);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.invalidate_rkey = 0xb1b2b3b4;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	same_as(wr);
	begin(5, wr.send_flags);
	ibv_wr_local_inv(ex, 0xb1b2b3b4);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.opcode = IBV_WR_LOCAL_INV;
	wr.num_sge = 0;
	same_as(wr);
	begin(5, wr.send_flags);
	ibv_wr_atomic_write(ex, 0xb1b2b3b4, 0xa1a2a3a4a5a6a7a8, &eight);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.opcode = IBV_WR_ATOMIC_WRITE;
	wr.send_flags |= IBV_SEND_INLINE;
	wr.wr.rdma.rkey = 0xb1b2b3b4;
	wr.wr.rdma.remote_addr = 0xa1a2a3a4a5a6a7a8;
	wr.sg_list = &value;
	wr.num_sge = 1;
	same_as(wr);

	/* a window has its new key when the request is posted, and only then */
	old = mw->rkey;
	rkey = ibv_inc_rkey(old);
	begin(5, 0);
	ibv_wr_bind_mw(ex, mw, rkey, &info);
	ibv_wr_abort(ex);
	assert_int_equal(mw->rkey, old);
	begin(5, 0);
	ibv_wr_bind_mw(ex, mw, rkey, &info);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(mw->rkey, rkey);
	wr = (struct ibv_send_wr){ .wr_id = 5, .opcode = IBV_WR_BIND_MW,
				   .bind_mw = { .mw = mw, .rkey = rkey, .bind_info = info } };
	same_as(wr);
	old = mw->rkey;
	for (unsigned int what = 0; what < 4; what++) {
		struct ibv_mw_bind_info bad = info;

		if (what == 0)
			bad.mw_access_flags = IBV_ACCESS_LOCAL_WRITE;
		begin(5, 0);
		ibv_wr_bind_mw(ex, what == 1 ? type1 : what == 2 ? NULL : mw, rkey, &bad);
		if (what == 3)
			set_entry(8);
		assert_int_equal(ibv_wr_complete(ex), EINVAL);
		assert_int_equal(mw->rkey, old);
	}
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	assert_int_equal(uroce_dealloc_mw(type1), 0);
}

static void
test_data(void **state)
{
	struct ibv_sge sges[4] = { entry(1), entry(0), entry(300), entry(7) };
	struct ibv_send_wr wr = { .sg_list = sges, .num_sge = 4, .opcode = IBV_WR_SEND };
	const struct ibv_data_buf bufs[3] = { { data + 3, 1 }, { NULL, 0 }, { data + 3, 90 } };

	begin(0, 0);
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, 4, sges);
	assert_int_equal(ibv_wr_complete(ex), 0);
	same_as(wr);
	/* none at all */
	begin(0, 0);
	ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.num_sge = 0;
	same_as(wr);
	/* inline, in one piece and in several */
	wr.send_flags = IBV_SEND_INLINE;
	sges[2].length = 90;
	begin(0, 0);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data_list(ex, 3, bufs);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.num_sge = 3;
	same_as(wr);
	begin(0, 0);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, data + 3, 90);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wr.sg_list = &sges[2];
	wr.num_sge = 1;
	same_as(wr);
	/* R42: too long for the wire, and not for the queue */
	wr.send_flags = 0;
	sges[2].length = UROCE_MAX_MSG_BYTES;
	sges[3].length = 1;
	wr.num_sge = 2;
	begin(0, 0);
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, 2, &sges[2]);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(uroce_sqe_at(&built()->sq, built()->sq.head)->posted_status, IBV_WC_LOC_LEN_ERR);
	same_as(wr);
}

static void
test_sig_all(void **state)
{
	struct ibv_qp *qp = create(IBV_QPT_RC, RC_OPS, 1);
	struct ibv_qp_ex *all = uroce_qp_to_qp_ex(qp);

	ibv_wr_start(all);
	ibv_wr_send(all);
	assert_int_equal(ibv_wr_complete(all), 0);
	assert_int_equal(take(uroce_qp_of(qp))->flags, IBV_SEND_SIGNALED);
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

static void
test_ud(void **state)
{
	struct ibv_sge sge = entry(17);
	struct ibv_send_wr wr = {
		.wr_id = 7, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = 3,
		.wr.ud = { .ah = ah, .remote_qpn = 0xabcdef, .remote_qkey = 0x80010000 },
	};

	begin(7, 0);
	ibv_wr_send_imm(ex, 3);
	ibv_wr_set_ud_addr(ex, ah, 0xabcdef, 0x80010000);
	set_entry(17);
	assert_int_equal(uroce_ah_of(ah)->refs, 1);
	assert_int_equal(ibv_wr_complete(ex), 0);
	same_as(wr);
}

/* Each request names its SRQ; what is about local memory has none. */
static void
test_xrc(void **state)
{
	struct ibv_sge sge = entry(8);
	struct ibv_send_wr wr = {
		.wr_id = 7, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.qp_type.xrc.remote_srqn = 0xabcdef,
	};

	begin(7, 0);
	ibv_wr_send(ex);
	ibv_wr_set_xrc_srqn(ex, 0xabcdef);
	set_entry(8);
	assert_int_equal(ibv_wr_complete(ex), 0);
	same_as(wr);
	wr.opcode = IBV_WR_RDMA_READ;
	wr.wr.rdma.remote_addr = 0x8000;
	wr.wr.rdma.rkey = 9;
	wr.qp_type.xrc.remote_srqn = 0;
	begin(7, 0);
	ibv_wr_rdma_read(ex, 9, 0x8000);
	set_entry(8);
	ibv_wr_set_xrc_srqn(ex, 0);
	assert_int_equal(ibv_wr_complete(ex), 0);
	same_as(wr);
	begin(7, 0);
	ibv_wr_local_inv(ex, 5);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(take(built())->rkey, 5);
}

/* ---- all or nothing ---- */

static void
nothing_posted(uint32_t tail, unsigned int doorbells)
{
	assert_int_equal(built()->sq.tail, tail);
	assert_int_equal(fake.doorbells, doorbells);
	assert_false(rte_spinlock_is_locked(&built()->sq.lock));
	assert_int_equal(uroce_ah_of(ah)->refs, 0);
}

static void
test_lists(void **state)
{
	begin(1, 0);
	ibv_wr_send(ex);
	set_entry(1);
	ex->wr_id = 2;
	ibv_wr_rdma_write(ex, 9, 10);
	set_entry(2);
	ex->wr_id = 3;
	ibv_wr_rdma_read(ex, 9, 10);
	set_entry(3);
	/* nobody sees anything before the end */
	assert_int_equal(built()->sq.tail, 0);
	assert_int_equal(fake.doorbells, 0);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(fake.doorbells, 1);
	for (uint64_t i = 1; i <= 3; i++) {
		const struct uroce_sqe *sqe = take(built());

		assert_int_equal(sqe->wr_id, i);
		assert_int_equal(sqe->length, i);
	}
	/* nothing is nothing */
	ibv_wr_start(ex);
	assert_int_equal(ibv_wr_complete(ex), 0);
	nothing_posted(3, 1);
	begin(4, 0);
	ibv_wr_send(ex);
	ibv_wr_abort(ex);
	nothing_posted(3, 1);
}

/* The queue takes DEPTH, and gives back what did not fit. */
static void
test_full(void **state)
{
	for (unsigned int round = 0; round < 20; round++) {
		uint32_t tail = built()->sq.tail;
		unsigned int doorbells = fake.doorbells;

		ibv_wr_start(ex);
		for (unsigned int i = 0; i <= DEPTH; i++) {
			ibv_wr_send(ex);
			set_entry(1);
		}
		assert_int_equal(ibv_wr_complete(ex), ENOMEM);
		nothing_posted(tail, doorbells);
		ibv_wr_start(ex);
		for (unsigned int i = 0; i < DEPTH; i++)
			ibv_wr_send(ex);
		assert_int_equal(ibv_wr_complete(ex), 0);
		ibv_wr_start(ex);
		ibv_wr_send(ex);
		assert_int_equal(ibv_wr_complete(ex), ENOMEM);
		for (unsigned int i = 0; i < DEPTH; i++)
			take(built());
	}
}

static void
make_bad(unsigned int what)
{
	struct ibv_sge sges[UROCE_MAX_SGE + 1];
	uint32_t max_sge = built()->sq.max_sge;

	memset(sges, 0, sizeof(sges));
	switch (what) {
	case 0: ex->wr_flags = IBV_SEND_IP_CSUM; ibv_wr_send(ex); break;
	case 1: ex->wr_flags = 1 << 20; ibv_wr_send(ex); break;
	case 2: ibv_wr_send(ex); ibv_wr_set_sge_list(ex, max_sge + 1, sges); break;
	case 3: ibv_wr_send(ex); ibv_wr_set_inline_data(ex, data, built()->sq.max_inline + 1u); break;
	case 4: ibv_wr_send(ex); ibv_wr_set_inline_data(ex, data, SIZE_MAX); break;
	case 5: ibv_wr_rdma_read(ex, 1, 2); ibv_wr_set_inline_data(ex, data, 8); break;
	case 6: ibv_wr_atomic_fetch_add(ex, 1, 2, 3); ibv_wr_set_inline_data(ex, data, 8); break;
	case 7: ibv_wr_atomic_fetch_add(ex, 1, 2, 3); set_entry(7); break;
	case 8: ibv_wr_atomic_cmp_swp(ex, 1, 2, 3, 4); break;
	default: ibv_wr_atomic_cmp_swp(ex, 1, 2, 3, 4); ibv_wr_set_sge_list(ex, 2, sges); break;
	}
}

/* Alone, before something good and behind it. */
static void
test_bad(void **state)
{
	for (unsigned int what = 0; what < 10; what++) {
		for (unsigned int where = 0; where < 4; where++) {
			begin(0, 0);
			if (where & 1) {
				ibv_wr_send(ex);
				set_entry(1);
			}
			make_bad(what);
			ex->wr_flags = 0;
			if (where & 2) {
				ibv_wr_send(ex);
				set_entry(1);
			}
			assert_int_equal(ibv_wr_complete(ex), EINVAL);
			nothing_posted(0, 0);
		}
	}
	/* a setter without a request is nothing */
	begin(0, 0);
	set_entry(1);
	ibv_wr_set_inline_data(ex, data, 1);
	assert_int_equal(ibv_wr_complete(ex), 0);
	nothing_posted(0, 0);
}

static void
test_states(void **state)
{
	for (enum ibv_qp_state s = IBV_QPS_RESET; s <= IBV_QPS_ERR; s++) {
		built()->state = s;
		ibv_wr_start(ex);
		ibv_wr_send(ex);
		assert_int_equal(ibv_wr_complete(ex), s < IBV_QPS_RTS ? EINVAL : 0);
		if (s >= IBV_QPS_RTS)
			take(built());
	}
}

/* Handles of what is not posted are given back. */
static void
test_bad_ud(void **state)
{
	begin(0, 0);
	ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);		/* it goes nowhere */
	nothing_posted(0, 0);
	for (unsigned int what = 0; what < 4; what++) {
		begin(0, 0);
		ibv_wr_send(ex);
		ibv_wr_set_ud_addr(ex, ah, 1, 2);
		ibv_wr_send(ex);
		if (what == 0)
			ibv_wr_set_ud_addr(ex, NULL, 1, 2);
		else if (what == 1)
			ibv_wr_set_ud_addr(ex, ah, 0x1000000, 2);
		else if (what == 2)
			ibv_wr_set_inline_data(ex, data, sizeof(data));
		else	/* a second time */
			for (unsigned int i = 0; i < 2; i++)
				ibv_wr_set_ud_addr(ex, ah, 1, 2);
		assert_int_equal(ibv_wr_complete(ex), EINVAL);
		nothing_posted(0, 0);
	}
	begin(0, 0);
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, ah, 1, 2);
	ibv_wr_abort(ex);
	nothing_posted(0, 0);
}

static void
test_bad_xrc(void **state)
{
	for (unsigned int what = 0; what < 3; what++) {
		begin(0, 0);
		if (what == 0) {
			ibv_wr_send(ex);	/* to which SRQ? */
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

/* ---- threads ---- */

#define ROUNDS 20000

static uint32_t taken;	/* atomic: WQEs that the worker is done with */

/* Two WQEs at a time, the second one more than the first: nobody comes between them. */
static void *
builder(void *arg)
{
	uint64_t base = (uintptr_t)arg;

	for (uint64_t i = 0; i < ROUNDS;) {
		ibv_wr_start(ex);
		ex->wr_id = base + 2 * i;
		ibv_wr_send(ex);
		ex->wr_id = base + 2 * i + 1;
		ibv_wr_send(ex);
		if (ibv_wr_complete(ex) == 0)
			i++;
		else
			sched_yield();
	}
	return NULL;
}

static void
test_threads(void **state)
{
	pthread_t threads[2];
	struct uroce_wq *sq = &built()->sq;

	for (uintptr_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, builder, (void *)(i << 40)), 0);
	for (taken = 0; taken < 2 * 2 * ROUNDS; taken += 2) {
		uint64_t first;

		while (__atomic_load_n(&sq->tail, __ATOMIC_ACQUIRE) - sq->head < 2)
			sched_yield();
		first = uroce_sqe_at(sq, sq->head)->wr_id;
		assert_int_equal(first % 2, 0);
		assert_int_equal(uroce_sqe_at(sq, sq->head + 1)->wr_id, first + 1);
		__atomic_store_n(&sq->head, sq->head + 2, __ATOMIC_RELEASE);
	}
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void *
reset(void *arg)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	assert_int_equal(uroce_modify_qp(arg, &attr, IBV_QP_STATE), 0);
	return NULL;
}

/* What is posted while the QP is reset goes with the rest, and lets go of its address handle: teardown looks. */
static void
test_reset_while_building(void **state)
{
	struct ibv_qp *qp = &ex->qp_base;
	pthread_t thread;

	ibv_wr_start(ex);
	assert_int_equal(pthread_create(&thread, NULL, reset, qp), 0);
	while (__atomic_load_n(&uroce_qp_of(qp)->state, __ATOMIC_RELAXED) != IBV_QPS_RESET)
		sched_yield();
	usleep(20000);		/* for it to come as far as it can */
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, ah, 1, 2);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(uroce_qp_of(qp)->sq.head, uroce_qp_of(qp)->sq.tail);
	assert_int_equal(uroce_ah_of(ah)->refs, 0);
}

#define RC(f) cmocka_unit_test_setup_teardown(f, setup_rc, teardown)
#define UD(f) cmocka_unit_test_setup_teardown(f, setup_ud, teardown)
#define XRC(f) cmocka_unit_test_setup_teardown(f, setup_xrc, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RC(test_create),
		RC(test_only_what_was_asked_for),
		RC(test_sends),
		RC(test_rdma),
		RC(test_atomics),
		RC(test_memory),
		RC(test_data),
		RC(test_sig_all),
		UD(test_ud),
		UD(test_reset_while_building),
		XRC(test_xrc),
		RC(test_lists),
		RC(test_full),
		RC(test_bad),
		RC(test_states),
		UD(test_bad_ud),
		XRC(test_bad_xrc),
		RC(test_threads),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
