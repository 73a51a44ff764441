/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The communication manager of a device: finds the connection of a MAD, the connections whose deadline has passed, and
 * those to a departed peer; ends a connection that its consumer releases. A kernel disconnects for a killed process,
 * but a killed process with uroce cannot: so the caller reports departed peers, whose connections end. The caller holds
 * a lock during a call and passes the time in.
 */

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_debug.h>

#include "cm/ib/internal.h"

/* Status of an APR */
#define APR_INVALID_COMM_INSTANCE 1

/* ---- creation ---- */

struct uroce_cm *
uroce_cm_create(const struct uroce_cm_conf *conf)
{
	struct uroce_cm *cm = calloc(1, sizeof(*cm));

	RTE_VERIFY(conf->max_conns > 0 && conf->max_conns <= 1u << 30);
	if (cm == NULL)
		return NULL;
	cm->conf = *conf;
	TAILQ_INIT(&cm->waiting);
	if (uroce_cm_tables_create(cm) != 0) {
		free(cm);
		return NULL;
	}
	return cm;
}

void
uroce_cm_destroy(struct uroce_cm *cm)
{
	for (uint32_t i = 0; i <= cm->local.mask; i++) {
		struct uroce_cm_conn *conn;

		while ((conn = LIST_FIRST(&cm->local.buckets[i])) != NULL) {
			RTE_VERIFY(conn->pins == 0);
			LIST_REMOVE(conn, local_link);
			free(conn);
		}
	}
	uroce_cm_tables_destroy(cm);
	free(cm);
}

/* ---- release ---- */

