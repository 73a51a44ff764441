/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Peers that announce their departure: connections to them end, in each state, without any message; other connections
 * stay.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rte_common.h>

#include "cm/ib/internal.h"
#include "groups.h"
#include "pair.h"

static struct test_pair pair;
static struct test_end *client, *server;

static int
setup(void **state)
{
	test_pair_init(&pair, 7);
	client = &pair.end[TEST_CLIENT];
	server = &pair.end[TEST_SERVER];
	client->on_event = server->on_event = test_silent;
	return 0;
}

static int
teardown(void **state)
{
	test_pair_fini(&pair);
	return 0;
}

static bool
all_gone(void *arg, const struct uroce_cm_path *path)
{
	return true;
}

static bool
is_gone(void *arg, const struct uroce_cm_path *path)
{
	return uroce_cm_same_gid(arg, &path->dgid);
}

/* Announce the peer's departure to an end. @return the number of MADs that the end sent */
static unsigned int
depart(struct test_end *end)
{
	unsigned int sent = 0;

	for (unsigned int m = 0; m < UROCE_CM_MESSAGE_COUNT; m++)
		sent -= pair.sent[m];
	uroce_cm_depart(end->cm, all_gone, NULL, pair.now_ns);
	for (unsigned int m = 0; m < UROCE_CM_MESSAGE_COUNT; m++)
		sent += pair.sent[m];
	return sent;
}

/* The connection gets this event once, and later only the end of TIMEWAIT. */
static void
assert_departs(struct test_end *end, const struct uroce_cm_conn *conn, enum uroce_cm_event_type type,
	       enum uroce_cm_state next)
{
	const unsigned int events = end->events, of_type = end->by_type[type];
	const uint64_t departed = test_end_counter(end, "cm_departed");

	assert_int_equal(depart(end), 0);
	assert_int_equal(test_state(conn), next);
	assert_int_equal(end->events, events + 1);
	assert_int_equal(end->by_type[type], of_type + 1);
	assert_int_equal(test_end_counter(end, "cm_departed"), departed + 1);
	assert_int_equal(depart(end), 0);
	assert_int_equal(end->events, events + 1);
	pair.cut[TEST_CLIENT] = pair.cut[TEST_SERVER] = true;
	test_pair_run(&pair, UINT64_MAX);
	assert_int_equal(test_state(conn), UROCE_CM_IDLE);
	assert_int_equal(end->events, events + 1 + (next == UROCE_CM_TIMEWAIT));
}

/* The connection gets no event. */
static void
assert_stays(struct test_end *end, const struct uroce_cm_conn *conn)
{
	const enum uroce_cm_state state = test_state(conn);
	const unsigned int events = end->events;

	assert_int_equal(depart(end), 0);
	assert_int_equal(test_state(conn), state);
	assert_int_equal(end->events, events);
	assert_int_equal(test_end_counter(end, "cm_departed"), 0);
}

static void
what_is_established_ends(void **state)
{
	struct uroce_cm_conn *conns[2];

	test_pair_connect(&pair, conns);
	assert_departs(server, conns[TEST_SERVER], UROCE_CM_DREQ_RECEIVED, UROCE_CM_TIMEWAIT);
}

static void
so_does_what_moves_to_another_path(void **state)
{
	struct uroce_cm_path alternate = test_end_path(client);
	struct uroce_cm_conn *conns[2];

	test_pair_connect(&pair, conns);
	assert_int_equal(uroce_cm_send_lap(conns[TEST_CLIENT], &alternate, NULL, pair.now_ns), 0);
	assert_departs(client, conns[TEST_CLIENT], UROCE_CM_DREQ_RECEIVED, UROCE_CM_TIMEWAIT);
}

static void
what_is_being_hung_up_need_not_wait(void **state)
{
	struct uroce_cm_conn *conns[2];

	test_pair_connect(&pair, conns);
	assert_int_equal(uroce_cm_send_dreq(conns[TEST_CLIENT], NULL, pair.now_ns), 0);
	assert_departs(client, conns[TEST_CLIENT], UROCE_CM_DREP_RECEIVED, UROCE_CM_TIMEWAIT);
}

static void
requests_that_are_there_are_refused(void **state)
{
	struct uroce_cm_rep rep = test_end_rep(server, 200);

	test_end_listen(server, TEST_SERVICE_ID);
	test_end_connect(client, 100);
	test_pair_deliver(&pair);
	assert_int_equal(test_state(server->accepted), UROCE_CM_REQ_RCVD);
	assert_departs(server, server->accepted, UROCE_CM_REJ_RECEIVED, UROCE_CM_IDLE);
	assert_int_equal(server->rej_reason, UROCE_CM_REJ_CONSUMER_DEFINED);
	assert_int_equal(uroce_cm_send_rep(server->accepted, &rep, pair.now_ns), -EINVAL);
}

