/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * REQs: replies to invalid ones, the order in which listeners get them, duplicates, stale connections, and a full
 * table.
 */

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
#include "uroce_config.h"

static struct test_pair pair;

static int
setup(void **state)
{
	struct test_pair *p = &pair;

	test_pair_init_max(p, 9, 16);
	p->cut[TEST_CLIENT] = true;
	p->end[TEST_SERVER].on_event = test_silent;
	return 0;
}

static int
teardown(void **state)
{
	test_pair_fini(&pair);
	return 0;
}

static void
write_req(uint8_t *mad, uint32_t id, uint32_t qpn)
{
	uroce_cm_mad_init(mad, UROCE_CM_REQ, 0x1234567890ull);
	uroce_cm_put(mad, REQ, LOCAL_COMM_ID, id);
	uroce_cm_put(mad, REQ, SERVICE_ID, TEST_SERVICE_ID);
	uroce_cm_put(mad, REQ, CA_GUID, rte_be_to_cpu_64(pair.end[TEST_CLIENT].guid));
	uroce_cm_put(mad, REQ, QPN, qpn);
	uroce_cm_put(mad, REQ, MTU, IBV_MTU_1024);
	uroce_cm_put(mad, REQ, MAX_CM_RETRIES, 3);
	memcpy(uroce_cm_at(mad, REQ, PRIMARY_LOCAL_GID), pair.end[TEST_CLIENT].gid.raw, 16);
	memcpy(uroce_cm_at(mad, REQ, PRIMARY_REMOTE_GID), pair.end[TEST_SERVER].gid.raw, 16);
}

/* The last MAD is a REJ of the REQ with this reason; no consumer got an event. */
static const uint8_t *
check_rejected(uint32_t id, uint16_t reason)
{
	const uint8_t *mad = pair.last[TEST_CLIENT].bytes;

	assert_int_equal(uroce_cm_mad_message(mad, UROCE_CM_MAD_BYTES), UROCE_CM_REJ);
	assert_true(rte_be_to_cpu_64(uroce_cm_header_const(mad)->tid) == 0x1234567890ull);
	assert_int_equal(uroce_cm_get(mad, REJ, LOCAL_COMM_ID), 0);
	assert_int_equal(uroce_cm_get(mad, REJ, REMOTE_COMM_ID), id);
	assert_int_equal(uroce_cm_get(mad, REJ, ABOUT), UROCE_CM_ABOUT_REQ);
	assert_int_equal(uroce_cm_get(mad, REJ, REASON), reason);
	assert_true(
		uroce_cm_same_gid(&pair.last[TEST_CLIENT].path.dgid, &pair.end[TEST_CLIENT].gid));
	return mad;
}

static void
reject_it(uint8_t *mad, uint16_t reason)
{
	struct test_end *server = &pair.end[TEST_SERVER];

	test_end_receive(server, mad);
	check_rejected((uint32_t)uroce_cm_get(mad, REQ, LOCAL_COMM_ID), reason);
	assert_int_equal(server->events, 0);
	assert_int_equal(test_end_conns(server), 1);
}

static void
what_is_wrong_is_rejected_with_its_reason(void **state)
{
	static const uint32_t qpns[] = { 0, 1, 0xffffff };
	struct test_end *server = &pair.end[TEST_SERVER];
	uint8_t mad[UROCE_CM_MAD_BYTES];
	const uint8_t *rej;

	test_end_listen(server, TEST_SERVICE_ID);
	write_req(mad, 1, 50);
	uroce_cm_put(mad, REQ, SERVICE_ID, TEST_SERVICE_ID + 1);
	reject_it(mad, UROCE_CM_REJ_INVALID_SERVICE_ID);
	write_req(mad, 2, 50);
	uroce_cm_put(mad, REQ, TRANSPORT_SERVICE, 2);
	reject_it(mad, UROCE_CM_REJ_INVALID_TRANSPORT_TYPE);
	write_req(mad, 3, 50);
	uroce_cm_at(mad, REQ, PRIMARY_LOCAL_GID)[15]++; /* a REQ of another host */
	reject_it(mad, UROCE_CM_REJ_INVALID_GID);
	write_req(mad, 4, 50);
	uroce_cm_at(mad, REQ, PRIMARY_REMOTE_GID)[15]++;
	reject_it(mad, UROCE_CM_REJ_INVALID_GID);
	rej = check_rejected(4, UROCE_CM_REJ_INVALID_GID);
	assert_int_equal(uroce_cm_get(rej, REJ, INFO_LENGTH), 16);
	assert_memory_equal(uroce_cm_at(rej, REJ, INFO), server->gid.raw, 16);
	for (unsigned int mtu = 0; mtu < 16; mtu++) {
		if (mtu >= IBV_MTU_256 && mtu <= IBV_MTU_1024)
			continue;
		write_req(mad, 5, 50);
		uroce_cm_put(mad, REQ, MTU, mtu);
		reject_it(mad, UROCE_CM_REJ_INVALID_MTU);
	}
	rej = check_rejected(5, UROCE_CM_REJ_INVALID_MTU);
	assert_int_equal(uroce_cm_get(rej, REJ, INFO_LENGTH), 1);
	assert_int_equal(uroce_cm_at(rej, REJ, INFO)[0], IBV_MTU_1024);
	for (unsigned int i = 0; i < RTE_DIM(qpns); i++) {
		write_req(mad, 6, qpns[i]);
		reject_it(mad, UROCE_CM_REJ_UNSUPPORTED);
	}
}