/* Send the message that ends the connection in its state, so that the peer does not wait for a timeout. */
static void
hang_up(struct uroce_cm_conn *conn, uint64_t now_ns)
{
	static const struct uroce_cm_sidr_rep no = { .status = UROCE_CM_SIDR_REJECT };
	uint64_t guid = conn->cm->conf.ca_guid;

	switch ((enum uroce_cm_state)conn->state) {
	case UROCE_CM_REQ_SENT:
	case UROCE_CM_MRA_REQ_RCVD:
		/* the peer's ID is unknown: the peer finds its connection by this end's ID and CA GUID */
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
		/* stays in its list, because a caller may be iterating over it */
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

/* ---- receiving ---- */

static bool
is_from_peer(const struct uroce_cm_conn *conn, const struct uroce_cm_path *path)
{
	return uroce_cm_same_gid(&conn->path.dgid, &path->dgid);
}

/* Find by this end's ID, which is the message's remote ID, and by the peer's if that is known. */
static struct uroce_cm_conn *
find_by_ids(struct uroce_cm *cm, const uint8_t *mad, const struct uroce_cm_path *path)
{
	struct uroce_cm_conn *conn =
		uroce_cm_local_find(cm, (uint32_t)uroce_cm_get(mad, RTU, REMOTE_COMM_ID));

	if (conn == NULL || conn->state == UROCE_CM_IDLE || conn->state == UROCE_CM_LISTEN ||
	    !is_from_peer(conn, path))
		return NULL;
	if (conn->remote_id != 0 && conn->remote_id != uroce_cm_get(mad, RTU, LOCAL_COMM_ID))
		return NULL;
	return conn;
}

/* A peer whose REQ has timed out may not know this end's ID, and passes its own CA GUID instead. Once the peer must
 * know the ID, the GUID is not accepted, because the peer's ID may be easy to guess. */
static struct uroce_cm_conn *
find_rejected(struct uroce_cm *cm, const uint8_t *mad, const struct uroce_cm_path *path)
{
	struct uroce_cm_conn *conn = NULL;

	if (uroce_cm_get(mad, REJ, REASON) == UROCE_CM_REJ_TIMEOUT &&
	    uroce_cm_get(mad, REJ, INFO_LENGTH) >= sizeof(uint64_t)) {
		uint64_t guid;

		memcpy(&guid, uroce_cm_at(mad, REJ, INFO), sizeof(guid));
		conn = uroce_cm_remote_find(cm, (uint32_t)uroce_cm_get(mad, REJ, LOCAL_COMM_ID),
					    guid, &path->dgid);
	}
	if (conn != NULL && uroce_cm_state_half_open((enum uroce_cm_state)conn->state))
		return conn;
	return find_by_ids(cm, mad, path);
}

static struct uroce_cm_conn *
find(struct uroce_cm *cm, enum uroce_cm_message message, const uint8_t *mad,
     const struct uroce_cm_path *path)
{
	struct uroce_cm_conn *conn;

	switch (message) {
	case UROCE_CM_REJ: return find_rejected(cm, mad, path);
	case UROCE_CM_SIDR_REP:
		conn = uroce_cm_local_find(cm, (uint32_t)uroce_cm_get(mad, SIDR_REP, REQUEST_ID));
		return conn != NULL && is_from_peer(conn, path) ? conn : NULL;
	default: return find_by_ids(cm, mad, path);
	}
}

/* No connection has the ID: reply if the peer waits for a reply. */
static void
answer_unknown(struct uroce_cm *cm, enum uroce_cm_message message, const uint8_t *mad,
	       const struct uroce_cm_path *path)
{
	UROCE_CM_BUMP(cm, drop_unknown_id);
	switch (message) {
	case UROCE_CM_REP:
		uroce_cm_reply_rej(cm, path, mad, UROCE_CM_ABOUT_REP, UROCE_CM_REJ_INVALID_COMM_ID,
				   NULL, 0);
		break;
	case UROCE_CM_DREQ: uroce_cm_reply_drep(cm, path, mad); break;
	case UROCE_CM_LAP: uroce_cm_reply_apr(cm, path, mad, APR_INVALID_COMM_INSTANCE); break;
	default: break;
	}
}

static void
answer_class_version(struct uroce_cm *cm, enum uroce_cm_message message, const uint8_t *mad,
		     const struct uroce_cm_path *path)
{
	static const uint8_t supported = UROCE_CM_CLASS_VERSION;

	UROCE_CM_BUMP(cm, drop_class_version);
	if (message == UROCE_CM_REQ)
		uroce_cm_reply_rej(cm, path, mad, UROCE_CM_ABOUT_REQ,
				   UROCE_CM_REJ_INVALID_CLASS_VERSION, &supported,
				   sizeof(supported));
	else if (message == UROCE_CM_SIDR_REQ)
		uroce_cm_reply_sidr(cm, path, mad, UROCE_CM_SIDR_UNSUPPORTED_VERSION);
}

void
uroce_cm_receive(struct uroce_cm *cm, const uint8_t *mad, uint32_t bytes,
		 const struct uroce_cm_path *path, uint64_t now_ns)
{
	int type = uroce_cm_mad_message(mad, bytes);
	enum uroce_cm_message message = (enum uroce_cm_message)type;
	struct uroce_cm_conn *conn;

	uroce_cm_start(cm, now_ns);
	if (type < 0) {
		UROCE_CM_BUMP(cm, drop_malformed);
		return;
	}
	uroce_cm_bump(&cm->received[message]);
	if (uroce_cm_header_const(mad)->class_version != UROCE_CM_CLASS_VERSION) {
		answer_class_version(cm, message, mad, path);
		return;
	}
	if (message == UROCE_CM_REQ) {
		uroce_cm_receive_req(cm, mad, path, now_ns);
		return;
	}
	if (message == UROCE_CM_SIDR_REQ) {
		uroce_cm_receive_sidr_req(cm, mad, path, now_ns);
		return;
	}
	conn = find(cm, message, mad, path);
	if (conn == NULL)
		answer_unknown(cm, message, mad, path);
	else
		uroce_cm_handle(conn, message, mad, now_ns);
}

/* ---- time ---- */

struct expiry {
	uint64_t now_ns;
};

static void
time_out(struct uroce_cm_conn *conn, uint64_t now_ns)
{
	const struct uroce_cm_row *row = &uroce_cm_timeouts[conn->state];
	struct uroce_cm_event event = { .type = (enum uroce_cm_event_type)row->event };
	uint64_t guid = conn->cm->conf.ca_guid;

	RTE_VERIFY(row->action != UROCE_CM_UNEXPECTED);
	/* Reject the peer that did not reply, so that it does not wait. */
	if (uroce_cm_sends[conn->state][UROCE_CM_REJ] != UROCE_CM_STATE_NONE)
		uroce_cm_send_rej(conn, UROCE_CM_REJ_TIMEOUT, &guid, sizeof(guid), NULL, now_ns);
	else
		uroce_cm_conn_enter(conn, (enum uroce_cm_state)row->next, now_ns);
	if (row->action == UROCE_CM_TAKE)
		uroce_cm_conn_raise(conn, &event);
	uroce_cm_conn_settle(conn);
}

static void
fire(struct uroce_timer *timer, void *arg)
{
	struct uroce_cm_conn *conn = container_of(timer, struct uroce_cm_conn, timer);
	const struct expiry *e = arg;
	bool awaits = conn->state != UROCE_CM_TIMEWAIT && conn->state != UROCE_CM_SIDR_REP_SENT;

	if (awaits && conn->retries_left > 0 && e->now_ns < conn->give_up_ns) {
		uroce_cm_retransmit(conn, e->now_ns);
		return;
	}
	if (awaits && conn->retries_left > 0)
		UROCE_CM_BUMP(conn->cm, half_open_expired);
	time_out(conn, e->now_ns);
}

void
uroce_cm_expire(struct uroce_cm *cm, uint64_t now_ns)
{
	struct expiry e = { .now_ns = now_ns };

	uroce_cm_start(cm, now_ns);
	uroce_wheel_expire(&cm->wheel, now_ns, fire, &e);
}

uint64_t
uroce_cm_deadline(const struct uroce_cm *cm)
{
	return cm->started ? uroce_wheel_next(&cm->wheel) : UINT64_MAX;
}

/* ---- departed peers ---- */

static void
take_departure(struct uroce_cm_conn *conn, uint64_t now_ns)
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
			take_departure(conn, now_ns);
			goto again; /* the consumer may have freed others; this one is in another state now */
		}
	}
}

