/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The messages of a connection: allowed states, values beyond a field, the number and intervals of retransmissions, and
 * transaction IDs.
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

static struct test_pair pair;

static int
setup(void **state)
{
	test_pair_init(&pair, 21);
	return 0;
}

static int
teardown(void **state)
{
	test_pair_fini(&pair);
	return 0;
}

/* ---- states ---------------------------------------------------------------------------- */

static int
send_it(struct uroce_cm_conn *conn, enum uroce_cm_message m)
{
	static const struct uroce_cm_sidr_rep sidr_rep;
	const struct test_end *end = conn->cm->conf.arg;
	struct uroce_cm_path path = test_end_path(end);
	struct uroce_cm_req req = test_end_req(end, 5);
	struct uroce_cm_rep rep = test_end_rep(end, 6);

	switch (m) {
	case UROCE_CM_REQ: return uroce_cm_send_req(conn, &req, pair.now_ns);
	case UROCE_CM_MRA: return uroce_cm_send_mra(conn, 20, NULL, pair.now_ns);
	case UROCE_CM_REJ: return uroce_cm_send_rej(conn, 28, NULL, 0, NULL, pair.now_ns);
	case UROCE_CM_REP: return uroce_cm_send_rep(conn, &rep, pair.now_ns);
	case UROCE_CM_RTU: return uroce_cm_send_rtu(conn, NULL, pair.now_ns);
	case UROCE_CM_DREQ: return uroce_cm_send_dreq(conn, NULL, pair.now_ns);
	case UROCE_CM_DREP: return uroce_cm_send_drep(conn, NULL, pair.now_ns);
	case UROCE_CM_SIDR_REQ:
		return uroce_cm_send_sidr_req(conn, 1, &path, 100, 3, NULL, pair.now_ns);
	case UROCE_CM_SIDR_REP: return uroce_cm_send_sidr_rep(conn, &sidr_rep, pair.now_ns);
	case UROCE_CM_LAP: return uroce_cm_send_lap(conn, &path, NULL, pair.now_ns);
	default: return uroce_cm_send_apr(conn, 2, NULL, 0, NULL, pair.now_ns);
	}
}

/* Each message in each state: refused, or sent, with the next state of the table. */
static void
the_state_decides_what_may_be_sent(void **state)
{
	struct test_end *end = &pair.end[0];

	for (unsigned int s = UROCE_CM_IDLE; s < UROCE_CM_STATE_COUNT; s++)
		for (unsigned int m = 0; m < UROCE_CM_MESSAGE_COUNT; m++) {
			struct uroce_cm_conn *conn = uroce_cm_conn_create(end->cm, NULL);
			unsigned int sent = pair.sent[m];
			uint8_t next = uroce_cm_sends[s][m];

			uroce_cm_start(end->cm, pair.now_ns);
			conn->path = test_end_path(end);
			uroce_cm_conn_enter(conn, s, pair.now_ns);
			if (uroce_cm_timeouts[s].action !=
			    UROCE_CM_UNEXPECTED) /* as if a message had been sent */
				uroce_wheel_arm(&end->cm->wheel, &conn->timer,
						pair.now_ns + 1000000);
			if (next == UROCE_CM_STATE_NONE) {
				assert_int_equal(send_it(conn, m), -EINVAL);
				assert_int_equal(test_state(conn), s);
				assert_int_equal(pair.sent[m], sent);
			} else {
				assert_int_equal(send_it(conn, m), 0);
				assert_int_equal(test_state(conn), next);
				assert_int_equal(pair.sent[m], sent + 1);
				assert_int_equal(uroce_cm_mad_message(pair.last[1].bytes,
								      UROCE_CM_MAD_BYTES),
						 m);
			}
			/* the connection can be destroyed in each state */
			uroce_cm_conn_destroy(conn, pair.now_ns);
		}
	test_pair_lose(&pair);
	test_pair_run(&pair, UINT64_MAX);
	assert_int_equal(test_end_conns(end), 0);
	assert_int_equal(end->cm->half_open, 0);
}

