/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * READ and atomic responses, and their replays (R22, R27, R28).
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include <rte_malloc.h>

#include "groups.h"
#include "peer.h"
#include "transport/responder/responder.h"
#include "uroce_config.h"
#include "wire/psn.h"

#define UNLIMITED (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)

static struct peer_packet
read_request(const struct peer *p, uint32_t psn, uint32_t offset, uint32_t length)
{
	return (struct peer_packet){ .opcode = UROCE_RC_READ_REQUEST, .psn = psn, .ack_req = true,
				     .rkey = p->mr->rkey, .va = (uintptr_t)p->buffer + offset,
				     .dma_len = length };
}

static void
fill(struct peer *p)
{
	for (unsigned int i = 0; i < PEER_BUFFER_BYTES; i++)
		p->buffer[i] = (uint8_t)(i * 13 + i / 256);
}

static void
expect_response(struct peer *p, uint8_t credits, uint8_t opcode, uint32_t psn, uint32_t offset, uint32_t bytes,
		uint32_t msn)
{
	struct peer_packet out = peer_expect(p, opcode, psn);

	assert_int_equal(out.payload_bytes, bytes);
	assert_memory_equal(out.bytes, p->buffer + offset, bytes);
	if (opcode != UROCE_RC_READ_RESPONSE_MIDDLE) {
		assert_int_equal(out.syndrome, credits);
		assert_int_equal(out.msn, msn);
	}
}

static void
expect_data(struct peer *p, uint8_t opcode, uint32_t psn, uint32_t offset, uint32_t bytes, uint32_t msn)
{
	expect_response(p, UNLIMITED, opcode, psn, offset, bytes, msn);
}

static void
a_read_is_answered_packet_by_packet(void **state)
{
	static const struct peer_conf confs[] = { { .copy = false }, { .copy = true } };

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(confs); i++) {
		struct peer p;

		peer_start(&p, &confs[i]);
		fill(&p);
		struct peer_packet in = read_request(&p, PEER_RQ_PSN, 3, 2 * 1024 + 1);
		assert_int_equal(peer_in(&p, &in), UROCE_OK);
		expect_data(&p, UROCE_RC_READ_RESPONSE_FIRST, PEER_RQ_PSN, 3, 1024, 1);
		expect_data(&p, UROCE_RC_READ_RESPONSE_MIDDLE, PEER_RQ_PSN + 1, 3 + 1024, 1024, 1);
		expect_data(&p, UROCE_RC_READ_RESPONSE_LAST, PEER_RQ_PSN + 2, 3 + 2048, 1, 1);
		peer_expect_nothing(&p);
		/* the next request follows the PSNs of the responses */
		in = read_request(&p, PEER_RQ_PSN + 3, 0, 8);
		assert_int_equal(peer_in(&p, &in), UROCE_OK);
		expect_data(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_RQ_PSN + 3, 0, 8, 2);
		peer_stop(&p);
	}
}

