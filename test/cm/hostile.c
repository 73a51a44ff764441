/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A communication manager with live connections gets arbitrary MADs, from its peer or with the peer's address: random
 * bytes, truncated messages, extreme values in each field, known and unknown IDs, and replays. All of it comes from
 * seeds. Its memory stays bounded, and at the end nothing leaks.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>

#include "cm/ib/internal.h"
#include "groups.h"
#include "pair.h"
#include "uroce_config.h"

#define SEEDS     60
#define BLOWS     3000 /* per seed */
#define MAX_CONNS 64
#define RECORDED  256

static struct {
	struct test_pair pair;
	struct uroce_cm_conn *held[MAX_CONNS]; /* connections of the consumer at the attacked end */
	unsigned int count;
	uint8_t recorded[RECORDED][UROCE_CM_MAD_BYTES];
	unsigned int records;
} world;

/* ---- a consumer that tracks its connections ------------------------------------------ */

static void
hold(struct uroce_cm_conn *conn)
{
	assert_true(world.count < MAX_CONNS);
	world.held[world.count++] = conn;
}

static void
drop(unsigned int i)
{
	uroce_cm_conn_destroy(world.held[i], world.pair.now_ns);
	world.held[i] = world.held[--world.count];
}

static int
consume(struct test_end *end, const struct uroce_cm_event *event)
{
	struct test_pair *p = end->pair;
	struct uroce_cm_rep rep = test_end_rep(end, 2 + test_pair_random(p, 1000));

	if (event->type == UROCE_CM_REQ_RECEIVED || event->type == UROCE_CM_SIDR_REQ_RECEIVED) {
		if (test_pair_random(p, 4) == 0)
			return 1 + (int)test_pair_random(p, 5);
		hold(event->conn);
	}
	if (test_pair_random(p, 3) == 0)
		return 0;
	switch (event->type) {
	case UROCE_CM_REQ_RECEIVED:
		/* the peer's values, unchanged */
		rep.responder_resources = event->req->responder_resources;
		rep.initiator_depth = event->req->initiator_depth;
		assert_int_equal(uroce_cm_send_rep(event->conn, &rep, p->now_ns), 0);
		return 0;
	case UROCE_CM_SIDR_REQ_RECEIVED:
		assert_int_equal(uroce_cm_send_sidr_rep(
					 event->conn, &(struct uroce_cm_sidr_rep){ 0 }, p->now_ns),
				 0);
		return 0;
	default: return test_friendly(end, event);
	}
}

/* ---- attacks -------------------------------------------------------------------------- */

static uint32_t
rnd(uint32_t below)
{
	return test_pair_random(&world.pair, below);
}

static uint64_t
rnd64(void)
{
	return (uint64_t)rnd(UINT32_MAX) << 32 | rnd(UINT32_MAX);
}

/* A valid message with random changes in some fields. */
static void
write_message(const struct test_end *end, uint8_t *mad)
{
	enum uroce_cm_message m = rnd(UROCE_CM_MESSAGE_COUNT);
	const struct test_end *other = &world.pair.end[end == &world.pair.end[0]];
	struct uroce_cm_conn *conn = world.count > 0 ? world.held[rnd(world.count)] : NULL;

	uroce_cm_mad_init(mad, m, conn != NULL && rnd(2) == 0 ? conn->tid : rnd64());
	if (m == UROCE_CM_REQ) {
		uroce_cm_put(mad, REQ, LOCAL_COMM_ID, 1 + rnd(40));
		uroce_cm_put(mad, REQ, SERVICE_ID, TEST_SERVICE_ID);
		uroce_cm_put(mad, REQ, CA_GUID, rnd(2));
		uroce_cm_put(mad, REQ, QPN, 2 + rnd(40));
		uroce_cm_put(mad, REQ, MTU, 1 + rnd(4));
		memcpy(uroce_cm_at(mad, REQ, PRIMARY_LOCAL_GID), other->gid.raw, 16);
		memcpy(uroce_cm_at(mad, REQ, PRIMARY_REMOTE_GID), end->gid.raw, 16);
	} else if (m == UROCE_CM_SIDR_REQ) {
		uroce_cm_put(mad, SIDR_REQ, REQUEST_ID, 1 + rnd(40));
		uroce_cm_put(mad, SIDR_REQ, SERVICE_ID, TEST_SERVICE_ID);
	} else if (conn != NULL) {
		uroce_cm_put(mad, RTU, LOCAL_COMM_ID,
			     m == UROCE_CM_SIDR_REP ? conn->local_id : conn->remote_id);
		if (m != UROCE_CM_SIDR_REP)
			uroce_cm_put(mad, RTU, REMOTE_COMM_ID, conn->local_id);
		if (m == UROCE_CM_DREQ)
			uroce_cm_put(mad, DREQ, REMOTE_QPN, conn->local_qpn);
		if (m == UROCE_CM_LAP)
			uroce_cm_put(mad, LAP, REMOTE_QPN, conn->local_qpn);
		if (m == UROCE_CM_REP)
			uroce_cm_put(mad, REP, QPN, 2 + rnd(40));
	}
	for (unsigned int n = rnd(3); n > 0; n--) {
		enum uroce_cm_field field = rnd(UROCE_CM_FIELD_COUNT);
		const struct uroce_cm_field_info *f = &uroce_cm_fields[field];
		uint64_t ones = f->bits <= 64 ? UINT64_MAX >> (64 - f->bits) : 0;
		const uint64_t extremes[] = { 0, ones, 1, ones / 2 + 1, rnd64() & ones };

		if (f->message == m && f->bits <= 64)
			uroce_cm_field_put(mad, field, extremes[rnd(RTE_DIM(extremes))]);
	}
}

