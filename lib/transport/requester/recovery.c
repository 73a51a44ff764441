/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Finds the packets to retransmit: only the missing ones. Bitmaps and marks store which packets the peer has received
 * and answered. Two scans find each missing request and each missing response once. A retransmitted packet that is
 * still missing when the peer reports a newer packet was lost again, and is found again. The requester retransmits the
 * packets. On the engine's thread.
 */

#include <errno.h>
#include <string.h>

#include <rte_debug.h>
#include <rte_malloc.h>

#include "transport/requester/requester.h"
#include "uroce_config.h"

/* Give each record its share of the memory. */
static void
distribute(struct uroce_recoveries *r, uint32_t count, uint32_t words, uint32_t resent)
{
	r->lent = 0;
	r->free = NULL;
	for (uint32_t i = count; i > 0; i--) {
		struct uroce_recovery *rec = &r->entries[i - 1];

		rec->sacked.words = &r->words[(size_t)(i - 1) * 2 * words];
		rec->placed.words = rec->sacked.words + words;
		rec->resent = &r->resent[(size_t)(i - 1) * resent];
		rec->next = r->free;
		r->free = rec;
	}
}

int
uroce_recoveries_init(struct uroce_recoveries *r, uint32_t count, unsigned int log2_window, int numa_node)
{
	const uint32_t words = UROCE_PSN_SET_WORDS(1u << (log2_window + UROCE_LOG2_REORDER_WINDOWS));
	const uint32_t resent = 1u << (log2_window - 1);

	r->entries = rte_zmalloc_socket("recoveries", count * sizeof(*r->entries), RTE_CACHE_LINE_SIZE, numa_node);
	r->words = rte_zmalloc_socket("recoveries", (size_t)count * 2 * words * sizeof(*r->words), RTE_CACHE_LINE_SIZE,
				      numa_node);
	r->resent = rte_zmalloc_socket("recoveries", (size_t)count * resent * sizeof(*r->resent), RTE_CACHE_LINE_SIZE,
				       numa_node);
	if (r->entries == NULL || r->words == NULL || r->resent == NULL) {
		r->lent = 0;
		uroce_recoveries_fini(r);
		return -ENOMEM;
	}
	distribute(r, count, words, resent);
	return 0;
}

void
uroce_recoveries_fini(struct uroce_recoveries *r)
{
	RTE_VERIFY(r->lent == 0);
	rte_free(r->resent);
	rte_free(r->words);
	rte_free(r->entries);
}

/* @return NULL: none is free */
static struct uroce_recovery *
lend(struct uroce_engine *e)
{
	struct uroce_recovery *rec = e->recoveries.free;

	if (rec != NULL) {
		e->recoveries.free = rec->next;
		e->recoveries.lent++;
	}
	return rec;
}

static void
take_back(struct uroce_engine *e, struct uroce_recovery *rec)
{
	rec->next = e->recoveries.free;
	e->recoveries.free = rec;
	e->recoveries.lent--;
}

struct uroce_recovery *
uroce_recovery_begin(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	struct uroce_recovery *rec = req->recovery;

	/* without a timer, a retransmitted packet that is lost again might never be noticed: go back N at each NAK */
	if (rec != NULL || qp->dev->go_back_n || qp->timeout == 0)
		return rec;
	rec = lend(e);
	if (rec == NULL)
		return NULL;
	uroce_psn_set_clear(&rec->sacked, uroce_reorder_window(qp->dev));
	uroce_psn_set_clear(&rec->placed, uroce_reorder_window(qp->dev));
	rec->arrived = 0;
	rec->resent_size = 1u << (qp->dev->log2_window - 1);
	rec->expected = rec->answered = rec->high = rec->scan = rec->scan_answers = req->unacked;
	rec->cursor = qp->sq.head;
	rec->resent_head = rec->resent_tail = 0;
	rec->probe_state = UROCE_PROBE_NONE;
	rec->ask = false;
	req->recovery = rec;
	req->state = uroce_requester_step(UROCE_ON_MISSING)->next[req->state];
	return rec;
}

void
uroce_recovery_end(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	struct uroce_recovery *rec = req->recovery;

	if (rec == NULL)
		return;
	req->recovery = NULL;
	take_back(e, rec);
}

