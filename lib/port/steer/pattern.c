/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Builds the pattern of a flow rule: Ethernet, VLAN, IP, UDP, and the BTH if the rule matches its destination QPN.
 * Control threads.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/dpdk_compat.h"
#include "port/steer/pattern.h"
#include "wire/gid.h"
#include "wire/headers.h"

#define MAX_ITEMS 6 /* Ethernet, VLAN, IP, UDP, BTH, end */

/* The items, with room for what they match and for their masks. */
struct pattern {
	struct rte_flow_item items[MAX_ITEMS];
	unsigned int count;
	struct rte_flow_item_vlan vlan[2];
	struct rte_flow_item_ipv4 ipv4[2];
	struct rte_flow_item_ipv6 ipv6[2];
	struct rte_flow_item_udp udp[2];
	struct rte_flow_item_raw raw[2];
	struct uroce_flow_bth bth[2];
	uint8_t qpn[2][3];
};

static void
add(struct pattern *p, enum rte_flow_item_type type, const void *spec, const void *mask)
{
	p->items[p->count++] = (struct rte_flow_item){ .type = type, .spec = spec, .mask = mask };
}

static void
add_vlan(struct pattern *p, uint16_t vlan)
{
	p->vlan[0].hdr.vlan_tci = rte_cpu_to_be_16(vlan);
	p->vlan[1].hdr.vlan_tci = rte_cpu_to_be_16(RTE_VLAN_ID_MASK);
	add(p, RTE_FLOW_ITEM_TYPE_VLAN, &p->vlan[0], &p->vlan[1]);
}

/* @param by_source	match the peer's address */
static void
add_ip(struct pattern *p, const uint8_t src[16], bool by_source)
{
	bool ipv4 = uroce_gid_is_ipv4(src);

	p->ipv4[0].hdr.src_addr = uroce_gid_to_ipv4(src);
	p->ipv4[1].hdr.src_addr = RTE_BE32(UINT32_MAX);
	memcpy(UROCE_IPV6_BYTES(p->ipv6[0].hdr.src_addr), src, 16);
	memset(UROCE_IPV6_BYTES(p->ipv6[1].hdr.src_addr), 0xff, 16);
	if (!by_source)
		add(p, ipv4 ? RTE_FLOW_ITEM_TYPE_IPV4 : RTE_FLOW_ITEM_TYPE_IPV6, NULL, NULL);
	else if (ipv4)
		add(p, RTE_FLOW_ITEM_TYPE_IPV4, &p->ipv4[0], &p->ipv4[1]);
	else
		add(p, RTE_FLOW_ITEM_TYPE_IPV6, &p->ipv6[0], &p->ipv6[1]);
}

/* @param src_port	0: any */
static void
add_udp(struct pattern *p, uint16_t src_port)
{
	p->udp[0].hdr.src_port = rte_cpu_to_be_16(src_port);
	p->udp[0].hdr.dst_port = RTE_BE16(UROCE_UDP_PORT);
	p->udp[1].hdr.src_port = src_port != 0 ? RTE_BE16(UINT16_MAX) : 0;
	p->udp[1].hdr.dst_port = RTE_BE16(UINT16_MAX);
	add(p, RTE_FLOW_ITEM_TYPE_UDP, &p->udp[0], &p->udp[1]);
}

static void
add_raw(struct pattern *p)
{
	p->raw[0] = (struct rte_flow_item_raw){
		.relative = 1,
		.offset = offsetof(struct uroce_bth, dest_qp),
		.length = sizeof(p->qpn[0]),
		.pattern = p->qpn[0],
	};
	p->raw[1] = rte_flow_item_raw_mask;
	p->raw[1].pattern = p->qpn[1];
	add(p, RTE_FLOW_ITEM_TYPE_RAW, &p->raw[0], &p->raw[1]);
}

/* @return 0; -ENOTSUP: this DPDK has no item for a BTH */
static int
build(struct pattern *p, enum uroce_rule_kind kind, const struct uroce_rule_match *match)
{
	memset(p, 0, sizeof(*p));
	uroce_put24(p->qpn[0], match->qpn);
	uroce_put24(p->qpn[1], UROCE_QPN_MASK);
	add(p, RTE_FLOW_ITEM_TYPE_ETH, NULL, NULL);
	if (match->vlan != 0)
		add_vlan(p, match->vlan);
	add_ip(p, match->src, kind == UROCE_RULE_UDP);
	add_udp(p, kind == UROCE_RULE_UDP ? match->src_port : 0);
	if (kind == UROCE_RULE_RAW)
		add_raw(p);
	if (kind == UROCE_RULE_BTH) {
		if (!UROCE_FLOW_HAS_BTH)
			return -ENOTSUP;
		uroce_flow_bth_set(&p->bth[0], p->qpn[0]);
		uroce_flow_bth_set(&p->bth[1], p->qpn[1]);
		add(p, UROCE_FLOW_BTH, &p->bth[0], &p->bth[1]);
	}
	add(p, RTE_FLOW_ITEM_TYPE_END, NULL, NULL);
	return 0;
}

struct rte_flow *
uroce_pattern_create(uint16_t port_id, enum uroce_rule_kind kind, const struct uroce_rule_match *match, uint16_t queue,
		     struct rte_flow_error *error)
{
	const struct rte_flow_attr attr = { .ingress = 1 };
	const struct rte_flow_action_queue to = { .index = queue };
	const struct rte_flow_action actions[] = {
		{ .type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &to },
		{ .type = RTE_FLOW_ACTION_TYPE_END },
	};
	struct pattern p;

	memset(error, 0, sizeof(*error));
	if (build(&p, kind, match) < 0) {
		rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, NULL, "no item for a BTH");
		return NULL;
	}
	return rte_flow_create(port_id, &attr, p.items, actions, error);
}