static void
strike(struct test_end *end)
{
	struct uroce_cm_path path = test_end_path(end);
	uint32_t bytes = UROCE_CM_MAD_BYTES;
	uint8_t mad[2 * UROCE_CM_MAD_BYTES] = { 0 }, *exact;
	unsigned int kind = rnd(8);

	if (kind < 5)
		write_message(end, mad);
	else if (kind == 5 && world.records > 0)
		memcpy(mad, world.recorded[rnd(RTE_MIN(world.records, (unsigned int)RECORDED))],
		       UROCE_CM_MAD_BYTES);
	else
		for (unsigned int i = 0; i < sizeof(mad); i++)
			mad[i] = (uint8_t)rnd(256);
	if (kind == 6) /* behind a valid header, or a nearly valid one */
		uroce_cm_mad_init(mad, rnd(UROCE_CM_MESSAGE_COUNT), rnd64());
	for (unsigned int n = rnd(20) == 0 ? 3 : 0; n > 0; n--)
		mad[rnd(UROCE_CM_MAD_BYTES)] ^= (uint8_t)(1u << rnd(8));
	if (rnd(30) == 0)
		bytes = rnd(2 * UROCE_CM_MAD_BYTES);
	if (rnd(20) == 0)
		path.dgid.raw[15] = (uint8_t)rnd(256);
	memcpy(world.recorded[world.records++ % RECORDED], mad, UROCE_CM_MAD_BYTES);
	exact = malloc(bytes > 0 ? bytes : 1); /* an exact allocation: the sanitizer catches a read beyond it */
	assert_non_null(exact);
	memcpy(exact, mad, bytes);
	uroce_cm_receive(end->cm, exact, bytes, &path, end->pair->now_ns);
	free(exact);
}

static void
use(struct test_end *end)
{
	struct test_pair *p = end->pair;
	unsigned int i;

	if (world.count < MAX_CONNS / 2 && rnd(20) == 0 && test_end_conns(end) < MAX_CONNS)
		hold(test_end_connect(end, 2 + rnd(1000)));
	if (world.count == 0)
		return;
	i = rnd(world.count);
	switch (rnd(40)) {
	case 0: drop(i); break;
	case 1: uroce_cm_send_dreq(world.held[i], NULL, p->now_ns); break;
	case 2: uroce_cm_send_mra(world.held[i], (uint8_t)rnd(32), NULL, p->now_ns); break;
	case 3: uroce_cm_send_rtu(world.held[i], NULL, p->now_ns); break;
	case 4: uroce_cm_send_drep(world.held[i], NULL, p->now_ns); break;
	case 5: uroce_cm_established(world.held[i], p->now_ns); break;
	case 6: uroce_cm_send_rej(world.held[i], 28, NULL, 0, NULL, p->now_ns); break;
	default: break;
	}
}

