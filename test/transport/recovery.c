/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Losses, and what is sent again: by peers that keep what comes early, that say which, and that forget it.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "peer.h"
#include "transport/recovery.h"
#include "uroce_config.h"
#include "verbs/qp.h"
#include "wire/psn.h"
#include "wire/sack.h"

#define UNLIMITED (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)
#define NAK_SEQUENCE (UROCE_AETH_NAK | UROCE_NAK_PSN_SEQUENCE_ERROR)
#define WRAPPING 0xfffffa	/* a first PSN that comes round soon */

static enum uroce_verdict
ack(struct peer *p, uint8_t syndrome, uint32_t psn)
{
	struct peer_packet in = { .opcode = UROCE_RC_ACKNOWLEDGE, .psn = psn & UROCE_PSN_MASK, .syndrome = syndrome };

	return peer_in(p, &in);
}

/* A SACK with up to two runs, each { offset, count } behind psn. */
static enum uroce_verdict
sack(struct peer *p, uint32_t psn, uint32_t asked, const uint16_t (*runs)[2], unsigned int n)
{
	struct uroce_sack payload = { 0 };
	struct peer_packet in = {
		.opcode = UROCE_RC_SACK, .psn = psn & UROCE_PSN_MASK, .syndrome = UNLIMITED,
		.payload = (const uint8_t *)&payload, .payload_bytes = UROCE_SACK_BYTES(n),
	};

	uroce_put24(payload.asked, asked & UROCE_PSN_MASK);
	for (unsigned int i = 0; i < n; i++)
		payload.runs[i] = (struct uroce_sack_run){ rte_cpu_to_be_16(runs[i][0]), rte_cpu_to_be_16(runs[i][1]) };
	return peer_in(p, &in);
}

static enum uroce_verdict
response(struct peer *p, uint8_t opcode, uint32_t psn, const uint8_t *payload, uint32_t bytes)
{
	struct peer_packet in = { .opcode = opcode, .psn = psn & UROCE_PSN_MASK, .syndrome = UNLIMITED,
				  .payload = payload, .payload_bytes = bytes };

	return peer_in(p, &in);
}

static struct uroce_requester *
requester(struct peer *p)
{
	return &uroce_qp_of(p->qp)->req;
}

static void
expect_write(struct peer *p, uint32_t psn, bool ack_req)
{
	struct peer_packet out = peer_expect(p, UROCE_RC_WRITE_ONLY, psn & UROCE_PSN_MASK);

	assert_int_equal(out.ack_req, ack_req);
}

/* n WRITEs of a packet each, all of them sent. */
static void
post_writes(struct peer *p, uint64_t wr_id, uint32_t psn, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		peer_post(p, IBV_WR_RDMA_WRITE, 8 * (uint32_t)i, 8, wr_id + i, 0);
	for (unsigned int i = 0; i < n; i++)
		expect_write(p, psn + i, true);
	peer_expect_nothing(p);
}

static void
expect_writes_done(struct peer *p, uint64_t wr_id, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		peer_expect_wc(p->send_cq, IBV_WC_SUCCESS, wr_id + i);
	peer_expect_no_wc(p->send_cq);
}

/* A peer that has shown that it keeps, and one that has sent a SACK, with all before psn acknowledged. */
static void
learn_keeps(struct peer *p, uint32_t psn)
{
	post_writes(p, 0, psn, 3);
	assert_int_equal(ack(p, NAK_SEQUENCE, psn), UROCE_OK);
	expect_write(p, psn, true);
	peer_expect_nothing(p);
	assert_int_equal(ack(p, UNLIMITED, psn + 2), UROCE_OK);
	expect_writes_done(p, 0, 3);
	assert_int_equal(requester(p)->peer, UROCE_PEER_KEEPS);
	assert_null(requester(p)->recovery);
}

static void
learn_sacks(struct peer *p, uint32_t psn)
{
	learn_keeps(p, psn);
	post_writes(p, 0, psn + 3, 3);
	assert_int_equal(ack(p, NAK_SEQUENCE, psn + 3), UROCE_OK);
	peer_expect(p, UROCE_RC_ASK, (psn + 6) & UROCE_PSN_MASK);
	expect_write(p, psn + 3, true);
	peer_expect_nothing(p);
	assert_int_equal(sack(p, psn + 6, psn + 6, NULL, 0), UROCE_OK);
	expect_writes_done(p, 0, 3);
	assert_int_equal(requester(p)->peer, UROCE_PEER_SACKS);
	assert_null(requester(p)->recovery);
}

