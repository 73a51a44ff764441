/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Two communication managers; a wire that loses, duplicates and delays; and consumers that accept, reject, defer,
 * destroy and disconnect at random, from seeds. Each connection gets each event once and in order, both ends agree at
 * the end, and nothing leaks. Then 10,000 connections at once.
 */

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>

#include "cm/ib/internal.h"
#include "groups.h"
#include "pair.h"

#define SEEDS      500
#define ATTEMPTS   24             /* connections and resolutions per seed */
#define MAX_TRACKS (ATTEMPTS * 8) /* including requests that were rejected and repeated */
#define SECOND_NS  1000000000ull

/* ---- a consumer's view of a connection ------------------------------------------------- */

struct track {
	struct uroce_cm_conn *conn; /* NULL: destroyed */
	struct test_end *end;
	uint32_t seen; /* events, 1 << type */
	uint8_t rank;  /* of the last event */
	bool established;
	bool rejected; /* by this consumer */
	bool sidr;
	/* the planned action, and its time */
	uint64_t act_ns;
	enum {
		NOTHING,
		ANSWER_REQ,
		ANSWER_REP,
		ANSWER_DREQ,
		ANSWER_SIDR,
		DISCONNECT,
		LET_GO
	} act;
};

static struct {
	struct test_pair pair;
	unsigned int seen[UROCE_CM_SIDR_REQ_ERROR + 1]; /* events over all seeds */
	struct track tracks[MAX_TRACKS];
	unsigned int count;
	uint32_t next_qpn;
} world;

/* Events come in the order of their ranks; events of equal rank may repeat or replace each other. */
static uint8_t
rank_of(enum uroce_cm_event_type type)
{
	switch (type) {
	case UROCE_CM_REQ_RECEIVED:
	case UROCE_CM_SIDR_REQ_RECEIVED: return 1;
	case UROCE_CM_MRA_RECEIVED: return 2;
	case UROCE_CM_REP_RECEIVED:
	case UROCE_CM_RTU_RECEIVED: return 3;
	case UROCE_CM_LAP_RECEIVED:
	case UROCE_CM_APR_RECEIVED:
	case UROCE_CM_LAP_ERROR: return 4;
	case UROCE_CM_TIMEWAIT_EXIT: return 6;
	default: return 5;
	}
}

static void
check_order(struct track *t, enum uroce_cm_event_type type)
{
	uint8_t rank = rank_of(type);

	if (rank < t->rank || (rank == t->rank && rank != 4))
		fail_msg("event %d of rank %u after rank %u", type, rank, t->rank);
	if (rank != 4 && (t->seen & 1u << type) != 0)
		fail_msg("event %d twice", type);
	/* no event reports the end of a connection that the consumer never had */
	if (type == UROCE_CM_DREQ_RECEIVED || type == UROCE_CM_DREP_RECEIVED ||
	    type == UROCE_CM_DREQ_ERROR)
		assert_true(t->established || (t->seen & 1u << UROCE_CM_REQ_RECEIVED) != 0);
	t->seen |= 1u << type;
	t->rank = rank;
	world.seen[type]++;
}

static void
plan(struct track *t, int act, uint64_t within_ns)
{
	struct test_pair *p = &world.pair;

	t->act = act;
	t->act_ns = p->now_ns + 1 +
		    (within_ns > 0 ? test_pair_random(p, (uint32_t)(within_ns / 1000)) * 1000ull
				   : 0);
}

static struct track *
track_of(struct test_end *end, struct uroce_cm_conn *conn)
{
	struct track *t = &world.tracks[world.count++];

	assert_true(world.count <= MAX_TRACKS);
	memset(t, 0, sizeof(*t));
	t->end = end;
	t->conn = conn;
	uroce_cm_conn_set_user(conn, t);
	return t;
}

static void
let_go(struct track *t)
{
	uroce_cm_conn_destroy(t->conn, world.pair.now_ns);
	t->conn = NULL;
	t->act = NOTHING;
}

/* ---- actions --------------------------------------------------------------------------- */

static void
established(struct track *t)
{
	t->established = true;
	if (test_pair_random(&world.pair, 3) > 0)
		plan(t, test_pair_random(&world.pair, 4) > 0 ? DISCONNECT : LET_GO, 4 * SECOND_NS);
	else
		t->act = NOTHING;
}

