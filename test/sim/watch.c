/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Checks completion events when a side has emptied its CQs.
 */

#include "watch.h"

#include <string.h>

#include <rte_common.h>

#include "conn.h"
#include "uroce.h"

static struct watch *
find(struct side *s, const struct ibv_cq *cq)
{
	for (unsigned int i = 0; i < RTE_DIM(s->watches); i++)
		if (s->watches[i].cq == cq)
			return &s->watches[i];
	return NULL;
}

void
watch_saw(struct side *s, const struct ibv_cq *cq, bool solicited)
{
	struct watch *w = find(s, cq);

	if (w == NULL)
		return;
	w->saw_any = true;
	w->saw_solicited |= solicited;
}

static void
take_events(struct side *s)
{
	struct ibv_cq *cq;
	struct watch *w;
	void *context;

	while (uroce_get_cq_event(s->channel, &cq, &context) == 0) {
		SIM_CHECK(context == s, "an event has another CQ's context");
		w = find(s, cq);
		SIM_CHECK(w != NULL && !w->got_event, "QP 0x%06x: a CQ has two events", s->qpn);
		w->got_event = true;
		uroce_ack_cq_events(cq, 1);
	}
}

static void
check(struct side *s, struct watch *w)
{
	bool expected = w->armed && (w->solicited_only ? w->saw_solicited : w->saw_any);
	bool moderated = w->moderated;
	struct ibv_cq *cq = w->cq;

	if (w->moderated && expected && !w->got_event)
		return; /* not yet */
	SIM_CHECK(w->got_event == expected, "QP 0x%06x: %s event of a CQ that is %sarmed%s", s->qpn,
		  expected ? "no" : "an", w->armed ? "" : "not ",
		  w->solicited_only ? " for solicited ones" : "");
	if (w->armed && !w->got_event)
		return; /* it still is */
	memset(w, 0, sizeof(*w));
	w->cq = cq;
	w->moderated = moderated;
}

static void
arm(struct side *s, struct watch *w)
{
	struct sim_random *r = s->end->memory.random;

	if (!w->armed || !w->moderated)
		w->saw_any = w->saw_solicited = false;
	if (w->armed || random_once_in(r, 3))
		return;
	w->armed = true;
	w->solicited_only = random_once_in(r, 2);
	SIM_CHECK(uroce_req_notify_cq(w->cq, w->solicited_only) == 0, "uroce_req_notify_cq fails");
}

void
watch_check(struct side *s)
{
	if (s->channel == NULL)
		return;
	take_events(s);
	for (unsigned int i = 0; i < RTE_DIM(s->watches); i++) {
		if (s->watches[i].cq == NULL)
			continue;
		check(s, &s->watches[i]);
		arm(s, &s->watches[i]);
	}
}

void
watch_moderate(struct side *s, const struct ibv_cq *cq)
{
	struct watch *w = find(s, cq);

	if (w != NULL)
		w->moderated = true;
}

void
watch_rest(struct side *s)
{
	if (s->channel == NULL)
		return;
	watch_check(s);
	for (unsigned int i = 0; i < RTE_DIM(s->watches); i++) {
		const struct watch *w = &s->watches[i];

		SIM_CHECK(!w->armed || !(w->solicited_only ? w->saw_solicited : w->saw_any),
			  "QP 0x%06x: the event of a moderated CQ never came", s->qpn);
	}
}
