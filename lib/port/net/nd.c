/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * IPv6 neighbor discovery (RFC 4861): answers solicitations, learns neighbors from advertisements, and sends both,
 * with the checks of sections 7.1.1 and 7.1.2. The worker, within a poll.
 */

#include <string.h>

#include <netinet/in.h>

#include <rte_ip.h>

#include "base/dpdk_compat.h"
#include "port/net/nd.h"
#include "port/worker/rx.h"
#include "port/worker/tx.h"

#define ND_SOLICIT   135
#define ND_ADVERT    136
#define ND_HOP_LIMIT 255 /* proves that no router has forwarded it */

#define ADVERT_SOLICITED 0x40
#define ADVERT_OVERRIDE  0x20

#define OPTION_SOURCE 1
#define OPTION_TARGET 2

/* A neighbor solicitation or advertisement, without options. */
struct nd {
	uint8_t type;
	uint8_t code;
	rte_be16_t checksum;
	uint8_t flags; /* advertisement only */
	uint8_t reserved[3];
	uint8_t target[16];
} __attribute__((packed));

struct nd_option {
	uint8_t type;
	uint8_t length; /* in units of 8 bytes */
	struct rte_ether_addr mac;
} __attribute__((packed));

struct nd_message {
	struct rte_ipv6_hdr ip;
	struct nd nd;
	struct nd_option option;
} __attribute__((packed));

static_assert(sizeof(struct nd) == 24, "ND");
static_assert(sizeof(struct nd_option) == 8, "ND option");

static void
nd_send(struct uroce_port_queue *q, const struct rte_ether_addr *mac, const uint8_t src[16],
	const uint8_t dst[16], const struct nd *nd)
{
	struct nd_message *message;
	struct rte_mbuf *m;
	void *l3;

	m = uroce_frame_create(q, mac, RTE_ETHER_TYPE_IPV6, sizeof(*message), &l3);
	if (m == NULL)
		return;
	message = l3;
	message->ip.vtc_flow = rte_cpu_to_be_32(6u << 28);
	message->ip.payload_len = rte_cpu_to_be_16(sizeof(*message) - sizeof(message->ip));
	message->ip.proto = IPPROTO_ICMPV6;
	message->ip.hop_limits = ND_HOP_LIMIT;
	memcpy(UROCE_IPV6_BYTES(message->ip.src_addr), src, sizeof(message->ip.src_addr));
	memcpy(UROCE_IPV6_BYTES(message->ip.dst_addr), dst, sizeof(message->ip.dst_addr));
	message->nd = *nd;
	message->option.type = nd->type == ND_SOLICIT ? OPTION_SOURCE : OPTION_TARGET;
	message->option.length = 1;
	message->option.mac = q->port->mac;
	message->nd.checksum = rte_ipv6_udptcp_cksum(&message->ip, &message->nd);
	uroce_tx_local(q, m);
}

void
uroce_nd_solicit(struct uroce_port_queue *q, const struct rte_ether_addr *dst,
		 const uint8_t src[16], const uint8_t target[16])
{
	struct nd nd = { .type = ND_SOLICIT };
	struct rte_ether_addr group_mac;
	uint8_t group[16];

	memcpy(nd.target, target, sizeof(nd.target));
	if (!rte_is_zero_ether_addr(dst)) {
		nd_send(q, dst, src, target, &nd);
		return;
	}
	uroce_solicited_node(group, target);
	uroce_multicast_mac(&group_mac, group);
	nd_send(q, &group_mac, src, group, &nd);
}

static void
advertise_to_all(struct uroce_port_queue *q, const uint8_t address[16])
{
	static const uint8_t all_nodes[16] = { 0xff, 0x02, [15] = 0x01 };
	struct nd nd = { .type = ND_ADVERT, .flags = ADVERT_OVERRIDE };
	struct rte_ether_addr mac;

	memcpy(nd.target, address, sizeof(nd.target));
	uroce_multicast_mac(&mac, all_nodes);
	nd_send(q, &mac, address, all_nodes, &nd);
}

void
uroce_nd_announce(struct uroce_port_queue *q, const uint8_t address[16])
{
	advertise_to_all(q, address);
}

/* Find the option of this type with a MAC address. @param found	set to the option, or NULL.
 * @return false: the options are malformed */
static bool
option_find(const struct uroce_rx *rx, uint8_t type, const struct nd_option **found)
{
	const uint8_t *p = rte_pktmbuf_mtod_offset(rx->mbuf, const uint8_t *, rx->l4_offset) +
			   sizeof(struct nd);
	uint32_t left = rx->l4_bytes - (uint32_t)sizeof(struct nd);

	*found = NULL;
	while (left > 0) {
		uint32_t bytes;

		if (left < sizeof(struct nd_option))
			return false;
		bytes = p[1] * 8u;
		if (bytes == 0 || bytes > left)
			return false;
		if (p[0] == type && bytes == sizeof(struct nd_option))
			*found = (const struct nd_option *)p;
		p += bytes;
		left -= bytes;
	}
	return true;
}

