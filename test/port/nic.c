/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <rte_eth_ring.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#include "base/dpdk_compat.h"
#include "nic.h"
#include "rings.h"

#define RING_FRAMES 4096
#define IB_BTH_TYPE ((int)UROCE_FLOW_BTH)

static struct nic *nics[RTE_MAX_ETHPORTS];

/* The key of Microsoft's example, the default of many NICs. */
static const uint8_t default_key[NIC_KEY_BYTES] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

/* ---- The frames ------------------------------------------------------------------------------------------------- */

/* The headers of a frame up to its BTH; NULL: it does not have the header. */
struct headers {
	uint8_t bytes[128];
	const struct rte_vlan_hdr *vlan;
	const struct rte_ipv4_hdr *ipv4;
	const struct rte_ipv6_hdr *ipv6;
	const struct rte_udp_hdr *udp;
};

static void
parse(struct rte_mbuf *m, struct headers *h)
{
	uint32_t bytes = RTE_MIN(rte_pktmbuf_pkt_len(m), (uint32_t)sizeof(h->bytes));
	const uint8_t *read = rte_pktmbuf_read(m, 0, bytes, h->bytes), *at = h->bytes + sizeof(struct rte_ether_hdr);
	rte_be16_t type;

	memset(&h->vlan, 0, sizeof(*h) - offsetof(struct headers, vlan));
	if (read != h->bytes)
		memcpy(h->bytes, read, bytes);
	memset(h->bytes + bytes, 0, sizeof(h->bytes) - bytes);
	type = ((const struct rte_ether_hdr *)h->bytes)->ether_type;
	if (type == RTE_BE16(RTE_ETHER_TYPE_VLAN)) {
		h->vlan = (const struct rte_vlan_hdr *)at;
		type = h->vlan->eth_proto;
		at += sizeof(*h->vlan);
	}
	if (type == RTE_BE16(RTE_ETHER_TYPE_IPV4)) {
		h->ipv4 = (const struct rte_ipv4_hdr *)at;
		at += sizeof(*h->ipv4);
		if (h->ipv4->next_proto_id == IPPROTO_UDP)
			h->udp = (const struct rte_udp_hdr *)at;
	} else if (type == RTE_BE16(RTE_ETHER_TYPE_IPV6)) {
		h->ipv6 = (const struct rte_ipv6_hdr *)at;
		at += sizeof(*h->ipv6);
		if (h->ipv6->proto == IPPROTO_UDP)
			h->udp = (const struct rte_udp_hdr *)at;
	}
}

/* ---- RSS -------------------------------------------------------------------------------------------------------- */

uint32_t
nic_toeplitz(const uint8_t *key, const uint8_t *input, unsigned int bytes)
{
	uint32_t hash = 0;

	for (unsigned int bit = 0; bit < 8 * bytes; bit++) {
		if ((input[bit / 8] >> (7 - bit % 8) & 1) == 0)
			continue;
		for (unsigned int i = bit; i < bit + 32; i++)
			hash ^= (uint32_t)(key[i / 8] >> (7 - i % 8) & 1) << (31 - (i - bit));
	}
	return hash;
}

/* @return the queue by RSS; frames without a hash go to queue 0 */
static uint16_t
rss_queue(const struct nic *nic, const struct headers *h)
{
	uint64_t udp = h->ipv4 != NULL ? RTE_ETH_RSS_NONFRAG_IPV4_UDP : RTE_ETH_RSS_NONFRAG_IPV6_UDP;
	uint64_t ip = h->ipv4 != NULL ? RTE_ETH_RSS_IPV4 : RTE_ETH_RSS_IPV6;
	uint8_t input[36];
	unsigned int n = 0;

	if (h->ipv4 != NULL) {
		memcpy(input, &h->ipv4->src_addr, 8);
		n = 8;
	} else if (h->ipv6 != NULL) {
		memcpy(input, &h->ipv6->src_addr, 32);
		n = 32;
	}
	if (n == 0)
		return 0;
	if (h->udp != NULL && (nic->hashed & udp) != 0) {
		memcpy(input + n, h->udp, 4);
		n += 4;
	} else if ((nic->hashed & ip) == 0) {
		return 0;
	}
	return nic->reta[nic_toeplitz(nic->key, input, n) % nic->reta_size];
}

/* ---- Rules ------------------------------------------------------------------------------------------------------ */