/* ---- fields ---------------------------------------------------------------------------- */

static void
what_does_not_fit_is_refused(void **state)
{
	struct test_end *end = &pair.end[0];
	struct uroce_cm_conn *conns[2], *conn = uroce_cm_conn_create(end->cm, NULL);
	uint8_t data[256] = { 0 };
	struct uroce_cm_private long_priv = { data, 255 };
	struct uroce_cm_req req = test_end_req(end, 1 << 24);
	struct uroce_cm_path path = test_end_path(end);

	assert_int_equal(uroce_cm_send_req(conn, &req, pair.now_ns), -EINVAL);
	req.qpn = 5;
	req.priv = long_priv;
	assert_int_equal(uroce_cm_send_req(conn, &req, pair.now_ns), -EMSGSIZE);
	assert_int_equal(test_state(conn), UROCE_CM_IDLE);

	test_pair_connect(&pair, conns);
	assert_int_equal(uroce_cm_send_dreq(conns[0], &long_priv, pair.now_ns), -EMSGSIZE);
	path.flow_label = 1 << 20;
	assert_int_equal(uroce_cm_send_lap(conns[0], &path, NULL, pair.now_ns), -EINVAL);
	path = test_end_path(end);
	pair.end[1].on_event = test_silent;
	assert_int_equal(uroce_cm_send_lap(conns[0], &path, NULL, pair.now_ns), 0);
	test_pair_deliver(&pair);
	assert_int_equal(uroce_cm_send_mra(conns[1], 32, NULL, pair.now_ns), -EINVAL);
	assert_int_equal(uroce_cm_send_apr(conns[1], 0, data, 73, NULL, pair.now_ns), -EMSGSIZE);
	assert_int_equal(uroce_cm_send_apr(conns[1], 0, NULL, 1, NULL, pair.now_ns), -EINVAL);
	assert_int_equal(uroce_cm_send_apr(conns[1], 9, data, 72, NULL, pair.now_ns), 0);
	test_pair_deliver(&pair);
	assert_int_equal(pair.end[0].apr_status, 9);

	assert_int_equal(send_it(conn, UROCE_CM_REQ), 0);
	assert_int_equal(uroce_cm_send_rej(conn, 28, data, 73, NULL, pair.now_ns), -EMSGSIZE);
	assert_int_equal(uroce_cm_send_rej(conn, 28, NULL, 1, NULL, pair.now_ns), -EINVAL);
	assert_int_equal(uroce_cm_send_rej(conn, 28, data, 72, &long_priv, pair.now_ns), -EMSGSIZE);
	assert_int_equal(test_state(conn), UROCE_CM_REQ_SENT);
}

static void
the_manager_knows_its_own_guid_and_delay(void **state)
{
	struct test_end *end = &pair.end[0];
	struct uroce_cm_conn *conn = uroce_cm_conn_create(end->cm, NULL);
	struct uroce_cm_req req = test_end_req(end, 5);

	req.ca_guid = 77;
	assert_int_equal(uroce_cm_send_req(conn, &req, pair.now_ns), 0);
	assert_true(uroce_cm_get(pair.last[1].bytes, REQ, CA_GUID) == rte_be_to_cpu_64(end->guid));
	/* derived from the path's packet lifetime and the delay, unless it is set */
	assert_int_equal(uroce_cm_get(pair.last[1].bytes, REQ, PRIMARY_ACK_TIMEOUT), 16);
	conn = uroce_cm_conn_create(end->cm, NULL);
	req.local_ack_timeout = 9;
	assert_int_equal(uroce_cm_send_req(conn, &req, pair.now_ns), 0);
	assert_int_equal(uroce_cm_get(pair.last[1].bytes, REQ, PRIMARY_ACK_TIMEOUT), 9);
}

