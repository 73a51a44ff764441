/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Frames for the engine, valid ones and deliberately wrong ones. For one thread.
 */

#include <string.h>

#include <rte_ip.h>
#include <rte_udp.h>

#include "base/dpdk_compat.h"
#include "field.h"
#include "frame.h"
#include "frames.h"
#include "wire/headers.h"
#include "wire/icrc.h"

#define L3 RTE_ETHER_HDR_LEN

static uint32_t
header_bytes(const struct frame *f)
{
	const struct uroce_opcode_info *info = &uroce_opcodes[f->opcode];

	return info->name == NULL ? sizeof(struct uroce_bth) : info->header_bytes;
}

/* Build the packet from the BTH up to the ICRC. @return bytes */
static uint32_t
build_packet(const struct frame *f, uint8_t *bth)
{
	uint32_t n = f->raw ? 0 : header_bytes(f);

	memset(bth, 0, n);
	for (unsigned int i = 0; i < FIELD_COUNT && !f->raw; i++) {
		const uint8_t *at = field_place(&fields[i], f->opcode, bth);

		if (at != NULL)
			field_put(&fields[i], bth + (at - bth), f->value[i]);
	}
	memcpy(bth + n, f->payload, f->payload_bytes);
	n += f->payload_bytes;
	memset(bth + n, 0, f->pad_bytes);
	return n + f->pad_bytes;
}

/* Write addresses and lengths that differ from the peer's defaults. */
static void
change_ip(const struct frame *f, uint8_t *frame)
{
	struct rte_ipv4_hdr *ip4 = (struct rte_ipv4_hdr *)(frame + L3);
	struct rte_ipv6_hdr *ip6 = (struct rte_ipv6_hdr *)(frame + L3);
	bool v4 = frame[L3] >> 4 == 4;
	struct rte_udp_hdr *udp = v4 ? (struct rte_udp_hdr *)(ip4 + 1) : (struct rte_udp_hdr *)(ip6 + 1);

	if (f->udp_len != FRAME_NO_LENGTH)
		udp->dgram_len = rte_cpu_to_be_16((uint16_t)f->udp_len);
	if (!v4) {
		if (f->has_address)
			memcpy(UROCE_IPV6_BYTES(ip6->src_addr), f->address, 16);
		if (f->has_group)
			memcpy(UROCE_IPV6_BYTES(ip6->dst_addr), f->group, 16);
		ip6->vtc_flow |= rte_cpu_to_be_32((uint32_t)f->traffic_class << 20);
		if (f->ip_len != FRAME_NO_LENGTH)
			ip6->payload_len = rte_cpu_to_be_16((uint16_t)f->ip_len);
		return;
	}
	if (f->has_address)
		memcpy(&ip4->src_addr, f->address + 12, 4);
	if (f->has_group)
		memcpy(&ip4->dst_addr, f->group + 12, 4);
	ip4->type_of_service = f->traffic_class;
	if (f->ip_len != FRAME_NO_LENGTH)
		ip4->total_length = rte_cpu_to_be_16((uint16_t)f->ip_len);
	ip4->hdr_checksum = 0;
	ip4->hdr_checksum = rte_ipv4_cksum(ip4);
}

void
frame_build(struct lexer *l, const struct frame *f, struct device_frame *out)
{
	uint8_t packet[DEVICE_FRAME_BYTES + 256] = { 0 };
	uint32_t n = build_packet(f, packet), l4;
	struct rte_mbuf m;

	if (f->cut_bytes > n + UROCE_ICRC_BYTES)
		lexer_fail(l, "there are only %u bytes to cut", n + UROCE_ICRC_BYTES);
	n += UROCE_ICRC_BYTES - f->cut_bytes;
	out->len = device_headers_write(out->bytes, n);
	l4 = out->len - (uint32_t)sizeof(struct rte_udp_hdr);
	change_ip(f, out->bytes);
	if (n < sizeof(struct uroce_bth) + UROCE_ICRC_BYTES) {	/* too short for an ICRC behind a BTH */
		memcpy(out->bytes + out->len, packet, n);
		out->len += n;
		return;
	}
	memcpy(out->bytes + out->len, packet, n - UROCE_ICRC_BYTES);
	test_mbuf_init(&m, out->bytes, sizeof(out->bytes), out->len + n - UROCE_ICRC_BYTES);
	uroce_icrc_append(&m, &m, L3, l4, 0);
	out->len = m.pkt_len;
	if (f->icrc_bad)
		out->bytes[out->len - 1] ^= 0x40;
}
