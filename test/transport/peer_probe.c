/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Classification of a peer: its ACKs after the first loss show whether it keeps out-of-order requests.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "losses.h"
#include "uroce_config.h"

/* The requester retransmits only the packet that the NAK names; the ACK that follows covers later packets, too. */
static void
a_peer_that_keeps_is_found_out(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post_writes(&p, 0, PEER_SQ_PSN, 4);
	assert_int_equal(peer_ack(&p, UROCE_AETH_SEQUENCE_NAK, PEER_SQ_PSN + 1), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 0);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 4, 0);
	peer_expect_write(&p, PEER_SQ_PSN + 1, true);
	peer_expect_write(&p, PEER_SQ_PSN + 4, true);	/* new packets continue */
	peer_expect_nothing(&p);
	assert_int_equal(p.engine.counters[UROCE_RETRANSMITTED_PACKETS], 1);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, PEER_SQ_PSN + 3), UROCE_OK);
	assert_int_equal(peer_requester(&p)->peer, UROCE_PEER_KEEPS);
	peer_expect_nothing(&p);
	assert_int_equal(p.engine.counters[UROCE_SENT_ASKS], 0);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, PEER_SQ_PSN + 4), UROCE_OK);
	peer_expect_writes_done(&p, 1, 4);
	peer_stop(&p);
}

/* Two replies in a row that request the very next packet show that the peer keeps none: from then on the requester
 * goes back N at once. */
static void
a_plain_peer_is_found_out(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint32_t episode = 0; episode < 2; episode++) {
		uint32_t psn = PEER_SQ_PSN + 4 * episode;

		peer_post_writes(&p, 0, psn, 4);
		assert_int_equal(peer_ack(&p, UROCE_AETH_SEQUENCE_NAK, psn + 1), UROCE_OK);
		peer_expect_write(&p, psn + 1, true);
		peer_expect_nothing(&p);
		assert_int_equal(episode == 0 ? peer_ack(&p, PEER_UNLIMITED, psn + 1)
					      : peer_ack(&p, UROCE_AETH_SEQUENCE_NAK, psn + 2),
				 UROCE_OK);
		peer_expect_write(&p, psn + 2, true);
		peer_expect_write(&p, psn + 3, true);
		peer_expect_nothing(&p);
		assert_int_equal(peer_ack(&p, PEER_UNLIMITED, psn + 3), UROCE_OK);
		peer_expect_writes_done(&p, 0, 4);
	}
	assert_int_equal(peer_requester(&p)->peer, UROCE_PEER_PLAIN);
	/* except one time in 16, to probe the peer again */
	for (uint32_t episode = 0; episode < 16; episode++) {
		uint32_t psn = PEER_SQ_PSN + 8 + 3 * episode;

		peer_post_writes(&p, 0, psn, 3);
		assert_int_equal(peer_ack(&p, UROCE_AETH_SEQUENCE_NAK, psn), UROCE_OK);
		peer_expect_write(&p, psn, true);
		if (episode < 15) {
			peer_expect_write(&p, psn + 1, true);
			peer_expect_write(&p, psn + 2, true);
		}
		peer_expect_nothing(&p);
		assert_int_equal(peer_ack(&p, PEER_UNLIMITED, psn + 2), UROCE_OK);
		peer_expect_writes_done(&p, 0, 3);
	}
	assert_int_equal(peer_requester(&p)->peer, UROCE_PEER_KEEPS);
	assert_int_equal(p.engine.counters[UROCE_SENT_ASKS], 0);
	peer_stop(&p);
}

/* The NAK that any conformant responder sends. */
static void
plain_nak(struct peer *p, uint32_t psn)
{
	struct peer_packet in = { .opcode = UROCE_RC_ACKNOWLEDGE, .psn = psn, .syndrome = UROCE_AETH_SEQUENCE_NAK,
				  .unmarked = true };

	assert_int_equal(peer_in(p, &in), UROCE_OK);
}

/* An RNIC may keep out-of-order packets, too. It has not shown that it is uroce, so an ASK is never sent to it: not for
 * a NAK, nor for a probe. */
