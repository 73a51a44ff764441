/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * FLUSH and ATOMIC_WRITE (IBA annex A19) from both ends: R19, R24, R25, duplicates, and their order among READs.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "mem/mr.h"
#include "mem/persistent.h"
#include "peer.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "wire/headers.h"

#define UNLIMITED (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)
#define NAK(code) (UROCE_AETH_NAK | (code))
#define FETH(type, level) (IBV_FLUSH_##type | IBV_FLUSH_##level << 4)

static struct peer_packet
flush(const struct peer *p, uint32_t psn, uint32_t feth, uint64_t offset, uint32_t length)
{
	return (struct peer_packet){ .opcode = UROCE_RC_FLUSH, .psn = psn, .ack_req = true, .rkey = p->mr->rkey,
				     .va = (uintptr_t)p->buffer + offset, .dma_len = length, .feth = feth };
}

static struct peer_packet
atomic_write(const struct peer *p, uint32_t psn, uint64_t offset, const void *value)
{
	return (struct peer_packet){ .opcode = UROCE_RC_ATOMIC_WRITE, .psn = psn, .ack_req = true,
				     .rkey = p->mr->rkey, .va = (uintptr_t)p->buffer + offset, .dma_len = 8,
				     .payload = value, .payload_bytes = 8 };
}

static void
expect_answer(struct peer *p, uint32_t psn, uint32_t msn)
{
	struct peer_packet out = peer_expect(p, UROCE_RC_READ_RESPONSE_ONLY, psn);

	assert_int_equal(out.payload_bytes, 0);
	assert_int_equal(out.syndrome, UNLIMITED);
	assert_int_equal(out.msn, msn);
}

static void
expect_refused(const struct peer_packet *in, struct peer *p, enum uroce_verdict verdict, uint8_t nak)
{
	assert_int_equal(peer_in(p, in), verdict);
	peer_expect_ack(p, NAK(nak), in->psn, 0);
	peer_expect_nothing(p);
	assert_int_equal(peer_in(p, in), UROCE_DROP_QP_STATE);
	peer_stop(p);
}

