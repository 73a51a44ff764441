/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The invariant CRC: a copy of the first bytes, in which the fields that may change on the way are
 * set to ones, then the rest in place, segment by segment. Workers call it for each frame, received
 * or sent. No state.
 */

#include <string.h>

#include <isa-l/crc.h>
#include <rte_byteorder.h>
#include <rte_debug.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "uroce_config.h"
#include "wire/headers.h"
#include "wire/icrc.h"

/* The CRC's state after the 8 bytes of 0xff in front; crc32_gzip_refl() has it inverted. */
#define ICRC_STATE 0xdebb20e3u
/* Byte i of it, in the order in which the CRC takes bytes. */
#define STATE_BYTE(i) (uint8_t)(ICRC_STATE >> 8 * (i))

/* Behind the IP header, which has at most 60 bytes, these may have masked fields. */
#define MASKED_BYTES        (sizeof(struct rte_udp_hdr) + sizeof(struct uroce_bth))
#define UDP_CKSUM(l3_bytes) ((l3_bytes) + offsetof(struct rte_udp_hdr, dgram_cksum))
#define BTH_ECN(l3_bytes) \
	((l3_bytes) + sizeof(struct rte_udp_hdr) + offsetof(struct uroce_bth, ecn))

#define VEC_BYTES 16
typedef uint8_t vec __attribute__((vector_size(VEC_BYTES)));

static_assert(UROCE_ICRC_COPY_BYTES >= 60 + MASKED_BYTES, "UROCE_ICRC_COPY_BYTES");
static_assert(UROCE_ICRC_COPY_BYTES % VEC_BYTES == 0, "UROCE_ICRC_COPY_BYTES");

/*
 * How the first bytes are changed: (byte & ~clear) ^ flip. A CRC from state s on is one from 0 on
 * with s xored into the first bytes, and a CRC stays 0 over zeros. So zeros may go first, as many
 * as make whole vectors of the copy: then each load of the CRC is of just what one store wrote,
 * which a processor forwards, and it does not wait as it does behind stores of single bytes.
 */
struct icrc_mask {
	uint8_t clear[VEC_BYTES + UROCE_ICRC_COPY_BYTES];
	uint8_t flip[VEC_BYTES + UROCE_ICRC_COPY_BYTES];
};

/* clang-format off */
#define ZEROS [0 ... VEC_BYTES - 1]
#define AT(i) [VEC_BYTES + (i)]
#define BEHIND_IP(l3_bytes) \
	AT(UDP_CKSUM(l3_bytes)) = 0xff, AT(UDP_CKSUM(l3_bytes) + 1) = 0xff, \
	AT(BTH_ECN(l3_bytes)) = 0xff

/* TOS, TTL, header checksum. */
static const struct icrc_mask mask_ipv4 = {
	.clear = {
		ZEROS = 0xff,
		AT(1) = 0xff, AT(8) = 0xff, AT(10) = 0xff, AT(11) = 0xff, BEHIND_IP(20),
	},
	.flip = {
		AT(0) = STATE_BYTE(0), AT(1) = STATE_BYTE(1) ^ 0xff,
		AT(2) = STATE_BYTE(2), AT(3) = STATE_BYTE(3),
		AT(8) = 0xff, AT(10) = 0xff, AT(11) = 0xff, BEHIND_IP(20),
	},
};

/* Traffic class, flow label, hop limit. */
static const struct icrc_mask mask_ipv6 = {
	.clear = {
		ZEROS = 0xff,
		AT(0) = 0x0f, AT(1) = 0xff, AT(2) = 0xff, AT(3) = 0xff, AT(7) = 0xff, BEHIND_IP(40),
	},
	.flip = {
		AT(0) = STATE_BYTE(0) ^ 0x0f, AT(1) = STATE_BYTE(1) ^ 0xff,
		AT(2) = STATE_BYTE(2) ^ 0xff, AT(3) = STATE_BYTE(3) ^ 0xff,
		AT(7) = 0xff, BEHIND_IP(40),
	},
};
/* clang-format on */

/* The mask for an IP header; NULL: it has options. */
static const struct icrc_mask *
mask_of(const uint8_t *ip, uint32_t l3_bytes)
{
	if (l3_bytes == sizeof(struct rte_ipv4_hdr))
		return &mask_ipv4;
	return ip[0] >> 4 == 6 ? &mask_ipv6 : NULL;
}

