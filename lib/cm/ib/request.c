/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Receives a REQ: a duplicate of a known one, one that is rejected with a reason, or a new connection, which is
 * offered to the listeners of its service ID. Everything in it may be hostile. Under the CM's lock.
 */

#include <rte_common.h>

#include "cm/ib/internal.h"
#include "cm/ib/message.h"
#include "uroce_config.h"
#include "wire/headers.h"

/* QPs 0 and 1 are for management, and the highest number is for multicast. */
static bool
is_connectable(uint32_t qpn)
{
	return qpn > 1 && qpn < UROCE_MULTICAST_QPN;
}

/* Check the request's fields. @return a reason to reject it, or 0 */
static uint16_t
wrong(const struct uroce_cm_req *req, const struct uroce_cm_path *path)
{
	if (req->qp_type == 0)
		return UROCE_CM_REJ_INVALID_TRANSPORT_TYPE;
	/* The QP must be at the address that the REQ comes from: otherwise a forged REQ could direct packets to a
	 * third host. */
	if (!uroce_cm_same_gid(&req->path.dgid, &path->dgid) ||
	    !uroce_cm_same_gid(&req->path.sgid, &path->sgid))
		return UROCE_CM_REJ_INVALID_GID;
	if (req->path.mtu < IBV_MTU_256 || req->path.mtu > IBV_MTU_4096 ||
	    (path->mtu != 0 && req->path.mtu > path->mtu))
		return UROCE_CM_REJ_INVALID_MTU;
	/* also for an XRC initiator: its QP receives only acknowledgements, but needs a number for them */
	if (!is_connectable(req->qpn))
		return UROCE_CM_REJ_UNSUPPORTED;
	return 0;
}

static void
reject_wrong(struct uroce_cm *cm, const uint8_t *mad, const struct uroce_cm_path *path,
	     uint16_t reason)
{
	/* the specification requires the acceptable value in the REJ */
	const void *info = reason == UROCE_CM_REJ_INVALID_GID ? path->sgid.raw : &path->mtu;
	uint8_t info_bytes = 0;

	if (reason == UROCE_CM_REJ_INVALID_GID)
		info_bytes = sizeof(path->sgid.raw);
	else if (reason == UROCE_CM_REJ_INVALID_MTU && path->mtu != 0)
		info_bytes = sizeof(path->mtu);
	UROCE_CM_BUMP(cm, rej_invalid);
	uroce_cm_reply_rej(cm, path, mad, UROCE_CM_ABOUT_REQ, reason, info, info_bytes);
}

/* Is there room, and a listener? The peer retransmits a REQ that is dropped here without a REJ. */
static bool
admit(struct uroce_cm *cm, const struct uroce_cm_req *req, const uint8_t *mad,
      const struct uroce_cm_path *path, uint64_t now_ns)
{
	if (uroce_cm_listen_next(cm, req->service_id, NULL) == NULL) {
		UROCE_CM_BUMP(cm, rej_service_id);
		uroce_cm_reply_rej(cm, path, mad, UROCE_CM_ABOUT_REQ,
				   UROCE_CM_REJ_INVALID_SERVICE_ID, NULL, 0);
		return false;
	}
	return uroce_cm_half_open_admit(cm, &path->dgid, now_ns);
}

static void
remember(struct uroce_cm_conn *conn, const struct uroce_cm_req *req, const uint8_t *mad)
{
	conn->active = false;
	conn->tid = rte_be_to_cpu_64(uroce_cm_header_const(mad)->tid);
	conn->service_id = req->service_id;
	conn->remote_id = (uint32_t)uroce_cm_get(mad, REQ, LOCAL_COMM_ID);
	conn->remote_ca_guid = req->ca_guid;
	conn->remote_qpn = req->qpn;
	conn->path = req->path;
	conn->qp_type = req->qp_type;
	conn->sq_psn = req->starting_psn;
	conn->responder_resources = req->responder_resources;
	conn->initiator_depth = req->initiator_depth;
	conn->retry_count = req->retry_count;
	conn->rnr_retry_count = req->rnr_retry_count;
	conn->max_cm_retries = req->max_cm_retries;
	conn->ack_timeout = RTE_MAX(req->local_ack_timeout, (uint8_t)1);
	uroce_cm_set_interval(conn, req->remote_cm_response_timeout);
}

