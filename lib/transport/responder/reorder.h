/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The reorder buffer: requests ahead of the expected PSN, because a packet before them was lost or overtaken. It keeps
 * their mbufs, in bounded number and for a bounded time, until the responder can execute them in order. On the engine's
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

/* A kept frame, with one reference to each of its segments. */
struct uroce_reorder_frame {
	struct uroce_packet packet;
	uint16_t next;			/* free list; UROCE_REORDER_FRAMES: its end */
};

/* The frames of one QP. Slot PSN & UROCE_REORDER_MASK is unique, since all PSNs are less than a window ahead. */
struct uroce_reorder {
	TAILQ_ENTRY(uroce_reorder) link;	/* in holders or free */
	struct uroce_qp *qp;
	uint64_t since_ns;		/* time of the last progress */
	uint32_t psn;			/* expected PSN, as of the last call: frames before it are released */
	uint32_t end;			/* one past the last kept PSN */
	uint32_t refused;		/* one past the last PSN that arrived and was not kept */
	uint32_t frames;
	struct uroce_psn_set present;	/* kept PSNs; a READ has those of its responses */
	uint16_t slots[UROCE_REORDER_WINDOW];	/* frame of a PSN; UROCE_REORDER_FRAMES: none of its own */
};

TAILQ_HEAD(uroce_reorder_list, uroce_reorder);

/* The reorder buffers of an engine. */
struct uroce_reorder_store {
	struct uroce_reorder_list holders;	/* QPs that keep frames, by since_ns */
	struct uroce_reorder_list free;
	struct uroce_reorder *qps;	/* UROCE_REORDER_QPS */
	struct uroce_reorder_frame *frames;	/* UROCE_REORDER_FRAMES */
	uint32_t frames_free;
	uint16_t first_free;
};

/** @return 0 or -ENOMEM */
int uroce_reorder_init(struct uroce_reorder_store *s, int numa_node);
/** The buffers must be empty. */
void uroce_reorder_fini(struct uroce_reorder_store *s);

/** Keep a request that is `ahead` (> 0) of the expected PSN, if possible.
 * @param report	set to true if a SACK has to report it at once
 * @return	UROCE_EARLY: it is kept, with references of our own to its mbufs; UROCE_DUPLICATE: it was kept before;
 *		UROCE_DROP_AHEAD: it is not kept */
enum uroce_verdict uroce_reorder_keep(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p,
				      uint32_t ahead, bool *report);
/** Take the kept request with the expected PSN. @return false: there is none; true: the caller frees its mbuf */
bool uroce_reorder_take(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_packet *p);
/** After progress, once uroce_reorder_take() has returned false. @return whether there is a known gap */
bool uroce_reorder_settle(struct uroce_engine *e, struct uroce_qp *qp);
/** Drop all frames that the QP keeps. */
void uroce_reorder_drop(struct uroce_engine *e, struct uroce_qp *qp);
/** Drop frames that have been kept for too long: a peer that still needs them retransmits them. */
void uroce_reorder_expire(struct uroce_engine *e);
/** @return when uroce_reorder_expire() has to run; UINT64_MAX: no frame is kept */
uint64_t uroce_reorder_deadline(const struct uroce_reorder_store *s);
/** Fill in a SACK of the QP. @return the number of its runs */
unsigned int uroce_reorder_sack(const struct uroce_qp *qp, struct uroce_sack *sack);

#endif /* UROCE_TRANSPORT_RESPONDER_REORDER_H */
