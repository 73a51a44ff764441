/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * XRC on the wire. An initiator sends requests with an XRCETH, and a target receives them, byte by byte. A request
 * names an SRQ, whose protection domain determines the memory that it may access. Responses equal those of RC except
 * the opcode.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "mem/pd.h"
#include "peer.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "verbs/srq/xrc.h"
#include "wire/psn.h"

#define UNLIMITED (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)
#define XRC(opcode) (UROCE_XRC_SEND_FIRST + UROCE_RC_##opcode)
#define MTU 1024
#define SRQN 0xa1b2c3

static uint8_t pattern[4096];

/* An initiator, a target in a domain with two SRQs, and an SRQ of another domain. The target has no protection
 * domain: memory is accessed with the SRQ's. */
struct xrc {
	struct peer p;
	struct ibv_qp *own;
	struct ibv_qp *initiator;
	struct ibv_qp *target;
	struct ibv_xrcd *xrcds[2];
	struct ibv_cq *cqs[2];		/* of the first two SRQs */
	struct ibv_srq *srqs[3];
	uint32_t numbers[3];
	uint32_t psn;			/* next PSN at the target */
};

static struct ibv_xrcd *
open_xrcd(struct ibv_context *context)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd = uroce_open_xrcd(context, &attr);

	assert_non_null(xrcd);
	return xrcd;
}

static void
start(struct xrc *x)
{
	static const struct peer_conf conf;
	struct ibv_srq_init_attr_ex srq = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC, .attr = { .max_wr = 8, .max_sge = 1 },
	};
	struct ibv_qp_init_attr_ex qp = {
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD, .qp_type = IBV_QPT_XRC_SEND,
		.cap = { .max_send_wr = 16, .max_send_sge = 1, .max_inline_data = 64 },
	};
	struct ibv_context *context;

	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 5 + (i >> 8));
	peer_start(&x->p, NULL);
	context = &x->p.dev.vctx.context;
	x->own = x->p.qp;
	srq.pd = qp.pd = x->p.pd;
	qp.send_cq = x->p.send_cq;
	for (int i = 0; i < 2; i++) {
		x->xrcds[i] = open_xrcd(context);
		x->cqs[i] = uroce_create_cq(context, 16, NULL, NULL, 0);
	}
	for (int i = 0; i < 3; i++) {
		srq.xrcd = x->xrcds[i / 2];
		srq.cq = x->cqs[i % 2];
		x->srqs[i] = uroce_create_srq_ex(context, &srq);
		assert_non_null(x->srqs[i]);
		assert_int_equal(uroce_get_srq_num(x->srqs[i], &x->numbers[i]), 0);
	}
	x->initiator = uroce_create_qp_ex(context, &qp);
	assert_non_null(x->initiator);
	peer_connect(x->initiator, &conf);
	qp.qp_type = IBV_QPT_XRC_RECV;
	qp.xrcd = x->xrcds[0];
	x->target = uroce_create_qp_ex(context, &qp);
	assert_non_null(x->target);
	peer_connect(x->target, &conf);
	x->psn = PEER_RQ_PSN;
	x->p.qp = x->target;
}

static void
finish(struct xrc *x)
{
	assert_int_equal(uroce_destroy_qp(x->initiator), 0);
	assert_int_equal(uroce_destroy_qp(x->target), 0);
	for (int i = 0; i < 3; i++) {
		if (x->srqs[i] != NULL)
			assert_int_equal(uroce_destroy_srq(x->srqs[i]), 0);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(uroce_destroy_cq(x->cqs[i]), 0);
		assert_int_equal(uroce_close_xrcd(x->xrcds[i]), 0);
	}
	x->p.qp = x->own;
	peer_stop(&x->p);
}

static void
post_srq(struct xrc *x, int srq, uint32_t offset, uint32_t length, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)x->p.buffer + offset, length, x->p.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(uroce_post_srq_recv(x->srqs[srq], &wr, &bad), 0);
}

