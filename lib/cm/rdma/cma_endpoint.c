/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * rdma_create_ep(3) and rdma_get_request(3): create an ID and its QP with one synchronous call. Application threads.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "uroce_cma.h"
#include "uroce_config.h"
#include "cm/rdma/cma.h"

/* Prepare an ID that listens; its requests get the QPs. */
static int
prepare_passive(struct uroce_cma_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
		const struct ibv_qp_init_attr *attr)
{
	if (uroce_rdma_bind_addr(&id->id, res->ai_src_addr) != 0)
		return -1;
	if (pd != NULL)
		id->id.pd = pd;
	if (attr == NULL)
		return 0;
	id->init_attr = malloc(sizeof(*attr));
	if (id->init_attr == NULL)
		return -1;
	*id->init_attr = *attr;
	id->init_attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	return 0;
}

static int
keep_connect_data(struct uroce_cma_id *id, const struct rdma_addrinfo *res)
{
	if (res->ai_connect_len == 0)
		return 0;
	if (res->ai_connect_len > UROCE_CM_MAX_PRIVATE_BYTES)
		return uroce_cma_return(-EINVAL);
	id->connect_data = malloc(res->ai_connect_len);
	if (id->connect_data == NULL)
		return -1;
	memcpy(id->connect_data, res->ai_connect, res->ai_connect_len);
	id->connect_bytes = (uint8_t)res->ai_connect_len;
	return 0;
}

static int
prepare_active(struct uroce_cma_id *id, struct rdma_addrinfo *res, struct ibv_pd *pd,
	       struct ibv_qp_init_attr *attr)
{
	if (uroce_rdma_resolve_addr(&id->id, res->ai_src_addr, res->ai_dst_addr,
				    UROCE_CMA_EP_TIMEOUT_MS) != 0)
		return -1;
	if (res->ai_route_len != 0)
		return uroce_rdma_set_option(&id->id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH,
					     res->ai_route, res->ai_route_len);
	if (uroce_rdma_resolve_route(&id->id, UROCE_CMA_EP_TIMEOUT_MS) != 0)
		return -1;
	if (attr != NULL) {
		attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
		if (uroce_rdma_create_qp(&id->id, pd, attr) != 0)
			return -1;
	}
	return keep_connect_data(id, res);
}

int
uroce_rdma_create_ep(struct rdma_cm_id **created, struct rdma_addrinfo *res, struct ibv_pd *pd,
		     struct ibv_qp_init_attr *qp_init_attr)
{
	struct uroce_cma_id *id;
	int ret = uroce_cma_id_create(NULL, NULL, (enum rdma_port_space)res->ai_port_space,
				      (enum ibv_qp_type)res->ai_qp_type, &id);

	if (ret != 0)
		return uroce_cma_return(ret);
	if (res->ai_flags & RAI_PASSIVE)
		ret = prepare_passive(id, res, pd, qp_init_attr);
	else
		ret = prepare_active(id, res, pd, qp_init_attr);
	if (ret != 0) {
		ret = errno;
		uroce_rdma_destroy_ep(&id->id);
		errno = ret;
		return -1;
	}
	*created = &id->id;
	return 0;
}

void
uroce_rdma_destroy_ep(struct rdma_cm_id *id)
{
	uroce_rdma_destroy_qp(id);
	uroce_rdma_destroy_srq(id);
	(void)uroce_rdma_destroy_id(id);
}

static int
request_of(struct uroce_cma_id *listener, struct rdma_cm_event *event)
{
	struct ibv_qp_init_attr attr;

	if (event->event == RDMA_CM_EVENT_REJECTED)
		return uroce_cma_return(-ECONNREFUSED);
	if (event->status != 0)
		return uroce_cma_return(event->status < 0 ? event->status : -event->status);
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return uroce_cma_return(-EINVAL);
	if (listener->init_attr == NULL)
		return 0;
	attr = *listener->init_attr;
	return uroce_rdma_create_qp(event->id, listener->id.pd, &attr);
}

int
uroce_rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
	struct uroce_cma_id *listener = uroce_cma_id_of(listen);
	struct rdma_cm_event *event;

	if (!listener->sync)
		return uroce_cma_return(-EINVAL);
	if (listen->event != NULL) {
		(void)uroce_rdma_ack_cm_event(listen->event);
		listen->event = NULL;
	}
	if (uroce_rdma_get_cm_event(listen->channel, &event) != 0)
		return -1;
	if (request_of(listener, event) != 0) {
		const int error = errno;

		/* the application does not get the ID, so it cannot destroy it */
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			(void)uroce_rdma_destroy_id(event->id);
		listen->event = event;
		errno = error;
		return -1;
	}
	*id = event->id;
	(*id)->event = event;
	return 0;
}
