/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * MLD messages: parses queries and other hosts' reports for group.c, and sends the reports of group.c. Each message is
 * ICMPv6 behind a hop-by-hop header with the router alert option (RFC 2711); a message without it is dropped. The
 * worker, within a poll.
 */

#include <string.h>

#include <netinet/in.h>

#include <rte_ip.h>

#include "base/dpdk_compat.h"
#include "port/net/address.h"
#include "port/net/group.h"
#include "port/net/mld.h"
#include "port/worker/rx.h"
#include "port/worker/tx.h"

#define QUERY     130
#define REPORT_V1 131
#define DONE_V1   132
#define REPORT_V2 143

#define HOP_LIMIT 1 /* no router forwards the message */

#define OPTION_PAD1         0
#define OPTION_PADN         1
#define OPTION_ROUTER_ALERT 5
#define OPTION_ACTION       0xc0 /* action for an unknown option; 0: skip it */

#define NS_PER_MS  1000000ull
#define FLOAT_CODE 32768 /* a response time from here on is a mantissa and an exponent */

static const uint8_t hop_by_hop[8] = {
	IPPROTO_ICMPV6, 0, OPTION_ROUTER_ALERT, 2, 0, 0, OPTION_PADN, 0,
};

struct ip_alert {
	struct rte_ipv6_hdr header;
	uint8_t hop_by_hop[sizeof(hop_by_hop)];
} __attribute__((packed));

/* The header of all messages. */
struct mld {
	uint8_t type;
	uint8_t code;
	rte_be16_t checksum;
	rte_be16_t delay; /* query: response time */
	rte_be16_t count; /* version 2 report: number of records */
} __attribute__((packed));

/* A version 1 message, and the start of a version 2 query. */
struct mld_v1 {
	struct mld mld;
	uint8_t group[16];
} __attribute__((packed));

/* A version 2 query, without its sources. */
struct mld_query_v2 {
	struct mld_v1 v1;
	uint8_t flags; /* 4 reserved, suppress, 3 robustness */
	uint8_t interval;
	rte_be16_t sources;
} __attribute__((packed));

struct mld_record {
	uint8_t type;
	uint8_t aux_words;
	rte_be16_t sources;
	uint8_t group[16];
} __attribute__((packed));

static_assert(sizeof(struct mld_v1) == 24, "MLDv1");
static_assert(sizeof(struct mld_query_v2) == 28, "MLDv2 query");
static_assert(sizeof(struct mld_record) == 20, "MLDv2 record");

static bool
is_link_local(const uint8_t address[16])
{
	return address[0] == 0xfe && (address[1] & 0xc0) == 0x80;
}

/* Set the source of a message: the port's link-local address, or :: if it has none (RFC 3810, 5.2.13). */
static void
put_source(const struct uroce_addresses *own, uint8_t src[16])
{
	for (unsigned int i = 0; i < own->ipv6_count; i++)
		if (is_link_local(own->ipv6[i])) {
			memcpy(src, own->ipv6[i], sizeof(own->ipv6[i]));
			return;
		}
}

/* The pseudo header of the checksum has the protocol and length of the ICMPv6 message, without the hop-by-hop
 * header. */
static uint16_t
checksum(const struct rte_ipv6_hdr *ip, const void *mld, uint32_t mld_bytes)
{
	struct rte_ipv6_hdr pseudo = *ip;

	pseudo.proto = IPPROTO_ICMPV6;
	pseudo.payload_len = rte_cpu_to_be_16((uint16_t)mld_bytes);
	return rte_ipv6_udptcp_cksum(&pseudo, mld);
}

static struct rte_mbuf *
message_create(struct uroce_port_queue *q, const uint8_t dst[16], uint32_t mld_bytes,
	       struct ip_alert **ip)
{
	struct rte_ether_addr mac;
	struct rte_mbuf *m;
	void *l3;