static void
the_consumer_is_told_what_it_needs(void **state)
{
	struct test_end *server = &pair.end[TEST_SERVER];
	uint8_t mad[UROCE_CM_MAD_BYTES];
	struct uroce_cm_conn *conn;

	test_end_listen(server, TEST_SERVICE_ID);
	write_req(mad, 7, 50);
	uroce_cm_put(mad, REQ, RESPONDER_RESOURCES, 11);
	uroce_cm_put(mad, REQ, INITIATOR_DEPTH, 12);
	uroce_cm_put(mad, REQ, STARTING_PSN, 0xabcdef);
	uroce_cm_put(mad, REQ, PRIMARY_ACK_TIMEOUT, 19);
	uroce_cm_put(mad, REQ, PRIMARY_HOP_LIMIT, 3);
	uroce_cm_put(mad, REQ, PRIMARY_FLOW_LABEL, 0x98765);
	test_end_receive(server, mad);
	conn = server->accepted;
	assert_int_equal(test_state(conn), UROCE_CM_REQ_RCVD);
	assert_int_equal(conn->responder_resources, 12);
	assert_int_equal(conn->initiator_depth, 11);
	assert_int_equal(conn->sq_psn, 0xabcdef);
	assert_int_equal(conn->remote_qpn, 50);
	assert_int_equal(conn->ack_timeout, 19);
	assert_int_equal(conn->path.sgid_index, 3); /* the GID at which the REQ arrived */
	assert_int_equal(conn->path.hop_limit, 64);
	assert_int_equal(conn->path.flow_label, 0x98765);
	assert_true(uroce_cm_same_gid(&conn->path.dgid, &pair.end[TEST_CLIENT].gid));
}

/* ---- offers ---------------------------------------------------------------------------- */

static struct {
	struct uroce_cm_conn *asked[8];
	unsigned int count;
	struct uroce_cm_conn *taker;
	int refusal;
} offers;

static int
choosy(struct test_end *end, const struct uroce_cm_event *event)
{
	assert_true(offers.count < RTE_DIM(offers.asked));
	offers.asked[offers.count++] = event->listener;
	if (event->listener == offers.taker)
		return 0;
	return offers.refusal;
}

static void
listeners_are_asked_in_turn(void **state)
{
	struct test_end *server = &pair.end[TEST_SERVER];
	struct uroce_cm_conn *listeners[4];
	uint8_t mad[UROCE_CM_MAD_BYTES];

	memset(&offers, 0, sizeof(offers));
	server->on_event = choosy;
	for (unsigned int i = 0; i < 3; i++)
		listeners[i] = test_end_listen(server, TEST_SERVICE_ID);
	listeners[3] = uroce_cm_conn_create(server->cm, NULL);
	uroce_cm_listen(listeners[3], TEST_SERVICE_ID, 0xffffffffffff0000ull);
	offers.refusal = UROCE_CM_REJ_INVALID_SERVICE_ID;
	for (unsigned int i = 0; i < 4; i++) {
		offers.taker = listeners[i];
		offers.count = 0;
		write_req(mad, 10 + i, 50 + i);
		test_end_receive(server, mad);
		assert_int_equal(test_state(server->accepted), UROCE_CM_REQ_RCVD);
		assert_ptr_equal(offers.asked[offers.count - 1], listeners[i]);
	}
	/* the listener for a range of service IDs came last; each was asked once */
	assert_int_equal(offers.count, 4);
	for (unsigned int i = 0; i < 4; i++)
		for (unsigned int j = 0; j < i; j++)
			assert_ptr_not_equal(offers.asked[i], offers.asked[j]);

	/* all listeners refuse */
	offers.taker = NULL;
	write_req(mad, 20, 60);
	test_end_receive(server, mad);
	check_rejected(20, UROCE_CM_REJ_INVALID_SERVICE_ID);
	/* a REJ for another reason ends the search */
	offers.refusal = UROCE_CM_REJ_NO_QP;
	offers.count = 0;
	write_req(mad, 21, 61);
	test_end_receive(server, mad);
	assert_int_equal(offers.count, 1);
	check_rejected(21, UROCE_CM_REJ_NO_QP);
	assert_int_equal(test_end_conns(server), 8);
}

