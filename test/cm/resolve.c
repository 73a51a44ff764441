/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Service ID resolution: requests that are answered, refused, for unknown services, repeated, and unanswered.
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
#include "uroce_config.h"

static struct test_pair pair;

static int
setup(void **state)
{
	test_pair_init(&pair, 11);
	return 0;
}

static int
teardown(void **state)
{
	test_pair_fini(&pair);
	return 0;
}

static struct uroce_cm_conn *
ask(const struct uroce_cm_private *priv)
{
	struct test_end *client = &pair.end[TEST_CLIENT];
	struct uroce_cm_conn *conn = uroce_cm_conn_create(client->cm, NULL);
	struct uroce_cm_path path = test_end_path(client);

	assert_int_equal(
		uroce_cm_send_sidr_req(conn, TEST_SERVICE_ID, &path, 100, 3, priv, pair.now_ns), 0);
	return conn;
}

static void
a_service_is_resolved(void **state)
{
	struct test_end *client = &pair.end[TEST_CLIENT], *server = &pair.end[TEST_SERVER];
	uint8_t data[UROCE_CM_SIDR_REQ_PRIVATE_BYTES];
	struct uroce_cm_private priv = { data, sizeof(data) };
	struct uroce_cm_conn *conn;

	memset(data, 0xa5, sizeof(data));
	server->on_event = test_silent;
	test_end_listen(server, TEST_SERVICE_ID);
	conn = ask(&priv);
	test_pair_deliver(&pair);
	assert_int_equal(server->by_type[UROCE_CM_SIDR_REQ_RECEIVED], 1);
	assert_int_equal(server->priv_bytes, sizeof(data));
	assert_memory_equal(server->priv, data, sizeof(data));
	test_friendly(server, &(struct uroce_cm_event){ .type = UROCE_CM_SIDR_REQ_RECEIVED,
							.conn = server->accepted });
	test_pair_deliver(&pair);
	assert_int_equal(client->by_type[UROCE_CM_SIDR_REP_RECEIVED], 1);
	assert_int_equal(client->sidr_rep.status, UROCE_CM_SIDR_SUCCESS);
	assert_int_equal(client->sidr_rep.qpn, 77);
	assert_int_equal(client->sidr_rep.qkey, 0x01234567);
	assert_int_equal(test_state(conn), UROCE_CM_IDLE);
	uroce_cm_conn_destroy(conn, pair.now_ns);
	uroce_cm_conn_destroy(server->accepted, pair.now_ns);
	test_pair_run(&pair, UINT64_MAX);
	assert_int_equal(test_end_conns(client), 0);
	assert_int_equal(test_end_conns(server), 1);
}

static int
refuse(struct test_end *end, const struct uroce_cm_event *event)
{
	return event->type == UROCE_CM_SIDR_REQ_RECEIVED ? UROCE_CM_SIDR_NO_QP : 0;
}

static void
it_may_be_refused_or_unknown(void **state)
{
	struct test_end *client = &pair.end[TEST_CLIENT], *server = &pair.end[TEST_SERVER];

	ask(NULL);
	test_pair_deliver(&pair);
	assert_int_equal(client->sidr_rep.status, UROCE_CM_SIDR_UNSUPPORTED);
	server->on_event = refuse;
	test_end_listen(server, TEST_SERVICE_ID);
	ask(NULL);
	test_pair_deliver(&pair);
	assert_int_equal(client->sidr_rep.status, UROCE_CM_SIDR_NO_QP);
	assert_int_equal(client->by_type[UROCE_CM_SIDR_REP_RECEIVED], 2);
	assert_int_equal(test_end_conns(server), 1);
	/* destroying the request refuses it */
	server->on_event = test_silent;
	ask(NULL);
	test_pair_deliver(&pair);
	uroce_cm_conn_destroy(server->accepted, pair.now_ns);
	test_pair_deliver(&pair);
	assert_int_equal(client->sidr_rep.status, UROCE_CM_SIDR_REJECT);
}

static void
who_asks_again_is_answered_again(void **state)
{
	struct test_end *client = &pair.end[TEST_CLIENT], *server = &pair.end[TEST_SERVER];
	struct test_mad request;

	test_end_listen(server, TEST_SERVICE_ID);
	ask(NULL);
	request = pair.last[TEST_SERVER];
	test_pair_deliver(&pair);
	uroce_cm_conn_destroy(server->accepted, pair.now_ns);
	for (unsigned int i = 0; i < 3; i++)
		test_end_receive(server, request.bytes);
	assert_int_equal(pair.sent[UROCE_CM_SIDR_REP], 4);
	assert_int_equal(server->by_type[UROCE_CM_SIDR_REQ_RECEIVED], 1);
	/* the reply is kept for a while; later, the same request is a new one */
	test_pair_run(&pair, pair.now_ns + 2 * UROCE_CM_LINGER_NS);
	assert_int_equal(test_end_conns(server), 1);
	test_end_receive(server, request.bytes);
	assert_int_equal(server->by_type[UROCE_CM_SIDR_REQ_RECEIVED], 2);
	assert_int_equal(client->by_type[UROCE_CM_SIDR_REP_RECEIVED], 1);
}

