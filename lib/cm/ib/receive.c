/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Receives the messages of a connection: executes the row of the state table, stores the message's values, and passes
 * the event to the consumer. Under the CM's lock.
 */

#include <errno.h>

#include <rte_common.h>

#include "cm/ib/internal.h"
#include "cm/ib/message.h"
#include "uroce_config.h"
#include "wire/headers.h"

/* Status of an APR */
#define APR_UNSUPPORTED 2

void
uroce_cm_suspect_stale(struct uroce_cm_conn *conn, uint64_t now_ns)
{
	/* a connection in another state times out */
	if (uroce_cm_state_established((enum uroce_cm_state)conn->state))
		uroce_cm_send_probe(conn, now_ns);
}

/* ---- REP ---- */

/* Is the REP acceptable? @return false: it is counted, and dropped or rejected */
static bool
admit_rep(struct uroce_cm_conn *conn, const struct uroce_cm_rep *rep, const uint8_t *mad, uint64_t now_ns)
{
	uint32_t remote_id = (uint32_t)uroce_cm_get(mad, REP, LOCAL_COMM_ID);
	struct uroce_cm *cm = conn->cm;
	struct uroce_cm_conn *stale;

	if (rep->qpn <= 1 || rep->qpn >= UROCE_MULTICAST_QPN) {
		UROCE_CM_BUMP(cm, drop_malformed);
		return false;
	}
	if (uroce_cm_remote_find(cm, remote_id, rep->ca_guid, &conn->path.dgid) != NULL) {
		UROCE_CM_BUMP(cm, duplicate);
		return false;
	}
	stale = uroce_cm_qpn_find(cm, rep->qpn, rep->ca_guid, &conn->path.dgid);
	if (stale == NULL)
		return true;
	UROCE_CM_BUMP(cm, rej_stale);
	uroce_cm_reply_rej(cm, &conn->path, mad, UROCE_CM_ABOUT_REP, UROCE_CM_REJ_STALE_CONNECTION,
			   NULL, 0);
	uroce_cm_suspect_stale(stale, now_ns);
	return false;
}

static void
remember_rep(struct uroce_cm_conn *conn, const struct uroce_cm_rep *rep, const uint8_t *mad)
{
	conn->remote_id = (uint32_t)uroce_cm_get(mad, REP, LOCAL_COMM_ID);
	conn->remote_ca_guid = rep->ca_guid;
	conn->remote_qpn = rep->qpn;
	conn->sq_psn = rep->starting_psn;
	/* no more than the REQ requested */
	conn->responder_resources = RTE_MIN(conn->responder_resources, rep->responder_resources);
	conn->initiator_depth = RTE_MIN(conn->initiator_depth, rep->initiator_depth);
	conn->rnr_retry_count = rep->rnr_retry_count;
	conn->target_ack_delay = rep->target_ack_delay;
	conn->ack_timeout = uroce_cm_ack_timeout(rep->target_ack_delay,
						 conn->path.packet_life_time);
	uroce_cm_remote_add(conn);
	uroce_cm_qpn_add(conn);
}

/* ---- taking a message ---- */

/* Check the message beyond its IDs. @return false: it is counted, and dropped or answered */
static bool
admit(struct uroce_cm_conn *conn, enum uroce_cm_message message, const uint8_t *mad)
{
	bool right = true;

	if (message == UROCE_CM_DREQ)
		right = uroce_cm_get(mad, DREQ, REMOTE_QPN) == conn->local_qpn;
	else if (message == UROCE_CM_LAP)
		right = uroce_cm_get(mad, LAP, REMOTE_QPN) == conn->local_qpn;
	else if (message == UROCE_CM_SIDR_REP)
		right = uroce_cm_get(mad, SIDR_REP, SERVICE_ID) == conn->service_id;
	if (!right)
		UROCE_CM_BUMP(conn->cm, drop_malformed);
	return right;
}

static void
describe_rej(const uint8_t *mad, struct uroce_cm_event *event)
{
	uint64_t length = uroce_cm_get(mad, REJ, INFO_LENGTH);

	event->rej.reason = (uint16_t)uroce_cm_get(mad, REJ, REASON);
	event->rej.info = uroce_cm_at(mad, REJ, INFO);
	event->rej.info_bytes = (uint8_t)RTE_MIN(length, (uint64_t)UROCE_CM_REJ_INFO_BYTES);
}

