/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Unreliable connections: messages that arrive whole or not at all, sends that complete once they have left, and send
 * queues in error.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_malloc.h>

#include "groups.h"
#include "peer.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "wire/opcode.h"

#define UC(opcode) (UROCE_UC_SEND_FIRST + UROCE_RC_##opcode)

static const struct peer_conf uc = { .type = IBV_QPT_UC };
static uint8_t pattern[4096];

static struct peer_packet
write_packet(const struct peer *p, uint8_t opcode, uint32_t psn, uint32_t bytes)
{
	return (struct peer_packet){
		.opcode = opcode, .psn = psn, .va = (uintptr_t)p->buffer, .rkey = p->mr->rkey, .dma_len = bytes,
		.payload = pattern, .payload_bytes = bytes, .imm = 0xabcdef01,
	};
}

static struct peer_packet
send_packet(uint8_t opcode, uint32_t psn, uint32_t bytes)
{
	return (struct peer_packet){
		.opcode = opcode, .psn = psn, .payload = pattern, .payload_bytes = bytes, .imm = 0xabcdef01,
	};
}

/* The packet causes no reply, and the receive stays for the next message. */
static void
expect_dropped(struct peer *p, const struct peer_packet *in, enum uroce_verdict verdict)
{
	assert_int_equal(peer_in(p, in), verdict);
	peer_expect_nothing(p);
	peer_expect_no_wc(p->recv_cq);
	assert_int_equal(uroce_qp_of(p->qp)->state, IBV_QPS_RTS);
}

static void
messages_arrive_and_nothing_answers(void **state)
{
	struct peer_packet in;
	struct ibv_wc wc;
	struct peer p;

	(void)state;
	peer_start(&p, &uc);
	peer_post_recv(&p, 8192, 4096, 1);
	peer_post_recv(&p, 16384, 4096, 2);
	in = write_packet(&p, UC(WRITE_ONLY), PEER_RQ_PSN, 100);
	in.ack_req = true;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_memory_equal(p.buffer, pattern, 100);
	in = send_packet(UC(SEND_FIRST), PEER_RQ_PSN + 1, 1024);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	in = send_packet(UC(SEND_MIDDLE), PEER_RQ_PSN + 2, 1024);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	in = send_packet(UC(SEND_LAST_IMM), PEER_RQ_PSN + 3, 7);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	wc = peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 1);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 2055);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(rte_be_to_cpu_32(wc.imm_data), 0xabcdef01);
	assert_int_equal(wc.src_qp, PEER_QPN);
	assert_memory_equal(p.buffer + 8192 + 2048, pattern, 7);
	in = write_packet(&p, UC(WRITE_ONLY_IMM), PEER_RQ_PSN + 4, 16);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	wc = peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 2);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.byte_len, 16);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

static void
r13_a_lost_packet_drops_its_message_only(void **state)
{
	struct peer_packet in;
	struct ibv_wc wc;
	struct peer p;

	(void)state;
	peer_start(&p, &uc);
	peer_post_recv(&p, 8192, 4096, 1);
	in = send_packet(UC(SEND_FIRST), PEER_RQ_PSN, 1024);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	in = send_packet(UC(SEND_MIDDLE), PEER_RQ_PSN + 2, 1024);
	expect_dropped(&p, &in, UROCE_DROP_SEQUENCE);
	/* the PSN is right, but the message is already dropped */
	in = send_packet(UC(SEND_LAST), PEER_RQ_PSN + 3, 4);
	expect_dropped(&p, &in, UROCE_DROP_SEQUENCE);
	/* a new message with any PSN, in the same receive */
	in = send_packet(UC(SEND_FIRST), PEER_RQ_PSN + 70, 1024);
	in.payload = pattern + 5;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	in = send_packet(UC(SEND_LAST), PEER_RQ_PSN + 71, 4);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	wc = peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 1);
	assert_int_equal(wc.byte_len, 1028);
	assert_memory_equal(p.buffer + 8192, pattern + 5, 1024);
	peer_stop(&p);
}