static void
one_seed(uint64_t seed)
{
	struct test_pair *p = &world.pair;
	struct test_end *end = &p->end[TEST_SERVER];
	struct uroce_cm_conn *listener;

	world.count = world.records = 0;
	test_pair_init_max(p, seed, MAX_CONNS);
	p->cut[TEST_CLIENT] = true; /* replies are lost */
	end->on_event = consume;
	listener = test_end_listen(end, TEST_SERVICE_ID);
	for (unsigned int i = 0; i < BLOWS; i++) {
		strike(end);
		use(end);
		if (rnd(10) == 0)
			p->now_ns += rnd(3000) * 1000000ull;
		if (uroce_cm_deadline(end->cm) <= p->now_ns)
			uroce_cm_expire(end->cm, p->now_ns);
		assert_true(test_end_conns(end) <= MAX_CONNS);
	}
	while (world.count > 0)
		drop(0);
	uroce_cm_conn_destroy(listener, p->now_ns);
	test_pair_run(p, UINT64_MAX);
	assert_int_equal(test_end_conns(end), 0);
	assert_int_equal(end->cm->half_open, 0);
	assert_int_equal(end->cm->lingering, 0);
	test_pair_fini(p);
}

static void
anything_may_come(void **unused)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		one_seed(seed);
}

/* ---- floods --------------------------------------------------------------------------- */

static int
hold_many(struct test_end *end, const struct uroce_cm_event *event)
{
	struct uroce_cm_conn ***next = end->arg;

	*(*next)++ = event->conn;
	return 0;
}

/* Receive a MAD from one of many addresses. */
static void
receive_from(struct test_end *end, uint8_t *mad, uint32_t host)
{
	struct uroce_cm_path path = test_end_path(end);

	path.dgid.raw[12] = (uint8_t)(host >> 24);
	path.dgid.raw[13] = (uint8_t)(host >> 16);
	path.dgid.raw[14] = (uint8_t)(host >> 8);
	path.dgid.raw[15] = (uint8_t)host;
	memcpy(uroce_cm_at(mad, REQ, PRIMARY_LOCAL_GID), path.dgid.raw, 16);
	uroce_cm_receive(end->cm, mad, UROCE_CM_MAD_BYTES, &path, end->pair->now_ns);
}

static void
a_flood_of_requests_is_bounded_and_passes(void **unused)
{
	static struct uroce_cm_conn *held[UROCE_CM_MAX_HALF_OPEN + 10], **next = held;
	struct test_pair *p = &world.pair;
	struct test_end *end = &p->end[TEST_SERVER];
	struct uroce_cm_conn *listener;
	uint8_t mad[UROCE_CM_MAD_BYTES];

	test_pair_init_max(p, 5, 2 * UROCE_CM_MAX_HALF_OPEN);
	p->cut[TEST_CLIENT] = true;
	end->on_event = hold_many;
	end->arg = &next;
	listener = test_end_listen(end, TEST_SERVICE_ID);
	uroce_cm_mad_init(mad, UROCE_CM_REQ, 0);
	uroce_cm_put(mad, REQ, SERVICE_ID, TEST_SERVICE_ID);
	uroce_cm_put(mad, REQ, MTU, IBV_MTU_256);
	memcpy(uroce_cm_at(mad, REQ, PRIMARY_LOCAL_GID), p->end[TEST_CLIENT].gid.raw, 16);
	memcpy(uroce_cm_at(mad, REQ, PRIMARY_REMOTE_GID), end->gid.raw, 16);
	for (unsigned int i = 0; i < UROCE_CM_MAX_HALF_OPEN + 5; i++) {
		uroce_cm_put(mad, REQ, LOCAL_COMM_ID, i + 1);
		uroce_cm_put(mad, REQ, QPN, i + 2);
		receive_from(end, mad, i);
	}
	assert_int_equal(next - held, UROCE_CM_MAX_HALF_OPEN);
	assert_int_equal(end->cm->half_open, UROCE_CM_MAX_HALF_OPEN);
	assert_int_equal(test_end_counter(end, "cm_drop_half_open"), 5);
	/* once the consumer has answered one, there is room again */
	uroce_cm_conn_destroy(*--next, p->now_ns);
	receive_from(end, mad, 1);
	assert_int_equal(next - held, UROCE_CM_MAX_HALF_OPEN);
	while (next > held)
		uroce_cm_conn_destroy(*--next, p->now_ns);
	uroce_cm_conn_destroy(listener, p->now_ns);
	test_pair_run(p, UINT64_MAX);
	assert_int_equal(test_end_conns(end), 0);
	test_pair_fini(p);
}

