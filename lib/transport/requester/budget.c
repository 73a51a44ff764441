/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Limits the packets that all QPs of an engine have in flight to one peer. Each QP has a window of its own, but the
 * windows of many QPs together only fill queues: frames wait in rings until they have left the caches, and round trips
 * become so long that timers fire. A QP without room waits in a list, and gets a turn when packets have been answered.
 *
 * A budget searches for the smallest limit with the full rate. It measures the time in which a few limits of packets are
 * answered, then tries twice the limit and half of it, and repeats this at intervals. The rate of a path does not
 * depend on the limit if the limit is larger than the path holds. So the limit grows on a long path, and no queue does
 * on a short one. On the engine's thread.
 */

#include <string.h>

#include "transport/qp/turns.h"
#include "transport/requester/requester.h"
#include "uroce_config.h"

#define EPOCH 4		/* length of an epoch, in limits; 1 while the first search tries larger limits */
#define EPOCHS 4	/* a step ends unsuccessfully after this many epochs */
#define GAIN_PART 8	/* twice the limit has to save this part of the time of a packet */
#define LOSS_PART 32	/* half the limit may add this part */
#define KEEP_EPOCHS 64	/* least time between two searches, in epochs */

void
uroce_budgets_init(struct uroce_engine *e)
{
	for (unsigned int i = 0; i < RTE_DIM(e->budgets); i++) {
		struct uroce_budget *b = &e->budgets[i];

		TAILQ_INIT(&b->waiting);
		b->limit = UROCE_BUDGET_PACKETS;
		b->pace = UINT32_MAX;
	}
}

uint8_t
uroce_budget_choose(const struct uroce_qp *qp)
{
	uint32_t words[4], hash;

	memcpy(words, qp->path.dgid.raw, sizeof(words));
	hash = (words[0] ^ words[1] ^ words[2] ^ words[3]) * 0x9e3779b1u;
	return (uint8_t)(hash >> (32 - UROCE_LOG2_BUDGETS));
}

/* Give the first waiting QP a turn, if the budget has room. */
static void
grant(struct uroce_engine *e, struct uroce_budget *b)
{
	struct uroce_qp *qp = TAILQ_FIRST(&b->waiting);

	if (qp == NULL || b->in_flight >= b->limit)
		return;
	uroce_qp_activate(e, qp);
	qp->listed |= UROCE_QP_GRANTED;
}

/* Update the number of packets with which the QP counts: those that it has sent in this pass, and that may still be on
 * their way. Without a timer, lost packets would count forever. */
static void
charge(struct uroce_budget *b, struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	uint32_t n = 0, arrived = req->recovery != NULL ? req->recovery->arrived : 0;

	if ((qp->listed & (UROCE_QP_BULK | UROCE_QP_SILENT)) == UROCE_QP_BULK && qp->timeout != 0)
		n = uroce_psn_distance(req->psn, req->unacked);
	n = n > arrived ? RTE_MIN(n - arrived, (uint32_t)UINT16_MAX) : 0;
	b->in_flight += n - req->charged;
	req->charged = (uint16_t)n;
}

/* Use the budget from now on. @return false: QPs to another peer use it, which must not slow this one */
static inline bool
take(struct uroce_budget *b, struct uroce_qp *qp)
{
	if (qp->listed & UROCE_QP_BULK)
		return true;
	if (b->qps == 0)
		memcpy(b->gid, qp->path.dgid.raw, sizeof(b->gid));
	else if (unlikely(memcmp(b->gid, qp->path.dgid.raw, sizeof(b->gid)) != 0))
		return false;
	b->qps++;
	qp->listed |= UROCE_QP_BULK;
	return true;
}

/* Use the budget no longer, until the QP sends a packet that counts. */
static inline void
put(struct uroce_budget *b, struct uroce_qp *qp)
{
	b->qps -= (qp->listed & UROCE_QP_BULK) != 0;
	qp->listed &= ~UROCE_QP_BULK;
}

/* Try a limit of `limit` packets, or end the search. */
static void
try(struct uroce_budget *b, enum uroce_budget_step step, uint32_t limit)
{
	if (step == UROCE_BUDGET_DOUBLE && limit > UROCE_MAX_BUDGET_PACKETS) {
		step = UROCE_BUDGET_HALVE;
		limit = b->limit / 2;
	}
	if (step == UROCE_BUDGET_HALVE && limit < UROCE_MIN_BUDGET_PACKETS)
		step = UROCE_BUDGET_KEEP;
	else
		b->limit = limit;
	b->step = (uint8_t)step;
	b->epochs = 0;
}

static void
keep(struct uroce_budget *b, uint64_t took_ns, uint64_t now_ns)
{
	b->settled = true;
	b->keep_ns = now_ns + RTE_MAX(UROCE_BUDGET_KEEP_NS, KEEP_EPOCHS * took_ns);
}

