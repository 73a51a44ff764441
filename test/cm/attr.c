/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * QP attributes from the connection manager: those of both ends match, have the masks of ibv_modify_qp(3), and contain
 * the values of the REQ and the REP; and the states that have attributes.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>

#include "cm/ib/internal.h"
#include "groups.h"
#include "pair.h"
#include "verbs/qp/qp.h"

static struct ibv_qp_attr
attr_of(const struct uroce_cm_conn *conn, enum ibv_qp_state state, int *mask)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	assert_int_equal(uroce_cm_qp_attr(conn, &attr, mask), 0);
	assert_int_equal(attr.qp_state, state);
	return attr;
}

/* As in Linux: the larger of the two timeouts, and one more if the other is close. */
static void
ack_timeouts_cover_the_round_trip(void **unused)
{
	assert_int_equal(uroce_cm_ack_timeout(15, 18), 19); /* as in the captures */
	assert_int_equal(uroce_cm_ack_timeout(15, 14), 16);
	assert_int_equal(uroce_cm_ack_timeout(19, 18), 20);
	assert_int_equal(uroce_cm_ack_timeout(20, 18), 21);
	assert_int_equal(uroce_cm_ack_timeout(21, 18), 21);
	assert_int_equal(uroce_cm_ack_timeout(0, 0), 2);
	assert_int_equal(uroce_cm_ack_timeout(31, 31), 31);
	for (unsigned int delay = 0; delay < 32; delay++)
		for (unsigned int life = 0; life < 32; life++) {
			uint64_t needed = (1ull << delay) + (2ull << life);
			unsigned int got = uroce_cm_ack_timeout((uint8_t)delay, (uint8_t)life);

			/* at most a quarter too short, by rounding; at most twice too long */
			assert_true(got == 31 ||
				    (4ull << got >= 3 * needed && 1ull << got <= 2 * needed + 2));
		}
}

static void
both_ends_fit_together(void **unused)
{
	struct uroce_cm_conn *conns[2];
	static struct test_pair p;

	test_pair_init(&p, 1);
	test_pair_connect(&p, conns);
	for (unsigned int i = 0; i < 2; i++) {
		int mask, other_mask;
		struct ibv_qp_attr rtr = attr_of(conns[i], IBV_QPS_RTR, &mask);
		struct ibv_qp_attr rts = attr_of(conns[!i], IBV_QPS_RTS, &other_mask);

		assert_int_equal(
			uroce_qp_transition_check(IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPT_RC, mask), 0);
		assert_int_equal(
			uroce_qp_transition_check(IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPT_RC, other_mask),
			0);
		assert_int_equal(rtr.rq_psn, rts.sq_psn);
		assert_int_equal(rtr.dest_qp_num, conns[!i]->local_qpn);
		/* the REQ asked for five and six, the REP granted three and two */
		assert_true(rts.max_rd_atomic <= rtr.max_dest_rd_atomic);
		assert_true(uroce_cm_same_gid(&rtr.ah_attr.grh.dgid, &p.end[!i].gid));
		assert_int_equal(rtr.ah_attr.is_global, 1);
		assert_int_equal(rtr.ah_attr.port_num, 1);
		assert_int_equal(rtr.ah_attr.grh.sgid_index, 3);
		assert_int_equal(rtr.ah_attr.grh.hop_limit, 64);
		assert_int_equal(rtr.ah_attr.grh.flow_label, 0xabcde);
		assert_int_equal(rtr.ah_attr.grh.traffic_class, 0x20);
		assert_int_equal(rtr.ah_attr.sl, 5);
		assert_int_equal(rtr.path_mtu, IBV_MTU_1024);
		assert_int_equal(rts.retry_cnt, 7);
	}
	test_pair_fini(&p);
}

