/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Each message to a connection in each state, which the test reaches by real exchanges: the next state, the event and
 * the reply match the state table. Then the checks of fields other than IDs, stale connections, and communication
 * before the RTU.
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

/* ---- reaching a state --------------------------------------------------------------- */

struct scene {
	struct test_pair pair;
	struct test_end *end; /* of the connection under test */
	struct uroce_cm_conn *conn;
};

static const struct uroce_cm_sidr_rep sidr_rep = { .qpn = 7 };

static void
begin_sidr(struct test_pair *p, struct uroce_cm_conn **conn)
{
	struct uroce_cm_path path = test_end_path(&p->end[TEST_CLIENT]);

	*conn = uroce_cm_conn_create(p->end[TEST_CLIENT].cm, NULL);
	assert_int_equal(
		uroce_cm_send_sidr_req(*conn, TEST_SERVICE_ID, &path, 100, 3, NULL, p->now_ns), 0);
}

/* Establish a connection, until one end reaches the wanted state. */
static void
begin_connection(struct test_pair *p, enum uroce_cm_state wanted, struct uroce_cm_conn *conns[2])
{
	struct uroce_cm_rep rep = test_end_rep(&p->end[TEST_SERVER], 60);

	conns[TEST_CLIENT] = test_end_connect(&p->end[TEST_CLIENT], 50);
	if (wanted == UROCE_CM_REQ_SENT)
		return;
	test_pair_deliver(p);
	conns[TEST_SERVER] = p->end[TEST_SERVER].accepted;
	if (wanted == UROCE_CM_REQ_RCVD)
		return;
	if (wanted == UROCE_CM_MRA_REQ_RCVD || wanted == UROCE_CM_MRA_REQ_SENT) {
		uroce_cm_send_mra(conns[TEST_SERVER], 20, NULL, p->now_ns);
		test_pair_deliver(p);
		return;
	}
	uroce_cm_send_rep(conns[TEST_SERVER], &rep, p->now_ns);
	test_pair_deliver(p);
	if (wanted == UROCE_CM_REP_SENT || wanted == UROCE_CM_REP_RCVD)
		return;
	if (wanted == UROCE_CM_MRA_REP_SENT || wanted == UROCE_CM_MRA_REP_RCVD) {
		uroce_cm_send_mra(conns[TEST_CLIENT], 20, NULL, p->now_ns);
		test_pair_deliver(p);
		return;
	}
	uroce_cm_send_rtu(conns[TEST_CLIENT], NULL, p->now_ns);
	test_pair_deliver(p);
}

static void
go_on(struct test_pair *p, enum uroce_cm_state wanted, struct uroce_cm_conn *conns[2])
{
	struct uroce_cm_path path = test_end_path(&p->end[TEST_CLIENT]);

	switch (wanted) {
	case UROCE_CM_LAP_SENT:
	case UROCE_CM_LAP_RCVD:
	case UROCE_CM_MRA_LAP_SENT:
	case UROCE_CM_MRA_LAP_RCVD:
		uroce_cm_send_lap(conns[TEST_CLIENT], &path, NULL, p->now_ns);
		test_pair_deliver(p);
		if (wanted == UROCE_CM_MRA_LAP_SENT || wanted == UROCE_CM_MRA_LAP_RCVD)
			uroce_cm_send_mra(conns[TEST_SERVER], 20, NULL, p->now_ns);
		break;
	case UROCE_CM_DREQ_SENT:
	case UROCE_CM_DREQ_RCVD:
	case UROCE_CM_TIMEWAIT:
		uroce_cm_send_dreq(conns[TEST_CLIENT], NULL, p->now_ns);
		test_pair_deliver(p);
		if (wanted == UROCE_CM_TIMEWAIT)
			uroce_cm_send_drep(conns[TEST_SERVER], NULL, p->now_ns);
		break;
	default: break;
	}
	test_pair_deliver(p);
}

