/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The mbufs that lead into a region's memory, and hold it until they are freed. Workers attach;
 * whoever frees an mbuf lets go.
 */

#include <errno.h>

#include <rte_debug.h>

#include "mem/iova.h"
#include "mem/mr.h"

rte_iova_t
uroce_mr_iova(const struct uroce_mr_key *k, uint64_t addr, uint32_t length)
{
	if (k->iova == NULL || length == 0)
		return RTE_BAD_IOVA;
	return uroce_iova_map_lookup(k->iova, uroce_mr_va(k, addr), length);
}

static void
on_mbuf_free(void *data, void *arg)
{
	struct uroce_mr *mr = arg;

	RTE_SET_USED(data);
	/* The last touch: pairs with the acquire in uroce_mr_destroy(), which frees the region. */
	__atomic_sub_fetch(&mr->inflight, 1, __ATOMIC_RELEASE);
}

int
uroce_mr_attach(const struct uroce_mr_key *k, uint64_t addr, uint16_t length, struct rte_mbuf *m)
{
	struct rte_mbuf_ext_shared_info *shared = rte_mbuf_to_priv(m);
	const rte_iova_t iova = uroce_mr_iova(k, addr, length);

	RTE_ASSERT(rte_pktmbuf_priv_size(m->pool) >= sizeof(*shared));
	if (iova == RTE_BAD_IOVA)
		return -ENOTSUP;
	__atomic_add_fetch(&k->mr->inflight, 1, __ATOMIC_RELAXED);
	shared->free_cb = on_mbuf_free;
	shared->fcb_opaque = k->mr;
	rte_mbuf_ext_refcnt_set(shared, 1);
	rte_pktmbuf_attach_extbuf(m, uroce_mr_va(k, addr), iova, length, shared);
	m->data_len = length;
	m->pkt_len = length;
	return 0;
}
