/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Computes the ICRC, first over the headers with all ones in the fields that may change on the way, then over the
 * payload in place, segment by segment. Workers call it for each frame, received or sent. The only state is each
 * thread's copy of the last large frame's headers.
 */

#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_debug.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "uroce_config.h"
#include "wire/crc.h"
#include "wire/headers.h"
#include "wire/icrc.h"

/* The CRC's state after the 8 bytes of 0xff that precede the IP header; uroce_crc() takes it inverted. */
#define ICRC_STATE 0xdebb20e3u
#define CRC_POLYNOMIAL 0xedb88320u
/* Byte i of ICRC_STATE, in the order in which the CRC takes bytes. */
#define STATE_BYTE(i) (uint8_t)(ICRC_STATE >> 8 * (i))

/* The headers behind the IP header that have masked fields. The IP header has at most 60 bytes. */
#define MASKED_BYTES        (sizeof(struct rte_udp_hdr) + sizeof(struct uroce_bth))
#define UDP_CKSUM(l3_bytes) ((l3_bytes) + offsetof(struct rte_udp_hdr, dgram_cksum))
#define BTH_ECN(l3_bytes) \
	((l3_bytes) + sizeof(struct rte_udp_hdr) + offsetof(struct uroce_bth, ecn))

#define VEC_BYTES 16
typedef uint8_t vec __attribute__((vector_size(VEC_BYTES)));
typedef uint32_t words __attribute__((vector_size(VEC_BYTES)));

static_assert(UROCE_ICRC_COPY_BYTES >= 60 + MASKED_BYTES, "UROCE_ICRC_COPY_BYTES");
static_assert(UROCE_ICRC_COPY_BYTES % VEC_BYTES == 0, "UROCE_ICRC_COPY_BYTES");
static_assert(UROCE_ICRC_COPY_BYTES <= UROCE_CRC_MAX_BLOCKS * UROCE_CRC_BLOCK, "UROCE_CRC_MAX_BLOCKS");
static_assert(VEC_BYTES == UROCE_CRC_BLOCK, "UROCE_CRC_BLOCK");

/*
 * Each header byte counts as (byte & ~clear) ^ flip. A CRC from state s equals a CRC from state 0 with s XORed into
 * the first bytes, and a CRC of state 0 stays 0 over zeros. So zeros may precede the headers, to fill whole vectors:
 * then each load of the CRC reads one whole store of the copy, which the processor forwards without a stall.
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

/* Masks TOS, TTL, header checksum. */
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

/* Masks traffic class, flow label, hop limit. */
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

/* @return NULL: the IPv4 header has options */
static const struct icrc_mask *
mask_of(const uint8_t *ip, uint32_t l3_bytes)
{
	if (l3_bytes == sizeof(struct rte_ipv4_hdr))
		return &mask_ipv4;
	return ip[0] >> 4 == 6 ? &mask_ipv6 : NULL;
}

/* Copy the masked headers: `zeros` bytes of zero, then `bytes` from the IP header on. @return bytes copied, in whole
 * vectors */
static inline uint32_t
head_copy(uint8_t copy[UROCE_ICRC_COPY_BYTES], const struct icrc_mask *mask, const uint8_t *ip,
	  uint32_t bytes, uint32_t zeros)
{
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
	return i;
}

/* The CRC of a small packet, without a copy of its headers. */
static uint32_t
head_crc(const struct icrc_mask *mask, const uint8_t *ip, uint32_t bytes, uint32_t zeros)
{
	return uroce_crc_masked(ip - zeros, mask->clear + VEC_BYTES - zeros,
				mask->flip + VEC_BYTES - zeros, (zeros + bytes) / VEC_BYTES);
}

/*
 * The masked headers of the last large frame, and their CRC. The next packet of the message differs only in the last
 * word of its BTH (AckReq and PSN). Its CRC is the last one, XORed with the CRC of the difference.
 */
struct icrc_memo {
	uint8_t head[UROCE_ICRC_COPY_BYTES] __rte_aligned(VEC_BYTES);
	const struct icrc_mask *mask; /* NULL: empty */
	uint32_t crc;
};

