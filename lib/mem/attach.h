/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Attaches a burst of mbufs to a region's memory, with one update of the worker's count. uroce_mr_attach() attaches a
 * single mbuf. Workers, within a poll.
 */

#ifndef UROCE_MEM_ATTACH_H
#define UROCE_MEM_ATTACH_H

#include <stdint.h>

#include <rte_mbuf.h>

#include "mem/mr.h"

/** Free the counts of all workers. */
void uroce_mrs_counts_free(struct uroce_mrs *t);

/** The free callback of attached mbufs. Any thread. */
void uroce_mr_mbuf_freed(void *data, void *mr);

/** @return the calling worker's count of the region's mbufs; NULL: it has none, or the thread is not in a poll */
static inline struct uroce_mr_count *
uroce_mr_own_count(const struct uroce_mr *mr)
{
	struct uroce_mr_count *counts = mr->table->counts[uroce_rcu_self];

	return likely(counts != NULL) ? &counts[mr->ibv.handle] : NULL;
}

/** Hold the region for n mbufs that the caller will attach with uroce_mr_attach_held(). */
static inline void
uroce_mr_hold(const struct uroce_mr_key *k, uint32_t n)
{
	struct uroce_mr_count *own = uroce_mr_own_count(k->mr);

	if (likely(own != NULL))
		__atomic_store_n(&own->attached, own->attached + n, __ATOMIC_RELAXED);
	else
		__atomic_add_fetch(&k->mr->attached, n, __ATOMIC_RELAXED);
}

/** As uroce_mr_attach(), for a region that is held and an IOVA that is known. */
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