static void
answer_req(struct track *t)
{
	struct test_pair *p = &world.pair;
	struct uroce_cm_rep rep = test_end_rep(t->end, ++world.next_qpn);

	t->act = NOTHING;
	if (test_pair_random(p, 5) == 0) {
		assert_int_equal(uroce_cm_send_rej(t->conn, UROCE_CM_REJ_CONSUMER_DEFINED, NULL, 0,
						   NULL, p->now_ns),
				 0);
		t->rejected = true;
		let_go(t);
		return;
	}
	assert_int_equal(uroce_cm_send_rep(t->conn, &rep, p->now_ns), 0);
}

static void
answer_rep(struct track *t)
{
	struct test_pair *p = &world.pair;

	if (test_pair_random(p, 6) == 0) {
		assert_int_equal(uroce_cm_send_rej(t->conn, UROCE_CM_REJ_CONSUMER_DEFINED, NULL, 0,
						   NULL, p->now_ns),
				 0);
		t->rejected = true;
		t->act = NOTHING;
		return;
	}
	assert_int_equal(uroce_cm_send_rtu(t->conn, NULL, p->now_ns), 0);
	established(t);
}

static void
act(struct track *t)
{
	static const struct uroce_cm_sidr_rep rep = { .qpn = 7, .qkey = 8 };
	uint64_t now_ns = world.pair.now_ns;

	switch (t->act) {
	case ANSWER_REQ: answer_req(t); break;
	case ANSWER_REP: answer_rep(t); break;
	case ANSWER_DREQ:
		assert_int_equal(uroce_cm_send_drep(t->conn, NULL, now_ns), 0);
		t->act = NOTHING;
		break;
	case ANSWER_SIDR:
		assert_int_equal(uroce_cm_send_sidr_rep(t->conn, &rep, now_ns), 0);
		let_go(t);
		break;
	case DISCONNECT:
		if (uroce_cm_state_established(test_state(t->conn)) &&
		    test_pair_random(&world.pair, 3) == 0) {
			struct uroce_cm_path path = test_end_path(t->end);

			/* first the consumer proposes another path, unless it already has */
			if (uroce_cm_send_lap(t->conn, &path, NULL, now_ns) == 0) {
				plan(t, DISCONNECT, SECOND_NS);
				return;
			}
		}
		t->act = NOTHING;
		uroce_cm_send_dreq(t->conn, NULL, now_ns);
		break;
	case LET_GO: let_go(t); break;
	case NOTHING: break;
	}
}

/* Some consumers take long: they send an MRA, or the manager does. */
static void
think(struct track *t, int what)
{
	struct test_pair *p = &world.pair;

	switch (test_pair_random(p, 4)) {
	case 0:
		plan(t, what, 0);
		act(t);
		break;
	case 1:
		uroce_cm_send_mra(t->conn, 20, NULL, p->now_ns);
		plan(t, what, 8 * SECOND_NS);
		break;
	default: plan(t, what, 4 * SECOND_NS); break;
	}
}

static int
consume(struct test_end *end, const struct uroce_cm_event *event)
{
	struct track *t = uroce_cm_conn_user(event->conn);

	if (event->type == UROCE_CM_REQ_RECEIVED || event->type == UROCE_CM_SIDR_REQ_RECEIVED) {
		assert_null(t);
		if (test_pair_random(&world.pair, 10) == 0)
			return event->type == UROCE_CM_REQ_RECEIVED ? UROCE_CM_REJ_NO_RESOURCES
								    : UROCE_CM_SIDR_NO_QP;
		t = track_of(end, event->conn);
		t->sidr = event->type == UROCE_CM_SIDR_REQ_RECEIVED;
	}
	assert_non_null(t);
	assert_ptr_equal(t->conn, event->conn);
	check_order(t, event->type);
	switch (event->type) {
	case UROCE_CM_REQ_RECEIVED: think(t, ANSWER_REQ); break;
	case UROCE_CM_REP_RECEIVED: think(t, ANSWER_REP); break;
	case UROCE_CM_RTU_RECEIVED: established(t); break;
	case UROCE_CM_DREQ_RECEIVED: plan(t, ANSWER_DREQ, SECOND_NS); break;
	case UROCE_CM_SIDR_REQ_RECEIVED: plan(t, ANSWER_SIDR, SECOND_NS); break;
	default:
		if (rank_of(event->type) >= 5)
			t->act = NOTHING;
		break;
	}
	return 0;
}

