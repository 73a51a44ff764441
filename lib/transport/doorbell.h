/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The doorbells of an engine: a stack of the QPs to which the application has posted, and the rings of thread domains
 * (verbs/qp/bells.h). On the engine's thread.
 */

#ifndef UROCE_TRANSPORT_DOORBELL_H
#define UROCE_TRANSPORT_DOORBELL_H

#include <stdbool.h>

#include <rte_branch_prediction.h>

#include "transport/engine.h"

/** Have the engine poll the doorbells of a thread domain; answer them now; or answer them and stop polling them. */
void uroce_bells_add(struct uroce_bells *bells);
void uroce_bells_take(struct uroce_bells *bells);
void uroce_bells_del(struct uroce_bells *bells);

/** Answer all doorbells that were rung: give the QPs a turn, or flush those in the error state. */
void uroce_doorbells_take_all(struct uroce_engine *e);

static inline void
uroce_doorbells_take(struct uroce_engine *e)
{
	if (unlikely(uroce_engine_is_rung(e)))
		uroce_doorbells_take_all(e);
}

/**
 * Keep all threads from ringing the QP's doorbell until uroce_doorbell_release(). Meanwhile they may post.
 * @return	false: another thread is ringing it; try again
 */
bool uroce_doorbell_hold(struct uroce_qp *qp);

/** Let threads ring the doorbell again, at the QP's engine, and answer it. */
void uroce_doorbell_release(struct uroce_qp *qp);

#endif /* UROCE_TRANSPORT_DOORBELL_H */
