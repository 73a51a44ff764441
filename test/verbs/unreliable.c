/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * UC and UD queue pairs in verbs: their way to RTS, the MTU of a datagram, which requests can be posted, and the
 * reference of a posted send to its address handle.
 */

#include <errno.h>
#include <limits.h>
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
#include "wire/opcode.h"
#include "eal.h"
#include "fake.h"

static struct fake_pair pair;
static struct ibv_ah *ah;

static int
setup(void **state)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1, .grh = { .sgid_index = 1, .dgid.raw = { [15] = 9 } },
	};

	fake_setup(state);
	pair = fake_pair_create(16);
	ah = uroce_create_ah(pair.pd, &attr);
	assert_non_null(ah);
	return 0;
}

static int
teardown(void **state)
{
	assert_int_equal(uroce_destroy_ah(ah), 0);
	fake_pair_destroy(&pair);
	return fake_teardown(state);
}

static struct ibv_qp *
make_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = fake_init_attr(&pair);
	struct ibv_qp *qp;

	attr.qp_type = type;
	qp = uroce_create_qp(pair.pd, &attr);
	assert_non_null(qp);
	assert_int_equal(qp->qp_type, type);
	return qp;
}

static int
modify(struct ibv_qp *qp, enum ibv_qp_state to, int mask)
{
	struct ibv_qp_attr attr = fake_attr(to);

	attr.qkey = 0x80001234;
	return uroce_modify_qp(qp, &attr, IBV_QP_STATE | mask);
}

#define INIT_UD (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)
#define INIT_UC (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RTR_UC (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)

static void
to_rts(struct ibv_qp *qp)
{
	bool ud = qp->qp_type == IBV_QPT_UD;

	if (qp->qp_type == IBV_QPT_RC) {
		fake_qp_to(qp, IBV_QPS_RTS);
		return;
	}
	assert_int_equal(modify(qp, IBV_QPS_INIT, ud ? INIT_UD : INIT_UC), 0);
	assert_int_equal(modify(qp, IBV_QPS_RTR, ud ? 0 : RTR_UC), 0);
	assert_int_equal(modify(qp, IBV_QPS_RTS, IBV_QP_SQ_PSN), 0);
}

static void
test_transports(void **state)
{
	static const struct { enum ibv_qp_type type; uint8_t transport; } types[] = {
		{ IBV_QPT_RC, UROCE_TRANSPORT_RC }, { IBV_QPT_UC, UROCE_TRANSPORT_UC },
		{ IBV_QPT_UD, UROCE_TRANSPORT_UD }, { IBV_QPT_RAW_PACKET, UROCE_TRANSPORT_NONE },
		{ IBV_QPT_DRIVER, UROCE_TRANSPORT_NONE },
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(types); i++) {
		assert_int_equal(uroce_qp_transport(types[i].type), types[i].transport);
		if (types[i].transport != UROCE_TRANSPORT_NONE) {
			struct ibv_qp *qp = make_qp(types[i].type);

			assert_int_equal(uroce_qp_of(qp)->transport, types[i].transport);
			assert_int_equal(uroce_destroy_qp(qp), 0);
		}
	}
}

static void
test_ud_to_rts(void **state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp = make_qp(IBV_QPT_UD);

	(void)state;
	/* a UD QP has no address vector, and needs a Q_Key */
	assert_int_equal(modify(qp, IBV_QPS_INIT, INIT_UC), EINVAL);
	assert_int_equal(modify(qp, IBV_QPS_INIT, INIT_UD), 0);
	assert_int_equal(modify(qp, IBV_QPS_RTR, RTR_UC), EINVAL);
	fake.active_mtu = IBV_MTU_2048;
	assert_int_equal(modify(qp, IBV_QPS_RTR, 0), 0);
	assert_int_equal(uroce_qp_of(qp)->mtu_bytes, 2048);
	assert_int_equal(modify(qp, IBV_QPS_RTS, 0), EINVAL);
	assert_int_equal(modify(qp, IBV_QPS_RTS, IBV_QP_SQ_PSN), 0);
	assert_int_equal(uroce_query_qp(qp, &attr, IBV_QP_QKEY, &init), 0);
	assert_int_equal(attr.qkey, 0x80001234);
	assert_int_equal(attr.path_mtu, IBV_MTU_2048);
	assert_int_equal(init.qp_type, IBV_QPT_UD);
	assert_int_equal(fake.paths, 1);	/* the path of the handle */
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

static void
test_a_port_that_does_not_tell_its_mtu(void **state)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_UD);

	(void)state;
	assert_int_equal(modify(qp, IBV_QPS_INIT, INIT_UD), 0);
	fake.port_error = -EIO;
	assert_int_equal(modify(qp, IBV_QPS_RTR, 0), EIO);
	assert_int_equal(uroce_qp_of(qp)->state, IBV_QPS_INIT);
	fake.port_error = 0;
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

static int
post(struct ibv_qp *qp, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = { .length = 8 };
	struct ibv_send_wr wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (qp->qp_type == IBV_QPT_UD) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = 5;
		wr.wr.ud.remote_qkey = 6;
	}
	return ibv_post_send(qp, &wr, &bad);
}