/* Deliver a request to the target; SENDs and WRITEs address the start of the buffer. */
static enum uroce_verdict
in(struct xrc *x, uint8_t opcode, uint32_t srqn, uint32_t from, uint32_t length)
{
	struct peer_packet packet = {
		.opcode = opcode, .psn = x->psn, .srqn = srqn, .payload = pattern + from, .payload_bytes = length,
		.ack_req = uroce_opcodes[opcode].flags & UROCE_OPF_LAST, .imm = 0x0a0b0c0d,
		.va = (uintptr_t)x->p.buffer, .rkey = x->p.mr->rkey, .dma_len = length,
	};
	enum uroce_verdict verdict = peer_in(&x->p, &packet);

	if (verdict == UROCE_OK)
		x->psn = uroce_psn_add(x->psn, 1);
	return verdict;
}

static void
expect_ack(struct xrc *x, uint8_t syndrome, uint32_t psn, uint32_t msn)
{
	struct peer_packet out = peer_expect(&x->p, XRC(ACKNOWLEDGE), psn);

	assert_int_equal(out.syndrome, syndrome);
	assert_int_equal(out.msn, msn);
}

static struct ibv_wc
expect_recv(struct xrc *x, int cq, uint64_t wr_id, uint32_t length)
{
	struct ibv_wc wc = peer_expect_wc(x->cqs[cq], IBV_WC_SUCCESS, wr_id);

	assert_int_equal(wc.qp_num, x->target->qp_num);
	assert_int_equal(wc.src_qp, PEER_QPN);
	assert_int_equal(wc.byte_len, length);
	return wc;
}

static void
expect_event(struct xrc *x, enum ibv_event_type type)
{
	struct ibv_async_event event;

	assert_int_equal(uroce_get_async_event(&x->p.dev.vctx.context, &event), 0);
	assert_string_equal(uroce_event_type_str(event.event_type), uroce_event_type_str(type));
	assert_ptr_equal(event.element.qp, x->target);
	uroce_ack_async_event(&event);
}

static void
post_send(struct xrc *x, enum ibv_wr_opcode opcode, uint32_t length, uint32_t srqn)
{
	struct ibv_sge sge = { (uintptr_t)x->p.buffer, length, x->p.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 7, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED, .sg_list = &sge,
				  .num_sge = 1, .imm_data = rte_cpu_to_be_32(0x11223344),
				  .qp_type.xrc.remote_srqn = srqn }, *bad;

	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = 0x1122334455667788;
		wr.wr.atomic.rkey = 0x99aabbcc;
		wr.wr.atomic.compare_add = 0x0102030405060708;
		wr.wr.atomic.swap = 0x1112131415161718;
	} else {
		wr.wr.rdma.remote_addr = 0x1122334455667788;
		wr.wr.rdma.rkey = 0x99aabbcc;
	}
	assert_int_equal(ibv_post_send(x->initiator, &wr, &bad), 0);
}

/* The initiator's next frame, from the BTH up to the ICRC: hex digits, with any blanks. */
static void
expect_frame(struct xrc *x, const char *hex)
{
	struct rte_mbuf *m;
	uint8_t bytes[256];
	unsigned int n = 0;

	assert_int_equal(uroce_engine_send(&x->p.engine, &m, 1, x->p.now_ns), 1);
	while (*hex != '\0') {
		if (*hex != ' ') {
			const char pair[3] = { hex[0], hex[1], '\0' };

			bytes[n++] = (uint8_t)strtoul(pair, NULL, 16);
			hex++;
		}
		hex++;
	}
	assert_int_equal(m->pkt_len, 14 + 20 + 8 + n + 4);
	assert_int_equal(m->nb_segs, 1);
	assert_memory_equal(rte_pktmbuf_mtod_offset(m, uint8_t *, 42), bytes, n);
	rte_pktmbuf_free(m);
}

