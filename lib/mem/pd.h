/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A protection domain: an identity that keys are compared with, and a count of its objects. A parent domain
 * (verbs/memory/pd.c) is another name of a protection domain: their objects can be used together.
 */

#ifndef UROCE_MEM_PD_H
#define UROCE_MEM_PD_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

struct uroce_pd {
	struct ibv_pd ibv;
	struct ibv_pd *protection;	/* itself; of a parent domain, its protection domain. Constant */
	uint32_t refs;			/* atomic: MRs, QPs, … (R47) */
};

static inline struct uroce_pd *
uroce_pd_of(struct ibv_pd *pd)
{
	return (struct uroce_pd *)pd;
}

static inline const struct ibv_pd *
uroce_pd_protection(const struct ibv_pd *pd)
{
	return ((const struct uroce_pd *)pd)->protection;
}

/** Are a and b names of the same protection domain? NULL is equal to none. */
static inline bool
uroce_pd_same(const struct ibv_pd *a, const struct ibv_pd *b)
{
	return a != NULL && b != NULL && uroce_pd_protection(a) == uroce_pd_protection(b);
}

static inline bool
uroce_pd_is_parent(const struct ibv_pd *pd)
{
	return uroce_pd_protection(pd) != pd;
}

static inline void
uroce_pd_get(struct ibv_pd *pd)
{
	__atomic_fetch_add(&uroce_pd_of(pd)->refs, 1, __ATOMIC_RELAXED);
}

/** Pairs with the acquire in uroce_dealloc_pd(). */
static inline void
uroce_pd_put(struct ibv_pd *pd)
{
	__atomic_fetch_sub(&uroce_pd_of(pd)->refs, 1, __ATOMIC_RELEASE);
}

#endif /* UROCE_MEM_PD_H */
