/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Send work requests become packets: opcodes, windows, fences, and retransmission from any PSN.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "groups.h"
#include "peer.h"
#include "uroce_config.h"
#include "wire/psn.h"

#define UNLIMITED (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)

static void
fill(struct peer *p)
{
	for (unsigned int i = 0; i < PEER_BUFFER_BYTES; i++)
		p->buffer[i] = (uint8_t)(i * 11 + i / 256);
}

static enum uroce_verdict
ack(struct peer *p, uint8_t syndrome, uint32_t psn)
{
	struct peer_packet in = { .opcode = UROCE_RC_ACKNOWLEDGE, .psn = psn, .syndrome = syndrome };

	return peer_in(p, &in);
}

static void
every_operation_has_its_opcodes(void **state)
{
	static const struct {
		enum ibv_wr_opcode op;
		uint32_t length;
		uint8_t opcodes[3];
	} cases[] = {
		{ IBV_WR_SEND, 0, { UROCE_RC_SEND_ONLY } },
		{ IBV_WR_SEND, 1024, { UROCE_RC_SEND_ONLY } },
		{ IBV_WR_SEND, 1025, { UROCE_RC_SEND_FIRST, UROCE_RC_SEND_LAST } },
		{ IBV_WR_SEND, 2049, { UROCE_RC_SEND_FIRST, UROCE_RC_SEND_MIDDLE, UROCE_RC_SEND_LAST } },
		{ IBV_WR_SEND_WITH_IMM, 3, { UROCE_RC_SEND_ONLY_IMM } },
		{ IBV_WR_SEND_WITH_IMM, 2048, { UROCE_RC_SEND_FIRST, UROCE_RC_SEND_LAST_IMM } },
		{ IBV_WR_RDMA_WRITE, 0, { UROCE_RC_WRITE_ONLY } },
		{ IBV_WR_RDMA_WRITE, 3071, { UROCE_RC_WRITE_FIRST, UROCE_RC_WRITE_MIDDLE, UROCE_RC_WRITE_LAST } },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, 5, { UROCE_RC_WRITE_ONLY_IMM } },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, 1030, { UROCE_RC_WRITE_FIRST, UROCE_RC_WRITE_LAST_IMM } },
	};

	(void)state;
	for (unsigned int c = 0; c < 2 * RTE_DIM(cases); c++) {
		struct peer_conf conf = { .copy = c & 1 };
		uint32_t length = cases[c / 2].length, packets = length == 0 ? 1 : (length + 1023) / 1024;
		struct peer p;

		peer_start(&p, &conf);
		fill(&p);
		peer_post(&p, cases[c / 2].op, 9, length, 1, IBV_SEND_SOLICITED);
		for (uint32_t i = 0; i < packets; i++) {
			struct peer_packet out = peer_expect(&p, cases[c / 2].opcodes[i], PEER_SQ_PSN + i);
			const struct uroce_opcode_info *info = &uroce_opcodes[out.opcode];
			bool last = i + 1 == packets;

			assert_int_equal(out.payload_bytes, last ? length - i * 1024 : 1024);
			assert_memory_equal(out.bytes, p.buffer + 9 + i * 1024, out.payload_bytes);
			assert_int_equal(out.ack_req, last);
			assert_int_equal(out.solicited, last && cases[c / 2].op != IBV_WR_RDMA_WRITE);
			if (info->ext[UROCE_EXT_RETH] != 0) {
				assert_int_equal(out.va, 0x7000);
				assert_int_equal(out.rkey, 0x99);
				assert_int_equal(out.dma_len, length);
			}
			if (info->ext[UROCE_EXT_IMMDT] != 0)
				assert_int_equal(out.imm, 0x11223344);
		}
		peer_expect_nothing(&p);
		peer_expect_no_wc(p.send_cq);
		assert_int_equal(ack(&p, UNLIMITED, PEER_SQ_PSN + packets - 1), UROCE_OK);
		peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
		assert_int_equal(uroce_engine_deadline(&p.engine) != UINT64_MAX, true);
		peer_stop(&p);
	}
}

static void
reads_and_atomics_ask(void **state)
{
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post(&p, IBV_WR_RDMA_READ, 0, 3000, 1, 0);
	peer_post(&p, IBV_WR_ATOMIC_CMP_AND_SWP, 4096, 8, 2, 0);
	peer_post(&p, IBV_WR_ATOMIC_FETCH_AND_ADD, 4104, 8, 3, 0);
	out = peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN);
	assert_int_equal(out.va, 0x7000);
	assert_int_equal(out.rkey, 0x99);
	assert_int_equal(out.dma_len, 3000);
	out = peer_expect(&p, UROCE_RC_CMP_SWAP, PEER_SQ_PSN + 3);
	assert_int_equal(out.va, 0x7000);
	assert_int_equal(out.compare, 0x0102030405060708);
	assert_int_equal(out.swap_add, 0x1112131415161718);
	out = peer_expect(&p, UROCE_RC_FETCH_ADD, PEER_SQ_PSN + 4);
	assert_int_equal(out.swap_add, 0x0102030405060708);
	assert_int_equal(out.compare, 0);
	peer_stop(&p);
}

