/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests runs: packets built in bulk equal packets built one by one, byte for byte, on each kind of path; and which
 * packets do not form a run.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <rte_malloc.h>

#include "cmocka_compat.h"
#include "groups.h"
#include "peer.h"
#include "transport/packet/packet.h"
#include "transport/requester/requester.h"
#include "uroce_config.h"
#include "wire/psn.h"

#define MTU 2048
#define MESSAGE_BYTES (150 * MTU + 7)	/* two messages exceed a window */
#define MESSAGES 2
#define FRAME_ROOM (MTU + 128)
#define MAX_FRAMES (MESSAGES * (MESSAGE_BYTES / MTU + 1))

struct sent {
	unsigned int count;
	struct {
		uint32_t bytes, segs;
		struct uroce_frame_route route;
		uint16_t port;
		uint8_t data[FRAME_ROOM];
	} frames[MAX_FRAMES];
};

/* A whole packet is attached. */
static const struct peer_conf large = { .mtu = IBV_MTU_2048 };
static struct sent in_runs, one_by_one;
static uint8_t *memory;
static struct ibv_mr *mr;

/* IPv4 or IPv6, with or without a VLAN tag, and with the neighbor's address inside or outside the path. */
static void
set_path(struct peer *p, unsigned int kind, const uint64_t *mac)
{
	static const uint8_t ipv4[2][16] = { { [10] = 0xff, 0xff, 10, 0, 0, 1 }, { [10] = 0xff, 0xff, 10, 0, 0, 2 } };
	static const uint8_t ipv6[2][16] = { { 0xfd, 1, [15] = 1 }, { 0xfd, 2, [15] = 2 } };
	struct uroce_template_conf conf = {
		.src_mac.addr_bytes = { 2, 0, 0, 0, 0, 1 }, .dst_mac.addr_bytes = { 2, 0, 0, 0, 0, 2 },
		.traffic_class = 0xa2, .hop_limit = 7, .flow_label = 0xabcde, .udp_src_port = 0xc123,
		.vlan_tci = kind & 2 ? 0x6123 : UROCE_NO_VLAN,
	};
	struct uroce_qp *qp = uroce_qp_of(p->qp);

	memcpy(conf.src_gid, kind & 1 ? ipv6[0] : ipv4[0], sizeof(conf.src_gid));
	memcpy(conf.dst_gid, kind & 1 ? ipv6[1] : ipv4[1], sizeof(conf.dst_gid));
	assert_int_equal(uroce_template_init(&qp->path.headers, &conf), 0);
	qp->path.lladdr = kind & 4 ? mac : NULL;
	qp->path.out = kind % 3 == 2 ? 5 : 0;
}

/* Collect all frames of the engine, up to `burst` at a time. */
static void
collect(struct peer *p, struct sent *sent, unsigned int burst)
{
	struct rte_mbuf *frames[UROCE_BURST];
	unsigned int n;

	sent->count = 0;
	while ((n = uroce_engine_send(&p->engine, frames, burst, p->now_ns)) != 0) {
		assert_true(sent->count + n <= MAX_FRAMES);
		for (unsigned int i = 0; i < n; i++) {
			struct rte_mbuf *m = frames[i];
			uint8_t room[FRAME_ROOM];

			rte_mbuf_sanity_check(m, 1);
			assert_true(m->pkt_len <= FRAME_ROOM);
			sent->frames[sent->count].bytes = m->pkt_len;
			sent->frames[sent->count].segs = m->nb_segs;
			sent->frames[sent->count].route = *uroce_frame_route(m);
			sent->frames[sent->count].port = m->port;
			memcpy(sent->frames[sent->count++].data, rte_pktmbuf_read(m, 0, m->pkt_len, room), m->pkt_len);
		}
		rte_pktmbuf_free_bulk(frames, n);
	}
}

static void
assert_same(const struct sent *a, const struct sent *b)
{
	assert_int_equal(a->count, b->count);
	for (unsigned int i = 0; i < a->count; i++) {
		assert_int_equal(a->frames[i].bytes, b->frames[i].bytes);
		assert_int_equal(a->frames[i].segs, b->frames[i].segs);
		if (a->frames[i].port == RTE_MBUF_PORT_INVALID)
			assert_memory_equal(&a->frames[i].route, &b->frames[i].route, sizeof(a->frames[i].route));
		assert_int_equal(a->frames[i].port, b->frames[i].port);
		assert_memory_equal(a->frames[i].data, b->frames[i].data, a->frames[i].bytes);
	}
}

static void
start(struct peer *p, const struct peer_conf *conf)
{
	peer_start(p, conf);
	memory = rte_malloc(NULL, MESSAGE_BYTES, 64);
	for (unsigned int i = 0; i < MESSAGE_BYTES; i++)
		memory[i] = (uint8_t)(i * 37 + (i >> 8));
	mr = uroce_reg_mr(p->pd, memory, MESSAGE_BYTES,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | UROCE_ACCESS_STABLE);
	assert_non_null(mr);
}