static void
flush_is_answered(void **state)
{
	struct peer_packet in;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	in = flush(&p, PEER_RQ_PSN, FETH(GLOBAL, RANGE), 1, 4096);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	expect_answer(&p, PEER_RQ_PSN, 1);
	peer_expect_nothing(&p);
	/* the whole region: the address, the length and the reserved bits are ignored */
	in = flush(&p, PEER_RQ_PSN + 1, FETH(GLOBAL, MR) | 0xffffffc0 | 0x0c, 0, UINT32_MAX);
	in.va = 0;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	expect_answer(&p, PEER_RQ_PSN + 1, 2);
	/* a duplicate */
	assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
	expect_answer(&p, PEER_RQ_PSN + 1, 2);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

/* The reply to a FLUSH acknowledges the WRITE before it, and leaves in order. */
static void
flush_after_a_write(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	struct peer_packet in[] = {
		{ .opcode = UROCE_RC_WRITE_ONLY, .psn = PEER_RQ_PSN, .ack_req = true, .rkey = p.mr->rkey,
		  .va = (uintptr_t)p.buffer, .dma_len = 8, .payload_bytes = 8 },
		flush(&p, PEER_RQ_PSN + 1, FETH(GLOBAL, RANGE), 0, 8),
		{ .opcode = UROCE_RC_WRITE_ONLY, .psn = PEER_RQ_PSN + 2, .ack_req = true, .rkey = p.mr->rkey,
		  .va = (uintptr_t)p.buffer, .dma_len = 8, .payload_bytes = 8 },
	};
	peer_in_burst(&p, in, 3);
	expect_answer(&p, PEER_RQ_PSN + 1, 2);
	peer_expect_ack(&p, UNLIMITED, PEER_RQ_PSN + 2, 3);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

/* R19: the rkey of a FLUSH of length 0 is checked; that of a WRITE of length 0 is not. */
static void
r19_flush_of_length_zero(void **state)
{
	struct peer_packet in;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	in = flush(&p, PEER_RQ_PSN, FETH(GLOBAL, RANGE), 0, 0);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	expect_answer(&p, PEER_RQ_PSN, 1);
	in = (struct peer_packet){ .opcode = UROCE_RC_WRITE_ONLY, .psn = PEER_RQ_PSN + 1, .rkey = 0xbad };
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_stop(&p);

	peer_start(&p, NULL);
	in = flush(&p, PEER_RQ_PSN, FETH(GLOBAL, RANGE), 0, 0);
	in.rkey ^= 1;
	expect_refused(&in, &p, UROCE_NAK_ACCESS, UROCE_NAK_REMOTE_ACCESS_ERROR);
}

static void
r25_type_and_selectivity(void **state)
{
	static const uint32_t wrong[] = {
		0, 0x4, 0x8, 0xc,			/* placement types that do not exist */
		FETH(GLOBAL, RANGE) | 2 << 4, FETH(GLOBAL, RANGE) | 3 << 4,
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		struct peer_packet in;
		struct peer p;

		peer_start(&p, NULL);
		in = flush(&p, PEER_RQ_PSN, wrong[i], 0, 8);
		expect_refused(&in, &p, UROCE_NAK_FLUSH, UROCE_NAK_INVALID_REQUEST);
	}
}

/* Both the QP and the region must allow the requested placement types. */
static void
r25_rights(void **state)
{
	static const struct {
		unsigned int qp;
		uint32_t feth;
		enum uroce_verdict verdict;
		uint8_t nak;
	} cases[] = {
		{ IBV_ACCESS_REMOTE_WRITE, FETH(GLOBAL, RANGE), UROCE_NAK_NOT_ALLOWED, UROCE_NAK_INVALID_REQUEST },
		{ IBV_ACCESS_FLUSH_GLOBAL, FETH(PERSISTENT, MR), UROCE_NAK_NOT_ALLOWED, UROCE_NAK_INVALID_REQUEST },
		{ IBV_ACCESS_FLUSH_GLOBAL, FETH(GLOBAL, MR) | FETH(PERSISTENT, MR), UROCE_NAK_NOT_ALLOWED,
		  UROCE_NAK_INVALID_REQUEST },
		/* the peer's region is not persistent memory */
		{ 0, FETH(PERSISTENT, RANGE), UROCE_NAK_ACCESS, UROCE_NAK_REMOTE_ACCESS_ERROR },
		{ 0, FETH(PERSISTENT, MR), UROCE_NAK_ACCESS, UROCE_NAK_REMOTE_ACCESS_ERROR },
		{ 0, FETH(GLOBAL, MR) | FETH(PERSISTENT, MR), UROCE_NAK_ACCESS, UROCE_NAK_REMOTE_ACCESS_ERROR },
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		struct peer_conf conf = { .access = cases[i].qp };
		struct peer_packet in;
		struct peer p;

		peer_start(&p, &conf);
		in = flush(&p, PEER_RQ_PSN, cases[i].feth, 0, 8);
		expect_refused(&in, &p, cases[i].verdict, cases[i].nak);
	}
}

static void
flush_of_a_range_that_is_not_there(void **state)
{
	static const struct { uint64_t offset; uint32_t length; enum uroce_verdict verdict; } cases[] = {
		{ PEER_BUFFER_BYTES - 7, 8, UROCE_NAK_ACCESS },
		{ 0, PEER_BUFFER_BYTES + 1, UROCE_NAK_ACCESS },
		{ (uint64_t)-1, 1, UROCE_NAK_ACCESS },
		{ 0, UINT32_MAX, UROCE_NAK_DMA_LEN },
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		struct peer_packet in;
		struct peer p;

		peer_start(&p, NULL);
		in = flush(&p, PEER_RQ_PSN, FETH(GLOBAL, RANGE), cases[i].offset, cases[i].length);
		expect_refused(&in, &p, cases[i].verdict, cases[i].verdict == UROCE_NAK_ACCESS
			       ? UROCE_NAK_REMOTE_ACCESS_ERROR : UROCE_NAK_INVALID_REQUEST);
	}
}

/* A long FLUSH to persistence runs in pieces, and is answered at the end. */
static void
persistence_takes_turns(void **state)
{
	const size_t bytes = 3 * UROCE_FLUSH_BYTES - 1;
	uint8_t *memory = calloc(1, bytes);
	struct peer_packet in, out;
	struct peer p;

	(void)state;
	if (!UROCE_CAN_PERSIST)
		skip();
	peer_start(&p, NULL);
	struct ibv_mr *mr = uroce_reg_mr(p.pd, memory, bytes, IBV_ACCESS_FLUSH_GLOBAL);
	/* treat the region as persistent memory */
	((struct uroce_mr *)mr)->slot->access |= IBV_ACCESS_FLUSH_PERSISTENT;
	for (unsigned int whole = 0; whole < 2; whole++) {
		in = flush(&p, PEER_RQ_PSN + whole, FETH(PERSISTENT, RANGE) | whole << 4, 0, (uint32_t)bytes);
		in.va = (uintptr_t)memory;
		in.rkey = mr->rkey;
		assert_int_equal(peer_in(&p, &in), UROCE_OK);
		assert_false(peer_out(&p, &out));
		assert_int_equal(uroce_engine_deadline(&p.engine), p.now_ns);
		assert_false(peer_out(&p, &out));
		expect_answer(&p, PEER_RQ_PSN + whole, 1 + whole);
		assert_false(peer_out(&p, &out));
		/* a duplicate is answered without another flush */
		assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
		expect_answer(&p, PEER_RQ_PSN + whole, 1 + whole);
	}
	/* the region is deregistered in the middle */
	in.psn = PEER_RQ_PSN + 2;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_false(peer_out(&p, &out));
	assert_int_equal(uroce_dereg_mr(mr), 0);
	peer_expect_ack(&p, NAK(UROCE_NAK_REMOTE_ACCESS_ERROR), PEER_RQ_PSN + 2, 3);
	free(memory);
	peer_stop(&p);
}

/* An ATOMIC_WRITE behind a FLUSH waits until the flushed data is persistent: a pointer must not become visible
 * before the data it points to. */
static void
atomic_write_after_persistence(void **state)
{
	const size_t bytes = 2 * UROCE_FLUSH_BYTES;
	uint8_t *memory = calloc(1, bytes);
	const uint64_t value = 0x1122334455667788;
	const struct uroce_rd_atomic *first;
	struct peer_packet out;
	uint64_t there;
	struct peer p;

	(void)state;
	if (!UROCE_CAN_PERSIST)
		skip();
	peer_start(&p, NULL);
	struct ibv_mr *mr = uroce_reg_mr(p.pd, memory, bytes, IBV_ACCESS_FLUSH_GLOBAL);
	/* treat the region as persistent memory */
	((struct uroce_mr *)mr)->slot->access |= IBV_ACCESS_FLUSH_PERSISTENT;
	memset(p.buffer, 0, 8);
	struct peer_packet in[] = {
		flush(&p, PEER_RQ_PSN, FETH(PERSISTENT, RANGE), 0, 4096),
		{ .opcode = UROCE_RC_ATOMIC_WRITE, .psn = PEER_RQ_PSN + 1, .ack_req = true, .rkey = p.mr->rkey,
		  .va = (uintptr_t)p.buffer, .dma_len = 8, .payload = (const uint8_t *)&value, .payload_bytes = 8 },
	};
	in[0].va = (uintptr_t)memory;
	in[0].rkey = mr->rkey;
	/* a short FLUSH completes at once */
	assert_int_equal(peer_in(&p, &in[0]), UROCE_OK);
	assert_int_equal(peer_in(&p, &in[1]), UROCE_OK);
	first = &uroce_responder_of(((struct uroce_qp *)p.qp))->resources[0];
	assert_int_equal(first->op, UROCE_OP_FLUSH);
	assert_int_equal(first->flushed, 4096);
	expect_answer(&p, PEER_RQ_PSN, 1);
	expect_answer(&p, PEER_RQ_PSN + 1, 2);
	/* a long FLUSH delays the ATOMIC_WRITE, which gets a NAK in place of a long turn */
	memset(p.buffer, 0, 8);
	in[0].psn = PEER_RQ_PSN + 2;
	in[0].dma_len = (uint32_t)bytes;
	in[1].psn = PEER_RQ_PSN + 3;
	assert_int_equal(peer_in(&p, &in[0]), UROCE_OK);
	assert_int_equal(peer_in(&p, &in[1]), UROCE_NAK_FLUSH_PENDING);
	memcpy(&there, p.buffer, 8);
	assert_true(there == 0);
	expect_answer(&p, PEER_RQ_PSN + 2, 3);
	peer_expect_ack(&p, NAK(UROCE_NAK_PSN_SEQUENCE_ERROR), PEER_RQ_PSN + 3, 3);
	assert_int_equal(peer_in(&p, &in[1]), UROCE_OK);
	expect_answer(&p, PEER_RQ_PSN + 3, 4);
	memcpy(&there, p.buffer, 8);
	assert_true(there == value);
	/* the region is deregistered before its FLUSH ends: no request behind it is executed */
	memset(p.buffer, 0, 8);
	in[0].psn = PEER_RQ_PSN + 4;
	in[1].psn = PEER_RQ_PSN + 5;
	assert_int_equal(peer_in(&p, &in[0]), UROCE_OK);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	assert_int_equal(peer_in(&p, &in[1]), UROCE_NAK_FLUSH_PENDING);
	peer_expect_ack(&p, NAK(UROCE_NAK_REMOTE_ACCESS_ERROR), PEER_RQ_PSN + 4, 5);
	assert_false(peer_out(&p, &out));
	memcpy(&there, p.buffer, 8);
	assert_true(there == 0);
	free(memory);
	peer_stop(&p);
}

/* A peer that does not count FLUSHes among its READs must wait, but is not refused. */
static void
more_flushes_than_resources(void **state)
{
	struct peer_conf conf = { .max_rd_atomic = 1 };
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	struct peer_packet in[] = { flush(&p, PEER_RQ_PSN, FETH(GLOBAL, RANGE), 0, 8),
				    flush(&p, PEER_RQ_PSN + 1, FETH(GLOBAL, RANGE), 0, 8) };
	assert_int_equal(peer_in(&p, &in[0]), UROCE_OK);
	assert_int_equal(peer_in(&p, &in[1]), UROCE_NAK_FLUSH_RESOURCES);
	expect_answer(&p, PEER_RQ_PSN, 1);
	peer_expect_ack(&p, NAK(UROCE_NAK_PSN_SEQUENCE_ERROR), PEER_RQ_PSN + 1, 1);
	assert_int_equal(peer_in(&p, &in[1]), UROCE_OK);
	expect_answer(&p, PEER_RQ_PSN + 1, 2);
	/* no reply to a duplicate beyond the remembered requests */
	assert_int_equal(peer_in(&p, &in[0]), UROCE_DROP_DUPLICATE);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

static void
atomic_write_is_executed_once(void **state)
{
	uint64_t value = 0x0102030405060708, other = 99;
	struct peer_packet in;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	in = atomic_write(&p, PEER_RQ_PSN, 16, &value);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_memory_equal(p.buffer + 16, &value, 8);
	expect_answer(&p, PEER_RQ_PSN, 1);
	memcpy(p.buffer + 16, &other, 8);
	assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
	assert_memory_equal(p.buffer + 16, &other, 8);
	expect_answer(&p, PEER_RQ_PSN, 1);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

/* R24: exactly 8 bytes, in both headers, at aligned addresses on both ends. */
static void
r24_atomic_write_of_eight_aligned_bytes(void **state)
{
	static const struct { uint32_t payload, dma_len, offset; } wrong[] = {
		{ 7, 7, 0 }, { 4, 4, 0 }, { 0, 0, 0 }, { 0, 8, 0 }, { 8, 0, 0 }, { 16, 16, 0 }, { 8, 16, 0 },
		{ 8, 8, 1 }, { 8, 8, 4 }, { 1024, 1024, 0 },
	};
	struct peer_packet in;
	struct peer p;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		peer_start(&p, NULL);
		in = atomic_write(&p, PEER_RQ_PSN, wrong[i].offset, NULL);
		in.payload_bytes = wrong[i].payload;
		in.dma_len = wrong[i].dma_len;
		memset(p.buffer, 0xee, 2048);
		expect_refused(&in, &p, UROCE_NAK_ATOMIC_WRITE, UROCE_NAK_INVALID_REQUEST);
	}
	peer_start(&p, NULL);
	struct ibv_mr *mr = uroce_reg_mr_iova(p.pd, p.buffer + 1, 64, 0x1000, IBV_ACCESS_LOCAL_WRITE |
					      IBV_ACCESS_REMOTE_WRITE);
	in = atomic_write(&p, PEER_RQ_PSN, 0, NULL);
	in.rkey = mr->rkey;
	in.va = 0x1008;
	assert_int_equal(peer_in(&p, &in), UROCE_NAK_ATOMIC_WRITE);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	peer_stop(&p);
}

static void
atomic_write_counts_as_a_read_and_needs_its_rkey(void **state)
{
	struct peer_conf conf = { .max_rd_atomic = 1 };
	struct peer_packet in;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	in = atomic_write(&p, PEER_RQ_PSN, 0, NULL);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	in = atomic_write(&p, PEER_RQ_PSN + 1, 0, NULL);
	assert_int_equal(peer_in(&p, &in), UROCE_NAK_RD_ATOMIC);
	peer_stop(&p);

	peer_start(&p, NULL);
	in = atomic_write(&p, PEER_RQ_PSN, PEER_BUFFER_BYTES, NULL);
	expect_refused(&in, &p, UROCE_NAK_ACCESS, UROCE_NAK_REMOTE_ACCESS_ERROR);
}

static void
post_flush(struct peer *p, uint64_t length, uint8_t type, uint8_t level, uint64_t wr_id)
{
	struct ibv_send_wr wr = { .wr_id = wr_id, .send_flags = IBV_SEND_SIGNALED }, *bad;

	uroce_send_wr_flush(&wr, 0x99, 0x7000, length, type, level);
	assert_int_equal(uroce_post_send(p->qp, &wr, &bad), 0);
}

static struct peer_packet
answer(uint32_t psn, uint32_t msn)
{
	return (struct peer_packet){ .opcode = UROCE_RC_READ_RESPONSE_ONLY, .psn = psn, .msn = msn,
				     .syndrome = UNLIMITED };
}

static void
flush_is_asked_for(void **state)
{
	struct peer_packet in, out;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	post_flush(&p, 100000, IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT, IBV_FLUSH_MR, 5);
	out = peer_expect(&p, UROCE_RC_FLUSH, PEER_SQ_PSN);
	assert_int_equal(out.feth, 0x13);
	assert_int_equal(out.va, 0x7000);
	assert_int_equal(out.rkey, 0x99);
	assert_int_equal(out.dma_len, 100000);
	assert_int_equal(out.payload_bytes, 0);
	assert_true(out.ack_req);
	/* R37: an ACK does not complete it */
	in = (struct peer_packet){
		.opcode = UROCE_RC_ACKNOWLEDGE, .psn = PEER_SQ_PSN, .msn = 1, .syndrome = UNLIMITED,
	};
	assert_int_equal(peer_in(&p, &in), UROCE_RESPONSE_GAP);
	peer_expect_no_wc(p.send_cq);
	peer_expect(&p, UROCE_RC_FLUSH, PEER_SQ_PSN);
	in = answer(PEER_SQ_PSN, 1);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 5).opcode, IBV_WC_FLUSH);
	/* takes one PSN, for any length */
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 6, 0);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + 1);
	peer_stop(&p);
}