int
uroce_cm_offer(struct uroce_cm_conn *conn, struct uroce_cm_event *event, int none)
{
	struct uroce_cm_conn *listener = NULL, *next;
	int ret = none;

	conn->pins++;
	for (;;) {
		next = uroce_cm_listen_next(conn->cm, conn->service_id, listener);
		if (next != NULL)
			next->pins++;
		if (listener != NULL) {
			listener->pins--;
			uroce_cm_conn_settle(listener);
		}
		listener = next;
		if (listener == NULL)
			break;
		event->listener = listener;
		ret = uroce_cm_conn_raise(conn, event);
		if (ret != none || conn->orphan) {
			listener->pins--;
			uroce_cm_conn_settle(listener);
			break;
		}
	}
	conn->pins--;
	return ret;
}

static void
offer_req(struct uroce_cm_conn *conn, const struct uroce_cm_req *req, uint64_t now_ns)
{
	struct uroce_cm_event event = {
		.type = UROCE_CM_REQ_RECEIVED,
		.priv = req->priv,
		.req = req,
	};
	int reason = uroce_cm_offer(conn, &event, UROCE_CM_REJ_INVALID_SERVICE_ID);

	if (reason != 0 && !conn->orphan) {
		conn->orphan = true;
		/* fails if the consumer has rejected the connection itself */
		uroce_cm_send_rej(conn, (uint16_t)reason, NULL, 0, NULL, now_ns);
		if (uroce_cm_state_half_open((enum uroce_cm_state)conn->state))
			uroce_cm_conn_enter(conn, UROCE_CM_IDLE, now_ns);
	}
	uroce_cm_conn_settle(conn);
}

static void
receive_new(struct uroce_cm *cm, struct uroce_cm_req *req, const uint8_t *mad,
	    const struct uroce_cm_path *path, uint64_t now_ns)
{
	struct uroce_cm_conn *conn = uroce_cm_conn_alloc(cm, NULL);

	if (conn == NULL) {
		UROCE_CM_BUMP(cm, rej_no_resources);
		uroce_cm_reply_rej(cm, path, mad, UROCE_CM_ABOUT_REQ, UROCE_CM_REJ_NO_RESOURCES,
				   NULL, 0);
		return;
	}
	req->path.sgid_index = path->sgid_index;
	req->alternate.sgid_index = path->sgid_index;
	if (path->hop_limit != 0)
		req->path.hop_limit = path->hop_limit;
	remember(conn, req, mad);
	uroce_cm_conn_enter(conn, UROCE_CM_REQ_RCVD, now_ns);
	uroce_cm_remote_add(conn);
	uroce_cm_qpn_add(conn);
	offer_req(conn, req, now_ns);
}

void
uroce_cm_receive_req(struct uroce_cm *cm, const uint8_t *mad, const struct uroce_cm_path *path,
		     uint64_t now_ns)
{
	uint32_t id = (uint32_t)uroce_cm_get(mad, REQ, LOCAL_COMM_ID);
	struct uroce_cm_conn *conn;
	struct uroce_cm_req req;
	uint16_t reason;

	uroce_cm_req_decode(mad, &req);
	conn = uroce_cm_remote_find(cm, id, req.ca_guid, &path->dgid);
	if (conn != NULL) {
		uroce_cm_handle(conn, UROCE_CM_REQ, mad, now_ns);
		return;
	}
	reason = wrong(&req, path);
	if (reason != 0) {
		reject_wrong(cm, mad, path, reason);
		return;
	}
	conn = uroce_cm_qpn_find(cm, req.qpn, req.ca_guid, &path->dgid);
	if (conn != NULL) {
		UROCE_CM_BUMP(cm, rej_stale);
		uroce_cm_reply_rej(cm, path, mad, UROCE_CM_ABOUT_REQ, UROCE_CM_REJ_STALE_CONNECTION,
				   NULL, 0);
		uroce_cm_suspect_stale(conn, now_ns);
		return;
	}
	if (admit(cm, &req, mad, path, now_ns))
		receive_new(cm, &req, mad, path, now_ns);
}
