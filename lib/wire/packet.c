/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Parses a received frame in one pass, from Ethernet to the extension headers, with the checks R1 to R4 in order.
 * Each header's length is checked before the header is read. R5, which reads the whole frame, is a call of its own.
 * Stateless.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <netinet/in.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_debug.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "base/dpdk_compat.h"
#include "wire/copy.h"
#include "wire/icrc.h"
#include "wire/packet.h"
#include "wire/template.h"
#include "wire/unseen_id.h"

/* Verify the checksum of a header without options. Faster than rte_raw_cksum(), whose loop handles any length. */
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
	case RTE_MBUF_F_RX_IP_CKSUM_NONE: /* the checksum is not filled in, but the port has verified the header */
		return true;
	default:
		return likely(header_bytes == sizeof(*ip))
			       ? plain_ipv4_sum_ok(ip)
			       : rte_raw_cksum(ip, header_bytes) == 0xffff;
	}
}

/* Parse the Ethernet header, and the VLAN tag if the frame has one. */
static enum uroce_verdict
ether_parse(struct uroce_packet *p)
{
	const struct rte_mbuf *m = p->mbuf;
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	const struct rte_vlan_hdr *tag = (const struct rte_vlan_hdr *)(eth + 1);

	if (rte_pktmbuf_data_len(m) < sizeof(*eth))
		return UROCE_DROP_L2_SHORT;
	p->to_group = rte_is_multicast_ether_addr(&eth->dst_addr);
	p->ether_type = eth->ether_type;
	if ((m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0) {
		p->vlan_tci = m->vlan_tci;
	} else if (p->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN)) {
		if (rte_pktmbuf_data_len(m) < sizeof(*eth) + sizeof(*tag))
			return UROCE_DROP_L2_SHORT;
		p->vlan_tci = rte_be_to_cpu_16(tag->vlan_tci);
		p->ether_type = tag->eth_proto;
		p->l3_offset = sizeof(*eth) + sizeof(*tag);
		return UROCE_OK;
	}
	p->l3_offset = sizeof(*eth);
	return UROCE_OK;
}

static enum uroce_verdict
ipv4_parse(struct uroce_packet *p)
{
	const struct rte_mbuf *m = p->mbuf;
	const struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, const void *, p->l3_offset);
	uint32_t room = rte_pktmbuf_data_len(m) - p->l3_offset;
	uint32_t header_bytes, total_bytes;

	if (room < sizeof(*ip))
		return UROCE_DROP_L2_SHORT;
	if (ip->version != 4)
		return UROCE_DROP_IP_HEADER;
	p->ip_version = 4;
	p->ip_protocol = ip->next_proto_id;
	p->traffic_class = ip->type_of_service;
	p->src_ip = (const uint8_t *)&ip->src_addr;
	p->dst_ip = (const uint8_t *)&ip->dst_addr;
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
	p->l4_offset = (uint16_t)(p->l3_offset + header_bytes);
	p->payload_bytes = total_bytes - header_bytes;
	return UROCE_OK;
}

static enum uroce_verdict
ipv6_parse(struct uroce_packet *p)
{
	const struct rte_mbuf *m = p->mbuf;
	const struct rte_ipv6_hdr *ip = rte_pktmbuf_mtod_offset(m, const void *, p->l3_offset);
	uint32_t vtc_flow;

	if ((uint32_t)rte_pktmbuf_data_len(m) - p->l3_offset < sizeof(*ip))
		return UROCE_DROP_L2_SHORT;
	vtc_flow = rte_be_to_cpu_32(ip->vtc_flow);
	if (vtc_flow >> 28 != 6)
		return UROCE_DROP_IP_HEADER;
	p->ip_version = 6;
	p->ip_protocol = ip->proto;
	p->traffic_class = (uint8_t)(vtc_flow >> 20);
	p->src_ip = UROCE_IPV6_BYTES(ip->src_addr);
	p->dst_ip = UROCE_IPV6_BYTES(ip->dst_addr);
	p->payload_bytes = rte_be_to_cpu_16(ip->payload_len);
	if (sizeof(*ip) + p->payload_bytes > rte_pktmbuf_pkt_len(m) - p->l3_offset)
		return UROCE_DROP_IP_HEADER;
	if (ip->proto == IPPROTO_FRAGMENT)
		return UROCE_DROP_IP_FRAGMENT;
	p->l4_offset = (uint16_t)(p->l3_offset + sizeof(*ip));
	return UROCE_OK;
}

