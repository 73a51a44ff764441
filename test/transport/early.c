/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Requests that come before their turn: kept within bounds, executed in their turn and not before, told of, and given
 * back.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>
#include <rte_common.h>

#include "peer.h"
#include "uroce_config.h"
#include "wire/psn.h"
#include "wire/sack.h"

#define UNLIMITED (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)
#define NAK(code) (UROCE_AETH_NAK | (code))
#define SEQUENCE NAK(UROCE_NAK_PSN_SEQUENCE_ERROR)
#define PSN(i) ((PEER_RQ_PSN + (i)) & UROCE_PSN_MASK)
#define MTU 1024

static uint8_t pattern[8 * MTU];

static struct peer_packet
write_only(const struct peer *p, uint32_t psn, uint32_t offset)
{
	return (struct peer_packet){
		.opcode = UROCE_RC_WRITE_ONLY, .psn = psn, .rkey = p->mr->rkey,
		.va = (uintptr_t)p->buffer + offset, .dma_len = 8, .payload = pattern + 1, .payload_bytes = 8,
	};
}

static enum uroce_verdict
in_write(struct peer *p, uint32_t psn, bool ack_req)
{
	struct peer_packet in = write_only(p, psn, 8 * (psn & 1023));

	in.ack_req = ack_req;
	return peer_in(p, &in);
}

/* The one that is missing; what it makes possible has verdicts of its own. */
static void
close_gap(struct peer *p, uint32_t psn)
{
	struct peer_packet in = write_only(p, psn, 8 * (psn & 1023));
	uint64_t ok = p->engine.verdicts[UROCE_OK];

	peer_in_burst(p, &in, 1);
	assert_int_equal(p->engine.verdicts[UROCE_OK], ok + 1);
}

static enum uroce_verdict
in_ask(struct peer *p, uint32_t psn)
{
	struct peer_packet in = { .opcode = UROCE_RC_ASK, .psn = psn };

	return peer_in(p, &in);
}

static unsigned int
kept(const struct peer *p)
{
	return UROCE_EARLY_FRAMES - p->engine.early.frames_free;
}

static bool
is_written(const struct peer *p, uint32_t psn)
{
	return memcmp(p->buffer + 8 * (psn & 1023), pattern + 1, 8) == 0;
}

static uint64_t
counter(const struct peer *p, enum uroce_engine_counter c)
{
	return p->engine.counters[c];
}

static void
drain(struct peer *p)
{
	struct peer_packet out;

	while (peer_out(p, &out))
		;
}

/* ---- every order of five packets ---- */

/* Packet `i` of five, of a kind of message. @return how many PSNs it takes */
typedef uint32_t (*make_t)(const struct peer *p, unsigned int i, struct peer_packet *in);

static uint32_t
make_message(const struct peer *p, unsigned int i, struct peer_packet *in, uint8_t first)
{
	*in = (struct peer_packet){
		.opcode = (uint8_t)(first + (i == 0 ? 0 : i == 4 ? 2 : 1)), .va = (uintptr_t)p->buffer,
		.rkey = p->mr->rkey, .dma_len = 4 * MTU + 5, .payload = pattern + i * MTU,
		.payload_bytes = i == 4 ? 5 : MTU, .ack_req = i == 4,
	};
	return 1;
}

static uint32_t
make_write(const struct peer *p, unsigned int i, struct peer_packet *in)
{
	return make_message(p, i, in, UROCE_RC_WRITE_FIRST);
}

static uint32_t
make_send(const struct peer *p, unsigned int i, struct peer_packet *in)
{
	return make_message(p, i, in, UROCE_RC_SEND_FIRST);
}

static uint32_t
make_onlies(const struct peer *p, unsigned int i, struct peer_packet *in, uint8_t opcode)
{
	*in = (struct peer_packet){
		.opcode = opcode, .va = (uintptr_t)p->buffer + i * MTU, .rkey = p->mr->rkey, .dma_len = MTU,
		.payload = pattern + i * MTU, .payload_bytes = MTU, .ack_req = true,
	};
	return 1;
}

static uint32_t
make_write_onlies(const struct peer *p, unsigned int i, struct peer_packet *in)
{
	return make_onlies(p, i, in, UROCE_RC_WRITE_ONLY);
}

static uint32_t
make_write_imms(const struct peer *p, unsigned int i, struct peer_packet *in)
{
	make_onlies(p, i, in, UROCE_RC_WRITE_ONLY_IMM);
	in->imm = i;
	return 1;
}

static uint32_t
make_send_onlies(const struct peer *p, unsigned int i, struct peer_packet *in)
{
	return make_onlies(p, i, in, UROCE_RC_SEND_ONLY);
}

/* READs of 1, 2, 3, 1 and 2 packets. */
static uint32_t
make_reads(const struct peer *p, unsigned int i, struct peer_packet *in)
{
	uint32_t packets = i % 3 + 1;

	*in = (struct peer_packet){ .opcode = UROCE_RC_READ_REQUEST, .va = (uintptr_t)p->buffer,
				    .rkey = p->mr->rkey, .dma_len = packets * MTU };
	return packets;
}

