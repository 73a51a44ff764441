/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Ends the connections to a peer that is known to have gone. A kernel disconnects for a process that is killed; a
 * process that is its own kernel cannot, so the caller that drives the CM reports it. Under the CM's lock.
 */

#include "cm/ib/internal.h"

static void
take(struct uroce_cm_conn *conn, uint64_t now_ns)
{
	const struct uroce_cm_row *row = &uroce_cm_departures[conn->state];
	struct uroce_cm_event event = { .type = (enum uroce_cm_event_type)row->event };

	UROCE_CM_BUMP(conn->cm, departed);
	if (event.type == UROCE_CM_REJ_RECEIVED)
		event.rej.reason = UROCE_CM_REJ_CONSUMER_DEFINED;
	uroce_cm_conn_enter(conn, (enum uroce_cm_state)row->next, now_ns);
	uroce_cm_conn_raise(conn, &event);
	uroce_cm_conn_settle(conn);
}

void
uroce_cm_depart(struct uroce_cm *cm, bool (*is_gone)(void *arg, const struct uroce_cm_path *path), void *arg,
		uint64_t now_ns)
{
	struct uroce_cm_conn *conn;

	uroce_cm_start(cm, now_ns);
	for (uint32_t i = 0; i <= cm->local.mask; i++) {
again:
		LIST_FOREACH(conn, &cm->local.buckets[i], local_link)
		{
			if (uroce_cm_departures[conn->state].action == UROCE_CM_UNEXPECTED ||
			    !is_gone(arg, &conn->path))
				continue;
			take(conn, now_ns);
			goto again; /* whom it tells may let go of others; it is no more such a one itself */
		}
	}
}
