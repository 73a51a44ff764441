/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Solves the ICRC for an identification that was not seen: a CRC is linear, so the error of the ICRC is that of the
 * identification, multiplied by a power that depends on the length. The only state is each thread's memory of the powers
 * of the last lengths. Workers.
 */

#include <string.h>

#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_ip.h>
#include <rte_mbuf_dyn.h>

#include "wire/crc_power.h"
#include "wire/unseen_id.h"

#define LENGTHS 8 /* a power of two */

uint64_t uroce_unseen_id_flag;

struct known_power {
	uint32_t covered_bytes; /* 0: none */
	uint32_t power;
};

static __thread struct known_power known[LENGTHS];

int
uroce_unseen_id_init(void)
{
	static const struct rte_mbuf_dynflag flag = { .name = "uroce_unseen_id" };
	int bit = rte_mbuf_dynflag_register(&flag);

	if (bit < 0)
		return -rte_errno;
	uroce_unseen_id_flag = 1ull << bit;
	return 0;
}

/* The inverse power that moves an error of the ICRC to the word of the identification. */
static uint32_t
power_of(uint32_t covered_bytes)
{
	/* covered bytes are a multiple of four */
	struct known_power *k = &known[covered_bytes / 4 % LENGTHS];

	if (k->covered_bytes != covered_bytes) {
		k->covered_bytes = covered_bytes;
		k->power = uroce_crc_power((int32_t)offsetof(struct rte_ipv4_hdr, packet_id) - (int32_t)covered_bytes);
	}
	return k->power;
}

bool
uroce_unseen_id_find(struct rte_ipv4_hdr *ip, uint32_t error, uint32_t covered_bytes)
{
	rte_le32_t word = rte_cpu_to_le_32(uroce_crc_multiply(error, power_of(covered_bytes)));
	uint16_t change[2]; /* of the identification, and of the flags, which are known */

	memcpy(change, &word, sizeof(change));
	if (change[1] != 0)
		return false;
	ip->packet_id ^= change[0];
	ip->hdr_checksum = 0;
	ip->hdr_checksum = rte_ipv4_cksum(ip); /* a datagram's GRH shows the header */
	return true;
}
