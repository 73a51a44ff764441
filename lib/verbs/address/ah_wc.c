/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates the address handle that answers a datagram, from the datagram's completion and the 40 bytes in front of
 * it: an IPv6 header, or an IPv4 header in the last 20. Control threads.
 */

#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ip.h>

#include "uroce.h"
#include "uroce_config.h"
#include "verbs/address/ah.h"
#include "wire/gid.h"
#include "wire/headers.h"

#define HOP_LIMIT 0xff		/* as libibverbs does */

/* The source and destination of the datagram. */
struct route {
	union ibv_gid src;
	union ibv_gid dst;
	uint32_t flow_label;
	uint8_t traffic_class;
};

static bool
is_ipv4(const struct rte_ipv4_hdr *ip)
{
	return ip->version_ihl >> 4 == 4 && rte_ipv4_hdr_len(ip) >= sizeof(*ip) &&
	       /* the checksum of a header with options cannot be verified: the options were not kept */
	       (rte_ipv4_hdr_len(ip) > sizeof(*ip) || rte_raw_cksum(ip, sizeof(*ip)) == 0xffff);
}

/* The 20 bytes in front of an IPv4 header are zeros, so they do not look like an IPv6 header. @return 0 or EINVAL */
static int
route_init(struct route *r, const struct ibv_grh *grh)
{
	uint32_t word = rte_be_to_cpu_32(grh->version_tclass_flow);
	struct rte_ipv4_hdr ip;

	memset(r, 0, sizeof(*r));
	if (word >> 28 == 6) {
		r->src = grh->sgid;
		r->dst = grh->dgid;
		r->flow_label = word & UROCE_FLOW_LABEL_MASK;
		r->traffic_class = (uint8_t)(word >> 20);
		return 0;
	}
	static_assert(sizeof(*grh) == UROCE_GRH_BYTES, "struct ibv_grh must have 40 bytes");
	memcpy(&ip, (const uint8_t *)grh + sizeof(*grh) - sizeof(ip), sizeof(ip));
	if (!is_ipv4(&ip))
		return EINVAL;
	uroce_gid_from_ipv4(r->src.raw, ip.src_addr);
	uroce_gid_from_ipv4(r->dst.raw, ip.dst_addr);
	r->traffic_class = ip.type_of_service;
	return 0;
}

static bool
is_link_local(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

/* May the reply have this GID as its source? It must be the destination of the datagram. Where that is a multicast
 * group, any GID of the same kind as the sender's will do. */
static bool
may_answer(const struct route *r, const union ibv_gid *gid)
{
	if (!uroce_gid_is_multicast(r->dst.raw))
		return memcmp(gid, &r->dst, sizeof(*gid)) == 0;
	return uroce_gid_is_ipv4(gid->raw) == uroce_gid_is_ipv4(r->src.raw) &&
	       is_link_local(gid) == is_link_local(&r->src);
}

/* @return the GID index, or -1 */
static int
find_source(struct uroce_device *dev, const struct route *r)
{
	struct ibv_gid_entry entry;

	for (unsigned int i = 0; i < UROCE_MAX_GID; i++) {
		memset(&entry, 0, sizeof(entry));
		if (dev->ops.port->query_gid(dev, i, &entry) == 0 && may_answer(r, &entry.gid))
			return (int)i;
	}
	return -1;
}

static int
global_route(struct uroce_device *dev, const struct ibv_grh *grh, struct ibv_global_route *to)
{
	struct route r;
	int index;

	if (route_init(&r, grh) != 0)
		return EINVAL;
	index = find_source(dev, &r);
	if (index < 0)
		return EINVAL;
	*to = (struct ibv_global_route){
		.dgid = r.src,
		.flow_label = r.flow_label,
		.sgid_index = (uint8_t)index,
		.hop_limit = HOP_LIMIT,
		/* the ECN bits are about the datagram's path, not the reply's */
		.traffic_class = r.traffic_class & ~UROCE_ECN_MASK,
	};
	return 0;
}

int
uroce_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc, struct ibv_grh *grh,
		      struct ibv_ah_attr *ah_attr)
{
	*ah_attr = (struct ibv_ah_attr){
		.dlid = wc->slid,
		.sl = wc->sl,
		.src_path_bits = wc->dlid_path_bits,
		.is_global = 1,
		.port_num = port_num,
	};
	/* every datagram received on RoCE has a GRH */
	if ((wc->wc_flags & IBV_WC_GRH) == 0 || port_num != 1 ||
	    global_route(uroce_device_of(context), grh, &ah_attr->grh) != 0) {
		errno = EINVAL;
		return -1;
	}
	return 0;
}

struct ibv_ah *
uroce_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port_num)
{
	struct ibv_ah_attr attr;

	if (uroce_init_ah_from_wc(pd->context, port_num, wc, grh, &attr) != 0)
		return NULL;
	return uroce_create_ah(pd, &attr);
}
