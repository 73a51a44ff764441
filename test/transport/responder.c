/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The responder's checks, in the order of R10, and the reply of each.
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
#include "wire/psn.h"

#define UNLIMITED (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)
#define NAK(code) (UROCE_AETH_NAK | (code))

static uint8_t pattern[4096];

static struct peer_packet
write_only(const struct peer *p, uint32_t psn, uint32_t offset, uint32_t length)
{
	return (struct peer_packet){
		.opcode = UROCE_RC_WRITE_ONLY, .psn = psn, .ack_req = true, .rkey = p->mr->rkey,
		.va = (uintptr_t)p->buffer + offset, .dma_len = length, .payload = pattern,
		.payload_bytes = length,
	};
}

static struct peer_packet
send_only(uint32_t psn, uint32_t length)
{
	return (struct peer_packet){ .opcode = UROCE_RC_SEND_ONLY, .psn = psn, .ack_req = true,
				     .payload = pattern, .payload_bytes = length };
}

/* The packet is refused with a fatal NAK: the QP is in error, silent, and its receives are flushed. */
static void
expect_fatal(struct peer *p, const struct peer_packet *in, enum uroce_verdict verdict, uint8_t syndrome)
{
	struct peer_packet again = write_only(p, in->psn, 0, 8);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	memset(p->buffer, 0xee, 64);
	assert_int_equal(peer_in(p, in), verdict);
	/* R32: nothing more, even before the NAK has left */
	assert_int_equal(peer_in(p, &again), UROCE_DROP_QP_STATE);
	peer_expect_ack(p, syndrome, in->psn, 0);
	peer_expect_nothing(p);
	assert_int_equal(uroce_query_qp(p->qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	assert_int_equal(peer_in(p, &again), UROCE_DROP_QP_STATE);
	peer_expect_nothing(p);
	for (int i = 0; i < 64; i++)
		assert_int_equal(p->buffer[i], 0xee);
}

static void
write_is_placed_and_acknowledged(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	struct peer_packet in = write_only(&p, PEER_RQ_PSN, 7, 1001);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_memory_equal(p.buffer + 7, pattern, 1001);
	assert_int_equal(p.buffer[6], 0);
	assert_int_equal(p.buffer[7 + 1001], 0);
	peer_expect_ack(&p, UNLIMITED, PEER_RQ_PSN, 1);
	peer_expect_nothing(&p);
	peer_expect_no_wc(p.recv_cq);
	peer_stop(&p);
}

static void
write_of_several_packets_across_the_psn_wrap(void **state)
{
	struct peer_conf conf = { .rq_psn = 0xffffff, .mtu = IBV_MTU_256 };
	struct peer_packet in[3];
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	for (int i = 0; i < 3; i++) {
		in[i] = write_only(&p, uroce_psn_add(0xffffff, (uint32_t)i), 16, 600);
		in[i].opcode = (uint8_t)(UROCE_RC_WRITE_FIRST + i);
		in[i].payload = pattern + 256 * i;
		in[i].payload_bytes = i < 2 ? 256 : 88;
		in[i].ack_req = i == 2;
	}
	peer_in_burst(&p, in, 3);
	assert_int_equal(p.engine.verdicts[UROCE_OK], 3);
	assert_memory_equal(p.buffer + 16, pattern, 600);
	assert_int_equal(p.buffer[16 + 600], 0);
	peer_expect_ack(&p, UNLIMITED, 1, 1);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

static void
acknowledgements_of_a_burst_are_one(void **state)
{
	struct peer_packet in[8];
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint32_t i = 0; i < 8; i++)
		in[i] = write_only(&p, PEER_RQ_PSN + i, 0, 8);
	peer_in_burst(&p, in, 8);
	peer_expect_ack(&p, UNLIMITED, PEER_RQ_PSN + 7, 8);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

static void
write_without_ack_req_is_not_acknowledged(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	struct peer_packet in = write_only(&p, PEER_RQ_PSN, 0, 8);
	in.ack_req = false;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

static void
send_fills_the_oldest_receive(void **state)
{
	struct peer_packet in = send_only(PEER_RQ_PSN, 5);
	struct ibv_wc wc;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post_recv(&p, 100, 10, 41);
	peer_post_recv(&p, 200, 10, 42);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	wc = peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 41);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 5);
	assert_int_equal(wc.qp_num, p.qp->qp_num);
	assert_int_equal(wc.wc_flags & IBV_WC_WITH_IMM, 0);
	assert_memory_equal(p.buffer + 100, pattern, 5);
	assert_int_equal(p.buffer[105], 0);
	peer_expect_ack(&p, UROCE_AETH_ACK | 1, PEER_RQ_PSN, 1);
	in = send_only(PEER_RQ_PSN + 1, 0);
	in.opcode = UROCE_RC_SEND_ONLY_IMM;
	in.imm = 0xdeadbeef;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	wc = peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 42);
	assert_int_equal(wc.byte_len, 0);
	assert_true(wc.wc_flags & IBV_WC_WITH_IMM);
	assert_int_equal(rte_be_to_cpu_32(wc.imm_data), 0xdeadbeef);
	peer_expect_ack(&p, UROCE_AETH_ACK | 0, PEER_RQ_PSN + 1, 2);
	peer_stop(&p);
}

static void
write_with_immediate_takes_a_receive(void **state)
{
	struct ibv_wc wc;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	struct peer_packet in = write_only(&p, PEER_RQ_PSN, 0, 24);
	in.opcode = UROCE_RC_WRITE_ONLY_IMM;
	in.imm = 7;
	assert_int_equal(peer_in(&p, &in), UROCE_NAK_RNR);
	assert_int_equal(p.buffer[1], 0);
	peer_expect_ack(&p, UROCE_AETH_RNR_NAK | 12, PEER_RQ_PSN, 0);
	peer_post_recv(&p, 1000, 0, 5);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	wc = peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 5);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.byte_len, 24);
	assert_int_equal(rte_be_to_cpu_32(wc.imm_data), 7);
	assert_memory_equal(p.buffer, pattern, 24);
	peer_expect_ack(&p, UROCE_AETH_ACK | 0, PEER_RQ_PSN, 1);
	peer_stop(&p);
}

