/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Attaches many mbufs to a region's memory at once: counted together, attached one by one. uroce_mr_attach() is for
 * one. Workers, within a poll.
 */

#ifndef UROCE_MEM_ATTACH_H
#define UROCE_MEM_ATTACH_H

#include <stdint.h>

#include <rte_mbuf.h>

#include "mem/mr.h"

/** What such an mbuf calls when it is freed, on whatever thread. */
void uroce_mr_mbuf_freed(void *data, void *mr);

/** Hold the region for n mbufs, each of which uroce_mr_attach_held() is to attach. */
static inline void
uroce_mr_hold(const struct uroce_mr_key *k, uint32_t n)
{
	__atomic_add_fetch(&k->mr->attached, n, __ATOMIC_RELAXED);
}

/** Attach length bytes at va, whose IOVA that is, to an mbuf as uroce_mr_attach() says. */
static inline void
uroce_mr_attach_held(const struct uroce_mr_key *k, uint8_t *va, rte_iova_t iova, uint16_t length, struct rte_mbuf *m)
{
	struct rte_mbuf_ext_shared_info *shared = rte_mbuf_to_priv(m);

	RTE_ASSERT(rte_pktmbuf_priv_size(m->pool) >= sizeof(*shared));
	shared->free_cb = uroce_mr_mbuf_freed;
	shared->fcb_opaque = k->mr;
	rte_mbuf_ext_refcnt_set(shared, 1);
	rte_pktmbuf_attach_extbuf(m, va, iova, length, shared);
	m->data_len = length;
	m->pkt_len = length;
}

#endif /* UROCE_MEM_ATTACH_H */