static void
a_peer_that_keeps_and_is_not_uroce(void **state)
{
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint32_t episode = 0; episode < 8; episode++) {
		uint32_t psn = PEER_SQ_PSN + 4 * episode;

		peer_post_writes(&p, 0, psn, 4);
		plain_nak(&p, psn + 1);
		peer_expect_write(&p, psn + 1, true);
		peer_expect_nothing(&p);
		assert_int_equal(peer_ack(&p, PEER_UNLIMITED, psn + 3), UROCE_OK);
		peer_expect_writes_done(&p, 0, 4);
		assert_int_equal(peer_requester(&p)->peer, UROCE_PEER_KEEPS);
	}
	peer_post_writes(&p, 0, PEER_SQ_PSN + 32, 3);
	for (unsigned int i = 0; i < 3; i++) {
		while (!peer_out(&p, &out))
			peer_wait(&p);
		assert_int_equal(out.opcode, UROCE_RC_WRITE_ONLY);
	}
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, PEER_SQ_PSN + 34), UROCE_OK);
	assert_int_equal(p.engine.counters[UROCE_SENT_ASKS], 0);
	peer_stop(&p);
}

/* Other manufacturers may use the opcodes 0xd0 and 0xd1: without the mark they are unknown opcodes. */
static void
opcodes_of_another_manufacturer(void **state)
{
	struct uroce_sack payload = { 0 };
	struct peer_packet ask = { .opcode = UROCE_RC_ASK, .psn = PEER_RQ_PSN, .unmarked = true };
	struct peer_packet sack = { .opcode = UROCE_RC_SACK, .psn = PEER_SQ_PSN, .syndrome = PEER_UNLIMITED,
				    .payload = (const uint8_t *)&payload, .payload_bytes = UROCE_SACK_BYTES(0),
				    .unmarked = true };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	uroce_put24(payload.asked, PEER_SQ_PSN);
	peer_post_writes(&p, 0, PEER_SQ_PSN, 3);
	assert_int_equal(peer_in(&p, &ask), UROCE_DROP_OPCODE);
	assert_int_equal(peer_in(&p, &sack), UROCE_DROP_OPCODE);
	assert_int_equal(peer_requester(&p)->peer, UROCE_PEER_UNKNOWN);
	peer_expect_nothing(&p);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, PEER_SQ_PSN + 2), UROCE_OK);
	peer_expect_writes_done(&p, 0, 3);
	peer_stop(&p);
}

/* An ACK that covers packets that were sent twice proves nothing. */
static void
a_leap_over_what_was_sent_twice(void **state)
{
	const struct peer_conf conf = { .timeout = 8 };
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	peer_post_writes(&p, 0, PEER_SQ_PSN, 4);
	while (!peer_out(&p, &out))	/* a timeout */
		peer_wait(&p);
	assert_int_equal(out.psn, PEER_SQ_PSN);
	for (uint32_t i = 1; i < 4; i++)
		peer_expect_write(&p, PEER_SQ_PSN + i, true);
	assert_int_equal(peer_ack(&p, UROCE_AETH_SEQUENCE_NAK, PEER_SQ_PSN + 1), UROCE_OK);
	peer_expect_write(&p, PEER_SQ_PSN + 1, true);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, PEER_SQ_PSN + 3), UROCE_OK);
	peer_expect_writes_done(&p, 0, 4);
	assert_int_equal(peer_requester(&p)->peer, UROCE_PEER_UNKNOWN);
	peer_stop(&p);
}

/* After a reset, the classification of the former peer does not apply to the next. */
static void
another_peer(void **state)
{
	static const uint16_t runs[][2] = { { 1, 2 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	const struct peer_conf conf = { .sq_psn = 0x5000 };
	const uint32_t psn = PEER_SQ_PSN + 6;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_learn_sacks(&p, PEER_SQ_PSN);
	peer_post_writes(&p, 0, psn, 3);
	assert_int_equal(peer_sack(&p, psn, psn, runs, 1), UROCE_OK);
	assert_int_equal(p.engine.recoveries.lent, 1);
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(p.engine.recoveries.lent, 0);
	peer_connect(p.qp, &conf);
	assert_int_equal(peer_requester(&p)->peer, UROCE_PEER_UNKNOWN);
	peer_post_writes(&p, 10, 0x5000, 3);
	assert_int_equal(peer_ack(&p, UROCE_AETH_SEQUENCE_NAK, 0x5000), UROCE_OK);
	peer_expect_write(&p, 0x5000, true);
	peer_expect_nothing(&p);
	assert_int_equal(p.engine.counters[UROCE_SENT_ASKS], 1);	/* sent to the former peer */
	/* destroyed during a recovery */
	peer_stop(&p);
}

UROCE_TESTS(peer_probe)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_that_keeps_is_found_out),
		cmocka_unit_test(a_plain_peer_is_found_out),
		cmocka_unit_test(a_peer_that_keeps_and_is_not_uroce),
		cmocka_unit_test(opcodes_of_another_manufacturer),
		cmocka_unit_test(a_leap_over_what_was_sent_twice),
		cmocka_unit_test(another_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
