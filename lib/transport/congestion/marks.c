/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * DCQCN's notification point: sends a CNP to the peer for a packet that the network has marked, at most one for each QP
 * and interval. It builds the CNP at once, with the QP's path or the reverse of the packet's path, and the engine sends
 * it before all other frames. On the engine's thread.
 */

#include <string.h>

#include <rte_ether.h>

#include "transport/congestion/congestion.h"
#include "transport/packet/packet.h"
#include "transport/qp/qp.h"
#include "uroce.h"
#include "verbs/device/congestion.h"
#include "wire/gid.h"

#define US UINT64_C(1000)

/* Make the path back to the sender of a datagram, through the router that has forwarded it. @return false: the datagram
 * was multicast */
static bool
path_back(const struct uroce_qp *qp, const struct uroce_packet *p, uint32_t src_qpn, struct uroce_path *path)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(p->mbuf, const struct rte_ether_hdr *);
	struct uroce_template_conf conf = {
		.src_mac = eth->dst_addr, .dst_mac = eth->src_addr,
		.vlan_tci = qp->dev->vlan != 0 ? qp->dev->vlan : UROCE_NO_VLAN,
		.hop_limit = UROCE_HOP_LIMIT,
		.udp_src_port = uroce_udp_src_port(0, src_qpn),
	};

	RTE_ASSERT(p->l3_offset >= sizeof(*eth));
	uroce_gid_from_ip(conf.src_gid, p->ip_version, p->dst_ip);
	uroce_gid_from_ip(conf.dst_gid, p->ip_version, p->src_ip);
	if (uroce_gid_is_multicast(conf.src_gid) || uroce_gid_is_multicast(conf.dst_gid))
		return false;
	return uroce_template_init(&path->headers, &conf) == 0;
}

static void
set_traffic_class(const struct uroce_congestion *conf, struct uroce_template *headers)
{
	uint8_t dscp = conf->np_cnp_dscp == UROCE_CNP_DSCP_OF_QP ? uroce_template_traffic_class(headers) >> 2
								 : conf->np_cnp_dscp;

	uroce_template_set_traffic_class(headers, (uint8_t)(dscp << 2 | UROCE_ECN_ECT0));
}

static bool
make_cnp(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_path *path, uint32_t dest_qpn)
{
	const struct uroce_packet_desc d = {
		.path = path, .bth = { .opcode = UROCE_CNP, .dest_qpn = dest_qpn, .ecn = UROCE_BTH_BECN },
	};

	if (uroce_packet_build(e, qp, &d, &e->cnps[e->cnp_count]) != 0)
		return false;
	e->cnp_count++;
	uroce_count(e, UROCE_NP_CNP_SENT, 1);
	uroce_qp_history_count(&qp->history, UROCE_QP_CNPS_SENT, 1);
	uroce_trace_cnp_sent(qp->dev->index, qp->ibv.qp_num, dest_qpn);
	return true;
}

static void
notify(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p, const struct uroce_congestion *conf)
{
	struct uroce_path path = { .multi_seg = false };
	uint32_t dest_qpn = qp->dest_qpn;

	if (qp->transport == UROCE_TRANSPORT_UD) {
		dest_qpn = uroce_get24(((const struct uroce_deth *)uroce_packet_ext(p, UROCE_EXT_DETH))->src_qp);
		if (dest_qpn == UROCE_GSI_QPN || !path_back(qp, p, dest_qpn, &path))
			return;
	} else {
		path = qp->path;
	}
	set_traffic_class(conf, &path.headers);
	if (make_cnp(e, qp, &path, dest_qpn))
		qp->cnp_ns = e->now_ns;
}

void
uroce_congestion_marked(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p,
			enum uroce_verdict verdict)
{
	const struct uroce_congestion *conf = uroce_congestion_of(qp->dev);

	/* with these verdicts the packet has not passed the checks that show that the peer has sent it */
	if (verdict != UROCE_OK && verdict < UROCE_DUPLICATE)
		return;
	uroce_count(e, UROCE_NP_ECN_MARKED_PACKETS, 1);
	if (conf->off || e->cnp_count == UROCE_CNPS)
		return;
	if (qp->cnp_ns == 0 || e->now_ns - qp->cnp_ns >= conf->np_min_time_between_cnps * US)
		notify(e, qp, p, conf);
}
