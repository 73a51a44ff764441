/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Receives datagrams from any sender that knows the Q_Key (R7). Places the network header before the payload, so that
 * the application can answer. Drops a datagram that does not fit its receive WQE (R15). On the engine's thread.
 */

#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_ether.h>
#include <rte_ip.h>

#include "base/dpdk_compat.h"
#include "transport/packet/packet.h"
#include "transport/unreliable/unreliable.h"
#include "wire/template.h"

/* The SL in the completion of a frame without a VLAN tag: as with mlx5, it is the type of header in the GRH's 40 bytes
 * (A17.4.5.1), which UCX uses to find the address in them. */
enum { SL_IPV6 = 0x9, SL_IPV4 = 0xa };

/* Write the 40 bytes before the payload: an IPv6 header, or zeros and an IPv4 header without options. */
static int
place_grh(const struct uroce_qp *qp, const struct uroce_rqe *rqe, const struct uroce_packet *p)
{
	const uint8_t *l3 = rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->l3_offset);
	uint8_t grh[UROCE_GRH_BYTES] = { 0 };
	struct uroce_slice slice = {
		.sge = rqe->sge, .num_sge = rqe->num_sge, .length = sizeof(grh),
		.access = IBV_ACCESS_LOCAL_WRITE,
		.pd = uroce_recv_pd(qp),
	};

	static_assert(sizeof(grh) == sizeof(struct rte_ipv6_hdr), "GRH");
	if (p->ip_version == 6)
		memcpy(grh, l3, sizeof(grh));
	else
		memcpy(grh + sizeof(grh) - sizeof(struct rte_ipv4_hdr), l3, sizeof(struct rte_ipv4_hdr));
	return uroce_slice_write(qp, &slice, grh);
}

static int
place(const struct uroce_qp *qp, const struct uroce_rqe *rqe, const struct uroce_packet *p)
{
	struct uroce_slice slice = {
		.sge = rqe->sge, .num_sge = rqe->num_sge, .offset = UROCE_GRH_BYTES,
		.length = p->payload_bytes, .access = IBV_ACCESS_LOCAL_WRITE,
		.pd = uroce_recv_pd(qp),
	};
	int ret = place_grh(qp, rqe, p);

	if (ret == 0 && slice.length > 0)
		ret = uroce_slice_scatter(qp, &slice, p);
	return ret;
}

static bool
payload_fits(const struct uroce_qp *qp, const struct uroce_rqe *rqe, const struct uroce_packet *p)
{
	return p->payload_bytes <= qp->mtu_bytes && rqe->length >= UROCE_GRH_BYTES &&
	       p->payload_bytes <= rqe->length - UROCE_GRH_BYTES;
}

/* The SL of a datagram: the priority of its VLAN tag, which the port may have stripped. */
static uint8_t
sl_of(const struct uroce_packet *p)
{
	if (p->vlan_tci != UROCE_NO_VLAN)
		return RTE_VLAN_TCI_PRI(p->vlan_tci);
	return p->ip_version == 6 ? SL_IPV6 : SL_IPV4;
}

enum uroce_verdict
uroce_ud_receive(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	const struct uroce_deth *deth = uroce_packet_ext(p, UROCE_EXT_DETH);
	struct ibv_wc wc = {
		.status = IBV_WC_SUCCESS, .opcode = IBV_WC_RECV, .wc_flags = IBV_WC_GRH,
		.byte_len = p->payload_bytes + UROCE_GRH_BYTES, .src_qp = uroce_get24(deth->src_qp),
		.sl = sl_of(p),
	};
	const struct uroce_rqe *rqe;

	if (unlikely(!uroce_is_receiving(qp)))
		return UROCE_DROP_QP_STATE;
	if (unlikely(rte_be_to_cpu_32(deth->qkey) != qp->attr.qkey))
		return UROCE_DROP_QKEY;		/* R7 */
	rqe = uroce_recv_take(qp);
	if (unlikely(rqe == NULL))
		return UROCE_DROP_NO_RECV;
	if (unlikely(!payload_fits(qp, rqe, p)))
		return UROCE_DROP_PAYLOAD;	/* R15; the next datagram uses the receive WQE */
	if (unlikely(place(qp, rqe, p) != 0)) {
		uroce_qp_fail_recv(e, qp, IBV_WC_LOC_PROT_ERR);
		return UROCE_DROP_LOCAL_PROTECTION;
	}
	uroce_recv_immediate(p, &wc);
	uroce_qp_complete_recv(e, qp, &wc, p->solicited);
	uroce_count(e, UROCE_RECEIVED_BYTES, p->payload_bytes);
	return UROCE_OK;
}