/* Without the initial-exec model: a program that loads libibverbs.so.1 late may have no static TLS left. */
static __thread struct icrc_memo last_head;

/* The CRC of each byte of a difference, by the number of bytes behind it. */
static uint32_t difference_crc[sizeof(uint32_t)][256];

RTE_INIT(difference_crc_init)
{
	for (uint32_t byte = 0; byte < RTE_DIM(difference_crc[0]); byte++) {
		uint32_t crc = byte;

		for (unsigned int i = 0; i < RTE_DIM(difference_crc); i++) {
			for (unsigned int bit = 0; bit < 8; bit++)
				crc = crc >> 1 ^ (-(crc & 1) & CRC_POLYNOMIAL);
			difference_crc[i][byte] = crc;
		}
	}
}

/* The CRC of a difference in the last four bytes. @param word	as in memory */
static inline uint32_t
word_difference(uint32_t word)
{
	word = rte_le_to_cpu_32(word);
	return difference_crc[3][word & 0xff] ^ difference_crc[2][word >> 8 & 0xff] ^
	       difference_crc[1][word >> 16 & 0xff] ^ difference_crc[0][word >> 24];
}

/* Are they equal except for their last word? */
static inline bool
head_is_like(const uint8_t *a, const uint8_t *b, uint32_t bytes)
{
	const vec all = (vec)(words){ ~0u, ~0u, ~0u, ~0u }, but_word = (vec)(words){ ~0u, ~0u, ~0u, 0 };
	vec differs = { 0 }, va, vb;
	uint64_t halves[2];

	for (uint32_t i = 0; i < bytes; i += VEC_BYTES) {
		memcpy(&va, a + i, sizeof(va));
		memcpy(&vb, b + i, sizeof(vb));
		differs |= (va ^ vb) & (i + VEC_BYTES < bytes ? all : but_word);
	}
	memcpy(halves, &differs, sizeof(halves));
	return (halves[0] | halves[1]) == 0;
}

/* The CRC of a large packet's headers, up to the end of its BTH, from that of the last ones if possible. */
static __rte_noinline uint32_t
head_crc_remembered(const struct icrc_mask *mask, const uint8_t *ip, uint32_t bytes, uint32_t zeros)
{
	uint8_t copy[UROCE_ICRC_COPY_BYTES] __rte_aligned(VEC_BYTES);
	uint32_t n = head_copy(copy, mask, ip, bytes, zeros);
	uint32_t word = n - sizeof(uint32_t);
	struct icrc_memo *memo = &last_head;
	uint32_t is, was;

	if (memo->mask == mask && head_is_like(copy, memo->head, n)) {
		memcpy(&is, copy + word, sizeof(is));
		memcpy(&was, memo->head + word, sizeof(was));
		memo->crc ^= word_difference(is ^ was);
	} else {
		memo->mask = mask;
		memo->crc = uroce_crc(~0u, copy, n);
		memcpy(memo->head, copy, n - VEC_BYTES);
	}
	memcpy(memo->head + n - VEC_BYTES, copy + n - VEC_BYTES, VEC_BYTES);
	return memo->crc;
}

/* Set the fields that the ICRC does not cover to all ones. */
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

/* The end of the covered bytes. */
struct icrc_end {
	const struct rte_mbuf *mbuf; /* the segment of the last covered byte */
	uint32_t offset;             /* in this segment, behind that byte */
};

/* The CRC of headers with IPv4 options, or with too few bytes before them in the segment for the zeros. */
static __rte_noinline uint32_t
head_crc_bytewise(const uint8_t *ip, uint32_t l3_bytes, uint32_t bytes)
{
	uint8_t copy[UROCE_ICRC_COPY_BYTES];

	memcpy(copy, ip, bytes);
	icrc_mask(copy, l3_bytes);
	return uroce_crc(~ICRC_STATE, copy, bytes);
}

