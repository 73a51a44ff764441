/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The reorder buffer: keeps requests that arrive ahead of the expected PSN until the requests before them have arrived.
 * The number of frames, the number of QPs and the time are bounded; the peer retransmits a request that is not kept.
 * On the engine's thread.
 */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <rte_debug.h>
#include <rte_malloc.h>

#include "transport/responder/responder.h"
#include "uroce_config.h"

static_assert(UROCE_MAX_REORDER_FRAMES < UROCE_REORDER_NO_FRAME, "UROCE_MAX_REORDER_FRAMES");

/* Give each QP's buffer its share of the memory, and put all buffers and frames into their free lists. */
static void
distribute(struct uroce_reorder_store *s, uint32_t frames, uint32_t qps, uint32_t window)
{
	for (uint32_t i = 0; i < qps; i++) {
		s->qps[i].present.words = &s->words[(size_t)i * UROCE_PSN_SET_WORDS(window)];
		s->qps[i].slots = &s->slots[(size_t)i * window];
		TAILQ_INSERT_TAIL(&s->free, &s->qps[i], link);
	}
	for (uint32_t i = 0; i < frames; i++)
		s->frames[i].next = (uint16_t)(i + 1);
	s->first_free = 0;
	s->frames_count = s->frames_free = frames;
}

int
uroce_reorder_init(struct uroce_reorder_store *s, uint32_t frames, uint32_t qps, unsigned int log2_window, int numa_node)
{
	const uint32_t window = 1u << (log2_window + UROCE_LOG2_REORDER_WINDOWS);

	TAILQ_INIT(&s->holders);
	TAILQ_INIT(&s->free);
	s->frames_count = s->frames_free = 0;
	s->qps = rte_zmalloc_socket("uroce_reorder", qps * sizeof(s->qps[0]), RTE_CACHE_LINE_SIZE, numa_node);
	s->words = rte_zmalloc_socket("uroce_reorder", (size_t)qps * UROCE_PSN_SET_WORDS(window) * sizeof(s->words[0]),
				      RTE_CACHE_LINE_SIZE, numa_node);
	s->slots = rte_zmalloc_socket("uroce_reorder", (size_t)qps * window * sizeof(s->slots[0]), RTE_CACHE_LINE_SIZE,
				      numa_node);
	s->frames = rte_zmalloc_socket("uroce_reorder_frames", frames * sizeof(s->frames[0]), RTE_CACHE_LINE_SIZE,
				       numa_node);
	if (s->qps == NULL || s->words == NULL || s->slots == NULL || s->frames == NULL) {
		uroce_reorder_fini(s);
		return -ENOMEM;
	}
	distribute(s, frames, qps, window);
	return 0;
}

void
uroce_reorder_fini(struct uroce_reorder_store *s)
{
	RTE_VERIFY(TAILQ_EMPTY(&s->holders) && s->frames_free == s->frames_count);
	rte_free(s->frames);
	rte_free(s->slots);
	rte_free(s->words);
	rte_free(s->qps);
}

/* The slot of a PSN. */
static uint16_t *
slot_of(const struct uroce_reorder *reorder, uint32_t psn)
{
	return &reorder->slots[psn & (reorder->present.window - 1)];
}

/* @return the first PSN from `from` on that is present or, if !present, missing; `end` if there is none before it */
static uint32_t
find(const struct uroce_reorder *reorder, uint32_t from, uint32_t end, bool present)
{
	return uroce_psn_add(from, uroce_psn_set_run(&reorder->present, from, uroce_psn_distance(end, from), !present));
}

/* @return the number of PSNs of a request: for a READ those of its responses, as far as they are in the window */
static uint32_t
psns_of(const struct uroce_qp *qp, const struct uroce_packet *p, uint32_t ahead)
{
	const struct uroce_reth *reth;

	if (p->info->op != UROCE_OP_READ_REQUEST)
		return 1;
	reth = uroce_packet_ext(p, UROCE_EXT_RETH);
	return RTE_MIN(uroce_message_packets(qp, rte_be_to_cpu_32(reth->dma_len)), uroce_reorder_window(qp->dev) - ahead);
}