/* Only what the NAK names is sent again, and the leap shows what the peer does. */
static void
a_peer_that_keeps_is_found_out(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	post_writes(&p, 0, PEER_SQ_PSN, 4);
	assert_int_equal(ack(&p, NAK_SEQUENCE, PEER_SQ_PSN + 1), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 0);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 4, 0);
	expect_write(&p, PEER_SQ_PSN + 1, true);
	expect_write(&p, PEER_SQ_PSN + 4, true);	/* what is new goes on */
	peer_expect_nothing(&p);
	assert_int_equal(p.engine.counters[UROCE_RETRANSMITTED_PACKETS], 1);
	assert_int_equal(ack(&p, UNLIMITED, PEER_SQ_PSN + 3), UROCE_OK);
	assert_int_equal(requester(&p)->peer, UROCE_PEER_KEEPS);
	peer_expect_nothing(&p);
	assert_int_equal(p.engine.counters[UROCE_SENT_ASKS], 0);
	assert_int_equal(ack(&p, UNLIMITED, PEER_SQ_PSN + 4), UROCE_OK);
	expect_writes_done(&p, 1, 4);
	peer_stop(&p);
}

/* Two in a row that ask for the very next: it keeps nothing. From then on all is sent again at once. */
static void
a_plain_peer_is_found_out(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint32_t episode = 0; episode < 2; episode++) {
		uint32_t psn = PEER_SQ_PSN + 4 * episode;

		post_writes(&p, 0, psn, 4);
		assert_int_equal(ack(&p, NAK_SEQUENCE, psn + 1), UROCE_OK);
		expect_write(&p, psn + 1, true);
		peer_expect_nothing(&p);
		assert_int_equal(episode == 0 ? ack(&p, UNLIMITED, psn + 1) : ack(&p, NAK_SEQUENCE, psn + 2), UROCE_OK);
		expect_write(&p, psn + 2, true);
		expect_write(&p, psn + 3, true);
		peer_expect_nothing(&p);
		assert_int_equal(ack(&p, UNLIMITED, psn + 3), UROCE_OK);
		expect_writes_done(&p, 0, 4);
	}
	assert_int_equal(requester(&p)->peer, UROCE_PEER_PLAIN);
	/* but one time in so many */
	for (uint32_t episode = 0; episode < 16; episode++) {
		uint32_t psn = PEER_SQ_PSN + 8 + 3 * episode;

		post_writes(&p, 0, psn, 3);
		assert_int_equal(ack(&p, NAK_SEQUENCE, psn), UROCE_OK);
		expect_write(&p, psn, true);
		if (episode < 15) {
			expect_write(&p, psn + 1, true);
			expect_write(&p, psn + 2, true);
		}
		peer_expect_nothing(&p);
		assert_int_equal(ack(&p, UNLIMITED, psn + 2), UROCE_OK);
		expect_writes_done(&p, 0, 3);
	}
	assert_int_equal(requester(&p)->peer, UROCE_PEER_KEEPS);
	assert_int_equal(p.engine.counters[UROCE_SENT_ASKS], 0);
	peer_stop(&p);
}

/* What was sent twice proves nothing when it is leapt over. */
static void
a_leap_over_what_was_sent_twice(void **state)
{
	const struct peer_conf conf = { .timeout = 8 };
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	post_writes(&p, 0, PEER_SQ_PSN, 4);
	while (!peer_out(&p, &out))	/* a timeout */
		peer_wait(&p);
	assert_int_equal(out.psn, PEER_SQ_PSN);
	for (uint32_t i = 1; i < 4; i++)
		expect_write(&p, PEER_SQ_PSN + i, true);
	assert_int_equal(ack(&p, NAK_SEQUENCE, PEER_SQ_PSN + 1), UROCE_OK);
	expect_write(&p, PEER_SQ_PSN + 1, true);
	assert_int_equal(ack(&p, UNLIMITED, PEER_SQ_PSN + 3), UROCE_OK);
	expect_writes_done(&p, 0, 4);
	assert_int_equal(requester(&p)->peer, UROCE_PEER_UNKNOWN);
	peer_stop(&p);
}

