/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The objects of the target verbs: some of each kind, made, changed and destroyed as an input says.
 * One thread.
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
	bool extended[OBJECTS_EACH]; /* cqs[i] was made by uroce_create_cq_ex() */
	struct ibv_mr *mrs[OBJECTS_EACH];
	struct ibv_mw *mws[OBJECTS_EACH];
	struct ibv_ah *ahs[OBJECTS_EACH];
	struct ibv_xrcd *xrcds[OBJECTS_EACH];
	struct ibv_srq *srqs[OBJECTS_EACH];
	struct ibv_qp *qps[OBJECTS_EACH];
	uint8_t buffer[OBJECTS_BUFFER_BYTES];
};

extern struct objects objects;

/* One of them, chosen by the input; NULL: there is none at this place. */
#define OBJECTS_PICK(in, kind) (objects.kind[fuzz_below(in, OBJECTS_EACH)])

/** Make an object, or destroy it if there is one at the place that the input names. */
void objects_toggle(struct fuzz_input *in);
/** Change one. */
void objects_change(struct fuzz_input *in);
/** Destroy all, in an order in which that has to work. */
void objects_end(void);
/** Acknowledge every event. */
void objects_drain_events(void);
/** An SGE that is right, or nearly. */
struct ibv_sge objects_sge(struct fuzz_input *in);

#endif /* UROCE_TEST_FUZZ_OBJECTS_H */
