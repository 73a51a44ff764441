/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Packets with the address of a connection's peer, from an attacker that knows the addresses and QPNs but does not see
 * the traffic: it must guess PSNs and keys. The tests show what guesses can do and cannot do; and what an attacker can
 * do that knows all numbers, because the protocol cannot tell it from the peer.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "peer.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "wire/headers.h"
#include "wire/psn.h"

#define GUESSES   20000
#define NEAR      4096
#define UNLIMITED (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)

static struct peer peer;

/* Any PSN outside the expected one and the reorder window ahead of it. */
static uint32_t
guessed_psn(uint32_t i)
{
	uint32_t psn = (i * 0x9e3779b9u >> 8) & UROCE_PSN_MASK;

	return uroce_psn_distance(psn, PEER_RQ_PSN) < NEAR ? psn + NEAR : psn;
}

static void
expect_alive(void)
{
	assert_int_equal(uroce_qp_of(peer.qp)->state, IBV_QPS_RTS);
	for (unsigned int i = 0; i < PEER_BUFFER_BYTES; i++)
		assert_int_equal(peer.buffer[i], 0);
}

static unsigned int
drain(void)
{
	struct peer_packet out;
	unsigned int n = 0;

	while (peer_out(&peer, &out))
		n++;
	return n;
}

/* Half of the guesses are old PSNs, which the responder acknowledges again; half are ahead: the first of these gets
 * a NAK. No guess is executed, and the peer's next request is. */
static void
requests_with_guessed_psns(void **state)
{
	static const uint8_t poison[64] = { [0 ... 63] = 0x66 };
	struct peer_packet in = {
		.opcode = UROCE_RC_WRITE_ONLY, .dma_len = 64, .payload = poison, .payload_bytes = 64
	};
	unsigned int naks = 0;

	peer_start(&peer, NULL);
	in.va = (uintptr_t)peer.buffer;
	in.rkey = peer.mr->rkey;
	for (uint32_t i = 0; i < GUESSES; i++) {
		enum uroce_verdict v;

		in.psn = guessed_psn(i);
		v = peer_in(&peer, &in);
		naks += v == UROCE_NAK_SEQUENCE;
		assert_true(v == UROCE_NAK_SEQUENCE || v == UROCE_DROP_AHEAD ||
			    v == UROCE_DUPLICATE);
		assert_true(drain() <= 1);
	}
	assert_int_equal(naks, 1); /* R12 */
	expect_alive();
	in.psn = PEER_RQ_PSN;
	assert_int_equal(peer_in(&peer, &in), UROCE_OK);
	drain();
	peer_stop(&peer);
}

/* Wrong opcodes, keys and lengths: with a wrong PSN, none of them moves the QP to error. */
static void
errors_with_guessed_psns(void **state)
{
	static const struct peer_packet errors[] = {
		{ .opcode = UROCE_RC_WRITE_ONLY, .rkey = 1, .dma_len = 8, .payload_bytes = 8 },
		{ .opcode = UROCE_RC_READ_REQUEST, .rkey = 1, .dma_len = 8 },
		{ .opcode = UROCE_RC_SEND_MIDDLE, .payload_bytes = 8 },
		{ .opcode = UROCE_RC_SEND_ONLY, .payload_bytes = 2000 },
		{ .opcode = UROCE_RC_FETCH_ADD, .va = 1 },
	};

	peer_start(&peer, NULL);
	for (uint32_t i = 0; i < GUESSES; i++) {
		struct peer_packet in = errors[i % RTE_DIM(errors)];

		in.psn = guessed_psn(i);
		peer_in(&peer, &in);
		drain();
	}
	expect_alive();
	peer_stop(&peer);
}

/* One WRITE is outstanding: an answer must name its PSN, one of 2^24. */
static void
answers_with_guessed_psns(void **state)
{
	static const uint8_t syndromes[] = {
		UNLIMITED,
		UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR,
		UROCE_AETH_NAK | UROCE_NAK_INVALID_REQUEST,
		UROCE_AETH_RNR_NAK | 1,
	};

	peer_start(&peer, NULL);
	peer_post(&peer, IBV_WR_RDMA_WRITE, 0, 8, 1, 0);
	peer_expect(&peer, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN);
	for (uint32_t i = 0; i < GUESSES; i++) {
		struct peer_packet in = { .opcode = UROCE_RC_ACKNOWLEDGE,
					  .syndrome = syndromes[i % RTE_DIM(syndromes)],
					  .psn = guessed_psn(i) };

		/* a sequence NAK may also name the next PSN */
		if (in.psn != PEER_SQ_PSN && in.psn != PEER_SQ_PSN + 1)
			assert_int_equal(peer_in(&peer, &in), UROCE_DROP_ACK_UNEXPECTED);
	}
	peer_expect_nothing(&peer);
	peer_expect_no_wc(peer.send_cq);
	expect_alive();
	assert_int_equal(peer_in(&peer, &(struct peer_packet){ .opcode = UROCE_RC_ACKNOWLEDGE,
							       .syndrome = UNLIMITED,
							       .psn = PEER_SQ_PSN }),
			 UROCE_OK);
	peer_expect_wc(peer.send_cq, IBV_WC_SUCCESS, 1);
	peer_stop(&peer);
}

/* A READ is outstanding: forged data is not placed. */
static void
data_with_guessed_psns(void **state)
{
	static const uint8_t poison[64] = { [0 ... 63] = 0x66 };

	peer_start(&peer, NULL);
	peer_post(&peer, IBV_WR_RDMA_READ, 0, 64, 1, 0);
	peer_expect(&peer, UROCE_RC_READ_REQUEST, PEER_SQ_PSN);
	for (uint32_t i = 0; i < GUESSES; i++) {
		struct peer_packet in = { .opcode = UROCE_RC_READ_RESPONSE_ONLY,
					  .syndrome = UNLIMITED,
					  .psn = guessed_psn(i),
					  .payload = poison,
					  .payload_bytes = 64 };

		if (in.psn != PEER_SQ_PSN)
			peer_in(&peer, &in);
	}
	peer_expect_no_wc(peer.send_cq);
	expect_alive();
	peer_stop(&peer);
}

/* For the protocol, an attacker that sees the traffic is the peer (doc/explanation/security.rst). */
static void
who_knows_it_all_is_the_peer(void **state)
{
	struct peer_packet in = { .opcode = UROCE_RC_WRITE_ONLY,
				  .psn = PEER_RQ_PSN,
				  .dma_len = 8,
				  .payload_bytes = 8,
				  .payload = (const uint8_t *)"\x66\x66\x66\x66\x66\x66\x66\x66" };

	peer_start(&peer, NULL);
	in.va = (uintptr_t)peer.buffer;
	in.rkey = peer.mr->rkey;
	assert_int_equal(peer_in(&peer, &in), UROCE_OK);
	assert_int_equal(peer.buffer[7], 0x66);
	/* the peer's own packet with that PSN is now a duplicate, and the peer gets no error */
	in.payload = (const uint8_t *)"12345678";
	assert_int_equal(peer_in(&peer, &in), UROCE_DUPLICATE);
	assert_int_equal(peer.buffer[7], 0x66);
	drain();
	peer_stop(&peer);
}

UROCE_TESTS(hostile_injection)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_with_guessed_psns),
		cmocka_unit_test(errors_with_guessed_psns),
		cmocka_unit_test(answers_with_guessed_psns),
		cmocka_unit_test(data_with_guessed_psns),
		cmocka_unit_test(who_knows_it_all_is_the_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