static void
reach(struct scene *s, enum uroce_cm_state wanted, unsigned int preferred)
{
	struct test_pair *p = &s->pair;
	struct uroce_cm_conn *listener, *conns[2] = { NULL, NULL };

	test_pair_init(p, wanted);
	p->end[0].on_event = p->end[1].on_event = test_silent;
	listener = test_end_listen(&p->end[TEST_SERVER], TEST_SERVICE_ID);
	if (wanted == UROCE_CM_LISTEN || wanted == UROCE_CM_IDLE) {
		s->end = &p->end[TEST_SERVER];
		s->conn = wanted == UROCE_CM_LISTEN ? listener
						    : uroce_cm_conn_create(s->end->cm, NULL);
		return;
	}
	if (wanted >= UROCE_CM_SIDR_REQ_SENT) {
		begin_sidr(p, &conns[TEST_CLIENT]);
		if (wanted != UROCE_CM_SIDR_REQ_SENT)
			test_pair_deliver(p);
		conns[TEST_SERVER] = p->end[TEST_SERVER].accepted;
		if (wanted == UROCE_CM_SIDR_REP_SENT)
			uroce_cm_send_sidr_rep(conns[TEST_SERVER], &sidr_rep, p->now_ns);
	} else {
		begin_connection(p, wanted, conns);
		go_on(p, wanted, conns);
	}
	test_pair_lose(p);
	uroce_cm_conn_destroy(listener, p->now_ns);
	if (conns[preferred] == NULL || test_state(conns[preferred]) != wanted)
		preferred = !preferred;
	s->end = &p->end[preferred];
	s->conn = conns[preferred];
	assert_int_equal(test_state(s->conn), wanted);
	memset(p->sent, 0, sizeof(p->sent));
}

/* ---- a message to the connection ------------------------------------------------------ */

/* The connection has sent a request, and accepts replies to that only. */
static bool
is_asking(const struct uroce_cm_conn *conn)
{
	return conn->state == UROCE_CM_REQ_SENT || conn->state == UROCE_CM_MRA_REQ_RCVD ||
	       conn->state == UROCE_CM_SIDR_REQ_SENT;
}

static void
write_message(const struct scene *s, enum uroce_cm_message m, uint8_t *mad)
{
	struct uroce_cm_conn *conn = s->conn;
	const struct test_end *other = &s->pair.end[s->end == &s->pair.end[0]];
	uint32_t remote_id = conn->remote_id != 0 ? conn->remote_id : 0x77777777;

	uroce_cm_mad_init(mad, m, is_asking(conn) ? conn->tid : 0x4242);
	switch (m) {
	case UROCE_CM_REQ:
		uroce_cm_put(mad, REQ, LOCAL_COMM_ID, remote_id);
		uroce_cm_put(mad, REQ, CA_GUID, rte_be_to_cpu_64(other->guid));
		return;
	case UROCE_CM_SIDR_REQ:
		uroce_cm_put(mad, SIDR_REQ, REQUEST_ID, remote_id);
		/* a listener must not take it for its own service */
		uroce_cm_put(mad, SIDR_REQ, SERVICE_ID,
			     conn->service_id ^ (conn->state == UROCE_CM_LISTEN));
		return;
	case UROCE_CM_SIDR_REP:
		uroce_cm_put(mad, SIDR_REP, REQUEST_ID, conn->local_id);
		uroce_cm_put(mad, SIDR_REP, SERVICE_ID, conn->service_id);
		return;
	case UROCE_CM_REP:
		uroce_cm_put(mad, REP, QPN, 60);
		uroce_cm_put(mad, REP, CA_GUID, rte_be_to_cpu_64(other->guid));
		break;
	case UROCE_CM_MRA:
		uroce_cm_put(mad, MRA, ABOUT,
			     conn->mad_message == UROCE_CM_REQ   ? 0
			     : conn->mad_message == UROCE_CM_REP ? 1
								 : 2);
		uroce_cm_put(mad, MRA, SERVICE_TIMEOUT, 20);
		break;
	case UROCE_CM_REJ: uroce_cm_put(mad, REJ, REASON, UROCE_CM_REJ_CONSUMER_DEFINED); break;
	case UROCE_CM_DREQ: uroce_cm_put(mad, DREQ, REMOTE_QPN, conn->local_qpn); break;
	case UROCE_CM_LAP: uroce_cm_put(mad, LAP, REMOTE_QPN, conn->local_qpn); break;
	default: break;
	}
	uroce_cm_put(mad, RTU, LOCAL_COMM_ID, remote_id);
	uroce_cm_put(mad, RTU, REMOTE_COMM_ID, conn->local_id);
}

static unsigned int
sent_in_all(const struct test_pair *p)
{
	unsigned int n = 0;

	for (unsigned int m = 0; m < UROCE_CM_MESSAGE_COUNT; m++)
		n += p->sent[m];
	return n;
}