/* Continue a CRC over `bytes` of a frame, from an offset in its first segment on. */
static inline uint32_t
rest_crc(uint32_t crc, const struct rte_mbuf *m, uint32_t offset, uint32_t bytes, struct icrc_end *end)
{
	uint32_t len = RTE_MIN(rte_pktmbuf_data_len(m) - offset, bytes);

	if (len != 0)
		crc = uroce_crc(crc, rte_pktmbuf_mtod_offset(m, const uint8_t *, offset), len);
	end->offset = offset + len;
	while ((bytes -= len) > 0) {
		m = m->next;
		len = RTE_MIN(rte_pktmbuf_data_len(m), bytes);
		crc = uroce_crc(crc, rte_pktmbuf_mtod(m, const uint8_t *), len);
		end->offset = len;
	}
	end->mbuf = m;
	return crc;
}

static inline uint32_t
frame_crc(const struct rte_mbuf *m, uint32_t l3_offset, uint32_t l4_offset, uint32_t covered_bytes,
	  struct icrc_end *end)
{
	const uint8_t *ip = rte_pktmbuf_mtod_offset(m, const uint8_t *, l3_offset);
	uint32_t len = RTE_MIN(rte_pktmbuf_data_len(m) - l3_offset, covered_bytes);
	uint32_t l3_bytes = l4_offset - l3_offset;
	const struct icrc_mask *mask = mask_of(ip, l3_bytes);
	uint32_t head, zeros, crc;

	RTE_ASSERT(len >= l3_bytes + MASKED_BYTES);
	/* the whole of a small packet, or only the headers with masked fields of a large one */
	head = covered_bytes <= UROCE_ICRC_COPY_BYTES ? len : l3_bytes + (uint32_t)MASKED_BYTES;
	zeros = -head % VEC_BYTES;
	if (unlikely(mask == NULL || zeros > l3_offset))
		crc = head_crc_bytewise(ip, l3_bytes, head);
	else if (covered_bytes > UROCE_ICRC_COPY_BYTES)
		crc = head_crc_remembered(mask, ip, head, zeros);
	else
		crc = head_crc(mask, ip, head, zeros);
	return rest_crc(crc, m, l3_offset + head, covered_bytes - head, end);
}

uint32_t
uroce_icrc_plain(const uint8_t *ip, uint32_t l3_bytes, uint32_t covered_bytes)
{
	const bool small = covered_bytes <= UROCE_ICRC_COPY_BYTES;
	const uint32_t head = small ? covered_bytes : l3_bytes + (uint32_t)MASKED_BYTES, zeros = -head % VEC_BYTES;
	const struct icrc_mask *mask = mask_of(ip, l3_bytes);

	RTE_ASSERT(mask != NULL && head >= l3_bytes + MASKED_BYTES && zeros <= sizeof(struct rte_ether_hdr));
	if (small)
		return head_crc(mask, ip, head, zeros);
	return uroce_crc(head_crc_remembered(mask, ip, head, zeros), ip + head, covered_bytes - head);
}

uint32_t
uroce_icrc_head(const uint8_t *ip, uint32_t l3_bytes)
{
	return uroce_icrc_plain(ip, l3_bytes, l3_bytes + (uint32_t)MASKED_BYTES);
}

uint32_t
uroce_icrc_of_run(uint32_t head_crc, rte_be32_t change, const uint8_t *payload, uint32_t payload_bytes)
{
	return uroce_crc(head_crc ^ word_difference(change), payload, payload_bytes);
}

uint32_t
uroce_icrc(const struct rte_mbuf *m, uint32_t l3_offset, uint32_t l4_offset, uint32_t covered_bytes)
{
	struct icrc_end end;

	return frame_crc(m, l3_offset, l4_offset, covered_bytes, &end);
}