static void
sixteen_entries_and_inline(void **state)
{
	struct ibv_sge sge[16];
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 16 }, *bad;
	uint8_t expected[2048], text[40] = "inline data, overwritten after posting";
	struct peer_packet out;
	uint32_t total = 0;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	fill(&p);
	for (unsigned int i = 0; i < 16; i++) {
		sge[i] = (struct ibv_sge){ (uintptr_t)p.buffer + 3000 * i + i, i == 3 ? 0 : 90 + i, p.mr->lkey };
		memcpy(expected + total, p.buffer + 3000 * i + i, sge[i].length);
		total += sge[i].length;
	}
	assert_int_equal(uroce_post_send(p.qp, &wr, &bad), 0);
	out = peer_expect(&p, UROCE_RC_SEND_FIRST, PEER_SQ_PSN);
	assert_memory_equal(out.bytes, expected, 1024);
	out = peer_expect(&p, UROCE_RC_SEND_LAST, PEER_SQ_PSN + 1);
	assert_int_equal(out.payload_bytes, total - 1024);
	assert_memory_equal(out.bytes, expected + 1024, total - 1024);

	sge[0] = (struct ibv_sge){ (uintptr_t)text, 30, 0 };
	sge[1] = (struct ibv_sge){ (uintptr_t)text + 30, 9, 0 };
	wr.num_sge = 2;
	wr.send_flags = IBV_SEND_INLINE;
	memcpy(expected, text, 39);
	assert_int_equal(uroce_post_send(p.qp, &wr, &bad), 0);
	memset(text, 0, sizeof(text));
	out = peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN + 2);
	assert_int_equal(out.payload_bytes, 39);
	assert_memory_equal(out.bytes, expected, 39);
	peer_stop(&p);
}

static void
the_window_is_bounded_and_asks_for_acks(void **state)
{
	struct peer_conf conf = { .mtu = IBV_MTU_256, .sq_psn = 0xffff80 };
	struct peer_packet out;
	uint32_t asked = 0, since = 0, n;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, PEER_BUFFER_BYTES, 1, 0);	/* 256 packets */
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 512, 2, 0);
	for (n = 0; peer_out(&p, &out); n++) {
		assert_int_equal(out.psn, uroce_psn_add(0xffff80, n));
		since = out.ack_req ? 0 : since + 1;
		asked += out.ack_req;
		assert_true(since < UROCE_ACK_REQ_PACKETS);
	}
	assert_int_equal(n, UROCE_WINDOW_PACKETS);
	assert_true(asked >= UROCE_WINDOW_PACKETS / UROCE_ACK_REQ_PACKETS);
	assert_int_equal(ack(&p, UNLIMITED, 0xffff80), UROCE_OK);
	peer_expect(&p, UROCE_RC_WRITE_FIRST, uroce_psn_add(0xffff80, 256));
	peer_expect_nothing(&p);
	assert_int_equal(ack(&p, UNLIMITED, uroce_psn_add(0xffff80, 256)), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	peer_expect(&p, UROCE_RC_WRITE_LAST, uroce_psn_add(0xffff80, 257));
	peer_stop(&p);
}

static void
r39_outstanding_reads_and_fences(void **state)
{
	struct peer_conf conf = { .max_rd_atomic = 2 };
	struct peer_packet in = { .opcode = UROCE_RC_READ_RESPONSE_ONLY, .syndrome = UNLIMITED, .payload_bytes = 8 };
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	for (uint64_t i = 0; i < 3; i++)
		peer_post(&p, IBV_WR_RDMA_READ, 0, 8, i, 0);
	peer_post(&p, IBV_WR_SEND, 0, 8, 3, IBV_SEND_FENCE);
	peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN);
	peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN + 1);
	peer_expect_nothing(&p);
	in.psn = PEER_SQ_PSN;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN + 2);
	peer_expect_nothing(&p);
	in.psn = PEER_SQ_PSN + 1;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_nothing(&p);		/* the fence waits for both */
	in.psn = PEER_SQ_PSN + 2;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN + 3);
	peer_stop(&p);
}

