/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Peers that have departed: the CM ends their connections, but not the process's own connections, nor those of a
 * successor at the same address that has already sent a MAD. In one thread.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>

#include <cmocka.h>

#include "cm/ib/internal.h"
#include "eal.h"
#include "groups.h"
#include "port/cm/agent.h"
#include "base/clock.h"
#include "port/cm/departure.h"
#include "tap.h"
#include "wire/gid.h"

#define L3    14
#define UDP   34
#define MAD   62
#define BYTES (MAD + UROCE_CM_MAD_BYTES + 4)

#define SELF 0x0a000001
#define PEER 0x0a000002

/* From the peer's QP1 to the device's. */
#define HEADERS                                                      \
	"M P 0800 45 00 0134 0000 4000 40 11 0000 0a000002 0a000001" \
	"c000 12b7 0120 0000"                                        \
	"64 00 ffff 00 000001 00 000001 80010000 00 000001 Z256 00000000"

/* A switch announces that the peer has departed. */
#define GONE "0180c200000e P 88b5 75726f63 0001 P Z34"

static const char *const cidrs[] = { "10.0.0.1/24", NULL };
static struct tap tap;
static struct uroce_agent *agent;
static uint64_t now_ns;

static int
setup(void **state)
{
	tap_open(&tap, 0, cidrs);
	tap.port->link_due_ns = UINT64_MAX;
	agent = uroce_agent_create(tap.port);
	now_ns = uroce_clock_ns();
	return agent != NULL ? 0 : -1;
}

static int
teardown(void **state)
{
	uroce_agent_destroy(agent);
	tap_close(&tap);
	return 0;
}

/* A connection to that address that has sent its REQ. */
static struct uroce_cm_conn *
connect_to(uint32_t addr)
{
	struct uroce_cm_conn *conn = uroce_cm_conn_create(agent->ibcm.cm, NULL);
	struct uroce_cm_req req = {
		.path = { .sgid_index = 1, .hop_limit = 64, .pkey = 0xffff, .mtu = IBV_MTU_1024 },
		.qpn = 100,
		.qp_type = IBV_QPT_RC,
		.remote_cm_response_timeout = 20,
		.local_cm_response_timeout = 20,
		.max_cm_retries = 15,
	};

	assert_non_null(conn);
	uroce_gid_from_ipv4(req.path.sgid.raw, htonl(SELF));
	uroce_gid_from_ipv4(req.path.dgid.raw, htonl(addr));
	assert_int_equal(uroce_cm_send_req(conn, &req, now_ns), 0);
	return conn;
}

static struct uroce_cm_conn *
connected_to(uint32_t addr)
{
	struct uroce_cm_conn *conn = connect_to(addr);

	uroce_cm_conn_enter(conn, UROCE_CM_ESTABLISHED, now_ns);
	return conn;
}

/* Deliver the peer's REP; the agent has not processed it. */
static void
answer(const struct uroce_cm_conn *conn)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes = tap_frame(&tap, frame, HEADERS);

	assert_int_equal(bytes, BYTES);
	uroce_cm_mad_init(frame + MAD, UROCE_CM_REP, conn->tid);
	uroce_cm_put(frame + MAD, REP, LOCAL_COMM_ID, 77);
	uroce_cm_put(frame + MAD, REP, REMOTE_COMM_ID, conn->local_id);
	uroce_cm_put(frame + MAD, REP, QPN, 200);
	tap_checksum_ipv4(frame, L3);
	tap_put_icrc(&tap, frame, bytes, L3, UDP);
	tap_send(&tap, frame, bytes);
}

static void
test_all(void **state)
{
	const struct uroce_cm_conn *self = connected_to(SELF), *peer = connected_to(PEER);

	uroce_agent_round(agent, now_ns);
	assert_int_equal(peer->state, UROCE_CM_ESTABLISHED);
	uroce_depart_all(tap.port);
	assert_int_equal(peer->state, UROCE_CM_ESTABLISHED); /* only the agent's thread ends it */
	uroce_agent_round(agent, now_ns);
	assert_int_equal(peer->state, UROCE_CM_TIMEWAIT);
	assert_int_equal(self->state, UROCE_CM_ESTABLISHED);
	/* a departure counts once */
	peer = connected_to(PEER);
	uroce_agent_round(agent, now_ns);
	assert_int_equal(peer->state, UROCE_CM_ESTABLISHED);
	uroce_depart_all(tap.port);
	uroce_agent_round(agent, now_ns);
	assert_int_equal(peer->state, UROCE_CM_TIMEWAIT);
}

/* A MAD that arrived before the departure was processed may be a successor's: the CM gets it after the departure. */
static void
test_successor(void **state)
{
	const struct uroce_cm_conn *old = connected_to(PEER), *new = connect_to(PEER);

	uroce_depart_all(tap.port);
	answer(new);
	assert_int_equal(uroce_agent_round(agent, now_ns), 1);
	assert_int_equal(old->state, UROCE_CM_TIMEWAIT);
	assert_int_equal(new->state, UROCE_CM_REP_RCVD);
	uroce_agent_round(agent, now_ns);
	assert_int_equal(new->state, UROCE_CM_REP_RCVD);
}