static unsigned int
spec_bytes(enum rte_flow_item_type type)
{
	if ((int)type == IB_BTH_TYPE && UROCE_FLOW_HAS_BTH)
		return 12;
	switch (type) {
	case RTE_FLOW_ITEM_TYPE_VLAN: return sizeof(struct rte_vlan_hdr);
	case RTE_FLOW_ITEM_TYPE_IPV4: return sizeof(struct rte_ipv4_hdr);
	case RTE_FLOW_ITEM_TYPE_IPV6: return sizeof(struct rte_ipv6_hdr);
	case RTE_FLOW_ITEM_TYPE_UDP: return sizeof(struct rte_udp_hdr);
	case RTE_FLOW_ITEM_TYPE_RAW: return sizeof(struct rte_flow_item_raw);
	default: return 0;
	}
}

static bool
equal(const struct nic_item *item, const void *header)
{
	unsigned int bytes = spec_bytes(item->type);

	if (header == NULL)
		return false;
	for (unsigned int i = 0; !item->any && i < bytes; i++)
		if (((((const uint8_t *)header)[i] ^ item->spec[i]) & item->mask[i]) != 0)
			return false;
	return true;
}

static bool
raw_equal(const struct nic_item *item, const uint8_t *start)
{
	struct rte_flow_item_raw raw;

	memcpy(&raw, item->spec, sizeof(raw));
	for (unsigned int i = 0; i < raw.length; i++)
		if (((start[raw.offset + (int)i] ^ item->raw[0][i]) & item->raw[1][i]) != 0)
			return false;
	return true;
}

static bool
matches(const struct rte_flow *rule, const struct headers *h)
{
	const uint8_t *payload = h->udp != NULL ? (const uint8_t *)(h->udp + 1) : NULL;

	for (unsigned int i = 0; i < rule->items; i++) {
		const struct nic_item *item = &rule->item[i];
		bool ok = true;

		if ((int)item->type == IB_BTH_TYPE && UROCE_FLOW_HAS_BTH)
			ok = equal(item, payload);
		else if (item->type == RTE_FLOW_ITEM_TYPE_VLAN)
			ok = equal(item, h->vlan);
		else if (item->type == RTE_FLOW_ITEM_TYPE_IPV4)
			ok = equal(item, h->ipv4);
		else if (item->type == RTE_FLOW_ITEM_TYPE_IPV6)
			ok = equal(item, h->ipv6);
		else if (item->type == RTE_FLOW_ITEM_TYPE_UDP)
			ok = equal(item, h->udp);
		else if (item->type == RTE_FLOW_ITEM_TYPE_RAW)
			ok = payload != NULL && raw_equal(item, payload);
		if (!ok)
			return false;
	}
	return true;
}

static bool
takes(const struct nic *nic, const struct rte_flow *rule)
{
	unsigned int needs = NIC_TAKES_UDP;

	for (unsigned int i = 0; i < rule->items; i++) {
		if (rule->item[i].type == RTE_FLOW_ITEM_TYPE_RAW)
			needs = NIC_TAKES_RAW;
		else if ((int)rule->item[i].type == IB_BTH_TYPE && UROCE_FLOW_HAS_BTH)
			needs = NIC_TAKES_BTH;
	}
	return (nic->takes & needs) != 0;
}

static void
copy_item(struct nic_item *to, const struct rte_flow_item *from)
{
	unsigned int bytes = spec_bytes(from->type);

	memset(to, 0, sizeof(*to));
	to->type = from->type;
	to->any = from->spec == NULL;
	if (to->any)
		return;
	memcpy(to->spec, from->spec, bytes);
	memcpy(to->mask, from->mask, bytes);
	if (from->type == RTE_FLOW_ITEM_TYPE_RAW) {
		const struct rte_flow_item_raw *spec = from->spec, *mask = from->mask;

		assert_true(spec->relative && spec->length <= sizeof(to->raw[0]));
		memcpy(to->raw[0], spec->pattern, spec->length);
		memcpy(to->raw[1], mask->pattern, spec->length);
	}
}