static int
stop_listening(struct test_end *end, const struct uroce_cm_event *event)
{
	uroce_cm_conn_destroy(event->listener, end->pair->now_ns);
	return UROCE_CM_REJ_INVALID_SERVICE_ID;
}

static void
a_listener_may_go_while_it_is_asked(void **state)
{
	struct test_end *server = &pair.end[TEST_SERVER];
	uint8_t mad[UROCE_CM_MAD_BYTES];

	server->on_event = stop_listening;
	for (unsigned int i = 0; i < 3; i++)
		test_end_listen(server, TEST_SERVICE_ID);
	write_req(mad, 30, 50);
	test_end_receive(server, mad);
	assert_int_equal(server->by_type[UROCE_CM_REQ_RECEIVED], 3);
	check_rejected(30, UROCE_CM_REJ_INVALID_SERVICE_ID);
	assert_int_equal(test_end_conns(server), 0);
}

static int
reject_in_own_words(struct test_end *end, const struct uroce_cm_event *event)
{
	static const struct uroce_cm_private priv = { "no", 2 };

	assert_int_equal(uroce_cm_send_rej(event->conn, UROCE_CM_REJ_CONSUMER_DEFINED, NULL, 0,
					   &priv, end->pair->now_ns),
			 0);
	return UROCE_CM_REJ_NO_RESOURCES;
}

static void
the_consumer_may_reject_it_itself(void **state)
{
	struct test_end *server = &pair.end[TEST_SERVER];
	uint8_t mad[UROCE_CM_MAD_BYTES];
	const uint8_t *rej;

	server->on_event = reject_in_own_words;
	test_end_listen(server, TEST_SERVICE_ID);
	write_req(mad, 31, 50);
	test_end_receive(server, mad);
	rej = check_rejected(31, UROCE_CM_REJ_CONSUMER_DEFINED);
	assert_memory_equal(uroce_cm_private_get(rej, UROCE_CM_REJ).data, "no", 2);
	assert_int_equal(pair.sent[UROCE_CM_REJ], 1);
	assert_int_equal(test_end_conns(server), 1);
}

/* ---- duplicates ------------------------------------------------------------------------ */

static void
a_request_that_is_thought_about_is_deferred(void **state)
{
	struct test_end *server = &pair.end[TEST_SERVER];
	uint8_t mad[UROCE_CM_MAD_BYTES];

	test_end_listen(server, TEST_SERVICE_ID);
	write_req(mad, 40, 50);
	for (unsigned int i = 0; i < 4; i++) {
		test_end_receive(server, mad);
		assert_int_equal(pair.sent[UROCE_CM_MRA], i);
	}
	assert_int_equal(server->by_type[UROCE_CM_REQ_RECEIVED], 1);
	assert_int_equal(test_end_conns(server), 2);
}

static void
the_same_id_of_another_ca_is_another_request(void **state)
{
	struct test_end *server = &pair.end[TEST_SERVER];
	struct uroce_cm_path path;
	uint8_t mad[UROCE_CM_MAD_BYTES];

	test_end_listen(server, TEST_SERVICE_ID);
	write_req(mad, 41, 50);
	test_end_receive(server, mad);
	uroce_cm_put(mad, REQ, CA_GUID, 0x99);
	test_end_receive(server, mad);
	assert_int_equal(server->by_type[UROCE_CM_REQ_RECEIVED], 2);
	/* the same from another address is another request, even with the same GID in it */
	uroce_cm_at(mad, REQ, PRIMARY_LOCAL_GID)[15] = 77;
	path = test_end_path(server);
	path.dgid.raw[15] = 77;
	uroce_cm_receive(server->cm, mad, sizeof(mad), &path, pair.now_ns);
	assert_int_equal(server->by_type[UROCE_CM_REQ_RECEIVED], 3);
}