/* A label for the peer's packets does not change this end's path. */
static void
the_peer_gets_a_flow_label_of_its_own(void **state)
{
	struct test_end *end = &pair.end[0];
	struct uroce_cm_conn *conn = uroce_cm_conn_create(end->cm, NULL);
	struct uroce_cm_req req = test_end_req(end, 5);

	req.peer_flow_label = 1 << 20;
	assert_int_equal(uroce_cm_send_req(conn, &req, pair.now_ns), -EINVAL);
	req.peer_flow_label = 0x12345;
	assert_int_equal(uroce_cm_send_req(conn, &req, pair.now_ns), 0);
	assert_int_equal(uroce_cm_get(pair.last[1].bytes, REQ, PRIMARY_FLOW_LABEL), 0x12345);
	assert_int_equal(conn->path.flow_label, req.path.flow_label);
	conn = uroce_cm_conn_create(end->cm, NULL);
	req.peer_flow_label = 0;
	assert_int_equal(uroce_cm_send_req(conn, &req, pair.now_ns), 0);
	assert_int_equal(uroce_cm_get(pair.last[1].bytes, REQ, PRIMARY_FLOW_LABEL), req.path.flow_label);
}

/* ---- time ------------------------------------------------------------------------------ */

static void
an_unanswered_req_is_sent_again(void **state)
{
	struct test_end *client = &pair.end[TEST_CLIENT];
	uint64_t from_ns = pair.now_ns, interval_ns = (4096ull << 18) + 2 * (4096ull << 14),
		 waited_ns;
	struct uroce_cm_conn *conn;
	const uint8_t *rej;

	pair.cut[TEST_SERVER] = true;
	conn = test_end_connect(client, 5);
	test_pair_run(&pair, UINT64_MAX);
	waited_ns = client->last_ns - from_ns;
	assert_int_equal(pair.sent[UROCE_CM_REQ], 16);
	assert_int_equal(test_end_counter(client, "cm_retransmitted"), 15);
	assert_int_equal(client->by_type[UROCE_CM_REQ_ERROR], 1);
	assert_int_equal(client->events, 1);
	assert_true(waited_ns >= 16 * interval_ns && waited_ns <= 16 * (interval_ns + 4096));
	assert_int_equal(test_state(conn), UROCE_CM_IDLE);
	/* the peer gets a REJ with the reason, and the sender's CA GUID */
	rej = pair.last[TEST_SERVER].bytes;
	assert_int_equal(uroce_cm_get(rej, REJ, REASON), UROCE_CM_REJ_TIMEOUT);
	assert_int_equal(uroce_cm_get(rej, REJ, INFO_LENGTH), 8);
	assert_memory_equal(uroce_cm_at(rej, REJ, INFO), &client->guid, 8);
}

static void
an_unanswered_rep_is_sent_again(void **state)
{
	struct test_end *client = &pair.end[TEST_CLIENT], *server = &pair.end[TEST_SERVER];

	test_end_listen(server, TEST_SERVICE_ID);
	client->on_event = test_silent;
	test_end_connect(client, 5);
	test_pair_deliver(&pair);
	pair.cut[TEST_CLIENT] = true;
	test_pair_run(&pair, UINT64_MAX);
	assert_int_equal(server->by_type[UROCE_CM_REP_ERROR], 1);
	assert_int_equal(server->by_type[UROCE_CM_TIMEWAIT_EXIT], 1);
	assert_int_equal(pair.sent[UROCE_CM_REP], 16);
	/* the REJ with the reason is the last lost MAD */
	assert_int_equal(uroce_cm_get(pair.last[TEST_CLIENT].bytes, REJ, REASON),
			 UROCE_CM_REJ_TIMEOUT);
}

static void
unanswered_dreqs_and_laps_end(void **state)
{
	struct test_end *client = &pair.end[TEST_CLIENT];
	struct uroce_cm_path path = test_end_path(client);
	struct uroce_cm_conn *conns[2];

	test_pair_connect(&pair, conns);
	pair.cut[TEST_SERVER] = true;
	uroce_cm_send_lap(conns[TEST_CLIENT], &path, NULL, pair.now_ns);
	test_pair_run(&pair, UINT64_MAX);
	assert_int_equal(client->by_type[UROCE_CM_LAP_ERROR], 1);
	assert_int_equal(test_state(conns[TEST_CLIENT]), UROCE_CM_ESTABLISHED);
	uroce_cm_send_dreq(conns[TEST_CLIENT], NULL, pair.now_ns);
	test_pair_run(&pair, UINT64_MAX);
	assert_int_equal(client->by_type[UROCE_CM_DREQ_ERROR], 1);
	assert_int_equal(client->by_type[UROCE_CM_TIMEWAIT_EXIT], 1);
	assert_int_equal(pair.sent[UROCE_CM_DREQ], 16);
	assert_int_equal(test_state(conns[TEST_CLIENT]), UROCE_CM_IDLE);
}