/* ---- counters ---- */

#define ROW(prefix, message) [UROCE_CM_##message] = #prefix "_" #message
#define ROWS(prefix)                                                                              \
	ROW(prefix, REQ), ROW(prefix, MRA), ROW(prefix, REJ), ROW(prefix, REP), ROW(prefix, RTU), \
		ROW(prefix, DREQ), ROW(prefix, DREP), ROW(prefix, SIDR_REQ),                      \
		ROW(prefix, SIDR_REP), ROW(prefix, LAP), ROW(prefix, APR)

static const char *const sent_names[UROCE_CM_MESSAGE_COUNT] = { ROWS(cm_sent) };
static const char *const received_names[UROCE_CM_MESSAGE_COUNT] = { ROWS(cm_received) };

#define COUNTER_NAME(name) [UROCE_CM_COUNT_##name] = "cm_" #name,
static const char *const counter_names[UROCE_CM_COUNTER_COUNT] = {
	UROCE_CM_COUNTERS(COUNTER_NAME)
};

static unsigned int
list(const char *const *from, const uint64_t *counters, unsigned int n, unsigned int at,
     const char **names, uint64_t *values, unsigned int room)
{
	for (unsigned int i = 0; i < n && at + i < room; i++) {
		names[at + i] = from[i];
		/* pairs with uroce_cm_bump() */
		values[at + i] = __atomic_load_n(&counters[i], __ATOMIC_RELAXED);
	}
	return at + n;
}

unsigned int
uroce_cm_query_counters(const struct uroce_cm *cm, const char **names, uint64_t *values,
			unsigned int room)
{
	unsigned int n = 0;

	n = list(sent_names, cm->sent, UROCE_CM_MESSAGE_COUNT, n, names, values, room);
	n = list(received_names, cm->received, UROCE_CM_MESSAGE_COUNT, n, names, values, room);
	return list(counter_names, cm->counters, UROCE_CM_COUNTER_COUNT, n, names, values, room);
}