/* Runs of what has come: what they leave out is sent again, once, wherever the PSNs come round. */
static void
holes_between_runs(void **state)
{
	static const uint16_t runs[][2] = { { 1, 2 }, { 5, 3 } };
	static const uint16_t later[][2] = { { 1, 2 }, { 4, 4 } };
	struct peer_conf conf = { .sq_psn = WRAPPING };
	uint32_t psn = WRAPPING + 6;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	learn_sacks(&p, WRAPPING);
	post_writes(&p, 0, psn, 10);
	/* psn, psn + 3 and psn + 4 are missing; of what is behind the last run nothing is known */
	assert_int_equal(sack(&p, psn, psn, runs, 2), UROCE_OK);
	expect_write(&p, psn, true);
	expect_write(&p, psn + 3, true);
	expect_write(&p, psn + 4, true);
	peer_expect_nothing(&p);
	/* the same again asks for nothing more */
	assert_int_equal(sack(&p, psn, psn, runs, 2), UROCE_OK);
	assert_int_equal(sack(&p, psn, psn, later, 2), UROCE_OK);
	peer_expect_nothing(&p);
	peer_expect_no_wc(p.send_cq);
	assert_int_equal(ack(&p, UNLIMITED, psn + 9), UROCE_OK);
	expect_writes_done(&p, 0, 10);
	assert_null(requester(&p)->recovery);
	assert_int_equal(p.engine.recoveries.lent, 0);
	peer_stop(&p);
}

/* What is on its way again is lost again when something that was sent later has come before it. */
static void
what_is_lost_again(void **state)
{
	static const uint16_t first[][2] = { { 1, 3 } }, second[][2] = { { 1, 4 } };
	const uint32_t psn = PEER_SQ_PSN + 6;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	learn_sacks(&p, PEER_SQ_PSN);
	post_writes(&p, 0, psn, 4);
	assert_int_equal(sack(&p, psn, psn, first, 1), UROCE_OK);
	expect_write(&p, psn, true);
	post_writes(&p, 4, psn + 4, 1);
	assert_int_equal(sack(&p, psn, psn, second, 1), UROCE_OK);
	expect_write(&p, psn, true);
	peer_expect_nothing(&p);
	assert_int_equal(sack(&p, psn, psn, second, 1), UROCE_OK);
	peer_expect_nothing(&p);
	assert_int_equal(requester(&p)->retries_left, 7);
	assert_int_equal(ack(&p, UNLIMITED, psn + 4), UROCE_OK);
	expect_writes_done(&p, 0, 5);
	peer_stop(&p);
}

/* A tail of which nothing has come: the answer to an ASK tells. Another probe, if that is lost, and a timeout. */
static void
a_tail_is_asked_for(void **state)
{
	const struct peer_conf conf = { .retry_cnt = 1 };
	const uint32_t psn = PEER_SQ_PSN + 7;
	struct peer_packet out;
	uint64_t start;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	learn_sacks(&p, PEER_SQ_PSN);
	post_writes(&p, 0, psn - 1, 1);	/* one round trip that can be measured */
	p.now_ns += 10000;
	assert_int_equal(ack(&p, UNLIMITED, psn - 1), UROCE_OK);
	expect_writes_done(&p, 0, 1);
	post_writes(&p, 0, psn, 3);
	start = p.now_ns;
	while (!peer_out(&p, &out))
		peer_wait(&p);
	assert_int_equal(out.opcode, UROCE_RC_ASK);
	assert_int_equal(out.psn, psn + 3);
	assert_true(p.now_ns - start >= UROCE_PROBE_MIN_NS);
	assert_true(p.now_ns - start <= 4 * UROCE_PROBE_MIN_NS);
	assert_int_equal(sack(&p, psn + 1, psn + 3, NULL, 0), UROCE_OK);
	expect_write(&p, psn + 1, true);
	expect_write(&p, psn + 2, true);
	peer_expect_nothing(&p);
	assert_int_equal(requester(&p)->retries_left, 1);
	/* both are lost again, and so are ASKs: further and further apart, up to the timeout, which counts */
	start = p.now_ns;
	for (unsigned int asks = 0;; asks++) {
		while (!peer_out(&p, &out))
			peer_wait(&p);
		if (out.opcode != UROCE_RC_ASK) {
			assert_true(asks > 3 && asks < 12);
			break;
		}
	}
	assert_int_equal(p.engine.counters[UROCE_TIMEOUTS], 1);
	assert_true(p.now_ns - start >= 4096ull << 14);
	assert_int_equal(requester(&p)->retries_left, 0);
	assert_int_equal(out.psn, psn + 1);
	expect_write(&p, psn + 2, true);
	assert_int_equal(ack(&p, UNLIMITED, psn + 2), UROCE_OK);
	expect_writes_done(&p, 0, 3);
	peer_stop(&p);
}

