/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Unreliable datagrams: Q_Keys, the 40 bytes in front of each payload, address handles that are destroyed while
 * requests need them, and datagrams that are too long.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/dpdk_compat.h"
#include "groups.h"
#include "peer.h"
#include "uroce_config.h"
#include "verbs/address/ah.h"
#include "verbs/qp/gsi.h"
#include "verbs/qp/qp.h"
#include "wire/headers.h"
#include "wire/opcode.h"

static const struct peer_conf ud = { .type = IBV_QPT_UD, .mtu = IBV_MTU_1024 };
static uint8_t pattern[4096];

static struct peer_packet
datagram(uint32_t bytes)
{
	return (struct peer_packet){
		.opcode = UROCE_UD_SEND_ONLY, .psn = 0x777, .payload = pattern, .payload_bytes = bytes,
		.imm = 0xabcdef01,
	};
}

static void
expect_dropped(struct peer *p, const struct peer_packet *in, enum uroce_verdict verdict)
{
	assert_int_equal(peer_in(p, in), verdict);
	peer_expect_nothing(p);
	peer_expect_no_wc(p->recv_cq);
	assert_int_equal(uroce_qp_of(p->qp)->state, IBV_QPS_RTS);
}

static void
a_datagram_arrives_behind_its_grh(void **state)
{
	static const uint8_t zeros[20];
	struct peer_packet in = datagram(100);
	const uint8_t *ip;
	struct ibv_wc wc;
	struct peer p;

	(void)state;
	peer_start(&p, &ud);
	memset(p.buffer, 0xee, 1024);
	peer_post_recv(&p, 0, 140, 1);
	in.src_qpn = 0xfedcba;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	wc = peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 1);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 140);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH);
	assert_int_equal(wc.src_qp, 0xfedcba);
	assert_int_equal(wc.qp_num, p.qp->qp_num);
	assert_int_equal(wc.pkey_index, 0);
	assert_int_equal(wc.slid, 0);
	assert_int_equal(wc.sl, 0xa);		/* IPv4 */
	assert_memory_equal(p.buffer, zeros, 20);
	ip = p.buffer + 20;
	assert_int_equal(ip[0], 0x45);
	assert_memory_equal(ip + 12, ((uint8_t[]){ 10, 0, 0, 2 }), 4);
	assert_memory_equal(ip + 16, ((uint8_t[]){ 10, 0, 0, 1 }), 4);
	assert_memory_equal(p.buffer + 40, pattern, 100);
	assert_int_equal(p.buffer[140], 0xee);
	peer_stop(&p);
}

static void
the_tag_may_have_been_taken_off(void **state)
{
	struct peer_packet in = datagram(100);
	struct peer p;

	(void)state;
	peer_start(&p, &ud);
	peer_post_recv(&p, 0, 140, 1);
	in.stripped_tci = 5 << RTE_VLAN_PRI_SHIFT | 0x123;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 1).sl, 5);
	peer_stop(&p);
}

static void
a_datagram_over_several_entries(void **state)
{
	struct peer_packet in = datagram(100);
	struct ibv_recv_wr *bad;
	struct ibv_wc wc;
	struct peer p;

	(void)state;
	peer_start(&p, &ud);
	/* the GRH ends within the second entry */
	struct ibv_sge sge[] = {
		{ .addr = (uintptr_t)p.buffer, .length = 33, .lkey = p.mr->lkey },
		{ .addr = (uintptr_t)p.buffer + 1000, .length = 10, .lkey = p.mr->lkey },
		{ .addr = (uintptr_t)p.buffer + 2000, .length = 500, .lkey = p.mr->lkey },
	};
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = sge, .num_sge = 3 };
	assert_int_equal(uroce_post_recv(p.qp, &wr, &bad), 0);
	in.opcode = UROCE_UD_SEND_ONLY_IMM;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	wc = peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 1);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
	assert_int_equal(rte_be_to_cpu_32(wc.imm_data), 0xabcdef01);
	assert_int_equal(p.buffer[20], 0x45);
	assert_memory_equal(p.buffer + 1003, ((uint8_t[]){ 10, 0, 0, 1 }) , 4);
	assert_memory_equal(p.buffer + 1007, pattern, 3);
	assert_memory_equal(p.buffer + 2000, pattern + 3, 97);
	peer_stop(&p);
}

