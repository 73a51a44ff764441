/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Included by the copies of the library's files that have planted faults (faults, plant.py).
 */

#ifndef UROCE_PLANTED_H
#define UROCE_PLANTED_H

#include "uroce_planted_faults.h"

enum uroce_planted {
	UROCE_PLANTED_NONE,
#define FAULT_CONSTANT(constant, name, breaks) constant,
	UROCE_PLANTED_FAULTS(FAULT_CONSTANT)
#undef FAULT_CONSTANT
};

/* The active fault, named by UROCE_PLANTED_FAULT in the environment. Set before main(); any thread reads it. */
extern enum uroce_planted uroce_planted;

/* Execute a request of one packet again: this changes memory and receive WQEs, but not the state of the responder. */
#define UROCE_PLANTED_EXECUTE_AGAIN(e, qp, p) do { \
	struct uroce_responder before = *uroce_responder_of(qp); \
	\
	if (((p)->info->flags & UROCE_OPF_FIRST) && ((p)->info->flags & UROCE_OPF_LAST)) { \
		uroce_responder_execute(e, qp, p); \
		if ((qp)->state != IBV_QPS_ERR) \
			*uroce_responder_of(qp) = before; \
	} \
} while (0)

#endif /* UROCE_PLANTED_H */