static void
r12_one_nak_until_the_expected_psn_comes(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	p.dev.go_back_n = true;
	struct peer_packet ahead = write_only(&p, PEER_RQ_PSN + 1, 0, 8);
	struct peer_packet expected = write_only(&p, PEER_RQ_PSN, 0, 8);
	assert_int_equal(peer_in(&p, &ahead), UROCE_NAK_SEQUENCE);
	peer_expect_ack(&p, NAK(UROCE_NAK_PSN_SEQUENCE_ERROR), PEER_RQ_PSN, 0);
	for (uint32_t i = 2; i < 5; i++) {
		ahead.psn = PEER_RQ_PSN + i;
		assert_int_equal(peer_in(&p, &ahead), UROCE_DROP_AHEAD);
		peer_expect_nothing(&p);
	}
	assert_int_equal(p.buffer[1], 0);
	assert_int_equal(peer_in(&p, &expected), UROCE_OK);
	peer_expect_ack(&p, UNLIMITED, PEER_RQ_PSN, 1);
	assert_int_equal(peer_in(&p, &ahead), UROCE_NAK_SEQUENCE);
	peer_expect_ack(&p, NAK(UROCE_NAK_PSN_SEQUENCE_ERROR), PEER_RQ_PSN + 1, 1);
	peer_stop(&p);
}

static void
r12_a_gap_that_closes_within_the_burst_is_still_named(void **state)
{
	struct peer_packet in[2];
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	p.dev.go_back_n = true;
	in[0] = write_only(&p, PEER_RQ_PSN + 1, 0, 8);	/* packets 1 and 2 arrive in reverse order */
	in[1] = write_only(&p, PEER_RQ_PSN, 0, 8);
	peer_in_burst(&p, in, 2);
	peer_expect_ack(&p, NAK(UROCE_NAK_PSN_SEQUENCE_ERROR), PEER_RQ_PSN + 1, 1);
	peer_expect_nothing(&p);
	/* a gap is reported once: each further NAK would cost the peer a retry */
	in[0].psn = PEER_RQ_PSN + 2;
	assert_int_equal(peer_in(&p, &in[0]), UROCE_DROP_AHEAD);
	peer_expect_nothing(&p);
	in[0].psn = PEER_RQ_PSN + 1;
	assert_int_equal(peer_in(&p, &in[0]), UROCE_OK);
	peer_expect_ack(&p, UNLIMITED, PEER_RQ_PSN + 1, 2);
	peer_stop(&p);
}