static void
r13_first_middle_last(void **state)
{
	static const struct { uint8_t first, second; } wrong[] = {
		{ 0, UC(SEND_MIDDLE) }, { 0, UC(SEND_LAST) }, { 0, UC(SEND_LAST_IMM) }, { 0, UC(WRITE_MIDDLE) },
		{ 0, UC(WRITE_LAST) }, { 0, UC(WRITE_LAST_IMM) },
		{ UC(SEND_FIRST), UC(WRITE_MIDDLE) }, { UC(SEND_FIRST), UC(WRITE_LAST) },
		{ UC(WRITE_FIRST), UC(SEND_MIDDLE) }, { UC(WRITE_FIRST), UC(SEND_LAST) },
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		struct peer_packet in;
		struct peer p;

		peer_start(&p, &uc);
		peer_post_recv(&p, 8192, 4096, 1);
		if (wrong[i].first != 0) {
			in = write_packet(&p, wrong[i].first, PEER_RQ_PSN, 1024);
			in.dma_len = 2048;
			assert_int_equal(peer_in(&p, &in), UROCE_OK);
		}
		in = write_packet(&p, wrong[i].second, PEER_RQ_PSN + (wrong[i].first != 0), 1024);
		expect_dropped(&p, &in, UROCE_DROP_SEQUENCE);
		in = send_packet(UC(SEND_ONLY), PEER_RQ_PSN + 9, 4);
		assert_int_equal(peer_in(&p, &in), UROCE_OK);
		peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 1);
		peer_stop(&p);
	}
}

static void
r13_a_message_without_its_last_is_followed_by_a_new_one(void **state)
{
	struct peer_packet in;
	struct peer p;

	(void)state;
	peer_start(&p, &uc);
	peer_post_recv(&p, 8192, 4096, 1);
	in = send_packet(UC(SEND_FIRST), PEER_RQ_PSN, 1024);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	/* the next PSN, but the LAST was never sent */
	in = send_packet(UC(SEND_ONLY), PEER_RQ_PSN + 1, 9);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 1).byte_len, 9);
	peer_expect_no_wc(p.recv_cq);
	peer_stop(&p);
}

static void
r14_r15_bad_lengths_are_dropped(void **state)
{
	static const struct { uint8_t opcode; uint32_t bytes, dma_len; } wrong[] = {
		{ UC(SEND_FIRST), 1023, 0 }, { UC(SEND_FIRST), 1025, 0 }, { UC(SEND_ONLY), 1025, 0 },
		{ UC(SEND_ONLY), 513, 0 },	/* longer than the receive */
		{ UC(WRITE_FIRST), 1020, 4000 }, { UC(WRITE_FIRST), 1024, 1024 }, { UC(WRITE_ONLY), 8, 9 },
		{ UC(WRITE_ONLY), 8, 7 }, { UC(WRITE_ONLY_IMM), 8, 7 }, { UC(WRITE_ONLY), 1028, 1028 },
		{ UC(WRITE_FIRST), 1024, UROCE_MAX_MSG_BYTES + 1u }, { UC(WRITE_FIRST), 1024, 0xffffffff },
	};
	struct peer_packet in;
	struct peer p;

	(void)state;
	peer_start(&p, &uc);
	peer_post_recv(&p, 8192, 512, 1);
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		in = write_packet(&p, wrong[i].opcode, PEER_RQ_PSN + i, wrong[i].bytes);
		in.dma_len = wrong[i].dma_len;
		expect_dropped(&p, &in, UROCE_DROP_PAYLOAD);
	}
	/* a packet of the message in progress */
	in = send_packet(UC(SEND_ONLY), PEER_RQ_PSN + 100, 4);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 1);
	peer_post_recv(&p, 8192, 1030, 2);
	in = send_packet(UC(SEND_FIRST), PEER_RQ_PSN + 101, 1024);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	in = send_packet(UC(SEND_LAST), PEER_RQ_PSN + 102, 7);
	expect_dropped(&p, &in, UROCE_DROP_PAYLOAD);
	in = send_packet(UC(SEND_FIRST), PEER_RQ_PSN + 103, 1024);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	in = send_packet(UC(SEND_LAST), PEER_RQ_PSN + 104, 0);
	expect_dropped(&p, &in, UROCE_DROP_PAYLOAD);
	peer_stop(&p);
}

