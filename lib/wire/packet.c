/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Decodes received frames: IP, UDP, then R1 to R5 in their order, each check a line, each failure a
 * verdict. Nothing is read before its length was checked. Workers call it for each frame. No state.
 */

#include <string.h>

#include <netinet/in.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_debug.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "wire/copy.h"
#include "wire/icrc.h"
#include "wire/packet.h"

/* Where the bytes of a layer are, from the start of the frame. */
struct span {
	uint32_t offset;
	uint32_t bytes;
};

/* Of a header without options, by words: the loop of rte_raw_cksum() is for any length. */
static bool
plain_ipv4_sum_ok(const struct rte_ipv4_hdr *ip)
{
	uint32_t words[sizeof(*ip) / sizeof(uint32_t)];
	uint64_t sum = 0;

	memcpy(words, ip, sizeof(words));
	for (unsigned int i = 0; i < RTE_DIM(words); i++)
		sum += words[i];
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16); /* at most 0x1ffff */
	return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

static bool
ipv4_checksum_ok(const struct rte_mbuf *m, const struct rte_ipv4_hdr *ip, uint32_t header_bytes)
{
	switch (m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) {
	case RTE_MBUF_F_RX_IP_CKSUM_BAD: return false;
	case RTE_MBUF_F_RX_IP_CKSUM_GOOD:
	case RTE_MBUF_F_RX_IP_CKSUM_NONE: /* not filled in, but the header was verified */
		return true;
	default:
		return likely(header_bytes == sizeof(*ip))
			       ? plain_ipv4_sum_ok(ip)
			       : rte_raw_cksum(ip, header_bytes) == 0xffff;
	}
}

static enum uroce_verdict
ipv4_decode(struct uroce_packet *p, struct span *l4)
{
	const struct rte_mbuf *m = p->mbuf;
	const struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, const void *, p->l3_offset);
	uint32_t room = rte_pktmbuf_data_len(m) - p->l3_offset;
	uint32_t header_bytes, total_bytes;

	if (room < sizeof(*ip))
		return UROCE_DROP_L2_SHORT;
	header_bytes = rte_ipv4_hdr_len(ip);
	if (header_bytes < sizeof(*ip))
		return UROCE_DROP_IP_HEADER;
	if (room < header_bytes)
		return UROCE_DROP_L2_SHORT;
	total_bytes = rte_be_to_cpu_16(ip->total_length);
	if (total_bytes < header_bytes || total_bytes > rte_pktmbuf_pkt_len(m) - p->l3_offset)
		return UROCE_DROP_IP_HEADER;
	if (!ipv4_checksum_ok(m, ip, header_bytes))
		return UROCE_DROP_IP_HEADER;
	if ((ip->fragment_offset &
	     rte_cpu_to_be_16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)) != 0)
		return UROCE_DROP_IP_FRAGMENT;
	if (ip->next_proto_id != IPPROTO_UDP)
		return UROCE_DROP_IP_PROTOCOL;
	p->ip_version = 4;
	p->traffic_class = ip->type_of_service;
	p->src_ip = (const uint8_t *)&ip->src_addr;
	p->dst_ip = (const uint8_t *)&ip->dst_addr;
	l4->offset = p->l3_offset + header_bytes;
	l4->bytes = total_bytes - header_bytes;
	return UROCE_OK;
}

static enum uroce_verdict
ipv6_decode(struct uroce_packet *p, struct span *l4)
{
	const struct rte_mbuf *m = p->mbuf;
	const struct rte_ipv6_hdr *ip = rte_pktmbuf_mtod_offset(m, const void *, p->l3_offset);
	uint32_t room = rte_pktmbuf_data_len(m) - p->l3_offset;
	uint32_t payload_bytes;

	if (room < sizeof(*ip))
		return UROCE_DROP_L2_SHORT;
	payload_bytes = rte_be_to_cpu_16(ip->payload_len);
	if (sizeof(*ip) + payload_bytes > rte_pktmbuf_pkt_len(m) - p->l3_offset)
		return UROCE_DROP_IP_HEADER;
	if (ip->proto == IPPROTO_FRAGMENT)
		return UROCE_DROP_IP_FRAGMENT;
	if (ip->proto != IPPROTO_UDP)
		return UROCE_DROP_IP_PROTOCOL;
	p->ip_version = 6;
	p->traffic_class = (uint8_t)(rte_be_to_cpu_32(ip->vtc_flow) >> 20);
	p->src_ip = ip->src_addr;
	p->dst_ip = ip->dst_addr;
	l4->offset = p->l3_offset + sizeof(*ip);
	l4->bytes = payload_bytes;
	return UROCE_OK;
}

