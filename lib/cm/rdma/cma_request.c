/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Receives the communication manager's events: a REQ becomes an ID of the listener's channel, or is rejected with a
 * reason; other messages become events of the connection's ID. The service's thread, under uroce_cm_lock.
 */

#include <errno.h>
#include <string.h>

#include "cm/rdma/cma.h"
#include "cm/rdma/cma_header.h"
#include "cm/rdma/cma_sockaddr.h"

static bool
address_is(const struct sockaddr_storage *addr, const union ibv_gid *gid)
{
	union ibv_gid is;

	uroce_cma_addr_to_gid((const struct sockaddr *)addr, &is);
	return memcmp(is.raw, gid->raw, sizeof(is.raw)) == 0;
}

struct uroce_cma_id *
uroce_cma_request_listener(const struct uroce_cm_event *event, const struct uroce_cm_path *path,
			   struct sockaddr_storage *src, struct sockaddr_storage *dst)
{
	struct uroce_cma_port *port = uroce_cma_port_of(event->listener);

	if (uroce_cma_header_decode(event->priv.data, event->priv.bytes, src, dst) != 0)
		return NULL;
	/* a GID is an IP address: the addresses in the header must be those of the packet */
	if (!address_is(src, &path->dgid) || !address_is(dst, &path->sgid))
		return NULL;
	uroce_cma_addr_set_port((struct sockaddr *)dst, uroce_cma_port_number(port));
	return uroce_cma_port_match(port, (const struct sockaddr *)dst);
}

struct uroce_cma_id *
uroce_cma_request_id(struct uroce_cma_id *listener, struct uroce_cm_agent *agent,
		     const struct uroce_cm_event *event, const struct uroce_cm_path *path,
		     const struct sockaddr_storage *src, const struct sockaddr_storage *dst)
{
	struct uroce_cma_id *id = uroce_cma_id_create_passive(listener);

	if (id == NULL)
		return NULL;
	if (uroce_cma_device_bind(id, agent, path->sgid_index) != 0) {
		uroce_cma_id_discard(id);
		return NULL;
	}
	id->src = *dst; /* the peer's destination is our address */
	id->dst = *src;
	id->conn = event->conn;
	uroce_cm_conn_set_user(event->conn, id);
	return id;
}

/* Discard the ID of a refused request. The result of the event makes the manager end the connection. */
static void
refuse(struct uroce_cma_id *id)
{
	uroce_cm_conn_set_user(id->conn, NULL);
	id->conn = NULL;
	uroce_cma_id_discard(id);
}

/* Queue the event of a new ID at its listener. It counts against the listener's backlog until a thread gets it. */
static bool
post_request(struct uroce_cma_id *listener, struct uroce_cma_id *id, struct uroce_cma_event *event)
{
	event->owner = listener;
	event->event.id = &id->id;
	event->event.listen_id = &listener->id;
	event->action = UROCE_CMA_REQUEST;
	listener->backlog--;
	if (uroce_cma_event_post(event))
		return true;
	listener->backlog++;
	return false;
}

/* The application gets the private data after the header. */
static void
put_user_data(struct uroce_cma_event *posted, const struct uroce_cm_event *event)
{
	const struct uroce_cm_private priv = {
		.data = (const uint8_t *)event->priv.data + UROCE_CMA_HEADER_BYTES,
		.bytes = event->priv.bytes - UROCE_CMA_HEADER_BYTES,
	};

	uroce_cma_event_private(posted, &priv);
}

/* The values of the REQ are those of this end already: responder_resources is the peer's initiator depth. */
static void
conn_param(struct rdma_conn_param *param, struct uroce_cma_id *id, const struct uroce_cm_req *req)
{
	param->responder_resources = req->responder_resources;
	param->initiator_depth = req->initiator_depth;
	param->flow_control = req->flow_control;
	param->retry_count = req->retry_count;
	param->rnr_retry_count = req->rnr_retry_count;
	param->srq = req->srq;
	param->qp_num = req->qpn;
	id->remote_ece.vendor_id = req->ece_vendor_id;
	id->remote_ece.options = req->ece_attr_mod;
	id->responder_resources = param->responder_resources;
	id->initiator_depth = param->initiator_depth;
}

