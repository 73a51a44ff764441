/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Half-open connections: limits for all peers and for one peer, how long they last, and which one is evicted when there
 * is no room.
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

#define SECOND_NS 1000000000ull

static struct test_pair pair;
static struct test_end *end;

/* Accept each request, and destroy connections whose REP was not answered. */
static int
accept_all(struct test_end *server, const struct uroce_cm_event *event)
{
	struct uroce_cm_rep rep = test_end_rep(server, 2 + server->events);

	rep.responder_resources = rep.initiator_depth = 0;
	if (event->type == UROCE_CM_REQ_RECEIVED)
		assert_int_equal(uroce_cm_send_rep(event->conn, &rep, server->pair->now_ns), 0);
	else if (event->type == UROCE_CM_REP_ERROR)
		uroce_cm_conn_destroy(event->conn, server->pair->now_ns);
	return 0;
}

static int
setup(void **state)
{
	test_pair_init_max(&pair, 1, 2 * UROCE_CM_MAX_HALF_OPEN);
	end = &pair.end[TEST_SERVER];
	pair.cut[TEST_CLIENT] = true;
	end->on_event = accept_all;
	test_end_listen(end, TEST_SERVICE_ID);
	return 0;
}

/* All connections expire by themselves. */
static int
teardown(void **state)
{
	test_pair_run(&pair, UINT64_MAX);
	assert_int_equal(test_end_conns(end), 1);
	assert_int_equal(end->cm->half_open, 0);
	assert_true(TAILQ_EMPTY(&end->cm->waiting));
	for (unsigned int i = 0; i < UROCE_CM_SOURCES; i++)
		assert_int_equal(end->cm->half_open_of[i], 0);
	test_pair_fini(&pair);
	return 0;
}

/* Receive a REQ from 11.x.y.z. @return whether the manager accepted it */
static bool
ask(uint32_t host, uint32_t number, uint8_t timeout)
{
	struct uroce_cm_path path = test_end_path(end);
	unsigned int before = end->by_type[UROCE_CM_REQ_RECEIVED];
	uint8_t mad[UROCE_CM_MAD_BYTES];

	path.dgid.raw[12] = 11;
	path.dgid.raw[13] = (uint8_t)(host >> 16);
	path.dgid.raw[14] = (uint8_t)(host >> 8);
	path.dgid.raw[15] = (uint8_t)host;
	uroce_cm_mad_init(mad, UROCE_CM_REQ, number);
	uroce_cm_put(mad, REQ, SERVICE_ID, TEST_SERVICE_ID);
	uroce_cm_put(mad, REQ, LOCAL_COMM_ID, number + 1);
	uroce_cm_put(mad, REQ, QPN, number + 2);
	uroce_cm_put(mad, REQ, MTU, IBV_MTU_256);
	uroce_cm_put(mad, REQ, MAX_CM_RETRIES, 15);
	uroce_cm_put(mad, REQ, LOCAL_CM_RESPONSE_TIMEOUT, timeout);
	uroce_cm_put(mad, REQ, PRIMARY_ACK_TIMEOUT, timeout - 1u);
	memcpy(uroce_cm_at(mad, REQ, PRIMARY_LOCAL_GID), path.dgid.raw, 16);
	memcpy(uroce_cm_at(mad, REQ, PRIMARY_REMOTE_GID), end->gid.raw, 16);
	uroce_cm_receive(end->cm, mad, UROCE_CM_MAD_BYTES, &path, pair.now_ns);
	return end->by_type[UROCE_CM_REQ_RECEIVED] != before;
}

static void
fill(void)
{
	for (uint32_t i = 0; i < UROCE_CM_MAX_HALF_OPEN; i++)
		assert_true(ask(i, i, 31));
	assert_int_equal(end->cm->half_open, UROCE_CM_MAX_HALF_OPEN);
}

static void
one_peer_has_its_share(void **state)
{
	for (uint32_t i = 0; i < UROCE_CM_MAX_HALF_OPEN_GID; i++)
		assert_true(ask(1, i, 31));
	for (uint32_t i = 0; i < 100; i++)
		assert_false(ask(1, UROCE_CM_MAX_HALF_OPEN_GID + i, 31));
	assert_int_equal(test_end_counter(end, "cm_drop_half_open_gid"), 100);
	/* nor by waiting: it evicts neither others nor itself */
	pair.now_ns += 10 * SECOND_NS;
	assert_false(ask(1, UROCE_CM_MAX_HALF_OPEN_GID, 31));
	assert_int_equal(test_end_counter(end, "cm_half_open_evicted"), 0);
	assert_true(ask(2, 1, 31));
}

