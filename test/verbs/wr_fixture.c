/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "uroce.h"
#include "verbs/address/ah.h"
#include "fake.h"
#include "wr_fixture.h"

#define XRC_OPS (WR_RC_OPS & ~(IBV_QP_EX_WITH_ATOMIC_WRITE | WR_FLUSH_OP))
#define UD_OPS (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)

struct fake_pair wr_pair;
struct ibv_qp_ex *ex;
struct ibv_ah *ah;
uint8_t data[600];

static struct ibv_qp *plain;	/* its requests are posted as lists */

struct ibv_qp *
wr_create(enum ibv_qp_type type, uint64_t send_ops, int sig_all)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = wr_pair.cq, .recv_cq = wr_pair.cq, .qp_type = type, .sq_sig_all = sig_all,
		.pd = wr_pair.pd,
		.cap = { .max_send_wr = WR_DEPTH, .max_recv_wr = 1, .max_send_sge = 4, .max_inline_data = 100 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | (send_ops != 0 ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
		.send_ops_flags = send_ops,
	};
	struct ibv_qp *qp = uroce_create_qp_ex(fake.context, &attr);

	assert_non_null(qp);
	assert_int_equal(attr.cap.max_send_wr, WR_DEPTH);
	/* as a connected QP */
	uroce_qp_of(qp)->state = IBV_QPS_RTS;
	return qp;
}

static void
start(enum ibv_qp_type type, uint64_t send_ops, int sig_all)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh.sgid_index = 1 };
	struct ibv_qp *qp;

	fake_open(8);
	wr_pair = fake_pair_create(16);
	ah = uroce_create_ah(wr_pair.pd, &attr);
	assert_non_null(ah);
	qp = wr_create(type, send_ops, sig_all);
	ex = uroce_qp_to_qp_ex(qp);
	assert_ptr_equal(ex, qp);
	plain = wr_create(type, 0, sig_all);
	assert_null(uroce_qp_to_qp_ex(plain));
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + 1);
}

int
wr_setup_rc(void **state)
{
	start(IBV_QPT_RC, WR_RC_OPS, 0);
	return 0;
}

int
wr_setup_ud(void **state)
{
	start(IBV_QPT_UD, UD_OPS, 0);
	return 0;
}

int
wr_setup_xrc(void **state)
{
	start(IBV_QPT_XRC_SEND, XRC_OPS, 0);
	return 0;
}

int
wr_teardown(void **state)
{
	assert_int_equal(uroce_destroy_qp(&ex->qp_base), 0);
	assert_int_equal(uroce_destroy_qp(plain), 0);
	/* no WQE references it any more */
	assert_int_equal(uroce_ah_of(ah)->refs, 0);
	assert_int_equal(uroce_destroy_ah(ah), 0);
	fake_pair_destroy(&wr_pair);
	return fake_teardown(state);
}

struct uroce_qp *
wr_built(void)
{
	return uroce_qp_of(&ex->qp_base);
}

struct uroce_sqe *
wr_take(struct uroce_qp *qp)
{
	struct uroce_sqe *sqe;

	assert_int_not_equal(qp->sq.head, qp->sq.tail);
	sqe = uroce_sqe_at(&qp->sq, qp->sq.head++);
	if (qp->ibv.qp_type == IBV_QPT_UD)
		uroce_ah_put(sqe->ud.ah);
	return sqe;
}

void
wr_same_as(struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad;
	struct uroce_sqe *sqe;
	size_t bytes;

	assert_int_equal(uroce_post_send(plain, &wr, &bad), 0);
	sqe = wr_take(uroce_qp_of(plain));
	bytes = sizeof(*sqe) + (sqe->flags & IBV_SEND_INLINE ? sqe->length
						: sqe->num_sge * sizeof(struct ibv_sge));
	assert_memory_equal(wr_take(wr_built()), sqe, bytes);
	assert_int_equal(wr_built()->sq.head, wr_built()->sq.tail);
}

void
wr_begin(uint64_t wr_id, unsigned int flags)
{
	ibv_wr_start(ex);
	ex->wr_id = wr_id;
	ex->wr_flags = flags;
}

struct ibv_sge
wr_entry(uint32_t length)
{
	return (struct ibv_sge){ .addr = (uintptr_t)data + 3, .length = length, .lkey = 0x1234 };
}

void
wr_set_entry(uint32_t length)
{
	ibv_wr_set_sge(ex, 0x1234, (uintptr_t)data + 3, length);
}
