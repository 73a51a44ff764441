/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Limits the unfinished handshakes of peers, because any host can begin one under any address. There are limits in
 * total and for each peer (conn.c counts them), and for the time that a peer may take. When there is no room, the
 * handshake that has waited longest is rejected. Under the CM's lock.
 */

#include "cm/ib/internal.h"
#include "uroce_config.h"

/* Reject the connection and end it at once, without TIMEWAIT. */
static void
evict(struct uroce_cm_conn *conn, uint64_t now_ns)
{
	struct uroce_cm_event event = { .type = UROCE_CM_REP_ERROR };
	uint64_t guid = conn->cm->conf.ca_guid;

	UROCE_CM_BUMP(conn->cm, half_open_evicted);
	uroce_cm_send_rej(conn, UROCE_CM_REJ_TIMEOUT, &guid, sizeof(guid), NULL, now_ns);
	uroce_cm_conn_enter(conn, UROCE_CM_IDLE, now_ns);
	uroce_cm_conn_raise(conn, &event);
	uroce_cm_conn_settle(conn);
}

static bool
make_room(struct uroce_cm *cm, uint64_t now_ns)
{
	struct uroce_cm_conn *oldest = TAILQ_FIRST(&cm->waiting);

	if (oldest == NULL ||
	    now_ns + UROCE_CM_HALF_OPEN_NS < oldest->give_up_ns + UROCE_CM_HALF_OPEN_YIELD_NS)
		return false;
	evict(oldest, now_ns);
	return cm->half_open < UROCE_CM_MAX_HALF_OPEN;
}

bool
uroce_cm_half_open_admit(struct uroce_cm *cm, const union ibv_gid *gid, uint64_t now_ns)
{
	if (cm->half_open_of[uroce_cm_source(cm, gid)] >= UROCE_CM_MAX_HALF_OPEN_GID) {
		UROCE_CM_BUMP(cm, drop_half_open_gid);
		return false;
	}
	if (cm->half_open >= UROCE_CM_MAX_HALF_OPEN && !make_room(cm, now_ns)) {
		UROCE_CM_BUMP(cm, drop_half_open);
		return false;
	}
	return true;
}