static void
r7_a_wrong_qkey_is_dropped(void **state)
{
	struct ibv_qp_attr attr = { .qkey = 0x22222222 };
	struct peer_packet in = datagram(8);
	struct peer p;

	(void)state;
	peer_start(&p, &ud);
	peer_post_recv(&p, 0, 140, 1);
	in.qkey = PEER_QKEY + 1;
	expect_dropped(&p, &in, UROCE_DROP_QKEY);
	in.qkey = PEER_QKEY | 0x80000000;
	expect_dropped(&p, &in, UROCE_DROP_QKEY);
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_QKEY), 0);
	in.qkey = PEER_QKEY;
	expect_dropped(&p, &in, UROCE_DROP_QKEY);
	in.qkey = 0x22222222;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_stop(&p);
}

static void
r2_r6_for_this_qp_only(void **state)
{
	struct peer_packet in = datagram(8);
	struct peer p;

	(void)state;
	peer_start(&p, &ud);
	peer_post_recv(&p, 0, 140, 1);
	in.pkey = 0x1234;
	expect_dropped(&p, &in, UROCE_DROP_PKEY);
	in.pkey = 0;
	in.opcode = UROCE_RC_SEND_ONLY;
	expect_dropped(&p, &in, UROCE_DROP_TRANSPORT);
	in.opcode = UROCE_UC_SEND_FIRST + UROCE_RC_SEND_ONLY;
	expect_dropped(&p, &in, UROCE_DROP_TRANSPORT);
	/* from any source, with any PSN */
	in = datagram(8);
	in.last_ip_byte = 99;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 1);
	peer_stop(&p);
}

static void
r15_what_does_not_fit_is_dropped(void **state)
{
	struct peer_packet in;
	struct peer p;

	(void)state;
	peer_start(&p, &ud);
	in = datagram(8);
	expect_dropped(&p, &in, UROCE_DROP_NO_RECV);
	peer_post_recv(&p, 0, 39, 1);
	in = datagram(0);
	expect_dropped(&p, &in, UROCE_DROP_PAYLOAD);
	peer_stop(&p);

	peer_start(&p, &ud);
	peer_post_recv(&p, 0, 2000, 1);
	in = datagram(1025);	/* longer than the port's MTU */
	expect_dropped(&p, &in, UROCE_DROP_PAYLOAD);
	in = datagram(1024);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 1);
	peer_post_recv(&p, 0, 50, 2);
	in = datagram(11);
	expect_dropped(&p, &in, UROCE_DROP_PAYLOAD);
	in = datagram(10);	/* in the same receive */
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 2).byte_len, 50);
	peer_post_recv(&p, 0, 40, 3);
	in = datagram(0);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 3).byte_len, 40);
	peer_stop(&p);
}

static void
a_receive_that_may_not_be_written(void **state)
{
	struct peer_packet in = datagram(8);
	struct ibv_recv_wr *bad;
	struct peer p;

	(void)state;
	peer_start(&p, &ud);
	struct ibv_mr *read_only = uroce_reg_mr(p.pd, p.buffer, 4096, 0);
	struct ibv_sge sge = { .addr = (uintptr_t)p.buffer, .length = 64, .lkey = read_only->lkey };
	struct ibv_recv_wr wr = { .wr_id = 9, .sg_list = &sge, .num_sge = 1 };
	assert_int_equal(uroce_post_recv(p.qp, &wr, &bad), 0);
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_LOCAL_PROTECTION);
	peer_expect_wc(p.recv_cq, IBV_WC_LOC_PROT_ERR, 9);
	assert_int_equal(uroce_qp_of(p.qp)->state, IBV_QPS_ERR);
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_QP_STATE);
	assert_int_equal(uroce_dereg_mr(read_only), 0);
	peer_stop(&p);
}

