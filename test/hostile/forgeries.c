/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * An off-path attacker may forge addresses and guess, but sees no packet of the two ends. The tests show the effect of
 * its CM messages on connections before and after they are established.
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

#define GUESSES 100000

static struct test_pair pair;
static struct uroce_cm_conn *conns[2];
static struct test_end *victim;

static int
connected(void **state)
{
	test_pair_init(&pair, 1);
	test_pair_connect(&pair, conns);
	victim = &pair.end[TEST_SERVER];
	pair.cut[TEST_CLIENT] = true; /* replies to forged addresses are ignored */
	memset(pair.sent, 0, sizeof(pair.sent));
	return 0;
}

static int
asking(void **state)
{
	test_pair_init(&pair, 2);
	pair.cut[TEST_SERVER] = true;
	victim = &pair.end[TEST_CLIENT];
	conns[TEST_CLIENT] = test_end_connect(victim, 100);
	return 0;
}

static int
teardown(void **state)
{
	test_pair_fini(&pair);
	return 0;
}

static void
from_elsewhere(const uint8_t *mad)
{
	struct uroce_cm_path path = test_end_path(victim);

	path.dgid.raw[15] = 66;
	uroce_cm_receive(victim->cm, mad, UROCE_CM_MAD_BYTES, &path, pair.now_ns);
}

static void
write_ids(uint8_t *mad, enum uroce_cm_message m, uint32_t local, uint32_t remote, uint64_t tid)
{
	uroce_cm_mad_init(mad, m, tid);
	uroce_cm_put(mad, RTU, LOCAL_COMM_ID, local);
	uroce_cm_put(mad, RTU, REMOTE_COMM_ID, remote);
}

/* All fields are right, but the source address is wrong. */
static void
dreq_from_elsewhere(void **state)
{
	struct uroce_cm_conn *conn = conns[TEST_SERVER];
	uint8_t mad[UROCE_CM_MAD_BYTES];

	write_ids(mad, UROCE_CM_DREQ, conn->remote_id, conn->local_id, 1);
	uroce_cm_put(mad, DREQ, REMOTE_QPN, conn->local_qpn);
	from_elsewhere(mad);
	assert_int_equal(test_state(conn), UROCE_CM_ESTABLISHED);
	assert_int_equal(test_end_counter(victim, "cm_drop_unknown_id"), 1);
}

/* The address, the QPN and the peer's ID are right; the attacker guesses the local ID. */
static void
guess_our_id(enum uroce_cm_message m)
{
	struct uroce_cm_conn *conn = conns[TEST_SERVER];
	uint8_t mad[UROCE_CM_MAD_BYTES];

	for (uint32_t i = 0; i < GUESSES; i++) {
		uint32_t guess = i * 0x9e3779b9u;

		if (guess == conn->local_id)
			continue;
		write_ids(mad, m, conn->remote_id, guess, i);
		if (m == UROCE_CM_DREQ || m == UROCE_CM_LAP)
			uroce_cm_field_put(mad,
					   m == UROCE_CM_DREQ ? UROCE_CM_F_DREQ_REMOTE_QPN
							      : UROCE_CM_F_LAP_REMOTE_QPN,
					   conn->local_qpn);
		test_end_receive(victim, mad);
	}
	assert_int_equal(test_state(conn), UROCE_CM_ESTABLISHED);
	assert_true(test_end_counter(victim, "cm_drop_unknown_id") >= GUESSES - 1);
	assert_int_equal(test_end_conns(victim), 1);
}

static void
dreq_with_guessed_ids(void **state)
{
	guess_our_id(UROCE_CM_DREQ);
}

static void
rej_with_guessed_ids(void **state)
{
	guess_our_id(UROCE_CM_REJ);
}

static void
lap_with_guessed_ids(void **state)
{
	guess_our_id(UROCE_CM_LAP);
}

/* A REJ for a timeout, by CA GUID, as from a peer that does not know the local ID; but the connection is
 * established. */
static void
rej_by_ca_guid(void **state)
{
	struct uroce_cm_conn *conn = conns[TEST_SERVER];
	uint8_t mad[UROCE_CM_MAD_BYTES];

	write_ids(mad, UROCE_CM_REJ, conn->remote_id, 0, 1);
	uroce_cm_put(mad, REJ, REASON, UROCE_CM_REJ_TIMEOUT);
	uroce_cm_put(mad, REJ, INFO_LENGTH, 8);
	memcpy(uroce_cm_at(mad, REJ, INFO), &conn->remote_ca_guid, 8);
	test_end_receive(victim, mad);
	assert_int_equal(test_state(conn), UROCE_CM_ESTABLISHED);
}