static void
atomic_write_is_asked_for(void **state)
{
	struct peer_packet in, out;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	memset(p.buffer, 0x5a, 8);
	for (unsigned int i = 0; i < 2; i++) {
		peer_post(&p, IBV_WR_ATOMIC_WRITE, 0, 8, i, i == 0 ? 0 : IBV_SEND_INLINE);
		out = peer_expect(&p, UROCE_RC_ATOMIC_WRITE, PEER_SQ_PSN + i);
		assert_int_equal(out.dma_len, 8);
		assert_int_equal(out.va, 0x7000);
		assert_int_equal(out.payload_bytes, 8);
		assert_memory_equal(out.bytes, p.buffer, 8);
		in = answer(PEER_SQ_PSN + i, 1 + i);
		assert_int_equal(peer_in(&p, &in), UROCE_OK);
		assert_int_equal(peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, i).opcode, IBV_WC_ATOMIC_WRITE);
	}
	peer_stop(&p);
}

/* R39: max_rd_atomic limits both, and a fence waits for both. */
static void
r39_both_are_outstanding(void **state)
{
	struct peer_conf conf = { .max_rd_atomic = 2 };
	struct peer_packet in;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	post_flush(&p, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE, 1);
	peer_post(&p, IBV_WR_ATOMIC_WRITE, 0, 8, 2, 0);
	post_flush(&p, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE, 3);
	peer_post(&p, IBV_WR_SEND, 0, 8, 4, IBV_SEND_FENCE);
	peer_expect(&p, UROCE_RC_FLUSH, PEER_SQ_PSN);
	peer_expect(&p, UROCE_RC_ATOMIC_WRITE, PEER_SQ_PSN + 1);
	peer_expect_nothing(&p);
	in = answer(PEER_SQ_PSN, 1);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect(&p, UROCE_RC_FLUSH, PEER_SQ_PSN + 2);
	in = answer(PEER_SQ_PSN + 1, 2);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_nothing(&p);
	in = answer(PEER_SQ_PSN + 2, 3);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN + 3);
	peer_stop(&p);
}

