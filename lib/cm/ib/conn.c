/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates connections, moves them between states, counts unfinished handshakes, and frees connections that have ended.
 * A connection is pinned during a call into its consumer, so that it exists until that call returns. Under the CM's
 * lock.
 */

#include <errno.h>
#include <stdlib.h>

#include <rte_debug.h>

#include "cm/ib/internal.h"
#include "base/trace.h"
#include "uroce_config.h"

void
uroce_cm_start(struct uroce_cm *cm, uint64_t now_ns)
{
	if (cm->started)
		return;
	uroce_wheel_init(&cm->wheel, now_ns);
	cm->started = true;
}

struct uroce_cm_conn *
uroce_cm_conn_alloc(struct uroce_cm *cm, void *user)
{
	struct uroce_cm_conn *conn;

	if (cm->conns >= cm->conf.max_conns)
		return NULL;
	conn = calloc(1, sizeof(*conn));
	if (conn == NULL)
		return NULL;
	conn->cm = cm;
	conn->user = user;
	conn->state = UROCE_CM_IDLE;
	conn->mad_message = -1;
	conn->give_up_ns = UINT64_MAX;
	conn->target_ack_delay = cm->conf.ca_ack_delay;
	uroce_cm_local_add(conn);
	cm->conns++;
	return conn;
}

struct uroce_cm_conn *
uroce_cm_conn_create(struct uroce_cm *cm, void *user)
{
	struct uroce_cm_conn *conn = uroce_cm_conn_alloc(cm, user);

	if (conn == NULL)
		errno = ENOMEM;
	return conn;
}

void *
uroce_cm_conn_user(const struct uroce_cm_conn *conn)
{
	return conn->user;
}

void
uroce_cm_conn_set_user(struct uroce_cm_conn *conn, void *user)
{
	conn->user = user;
}

/* The time for which packets of the connection may be in flight: twice a packet's lifetime and the peer's ACK delay */
static uint64_t
timewait_ns(const struct uroce_cm_conn *conn)
{
	unsigned int life = RTE_MIN(conn->path.packet_life_time, UROCE_CM_MAX_TIMEOUT);
	unsigned int delay = RTE_MIN(conn->target_ack_delay, UROCE_CM_MAX_TIMEOUT);

	return 2 * uroce_cm_timeout_ns(life) + uroce_cm_timeout_ns(delay);
}

/* Does the handshake wait for the peer? */
static bool
is_waiting(enum uroce_cm_state state)
{
	return state == UROCE_CM_REP_SENT || state == UROCE_CM_MRA_REP_RCVD;
}

static void
half_open_begin(struct uroce_cm_conn *conn)
{
	struct uroce_cm *cm = conn->cm;

	conn->source = uroce_cm_source(cm, &conn->path.dgid);
	cm->half_open_of[conn->source]++;
	cm->half_open++;
}

static void
half_open_end(struct uroce_cm_conn *conn)
{
	struct uroce_cm *cm = conn->cm;

	cm->half_open_of[conn->source]--;
	cm->half_open--;
}

static void
count_half_open(struct uroce_cm_conn *conn, enum uroce_cm_state from, enum uroce_cm_state to,
		uint64_t now_ns)
{
	struct uroce_cm *cm = conn->cm;

	if (uroce_cm_state_half_open(to) && !uroce_cm_state_half_open(from))
		half_open_begin(conn);
	else if (!uroce_cm_state_half_open(to) && uroce_cm_state_half_open(from))
		half_open_end(conn);
	if (is_waiting(to) && !is_waiting(from)) {
		conn->give_up_ns = now_ns + UROCE_CM_HALF_OPEN_NS;
		TAILQ_INSERT_TAIL(&cm->waiting, conn, waiting_link);
	} else if (!is_waiting(to) && is_waiting(from)) {
		conn->give_up_ns = UINT64_MAX;
		TAILQ_REMOVE(&cm->waiting, conn, waiting_link);
	}
}

