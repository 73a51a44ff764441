/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The objects of target verbs: several of each kind, created, changed and destroyed as the input says. For one thread.
 */

#ifndef UROCE_TEST_FUZZ_OBJECTS_H
#define UROCE_TEST_FUZZ_OBJECTS_H

#include <uroce.h>

#include "fuzz.h"

#define OBJECTS_EACH         6
#define OBJECTS_BUFFER_BYTES 16384u

struct objects {
	struct ibv_pd *pds[OBJECTS_EACH];
	struct ibv_comp_channel *channels[OBJECTS_EACH];
	struct ibv_cq *cqs[OBJECTS_EACH];
	bool extended[OBJECTS_EACH]; /* cqs[i] is an extended CQ */
	struct ibv_mr *mrs[OBJECTS_EACH];
	struct ibv_mw *mws[OBJECTS_EACH];
	struct ibv_ah *ahs[OBJECTS_EACH];
	struct ibv_xrcd *xrcds[OBJECTS_EACH];
	struct ibv_srq *srqs[OBJECTS_EACH];
	struct ibv_qp *qps[OBJECTS_EACH];
	uint8_t buffer[OBJECTS_BUFFER_BYTES];
};

extern struct objects objects;

/* An object that the input selects; NULL if its slot is empty. */
#define OBJECTS_PICK(in, kind) (objects.kind[fuzz_below(in, OBJECTS_EACH)])

/** Create an object in the slot that the input names, or destroy the one in it. */
void objects_toggle(struct fuzz_input *in);
/** Change an object. */
void objects_change(struct fuzz_input *in);
/** Destroy all objects, in an order that must succeed. */
void objects_end(void);
/** Acknowledge all events. */
void objects_drain_events(void);
/** A valid SGE, or a nearly valid one. */
struct ibv_sge objects_sge(struct fuzz_input *in);

#endif /* UROCE_TEST_FUZZ_OBJECTS_H */
