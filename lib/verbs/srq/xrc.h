/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * XRC domains, which several parts of a program may open, and target QPs: one QP behind any number of handles, each
 * of them a struct ibv_qp of its own.
 */

#ifndef UROCE_VERBS_SRQ_XRC_H
#define UROCE_VERBS_SRQ_XRC_H

#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>
#include <sys/queue.h>
#include <sys/types.h>

#include <infiniband/verbs.h>
#include <rte_spinlock.h>

#include "verbs/device/device.h"
#include "verbs/qp/qp.h"

/* An XRC domain. Each ibv_open_xrcd(3) of one inode opens the same domain. */
struct uroce_xrc_domain {
	LIST_ENTRY(uroce_xrc_domain) link;	/* dev->xrc_domains; under dev->lock */
	uint32_t opens;			/* number of its struct uroce_xrcd; under dev->lock */
	int fd;				/* keeps the inode number from reuse; -1: no inode */
	dev_t st_dev;
	ino_t st_ino;
	/* Taken before an engine's turn, never within one. */
	pthread_mutex_t lock;
	LIST_HEAD(, uroce_xrc_target) targets;	/* under lock */
};

struct uroce_xrcd {
	struct ibv_xrcd ibv;
	struct uroce_xrc_domain *domain;
	uint32_t refs;			/* atomic: SRQs, QPs, handles (R47) */
};

/* A target QP. The application has only handles of it: it passes their calls to the QP, and the QP's events to all of
 * them. */
struct uroce_xrc_target {
	struct uroce_qp *qp;		/* constant */
	struct uroce_xrc_domain *domain;	/* constant */
	LIST_ENTRY(uroce_xrc_target) link;	/* under domain->lock */
	rte_spinlock_t lock;		/* innermost but for the event queues' locks; engines take it, too */
	LIST_HEAD(, uroce_xrc_handle) handles;	/* control: under domain->lock and lock; engine: under lock */
};

/* A handle of a target QP. Its queues have no room and its state stays RESET, so nothing can be posted to it. */
struct uroce_xrc_handle {
	struct uroce_qp qp;
	struct uroce_xrcd *xrcd;
	LIST_ENTRY(uroce_xrc_handle) link;
};

static inline struct uroce_xrcd *
uroce_xrcd_of(struct ibv_xrcd *xrcd)
{
	return (struct uroce_xrcd *)xrcd;
}

/** @return the target QP of a handle; for any other QP, the QP itself */
static inline struct uroce_qp *
uroce_qp_real(struct uroce_qp *qp)
{
	return qp->target == NULL ? qp : qp->target->qp;
}

/** Create a target QP (IBV_QPT_XRC_RECV). @return its first handle, or NULL and errno */
struct ibv_qp *uroce_xrc_target_create(struct uroce_xrcd *xrcd, void *qp_context);
/** Destroy a handle, and with the last one the QP. */
void uroce_xrc_handle_destroy(struct uroce_qp *qp);
/** Raise an event of the QP at each of its handles. Any thread. */
void uroce_xrc_target_event(struct uroce_xrc_target *target, enum ibv_event_type type);

#endif /* UROCE_VERBS_SRQ_XRC_H */
