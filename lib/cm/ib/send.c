/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sends a connection's messages: each is checked against the state table, encoded, kept for retransmission, and
 * sent. The connection enters its new state before the message is sent. The consumer and other files of lib/cm call
 * this file, under the CM's lock.
 */

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "cm/ib/internal.h"
#include "cm/ib/message.h"
#include "uroce_config.h"
#include "wire/headers.h"

void
uroce_cm_transmit(struct uroce_cm *cm, const struct uroce_cm_path *path,
		  enum uroce_cm_message message, const uint8_t *mad)
{
	uroce_cm_bump(&cm->sent[message]);
	cm->conf.ops->send(cm->conf.arg, path, mad);
}

/* ---- IDs ---- */

/* The ID of a transaction that this end begins, in Linux's form: the lower half is the communication ID. The upper half
 * is random, so that peers of other connections do not know it. */
static uint64_t
own_tid(const struct uroce_cm_conn *conn)
{
	return (uint64_t)(conn->tid_high + conn->lap_count) << 32 | conn->local_id;
}

/* Write the two IDs. All messages but REQ and those of SIDR have them at the same place. */
static void
put_ids(uint8_t *mad, uint32_t local_id, uint32_t remote_id)
{
	uroce_cm_put(mad, RTU, LOCAL_COMM_ID, local_id);
	uroce_cm_put(mad, RTU, REMOTE_COMM_ID, remote_id);
}

/* Begin a message in conn->mad. The previous message can no longer be retransmitted. */
static uint8_t *
begin(struct uroce_cm_conn *conn, enum uroce_cm_message message)
{
	conn->mad_message = (int8_t)message;
	uroce_cm_mad_init(conn->mad, message, conn->tid);
	if (message != UROCE_CM_REQ && message != UROCE_CM_SIDR_REQ && message != UROCE_CM_SIDR_REP)
		put_ids(conn->mad, conn->local_id, conn->remote_id);
	return conn->mad;
}

/* ---- transmission and retransmission ---- */

void
uroce_cm_wait_for_answer(struct uroce_cm_conn *conn, uint64_t now_ns)
{
	uroce_wheel_arm(&conn->cm->wheel, &conn->timer,
			RTE_MIN(now_ns + conn->wait_ns, conn->give_up_ns));
}

/* Enter the state that follows from the table, and send conn->mad. */
static void
finish(struct uroce_cm_conn *conn, uint64_t now_ns)
{
	enum uroce_cm_message message = (enum uroce_cm_message)conn->mad_message;
	struct uroce_cm *cm = conn->cm;
	uint8_t mad[UROCE_CM_MAD_BYTES];

	/* conn->mad may be dropped when a state is entered */
	memcpy(mad, conn->mad, sizeof(mad));
	uroce_cm_conn_enter(conn, uroce_cm_sends[conn->state][message], now_ns);
	if (uroce_cm_messages[message].answered) {
		conn->retries_left = conn->max_cm_retries;
		conn->wait_ns = conn->interval_ns;
		uroce_cm_wait_for_answer(conn, now_ns);
	}
	uroce_cm_transmit(cm, &conn->path, message, mad);
}

void
uroce_cm_retransmit(struct uroce_cm_conn *conn, uint64_t now_ns)
{
	struct uroce_cm *cm = conn->cm;

	conn->retries_left--;
	uroce_cm_wait_for_answer(conn, now_ns);
	UROCE_CM_BUMP(cm, retransmitted);
	uroce_cm_transmit(cm, &conn->path, (enum uroce_cm_message)conn->mad_message, conn->mad);
}

void
uroce_cm_answer_again(struct uroce_cm_conn *conn, enum uroce_cm_message duplicate)
{
	struct uroce_cm *cm = conn->cm;

	UROCE_CM_BUMP(cm, answered_again);
	/* If another message has been sent since, or none, the reply goes without its private data. */
	if (duplicate == UROCE_CM_REP && conn->mad_message != UROCE_CM_RTU &&
	    uroce_cm_state_established((enum uroce_cm_state)conn->state)) {
		uint8_t mad[UROCE_CM_MAD_BYTES];

		uroce_cm_mad_init(mad, UROCE_CM_RTU, conn->tid);
		put_ids(mad, conn->local_id, conn->remote_id);
		uroce_cm_transmit(cm, &conn->path, UROCE_CM_RTU, mad);
		return;
	}
	if (duplicate == UROCE_CM_DREQ && conn->mad_message != UROCE_CM_DREP)
		begin(conn, UROCE_CM_DREP);
	uroce_cm_transmit(cm, &conn->path, (enum uroce_cm_message)conn->mad_message, conn->mad);
}

/* ---- checks ---- */