/* Parse the BTH and check its length, for a UDP payload of `bytes`. */
static inline enum uroce_verdict
ib_parse(struct uroce_packet *p, uint32_t bytes)
{
	uint32_t offset = p->l4_offset + (uint32_t)sizeof(struct rte_udp_hdr);
	const struct uroce_bth *bth = rte_pktmbuf_mtod_offset(p->mbuf, const struct uroce_bth *, offset);
	uint32_t room = rte_pktmbuf_data_len(p->mbuf) - offset;
	const struct uroce_opcode_info *info;
	uint32_t pad, rest;

	/* without a BTH there is no opcode for R2: only here, R3 comes first */
	if (bytes < sizeof(*bth) + UROCE_ICRC_BYTES)
		return UROCE_DROP_LENGTH;
	if (room < sizeof(*bth))
		return UROCE_DROP_L2_SHORT;
	if ((bth->flags & UROCE_BTH_TVER_MASK) != 0)
		return UROCE_DROP_TVER; /* R1 */
	info = &uroce_opcodes[bth->opcode];
	if (info->name == NULL)
		return UROCE_DROP_OPCODE; /* R2 */
	pad = (bth->flags & UROCE_BTH_PAD_MASK) >> UROCE_BTH_PAD_SHIFT;
	if (bytes < info->header_bytes + pad + UROCE_ICRC_BYTES)
		return UROCE_DROP_LENGTH; /* R3 */
	rest = bytes - info->header_bytes - UROCE_ICRC_BYTES;
	if (rest != 0 && (info->flags & UROCE_OPF_PAYLOAD) == 0)
		return UROCE_DROP_LENGTH; /* R3 */
	if (rest % 4 != 0)
		return UROCE_DROP_PAD; /* R4 */
	if (room < info->header_bytes)
		return UROCE_DROP_L2_SHORT;
	p->info = info;
	p->bth = bth;
	p->opcode = bth->opcode;
	p->payload_offset = offset + info->header_bytes;
	p->payload_bytes = rest - pad;
	p->dest_qpn = uroce_get24(bth->dest_qp);
	p->psn = uroce_get24(bth->psn);
	p->pkey = rte_be_to_cpu_16(bth->pkey);
	p->ack_req = (bth->ack & UROCE_BTH_ACKREQ) != 0;
	p->solicited = (bth->flags & UROCE_BTH_SE) != 0;
	return UROCE_OK;
}

static enum uroce_verdict
udp_parse(struct uroce_packet *p)
{
	const struct rte_mbuf *m = p->mbuf;
	const struct rte_udp_hdr *udp = rte_pktmbuf_mtod_offset(m, const void *, p->l4_offset);

	if (p->payload_bytes < sizeof(*udp))
		return UROCE_DROP_UDP_LENGTH;
	if ((uint32_t)rte_pktmbuf_data_len(m) - p->l4_offset < sizeof(*udp))
		return UROCE_DROP_L2_SHORT;
	if (udp->dst_port != rte_cpu_to_be_16(UROCE_UDP_PORT))
		return UROCE_DROP_UDP_PORT;
	/* the ICRC ends the IP packet, so the datagram must fill the packet */
	if (rte_be_to_cpu_16(udp->dgram_len) != p->payload_bytes)
		return UROCE_DROP_UDP_LENGTH;
	p->udp_src_port = rte_be_to_cpu_16(udp->src_port);
	return ib_parse(p, p->payload_bytes - (uint32_t)sizeof(*udp));
}

static void
packet_init(struct uroce_packet *p, struct rte_mbuf *m)
{
	p->mbuf = m;
	p->info = NULL;
	p->l3_offset = 0;
	p->vlan_tci = UROCE_NO_VLAN;
	p->ip_version = 0;
	p->to_group = false;
	p->in_flow = false;
	p->repeats = false;
}

static enum uroce_verdict
frame_parse(struct rte_mbuf *m, struct uroce_packet *p)
{
	enum uroce_verdict v;

	packet_init(p, m);
	v = ether_parse(p);
	if (v != UROCE_OK)
		return v;
	if (likely(p->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4)))
		v = ipv4_parse(p);
	else if (p->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6))
		v = ipv6_parse(p);
	if (v != UROCE_OK || p->ip_version == 0 || p->ip_protocol != IPPROTO_UDP)
		return v;
	return udp_parse(p);
}

#define FLOW_IP  sizeof(struct rte_ether_hdr)
#define FLOW_UDP (FLOW_IP + sizeof(struct rte_ipv4_hdr))

typedef uint64_t flow_vec __attribute__((vector_size(16)));
typedef uint32_t flow_words __attribute__((vector_size(16)));

/* Does the frame belong to the flow: same Ethernet header, IPv4 addresses, protocol and UDP destination port, no
 * options? */