static void
r13_messages_have_first_middle_last(void **state)
{
	static const struct { uint8_t first, then; } wrong[] = {
		{ 0xff, UROCE_RC_WRITE_MIDDLE }, { 0xff, UROCE_RC_WRITE_LAST }, { 0xff, UROCE_RC_SEND_LAST },
		{ UROCE_RC_WRITE_FIRST, UROCE_RC_WRITE_ONLY }, { UROCE_RC_WRITE_FIRST, UROCE_RC_WRITE_FIRST },
		{ UROCE_RC_WRITE_FIRST, UROCE_RC_SEND_MIDDLE }, { UROCE_RC_WRITE_FIRST, UROCE_RC_READ_REQUEST },
		{ UROCE_RC_WRITE_FIRST, UROCE_RC_FETCH_ADD }, { UROCE_RC_SEND_FIRST, UROCE_RC_WRITE_LAST },
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		struct peer p;

		peer_start(&p, NULL);
		peer_post_recv(&p, 8192, 4096, 1);
		struct peer_packet in = write_only(&p, PEER_RQ_PSN, 4096, 1024);
		in.ack_req = false;
		in.dma_len = 4096;
		if (wrong[i].first != 0xff) {
			in.opcode = wrong[i].first;
			assert_int_equal(peer_in(&p, &in), UROCE_OK);
			in.psn++;
		}
		in.opcode = wrong[i].then;
		if (!(uroce_opcodes[in.opcode].flags & UROCE_OPF_PAYLOAD))
			in.payload_bytes = 0;
		expect_fatal(&p, &in, UROCE_NAK_OPCODE_SEQUENCE, NAK(UROCE_NAK_INVALID_REQUEST));
		/* the receive of the message fails, too */
		peer_expect_wc(p.recv_cq, wrong[i].first == UROCE_RC_SEND_FIRST ? IBV_WC_REM_INV_REQ_ERR
			       : IBV_WC_WR_FLUSH_ERR, 1);
		peer_stop(&p);
	}
}

static void
r14_payload_sizes(void **state)
{
	static const struct { uint8_t opcode; uint32_t bytes; } wrong[] = {
		{ UROCE_RC_WRITE_FIRST, 1023 }, { UROCE_RC_WRITE_FIRST, 1025 }, { UROCE_RC_WRITE_ONLY, 1025 },
		{ UROCE_RC_SEND_FIRST, 1 }, { UROCE_RC_SEND_ONLY, 1028 }, { UROCE_RC_WRITE_FIRST, 0 },
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		struct peer p;

		peer_start(&p, NULL);
		peer_post_recv(&p, 8192, 4096, 1);
		struct peer_packet in = write_only(&p, PEER_RQ_PSN, 0, wrong[i].bytes);
		in.opcode = wrong[i].opcode;
		in.dma_len = 1028;
		expect_fatal(&p, &in, UROCE_NAK_PAYLOAD, NAK(UROCE_NAK_INVALID_REQUEST));
		peer_stop(&p);
	}
}

static void
r16_the_packets_of_a_write_add_up(void **state)
{
	static const uint32_t lengths[] = { 1023, 1025, 0, UROCE_MAX_MSG_BYTES + 1u, 0xffffffff };

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(lengths); i++) {
		struct peer p;

		peer_start(&p, NULL);
		struct peer_packet in = write_only(&p, PEER_RQ_PSN, 0, 1024);
		in.dma_len = lengths[i];
		expect_fatal(&p, &in, UROCE_NAK_DMA_LEN, NAK(UROCE_NAK_INVALID_REQUEST));
		peer_stop(&p);
	}
}