static void
all_in_use_and_all_new(void **state)
{
	fill();
	pair.now_ns += UROCE_CM_HALF_OPEN_YIELD_NS - 1;
	assert_false(ask(UROCE_CM_MAX_HALF_OPEN, 1, 31));
	assert_int_equal(test_end_counter(end, "cm_drop_half_open"), 1);
	assert_int_equal(end->by_type[UROCE_CM_REP_ERROR], 0);
}

/* Forged addresses keep no other peer out for long: the oldest half-open connection is evicted, and its consumer
 * gets an event. */
static void
who_waits_longest_makes_room(void **state)
{
	unsigned int conns;

	fill();
	conns = test_end_conns(end);
	pair.now_ns += UROCE_CM_HALF_OPEN_YIELD_NS;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_true(ask(UROCE_CM_MAX_HALF_OPEN + i, i, 31));
		assert_int_equal(end->cm->half_open, UROCE_CM_MAX_HALF_OPEN);
	}
	assert_int_equal(test_end_counter(end, "cm_half_open_evicted"), 1000);
	assert_int_equal(test_end_counter(end, "cm_drop_half_open"), 0);
	assert_int_equal(end->by_type[UROCE_CM_REP_ERROR], 1000);
	assert_int_equal(pair.sent[UROCE_CM_REJ], 1000);
	/* evicted connections skip TIMEWAIT, which would keep too many */
	assert_int_equal(test_end_conns(end), conns);
}

/* The manager limits the timeouts of a peer, even if it sends an MRA. */
static void
nobody_keeps_us_waiting(void **state)
{
	struct uroce_cm_path path = test_end_path(end);
	const uint64_t from_ns = pair.now_ns;
	uint8_t mad[UROCE_CM_MAD_BYTES];

	assert_true(ask(1, 7, 20)); /* Linux's timeout */
	assert_true(ask(2, 8, 31));
	path.dgid = end->accepted->path.dgid;
	uroce_cm_mad_init(mad, UROCE_CM_MRA, 0);
	uroce_cm_put(mad, MRA, LOCAL_COMM_ID, end->accepted->remote_id);
	uroce_cm_put(mad, MRA, REMOTE_COMM_ID, end->accepted->local_id);
	uroce_cm_put(mad, MRA, ABOUT, UROCE_CM_ABOUT_REP);
	uroce_cm_put(mad, MRA, SERVICE_TIMEOUT, 31);
	uroce_cm_receive(end->cm, mad, UROCE_CM_MAD_BYTES, &path, pair.now_ns);
	assert_int_equal(test_state(end->accepted), UROCE_CM_MRA_REP_RCVD);

	test_pair_run(&pair, from_ns + UROCE_CM_HALF_OPEN_NS - 1);
	assert_int_equal(end->cm->half_open, 1); /* the one with Linux's timeout has expired */
	test_pair_run(&pair, from_ns + UROCE_CM_HALF_OPEN_NS + SECOND_NS);
	assert_int_equal(end->cm->half_open, 0);
	assert_int_equal(test_end_counter(end, "cm_half_open_expired"), 1);
	assert_int_equal(end->by_type[UROCE_CM_REP_ERROR], 2);
}

/* An unanswered SIDR_REQ counts, too. */
static void
datagrams_count(void **state)
{
	struct uroce_cm_path path = test_end_path(end);
	uint8_t mad[UROCE_CM_MAD_BYTES];

	end->on_event = test_silent;
	uroce_cm_mad_init(mad, UROCE_CM_SIDR_REQ, 0);
	uroce_cm_put(mad, SIDR_REQ, SERVICE_ID, TEST_SERVICE_ID);
	uroce_cm_receive(end->cm, mad, UROCE_CM_MAD_BYTES, &path, pair.now_ns);
	assert_int_equal(end->cm->half_open, 1);
	assert_true(TAILQ_EMPTY(&end->cm->waiting)); /* its consumer must answer, not the peer */
	uroce_cm_conn_destroy(end->accepted, pair.now_ns);
	assert_int_equal(end->cm->half_open, 0);
}

UROCE_TESTS(cm_half_open)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_peer_has_its_share),
		TEST(all_in_use_and_all_new),
		TEST(who_waits_longest_makes_room),
		TEST(nobody_keeps_us_waiting),
		TEST(datagrams_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