static uint32_t
make_mixed(const struct peer *p, unsigned int i, struct peer_packet *in)
{
	static const uint8_t opcodes[] = { UROCE_RC_FETCH_ADD, UROCE_RC_WRITE_ONLY, UROCE_RC_READ_REQUEST,
					   UROCE_RC_ATOMIC_WRITE, UROCE_RC_FLUSH };

	*in = (struct peer_packet){ .opcode = opcodes[i], .va = (uintptr_t)p->buffer + i * MTU,
				    .rkey = p->mr->rkey, .swap_add = 1, .ack_req = true };
	if (i == 1 || i == 3) {
		in->dma_len = in->payload_bytes = 8;
		in->payload = pattern + i * MTU;
	} else if (i == 2) {
		in->dma_len = 3 * MTU;
	} else if (i == 4) {
		in->feth = IBV_FLUSH_GLOBAL | IBV_FLUSH_RANGE << 4;
		in->dma_len = 8;
	}
	return i == 2 ? 3 : 1;
}

/* The k-th order of 0..4. */
static void
order_of(unsigned int k, unsigned int order[5])
{
	unsigned int left[5] = { 0, 1, 2, 3, 4 };

	for (unsigned int i = 0, n = 5; n > 0; i++, k /= n, n--) {
		unsigned int j = k % n;

		order[i] = left[j];
		memmove(&left[j], &left[j + 1], (n - 1 - j) * sizeof(left[0]));
	}
}

/* Execution shows in the MSN, and in the PSN that is expected: both are what the packets without a gap amount to. */
static void
check_in_turn(const struct peer *p, const uint32_t *psns, const bool *here, uint32_t first, uint32_t msn,
	      bool message)
{
	const struct uroce_responder *resp = &uroce_qp_of(p->qp)->resp;
	unsigned int run = 0, beyond = 0;
	uint32_t psn = first;

	for (; run < 5 && here[run]; run++)
		psn = uroce_psn_add(psn, psns[run]);
	for (unsigned int i = run; i < 5; i++)
		beyond += here[i];
	assert_int_equal(resp->psn, psn);
	assert_int_equal(resp->msn, message ? msn + (run == 5) : msn + run);
	assert_int_equal(kept(p), beyond);
}

static uint32_t
one_order(struct peer *p, make_t make, unsigned int k, uint32_t first, uint32_t msn, bool message)
{
	struct peer_packet in[5], out, last = { 0 };
	uint32_t psns[5], psn = first;
	bool here[5] = { false };
	unsigned int order[5];

	for (unsigned int i = 0; i < 5; i++) {
		psns[i] = make(p, i, &in[i]);
		in[i].psn = psn;
		psn = uroce_psn_add(psn, psns[i]);
	}
	order_of(k, order);
	for (unsigned int i = 0; i < 5; i++) {
		enum uroce_verdict v = peer_in(p, &in[order[i]]);
		bool ahead = false;

		for (unsigned int j = 0; j < order[i]; j++)
			ahead |= !here[j];
		assert_int_equal(v, ahead ? UROCE_EARLY : UROCE_OK);
		here[order[i]] = true;
		check_in_turn(p, psns, here, first, msn, message);
		while (k % 2 != 0 && peer_out(p, &out))	/* as a burst, and one by one */
			last = out;
	}
	while (peer_out(p, &out))
		last = out;
	assert_int_equal(last.psn, uroce_psn_add(psn, UROCE_PSN_MASK));	/* all of it is answered */
	assert_int_not_equal(last.syndrome, SEQUENCE);
	return psn;
}

static void
orders(make_t make, bool message, unsigned int recvs)
{
	struct peer_conf conf = { .rq_psn = 0xffff80, .max_rd_atomic = 16 };	/* R11: they wrap on the way */
	uint32_t psn = conf.rq_psn, msn = 0;
	struct ibv_wc wc;
	struct peer p;

	peer_start(&p, &conf);
	for (unsigned int k = 0; k < 120; k++) {
		memset(p.buffer, 0, 8 * MTU);
		for (unsigned int i = 0; i < recvs; i++)
			peer_post_recv(&p, i * MTU, message ? 5 * MTU : MTU, i);
		psn = one_order(&p, make, k, psn, msn, message);
		msn += message ? 1 : 5;
		for (unsigned int i = 0; i < recvs; i++) {
			wc = peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, i);
			assert_int_equal(wc.byte_len, message ? 4 * MTU + 5 : MTU);
		}
		peer_expect_no_wc(p.recv_cq);
		if (make == make_mixed)
			assert_int_equal(*(uint64_t *)p.buffer, 1);
		else if (make != make_reads)
			assert_memory_equal(p.buffer, pattern, message ? 4 * MTU + 5 : 5 * MTU);
	}
	assert_true(uroce_psn_diff(psn, conf.rq_psn) > 0 && psn < conf.rq_psn);
	assert_int_equal(counter(&p, UROCE_EARLY_DROPPED), 0);
	peer_stop(&p);
}

