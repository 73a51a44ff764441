/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Small messages: what is made in one go is byte for byte what the steps for any packet make, over every kind of path.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "peer.h"
#include "transport/packet/packet.h"
#include "transport/requester/requester.h"
#include "uroce_config.h"
#include "wire/psn.h"

union wqe {
	struct uroce_sqe sqe;
	uint8_t room[sizeof(struct uroce_sqe) + UROCE_TX_INLINE_BYTES];
};

static void
wqe_init(union wqe *w, uint8_t opcode, uint32_t length, uint8_t flags)
{
	memset(w, 0, sizeof(*w));
	w->sqe.opcode = opcode;
	w->sqe.flags = IBV_SEND_INLINE | flags;
	w->sqe.length = length;
	w->sqe.psn_count = 1;
	w->sqe.remote_addr = 0x123456789abcdef0;
	w->sqe.rkey = 0xfedcba98;
	for (unsigned int i = sizeof(w->sqe); i < sizeof(w->room); i++)
		w->room[i] = (uint8_t)(i * 37 + length);
}

static void
assert_same_frame(struct rte_mbuf *a, struct rte_mbuf *b)
{
	rte_mbuf_sanity_check(a, 1);
	assert_int_equal(a->nb_segs, 1);
	assert_int_equal(a->pkt_len, b->pkt_len);
	assert_int_equal(a->data_len, b->data_len);
	assert_memory_equal(rte_pktmbuf_mtod(a, void *), rte_pktmbuf_mtod(b, void *), b->data_len);
	assert_int_equal(a->port, b->port);
	assert_int_equal(a->hash.usr, b->hash.usr);
	assert_int_equal(a->ol_flags, b->ol_flags);
}

/* Both ways, of every length. */
static void
compare(struct peer *p, uint8_t opcode, uint8_t flags, bool ack_req)
{
	struct uroce_qp *qp = uroce_qp_of(p->qp);
	uint64_t *sent = &p->engine.counters[UROCE_SENT_BYTES], before;
	struct rte_mbuf *small, *any;
	union wqe w;

	for (uint32_t length = 0; length <= UROCE_TX_INLINE_BYTES; length++) {
		wqe_init(&w, opcode, length, flags);
		assert_true(uroce_tx_inline_fits(qp, &w.sqe));
		before = *sent;
		small = uroce_tx_inline_packet(&p->engine, qp, &w.sqe, ack_req);
		assert_non_null(small);
		assert_int_equal(*sent, before + length);
		assert_int_equal(uroce_data_packet(&p->engine, qp, &w.sqe, ack_req, false, &any), 0);
		assert_same_frame(small, any);
		rte_pktmbuf_free(small);
		rte_pktmbuf_free(any);
		qp->req.psn = uroce_psn_add(qp->req.psn, 0x010101);
	}
}

static void
is_like_any_packet(void **state)
{
	static const uint8_t ipv4[2][16] = { { [10] = 0xff, 0xff, 10, 0, 0, 1 }, { [10] = 0xff, 0xff, 10, 0, 0, 2 } };
	static const uint8_t ipv6[2][16] = { { 0xfd, 1, [15] = 1 }, { 0xfd, 2, [15] = 2 } };
	struct uroce_template_conf conf = {
		.src_mac.addr_bytes = { 2, 0, 0, 0, 0, 1 }, .dst_mac.addr_bytes = { 2, 0, 0, 0, 0, 2 },
		.traffic_class = 0xa2, .hop_limit = 7, .flow_label = 0xabcde, .udp_src_port = 0xc123,
	};
	struct uroce_template *headers;
	struct peer p;
	uint64_t mac = 0;

	peer_start(&p, NULL);
	headers = &uroce_qp_of(p.qp)->path.headers;
	for (unsigned int i = 0; i < 8; i++) {
		memcpy(conf.src_gid, i & 1 ? ipv6[0] : ipv4[0], sizeof(conf.src_gid));
		memcpy(conf.dst_gid, i & 1 ? ipv6[1] : ipv4[1], sizeof(conf.dst_gid));
		conf.vlan_tci = i & 2 ? 0x6123 : UROCE_NO_VLAN;
		assert_int_equal(uroce_template_init(headers, &conf), 0);
		memset(&mac, 0x5a, RTE_ETHER_ADDR_LEN);
		uroce_qp_of(p.qp)->path.lladdr = i & 4 ? &mac : NULL;
		compare(&p, IBV_WR_RDMA_WRITE, 0, true);
		compare(&p, IBV_WR_RDMA_WRITE, 0, false);
		compare(&p, IBV_WR_SEND, 0, false);
		compare(&p, IBV_WR_SEND, IBV_SEND_SOLICITED | IBV_SEND_SIGNALED, true);
	}
	uroce_qp_of(p.qp)->path.lladdr = NULL;
	uroce_requester_reset(uroce_qp_of(p.qp), PEER_SQ_PSN);
	peer_stop(&p);
}

static void
others_are_not_small(void **state)
{
	struct uroce_qp qp = { .transport = UROCE_TRANSPORT_RC };
	union wqe w;

	wqe_init(&w, IBV_WR_SEND, UROCE_TX_INLINE_BYTES, 0);
	assert_true(uroce_tx_inline_fits(&qp, &w.sqe));
	w.sqe.length++;
	assert_false(uroce_tx_inline_fits(&qp, &w.sqe));
	wqe_init(&w, IBV_WR_SEND, 8, 0);
	w.sqe.psn_count = 2;
	assert_false(uroce_tx_inline_fits(&qp, &w.sqe));
	wqe_init(&w, IBV_WR_SEND, 8, 0);
	w.sqe.flags &= (uint8_t)~IBV_SEND_INLINE;
	assert_false(uroce_tx_inline_fits(&qp, &w.sqe));
	wqe_init(&w, IBV_WR_SEND_WITH_IMM, 8, 0);
	assert_false(uroce_tx_inline_fits(&qp, &w.sqe));
	wqe_init(&w, IBV_WR_RDMA_WRITE_WITH_IMM, 8, 0);
	assert_false(uroce_tx_inline_fits(&qp, &w.sqe));
	wqe_init(&w, IBV_WR_SEND, 8, 0);
	qp.transport = UROCE_TRANSPORT_XRC;
	assert_false(uroce_tx_inline_fits(&qp, &w.sqe));
}

/* It waits, and goes when there are mbufs again. */
static void
waits_for_mbufs(void **state)
{
	struct ibv_sge sge = { .length = 8 };
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED }, *bad;
	struct rte_mbuf *taken[4096];
	unsigned int n = 0;
	struct peer p;

	peer_start(&p, NULL);
	sge.addr = (uintptr_t)p.buffer;
	while ((taken[n] = rte_pktmbuf_alloc(p.headers)) != NULL)
		assert_in_range(++n, 1, RTE_DIM(taken) - 1);
	assert_int_equal(uroce_post_send(p.qp, &wr, &bad), 0);
	peer_expect_nothing(&p);
	assert_int_not_equal(p.engine.counters[UROCE_NO_MBUF], 0);
	rte_pktmbuf_free_bulk(taken, n);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN);
	peer_stop(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_like_any_packet),
		cmocka_unit_test(others_are_not_small),
		cmocka_unit_test(waits_for_mbufs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