static enum uroce_verdict
ip_decode(struct uroce_packet *p, struct span *l4)
{
	const struct rte_mbuf *m = p->mbuf;

	if (rte_pktmbuf_data_len(m) <= p->l3_offset)
		return UROCE_DROP_L2_SHORT;
	switch (*rte_pktmbuf_mtod_offset(m, const uint8_t *, p->l3_offset) >> 4) {
	case 4: return ipv4_decode(p, l4);
	case 6: return ipv6_decode(p, l4);
	default: return UROCE_DROP_IP_HEADER;
	}
}

static enum uroce_verdict
udp_decode(struct uroce_packet *p, const struct span *l4, struct span *ib)
{
	const struct rte_mbuf *m = p->mbuf;
	const struct rte_udp_hdr *udp = rte_pktmbuf_mtod_offset(m, const void *, l4->offset);

	if (l4->bytes < sizeof(*udp))
		return UROCE_DROP_UDP_LENGTH;
	if (rte_pktmbuf_data_len(m) - l4->offset < sizeof(*udp))
		return UROCE_DROP_L2_SHORT;
	if (udp->dst_port != rte_cpu_to_be_16(UROCE_UDP_PORT))
		return UROCE_DROP_UDP_PORT;
	/* The ICRC ends the IP packet, so there is nothing behind the datagram. */
	if (rte_be_to_cpu_16(udp->dgram_len) != l4->bytes)
		return UROCE_DROP_UDP_LENGTH;
	p->udp_src_port = rte_be_to_cpu_16(udp->src_port);
	ib->offset = l4->offset + sizeof(*udp);
	ib->bytes = l4->bytes - sizeof(*udp);
	return UROCE_OK;
}

static enum uroce_verdict
bth_decode(struct uroce_packet *p, const struct span *ib)
{
	uint32_t room = rte_pktmbuf_data_len(p->mbuf) - ib->offset;
	const struct uroce_opcode_info *info;
	const struct uroce_bth *bth;
	uint32_t pad, rest;

	/* Without a BTH there is no opcode to look at: R3 comes first here, and only here. */
	if (ib->bytes < sizeof(*bth) + UROCE_ICRC_BYTES)
		return UROCE_DROP_LENGTH;
	if (room < sizeof(*bth))
		return UROCE_DROP_L2_SHORT;
	bth = rte_pktmbuf_mtod_offset(p->mbuf, const void *, ib->offset);
	if ((bth->flags & UROCE_BTH_TVER_MASK) != 0)
		return UROCE_DROP_TVER; /* R1 */
	info = &uroce_opcodes[bth->opcode];
	if (info->name == NULL)
		return UROCE_DROP_OPCODE; /* R2 */
	pad = (bth->flags & UROCE_BTH_PAD_MASK) >> UROCE_BTH_PAD_SHIFT;
	if (ib->bytes < info->header_bytes + pad + UROCE_ICRC_BYTES)
		return UROCE_DROP_LENGTH; /* R3 */
	rest = ib->bytes - info->header_bytes - UROCE_ICRC_BYTES;
	if (rest != 0 && (info->flags & UROCE_OPF_PAYLOAD) == 0)
		return UROCE_DROP_LENGTH; /* R3 */
	if (rest % 4 != 0)
		return UROCE_DROP_PAD; /* R4 */
	if (room < info->header_bytes)
		return UROCE_DROP_L2_SHORT;
	p->info = info;
	p->bth = bth;
	p->opcode = bth->opcode;
	p->payload_offset = ib->offset + info->header_bytes;
	p->payload_bytes = rest - pad;
	return UROCE_OK;
}