static enum uroce_cm_state
next_of(const struct uroce_cm_row *row, enum uroce_cm_message message, const uint8_t *mad)
{
	/* The peer's QP still has a connection to this QPN: wait until the old packets have left the network. */
	if (message == UROCE_CM_REJ &&
	    uroce_cm_get(mad, REJ, REASON) == UROCE_CM_REJ_STALE_CONNECTION)
		return UROCE_CM_TIMEWAIT;
	return (enum uroce_cm_state)row->next;
}

/* Send the replies that the consumer leaves to the manager. */
static void
after_event(struct uroce_cm_conn *conn, int answer, uint64_t now_ns)
{
	if (conn->state == UROCE_CM_DREQ_RCVD && conn->orphan)
		uroce_cm_send_drep(conn, NULL, now_ns);
	if (conn->state == UROCE_CM_LAP_RCVD && answer == 0)
		uroce_cm_send_apr(conn, APR_UNSUPPORTED, NULL, 0, NULL, now_ns);
}

static void
take(struct uroce_cm_conn *conn, const struct uroce_cm_row *row, enum uroce_cm_message message,
     const uint8_t *mad, uint64_t now_ns)
{
	struct uroce_cm_event event = {
		.type = (enum uroce_cm_event_type)row->event,
		.priv = uroce_cm_private_get(mad, message),
	};
	struct uroce_cm_sidr_rep sidr_rep;
	struct uroce_cm_path lap_path;
	struct uroce_cm_rep rep;
	int answer;

	switch (message) {
	case UROCE_CM_REP:
		uroce_cm_rep_decode(mad, &rep, (enum ibv_qp_type)conn->qp_type);
		if (!admit_rep(conn, &rep, mad, now_ns))
			return;
		remember_rep(conn, &rep, mad);
		event.rep = &rep;
		break;
	case UROCE_CM_SIDR_REP:
		uroce_cm_sidr_rep_decode(mad, &sidr_rep);
		event.sidr_rep = &sidr_rep;
		break;
	case UROCE_CM_LAP:
		uroce_cm_lap_path_decode(mad, &lap_path);
		event.lap_path = &lap_path;
		break;
	case UROCE_CM_REJ: describe_rej(mad, &event); break;
	case UROCE_CM_APR: event.apr_status = (uint8_t)uroce_cm_get(mad, APR, STATUS); break;
	default: break;
	}
	if (message == UROCE_CM_DREQ || message == UROCE_CM_LAP)
		conn->tid = rte_be_to_cpu_64(uroce_cm_header_const(mad)->tid);
	uroce_cm_conn_enter(conn, next_of(row, message, mad), now_ns);
	conn->pins++;
	answer = uroce_cm_conn_raise(conn, &event);
	after_event(conn, message == UROCE_CM_LAP ? answer : -1, now_ns);
	conn->pins--;
	uroce_cm_conn_settle(conn);
}

/* ---- MRA ---- */

static enum uroce_cm_message
awaited(enum uroce_cm_about about)
{
	switch (about) {
	case UROCE_CM_ABOUT_REQ: return UROCE_CM_REQ;
	case UROCE_CM_ABOUT_REP: return UROCE_CM_REP;
	case UROCE_CM_ABOUT_OTHER: return UROCE_CM_LAP;
	default: return UROCE_CM_MESSAGE_COUNT;
	}
}

static void
wait_longer(struct uroce_cm_conn *conn, const struct uroce_cm_row *row, const uint8_t *mad,
	    uint64_t now_ns)
{
	unsigned int timeout = (unsigned int)uroce_cm_get(mad, MRA, SERVICE_TIMEOUT);
	struct uroce_cm_event event = {
		.type = (enum uroce_cm_event_type)row->event,
		.priv = uroce_cm_private_get(mad, UROCE_CM_MRA),
		.mra_service_timeout = (uint8_t)timeout,
	};

	if (awaited((enum uroce_cm_about)uroce_cm_get(mad, MRA, ABOUT)) !=
	    (enum uroce_cm_message)conn->mad_message) {
		UROCE_CM_BUMP(conn->cm, drop_unexpected);
		return;
	}
	uroce_cm_conn_enter(conn, (enum uroce_cm_state)row->next, now_ns);
	conn->wait_ns = conn->interval_ns +
			uroce_cm_timeout_ns(RTE_MIN(timeout, UROCE_CM_MAX_TIMEOUT + 0u));
	uroce_cm_wait_for_answer(conn, now_ns);
	uroce_cm_conn_raise(conn, &event);
	uroce_cm_conn_settle(conn);
}

/* ---- by the table ---- */

