/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_modify_qp(3): the range of each attribute; a refused call changes nothing, and the transport hears of an accepted
 * one; replaced paths and responder resources; and an engine that changes the state first.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "transport/qp/state.h"
#include "uroce.h"
#include "uroce_config.h"
#include "wire/opcode.h"
#include "eal.h"
#include "fixture.h"

/* The call is refused, and changes nothing. */
static void
refused_with(struct ibv_qp_attr attr, int mask, int error)
{
	static struct uroce_qp before;
	unsigned int changes = fake.changes;
	unsigned int paths = fake.paths;

	memcpy(&before, qp, sizeof(before));
	assert_int_equal(uroce_modify_qp(&qp->ibv, &attr, mask), error);
	assert_int_equal(qp->state, before.state);
	assert_int_equal(qp->ibv.state, before.ibv.state);
	assert_memory_equal(&qp->attr, &before.attr, sizeof(before.attr));
	assert_memory_equal(&qp->path, &before.path, sizeof(before.path));
	assert_ptr_equal(uroce_responder_of(qp)->resources, uroce_responder_of(&before)->resources);
	assert_int_equal(qp->access, before.access);
	assert_int_equal(qp->mtu_bytes, before.mtu_bytes);
	assert_int_equal(fake.changes, changes);
	assert_int_equal(fake.paths, paths);
}

static void
refused(struct ibv_qp_attr attr, int mask)
{
	refused_with(attr, mask, EINVAL);
}

static void
accepted(struct ibv_qp_attr attr, int mask, enum ibv_qp_state to)
{
	unsigned int changes = fake.changes;
	enum ibv_qp_state from = qp->state;

	assert_int_equal(uroce_modify_qp(&qp->ibv, &attr, mask), 0);
	assert_int_equal(qp->state, to);
	assert_int_equal(qp->ibv.state, to);
	assert_int_equal(qp->attr.qp_state, to);
	assert_int_equal(fake.changes, changes + 1);
	assert_ptr_equal(fake.changed_qp, qp);
	assert_int_equal(fake.changed_from, from);
	assert_int_equal(fake.changed_to, to);
	assert_int_equal(fake.changed_mask, mask);
}

static void
test_the_usual_way(void **state)
{
	struct ibv_qp_attr attr = fake_attr(IBV_QPS_INIT);

	accepted(attr, FAKE_INIT_MASK, IBV_QPS_INIT);
	assert_int_equal(qp->access, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	assert_false(qp->path.set_up);
	/* attributes outside the mask are ignored */
	assert_int_equal(qp->attr.dest_qp_num, 0);

	attr.qp_state = IBV_QPS_RTR;
	accepted(attr, FAKE_RTR_MASK, IBV_QPS_RTR);
	assert_int_equal(qp->mtu_bytes, 1024);
	assert_true(qp->path.set_up);
	assert_int_equal(qp->path.dgid.raw[15], 9);
	assert_int_equal(fake.path_remote_qpn, 0xabcdef);
	assert_int_equal(qp->attr.rq_psn, 0xfffffe);
	assert_int_equal(qp->attr.timeout, 0);

	attr.qp_state = IBV_QPS_RTS;
	accepted(attr, FAKE_RTS_MASK, IBV_QPS_RTS);
	assert_int_equal(qp->attr.sq_psn, 0x123456);
	assert_int_equal(qp->attr.timeout, 14);
	assert_int_equal(qp->attr.retry_cnt, 7);
	assert_int_equal(qp->attr.rnr_retry, 6);
	assert_int_equal(qp->attr.max_rd_atomic, 16);

	/* without a state, the state stays */
	attr.qp_access_flags = IBV_ACCESS_REMOTE_ATOMIC;
	accepted(attr, IBV_QP_ACCESS_FLAGS, IBV_QPS_RTS);
	assert_int_equal(qp->access, IBV_ACCESS_REMOTE_ATOMIC);
	accepted(attr, 0, IBV_QPS_RTS);

	attr.qp_state = IBV_QPS_SQD;
	attr.en_sqd_async_notify = 7;
	accepted(attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QPS_SQD);
	assert_int_equal(qp->attr.en_sqd_async_notify, 1);
	attr.qp_state = IBV_QPS_RTS;
	accepted(attr, IBV_QP_STATE, IBV_QPS_RTS);
	/* the drain notification is for that transition only */
	attr.qp_state = IBV_QPS_SQD;
	accepted(attr, IBV_QP_STATE, IBV_QPS_SQD);
	assert_int_equal(qp->attr.en_sqd_async_notify, 0);
	attr.qp_state = IBV_QPS_ERR;
	accepted(attr, IBV_QP_STATE, IBV_QPS_ERR);
	assert_true(qp->path.set_up);
	attr.qp_state = IBV_QPS_RESET;
	accepted(attr, IBV_QP_STATE, IBV_QPS_RESET);
	assert_false(qp->path.set_up);
	assert_int_equal(fake.paths, 0);
}

static void
test_wrong_transitions_and_masks(void **state)
{
	struct ibv_qp_attr attr = fake_attr(IBV_QPS_RTR);

	refused(attr, FAKE_RTR_MASK);
	attr.qp_state = IBV_QPS_INIT;
	for (unsigned int bit = 0; bit < 32; bit++) {
		int b = (int)(UINT32_C(1) << bit);

		refused(attr, FAKE_INIT_MASK ^ b);
	}
	/* uroce does not resize a QP's queues or limit their rate */
	fake_qp_to(&qp->ibv, IBV_QPS_RTS);
	refused(attr, IBV_QP_CAP);
	refused(attr, IBV_QP_RATE_LIMIT);
	attr.qp_state = IBV_QPS_UNKNOWN;
	refused(attr, IBV_QP_STATE);
	attr.qp_state = -1;
	refused(attr, IBV_QP_STATE);
}

#define BAD(field, value, mask) do { \
	struct ibv_qp_attr bad = attr; \
	bad.field = value; \
	refused(bad, mask); \
} while (0)