/* The message that is repeated for a duplicate. */
static enum uroce_cm_message
answer_to(enum uroce_cm_state state, enum uroce_cm_message m)
{
	if (state == UROCE_CM_MRA_REQ_SENT || state == UROCE_CM_MRA_REP_SENT ||
	    (state == UROCE_CM_MRA_LAP_SENT && m == UROCE_CM_LAP))
		return UROCE_CM_MRA;
	switch (m) {
	case UROCE_CM_REQ: return UROCE_CM_REP;
	case UROCE_CM_REP: return UROCE_CM_RTU;
	case UROCE_CM_DREQ: return UROCE_CM_DREP;
	default: return UROCE_CM_SIDR_REP;
	}
}

static void
check_message(enum uroce_cm_state state, enum uroce_cm_message m, unsigned int preferred)
{
	static struct scene s;
	struct uroce_cm_row row = uroce_cm_receives[state][m];
	unsigned int events, expected_sent = 0;
	uint8_t mad[UROCE_CM_MAD_BYTES];
	struct test_pair *p = &s.pair;

	reach(&s, state, preferred);
	events = s.end->events;
	if ((m == UROCE_CM_REP && !s.conn->active) ||
	    (m == UROCE_CM_DREP && uroce_cm_state_established(state))) /* no request was sent */
		row = (struct uroce_cm_row){ UROCE_CM_UNEXPECTED };
	write_message(&s, m, mad);
	test_end_receive(s.end, mad);
	switch (row.action) {
	case UROCE_CM_TAKE:
	case UROCE_CM_WAIT:
		assert_int_equal(test_state(s.conn), row.next);
		assert_int_equal(s.end->events, events + 1);
		assert_int_equal(s.end->log[events].type, row.event);
		assert_ptr_equal(s.end->log[events].conn, s.conn);
		if (sent_in_all(p) != 0)
			fail_msg("%s in state %s caused a reply", uroce_cm_messages[m].name,
				 uroce_cm_state_names[state]);
		/* a repetition causes no second event */
		if (state != UROCE_CM_DREQ_SENT || m != UROCE_CM_DREQ)
			test_end_receive(s.end, mad);
		assert_int_equal(s.end->events, events + 1);
		test_pair_fini(p);
		return;
	case UROCE_CM_DEFER:
		assert_int_equal(test_state(s.conn), row.next);
		assert_int_equal(p->sent[UROCE_CM_MRA], 1);
		expected_sent = 1;
		break;
	case UROCE_CM_ANSWER:
		assert_int_equal(test_state(s.conn), state);
		assert_int_equal(p->sent[answer_to(state, m)], 1);
		expected_sent = 1;
		break;
	case UROCE_CM_STALE:
		assert_int_equal(test_state(s.conn), state);
		assert_int_equal(p->sent[UROCE_CM_REJ], 1);
		assert_int_equal(uroce_cm_get(p->last[s.end == &p->end[0]].bytes, REJ, REASON),
				 UROCE_CM_REJ_STALE_CONNECTION);
		expected_sent = 1;
		break;
	default: assert_int_equal(test_state(s.conn), state); break;
	}
	if (row.action != UROCE_CM_UNEXPECTED) /* an unexpected message may get a reply without a connection */
		assert_int_equal(sent_in_all(p), expected_sent);
	assert_int_equal(s.end->events, events);
	test_pair_fini(p);
}

static void
every_message_in_every_state(void **unused)
{
	for (unsigned int state = UROCE_CM_IDLE; state < UROCE_CM_STATE_COUNT; state++)
		for (unsigned int m = 0; m < UROCE_CM_MESSAGE_COUNT; m++)
			for (unsigned int preferred = 0; preferred < 2; preferred++)
				check_message(state, m, preferred);
}

/* ---- fields that must be right -------------------------------------------------------- */

static void
check_dropped(struct scene *s, const uint8_t *mad, const char *counter)
{
	enum uroce_cm_state before = test_state(s->conn);
	unsigned int events = s->end->events;
	uint64_t count = test_end_counter(s->end, counter);

	test_end_receive(s->end, mad);
	assert_int_equal(test_state(s->conn), before);
	assert_int_equal(s->end->events, events);
	assert_int_equal(test_end_counter(s->end, counter), count + 1);
}