static inline bool
flow_has(const struct uroce_flow *f, const struct rte_mbuf *m)
{
	/* uroce_packet_parse() checks the lengths and the checksum; identification and TTL are not used */
	static const uint8_t same[UROCE_FLOW_BYTES] __rte_aligned(sizeof(flow_vec)) = {
		[0 ... FLOW_IP] = 0xff,			/* Ethernet, IP version and header length */
		[FLOW_IP + 6 ... FLOW_IP + 7] = 0xff,	/* fragment */
		[FLOW_IP + 9] = 0xff,			/* protocol */
		[FLOW_IP + 12 ... FLOW_IP + 19] = 0xff, /* addresses */
		[FLOW_UDP + 2 ... FLOW_UDP + 3] = 0xff, /* destination port */
	};
	flow_vec differs = { 0 }, mask, was, is;

	if (!f->valid || rte_pktmbuf_data_len(m) < UROCE_FLOW_BYTES ||
	    (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0)
		return false;
	for (unsigned int i = 0; i < UROCE_FLOW_BYTES; i += sizeof(is)) {
		memcpy(&mask, same + i, sizeof(mask));
		memcpy(&was, f->head + i, sizeof(was));
		memcpy(&is, rte_pktmbuf_mtod_offset(m, const uint8_t *, i), sizeof(is));
		differs |= (was ^ is) & mask;
	}
	return (differs[0] | differs[1]) == 0;
}

void
uroce_flow_set(struct uroce_flow *f, const struct uroce_packet *p)
{
	const struct rte_mbuf *m = p->mbuf;

	f->valid = p->ip_version == 4 && p->l4_offset == FLOW_UDP && !p->to_group &&
		   (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) == 0 && rte_pktmbuf_data_len(m) >= UROCE_FLOW_BYTES;
	if (f->valid)
		memcpy(f->head, rte_pktmbuf_mtod(m, const void *), sizeof(f->head));
}

enum uroce_verdict
uroce_packet_parse(const struct uroce_flow *flow, struct rte_mbuf *m, struct uroce_packet *p)
{
	const struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, const void *, FLOW_IP);
	const struct rte_udp_hdr *udp = (const struct rte_udp_hdr *)(ip + 1);
	uint32_t total_bytes;

	if (unlikely(!flow_has(flow, m)))
		return frame_parse(m, p);
	total_bytes = rte_be_to_cpu_16(ip->total_length);
	if (unlikely(total_bytes < sizeof(*ip) + sizeof(*udp) || total_bytes > rte_pktmbuf_pkt_len(m) - FLOW_IP ||
		     !ipv4_checksum_ok(m, ip, sizeof(*ip)) ||
		     rte_be_to_cpu_16(udp->dgram_len) != total_bytes - sizeof(*ip)))
		return frame_parse(m, p);	/* returns the verdict of the failed check */
	p->mbuf = m;
	p->src_ip = (const uint8_t *)&ip->src_addr;
	p->dst_ip = (const uint8_t *)&ip->dst_addr;
	p->l3_offset = FLOW_IP;
	p->l4_offset = FLOW_UDP;
	p->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	p->vlan_tci = UROCE_NO_VLAN;
	p->ip_version = 4;
	p->ip_protocol = IPPROTO_UDP;
	p->to_group = false;
	p->in_flow = true;
	p->repeats = false;
	p->udp_src_port = rte_be_to_cpu_16(udp->src_port);
	p->traffic_class = ip->type_of_service;
	return ib_parse(p, total_bytes - (uint32_t)(sizeof(*ip) + sizeof(*udp)));
}

#define FLOW_BTH_END (FLOW_UDP + sizeof(struct rte_udp_hdr) + sizeof(struct uroce_bth))

/* Are the headers of two frames of a flow equal, except for the last word of the BTH? */
static inline bool
heads_are_equal(const uint8_t *a, const uint8_t *b)
{
	const flow_vec but_word = (flow_vec)(flow_words){ ~0u, ~0u, ~0u, 0 };
	flow_vec differs = { 0 }, va, vb;

	for (unsigned int i = 0; i < UROCE_FLOW_BYTES; i += sizeof(va)) {
		memcpy(&va, a + i, sizeof(va));
		memcpy(&vb, b + i, sizeof(vb));
		differs |= va ^ vb;
	}
	memcpy(&va, a + FLOW_BTH_END - sizeof(va), sizeof(va));
	memcpy(&vb, b + FLOW_BTH_END - sizeof(vb), sizeof(vb));
	differs |= (va ^ vb) & but_word;
	return (differs[0] | differs[1]) == 0;
}