/* Do the pools of the frame's segments have enough free mbufs for RX and TX until the next check? Mbufs in lcores'
 * caches do not count. */
static bool
is_spared(const struct rte_mbuf *m)
{
	for (; m != NULL; m = m->next)
		if (rte_mempool_get_ops(m->pool->ops_index)->get_count(m->pool) <
		    m->pool->size / UROCE_REORDER_SPARE + 2 * UROCE_BURST)
			return false;
	return true;
}

/* Was an RNR NAK sent? Then the requester retransmits all requests from the refused one on, and none has to be kept. */
static bool
waits_for_all(const struct uroce_responder *resp)
{
	return resp->nak_state == UROCE_STATE_NAK_SENT &&
	       (resp->ack_syndrome & UROCE_AETH_CLASS_MASK) == UROCE_AETH_RNR_NAK;
}

static bool
may_be_kept(const struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_packet *p, uint32_t psns)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	const struct uroce_reorder *reorder = resp->reorder;
	const struct uroce_reorder_store *s = &e->reorder;
	uint32_t end = uroce_psn_add(p->psn, psns);

	if (s->frames_free == 0 || (reorder == NULL && TAILQ_EMPTY(&s->free)))
		return false;
	if (waits_for_all(resp))
		return false;
	/* counting the mbufs of a pool is expensive */
	if (s->frames_free % UROCE_REORDER_SPARE_FRAMES == 0 && !is_spared(p->mbuf))
		return false;
	/* a READ must not have PSNs that are present: either it or the packet with that PSN is invalid */
	return reorder == NULL || psns == 1 || find(reorder, p->psn, end, true) == end;
}

static struct uroce_reorder *
hold(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	struct uroce_reorder *reorder = TAILQ_FIRST(&e->reorder.free);

	TAILQ_REMOVE(&e->reorder.free, reorder, link);
	TAILQ_INSERT_TAIL(&e->reorder.holders, reorder, link);
	reorder->qp = qp;
	reorder->since_ns = e->now_ns;
	reorder->psn = reorder->end = reorder->refused = resp->psn;
	reorder->frames = 0;
	uroce_psn_set_clear(&reorder->present, uroce_reorder_window(qp->dev));
	resp->reorder = reorder;
	return reorder;
}

static void
take_back(struct uroce_engine *e, struct uroce_reorder *reorder)
{
	RTE_ASSERT(reorder->frames == 0);
	TAILQ_REMOVE(&e->reorder.holders, reorder, link);
	TAILQ_INSERT_HEAD(&e->reorder.free, reorder, link);
}

static void
release(struct uroce_engine *e, struct uroce_reorder *reorder)
{
	struct uroce_responder *resp = uroce_responder_of(reorder->qp);

	take_back(e, reorder);
	resp->reorder = NULL;
	resp->asked = resp->psn;	/* the ASK has been answered, or the requester sends another */
}

/* @return a free frame, of at least one */
static uint16_t
frame_get(struct uroce_reorder_store *s, struct uroce_reorder *reorder)
{
	uint16_t frame = s->first_free;

	s->first_free = s->frames[frame].next;
	s->frames_free--;
	reorder->frames++;
	return frame;
}

static void
frame_put(struct uroce_reorder_store *s, struct uroce_reorder *reorder, uint16_t frame)
{
	s->frames[frame].next = s->first_free;
	s->first_free = frame;
	s->frames_free++;
	reorder->frames--;
}

/* @param p	belongs to the buffer */
static void
frame_keep(struct uroce_reorder_store *s, struct uroce_reorder *reorder, const struct uroce_packet *p, uint32_t psns)
{
	uint16_t frame = frame_get(s, reorder);
	uint32_t psn = p->psn;

	s->frames[frame].packet = *p;
	uroce_psn_set_put(&reorder->present, psn, psns, true);
	for (uint32_t n = 0; n < psns; n++, psn = uroce_psn_add(psn, 1))
		*slot_of(reorder, psn) = n == 0 ? frame : UROCE_REORDER_NO_FRAME;
	if (uroce_psn_diff(psn, reorder->end) > 0)
		reorder->end = psn;
}

