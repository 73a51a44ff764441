/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_ip.h>

#include "harness/qp.h"
#include "harness/setup.h"
#include "peer.h"
#include "transport/responder/responder.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "verbs/srq/xrc.h"
#include "wire/icrc.h"
#include "wire/packet.h"
#include "wire/sack.h"

#define POOL_MBUFS 1023

static const union ibv_gid our_gid = { .raw = { [10] = 0xff, 0xff, 10, 0, 0, 1 } };
static const union ibv_gid peer_gid = { .raw = { [10] = 0xff, 0xff, 10, 0, 0, 2 } };

/* A handle for the peer's address. */
static struct ibv_ah *
make_ah(struct ibv_pd *pd)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } };
	struct ibv_ah *ah;

	attr.grh.dgid = peer_gid;
	ah = uroce_create_ah(pd, &attr);
	assert_non_null(ah);
	return ah;
}

void
peer_connect(struct ibv_qp *qp, const struct peer_conf *c)
{
	const unsigned int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_FLUSH_GLOBAL |
				 IBV_ACCESS_FLUSH_PERSISTENT;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = c->access ? c->access : all,
		.path_mtu = c->mtu ? c->mtu : IBV_MTU_1024, .dest_qp_num = c->dest_qpn ? c->dest_qpn : PEER_QPN,
		.rq_psn = c->rq_psn ? c->rq_psn : PEER_RQ_PSN, .sq_psn = c->sq_psn ? c->sq_psn : PEER_SQ_PSN,
		.max_rd_atomic = c->max_rd_atomic ? c->max_rd_atomic : 4,
		.max_dest_rd_atomic = c->max_rd_atomic ? c->max_rd_atomic : 4,
		.min_rnr_timer = c->min_rnr_timer ? c->min_rnr_timer : 12,
		.timeout = c->timeout ? c->timeout : 14, .retry_cnt = c->retry_cnt ? c->retry_cnt : 7,
		.rnr_retry = c->rnr_retry ? c->rnr_retry : 7,
		.qkey = PEER_QKEY, .ah_attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } },
	};

	attr.ah_attr.grh.dgid = peer_gid;
	harness_qp_to(qp, attr, c->state ? c->state : IBV_QPS_RTS);
}

void
peer_start(struct peer *p, const struct peer_conf *conf)
{
	static const struct peer_conf defaults;
	struct uroce_device_conf dev_conf = { .name = "uroce0", .numa_node = -1, .log2_max_qp = 4,
					      .log2_max_mr = 6 };
	struct uroce_engine_limits limits = uroce_engine_default_limits;
	struct ibv_qp_init_attr init = { .cap = { .max_send_wr = 64, .max_recv_wr = 64,
		.max_send_sge = 16, .max_recv_sge = 16, .max_inline_data = 64 } };

	harness_eal();
	if (conf == NULL)
		conf = &defaults;
	dev_conf.go_back_n = conf->go_back_n;
	dev_conf.log2_window = conf->log2_window;
	if (conf->log2_window != 0)
		limits.log2_window = conf->log2_window;
	if (conf->log2_max_qp != 0)
		dev_conf.log2_max_qp = conf->log2_max_qp;
	memset(p, 0, sizeof(*p));
	harness_headers(&p->to_engine, &peer_gid, &our_gid);
	p->headers = harness_pool("headers", POOL_MBUFS, UROCE_TX_INLINE_BYTES);
	p->payloads = harness_pool("payloads", POOL_MBUFS, 4096);
	p->now_ns = 1000000;
	assert_int_equal(uroce_engine_init(&p->engine, p->headers, p->payloads, &limits, p->now_ns), 0);
	assert_int_equal(uroce_engine_init(&p->other, p->headers, p->payloads, &limits, p->now_ns), 0);
	harness_device_init(&p->host, &p->engine, &dev_conf);
	p->host.gids[0] = our_gid;
	p->host.clock_ns = &p->now_ns;
	p->host.wall_offset_ns = PEER_WALL_NS;
	p->host.multi_seg = !conf->copy;
	if (conf->type == IBV_QPT_UD && conf->mtu)	/* a datagram uses the port's MTU */
		p->host.active_mtu = conf->mtu;
	p->pd = uroce_alloc_pd(&p->dev.vctx.context);
	p->send_cq = uroce_create_cq(&p->dev.vctx.context, conf->cqe ? conf->cqe : 256, NULL, NULL, 0);
	p->recv_cq = uroce_create_cq(&p->dev.vctx.context, conf->cqe ? conf->cqe : 256, NULL, NULL, 0);
	init.qp_type = conf->type ? conf->type : IBV_QPT_RC;
	init.send_cq = p->send_cq;
	init.recv_cq = p->recv_cq;
	p->qp = uroce_create_qp(p->pd, &init);
	assert_non_null(p->qp);
	p->buffer = aligned_alloc(4096, PEER_BUFFER_BYTES);
	memset(p->buffer, 0, PEER_BUFFER_BYTES);
	p->mr = uroce_reg_mr(p->pd, p->buffer, PEER_BUFFER_BYTES, IBV_ACCESS_LOCAL_WRITE |
			     IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
			     IBV_ACCESS_MW_BIND | IBV_ACCESS_FLUSH_GLOBAL);
	assert_non_null(p->mr);
	if (conf->type == IBV_QPT_UD)
		p->ah = make_ah(p->pd);
	peer_connect(p->qp, conf);
}