static void
without_a_receive_the_message_is_dropped(void **state)
{
	struct peer_packet in;
	struct peer p;

	(void)state;
	peer_start(&p, &uc);
	in = send_packet(UC(SEND_FIRST), PEER_RQ_PSN, 1024);
	expect_dropped(&p, &in, UROCE_DROP_NO_RECV);
	/* too late for this message */
	peer_post_recv(&p, 8192, 4096, 1);
	in = send_packet(UC(SEND_LAST), PEER_RQ_PSN + 1, 8);
	expect_dropped(&p, &in, UROCE_DROP_SEQUENCE);
	in = send_packet(UC(SEND_ONLY), PEER_RQ_PSN + 2, 8);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 1);
	in = write_packet(&p, UC(WRITE_ONLY_IMM), PEER_RQ_PSN + 3, 8);
	expect_dropped(&p, &in, UROCE_DROP_NO_RECV);
	peer_stop(&p);
}

static void
r18_writes_that_are_not_allowed_are_dropped(void **state)
{
	const struct peer_conf no_write = { .type = IBV_QPT_UC, .access = IBV_ACCESS_REMOTE_READ };
	struct peer_packet in;
	struct peer p;

	(void)state;
	peer_start(&p, &no_write);
	in = write_packet(&p, UC(WRITE_ONLY), PEER_RQ_PSN, 8);
	expect_dropped(&p, &in, UROCE_DROP_ACCESS);
	peer_stop(&p);
	peer_start(&p, &uc);
	in = write_packet(&p, UC(WRITE_ONLY), PEER_RQ_PSN, 8);
	in.rkey ^= 0x100;
	expect_dropped(&p, &in, UROCE_DROP_ACCESS);
	in = write_packet(&p, UC(WRITE_ONLY), PEER_RQ_PSN + 1, 8);
	in.va = UINT64_MAX - 3;		/* R20 */
	expect_dropped(&p, &in, UROCE_DROP_ACCESS);
	in = write_packet(&p, UC(WRITE_FIRST), PEER_RQ_PSN + 2, 1024);
	in.va += PEER_BUFFER_BYTES - 1024;
	in.dma_len = 1025;
	expect_dropped(&p, &in, UROCE_DROP_ACCESS);
	assert_int_equal(p.buffer[PEER_BUFFER_BYTES - 1], 0);
	/* R19 */
	in = write_packet(&p, UC(WRITE_ONLY), PEER_RQ_PSN + 3, 0);
	in.rkey = 0;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_stop(&p);
}

static void
r8_source_and_r6_pkey(void **state)
{
	struct peer_packet in;
	struct peer p;

	(void)state;
	peer_start(&p, &uc);
	peer_post_recv(&p, 8192, 4096, 1);
	in = send_packet(UC(SEND_ONLY), PEER_RQ_PSN, 8);
	in.last_ip_byte = 77;
	expect_dropped(&p, &in, UROCE_DROP_SOURCE);
	in.last_ip_byte = 0;
	in.pkey = 0x1234;
	expect_dropped(&p, &in, UROCE_DROP_PKEY);
	in.pkey = 0;
	in.opcode = UROCE_RC_SEND_ONLY;
	expect_dropped(&p, &in, UROCE_DROP_TRANSPORT);	/* R2 */
	in.opcode = UROCE_UD_SEND_ONLY;
	expect_dropped(&p, &in, UROCE_DROP_TRANSPORT);
	in.opcode = UC(SEND_ONLY);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_stop(&p);
}

