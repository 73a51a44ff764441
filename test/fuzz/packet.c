/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Target: uroce_packet_decode() for any frame in any number of segments, unchanged or with corrected lengths and ICRC,
 * so that it passes the first checks. The values of an accepted frame must lie within the frame. The input: the segment
 * boundaries, the corrections, and the frame from its IP header on.
 */

#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "frames.h"
#include "fuzz.h"
#include "wire/icrc.h"
#include "wire/packet.h"

#define L3   ((uint32_t)sizeof(struct rte_ether_hdr))
#define ROOM 4400

#define MEND_ICRC     0x1
#define MEND_LENGTHS  0x2
#define CHECKSUM_GOOD 0x4 /* the NIC reports a good checksum */

static struct test_chain chain;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	test_chain_init(&chain);
	return 0;
}

static uint32_t
l4_offset(const uint8_t *frame, uint32_t len)
{
	if (len > L3 && frame[L3] >> 4 == 6)
		return L3 + sizeof(struct rte_ipv6_hdr);
	return L3 + (len > L3 ? (frame[L3] & 0xfu) * 4 : 0);
}

static void
mend_lengths(uint8_t *frame, uint32_t len)
{
	struct rte_ipv4_hdr *ip4 = (struct rte_ipv4_hdr *)(frame + L3);
	struct rte_ipv6_hdr *ip6 = (struct rte_ipv6_hdr *)(frame + L3);
	uint32_t l4 = l4_offset(frame, len);

	if (len < l4 + sizeof(struct rte_udp_hdr) || l4 < L3 + sizeof(*ip4))
		return;
	if (frame[L3] >> 4 == 6)
		ip6->payload_len = rte_cpu_to_be_16((uint16_t)(len - l4));
	else
		ip4->total_length = rte_cpu_to_be_16((uint16_t)(len - L3));
	((struct rte_udp_hdr *)(frame + l4))->dgram_len = rte_cpu_to_be_16((uint16_t)(len - l4));
}

static void
mend_icrc(uint8_t *frame, uint32_t len)
{
	uint32_t l4 = l4_offset(frame, len), icrc;
	struct rte_mbuf m;

	if (len < l4 + sizeof(struct rte_udp_hdr) + sizeof(struct uroce_bth) + UROCE_ICRC_BYTES ||
	    l4 < L3 + sizeof(struct rte_ipv4_hdr))
		return;
	test_mbuf_init(&m, frame, ROOM, len);
	icrc = rte_cpu_to_le_32(uroce_icrc(&m, L3, l4, len - UROCE_ICRC_BYTES - L3));
	memcpy(frame + len - UROCE_ICRC_BYTES, &icrc, UROCE_ICRC_BYTES);
}

static void
check(const struct uroce_packet *p, uint32_t len)
{
	static uint8_t payload[ROOM];
	uint32_t pad = (p->bth->flags & UROCE_BTH_PAD_MASK) >> UROCE_BTH_PAD_SHIFT;

	RTE_VERIFY(p->info->name != NULL && p->opcode == p->bth->opcode);
	RTE_VERIFY(p->payload_offset >= L3 + p->info->header_bytes);
	RTE_VERIFY(p->payload_offset + p->payload_bytes + pad + UROCE_ICRC_BYTES <= len);
	RTE_VERIFY((p->info->flags & UROCE_OPF_PAYLOAD) != 0 || p->payload_bytes == 0);
	uroce_packet_copy(p, 0, payload, p->payload_bytes);
	uroce_packet_copy(p, p->payload_bytes, payload, 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t frame[ROOM];
	struct fuzz_input in = { data, size };
	uint8_t mend = fuzz_u8(&in);
	uint32_t nb_cuts = fuzz_below(&in, TEST_CHAIN_SEGS), cuts[TEST_CHAIN_SEGS];
	uint16_t steps[TEST_CHAIN_SEGS];
	uint32_t len, at = 0;
	struct uroce_packet p;
	struct rte_mbuf *m;

	for (unsigned int i = 0; i < nb_cuts; i++)
		steps[i] = fuzz_u8(&in);
	len = (uint32_t)RTE_MIN(in.left, (size_t)ROOM - L3) + L3;
	memset(frame, 0, L3);
	fuzz_bytes(&in, frame + L3, len - L3);
	if ((mend & MEND_LENGTHS) != 0)
		mend_lengths(frame, len);
	if ((mend & MEND_ICRC) != 0)
		mend_icrc(frame, len);
	for (unsigned int i = 0; i < nb_cuts; i++)
		cuts[i] = at = RTE_MIN(len, at + steps[i]);
	m = test_chain_set(&chain, frame, len, cuts, nb_cuts);
	if ((mend & CHECKSUM_GOOD) != 0)
		m->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	/* the caller guarantees that the first segment has the network header */
	if (m->data_len >= L3 && uroce_packet_decode(m, L3, &p) == UROCE_OK)
		check(&p, len);
	return 0;
}