static void
an_answer_of_another_transaction_is_dropped(void **unused)
{
	static const struct {
		enum uroce_cm_state state;
		enum uroce_cm_message message;
	} cases[] = {
		{ UROCE_CM_REQ_SENT, UROCE_CM_REP },      { UROCE_CM_REQ_SENT, UROCE_CM_REJ },
		{ UROCE_CM_REQ_SENT, UROCE_CM_MRA },      { UROCE_CM_MRA_REQ_RCVD, UROCE_CM_REP },
		{ UROCE_CM_MRA_REQ_RCVD, UROCE_CM_REJ },  { UROCE_CM_SIDR_REQ_SENT, UROCE_CM_SIDR_REP },
	};
	static struct scene s;
	uint8_t mad[UROCE_CM_MAD_BYTES];

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		reach(&s, cases[i].state, TEST_CLIENT);
		write_message(&s, cases[i].message, mad);
		uroce_cm_header(mad)->tid ^= rte_cpu_to_be_64(1ull << 63);
		check_dropped(&s, mad, "cm_drop_tid");
		uroce_cm_header(mad)->tid ^= rte_cpu_to_be_64(1ull << 63 | 1);
		check_dropped(&s, mad, "cm_drop_tid");
		uroce_cm_header(mad)->tid ^= rte_cpu_to_be_64(1);
		test_end_receive(s.end, mad);
		assert_int_not_equal(test_state(s.conn), cases[i].state);
		test_pair_fini(&s.pair);
	}
}

static void
a_wrong_qpn_disconnects_nothing(void **unused)
{
	static struct scene s;
	uint8_t mad[UROCE_CM_MAD_BYTES];

	reach(&s, UROCE_CM_ESTABLISHED, TEST_SERVER);
	write_message(&s, UROCE_CM_DREQ, mad);
	uroce_cm_put(mad, DREQ, REMOTE_QPN, s.conn->local_qpn + 1);
	check_dropped(&s, mad, "cm_drop_malformed");
	write_message(&s, UROCE_CM_LAP, mad);
	uroce_cm_put(mad, LAP, REMOTE_QPN, s.conn->local_qpn ^ 1);
	check_dropped(&s, mad, "cm_drop_malformed");
	test_pair_fini(&s.pair);
}

static void
a_rep_with_a_managers_qp_is_dropped(void **unused)
{
	static const uint32_t qpns[] = { 0, 1, 0xffffff };
	static struct scene s;
	uint8_t mad[UROCE_CM_MAD_BYTES];

	reach(&s, UROCE_CM_REQ_SENT, TEST_CLIENT);
	for (unsigned int i = 0; i < RTE_DIM(qpns); i++) {
		write_message(&s, UROCE_CM_REP, mad);
		uroce_cm_put(mad, REP, QPN, qpns[i]);
		check_dropped(&s, mad, "cm_drop_malformed");
	}
	test_pair_fini(&s.pair);
}

static void
ids_and_source_have_to_be_the_peers(void **unused)
{
	static const enum uroce_cm_message messages[] = {
		UROCE_CM_MRA,  UROCE_CM_REJ,  UROCE_CM_REP, UROCE_CM_RTU,
		UROCE_CM_DREQ, UROCE_CM_DREP, UROCE_CM_LAP, UROCE_CM_APR,
	};
	static struct scene s;

	for (unsigned int i = 0; i < RTE_DIM(messages); i++) {
		uint8_t mad[UROCE_CM_MAD_BYTES];
		struct uroce_cm_path path;

		reach(&s, UROCE_CM_ESTABLISHED, i % 2);
		write_message(&s, messages[i], mad);
		uroce_cm_put(mad, RTU, LOCAL_COMM_ID, s.conn->remote_id ^ 1);
		check_dropped(&s, mad, "cm_drop_unknown_id");
		write_message(&s, messages[i], mad);
		uroce_cm_put(mad, RTU, REMOTE_COMM_ID, s.conn->local_id ^ 1);
		check_dropped(&s, mad, "cm_drop_unknown_id");

		write_message(&s, messages[i], mad);
		path = test_end_path(s.end);
		path.dgid.raw[15]++;
		uroce_cm_receive(s.end->cm, mad, sizeof(mad), &path, s.pair.now_ns);
		assert_int_equal(test_state(s.conn), UROCE_CM_ESTABLISHED);
		assert_int_equal(test_end_counter(s.end, "cm_drop_unknown_id"), 3);
		test_pair_fini(&s.pair);
	}
}