/* A peer that forgets what it has told: the next answer to an ASK is believed, not the earlier ones. */
static void
a_peer_that_reneges(void **state)
{
	static const uint16_t runs[][2] = { { 1, 3 } };
	const uint32_t psn = PEER_SQ_PSN + 6;
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	learn_sacks(&p, PEER_SQ_PSN);
	post_writes(&p, 0, psn, 4);
	assert_int_equal(sack(&p, psn, psn, runs, 1), UROCE_OK);
	expect_write(&p, psn, true);
	while (!peer_out(&p, &out))
		peer_wait(&p);
	assert_int_equal(out.opcode, UROCE_RC_ASK);
	assert_int_equal(sack(&p, psn + 1, psn + 4, NULL, 0), UROCE_OK);
	for (uint32_t i = 1; i < 4; i++)
		expect_write(&p, psn + i, true);
	peer_expect_nothing(&p);
	assert_int_equal(ack(&p, UNLIMITED, psn + 3), UROCE_OK);
	expect_writes_done(&p, 0, 4);
	peer_stop(&p);
}

/* Nothing that was not sent is believed, and nothing changes. */
static void
sacks_of_a_hostile_peer(void **state)
{
	static const struct { uint32_t psn, asked; uint16_t runs[2][2]; unsigned int n; } wrong[] = {
		{ 0, 0, { { 0, 1 } }, 1 },			/* no gap */
		{ 0, 0, { { 1, 0 } }, 1 },			/* nothing */
		{ 0, 0, { { 1, 4 } }, 1 },			/* beyond what was sent */
		{ 0, 0, { { 4, 1 } }, 1 },
		{ 0, 0, { { 1, UINT16_MAX } }, 1 },
		{ 0, 0, { { UINT16_MAX, UINT16_MAX } }, 1 },
		{ 0, 0, { { 1, 1 }, { 2, 1 } }, 2 },		/* no gap between them */
		{ 0, 0, { { 2, 1 }, { 1, 1 } }, 2 },		/* descending */
		{ 2, 0, { { 1, 2 } }, 1 },
		{ 5, 0, { { 0, 0 } }, 0 },			/* expects what was not sent */
		{ 0, 5, { { 0, 0 } }, 0 },			/* was asked what nobody asked */
		{ 0, 0x7ffff0, { { 0, 0 } }, 0 },
	};
	const uint32_t psn = PEER_SQ_PSN + 6;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	learn_sacks(&p, PEER_SQ_PSN);
	post_writes(&p, 0, psn, 4);
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		assert_int_equal(sack(&p, psn + wrong[i].psn, psn + wrong[i].asked, wrong[i].runs, wrong[i].n),
				 UROCE_DROP_SACK);
		assert_null(requester(&p)->recovery);
	}
	struct peer_packet in = { .opcode = UROCE_RC_SACK, .psn = psn, .syndrome = NAK_SEQUENCE, .payload_bytes = 4 };
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_SACK);
	/* late: before what is acknowledged */
	assert_int_equal(sack(&p, psn - 1, psn, NULL, 0), UROCE_DROP_ACK_UNEXPECTED);
	peer_expect_nothing(&p);
	peer_expect_no_wc(p.send_cq);
	assert_int_equal(ack(&p, UNLIMITED, psn + 3), UROCE_OK);
	expect_writes_done(&p, 0, 4);
	peer_stop(&p);
}