static void
answers_keep_the_order_of_requests(void **state)
{
	struct peer_packet in[3];
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	fill(&p);
	peer_post_recv(&p, 4096, 64, 1);
	in[0] = read_request(&p, PEER_RQ_PSN, 0, 1025);
	in[1] = (struct peer_packet){ .opcode = UROCE_RC_SEND_ONLY, .psn = PEER_RQ_PSN + 2, .ack_req = true };
	in[2] = read_request(&p, PEER_RQ_PSN + 3, 8, 8);
	peer_in_burst(&p, in, 2);
	expect_response(&p, 0, UROCE_RC_READ_RESPONSE_FIRST, PEER_RQ_PSN, 0, 1024, 1);
	/* the response of a READ that arrives now leaves before the ACK, and replaces it */
	peer_in_burst(&p, &in[2], 1);
	expect_response(&p, 0, UROCE_RC_READ_RESPONSE_LAST, PEER_RQ_PSN + 1, 1024, 1, 1);
	expect_response(&p, 0, UROCE_RC_READ_RESPONSE_ONLY, PEER_RQ_PSN + 3, 8, 8, 3);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

static void
r27_a_read_is_answered_again_from_the_middle(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	fill(&p);
	struct peer_packet in = read_request(&p, PEER_RQ_PSN, 0, 4000);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(peer_expect(&p, i == 0 ? UROCE_RC_READ_RESPONSE_FIRST : i < 3 ?
			UROCE_RC_READ_RESPONSE_MIDDLE : UROCE_RC_READ_RESPONSE_LAST, PEER_RQ_PSN + i).opcode != 0, 1);
	/* rxe's form: MigReq 0, the opcodes continue */
	in = read_request(&p, PEER_RQ_PSN + 2, 2048, 4000 - 2048);
	assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
	expect_data(&p, UROCE_RC_READ_RESPONSE_MIDDLE, PEER_RQ_PSN + 2, 2048, 1024, 1);
	expect_data(&p, UROCE_RC_READ_RESPONSE_LAST, PEER_RQ_PSN + 3, 3072, 928, 1);
	peer_expect_nothing(&p);
	/* the form of hardware: MigReq 1, a new READ */
	in.migreq = true;
	assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
	expect_data(&p, UROCE_RC_READ_RESPONSE_FIRST, PEER_RQ_PSN + 2, 2048, 1024, 1);
	expect_data(&p, UROCE_RC_READ_RESPONSE_LAST, PEER_RQ_PSN + 3, 3072, 928, 1);
	/* only a part of the rest */
	in.dma_len = 1024;
	assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
	expect_data(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_RQ_PSN + 2, 2048, 1024, 1);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

/* The peer requests parts of a READ again while responses of the READ are still queued: it gets both. */
static void
r27_parts_of_a_read_that_is_being_answered(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	fill(&p);
	struct peer_packet in = read_request(&p, PEER_RQ_PSN, 0, 8000);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	expect_data(&p, UROCE_RC_READ_RESPONSE_FIRST, PEER_RQ_PSN, 0, 1024, 1);
	for (uint32_t i = 1; i < 5; i++)
		peer_expect(&p, UROCE_RC_READ_RESPONSE_MIDDLE, PEER_RQ_PSN + i);
	/* the fourth part, then the first and second */
	in = read_request(&p, PEER_RQ_PSN + 3, 3072, 1024);
	in.migreq = true;
	assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
	in = read_request(&p, PEER_RQ_PSN, 0, 2048);
	in.migreq = true;
	assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
	/* queued responses are not sent twice */
	in = read_request(&p, PEER_RQ_PSN + 6, 6144, 1024);
	in.migreq = true;
	assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
	expect_data(&p, UROCE_RC_READ_RESPONSE_FIRST, PEER_RQ_PSN, 0, 1024, 1);
	expect_data(&p, UROCE_RC_READ_RESPONSE_LAST, PEER_RQ_PSN + 1, 1024, 1024, 1);
	expect_data(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_RQ_PSN + 3, 3072, 1024, 1);
	for (uint32_t i = 5; i < 7; i++)
		peer_expect(&p, UROCE_RC_READ_RESPONSE_MIDDLE, PEER_RQ_PSN + i);
	expect_data(&p, UROCE_RC_READ_RESPONSE_LAST, PEER_RQ_PSN + 7, 7168, 832, 1);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

/* Too many parts to remember each: the responder repeats everything from the first to the last. */
static void
r27_parts_of_a_long_read(void **state)
{
	struct peer_conf conf = { .mtu = IBV_MTU_256 };
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	fill(&p);
	struct peer_packet in = read_request(&p, PEER_RQ_PSN, 0, 100 * 256);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	for (uint32_t i = 0; i < 90; i++)
		assert_true(peer_out(&p, &out));
	in = read_request(&p, PEER_RQ_PSN + 70, 70 * 256, 256);
	assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
	in = read_request(&p, PEER_RQ_PSN + 2, 2 * 256, 256);
	assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
	for (uint32_t i = 2; i < 100; i++) {
		out = peer_expect(&p, i < 99 ? UROCE_RC_READ_RESPONSE_MIDDLE : UROCE_RC_READ_RESPONSE_LAST,
				  PEER_RQ_PSN + i);
		assert_memory_equal(out.bytes, p.buffer + i * 256, 256);
	}
	peer_expect_nothing(&p);
	peer_stop(&p);
}

/* Memory that the port could send without copying it: each packet is long enough. */
#define CHANGING_BYTES (8 * CHANGING_MTU)
#define CHANGING_MTU 2048
static_assert(CHANGING_MTU >= UROCE_ZERO_COPY_BYTES, "packets must be long enough for zero copy");
static const struct peer_conf changing = { .mtu = IBV_MTU_2048 };

/* Take the engine's next frame, change the memory at each packet, and decode the frame. */
static enum uroce_verdict
verdict_after_change(struct peer *p, uint8_t *memory)
{
	struct uroce_packet pkt;
	enum uroce_verdict verdict;
	struct rte_mbuf *m;

	assert_int_equal(uroce_engine_send(&p->engine, &m, 1, p->now_ns), 1);
	for (unsigned int i = 0; i < CHANGING_BYTES; i += CHANGING_MTU)
		memory[i]++;
	verdict = uroce_packet_decode(m, 14, &pkt);
	rte_pktmbuf_free(m);
	return verdict;
}

static struct peer_packet
request_of(const struct ibv_mr *mr, uint32_t psn, uint32_t length)
{
	return (struct peer_packet){ .opcode = UROCE_RC_READ_REQUEST, .psn = psn, .ack_req = true, .rkey = mr->rkey,
				     .va = (uintptr_t)mr->addr, .dma_len = length };
}

static struct ibv_mr *
register_changing(struct peer *p, int access)
{
	void *memory = rte_zmalloc(NULL, CHANGING_BYTES, 64);
	struct ibv_mr *mr = uroce_reg_mr(p->pd, memory, CHANGING_BYTES, access);

	assert_non_null(mr);
	return mr;
}

static void
deregister_changing(struct ibv_mr *mr)
{
	void *memory = mr->addr;

	assert_int_equal(uroce_dereg_mr(mr), 0);
	rte_free(memory);
}

/* Runs of responses, and single ones: the first transmission is right, and a peer with retry_cnt 0 gets no other. */
static void
a_read_of_memory_that_changes_loses_nothing(void **state)
{
	static const uint32_t lengths[] = { CHANGING_MTU, 2 * CHANGING_MTU, CHANGING_BYTES };
	uint32_t psn = PEER_RQ_PSN;
	struct ibv_mr *mr;
	struct peer p;

	(void)state;
	peer_start(&p, &changing);
	mr = register_changing(&p, IBV_ACCESS_REMOTE_READ);
	for (unsigned int i = 0; i < RTE_DIM(lengths); i++) {
		struct peer_packet in = request_of(mr, psn, lengths[i]);

		assert_int_equal(peer_in(&p, &in), UROCE_OK);
		for (uint32_t done = 0; done < lengths[i]; done += CHANGING_MTU, psn++)
			assert_int_equal(verdict_after_change(&p, mr->addr), UROCE_OK);
		peer_expect_nothing(&p);
	}
	assert_int_equal(p.engine.counters[UROCE_ZERO_COPY_PACKETS], 0);
	deregister_changing(mr);
	peer_stop(&p);
}

/* UROCE_ACCESS_STABLE, but the application changes the memory: the peer must request the READ again once, and never
 * after that. */
static void
r27_a_read_of_memory_said_to_be_stable(void **state)
{
	struct peer_packet in;
	struct ibv_mr *mr;
	struct peer p;

	(void)state;
	peer_start(&p, &changing);
	mr = register_changing(&p, IBV_ACCESS_REMOTE_READ | UROCE_ACCESS_STABLE);
	in = request_of(mr, PEER_RQ_PSN, CHANGING_MTU);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(verdict_after_change(&p, mr->addr), UROCE_DROP_ICRC);	/* the price of zero-copy */
	assert_int_equal(p.engine.counters[UROCE_ZERO_COPY_PACKETS], 1);
	assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
	assert_int_equal(verdict_after_change(&p, mr->addr), UROCE_OK);
	in = request_of(mr, PEER_RQ_PSN + 1, 4 * CHANGING_MTU);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(verdict_after_change(&p, mr->addr), UROCE_OK);
	assert_int_equal(p.engine.counters[UROCE_ZERO_COPY_PACKETS], 1);
	deregister_changing(mr);
	peer_stop(&p);
}

/* The memory loses UROCE_ACCESS_STABLE in the middle of a READ. */
static void
a_read_of_memory_that_is_stable_no_more(void **state)
{
	struct peer_packet in;
	struct ibv_mr *mr;
	struct peer p;

	(void)state;
	peer_start(&p, &changing);
	mr = register_changing(&p, IBV_ACCESS_REMOTE_READ | UROCE_ACCESS_STABLE);
	in = request_of(mr, PEER_RQ_PSN, CHANGING_BYTES);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_FIRST, PEER_RQ_PSN);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_MIDDLE, PEER_RQ_PSN + 1);
	assert_int_equal(p.engine.counters[UROCE_ZERO_COPY_PACKETS], 2);
	assert_int_equal(uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_READ), 0);
	for (uint32_t i = 2; i < CHANGING_BYTES / CHANGING_MTU; i++)
		assert_int_equal(verdict_after_change(&p, mr->addr), UROCE_OK);
	assert_int_equal(p.engine.counters[UROCE_ZERO_COPY_PACKETS], 2);
	deregister_changing(mr);
	peer_stop(&p);
}