static void
an_answer_with_payload_is_none(void **state)
{
	struct peer_packet in;
	struct peer p;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		peer_start(&p, NULL);
		post_flush(&p, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE, 1);
		peer_expect(&p, UROCE_RC_FLUSH, PEER_SQ_PSN);
		in = answer(PEER_SQ_PSN, 1);
		if (i == 0)
			in.payload_bytes = 8;
		else
			in.opcode = UROCE_RC_ATOMIC_ACKNOWLEDGE;
		assert_int_equal(peer_in(&p, &in), UROCE_BAD_RESPONSE);
		peer_expect_wc(p.send_cq, IBV_WC_BAD_RESP_ERR, 1);
		peer_stop(&p);
	}
}

UROCE_TESTS(placement)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flush_is_answered),
		cmocka_unit_test(flush_after_a_write),
		cmocka_unit_test(r19_flush_of_length_zero),
		cmocka_unit_test(r25_type_and_selectivity),
		cmocka_unit_test(r25_rights),
		cmocka_unit_test(flush_of_a_range_that_is_not_there),
		cmocka_unit_test(persistence_takes_turns),
		cmocka_unit_test(atomic_write_after_persistence),
		cmocka_unit_test(more_flushes_than_resources),
		cmocka_unit_test(atomic_write_is_executed_once),
		cmocka_unit_test(r24_atomic_write_of_eight_aligned_bytes),
		cmocka_unit_test(atomic_write_counts_as_a_read_and_needs_its_rkey),
		cmocka_unit_test(flush_is_asked_for),
		cmocka_unit_test(atomic_write_is_asked_for),
		cmocka_unit_test(r39_both_are_outstanding),
		cmocka_unit_test(an_answer_with_payload_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