/* A device that goes back N takes no SACK. */
static void
a_device_that_goes_back_n(void **state)
{
	const struct peer_conf conf = { .go_back_n = true };
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	post_writes(&p, 0, PEER_SQ_PSN, 3);
	assert_int_equal(sack(&p, PEER_SQ_PSN, PEER_SQ_PSN + 3, NULL, 0), UROCE_DROP_OPCODE);
	assert_int_equal(ack(&p, NAK_SEQUENCE, PEER_SQ_PSN + 1), UROCE_OK);
	expect_write(&p, PEER_SQ_PSN + 1, true);
	expect_write(&p, PEER_SQ_PSN + 2, true);
	while (!peer_out(&p, &out))
		peer_wait(&p);
	assert_int_equal(p.engine.counters[UROCE_TIMEOUTS], 1);
	assert_int_equal(p.engine.counters[UROCE_PROBES], 0);
	peer_stop(&p);
}

static void
nothing_left_to_recover_with(void **state)
{
	static const uint16_t runs[][2] = { { 1, 2 } };
	const uint32_t psn = PEER_SQ_PSN + 6;
	struct uroce_recovery *all;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	learn_sacks(&p, PEER_SQ_PSN);
	all = p.engine.recoveries.free;
	p.engine.recoveries.free = NULL;
	post_writes(&p, 0, psn, 3);
	assert_int_equal(ack(&p, NAK_SEQUENCE, psn), UROCE_OK);
	for (uint32_t i = 0; i < 3; i++)
		expect_write(&p, psn + i, true);
	assert_int_equal(sack(&p, psn, psn, runs, 1), UROCE_OK);
	peer_expect_nothing(&p);
	assert_int_equal(ack(&p, UNLIMITED, psn + 2), UROCE_OK);
	expect_writes_done(&p, 0, 3);
	p.engine.recoveries.free = all;
	peer_stop(&p);
}

/* While it recovers, what has come leaves room for new packets. */
static void
the_window_goes_on(void **state)
{
	struct peer_conf conf = { .mtu = IBV_MTU_256 };
	const uint32_t psn = PEER_SQ_PSN + 6;
	uint16_t run[1][2] = { { 1, 0 } };
	struct peer_packet out;
	uint32_t next = psn;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	learn_sacks(&p, PEER_SQ_PSN);
	for (uint64_t i = 0; i < 8; i++)
		peer_post(&p, IBV_WR_RDMA_WRITE, 0, PEER_BUFFER_BYTES, i, 0);	/* 256 packets each */
	for (;;) {
		while (peer_out(&p, &out)) {
			if (out.psn == psn && next > psn)
				continue;
			assert_int_equal(out.psn, next++);
		}
		assert_true(next - psn <= UROCE_EARLY_WINDOW - 1);
		assert_true(next - psn - run[0][1] <= UROCE_WINDOW_PACKETS);
		if (next - psn == UROCE_EARLY_WINDOW - 1)
			break;
		assert_int_equal(next - psn - run[0][1], UROCE_WINDOW_PACKETS);
		run[0][1] = (uint16_t)(next - psn - 1);
		assert_int_equal(sack(&p, psn, psn, run, 1), UROCE_OK);
	}
	assert_int_equal(ack(&p, UNLIMITED, next - 1), UROCE_OK);
	assert_null(requester(&p)->recovery);
	peer_stop(&p);
}

/* More holes than can be on their way again: the others follow when these have come. */
static void
more_holes_than_may_be_resent(void **state)
{
	struct peer_conf conf = { .mtu = IBV_MTU_256 };
	const uint32_t psn = PEER_SQ_PSN + 6;
	static const uint16_t run[][2] = { { 200, 1 } };
	static const uint16_t none[1][2];
	struct peer_packet out;
	struct peer p;
	uint32_t n;

	(void)state;
	peer_start(&p, &conf);
	learn_sacks(&p, PEER_SQ_PSN);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, PEER_BUFFER_BYTES, 0, 0);
	for (n = 0; peer_out(&p, &out); n++)
		;
	assert_int_equal(n, 256);
	assert_int_equal(sack(&p, psn, psn, run, 1), UROCE_OK);
	for (n = 0; peer_out(&p, &out); n++)
		assert_int_equal(out.psn, psn + n);
	assert_int_equal(n, UROCE_RESENT);
	assert_int_equal(sack(&p, psn + 100, psn, none, 0), UROCE_OK);
	for (; peer_out(&p, &out); n++)
		assert_int_equal(out.psn, psn + n);
	assert_int_equal(n, 200);
	assert_int_equal(ack(&p, UNLIMITED, psn + 255), UROCE_OK);
	expect_writes_done(&p, 0, 1);
	peer_stop(&p);
}