static void
a_receive_that_may_not_be_written(void **state)
{
	struct peer_packet in = send_packet(UC(SEND_ONLY), PEER_RQ_PSN, 8);
	struct ibv_recv_wr *bad;
	struct peer p;

	(void)state;
	peer_start(&p, &uc);
	struct ibv_mr *read_only = uroce_reg_mr(p.pd, p.buffer, 4096, 0);
	struct ibv_sge sge = { .addr = (uintptr_t)p.buffer, .length = 64, .lkey = read_only->lkey };
	struct ibv_recv_wr wr = { .wr_id = 9, .sg_list = &sge, .num_sge = 1 };
	assert_int_equal(uroce_post_recv(p.qp, &wr, &bad), 0);
	peer_post_recv(&p, 8192, 64, 10);
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_LOCAL_PROTECTION);
	peer_expect_wc(p.recv_cq, IBV_WC_LOC_PROT_ERR, 9);
	peer_expect_wc(p.recv_cq, IBV_WC_WR_FLUSH_ERR, 10);
	assert_int_equal(uroce_qp_of(p.qp)->state, IBV_QPS_ERR);
	peer_expect_nothing(&p);
	assert_int_equal(uroce_dereg_mr(read_only), 0);
	peer_stop(&p);
}

static void
sends_complete_when_they_have_left(void **state)
{
	struct peer_packet out;
	struct ibv_wc wc;
	struct peer p;

	(void)state;
	peer_start(&p, &uc);
	memcpy(p.buffer, pattern, sizeof(pattern));
	peer_post(&p, IBV_WR_SEND_WITH_IMM, 0, 2050, 1, IBV_SEND_SOLICITED);
	out = peer_expect(&p, UC(SEND_FIRST), PEER_SQ_PSN);
	assert_int_equal(out.payload_bytes, 1024);
	assert_false(out.ack_req || out.solicited);
	peer_expect_no_wc(p.send_cq);
	out = peer_expect(&p, UC(SEND_MIDDLE), PEER_SQ_PSN + 1);
	peer_expect_no_wc(p.send_cq);
	out = peer_expect(&p, UC(SEND_LAST_IMM), PEER_SQ_PSN + 2);
	assert_int_equal(out.payload_bytes, 2);
	assert_memory_equal(out.bytes, pattern + 2048, 2);
	assert_int_equal(out.imm, 0x11223344);
	assert_true(out.solicited);
	assert_false(out.ack_req);
	wc = peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	assert_int_equal(wc.opcode, IBV_WC_SEND);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 1025, 2, IBV_SEND_SOLICITED);
	out = peer_expect(&p, UC(WRITE_FIRST), PEER_SQ_PSN + 3);
	assert_int_equal(out.va, 0x7000);
	assert_int_equal(out.rkey, 0x99);
	assert_int_equal(out.dma_len, 1025);
	out = peer_expect(&p, UC(WRITE_LAST), PEER_SQ_PSN + 4);
	assert_false(out.solicited);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 2);
	peer_post(&p, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 0, 3, 0);
	out = peer_expect(&p, UC(WRITE_ONLY_IMM), PEER_SQ_PSN + 5);
	assert_int_equal(out.dma_len, 0);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 3);
	/* no reply is due, so no timer runs */
	peer_expect_nothing(&p);
	assert_int_equal(uroce_engine_deadline(&p.engine), UINT64_MAX);
	peer_stop(&p);
}

static void
a_send_that_is_complete_needs_its_memory_no_more(void **state)
{
	const struct peer_conf conf = { .type = IBV_QPT_UC, .mtu = IBV_MTU_4096 };
	struct rte_mbuf *frame;
	struct ibv_send_wr *bad;
	struct ibv_mr *mr;
	uint8_t *memory;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	/* of DPDK: RC would send it without copying */
	memory = rte_malloc(NULL, UROCE_ZERO_COPY_BYTES, 4096);
	assert_non_null(memory);
	mr = uroce_reg_mr(p.pd, memory, UROCE_ZERO_COPY_BYTES, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	struct ibv_sge sge = { .addr = (uintptr_t)memory, .length = UROCE_ZERO_COPY_BYTES, .lkey = mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge, .num_sge = 1 };
	assert_int_equal(uroce_post_send(p.qp, &wr, &bad), 0);
	assert_int_equal(uroce_engine_send(&p.engine, &frame, 1, p.now_ns), 1);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	/* the frame is still in the port's ring */
	assert_int_equal(frame->nb_segs, 1);
	assert_int_equal(p.engine.counters[UROCE_ZERO_COPY_PACKETS], 0);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	rte_free(memory);
	rte_pktmbuf_free(frame);
	peer_stop(&p);
}

static void
back_to_rts(struct peer *p)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQE };

	assert_int_equal(uroce_modify_qp(p->qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), 0);
}

