/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * IGMP messages: parses queries and other hosts' reports for group.c, and sends the reports of group.c, with the router
 * alert option (RFC 2113). The worker, within a poll.
 */

#include <string.h>

#include <netinet/in.h>

#include <rte_ip.h>

#include "port/net/address.h"
#include "port/net/group.h"
#include "port/net/igmp.h"
#include "port/worker/rx.h"
#include "port/worker/tx.h"

#define QUERY     0x11
#define REPORT_V1 0x12
#define REPORT_V2 0x16
#define LEAVE_V2  0x17
#define REPORT_V3 0x22

#define TTL             1    /* no router forwards the message */
#define TYPE_OF_SERVICE 0xc0 /* internetwork control (RFC 3376, 4) */
#define ROUTERS_V2      RTE_IPV4(224u, 0, 0, 2)
#define ROUTERS_V3      RTE_IPV4(224u, 0, 0, 22)

#define TENTH_NS   100000000ull /* unit of a query's response time */
#define V1_TENTHS  100          /* response time of a version 1 query, which has no such field: 10 s */
#define FLOAT_CODE 128          /* a response time from here on is a mantissa and an exponent */

static const uint8_t router_alert[4] = { 0x94, 4, 0, 0 };

/* The header of all messages. `code` is the response time of a query, and reserved in a version 3 report. */
struct igmp {
	uint8_t type;
	uint8_t code;
	rte_be16_t checksum;
	rte_be32_t group; /* version 3 report: the number of records, in the last two bytes */
} __attribute__((packed));

/* A version 3 query, without its sources. */
struct igmp_query_v3 {
	struct igmp igmp;
	uint8_t flags; /* 4 reserved, suppress, 3 robustness */
	uint8_t interval;
	rte_be16_t sources;
} __attribute__((packed));

struct igmp_record {
	uint8_t type;
	uint8_t aux_words;
	rte_be16_t sources;
	rte_be32_t group;
} __attribute__((packed));

static_assert(sizeof(struct igmp) == 8, "IGMP");
static_assert(sizeof(struct igmp_query_v3) == 12, "IGMPv3 query");
static_assert(sizeof(struct igmp_record) == 8, "IGMPv3 record");

struct ip_alert {
	struct rte_ipv4_hdr header;
	uint8_t option[sizeof(router_alert)];
} __attribute__((packed));

static struct rte_mbuf *
message_create(struct uroce_port_queue *q, rte_be32_t dst, uint32_t igmp_bytes, struct igmp **igmp)
{
	const struct uroce_addresses *own = uroce_port_addresses(q->port);
	struct rte_ether_addr mac;
	struct rte_mbuf *m;
	uint8_t gid[16];
	struct ip_alert *ip;
	void *l3;

	uroce_gid_from_ipv4(gid, dst);
	uroce_multicast_mac(&mac, gid);
	m = uroce_frame_create(q, &mac, RTE_ETHER_TYPE_IPV4, sizeof(*ip) + igmp_bytes, &l3);
	if (m == NULL)
		return NULL;
	ip = l3;
	ip->header.version_ihl = 0x40 | sizeof(*ip) / 4;
	ip->header.type_of_service = TYPE_OF_SERVICE;
	ip->header.total_length = rte_cpu_to_be_16((uint16_t)(sizeof(*ip) + igmp_bytes));
	ip->header.fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG);
	ip->header.time_to_live = TTL;
	ip->header.next_proto_id = IPPROTO_IGMP;
	/* 0.0.0.0 from a host that has no address yet (RFC 3376, 4.2.13) */
	ip->header.src_addr = own->ipv4_count != 0 ? own->ipv4[0] : 0;
	ip->header.dst_addr = dst;
	memcpy(ip->option, router_alert, sizeof(ip->option));
	ip->header.hdr_checksum = (rte_be16_t)~rte_raw_cksum(ip, sizeof(*ip));
	*igmp = (struct igmp *)(ip + 1);
	return m;
}

static void
message_send(struct uroce_port_queue *q, struct rte_mbuf *m, struct igmp *igmp, uint32_t igmp_bytes)
{
	igmp->checksum = (rte_be16_t)~rte_raw_cksum(igmp, igmp_bytes);
	uroce_tx_local(q, m);
	uroce_counter_add(&q->counters[UROCE_PORT_GROUP_REPORTS], 1);
}