enum uroce_verdict
uroce_reorder_keep(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p, uint32_t ahead,
		   bool *report)
{
	struct uroce_reorder *reorder = uroce_responder_of(qp)->reorder;
	bool appended = reorder != NULL && p->psn == reorder->end;
	struct uroce_packet kept;
	uint32_t psns;

	if (ahead >= uroce_reorder_window(qp->dev) || qp->dev->go_back_n)
		goto refused;
	if (reorder != NULL && uroce_psn_set_has(&reorder->present, p->psn)) {
		*report = true;
		return UROCE_DUPLICATE;
	}
	psns = psns_of(qp, p, ahead);
	if (!may_be_kept(e, qp, p, psns) || uroce_packet_keep(p, &kept) != 0)
		goto refused;
	if (reorder == NULL)
		reorder = hold(e, qp);
	frame_keep(&e->reorder, reorder, &kept, psns);
	/* report a new or filled gap at once, but a longer run only on request */
	*report = !appended || p->ack_req;
	return UROCE_EARLY;
refused:
	if (reorder != NULL && uroce_psn_diff(p->psn, reorder->refused) >= 0)
		reorder->refused = uroce_psn_add(p->psn, 1);
	return UROCE_DROP_AHEAD;
}

/* Drop the frames before `psn`. */
static void
advance(struct uroce_engine *e, struct uroce_reorder *reorder, uint32_t psn)
{
	uint32_t n = RTE_MIN(uroce_psn_distance(psn, reorder->psn), reorder->present.window);

	for (uint32_t p = reorder->psn; n > 0; n--, p = uroce_psn_add(p, 1)) {
		uint16_t frame = *slot_of(reorder, p);

		if (!uroce_psn_set_has(&reorder->present, p))
			continue;
		uroce_psn_set_put(&reorder->present, p, 1, false);
		if (frame == UROCE_REORDER_NO_FRAME)
			continue;
		rte_pktmbuf_free(e->reorder.frames[frame].packet.mbuf);
		frame_put(&e->reorder, reorder, frame);
		uroce_count(e, UROCE_EARLY_DROPPED, 1);
	}
	reorder->psn = psn;
	if (uroce_psn_diff(reorder->end, psn) < 0)
		reorder->end = psn;
}

bool
uroce_reorder_take(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_packet *p)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	struct uroce_reorder *reorder = resp->reorder;
	uint16_t *slot;

	if (reorder == NULL)	/* the request that was just executed has failed the QP */
		return false;
	advance(e, reorder, resp->psn);
	slot = slot_of(reorder, reorder->psn);
	if (!uroce_psn_set_has(&reorder->present, reorder->psn) || *slot == UROCE_REORDER_NO_FRAME)
		return false;
	*p = e->reorder.frames[*slot].packet;
	frame_put(&e->reorder, reorder, *slot);
	*slot = UROCE_REORDER_NO_FRAME;
	return true;
}

bool
uroce_reorder_settle(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_reorder *reorder = uroce_responder_of(qp)->reorder;
	bool gap;

	if (reorder->frames == 0) {
		gap = uroce_psn_diff(reorder->refused, reorder->psn) > 0;
		release(e, reorder);
		return gap;
	}
	reorder->since_ns = e->now_ns;
	TAILQ_REMOVE(&e->reorder.holders, reorder, link);
	TAILQ_INSERT_TAIL(&e->reorder.holders, reorder, link);
	return true;
}

void
uroce_reorder_drop(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_reorder *reorder = uroce_responder_of(qp)->reorder;

	if (likely(reorder == NULL))
		return;
	advance(e, reorder, reorder->end);
	release(e, reorder);
}

/* Insert a buffer into the list of holders, which is ordered by since_ns. */
static void
insert(struct uroce_reorder_store *s, struct uroce_reorder *reorder)
{
	struct uroce_reorder *before = TAILQ_LAST(&s->holders, uroce_reorder_list);

	while (before != NULL && before->since_ns > reorder->since_ns)
		before = TAILQ_PREV(before, uroce_reorder_list, link);
	if (before == NULL)
		TAILQ_INSERT_HEAD(&s->holders, reorder, link);
	else
		TAILQ_INSERT_AFTER(&s->holders, before, reorder, link);
}