static void
r17_a_send_too_long(void **state)
{
	struct peer_packet in = send_only(PEER_RQ_PSN, 11);
	struct ibv_wc wc;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post_recv(&p, 100, 10, 41);
	peer_post_recv(&p, 200, 10, 42);
	expect_fatal(&p, &in, UROCE_NAK_RECV_LENGTH, NAK(UROCE_NAK_INVALID_REQUEST));
	wc = peer_expect_wc(p.recv_cq, IBV_WC_LOC_LEN_ERR, 41);
	assert_int_equal(wc.qp_num, p.qp->qp_num);
	peer_expect_wc(p.recv_cq, IBV_WC_WR_FLUSH_ERR, 42);
	peer_expect_no_wc(p.recv_cq);
	assert_int_equal(p.buffer[100], 0);
	peer_stop(&p);
}

static void
r18_r20_keys(void **state)
{
	(void)state;
	for (int i = 0; i < 7; i++) {
		struct ibv_mr *read_only = NULL, *foreign = NULL;
		struct ibv_pd *pd = NULL;
		struct peer p;

		peer_start(&p, NULL);
		struct peer_packet in = write_only(&p, PEER_RQ_PSN, 0, 16);
		switch (i) {
		case 0:
			in.rkey ^= 0x100;
			break;
		case 1:
			in.va = (uintptr_t)p.buffer + PEER_BUFFER_BYTES - 15;
			break;
		case 2:
			in.va = (uintptr_t)p.buffer - 1;
			break;
		case 3:
			in.va = UINT64_MAX - 7;		/* va + length wraps */
			break;
		case 4:
			read_only = uroce_reg_mr(p.pd, p.buffer, 4096, IBV_ACCESS_REMOTE_READ);
			in.rkey = read_only->rkey;
			break;
		case 5:
			pd = uroce_alloc_pd(&p.dev.vctx.context);
			foreign = uroce_reg_mr(pd, p.buffer, 4096,
					       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
			in.rkey = foreign->rkey;
			break;
		case 6:
			assert_int_equal(uroce_dereg_mr(p.mr), 0);
			p.mr = NULL;
			break;
		}
		if (p.mr == NULL)
			assert_int_equal(peer_in(&p, &in), UROCE_NAK_ACCESS);
		else
			expect_fatal(&p, &in, UROCE_NAK_ACCESS, NAK(UROCE_NAK_REMOTE_ACCESS_ERROR));
		if (read_only != NULL)
			assert_int_equal(uroce_dereg_mr(read_only), 0);
		if (foreign != NULL)
			assert_int_equal(uroce_dereg_mr(foreign), 0);
		if (pd != NULL)
			assert_int_equal(uroce_dealloc_pd(pd), 0);
		peer_stop(&p);
	}
}

static void
r19_nothing_needs_no_key(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	struct peer_packet in = write_only(&p, PEER_RQ_PSN, 0, 0);
	in.rkey = 0;
	in.va = 1;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_ack(&p, UNLIMITED, PEER_RQ_PSN, 1);
	in.opcode = UROCE_RC_READ_REQUEST;
	in.psn++;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	struct peer_packet out = peer_expect(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_RQ_PSN + 1);
	assert_int_equal(out.payload_bytes, 0);
	assert_int_equal(out.msn, 2);
	peer_stop(&p);
}

static void
r21_rnr_then_served(void **state)
{
	struct peer_packet in = send_only(PEER_RQ_PSN, 5), next = send_only(PEER_RQ_PSN + 1, 5);
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(peer_in(&p, &in), UROCE_NAK_RNR);
	assert_int_equal(peer_in(&p, &next), UROCE_DROP_AHEAD);
	peer_expect_ack(&p, UROCE_AETH_RNR_NAK | 12, PEER_RQ_PSN, 0);
	peer_expect_nothing(&p);
	peer_post_recv(&p, 0, 10, 1);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_ack(&p, UROCE_AETH_ACK | 0, PEER_RQ_PSN, 1);
	peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 1);
	peer_stop(&p);
}

static void
r23_atomics_are_aligned(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	struct peer_packet in = { .opcode = UROCE_RC_FETCH_ADD, .psn = PEER_RQ_PSN, .rkey = p.mr->rkey,
				  .va = (uintptr_t)p.buffer + 4, .swap_add = 1 };
	expect_fatal(&p, &in, UROCE_NAK_ATOMIC_ALIGNMENT, NAK(UROCE_NAK_INVALID_REQUEST));
	peer_stop(&p);
}