int
uroce_cma_request(struct uroce_cm_agent *agent, const struct uroce_cm_event *event)
{
	const struct uroce_cm_req *req = event->req;
	struct sockaddr_storage src, dst;
	struct uroce_cma_id *listener = uroce_cma_request_listener(event, &req->path, &src, &dst);
	struct uroce_cma_event *posted;
	struct uroce_cma_id *id;

	if (listener == NULL)
		return UROCE_CM_REJ_INVALID_SERVICE_ID;
	if (uroce_cma_is_ud(listener) || req->qp_type != (uint8_t)listener->id.qp_type)
		return UROCE_CM_REJ_INVALID_TRANSPORT_TYPE;
	if (listener->backlog == 0)
		return UROCE_CM_REJ_NO_RESOURCES;
	id = uroce_cma_request_id(listener, agent, event, &req->path, &src, &dst);
	if (id == NULL)
		return UROCE_CM_REJ_NO_RESOURCES;
	posted = uroce_cma_event_new(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	if (posted == NULL)
		goto refuse;
	put_user_data(posted, event);
	conn_param(&posted->event.param.conn, id, req);
	if (post_request(listener, id, posted))
		return 0;
refuse:
	refuse(id);
	return UROCE_CM_REJ_NO_RESOURCES;
}

int
uroce_cma_sidr_request(struct uroce_cm_agent *agent, const struct uroce_cm_event *event)
{
	const struct uroce_cm_path *path = &event->sidr_req.path;
	struct sockaddr_storage src, dst;
	struct uroce_cma_id *listener = uroce_cma_request_listener(event, path, &src, &dst);
	struct uroce_cma_event *posted;
	struct uroce_cma_id *id;

	if (listener == NULL || !uroce_cma_is_ud(listener))
		return UROCE_CM_SIDR_UNSUPPORTED;
	if (listener->backlog == 0)
		return UROCE_CM_SIDR_NO_QP;
	id = uroce_cma_request_id(listener, agent, event, path, &src, &dst);
	if (id == NULL)
		return UROCE_CM_SIDR_NO_QP;
	posted = uroce_cma_event_new(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	if (posted == NULL)
		goto refuse;
	put_user_data(posted, event);
	if (post_request(listener, id, posted))
		return 0;
refuse:
	refuse(id);
	return UROCE_CM_SIDR_NO_QP;
}

static void
post(struct uroce_cma_id *id, const struct uroce_cm_event *event, enum rdma_cm_event_type type,
     int status, enum uroce_cma_action action)
{
	struct uroce_cma_event *posted = uroce_cma_event_new(id, type, status);

	if (posted == NULL)
		return;
	posted->action = action;
	uroce_cma_event_private(posted, &event->priv);
	if (event->type == UROCE_CM_REP_RECEIVED) {
		struct rdma_conn_param *param = &posted->event.param.conn;

		param->responder_resources = event->rep->responder_resources;
		param->initiator_depth = event->rep->initiator_depth;
		param->flow_control = event->rep->flow_control;
		param->rnr_retry_count = event->rep->rnr_retry_count;
		param->srq = event->rep->srq;
		param->qp_num = event->rep->qpn;
		id->remote_ece.vendor_id = event->rep->ece_vendor_id;
		id->remote_ece.options = event->rep->ece_attr_mod;
	}
	(void)uroce_cma_event_post(posted);
}

/* Report the end once for each connection, whichever side disconnects first. */
static void
disconnected(struct uroce_cma_id *id, const struct uroce_cm_event *event)
{
	const struct uroce_cm_private none = { .data = NULL };
	const int status = event->type == UROCE_CM_DREQ_ERROR ? -ETIMEDOUT : 0;

	/* both ends have called rdma_disconnect(3), so no further call sends the DREP */
	if (event->type == UROCE_CM_DREQ_RECEIVED && id->disconnecting)
		(void)uroce_cm_send_drep(id->conn, &none, uroce_cm_now(id->agent));
	if (id->state != UROCE_CMA_CONNECT)
		return;
	id->state = UROCE_CMA_DISCONNECT;
	post(id, event, RDMA_CM_EVENT_DISCONNECTED, status, UROCE_CMA_ENDED);
}

static void
connection_event(struct uroce_cma_id *id, const struct uroce_cm_event *event)
{
	switch (event->type) {
	case UROCE_CM_REQ_ERROR:
	case UROCE_CM_REP_ERROR:
		post(id, event, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, UROCE_CMA_NONE);
		break;
	case UROCE_CM_REP_RECEIVED:
		post(id, event, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, UROCE_CMA_RESPONSE);
		break;
	case UROCE_CM_RTU_RECEIVED:
		post(id, event, RDMA_CM_EVENT_ESTABLISHED, 0, UROCE_CMA_NONE);
		break;
	case UROCE_CM_REJ_RECEIVED:
		post(id, event, RDMA_CM_EVENT_REJECTED, event->rej.reason, UROCE_CMA_REFUSED);
		break;
	case UROCE_CM_DREQ_RECEIVED:
	case UROCE_CM_DREP_RECEIVED:
	case UROCE_CM_DREQ_ERROR: disconnected(id, event); break;
	case UROCE_CM_TIMEWAIT_EXIT:
		post(id, event, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, UROCE_CMA_ENDED);
		break;
	case UROCE_CM_SIDR_REP_RECEIVED:
	case UROCE_CM_SIDR_REQ_ERROR: uroce_cma_sidr_event(id, event); break;
	default: break; /* the communication manager handles MRA, LAP and APR */
	}
}

int
uroce_cma_event(void *arg, const struct uroce_cm_event *event)
{
	struct uroce_cm_agent *agent = arg;
	struct uroce_cma_id *id;

	switch (event->type) {
	case UROCE_CM_REQ_RECEIVED: return uroce_cma_request(agent, event);
	case UROCE_CM_SIDR_REQ_RECEIVED: return uroce_cma_sidr_request(agent, event);
	default: break;
	}
	id = uroce_cm_conn_user(event->conn);
	if (id != NULL)
		connection_event(id, event);
	return 0;
}