static void
r27_only_a_subset_of_the_original(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	struct peer_packet in = read_request(&p, PEER_RQ_PSN, 0, 2048);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_FIRST, PEER_RQ_PSN);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_LAST, PEER_RQ_PSN + 1);
	for (int i = 0; i < 5; i++) {
		in = read_request(&p, PEER_RQ_PSN, 0, 2048);
		if (i == 0)
			in.rkey++;
		else if (i == 1)
			in.va += 8;
		else if (i == 2)
			in.dma_len = 2049;
		else if (i == 3)
			in.dma_len = 0xffffffff;
		else
			in.psn -= 1;
		assert_int_equal(peer_in(&p, &in), UROCE_DROP_DUPLICATE);
		peer_expect_nothing(&p);
	}
	peer_stop(&p);
}

static void
r28_atomics_are_executed_once(void **state)
{
	struct peer_packet in, out;
	uint64_t *counter;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	counter = (uint64_t *)(p.buffer + 64);
	*counter = 1000;
	in = (struct peer_packet){ .opcode = UROCE_RC_FETCH_ADD, .psn = PEER_RQ_PSN, .rkey = p.mr->rkey,
				   .va = (uintptr_t)counter, .swap_add = 5, .ack_req = true };
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	out = peer_expect(&p, UROCE_RC_ATOMIC_ACKNOWLEDGE, PEER_RQ_PSN);
	assert_int_equal(out.original, 1000);
	assert_int_equal(out.syndrome, UNLIMITED);
	assert_int_equal(out.msn, 1);
	assert_int_equal(*counter, 1005);
	assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
	out = peer_expect(&p, UROCE_RC_ATOMIC_ACKNOWLEDGE, PEER_RQ_PSN);
	assert_int_equal(out.original, 1000);
	assert_int_equal(*counter, 1005);
	/* compare and swap: once with a matching value, once without */
	in = (struct peer_packet){ .opcode = UROCE_RC_CMP_SWAP, .psn = PEER_RQ_PSN + 1, .rkey = p.mr->rkey,
				   .va = (uintptr_t)counter, .swap_add = 77, .compare = 1005 };
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(peer_expect(&p, UROCE_RC_ATOMIC_ACKNOWLEDGE, PEER_RQ_PSN + 1).original, 1005);
	assert_int_equal(*counter, 77);
	in.psn++;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(peer_expect(&p, UROCE_RC_ATOMIC_ACKNOWLEDGE, PEER_RQ_PSN + 2).original, 77);
	assert_int_equal(*counter, 77);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

static void
r28_a_forgotten_atomic_is_dropped(void **state)
{
	struct peer_conf conf = { .max_rd_atomic = 2 };
	struct peer_packet in;
	uint64_t *counter;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	counter = (uint64_t *)p.buffer;
	in = (struct peer_packet){ .opcode = UROCE_RC_FETCH_ADD, .rkey = p.mr->rkey, .va = (uintptr_t)counter,
				   .swap_add = 1 };
	for (uint32_t i = 0; i < 8; i++) {
		in.psn = PEER_RQ_PSN + i;
		assert_int_equal(peer_in(&p, &in), UROCE_OK);
		assert_int_equal(peer_expect(&p, UROCE_RC_ATOMIC_ACKNOWLEDGE, in.psn).original, i);
	}
	in.psn = PEER_RQ_PSN;
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_DUPLICATE);
	peer_expect_nothing(&p);
	assert_int_equal(*counter, 8);
	in.psn = PEER_RQ_PSN + 7;
	assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
	assert_int_equal(peer_expect(&p, UROCE_RC_ATOMIC_ACKNOWLEDGE, in.psn).original, 7);
	peer_stop(&p);
}