static void
every_order_is_executed_in_turn(void **state)
{
	(void)state;
	orders(make_write, true, 0);
	orders(make_send, true, 1);
	orders(make_write_onlies, false, 0);
	orders(make_write_imms, false, 5);
	orders(make_send_onlies, false, 5);
	orders(make_reads, false, 0);
	orders(make_mixed, false, 0);
}

/* ---- bounds ---- */

static void
the_window_has_an_end(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(in_write(&p, PSN(UROCE_EARLY_WINDOW), false), UROCE_NAK_SEQUENCE);
	peer_expect_ack(&p, SEQUENCE, PSN(0), 0);
	assert_int_equal(in_write(&p, PSN(UROCE_EARLY_WINDOW), false), UROCE_DROP_AHEAD);
	assert_int_equal(in_write(&p, PSN(0x7fffff), false), UROCE_DROP_AHEAD);
	assert_int_equal(kept(&p), 0);
	assert_int_equal(in_write(&p, PSN(UROCE_EARLY_WINDOW - 1), false), UROCE_EARLY);
	assert_int_equal(in_write(&p, PSN(UROCE_EARLY_WINDOW), false), UROCE_DROP_AHEAD);
	assert_int_equal(kept(&p), 1);
	/* the window moves */
	assert_int_equal(in_write(&p, PSN(0), false), UROCE_OK);
	assert_int_equal(in_write(&p, PSN(UROCE_EARLY_WINDOW), false), UROCE_EARLY);
	for (uint32_t i = 1; i < UROCE_EARLY_WINDOW - 1; i++)
		assert_int_equal(in_write(&p, PSN(i), false), UROCE_OK);
	assert_int_equal(kept(&p), 0);
	drain(&p);
	assert_int_equal(uroce_qp_of(p.qp)->resp.psn, PSN(UROCE_EARLY_WINDOW + 1));
	peer_stop(&p);
}

static void
an_engine_keeps_so_many_frames(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	p.engine.early.frames_free -= UROCE_EARLY_FRAMES - 3;	/* as if others had them */
	for (uint32_t i = 1; i <= 3; i++)
		assert_int_equal(in_write(&p, PSN(i), false), UROCE_EARLY);
	assert_int_equal(in_write(&p, PSN(4), false), UROCE_DROP_AHEAD);
	assert_int_equal(in_write(&p, PSN(5), false), UROCE_DROP_AHEAD);
	peer_expect_ack(&p, SEQUENCE, PSN(0), 0);
	/* what came and was not kept is missed at once */
	assert_int_equal(in_write(&p, PSN(0), false), UROCE_OK);
	peer_expect_ack(&p, SEQUENCE, PSN(4), 4);
	assert_int_equal(p.engine.early.frames_free, 3);
	p.engine.early.frames_free += UROCE_EARLY_FRAMES - 3;
	peer_stop(&p);
}

static void
an_engine_keeps_of_so_many_qps(void **state)
{
	struct uroce_early_list others;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	TAILQ_INIT(&others);
	TAILQ_CONCAT(&others, &p.engine.early.free, link);
	assert_int_equal(in_write(&p, PSN(1), false), UROCE_NAK_SEQUENCE);
	assert_int_equal(in_write(&p, PSN(2), false), UROCE_DROP_AHEAD);
	peer_expect_ack(&p, SEQUENCE, PSN(0), 0);
	TAILQ_CONCAT(&p.engine.early.free, &others, link);
	assert_int_equal(in_write(&p, PSN(2), false), UROCE_EARLY);
	peer_stop(&p);
}

static void
a_pool_is_not_emptied(void **state)
{
	unsigned int least, n = 0;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint32_t i = 1; i < UROCE_EARLY_WINDOW; i++)
		n += in_write(&p, PSN(i), false) == UROCE_EARLY;
	least = p.payloads->size / UROCE_EARLY_SPARE + 2 * UROCE_BURST;
	assert_int_equal(n, kept(&p));
	assert_in_range(rte_mempool_avail_count(p.payloads), least - UROCE_EARLY_SPARE_FRAMES - 1, least);
	assert_int_equal(in_write(&p, PSN(0), false), UROCE_OK);
	drain(&p);
	assert_int_equal(uroce_qp_of(p.qp)->resp.psn, PSN(n + 1));
	assert_int_equal(rte_mempool_in_use_count(p.payloads), 0);
	peer_stop(&p);
}

