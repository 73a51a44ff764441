/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * rdma_connect(3), rdma_accept(3), rdma_reject(3), rdma_disconnect(3). Application threads, which modify the QPs
 * without uroce_cm_lock.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "uroce.h"
#include "uroce_cma.h"
#include "uroce_config.h"
#include "cm/rdma/cma.h"
#include "cm/rdma/cma_header.h"
#include "cm/rdma/cma_sockaddr.h"

#define MAX_RETRIES 7 /* 3 bits: retry_cnt, rnr_retry */

static int
check_param(const struct uroce_cma_id *id, const struct rdma_conn_param *param)
{
	/* the ID's QP type, not its port space: rdma_create_ep(3) takes both */
	if (uroce_cma_is_ud(id))
		return 0;
	if (param == NULL)
		return id->id.qp != NULL ? 0 : -EINVAL;
	if (param->responder_resources != RDMA_MAX_RESP_RES &&
	    param->responder_resources > id->device->max_responder_resources)
		return -EINVAL;
	if (param->initiator_depth != RDMA_MAX_INIT_DEPTH &&
	    param->initiator_depth > id->device->max_initiator_depth)
		return -EINVAL;
	return 0;
}

/* The peer uses the flow label of the request for its packets to the QP. This end's path has none of its own. */
static uint32_t
peer_flow_label(const struct uroce_cma_id *id, const struct uroce_cm_req *req)
{
	struct uroce_device *dev = id->device->dev;

	if (dev->ops.port->flow_label == NULL)
		return 0;
	return dev->ops.port->flow_label(dev, req->qpn, &req->path.sgid, &req->path.dgid);
}

static void
fill_req(struct uroce_cma_id *id, const struct rdma_conn_param *param, struct uroce_cm_req *req)
{
	const struct ibv_qp *qp = id->id.qp;

	req->service_id = uroce_cma_service_id(id->id.ps, uroce_cma_addr_port(uroce_cma_dst(id)));
	uroce_cma_path(id, &req->path);
	req->qpn = qp != NULL ? qp->qp_num : param->qp_num & UROCE_CMA_MAX_QPN;
	req->peer_flow_label = peer_flow_label(id, req);
	req->srq = qp != NULL ? qp->srq != NULL : param->srq != 0;
	req->qp_type = (uint8_t)id->id.qp_type;
	req->ece_vendor_id = id->local_ece.vendor_id;
	req->ece_attr_mod = id->local_ece.options;
	req->starting_psn = id->starting_psn;
	req->responder_resources = id->responder_resources;
	req->initiator_depth = id->initiator_depth;
	req->flow_control = param != NULL && param->flow_control != 0;
	req->retry_count = param != NULL ? RTE_MIN(param->retry_count, MAX_RETRIES) : MAX_RETRIES;
	req->rnr_retry_count = param != NULL ? RTE_MIN(param->rnr_retry_count, MAX_RETRIES)
					     : MAX_RETRIES;
	req->remote_cm_response_timeout = UROCE_CMA_RESPONSE_TIMEOUT;
	req->local_cm_response_timeout = UROCE_CMA_RESPONSE_TIMEOUT;
	req->max_cm_retries = UROCE_CMA_MAX_RETRIES;
	/* local_ack_timeout stays 0: it is computed from the path's lifetime */
}

static int
send_req(struct uroce_cma_id *id, const struct rdma_conn_param *param)
{
	uint8_t data[UROCE_CM_REQ_PRIVATE_BYTES];
	struct uroce_cm_req req = { .service_id = 0 };
	int ret = uroce_cma_private_build(id, param, data, sizeof(data));

	if (ret < 0)
		return ret;
	req.priv.data = data;
	req.priv.bytes = (uint8_t)ret;
	id->initiator_depth = id->device->max_initiator_depth;
	id->responder_resources = id->device->max_responder_resources;
	if (param != NULL && param->initiator_depth != RDMA_MAX_INIT_DEPTH)
		id->initiator_depth = param->initiator_depth;
	if (param != NULL && param->responder_resources != RDMA_MAX_RESP_RES)
		id->responder_resources = param->responder_resources;
	fill_req(id, param, &req);
	return uroce_cm_send_req(id->conn, &req, uroce_cm_now(id->agent));
}