/* The DREP of a peer that does not know the connection, which the DREQ before asked about. */
static void
write_drep(uint8_t *mad)
{
	const uint8_t *dreq = pair.last[TEST_CLIENT].bytes;

	assert_int_equal(uroce_cm_mad_message(dreq, UROCE_CM_MAD_BYTES), UROCE_CM_DREQ);
	uroce_cm_mad_init(mad, UROCE_CM_DREP, rte_be_to_cpu_64(uroce_cm_header_const(dreq)->tid));
	uroce_cm_put(mad, DREP, LOCAL_COMM_ID, uroce_cm_get(dreq, DREQ, REMOTE_COMM_ID));
	uroce_cm_put(mad, DREP, REMOTE_COMM_ID, uroce_cm_get(dreq, DREQ, LOCAL_COMM_ID));
}

static void
a_qp_that_is_connected_ends_the_old_connection(void **state)
{
	struct test_end *server = &pair.end[TEST_SERVER];
	uint8_t mad[UROCE_CM_MAD_BYTES], drep[UROCE_CM_MAD_BYTES];
	struct uroce_cm_conn *conns[2];

	pair.cut[TEST_CLIENT] = false;
	test_pair_connect(&pair, conns);
	pair.cut[TEST_CLIENT] = true;
	test_end_listen(server, TEST_SERVICE_ID);
	write_req(mad, 42, 100); /* from the client, which has forgotten the connection */
	test_end_receive(server, mad);
	assert_int_equal(pair.sent[UROCE_CM_REJ], 1);
	assert_int_equal(test_end_counter(server, "cm_rej_stale"), 1);
	/* the server probes the client with a DREQ, which does not end a live connection */
	assert_int_equal(pair.sent[UROCE_CM_DREQ], 1);
	assert_int_not_equal(uroce_cm_get(pair.last[TEST_CLIENT].bytes, DREQ, REMOTE_QPN), 100);
	assert_int_equal(test_state(conns[TEST_SERVER]), UROCE_CM_ESTABLISHED);
	assert_int_equal(server->by_type[UROCE_CM_REQ_RECEIVED], 1);
	/* and again if the reply is lost */
	pair.now_ns += UROCE_CM_PROBE_NS;
	test_end_receive(server, mad);
	assert_int_equal(pair.sent[UROCE_CM_DREQ], 2);
	write_drep(drep);
	test_end_receive(server, drep);
	assert_int_equal(test_state(conns[TEST_SERVER]), UROCE_CM_TIMEWAIT);
	assert_int_equal(server->by_type[UROCE_CM_DREP_RECEIVED], 1);
	/* after the old connection has ended, the REQ is accepted */
	test_end_receive(server, mad);
	assert_int_equal(server->by_type[UROCE_CM_REQ_RECEIVED], 2);
}

/* The server has given up a client that vanished, and retransmits its DREQ. The client comes back with the same QPN. */
static void
a_qp_that_is_being_disconnected_connects_anew(void **state)
{
	struct test_end *server = &pair.end[TEST_SERVER];
	struct uroce_cm_conn *conns[2];
	uint8_t mad[UROCE_CM_MAD_BYTES];

	pair.cut[TEST_CLIENT] = false;
	test_pair_connect(&pair, conns);
	pair.cut[TEST_CLIENT] = true;
	test_end_listen(server, TEST_SERVICE_ID);
	assert_int_equal(uroce_cm_send_dreq(conns[TEST_SERVER], NULL, pair.now_ns), 0);
	assert_int_equal(test_state(conns[TEST_SERVER]), UROCE_CM_DREQ_SENT);
	write_req(mad, 42, 100);
	test_end_receive(server, mad);
	assert_int_equal(server->by_type[UROCE_CM_REQ_RECEIVED], 2);
	assert_int_equal(test_end_counter(server, "cm_rej_stale"), 0);
	assert_int_equal(test_state(conns[TEST_SERVER]), UROCE_CM_DREQ_SENT);
}

/* Each forged request is rejected. At most one in UROCE_CM_PROBE_NS makes a probe as well. */
static void
forged_requests_make_few_probes(void **state)
{
	struct test_end *server = &pair.end[TEST_SERVER];
	uint8_t mad[UROCE_CM_MAD_BYTES], drep[UROCE_CM_MAD_BYTES], probe[UROCE_CM_MAD_BYTES];
	struct uroce_cm_conn *conns[2];

	pair.cut[TEST_CLIENT] = false;
	test_pair_connect(&pair, conns);
	pair.cut[TEST_CLIENT] = true;
	for (uint32_t i = 0; i < 30; i++) {
		write_req(mad, 42 + i, 100);
		test_end_receive(server, mad);
		if (i % 10 == 0)
			memcpy(probe, pair.last[TEST_CLIENT].bytes, sizeof(probe));
		assert_int_equal(pair.sent[UROCE_CM_REJ], i + 1);
		assert_int_equal(pair.sent[UROCE_CM_DREQ], i / 10 + 1);
		if (i % 10 == 8)
			pair.now_ns += UROCE_CM_PROBE_NS - 1;
		else if (i % 10 == 9)
			pair.now_ns++;
	}
	/* later requests without a probe do not invalidate the reply to the probe */
	memcpy(pair.last[TEST_CLIENT].bytes, probe, sizeof(probe));
	write_drep(drep);
	test_end_receive(server, drep);
	assert_int_equal(test_state(conns[TEST_SERVER]), UROCE_CM_TIMEWAIT);
}