static void
an_initiator_sends_each_request_with_an_xrceth(void **state)
{
	static const uint8_t data[4] = { 0xd0, 0xd1, 0xd2, 0xd3 };
	struct xrc x;

	(void)state;
	start(&x);
	memcpy(x.p.buffer, data, sizeof(data));
	post_send(&x, IBV_WR_SEND, 4, SRQN);
	post_send(&x, IBV_WR_SEND_WITH_IMM, 4, SRQN);
	post_send(&x, IBV_WR_RDMA_WRITE, 4, 1);
	post_send(&x, IBV_WR_RDMA_WRITE_WITH_IMM, 4, SRQN);
	post_send(&x, IBV_WR_RDMA_READ, 8, 0xffffff);
	post_send(&x, IBV_WR_ATOMIC_CMP_AND_SWP, 8, SRQN);
	post_send(&x, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, SRQN);
	expect_frame(&x, "a4 40 ffff 00 123456 80 002000  00 a1b2c3  d0d1d2d3");
	expect_frame(&x, "a5 40 ffff 00 123456 80 002001  00 a1b2c3  11223344  d0d1d2d3");
	expect_frame(&x, "aa 40 ffff 00 123456 80 002002  00 000001"
		     "1122334455667788 99aabbcc 00000004  d0d1d2d3");
	expect_frame(&x, "ab 40 ffff 00 123456 80 002003  00 a1b2c3"
		     "1122334455667788 99aabbcc 00000004  11223344  d0d1d2d3");
	expect_frame(&x, "ac 40 ffff 00 123456 80 002004  00 ffffff  1122334455667788 99aabbcc 00000008");
	expect_frame(&x, "b3 40 ffff 00 123456 80 002005  00 a1b2c3"
		     "1122334455667788 99aabbcc 1112131415161718 0102030405060708");
	expect_frame(&x, "b4 40 ffff 00 123456 80 002006  00 a1b2c3"
		     "1122334455667788 99aabbcc 0102030405060708 0000000000000000");
	peer_expect_nothing(&x.p);
	finish(&x);
}

static void
every_packet_of_a_message_has_one(void **state)
{
	struct xrc x;

	(void)state;
	start(&x);
	memcpy(x.p.buffer, pattern, 3000);
	post_send(&x, IBV_WR_SEND, 3 * MTU - 4, SRQN);
	post_send(&x, IBV_WR_RDMA_WRITE_WITH_IMM, 3 * MTU - 4, SRQN + 1);
	for (uint32_t i = 0; i < 6; i++) {
		static const uint8_t opcodes[] = {
			XRC(SEND_FIRST), XRC(SEND_MIDDLE), XRC(SEND_LAST),
			XRC(WRITE_FIRST), XRC(WRITE_MIDDLE), XRC(WRITE_LAST_IMM),
		};
		struct peer_packet out = peer_expect(&x.p, opcodes[i], PEER_SQ_PSN + i);

		assert_int_equal(out.srqn, SRQN + i / 3);
		assert_int_equal(out.payload_bytes, i % 3 == 2 ? MTU - 4 : MTU);
		assert_memory_equal(out.bytes, x.p.buffer + i % 3 * MTU, out.payload_bytes);
		if (i == 3)
			assert_int_equal(out.dma_len, 3 * MTU - 4);
	}
	finish(&x);
}