static void
r28_an_atomic_from_before_a_reset_is_forgotten(void **state)
{
	struct peer_packet in = { .opcode = UROCE_RC_FETCH_ADD, .psn = PEER_RQ_PSN, .swap_add = 1 };
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	const struct peer_conf again = { .rq_psn = PEER_RQ_PSN + 1 };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	in.rkey = p.mr->rkey;
	in.va = (uintptr_t)p.buffer;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect(&p, UROCE_RC_ATOMIC_ACKNOWLEDGE, PEER_RQ_PSN);
	assert_int_equal(uroce_modify_qp(p.qp, &reset, IBV_QP_STATE), 0);
	peer_connect(p.qp, &again);
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_DUPLICATE);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

static void
r22_no_more_than_agreed(void **state)
{
	struct peer_conf conf = { .max_rd_atomic = 2 };
	struct peer_packet in[3];
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	for (uint32_t i = 0; i < 3; i++)
		in[i] = read_request(&p, PEER_RQ_PSN + i, 0, 8);
	peer_in_burst(&p, in, 3);
	assert_int_equal(p.engine.verdicts[UROCE_NAK_RD_ATOMIC], 1);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_RQ_PSN);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_RQ_PSN + 1);
	peer_expect_ack(&p, UROCE_AETH_NAK | UROCE_NAK_INVALID_REQUEST, PEER_RQ_PSN + 2, 2);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