void
peer_stop(struct peer *p)
{
	assert_int_equal(uroce_destroy_qp(p->qp), 0);
	if (p->ah != NULL)
		assert_int_equal(uroce_destroy_ah(p->ah), 0);
	if (p->mr != NULL)
		assert_int_equal(uroce_dereg_mr(p->mr), 0);
	assert_int_equal(uroce_destroy_cq(p->send_cq), 0);
	assert_int_equal(uroce_destroy_cq(p->recv_cq), 0);
	assert_int_equal(uroce_dealloc_pd(p->pd), 0);
	assert_int_equal(harness_device_fini(&p->host), 0);
	assert_int_equal(uroce_wheel_next(&p->engine.wheel), UINT64_MAX);
	assert_int_equal(uroce_wheel_next(&p->other.wheel), UINT64_MAX);
	uroce_engine_fini(&p->engine);
	uroce_engine_fini(&p->other);
	assert_int_equal(rte_mempool_in_use_count(p->headers), 0);
	assert_int_equal(rte_mempool_in_use_count(p->payloads), 0);
	rte_mempool_free(p->headers);
	rte_mempool_free(p->payloads);
	free(p->buffer);
}

static void
put_ext(const struct uroce_opcode_info *info, uint8_t *bth, const struct peer_packet *in)
{
	if (info->ext[UROCE_EXT_DETH] != 0) {
		struct uroce_deth *deth = (struct uroce_deth *)(bth + info->ext[UROCE_EXT_DETH]);

		deth->qkey = rte_cpu_to_be_32(in->qkey != 0 ? in->qkey : PEER_QKEY);
		deth->reserved = 0xff;
		uroce_put24(deth->src_qp, in->src_qpn != 0 ? in->src_qpn : PEER_QPN);
	}
	if (info->ext[UROCE_EXT_XRCETH] != 0) {
		struct uroce_xrceth *xrceth = (struct uroce_xrceth *)(bth + info->ext[UROCE_EXT_XRCETH]);

		xrceth->reserved = 0xff;	/* R1: ignored */
		uroce_put24(xrceth->srq, in->srqn);
	}
	if (info->ext[UROCE_EXT_RETH] != 0)
		*(struct uroce_reth *)(bth + info->ext[UROCE_EXT_RETH]) = (struct uroce_reth){
			rte_cpu_to_be_64(in->va), rte_cpu_to_be_32(in->rkey), rte_cpu_to_be_32(in->dma_len) };
	if (info->ext[UROCE_EXT_ATOMICETH] != 0)
		*(struct uroce_atomiceth *)(bth + info->ext[UROCE_EXT_ATOMICETH]) = (struct uroce_atomiceth){
			rte_cpu_to_be_64(in->va), rte_cpu_to_be_32(in->rkey), rte_cpu_to_be_64(in->swap_add),
			rte_cpu_to_be_64(in->compare) };
	if (info->ext[UROCE_EXT_AETH] != 0) {
		struct uroce_aeth *aeth = (struct uroce_aeth *)(bth + info->ext[UROCE_EXT_AETH]);

		aeth->syndrome = in->syndrome;
		uroce_put24(aeth->msn, in->msn);
	}
	if (info->ext[UROCE_EXT_ATOMICACKETH] != 0)
		((struct uroce_atomicacketh *)(bth + info->ext[UROCE_EXT_ATOMICACKETH]))->original =
			rte_cpu_to_be_64(in->original);
	if (info->ext[UROCE_EXT_IMMDT] != 0)
		((struct uroce_immdt *)(bth + info->ext[UROCE_EXT_IMMDT]))->imm = rte_cpu_to_be_32(in->imm);
	if (info->ext[UROCE_EXT_IETH] != 0)
		((struct uroce_ieth *)(bth + info->ext[UROCE_EXT_IETH]))->rkey = rte_cpu_to_be_32(in->imm);
	if (info->ext[UROCE_EXT_FETH] != 0)
		((struct uroce_feth *)(bth + info->ext[UROCE_EXT_FETH]))->bits = rte_cpu_to_be_32(in->feth);
}