static int
start_connecting(struct uroce_cma_id *id, const struct rdma_conn_param *param)
{
	int ret;

	if (id->state != UROCE_CMA_ROUTE_RESOLVED)
		return -EINVAL;
	ret = check_param(id, param);
	if (ret != 0)
		return ret;
	id->conn = uroce_cm_conn_create(id->agent->cm, id);
	if (id->conn == NULL)
		return -ENOMEM;
	ret = uroce_cma_is_ud(id) ? uroce_cma_sidr_connect(id, param) : send_req(id, param);
	if (ret != 0) {
		uroce_cm_conn_destroy(id->conn, uroce_cm_now(id->agent));
		id->conn = NULL;
		return ret;
	}
	id->state = UROCE_CMA_CONNECT;
	free(id->connect_data);
	id->connect_data = NULL;
	id->connect_bytes = 0;
	return 0;
}

int
uroce_rdma_connect(struct rdma_cm_id *ibv, struct rdma_conn_param *conn_param)
{
	struct uroce_cma_id *id = uroce_cma_id_of(ibv);
	int ret;

	uroce_cma_lock();
	ret = start_connecting(id, conn_param);
	if (ret == 0)
		uroce_cm_kick(id->agent);
	uroce_cma_unlock();
	if (ret == 0)
		ret = uroce_cma_complete(id);
	return uroce_cma_return(ret);
}

int
uroce_rdma_establish(struct rdma_cm_id *ibv)
{
	if (ibv->qp != NULL)
		return uroce_cma_return(-EINVAL);
	return uroce_cma_return(uroce_cma_establish(uroce_cma_id_of(ibv)));
}

/* Without limits from the application, accept those of the request, as far as the device supports them. */
static void
limit_accepted(struct uroce_cma_id *id, const struct rdma_conn_param *param)
{
	if (param == NULL || param->initiator_depth == RDMA_MAX_INIT_DEPTH)
		id->initiator_depth = RTE_MIN(id->initiator_depth, id->device->max_initiator_depth);
	else
		id->initiator_depth = param->initiator_depth;
	if (param == NULL || param->responder_resources == RDMA_MAX_RESP_RES)
		id->responder_resources = RTE_MIN(id->responder_resources,
						  id->device->max_responder_resources);
	else
		id->responder_resources = param->responder_resources;
}

static int
send_rep(struct uroce_cma_id *id, const struct rdma_conn_param *param)
{
	const struct ibv_qp *qp = id->id.qp;
	struct uroce_cm_rep rep = {
		.qpn = qp != NULL ? qp->qp_num : param->qp_num & UROCE_CMA_MAX_QPN,
		.srq = qp != NULL ? qp->srq != NULL : param->srq != 0,
		.starting_psn = id->starting_psn,
		.responder_resources = id->responder_resources,
		.initiator_depth = id->initiator_depth,
		.rnr_retry_count = MAX_RETRIES,
		/* the vendor of the peer's offer, which the options accept or decline */
		.ece_vendor_id = id->remote_ece.vendor_id,
		.ece_attr_mod = id->local_ece.options,
	};

	if (id->conn == NULL)
		return -EINVAL;
	if (param != NULL) {
		rep.flow_control = param->flow_control != 0;
		rep.rnr_retry_count = RTE_MIN(param->rnr_retry_count, MAX_RETRIES);
		if (param->private_data != NULL) {
			rep.priv.data = param->private_data;
			rep.priv.bytes = param->private_data_len;
		}
	}
	return uroce_cm_send_rep(id->conn, &rep, uroce_cm_now(id->agent));
}

/* Lock held, released while the QP is modified. */
static int
accept_connection(struct uroce_cma_id *id, const struct rdma_conn_param *param)
{
	int ret = check_param(id, param);

	if (ret != 0)
		return ret;
	limit_accepted(id, param);
	/* before the REP, because the peer's first message may follow at once */
	uroce_cma_call_suspend(id);
	ret = uroce_cma_qp_connect(id, id->responder_resources, id->initiator_depth);
	uroce_cma_call_resume(id);
	if (ret != 0)
		return ret;
	id->answered = true;
	ret = send_rep(id, param);
	if (ret == 0)
		return 0;
	id->answered = false;
	uroce_cma_call_suspend(id);
	(void)uroce_cma_qp_error(id);
	uroce_cma_call_resume(id);
	return ret;
}