/* Is it a duplicate of a LAP that was answered, rather than a new LAP? */
static bool
is_answered_lap(const struct uroce_cm_conn *conn, enum uroce_cm_message message, const uint8_t *mad)
{
	return message == UROCE_CM_LAP && conn->state == UROCE_CM_ESTABLISHED &&
	       conn->mad_message == UROCE_CM_APR &&
	       uroce_cm_header_const(mad)->tid == uroce_cm_header_const(conn->mad)->tid;
}

/* Was the REJ that ended the connection lost? Its retransmission tells the peer the reason. */
static bool
is_rejected_already(const struct uroce_cm_conn *conn, enum uroce_cm_message message)
{
	return conn->state == UROCE_CM_TIMEWAIT && conn->mad_message == UROCE_CM_REJ &&
	       message == (conn->active ? UROCE_CM_REP : UROCE_CM_REQ);
}

/* Is it a REP to the passive end, which sends REPs but receives none? */
static bool
is_not_its_role(const struct uroce_cm_conn *conn, enum uroce_cm_message message)
{
	return message == UROCE_CM_REP && !conn->active;
}

/* Is it a DREP although this end has sent neither a DREQ nor a probe? */
static bool
is_unasked(const struct uroce_cm_conn *conn, enum uroce_cm_message message, const uint8_t *mad)
{
	return message == UROCE_CM_DREP &&
	       uroce_cm_state_established((enum uroce_cm_state)conn->state) &&
	       !uroce_cm_answers_probe(conn, mad);
}

/* Does the message lack the transaction ID of this end's request? While the peer's communication ID is unknown, the
 * transaction ID makes a reply hard to forge: this end's communication ID has only 32 bits. */
static bool
is_of_another_transaction(const struct uroce_cm_conn *conn, const uint8_t *mad)
{
	if (conn->state != UROCE_CM_REQ_SENT && conn->state != UROCE_CM_MRA_REQ_RCVD &&
	    conn->state != UROCE_CM_SIDR_REQ_SENT)
		return false;
	return rte_be_to_cpu_64(uroce_cm_header_const(mad)->tid) != conn->tid;
}

void
uroce_cm_handle(struct uroce_cm_conn *conn, enum uroce_cm_message message, const uint8_t *mad,
		uint64_t now_ns)
{
	const struct uroce_cm_row *row = &uroce_cm_receives[conn->state][message];
	enum uroce_cm_action action = (enum uroce_cm_action)row->action;
	struct uroce_cm *cm = conn->cm;

	if (action != UROCE_CM_UNEXPECTED && is_of_another_transaction(conn, mad)) {
		UROCE_CM_BUMP(cm, drop_tid);
		return;
	}
	if (is_not_its_role(conn, message) || is_unasked(conn, message, mad))
		action = UROCE_CM_UNEXPECTED;
	if (is_answered_lap(conn, message, mad) || is_rejected_already(conn, message))
		action = UROCE_CM_ANSWER;
	if (action >= UROCE_CM_ANSWER && !admit(conn, message, mad))
		return;
	switch (action) {
	case UROCE_CM_UNEXPECTED: UROCE_CM_BUMP(cm, drop_unexpected); break;
	case UROCE_CM_DUPLICATE: UROCE_CM_BUMP(cm, duplicate); break;
	case UROCE_CM_ANSWER: uroce_cm_answer_again(conn, message); break;
	case UROCE_CM_DEFER:
		UROCE_CM_BUMP(cm, duplicate);
		uroce_cm_send_mra(conn, UROCE_CM_MRA_TIMEOUT, NULL, now_ns);
		break;
	case UROCE_CM_STALE:
		UROCE_CM_BUMP(cm, rej_stale);
		uroce_cm_reply_rej(cm, &conn->path, mad, UROCE_CM_ABOUT_REQ,
				   UROCE_CM_REJ_STALE_CONNECTION, NULL, 0);
		break;
	case UROCE_CM_WAIT: wait_longer(conn, row, mad, now_ns); break;
	case UROCE_CM_TAKE: take(conn, row, message, mad, now_ns); break;
	}
}

int
uroce_cm_established(struct uroce_cm_conn *conn, uint64_t now_ns)
{
	struct uroce_cm_event event = { .type = UROCE_CM_RTU_RECEIVED };

	if (conn->state != UROCE_CM_REP_SENT && conn->state != UROCE_CM_MRA_REP_RCVD)
		return -EINVAL;
	uroce_cm_conn_enter(conn, UROCE_CM_ESTABLISHED, now_ns);
	uroce_cm_conn_raise(conn, &event);
	uroce_cm_conn_settle(conn);
	return 0;
}