/* uroce marks ASKs, SACKs, and sequence NAKs. */
static bool
has_mark(uint8_t opcode, uint8_t syndrome)
{
	return opcode == UROCE_RC_ASK || opcode == UROCE_RC_SACK ||
	       (opcode == UROCE_RC_ACKNOWLEDGE && syndrome == UROCE_AETH_SEQUENCE_NAK);
}

/* The peer's own encoder, which shares no code with lib/transport. */
static struct rte_mbuf *
encode(struct peer *p, const struct peer_packet *in)
{
	const struct uroce_opcode_info *info = &uroce_opcodes[in->opcode];
	uint32_t pad = -in->payload_bytes & 3;
	uint32_t length = p->to_engine.header_bytes + info->header_bytes + in->payload_bytes;
	struct rte_mbuf *m = rte_pktmbuf_alloc(p->payloads);
	struct uroce_bth_values values;
	uint8_t *frame, *bth;

	assert_non_null(m);
	frame = rte_pktmbuf_mtod(m, uint8_t *);
	bth = frame + p->to_engine.header_bytes;
	uroce_template_write(&p->to_engine, frame, info->header_bytes + in->payload_bytes + pad + 4);
	if (in->last_ip_byte != 0 || in->traffic_class != 0) {
		struct { uint8_t *sum; uint16_t v; } ip = { frame + 14 + 10, 0 };

		frame[14 + 1] = in->traffic_class;
		if (in->last_ip_byte != 0)
			frame[14 + 15] = in->last_ip_byte;
		memset(ip.sum, 0, 2);
		ip.v = (uint16_t)~rte_raw_cksum(frame + 14, 20);
		memcpy(ip.sum, &ip.v, 2);
	}
	values = (struct uroce_bth_values){
		.opcode = in->opcode,
		.flags = (uint8_t)((in->solicited ? UROCE_BTH_SE : 0) | (in->migreq ? UROCE_BTH_MIGREQ : 0) |
				   pad << UROCE_BTH_PAD_SHIFT),
		.pkey = in->pkey != 0 ? in->pkey : UROCE_DEFAULT_PKEY,
		.dest_qpn = p->qp->qp_num, .psn = in->psn, .ack = in->ack_req ? UROCE_BTH_ACKREQ : 0,
	};
	if (!in->unmarked && has_mark(in->opcode, in->syndrome))
		values.ack |= UROCE_BTH_MARK;
	uroce_bth_write(bth, &values);
	put_ext(info, bth, in);
	if (in->payload != NULL)
		memcpy(bth + info->header_bytes, in->payload, in->payload_bytes);
	else
		memset(bth + info->header_bytes, 0, in->payload_bytes);
	m->data_len = (uint16_t)length;
	m->pkt_len = length;
	if (in->stripped_tci != 0) {
		m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
		m->vlan_tci = in->stripped_tci;
	}
	uroce_icrc_append(m, m, 14, 34, pad);
	return m;
}

void
peer_move(struct peer *p, struct uroce_engine *to)
{
	while (!uroce_engine_qp_move(uroce_qp_real(uroce_qp_of(p->qp)), to, p->now_ns))
		sched_yield();	/* another thread rings the doorbell */
}

/* With UROCE_TEST_MOVES, move the QP to the other engine and back. That changes nothing, except that the QP gets a turn,
 * in which a deferred ACK leaves. */
static void
move_away_and_back(struct peer *p)
{
	if (getenv("UROCE_TEST_MOVES") == NULL)
		return;
	peer_move(p, &p->other);
	peer_move(p, &p->engine);
}

void
peer_in_burst(struct peer *p, const struct peer_packet *in, unsigned int n)
{
	struct uroce_packet packets[32];
	struct uroce_qp *qps[32];

	move_away_and_back(p);
	assert_true(n <= RTE_DIM(packets));
	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(uroce_packet_decode(encode(p, &in[i]), 14, &packets[i]), UROCE_OK);
		qps[i] = uroce_qp_lookup(&p->dev, packets[i].dest_qpn);
		assert_non_null(qps[i]);
	}
	uroce_engine_receive(&p->engine, qps, packets, n, p->now_ns);
	for (unsigned int i = 0; i < n; i++)
		rte_pktmbuf_free(packets[i].mbuf);
}