/* Copy a record, except for its memory. */
static void
copy(struct uroce_recovery *to, const struct uroce_recovery *from)
{
	const struct uroce_recovery own = *to;

	*to = *from;
	to->sacked = own.sacked;
	to->placed = own.placed;
	to->resent = own.resent;
	uroce_psn_set_copy(&to->sacked, &from->sacked);
	uroce_psn_set_copy(&to->placed, &from->placed);
	memcpy(to->resent, from->resent, from->resent_size * sizeof(to->resent[0]));
}

bool
uroce_recovery_move(struct uroce_engine *from, struct uroce_engine *to, struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	struct uroce_recovery *rec;

	if (req->recovery == NULL)
		return true;
	rec = lend(to);
	if (rec == NULL)
		return false;
	copy(rec, req->recovery);
	take_back(from, req->recovery);
	req->recovery = rec;
	return true;
}

/* The WQE of a PSN that was sent and is not answered. */
static const struct uroce_sqe *
find_wqe(const struct uroce_qp *qp, struct uroce_recovery *rec, uint32_t psn)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	uint32_t base = uroce_sqe_at(&qp->sq, qp->sq.head)->first_psn;
	const struct uroce_sqe *sqe;

	RTE_ASSERT(qp->sq.head != req->started);	/* else first_psn may be grace */
	if (rec->cursor - qp->sq.head >= req->started - qp->sq.head ||
	    uroce_psn_distance(uroce_sqe_at(&qp->sq, rec->cursor)->first_psn, base) > uroce_psn_distance(psn, base))
		rec->cursor = qp->sq.head;
	for (; rec->cursor != req->started; rec->cursor++) {
		sqe = uroce_sqe_at(&qp->sq, rec->cursor);
		if (uroce_psn_distance(psn, sqe->first_psn) < sqe->psn_count)
			return sqe;
	}
	return NULL;
}

const struct uroce_sqe *
uroce_recovery_wqe(const struct uroce_qp *qp, uint32_t psn)
{
	return find_wqe(qp, uroce_requester_of(qp)->recovery, psn);
}

static uint32_t
ahead_of(const struct uroce_qp *qp, uint32_t psn)
{
	return uroce_psn_distance(psn, uroce_requester_of(qp)->unacked);
}

static void
raise_mark(const struct uroce_qp *qp, uint32_t *mark, uint32_t psn)
{
	if (ahead_of(qp, psn) > ahead_of(qp, *mark))
		*mark = psn;
}

/* The number of PSNs, of n from psn on, that are within the bitmaps. */
static uint32_t
within_window(const struct uroce_qp *qp, uint32_t psn, uint32_t n)
{
	uint32_t window = uroce_reorder_window(qp->dev), ahead = ahead_of(qp, psn);

	return ahead >= window ? 0 : RTE_MIN(n, window - ahead);
}

/* Add n PSNs from psn on to one of the record's sets. */
static void
add(struct uroce_recovery *rec, struct uroce_psn_set *set, uint32_t psn, uint32_t n)
{
	rec->arrived += n - uroce_psn_set_either(&rec->sacked, &rec->placed, psn, n);
	uroce_psn_set_put(set, psn, n, true);
}

void
uroce_recovery_sacked(struct uroce_qp *qp, uint32_t psn, uint32_t n)
{
	struct uroce_recovery *rec = uroce_requester_of(qp)->recovery;

	add(rec, &rec->sacked, psn, within_window(qp, psn, n));
	raise_mark(qp, &rec->high, uroce_psn_add(psn, n));
}

void
uroce_recovery_heard(struct uroce_qp *qp, uint32_t expected, uint32_t answered)
{
	struct uroce_recovery *rec = uroce_requester_of(qp)->recovery;

	if (ahead_of(qp, expected) > ahead_of(qp, rec->expected)) {
		uroce_recovery_sacked(qp, rec->expected, uroce_psn_distance(expected, rec->expected));
		rec->expected = expected;
	}
	raise_mark(qp, &rec->answered, answered);
	raise_mark(qp, &rec->high, answered);
}

void
uroce_recovery_asked(struct uroce_qp *qp, uint32_t psn)
{
	raise_mark(qp, &uroce_requester_of(qp)->recovery->high, psn);
}

