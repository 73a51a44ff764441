/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Address handles: the paths of UD sends. A send WQE references its handle until the send is complete; a destroyed
 * handle is freed after the last of them.
 */

#ifndef UROCE_VERBS_ADDRESS_AH_H
#define UROCE_VERBS_ADDRESS_AH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>
#include <rte_common.h>

#include "verbs/device/device.h"

struct uroce_qp;

struct uroce_ah {
	struct ibv_ah ibv;
	/* constant */
	struct uroce_path path;
	bool has_flow_label;		/* false: each send derives its UDP source port from the destination QPN */
	LIST_ENTRY(uroce_ah) link;	/* dev->dead_ahs, under dev->lock */
	/* send WQEs that reference it. posters: add; workers, or control for them: release; control: acquire */
	uint32_t refs __rte_cache_aligned;
};

static inline struct uroce_ah *
uroce_ah_of(struct ibv_ah *ah)
{
	return (struct uroce_ah *)ah;
}

static inline void
uroce_ah_get(struct uroce_ah *ah)
{
	__atomic_fetch_add(&ah->refs, 1, __ATOMIC_RELAXED);
}

/** Drop a WQE's reference. */
static inline void
uroce_ah_put(struct uroce_ah *ah)
{
	/* pairs with the acquire in uroce_ahs_reap(): the path is no longer in use */
	__atomic_fetch_sub(&ah->refs, 1, __ATOMIC_RELEASE);
}

/** Is the address vector valid for RoCE, as far as can be told without a look-up of its GIDs? */
bool uroce_ah_attr_ok(const struct ibv_ah_attr *attr);

/** Free the destroyed handles that no WQE references any more. Control threads. */
void uroce_ahs_reap(struct uroce_device *dev);

/** Drop the references of all WQEs in a QP's send queue, before it is emptied without completions. The caller keeps the
 * QP's worker and posters out. */
void uroce_ah_put_queued(struct uroce_qp *qp);

#endif /* UROCE_VERBS_ADDRESS_AH_H */
