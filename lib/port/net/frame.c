/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Begins the frames that a port itself sends: ARP, neighbor discovery, ICMP, IGMP, MLD. The worker, within a poll.
 */

#include <string.h>

#include <rte_byteorder.h>

#include "port/worker/tx.h"

#define MIN_FRAME_BYTES (RTE_ETHER_MIN_LEN - RTE_ETHER_CRC_LEN)

static struct rte_mbuf *
alloc(struct uroce_port_queue *q, uint32_t bytes)
{
	const struct uroce_engine *e = &q->worker->engine;
	struct rte_mempool *pool = e->header_pool;

	bytes += RTE_PKTMBUF_HEADROOM;
	if (bytes > rte_pktmbuf_data_room_size(pool))
		pool = e->payload_pool;
	if (bytes > rte_pktmbuf_data_room_size(pool))
		return NULL;
	return rte_pktmbuf_alloc(pool);
}

struct rte_mbuf *
uroce_frame_create(struct uroce_port_queue *q, const struct rte_ether_addr *dst,
		   uint16_t ether_type, uint32_t l3_bytes, void **l3)
{
	uint32_t l2_bytes = sizeof(struct rte_ether_hdr);
	struct rte_ether_hdr *eth;
	struct rte_mbuf *m;
	uint32_t bytes;

	if (q->port->vlan != 0)
		l2_bytes += sizeof(struct rte_vlan_hdr);
	bytes = RTE_MAX(l2_bytes + l3_bytes, (uint32_t)MIN_FRAME_BYTES);
	m = alloc(q, bytes);
	if (m == NULL) {
		uroce_counter_add(&q->counters[UROCE_PORT_TX_DROP_LOCAL], 1);
		return NULL;
	}
	m->port = q->port_id;
	eth = (struct rte_ether_hdr *)rte_pktmbuf_append(m, (uint16_t)bytes);
	memset(eth, 0, bytes);
	eth->dst_addr = *dst;
	eth->src_addr = q->port->mac;
	eth->ether_type = rte_cpu_to_be_16(ether_type);
	if (q->port->vlan != 0) {
		struct rte_vlan_hdr *tag = (struct rte_vlan_hdr *)(eth + 1);

		tag->vlan_tci = rte_cpu_to_be_16(q->port->vlan);
		tag->eth_proto = eth->ether_type;
		eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN);
	}
	*l3 = (uint8_t *)eth + l2_bytes;
	return m;
}
