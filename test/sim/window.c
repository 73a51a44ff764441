/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Decides when a window may be bound, used and invalidated, only from posted requests and completions.
 */

#include "window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "key.h"
#include "oracle.h"
#include "uroce.h"
#include "workload.h"

void
window_init(struct side *s)
{
	memset(&s->window, 0, sizeof(s->window));
	memset(&s->first, 0, sizeof(s->first));
	s->first.mw = uroce_alloc_mw(s->end->pd, IBV_MW_TYPE_1);
	s->window.mw = uroce_alloc_mw(s->end->pd, IBV_MW_TYPE_2);
	SIM_CHECK(s->window.mw != NULL && s->first.mw != NULL, "uroce_alloc_mw: %s", strerror(errno));
}

void
window_fini(struct side *s)
{
	SIM_CHECK(uroce_dealloc_mw(s->window.mw) == 0 && uroce_dealloc_mw(s->first.mw) == 0,
		  "uroce_dealloc_mw fails");
}

bool
window_is_lent(const struct side *s)
{
	return s->peer->window.state == WINDOW_BOUND && !s->peer->window.kept && !s->may_fail &&
	       !s->peer->may_fail;
}

static void
make_bind(struct sim *sim, struct side *s, struct request *q)
{
	struct memory *m = &s->end->memory;
	struct window *w = &s->window;

	w->kept = random_once_in(&sim->random, 3);
	w->rkey = ibv_inc_rkey(w->mw->rkey);
	w->state = WINDOW_BINDING;
	q->op->opcode = IBV_WR_BIND_MW;
	q->wr.bind_mw.mw = w->mw;
	q->wr.bind_mw.rkey = w->rkey;
	q->wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = m->mrs[0],
		.addr = (uintptr_t)m->real,
		.length = m->bytes,
		.mw_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_FLUSH_GLOBAL,
	};
}

bool
window_request(struct sim *sim, struct side *s, struct request *q)
{
	struct window *w = &s->window;

	if (s->may_fail || s->peer->may_fail)
		return false;
	if (w->state == WINDOW_FREE) {
		make_bind(sim, s, q);
	} else if (w->kept && w->state != WINDOW_GOING) {
		/* the bind may be outstanding, and is executed first */
		w->state = WINDOW_GOING;
		q->op->opcode = IBV_WR_LOCAL_INV;
		q->wr.invalidate_rkey = w->rkey;
	} else {
		return false;
	}
	q->wr.opcode = q->op->opcode;
	q->op->window = w;
	return true;
}

/* @param length	0: unbind */
static void
bind_first(struct side *s, uint64_t length)
{
	const struct memory *m = &s->end->memory;
	struct op *op = calloc(1, sizeof(*op));
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {
			.mr = m->mrs[0],
			.addr = (uintptr_t)m->real,
			.length = length,
			.mw_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
		},
	};
	uint32_t key = s->first.mw->rkey;

	SIM_CHECK(op != NULL, "out of memory");
	op->opcode = IBV_WR_BIND_MW;
	op->signaled = true;
	op->window = &s->first;
	op->wr_id = bind.wr_id = s->next_wr_id & ~UINT64_C(1);
	s->next_wr_id += 2;
	s->op_count++;
	s->unsignaled = 0;
	oracle_send(s, op);
	SIM_CHECK(uroce_bind_mw(s->qp, s->first.mw, &bind) == 0, "uroce_bind_mw fails");
	SIM_CHECK(s->first.mw->rkey != key, "a window is bound by the same key again");
	s->first.rkey = s->first.mw->rkey;
}

void
window_turn(struct sim *sim, struct side *s)
{
	struct window *w = &s->first;

	if (s->may_fail || s->peer->may_fail || s->op_count >= s->cap.max_send_wr)
		return;
	if (w->state == WINDOW_FREE) {
		w->state = WINDOW_BINDING;
		bind_first(s, s->end->memory.bytes);
	} else if (w->state == WINDOW_BOUND && !key_is_used(sim, w->rkey)) {
		w->state = WINDOW_GOING;
		bind_first(s, 0);
	}
}

uint32_t
window_draw_key(struct sim *sim, const struct side *s)
{
	bool first = s->peer->first.state == WINDOW_BOUND && !s->may_fail && !s->peer->may_fail;

	if (window_is_lent(s) && random_once_in(&sim->random, 2))
		return s->peer->window.rkey;
	return first && random_once_in(&sim->random, 2) ? s->peer->first.rkey : 0;
}

void
window_invalidate(struct side *s, struct request *q)
{
	s->peer->window.state = WINDOW_GOING;
	q->wr.opcode = IBV_WR_SEND_WITH_INV;
	q->wr.invalidate_rkey = s->peer->window.rkey;
	/* READs through the window may be outstanding */
	q->wr.send_flags |= IBV_SEND_FENCE;
	q->op->opcode = IBV_WR_SEND_WITH_INV;
}

void
window_op_succeeded(struct side *s, const struct op *op)
{
	struct window *w = op->window;

	if (w == NULL)
		return;
	if (op->opcode == IBV_WR_BIND_MW && w->state == WINDOW_BINDING)
		w->state = WINDOW_BOUND;
	else if (op->opcode == IBV_WR_LOCAL_INV || w == &s->first)
		w->state = WINDOW_FREE;
}

void
window_invalidated(struct side *s, const struct ibv_wc *wc)
{
	SIM_CHECK(wc->invalidated_rkey == s->window.rkey && s->window.state == WINDOW_GOING,
		  "QP 0x%06x: rkey 0x%08x is invalidated, not 0x%08x", s->qpn, wc->invalidated_rkey,
		  s->window.rkey);
	s->window.state = WINDOW_FREE;
}