static int
check(const struct uroce_cm_conn *conn, enum uroce_cm_message message,
      const struct uroce_cm_private *priv)
{
	if (conn->orphan && message == UROCE_CM_REQ)
		return -EINVAL;
	if (uroce_cm_sends[conn->state][message] == UROCE_CM_STATE_NONE)
		return -EINVAL;
	return uroce_cm_private_check(message, priv);
}

static int
check_info(const void *info, uint8_t info_bytes, unsigned int room)
{
	if (info_bytes > 0 && info == NULL)
		return -EINVAL;
	return info_bytes > room ? -EMSGSIZE : 0;
}

/* ---- connecting ---- */

void
uroce_cm_set_interval(struct uroce_cm_conn *conn, uint8_t response_timeout)
{
	unsigned int response = RTE_MIN(response_timeout, UROCE_CM_MAX_TIMEOUT);
	unsigned int life = RTE_MIN(conn->path.packet_life_time, UROCE_CM_MAX_TIMEOUT);

	conn->response_timeout = response_timeout;
	conn->interval_ns = uroce_cm_timeout_ns(RTE_MAX(response, UROCE_CM_MIN_TIMEOUT + 0u)) +
			    2 * uroce_cm_timeout_ns(life);
}

static void
remember_req(struct uroce_cm_conn *conn, const struct uroce_cm_req *req)
{
	conn->active = true;
	conn->service_id = req->service_id;
	conn->path = req->path;
	conn->qp_type = req->qp_type;
	conn->local_qpn = req->qpn;
	conn->rq_psn = req->starting_psn;
	conn->responder_resources = req->responder_resources;
	conn->initiator_depth = req->initiator_depth;
	conn->retry_count = req->retry_count;
	conn->max_cm_retries = req->max_cm_retries;
	conn->ack_timeout = req->local_ack_timeout;
	conn->target_ack_delay = conn->cm->conf.ca_ack_delay;
	uroce_cm_set_interval(conn, req->remote_cm_response_timeout);
	conn->lap_count = 0;
	conn->tid = own_tid(conn);
}

int
uroce_cm_send_req(struct uroce_cm_conn *conn, const struct uroce_cm_req *req, uint64_t now_ns)
{
	struct uroce_cm_req full = *req;
	int ret = check(conn, UROCE_CM_REQ, &req->priv);

	if (ret == 0)
		ret = uroce_cm_req_check(req);
	if (ret != 0)
		return ret;
	uroce_cm_start(conn->cm, now_ns);
	full.ca_guid = conn->cm->conf.ca_guid;
	if (full.local_ack_timeout == 0)
		full.local_ack_timeout = uroce_cm_ack_timeout(conn->cm->conf.ca_ack_delay,
							      req->path.packet_life_time);
	remember_req(conn, &full);
	if (req->peer_flow_label != 0)
		full.path.flow_label = req->peer_flow_label;
	begin(conn, UROCE_CM_REQ);
	uroce_cm_put(conn->mad, REQ, LOCAL_COMM_ID, conn->local_id);
	uroce_cm_req_encode(conn->mad, &full);
	finish(conn, now_ns);
	return 0;
}

int
uroce_cm_send_rep(struct uroce_cm_conn *conn, const struct uroce_cm_rep *rep, uint64_t now_ns)
{
	struct uroce_cm_rep full = *rep;
	int ret = check(conn, UROCE_CM_REP, &rep->priv);

	if (ret != 0)
		return ret;
	full.ca_guid = conn->cm->conf.ca_guid;
	full.target_ack_delay = conn->cm->conf.ca_ack_delay;
	ret = uroce_cm_rep_check(&full);
	if (ret != 0)
		return ret;
	conn->local_qpn = rep->qpn;
	conn->rq_psn = rep->starting_psn;
	conn->responder_resources = rep->responder_resources;
	conn->initiator_depth = rep->initiator_depth;
	begin(conn, UROCE_CM_REP);
	uroce_cm_rep_encode(conn->mad, &full, (enum ibv_qp_type)conn->qp_type);
	finish(conn, now_ns);
	return 0;
}

/* Send an RTU or a DREP, which have two IDs and private data. */
static int
send_plain(struct uroce_cm_conn *conn, enum uroce_cm_message message,
	   const struct uroce_cm_private *priv, uint64_t now_ns)
{
	int ret = check(conn, message, priv);

	if (ret != 0)
		return ret;
	uroce_cm_private_put(begin(conn, message), message, priv);
	finish(conn, now_ns);
	return 0;
}

int
uroce_cm_send_rtu(struct uroce_cm_conn *conn, const struct uroce_cm_private *priv, uint64_t now_ns)
{
	return send_plain(conn, UROCE_CM_RTU, priv, now_ns);
}