/* Copy a buffer, and move its frames from one store to the other. */
static void
copy(struct uroce_reorder_store *from, struct uroce_reorder_store *to, struct uroce_reorder *old,
     struct uroce_reorder *new)
{
	uint32_t n = uroce_psn_distance(old->end, old->psn);

	new->qp = old->qp;
	new->since_ns = old->since_ns;
	new->psn = old->psn;
	new->end = old->end;
	new->refused = old->refused;
	new->frames = 0;
	uroce_psn_set_copy(&new->present, &old->present);
	memcpy(new->slots, old->slots, old->present.window * sizeof(new->slots[0]));
	for (uint32_t psn = old->psn; n > 0; n--, psn = uroce_psn_add(psn, 1)) {
		uint16_t *slot = slot_of(new, psn), frame = *slot;

		if (!uroce_psn_set_has(&old->present, psn) || frame == UROCE_REORDER_NO_FRAME)
			continue;
		*slot = frame_get(to, new);
		to->frames[*slot].packet = from->frames[frame].packet;
		frame_put(from, old, frame);
	}
}

void
uroce_reorder_move(struct uroce_engine *from, struct uroce_engine *to, struct uroce_qp *qp)
{
	struct uroce_reorder *old = uroce_responder_of(qp)->reorder, *new = TAILQ_FIRST(&to->reorder.free);

	if (old == NULL)
		return;
	if (new == NULL || to->reorder.frames_free < old->frames) {
		uroce_reorder_drop(from, qp);
		return;
	}
	TAILQ_REMOVE(&to->reorder.free, new, link);
	copy(&from->reorder, &to->reorder, old, new);
	insert(&to->reorder, new);
	take_back(from, old);
	uroce_responder_of(qp)->reorder = new;
}

void
uroce_reorder_expire(struct uroce_engine *e)
{
	while (uroce_reorder_deadline(&e->reorder) <= uroce_engine_heard_by(e)) {
		struct uroce_reorder *reorder = TAILQ_FIRST(&e->reorder.holders);

		uroce_count(e, UROCE_EARLY_EXPIRED, reorder->frames);
		uroce_reorder_drop(e, reorder->qp);
	}
}

uint64_t
uroce_reorder_deadline(const struct uroce_reorder_store *s)
{
	const struct uroce_reorder *reorder = TAILQ_FIRST(&s->holders);

	return reorder != NULL ? reorder->since_ns + UROCE_REORDER_NS : UINT64_MAX;
}

/* Fill in the runs of kept PSNs beyond the expected PSN.
 * @param told	set to one past the last reported run, if not all runs fit
 * @return	the number of runs */
static unsigned int
runs_of(const struct uroce_reorder *reorder, struct uroce_sack_run *runs, uint32_t *told)
{
	uint32_t to = uroce_psn_add(reorder->psn, 1);
	unsigned int n;

	for (n = 0; n < UROCE_SACK_RUNS; n++) {
		uint32_t from = find(reorder, to, reorder->end, true);

		if (from == reorder->end)
			return n;
		to = find(reorder, from, reorder->end, false);
		runs[n].offset = rte_cpu_to_be_16((uint16_t)uroce_psn_distance(from, reorder->psn));
		runs[n].count = rte_cpu_to_be_16((uint16_t)uroce_psn_distance(to, from));
	}
	if (to != reorder->end)
		*told = to;
	return n;
}

unsigned int
uroce_reorder_sack(const struct uroce_qp *qp, struct uroce_sack *sack)
{
	const struct uroce_responder *resp = uroce_responder_of(qp);
	/* the PSN of the ASK may be behind the expected PSN */
	uint32_t asked = uroce_psn_diff(resp->asked, resp->psn) < 0 ? resp->psn : resp->asked;
	uint32_t told = asked;
	unsigned int n = 0;

	if (resp->reorder != NULL)
		n = runs_of(resp->reorder, sack->runs, &told);
	sack->reserved = 0;
	uroce_put24(sack->asked, uroce_psn_diff(told, asked) < 0 ? told : asked);
	return n;
}