/* Responses equal those of RC, except the opcode. */
static void
an_initiator_takes_answers(void **state)
{
	struct peer_packet ack = { .opcode = XRC(ACKNOWLEDGE), .psn = PEER_SQ_PSN, .syndrome = UNLIMITED };
	struct peer_packet read = { .opcode = XRC(READ_RESPONSE_ONLY), .psn = PEER_SQ_PSN + 1,
				    .syndrome = UNLIMITED, .payload = pattern, .payload_bytes = 64 };
	struct peer_packet atomic = { .opcode = XRC(ATOMIC_ACKNOWLEDGE), .psn = PEER_SQ_PSN + 2,
				      .syndrome = UNLIMITED, .original = 0x8899aabbccddeeff };
	struct peer_packet out;
	struct xrc x;

	(void)state;
	start(&x);
	x.p.qp = x.initiator;
	post_send(&x, IBV_WR_SEND, 4, SRQN);
	post_send(&x, IBV_WR_RDMA_READ, 64, SRQN);
	while (peer_out(&x.p, &out))
		;
	assert_int_equal(peer_in(&x.p, &ack), UROCE_OK);
	peer_expect_wc(x.p.send_cq, IBV_WC_SUCCESS, 7);
	assert_int_equal(peer_in(&x.p, &read), UROCE_OK);
	peer_expect_wc(x.p.send_cq, IBV_WC_SUCCESS, 7);
	assert_memory_equal(x.p.buffer, pattern, 64);
	post_send(&x, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, SRQN);
	assert_true(peer_out(&x.p, &out));
	assert_int_equal(peer_in(&x.p, &atomic), UROCE_OK);
	peer_expect_wc(x.p.send_cq, IBV_WC_SUCCESS, 7);
	assert_int_equal(*(uint64_t *)x.p.buffer, 0x8899aabbccddeeff);
	/* RC's opcodes belong to another transport */
	post_send(&x, IBV_WR_SEND, 4, SRQN);
	assert_true(peer_out(&x.p, &out));
	ack.opcode = UROCE_RC_ACKNOWLEDGE;
	ack.psn = PEER_SQ_PSN + 3;
	assert_int_equal(peer_in(&x.p, &ack), UROCE_DROP_TRANSPORT);
	peer_expect_no_wc(x.p.send_cq);
	finish(&x);
}

static void
an_initiator_goes_back_and_gives_up(void **state)
{
	struct peer_packet nak = { .opcode = XRC(ACKNOWLEDGE), .psn = PEER_SQ_PSN + 1, .syndrome = UROCE_AETH_NAK };
	struct peer_packet out;
	struct xrc x;

	(void)state;
	start(&x);
	x.p.qp = x.initiator;
	for (int i = 0; i < 3; i++)
		post_send(&x, IBV_WR_SEND, 4, SRQN);
	while (peer_out(&x.p, &out))
		;
	assert_int_equal(peer_in(&x.p, &nak), UROCE_OK);
	peer_expect_wc(x.p.send_cq, IBV_WC_SUCCESS, 7);
	out = peer_expect(&x.p, XRC(SEND_ONLY), PEER_SQ_PSN + 1);
	assert_int_equal(out.srqn, SRQN);
	nak.syndrome = UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR;
	assert_int_equal(peer_in(&x.p, &nak), UROCE_OK);
	peer_expect_wc(x.p.send_cq, IBV_WC_REM_ACCESS_ERR, 7);
	peer_expect_wc(x.p.send_cq, IBV_WC_WR_FLUSH_ERR, 7);
	finish(&x);
}