static void
nothing_is_kept_for_ever(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint32_t i = 2; i < 5; i++)
		assert_int_equal(in_write(&p, PSN(i), false), UROCE_EARLY);
	peer_expect_ack(&p, SEQUENCE, PSN(0), 0);
	peer_expect_nothing(&p);
	assert_int_equal(uroce_engine_deadline(&p.engine), p.now_ns + UROCE_EARLY_NS);
	p.now_ns += UROCE_EARLY_NS / 2;
	assert_int_equal(in_write(&p, PSN(0), false), UROCE_OK);	/* something comes: from now on, then */
	drain(&p);
	assert_int_equal(uroce_engine_deadline(&p.engine), p.now_ns + UROCE_EARLY_NS);
	p.now_ns += UROCE_EARLY_NS - 1;
	drain(&p);
	assert_int_equal(kept(&p), 3);
	p.now_ns++;
	drain(&p);
	assert_int_equal(kept(&p), 0);
	assert_int_equal(rte_mempool_in_use_count(p.payloads), 0);
	assert_int_equal(counter(&p, UROCE_EARLY_EXPIRED), 3);
	assert_int_equal(counter(&p, UROCE_EARLY_DROPPED), 3);
	assert_int_equal(uroce_engine_deadline(&p.engine), UINT64_MAX);
	/* it comes again */
	for (uint32_t i = 1; i < 5; i++)
		assert_int_equal(in_write(&p, PSN(i), i == 4), UROCE_OK);
	peer_expect_ack(&p, UNLIMITED, PSN(4), 5);
	peer_stop(&p);
}

static void
modify_state(struct peer *p, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = { .qp_state = to };

	assert_int_equal(uroce_modify_qp(p->qp, &attr, IBV_QP_STATE), 0);
}

static void
what_is_kept_goes_with_the_qp(void **state)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_RESET, IBV_QPS_ERR };
	struct peer p;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(states); i++) {
		peer_start(&p, NULL);
		assert_int_equal(in_write(&p, PSN(1), false), UROCE_EARLY);
		assert_int_equal(in_ask(&p, PSN(2)), UROCE_OK);
		modify_state(&p, states[i]);
		assert_int_equal(kept(&p), 0);
		assert_int_equal(rte_mempool_in_use_count(p.payloads), 0);
		assert_false(uroce_qp_of(p.qp)->resp.selective);
		assert_int_equal(in_ask(&p, PSN(2)), UROCE_DROP_QP_STATE);
		peer_stop(&p);
	}
	peer_start(&p, NULL);
	assert_int_equal(in_write(&p, PSN(1), false), UROCE_EARLY);
	peer_stop(&p);	/* destroys it */
}

/* ---- a peer that is not what it should be ---- */

static void
the_first_of_two_with_one_psn_counts(void **state)
{
	struct peer_packet other;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(in_write(&p, PSN(1), false), UROCE_EARLY);
	other = write_only(&p, PSN(1), 8 * 600);
	assert_int_equal(peer_in(&p, &other), UROCE_DUPLICATE);
	other.opcode = UROCE_RC_FETCH_ADD;
	other.payload_bytes = 0;
	assert_int_equal(peer_in(&p, &other), UROCE_DUPLICATE);
	peer_expect_ack(&p, SEQUENCE, PSN(0), 0);
	assert_int_equal(in_write(&p, PSN(0), false), UROCE_OK);
	peer_expect_ack(&p, UNLIMITED, PSN(1), 2);
	assert_true(is_written(&p, PSN(1)));
	assert_false(is_written(&p, 600));
	peer_stop(&p);
}

static struct peer_packet
read_of(const struct peer *p, uint32_t psn, uint32_t length)
{
	return (struct peer_packet){ .opcode = UROCE_RC_READ_REQUEST, .psn = psn, .rkey = p->mr->rkey,
				     .va = (uintptr_t)p->buffer, .dma_len = length };
}

static void
a_read_of_any_length_is_bounded(void **state)
{
	static const uint32_t lengths[] = { UINT32_MAX, 0x80000001, UROCE_MAX_MSG_BYTES, 1 << 20 };
	struct peer_packet read;
	struct peer p;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(lengths); i++) {
		peer_start(&p, NULL);
		read = read_of(&p, PSN(1), lengths[i]);
		assert_int_equal(peer_in(&p, &read), UROCE_EARLY);
		/* all behind it is its own */
		assert_int_equal(in_write(&p, PSN(UROCE_EARLY_WINDOW - 1), false), UROCE_DUPLICATE);
		assert_int_equal(in_write(&p, PSN(2), false), UROCE_DUPLICATE);
		peer_expect_ack(&p, SEQUENCE, PSN(0), 0);
		assert_int_equal(kept(&p), 1);
		close_gap(&p, PSN(0));
		assert_int_equal(p.engine.verdicts[lengths[i] > UROCE_MAX_MSG_BYTES ? UROCE_NAK_DMA_LEN
										    : UROCE_NAK_ACCESS], 1);
		assert_int_equal(kept(&p), 0);
		drain(&p);
		assert_int_equal(uroce_qp_of(p.qp)->state, IBV_QPS_ERR);
		peer_stop(&p);
	}
}