static void
sends_are_datagrams(void **state)
{
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, &ud);
	memcpy(p.buffer, pattern, sizeof(pattern));
	peer_post(&p, IBV_WR_SEND, 0, 1024, 1, 0);
	out = peer_expect(&p, UROCE_UD_SEND_ONLY, PEER_SQ_PSN);
	assert_int_equal(out.qkey, PEER_QKEY);
	assert_int_equal(out.src_qpn, p.qp->qp_num);
	assert_int_equal(out.payload_bytes, 1024);
	assert_memory_equal(out.bytes, pattern, 1024);
	assert_false(out.ack_req || out.solicited);
	/* without a flow label, the port is that of a connection of the two QPs */
	assert_int_equal(out.udp_src_port, uroce_udp_src_port(0, PEER_QPN));
	assert_int_equal(peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1).opcode, IBV_WC_SEND);
	peer_post(&p, IBV_WR_SEND_WITH_IMM, 1, 3, 2, IBV_SEND_SOLICITED | IBV_SEND_INLINE);
	out = peer_expect(&p, UROCE_UD_SEND_ONLY_IMM, PEER_SQ_PSN + 1);
	assert_int_equal(out.imm, 0x11223344);
	assert_int_equal(out.payload_bytes, 3);
	assert_memory_equal(out.bytes, pattern + 1, 3);
	assert_true(out.solicited);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 2);
	peer_expect_nothing(&p);
	assert_int_equal(uroce_engine_deadline(&p.engine), UINT64_MAX);
	peer_stop(&p);
}

static int
post_to(struct peer *p, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey, uint32_t bytes, uint64_t wr_id)
{
	struct ibv_sge sge = { .addr = (uintptr_t)p->buffer, .length = bytes, .lkey = p->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr *bad;

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = qkey;
	return uroce_post_send(p->qp, &wr, &bad);
}

static void
r7_the_top_bit_means_the_qps_own(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, &ud);
	assert_int_equal(post_to(&p, p.ah, PEER_QPN, 0x80010000, 8, 1), 0);
	assert_int_equal(peer_expect(&p, UROCE_UD_SEND_ONLY, PEER_SQ_PSN).qkey, PEER_QKEY);
	assert_int_equal(post_to(&p, p.ah, PEER_QPN, 0x7fffffff, 8, 2), 0);
	assert_int_equal(peer_expect(&p, UROCE_UD_SEND_ONLY, PEER_SQ_PSN + 1).qkey, 0x7fffffff);
	peer_stop(&p);
}

static void
what_cannot_be_posted(void **state)
{
	static const enum ibv_wr_opcode others[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_TSO,
	};
	struct peer p;

	(void)state;
	peer_start(&p, &ud);
	assert_int_equal(post_to(&p, NULL, PEER_QPN, 0, 8, 1), EINVAL);
	assert_int_equal(post_to(&p, p.ah, 0x1000000, 0, 8, 1), EINVAL);
	for (unsigned int i = 0; i < RTE_DIM(others); i++) {
		struct ibv_send_wr wr = { .opcode = others[i] }, *bad;

		wr.wr.ud.ah = p.ah;
		assert_int_equal(uroce_post_send(p.qp, &wr, &bad), EINVAL);
	}
	assert_int_equal(uroce_ah_of(p.ah)->refs, 0);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

static void
back_to_rts(struct peer *p)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	assert_int_equal(uroce_modify_qp(p->qp, &attr, IBV_QP_STATE), 0);
}

static void
r40_a_message_longer_than_the_mtu(void **state)
{
	struct peer_packet in = datagram(8);
	struct peer p;

	(void)state;
	peer_start(&p, &ud);
	peer_post_recv(&p, 4096, 140, 7);
	peer_post(&p, IBV_WR_SEND, 0, 1025, 1, 0);
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_LOC_LEN_ERR, 1);
	peer_expect_wc(p.send_cq, IBV_WC_WR_FLUSH_ERR, 2);
	assert_int_equal(uroce_qp_of(p.qp)->state, IBV_QPS_SQE);
	peer_post(&p, IBV_WR_SEND, 0, 8, 3, 0);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_WR_FLUSH_ERR, 3);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);	/* the QP still receives */
	peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 7);
	back_to_rts(&p);
	peer_post(&p, IBV_WR_SEND, 0, 8, 4, 0);
	peer_expect(&p, UROCE_UD_SEND_ONLY, PEER_SQ_PSN);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 4);
	peer_stop(&p);
}