void
uroce_recovery_missing(struct uroce_qp *qp, uint32_t psn)
{
	raise_mark(qp, &uroce_requester_of(qp)->recovery->high, uroce_psn_add(psn, 1));
}

bool
uroce_recovery_place(struct uroce_qp *qp, uint32_t psn)
{
	struct uroce_recovery *rec = uroce_requester_of(qp)->recovery;

	if (ahead_of(qp, psn) >= rec->placed.window || uroce_psn_set_has(&rec->placed, psn))
		return false;
	add(rec, &rec->placed, psn, 1);
	return true;
}

bool
uroce_recovery_placed(struct uroce_qp *qp, uint32_t psn)
{
	return uroce_psn_set_has(&uroce_requester_of(qp)->recovery->placed, psn);
}

uint32_t
uroce_recovery_reached(struct uroce_qp *qp, const struct uroce_sqe *sqe)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	struct uroce_recovery *rec = req->recovery;
	uint32_t left = uroce_psn_distance(uroce_psn_add(sqe->first_psn, sqe->psn_count), req->unacked);
	uint32_t n;

	if (uroce_is_rd_atomic(sqe->opcode))
		n = uroce_psn_set_run(&rec->placed, req->unacked, RTE_MIN(left, rec->placed.window), true);
	else
		n = RTE_MIN(left, ahead_of(qp, rec->expected));
	return uroce_psn_add(req->unacked, n);
}

/* Does the probe end when the next n PSNs have been answered? It ends if its packet was answered before the
 * retransmission, if a packet behind it was answered, or if its packet was answered and none had been sent behind
 * it. */
static bool
probe_has_ended(const struct uroce_qp *qp, const struct uroce_recovery *rec, uint32_t n)
{
	uint32_t end = ahead_of(qp, rec->probe_end);

	if (rec->probe_state == UROCE_PROBE_DUE)
		return ahead_of(qp, rec->probe_psn) < n;
	return end < n || (end == n && rec->probe_end == rec->probe_max);
}

void
uroce_recovery_passed(struct uroce_qp *qp, uint32_t to)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	struct uroce_recovery *rec = req->recovery;
	uint32_t n = ahead_of(qp, to);
	const uint32_t leave = RTE_MIN(n, rec->sacked.window);
	uint32_t *const marks[] = { &rec->expected, &rec->answered, &rec->high, &rec->scan, &rec->scan_answers };

	rec->arrived -= uroce_psn_set_either(&rec->sacked, &rec->placed, req->unacked, leave);
	uroce_psn_set_put(&rec->sacked, req->unacked, leave, false);
	uroce_psn_set_put(&rec->placed, req->unacked, leave, false);
	for (unsigned int i = 0; i < RTE_DIM(marks); i++)
		if (ahead_of(qp, *marks[i]) < n)
			*marks[i] = to;
	if (rec->probe_state != UROCE_PROBE_NONE && probe_has_ended(qp, rec, n))
		rec->probe_state = UROCE_PROBE_NONE;
}

bool
uroce_recovery_done(const struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	const struct uroce_recovery *rec = req->recovery;

	return rec->high == req->unacked && rec->probe_state == UROCE_PROBE_NONE && !rec->ask;
}

void
uroce_recovery_forget_requests(struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	struct uroce_recovery *rec = req->recovery;

	uroce_psn_set_clear(&rec->sacked, rec->sacked.window);
	rec->arrived = uroce_psn_set_either(&rec->sacked, &rec->placed, req->unacked, rec->placed.window);
	add(rec, &rec->sacked, req->unacked, RTE_MIN(ahead_of(qp, rec->expected), rec->sacked.window));
	rec->high = rec->expected;
	raise_mark(qp, &rec->high, rec->answered);
	rec->scan = rec->scan_answers = req->unacked;
	rec->resent_head = rec->resent_tail;
}

uint32_t
uroce_recovery_window(const struct uroce_qp *qp)
{
	const struct uroce_recovery *rec = uroce_requester_of(qp)->recovery;

	return RTE_MIN(uroce_window(uroce_requester_of(qp)) + rec->arrived, rec->sacked.window - 1);
}

/* Has the QP gone back, and are all packets in flight again? This lasts until the peer reports a newer packet. */
static bool
is_going_again(const struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	uint32_t back = ahead_of(qp, req->went_back);

	return back <= ahead_of(qp, req->max_psn) && ahead_of(qp, req->recovery->high) <= back && back > 0;
}

