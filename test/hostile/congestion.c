/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Congestion notification as a weapon: CNPs slow down a sender, and marked frames make a receiver send CNPs. Whose CNPs
 * count, how slow the sender gets, and how many CNPs marks cause. The test sets the clock.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmocka_compat.h"
#include "groups.h"
#include "peer.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "wire/headers.h"

#define UNLIMITED (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)
#define STEP_NS   20000
#define BYTES     16384

static struct peer peer;

static uint64_t
counter(enum uroce_engine_counter c)
{
	return peer.engine.counters[c];
}

/* The engine has WRITEs to send, and the peer acknowledges them. @return bytes on the wire that the engine sent */
static uint64_t
step(bool posts)
{
	struct peer_packet out, ack = { .opcode = UROCE_RC_ACKNOWLEDGE, .syndrome = UNLIMITED };
	const struct uroce_qp *q = uroce_qp_of(peer.qp);
	uint64_t bytes = 0;
	struct ibv_wc wc;

	peer.now_ns += STEP_NS;
	while (posts && q->sq.tail - q->sq.head < 4)
		peer_post(&peer, IBV_WR_RDMA_WRITE, 0, BYTES, 1, 0);
	/* one round of a worker */
	for (unsigned int i = 0; i < UROCE_BURST && peer_out(&peer, &out); i++) {
		bytes += 14 + 20 + 8 + 12 + 4 + UROCE_BACKOFF_FRAME_BYTES + out.payload_bytes;
		ack.psn = out.psn;
		if (out.ack_req)
			peer_in(&peer, &ack);
	}
	while (uroce_poll_cq(peer.send_cq, 1, &wc) == 1)
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	return bytes;
}

/* R8: CNPs from another address change nothing, however many arrive. */
static void
cnps_from_elsewhere(void **state)
{
	struct peer_packet cnp = { .opcode = UROCE_CNP, .last_ip_byte = 77 };
	uint64_t undisturbed = 0, attacked = 0;

	peer_start(&peer, NULL);
	for (unsigned int i = 0; i < 1000; i++)
		undisturbed += step(true);
	for (unsigned int i = 0; i < 1000; i++) {
		assert_int_equal(peer_in(&peer, &cnp), UROCE_DROP_SOURCE);
		attacked += step(true);
	}
	assert_int_equal(attacked, undisturbed);
	assert_null(uroce_qp_of(peer.qp)->rate);
	assert_int_equal(counter(UROCE_RP_CNP_IGNORED), 1000);
	assert_int_equal(counter(UROCE_RP_CNP_HANDLED), 0);
	peer_stop(&peer);
}

/* The peer may slow down the flow to itself while its CNPs last, but not to zero. */
static void
cnps_of_the_peer(void **state)
{
	const uint64_t least_bps = (uint64_t)UROCE_RPG_MIN_RATE * 1000000;
	const unsigned int steps = 50000; /* one second */
	struct peer_packet cnp = { .opcode = UROCE_CNP };
	uint64_t bits = 0;

	peer_start(&peer, &(struct peer_conf){ .timeout = 20 });
	for (unsigned int i = 0; i < 1000; i++) {
		assert_int_equal(peer_in(&peer, &cnp), UROCE_CNP_RECEIVED);
		step(true);
	}
	assert_int_equal(uroce_qp_of(peer.qp)->rate->dcqcn.current_bps, least_bps);
	for (unsigned int i = 0; i < steps; i++) {
		peer_in(&peer, &cnp);
		bits += 8 * step(true);
	}
	assert_uint_in_range(bits, least_bps * 97 / 100, least_bps * 103 / 100);
	for (unsigned int i = 0; uroce_qp_of(peer.qp)->rate != NULL; i++) {
		assert_true(i < steps);
		step(false);
	}
	assert_int_equal(peer.engine.rated, 0);
	peer_stop(&peer);
}

/* Each frame is marked; one CNP is sent per interval. */
static void
marks_without_end(void **state)
{
	struct peer_packet in = { .opcode = UROCE_RC_WRITE_ONLY,
				  .psn = PEER_RQ_PSN,
				  .traffic_class = UROCE_ECN_CE };
	uint64_t cnps = 0, from;
	struct peer_packet out;

	peer_start(&peer, NULL);
	from = peer.now_ns;
	for (unsigned int i = 0; i < 20000; i++, peer.now_ns += 100) {
		peer_in(&peer, &in);
		while (peer_out(&peer, &out))
			cnps += out.opcode == UROCE_CNP;
	}
	assert_int_equal(cnps, (peer.now_ns - from) / (UROCE_CNP_INTERVAL_US * 1000));
	assert_int_equal(counter(UROCE_NP_CNP_SENT), cnps);
	assert_int_equal(counter(UROCE_NP_ECN_MARKED_PACKETS), 20000);
	peer_stop(&peer);
}

UROCE_TESTS(hostile_congestion)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cnps_from_elsewhere),
		cmocka_unit_test(cnps_of_the_peer),
		cmocka_unit_test(marks_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
