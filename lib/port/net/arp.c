/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ARP (RFC 826, 5227): answers requests for the port's addresses, learns neighbors from replies, sends requests and
 * announcements. The worker, within a poll.
 */

#include <string.h>

#include <rte_arp.h>

#include "port/net/arp.h"
#include "port/worker/rx.h"
#include "port/worker/tx.h"

static void
arp_send(struct uroce_port_queue *q, const struct rte_ether_addr *dst, uint16_t opcode,
	 uint32_t sender_be, const struct rte_ether_addr *target_mac, uint32_t target_be)
{
	struct rte_arp_hdr *arp;
	struct rte_mbuf *m;
	void *l3;

	m = uroce_frame_create(q, dst, RTE_ETHER_TYPE_ARP, sizeof(*arp), &l3);
	if (m == NULL)
		return;
	arp = l3;
	arp->arp_hardware = rte_cpu_to_be_16(RTE_ARP_HRD_ETHER);
	arp->arp_protocol = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	arp->arp_hlen = RTE_ETHER_ADDR_LEN;
	arp->arp_plen = sizeof(sender_be);
	arp->arp_opcode = rte_cpu_to_be_16(opcode);
	arp->arp_data.arp_sha = q->port->mac;
	arp->arp_data.arp_sip = sender_be;
	arp->arp_data.arp_tha = *target_mac;
	arp->arp_data.arp_tip = target_be;
	uroce_tx_local(q, m);
}

void
uroce_arp_request(struct uroce_port_queue *q, const struct rte_ether_addr *dst, uint32_t sender_be,
		  uint32_t target_be)
{
	static const struct rte_ether_addr broadcast = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };
	static const struct rte_ether_addr unknown;

	arp_send(q, rte_is_zero_ether_addr(dst) ? &broadcast : dst, RTE_ARP_OP_REQUEST, sender_be,
		 &unknown, target_be);
}

static bool
well_formed(const struct rte_arp_hdr *arp)
{
	return arp->arp_hardware == rte_cpu_to_be_16(RTE_ARP_HRD_ETHER) &&
	       arp->arp_protocol == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4) &&
	       arp->arp_hlen == RTE_ETHER_ADDR_LEN && arp->arp_plen == sizeof(rte_be32_t) &&
	       rte_is_valid_assigned_ether_addr(&arp->arp_data.arp_sha);
}

static void
learn(const struct uroce_rx *rx, const struct rte_arp_hdr *arp, unsigned int how)
{
	struct rte_mbuf *frames[UROCE_NEIGHBOR_PENDING];
	struct rte_ether_addr mac = arp->arp_data.arp_sha;
	uint8_t gid[16];
	unsigned int n;

	uroce_gid_from_ipv4(gid, arp->arp_data.arp_sip);
	n = uroce_neighbor_learn(&rx->q->port->neighbors, gid, &mac, how, rx->now_ns, frames);
	uroce_tx_resolved(rx->q, frames, n, &mac);
}

static void
answer(const struct uroce_rx *rx, const struct rte_arp_hdr *arp)
{
	struct rte_ether_addr peer = arp->arp_data.arp_sha;

	arp_send(rx->q, &peer, RTE_ARP_OP_REPLY, arp->arp_data.arp_tip, &peer,
		 arp->arp_data.arp_sip);
	uroce_counter_add(&rx->q->counters[UROCE_PORT_ARP_ANSWERED], 1);
}

enum uroce_verdict
uroce_arp_receive(const struct uroce_rx *rx)
{
	const struct rte_arp_hdr *arp =
		rte_pktmbuf_mtod_offset(rx->mbuf, const struct rte_arp_hdr *, rx->l3_offset);
	uint32_t sender_be, target_be;

	if (uroce_rx_room(rx) < sizeof(*arp))
		return UROCE_DROP_L2_SHORT;
	if (!well_formed(arp))
		return UROCE_DROP_ARP;
	sender_be = arp->arp_data.arp_sip;
	target_be = arp->arp_data.arp_tip;
	/* another host uses the port's address: do not learn it; the administrator must resolve the conflict */
	if (uroce_addresses_have_ipv4(rx->own, sender_be))
		return UROCE_DROP_ARP;
	if (!uroce_addresses_have_ipv4(rx->own, target_be)) {
		if (sender_be != target_be)
			return UROCE_DROP_IP_ADDRESS;
		learn(rx, arp, UROCE_NEIGHBOR_OVERRIDE); /* an announcement */
		return UROCE_OK;
	}
	switch (rte_be_to_cpu_16(arp->arp_opcode)) {
	case RTE_ARP_OP_REQUEST:
		if (sender_be != 0) /* 0: a probe, RFC 5227 */
			learn(rx, arp, UROCE_NEIGHBOR_OVERRIDE);
		answer(rx, arp);
		return UROCE_OK;
	case RTE_ARP_OP_REPLY:
		learn(rx, arp, UROCE_NEIGHBOR_OVERRIDE | UROCE_NEIGHBOR_SOLICITED);
		return UROCE_OK;
	default: return UROCE_DROP_ARP;
	}
}