/* An epoch has ended, in which QPs had to wait: take the search a step further. */
static void
search(struct uroce_budget *b, uint32_t pace)
{
	const bool last = ++b->epochs == EPOCHS;

	switch (b->step) {
	case UROCE_BUDGET_MEASURE:
		b->pace = RTE_MIN(b->pace, pace);
		if (last || !b->settled)
			try(b, UROCE_BUDGET_DOUBLE, 2 * b->limit);
		break;
	case UROCE_BUDGET_DOUBLE:
		if (pace <= b->pace - b->pace / GAIN_PART) {
			b->pace = pace;
			try(b, UROCE_BUDGET_DOUBLE, 2 * b->limit);
		} else if (last) {
			b->limit /= 2;
			try(b, UROCE_BUDGET_HALVE, b->limit / 2);
		}
		break;
	case UROCE_BUDGET_HALVE:
		/* not in the first epoch, while the queue of the larger limit drains */
		if (b->epochs > 1 && pace <= b->pace + b->pace / LOSS_PART) {
			b->pace = RTE_MIN(b->pace, pace);
			try(b, UROCE_BUDGET_HALVE, b->limit / 2);
		} else if (last) {
			try(b, UROCE_BUDGET_KEEP, 2 * b->limit);
		}
		break;
	default:
		b->pace = UINT32_MAX;
		try(b, UROCE_BUDGET_MEASURE, b->limit);
	}
}

static void
end_epoch(struct uroce_budget *b, uint64_t now_ns)
{
	const uint64_t took_ns = now_ns - b->since_ns;
	const bool counts = b->limited && b->since_ns != 0 && (b->step != UROCE_BUDGET_KEEP || now_ns >= b->keep_ns);

	if (counts)
		search(b, (uint32_t)RTE_MIN(took_ns * 1024 / b->answered, (uint64_t)UINT32_MAX));
	if (counts && b->step == UROCE_BUDGET_KEEP)
		keep(b, took_ns, now_ns);
	b->since_ns = now_ns;
	b->answered = 0;
	b->limited = !TAILQ_EMPTY(&b->waiting);
}

void
uroce_budget_answered(struct uroce_engine *e, struct uroce_qp *qp, uint32_t n)
{
	struct uroce_budget *b = uroce_budget_of(e, qp);

	charge(b, qp);
	if (uroce_requester_of(qp)->charged == 0)
		put(b, qp);
	b->answered += n;
	if (b->answered >= b->limit * (b->settled || b->step == UROCE_BUDGET_HALVE ? EPOCH : 1))
		end_epoch(b, e->now_ns);
	grant(e, b);
}

void
uroce_budget_update(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_budget *b = uroce_budget_of(e, qp);

	charge(b, qp);
	grant(e, b);
}

void
uroce_budget_leave(struct uroce_engine *e, struct uroce_qp *qp)
{
	if (qp->listed & UROCE_QP_WAITING)
		uroce_qp_deactivate(e, qp);
	put(uroce_budget_of(e, qp), qp);
	qp->listed &= ~(UROCE_QP_GRANTED | UROCE_QP_SILENT);
	uroce_budget_update(e, qp);
}

uint32_t
uroce_budget_room(struct uroce_engine *e, struct uroce_qp *qp)
{
	const struct uroce_requester *req = uroce_requester_of(qp);
	struct uroce_budget *b = uroce_budget_of(e, qp);
	const bool queues = !TAILQ_EMPTY(&b->waiting) && (qp->listed & UROCE_QP_GRANTED) == 0;

	if (unlikely(!take(b, qp)))
		return UROCE_PSN_MASK;
	if (b->in_flight == req->charged && !queues)
		return UROCE_PSN_MASK;	/* no other QP has packets in flight */
	if (b->in_flight < b->limit && !queues)
		return RTE_MAX(b->limit - b->in_flight, (uint32_t)UROCE_SEND_QUANTUM);
	/* the peer answers what it has got only if the last packet has AckReq */
	return req->since_ack_req != 0 ? 1 : 0;
}

void
uroce_budget_wait(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_budget *b = uroce_budget_of(e, qp);

	b->limited = true;
	uroce_qp_deactivate(e, qp);
	qp->listed |= UROCE_QP_WAITING;
	if (qp->listed & UROCE_QP_GRANTED)
		TAILQ_INSERT_HEAD(&b->waiting, qp, active_link);
	else
		TAILQ_INSERT_TAIL(&b->waiting, qp, active_link);
}

void
uroce_budget_sent(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_budget *b = uroce_budget_of(e, qp);
	const bool granted = (qp->listed & UROCE_QP_GRANTED) != 0;

	qp->listed &= ~UROCE_QP_GRANTED;
	charge(b, qp);
	if (granted)
		grant(e, b);
}