static void
srqn_is_24_bits_when_posted(void **state)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .qp_type.xrc.remote_srqn = 0x1000000 }, *bad = NULL;
	struct xrc x;

	(void)state;
	start(&x);
	assert_int_equal(ibv_post_send(x.initiator, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	finish(&x);
}

/* Requests arrive on one QP; each takes a receive of the SRQ that it names, and completes on that SRQ's CQ. */
static void
a_send_is_received_by_the_srq_it_names(void **state)
{
	struct ibv_wc wc;
	struct xrc x;

	(void)state;
	start(&x);
	post_srq(&x, 0, 0, 4096, 10);
	post_srq(&x, 1, 4096, 4096, 20);
	post_srq(&x, 1, 8192, 4096, 21);
	assert_int_equal(in(&x, XRC(SEND_ONLY), x.numbers[1], 3, 100), UROCE_OK);
	assert_int_equal(in(&x, XRC(SEND_FIRST), x.numbers[0], 0, MTU), UROCE_OK);
	assert_int_equal(in(&x, XRC(SEND_LAST_IMM), x.numbers[0], MTU, 5), UROCE_OK);
	assert_int_equal(in(&x, XRC(SEND_ONLY_IMM), x.numbers[1], 9, 0), UROCE_OK);
	expect_ack(&x, UNLIMITED, PEER_RQ_PSN + 3, 3);
	peer_expect_nothing(&x.p);
	wc = expect_recv(&x, 0, 10, MTU + 5);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(rte_be_to_cpu_32(wc.imm_data), 0x0a0b0c0d);
	expect_recv(&x, 1, 20, 100);
	expect_recv(&x, 1, 21, 0);
	assert_memory_equal(x.p.buffer, pattern, MTU + 5);
	assert_memory_equal(x.p.buffer + 4096, pattern + 3, 100);
	peer_expect_no_wc(x.p.recv_cq);
	finish(&x);
}

static void
r21_an_empty_srq_is_rnr(void **state)
{
	struct xrc x;

	(void)state;
	start(&x);
	post_srq(&x, 1, 0, 64, 1);
	assert_int_equal(in(&x, XRC(SEND_ONLY), x.numbers[0], 0, 8), UROCE_NAK_RNR);
	expect_ack(&x, UROCE_AETH_RNR_NAK | 12, PEER_RQ_PSN, 0);
	post_srq(&x, 0, 0, 64, 2);
	assert_int_equal(in(&x, XRC(SEND_ONLY), x.numbers[0], 0, 8), UROCE_OK);
	expect_ack(&x, UNLIMITED, PEER_RQ_PSN, 1);
	expect_recv(&x, 0, 2, 8);
	finish(&x);
}

static void
writes_reads_and_atomics_reach_the_srqs_domain(void **state)
{
	struct peer_packet read = { .opcode = XRC(READ_REQUEST) }, atomic = { .opcode = XRC(FETCH_ADD) }, out;
	struct xrc x;

	(void)state;
	start(&x);
	assert_int_equal(in(&x, XRC(WRITE_ONLY), x.numbers[0], 11, 64), UROCE_OK);
	expect_ack(&x, UNLIMITED, PEER_RQ_PSN, 1);
	assert_memory_equal(x.p.buffer, pattern + 11, 64);
	post_srq(&x, 1, 4096, 64, 5);
	assert_int_equal(in(&x, XRC(WRITE_ONLY_IMM), x.numbers[1], 12, 64), UROCE_OK);
	expect_ack(&x, UNLIMITED, PEER_RQ_PSN + 1, 2);
	assert_int_equal(expect_recv(&x, 1, 5, 64).opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	read.srqn = atomic.srqn = x.numbers[0];
	read.psn = PEER_RQ_PSN + 2;
	atomic.psn = PEER_RQ_PSN + 3;
	read.va = atomic.va = (uintptr_t)x.p.buffer;
	read.rkey = atomic.rkey = x.p.mr->rkey;
	read.dma_len = 64;
	atomic.swap_add = 1;
	assert_int_equal(peer_in(&x.p, &read), UROCE_OK);
	out = peer_expect(&x.p, XRC(READ_RESPONSE_ONLY), PEER_RQ_PSN + 2);
	assert_int_equal(out.syndrome, UNLIMITED);
	assert_int_equal(out.msn, 3);
	assert_int_equal(out.payload_bytes, 64);
	assert_memory_equal(out.bytes, pattern + 12, 64);
	assert_int_equal(peer_in(&x.p, &atomic), UROCE_OK);
	out = peer_expect(&x.p, XRC(ATOMIC_ACKNOWLEDGE), PEER_RQ_PSN + 3);
	assert_memory_equal(&out.original, pattern + 12, 8);
	/* a duplicate is answered again */
	assert_int_equal(peer_in(&x.p, &read), UROCE_DUPLICATE);
	peer_expect(&x.p, XRC(READ_RESPONSE_ONLY), PEER_RQ_PSN + 2);
	assert_int_equal(peer_in(&x.p, &atomic), UROCE_DUPLICATE);
	peer_expect(&x.p, XRC(ATOMIC_ACKNOWLEDGE), PEER_RQ_PSN + 3);
	peer_expect_nothing(&x.p);
	finish(&x);
}

/* Memory of another protection domain than the SRQ's is refused with any key. */
static void
r18_memory_of_another_domain(void **state)
{
	struct peer_packet write = { .opcode = XRC(WRITE_ONLY), .psn = PEER_RQ_PSN, .dma_len = 8, .payload_bytes = 8 };
	struct ibv_pd *other;
	struct ibv_mr *mr;
	struct xrc x;

	(void)state;
	start(&x);
	other = uroce_alloc_pd(&x.p.dev.vctx.context);
	mr = uroce_reg_mr(other, x.p.buffer, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	write.srqn = x.numbers[0];
	write.va = (uintptr_t)x.p.buffer;
	write.rkey = mr->rkey;
	assert_int_equal(peer_in(&x.p, &write), UROCE_NAK_ACCESS);
	expect_ack(&x, UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR, PEER_RQ_PSN, 0);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	assert_int_equal(uroce_dealloc_pd(other), 0);
	finish(&x);
}

static void
expect_refused(struct xrc *x, uint8_t opcode, uint32_t srqn)
{
	uint32_t psn = x->psn;

	assert_int_equal(in(x, opcode, srqn, 0, uroce_opcodes[opcode].flags & UROCE_OPF_PAYLOAD ? 8 : 0),
			 UROCE_NAK_XRC_SRQ);
	expect_event(x, IBV_EVENT_QP_ACCESS_ERR);
	expect_ack(x, UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR, psn, 0);
	expect_event(x, IBV_EVENT_QP_LAST_WQE_REACHED);
	assert_int_equal(in(x, opcode, x->numbers[0], 0, 0), UROCE_DROP_QP_STATE);
}

static void
a_wrong_srqn_is_refused(void **state)
{
	static const uint8_t opcodes[] = {
		XRC(SEND_ONLY), XRC(WRITE_ONLY), XRC(READ_REQUEST), XRC(CMP_SWAP), XRC(SEND_ONLY_IMM),
	};

	(void)state;
	for (size_t i = 0; i < RTE_DIM(opcodes); i++) {
		struct xrc x;

		start(&x);
		memset(x.p.buffer, 0xee, 8);
		for (int j = 0; j < 3; j++)
			post_srq(&x, j, 0, 64, 1);
		expect_refused(&x, opcodes[i], x.numbers[0] ^ 1);
		for (int j = 0; j < 8; j++)
			assert_int_equal(x.p.buffer[j], 0xee);
		for (int j = 0; j < 2; j++)
			peer_expect_no_wc(x.cqs[j]);
		finish(&x);
	}
}

/* The SRQ exists, but in another domain than the QP's. */
static void
an_srq_of_another_domain_is_refused(void **state)
{
	struct xrc x;

	(void)state;
	start(&x);
	post_srq(&x, 2, 0, 64, 1);
	expect_refused(&x, XRC(SEND_ONLY), x.numbers[2]);
	peer_expect_no_wc(x.cqs[0]);
	finish(&x);
}

static void
a_message_names_one_srq(void **state)
{
	struct xrc x;

	(void)state;
	start(&x);
	post_srq(&x, 0, 0, 4096, 1);
	post_srq(&x, 1, 0, 4096, 2);
	assert_int_equal(in(&x, XRC(SEND_FIRST), x.numbers[0], 0, MTU), UROCE_OK);
	assert_int_equal(in(&x, XRC(SEND_LAST), x.numbers[1], 0, 8), UROCE_NAK_XRC_SRQ);
	expect_event(&x, IBV_EVENT_QP_ACCESS_ERR);
	peer_expect_wc(x.cqs[0], IBV_WC_LOC_ACCESS_ERR, 1);
	peer_expect_no_wc(x.cqs[1]);
	expect_ack(&x, UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR, PEER_RQ_PSN + 1, 0);
	finish(&x);
}

/* The receive of a message is discarded with its SRQ, without a completion. */
static void
an_srq_that_is_destroyed_ends_its_message(void **state)
{
	struct xrc x;

	(void)state;
	start(&x);
	post_srq(&x, 0, 0, 4096, 1);
	assert_int_equal(in(&x, XRC(SEND_FIRST), x.numbers[0], 0, MTU), UROCE_OK);
	assert_int_equal(uroce_destroy_srq(x.srqs[0]), 0);
	x.srqs[0] = NULL;
	assert_int_equal(in(&x, XRC(SEND_LAST), x.numbers[0], 0, 8), UROCE_NAK_XRC_SRQ);
	expect_ack(&x, UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR, PEER_RQ_PSN + 1, 0);
	peer_expect_no_wc(x.cqs[0]);
	finish(&x);
}

static struct ibv_srq *
create_srq(struct xrc *x, struct ibv_pd *pd, uint32_t *number)
{
	struct ibv_srq_init_attr_ex attr = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC, .attr = { .max_wr = 8, .max_sge = 1 }, .pd = pd, .xrcd = x->xrcds[0],
		.cq = x->cqs[0],
	};
	struct ibv_srq *srq = uroce_create_srq_ex(&x->p.dev.vctx.context, &attr);

	assert_non_null(srq);
	assert_int_equal(uroce_get_srq_num(srq, number), 0);
	return srq;
}

/* R27: a READ was answered with the access rights of its SRQ's protection domain. The region then moves to another
 * domain and keeps its keys; the SRQ and its domain are destroyed, and the domain's memory is reused. A duplicate of
 * the READ has no rights. */
static void
a_read_again_when_the_domain_of_its_srq_is_gone(void **state)
{
	struct peer_packet read = { .opcode = XRC(READ_REQUEST), .psn = PEER_RQ_PSN, .dma_len = 64 };
	struct uroce_pd *volatile reused[16];
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct xrc x;

	(void)state;
	start(&x);
	pd = uroce_alloc_pd(&x.p.dev.vctx.context);
	srq = create_srq(&x, pd, &read.srqn);
	mr = uroce_reg_mr(pd, x.p.buffer, 64, IBV_ACCESS_REMOTE_READ);
	read.va = (uintptr_t)x.p.buffer;
	read.rkey = mr->rkey;
	assert_int_equal(peer_in(&x.p, &read), UROCE_OK);
	peer_expect(&x.p, XRC(READ_RESPONSE_ONLY), PEER_RQ_PSN);
	assert_int_equal(uroce_destroy_srq(srq), 0);
	assert_int_equal(uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, x.p.pd, NULL, 0, 0), 0);
	assert_int_equal(mr->rkey, read.rkey);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	/* one of the next blocks of this size reuses that memory */
	for (size_t i = 0; i < RTE_DIM(reused); i++) {
		reused[i] = malloc(sizeof(*reused[i]));
		assert_non_null(reused[i]);
		*reused[i] = (struct uroce_pd){ .protection = x.p.pd };
	}
	assert_int_equal(peer_in(&x.p, &read), UROCE_DUPLICATE);
	expect_ack(&x, UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR, PEER_RQ_PSN, 1);
	peer_expect_nothing(&x.p);
	for (size_t i = 0; i < RTE_DIM(reused); i++)
		free(reused[i]);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	finish(&x);
}

/* If an SRQ is destroyed while responses to a READ are still queued, the rest of the READ is refused, like the
 * packets of a message. */
static void
an_srq_that_is_destroyed_ends_its_read(void **state)
{
	struct peer_packet read = { .opcode = XRC(READ_REQUEST), .psn = PEER_RQ_PSN, .dma_len = 3 * MTU };
	struct rte_mbuf *m;
	struct xrc x;

	(void)state;
	start(&x);
	read.srqn = x.numbers[0];
	read.va = (uintptr_t)x.p.buffer;
	read.rkey = x.p.mr->rkey;
	assert_int_equal(peer_in(&x.p, &read), UROCE_OK);
	assert_int_equal(uroce_engine_send(&x.p.engine, &m, 1, x.p.now_ns), 1);
	rte_pktmbuf_free(m);
	assert_int_equal(uroce_destroy_srq(x.srqs[0]), 0);
	x.srqs[0] = NULL;
	expect_ack(&x, UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR, PEER_RQ_PSN + 1, 1);
	peer_expect_nothing(&x.p);
	finish(&x);
}

/* R41: the receive completes on the SRQ's CQ; queued receives stay. */
static void
an_error_flushes_what_was_taken(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_wc wc;
	struct xrc x;

	(void)state;
	start(&x);
	post_srq(&x, 1, 0, 4096, 1);
	post_srq(&x, 1, 0, 4096, 2);
	assert_int_equal(in(&x, XRC(SEND_FIRST), x.numbers[1], 0, MTU), UROCE_OK);
	assert_int_equal(uroce_modify_qp(x.target, &attr, IBV_QP_STATE), 0);
	wc = peer_expect_wc(x.cqs[1], IBV_WC_WR_FLUSH_ERR, 1);
	assert_int_equal(wc.qp_num, x.target->qp_num);
	peer_expect_no_wc(x.cqs[1]);
	expect_event(&x, IBV_EVENT_QP_LAST_WQE_REACHED);
	finish(&x);
}

/* R2: opcodes of RC, and XRC opcodes in the wrong direction, are dropped without a reply. */
static void
r2_other_transports_and_directions(void **state)
{
	struct peer_packet ack = { .opcode = XRC(ACKNOWLEDGE), .psn = PEER_SQ_PSN, .syndrome = UNLIMITED };
	struct xrc x;

	(void)state;
	start(&x);
	post_srq(&x, 0, 0, 64, 1);
	assert_int_equal(in(&x, UROCE_RC_SEND_ONLY, 0, 0, 8), UROCE_DROP_TRANSPORT);
	assert_int_equal(peer_in(&x.p, &ack), UROCE_DROP_TRANSPORT);
	x.p.qp = x.initiator;
	assert_int_equal(in(&x, XRC(SEND_ONLY), x.numbers[0], 0, 8), UROCE_DROP_TRANSPORT);
	x.psn--;	/* a duplicate would be acknowledged */
	assert_int_equal(in(&x, XRC(SEND_ONLY), x.numbers[0], 0, 8), UROCE_DROP_TRANSPORT);
	x.p.qp = x.own;
	x.psn++;
	assert_int_equal(in(&x, XRC(SEND_ONLY), x.numbers[0], 0, 8), UROCE_DROP_TRANSPORT);
	peer_expect_nothing(&x.p);
	peer_expect_no_wc(x.cqs[0]);
	finish(&x);
}

UROCE_TESTS(xrc)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_initiator_sends_each_request_with_an_xrceth),
		cmocka_unit_test(every_packet_of_a_message_has_one),
		cmocka_unit_test(an_initiator_takes_answers),
		cmocka_unit_test(an_initiator_goes_back_and_gives_up),
		cmocka_unit_test(srqn_is_24_bits_when_posted),
		cmocka_unit_test(a_send_is_received_by_the_srq_it_names),
		cmocka_unit_test(r21_an_empty_srq_is_rnr),
		cmocka_unit_test(writes_reads_and_atomics_reach_the_srqs_domain),
		cmocka_unit_test(r18_memory_of_another_domain),
		cmocka_unit_test(a_wrong_srqn_is_refused),
		cmocka_unit_test(an_srq_of_another_domain_is_refused),
		cmocka_unit_test(a_message_names_one_srq),
		cmocka_unit_test(an_srq_that_is_destroyed_ends_its_message),
		cmocka_unit_test(a_read_again_when_the_domain_of_its_srq_is_gone),
		cmocka_unit_test(an_srq_that_is_destroyed_ends_its_read),
		cmocka_unit_test(an_error_flushes_what_was_taken),
		cmocka_unit_test(r2_other_transports_and_directions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
