/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Counts the mbufs that reference a region's memory, so that a deregistration can wait for them. Workers attach;
 * any thread that frees an mbuf detaches.
 */

#include <errno.h>

#include "mem/attach.h"
#include "mem/iova.h"

rte_iova_t
uroce_mr_iova(const struct uroce_mr_key *k, uint64_t addr, uint32_t length)
{
	if (k->iova == NULL || length == 0)
		return RTE_BAD_IOVA;
	return uroce_iova_map_lookup(k->iova, uroce_mr_va(k, addr), length);
}

void
uroce_mr_mbuf_freed(void *data, void *arg)
{
	struct uroce_mr *mr = arg;

	RTE_SET_USED(data);
	/* Pairs with the acquire in uroce_mr_inflight(), after which the region may be freed. */
	__atomic_add_fetch(&mr->released, 1, __ATOMIC_RELEASE);
}

int
uroce_mr_attach(const struct uroce_mr_key *k, uint64_t addr, uint16_t length, struct rte_mbuf *m)
{
	const rte_iova_t iova = uroce_mr_iova(k, addr, length);

	if (iova == RTE_BAD_IOVA)
		return -ENOTSUP;
	uroce_mr_hold(k, 1);
	uroce_mr_attach_held(k, uroce_mr_va(k, addr), iova, length, m);
	return 0;
}