static enum uroce_cm_about
rejected(enum uroce_cm_state state)
{
	switch (state) {
	case UROCE_CM_REQ_RCVD:
	case UROCE_CM_MRA_REQ_SENT: return UROCE_CM_ABOUT_REQ;
	case UROCE_CM_REP_RCVD:
	case UROCE_CM_MRA_REP_SENT: return UROCE_CM_ABOUT_REP;
	default: return UROCE_CM_ABOUT_OTHER;
	}
}

int
uroce_cm_send_rej(struct uroce_cm_conn *conn, uint16_t reason, const void *info, uint8_t info_bytes,
		  const struct uroce_cm_private *priv, uint64_t now_ns)
{
	int ret = check(conn, UROCE_CM_REJ, priv);
	uint8_t *mad;

	if (ret == 0)
		ret = check_info(info, info_bytes, UROCE_CM_REJ_INFO_BYTES);
	if (ret != 0)
		return ret;
	mad = begin(conn, UROCE_CM_REJ);
	if (conn->state == UROCE_CM_REQ_RCVD)
		uroce_cm_put(mad, REJ, LOCAL_COMM_ID, 0); /* the peer does not know the ID */
	uroce_cm_put(mad, REJ, ABOUT, rejected((enum uroce_cm_state)conn->state));
	uroce_cm_put(mad, REJ, REASON, reason);
	uroce_cm_put(mad, REJ, INFO_LENGTH, info_bytes);
	if (info_bytes > 0)
		memcpy(uroce_cm_at(mad, REJ, INFO), info, info_bytes);
	uroce_cm_private_put(mad, UROCE_CM_REJ, priv);
	finish(conn, now_ns);
	return 0;
}

static enum uroce_cm_about
deferred(enum uroce_cm_state state)
{
	switch (state) {
	case UROCE_CM_REQ_RCVD: return UROCE_CM_ABOUT_REQ;
	case UROCE_CM_REP_RCVD: return UROCE_CM_ABOUT_REP;
	default: return UROCE_CM_ABOUT_OTHER;
	}
}

int
uroce_cm_send_mra(struct uroce_cm_conn *conn, uint8_t service_timeout,
		  const struct uroce_cm_private *priv, uint64_t now_ns)
{
	int ret = check(conn, UROCE_CM_MRA, priv);
	uint8_t *mad;

	if (ret != 0)
		return ret;
	if (service_timeout > 31)
		return -EINVAL;
	mad = begin(conn, UROCE_CM_MRA);
	uroce_cm_put(mad, MRA, ABOUT, deferred((enum uroce_cm_state)conn->state));
	uroce_cm_put(mad, MRA, SERVICE_TIMEOUT, service_timeout);
	uroce_cm_private_put(mad, UROCE_CM_MRA, priv);
	finish(conn, now_ns);
	return 0;
}

/* ---- disconnecting ---- */

int
uroce_cm_send_dreq(struct uroce_cm_conn *conn, const struct uroce_cm_private *priv, uint64_t now_ns)
{
	int ret = check(conn, UROCE_CM_DREQ, priv);

	if (ret != 0)
		return ret;
	conn->tid = own_tid(conn);
	begin(conn, UROCE_CM_DREQ);
	uroce_cm_put(conn->mad, DREQ, REMOTE_QPN, conn->remote_qpn);
	uroce_cm_private_put(conn->mad, UROCE_CM_DREQ, priv);
	finish(conn, now_ns);
	return 0;
}

int
uroce_cm_send_drep(struct uroce_cm_conn *conn, const struct uroce_cm_private *priv, uint64_t now_ns)
{
	return send_plain(conn, UROCE_CM_DREP, priv, now_ns);
}

/* A peer that has the connection drops a DREQ with a wrong QPN; a peer that has lost it replies to every DREQ with a
 * DREP. QP 0 belongs to no connection. */
void
uroce_cm_send_probe(struct uroce_cm_conn *conn, uint64_t now_ns)
{
	uint8_t mad[UROCE_CM_MAD_BYTES];	/* conn->mad keeps the message to retransmit */

	/* forged requests must not cause a probe each, in addition to a REJ each */
	if (conn->probed && now_ns - conn->probe_ns < UROCE_CM_PROBE_NS)
		return;
	uroce_cm_mad_init(mad, UROCE_CM_DREQ, own_tid(conn));
	put_ids(mad, conn->local_id, conn->remote_id);
	uroce_cm_put(mad, DREQ, REMOTE_QPN, 0);
	conn->probed = true;
	conn->probe_ns = now_ns;
	uroce_cm_transmit(conn->cm, &conn->path, UROCE_CM_DREQ, mad);
}