static void
a_handle_of_another_pd(void **state)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
	struct ibv_pd *pd;
	struct ibv_ah *ah;
	struct peer p;

	(void)state;
	peer_start(&p, &ud);
	attr.grh.dgid.raw[10] = attr.grh.dgid.raw[11] = 0xff;
	pd = uroce_alloc_pd(&p.dev.vctx.context);
	ah = uroce_create_ah(pd, &attr);
	assert_non_null(ah);
	assert_int_equal(uroce_dealloc_pd(pd), EBUSY);	/* R47 */
	assert_int_equal(post_to(&p, ah, PEER_QPN, 0, 8, 1), 0);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_LOC_QP_OP_ERR, 1);
	assert_int_equal(uroce_destroy_ah(ah), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	peer_stop(&p);
}

static void
a_handle_destroyed_with_sends_under_way(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, &ud);
	for (uint64_t i = 1; i <= 3; i++)
		peer_post(&p, IBV_WR_SEND, 0, 8, i, 0);
	assert_int_equal(uroce_destroy_ah(p.ah), 0);
	p.ah = NULL;
	assert_int_equal(p.dev.ah_count, 1);
	for (uint32_t i = 0; i < 3; i++)
		peer_expect(&p, UROCE_UD_SEND_ONLY, PEER_SQ_PSN + i);
	uroce_ahs_reap(&p.dev);
	assert_int_equal(p.dev.ah_count, 0);
	peer_stop(&p);
}

static void
queues_that_are_emptied_let_go_of_their_handles(void **state)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_RESET, IBV_QPS_ERR };
	struct peer p;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(states); i++) {
		struct ibv_qp_attr attr = { .qp_state = states[i] };

		peer_start(&p, &ud);
		peer_post(&p, IBV_WR_SEND, 0, 8, 1, 0);
		peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
		assert_int_equal(uroce_ah_of(p.ah)->refs, 2);
		assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
		assert_int_equal(uroce_ah_of(p.ah)->refs, 0);
		peer_stop(&p);
	}
	/* and requests that are queued when the QP is destroyed */
	peer_start(&p, &ud);
	peer_post(&p, IBV_WR_SEND, 0, 8, 1, 0);
	peer_stop(&p);
}

static void
a_flow_label_chooses_the_source_port(void **state)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .flow_label = 0x12345 } };
	struct ibv_ah *ah;
	struct peer p;

	(void)state;
	peer_start(&p, &ud);
	attr.grh.dgid.raw[10] = attr.grh.dgid.raw[11] = 0xff;
	ah = uroce_create_ah(p.pd, &attr);
	assert_non_null(ah);
	assert_int_equal(post_to(&p, ah, PEER_QPN, 0, 8, 1), 0);
	/* the path of the device has chosen the port */
	assert_int_not_equal(peer_expect(&p, UROCE_UD_SEND_ONLY, PEER_SQ_PSN).udp_src_port,
			     uroce_udp_src_port(0, PEER_QPN));
	assert_int_equal(uroce_destroy_ah(ah), 0);
	peer_stop(&p);
}

static void
sqd_begins_nothing(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	struct ibv_qp_init_attr init;
	struct peer p;

	(void)state;
	peer_start(&p, &ud);
	for (uint64_t i = 1; i <= 3; i++)
		peer_post(&p, IBV_WR_SEND, 0, 8, i, 0);
	peer_expect(&p, UROCE_UD_SEND_ONLY, PEER_SQ_PSN);
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	peer_expect_nothing(&p);
	assert_int_equal(uroce_query_qp(p.qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_SQD);
	assert_int_equal(attr.sq_draining, 0);
	back_to_rts(&p);
	peer_expect(&p, UROCE_UD_SEND_ONLY, PEER_SQ_PSN + 1);
	peer_expect(&p, UROCE_UD_SEND_ONLY, PEER_SQ_PSN + 2);
	peer_stop(&p);
}

/* QP1, which an application's device never creates: it accepts only the Q_Key of the management class, and P_Keys of
 * either membership. */
static void
r6_r7_qp1(void **state)
{
	const struct ibv_qp_cap cap = { 4, 4, 1, 1, 256 };
	struct ibv_qp *application;
	struct peer_packet in = datagram(256);
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, &ud);
	application = p.qp;
	p.qp = uroce_gsi_create(p.pd, p.send_cq, p.recv_cq, &cap);
	assert_non_null(p.qp);
	peer_post_recv(&p, 0, 296, 1);
	expect_dropped(&p, &in, UROCE_DROP_QKEY);
	in.qkey = UROCE_GSI_QKEY;
	in.pkey = 0x1234;
	expect_dropped(&p, &in, UROCE_DROP_PKEY);
	in.pkey = 0x7fff;
	in.src_qpn = 1;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 1).src_qp, 1);
	assert_int_equal(post_to(&p, p.ah, PEER_QPN, UROCE_GSI_QKEY, 256, 2), 0);
	assert_true(peer_out(&p, &out));
	assert_int_equal(out.qkey, UROCE_GSI_QKEY);
	assert_int_equal(out.src_qpn, 1);
	assert_int_equal(uroce_destroy_qp(p.qp), 0);
	p.qp = application;
	peer_stop(&p);
}

