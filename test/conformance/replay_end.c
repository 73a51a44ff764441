/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * uroce's end of a captured exchange: the queue pair, and captured frames readdressed to it. For one thread.
 */

#include <string.h>

#include <rte_common.h>
#include <rte_udp.h>

#include "frames.h"
#include "replay.h"
#include "statements.h"
#include "wire/icrc.h"

#define L3 RTE_ETHER_HDR_LEN
#define QUEUE_ENTRIES 256
#define RD_ATOMICS 16

/* The timer in the captured responder's RNR NAK, if there is one. */
static uint8_t
rnr_timer(const struct exchange *x)
{
	for (unsigned int i = 0; i < x->n; i++) {
		uint8_t syndrome = captured_syndrome(x->frames[i]);

		if ((syndrome & UROCE_AETH_CLASS_MASK) == UROCE_AETH_RNR_NAK)
			return syndrome & UROCE_AETH_VALUE_MASK;
	}
	return 12;
}

/* In an exchange that ends with an RNR NAK, the requester gave up. */
static uint8_t
rnr_retries(const struct exchange *x)
{
	unsigned int naks = 0;

	if ((captured_syndrome(x->frames[x->n - 1]) & UROCE_AETH_CLASS_MASK) != UROCE_AETH_RNR_NAK)
		return 7;
	for (unsigned int i = 0; i < x->n; i++)
		naks += (captured_syndrome(x->frames[i]) & UROCE_AETH_CLASS_MASK) == UROCE_AETH_RNR_NAK;
	return (uint8_t)(naks - 1);
}

static uint32_t
qkey_of(const struct exchange *x)
{
	const struct uroce_deth *deth;

	if (x->transport != UROCE_TRANSPORT_UD)
		return 0;
	deth = uroce_packet_ext(&x->frames[0]->packet, UROCE_EXT_DETH);
	return rte_be_to_cpu_32(deth->qkey);
}

static void
connect_end(struct replay_end *end)
{
	const struct exchange *x = end->x;
	struct ibv_qp_attr attr = qp_usual_attributes();

	attr.path_mtu = (enum ibv_mtu)(__builtin_ctz(x->mtu) - 7);
	attr.dest_qp_num = end->role == REPLAY_RESPONDER ? x->requester_qpn : x->responder_qpn;
	attr.rq_psn = attr.sq_psn = x->first_psn;
	attr.max_rd_atomic = attr.max_dest_rd_atomic = RD_ATOMICS;
	attr.min_rnr_timer = rnr_timer(x);
	attr.rnr_retry = rnr_retries(x);
	attr.qkey = qkey_of(x);
	RTE_VERIFY(qp_connect(end->qp, IBV_QPS_RTS, &attr) == 0);
}

void
replay_end_open(struct replay_end *end, const struct exchange *x, enum replay_role role)
{
	struct ibv_qp_init_attr init = { .cap = { .max_send_wr = QUEUE_ENTRIES, .max_recv_wr = QUEUE_ENTRIES,
		.max_send_sge = 1, .max_recv_sge = 1 } };
	struct ibv_ah_attr ah = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } };
	struct device_conf conf = x->ipv6 ? device_ipv6 : device_ipv4;

	conf.go_back_n = true;	/* as the captured ends */
	*end = (struct replay_end){ .x = x, .role = role };
	device_open(&conf);
	end->pd = uroce_alloc_pd(device_context());
	end->send_cq = uroce_create_cq(device_context(), QUEUE_ENTRIES, NULL, NULL, 0);
	end->recv_cq = uroce_create_cq(device_context(), QUEUE_ENTRIES, NULL, NULL, 0);
	init.send_cq = end->send_cq;
	init.recv_cq = end->recv_cq;
	init.qp_type = x->transport == UROCE_TRANSPORT_RC ? IBV_QPT_RC
		     : x->transport == UROCE_TRANSPORT_UC ? IBV_QPT_UC : IBV_QPT_UD;
	end->qp = uroce_create_qp(end->pd, &init);
	RTE_VERIFY(end->qp != NULL);
	if (init.qp_type == IBV_QPT_UD) {
		memcpy(ah.grh.dgid.raw, device_conf_get()->peer_gid.raw, 16);
		end->ah = uroce_create_ah(end->pd, &ah);
		RTE_VERIFY(end->ah != NULL);
	}
	connect_end(end);
}

void
replay_end_close(struct replay_end *end)
{
	if (end->qp != NULL)
		RTE_VERIFY(uroce_destroy_qp(end->qp) == 0);
	if (end->ah != NULL)
		RTE_VERIFY(uroce_destroy_ah(end->ah) == 0);
	RTE_VERIFY(uroce_destroy_cq(end->send_cq) == 0);
	RTE_VERIFY(uroce_destroy_cq(end->recv_cq) == 0);
	RTE_VERIFY(uroce_dealloc_pd(end->pd) == 0);
	RTE_VERIFY(device_close() == NULL);
}

void
replay_end_in(struct replay_end *end, const struct captured *c,
	      void (*change)(void *arg, const struct captured *c, uint8_t *bth), void *arg)
{
	static struct device_frame f;
	uint32_t bth = c->packet.payload_offset - c->packet.info->header_bytes;
	uint32_t bytes = c->len - bth;		/* up to and including the ICRC */
	uint32_t headers = device_headers_write(f.bytes, bytes);
	struct rte_mbuf m;

	memcpy(f.bytes + headers, c->bytes + bth, bytes - UROCE_ICRC_BYTES);
	uroce_put24(((struct uroce_bth *)(f.bytes + headers))->dest_qp, end->qp->qp_num);
	if (change != NULL)
		change(arg, c, f.bytes + headers);
	test_mbuf_init(&m, f.bytes, sizeof(f.bytes), headers + bytes - UROCE_ICRC_BYTES);
	uroce_icrc_append(&m, &m, L3, headers - (uint32_t)sizeof(struct rte_udp_hdr), 0);
	f.len = m.pkt_len;
	if (c->bad_icrc)
		f.bytes[f.len - 1] ^= 1;
	device_in(&f, 1);
}
