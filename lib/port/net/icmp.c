/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Answers ICMP and ICMPv6 echo requests, sends the requests of uroce_ping() and matches their replies, and passes
 * neighbor discovery's messages on to it. The worker, within a poll.
 */

#include <string.h>

#include <netinet/in.h>

#include <rte_ip.h>

#include "base/dpdk_compat.h"
#include "port/net/icmp.h"
#include "port/worker/rx.h"
#include "port/worker/tx.h"
#include "wire/gid.h"

#define ICMP_ECHO_REPLY    0
#define ICMP_ECHO_REQUEST  8
#define ICMP6_ECHO_REQUEST 128
#define ICMP6_ECHO_REPLY   129
#define ICMP6_ND_SOLICIT   135
#define ICMP6_ND_ADVERT    136

#define TTL 64

struct echo {
	uint8_t type;
	uint8_t code;
	rte_be16_t checksum;
	rte_be16_t id;
	rte_be16_t sequence;
} __attribute__((packed));

static_assert(sizeof(struct echo) == 8, "ICMP echo");

/* Write the IPv4 header and the checksums. The message is behind the header. */
static void
ipv4_finish(struct rte_ipv4_hdr *ip, const uint8_t src[16], const uint8_t dst[16],
	    uint32_t icmp_bytes)
{
	struct echo *echo = (struct echo *)(ip + 1);

	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->total_length = rte_cpu_to_be_16((uint16_t)(sizeof(*ip) + icmp_bytes));
	ip->fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG);
	ip->time_to_live = TTL;
	ip->next_proto_id = IPPROTO_ICMP;
	ip->src_addr = uroce_gid_to_ipv4(src);
	ip->dst_addr = uroce_gid_to_ipv4(dst);
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	echo->checksum = 0;
	echo->checksum = (rte_be16_t)~rte_raw_cksum(echo, icmp_bytes);
}

static void
ipv6_finish(struct rte_ipv6_hdr *ip, const uint8_t src[16], const uint8_t dst[16],
	    uint32_t icmp_bytes)
{
	struct echo *echo = (struct echo *)(ip + 1);

	ip->vtc_flow = rte_cpu_to_be_32(6u << 28);
	ip->payload_len = rte_cpu_to_be_16((uint16_t)icmp_bytes);
	ip->proto = IPPROTO_ICMPV6;
	ip->hop_limits = TTL;
	memcpy(UROCE_IPV6_BYTES(ip->src_addr), src, sizeof(ip->src_addr));
	memcpy(UROCE_IPV6_BYTES(ip->dst_addr), dst, sizeof(ip->dst_addr));
	echo->checksum = 0;
	echo->checksum = rte_ipv6_udptcp_cksum(ip, echo);
}

/* Send an echo message: head, then data. @return false: no mbuf */
static bool
echo_send(struct uroce_port_queue *q, const struct rte_ether_addr *mac, const uint8_t src[16],
	  const uint8_t dst[16], const struct echo *head, const void *data, uint32_t data_bytes)
{
	bool ipv4 = uroce_gid_is_ipv4(dst);
	uint32_t ip_bytes = ipv4 ? sizeof(struct rte_ipv4_hdr) : sizeof(struct rte_ipv6_hdr);
	uint32_t icmp_bytes = sizeof(*head) + data_bytes;
	struct rte_mbuf *m;
	uint8_t *icmp;
	void *l3;

	m = uroce_frame_create(q, mac, ipv4 ? RTE_ETHER_TYPE_IPV4 : RTE_ETHER_TYPE_IPV6,
			       ip_bytes + icmp_bytes, &l3);
	if (m == NULL)
		return false;
	icmp = (uint8_t *)l3 + ip_bytes;
	memcpy(icmp, head, sizeof(*head));
	memcpy(icmp + sizeof(*head), data, data_bytes);
	if (ipv4)
		ipv4_finish(l3, src, dst, icmp_bytes);
	else
		ipv6_finish(l3, src, dst, icmp_bytes);
	uroce_tx_to(q, m, dst);
	return true;
}