/* The number of PSNs from `from` to `mark` within the bitmaps. */
static uint32_t
before_mark(const struct uroce_qp *qp, uint32_t from, uint32_t mark)
{
	uint32_t end = RTE_MIN(ahead_of(qp, mark), uroce_reorder_window(qp->dev));

	return end > ahead_of(qp, from) ? end - ahead_of(qp, from) : 0;
}

/* The number of PSNs from `from` on in which a missing request counts as lost. */
static uint32_t
known_requests(const struct uroce_qp *qp, uint32_t from)
{
	return unlikely(is_going_again(qp)) ? 0 : before_mark(qp, from, uroce_requester_of(qp)->recovery->high);
}

/* The number of PSNs from `from` on in which a missing response counts as lost. After a timeout, a response answers the
 * retransmitted request, and the requester does not wait for a newer packet: a long READ may be the only packet that it
 * may send. */
static uint32_t
known_responses(const struct uroce_qp *qp, uint32_t from)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	if (unlikely(is_going_again(qp)) && req->state != UROCE_REQUESTER_TIMEOUT_RECOVERS)
		return 0;
	return before_mark(qp, from, req->recovery->answered);
}

/* Find the first request that the peer lacks, among n PSNs from *psn on. @param psn	set to its PSN, or to the end */
static bool
missing_request(const struct uroce_qp *qp, struct uroce_recovery *rec, uint32_t *psn, uint32_t n)
{
	uint32_t skip = ahead_of(qp, rec->expected) > ahead_of(qp, *psn) ? uroce_psn_distance(rec->expected, *psn) : 0;

	while (skip < n) {
		uint32_t at = uroce_psn_add(*psn, skip);
		uint32_t run = uroce_psn_set_run(&rec->sacked, at, n - skip, true);

		if (run == 0)
			run = uroce_psn_set_run(&rec->placed, at, n - skip, true);
		if (run == 0) {
			*psn = at;
			return true;
		}
		skip += run;
	}
	*psn = uroce_psn_add(*psn, n);
	return false;
}

/* Find the first missing response among n PSNs from *psn on. @param psn	set to its PSN, or to the end */
static bool
missing_response(const struct uroce_qp *qp, struct uroce_recovery *rec, uint32_t *psn, uint32_t n)
{
	uint32_t end = uroce_psn_add(*psn, n);

	while (*psn != end && uroce_requester_of(qp)->rd_atomics > 0) {
		const struct uroce_sqe *sqe = find_wqe(qp, rec, *psn);
		uint32_t left = sqe == NULL ? 1 : sqe->psn_count - uroce_psn_distance(*psn, sqe->first_psn);

		left = RTE_MIN(left, uroce_psn_distance(end, *psn));
		if (sqe != NULL && uroce_is_rd_atomic(sqe->opcode)) {
			uint32_t run = uroce_psn_set_run(&rec->placed, *psn, left, true);

			*psn = uroce_psn_add(*psn, run);
			if (run < left)
				return true;
		} else {
			*psn = uroce_psn_add(*psn, left);
		}
	}
	*psn = end;
	return false;
}

/* @return the number of PSNs to retransmit: 1; for an executed READ its run of missing responses; else the whole READ
 * @param psn	set to the first PSN of a READ that was not executed */
static uint32_t
extent(const struct uroce_qp *qp, struct uroce_recovery *rec, const struct uroce_sqe *sqe, uint32_t *psn)
{
	uint32_t executed = ahead_of(qp, rec->expected) > ahead_of(qp, rec->answered) ? rec->expected : rec->answered;
	uint32_t base = uroce_sqe_at(&qp->sq, qp->sq.head)->first_psn;
	uint32_t left, room, run;

	RTE_ASSERT(qp->sq.head != uroce_requester_of(qp)->started);	/* as in find_wqe() */
	if (sqe->opcode != IBV_WR_RDMA_READ)
		return 1;
	if (uroce_psn_distance(executed, base) <= uroce_psn_distance(sqe->first_psn, base)) {
		*psn = sqe->first_psn;
		return sqe->psn_count;
	}
	left = sqe->psn_count - uroce_psn_distance(*psn, sqe->first_psn);
	left = RTE_MIN(left, RTE_MAX(uroce_psn_distance(rec->answered, *psn), 1u));
	room = rec->placed.window - ahead_of(qp, *psn);
	run = uroce_psn_set_run(&rec->placed, *psn, RTE_MIN(left, room), false);
	return run < room ? run : left;	/* no response beyond the window has been placed */
}

