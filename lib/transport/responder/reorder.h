/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The reorder buffer: keeps requests that arrive ahead of the expected PSN, in a bounded number of mbufs and for a
 * bounded time, until the responder can execute them in order. On the engine's thread.
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

#define UROCE_REORDER_NO_FRAME UINT16_MAX

/* A kept frame, with one reference to each of its segments. */
struct uroce_reorder_frame {
	struct uroce_packet packet;
	uint16_t next;			/* free list */
};

/* The frames of one QP. Slot PSN modulo present.window is unique, since all PSNs are less than a window ahead. */
struct uroce_reorder {
	TAILQ_ENTRY(uroce_reorder) link;	/* in holders or free */
	struct uroce_qp *qp;
	uint64_t since_ns;		/* time of the last progress */
	uint32_t psn;			/* expected PSN at the last call; frames before it have been freed */
	uint32_t end;			/* one past the last kept PSN */
	uint32_t refused;		/* one past the last PSN that has arrived and was not kept */
	uint32_t frames;
	struct uroce_psn_set present;	/* kept PSNs; a READ has the PSNs of all its responses */
	uint16_t *slots;		/* frame of a PSN; UROCE_REORDER_NO_FRAME: part of a READ, or taken */
};

TAILQ_HEAD(uroce_reorder_list, uroce_reorder);

/* The reorder buffers of an engine. */
struct uroce_reorder_store {
	struct uroce_reorder_list holders;	/* buffers of QPs that keep frames, ordered by since_ns */
	struct uroce_reorder_list free;
	struct uroce_reorder *qps;
	uint64_t *words;		/* of the QPs' sets */
	uint16_t *slots;		/* of the QPs */
	struct uroce_reorder_frame *frames;
	uint32_t frames_count;
	uint32_t frames_free;
	uint16_t first_free;
};

/** @param frames	at most UROCE_MAX_REORDER_FRAMES. @return 0 or -ENOMEM */
int uroce_reorder_init(struct uroce_reorder_store *s, uint32_t frames, uint32_t qps, unsigned int log2_window,
		       int numa_node);
/** The buffers must be empty. */
void uroce_reorder_fini(struct uroce_reorder_store *s);

/** Keep a request that is `ahead` (> 0) of the expected PSN, if possible.
 * @param report	set to true if a SACK has to report it at once
 * @return	UROCE_EARLY: it is kept, with a reference to its mbufs; UROCE_DUPLICATE: it was kept before;
 *		UROCE_DROP_AHEAD: it is not kept */
enum uroce_verdict uroce_reorder_keep(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p,
				      uint32_t ahead, bool *report);
/** Take the kept request with the expected PSN. @return false: there is none; true: the caller frees its mbuf */
bool uroce_reorder_take(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_packet *p);
/** Restart the time limit, or release the empty buffer. Call after progress, once uroce_reorder_take() has
 * returned false.
 * @return whether there is a known gap */
bool uroce_reorder_settle(struct uroce_engine *e, struct uroce_qp *qp);
/** Drop all frames that the QP keeps. */
void uroce_reorder_drop(struct uroce_engine *e, struct uroce_qp *qp);
/** Move the frames that the QP keeps to another engine, or drop them if that engine has no room for all. */
void uroce_reorder_move(struct uroce_engine *from, struct uroce_engine *to, struct uroce_qp *qp);
/** Drop frames that have been kept for too long; the peer retransmits them if needed. */
void uroce_reorder_expire(struct uroce_engine *e);
/** @return the time at which uroce_reorder_expire() is due; UINT64_MAX: no frame is kept */
uint64_t uroce_reorder_deadline(const struct uroce_reorder_store *s);
/** Fill in a SACK of the QP. @return the number of its runs */
unsigned int uroce_reorder_sack(const struct uroce_qp *qp, struct uroce_sack *sack);

#endif /* UROCE_TRANSPORT_RESPONDER_REORDER_H */