static void
test_ranges_of_init(void **state)
{
	const struct ibv_qp_attr attr = fake_attr(IBV_QPS_INIT);

	BAD(pkey_index, 1, FAKE_INIT_MASK);
	BAD(port_num, 0, FAKE_INIT_MASK);
	BAD(port_num, 2, FAKE_INIT_MASK);
	BAD(qp_access_flags, 1u << 31, FAKE_INIT_MASK);
	BAD(qp_access_flags, 1u << 10, FAKE_INIT_MASK);
	accepted(attr, FAKE_INIT_MASK, IBV_QPS_INIT);
}

static void
test_ranges_of_rtr(void **state)
{
	struct ibv_qp_attr attr = fake_attr(IBV_QPS_RTR);

	fake_qp_to(&qp->ibv, IBV_QPS_INIT);
	BAD(path_mtu, 0, FAKE_RTR_MASK);
	BAD(path_mtu, IBV_MTU_4096 + 1, FAKE_RTR_MASK);
	BAD(dest_qp_num, 0x1000000, FAKE_RTR_MASK);
	BAD(max_dest_rd_atomic, UROCE_MAX_RD_ATOMIC + 1, FAKE_RTR_MASK);
	BAD(min_rnr_timer, 32, FAKE_RTR_MASK);
	BAD(ah_attr.is_global, 0, FAKE_RTR_MASK);
	BAD(ah_attr.port_num, 0, FAKE_RTR_MASK);
	BAD(ah_attr.port_num, 2, FAKE_RTR_MASK);
	BAD(ah_attr.grh.sgid_index, UROCE_MAX_GID, FAKE_RTR_MASK);
	BAD(alt_port_num, 1, FAKE_RTR_MASK | IBV_QP_ALT_PATH);
	BAD(pkey_index, 1, FAKE_RTR_MASK | IBV_QP_PKEY_INDEX);
	/* none of these calls reached a path */
	assert_int_equal(fake.path_inits, 0);

	/* the port's MTU is the limit */
	fake.active_mtu = IBV_MTU_1024;
	BAD(path_mtu, IBV_MTU_2048, FAKE_RTR_MASK);
	fake.port_error = -EIO;
	refused_with(attr, FAKE_RTR_MASK, EIO);
	fake.port_error = 0;
	fake.path_error = -ENETUNREACH;
	refused_with(attr, FAKE_RTR_MASK, ENETUNREACH);
	fake.path_error = 0;

	attr.max_dest_rd_atomic = UROCE_MAX_RD_ATOMIC;
	attr.rq_psn = 0xabffffff;
	attr.dest_qp_num = 0xffffff;
	attr.min_rnr_timer = 31;
	attr.ah_attr.grh.flow_label = UINT32_MAX;
	accepted(attr, FAKE_RTR_MASK, IBV_QPS_RTR);
	assert_int_equal(qp->attr.rq_psn, 0xffffff);
}