static void
r22_replays_do_not_count(void **state)
{
	struct peer_conf conf = { .max_rd_atomic = 1 };
	struct peer_packet in[2];
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	in[0] = read_request(&p, PEER_RQ_PSN, 0, 8);
	in[1] = read_request(&p, PEER_RQ_PSN + 1, 8, 8);
	assert_int_equal(peer_in(&p, &in[0]), UROCE_OK);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_RQ_PSN);
	/* the network duplicated the first request: the second one stays legal */
	peer_in_burst(&p, in, 2);
	assert_int_equal(p.engine.verdicts[UROCE_NAK_RD_ATOMIC], 0);
	struct peer_packet out;
	do
		assert_true(peer_out(&p, &out));
	while (out.psn != PEER_RQ_PSN + 1);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

/* A READ is repeated before its first response is complete. The responder repeats the responses from the beginning,
 * and then completes the first. A new READ may arrive after the last response of the repetition, because the peer
 * then has all of it. */
static void
r22_the_rest_of_an_answer_does_not_count(void **state)
{
	struct peer_conf conf = { .max_rd_atomic = 1 };
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	struct peer_packet in = read_request(&p, PEER_RQ_PSN, 0, 4000);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_FIRST, PEER_RQ_PSN);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_MIDDLE, PEER_RQ_PSN + 1);
	assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_FIRST, PEER_RQ_PSN);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_MIDDLE, PEER_RQ_PSN + 1);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_MIDDLE, PEER_RQ_PSN + 2);
	assert_true(uroce_rd_atomic_full(uroce_qp_of(p.qp)));
	peer_expect(&p, UROCE_RC_READ_RESPONSE_LAST, PEER_RQ_PSN + 3);
	assert_false(uroce_rd_atomic_full(uroce_qp_of(p.qp)));
	in = read_request(&p, PEER_RQ_PSN + 4, 0, 8);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_RQ_PSN + 4);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

static void
the_longest_read(void **state)
{
	const size_t most = UROCE_MAX_MSG_BYTES;
	struct peer_conf conf = { .mtu = IBV_MTU_256, .rq_psn = 0x900000 };
	struct ibv_mr *mr;
	struct peer p;
	uint8_t *memory = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			       -1, 0);

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	peer_start(&p, &conf);
	mr = uroce_reg_mr(p.pd, memory, most, IBV_ACCESS_REMOTE_READ);
	struct peer_packet in = { .opcode = UROCE_RC_READ_REQUEST, .psn = 0x900000, .rkey = mr->rkey,
				  .va = (uintptr_t)memory, .dma_len = UROCE_MAX_MSG_BYTES };
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_FIRST, 0x900000);
	/* the peer requests the last packet again: half of the PSN space behind the expected PSN (R11) */
	in.psn = uroce_psn_add(0x900000, UROCE_PSN_HALF - 1);
	in.va += most - 256;
	in.dma_len = 256;
	assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
	struct peer_packet out = peer_expect(&p, UROCE_RC_READ_RESPONSE_LAST, in.psn);
	assert_int_equal(out.payload_bytes, 256);
	in = (struct peer_packet){ .opcode = UROCE_RC_READ_REQUEST, .psn = uroce_psn_add(0x900000, UROCE_PSN_HALF),
				   .rkey = mr->rkey, .va = (uintptr_t)memory, .dma_len = UROCE_MAX_MSG_BYTES + 1u };
	assert_int_equal(peer_in(&p, &in), UROCE_NAK_DMA_LEN);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	peer_stop(&p);
	munmap(memory, most);
}