static void
sidr_answers_that_linger_are_bounded(void **unused)
{
	static struct uroce_cm_sidr_rep rep;
	struct test_pair *p = &world.pair;
	struct test_end *end = &p->end[TEST_SERVER];
	uint8_t mad[UROCE_CM_MAD_BYTES];

	test_pair_init_max(p, 5, 2 * UROCE_CM_MAX_LINGER);
	p->cut[TEST_CLIENT] = true;
	end->on_event = test_silent;
	test_end_listen(end, TEST_SERVICE_ID);
	uroce_cm_mad_init(mad, UROCE_CM_SIDR_REQ, 0);
	uroce_cm_put(mad, SIDR_REQ, SERVICE_ID, TEST_SERVICE_ID);
	for (unsigned int i = 0; i < 3 * UROCE_CM_MAX_LINGER; i++) {
		uroce_cm_put(mad, SIDR_REQ, REQUEST_ID, i + 1);
		test_end_receive(end, mad);
		assert_int_equal(uroce_cm_send_sidr_rep(end->accepted, &rep, p->now_ns), 0);
		uroce_cm_conn_destroy(end->accepted, p->now_ns);
		assert_true(test_end_conns(end) <= UROCE_CM_MAX_LINGER + 1u);
	}
	test_pair_run(p, UINT64_MAX);
	assert_int_equal(test_end_conns(end), 1);
	test_pair_fini(p);
}

/* A peer's timeouts of hours are cut to a limit. */
static void
a_peers_patience_holds_nothing_for_long(void **unused)
{
	struct test_pair *p = &world.pair;
	struct test_end *end = &p->end[TEST_SERVER];
	uint8_t mad[UROCE_CM_MAD_BYTES];
	uint64_t from_ns, longest_ns = 4096ull << UROCE_CM_MAX_TIMEOUT;

	test_pair_init(p, 6);
	p->cut[TEST_CLIENT] = true;
	test_end_listen(end, TEST_SERVICE_ID);
	uroce_cm_mad_init(mad, UROCE_CM_REQ, 0);
	uroce_cm_put(mad, REQ, SERVICE_ID, TEST_SERVICE_ID);
	uroce_cm_put(mad, REQ, MTU, IBV_MTU_256);
	uroce_cm_put(mad, REQ, QPN, 5);
	uroce_cm_put(mad, REQ, LOCAL_CM_RESPONSE_TIMEOUT, 31);
	uroce_cm_put(mad, REQ, PRIMARY_ACK_TIMEOUT, 31);
	uroce_cm_put(mad, REQ, MAX_CM_RETRIES, 15);
	memcpy(uroce_cm_at(mad, REQ, PRIMARY_LOCAL_GID), p->end[TEST_CLIENT].gid.raw, 16);
	memcpy(uroce_cm_at(mad, REQ, PRIMARY_REMOTE_GID), end->gid.raw, 16);
	test_end_receive(end, mad);
	assert_int_equal(test_state(end->accepted), UROCE_CM_REP_SENT);
	from_ns = p->now_ns;
	test_pair_run(p, UINT64_MAX);
	assert_int_equal(end->by_type[UROCE_CM_REP_ERROR], 1);
	assert_int_equal(test_end_counter(end, "cm_half_open_expired"), 1);
	assert_true(end->last_ns - from_ns <= UROCE_CM_HALF_OPEN_NS + 3 * longest_ns);

	/* and a timeout of 0 does not cause sixteen retransmissions at once */
	uroce_cm_conn_destroy(end->accepted, p->now_ns);
	uroce_cm_put(mad, REQ, LOCAL_CM_RESPONSE_TIMEOUT, 0);
	uroce_cm_put(mad, REQ, PRIMARY_ACK_TIMEOUT, 0);
	from_ns = p->now_ns;
	test_end_receive(end, mad);
	test_pair_run(p, UINT64_MAX);
	assert_true(end->last_ns - from_ns >= 16 * (4096ull << UROCE_CM_MIN_TIMEOUT));
	test_pair_fini(p);
}

UROCE_TESTS(cm_hostile)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(anything_may_come),
		cmocka_unit_test(a_flood_of_requests_is_bounded_and_passes),
		cmocka_unit_test(sidr_answers_that_linger_are_bounded),
		cmocka_unit_test(a_peers_patience_holds_nothing_for_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
