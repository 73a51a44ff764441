/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The manager: the replies to malformed MADs, to MADs of another class version, and to MADs for unknown connections;
 * time; and counters.
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

static struct test_pair pair;

static int
setup(void **state)
{
	test_pair_init(&pair, 31);
	pair.cut[TEST_CLIENT] = true;
	return 0;
}

static int
teardown(void **state)
{
	test_pair_fini(&pair);
	return 0;
}

static unsigned int
sent_in_all(void)
{
	unsigned int n = 0;

	for (unsigned int m = 0; m < UROCE_CM_MESSAGE_COUNT; m++)
		n += pair.sent[m];
	return n;
}

static void
what_is_no_mad_is_counted_and_dropped(void **state)
{
	struct test_end *server = &pair.end[TEST_SERVER];
	struct uroce_cm_path path = test_end_path(server);
	uint8_t mad[UROCE_CM_MAD_BYTES];

	uroce_cm_mad_init(mad, UROCE_CM_REQ, 1);
	uroce_cm_receive(server->cm, mad, UROCE_CM_MAD_BYTES - 1, &path, pair.now_ns);
	uroce_cm_receive(server->cm, mad, 0, &path, pair.now_ns);
	mad[1] = 0x03; /* the class of subnet administration */
	test_end_receive(server, mad);
	uroce_cm_mad_init(mad, UROCE_CM_REQ, 1);
	mad[3] = 0x81; /* a response, with a method that CM does not have */
	test_end_receive(server, mad);
	assert_int_equal(test_end_counter(server, "cm_drop_malformed"), 4);
	assert_int_equal(sent_in_all(), 0);
}

static void
another_class_version_is_answered_with_ours(void **state)
{
	struct test_end *server = &pair.end[TEST_SERVER];
	const uint8_t *answer = pair.last[TEST_CLIENT].bytes;
	uint8_t mad[UROCE_CM_MAD_BYTES];

	for (unsigned int m = 0; m < UROCE_CM_MESSAGE_COUNT; m++) {
		unsigned int sent = sent_in_all();

		uroce_cm_mad_init(mad, m, 5);
		mad[2] = 3;
		uroce_cm_put(mad, RTU, LOCAL_COMM_ID, 99);
		test_end_receive(server, mad);
		assert_int_equal(sent_in_all() - sent, m == UROCE_CM_REQ || m == UROCE_CM_SIDR_REQ);
		if (m == UROCE_CM_REQ) {
			assert_int_equal(uroce_cm_get(answer, REJ, REASON),
					 UROCE_CM_REJ_INVALID_CLASS_VERSION);
			assert_int_equal(uroce_cm_get(answer, REJ, INFO_LENGTH), 1);
			assert_int_equal(uroce_cm_at(answer, REJ, INFO)[0], 2);
			assert_int_equal(uroce_cm_get(answer, REJ, REMOTE_COMM_ID), 99);
		} else if (m == UROCE_CM_SIDR_REQ) {
			assert_int_equal(uroce_cm_get(answer, SIDR_REP, STATUS),
					 UROCE_CM_SIDR_UNSUPPORTED_VERSION);
			assert_int_equal(uroce_cm_get(answer, SIDR_REP, REQUEST_ID), 99);
		}
	}
	assert_int_equal(test_end_counter(server, "cm_drop_class_version"), UROCE_CM_MESSAGE_COUNT);
}

/* A sender that waits for a reply gets one, with its IDs swapped and its transaction ID. */
static void
what_is_for_nobody_is_answered(void **state)
{
	static const struct {
		enum uroce_cm_message m, answer;
	} cases[] = {
		{ UROCE_CM_REP, UROCE_CM_REJ },
		{ UROCE_CM_DREQ, UROCE_CM_DREP },
		{ UROCE_CM_LAP, UROCE_CM_APR },
		{ UROCE_CM_MRA, UROCE_CM_MESSAGE_COUNT },
		{ UROCE_CM_REJ, UROCE_CM_MESSAGE_COUNT },
		{ UROCE_CM_RTU, UROCE_CM_MESSAGE_COUNT },
		{ UROCE_CM_DREP, UROCE_CM_MESSAGE_COUNT },
		{ UROCE_CM_APR, UROCE_CM_MESSAGE_COUNT },
		{ UROCE_CM_SIDR_REP, UROCE_CM_MESSAGE_COUNT },
	};
	struct test_end *server = &pair.end[TEST_SERVER];
	const uint8_t *answer = pair.last[TEST_CLIENT].bytes;

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		unsigned int sent = sent_in_all();
		uint8_t mad[UROCE_CM_MAD_BYTES];

		uroce_cm_mad_init(mad, cases[i].m, 0xabcdef);
		uroce_cm_put(mad, RTU, LOCAL_COMM_ID, 5);
		uroce_cm_put(mad, RTU, REMOTE_COMM_ID, 6);
		test_end_receive(server, mad);
		assert_int_equal(test_end_counter(server, "cm_drop_unknown_id"), i + 1);
		if (cases[i].answer == UROCE_CM_MESSAGE_COUNT) {
			assert_int_equal(sent_in_all(), sent);
			continue;
		}
		assert_int_equal(sent_in_all(), sent + 1);
		assert_int_equal(uroce_cm_mad_message(answer, UROCE_CM_MAD_BYTES), cases[i].answer);
		assert_int_equal(uroce_cm_get(answer, RTU, LOCAL_COMM_ID), 6);
		assert_int_equal(uroce_cm_get(answer, RTU, REMOTE_COMM_ID), 5);
		assert_true(rte_be_to_cpu_64(uroce_cm_header_const(answer)->tid) == 0xabcdef);
		if (cases[i].answer == UROCE_CM_REJ) {
			assert_int_equal(uroce_cm_get(answer, REJ, REASON),
					 UROCE_CM_REJ_INVALID_COMM_ID);
			assert_int_equal(uroce_cm_get(answer, REJ, ABOUT), UROCE_CM_ABOUT_REP);
		} else if (cases[i].answer == UROCE_CM_APR) {
			assert_int_equal(uroce_cm_get(answer, APR, STATUS), 1);
		}
	}
}