static void
an_mra_about_something_else_extends_nothing(void **unused)
{
	static struct scene s;
	uint8_t mad[UROCE_CM_MAD_BYTES];

	reach(&s, UROCE_CM_REQ_SENT, TEST_CLIENT);
	for (unsigned int about = 1; about < 4; about++) {
		write_message(&s, UROCE_CM_MRA, mad);
		uroce_cm_put(mad, MRA, ABOUT, about);
		check_dropped(&s, mad, "cm_drop_unexpected");
	}
	test_pair_fini(&s.pair);
}

static void
resources_are_no_more_than_asked_for(void **unused)
{
	static struct scene s;
	uint8_t mad[UROCE_CM_MAD_BYTES];

	reach(&s, UROCE_CM_REQ_SENT, TEST_CLIENT);
	write_message(&s, UROCE_CM_REP, mad);
	uroce_cm_put(mad, REP, RESPONDER_RESOURCES, 255);
	uroce_cm_put(mad, REP, INITIATOR_DEPTH, 255);
	test_end_receive(s.end, mad);
	assert_int_equal(s.conn->responder_resources, 5);
	assert_int_equal(s.conn->initiator_depth, 6);
	test_pair_fini(&s.pair);
}

/* ---- REJ ---------------------------------------------------------------------------- */

static void
a_peer_that_gives_up_is_found_by_its_guid(void **unused)
{
	static struct scene s;
	uint8_t mad[UROCE_CM_MAD_BYTES];
	uint64_t guid;

	reach(&s, UROCE_CM_REQ_RCVD, TEST_SERVER);
	guid = s.pair.end[TEST_CLIENT].guid;
	write_message(&s, UROCE_CM_REJ, mad);
	uroce_cm_put(mad, REJ, REMOTE_COMM_ID, 0); /* the peer does not know the local ID */
	uroce_cm_put(mad, REJ, ABOUT, UROCE_CM_ABOUT_OTHER);
	uroce_cm_put(mad, REJ, REASON, UROCE_CM_REJ_TIMEOUT);
	check_dropped(&s, mad, "cm_drop_unknown_id"); /* and does not name its CA GUID */
	uroce_cm_put(mad, REJ, INFO_LENGTH, sizeof(guid));
	memcpy(uroce_cm_at(mad, REJ, INFO), &guid, sizeof(guid));
	test_end_receive(s.end, mad);
	assert_int_equal(test_state(s.conn), UROCE_CM_IDLE);
	assert_int_equal(s.end->rej_reason, UROCE_CM_REJ_TIMEOUT);
	test_pair_fini(&s.pair);
}

static void
a_peer_that_knows_our_id_has_to_say_it(void **unused)
{
	static struct scene s;
	uint8_t mad[UROCE_CM_MAD_BYTES];
	uint64_t guid;

	reach(&s, UROCE_CM_ESTABLISHED, TEST_SERVER);
	guid = s.pair.end[TEST_CLIENT].guid;
	write_message(&s, UROCE_CM_REJ, mad);
	uroce_cm_put(mad, REJ, REMOTE_COMM_ID, 0);
	uroce_cm_put(mad, REJ, REASON, UROCE_CM_REJ_TIMEOUT);
	uroce_cm_put(mad, REJ, INFO_LENGTH, sizeof(guid));
	memcpy(uroce_cm_at(mad, REJ, INFO), &guid, sizeof(guid));
	check_dropped(&s, mad, "cm_drop_unknown_id");
	uroce_cm_put(mad, REJ, REMOTE_COMM_ID, s.conn->local_id);
	test_end_receive(s.end, mad);
	assert_int_equal(test_state(s.conn), UROCE_CM_TIMEWAIT);
	test_pair_fini(&s.pair);
}

static void
a_stale_connections_packets_die_out(void **unused)
{
	static struct scene s;
	uint8_t mad[UROCE_CM_MAD_BYTES];

	reach(&s, UROCE_CM_REQ_SENT, TEST_CLIENT);
	write_message(&s, UROCE_CM_REJ, mad);
	uroce_cm_put(mad, REJ, LOCAL_COMM_ID, 0);
	uroce_cm_put(mad, REJ, REASON, UROCE_CM_REJ_STALE_CONNECTION);
	test_end_receive(s.end, mad);
	assert_int_equal(test_state(s.conn), UROCE_CM_TIMEWAIT);
	test_pair_fini(&s.pair);
}