/* The CRC of the first bytes from the IP header on; as many as `zeros` in front of it are read. */
static uint32_t
head_crc(const struct icrc_mask *mask, const uint8_t *ip, uint32_t bytes, uint32_t zeros)
{
	uint8_t copy[UROCE_ICRC_COPY_BYTES] __rte_aligned(VEC_BYTES);
	uint32_t i = 0;

	do {
		vec v, clear, flip;

		memcpy(&v, ip - zeros + i, sizeof(v));
		memcpy(&clear, mask->clear + VEC_BYTES - zeros + i, sizeof(clear));
		memcpy(&flip, mask->flip + VEC_BYTES - zeros + i, sizeof(flip));
		v = (v & ~clear) ^ flip;
		memcpy(copy + i, &v, sizeof(v));
		i += VEC_BYTES;
	} while (i < zeros + bytes);
	return crc32_gzip_refl(~0u, copy, i);
}

/* Set to ones what is not covered. */
static void
icrc_mask(uint8_t *ip, uint32_t l3_bytes)
{
	if (ip[0] >> 4 == 4) {
		ip[1] = 0xff;             /* TOS */
		ip[8] = 0xff;             /* TTL */
		memset(ip + 10, 0xff, 2); /* header checksum */
	} else {
		ip[0] |= 0x0f; /* traffic class and flow label */
		memset(ip + 1, 0xff, 3);
		ip[7] = 0xff; /* hop limit */
	}
	memset(ip + UDP_CKSUM(l3_bytes), 0xff, 2);
	ip[BTH_ECN(l3_bytes)] = 0xff;
}

/* The same byte by byte: for IPv4 options, and headers that begin too early in the segment. */
static uint32_t
head_crc_bytewise(const uint8_t *ip, uint32_t l3_bytes, uint32_t bytes)
{
	uint8_t copy[UROCE_ICRC_COPY_BYTES];

	memcpy(copy, ip, bytes);
	icrc_mask(copy, l3_bytes);
	return crc32_gzip_refl(~ICRC_STATE, copy, bytes);
}

uint32_t
uroce_icrc(const struct rte_mbuf *m, uint32_t l3_offset, uint32_t l4_offset, uint32_t covered_bytes)
{
	const uint8_t *ip = rte_pktmbuf_mtod_offset(m, const uint8_t *, l3_offset);
	uint32_t len = RTE_MIN(rte_pktmbuf_data_len(m) - l3_offset, covered_bytes);
	uint32_t l3_bytes = l4_offset - l3_offset;
	const struct icrc_mask *mask = mask_of(ip, l3_bytes);
	uint32_t head, zeros, crc;

	RTE_ASSERT(len >= l3_bytes + MASKED_BYTES);
	/* A small packet is copied whole; of a large one the least, the rest is taken in place. */
	head = len;
	if (len > UROCE_ICRC_COPY_BYTES)
		head = RTE_ALIGN(l3_bytes + (uint32_t)MASKED_BYTES, VEC_BYTES);
	zeros = -head % VEC_BYTES;
	if (mask != NULL && zeros <= l3_offset)
		crc = head_crc(mask, ip, head, zeros);
	else
		crc = head_crc_bytewise(ip, l3_bytes, head);
	if (len > head)
		crc = crc32_gzip_refl(crc, ip + head, len - head);

	while ((covered_bytes -= len) > 0) {
		m = m->next;
		len = RTE_MIN(rte_pktmbuf_data_len(m), covered_bytes);
		crc = crc32_gzip_refl(crc, rte_pktmbuf_mtod(m, const uint8_t *), len);
	}
	return crc;
}

void
uroce_icrc_append(struct rte_mbuf *head, struct rte_mbuf *tail, uint32_t l3_offset,
		  uint32_t l4_offset, uint32_t pad)
{
	uint8_t *end = rte_pktmbuf_mtod_offset(tail, uint8_t *, rte_pktmbuf_data_len(tail));
	rte_le32_t icrc;

	RTE_ASSERT(pad <= 3 && tail->next == NULL);
	RTE_ASSERT(rte_pktmbuf_tailroom(tail) >= pad + UROCE_ICRC_BYTES);
	memset(end, 0, UROCE_ICRC_BYTES);
	tail->data_len += pad;
	icrc = rte_cpu_to_le_32(uroce_icrc(head, l3_offset, l4_offset,
					   rte_pktmbuf_pkt_len(head) + pad - l3_offset));
	memcpy(end + pad, &icrc, sizeof(icrc));
	tail->data_len += UROCE_ICRC_BYTES;
	head->pkt_len += pad + UROCE_ICRC_BYTES;
}