static int
accept_datagram(struct uroce_cma_id *id, const struct rdma_conn_param *param)
{
	const void *data = param != NULL ? param->private_data : NULL;
	int ret;

	if (id->id.qp == NULL && param == NULL)
		return -EINVAL;
	id->sidr_qpn = id->id.qp != NULL ? id->id.qp->qp_num : param->qp_num & UROCE_CMA_MAX_QPN;
	ret = uroce_cma_sidr_answer(id, UROCE_CM_SIDR_SUCCESS, data,
				    data != NULL ? param->private_data_len : 0);
	id->answered = ret == 0;
	return ret;
}

int
uroce_rdma_accept(struct rdma_cm_id *ibv, struct rdma_conn_param *conn_param)
{
	struct uroce_cma_id *id = uroce_cma_id_of(ibv);
	const bool ud = uroce_cma_is_ud(id);
	int ret = -EINVAL;

	uroce_cma_lock();
	if (id->passive && !id->answered && id->state == UROCE_CMA_CONNECT && id->conn != NULL)
		ret = ud ? accept_datagram(id, conn_param) : accept_connection(id, conn_param);
	if (ret == 0)
		uroce_cm_kick(id->agent);
	uroce_cma_unlock();
	if (ret != 0)
		return uroce_cma_return(ret);
	if (!ud)
		return uroce_cma_return(uroce_cma_complete(id));
	/* no event follows, so the request's event is acknowledged here */
	if (id->sync)
		uroce_cma_event_kept_ack(ibv);
	return 0;
}

static int
reject(struct uroce_cma_id *id, uint16_t reason, const void *data, uint8_t bytes)
{
	const struct uroce_cm_private priv = { .data = data, .bytes = data != NULL ? bytes : 0 };
	int ret = -EINVAL;

	uroce_cma_lock();
	if (id->conn != NULL && uroce_cma_is_ud(id))
		ret = uroce_cma_sidr_answer(id, UROCE_CM_SIDR_REJECT, priv.data, priv.bytes);
	else if (id->conn != NULL)
		ret = uroce_cm_send_rej(id->conn, reason, NULL, 0, &priv,
					uroce_cm_now(id->agent));
	if (ret == 0)
		uroce_cm_kick(id->agent);
	uroce_cma_unlock();
	return uroce_cma_return(ret == -EMSGSIZE ? -EINVAL : ret);
}

int
uroce_rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	return reject(uroce_cma_id_of(id), UROCE_CM_REJ_CONSUMER_DEFINED, private_data,
		      private_data_len);
}

int
uroce_rdma_reject_ece(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	return reject(uroce_cma_id_of(id), UROCE_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED, private_data,
		      private_data_len);
}

int
uroce_rdma_notify(struct rdma_cm_id *ibv, enum ibv_event_type event)
{
	struct uroce_cma_id *id = uroce_cma_id_of(ibv);
	int ret = -EINVAL;

	uroce_cma_lock();
	if (id->conn != NULL && event == IBV_EVENT_COMM_EST && !uroce_cma_is_ud(id))
		ret = uroce_cm_established(id->conn, uroce_cm_now(id->agent));
	uroce_cma_unlock();
	return uroce_cma_return(ret);
}

/* Send a DREQ, or a DREP if the peer has sent a DREQ. @return is there an event to wait for? */
static bool
send_disconnect(struct uroce_cma_id *id)
{
	const struct uroce_cm_private none = { .data = NULL };
	const uint64_t now_ns = uroce_cm_now(id->agent);

	return uroce_cm_send_dreq(id->conn, &none, now_ns) == 0 ||
	       uroce_cm_send_drep(id->conn, &none, now_ns) == 0 || !STAILQ_EMPTY(&id->events);
}

int
uroce_rdma_disconnect(struct rdma_cm_id *ibv)
{
	struct uroce_cma_id *id = uroce_cma_id_of(ibv);
	bool wait = false;
	int ret;

	if (ibv->verbs == NULL)
		return uroce_cma_return(-EINVAL);
	ret = uroce_cma_qp_error(id);
	if (ret != 0)
		return uroce_cma_return(ret);
	uroce_cma_lock();
	if (id->conn == NULL || uroce_cma_is_ud(id))
		ret = -EINVAL;
	else {
		id->disconnecting = true;
		wait = send_disconnect(id);
	}
	if (ret == 0)
		uroce_cm_kick(id->agent);
	uroce_cma_unlock();
	if (wait)
		ret = uroce_cma_complete(id);
	return uroce_cma_return(ret);
}