/* Versions 1 and 2: send a report to the group itself, so that other members receive it, and a leave to all routers. */
static void
send_old(struct uroce_port_queue *q, const struct uroce_group_report *report)
{
	bool leave = report->records[0].type == UROCE_GROUP_LEAVE;
	rte_be32_t group = uroce_gid_to_ipv4(report->records[0].gid);
	struct rte_mbuf *m;
	struct igmp *igmp;

	m = message_create(q, leave ? rte_cpu_to_be_32(ROUTERS_V2) : group, sizeof(*igmp), &igmp);
	if (m == NULL)
		return;
	igmp->type = report->version == UROCE_GROUP_V1 ? REPORT_V1 : leave ? LEAVE_V2 : REPORT_V2;
	igmp->group = group;
	message_send(q, m, igmp, sizeof(*igmp));
}

void
uroce_igmp_send(struct uroce_port_queue *q, const struct uroce_group_report *report)
{
	uint32_t bytes = sizeof(struct igmp) + report->count * (uint32_t)sizeof(struct igmp_record);
	struct igmp_record *record;
	struct rte_mbuf *m;
	struct igmp *igmp;

	if (report->version != UROCE_GROUP_V3) {
		send_old(q, report);
		return;
	}
	m = message_create(q, rte_cpu_to_be_32(ROUTERS_V3), bytes, &igmp);
	if (m == NULL)
		return;
	igmp->type = REPORT_V3;
	igmp->group = rte_cpu_to_be_32(report->count);
	record = (struct igmp_record *)(igmp + 1);
	for (unsigned int i = 0; i < report->count; i++) {
		record[i].type = report->records[i].type;
		record[i].group = uroce_gid_to_ipv4(report->records[i].gid);
	}
	message_send(q, m, igmp, bytes);
}

/* RFC 3376, 4.1.1 */
static uint64_t
response_ns(uint8_t code)
{
	uint64_t tenths = code;

	if (code >= FLOAT_CODE)
		tenths = (uint64_t)((code & 0xf) | 0x10) << ((code >> 4 & 0x7) + 3);
	return tenths * TENTH_NS;
}

static enum uroce_verdict
query_receive(const struct uroce_rx *rx, const struct igmp *igmp)
{
	const struct igmp_query_v3 *v3 = (const struct igmp_query_v3 *)igmp;
	struct uroce_port *port = rx->q->port;
	struct uroce_group_query query = {
		.family = UROCE_GROUP_IPV4,
		.version = UROCE_GROUP_V2,
		.general = igmp->group == 0,
		.max_delay_ns = response_ns(igmp->code),
	};

	uroce_gid_from_ipv4(query.gid, igmp->group);
	if (!query.general && !uroce_gid_is_multicast(query.gid))
		return UROCE_DROP_IGMP;
	if (rx->l4_bytes >= sizeof(*v3)) {
		query.version = UROCE_GROUP_V3;
		query.robustness = v3->flags & 0x7;
	} else if (rx->l4_bytes != sizeof(*igmp)) {
		return UROCE_DROP_IGMP; /* RFC 3376, 7.1 */
	} else if (igmp->code == 0) {
		query.version = UROCE_GROUP_V1;
		query.max_delay_ns = V1_TENTHS * TENTH_NS;
	}
	uroce_counter_add(&rx->q->counters[UROCE_PORT_GROUP_QUERIES], 1);
	uroce_port_upkeep_by(port, uroce_groups_query(&port->groups, &query, rx->now_ns));
	return UROCE_OK;
}

enum uroce_verdict
uroce_igmp_receive(const struct uroce_rx *rx)
{
	const struct igmp *igmp = rte_pktmbuf_mtod_offset(rx->mbuf, const struct igmp *,
							  rx->l4_offset);
	uint8_t gid[16];

	if (rx->l4_bytes < sizeof(*igmp) || rte_raw_cksum(igmp, rx->l4_bytes) != 0xffff)
		return UROCE_DROP_IGMP;
	switch (igmp->type) {
	case QUERY: return query_receive(rx, igmp);
	case REPORT_V1:
	case REPORT_V2:
		uroce_gid_from_ipv4(gid, igmp->group);
		uroce_groups_heard(&rx->q->port->groups, gid, rx->now_ns);
		return UROCE_OK;
	default: return UROCE_OK; /* for routers */
	}
}