static int
check_info(struct test_end *end, const struct uroce_cm_event *event)
{
	unsigned int *bytes = end->arg;

	*bytes = event->rej.info_bytes;
	for (unsigned int i = 0; i < *bytes; i++)
		assert_int_equal(event->rej.info[i], 0x5a);
	return 0;
}

static void
a_length_beyond_its_field_is_cut(void **unused)
{
	static struct scene s;
	uint8_t mad[UROCE_CM_MAD_BYTES];
	unsigned int bytes = 0;

	reach(&s, UROCE_CM_REQ_SENT, TEST_CLIENT);
	s.end->arg = &bytes;
	s.end->on_event = check_info;
	write_message(&s, UROCE_CM_REJ, mad);
	uroce_cm_put(mad, REJ, INFO_LENGTH, 127);
	memset(uroce_cm_at(mad, REJ, INFO), 0x5a, UROCE_CM_REJ_INFO_BYTES);
	test_end_receive(s.end, mad);
	assert_int_equal(bytes, UROCE_CM_REJ_INFO_BYTES);
	test_pair_fini(&s.pair);
}

static void
a_rej_that_was_lost_is_sent_again(void **unused)
{
	static struct scene s;
	uint8_t mad[UROCE_CM_MAD_BYTES];

	reach(&s, UROCE_CM_REP_RCVD, TEST_CLIENT);
	uroce_cm_send_rej(s.conn, UROCE_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED, NULL, 0, NULL,
			  s.pair.now_ns);
	test_pair_lose(&s.pair);
	write_message(&s, UROCE_CM_REP, mad);
	test_end_receive(s.end, mad);
	assert_int_equal(s.pair.sent[UROCE_CM_REJ], 2);
	test_pair_deliver(&s.pair);
	assert_int_equal(s.pair.end[TEST_SERVER].rej_reason,
			 UROCE_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED);
	test_pair_fini(&s.pair);
}

/* ---- alternate paths ---------------------------------------------------------------- */

static void
a_lap_is_answered_that_there_are_none(void **unused)
{
	static struct test_pair p;
	struct uroce_cm_conn *conns[2];
	struct uroce_cm_path path;

	test_pair_init(&p, 1);
	test_pair_connect(&p, conns);
	for (unsigned int i = 0; i < 2; i++) {
		struct test_end *end = &p.end[i], *other = &p.end[!i];

		path = test_end_path(end);
		assert_int_equal(uroce_cm_send_lap(conns[i], &path, NULL, p.now_ns), 0);
		test_pair_deliver(&p);
		assert_int_equal(other->by_type[UROCE_CM_LAP_RECEIVED], 1);
		assert_int_equal(end->by_type[UROCE_CM_APR_RECEIVED], 1);
		assert_int_equal(end->apr_status, 2);
		assert_int_equal(test_state(conns[0]), UROCE_CM_ESTABLISHED);
		assert_int_equal(test_state(conns[1]), UROCE_CM_ESTABLISHED);
	}
	test_pair_fini(&p);
}

static void
a_lap_that_was_answered_is_answered_again(void **unused)
{
	static struct test_pair p;
	struct uroce_cm_conn *conns[2];
	struct uroce_cm_path path;
	struct test_mad lap;

	test_pair_init(&p, 1);
	test_pair_connect(&p, conns);
	path = test_end_path(&p.end[TEST_CLIENT]);
	uroce_cm_send_lap(conns[TEST_CLIENT], &path, NULL, p.now_ns);
	lap = p.last[TEST_SERVER];
	test_pair_deliver(&p);
	test_end_receive(&p.end[TEST_SERVER], lap.bytes);
	assert_int_equal(p.end[TEST_SERVER].by_type[UROCE_CM_LAP_RECEIVED], 1);
	assert_int_equal(p.sent[UROCE_CM_APR], 2);
	/* another request gets another reply */
	test_pair_deliver(&p);
	uroce_cm_send_lap(conns[TEST_CLIENT], &path, NULL, p.now_ns);
	test_pair_deliver(&p);
	assert_int_equal(p.end[TEST_SERVER].by_type[UROCE_CM_LAP_RECEIVED], 2);
	test_pair_fini(&p);
}