static void
a_read_and_others_claim_the_same_psns(void **state)
{
	struct peer_packet read;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	/* early: the READ that reaches over what is kept is not kept itself */
	assert_int_equal(in_write(&p, PSN(4), false), UROCE_EARLY);
	read = read_of(&p, PSN(2), 3 * MTU);
	assert_int_equal(peer_in(&p, &read), UROCE_DROP_AHEAD);
	read = read_of(&p, PSN(2), 2 * MTU);
	assert_int_equal(peer_in(&p, &read), UROCE_EARLY);
	assert_int_equal(kept(&p), 2);
	/* in its turn: what lies within its answer is not executed */
	read = read_of(&p, PSN(0), 4 * MTU);
	assert_int_equal(peer_in(&p, &read), UROCE_OK);
	assert_int_equal(counter(&p, UROCE_EARLY_DROPPED), 1);
	assert_int_equal(kept(&p), 0);
	assert_int_equal(uroce_qp_of(p.qp)->resp.psn, PSN(5));
	assert_true(is_written(&p, PSN(4)));
	drain(&p);
	/* the end of a READ's answer alone is nothing that is kept */
	assert_int_equal(in_write(&p, PSN(9), false), UROCE_EARLY);
	read = read_of(&p, PSN(6), 3 * MTU);
	assert_int_equal(peer_in(&p, &read), UROCE_EARLY);
	read = read_of(&p, PSN(5), 2 * MTU);
	assert_int_equal(peer_in(&p, &read), UROCE_OK);
	assert_int_equal(kept(&p), 1);
	assert_int_equal(in_write(&p, PSN(7), false), UROCE_OK);
	assert_int_equal(in_write(&p, PSN(8), false), UROCE_OK);
	assert_int_equal(uroce_qp_of(p.qp)->resp.psn, PSN(10));
	drain(&p);
	peer_stop(&p);
}

static void
what_is_refused_in_its_turn_ends_it(void **state)
{
	struct peer_packet in;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	in = write_only(&p, PSN(2), 0);		/* R13: there is a message under way by then */
	in.opcode = UROCE_RC_WRITE_FIRST;
	in.payload_bytes = MTU;
	in.dma_len = 2 * MTU;
	assert_int_equal(peer_in(&p, &in), UROCE_EARLY);
	in.psn = PSN(1);
	assert_int_equal(peer_in(&p, &in), UROCE_EARLY);
	assert_int_equal(in_write(&p, PSN(3), false), UROCE_EARLY);
	close_gap(&p, PSN(0));
	assert_int_equal(p.engine.verdicts[UROCE_NAK_OPCODE_SEQUENCE], 1);
	assert_int_equal(kept(&p), 0);
	assert_int_equal(counter(&p, UROCE_EARLY_DROPPED), 1);
	assert_int_equal(in_write(&p, PSN(3), false), UROCE_DROP_QP_STATE);
	peer_expect_ack(&p, NAK(UROCE_NAK_INVALID_REQUEST), PSN(2), 1);
	assert_int_equal(uroce_qp_of(p.qp)->state, IBV_QPS_ERR);
	peer_stop(&p);
}

static void
no_receive_within_a_run(void **state)
{
	struct peer_packet send = { .opcode = UROCE_RC_SEND_ONLY, .psn = PSN(2), .ack_req = true,
				    .payload = pattern, .payload_bytes = 8 };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(in_write(&p, PSN(1), false), UROCE_EARLY);
	assert_int_equal(peer_in(&p, &send), UROCE_EARLY);
	assert_int_equal(in_write(&p, PSN(3), false), UROCE_EARLY);
	close_gap(&p, PSN(0));
	assert_int_equal(p.engine.verdicts[UROCE_NAK_RNR], 1);
	peer_expect_ack(&p, UROCE_AETH_RNR_NAK | 12, PSN(2), 2);
	assert_int_equal(kept(&p), 0);
	/* all comes again from there */
	assert_int_equal(in_write(&p, PSN(4), false), UROCE_DROP_AHEAD);
	peer_expect_nothing(&p);
	peer_post_recv(&p, 4096, 64, 1);
	assert_int_equal(peer_in(&p, &send), UROCE_OK);
	assert_int_equal(in_write(&p, PSN(4), false), UROCE_EARLY);
	assert_int_equal(in_write(&p, PSN(3), false), UROCE_OK);
	peer_expect_ack(&p, UNLIMITED & 0xe0, PSN(4), 5);
	peer_stop(&p);
}

/* ---- what the peer is told ---- */

static void
a_gap_that_closes_in_the_burst_is_not_named(void **state)
{
	struct peer_packet in[2];
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	in[0] = write_only(&p, PSN(1), 0);
	in[1] = write_only(&p, PSN(0), 8);
	peer_in_burst(&p, in, 2);
	peer_expect_ack(&p, UNLIMITED, PSN(1), 2);
	peer_expect_nothing(&p);
	assert_int_equal(counter(&p, UROCE_SENT_NAKS), 0);
	peer_stop(&p);
}

