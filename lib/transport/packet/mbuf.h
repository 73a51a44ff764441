/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Allocates mbufs from the engine's pools, prefetches the mbufs of later packets, and writes the headers from Ethernet
 * to UDP. Inlined, since it runs for each packet. On the engine's thread.
 */

#ifndef UROCE_TRANSPORT_PACKET_MBUF_H
#define UROCE_TRANSPORT_PACKET_MBUF_H

#include <stdbool.h>

#include <rte_branch_prediction.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include "transport/engine.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "wire/template_put.h"

/* Prefetch a cache line for writing that another core may have used last. */
static inline void
uroce_prefetch_to_write(const uint8_t *line)
{
#ifdef RTE_ARCH_X86_64
	/* All 64-bit CPUs have this instruction, but the compiler's baseline does not include it: the compiler would
	 * prefetch the line for reading, and the store would have to request the line again. */
	asm volatile("prefetchw %0" : : "m"(*line));
#else
	__builtin_prefetch(line, 1);
#endif
}

/* Data lines that a packet of so many payload bytes fills, with the headers of a WRITE over IPv4; at most those of a
 * header mbuf. */
static inline unsigned int
uroce_mbuf_lines(uint32_t payload_bytes)
{
	return 1 + (UROCE_MBUF_AHEAD_HEADERS + RTE_MIN(payload_bytes, (uint32_t)UROCE_TX_INLINE_BYTES)) /
		   RTE_CACHE_LINE_SIZE;
}

/* Read the mempool's cache without changing it. @return the mbuf that the pool gives after `ahead` others; NULL: it is
 * not in the cache */
static inline const void *
uroce_mbuf_ahead(struct rte_mempool *pool, unsigned int ahead)
{
	const struct rte_mempool_cache *cache = rte_mempool_default_cache(pool, rte_lcore_id());

	return likely(cache != NULL && cache->len > ahead) ? cache->objs[cache->len - 1 - ahead] : NULL;
}

/* Prefetch the mbuf of the allocation UROCE_MBUF_AHEAD later, which another core may have used last. */
static inline void
uroce_mbuf_fetch_ahead(struct rte_mempool *pool, bool chained, unsigned int lines)
{
	const uint8_t *later = uroce_mbuf_ahead(pool, UROCE_MBUF_AHEAD);

	if (unlikely(later == NULL))
		return;
	uroce_prefetch_to_write(later);
	if (chained) {
		uroce_prefetch_to_write(later + RTE_CACHE_LINE_SIZE);
		uroce_prefetch_to_write(later + sizeof(struct rte_mbuf));
	}
	for (unsigned int i = 0; i < lines; i++)
		uroce_prefetch_to_write(later + UROCE_ENGINE_DATA_OFFSET + i * RTE_CACHE_LINE_SIZE);
}

/* As rte_pktmbuf_reset(), but without a store to the mbuf's second cache line: `next` is NULL already in a pool's mbuf,
 * and the other fields there are valid only with a flag. */
static inline void
uroce_mbuf_reset(struct rte_mbuf *m)
{
	m->data_off = RTE_PKTMBUF_HEADROOM;
	m->data_len = 0;
	m->pkt_len = 0;
	m->ol_flags = 0;
	m->packet_type = 0;
	m->vlan_tci = 0;
}

/* @return the header pool if its mbufs have room for the payload, else the payload pool */
static inline struct rte_mempool *
uroce_pool_for(const struct uroce_engine *e, uint32_t payload_bytes)
{
	return payload_bytes <= UROCE_TX_INLINE_BYTES ? e->header_pool : e->payload_pool;
}

/* @param chained	it will be the head or a further segment of a chain. @param lines	data lines to prefetch */
static inline struct rte_mbuf *
uroce_mbuf_alloc(struct rte_mempool *pool, bool chained, unsigned int lines)
{
	struct rte_mbuf *m;

	uroce_mbuf_fetch_ahead(pool, chained, lines);
	m = rte_mbuf_raw_alloc(pool);
	if (unlikely(m == NULL))
		return NULL;
	uroce_mbuf_reset(m);
	return m;
}

/** Write the headers from Ethernet to UDP. @return true: the frame leaves by the device's port, to a known MAC
 * address */
static inline bool
uroce_path_put(const struct uroce_path *path, uint8_t *start, uint32_t udp_payload)
{
	uint64_t mac;

	uroce_template_put(&path->headers, start, udp_payload);
	if (path->lladdr == NULL)
		return likely(path->out == 0);
	mac = __atomic_load_n(path->lladdr, __ATOMIC_RELAXED);
	memcpy(start, &mac, RTE_ETHER_ADDR_LEN);
	return likely(mac != 0 && path->out == 0);
}

static inline void
uroce_frame_set_route(const struct uroce_qp *qp, const struct uroce_path *path, struct rte_mbuf *m, uint32_t dest_qpn)
{
	*uroce_frame_route(m) = (struct uroce_frame_route){
		.dgid = path->dgid, .dest_qpn = dest_qpn, .port_id = qp->dev->port_id, .out = path->out,
	};
	m->port = RTE_MBUF_PORT_INVALID;
}

/** Write the headers from Ethernet to UDP, and set the frame's destination: m->port, or its route. */
static inline void
uroce_frame_headers(const struct uroce_qp *qp, const struct uroce_path *path, struct rte_mbuf *m,
		    uint32_t dest_qpn, uint32_t udp_payload)
{
	if (uroce_path_put(path, rte_pktmbuf_mtod(m, uint8_t *), udp_payload))
		m->port = qp->dev->port_id;
	else
		uroce_frame_set_route(qp, path, m, dest_qpn);
}

#endif /* UROCE_TRANSPORT_PACKET_MBUF_H */