/* Opcodes that carry data: one bit for each. */
static void
test_opcodes(void **state)
{
	const uint32_t send = 1 << IBV_WR_SEND | 1 << IBV_WR_SEND_WITH_IMM;
	const uint32_t write = 1 << IBV_WR_RDMA_WRITE | 1 << IBV_WR_RDMA_WRITE_WITH_IMM;
	const uint32_t answered = 1 << IBV_WR_RDMA_READ | 1 << IBV_WR_ATOMIC_CMP_AND_SWP |
				  1 << IBV_WR_ATOMIC_FETCH_AND_ADD | 1 << IBV_WR_SEND_WITH_INV;
	const struct { enum ibv_qp_type type; uint32_t opcodes; } types[] = {
		{ IBV_QPT_RC, send | write | answered }, { IBV_QPT_UC, send | write }, { IBV_QPT_UD, send },
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(types); i++) {
		struct ibv_qp *qp = make_qp(types[i].type);

		to_rts(qp);
		for (uint32_t all = send | write | answered, opcode = 0; all != 0; all >>= 1, opcode++) {
			if (all & 1)
				assert_int_equal(post(qp, opcode),
						 types[i].opcodes & 1u << opcode ? 0 : EINVAL);
			uroce_ah_put_queued(uroce_qp_of(qp));
			uroce_qp_of(qp)->sq.head = uroce_qp_of(qp)->sq.tail;
		}
		assert_int_equal(uroce_destroy_qp(qp), 0);
	}
	assert_int_equal(uroce_ah_of(ah)->refs, 0);
}

static void
test_a_queued_send_holds_its_handle(void **state)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_UD);
	struct uroce_sqe *sqe;

	(void)state;
	to_rts(qp);
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(post(qp, IBV_WR_SEND), 0);
	assert_int_equal(post(qp, IBV_WR_SEND), ENOMEM);	/* a refused request takes no reference */
	assert_int_equal(uroce_ah_of(ah)->refs, 5);
	sqe = uroce_sqe_at(&uroce_qp_of(qp)->sq, 0);
	assert_ptr_equal(sqe->ud.ah, uroce_ah_of(ah));
	assert_int_equal(sqe->ud.remote_qpn, 5);
	assert_int_equal(sqe->ud.qkey, 6);
	/* discarded unsent */
	assert_int_equal(modify(qp, IBV_QPS_RESET, 0), 0);
	assert_int_equal(uroce_ah_of(ah)->refs, 0);
	to_rts(qp);
	assert_int_equal(post(qp, IBV_WR_SEND), 0);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	assert_int_equal(uroce_ah_of(ah)->refs, 0);
}

static struct uroce_qp *leaving;
static unsigned int polls, done_at;

static void
send_slowly(struct uroce_device *dev, struct uroce_cq *cq)
{
	assert_ptr_equal(cq, leaving->ibv.send_cq);
	if (++polls != done_at)
		return;
	for (; leaving->sq.head != leaving->sq.tail; leaving->sq.head++) {
		if (leaving->transport == UROCE_TRANSPORT_UD)
			uroce_ah_put(uroce_sqe_at(&leaving->sq, leaving->sq.head)->ud.ah);
	}
}

/* A destroyed QP gets time to send its requests, which no peer acknowledges, and no more than that. */
static void
test_the_rest_is_sent(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		enum ibv_qp_state state;
		unsigned int sends, done_at, polls;
	} cases[] = {
		{ IBV_QPT_UD, IBV_QPS_RTS, 2, 3, 3 },
		{ IBV_QPT_UC, IBV_QPS_RTS, 1, 1, 1 },
		{ IBV_QPT_UC, IBV_QPS_RTS, 1, UINT_MAX, UROCE_DESTROY_POLLS },
		{ IBV_QPT_UD, IBV_QPS_RTS, 0, 1, 0 },
		{ IBV_QPT_UC, IBV_QPS_ERR, 1, 1, 0 },
		{ IBV_QPT_RC, IBV_QPS_RTS, 1, 1, 0 },
	};
	const struct uroce_worker_ops *before = fake.dev.ops.worker;
	struct uroce_worker_ops ops = *before;

	ops.poll = send_slowly;
	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		struct ibv_qp *qp = make_qp(cases[i].type);

		leaving = uroce_qp_of(qp);
		leaving->state = IBV_QPS_RTS;
		for (unsigned int k = 0; k < cases[i].sends; k++)
			assert_int_equal(post(qp, IBV_WR_SEND), 0);
		leaving->state = cases[i].state;
		polls = 0;
		done_at = cases[i].done_at;
		fake.dev.ops.worker = &ops;
		assert_int_equal(uroce_destroy_qp(qp), 0);
		fake.dev.ops.worker = before;
		assert_int_equal(polls, cases[i].polls);
		assert_int_equal(uroce_ah_of(ah)->refs, 0);
	}
}

UROCE_TESTS(unreliable)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_transports, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ud_to_rts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_port_that_does_not_tell_its_mtu, setup, teardown),
		cmocka_unit_test_setup_teardown(test_opcodes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_queued_send_holds_its_handle, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_rest_is_sent, setup, teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