static void
r34_back_to_the_psn_that_is_named(void **state)
{
	const struct peer_conf conf = { .go_back_n = true };
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	fill(&p);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 3 * 1024, 1, 0);
	peer_post(&p, IBV_WR_SEND, 8192, 2 * 1024, 2, 0);
	for (uint32_t i = 0; i < 5; i++) {
		struct peer_packet out;

		assert_true(peer_out(&p, &out));
		assert_int_equal(out.psn, PEER_SQ_PSN + i);
	}
	assert_int_equal(ack(&p, UROCE_AETH_NAK | UROCE_NAK_PSN_SEQUENCE_ERROR, PEER_SQ_PSN + 2), UROCE_OK);
	struct peer_packet out = peer_expect(&p, UROCE_RC_WRITE_LAST, PEER_SQ_PSN + 2);
	assert_memory_equal(out.bytes, p.buffer + 2048, 1024);
	out = peer_expect(&p, UROCE_RC_SEND_FIRST, PEER_SQ_PSN + 3);
	assert_memory_equal(out.bytes, p.buffer + 8192, 1024);
	peer_expect(&p, UROCE_RC_SEND_LAST, PEER_SQ_PSN + 4);
	peer_expect_nothing(&p);
	assert_int_equal(p.engine.counters[UROCE_RETRANSMITTED_PACKETS], 3);
	/* an acknowledgement that overtakes a retransmission skips it */
	assert_int_equal(ack(&p, UROCE_AETH_NAK | UROCE_NAK_PSN_SEQUENCE_ERROR, PEER_SQ_PSN + 2), UROCE_OK);
	assert_int_equal(ack(&p, UNLIMITED, PEER_SQ_PSN + 3), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	peer_expect(&p, UROCE_RC_SEND_LAST, PEER_SQ_PSN + 4);
	peer_expect_nothing(&p);
	assert_int_equal(ack(&p, UNLIMITED, PEER_SQ_PSN + 4), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 2);
	peer_stop(&p);
}

static void
a_key_that_does_not_resolve_fails_in_its_turn(void **state)
{
	struct ibv_sge sge = { .length = 8 };
	struct ibv_send_wr wr = { .wr_id = 2, .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post(&p, IBV_WR_SEND, 0, 8, 1, 0);
	sge.addr = (uintptr_t)p.buffer;
	sge.lkey = p.mr->lkey ^ 0x10000;
	assert_int_equal(uroce_post_send(p.qp, &wr, &bad), 0);
	peer_post(&p, IBV_WR_SEND, 0, 8, 3, 0);
	peer_post_recv(&p, 0, 8, 4);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN);
	peer_expect_nothing(&p);
	peer_expect_no_wc(p.send_cq);
	assert_int_equal(ack(&p, UNLIMITED, PEER_SQ_PSN), UROCE_OK);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	peer_expect_wc(p.send_cq, IBV_WC_LOC_PROT_ERR, 2);	/* R42: unsignaled */
	peer_expect_wc(p.send_cq, IBV_WC_WR_FLUSH_ERR, 3);
	peer_expect_wc(p.recv_cq, IBV_WC_WR_FLUSH_ERR, 4);
	peer_stop(&p);
}

static void
a_read_that_could_never_leave_fails(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	attr.max_rd_atomic = 0;
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC), 0);
	peer_post(&p, IBV_WR_RDMA_READ, 0, 8, 1, 0);
	peer_expect_nothing(&p);
	peer_expect_no_wc(p.send_cq);		/* R42: in its turn only, and SQD starts no request */
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_LOC_QP_OP_ERR, 1);
	peer_stop(&p);
}

static void
the_longest_messages(void **state)
{
	const size_t most = UROCE_MAX_MSG_BYTES;
	struct peer_conf conf = { .mtu = IBV_MTU_256, .sq_psn = 0x900000 };
	struct peer_packet in = { .opcode = UROCE_RC_READ_RESPONSE_FIRST, .psn = 0x900000, .syndrome = UNLIMITED,
				  .payload_bytes = 256 }, out;
	struct ibv_sge sge[2];
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_RDMA_READ, .sg_list = sge, .num_sge = 2 }, *bad;
	struct ibv_mr *mr;
	struct peer p;
	uint8_t *memory = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			       -1, 0);

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	peer_start(&p, &conf);
	mr = uroce_reg_mr(p.pd, memory, most, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	/* 2^31 bytes in 2^23 PSNs: half the space (R11) */
	sge[0] = (struct ibv_sge){ (uintptr_t)memory, (uint32_t)(most - 100), mr->lkey };
	sge[1] = (struct ibv_sge){ (uintptr_t)memory + most - 100, 100, mr->lkey };
	assert_int_equal(uroce_post_send(p.qp, &wr, &bad), 0);
	/* one byte more is an error, which completes in its turn */
	sge[1].length = 101;
	wr.wr_id = 2;
	assert_int_equal(uroce_post_send(p.qp, &wr, &bad), 0);
	out = peer_expect(&p, UROCE_RC_READ_REQUEST, 0x900000);
	assert_int_equal(out.dma_len, most);
	peer_expect_nothing(&p);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(ack(&p, UNLIMITED, uroce_psn_add(0x900000, UROCE_PSN_HALF)), UROCE_DROP_ACK_UNEXPECTED);
	in.opcode = UROCE_RC_READ_RESPONSE_LAST;
	in.psn = uroce_psn_add(0x900000, UROCE_PSN_HALF - 1);
	assert_int_equal(peer_in(&p, &in), UROCE_RESPONSE_GAP);
	out = peer_expect(&p, UROCE_RC_READ_REQUEST, 0x900001);
	assert_int_equal(out.dma_len, most - 256);
	assert_int_equal(ack(&p, UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR, 0x900001), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_REM_ACCESS_ERR, 1);
	peer_expect_wc(p.send_cq, IBV_WC_WR_FLUSH_ERR, 2);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	peer_stop(&p);

	peer_start(&p, NULL);
	wr.opcode = IBV_WR_SEND;
	assert_int_equal(uroce_post_send(p.qp, &wr, &bad), 0);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_LOC_LEN_ERR, 2);
	peer_stop(&p);
	munmap(memory, most);
}

