/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Hands received frames over to other workers, in the order in which they were received; holds those for which an inbox
 * has no room. Workers, within a poll.
 */

#include <rte_debug.h>
#include <rte_mbuf.h>

#include "port/port.h"
#include "port/worker/handover.h"
#include "port/worker/inbox.h"
#include "port/worker/worker.h"
#include "verbs/qp/qp.h"

uint64_t
uroce_worker_bit(const struct uroce_worker *w)
{
	return UINT64_C(1) << w->index;
}

/* A QP moves: this thread runs both workers, so that the frame needs no inbox. @return false: it is for no QP of them */
static bool
deliver(struct uroce_worker *to, const struct uroce_port_queue *q, const struct uroce_packet *p)
{
	struct uroce_qp *qp = p->to_group ? NULL : uroce_qp_lookup(&q->port->dev, p->dest_qpn);
	struct uroce_engine *e = qp != NULL ? uroce_qp_engine(qp) : NULL;

	if (e != &to->engine && e != &q->worker->engine)
		return false;
	uroce_engine_receive(e, &qp, p, 1, to->now_ns);
	rte_pktmbuf_free(p->mbuf);
	return true;
}

static bool
put(struct uroce_handover *h, struct uroce_port_queue *q, const struct uroce_packet *p, struct uroce_worker *to)
{
	if (unlikely(to == q->worker->beside) && deliver(to, q, p))
		return true;
	if (!uroce_inbox_put(to, p, q))
		return false;
	h->stalled &= ~uroce_worker_bit(to);
	uroce_counter_add(&q->counters[UROCE_PORT_HANDED_OVER], 1);
	return true;
}

/* Try each worker of the set. @return the workers whose inbox has no room */
static uint64_t
put_each(struct uroce_handover *h, struct uroce_port_queue *q, const struct uroce_packet *p, uint64_t to)
{
	uint64_t left = to;

	for (uint16_t i = 0; to != 0 && i < q->port->nb_queues; i++) {
		struct uroce_worker *w = q->port->queues[i].worker;
		uint64_t bit = uroce_worker_bit(w);

		if ((to & bit) != 0 && put(h, q, p, w))
			left &= ~bit;
		to &= ~bit;
	}
	return left;
}

static void
drop(struct uroce_port_queue *q, const struct uroce_packet *p, uint64_t to)
{
	unsigned int n = (unsigned int)__builtin_popcountll(to);

	for (unsigned int i = 0; i < n; i++)
		rte_pktmbuf_free(p->mbuf);
	uroce_counter_add(&q->verdicts[UROCE_DROP_HANDOVER], n);
}

static void
hold(struct uroce_handover *h, struct uroce_port_queue *q, const struct uroce_packet *p, uint64_t to, uint64_t now_ns)
{
	RTE_ASSERT(h->count < UROCE_BURST);
	if (h->count == 0)
		h->since_ns = now_ns;
	h->frames[h->count++] = (struct uroce_held_frame){ .packet = *p, .queue = q, .to = to };
	h->awaited |= to;
}

/* Hold the frame for workers whose inbox is full, or that get earlier frames first; drop it for stalled ones. */
static void
hold_or_drop(struct uroce_handover *h, struct uroce_port_queue *q, const struct uroce_packet *p, uint64_t to,
	     uint64_t now_ns)
{
	drop(q, p, to & h->stalled);
	to &= ~h->stalled;
	if (to != 0)
		hold(h, q, p, to, now_ns);
}

void
uroce_handover(struct uroce_handover *h, struct uroce_port_queue *q, const struct uroce_packet *p,
	       struct uroce_worker *to, uint64_t now_ns)
{
	uint64_t bit = uroce_worker_bit(to);

	if (unlikely((h->awaited & bit) != 0 || !put(h, q, p, to)))
		hold_or_drop(h, q, p, bit, now_ns);
}

void
uroce_handover_group(struct uroce_handover *h, struct uroce_port_queue *q, const struct uroce_packet *p, uint64_t to,
		     uint64_t now_ns)
{
	uint64_t left = to & h->awaited;

	rte_pktmbuf_refcnt_update(p->mbuf, (int16_t)__builtin_popcountll(to));
	left |= put_each(h, q, p, to & ~left);
	if (unlikely(left != 0))
		hold_or_drop(h, q, p, left, now_ns);
}

/* The workers that the frames wait for have taken none in time. */
static void
give_up(struct uroce_handover *h)
{
	h->stalled |= h->awaited;
	for (unsigned int i = 0; i < h->count; i++)
		drop(h->frames[i].queue, &h->frames[i].packet, h->frames[i].to);
	h->awaited = 0;
	h->count = 0;
}

unsigned int
uroce_handover_retry(struct uroce_handover *h, uint64_t now_ns)
{
	unsigned int sent = 0, kept = 0;
	uint64_t full = 0;

	for (unsigned int i = 0; i < h->count; i++) {
		struct uroce_held_frame *f = &h->frames[i];
		uint64_t to = f->to;

		f->to = (to & full) | put_each(h, f->queue, &f->packet, to & ~full);
		full |= f->to;
		sent += f->to != to;
		if (f->to != 0)
			h->frames[kept++] = *f;
	}
	h->count = (uint16_t)kept;
	h->awaited = full;
	if (unlikely(kept != 0 && now_ns - h->since_ns > UROCE_HANDOVER_STALL_NS))
		give_up(h);
	return sent;
}

void
uroce_handover_away(struct uroce_handover *h, uint64_t ns)
{
	h->since_ns += ns;
}

void
uroce_handover_purge(struct uroce_handover *h, const struct uroce_port_queue *q)
{
	unsigned int kept = 0;

	h->awaited = 0;
	for (unsigned int i = 0; i < h->count; i++) {
		if (h->frames[i].queue == q) {
			drop(h->frames[i].queue, &h->frames[i].packet, h->frames[i].to);
			continue;
		}
		h->awaited |= h->frames[i].to;
		h->frames[kept++] = h->frames[i];
	}
	h->count = (uint16_t)kept;
}