static void
learn(const struct uroce_rx *rx, const uint8_t address[16], const struct rte_ether_addr *mac,
      unsigned int how)
{
	struct rte_mbuf *frames[UROCE_NEIGHBOR_PENDING];
	unsigned int n;

	n = uroce_neighbor_learn(&rx->q->port->neighbors, address, mac, how, rx->now_ns, frames);
	uroce_tx_resolved(rx->q, frames, n, mac);
}

static bool
is_unspecified(const uint8_t address[16])
{
	static const uint8_t zero[16];

	return memcmp(address, zero, sizeof(zero)) == 0;
}

static enum uroce_verdict
solicit_receive(const struct uroce_rx *rx, const struct rte_ipv6_hdr *ip, const struct nd *nd)
{
	struct nd reply = { .type = ND_ADVERT, .flags = ADVERT_SOLICITED | ADVERT_OVERRIDE };
	struct rte_ether_addr peer = uroce_rx_ether(rx)->src_addr;
	const struct nd_option *source;

	if (!option_find(rx, OPTION_SOURCE, &source))
		return UROCE_DROP_ICMP;
	if (!uroce_addresses_have_ipv6(rx->own, nd->target))
		return UROCE_DROP_IP_ADDRESS;
	if (is_unspecified(UROCE_IPV6_BYTES(ip->src_addr))) {
		/* duplicate address detection for the port's address: valid only to its group, without the option */
		if (UROCE_IPV6_BYTES(ip->dst_addr)[0] != 0xff || source != NULL)
			return UROCE_DROP_ICMP;
		advertise_to_all(rx->q, nd->target);
		goto answered;
	}
	if (!uroce_gid_is_host(UROCE_IPV6_BYTES(ip->src_addr)) ||
	    uroce_addresses_have_ipv6(rx->own, UROCE_IPV6_BYTES(ip->src_addr)))
		return UROCE_DROP_ICMP;
	if (source != NULL) {
		peer = source->mac;
		learn(rx, UROCE_IPV6_BYTES(ip->src_addr), &peer, UROCE_NEIGHBOR_OVERRIDE);
	}
	if (!rte_is_valid_assigned_ether_addr(&peer))
		return UROCE_DROP_ICMP;
	memcpy(reply.target, nd->target, sizeof(reply.target));
	nd_send(rx->q, &peer, nd->target, UROCE_IPV6_BYTES(ip->src_addr), &reply);
answered:
	uroce_counter_add(&rx->q->counters[UROCE_PORT_ND_ANSWERED], 1);
	return UROCE_OK;
}

static enum uroce_verdict
advert_receive(const struct uroce_rx *rx, const struct rte_ipv6_hdr *ip, const struct nd *nd)
{
	struct rte_ether_addr peer = uroce_rx_ether(rx)->src_addr;
	const struct nd_option *target;
	unsigned int how = 0;

	if (!option_find(rx, OPTION_TARGET, &target))
		return UROCE_DROP_ICMP;
	if ((nd->flags & ADVERT_SOLICITED) != 0) {
		if (UROCE_IPV6_BYTES(ip->dst_addr)[0] == 0xff)
			return UROCE_DROP_ICMP;
		how |= UROCE_NEIGHBOR_SOLICITED;
	}
	if ((nd->flags & ADVERT_OVERRIDE) != 0)
		how |= UROCE_NEIGHBOR_OVERRIDE;
	if (uroce_addresses_have_ipv6(rx->own, nd->target))
		return UROCE_DROP_ICMP;
	/* the answer to a unicast probe may omit the option: its sender is the host that was probed */
	if (target != NULL)
		peer = target->mac;
	learn(rx, nd->target, &peer, how);
	return UROCE_OK;
}

enum uroce_verdict
uroce_nd_receive(const struct uroce_rx *rx)
{
	const struct rte_ipv6_hdr *ip =
		rte_pktmbuf_mtod_offset(rx->mbuf, const struct rte_ipv6_hdr *, rx->l3_offset);
	const struct nd *nd = rte_pktmbuf_mtod_offset(rx->mbuf, const struct nd *, rx->l4_offset);

	if (rx->l4_bytes < sizeof(*nd) || ip->hop_limits != ND_HOP_LIMIT || nd->code != 0)
		return UROCE_DROP_ICMP;
	if (nd->target[0] == 0xff)
		return UROCE_DROP_ICMP;
	return nd->type == ND_SOLICIT ? solicit_receive(rx, ip, nd) : advert_receive(rx, ip, nd);
}