/* Check that nothing leaks. */
static void
finish(struct peer *p)
{
	uroce_qp_of(p->qp)->path.lladdr = NULL;
	assert_int_equal(rte_mempool_in_use_count(p->headers), 0);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	rte_free(memory);
	peer_stop(p);
}

static void
post(struct peer *p, enum ibv_wr_opcode opcode, unsigned int flags)
{
	struct ibv_sge sge = { .addr = (uintptr_t)memory, .length = MESSAGE_BYTES, .lkey = mr->lkey };
	struct ibv_send_wr *bad, wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1, .send_flags = flags };

	wr.wr.rdma.remote_addr = 0x123456789a;
	wr.wr.rdma.rkey = 0xfedcba98;
	assert_int_equal(uroce_post_send(p->qp, &wr, &bad), 0);
}

static void
send_messages(struct sent *sent, enum ibv_wr_opcode opcode, unsigned int kind, bool copy, unsigned int burst)
{
	const struct peer_conf conf = { .mtu = IBV_MTU_2048, .sq_psn = 0xffffd0, .copy = copy };
	uint64_t mac;
	struct peer p;

	memset(&mac, 0x5a, sizeof(mac));
	start(&p, &conf);
	set_path(&p, kind, &mac);
	for (unsigned int i = 0; i < MESSAGES; i++)
		post(&p, opcode, IBV_SEND_SOLICITED);
	collect(&p, sent, burst);
	assert_int_equal(sent->count, UROCE_WINDOW_PACKETS);
	assert_int_equal(p.engine.counters[UROCE_SENT_PACKETS], UROCE_WINDOW_PACKETS);
	/* all but the last packet of the first message, which is copied */
	assert_int_equal(p.engine.counters[UROCE_ZERO_COPY_PACKETS], copy ? 0 : UROCE_WINDOW_PACKETS - 1);
	assert_int_equal(p.engine.counters[UROCE_SENT_BYTES], (UROCE_WINDOW_PACKETS - 1) * MTU + MESSAGE_BYTES % MTU);
	assert_int_not_equal(uroce_requester_of(uroce_qp_of(p.qp))->timer.deadline_ns, 0);
	finish(&p);
}

static void
requests_are_the_same(void **state)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND,
						      IBV_WR_SEND_WITH_IMM };

	(void)state;
	for (unsigned int i = 0; i < 16; i++) {
		const unsigned int kind = i % 8;
		const bool copy = i >= 8;

		send_messages(&in_runs, opcodes[kind % RTE_DIM(opcodes)], kind, copy, UROCE_BURST);
		send_messages(&one_by_one, opcodes[kind % RTE_DIM(opcodes)], kind, copy, 1);
		assert_same(&in_runs, &one_by_one);
	}
}

static void
answer_reads(struct sent *sent, unsigned int kind, bool copy, unsigned int burst)
{
	const struct peer_conf conf = { .mtu = IBV_MTU_2048, .rq_psn = 0xffffd0, .copy = copy };
	uint64_t mac;
	struct peer p;

	memset(&mac, 0x5a, sizeof(mac));
	start(&p, &conf);
	for (unsigned int i = 0; i < MESSAGES; i++) {
		const struct peer_packet in = {
			.opcode = UROCE_RC_READ_REQUEST, .psn = uroce_psn_add(conf.rq_psn, i * (MAX_FRAMES / MESSAGES)),
			.va = (uintptr_t)memory, .rkey = mr->rkey, .dma_len = MESSAGE_BYTES,
		};

		assert_int_equal(peer_in(&p, &in), UROCE_OK);
	}
	set_path(&p, kind, &mac);
	collect(&p, sent, burst);
	assert_int_equal(sent->count, MAX_FRAMES);
	assert_int_equal(p.engine.counters[UROCE_SENT_PACKETS], MAX_FRAMES);
	assert_int_equal(p.engine.counters[UROCE_SENT_BYTES], MESSAGES * MESSAGE_BYTES);
	finish(&p);
}

static void
responses_are_the_same(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 16; i++) {
		answer_reads(&in_runs, i % 8, i >= 8, UROCE_BURST);
		answer_reads(&one_by_one, i % 8, i >= 8, 1);
		assert_same(&in_runs, &one_by_one);
	}
}

/* Build the next packets of a WQE whose first packet has been sent. @return the number built in bulk */
static unsigned int
run_of(struct peer *p, uint32_t window, unsigned int room)
{
	struct uroce_qp *qp = uroce_qp_of(p->qp);
	struct rte_mbuf *frames[UROCE_BURST];
	const struct uroce_sqe *sqe = uroce_sqe_at(&qp->sq, uroce_requester_of(qp)->next);
	int n = uroce_data_packets(&p->engine, qp, sqe, uroce_requester_burst(qp, sqe, window, room), frames);

	if (n > 0)
		rte_pktmbuf_free_bulk(frames, (unsigned int)n);
	return n > 1 ? (unsigned int)n : 0;
}

