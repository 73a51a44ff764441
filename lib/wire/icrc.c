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
#include <rte_udp.h>

#include "uroce_config.h"
#include "wire/headers.h"
#include "wire/icrc.h"

/* The CRC after 8 bytes of 0xff, as crc32_gzip_refl() takes its seed: with the final xor undone. */
#define ICRC_SEED (~0xdebb20e3u)

/* Behind the IP header, which has at most 60 bytes, these may have masked fields. */
#define MASKED_BYTES (sizeof(struct rte_udp_hdr) + sizeof(struct uroce_bth))
static_assert(UROCE_ICRC_COPY_BYTES >= 60 + MASKED_BYTES, "UROCE_ICRC_COPY_BYTES");

/* Set to ones what is not covered; l4 is the UDP header's offset from the IP header. */
static void
icrc_mask(uint8_t *ip, uint32_t l4)
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
	memset(ip + l4 + offsetof(struct rte_udp_hdr, dgram_cksum), 0xff, 2);
	ip[l4 + sizeof(struct rte_udp_hdr) + offsetof(struct uroce_bth, ecn)] = 0xff;
}

uint32_t
uroce_icrc(const struct rte_mbuf *m, uint32_t l3_offset, uint32_t l4_offset, uint32_t covered_bytes)
{
	uint8_t copy[UROCE_ICRC_COPY_BYTES];
	const uint8_t *data = rte_pktmbuf_mtod_offset(m, const uint8_t *, l3_offset);
	uint32_t len = RTE_MIN(rte_pktmbuf_data_len(m) - l3_offset, covered_bytes);
	uint32_t n = RTE_MIN(len, sizeof(copy));
	uint32_t crc;

	RTE_ASSERT(n >= l4_offset - l3_offset + MASKED_BYTES);
	memcpy(copy, data, n);
	icrc_mask(copy, l4_offset - l3_offset);
	crc = crc32_gzip_refl(ICRC_SEED, copy, n);
	if (len > n)
		crc = crc32_gzip_refl(crc, data + n, len - n);

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