void
uroce_icmp_echo(struct uroce_port_queue *q, const struct rte_ether_addr *mac, const uint8_t src[16],
		const uint8_t dst[16], uint16_t id, uint16_t sequence)
{
	struct echo head = {
		.type = uroce_gid_is_ipv4(dst) ? ICMP_ECHO_REQUEST : ICMP6_ECHO_REQUEST,
		.id = rte_cpu_to_be_16(id),
		.sequence = rte_cpu_to_be_16(sequence),
	};
	uint8_t data[UROCE_PING_BYTES];

	for (unsigned int i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	echo_send(q, mac, src, dst, &head, data, sizeof(data));
}

void
uroce_pings_send(struct uroce_port_queue *q)
{
	struct uroce_port *port = q->port;

	for (unsigned int i = 0; i < RTE_DIM(port->pings); i++) {
		struct uroce_ping *ping = &port->pings[i];
		struct rte_ether_addr mac;
		uint64_t word;

		if (!uroce_ping_transit(ping, UROCE_PING_WANTED, UROCE_PING_SENDING))
			continue;
		word = __atomic_load_n(&ping->neighbor->lladdr, __ATOMIC_RELAXED);
		memcpy(&mac, &word, sizeof(mac));
		uroce_icmp_echo(q, &mac, ping->src, ping->dst, ping->id, ping->sequence);
		/* The frame leaves later, at the end of the poll: no reply arrives before this store. Pairs with the
		 * acquire in ping_answered(). */
		__atomic_store_n(&ping->state, UROCE_PING_SENT, __ATOMIC_RELEASE);
	}
}

/* Reply to an echo request, with its data. */
static enum uroce_verdict
request_receive(const struct uroce_rx *rx, const uint8_t src[16], const uint8_t dst[16],
		uint8_t reply_type)
{
	const struct echo *request = rte_pktmbuf_mtod_offset(rx->mbuf, const struct echo *,
							     rx->l4_offset);
	struct rte_ether_addr peer = uroce_rx_ether(rx)->src_addr;
	struct echo head = *request;

	if (!uroce_gid_is_host(src) || !rte_is_valid_assigned_ether_addr(&peer))
		return UROCE_DROP_ICMP;
	head.type = reply_type;
	if (echo_send(rx->q, &peer, dst, src, &head, request + 1,
		      rx->l4_bytes - (uint32_t)sizeof(head)))
		uroce_counter_add(&rx->q->counters[UROCE_PORT_ECHO_ANSWERED], 1);
	return UROCE_OK;
}

/* @return false: no thread waits for this reply */
static bool
ping_answered(struct uroce_port *port, const uint8_t src[16], uint16_t id, uint16_t sequence)
{
	for (unsigned int i = 0; i < RTE_DIM(port->pings); i++) {
		struct uroce_ping *ping = &port->pings[i];

		/* pairs with the release in uroce_pings_send() */
		if (__atomic_load_n(&ping->state, __ATOMIC_ACQUIRE) != UROCE_PING_SENT)
			continue;
		if (ping->id == id && ping->sequence == sequence && memcmp(ping->dst, src, 16) == 0)
			return uroce_ping_transit(ping, UROCE_PING_SENT, UROCE_PING_ANSWERED);
	}
	return false;
}

static enum uroce_verdict
reply_receive(const struct uroce_rx *rx, const uint8_t src[16])
{
	const struct echo *reply = rte_pktmbuf_mtod_offset(rx->mbuf, const struct echo *,
							   rx->l4_offset);

	return ping_answered(rx->q->port, src, rte_be_to_cpu_16(reply->id),
			     rte_be_to_cpu_16(reply->sequence))
		       ? UROCE_OK
		       : UROCE_DROP_ICMP;
}

enum uroce_verdict
uroce_icmp_receive(const struct uroce_rx *rx)
{
	const struct rte_ipv4_hdr *ip =
		rte_pktmbuf_mtod_offset(rx->mbuf, const struct rte_ipv4_hdr *, rx->l3_offset);
	const struct echo *echo = rte_pktmbuf_mtod_offset(rx->mbuf, const struct echo *,
							  rx->l4_offset);
	uint8_t src[16], dst[16];

	if (rx->l4_bytes < sizeof(*echo) || rte_raw_cksum(echo, rx->l4_bytes) != 0xffff)
		return UROCE_DROP_ICMP;
	uroce_gid_from_ipv4(src, ip->src_addr);
	uroce_gid_from_ipv4(dst, ip->dst_addr);
	if (echo->type == ICMP_ECHO_REQUEST && echo->code == 0)
		return request_receive(rx, src, dst, ICMP_ECHO_REPLY);
	if (echo->type == ICMP_ECHO_REPLY && echo->code == 0)
		return reply_receive(rx, src);
	return UROCE_DROP_ICMP;
}

enum uroce_verdict
uroce_icmp6_receive(const struct uroce_rx *rx)
{
	const struct rte_ipv6_hdr *ip =
		rte_pktmbuf_mtod_offset(rx->mbuf, const struct rte_ipv6_hdr *, rx->l3_offset);
	const struct echo *echo = rte_pktmbuf_mtod_offset(rx->mbuf, const struct echo *,
							  rx->l4_offset);
	const uint8_t *src = UROCE_IPV6_BYTES(ip->src_addr);

	if (rx->l4_bytes < sizeof(*echo) || rte_ipv6_udptcp_cksum(ip, echo) != 0)
		return UROCE_DROP_ICMP;
	if (echo->type == ICMP6_ND_SOLICIT || echo->type == ICMP6_ND_ADVERT)
		return uroce_nd_receive(rx);
	if (echo->type == ICMP6_ECHO_REPLY && echo->code == 0)
		return reply_receive(rx, src);
	if (echo->type != ICMP6_ECHO_REQUEST || echo->code != 0)
		return UROCE_DROP_ICMP;
	if (UROCE_IPV6_BYTES(ip->dst_addr)[0] != 0xff)
		return request_receive(rx, src, UROCE_IPV6_BYTES(ip->dst_addr), ICMP6_ECHO_REPLY);
	/* a request to a group is answered from one of the port's addresses (RFC 4443, 2.2) */
	src = uroce_addresses_source(rx->own, UROCE_IPV6_BYTES(ip->src_addr));
	return src != NULL ? request_receive(rx, UROCE_IPV6_BYTES(ip->src_addr), src, ICMP6_ECHO_REPLY)
			   : UROCE_DROP_ICMP;
}