static void
count_state(struct uroce_cm_conn *conn, enum uroce_cm_state from, enum uroce_cm_state to,
	    uint64_t now_ns)
{
	struct uroce_cm *cm = conn->cm;

	count_half_open(conn, from, to, now_ns);
	cm->lingering += to == UROCE_CM_SIDR_REP_SENT;
	cm->lingering -= from == UROCE_CM_SIDR_REP_SENT;
}

/* Make it ready for another connection, under a new ID, because the peer may still use the old one. */
static void
become_idle(struct uroce_cm_conn *conn)
{
	uroce_cm_remote_remove(conn);
	uroce_cm_qpn_remove(conn);
	conn->remote_id = 0;
	conn->probed = false;
	conn->mad_message = -1;
	uroce_cm_local_remove(conn);
	uroce_cm_local_add(conn);
}

void
uroce_cm_conn_enter(struct uroce_cm_conn *conn, enum uroce_cm_state state, uint64_t now_ns)
{
	struct uroce_cm *cm = conn->cm;

	count_state(conn, conn->state, state, now_ns);
	if (conn->state != state)
		uroce_trace_cm_state(conn->local_id, conn->local_qpn, conn->remote_qpn,
				     uroce_cm_state_names[conn->state], uroce_cm_state_names[state]);
	conn->state = (uint8_t)state;
	uroce_wheel_disarm(&conn->timer);
	switch (state) {
	case UROCE_CM_IDLE: become_idle(conn); break;
	/* From now on, the peer may connect its QP anew, as after a restart. Duplicates of old messages still find the
	 * connection by its IDs. */
	case UROCE_CM_DREQ_SENT: uroce_cm_qpn_remove(conn); break;
	case UROCE_CM_TIMEWAIT:
		uroce_cm_qpn_remove(conn);
		uroce_wheel_arm(&cm->wheel, &conn->timer, now_ns + timewait_ns(conn));
		break;
	case UROCE_CM_SIDR_REP_SENT:
		uroce_wheel_arm(&cm->wheel, &conn->timer, now_ns + UROCE_CM_LINGER_NS);
		break;
	default: break;
	}
}

static bool
is_over(const struct uroce_cm_conn *conn)
{
	return conn->state == UROCE_CM_IDLE ||
	       (conn->state == UROCE_CM_SIDR_REP_SENT && conn->cm->lingering > UROCE_CM_MAX_LINGER);
}

void
uroce_cm_conn_settle(struct uroce_cm_conn *conn)
{
	struct uroce_cm *cm = conn->cm;

	if (!conn->orphan || conn->pins > 0 || !is_over(conn))
		return;
	count_state(conn, conn->state, UROCE_CM_IDLE, 0);
	uroce_cm_listen_remove(conn);
	uroce_cm_remote_remove(conn);
	uroce_cm_qpn_remove(conn);
	uroce_cm_local_remove(conn);
	if (cm->started)
		uroce_wheel_remove(&cm->wheel, &conn->timer);
	cm->conns--;
	free(conn);
}

int
uroce_cm_conn_raise(struct uroce_cm_conn *conn, struct uroce_cm_event *event)
{
	const struct uroce_cm_conf *conf = &conn->cm->conf;
	int ret;

	if (conn->orphan)
		return 0;
	event->conn = conn;
	RTE_VERIFY(conn->pins < UINT8_MAX);
	conn->pins++;
	ret = conf->ops->event(conf->arg, event);
	conn->pins--;
	return ret;
}

int
uroce_cm_listen(struct uroce_cm_conn *conn, uint64_t service_id, uint64_t mask)
{
	if (conn->state != UROCE_CM_IDLE)
		return -EBUSY;
	conn->service_id = service_id & mask;
	conn->service_mask = mask;
	conn->state = UROCE_CM_LISTEN;
	uroce_cm_listen_add(conn);
	return 0;
}