/* Responses behind one that is lost are placed, and only that is asked for. */
static void
a_response_in_the_middle(void **state)
{
	struct peer_conf conf = { .sq_psn = WRAPPING };
	struct peer_packet out;
	uint8_t data[6000];
	struct peer p;

	(void)state;
	for (unsigned int i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / 1000);
	peer_start(&p, &conf);
	peer_post(&p, IBV_WR_RDMA_READ, 100, 6000, 1, 0);
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	peer_expect(&p, UROCE_RC_READ_REQUEST, WRAPPING);
	peer_expect(&p, UROCE_RC_SEND_ONLY, 0);
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_FIRST, WRAPPING, data, 1024), UROCE_OK);
	/* two are lost */
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_MIDDLE, WRAPPING + 3, data + 3072, 1024), UROCE_RESPONSE_GAP);
	assert_memory_equal(p.buffer + 100 + 3072, data + 3072, 1024);
	out = peer_expect(&p, UROCE_RC_READ_REQUEST, WRAPPING + 1);
	assert_int_equal(out.va, 0x7000 + 1024);
	assert_int_equal(out.dma_len, 2048);
	peer_expect_nothing(&p);
	/* each once */
	memset(p.buffer + 100 + 3072, 0xee, 1024);
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_MIDDLE, WRAPPING + 3, data + 3072, 1024),
			 UROCE_DROP_RESPONSE_DUPLICATE);
	assert_int_equal(p.buffer[100 + 3072], 0xee);
	memcpy(p.buffer + 100 + 3072, data + 3072, 1024);
	/* and one more, and what acknowledges the SEND behind them does not complete anything (R37) */
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_LAST, WRAPPING + 5, data + 5120, 880), UROCE_RESPONSE_GAP);
	assert_int_equal(ack(&p, UNLIMITED, WRAPPING + 6), UROCE_RESPONSE_GAP);
	out = peer_expect(&p, UROCE_RC_READ_REQUEST, WRAPPING + 4);
	assert_int_equal(out.dma_len, 1024);
	peer_expect_nothing(&p);
	peer_expect_no_wc(p.send_cq);
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_FIRST, WRAPPING + 1, data + 1024, 1024), UROCE_OK);
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_LAST, WRAPPING + 2, data + 2048, 1024), UROCE_OK);
	peer_expect_no_wc(p.send_cq);
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_ONLY, WRAPPING + 4, data + 4096, 1024), UROCE_OK);
	expect_writes_done(&p, 1, 2);
	assert_memory_equal(p.buffer + 100, data, 6000);
	assert_null(requester(&p)->recovery);
	peer_stop(&p);
}

/* The request of a READ is lost: the peer has to have it as it was. */
static void
the_request_of_a_read(void **state)
{
	static const uint16_t runs[][2] = { { 3, 1 } };
	const uint32_t psn = PEER_SQ_PSN + 6;
	static const uint8_t data[1024];
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	learn_sacks(&p, PEER_SQ_PSN);
	peer_post(&p, IBV_WR_RDMA_READ, 0, 3000, 1, 0);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 2, 0);
	peer_expect(&p, UROCE_RC_READ_REQUEST, psn);
	expect_write(&p, psn + 3, true);
	assert_int_equal(sack(&p, psn, psn, runs, 1), UROCE_OK);
	out = peer_expect(&p, UROCE_RC_READ_REQUEST, psn);
	assert_int_equal(out.dma_len, 3000);
	assert_int_equal(out.va, 0x7000);
	peer_expect_nothing(&p);
	/* no more than one answer after the other is missing then */
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_FIRST, psn, data, 1024), UROCE_OK);
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_MIDDLE, psn + 1, data, 1024), UROCE_OK);
	peer_expect_nothing(&p);
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_LAST, psn + 2, data, 952), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	assert_int_equal(ack(&p, UNLIMITED, psn + 3), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 2);
	peer_stop(&p);
}