/* The responder must not take an old READ, from before the PSNs wrapped, for the atomic with the same PSN. */
static void
r28_an_atomic_where_a_read_was_before(void **state)
{
	const size_t most = UROCE_MAX_MSG_BYTES;
	struct peer_conf conf = { .mtu = IBV_MTU_256, .rq_psn = 0x900000 };
	struct peer_packet in, again;
	struct ibv_mr *mr;
	struct peer p;
	uint8_t *memory = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			       -1, 0);

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	peer_start(&p, &conf);
	mr = uroce_reg_mr(p.pd, memory, most, IBV_ACCESS_REMOTE_READ);
	/* two READs of half of the PSN space each; only their last packets are sent */
	in = (struct peer_packet){ .opcode = UROCE_RC_READ_REQUEST, .psn = 0x900000, .rkey = mr->rkey,
				   .va = (uintptr_t)memory, .dma_len = UROCE_MAX_MSG_BYTES };
	for (int i = 0; i < 2; i++) {
		assert_int_equal(peer_in(&p, &in), UROCE_OK);
		again = in;
		again.psn = uroce_psn_add(in.psn, UROCE_PSN_HALF - 1);
		again.va += most - 256;
		again.dma_len = 256;
		assert_int_equal(peer_in(&p, &again), UROCE_DUPLICATE);
		peer_expect(&p, UROCE_RC_READ_RESPONSE_LAST, again.psn);
		in.psn = uroce_psn_add(in.psn, UROCE_PSN_HALF);
	}
	assert_int_equal(in.psn, 0x900000);
	in = (struct peer_packet){ .opcode = UROCE_RC_FETCH_ADD, .psn = 0x900000, .rkey = p.mr->rkey,
				   .va = (uintptr_t)p.buffer, .swap_add = 1 };
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect(&p, UROCE_RC_ATOMIC_ACKNOWLEDGE, 0x900000);
	assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
	peer_expect(&p, UROCE_RC_ATOMIC_ACKNOWLEDGE, 0x900000);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	peer_stop(&p);
	munmap(memory, most);
}

static void
a_read_whose_memory_goes_is_refused_from_there(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	struct peer_packet in = read_request(&p, PEER_RQ_PSN, 0, 4096);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_FIRST, PEER_RQ_PSN);
	assert_int_equal(uroce_dereg_mr(p.mr), 0);
	p.mr = NULL;
	peer_expect_ack(&p, UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR, PEER_RQ_PSN + 1, 1);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

UROCE_TESTS(response)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_read_is_answered_packet_by_packet),
		cmocka_unit_test(answers_keep_the_order_of_requests),
		cmocka_unit_test(r27_a_read_is_answered_again_from_the_middle),
		cmocka_unit_test(r27_parts_of_a_read_that_is_being_answered),
		cmocka_unit_test(r27_parts_of_a_long_read),
		cmocka_unit_test(a_read_of_memory_that_changes_loses_nothing),
		cmocka_unit_test(r27_a_read_of_memory_said_to_be_stable),
		cmocka_unit_test(a_read_of_memory_that_is_stable_no_more),
		cmocka_unit_test(r27_only_a_subset_of_the_original),
		cmocka_unit_test(r28_atomics_are_executed_once),
		cmocka_unit_test(r28_a_forgotten_atomic_is_dropped),
		cmocka_unit_test(r28_an_atomic_where_a_read_was_before),
		cmocka_unit_test(r28_an_atomic_from_before_a_reset_is_forgotten),
		cmocka_unit_test(r22_no_more_than_agreed),
		cmocka_unit_test(r22_replays_do_not_count),
		cmocka_unit_test(r22_the_rest_of_an_answer_does_not_count),
		cmocka_unit_test(the_longest_read),
		cmocka_unit_test(a_read_whose_memory_goes_is_refused_from_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