bool
uroce_cm_answers_probe(const struct uroce_cm_conn *conn, const uint8_t *drep)
{
	return conn->probed && rte_be_to_cpu_64(uroce_cm_header_const(drep)->tid) == own_tid(conn);
}

/* ---- alternate paths ---- */

int
uroce_cm_send_lap(struct uroce_cm_conn *conn, const struct uroce_cm_path *alternate,
		  const struct uroce_cm_private *priv, uint64_t now_ns)
{
	int ret = check(conn, UROCE_CM_LAP, priv);
	uint8_t *mad;

	if (ret != 0)
		return ret;
	if (alternate->flow_label > UROCE_FLOW_LABEL_MASK || alternate->sl > 15 ||
	    alternate->packet_life_time > 31)
		return -EINVAL;
	conn->lap_count++;
	conn->tid = own_tid(conn);
	mad = begin(conn, UROCE_CM_LAP);
	uroce_cm_put(mad, LAP, REMOTE_QPN, conn->remote_qpn);
	uroce_cm_put(mad, LAP, REMOTE_CM_RESPONSE_TIMEOUT, conn->response_timeout);
	uroce_cm_lap_path_encode(
		mad, alternate,
		uroce_cm_ack_timeout(conn->target_ack_delay, alternate->packet_life_time));
	uroce_cm_private_put(mad, UROCE_CM_LAP, priv);
	finish(conn, now_ns);
	return 0;
}

int
uroce_cm_send_apr(struct uroce_cm_conn *conn, uint8_t status, const void *info, uint8_t info_bytes,
		  const struct uroce_cm_private *priv, uint64_t now_ns)
{
	int ret = check(conn, UROCE_CM_APR, priv);
	uint8_t *mad;

	if (ret == 0)
		ret = check_info(info, info_bytes, UROCE_CM_APR_INFO_BYTES);
	if (ret != 0)
		return ret;
	mad = begin(conn, UROCE_CM_APR);
	uroce_cm_put(mad, APR, STATUS, status);
	uroce_cm_put(mad, APR, INFO_LENGTH, info_bytes);
	if (info_bytes > 0)
		memcpy(uroce_cm_at(mad, APR, INFO), info, info_bytes);
	uroce_cm_private_put(mad, UROCE_CM_APR, priv);
	finish(conn, now_ns);
	return 0;
}

/* ---- service ID resolution ---- */

int
uroce_cm_send_sidr_req(struct uroce_cm_conn *conn, uint64_t service_id,
		       const struct uroce_cm_path *path, uint32_t timeout_ms,
		       uint8_t max_cm_retries, const struct uroce_cm_private *priv, uint64_t now_ns)
{
	int ret = check(conn, UROCE_CM_SIDR_REQ, priv);
	uint8_t *mad;

	if (ret != 0)
		return ret;
	if (timeout_ms == 0 || timeout_ms > UROCE_CM_MAX_SIDR_TIMEOUT_MS || max_cm_retries > 15)
		return -EINVAL;
	uroce_cm_start(conn->cm, now_ns);
	conn->active = true;
	conn->service_id = service_id;
	conn->path = *path;
	conn->qp_type = IBV_QPT_UD;
	conn->max_cm_retries = max_cm_retries;
	conn->interval_ns = timeout_ms * UINT64_C(1000000);
	conn->lap_count = 0;
	conn->tid = own_tid(conn);
	mad = begin(conn, UROCE_CM_SIDR_REQ);
	uroce_cm_put(mad, SIDR_REQ, REQUEST_ID, conn->local_id);
	uroce_cm_put(mad, SIDR_REQ, PKEY, path->pkey);
	uroce_cm_put(mad, SIDR_REQ, SERVICE_ID, service_id);
	uroce_cm_private_put(mad, UROCE_CM_SIDR_REQ, priv);
	finish(conn, now_ns);
	return 0;
}

int
uroce_cm_send_sidr_rep(struct uroce_cm_conn *conn, const struct uroce_cm_sidr_rep *rep,
		       uint64_t now_ns)
{
	int ret = check(conn, UROCE_CM_SIDR_REP, &rep->priv);
	uint8_t *mad;

	if (ret != 0)
		return ret;
	if (rep->qpn > UROCE_QPN_MASK)
		return -EINVAL;
	mad = begin(conn, UROCE_CM_SIDR_REP);
	uroce_cm_put(mad, SIDR_REP, REQUEST_ID, conn->remote_id);
	uroce_cm_put(mad, SIDR_REP, SERVICE_ID, conn->service_id);
	uroce_cm_sidr_rep_encode(mad, rep);
	finish(conn, now_ns);
	return 0;
}
