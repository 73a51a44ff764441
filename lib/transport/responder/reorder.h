/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Requests that came early: ahead of the one that is expected, because a packet before them was lost or overtaken.
 * They are kept in their mbufs, in bounded number and for a bounded time, and executed in their turn. The engine's
 * thread.
 */

#ifndef UROCE_TRANSPORT_RESPONDER_REORDER_H
#define UROCE_TRANSPORT_RESPONDER_REORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "transport/psn_set.h"
#include "uroce_config.h"
#include "wire/packet.h"
#include "wire/sack.h"

struct uroce_engine;
struct uroce_qp;

#define UROCE_REORDER_MASK (UROCE_REORDER_WINDOW - 1u)

/* A frame that is kept: one reference to each of its segments. */
struct uroce_reorder_frame {
	struct uroce_packet packet;
	uint16_t next;			/* free list; UROCE_REORDER_FRAMES: its end */
};

/* What one QP keeps. A PSN is at index PSN & UROCE_REORDER_MASK: less than a window ahead they are all different. */
struct uroce_reorder {
	TAILQ_ENTRY(uroce_reorder) link;	/* holders or free */
	struct uroce_qp *qp;
	uint64_t since_ns;		/* nothing has been executed */
	uint32_t psn;			/* expected: all before it has been given back */
	uint32_t end;			/* one past the last that is kept */
	uint32_t refused;		/* one past the last that came and was not kept */
	uint32_t frames;
	struct uroce_psn_set present;	/* PSNs that have come: all of a READ's */
	uint16_t slots[UROCE_REORDER_WINDOW];	/* the frame of a PSN, if it is the packet's own */
};

TAILQ_HEAD(uroce_reorder_list, uroce_reorder);

/* What an engine keeps. */
struct uroce_reorder_store {
	struct uroce_reorder_list holders;	/* by since_ns */
	struct uroce_reorder_list free;
	struct uroce_reorder *qps;	/* UROCE_REORDER_QPS */
	struct uroce_reorder_frame *frames;	/* UROCE_REORDER_FRAMES */
	uint32_t frames_free;
	uint16_t first_free;
};

/** @return 0 or -ENOMEM */
int uroce_reorder_init(struct uroce_reorder_store *s, int numa_node);
/** Nothing is kept any more. */
void uroce_reorder_fini(struct uroce_reorder_store *s);

/** A request that is `ahead` (> 0) of the expected one. @return UROCE_EARLY: it is kept, with references of our own
 * to its mbufs; UROCE_DUPLICATE: it has been; UROCE_DROP_AHEAD: it is not. `report` becomes true if a SACK is to say so at once */
enum uroce_verdict uroce_reorder_keep(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p,
				      uint32_t ahead, bool *report);
/** What was kept and is expected now. @return false: nothing; else the mbuf is the caller's, to free */
bool uroce_reorder_take(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_packet *p);
/** Something was executed, and nothing that is kept is expected. @return is there a gap that is known of? */
bool uroce_reorder_settle(struct uroce_engine *e, struct uroce_qp *qp);
/** Give back whatever the QP keeps. */
void uroce_reorder_drop(struct uroce_engine *e, struct uroce_qp *qp);
/** Give back what has been kept for too long: it is sent again by who needs it. */
void uroce_reorder_expire(struct uroce_engine *e);
/** When uroce_reorder_expire() has something to do. UINT64_MAX: nothing is kept. */
uint64_t uroce_reorder_deadline(const struct uroce_reorder_store *s);
/** What a SACK of the QP says. @return how many runs it has */
unsigned int uroce_reorder_sack(const struct uroce_qp *qp, struct uroce_sack *sack);

#endif /* UROCE_TRANSPORT_RESPONDER_REORDER_H */