/* ---- the world ------------------------------------------------------------------------ */

static void
begin(void)
{
	struct test_end *client = &world.pair.end[TEST_CLIENT];
	struct uroce_cm_conn *conn = uroce_cm_conn_create(client->cm, NULL);
	struct track *t = track_of(client, conn);
	struct uroce_cm_req req = test_end_req(client, ++world.next_qpn);
	struct uroce_cm_path path = test_end_path(client);

	if (test_pair_random(&world.pair, 5) == 0) {
		t->sidr = true;
		assert_int_equal(uroce_cm_send_sidr_req(conn, TEST_SERVICE_ID, &path, 500, 15, NULL,
							world.pair.now_ns),
				 0);
	} else {
		assert_int_equal(uroce_cm_send_req(conn, &req, world.pair.now_ns), 0);
		if (test_pair_random(&world.pair, 10) == 0)
			plan(t, LET_GO, 2 * SECOND_NS);
	}
}

static uint64_t
next_act_ns(void)
{
	uint64_t next_ns = UINT64_MAX;

	for (unsigned int i = 0; i < world.count; i++)
		if (world.tracks[i].act != NOTHING)
			next_ns = RTE_MIN(next_ns, world.tracks[i].act_ns);
	return next_ns;
}

/* Run until no consumer has a plan. */
static void
run(void)
{
	for (;;) {
		/* step by step: an event may plan an earlier action, or drop a plan */
		uint64_t next_ns = RTE_MIN(next_act_ns(), test_pair_next_ns(&world.pair));

		if (next_ns == UINT64_MAX)
			return;
		test_pair_run(&world.pair, next_ns);
		for (unsigned int i = 0; i < world.count; i++)
			if (world.tracks[i].act != NOTHING &&
			    world.tracks[i].act_ns <= world.pair.now_ns)
				act(&world.tracks[i]);
	}
}

static struct track *
other_end(const struct track *t)
{
	for (unsigned int i = 0; i < world.count; i++) {
		struct track *other = &world.tracks[i];

		if (other->end != t->end && other->conn != NULL &&
		    other->conn->local_id == t->conn->remote_id)
			return other;
	}
	return NULL;
}

/* Each consumer that believes to be connected is connected to one that believes so, too; all others are idle. */
static void
check_agreement(void)
{
	for (unsigned int i = 0; i < world.count; i++) {
		struct track *t = &world.tracks[i], *other;

		if (t->conn == NULL)
			continue;
		if (test_state(t->conn) == UROCE_CM_IDLE)
			continue;
		assert_int_equal(test_state(t->conn), UROCE_CM_ESTABLISHED);
		other = other_end(t);
		assert_non_null(other);
		assert_int_equal(test_state(other->conn), UROCE_CM_ESTABLISHED);
		assert_int_equal(other->conn->remote_id, t->conn->local_id);
		assert_int_equal(other->conn->local_qpn, t->conn->remote_qpn);
		assert_int_equal(other->conn->rq_psn, t->conn->sq_psn);
	}
}

static void
one_seed(uint64_t seed)
{
	struct test_pair *p = &world.pair;
	struct uroce_cm_conn *listener;

	world.count = 0;
	world.next_qpn = 100;
	test_pair_init(p, seed);
	p->loss = test_pair_random(p, 150);
	p->dup = test_pair_random(p, 200);
	p->late = test_pair_random(p, 300);
	p->end[0].on_event = p->end[1].on_event = consume;
	listener = test_end_listen(&p->end[TEST_SERVER], TEST_SERVICE_ID);
	for (unsigned int i = 0; i < ATTEMPTS; i++)
		begin();
	run();
	check_agreement();
	/* the consumers destroy all connections: established ones disconnect */
	for (unsigned int i = 0; i < world.count; i++)
		if (world.tracks[i].conn != NULL)
			let_go(&world.tracks[i]);
	uroce_cm_conn_destroy(listener, p->now_ns);
	run();
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(test_end_conns(&p->end[i]), 0);
		assert_int_equal(p->end[i].cm->half_open, 0);
		assert_int_equal(p->end[i].cm->lingering, 0);
	}
	test_pair_fini(p);
}