static void
the_same_number_from_elsewhere_is_another_request(void **state)
{
	struct test_end *server = &pair.end[TEST_SERVER];
	struct uroce_cm_path path = test_end_path(server);
	struct test_mad request;

	server->on_event = test_silent;
	test_end_listen(server, TEST_SERVICE_ID);
	test_end_listen(server, TEST_SERVICE_ID + 1);
	ask(NULL);
	request = pair.last[TEST_SERVER];
	test_pair_deliver(&pair);
	path.dgid.raw[0] = 0x20;
	uroce_cm_receive(server->cm, request.bytes, UROCE_CM_MAD_BYTES, &path, pair.now_ns);
	assert_int_equal(server->by_type[UROCE_CM_SIDR_REQ_RECEIVED], 2);
	uroce_cm_put(request.bytes, SIDR_REQ, SERVICE_ID, TEST_SERVICE_ID + 1);
	test_end_receive(server, request.bytes);
	assert_int_equal(server->by_type[UROCE_CM_SIDR_REQ_RECEIVED], 3);
}

static void
nobody_answers(void **state)
{
	struct test_end *client = &pair.end[TEST_CLIENT];
	uint64_t from_ns = pair.now_ns;
	struct uroce_cm_conn *conn;

	pair.cut[TEST_SERVER] = true;
	conn = ask(NULL);
	test_pair_run(&pair, UINT64_MAX);
	assert_int_equal(pair.sent[UROCE_CM_SIDR_REQ], 4);
	assert_int_equal(client->by_type[UROCE_CM_SIDR_REQ_ERROR], 1);
	assert_true(client->last_ns - from_ns >= 400000000 &&
		    client->last_ns - from_ns < 401000000);
	assert_int_equal(test_state(conn), UROCE_CM_IDLE);
}

static void
an_answer_about_another_service_is_none(void **state)
{
	struct test_end *client = &pair.end[TEST_CLIENT], *server = &pair.end[TEST_SERVER];
	struct uroce_cm_conn *conn;
	struct test_mad answer;

	test_end_listen(server, TEST_SERVICE_ID);
	conn = ask(NULL);
	pair.cut[TEST_CLIENT] = true;
	test_pair_deliver(&pair);
	answer = pair.last[TEST_CLIENT];
	uroce_cm_put(answer.bytes, SIDR_REP, SERVICE_ID, 1);
	test_end_receive(client, answer.bytes);
	assert_int_equal(test_state(conn), UROCE_CM_SIDR_REQ_SENT);
	assert_int_equal(client->events, 0);
}

static void
what_cannot_be_asked_is_refused(void **state)
{
	struct test_end *client = &pair.end[TEST_CLIENT];
	struct uroce_cm_conn *conn = uroce_cm_conn_create(client->cm, NULL);
	struct uroce_cm_path path = test_end_path(client);
	uint8_t data[UROCE_CM_SIDR_REQ_PRIVATE_BYTES + 1] = { 0 };
	struct uroce_cm_private priv = { data, sizeof(data) };

	assert_int_equal(uroce_cm_send_sidr_req(conn, 1, &path, 100, 3, &priv, pair.now_ns),
			 -EMSGSIZE);
	assert_int_equal(uroce_cm_send_sidr_req(conn, 1, &path, 0, 3, NULL, pair.now_ns), -EINVAL);
	assert_int_equal(uroce_cm_send_sidr_req(conn, 1, &path, UROCE_CM_MAX_SIDR_TIMEOUT_MS + 1, 3,
						NULL, pair.now_ns),
			 -EINVAL);
	assert_int_equal(uroce_cm_send_sidr_req(conn, 1, &path, 100, 16, NULL, pair.now_ns),
			 -EINVAL);
	assert_int_equal(
		uroce_cm_send_sidr_rep(conn, &(struct uroce_cm_sidr_rep){ 0 }, pair.now_ns),
		-EINVAL);
	assert_int_equal(pair.number, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UROCE_TESTS(cm_resolve)
{
	const struct CMUnitTest tests[] = {
		TEST(a_service_is_resolved),
		TEST(it_may_be_refused_or_unknown),
		TEST(who_asks_again_is_answered_again),
		TEST(the_same_number_from_elsewhere_is_another_request),
		TEST(nobody_answers),
		TEST(an_answer_about_another_service_is_none),
		TEST(what_cannot_be_asked_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