	uroce_multicast_mac(&mac, dst);
	m = uroce_frame_create(q, &mac, RTE_ETHER_TYPE_IPV6, sizeof(**ip) + mld_bytes, &l3);
	if (m == NULL)
		return NULL;
	*ip = l3;
	(*ip)->header.vtc_flow = rte_cpu_to_be_32(6u << 28);
	(*ip)->header.payload_len = rte_cpu_to_be_16((uint16_t)(sizeof(hop_by_hop) + mld_bytes));
	(*ip)->header.proto = IPPROTO_HOPOPTS;
	(*ip)->header.hop_limits = HOP_LIMIT;
	put_source(uroce_port_addresses(q->port), UROCE_IPV6_BYTES((*ip)->header.src_addr));
	memcpy(UROCE_IPV6_BYTES((*ip)->header.dst_addr), dst, sizeof((*ip)->header.dst_addr));
	memcpy((*ip)->hop_by_hop, hop_by_hop, sizeof(hop_by_hop));
	return m;
}

static void
message_send(struct uroce_port_queue *q, struct rte_mbuf *m, struct ip_alert *ip,
	     uint32_t mld_bytes)
{
	struct mld *mld = (struct mld *)(ip + 1);

	mld->checksum = checksum(&ip->header, mld, mld_bytes);
	uroce_tx_local(q, m);
	uroce_counter_add(&q->counters[UROCE_PORT_GROUP_REPORTS], 1);
}

/* Version 1: send a report to the group itself, so that other members receive it, and a leave to all routers. */
static void
send_v1(struct uroce_port_queue *q, const struct uroce_group_report *report)
{
	static const uint8_t routers[16] = { 0xff, 0x02, [15] = 0x02 };
	bool leave = report->records[0].type == UROCE_GROUP_LEAVE;
	const uint8_t *group = report->records[0].gid;
	struct mld_v1 *v1;
	struct rte_mbuf *m;
	struct ip_alert *ip;

	m = message_create(q, leave ? routers : group, sizeof(*v1), &ip);
	if (m == NULL)
		return;
	v1 = (struct mld_v1 *)(ip + 1);
	v1->mld.type = leave ? DONE_V1 : REPORT_V1;
	memcpy(v1->group, group, sizeof(v1->group));
	message_send(q, m, ip, sizeof(*v1));
}

void
uroce_mld_send(struct uroce_port_queue *q, const struct uroce_group_report *report)
{
	static const uint8_t routers[16] = { 0xff, 0x02, [15] = 0x16 };
	uint32_t bytes = sizeof(struct mld) + report->count * (uint32_t)sizeof(struct mld_record);
	struct mld_record *record;
	struct rte_mbuf *m;
	struct mld *mld;
	struct ip_alert *ip;

	if (report->version != UROCE_GROUP_V3) {
		send_v1(q, report);
		return;
	}
	m = message_create(q, routers, bytes, &ip);
	if (m == NULL)
		return;
	mld = (struct mld *)(ip + 1);
	mld->type = REPORT_V2;
	mld->count = rte_cpu_to_be_16((uint16_t)report->count);
	record = (struct mld_record *)(mld + 1);
	for (unsigned int i = 0; i < report->count; i++) {
		record[i].type = report->records[i].type;
		memcpy(record[i].group, report->records[i].gid, sizeof(record[i].group));
	}
	message_send(q, m, ip, bytes);
}

/* RFC 3810, 5.1.3 */
static uint64_t
response_ns(uint16_t code)
{
	uint64_t ms = code;

	if (code >= FLOAT_CODE)
		ms = (uint64_t)((code & 0xfff) | 0x1000) << ((code >> 12 & 0x7) + 3);
	return ms * NS_PER_MS;
}