static void
a_pool_that_is_empty_is_waited_for(void **state)
{
	struct rte_mbuf *held[1023];
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post(&p, IBV_WR_SEND, 0, 8, 1, 0);
	assert_int_equal(rte_pktmbuf_alloc_bulk(p.headers, held, 1023), 0);
	peer_expect_nothing(&p);
	assert_int_equal(p.engine.counters[UROCE_NO_MBUF], 1);
	assert_true(uroce_engine_deadline(&p.engine) <= p.now_ns);
	rte_pktmbuf_free_bulk(held, 1023);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN);
	peer_stop(&p);
}

/* The port or the pool keeps the requester from sending the rest of a message for longer than the transport timeout.
 * No packet in flight has requested an ACK, so no ACK is late: neither a retry nor a probe is due. */
static void
no_timeout_before_an_answer_is_due(void **state)
{
	struct rte_mbuf *headers[4096], *payloads[4096];
	struct peer_packet out;
	unsigned int h, d;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	uroce_qp_of(p.qp)->retry_cnt = uroce_requester_of(uroce_qp_of(p.qp))->retries_left = 0;
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 4096, 1, 0);
	out = peer_expect(&p, UROCE_RC_WRITE_FIRST, PEER_SQ_PSN);
	assert_false(out.ack_req);
	out = peer_expect(&p, UROCE_RC_WRITE_MIDDLE, PEER_SQ_PSN + 1);
	assert_false(out.ack_req);
	h = rte_mempool_avail_count(p.headers);
	d = rte_mempool_avail_count(p.payloads);
	assert_true(h <= RTE_DIM(headers) && d <= RTE_DIM(payloads));
	assert_int_equal(rte_pktmbuf_alloc_bulk(p.headers, headers, h), 0);
	assert_int_equal(rte_pktmbuf_alloc_bulk(p.payloads, payloads, d), 0);
	for (unsigned int ms = 0; ms < 500; ms++) {
		p.now_ns += 1000000;
		peer_expect_nothing(&p);
	}
	rte_pktmbuf_free_bulk(headers, h);
	rte_pktmbuf_free_bulk(payloads, d);
	peer_expect(&p, UROCE_RC_WRITE_MIDDLE, PEER_SQ_PSN + 2);
	out = peer_expect(&p, UROCE_RC_WRITE_LAST, PEER_SQ_PSN + 3);
	assert_true(out.ack_req);
	assert_int_equal(p.engine.counters[UROCE_TIMEOUTS], 0);
	assert_int_equal(p.engine.counters[UROCE_PROBES], 0);
	/* now an ACK is due */
	while (!peer_out(&p, &out) && p.engine.counters[UROCE_TIMEOUTS] == 0)
		peer_wait(&p);
	assert_true(p.engine.counters[UROCE_PROBES] > 0);
	peer_stop(&p);
}

UROCE_TESTS(requester)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_timeout_before_an_answer_is_due),
		cmocka_unit_test(every_operation_has_its_opcodes),
		cmocka_unit_test(reads_and_atomics_ask),
		cmocka_unit_test(sixteen_entries_and_inline),
		cmocka_unit_test(the_window_is_bounded_and_asks_for_acks),
		cmocka_unit_test(r39_outstanding_reads_and_fences),
		cmocka_unit_test(r34_back_to_the_psn_that_is_named),
		cmocka_unit_test(a_key_that_does_not_resolve_fails_in_its_turn),
		cmocka_unit_test(a_read_that_could_never_leave_fails),
		cmocka_unit_test(the_longest_messages),
		cmocka_unit_test(a_pool_that_is_empty_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