/* A datagram that does not fit leaves the receive that it took from the SRQ to the next datagram. */
static void
receives_from_an_srq(void **state)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .cap = { .max_send_wr = 1 } };
	struct peer_packet in = datagram(11);
	struct ibv_qp *application;
	struct ibv_recv_wr *bad;
	struct peer p;

	(void)state;
	peer_start(&p, &ud);
	application = p.qp;
	init.srq = uroce_create_srq(p.pd, &attr);
	assert_non_null(init.srq);
	init.send_cq = p.send_cq;
	init.recv_cq = p.recv_cq;
	p.qp = uroce_create_qp(p.pd, &init);
	assert_non_null(p.qp);
	peer_connect(p.qp, &ud);
	expect_dropped(&p, &in, UROCE_DROP_NO_RECV);
	struct ibv_sge sge = { .addr = (uintptr_t)p.buffer, .length = 50, .lkey = p.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 };
	assert_int_equal(uroce_post_srq_recv(init.srq, &wr, &bad), 0);
	expect_dropped(&p, &in, UROCE_DROP_PAYLOAD);
	in = datagram(10);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 5).byte_len, 50);
	expect_dropped(&p, &in, UROCE_DROP_NO_RECV);
	assert_int_equal(uroce_destroy_qp(p.qp), 0);
	assert_int_equal(uroce_destroy_srq(init.srq), 0);
	p.qp = application;
	peer_stop(&p);
}

static void
r32_what_is_received_in_its_states(void **state)
{
	const struct peer_conf init = { .type = IBV_QPT_UD, .state = IBV_QPS_INIT };
	const struct peer_conf rtr = { .type = IBV_QPT_UD, .state = IBV_QPS_RTR };
	struct peer_packet in = datagram(8);
	struct peer p;

	(void)state;
	peer_start(&p, &init);
	peer_post_recv(&p, 0, 140, 1);
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_QP_STATE);
	peer_stop(&p);
	peer_start(&p, &rtr);
	peer_post_recv(&p, 0, 140, 1);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(post_to(&p, p.ah, PEER_QPN, 0, 8, 1), EINVAL);
	peer_stop(&p);
}

UROCE_TESTS(ud)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_datagram_arrives_behind_its_grh),
		cmocka_unit_test(the_tag_may_have_been_taken_off),
		cmocka_unit_test(a_datagram_over_several_entries),
		cmocka_unit_test(r7_a_wrong_qkey_is_dropped),
		cmocka_unit_test(r2_r6_for_this_qp_only),
		cmocka_unit_test(r15_what_does_not_fit_is_dropped),
		cmocka_unit_test(a_receive_that_may_not_be_written),
		cmocka_unit_test(sends_are_datagrams),
		cmocka_unit_test(r7_the_top_bit_means_the_qps_own),
		cmocka_unit_test(what_cannot_be_posted),
		cmocka_unit_test(r40_a_message_longer_than_the_mtu),
		cmocka_unit_test(a_handle_of_another_pd),
		cmocka_unit_test(a_handle_destroyed_with_sends_under_way),
		cmocka_unit_test(queues_that_are_emptied_let_go_of_their_handles),
		cmocka_unit_test(a_flow_label_chooses_the_source_port),
		cmocka_unit_test(sqd_begins_nothing),
		cmocka_unit_test(r6_r7_qp1),
		cmocka_unit_test(receives_from_an_srq),
		cmocka_unit_test(r32_what_is_received_in_its_states),
	};

	for (unsigned int i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 7 + 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
