/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * uroce_template_write() as an inline function, for packet builders. No state; the worker of the path's QP.
 */

#ifndef UROCE_WIRE_TEMPLATE_PUT_H
#define UROCE_WIRE_TEMPLATE_PUT_H

#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "wire/template.h"

/* Enough for IPv4: the rest is copied for IPv6 only. */
#define UROCE_TEMPLATE_SHORT 48

static inline void
uroce_template_put(const struct uroce_template *t, uint8_t *dst, uint32_t udp_payload_bytes)
{
	uint16_t udp_bytes = (uint16_t)(sizeof(struct rte_udp_hdr) + udp_payload_bytes);
	uint8_t *l3 = dst + t->l2_bytes;
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(l3 + t->l3_bytes);

	memcpy(dst, t->bytes, UROCE_TEMPLATE_SHORT);
	if (t->header_bytes > UROCE_TEMPLATE_SHORT)
		memcpy(dst + UROCE_TEMPLATE_SHORT, t->bytes + UROCE_TEMPLATE_SHORT,
		       sizeof(t->bytes) - UROCE_TEMPLATE_SHORT);
	udp->dgram_len = rte_cpu_to_be_16(udp_bytes);
	if (t->l3_bytes == sizeof(struct rte_ipv4_hdr)) {
		struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)l3;
		uint32_t sum;

		ip->total_length = rte_cpu_to_be_16((uint16_t)(sizeof(*ip) + udp_bytes));
		sum = t->ip_sum + ip->total_length;
		ip->hdr_checksum = (rte_be16_t) ~(uint16_t)(sum + (sum >> 16));
	} else {
		((struct rte_ipv6_hdr *)l3)->payload_len = udp->dgram_len;
	}
}

#endif /* UROCE_WIRE_TEMPLATE_PUT_H */
