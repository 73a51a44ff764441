/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Drains send queues by SQD. Between the event and the return to RTS no request may complete, which completions.c
 * checks by `drained`.
 */

#include "drain.h"

#include <string.h>

#include "conn.h"
#include "oracle.h"
#include "trace.h"
#include "uroce.h"

static void
note(const struct side *s, const char *what)
{
	trace_note(s->end->world->now_ns, "end %u qp 0x%06x %s", s->end->index, s->qpn, what);
}

static void
modify(struct side *s, struct ibv_qp_attr *attr, int mask)
{
	int ret = uroce_modify_qp(s->qp, attr, mask);

	SIM_CHECK(ret == 0, "uroce_modify_qp to state %d: %s", (int)attr->qp_state, strerror(ret));
}

void
drain_begin(struct side *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	if (s->draining)
		return;
	note(s, "to SQD");
	s->draining = true;
	modify(s, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
}

void
drain_event(struct side *s)
{
	note(s, "is drained");
	SIM_CHECK(s->draining && !s->drained, "QP 0x%06x: drained twice, or never asked to be",
		  s->qpn);
	/* requests that had begun complete before the event */
	oracle_poll_all(s);
	s->drained = true;
}

void
drain_end(struct side *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	if (!s->drained)
		return;
	/* no request has begun in SQD */
	oracle_poll_all(s);
	note(s, "back to RTS");
	s->draining = s->drained = false;
	modify(s, &attr, IBV_QP_STATE);
}