/* A NAK of a request behind a response that is missing is not forgotten for that. */
static void
a_nak_behind_a_missing_response(void **state)
{
	static const uint8_t data[1024];
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint64_t i = 0; i < 4; i++)
		peer_post(&p, IBV_WR_RDMA_READ, 1024 * (uint32_t)i, 8, i, 0);
	for (uint32_t i = 0; i < 4; i++)
		peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN + i);
	/* the first response is lost, and the third request */
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_SQ_PSN + 1, data, 8), UROCE_RESPONSE_GAP);
	assert_int_equal(ack(&p, NAK_SEQUENCE, PEER_SQ_PSN + 2), UROCE_RESPONSE_GAP);
	assert_int_equal(ack(&p, NAK_SEQUENCE, PEER_SQ_PSN + 2), UROCE_RESPONSE_GAP);
	out = peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN + 2);
	assert_int_equal(out.dma_len, 8);
	peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN);
	peer_expect_nothing(&p);
	assert_int_equal(requester(&p)->retries_left, 7);
	for (uint32_t i = 2; i < 4; i++)
		assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_SQ_PSN + i, data, 8), UROCE_RESPONSE_GAP);
	peer_expect_no_wc(p.send_cq);
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_SQ_PSN, data, 8), UROCE_OK);
	expect_writes_done(&p, 0, 4);
	assert_null(requester(&p)->recovery);
	peer_stop(&p);
}

/* Atomics are sent again as they were; a fence waits until they are answered. */
static void
atomics_and_fences(void **state)
{
	const uint32_t psn = PEER_SQ_PSN;
	struct peer_packet in = { .opcode = UROCE_RC_ATOMIC_ACKNOWLEDGE, .psn = psn + 1, .syndrome = UNLIMITED,
				  .original = 42 };
	struct peer_packet out;
	uint64_t value;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post(&p, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, 1, 0);
	peer_post(&p, IBV_WR_ATOMIC_CMP_AND_SWP, 8, 8, 2, 0);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 3, IBV_SEND_FENCE);
	peer_expect(&p, UROCE_RC_FETCH_ADD, psn);
	peer_expect(&p, UROCE_RC_CMP_SWAP, psn + 1);
	peer_expect_nothing(&p);
	assert_int_equal(peer_in(&p, &in), UROCE_RESPONSE_GAP);
	memcpy(&value, p.buffer + 8, sizeof(value));
	assert_int_equal(value, 42);
	out = peer_expect(&p, UROCE_RC_FETCH_ADD, psn);
	assert_int_equal(out.swap_add, 0x0102030405060708);
	peer_expect_nothing(&p);
	peer_expect_no_wc(p.send_cq);
	in.psn = psn;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 2);
	expect_write(&p, psn + 2, true);
	assert_int_equal(ack(&p, UNLIMITED, psn + 2), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 3);
	peer_stop(&p);
}

/* An early response that is not what was asked for does nothing; with the PSN that is expected it ends the QP. */
static void
bad_responses_that_are_early(void **state)
{
	static const uint8_t data[1024] = { 1 };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post(&p, IBV_WR_RDMA_READ, 0, 3072, 1, 0);
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	peer_post(&p, IBV_WR_RDMA_READ, 4096, 8, 3, 0);
	peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN + 3);
	peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN + 4);
	memset(p.buffer, 0xee, 4200);
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_SQ_PSN + 3, data, 8), UROCE_BAD_RESPONSE);
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_MIDDLE, PEER_SQ_PSN + 1, data, 1000), UROCE_RESPONSE_GAP);
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_SQ_PSN + 4, data, 9), UROCE_RESPONSE_GAP);
	for (unsigned int i = 0; i < 4200; i++)
		assert_int_equal(p.buffer[i], 0xee);
	peer_expect_no_wc(p.send_cq);
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_MIDDLE, PEER_SQ_PSN, data, 1000), UROCE_BAD_RESPONSE);
	peer_expect_wc(p.send_cq, IBV_WC_BAD_RESP_ERR, 1);
	assert_null(requester(&p)->recovery);
	peer_stop(&p);
}

/* RNR in the middle: what is known is forgotten, and all is sent again when the wait is over. */
static void
rnr_in_the_middle(void **state)
{
	static const uint16_t runs[][2] = { { 1, 1 }, { 3, 1 } };
	const uint32_t psn = PEER_SQ_PSN + 6;
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	learn_sacks(&p, PEER_SQ_PSN);
	post_writes(&p, 0, psn, 5);
	assert_int_equal(sack(&p, psn, psn, runs, 2), UROCE_OK);
	expect_write(&p, psn, true);
	expect_write(&p, psn + 2, true);
	assert_int_equal(ack(&p, UROCE_AETH_RNR_NAK | 12, psn + 1), UROCE_OK);
	assert_null(requester(&p)->recovery);
	peer_expect_nothing(&p);
	assert_int_equal(sack(&p, psn + 1, psn, runs, 1), UROCE_OK);
	peer_expect_nothing(&p);
	while (!peer_out(&p, &out))
		peer_wait(&p);
	assert_int_equal(out.psn, psn + 1);
	for (uint32_t i = 2; i < 5; i++)
		expect_write(&p, psn + i, true);
	peer_expect_nothing(&p);
	assert_int_equal(ack(&p, UNLIMITED, psn + 4), UROCE_OK);
	expect_writes_done(&p, 0, 5);
	peer_stop(&p);
}

