/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Handles the events of the CM: accepts requests, resolves routes after addresses, and explains errors. Main thread.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "program.h"
#include "rping.h"

static void
resolved(struct rping_conn *conn)
{
	if (uroce_rdma_resolve_route(conn->id, UROCE_RPING_RESOLVE_MS) != 0)
		uroce_rping_conn_fail(conn, "cannot resolve the route: %s", strerror(errno));
}

static struct rdma_conn_param
conn_param(const struct rping_conn *conn)
{
	return (struct rdma_conn_param){
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.qp_num = conn->qp->qp_num, /* used with -q only: else the ID has the QP */
	};
}

static void
routed(struct rping_conn *conn)
{
	struct rdma_conn_param param;

	if (uroce_rping_conn_prepare(conn) != 0) {
		uroce_rping_conn_fail(conn, "cannot prepare the connection");
		return;
	}
	param = conn_param(conn);
	if (uroce_rdma_connect(conn->id, &param) != 0)
		uroce_rping_conn_fail(conn, "cannot connect: %s", strerror(errno));
}

static int
accept_client(struct rping_conn *conn)
{
	struct rdma_conn_param param;

	if (uroce_rping_conn_prepare(conn) != 0)
		return -1;
	if (conn->options->own_qp && uroce_rping_conn_modify(conn) != 0)
		return -1;
	param = conn_param(conn);
	return uroce_rdma_accept(conn->id, conn->options->own_qp ? &param : NULL);
}

/* Handle a connection request. @return the ID, to destroy after the event is acknowledged; NULL: a connection owns it
 */
static struct rdma_cm_id *
requested(struct rping *r, struct rdma_cm_id *id)
{
	struct rping_conn *conn = NULL;

	if (r->options->persistent || !r->server_busy)
		conn = uroce_rping_conn_create(r->options, id, true);
	if (conn == NULL) {
		(void)uroce_rdma_reject(id, NULL, 0);
		return id;
	}
	r->server_busy = true;
	TAILQ_INSERT_TAIL(&r->conns, conn, link);
	if (accept_client(conn) != 0) {
		(void)uroce_rdma_reject(id, NULL, 0);
		uroce_rping_conn_fail(conn, "cannot accept a client");
	}
	return NULL;
}

static void
answered(struct rping_conn *conn)
{
	if (uroce_rping_conn_modify(conn) != 0 || uroce_rdma_establish(conn->id) != 0) {
		uroce_rping_conn_fail(conn, "cannot connect the QP");
		return;
	}
	conn->established = true;
	uroce_rping_client_start(conn);
}

static void
established(struct rping_conn *conn)
{
	conn->established = true;
	if (!conn->server)
		uroce_rping_client_start(conn);
	else if (conn->phase == RPING_CONNECTING)
		conn->phase = RPING_WAIT_START;
}

static void
disconnected(struct rping_conn *conn)
{
	const bool expected = conn->server || conn->phase >= RPING_LEAVING;

	conn->disconnected = true;
	if (conn->phase == RPING_LEAVING)
		conn->phase = RPING_OVER;
	else if (expected)
		uroce_rping_conn_leave(conn);
	else
		uroce_rping_conn_fail(
			conn,
			"the server has disconnected after %u pings: check whether it was stopped (rping also "
			"disconnects if a ping is longer than its own -S)",
			conn->round);
}

static void
refused(const struct rping *r, struct rping_conn *conn, const struct rdma_cm_event *event)
{
	const uint16_t port = r->options->port;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_ERROR:
		uroce_rping_conn_fail(
			conn,
			"cannot resolve the server's address: %s: check that it is on a subnet of --addr, and that "
			"the link is up",
			strerror(-event->status));
		break;
	case RDMA_CM_EVENT_REJECTED:
		uroce_rping_conn_fail(
			conn,
			"the peer has rejected the connection (reason %d): check that a server listens on port %u, "
			"and is not busy",
			event->status, port);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		uroce_rping_conn_fail(conn, "no reply to the connection request: %s",
				      strerror(-event->status));
		break;
	default:
		uroce_rping_conn_fail(conn, "%s, status %d", uroce_rdma_event_str(event->event),
				      event->status);
	}
}

static void
handle(struct rping *r, struct rping_conn *conn, const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED: resolved(conn); break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED: routed(conn); break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE: answered(conn); break;
	case RDMA_CM_EVENT_ESTABLISHED: established(conn); break;
	case RDMA_CM_EVENT_DISCONNECTED: disconnected(conn); break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
	case RDMA_CM_EVENT_ADDR_CHANGE: break;
	default: refused(r, conn, event);
	}
}

unsigned int
uroce_rping_events(struct rping *r)
{
	struct rdma_cm_id *unwanted;
	struct rdma_cm_event *event;
	unsigned int n = 0;

	while (uroce_rdma_get_cm_event(r->channel, &event) == 0) {
		unwanted = NULL;
		if (r->options->debug)
			fprintf(stderr, "%s: %s, status %d\n", uroce_app_name,
				uroce_rdma_event_str(event->event), event->status);
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			unwanted = requested(r, event->id);
		else if (event->id->context != NULL)
			handle(r, event->id->context, event);
		(void)uroce_rdma_ack_cm_event(event);
		if (unwanted != NULL)
			(void)uroce_rdma_destroy_id(unwanted);
		n++;
	}
	return n;
}