enum uroce_verdict
peer_in(struct peer *p, const struct peer_packet *in)
{
	uint64_t before[UROCE_VERDICT_COUNT];
	enum uroce_verdict verdict = UROCE_VERDICT_COUNT;

	memcpy(before, p->engine.verdicts, sizeof(before));
	peer_in_burst(p, in, 1);
	for (unsigned int v = 0; v < UROCE_VERDICT_COUNT; v++)
		if (before[v] != p->engine.verdicts[v])
			verdict = v;
	return verdict;
}

static void
get_ext(const struct uroce_packet *pkt, struct peer_packet *out)
{
	const uint8_t *bth = (const uint8_t *)pkt->bth;
	const uint8_t *ext = pkt->info->ext;

	if (ext[UROCE_EXT_DETH] != 0) {
		const struct uroce_deth *deth = (const struct uroce_deth *)(bth + ext[UROCE_EXT_DETH]);

		assert_int_equal(deth->reserved, 0);
		out->qkey = rte_be_to_cpu_32(deth->qkey);
		out->src_qpn = uroce_get24(deth->src_qp);
	}
	if (ext[UROCE_EXT_XRCETH] != 0) {
		const struct uroce_xrceth *xrceth = (const struct uroce_xrceth *)(bth + ext[UROCE_EXT_XRCETH]);

		assert_int_equal(xrceth->reserved, 0);
		out->srqn = uroce_get24(xrceth->srq);
	}
	if (ext[UROCE_EXT_RETH] != 0) {
		const struct uroce_reth *reth = (const struct uroce_reth *)(bth + ext[UROCE_EXT_RETH]);

		out->va = rte_be_to_cpu_64(reth->va);
		out->rkey = rte_be_to_cpu_32(reth->rkey);
		out->dma_len = rte_be_to_cpu_32(reth->dma_len);
	}
	if (ext[UROCE_EXT_ATOMICETH] != 0) {
		const struct uroce_atomiceth *eth =
			(const struct uroce_atomiceth *)(bth + ext[UROCE_EXT_ATOMICETH]);

		out->va = rte_be_to_cpu_64(eth->va);
		out->rkey = rte_be_to_cpu_32(eth->rkey);
		out->swap_add = rte_be_to_cpu_64(eth->swap_add);
		out->compare = rte_be_to_cpu_64(eth->compare);
	}
	if (ext[UROCE_EXT_AETH] != 0) {
		const struct uroce_aeth *aeth = (const struct uroce_aeth *)(bth + ext[UROCE_EXT_AETH]);

		out->syndrome = aeth->syndrome;
		out->msn = uroce_get24(aeth->msn);
	}
	if (ext[UROCE_EXT_ATOMICACKETH] != 0)
		out->original = rte_be_to_cpu_64(
			((const struct uroce_atomicacketh *)(bth + ext[UROCE_EXT_ATOMICACKETH]))->original);
	if (ext[UROCE_EXT_IMMDT] != 0)
		out->imm = rte_be_to_cpu_32(((const struct uroce_immdt *)(bth + ext[UROCE_EXT_IMMDT]))->imm);
	if (ext[UROCE_EXT_IETH] != 0)
		out->imm = rte_be_to_cpu_32(((const struct uroce_ieth *)(bth + ext[UROCE_EXT_IETH]))->rkey);
	if (ext[UROCE_EXT_FETH] != 0)
		out->feth = rte_be_to_cpu_32(((const struct uroce_feth *)(bth + ext[UROCE_EXT_FETH]))->bits);
}

/* Decode the mbuf into fields, and free it. */
static void
packet_of(const struct peer *p, struct rte_mbuf *m, struct peer_packet *out)
{
	struct uroce_packet pkt;

	memset(out, 0, sizeof(*out));
	rte_mbuf_sanity_check(m, 1);
	assert_int_equal(uroce_packet_decode(m, 14, &pkt), UROCE_OK);
	assert_int_equal(pkt.dest_qpn, PEER_QPN);
	out->opcode = pkt.opcode;
	out->psn = pkt.psn;
	out->ack_req = pkt.ack_req;
	out->solicited = pkt.solicited;
	out->udp_src_port = pkt.udp_src_port;
	out->traffic_class = pkt.traffic_class;
	get_ext(&pkt, out);
	assert_int_equal(pkt.bth->ack & UROCE_BTH_RESV7_MASK,
			 has_mark(out->opcode, out->syndrome) && !p->dev.go_back_n ? UROCE_BTH_MARK : 0);
	out->payload_bytes = pkt.payload_bytes;
	assert_true(pkt.payload_bytes <= sizeof(out->bytes));
	uroce_packet_copy(&pkt, 0, out->bytes, pkt.payload_bytes);
	rte_pktmbuf_free(m);
}