bool
uroce_packet_repeat(const struct uroce_packet *like, struct rte_mbuf *m, struct uroce_packet *p)
{
	const uint8_t *was = rte_pktmbuf_mtod(like->mbuf, const uint8_t *), *is = rte_pktmbuf_mtod(m, const uint8_t *);

	if (m->ol_flags != like->mbuf->ol_flags || m->pkt_len != like->mbuf->pkt_len ||
	    m->data_len != like->mbuf->data_len || !heads_are_equal(was, is))
		return false;
	*p = *like;
	p->mbuf = m;
	p->bth = (const struct uroce_bth *)(is + FLOW_BTH_END) - 1;
	p->src_ip = is + (like->src_ip - was);
	p->dst_ip = is + (like->dst_ip - was);
	p->psn = uroce_get24(p->bth->psn);
	p->ack_req = (p->bth->ack & UROCE_BTH_ACKREQ) != 0;
	p->repeats = true;
	return true;
}

/* @return covered bytes of the ICRC. R4: payload and pad together are a multiple of 4 bytes */
static inline uint32_t
icrc_bytes(const struct uroce_packet *p)
{
	return p->payload_offset + RTE_ALIGN_CEIL(p->payload_bytes, 4) - p->l3_offset;
}

enum uroce_verdict
uroce_packet_check_next(const struct uroce_packet *p, struct uroce_icrc_head *head)
{
	const uint8_t *frame = rte_pktmbuf_mtod(p->mbuf, const uint8_t *);
	const uint32_t bytes = icrc_bytes(p), rest = bytes - (uint32_t)(FLOW_BTH_END - FLOW_IP);

	if (!p->in_flow || bytes <= UROCE_ICRC_COPY_BYTES || (p->mbuf->ol_flags & UROCE_MBUF_NO_ICRC) != 0)
		return uroce_packet_check_icrc(p);
	if (!p->repeats) {
		head->crc = uroce_icrc_head(frame + FLOW_IP, sizeof(struct rte_ipv4_hdr));
		memcpy(&head->word, frame + FLOW_BTH_END - sizeof(head->word), sizeof(head->word));
	}
	if (likely(uroce_icrc_error_like(p->mbuf, FLOW_BTH_END, rest, head) == 0))
		return UROCE_OK;
	return uroce_packet_check_icrc(p);
}

enum uroce_verdict
uroce_packet_check_icrc(const struct uroce_packet *p)
{
	uint32_t bytes = icrc_bytes(p), error;

	if ((p->mbuf->ol_flags & UROCE_MBUF_NO_ICRC) != 0)
		return UROCE_OK;
	error = uroce_icrc_error(p->mbuf, p->l3_offset, p->l4_offset, bytes);
	if (likely(error == 0))
		return UROCE_OK;
	if ((p->mbuf->ol_flags & uroce_unseen_id_flag) != 0 && p->ip_version == 4 &&
	    uroce_unseen_id_find(rte_pktmbuf_mtod_offset(p->mbuf, void *, p->l3_offset), error, bytes))
		return UROCE_OK;
	return UROCE_DROP_ICRC; /* R5 */
}

enum uroce_verdict
uroce_packet_decode(struct rte_mbuf *m, uint16_t l3_offset, struct uroce_packet *p)
{
	enum uroce_verdict v;

	packet_init(p, m);
	if (rte_pktmbuf_data_len(m) <= l3_offset)
		return UROCE_DROP_L2_SHORT;
	ether_parse(p);
	p->l3_offset = l3_offset;
	switch (*rte_pktmbuf_mtod_offset(m, const uint8_t *, l3_offset) >> 4) {
	case 4: v = ipv4_parse(p); break;
	case 6: v = ipv6_parse(p); break;
	default: return UROCE_DROP_IP_HEADER;
	}
	if (v == UROCE_OK)
		v = p->ip_protocol == IPPROTO_UDP ? udp_parse(p) : UROCE_DROP_IP_PROTOCOL;
	return v == UROCE_OK ? uroce_packet_check_icrc(p) : v;
}

int
uroce_packet_keep(const struct uroce_packet *p, struct uroce_packet *kept)
{
	struct rte_mbuf *m = p->mbuf;
	ptrdiff_t moved;

	*kept = *p;
	if (likely(!uroce_mbuf_is_borrowed(m))) {
		rte_pktmbuf_refcnt_update(m, 1);
		return 0;
	}
	kept->mbuf = rte_pktmbuf_copy(m, m->pool, 0, UINT32_MAX);
	if (kept->mbuf == NULL)
		return -ENOBUFS;
	if (uroce_mbuf_is_revoked(m)) {
		rte_pktmbuf_free(kept->mbuf);
		return -ENOBUFS;
	}
	kept->mbuf->ol_flags &= ~UROCE_MBUF_GUARDED;
	moved = rte_pktmbuf_mtod(kept->mbuf, const uint8_t *) - rte_pktmbuf_mtod(m, const uint8_t *);
	kept->bth = (const struct uroce_bth *)((const uint8_t *)p->bth + moved);
	kept->src_ip = p->src_ip + moved;
	kept->dst_ip = p->dst_ip + moved;
	return 0;
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