struct rte_flow *
rte_flow_create(uint16_t port_id, const struct rte_flow_attr *attr, const struct rte_flow_item pattern[],
		const struct rte_flow_action actions[], struct rte_flow_error *error)
{
	struct nic *nic = nics[port_id];
	struct rte_flow *rule = NULL;
	unsigned int n = 0;

	assert_non_null(nic);
	assert_true(attr->ingress && !attr->egress && attr->group == 0);
	rte_spinlock_lock(&nic->lock);
	for (unsigned int i = 0; rule == NULL && i < nic->room; i++)
		if (!nic->rules[i].used)
			rule = &nic->rules[i];
	for (; rule != NULL && pattern[n].type != RTE_FLOW_ITEM_TYPE_END; n++) {
		assert_true(n < NIC_ITEMS);
		copy_item(&rule->item[n], &pattern[n]);
	}
	if (rule != NULL) {
		rule->items = n;
		assert_int_equal(actions[0].type, RTE_FLOW_ACTION_TYPE_QUEUE);
		assert_int_equal(actions[1].type, RTE_FLOW_ACTION_TYPE_END);
		rule->queue = ((const struct rte_flow_action_queue *)actions[0].conf)->index;
		assert_true(rule->queue < nic->queues);
		rule->used = takes(nic, rule);
		nic->rule_count += rule->used;
	}
	rte_spinlock_unlock(&nic->lock);
	if (rule != NULL && rule->used)
		return rule;
	*error = (struct rte_flow_error){ .type = RTE_FLOW_ERROR_TYPE_ITEM,
					  .message = rule == NULL ? "no room" : "item" };
	rte_errno = rule == NULL ? ENOSPC : ENOTSUP;
	return NULL;
}

int
rte_flow_destroy(uint16_t port_id, struct rte_flow *rule, struct rte_flow_error *error)
{
	struct nic *nic = nics[port_id];

	(void)error;
	rte_spinlock_lock(&nic->lock);
	assert_true(rule->used);
	rule->used = false;
	nic->rule_count--;
	rte_spinlock_unlock(&nic->lock);
	return 0;
}

/* ---- Control functions of ethdev -------------------------------------------------------------------------------- */

int
rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
	int (*real)(uint16_t, struct rte_eth_dev_info *) =
		(int (*)(uint16_t, struct rte_eth_dev_info *))dlsym(RTLD_NEXT, "rte_eth_dev_info_get");
	const struct nic *nic = nics[port_id];
	int ret = real(port_id, info);

	if (ret != 0 || nic == NULL)
		return ret;
	info->flow_type_rss_offloads = nic->types;
	info->reta_size = nic->types != 0 ? nic->reta_size : 0;
	info->hash_key_size = nic->types != 0 ? NIC_KEY_BYTES : 0;
	return 0;
}

static void
configure_rss(struct nic *nic, const struct rte_eth_conf *conf, uint16_t nb_rx)
{
	const struct rte_eth_rss_conf *rss = &conf->rx_adv_conf.rss_conf;

	nic->hashed = conf->rxmode.mq_mode == RTE_ETH_MQ_RX_RSS ? rss->rss_hf : 0;
	assert_int_equal(nic->hashed & ~nic->types, 0);
	memcpy(nic->key, default_key, sizeof(nic->key));
	if (!nic->fixed_key && rss->rss_key != NULL) {
		assert_int_equal(rss->rss_key_len, NIC_KEY_BYTES);
		memcpy(nic->key, rss->rss_key, NIC_KEY_BYTES);
	}
	for (unsigned int i = 0; i < nic->reta_size; i++)
		nic->reta[i] = (uint16_t)(i % nb_rx);
}

int
rte_eth_dev_configure(uint16_t port_id, uint16_t nb_rx, uint16_t nb_tx, const struct rte_eth_conf *conf)
{
	int (*real)(uint16_t, uint16_t, uint16_t, const struct rte_eth_conf *) = (int (*)(
		uint16_t, uint16_t, uint16_t, const struct rte_eth_conf *))dlsym(RTLD_NEXT, "rte_eth_dev_configure");
	struct rte_eth_conf plain = *conf;

	if (nics[port_id] != NULL)
		configure_rss(nics[port_id], conf, nb_rx);
	plain.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE;
	memset(&plain.rx_adv_conf, 0, sizeof(plain.rx_adv_conf));
	return real(port_id, nb_rx, nb_tx, &plain);
}

int
rte_eth_dev_rss_hash_conf_get(uint16_t port_id, struct rte_eth_rss_conf *conf)
{
	const struct nic *nic = nics[port_id];

	if (nic == NULL || nic->secretive || nic->types == 0)
		return -ENOTSUP;
	assert_true(conf->rss_key_len >= NIC_KEY_BYTES);
	memcpy(conf->rss_key, nic->key, NIC_KEY_BYTES);
	conf->rss_key_len = NIC_KEY_BYTES;
	conf->rss_hf = nic->hashed;
	return 0;
}