static void
values_are_those_of_req_and_rep(void **unused)
{
	struct uroce_cm_conn *conns[2];
	struct ibv_qp_attr attr;
	static struct test_pair p;
	int mask;

	test_pair_init(&p, 1);
	test_pair_connect(&p, conns);
	attr = attr_of(conns[TEST_CLIENT], IBV_QPS_INIT, &mask);
	assert_int_equal(uroce_qp_transition_check(IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPT_RC, mask),
			 0);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(attr.qp_access_flags, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC);
	attr = attr_of(conns[TEST_CLIENT], IBV_QPS_RTR, &mask);
	assert_int_equal(attr.rq_psn, 0x111111);
	assert_int_equal(attr.max_dest_rd_atomic, 2);
	attr = attr_of(conns[TEST_CLIENT], IBV_QPS_RTS, &mask);
	assert_int_equal(attr.sq_psn, 0x222222);
	assert_int_equal(attr.max_rd_atomic, 3);
	assert_int_equal(attr.rnr_retry, 6); /* from the REP */
	assert_int_equal(attr.timeout, 16);
	attr = attr_of(conns[TEST_SERVER], IBV_QPS_RTR, &mask);
	assert_int_equal(attr.rq_psn, 0x222222);
	assert_int_equal(attr.max_dest_rd_atomic, 3);
	attr = attr_of(conns[TEST_SERVER], IBV_QPS_RTS, &mask);
	assert_int_equal(attr.sq_psn, 0x111111);
	assert_int_equal(attr.max_rd_atomic, 2);
	assert_int_equal(attr.rnr_retry, 4); /* from the REQ */
	assert_int_equal(attr.timeout, 16);

	conns[TEST_SERVER]->responder_resources = 0;
	attr = attr_of(conns[TEST_SERVER], IBV_QPS_INIT, &mask);
	assert_int_equal(attr.qp_access_flags, IBV_ACCESS_REMOTE_WRITE);
	test_pair_fini(&p);
}

static void
transports_have_their_masks(void **unused)
{
	struct uroce_cm_conn *conns[2];
	static struct test_pair p;
	int mask;

	test_pair_init(&p, 1);
	test_pair_connect(&p, conns);
	conns[0]->qp_type = IBV_QPT_UC;
	attr_of(conns[0], IBV_QPS_RTR, &mask);
	assert_int_equal(uroce_qp_transition_check(IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPT_UC, mask), 0);
	attr_of(conns[0], IBV_QPS_RTS, &mask);
	assert_int_equal(uroce_qp_transition_check(IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPT_UC, mask), 0);
	conns[0]->qp_type = IBV_QPT_XRC_SEND;
	attr_of(conns[0], IBV_QPS_RTR, &mask);
	assert_int_equal(mask & (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), 0);
	attr_of(conns[0], IBV_QPS_RTS, &mask);
	assert_true((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0 && (mask & IBV_QP_TIMEOUT) != 0);
	conns[0]->qp_type = IBV_QPT_XRC_RECV;
	attr_of(conns[0], IBV_QPS_RTR, &mask);
	assert_true((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0);
	attr_of(conns[0], IBV_QPS_RTS, &mask);
	assert_true((mask & IBV_QP_MAX_QP_RD_ATOMIC) == 0 && (mask & IBV_QP_TIMEOUT) != 0);
	test_pair_fini(&p);
}

static void
states_without_a_peer_have_none(void **unused)
{
	static struct test_pair p;
	struct uroce_cm_conn *conn;

	test_pair_init(&p, 1);
	conn = uroce_cm_conn_create(p.end[0].cm, NULL);
	for (unsigned int state = UROCE_CM_IDLE; state < UROCE_CM_STATE_COUNT; state++) {
		bool begun = state >= UROCE_CM_REQ_SENT && state < UROCE_CM_DREQ_SENT;
		bool both = begun && state != UROCE_CM_REQ_SENT && state != UROCE_CM_MRA_REQ_RCVD;

		for (unsigned int qps = IBV_QPS_RESET; qps <= IBV_QPS_ERR; qps++) {
			struct ibv_qp_attr attr = { .qp_state = qps };
			bool expected = qps == IBV_QPS_INIT
						? begun
						: (qps == IBV_QPS_RTR || qps == IBV_QPS_RTS) &&
							  both;
			int mask;

			conn->state = (uint8_t)state;
			assert_int_equal(uroce_cm_qp_attr(conn, &attr, &mask),
					 expected ? 0 : -EINVAL);
		}
	}
	conn->state = UROCE_CM_IDLE;
	test_pair_fini(&p);
}

UROCE_TESTS(cm_attr)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ack_timeouts_cover_the_round_trip),
		cmocka_unit_test(both_ends_fit_together),
		cmocka_unit_test(values_are_those_of_req_and_rep),
		cmocka_unit_test(transports_have_their_masks),
		cmocka_unit_test(states_without_a_peer_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