static enum uroce_verdict
icrc_check(const struct uroce_packet *p, const struct span *l4)
{
	uint32_t end = l4->offset + l4->bytes - UROCE_ICRC_BYTES;

	if (!uroce_icrc_is_right(p->mbuf, p->l3_offset, l4->offset, end - p->l3_offset))
		return UROCE_DROP_ICRC; /* R5 */
	return UROCE_OK;
}

/* What is behind the UDP header, and all of it at the end. */
static inline enum uroce_verdict
ib_decode(struct uroce_packet *p, const struct span *l4, const struct span *ib)
{
	enum uroce_verdict v = bth_decode(p, ib);

	if (v != UROCE_OK)
		return v;
	v = icrc_check(p, l4);
	if (v != UROCE_OK)
		return v;
	p->dest_qpn = uroce_get24(p->bth->dest_qp);
	p->psn = uroce_get24(p->bth->psn);
	p->pkey = rte_be_to_cpu_16(p->bth->pkey);
	p->ack_req = (p->bth->ack & UROCE_BTH_ACKREQ) != 0;
	p->solicited = (p->bth->flags & UROCE_BTH_SE) != 0;
	return UROCE_OK;
}

enum uroce_verdict
uroce_packet_decode(struct rte_mbuf *m, uint16_t l3_offset, struct uroce_packet *p)
{
	enum uroce_verdict v;
	struct span l4, ib;

	p->mbuf = m;
	p->l3_offset = l3_offset;
	v = ip_decode(p, &l4);
	if (v != UROCE_OK)
		return v;
	v = udp_decode(p, &l4, &ib);
	if (v != UROCE_OK)
		return v;
	return ib_decode(p, &l4, &ib);
}

enum uroce_verdict
uroce_packet_decode_alike(struct rte_mbuf *m, uint16_t l3_offset, struct uroce_packet *p)
{
	const struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, const void *, l3_offset);
	const struct rte_udp_hdr *udp = (const struct rte_udp_hdr *)(ip + 1);
	uint32_t total_bytes = rte_be_to_cpu_16(ip->total_length);
	struct span l4 = { l3_offset + sizeof(*ip), total_bytes - sizeof(*ip) };
	struct span ib = { l4.offset + sizeof(*udp), l4.bytes - sizeof(*udp) };

	if (unlikely(total_bytes < sizeof(*ip) + sizeof(*udp) || total_bytes > rte_pktmbuf_pkt_len(m) - l3_offset ||
		     !ipv4_checksum_ok(m, ip, sizeof(*ip)) || rte_be_to_cpu_16(udp->dgram_len) != l4.bytes))
		return uroce_packet_decode(m, l3_offset, p);	/* which says what is wrong */
	p->mbuf = m;
	p->l3_offset = l3_offset;
	p->ip_version = 4;
	p->traffic_class = ip->type_of_service;
	p->src_ip = (const uint8_t *)&ip->src_addr;
	p->dst_ip = (const uint8_t *)&ip->dst_addr;
	p->udp_src_port = rte_be_to_cpu_16(udp->src_port);
	return ib_decode(p, &l4, &ib);
}

void
uroce_packet_copy(const struct uroce_packet *p, uint32_t offset, void *dst, uint32_t len)
{
	const struct rte_mbuf *m = p->mbuf;
	uint8_t *to = dst;

	RTE_ASSERT(offset <= p->payload_bytes && len <= p->payload_bytes - offset);
	offset += p->payload_offset;
	while (len > 0) {
		uint32_t seg_bytes = rte_pktmbuf_data_len(m);

		if (offset < seg_bytes) {
			uint32_t n = RTE_MIN(seg_bytes - offset, len);

			uroce_place(to, rte_pktmbuf_mtod_offset(m, const uint8_t *, offset), n);
			to += n;
			len -= n;
			offset = 0;
		} else {
			offset -= seg_bytes;
		}
		m = m->next;
	}
}