static void
each_gap_is_named_once(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(in_write(&p, PSN(1), true), UROCE_EARLY);
	peer_expect_ack(&p, SEQUENCE, PSN(0), 0);
	assert_int_equal(in_write(&p, PSN(4), true), UROCE_EARLY);
	assert_int_equal(in_write(&p, PSN(4), true), UROCE_DUPLICATE);
	peer_expect_nothing(&p);
	assert_false(is_written(&p, PSN(1)));
	assert_int_equal(in_write(&p, PSN(0), true), UROCE_OK);
	peer_expect_ack(&p, SEQUENCE, PSN(2), 2);
	assert_int_equal(in_write(&p, PSN(5), false), UROCE_EARLY);
	peer_expect_nothing(&p);
	/* of a gap of two, one has come: what is missing is known already */
	assert_int_equal(in_write(&p, PSN(2), true), UROCE_OK);
	peer_expect_ack(&p, UNLIMITED, PSN(2), 3);
	assert_int_equal(in_write(&p, PSN(3), false), UROCE_OK);
	peer_expect_ack(&p, UNLIMITED, PSN(5), 6);	/* though nobody asked */
	peer_expect_nothing(&p);
	peer_stop(&p);
}

/* One that sends all again comes to the next gap by itself: a NAK would only have it start once more. */
static void
a_peer_that_goes_back_is_not_sent_back_again(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint32_t i = 1; i < 8; i += 2)
		assert_int_equal(in_write(&p, PSN(i), false), UROCE_EARLY);
	peer_expect_ack(&p, SEQUENCE, PSN(0), 0);
	assert_int_equal(in_write(&p, PSN(0), false), UROCE_OK);
	assert_int_equal(in_write(&p, PSN(1), false), UROCE_DUPLICATE);	/* in one burst: it does go back */
	peer_expect_ack(&p, UNLIMITED, PSN(1), 2);
	assert_int_equal(in_write(&p, PSN(2), false), UROCE_OK);
	peer_expect_ack(&p, UNLIMITED, PSN(3), 4);
	assert_int_equal(in_write(&p, PSN(3), false), UROCE_DUPLICATE);
	peer_expect_ack(&p, UNLIMITED, PSN(3), 4);
	/* what it has sent again is lost again */
	assert_int_equal(in_write(&p, PSN(5), false), UROCE_DUPLICATE);
	peer_expect_ack(&p, SEQUENCE, PSN(4), 4);
	assert_int_equal(in_write(&p, PSN(4), false), UROCE_OK);
	peer_expect_ack(&p, UNLIMITED, PSN(5), 6);
	/* here it does not */
	assert_int_equal(in_write(&p, PSN(8), false), UROCE_EARLY);
	peer_expect_ack(&p, SEQUENCE, PSN(6), 6);
	assert_int_equal(in_write(&p, PSN(10), false), UROCE_EARLY);
	assert_int_equal(in_write(&p, PSN(6), false), UROCE_OK);
	peer_expect_ack(&p, SEQUENCE, PSN(9), 9);
	peer_stop(&p);
}

static void
go_back_n_keeps_nothing(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	p.dev.go_back_n = true;
	assert_int_equal(in_ask(&p, PSN(0)), UROCE_DROP_OPCODE);
	assert_int_equal(in_write(&p, PSN(1), false), UROCE_NAK_SEQUENCE);
	assert_int_equal(in_write(&p, PSN(2), false), UROCE_DROP_AHEAD);
	assert_int_equal(kept(&p), 0);
	peer_expect_ack(&p, SEQUENCE, PSN(0), 0);
	assert_int_equal(in_write(&p, PSN(0), true), UROCE_OK);
	peer_expect_ack(&p, UNLIMITED, PSN(0), 1);
	peer_stop(&p);
}

/* ---- selective acknowledgements ---- */

/* The next packet is a SACK with just these bytes: asked, then offset and count of each run. */
static void
expect_sack(struct peer *p, uint32_t psn, uint32_t msn, uint32_t asked, unsigned int runs, const uint16_t *run)
{
	struct peer_packet out = peer_expect(p, UROCE_RC_SACK, psn);
	uint8_t bytes[UROCE_SACK_BYTES(UROCE_SACK_RUNS)] = { 0, (uint8_t)(asked >> 16), (uint8_t)(asked >> 8),
							     (uint8_t)asked };

	for (unsigned int i = 0; i < 2 * runs; i++) {
		bytes[4 + 2 * i] = (uint8_t)(run[i] >> 8);
		bytes[5 + 2 * i] = (uint8_t)run[i];
	}
	assert_int_equal(out.syndrome, UNLIMITED);
	assert_int_equal(out.msn, msn);
	assert_int_equal(out.payload_bytes, UROCE_SACK_BYTES(runs));
	assert_memory_equal(out.payload, bytes, out.payload_bytes);
}