int
rte_eth_dev_rss_reta_query(uint16_t port_id, struct rte_eth_rss_reta_entry64 *groups, uint16_t size)
{
	const struct nic *nic = nics[port_id];

	if (nic == NULL || nic->types == 0)
		return -ENOTSUP;
	assert_int_equal(size, nic->reta_size);
	for (unsigned int i = 0; i < size; i++)
		if ((groups[i / RTE_ETH_RETA_GROUP_SIZE].mask >> i % RTE_ETH_RETA_GROUP_SIZE & 1) != 0)
			groups[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] = nic->reta[i];
	return 0;
}

/* ---- Creation --------------------------------------------------------------------------------------------------- */

static uint16_t
classify(struct nic *nic, struct rte_mbuf *m)
{
	struct headers h;

	parse(m, &h);
	for (unsigned int i = 0; i < nic->room; i++)
		if (nic->rules[i].used && matches(&nic->rules[i], &h)) {
			nic->matched++;
			return nic->rules[i].queue;
		}
	return rss_queue(nic, &h);
}

/* Distribute all frames that have arrived. Each queue's next poll gets its own. */
static uint16_t
distribute(uint16_t port_id, uint16_t queue, struct rte_mbuf *frames[], uint16_t n, uint16_t room, void *arg)
{
	struct nic *nic = arg;
	struct rte_mbuf *m;
	void *frame;

	(void)port_id;
	(void)queue;
	(void)frames;
	(void)room;
	rte_spinlock_lock(&nic->lock);
	while (rte_ring_dequeue(nic->in, &frame) == 0) {
		uint16_t to;

		m = frame;
		to = classify(nic, m);
		nic->received[to]++;
		if (rte_ring_enqueue(nic->rx[to], m) == 0)
			continue;
		nic->missed++;
		rte_pktmbuf_free(m);
	}
	rte_spinlock_unlock(&nic->lock);
	return n;
}

static void
nic_init(struct nic *nic, unsigned int queues)
{
	memset(nic, 0, sizeof(*nic));
	rte_spinlock_init(&nic->lock);
	nic->queues = queues;
	nic->types = RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP;
	nic->reta_size = NIC_RETA;
	nic->takes = NIC_TAKES_UDP | NIC_TAKES_RAW | NIC_TAKES_BTH;
	nic->room = NIC_RULES;
	nic->in = test_ring_create(RING_FRAMES);
	for (unsigned int i = 0; i < queues; i++)
		nic->rx[i] = test_ring_create(RING_FRAMES);
}

static void
port_create(struct nic *nic, struct rte_ring *out)
{
	struct rte_ring *tx[NIC_QUEUES];
	static unsigned int sequence;
	char name[32];
	int ret;

	for (unsigned int i = 0; i < nic->queues; i++)
		tx[i] = out;
	snprintf(name, sizeof(name), "nic_port_%u", sequence++);
	ret = rte_eth_from_rings(name, nic->rx, nic->queues, tx, nic->queues, 0);
	assert_true(ret >= 0);
	nic->port_id = (uint16_t)ret;
	nics[nic->port_id] = nic;
	for (uint16_t i = 0; i < nic->queues; i++)
		assert_non_null(rte_eth_add_rx_callback(nic->port_id, i, distribute, nic));
}

void
nic_create_pair(struct nic *a, struct nic *b, unsigned int queues)
{
	assert_true(queues <= NIC_QUEUES);
	nic_init(a, queues);
	nic_init(b, queues);
	port_create(a, b->in);
	port_create(b, a->in);
}

static void
ring_destroy(struct rte_ring *ring)
{
	void *frame;

	while (rte_ring_dequeue(ring, &frame) == 0)
		rte_pktmbuf_free(frame);
	rte_ring_free(ring);
}

static void
nic_destroy(struct nic *nic)
{
	assert_int_equal(nic->rule_count, 0);
	nics[nic->port_id] = NULL;
	rte_eth_dev_close(nic->port_id);
}

void
nic_destroy_pair(struct nic *a, struct nic *b)
{
	nic_destroy(a);
	nic_destroy(b);
	for (unsigned int i = 0; i < a->queues; i++) {
		ring_destroy(a->rx[i]);
		ring_destroy(b->rx[i]);
	}
	ring_destroy(a->in);
	ring_destroy(b->in);
}
