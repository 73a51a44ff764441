/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The consumer releases a connection: the peer gets the message that the connection's state asks for, and the
 * connection is freed when it is over. Under the CM's lock.
 */

#include <rte_debug.h>

#include "cm/ib/internal.h"

/* Tell the peer what its state asks for, so that it does not wait for us. */
static void
hang_up(struct uroce_cm_conn *conn, uint64_t now_ns)
{
	static const struct uroce_cm_sidr_rep no = { .status = UROCE_CM_SIDR_REJECT };
	uint64_t guid = conn->cm->conf.ca_guid;

	switch ((enum uroce_cm_state)conn->state) {
	case UROCE_CM_REQ_SENT:
	case UROCE_CM_MRA_REQ_RCVD:
		/* the peer has not told us its ID: it finds its end by ours */
		uroce_cm_send_rej(conn, UROCE_CM_REJ_TIMEOUT, &guid, sizeof(guid), NULL, now_ns);
		break;
	case UROCE_CM_REQ_RCVD:
	case UROCE_CM_MRA_REQ_SENT:
	case UROCE_CM_REP_SENT:
	case UROCE_CM_MRA_REP_RCVD:
	case UROCE_CM_REP_RCVD:
	case UROCE_CM_MRA_REP_SENT:
		uroce_cm_send_rej(conn, UROCE_CM_REJ_CONSUMER_DEFINED, NULL, 0, NULL, now_ns);
		break;
	case UROCE_CM_ESTABLISHED:
	case UROCE_CM_LAP_SENT:
	case UROCE_CM_LAP_RCVD:
	case UROCE_CM_MRA_LAP_SENT:
	case UROCE_CM_MRA_LAP_RCVD: uroce_cm_send_dreq(conn, NULL, now_ns); break;
	case UROCE_CM_DREQ_RCVD: uroce_cm_send_drep(conn, NULL, now_ns); break;
	case UROCE_CM_SIDR_REQ_RCVD: uroce_cm_send_sidr_rep(conn, &no, now_ns); break;
	case UROCE_CM_SIDR_REQ_SENT: uroce_cm_conn_enter(conn, UROCE_CM_IDLE, now_ns); break;
	case UROCE_CM_LISTEN:
		/* stays in its list while a caller goes through that */
		conn->state = UROCE_CM_IDLE;
		break;
	default: break;
	}
}

void
uroce_cm_conn_destroy(struct uroce_cm_conn *conn, uint64_t now_ns)
{
	RTE_VERIFY(!conn->orphan);
	uroce_cm_start(conn->cm, now_ns);
	conn->user = NULL;
	conn->orphan = true;
	hang_up(conn, now_ns);
	uroce_cm_conn_settle(conn);
}
