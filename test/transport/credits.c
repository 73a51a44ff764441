/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * R30: end-to-end credits. The credits that the responder reports as receives are posted and consumed; and the
 * requester's limit, without credits, with fewer and with more, with lost and repeated ACKs, and with a peer that
 * counts wrong.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "peer.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "wire/psn.h"

/* ---- the responder ---- */

static void
send(struct peer *p, uint8_t opcode, uint32_t psn)
{
	struct peer_packet in = { .opcode = opcode, .psn = psn, .ack_req = true };

	assert_int_equal(peer_in(p, &in), UROCE_OK);
}

static void
the_responder_tells_what_is_posted(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	/* no receive was consumed yet: the ACK of a WRITE reports no credits */
	send(&p, UROCE_RC_WRITE_ONLY, PEER_RQ_PSN);
	peer_expect_ack(&p, UROCE_AETH_CREDITS_UNLIMITED, PEER_RQ_PSN, 1);
	for (uint64_t i = 0; i < 8; i++)
		peer_post_recv(&p, 0, 10, i);
	/* 7 receives are left: the largest code below stands for 6 */
	send(&p, UROCE_RC_SEND_ONLY, PEER_RQ_PSN + 1);
	peer_expect_ack(&p, 5, PEER_RQ_PSN + 1, 2);
	send(&p, UROCE_RC_SEND_ONLY, PEER_RQ_PSN + 2);
	peer_expect_ack(&p, 5, PEER_RQ_PSN + 2, 3);
	send(&p, UROCE_RC_WRITE_ONLY_IMM, PEER_RQ_PSN + 3);
	peer_expect_ack(&p, 4, PEER_RQ_PSN + 3, 4);
	/* a WRITE repeats the credits of the last ACK */
	send(&p, UROCE_RC_WRITE_ONLY, PEER_RQ_PSN + 4);
	peer_expect_ack(&p, 4, PEER_RQ_PSN + 4, 5);
	/* the next message reports the receives posted in the meantime */
	for (uint64_t i = 0; i < 20; i++)
		peer_post_recv(&p, 0, 10, i);
	send(&p, UROCE_RC_SEND_ONLY, PEER_RQ_PSN + 5);
	peer_expect_ack(&p, 9, PEER_RQ_PSN + 5, 6);
	peer_stop(&p);
}

/* A message in progress keeps its receive until it ends. */
static void
a_message_in_progress_has_its_credit(void **state)
{
	struct peer_conf conf = { .mtu = IBV_MTU_256 };
	struct peer_packet in = { .opcode = UROCE_RC_SEND_FIRST, .psn = PEER_RQ_PSN + 1, .ack_req = true,
				  .payload_bytes = 256 };
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	for (uint64_t i = 0; i < 3; i++)
		peer_post_recv(&p, 0, 1000, i);
	send(&p, UROCE_RC_SEND_ONLY, PEER_RQ_PSN);
	peer_expect_ack(&p, 2, PEER_RQ_PSN, 1);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_ack(&p, 2, PEER_RQ_PSN + 1, 1);
	in.opcode = UROCE_RC_SEND_LAST;
	in.psn++;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_ack(&p, 1, PEER_RQ_PSN + 2, 2);
	peer_stop(&p);
}

static void
responses_give_credits_too(void **state)
{
	struct peer_packet out, read = { .opcode = UROCE_RC_READ_REQUEST, .psn = PEER_RQ_PSN + 1 };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint64_t i = 0; i < 5; i++)
		peer_post_recv(&p, 0, 10, i);
	send(&p, UROCE_RC_SEND_ONLY, PEER_RQ_PSN);
	assert_int_equal(peer_in(&p, &read), UROCE_OK);
	out = peer_expect(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_RQ_PSN + 1);
	assert_int_equal(out.syndrome, 4);
	assert_int_equal(out.msn, 2);
	peer_stop(&p);
}

/* ---- the requester ---- */

static enum uroce_verdict
ack(struct peer *p, uint8_t credits, uint32_t psn, uint32_t msn)
{
	struct peer_packet in = { .opcode = UROCE_RC_ACKNOWLEDGE, .psn = psn, .syndrome = credits, .msn = msn };

	return peer_in(p, &in);
}

static void
post_sends(struct peer *p, unsigned int n)
{
	for (; n > 0; n--)
		peer_post(p, IBV_WR_SEND, 0, 8, 0, 0);
}

static void
expect_sends(struct peer *p, uint32_t first, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		peer_expect(p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN + first + i);
	peer_expect_nothing(p);
}

/* The requester has no limit until the peer reports credits. Then it may send that many messages, and one more as a
 * probe for new credits. */
static void
the_requester_keeps_to_them(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	post_sends(&p, 60);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN);
	/* 1 is done, 6 credits: messages up to the 7th, and the 8th as a probe */
	assert_int_equal(ack(&p, 5, PEER_SQ_PSN, 1), UROCE_OK);
	expect_sends(&p, 1, 7);
	/* 3 are done, 4 credits: the limit stays; then 6 credits */
	assert_int_equal(ack(&p, 4, PEER_SQ_PSN + 2, 3), UROCE_OK);
	peer_expect_nothing(&p);
	assert_int_equal(ack(&p, 5, PEER_SQ_PSN + 2, 3), UROCE_OK);
	expect_sends(&p, 8, 2);
	/* all are done, no credit: one probe */
	assert_int_equal(ack(&p, 0, PEER_SQ_PSN + 9, 10), UROCE_OK);
	expect_sends(&p, 10, 1);
	assert_int_equal(ack(&p, 0, PEER_SQ_PSN + 10, 11), UROCE_OK);
	expect_sends(&p, 11, 1);
	/* no limit again */
	assert_int_equal(ack(&p, UROCE_AETH_CREDITS_UNLIMITED, PEER_SQ_PSN + 11, 12), UROCE_OK);
	expect_sends(&p, 12, 48);
	peer_stop(&p);
}