/* The connection is not established yet: the reply to its REP decides, so the server sends no probe. */
static void
a_qp_that_is_being_connected_is_not_asked_for(void **state)
{
	struct test_end *server = &pair.end[TEST_SERVER];
	uint8_t mad[UROCE_CM_MAD_BYTES];

	test_end_listen(server, TEST_SERVICE_ID);
	write_req(mad, 42, 100);
	test_end_receive(server, mad);
	write_req(mad, 43, 100);
	test_end_receive(server, mad);
	assert_int_equal(test_end_counter(server, "cm_rej_stale"), 1);
	assert_int_equal(pair.sent[UROCE_CM_DREQ], 0);
}

static void
an_old_request_makes_no_new_connection(void **state)
{
	struct test_end *server = &pair.end[TEST_SERVER];
	uint8_t mad[UROCE_CM_MAD_BYTES], drep[UROCE_CM_MAD_BYTES];
	struct uroce_cm_conn *conn;

	test_end_listen(server, TEST_SERVICE_ID);
	write_req(mad, 43, 100);
	server->on_event = test_friendly;
	test_end_receive(server, mad);
	conn = server->accepted;
	uroce_cm_established(conn, pair.now_ns);
	uroce_cm_send_dreq(conn, NULL, pair.now_ns);
	uroce_cm_mad_init(drep, UROCE_CM_DREP, 0);
	uroce_cm_put(drep, DREP, LOCAL_COMM_ID, 43);
	uroce_cm_put(drep, DREP, REMOTE_COMM_ID, conn->local_id);
	test_end_receive(server, drep);
	assert_int_equal(test_state(conn), UROCE_CM_TIMEWAIT);
	uroce_cm_conn_destroy(conn, pair.now_ns);
	test_end_receive(server, mad);
	assert_int_equal(pair.sent[UROCE_CM_REJ], 1);
	assert_int_equal(uroce_cm_get(pair.last[TEST_CLIENT].bytes, REJ, REASON),
			 UROCE_CM_REJ_STALE_CONNECTION);
	assert_int_equal(server->by_type[UROCE_CM_REQ_RECEIVED], 1);
}

/* ---- room ------------------------------------------------------------------------------- */

static void
without_room_it_is_rejected(void **state)
{
	struct test_end *server = &pair.end[TEST_SERVER];
	uint8_t mad[UROCE_CM_MAD_BYTES];

	test_end_listen(server, TEST_SERVICE_ID);
	for (unsigned int i = 0; i < 15; i++) {
		write_req(mad, 100 + i, 100 + i);
		test_end_receive(server, mad);
	}
	assert_int_equal(pair.sent[UROCE_CM_REJ], 0);
	write_req(mad, 200, 200);
	test_end_receive(server, mad);
	check_rejected(200, UROCE_CM_REJ_NO_RESOURCES);
	assert_int_equal(test_end_counter(server, "cm_rej_no_resources"), 1);
	uroce_cm_conn_destroy(server->accepted, pair.now_ns);
	test_end_receive(server, mad);
	assert_int_equal(server->by_type[UROCE_CM_REQ_RECEIVED], 16);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UROCE_TESTS(cm_request)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_wrong_is_rejected_with_its_reason),
		TEST(the_consumer_is_told_what_it_needs),
		TEST(listeners_are_asked_in_turn),
		TEST(a_listener_may_go_while_it_is_asked),
		TEST(the_consumer_may_reject_it_itself),
		TEST(a_request_that_is_thought_about_is_deferred),
		TEST(the_same_id_of_another_ca_is_another_request),
		TEST(a_qp_that_is_connected_ends_the_old_connection),
		TEST(a_qp_that_is_being_disconnected_connects_anew),
		TEST(forged_requests_make_few_probes),
		TEST(a_qp_that_is_being_connected_is_not_asked_for),
		TEST(an_old_request_makes_no_new_connection),
		TEST(without_room_it_is_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
