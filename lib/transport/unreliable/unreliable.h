/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The transports without ACKs and retransmission: UC and UD. On the engine's thread.
 *
 *	uc_receive.c	unreliable connections: receives whole messages, and drops incomplete ones
 *	uc_send.c	unreliable connections: cuts send WQEs into packets
 *	ud_receive.c	datagrams: receives each with its GRH
 *	ud_send.c	datagrams: sends each to its address handle
 */

#ifndef UROCE_TRANSPORT_UNRELIABLE_UNRELIABLE_H
#define UROCE_TRANSPORT_UNRELIABLE_UNRELIABLE_H

#include <stdbool.h>

#include "transport/engine.h"
#include "transport/qp/qp.h"
#include "transport/qp/state.h"
#include "verbs/qp/qp.h"
#include "wire/packet.h"

/* uc_receive.c, ud_receive.c */
enum uroce_verdict uroce_uc_receive(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);
enum uroce_verdict uroce_ud_receive(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);

/* uc_send.c, ud_send.c */
unsigned int uroce_uc_send(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames,
			   unsigned int room);
unsigned int uroce_ud_send(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames,
			   unsigned int room);

/** Does a UC or UD QP receive in its state? */
static inline bool
uroce_is_receiving(const struct uroce_qp *qp)
{
	return qp->state >= IBV_QPS_RTR && qp->state <= IBV_QPS_SQE;
}

/** @return the next send WQE of a UC or UD QP; NULL: there is none, or the state does not allow sending. In SQD the QP
 * only finishes a started WQE. */
static inline struct uroce_sqe *
uroce_unreliable_next(const struct uroce_qp *qp)
{
	/* pairs with the release in uroce_post_send() */
	if (qp->sq.head == __atomic_load_n(&qp->sq.tail, __ATOMIC_ACQUIRE))
		return NULL;
	if (qp->state != IBV_QPS_RTS && (qp->state != IBV_QPS_SQD || uroce_requester_of(qp)->offset == 0))
		return NULL;
	return uroce_sqe_at(&qp->sq, qp->sq.head);
}

#endif /* UROCE_TRANSPORT_UNRELIABLE_UNRELIABLE_H */
