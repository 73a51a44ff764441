/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Congestion control: how fast a QP may send. On the engine's thread.
 *
 *	marks.c		sends a CNP for a received packet that has an ECN mark
 *	dcqcn.c		DCQCN: a QP's rate from the CNPs that it receives, and how the rate recovers
 *	pacer.c		delays the turns of a QP that has a rate, and hands out rates
 */

#ifndef UROCE_TRANSPORT_CONGESTION_CONGESTION_H
#define UROCE_TRANSPORT_CONGESTION_CONGESTION_H

#include "transport/congestion/pacer.h"
#include "transport/engine.h"
#include "verbs/qp/qp.h"
#include "wire/packet.h"

/* marks.c */
/** A packet with an ECN mark was received. @param verdict	the result of processing it */
void uroce_congestion_marked(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p,
			     enum uroce_verdict verdict);

#endif /* UROCE_TRANSPORT_CONGESTION_CONGESTION_H */