static void
begin(struct peer *p, const struct peer_conf *conf, enum ibv_wr_opcode opcode)
{
	struct rte_mbuf *m;

	start(p, conf);
	post(p, opcode, 0);
	assert_int_equal(uroce_engine_send(&p->engine, &m, 1, p->now_ns), 1);
	rte_pktmbuf_free(m);
}

static void
is_as_long_as_may_be(void **state)
{
	struct uroce_qp *qp;
	struct peer p;

	(void)state;
	begin(&p, &large, IBV_WR_RDMA_WRITE);
	qp = uroce_qp_of(p.qp);
	assert_int_equal(run_of(&p, 256, 32), UROCE_ACK_REQ_PACKETS - 2);	/* the next one requests an ACK */
	assert_int_equal(run_of(&p, 256, 9), 9);
	assert_int_equal(run_of(&p, 9, 32), 8);	/* the last packet of the window requests an ACK */
	assert_int_equal(run_of(&p, UROCE_RUN_PACKETS, 32), 0);
	assert_int_equal(run_of(&p, 0, 32), 0);
	uroce_requester_of(qp)->since_ack_req = UROCE_ACK_REQ_PACKETS - 1 - UROCE_RUN_PACKETS;
	assert_int_equal(run_of(&p, 256, 32), UROCE_RUN_PACKETS);
	uroce_requester_of(qp)->since_ack_req++;
	assert_int_equal(run_of(&p, 256, 32), 0);
	uroce_requester_of(qp)->since_ack_req = UROCE_ACK_REQ_PACKETS + 3;
	assert_int_equal(run_of(&p, 256, 32), 0);
	uroce_requester_of(qp)->since_ack_req = 0;
	uroce_requester_of(qp)->offset = MESSAGE_BYTES / MTU - UROCE_RUN_PACKETS;
	assert_int_equal(run_of(&p, 256, 32), UROCE_RUN_PACKETS);	/* without the last packet of the message */
	uroce_requester_of(qp)->offset++;
	assert_int_equal(run_of(&p, 256, 32), 0);
	uroce_requester_of(qp)->offset = 1;
	finish(&p);
}

static void
others_are_no_runs(void **state)
{
	struct uroce_sqe *sqe;
	struct uroce_qp *qp;
	struct peer p;

	(void)state;
	begin(&p, &large, IBV_WR_SEND);
	qp = uroce_qp_of(p.qp);
	sqe = uroce_sqe_at(&qp->sq, uroce_requester_of(qp)->next);
	uroce_requester_of(qp)->max_psn = uroce_psn_add(uroce_requester_of(qp)->max_psn, 1);	/* a retransmission */
	assert_int_equal(run_of(&p, 256, 32), 0);
	uroce_requester_of(qp)->max_psn = uroce_requester_of(qp)->psn;
	sqe->num_sge = 2;
	assert_int_equal(run_of(&p, 256, 32), 0);
	sqe->num_sge = 1;
	sqe->sge[0].lkey ^= 1;	/* a wrong key is reported when packets are built one by one */
	assert_int_equal(run_of(&p, 256, 32), 0);
	sqe->sge[0].lkey ^= 1;
	qp->opcode_base = UROCE_XRC_SEND_FIRST;	/* each of the packets has an XRCETH */
	assert_int_equal(run_of(&p, 256, 32), 0);
	qp->opcode_base = 0;
	assert_int_equal(run_of(&p, 256, 32), UROCE_ACK_REQ_PACKETS - 2);
	finish(&p);
}

/* With few mbufs left, packets are built one by one; the rest waits for free mbufs. */
static void
waits_for_mbufs(void **state)
{
	struct rte_mbuf *taken[4096], *frames[UROCE_BURST];
	unsigned int n = 0;
	struct peer p;

	(void)state;
	begin(&p, &large, IBV_WR_RDMA_WRITE);
	while ((taken[n] = rte_pktmbuf_alloc(p.headers)) != NULL)
		assert_uint_in_range(++n, 1, RTE_DIM(taken) - 1);
	n -= 4;	/* enough for one packet */
	rte_pktmbuf_free_bulk(taken + n, 4);
	assert_int_equal(run_of(&p, 256, 32), 0);
	assert_int_equal(uroce_engine_send(&p.engine, frames, UROCE_BURST, p.now_ns), 1);
	rte_pktmbuf_free(frames[0]);
	rte_pktmbuf_free_bulk(taken, n);
	assert_int_equal(uroce_engine_send(&p.engine, frames, UROCE_BURST, p.now_ns), UROCE_BURST);
	rte_pktmbuf_free_bulk(frames, UROCE_BURST);
	finish(&p);
}

UROCE_TESTS(tx_bulk)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_the_same),
		cmocka_unit_test(responses_are_the_same),
		cmocka_unit_test(is_as_long_as_may_be),
		cmocka_unit_test(others_are_no_runs),
		cmocka_unit_test(waits_for_mbufs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