/* Other requests need no credit, but requests behind a SEND wait with it. */
static void
only_messages_that_take_a_receive_wait(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	post_sends(&p, 2);
	expect_sends(&p, 0, 2);
	assert_int_equal(ack(&p, 0, PEER_SQ_PSN, 1), UROCE_OK);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 0, 0);
	peer_post(&p, IBV_WR_RDMA_READ, 0, 8, 0, 0);
	peer_post(&p, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 8, 0, 0);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 0, 0);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + 2);
	peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN + 3);
	peer_expect_nothing(&p);
	/* 3 are done, one credit: for the 4th, and the 5th is the probe */
	assert_int_equal(ack(&p, 1, PEER_SQ_PSN + 2, 3), UROCE_OK);
	peer_expect(&p, UROCE_RC_WRITE_ONLY_IMM, PEER_SQ_PSN + 4);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + 5);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

/* Retransmissions need no credit, however few credits are left. */
static void
retries_need_no_credit(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	post_sends(&p, 6);
	expect_sends(&p, 0, 6);
	assert_int_equal(ack(&p, 0, PEER_SQ_PSN, 1), UROCE_OK);
	/* the other packets are lost */
	p.now_ns += UINT64_C(4096) << 15;
	expect_sends(&p, 1, 5);
	peer_stop(&p);
}

/* The probe may find no receive: the requester retransmits it after the time in the RNR NAK. */
static void
the_one_that_asks_may_be_refused(void **state)
{
	struct peer_packet rnr = { .opcode = UROCE_RC_ACKNOWLEDGE, .psn = PEER_SQ_PSN + 1,
				   .syndrome = UROCE_AETH_RNR_NAK | 1, .msn = 1 };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	post_sends(&p, 1);
	expect_sends(&p, 0, 1);
	assert_int_equal(ack(&p, 0, PEER_SQ_PSN, 1), UROCE_OK);
	post_sends(&p, 10);
	expect_sends(&p, 1, 1);
	assert_int_equal(peer_in(&p, &rnr), UROCE_OK);
	peer_expect_nothing(&p);
	p.now_ns += 10000 + 2 * UROCE_TICK_NS;
	expect_sends(&p, 1, 1);
	assert_int_equal(ack(&p, 3, PEER_SQ_PSN + 1, 2), UROCE_OK);
	expect_sends(&p, 2, 4);
	peer_stop(&p);
}

/* A repeated ACK may carry new credits; without new credits it counts as an ACK of no outstanding request. */
static void
an_acknowledgement_may_only_give_credits(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	post_sends(&p, 10);
	expect_sends(&p, 0, 10);
	assert_int_equal(ack(&p, 2, PEER_SQ_PSN, 1), UROCE_OK);
	post_sends(&p, 10);
	peer_expect_nothing(&p);
	assert_int_equal(ack(&p, 2, PEER_SQ_PSN, 1), UROCE_DROP_ACK_UNEXPECTED);	/* R37 */
	assert_int_equal(ack(&p, 1, PEER_SQ_PSN, 1), UROCE_DROP_ACK_UNEXPECTED);
	assert_int_equal(ack(&p, 9, PEER_SQ_PSN - 1, 1), UROCE_DROP_ACK_UNEXPECTED);
	peer_expect_nothing(&p);
	assert_int_equal(ack(&p, 7, PEER_SQ_PSN, 1), UROCE_OK);
	expect_sends(&p, 10, 4);
	assert_int_equal(ack(&p, UROCE_AETH_CREDITS_UNLIMITED, PEER_SQ_PSN, 1), UROCE_OK);
	expect_sends(&p, 14, 6);
	peer_stop(&p);
}

/* A peer that counts messages wrong slows down its own flow, and nothing else. */
static void
a_wrong_msn_does_not_end_it(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	post_sends(&p, 1);
	expect_sends(&p, 0, 1);
	assert_int_equal(ack(&p, 0, PEER_SQ_PSN, 0xfff000), UROCE_OK);
	post_sends(&p, 5);
	for (uint32_t i = 1; i <= 5; i++) {
		expect_sends(&p, i, 1);
		assert_int_equal(ack(&p, 0, PEER_SQ_PSN + i, 0xfff000), UROCE_OK);
	}
	peer_expect_nothing(&p);
	peer_stop(&p);
}

/* Responses of READs and atomics carry credits, too. */
static void
responses_are_read_for_credits(void **state)
{
	struct peer_packet in = { .opcode = UROCE_RC_READ_RESPONSE_ONLY, .psn = PEER_SQ_PSN + 1, .msn = 2,
				  .syndrome = 3, .payload_bytes = 8 };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	post_sends(&p, 1);
	peer_post(&p, IBV_WR_RDMA_READ, 0, 8, 0, 0);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN);
	peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN + 1);
	post_sends(&p, 9);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	expect_sends(&p, 2, 4);
	peer_stop(&p);
}

UROCE_TESTS(credits)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_responder_tells_what_is_posted),
		cmocka_unit_test(a_message_in_progress_has_its_credit),
		cmocka_unit_test(responses_give_credits_too),
		cmocka_unit_test(the_requester_keeps_to_them),
		cmocka_unit_test(only_messages_that_take_a_receive_wait),
		cmocka_unit_test(retries_need_no_credit),
		cmocka_unit_test(the_one_that_asks_may_be_refused),
		cmocka_unit_test(an_acknowledgement_may_only_give_credits),
		cmocka_unit_test(a_wrong_msn_does_not_end_it),
		cmocka_unit_test(responses_are_read_for_credits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