#define EXPECT_SACK(p, psn, msn, asked, ...) \
	expect_sack(p, psn, msn, asked, RTE_DIM(((uint16_t[]){ __VA_ARGS__ })) / 2, (uint16_t[]){ __VA_ARGS__ })

static void
a_sack_tells_what_has_come(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(in_ask(&p, PSN(9)), UROCE_OK);
	expect_sack(&p, PSN(0), 0, PSN(9), 0, NULL);
	peer_expect_nothing(&p);
	assert_int_equal(in_write(&p, PSN(2), false), UROCE_EARLY);	/* a gap: no NAK */
	EXPECT_SACK(&p, PSN(0), 0, PSN(9), 2, 1);
	assert_int_equal(in_write(&p, PSN(3), false), UROCE_EARLY);	/* the run grows */
	peer_expect_nothing(&p);
	assert_int_equal(in_write(&p, PSN(4), true), UROCE_EARLY);	/* AckReq */
	EXPECT_SACK(&p, PSN(0), 0, PSN(9), 2, 3);
	assert_int_equal(in_write(&p, PSN(7), false), UROCE_EARLY);	/* another gap */
	EXPECT_SACK(&p, PSN(0), 0, PSN(9), 2, 3, 7, 1);
	assert_int_equal(in_write(&p, PSN(5), false), UROCE_EARLY);	/* part of it is filled */
	EXPECT_SACK(&p, PSN(0), 0, PSN(9), 2, 4, 7, 1);
	assert_int_equal(in_write(&p, PSN(3), false), UROCE_DUPLICATE);
	EXPECT_SACK(&p, PSN(0), 0, PSN(9), 2, 4, 7, 1);
	assert_int_equal(in_write(&p, PSN(0), false), UROCE_OK);	/* the expected one */
	EXPECT_SACK(&p, PSN(1), 1, PSN(9), 1, 4, 6, 1);
	assert_int_equal(in_write(&p, PSN(0), false), UROCE_DUPLICATE);
	EXPECT_SACK(&p, PSN(1), 1, PSN(9), 1, 4, 6, 1);
	assert_int_equal(in_write(&p, PSN(1), false), UROCE_OK);
	EXPECT_SACK(&p, PSN(6), 6, PSN(9), 1, 1);
	assert_int_equal(in_write(&p, PSN(6), false), UROCE_OK);	/* all is here: as ever */
	peer_expect_ack(&p, UNLIMITED, PSN(7), 8);
	assert_int_equal(counter(&p, UROCE_SENT_SACKS), 9);
	assert_int_equal(counter(&p, UROCE_SENT_NAKS), 0);
	/* an ASK that has been overtaken asks for nothing */
	assert_int_equal(in_ask(&p, PSN(3)), UROCE_OK);
	expect_sack(&p, PSN(8), 8, PSN(8), 0, NULL);
	peer_stop(&p);
}

/* PSNs come round: what was asked for long ago would be ahead again, of what was sent since. */
static void
what_was_asked_for_is_forgotten(void **state)
{
	const size_t most = UROCE_MAX_MSG_BYTES;
	struct peer_conf conf = { .mtu = IBV_MTU_256 };
	struct uroce_sack sack;
	struct ibv_mr *mr;
	struct peer p;
	uint8_t *memory = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			       -1, 0);

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	peer_start(&p, &conf);
	mr = uroce_reg_mr(p.pd, memory, most, IBV_ACCESS_REMOTE_READ);
	assert_non_null(mr);
	assert_int_equal(in_ask(&p, PSN(0)), UROCE_OK);
	expect_sack(&p, PSN(0), 0, PSN(0), 0, NULL);
	assert_int_equal(in_write(&p, PSN(0), true), UROCE_OK);	/* with each acknowledgement that is owed */
	assert_int_equal(uroce_qp_of(p.qp)->resp.asked, PSN(1));
	peer_expect_ack(&p, UNLIMITED, PSN(0), 1);
	struct peer_packet in = { .opcode = UROCE_RC_READ_REQUEST, .psn = PSN(1), .rkey = mr->rkey,
				  .va = (uintptr_t)memory, .dma_len = UROCE_MAX_MSG_BYTES };
	assert_int_equal(peer_in(&p, &in), UROCE_OK);	/* ... and each response: half the space */
	assert_int_equal(in_write(&p, PSN(1 + UROCE_PSN_HALF), false), UROCE_OK);
	assert_int_equal(in_write(&p, PSN(3 + UROCE_PSN_HALF), false), UROCE_EARLY);
	assert_int_equal(uroce_early_sack(uroce_qp_of(p.qp), &sack), 1);
	assert_int_equal(uroce_get24(sack.asked), PSN(2 + UROCE_PSN_HALF));
	assert_int_equal(uroce_dereg_mr(mr), 0);
	peer_stop(&p);
	munmap(memory, most);
}