static void
write_req(uint8_t *mad, uint32_t id, uint32_t qpn)
{
	struct uroce_cm_path path = test_end_path(victim);

	uroce_cm_mad_init(mad, UROCE_CM_REQ, id);
	uroce_cm_put(mad, REQ, LOCAL_COMM_ID, id);
	uroce_cm_put(mad, REQ, SERVICE_ID, TEST_SERVICE_ID);
	uroce_cm_put(mad, REQ, CA_GUID, rte_be_to_cpu_64(conns[TEST_SERVER]->remote_ca_guid));
	uroce_cm_put(mad, REQ, QPN, qpn);
	uroce_cm_put(mad, REQ, MTU, IBV_MTU_256);
	memcpy(uroce_cm_at(mad, REQ, PRIMARY_LOCAL_GID), path.dgid.raw, 16);
	memcpy(uroce_cm_at(mad, REQ, PRIMARY_REMOTE_GID), path.sgid.raw, 16);
}

/* The attacker sends a REQ with the peer's address, for a guessed QPN. */
static void
stale_by_guessed_qpn(void **state)
{
	struct uroce_cm_conn *conn = conns[TEST_SERVER];
	uint8_t mad[UROCE_CM_MAD_BYTES];

	for (uint32_t i = 0; i < GUESSES; i++) {
		uint32_t qpn = (2 + i * 0x9e3779b9u) % 0xffff00 + 2;

		if (qpn == conn->remote_qpn)
			continue;
		write_req(mad, conn->remote_id + 1 + i, qpn);
		test_end_receive(victim, mad);
	}
	assert_int_equal(test_state(conn), UROCE_CM_ESTABLISHED);
	assert_int_equal(test_end_counter(victim, "cm_rej_stale"), 0);
}

/* The attacker knows the QPN: the victim probes the peer, which still has the connection, and both ends keep it. */
static void
stale_by_known_qpn(void **state)
{
	uint8_t mad[UROCE_CM_MAD_BYTES];

	pair.cut[TEST_CLIENT] = false;
	for (uint32_t i = 1; i <= 1000; i++) {
		write_req(mad, conns[TEST_SERVER]->remote_id + i, conns[TEST_SERVER]->remote_qpn);
		test_end_receive(victim, mad);
		test_end_receive(victim, mad);
		test_pair_deliver(&pair);
		pair.now_ns += UROCE_CM_PROBE_NS;
	}
	assert_int_equal(test_state(conns[TEST_SERVER]), UROCE_CM_ESTABLISHED);
	assert_int_equal(test_state(conns[TEST_CLIENT]), UROCE_CM_ESTABLISHED);
	assert_int_equal(pair.end[TEST_CLIENT].by_type[UROCE_CM_DREQ_RECEIVED], 0);
	assert_int_equal(pair.sent[UROCE_CM_DREQ], 1000);
	assert_int_equal(test_end_counter(victim, "cm_rej_stale"), 2000);
}

/* The attacker sends a DREP with the peer's address: the peer does not know the connection. */
static void
drep_with_guessed_ids(void **state)
{
	struct uroce_cm_conn *conn = conns[TEST_SERVER];
	uint8_t mad[UROCE_CM_MAD_BYTES];
	uint64_t tid;

	write_req(mad, conn->remote_id + 1, conn->remote_qpn);
	test_end_receive(victim, mad);
	assert_int_equal(pair.sent[UROCE_CM_DREQ], 1);
	tid = rte_be_to_cpu_64(uroce_cm_header_const(pair.last[TEST_CLIENT].bytes)->tid);
	for (uint32_t i = 0; i < GUESSES; i++) {
		write_ids(mad, UROCE_CM_DREP, conn->remote_id, conn->local_id + 1 + i, tid);
		test_end_receive(victim, mad);
		write_ids(mad, UROCE_CM_DREP, conn->remote_id + 1 + i, conn->local_id, tid);
		test_end_receive(victim, mad);
		write_ids(mad, UROCE_CM_DREP, conn->remote_id, conn->local_id, tid + 1 + i);
		test_end_receive(victim, mad);
	}
	assert_int_equal(test_state(conn), UROCE_CM_ESTABLISHED);
	/* the genuine DREP of the peer */
	write_ids(mad, UROCE_CM_DREP, conn->remote_id, conn->local_id, tid);
	from_elsewhere(mad);
	assert_int_equal(test_state(conn), UROCE_CM_ESTABLISHED);
	test_end_receive(victim, mad);
	assert_int_equal(test_state(conn), UROCE_CM_TIMEWAIT);
}