/* A departure before the CM starts has no effect on it. */
static void
test_before(void **state)
{
	const struct uroce_cm_conn *peer;

	uroce_agent_destroy(agent);
	uroce_depart_all(tap.port);
	agent = uroce_agent_create(tap.port);
	assert_non_null(agent);
	peer = connected_to(PEER);
	uroce_agent_round(agent, now_ns);
	assert_int_equal(peer->state, UROCE_CM_ESTABLISHED);
}

/* The peer's neighbor entry is resolved, as for a connected peer. */
static struct uroce_neighbor *
meet_peer(void)
{
	struct rte_mbuf *frames[UROCE_NEIGHBOR_PENDING];
	struct uroce_neighbor *n;
	struct rte_ether_addr mac;
	uint8_t gid[16];

	uroce_gid_from_ipv4(gid, htonl(PEER));
	assert_int_equal(rte_ether_unformat_addr(TAP_PEER, &mac), 0);
	n = uroce_neighbor_get(&tap.port->neighbors, gid);
	assert_non_null(n);
	assert_int_equal(uroce_neighbor_learn(&tap.port->neighbors, gid, &mac, UROCE_NEIGHBOR_SOLICITED, now_ns,
					       frames), 0);
	return n;
}

static void
test_one(void **state)
{
	struct uroce_neighbor *n = meet_peer();
	const struct uroce_cm_conn *peer = connected_to(PEER), *other = connected_to(PEER + 1);
	const struct uroce_cm_conn *self = connected_to(SELF);
	uint8_t frame[TAP_BYTES];
	size_t bytes = tap_frame(&tap, frame, GONE);

	tap.port->at_process = true;
	uroce_agent_round(agent, now_ns);
	assert_int_equal(peer->state, UROCE_CM_ESTABLISHED);
	tap_send(&tap, frame, bytes);
	uroce_agent_round(agent, now_ns);
	assert_int_equal(peer->state, UROCE_CM_TIMEWAIT);
	assert_int_equal(other->state, UROCE_CM_ESTABLISHED);
	assert_int_equal(self->state, UROCE_CM_ESTABLISHED);
	/* a successor with the same addresses, whose REP arrived before the CM processes the departure */
	peer = connected_to(PEER);
	other = connect_to(PEER);
	tap_send(&tap, frame, bytes);
	answer(other);
	uroce_agent_round(agent, now_ns);
	assert_int_equal(peer->state, UROCE_CM_TIMEWAIT);
	assert_int_equal(other->state, UROCE_CM_REP_RCVD);
	uroce_neighbor_put(&tap.port->neighbors, n, now_ns);
}

/* Only announcements that a switch can have sent count. */
static void
test_false(void **state)
{
	static const struct {
		const char *text, *counter;
	} frames[] = {
		{ "M P 88b5 75726f63 0001 P Z34", "drop_ethertype" },
		{ "ffffffffffff P 88b5 75726f63 0001 P Z34", "drop_ethertype" },
		{ "0180c200000f P 88b5 75726f63 0001 P Z34", "drop_l2_address" },
		{ "0180c200000e P 88b6 75726f63 0001 P Z34", "drop_ethertype" },
		{ "0180c200000e P 88b5 75726f64 0001 P Z34", "drop_ethertype" },
		{ "0180c200000e P 88b5 75726f63 0002 P Z34", "drop_ethertype" },
		{ "0180c200000e P 88b5 75726f63 0001 0200000000", "drop_l2_short" },
		{ "0180c200000e P 8100 0005 88b5 75726f63 0001 P Z30", "drop_vlan" },
	};
	struct uroce_neighbor *n = meet_peer();
	const struct uroce_cm_conn *peer = connected_to(PEER);
	uint8_t frame[TAP_BYTES];

	tap.port->at_process = true;
	rte_pktmbuf_free(tap_receive(&tap)); /* the REQ */
	for (unsigned int i = 0; i < RTE_DIM(frames); i++)
		tap_expect_drop(&tap, frame, tap_frame(&tap, frame, frames[i].text), frames[i].counter);
	tap.port->at_process = false; /* not a port within the host */
	tap_expect_drop(&tap, frame, tap_frame(&tap, frame, GONE), "drop_l2_address");
	/* departures of other stations */
	tap.port->at_process = true;
	tap_send(&tap, frame, tap_frame(&tap, frame, "0180c200000e P 88b5 75726f63 0001 020000000098 Z34"));
	tap_send(&tap, frame, tap_frame(&tap, frame, "0180c200000e P 88b5 75726f63 0001 Z6 Z34"));
	uroce_agent_round(agent, now_ns);
	assert_int_equal(peer->state, UROCE_CM_ESTABLISHED);
	assert_int_equal(tap.port->neighbors.departures, 0);
	tap_send(&tap, frame, tap_frame(&tap, frame, GONE));
	uroce_agent_round(agent, now_ns);
	assert_int_equal(peer->state, UROCE_CM_TIMEWAIT);
	uroce_neighbor_put(&tap.port->neighbors, n, now_ns);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

UROCE_TESTS(port_departure)
{
	const struct CMUnitTest tests[] = {
		TEST(all),
		TEST(successor),
		TEST(before),
		TEST(one),
		TEST(false),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