static void
test_ranges_of_rts(void **state)
{
	struct ibv_qp_attr attr = fake_attr(IBV_QPS_RTS);

	fake_qp_to(&qp->ibv, IBV_QPS_RTR);
	BAD(timeout, 32, FAKE_RTS_MASK);
	BAD(retry_cnt, 8, FAKE_RTS_MASK);
	BAD(rnr_retry, 8, FAKE_RTS_MASK);
	BAD(max_rd_atomic, UROCE_MAX_RD_ATOMIC + 1, FAKE_RTS_MASK);
	BAD(path_mig_state, IBV_MIG_REARM, FAKE_RTS_MASK | IBV_QP_PATH_MIG_STATE);
	BAD(path_mig_state, IBV_MIG_ARMED, FAKE_RTS_MASK | IBV_QP_PATH_MIG_STATE);
	BAD(min_rnr_timer, 32, FAKE_RTS_MASK | IBV_QP_MIN_RNR_TIMER);
	BAD(cur_qp_state, IBV_QPS_RTS, FAKE_RTS_MASK | IBV_QP_CUR_STATE);
	BAD(cur_qp_state, IBV_QPS_SQD, FAKE_RTS_MASK | IBV_QP_CUR_STATE);

	attr.timeout = 31;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.sq_psn = 0x1ffffff;
	attr.max_rd_atomic = UROCE_MAX_RD_ATOMIC;
	attr.path_mig_state = IBV_MIG_MIGRATED;
	attr.cur_qp_state = IBV_QPS_RTR;
	accepted(attr, FAKE_RTS_MASK | IBV_QP_PATH_MIG_STATE | IBV_QP_CUR_STATE, IBV_QPS_RTS);
	assert_int_equal(qp->attr.sq_psn, 0xffffff);
}

/* Each path MTU. */
static void
test_mtu(void **state)
{
	struct ibv_qp_attr attr = fake_attr(IBV_QPS_RTR);

	for (enum ibv_mtu mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++) {
		fake.active_mtu = mtu;
		fake_qp_to(&qp->ibv, IBV_QPS_INIT);
		attr.path_mtu = mtu;
		attr.qp_state = IBV_QPS_RTR;
		accepted(attr, FAKE_RTR_MASK, IBV_QPS_RTR);
		assert_int_equal(qp->mtu_bytes, 256 << (mtu - IBV_MTU_256));
		attr.qp_state = IBV_QPS_RESET;
		accepted(attr, IBV_QP_STATE, IBV_QPS_RESET);
	}
}

/* A reset discards posted requests without completions, and they can be posted again. */
static void
test_reset_clears(void **state)
{
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_wc wc;

	for (unsigned int round = 0; round < 5; round++) {
		fake_qp_to(&qp->ibv, IBV_QPS_RTS);
		for (uint32_t i = 0; i < qp->cap.max_recv_wr; i++)
			assert_int_equal(uroce_post_recv(&qp->ibv, &recv, &bad_recv), 0);
		for (uint32_t i = 0; i < qp->cap.max_send_wr; i++)
			assert_int_equal(uroce_post_send(&qp->ibv, &send, &bad_send), 0);
		assert_int_equal(uroce_post_send(&qp->ibv, &send, &bad_send), ENOMEM);
		accepted(attr, IBV_QP_STATE, IBV_QPS_RESET);
		assert_int_equal(qp->sq.head, qp->sq.tail);
		assert_int_equal(qp->rq.head, qp->rq.tail);
		assert_int_equal(uroce_poll_cq(pair.cq, 1, &wc), 0);
		assert_int_equal(uroce_post_recv(&qp->ibv, &recv, &bad_recv), EINVAL);
		assert_int_equal(fake.paths, 0);
		assert_int_equal(qp->access, 0);
		assert_int_equal(qp->attr.dest_qp_num, 0);
	}
}