static void
r26_duplicates_are_acknowledged_not_executed(void **state)
{
	struct peer_packet in = send_only(PEER_RQ_PSN, 5);
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post_recv(&p, 100, 10, 1);
	peer_post_recv(&p, 200, 10, 2);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_ack(&p, UROCE_AETH_ACK | 1, PEER_RQ_PSN, 1);
	peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 1);
	assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
	peer_expect_ack(&p, UROCE_AETH_ACK | 1, PEER_RQ_PSN, 1);
	peer_expect_no_wc(p.recv_cq);
	struct peer_packet write = write_only(&p, PEER_RQ_PSN - 1, 300, 8);
	assert_int_equal(peer_in(&p, &write), UROCE_DUPLICATE);
	assert_int_equal(p.buffer[301], 0);
	peer_expect_ack(&p, UROCE_AETH_ACK | 1, PEER_RQ_PSN, 1);
	peer_stop(&p);
}

static void
rights_of_the_qp(void **state)
{
	static const struct { uint8_t opcode; unsigned int access; } cases[] = {
		{ UROCE_RC_WRITE_ONLY, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC },
		{ UROCE_RC_READ_REQUEST, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC },
		{ UROCE_RC_FETCH_ADD, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ },
		{ UROCE_RC_CMP_SWAP, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ },
		{ UROCE_RC_ATOMIC_WRITE, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC },
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		struct peer_conf conf = { .access = cases[i].access & 0xf };
		struct peer p;

		peer_start(&p, &conf);
		peer_post_recv(&p, 4096, 64, 1);
		struct peer_packet in = write_only(&p, PEER_RQ_PSN, 0, 8);
		in.opcode = cases[i].opcode;
		if (!(uroce_opcodes[in.opcode].flags & UROCE_OPF_PAYLOAD))
			in.payload_bytes = 0;
		expect_fatal(&p, &in, UROCE_NAK_NOT_ALLOWED, NAK(UROCE_NAK_INVALID_REQUEST));
		peer_stop(&p);
	}
}

static void
a_receive_that_may_not_be_written(void **state)
{
	struct peer_packet in = send_only(PEER_RQ_PSN, 8);
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	struct ibv_mr *read_only = uroce_reg_mr(p.pd, p.buffer, 4096, 0);
	struct ibv_sge sge = { .addr = (uintptr_t)p.buffer, .length = 64, .lkey = read_only->lkey };
	struct ibv_recv_wr wr = { .wr_id = 9, .sg_list = &sge, .num_sge = 1 }, *bad;
	assert_int_equal(uroce_post_recv(p.qp, &wr, &bad), 0);
	expect_fatal(&p, &in, UROCE_NAK_LOCAL_PROTECTION, NAK(UROCE_NAK_REMOTE_OPERATIONAL_ERROR));
	peer_expect_wc(p.recv_cq, IBV_WC_LOC_PROT_ERR, 9);
	assert_int_equal(uroce_dereg_mr(read_only), 0);
	peer_stop(&p);
}

UROCE_TESTS(responder)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_is_placed_and_acknowledged),
		cmocka_unit_test(write_of_several_packets_across_the_psn_wrap),
		cmocka_unit_test(acknowledgements_of_a_burst_are_one),
		cmocka_unit_test(write_without_ack_req_is_not_acknowledged),
		cmocka_unit_test(send_fills_the_oldest_receive),
		cmocka_unit_test(write_with_immediate_takes_a_receive),
		cmocka_unit_test(r12_one_nak_until_the_expected_psn_comes),
		cmocka_unit_test(r12_a_gap_that_closes_within_the_burst_is_still_named),
		cmocka_unit_test(r13_messages_have_first_middle_last),
		cmocka_unit_test(r14_payload_sizes),
		cmocka_unit_test(r16_the_packets_of_a_write_add_up),
		cmocka_unit_test(r17_a_send_too_long),
		cmocka_unit_test(r18_r20_keys),
		cmocka_unit_test(r19_nothing_needs_no_key),
		cmocka_unit_test(r21_rnr_then_served),
		cmocka_unit_test(r23_atomics_are_aligned),
		cmocka_unit_test(r26_duplicates_are_acknowledged_not_executed),
		cmocka_unit_test(rights_of_the_qp),
		cmocka_unit_test(a_receive_that_may_not_be_written),
	};

	for (unsigned int i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 7 + 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