static void
listeners_and_idle_connections_have_no_id_to_be_found_by(void **state)
{
	struct test_end *server = &pair.end[TEST_SERVER];
	struct uroce_cm_conn *conns[2] = {
		test_end_listen(server, TEST_SERVICE_ID),
		uroce_cm_conn_create(server->cm, NULL),
	};
	uint8_t mad[UROCE_CM_MAD_BYTES];

	for (unsigned int i = 0; i < 2; i++) {
		uroce_cm_mad_init(mad, UROCE_CM_REJ, 1);
		uroce_cm_put(mad, REJ, REMOTE_COMM_ID, conns[i]->local_id);
		test_end_receive(server, mad);
		assert_int_equal(test_end_counter(server, "cm_drop_unknown_id"), i + 1);
	}
	assert_int_equal(server->events, 0);
}

static void
a_connection_to_oneself_has_two_ends(void **state)
{
	struct test_end *end = &pair.end[TEST_SERVER];
	struct uroce_cm_conn *conn = uroce_cm_conn_create(end->cm, NULL);
	struct uroce_cm_req req = test_end_req(end, 50);

	test_end_listen(end, TEST_SERVICE_ID);
	req.path.dgid = end->gid;
	assert_int_equal(uroce_cm_send_req(conn, &req, pair.now_ns), 0);
	/* the wire has two ends, so the test returns each MAD */
	for (unsigned int i = 0; i < 6; i++) {
		struct test_mad mad = pair.last[TEST_CLIENT];

		uroce_cm_receive(end->cm, mad.bytes, UROCE_CM_MAD_BYTES, &req.path, pair.now_ns);
		if (i == 2)
			uroce_cm_send_dreq(conn, NULL, pair.now_ns);
	}
	assert_int_equal(end->by_type[UROCE_CM_REQ_RECEIVED], 1);
	assert_int_equal(end->by_type[UROCE_CM_REP_RECEIVED], 1);
	assert_int_equal(end->by_type[UROCE_CM_RTU_RECEIVED], 1);
	assert_int_equal(end->by_type[UROCE_CM_DREQ_RECEIVED], 1);
	assert_int_equal(end->by_type[UROCE_CM_DREP_RECEIVED], 1);
	uroce_cm_conn_destroy(conn, pair.now_ns);
	uroce_cm_conn_destroy(end->accepted, pair.now_ns);
	test_pair_run(&pair, UINT64_MAX);
	assert_int_equal(test_end_conns(end), 1);
}

/* ---- time, counters -------------------------------------------------------------------- */

static void
an_idle_manager_has_no_deadline(void **state)
{
	struct test_end *client = &pair.end[TEST_CLIENT];
	struct uroce_cm_conn *conn;

	assert_true(uroce_cm_deadline(client->cm) == UINT64_MAX);
	uroce_cm_expire(client->cm, pair.now_ns);
	assert_true(uroce_cm_deadline(client->cm) == UINT64_MAX);
	conn = test_end_connect(client, 5);
	assert_true(uroce_cm_deadline(client->cm) > pair.now_ns);
	assert_true(uroce_cm_deadline(client->cm) <= pair.now_ns + conn->interval_ns + 4096);
}

static void
counters_count(void **state)
{
	const char *names[4];
	uint64_t values[4];
	struct uroce_cm_conn *conns[2];
	struct test_end *client = &pair.end[TEST_CLIENT], *server = &pair.end[TEST_SERVER];
	unsigned int n = uroce_cm_query_counters(client->cm, names, values, 4);

	assert_int_equal(n, 2 * UROCE_CM_MESSAGE_COUNT + UROCE_CM_COUNTER_COUNT);
	assert_string_equal(names[0], "cm_sent_REQ");
	pair.cut[TEST_CLIENT] = false;
	test_pair_connect(&pair, conns);
	assert_int_equal(test_end_counter(client, "cm_sent_REQ"), 1);
	assert_int_equal(test_end_counter(client, "cm_received_REP"), 1);
	assert_int_equal(test_end_counter(server, "cm_received_REQ"), 1);
	assert_int_equal(test_end_counter(server, "cm_sent_REP"), 1);
	assert_int_equal(test_end_counter(server, "cm_received_RTU"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UROCE_TESTS(cm_cm)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_no_mad_is_counted_and_dropped),
		TEST(another_class_version_is_answered_with_ours),
		TEST(what_is_for_nobody_is_answered),
		TEST(listeners_and_idle_connections_have_no_id_to_be_found_by),
		TEST(a_connection_to_oneself_has_two_ends),
		TEST(an_idle_manager_has_no_deadline),
		TEST(counters_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
