/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Receives a SIDR_REQ: a duplicate of a known one, or a new one, which is offered to the listeners of its service ID.
 * Everything in it may be hostile. Under the CM's lock.
 */

#include "cm/ib/internal.h"
#include "uroce_config.h"

static void
offer_sidr_req(struct uroce_cm_conn *conn, const uint8_t *mad, uint64_t now_ns)
{
	struct uroce_cm_event event = {
		.type = UROCE_CM_SIDR_REQ_RECEIVED,
		.priv = uroce_cm_private_get(mad, UROCE_CM_SIDR_REQ),
		.sidr_req = {
			.service_id = conn->service_id,
			.path = conn->path,
			.pkey = conn->path.pkey,
		},
	};
	int status = uroce_cm_offer(conn, &event, UROCE_CM_SIDR_UNSUPPORTED);

	if (status != 0 && !conn->orphan) {
		const struct uroce_cm_sidr_rep rep = { .status = (uint8_t)status };

		conn->orphan = true;
		uroce_cm_send_sidr_rep(conn, &rep, now_ns);
		/* a refusal is not kept for duplicates: to refuse them anew takes no longer */
		uroce_cm_conn_enter(conn, UROCE_CM_IDLE, now_ns);
	}
	uroce_cm_conn_settle(conn);
}

static void
receive_new(struct uroce_cm *cm, const uint8_t *mad, const struct uroce_cm_path *path,
	    uint64_t now_ns)
{
	struct uroce_cm_conn *conn;

	if (!uroce_cm_half_open_admit(cm, &path->dgid, now_ns))
		return;
	conn = uroce_cm_conn_alloc(cm, NULL);
	if (conn == NULL) {
		UROCE_CM_BUMP(cm, rej_no_resources);
		uroce_cm_reply_sidr(cm, path, mad, UROCE_CM_SIDR_REJECT);
		return;
	}
	conn->tid = rte_be_to_cpu_64(uroce_cm_header_const(mad)->tid);
	conn->remote_id = (uint32_t)uroce_cm_get(mad, SIDR_REQ, REQUEST_ID);
	conn->service_id = uroce_cm_get(mad, SIDR_REQ, SERVICE_ID);
	conn->qp_type = IBV_QPT_UD;
	conn->path = *path;
	conn->path.pkey = (uint16_t)uroce_cm_get(mad, SIDR_REQ, PKEY);
	uroce_cm_conn_enter(conn, UROCE_CM_SIDR_REQ_RCVD, now_ns);
	uroce_cm_sidr_add(conn);
	offer_sidr_req(conn, mad, now_ns);
}

void
uroce_cm_receive_sidr_req(struct uroce_cm *cm, const uint8_t *mad, const struct uroce_cm_path *path,
			  uint64_t now_ns)
{
	uint32_t request_id = (uint32_t)uroce_cm_get(mad, SIDR_REQ, REQUEST_ID);
	struct uroce_cm_conn *conn = uroce_cm_sidr_find(cm, request_id, &path->dgid);

	/* with another service ID it is another request, even with the same request ID */
	if (conn != NULL && conn->service_id == uroce_cm_get(mad, SIDR_REQ, SERVICE_ID)) {
		uroce_cm_handle(conn, UROCE_CM_SIDR_REQ, mad, now_ns);
	} else if (uroce_cm_listen_next(cm, uroce_cm_get(mad, SIDR_REQ, SERVICE_ID), NULL) ==
		   NULL) {
		UROCE_CM_BUMP(cm, rej_service_id);
		uroce_cm_reply_sidr(cm, path, mad, UROCE_CM_SIDR_UNSUPPORTED);
	} else {
		receive_new(cm, mad, path, now_ns);
	}
}