/* Fail one request, which flushes two. */
static void
fail_one(struct peer *p, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	assert_int_equal(uroce_post_send(p->qp, wr, &bad), 0);
	peer_post(p, IBV_WR_SEND, 0, 8, 6, 0);
	peer_post(p, IBV_WR_SEND, 0, 8, 7, 0);
	peer_expect_nothing(p);
	peer_expect_wc(p->send_cq, IBV_WC_LOC_PROT_ERR, wr->wr_id);
	peer_expect_wc(p->send_cq, IBV_WC_WR_FLUSH_ERR, 6);
	peer_expect_wc(p->send_cq, IBV_WC_WR_FLUSH_ERR, 7);
}

static void
a_send_that_fails_stops_the_send_queue_only(void **state)
{
	struct peer_packet in = send_packet(UC(SEND_ONLY), PEER_RQ_PSN, 8);
	struct ibv_sge sge = { .addr = 0x1000, .length = 1500, .lkey = 0x12345 };
	struct ibv_send_wr wr = { .wr_id = 2, .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct peer p;

	(void)state;
	peer_start(&p, &uc);
	peer_post_recv(&p, 8192, 64, 7);
	peer_post(&p, IBV_WR_SEND, 0, 8, 1, 0);
	assert_int_equal(uroce_post_send(p.qp, &wr, &bad), 0);	/* R42: unsignaled */
	peer_post(&p, IBV_WR_SEND, 0, 8, 3, 0);
	peer_expect(&p, UC(SEND_ONLY), PEER_SQ_PSN);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	peer_expect_wc(p.send_cq, IBV_WC_LOC_PROT_ERR, 2);
	peer_expect_wc(p.send_cq, IBV_WC_WR_FLUSH_ERR, 3);
	assert_int_equal(uroce_query_qp(p.qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_SQE);
	/* requests are accepted and flushed; the QP still receives */
	peer_post(&p, IBV_WR_SEND, 0, 8, 4, 0);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_WR_FLUSH_ERR, 4);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 7);
	back_to_rts(&p);
	peer_post(&p, IBV_WR_SEND, 0, 8, 5, 0);
	peer_expect(&p, UC(SEND_ONLY), PEER_SQ_PSN + 1);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 5);
	/* draining does not wait for flushed requests */
	fail_one(&p, &wr);
	back_to_rts(&p);
	attr.qp_state = IBV_QPS_SQD;
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(uroce_query_qp(p.qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.sq_draining, 0);
	peer_stop(&p);
}

/* The memory is deregistered in the middle of a message: the rest is not sent, and a new message begins with FIRST. */
static void
a_send_that_fails_in_its_middle(void **state)
{
	struct ibv_send_wr *bad;
	struct peer p;

	(void)state;
	peer_start(&p, &uc);
	struct ibv_mr *mr = uroce_reg_mr(p.pd, p.buffer, 8192, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { .addr = (uintptr_t)p.buffer, .length = 3000, .lkey = mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	assert_int_equal(uroce_post_send(p.qp, &wr, &bad), 0);
	peer_expect(&p, UC(SEND_FIRST), PEER_SQ_PSN);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_LOC_PROT_ERR, 1);
	back_to_rts(&p);
	peer_post(&p, IBV_WR_SEND, 0, 1025, 2, 0);
	peer_expect(&p, UC(SEND_FIRST), PEER_SQ_PSN + 1);
	peer_expect(&p, UC(SEND_LAST), PEER_SQ_PSN + 2);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 2);
	peer_stop(&p);
}