static enum uroce_verdict
query_receive(const struct uroce_rx *rx, const struct mld_v1 *v1, uint32_t bytes)
{
	static const uint8_t zero[16];
	const struct mld_query_v2 *v2 = (const struct mld_query_v2 *)v1;
	uint16_t delay = rte_be_to_cpu_16(v1->mld.delay);
	struct uroce_port *port = rx->q->port;
	struct uroce_group_query query = {
		.family = UROCE_GROUP_IPV6,
		.version = UROCE_GROUP_V2,
		.general = memcmp(v1->group, zero, sizeof(zero)) == 0,
		.max_delay_ns = delay * NS_PER_MS,
	};

	if (!query.general && v1->group[0] != 0xff)
		return UROCE_DROP_ICMP;
	memcpy(query.gid, v1->group, sizeof(query.gid));
	if (bytes >= sizeof(*v2)) {
		query.version = UROCE_GROUP_V3;
		query.robustness = v2->flags & 0x7;
		query.max_delay_ns = response_ns(delay);
	} else if (bytes != sizeof(*v1)) {
		return UROCE_DROP_ICMP; /* RFC 3810, 8.1 */
	}
	uroce_counter_add(&rx->q->counters[UROCE_PORT_GROUP_QUERIES], 1);
	uroce_port_upkeep_by(port, uroce_groups_query(&port->groups, &query, rx->now_ns));
	return UROCE_OK;
}

/* Do the options have a router alert, and no unknown option that must not be skipped? */
static bool
options_check(const uint8_t *p, uint32_t bytes)
{
	bool alert = false;

	for (uint32_t i = 2; i < bytes;) {
		if (p[i] == OPTION_PAD1) {
			i++;
			continue;
		}
		if (i + 1 >= bytes || i + 2 + p[i + 1] > bytes)
			return false;
		if (p[i] == OPTION_ROUTER_ALERT)
			alert = true;
		else if ((p[i] & OPTION_ACTION) != 0)
			return false;
		i += 2u + p[i + 1];
	}
	return alert;
}

static enum uroce_verdict
message_receive(const struct uroce_rx *rx, const struct rte_ipv6_hdr *ip, const struct mld_v1 *v1,
		uint32_t bytes)
{
	static const uint8_t unspecified[16];

	if (bytes < sizeof(v1->mld) || checksum(ip, v1, bytes) != 0)
		return UROCE_DROP_ICMP;
	if (v1->mld.type == REPORT_V2 || v1->mld.type == DONE_V1)
		return UROCE_OK; /* for routers */
	if (bytes < sizeof(*v1))
		return UROCE_DROP_ICMP;
	if (v1->mld.type == QUERY && is_link_local(UROCE_IPV6_BYTES(ip->src_addr)))
		return query_receive(rx, v1, bytes);
	if (v1->mld.type == REPORT_V1 && v1->group[0] == 0xff &&
	    (is_link_local(UROCE_IPV6_BYTES(ip->src_addr)) ||
	     memcmp(UROCE_IPV6_BYTES(ip->src_addr), unspecified, 16) == 0)) {
		uroce_groups_heard(&rx->q->port->groups, v1->group, rx->now_ns);
		return UROCE_OK;
	}
	return UROCE_DROP_ICMP;
}

enum uroce_verdict
uroce_mld_receive(const struct uroce_rx *rx)
{
	const struct rte_ipv6_hdr *ip =
		rte_pktmbuf_mtod_offset(rx->mbuf, const struct rte_ipv6_hdr *, rx->l3_offset);
	const uint8_t *options = rte_pktmbuf_mtod_offset(rx->mbuf, const uint8_t *, rx->l4_offset);
	uint32_t bytes;

	if (rx->l4_bytes < sizeof(hop_by_hop))
		return UROCE_DROP_IP_HEADER;
	if (options[0] != IPPROTO_ICMPV6)
		return UROCE_DROP_IP_PROTOCOL;
	bytes = (options[1] + 1u) * 8;
	if (bytes > rx->l4_bytes)
		return UROCE_DROP_IP_HEADER;
	/* RFC 3810, 6.2. The port accepts no other packet with a hop-by-hop header */
	if (!options_check(options, bytes) || ip->hop_limits != HOP_LIMIT)
		return UROCE_DROP_ICMP;
	return message_receive(rx, ip, (const struct mld_v1 *)(options + bytes),
			       rx->l4_bytes - bytes);
}