static void
one_sack_for_a_burst(void **state)
{
	struct peer_packet in[4];
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	in[0] = (struct peer_packet){ .opcode = UROCE_RC_ASK, .psn = PSN(6) };
	in[1] = write_only(&p, PSN(1), 0);
	in[2] = write_only(&p, PSN(3), 0);
	in[3] = write_only(&p, PSN(5), 0);
	peer_in_burst(&p, in, 4);
	EXPECT_SACK(&p, PSN(0), 0, PSN(6), 1, 1, 3, 1, 5, 1);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

/* What does not fit is not said to be missing. */
static void
a_sack_with_too_many_runs(void **state)
{
	uint16_t run[2 * UROCE_SACK_RUNS];
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint32_t i = 0; i < UROCE_SACK_RUNS; i++) {
		run[2 * i] = (uint16_t)(2 * i + 1);
		run[2 * i + 1] = 1;
		assert_int_equal(in_write(&p, PSN(2 * i + 1), false), UROCE_EARLY);
	}
	peer_expect_ack(&p, SEQUENCE, PSN(0), 0);
	assert_int_equal(in_ask(&p, PSN(200)), UROCE_OK);
	expect_sack(&p, PSN(0), 0, PSN(200), UROCE_SACK_RUNS, run);
	assert_int_equal(in_write(&p, PSN(100), false), UROCE_EARLY);
	expect_sack(&p, PSN(0), 0, PSN(2 * UROCE_SACK_RUNS), UROCE_SACK_RUNS, run);
	assert_int_equal(in_ask(&p, PSN(20)), UROCE_OK);
	expect_sack(&p, PSN(0), 0, PSN(20), UROCE_SACK_RUNS, run);
	peer_stop(&p);
}

/* The answer to a READ acknowledges what is before it, but does not tell what came early. */
static void
a_read_does_not_swallow_the_sack(void **state)
{
	struct peer_packet read;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	read = read_of(&p, PSN(0), 8);
	assert_int_equal(in_ask(&p, PSN(4)), UROCE_OK);
	assert_int_equal(in_write(&p, PSN(2), false), UROCE_EARLY);
	assert_int_equal(peer_in(&p, &read), UROCE_OK);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_ONLY, PSN(0));
	EXPECT_SACK(&p, PSN(1), 1, PSN(4), 1, 1);
	/* it tells that a READ has come, all of it */
	read = read_of(&p, PSN(4), 3 * MTU);
	assert_int_equal(peer_in(&p, &read), UROCE_EARLY);
	EXPECT_SACK(&p, PSN(1), 1, PSN(4), 1, 1, 3, 3);
	peer_stop(&p);
}

/* A NAK that is owed goes first: it says what no SACK does. */
static void
a_nak_and_a_sack(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(in_write(&p, PSN(1), false), UROCE_EARLY);
	assert_int_equal(in_ask(&p, PSN(2)), UROCE_OK);
	peer_expect_ack(&p, SEQUENCE, PSN(0), 0);
	EXPECT_SACK(&p, PSN(0), 0, PSN(2), 1, 1);
	peer_expect_nothing(&p);
	/* none can be kept: there is nothing that a SACK could tell */
	assert_int_equal(in_write(&p, PSN(0), false), UROCE_OK);
	drain(&p);
	assert_int_equal(in_write(&p, PSN(2 + UROCE_EARLY_WINDOW), false), UROCE_NAK_SEQUENCE);
	peer_expect_ack(&p, SEQUENCE, PSN(2), 2);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_order_is_executed_in_turn),
		cmocka_unit_test(the_window_has_an_end),
		cmocka_unit_test(an_engine_keeps_so_many_frames),
		cmocka_unit_test(an_engine_keeps_of_so_many_qps),
		cmocka_unit_test(a_pool_is_not_emptied),
		cmocka_unit_test(nothing_is_kept_for_ever),
		cmocka_unit_test(what_is_kept_goes_with_the_qp),
		cmocka_unit_test(the_first_of_two_with_one_psn_counts),
		cmocka_unit_test(a_read_of_any_length_is_bounded),
		cmocka_unit_test(a_read_and_others_claim_the_same_psns),
		cmocka_unit_test(what_is_refused_in_its_turn_ends_it),
		cmocka_unit_test(no_receive_within_a_run),
		cmocka_unit_test(a_gap_that_closes_in_the_burst_is_not_named),
		cmocka_unit_test(each_gap_is_named_once),
		cmocka_unit_test(a_peer_that_goes_back_is_not_sent_back_again),
		cmocka_unit_test(go_back_n_keeps_nothing),
		cmocka_unit_test(a_sack_tells_what_has_come),
		cmocka_unit_test(what_was_asked_for_is_forgotten),
		cmocka_unit_test(one_sack_for_a_burst),
		cmocka_unit_test(a_sack_with_too_many_runs),
		cmocka_unit_test(a_read_does_not_swallow_the_sack),
		cmocka_unit_test(a_nak_and_a_sack),
	};

	for (unsigned int i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 7 + i / 256 + 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