static void
consumers_at_random_over_a_bad_wire(void **unused)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		one_seed(seed);
	/* events that need a dead wire or fifteen losses in a row have tests of their own */
	for (unsigned int type = 0; type < RTE_DIM(world.seen); type++)
		if (rank_of(type) != 5 || type == UROCE_CM_REJ_RECEIVED ||
		    type == UROCE_CM_DREQ_RECEIVED || type == UROCE_CM_DREP_RECEIVED)
			assert_true(type == UROCE_CM_LAP_ERROR || world.seen[type] > 0);
}

/* ---- many ----------------------------------------------------------------------------- */

#define MANY 10000

static unsigned int
longest_chain(const struct uroce_cm_table *table, size_t link)
{
	unsigned int longest = 0;

	for (uint32_t i = 0; i <= table->mask; i++) {
		const struct uroce_cm_conn *conn = LIST_FIRST(&table->buckets[i]);
		unsigned int n = 0;

		for (; conn != NULL; n++)
			conn = *(struct uroce_cm_conn *const *)((const uint8_t *)conn + link);
		longest = RTE_MAX(longest, n);
	}
	return longest;
}

/* 16,384 buckets: the cost of a look-up does not grow with the number of connections. */
static void
check_chains(const struct test_end *end)
{
	const struct uroce_cm *cm = end->cm;

	assert_true(longest_chain(&cm->local, offsetof(struct uroce_cm_conn, local_link.le_next)) <=
		    16);
	assert_true(longest_chain(&cm->remote,
				  offsetof(struct uroce_cm_conn, remote_link.le_next)) <= 16);
	assert_true(longest_chain(&cm->qpns, offsetof(struct uroce_cm_conn, qpn_link.le_next)) <=
		    16);
}

static int
keep(struct test_end *end, const struct uroce_cm_event *event)
{
	struct uroce_cm_conn ***next = end->arg;

	if (event->type == UROCE_CM_REQ_RECEIVED)
		*(*next)++ = event->conn;
	return test_friendly(end, event);
}

static void
ten_thousand_at_once(void **unused)
{
	static struct uroce_cm_conn *clients[MANY], *servers[MANY];
	struct uroce_cm_conn *listener, **next;
	static struct test_pair pair;
	struct test_pair *p = &pair;
	size_t bytes[3];

	test_pair_init_max(p, 42, MANY + 1);
	p->end[TEST_SERVER].on_event = keep;
	p->end[TEST_SERVER].arg = &next;
	listener = test_end_listen(&p->end[TEST_SERVER], TEST_SERVICE_ID);
	for (unsigned int round = 0; round < RTE_DIM(bytes); round++) {
		next = servers;
		for (unsigned int i = 0; i < MANY; i++)
			clients[i] = test_end_connect(&p->end[TEST_CLIENT], 1000 + i);
		test_pair_deliver(p);
		assert_ptr_equal(next, servers + MANY);
		for (unsigned int i = 0; i < MANY; i++) {
			assert_int_equal(test_state(clients[i]), UROCE_CM_ESTABLISHED);
			assert_int_equal(test_state(servers[i]), UROCE_CM_ESTABLISHED);
		}
		check_chains(&p->end[TEST_CLIENT]);
		check_chains(&p->end[TEST_SERVER]);
		for (unsigned int i = 0; i < MANY; i++)
			uroce_cm_conn_destroy(clients[i], p->now_ns);
		test_pair_deliver(p);
		for (unsigned int i = 0; i < MANY; i++)
			uroce_cm_conn_destroy(servers[i], p->now_ns);
		test_pair_run(p, UINT64_MAX);
		assert_int_equal(test_end_conns(&p->end[TEST_CLIENT]), 0);
		assert_int_equal(test_end_conns(&p->end[TEST_SERVER]), 1);
		bytes[round] = mallinfo2().uordblks;
	}
	assert_int_equal(bytes[2], bytes[1]);
	uroce_cm_conn_destroy(listener, p->now_ns);
	test_pair_fini(p);
}

UROCE_TESTS(cm_sim)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(consumers_at_random_over_a_bad_wire),
		cmocka_unit_test(ten_thousand_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