bool
peer_out(struct peer *p, struct peer_packet *out)
{
	struct rte_mbuf *m;

	move_away_and_back(p);
	if (uroce_engine_send(&p->engine, &m, 1, p->now_ns) == 0)
		return false;
	packet_of(p, m, out);
	return true;
}

void
peer_next_round(struct peer *p)
{
	uroce_engine_heard(&p->engine, p->now_ns, true);	/* the round that received the last packet */
	uroce_engine_heard(&p->engine, p->now_ns, true);
}

bool
peer_out_due(struct peer *p, struct peer_packet *out)
{
	struct rte_mbuf *m;

	if (uroce_acks_send(&p->engine, &m, 1) == 0)
		return false;
	packet_of(p, m, out);
	return true;
}

bool
peer_out_owed(struct peer *p, struct peer_packet *out)
{
	struct rte_mbuf *m;

	if (uroce_engine_send_owed(&p->engine, &m, 1) == 0)
		return false;
	packet_of(p, m, out);
	return true;
}

struct peer_packet
peer_expect(struct peer *p, uint8_t opcode, uint32_t psn)
{
	struct peer_packet out;

	assert_true(peer_out(p, &out));
	assert_string_equal(uroce_opcodes[out.opcode].name, uroce_opcodes[opcode].name);
	assert_int_equal(out.psn, psn);
	return out;
}

void
peer_expect_ack(struct peer *p, uint8_t syndrome, uint32_t psn, uint32_t msn)
{
	struct peer_packet out = peer_expect(p, UROCE_RC_ACKNOWLEDGE, psn);

	assert_int_equal(out.syndrome, syndrome);
	assert_int_equal(out.msn, msn);
}

void
peer_expect_nothing(struct peer *p)
{
	struct peer_packet out;

	assert_false(peer_out(p, &out));
}

void
peer_post(struct peer *p, enum ibv_wr_opcode opcode, uint32_t offset, uint32_t length, uint64_t wr_id,
	  unsigned int flags)
{
	struct ibv_sge sge = { .addr = (uintptr_t)p->buffer + offset, .length = length, .lkey = p->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED | flags,
				  .sg_list = &sge, .num_sge = 1, .imm_data = rte_cpu_to_be_32(0x11223344) };
	struct ibv_send_wr *bad;

	if (p->qp->qp_type == IBV_QPT_UD) {
		wr.wr.ud.ah = p->ah;
		wr.wr.ud.remote_qpn = PEER_QPN;
		wr.wr.ud.remote_qkey = PEER_QKEY;
	} else if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = 0x7000;
		wr.wr.atomic.rkey = 0x99;
		wr.wr.atomic.compare_add = 0x0102030405060708;
		wr.wr.atomic.swap = 0x1112131415161718;
	} else {
		wr.wr.rdma.remote_addr = 0x7000;
		wr.wr.rdma.rkey = 0x99;
	}
	assert_int_equal(uroce_post_send(p->qp, &wr, &bad), 0);
}

void
peer_post_recv(struct peer *p, uint32_t offset, uint32_t length, uint64_t wr_id)
{
	struct ibv_sge sge = { .addr = (uintptr_t)p->buffer + offset, .length = length, .lkey = p->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	assert_int_equal(uroce_post_recv(p->qp, &wr, &bad), 0);
}

struct ibv_wc
peer_expect_wc(struct ibv_cq *cq, enum ibv_wc_status status, uint64_t wr_id)
{
	struct ibv_wc wc;

	assert_int_equal(uroce_poll_cq(cq, 1, &wc), 1);
	assert_string_equal(uroce_wc_status_str(wc.status), uroce_wc_status_str(status));
	assert_int_equal(wc.wr_id, wr_id);
	return wc;
}

void
peer_expect_no_wc(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	assert_int_equal(uroce_poll_cq(cq, 1, &wc), 0);
}

void
peer_wait(struct peer *p)
{
	uint64_t deadline = uroce_engine_deadline(&p->engine);

	assert_int_not_equal(deadline, UINT64_MAX);
	p->now_ns = RTE_MAX(p->now_ns, deadline);
}