/* The victim has not sent a DREQ. */
static void
drep_unasked(void **state)
{
	struct uroce_cm_conn *conn = conns[TEST_SERVER];
	uint8_t mad[UROCE_CM_MAD_BYTES];

	write_ids(mad, UROCE_CM_DREP, conn->remote_id, conn->local_id,
		  (uint64_t)conn->tid_high << 32 | conn->local_id);
	test_end_receive(victim, mad);
	assert_int_equal(test_state(conn), UROCE_CM_ESTABLISHED);
}

/* Replayed messages create no second connection, and do not disturb the first. */
static void
replayed_handshake(void **state)
{
	struct uroce_cm_conn *conn = conns[TEST_SERVER];
	uint8_t mad[UROCE_CM_MAD_BYTES];

	test_end_listen(victim, TEST_SERVICE_ID);
	for (unsigned int i = 0; i < 100; i++) {
		write_req(mad, conn->remote_id, conn->remote_qpn);
		test_end_receive(victim, mad);
		write_ids(mad, UROCE_CM_RTU, conn->remote_id, conn->local_id, 1);
		test_end_receive(victim, mad);
	}
	assert_int_equal(test_state(conn), UROCE_CM_ESTABLISHED);
	assert_int_equal(test_end_conns(victim), 2);
	assert_int_equal(test_end_counter(victim, "cm_duplicate"), 200);
}

/* The REQ names a third host, to make the victim connect and send to it. */
static void
req_that_names_a_victim(void **state)
{
	uint8_t mad[UROCE_CM_MAD_BYTES];

	test_end_listen(victim, TEST_SERVICE_ID);
	write_req(mad, 77, 78);
	from_elsewhere(mad);
	assert_int_equal(pair.sent[UROCE_CM_REJ], 1);
	assert_int_equal(uroce_cm_get(pair.last[0].bytes, REJ, REASON), UROCE_CM_REJ_INVALID_GID);
	assert_int_equal(pair.last[0].path.dgid.raw[15], 66); /* the REJ goes to the sender of the REQ */
	assert_int_equal(test_end_counter(victim, "cm_rej_invalid"), 1);
}

/* The client's REQ is in flight: the attacker answers before the peer does. */
static void
answer_in_the_peers_name(enum uroce_cm_message m)
{
	struct uroce_cm_conn *conn = conns[TEST_CLIENT];
	uint8_t mad[UROCE_CM_MAD_BYTES];

	/* all fields are right, but the source address is wrong */
	write_ids(mad, m, 66, conn->local_id, conn->tid);
	if (m == UROCE_CM_REP)
		uroce_cm_put(mad, REP, QPN, 66);
	from_elsewhere(mad);
	assert_int_equal(test_state(conn), UROCE_CM_REQ_SENT);
	/* the peer's address, but a guessed transaction ID, */
	for (uint32_t i = 0; i < GUESSES; i++) {
		if (i == (uint32_t)(conn->tid >> 32))
			continue;
		/* half of which is right */
		write_ids(mad, m, 66, conn->local_id, (uint64_t)i << 32 | conn->local_id);
		if (m == UROCE_CM_REP)
			uroce_cm_put(mad, REP, QPN, 66);
		test_end_receive(victim, mad);
	}
	assert_int_equal(test_state(conn), UROCE_CM_REQ_SENT);
	assert_true(test_end_counter(victim, "cm_drop_tid") >= GUESSES - 1);
	assert_int_equal(victim->events, 0);
}

static void
rep_in_the_peers_name(void **state)
{
	answer_in_the_peers_name(UROCE_CM_REP);
}

static void
rej_in_the_peers_name(void **state)
{
	answer_in_the_peers_name(UROCE_CM_REJ);
}

UROCE_TESTS(hostile_forgeries)
{
#define CONNECTED(name) cmocka_unit_test_setup_teardown(name, connected, teardown)
#define ASKING(name)    cmocka_unit_test_setup_teardown(name, asking, teardown)
	const struct CMUnitTest tests[] = {
		CONNECTED(dreq_from_elsewhere),  CONNECTED(dreq_with_guessed_ids),
		CONNECTED(rej_with_guessed_ids), CONNECTED(lap_with_guessed_ids),
		CONNECTED(rej_by_ca_guid),       CONNECTED(stale_by_guessed_qpn),
		CONNECTED(stale_by_known_qpn),   CONNECTED(drep_with_guessed_ids),
		CONNECTED(drep_unasked),         CONNECTED(replayed_handshake),
		CONNECTED(req_that_names_a_victim),
		ASKING(rep_in_the_peers_name),   ASKING(rej_in_the_peers_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