static void
answers_that_wait_for_an_answer_are_refused(void **state)
{
	struct uroce_cm_rep rep = test_end_rep(server, 200);

	test_end_listen(server, TEST_SERVICE_ID);
	test_end_connect(client, 100);
	test_pair_deliver(&pair);
	assert_int_equal(uroce_cm_send_rep(server->accepted, &rep, pair.now_ns), 0);
	assert_departs(server, server->accepted, UROCE_CM_REJ_RECEIVED, UROCE_CM_IDLE);
}

static void
what_was_about_to_be_connected_is_refused(void **state)
{
	struct uroce_cm_rep rep = test_end_rep(server, 200);
	struct uroce_cm_conn *conn;

	test_end_listen(server, TEST_SERVICE_ID);
	conn = test_end_connect(client, 100);
	test_pair_deliver(&pair);
	assert_int_equal(uroce_cm_send_rep(server->accepted, &rep, pair.now_ns), 0);
	test_pair_deliver(&pair);
	assert_int_equal(test_state(conn), UROCE_CM_REP_RCVD);
	assert_departs(client, conn, UROCE_CM_REJ_RECEIVED, UROCE_CM_TIMEWAIT);
}

/* A new peer at the same address may answer the request. */
static void
what_nobody_has_answered_goes_on(void **state)
{
	struct uroce_cm_conn *conn = test_end_connect(client, 100);

	test_pair_lose(&pair);
	assert_int_equal(test_state(conn), UROCE_CM_REQ_SENT);
	assert_stays(client, conn);
	test_end_listen(server, TEST_SERVICE_ID);
	client->on_event = server->on_event = test_friendly;
	while (test_state(conn) != UROCE_CM_ESTABLISHED) {
		assert_int_not_equal(test_pair_next_ns(&pair), UINT64_MAX);
		test_pair_run(&pair, test_pair_next_ns(&pair));
	}
}

static void
listeners_stay(void **state)
{
	assert_stays(server, test_end_listen(server, TEST_SERVICE_ID));
}

static void
others_stay(void **state)
{
	struct uroce_cm_conn *conns[2];
	union ibv_gid other = client->gid;

	other.raw[15] ^= 1;
	test_pair_connect(&pair, conns);
	uroce_cm_depart(server->cm, is_gone, &other, pair.now_ns);
	assert_int_equal(test_state(conns[TEST_SERVER]), UROCE_CM_ESTABLISHED);
	uroce_cm_depart(server->cm, is_gone, &client->gid, pair.now_ns);
	assert_int_equal(test_state(conns[TEST_SERVER]), UROCE_CM_TIMEWAIT);
}

/* In the first event, the consumer destroys all connections: it gets no event of the others. */
static int
forget_all(struct test_end *end, const struct uroce_cm_event *event)
{
	struct uroce_cm_conn **conns = end->arg;

	if (event->type != UROCE_CM_DREQ_RECEIVED)
		return 0;
	for (unsigned int i = 0; i < 8; i++)
		uroce_cm_conn_destroy(conns[i], end->pair->now_ns);
	return 0;
}

static void
the_consumer_may_forget_all(void **state)
{
	struct uroce_cm_conn *conns[8];

	for (unsigned int i = 0; i < RTE_DIM(conns); i++) {
		struct uroce_cm_conn *listener = test_end_listen(server, TEST_SERVICE_ID);

		client->on_event = server->on_event = test_friendly;
		test_end_connect(client, 100 + i);
		test_pair_deliver(&pair);
		conns[i] = server->accepted;
		assert_int_equal(test_state(conns[i]), UROCE_CM_ESTABLISHED);
		uroce_cm_conn_destroy(listener, pair.now_ns);
	}
	server->on_event = forget_all;
	server->arg = conns;
	uroce_cm_depart(server->cm, all_gone, NULL, pair.now_ns);
	assert_int_equal(server->by_type[UROCE_CM_DREQ_RECEIVED], 1);
	pair.cut[TEST_CLIENT] = pair.cut[TEST_SERVER] = true;
	test_pair_run(&pair, UINT64_MAX);
	assert_int_equal(test_end_conns(server), 0);
}

UROCE_TESTS(cm_depart)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_established_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(so_does_what_moves_to_another_path, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_being_hung_up_need_not_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(requests_that_are_there_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(answers_that_wait_for_an_answer_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_about_to_be_connected_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(what_nobody_has_answered_goes_on, setup, teardown),
		cmocka_unit_test_setup_teardown(listeners_stay, setup, teardown),
		cmocka_unit_test_setup_teardown(others_stay, setup, teardown),
		cmocka_unit_test_setup_teardown(the_consumer_may_forget_all, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
