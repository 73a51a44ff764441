/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Address handles: the paths of UD sends. A send WQE holds its handle until it is complete, so a destroyed handle
 * stays until the last of them.
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
	bool has_flow_label;		/* else the UDP source port is made of the two QPNs, with each send */
	LIST_ENTRY(uroce_ah) link;	/* dev->dead_ahs, under dev->lock */
	/* send WQEs that name it. Posters: add; workers, or control on their behalf: release; control: acquire */
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

/** The WQE does not need it any more. */
static inline void
uroce_ah_put(struct uroce_ah *ah)
{
	/* pairs with the acquire in uroce_ahs_reap(): its path has been used for the last time */
	__atomic_fetch_sub(&ah->refs, 1, __ATOMIC_RELEASE);
}

/** An address vector that a RoCE device may have, as far as it can be told without looking it up. */
bool uroce_ah_attr_ok(const struct ibv_ah_attr *attr);

/** Free the destroyed handles that no WQE holds any more. Control threads. */
void uroce_ahs_reap(struct uroce_device *dev);

/** The handles of all that is in a QP's send queue, which is about to be emptied without completions. With its
 * worker and its posters kept out. */
void uroce_ah_put_queued(struct uroce_qp *qp);

#endif /* UROCE_VERBS_ADDRESS_AH_H */