static void
the_rtu_is_known_after_a_lap(void **unused)
{
	static struct scene s;
	uint8_t mad[UROCE_CM_MAD_BYTES];

	reach(&s, UROCE_CM_MRA_LAP_SENT, TEST_SERVER);
	test_pair_fini(&s.pair);
	reach(&s, UROCE_CM_LAP_SENT, TEST_CLIENT);
	write_message(&s, UROCE_CM_REP, mad);
	test_end_receive(s.end, mad);
	assert_int_equal(s.pair.sent[UROCE_CM_RTU], 1);
	/* the LAP is still the message to repeat */
	assert_int_equal(s.conn->mad_message, UROCE_CM_LAP);
	test_pair_fini(&s.pair);
}

/* ---- established -------------------------------------------------------------------- */

static void
communication_establishes(void **unused)
{
	static const enum uroce_cm_state states[] = { UROCE_CM_REP_SENT, UROCE_CM_MRA_REP_RCVD };
	static struct scene s;
	uint8_t mad[UROCE_CM_MAD_BYTES];

	for (unsigned int i = 0; i < RTE_DIM(states); i++) {
		reach(&s, states[i], TEST_SERVER);
		assert_int_equal(uroce_cm_established(s.conn, s.pair.now_ns), 0);
		assert_int_equal(test_state(s.conn), UROCE_CM_ESTABLISHED);
		assert_int_equal(s.end->by_type[UROCE_CM_RTU_RECEIVED], 1);
		/* a late RTU */
		write_message(&s, UROCE_CM_RTU, mad);
		test_end_receive(s.end, mad);
		assert_int_equal(s.end->by_type[UROCE_CM_RTU_RECEIVED], 1);
		assert_int_equal(uroce_cm_established(s.conn, s.pair.now_ns), -EINVAL);
		test_pair_fini(&s.pair);
	}
}

/* The server uses a QP that is already connected, and still knows that connection. */
static void
a_rep_from_a_qp_that_is_connected_is_stale(void **unused)
{
	static struct test_pair p;
	struct uroce_cm_conn *conns[2], *again;
	struct uroce_cm_rep rep;

	test_pair_init(&p, 1);
	test_pair_connect(&p, conns);
	p.end[TEST_SERVER].on_event = test_silent;
	test_end_listen(&p.end[TEST_SERVER], TEST_SERVICE_ID);
	again = test_end_connect(&p.end[TEST_CLIENT], 101);
	test_pair_deliver(&p);
	rep = test_end_rep(&p.end[TEST_SERVER], conns[TEST_CLIENT]->remote_qpn);
	uroce_cm_send_rep(p.end[TEST_SERVER].accepted, &rep, p.now_ns);
	test_pair_deliver(&p);
	assert_int_equal(p.end[TEST_SERVER].rej_reason, UROCE_CM_REJ_STALE_CONNECTION);
	assert_int_equal(p.sent[UROCE_CM_DREQ], 1);
	assert_int_equal(p.sent[UROCE_CM_DREP], 0);
	assert_int_equal(test_state(conns[TEST_CLIENT]), UROCE_CM_ESTABLISHED);
	assert_int_equal(test_state(conns[TEST_SERVER]), UROCE_CM_ESTABLISHED);
	assert_int_equal(test_state(again), UROCE_CM_REQ_SENT);
	assert_int_equal(p.end[TEST_SERVER].by_type[UROCE_CM_DREQ_RECEIVED], 0);
	test_pair_fini(&p);
}

UROCE_TESTS(cm_receive)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_in_every_state),
		cmocka_unit_test(an_answer_of_another_transaction_is_dropped),
		cmocka_unit_test(a_wrong_qpn_disconnects_nothing),
		cmocka_unit_test(a_rep_with_a_managers_qp_is_dropped),
		cmocka_unit_test(ids_and_source_have_to_be_the_peers),
		cmocka_unit_test(an_mra_about_something_else_extends_nothing),
		cmocka_unit_test(resources_are_no_more_than_asked_for),
		cmocka_unit_test(a_peer_that_gives_up_is_found_by_its_guid),
		cmocka_unit_test(a_peer_that_knows_our_id_has_to_say_it),
		cmocka_unit_test(a_stale_connections_packets_die_out),
		cmocka_unit_test(a_length_beyond_its_field_is_cut),
		cmocka_unit_test(a_rej_that_was_lost_is_sent_again),
		cmocka_unit_test(a_lap_is_answered_that_there_are_none),
		cmocka_unit_test(a_lap_that_was_answered_is_answered_again),
		cmocka_unit_test(the_rtu_is_known_after_a_lap),
		cmocka_unit_test(communication_establishes),
		cmocka_unit_test(a_rep_from_a_qp_that_is_connected_is_stale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