/* A reset removes unpolled completions, too. */
static void
test_reset_forgets(void **state)
{
	struct ibv_cq *recv_cq = uroce_create_cq(fake.context, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr init = fake_init_attr(&pair);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_wc wc = { .wr_id = 5 };
	struct ibv_qp *other;

	init.recv_cq = recv_cq;
	other = uroce_create_qp(pair.pd, &init);
	assert_non_null(other);
	for (unsigned int i = 0; i < 4; i++) {
		wc.qp_num = i & 1 ? other->qp_num : qp->ibv.qp_num;
		assert_true(uroce_cq_push(uroce_cq_of(i & 2 ? recv_cq : pair.cq), qp->engine, &wc, false));
	}
	assert_int_equal(uroce_modify_qp(other, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RESET;
	/* a refused call removes no completion */
	assert_int_equal(uroce_modify_qp(other, &attr, IBV_QP_STATE | IBV_QP_AV), EINVAL);
	assert_int_equal(uroce_cq_of(recv_cq)->tail - uroce_cq_of(recv_cq)->head, 2);
	assert_int_equal(uroce_modify_qp(other, &attr, IBV_QP_STATE), 0);
	assert_int_equal(uroce_poll_cq(pair.cq, 1, &wc), 1);
	assert_int_equal(wc.qp_num, qp->ibv.qp_num);
	assert_int_equal(uroce_poll_cq(pair.cq, 1, &wc), 0);
	assert_int_equal(uroce_poll_cq(recv_cq, 1, &wc), 1);
	assert_int_equal(wc.qp_num, qp->ibv.qp_num);
	assert_int_equal(uroce_poll_cq(recv_cq, 1, &wc), 0);
	assert_int_equal(uroce_destroy_qp(other), 0);
	assert_int_equal(uroce_destroy_cq(recv_cq), 0);
}

static void
test_resources(void **state)
{
	static const struct {
		uint8_t asked;
		uint32_t entries;
	} sizes[] = { { 0, 1 }, { 1, 1 }, { 2, 2 }, { 3, 4 }, { 16, 16 }, { 17, 32 }, { 128, 128 } };
	struct ibv_qp_attr attr;

	for (size_t i = 0; i < RTE_DIM(sizes); i++) {
		fake_qp_to(&qp->ibv, IBV_QPS_INIT);
		attr = fake_attr(IBV_QPS_RTR);
		attr.max_dest_rd_atomic = sizes[i].asked;
		accepted(attr, FAKE_RTR_MASK, IBV_QPS_RTR);
		assert_non_null(uroce_responder_of(qp)->resources);
		assert_true(uroce_responder_of(qp)->resource_mask + 1 >= sizes[i].entries);
		for (uint32_t k = 0; k <= uroce_responder_of(qp)->resource_mask; k++)
			assert_int_equal(uroce_responder_of(qp)->resources[k].op, UROCE_OP_NONE);
		attr.qp_state = IBV_QPS_RESET;
		accepted(attr, IBV_QP_STATE, IBV_QPS_RESET);
	}
	/* a new ring has the exact size */
	assert_int_equal(uroce_destroy_qp(&qp->ibv), 0);
	qp = uroce_qp_of(fake_qp_create(&pair));
	fake_qp_to(&qp->ibv, IBV_QPS_RTR);
	assert_int_equal(uroce_responder_of(qp)->resource_mask, 7);
}

/* More responder resources in SQD: the remembered requests move to the new ring, wherever its indices are. */
static void
test_resources_grow(void **state)
{
	struct ibv_qp_attr attr = fake_attr(IBV_QPS_SQD);
	struct uroce_responder *resp = uroce_responder_of(qp);
	struct uroce_rd_atomic *ring;

	fake_qp_to(&qp->ibv, IBV_QPS_SQD);
	assert_int_equal(resp->resource_mask, 7);
	resp->resource_head = UINT32_MAX - 1;
	resp->resource_tail = 3;
	for (uint32_t i = resp->resource_tail - 8; i != resp->resource_tail; i++) {
		resp->resources[i & 7].op = UROCE_OP_READ_REQUEST;
		resp->resources[i & 7].first_psn = i;
	}
	attr.max_dest_rd_atomic = 60;
	accepted(attr, IBV_QP_MAX_DEST_RD_ATOMIC, IBV_QPS_SQD);
	assert_int_equal(resp->resource_mask, 63);
	assert_int_equal(resp->resource_head, UINT32_MAX - 1);
	assert_int_equal(resp->resource_tail, 3);
	for (uint32_t i = resp->resource_tail - 8; i != resp->resource_tail; i++) {
		assert_int_equal(resp->resources[i & 63].op, UROCE_OP_READ_REQUEST);
		assert_int_equal(resp->resources[i & 63].first_psn, i);
	}
	for (uint32_t i = resp->resource_tail; i != resp->resource_tail + 56; i++)
		assert_int_equal(resp->resources[i & 63].op, UROCE_OP_NONE);
	/* with fewer resources the ring stays */
	ring = resp->resources;
	attr.max_dest_rd_atomic = 2;
	accepted(attr, IBV_QP_MAX_DEST_RD_ATOMIC, IBV_QPS_SQD);
	assert_ptr_equal(resp->resources, ring);
	assert_int_equal(qp->attr.max_dest_rd_atomic, 2);
}

/* A new address in SQD: the old path is released, and the peer's QPN stays. */
static void
test_path_replaced(void **state)
{
	struct ibv_qp_attr attr = fake_attr(IBV_QPS_SQD);

	fake_qp_to(&qp->ibv, IBV_QPS_SQD);
	assert_int_equal(fake.paths, 1);
	attr.ah_attr.grh.dgid.raw[15] = 77;
	attr.dest_qp_num = 1;
	accepted(attr, IBV_QP_AV, IBV_QPS_SQD);
	assert_int_equal(fake.paths, 1);
	assert_int_equal(fake.path_inits, 2);
	assert_int_equal(fake.path_remote_qpn, 0xabcdef);
	assert_int_equal(qp->path.dgid.raw[15], 77);
	assert_int_equal(qp->attr.ah_attr.grh.dgid.raw[15], 77);
	fake.path_error = -EHOSTUNREACH;
	refused_with(attr, IBV_QP_AV, EHOSTUNREACH);
}

static void
fail_qp(void)
{
	qp->state = IBV_QPS_ERR;
}

/* The engine moves the QP to ERR after the control call has read the state. */
static void
test_engine_is_quicker(void **state)
{
	struct ibv_qp_attr attr = fake_attr(IBV_QPS_RTS);
	unsigned int changes;

	fake_qp_to(&qp->ibv, IBV_QPS_SQD);
	changes = fake.changes;
	fake.entering = fail_qp;
	attr.ah_attr.grh.dgid.raw[15] = 77;
	attr.max_dest_rd_atomic = 100;
	assert_int_equal(uroce_modify_qp(&qp->ibv, &attr,
					 IBV_QP_AV | IBV_QP_MAX_DEST_RD_ATOMIC), EINVAL);
	assert_int_equal(fake.changes, changes);
	assert_int_equal(fake.paths, 1);
	assert_int_equal(qp->path.dgid.raw[15], 9);
	assert_int_equal(uroce_responder_of(qp)->resource_mask, 7);
	assert_int_equal(qp->state, IBV_QPS_ERR);
	/* transitions from ERR are allowed */
	attr.qp_state = IBV_QPS_RESET;
	accepted(attr, IBV_QP_STATE, IBV_QPS_RESET);
	fake.entering = NULL;
}

UROCE_TESTS(qp_modify)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_usual_way, qp_setup, qp_teardown),
		cmocka_unit_test_setup_teardown(test_wrong_transitions_and_masks, qp_setup, qp_teardown),
		cmocka_unit_test_setup_teardown(test_ranges_of_init, qp_setup, qp_teardown),
		cmocka_unit_test_setup_teardown(test_ranges_of_rtr, qp_setup, qp_teardown),
		cmocka_unit_test_setup_teardown(test_ranges_of_rts, qp_setup, qp_teardown),
		cmocka_unit_test_setup_teardown(test_mtu, qp_setup, qp_teardown),
		cmocka_unit_test_setup_teardown(test_reset_clears, qp_setup, qp_teardown),
		cmocka_unit_test_setup_teardown(test_reset_forgets, qp_setup, qp_teardown),
		cmocka_unit_test_setup_teardown(test_resources, qp_setup, qp_teardown),
		cmocka_unit_test_setup_teardown(test_resources_grow, qp_setup, qp_teardown),
		cmocka_unit_test_setup_teardown(test_path_replaced, qp_setup, qp_teardown),
		cmocka_unit_test_setup_teardown(test_engine_is_quicker, qp_setup, qp_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
