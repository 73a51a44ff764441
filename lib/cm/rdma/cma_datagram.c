/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * RDMA_PS_UDP: exchanges SIDR messages, which carry a peer's QPN, Q_Key and address, instead of making a connection.
 * Application threads call, the service's thread raises events, all under uroce_cm_lock.
 */

#include <errno.h>
#include <string.h>

#include "uroce_config.h"
#include "cm/rdma/cma.h"
#include "cm/rdma/cma_header.h"
#include "cm/rdma/cma_sockaddr.h"

int
uroce_cma_sidr_connect(struct uroce_cma_id *id, const struct rdma_conn_param *param)
{
	uint8_t data[UROCE_CM_SIDR_REQ_PRIVATE_BYTES];
	struct uroce_cm_private priv = { .data = data };
	struct uroce_cm_path path;
	int ret = uroce_cma_private_build(id, param, data, sizeof(data));

	if (ret < 0)
		return ret;
	priv.bytes = (uint8_t)ret;
	uroce_cma_path(id, &path);
	return uroce_cm_send_sidr_req(
		id->conn, uroce_cma_service_id(id->id.ps, uroce_cma_addr_port(uroce_cma_dst(id))),
		&path, UROCE_CMA_SIDR_TIMEOUT_MS, UROCE_CMA_MAX_RETRIES, &priv,
		uroce_cm_now(id->agent));
}

int
uroce_cma_sidr_answer(struct uroce_cma_id *id, uint8_t status, const void *private_data,
		      uint8_t bytes)
{
	struct uroce_cm_sidr_rep rep = {
		.status = status,
		.priv = { .data = private_data, .bytes = bytes },
	};
	int ret;

	if (status == UROCE_CM_SIDR_SUCCESS) {
		rep.qpn = id->sidr_qpn;
		rep.qkey = UROCE_CMA_QKEY;
	}
	ret = uroce_cm_send_sidr_rep(id->conn, &rep, uroce_cm_now(id->agent));
	return ret == -EMSGSIZE ? -EINVAL : ret;
}

static void
sidr_response(struct uroce_cma_id *id, const struct uroce_cm_event *event)
{
	const struct uroce_cm_sidr_rep *rep = event->sidr_rep;
	const bool success = rep->status == UROCE_CM_SIDR_SUCCESS;
	struct uroce_cma_event *posted;

	posted = uroce_cma_event_new(
		id, success ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_UNREACHABLE, rep->status);
	if (posted == NULL)
		return;
	uroce_cma_event_private(posted, &event->priv);
	if (success) {
		uroce_cma_ah_attr(id, &posted->event.param.ud.ah_attr);
		posted->event.param.ud.qp_num = rep->qpn;
		posted->event.param.ud.qkey = rep->qkey;
	}
	(void)uroce_cma_event_post(posted);
}

void
uroce_cma_sidr_event(struct uroce_cma_id *id, const struct uroce_cm_event *event)
{
	if (event->type == UROCE_CM_SIDR_REP_RECEIVED)
		sidr_response(id, event);
	else
		uroce_cma_event_simple(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, UROCE_CMA_NONE);
}