/* @param offset	of the frame's ICRC. @param end	of the covered bytes */
static inline uint32_t
stored_icrc(const struct rte_mbuf *m, uint32_t offset, struct icrc_end end)
{
	uint8_t room[UROCE_ICRC_BYTES];
	const void *stored;
	rte_le32_t value;

	/* the ICRC may begin in the next segment */
	if (rte_pktmbuf_data_len(end.mbuf) == end.offset) {
		end.mbuf = end.mbuf->next;
		end.offset = 0;
	}
	if (likely(end.offset + sizeof(room) <= rte_pktmbuf_data_len(end.mbuf)))
		stored = rte_pktmbuf_mtod_offset(end.mbuf, const void *, end.offset);
	else
		stored = rte_pktmbuf_read(m, offset, sizeof(room), room);
	memcpy(&value, stored, sizeof(value));
	return rte_le_to_cpu_32(value);
}

uint32_t
uroce_icrc_error(const struct rte_mbuf *m, uint32_t l3_offset, uint32_t l4_offset, uint32_t covered_bytes)
{
	struct icrc_end end;
	uint32_t icrc = frame_crc(m, l3_offset, l4_offset, covered_bytes, &end);

	return icrc ^ stored_icrc(m, l3_offset + covered_bytes, end);
}

uint32_t
uroce_icrc_error_like(const struct rte_mbuf *m, uint32_t bth_end, uint32_t rest_bytes,
		      const struct uroce_icrc_head *head)
{
	struct icrc_end end;
	rte_be32_t word;
	uint32_t icrc;

	memcpy(&word, rte_pktmbuf_mtod_offset(m, const uint8_t *, bth_end - sizeof(word)), sizeof(word));
	icrc = rest_crc(head->crc ^ word_difference(word ^ head->word), m, bth_end, rest_bytes, &end);
	return icrc ^ stored_icrc(m, bth_end + rest_bytes, end);
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

void
uroce_icrc_leave_out(struct rte_mbuf *head, struct rte_mbuf *tail, uint32_t pad)
{
	RTE_ASSERT(pad <= 3 && tail->next == NULL);
	RTE_ASSERT(rte_pktmbuf_tailroom(tail) >= pad + UROCE_ICRC_BYTES);
	memset(rte_pktmbuf_mtod_offset(tail, uint8_t *, rte_pktmbuf_data_len(tail)), 0, pad + UROCE_ICRC_BYTES);
	tail->data_len += (uint16_t)(pad + UROCE_ICRC_BYTES);
	head->pkt_len += pad + UROCE_ICRC_BYTES;
	head->ol_flags |= UROCE_MBUF_NO_ICRC;
}

/* @return the offset of the IP header of a frame with `bytes` in its first segment, and set the offset of UDP; 0: none */
static uint32_t
find_ip(const uint8_t *frame, uint32_t bytes, uint32_t *l4_offset)
{
	uint32_t l3 = sizeof(struct rte_ether_hdr);

	if (bytes >= l3 && frame[12] == 0x81 && frame[13] == 0)
		l3 += sizeof(struct rte_vlan_hdr);
	if (bytes <= l3)
		return 0;
	*l4_offset = l3 + (frame[l3] >> 4 == 4 ? (uint32_t)(frame[l3] & 0xf) * 4 : (uint32_t)sizeof(struct rte_ipv6_hdr));
	return *l4_offset - l3 >= sizeof(struct rte_ipv4_hdr) && *l4_offset - l3 + MASKED_BYTES <= bytes - l3 ? l3 : 0;
}

bool
uroce_icrc_fill(struct rte_mbuf *m)
{
	struct rte_mbuf *tail = rte_pktmbuf_lastseg(m);
	uint32_t l4_offset = 0, l3_offset = find_ip(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, &l4_offset);
	rte_le32_t icrc;

	if (l3_offset == 0 || tail->data_len < sizeof(icrc) || m->pkt_len < l4_offset + MASKED_BYTES + sizeof(icrc))
		return false;
	icrc = rte_cpu_to_le_32(uroce_icrc(m, l3_offset, l4_offset, m->pkt_len - (uint32_t)sizeof(icrc) - l3_offset));
	memcpy(rte_pktmbuf_mtod_offset(tail, uint8_t *, tail->data_len - sizeof(icrc)), &icrc, sizeof(icrc));
	m->ol_flags &= ~UROCE_MBUF_NO_ICRC;
	return true;
}