/* SQD ends what has begun, with what it needs of it again. */
static void
a_queue_that_drains(void **state)
{
	static const uint16_t runs[][2] = { { 1, 2 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	const uint32_t psn = PEER_SQ_PSN + 6;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	learn_sacks(&p, PEER_SQ_PSN);
	post_writes(&p, 0, psn, 3);
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 3, 0);
	assert_int_equal(sack(&p, psn, psn, runs, 1), UROCE_OK);
	expect_write(&p, psn, true);
	peer_expect_nothing(&p);
	assert_int_equal(ack(&p, UNLIMITED, psn + 2), UROCE_OK);
	expect_writes_done(&p, 0, 3);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	expect_write(&p, psn + 3, true);
	peer_stop(&p);
}

/* What was learned of a peer is not what the next one does. */
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
	learn_sacks(&p, PEER_SQ_PSN);
	post_writes(&p, 0, psn, 3);
	assert_int_equal(sack(&p, psn, psn, runs, 1), UROCE_OK);
	assert_int_equal(p.engine.recoveries.lent, 1);
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(p.engine.recoveries.lent, 0);
	peer_connect(p.qp, &conf);
	assert_int_equal(requester(&p)->peer, UROCE_PEER_UNKNOWN);
	post_writes(&p, 10, 0x5000, 3);
	assert_int_equal(ack(&p, NAK_SEQUENCE, 0x5000), UROCE_OK);
	expect_write(&p, 0x5000, true);
	peer_expect_nothing(&p);
	assert_int_equal(p.engine.counters[UROCE_SENT_ASKS], 1);	/* that of before */
	/* gone in the middle of it */
	peer_stop(&p);
}

/* The memory of what is to be sent again has gone: it fails in its turn. */
static void
memory_that_has_gone(void **state)
{
	static const uint16_t runs[][2] = { { 1, 2 } };
	const uint32_t psn = PEER_SQ_PSN + 6;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	learn_sacks(&p, PEER_SQ_PSN);
	post_writes(&p, 0, psn, 3);
	assert_int_equal(uroce_dereg_mr(p.mr), 0);
	p.mr = NULL;
	assert_int_equal(sack(&p, psn, psn, runs, 1), UROCE_OK);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_LOC_PROT_ERR, 0);
	peer_expect_wc(p.send_cq, IBV_WC_WR_FLUSH_ERR, 1);
	peer_expect_wc(p.send_cq, IBV_WC_WR_FLUSH_ERR, 2);
	peer_stop(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_that_keeps_is_found_out),
		cmocka_unit_test(a_plain_peer_is_found_out),
		cmocka_unit_test(a_leap_over_what_was_sent_twice),
		cmocka_unit_test(holes_between_runs),
		cmocka_unit_test(what_is_lost_again),
		cmocka_unit_test(a_tail_is_asked_for),
		cmocka_unit_test(a_peer_that_reneges),
		cmocka_unit_test(sacks_of_a_hostile_peer),
		cmocka_unit_test(a_device_that_goes_back_n),
		cmocka_unit_test(nothing_left_to_recover_with),
		cmocka_unit_test(the_window_goes_on),
		cmocka_unit_test(more_holes_than_may_be_resent),
		cmocka_unit_test(a_response_in_the_middle),
		cmocka_unit_test(the_request_of_a_read),
		cmocka_unit_test(a_nak_behind_a_missing_response),
		cmocka_unit_test(atomics_and_fences),
		cmocka_unit_test(bad_responses_that_are_early),
		cmocka_unit_test(rnr_in_the_middle),
		cmocka_unit_test(a_queue_that_drains),
		cmocka_unit_test(another_peer),
		cmocka_unit_test(memory_that_has_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