static void
sqd_ends_the_message_that_has_begun(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	struct ibv_qp_init_attr init;
	struct peer p;

	(void)state;
	peer_start(&p, &uc);
	peer_post(&p, IBV_WR_SEND, 0, 2048, 1, 0);
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	peer_expect(&p, UC(SEND_FIRST), PEER_SQ_PSN);
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(uroce_query_qp(p.qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.sq_draining, 1);
	peer_expect(&p, UC(SEND_LAST), PEER_SQ_PSN + 1);
	peer_expect_nothing(&p);
	assert_int_equal(uroce_query_qp(p.qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.sq_draining, 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	peer_expect(&p, UC(SEND_ONLY), PEER_SQ_PSN + 2);
	peer_stop(&p);
}

static void
r32_nothing_is_executed_in_its_states(void **state)
{
	const struct peer_conf init = { .type = IBV_QPT_UC, .state = IBV_QPS_INIT };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct peer_packet in;
	struct peer p;

	(void)state;
	peer_start(&p, &init);
	in = write_packet(&p, UC(WRITE_ONLY), PEER_RQ_PSN, 8);
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_QP_STATE);
	peer_stop(&p);
	peer_start(&p, &uc);
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	in = write_packet(&p, UC(WRITE_ONLY), PEER_RQ_PSN, 8);
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_QP_STATE);
	assert_int_equal(p.buffer[1], 0);
	peer_stop(&p);
}

static void
r43_an_overrun_ends_the_qp(void **state)
{
	const struct peer_conf small = { .type = IBV_QPT_UC, .cqe = 1 };
	struct peer p;

	(void)state;
	peer_start(&p, &small);
	for (uint64_t i = 1; i <= 3; i++)
		peer_post(&p, IBV_WR_SEND, 0, 8, i, 0);
	peer_expect(&p, UC(SEND_ONLY), PEER_SQ_PSN);
	peer_expect(&p, UC(SEND_ONLY), PEER_SQ_PSN + 1);	/* the CQ has no room for its completion */
	peer_expect_nothing(&p);
	assert_int_equal(uroce_qp_of(p.qp)->state, IBV_QPS_ERR);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	peer_stop(&p);
}

static void
without_mbufs_it_tries_again(void **state)
{
	struct rte_mbuf *held[1023];
	struct rte_mbuf *frame;
	unsigned int n = 0;
	struct peer p;

	(void)state;
	peer_start(&p, &uc);
	while (n < RTE_DIM(held) && (held[n] = rte_pktmbuf_alloc(p.payloads)) != NULL)
		n++;
	peer_post(&p, IBV_WR_SEND, 0, 2048, 1, 0);
	assert_int_equal(uroce_engine_send(&p.engine, &frame, 1, p.now_ns), 0);
	assert_int_equal(uroce_engine_deadline(&p.engine), p.now_ns);
	peer_expect_no_wc(p.send_cq);
	rte_pktmbuf_free_bulk(held, n);
	peer_expect(&p, UC(SEND_FIRST), PEER_SQ_PSN);
	peer_expect(&p, UC(SEND_LAST), PEER_SQ_PSN + 1);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	peer_stop(&p);
}

UROCE_TESTS(uc)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_arrive_and_nothing_answers),
		cmocka_unit_test(r13_a_lost_packet_drops_its_message_only),
		cmocka_unit_test(r13_first_middle_last),
		cmocka_unit_test(r13_a_message_without_its_last_is_followed_by_a_new_one),
		cmocka_unit_test(r14_r15_bad_lengths_are_dropped),
		cmocka_unit_test(without_a_receive_the_message_is_dropped),
		cmocka_unit_test(r18_writes_that_are_not_allowed_are_dropped),
		cmocka_unit_test(r8_source_and_r6_pkey),
		cmocka_unit_test(a_receive_that_may_not_be_written),
		cmocka_unit_test(sends_complete_when_they_have_left),
		cmocka_unit_test(a_send_that_is_complete_needs_its_memory_no_more),
		cmocka_unit_test(a_send_that_fails_stops_the_send_queue_only),
		cmocka_unit_test(a_send_that_fails_in_its_middle),
		cmocka_unit_test(sqd_ends_the_message_that_has_begun),
		cmocka_unit_test(r32_nothing_is_executed_in_its_states),
		cmocka_unit_test(r43_an_overrun_ends_the_qp),
		cmocka_unit_test(without_mbufs_it_tries_again),
	};

	for (unsigned int i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 7 + 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