/* Is one of these retransmitted packets still missing? @param psn	set to the first missing PSN */
static bool
still_missing(const struct uroce_qp *qp, struct uroce_recovery *rec, const struct uroce_resent *r, uint32_t *psn)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	uint32_t passed = uroce_psn_distance(req->unacked, r->psn);
	uint32_t n = r->count;

	*psn = r->psn;
	if (uroce_psn_diff(req->unacked, r->psn) > 0) {
		if (passed >= n)
			return false;
		*psn = req->unacked;
		n -= passed;
	}
	if (missing_request(qp, rec, psn, RTE_MIN(n, known_requests(qp, *psn))))
		return true;
	*psn = uroce_psn_diff(req->unacked, r->psn) > 0 ? req->unacked : r->psn;
	return missing_response(qp, rec, psn, RTE_MIN(n, known_responses(qp, *psn)));
}

/* Has the oldest retransmitted packet in flight been lost again? It has if the peer still lacks it, although the peer
 * has reported on a packet that was first sent later. */
static bool
lost_again(const struct uroce_qp *qp, struct uroce_recovery *rec, uint32_t *psn)
{
	for (; rec->resent_head != rec->resent_tail; rec->resent_head++) {
		const struct uroce_resent *r = &rec->resent[rec->resent_head & (rec->resent_size - 1)];

		if (!still_missing(qp, rec, r, psn))
			continue;
		return ahead_of(qp, rec->high) > ahead_of(qp, r->marker);
	}
	return false;
}

/* Find the next missing packet. @param scan	set to the scan that found it, or to NULL if it was lost again */
static bool
find_missing(const struct uroce_qp *qp, struct uroce_recovery *rec, uint32_t *psn, uint32_t **scan)
{
	*scan = NULL;
	if (lost_again(qp, rec, psn))
		return true;
	if (rec->resent_tail - rec->resent_head == rec->resent_size)
		return false;
	if (missing_request(qp, rec, &rec->scan, known_requests(qp, rec->scan)))
		*scan = &rec->scan;
	else if (missing_response(qp, rec, &rec->scan_answers, known_responses(qp, rec->scan_answers)))
		*scan = &rec->scan_answers;
	else
		return false;
	*psn = **scan;
	return true;
}

enum uroce_resend_kind
uroce_recovery_next(struct uroce_qp *qp, struct uroce_resend *next)
{
	struct uroce_recovery *rec = uroce_requester_of(qp)->recovery;

	if (rec->ask)
		return next->kind = UROCE_RESEND_ASK;
	if (rec->probe_state == UROCE_PROBE_DUE) {
		*next = (struct uroce_resend){
			.kind = UROCE_RESEND_PROBE, .sqe = find_wqe(qp, rec, rec->probe_psn), .psn = rec->probe_psn,
			.count = uroce_psn_distance(rec->probe_end, rec->probe_psn),
		};
		return next->kind;
	}
	if (!find_missing(qp, rec, &next->psn, &next->scan))
		return next->kind = UROCE_RESEND_NOTHING;
	next->sqe = find_wqe(qp, rec, next->psn);
	RTE_VERIFY(next->sqe != NULL);
	next->count = extent(qp, rec, next->sqe, &next->psn);
	return next->kind = UROCE_RESEND_MISSING;
}

void
uroce_recovery_sent(struct uroce_qp *qp, const struct uroce_resend *sent)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	struct uroce_recovery *rec = req->recovery;

	if (sent->kind == UROCE_RESEND_ASK) {
		rec->ask = false;
		return;
	}
	if (sent->kind == UROCE_RESEND_PROBE) {
		rec->probe_state = rec->probe_next;
		return;
	}
	if (sent->scan == NULL)
		rec->resent_head++;
	else
		*sent->scan = uroce_psn_add(sent->psn, sent->count);
	rec->resent[rec->resent_tail++ & (rec->resent_size - 1)] =
		(struct uroce_resent){ .psn = sent->psn, .count = sent->count, .marker = req->max_psn };
}