static void
an_mra_makes_it_wait_longer(void **state)
{
	struct test_end *client = &pair.end[TEST_CLIENT], *server = &pair.end[TEST_SERVER];
	uint64_t from_ns, longer_ns = (4096ull << 18) + 2 * (4096ull << 14) + (4096ull << 22);

	test_end_listen(server, TEST_SERVICE_ID);
	server->on_event = test_silent;
	test_end_connect(client, 5);
	test_pair_deliver(&pair);
	uroce_cm_send_mra(server->accepted, 22, NULL, pair.now_ns);
	test_pair_deliver(&pair);
	assert_int_equal(client->by_type[UROCE_CM_MRA_RECEIVED], 1);
	from_ns = pair.now_ns;
	test_pair_run(&pair, from_ns + longer_ns - 4096);
	assert_int_equal(pair.sent[UROCE_CM_REQ], 1);
	test_pair_run(&pair, from_ns + longer_ns + 4096);
	assert_int_equal(pair.sent[UROCE_CM_REQ], 2);
	/* the repeated REQ gets the same MRA, which changes nothing */
	test_pair_deliver(&pair);
	assert_int_equal(pair.sent[UROCE_CM_MRA], 2);
	assert_int_equal(client->by_type[UROCE_CM_MRA_RECEIVED], 1);
}

/* ---- transactions ---------------------------------------------------------------------- */

static void
answers_have_their_requests_transaction(void **state)
{
	struct uroce_cm_conn *conns[2];
	uint64_t req_tid, dreq_tid;

	test_end_listen(&pair.end[TEST_SERVER], TEST_SERVICE_ID);
	conns[0] = test_end_connect(&pair.end[TEST_CLIENT], 5);
	req_tid = rte_be_to_cpu_64(uroce_cm_header_const(pair.last[TEST_SERVER].bytes)->tid);
	assert_int_equal((uint32_t)req_tid, conns[0]->local_id);
	test_pair_deliver(&pair);
	assert_true(rte_be_to_cpu_64(uroce_cm_header_const(pair.last[TEST_CLIENT].bytes)->tid) ==
		    req_tid); /* REP */
	assert_true(rte_be_to_cpu_64(uroce_cm_header_const(pair.last[TEST_SERVER].bytes)->tid) ==
		    req_tid); /* RTU */
	conns[1] = pair.end[TEST_SERVER].accepted;
	uroce_cm_send_dreq(conns[1], NULL, pair.now_ns);
	dreq_tid = rte_be_to_cpu_64(uroce_cm_header_const(pair.last[TEST_CLIENT].bytes)->tid);
	assert_int_equal((uint32_t)dreq_tid, conns[1]->local_id);
	test_pair_deliver(&pair);
	assert_true(rte_be_to_cpu_64(uroce_cm_header_const(pair.last[TEST_SERVER].bytes)->tid) ==
		    dreq_tid); /* DREP */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UROCE_TESTS(cm_send)
{
	const struct CMUnitTest tests[] = {
		TEST(the_state_decides_what_may_be_sent),
		TEST(what_does_not_fit_is_refused),
		TEST(the_manager_knows_its_own_guid_and_delay),
		TEST(the_peer_gets_a_flow_label_of_its_own),
		TEST(an_unanswered_req_is_sent_again),
		TEST(an_unanswered_rep_is_sent_again),
		TEST(unanswered_dreqs_and_laps_end),
		TEST(an_mra_makes_it_wait_longer),
		TEST(answers_have_their_requests_transaction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
