/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Gets events for librdmacm: takes an event from lib/cm, copies it out, and acknowledges it at once. librdmacm counts
 * acknowledgements itself; the reply to the command that destroys an ID says how many events to wait for. Any thread
 * of the program; blocks unless the descriptor is non-blocking. Also queues the events that the application writes.
 */

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "cm/rdma/cma.h"
#include "ucma/kern.h"
#include "ucma/ucma.h"
#include "ucma/ucma_abi.h"
#include "uroce_cma.h"

static void
put_conn(struct rdma_ucm_conn_param *to, const struct rdma_conn_param *from)
{
	to->qp_num = from->qp_num;
	to->srq = from->srq;
	to->responder_resources = from->responder_resources;
	to->initiator_depth = from->initiator_depth;
	to->flow_control = from->flow_control;
	to->retry_count = from->retry_count;
	to->rnr_retry_count = from->rnr_retry_count;
	to->private_data_len = from->private_data_len;
	if (from->private_data_len != 0)
		memcpy(to->private_data, from->private_data, from->private_data_len);
}

static void
put_ud(struct rdma_ucm_ud_param *to, const struct rdma_ud_param *from)
{
	to->qp_num = from->qp_num;
	to->qkey = from->qkey;
	uroce_copy_ah_attr_to_kern(&to->ah_attr, &from->ah_attr);
	to->private_data_len = from->private_data_len;
	if (from->private_data_len != 0)
		memcpy(to->private_data, from->private_data, from->private_data_len);
}

static bool
is_mcast(const struct rdma_cm_event *event)
{
	return event->event == RDMA_CM_EVENT_MULTICAST_JOIN || event->event == RDMA_CM_EVENT_MULTICAST_ERROR;
}

/* Set the event's handle and name, and count the event as reported. The ID of a connection request belongs to the
 * file that the event is read from: the listener is there, or is being moved there. Lock held. @return false: no
 * memory for the ID of a request */
static bool
put_names(struct uroce_ucma_file *file, struct rdma_ucm_event_resp *resp, const struct rdma_cm_event *event)
{
	struct uroce_ucma_id *id = event->id->context;

	resp->uid = id->uid;
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		struct uroce_ucma_id *listener = id;	/* the request's ID has inherited its context */

		id = uroce_ucma_id_new(file, event->id, 0);
		if (id == NULL)
			return false;
		listener->events_reported++;
		resp->id = id->handle;
		return true;
	}
	resp->id = id->handle;
	id->events_reported++;
	if (is_mcast(event)) {
		/* points to the context of the join */
		struct uroce_ucma_mcast *mcast = (struct uroce_ucma_mcast *)(uintptr_t)event->param.ud.private_data;

		mcast->events_reported++;
		resp->uid = mcast->uid;
		resp->id = mcast->handle;
	}
	return true;
}

/* Is this an event of uroce_ucma_write_cm_event()? */
static bool
is_written(uint32_t event)
{
	return event == UROCE_UCMA_EVENT_USER || event == UROCE_UCMA_EVENT_INTERNAL;
}

/* The private data of a written event is its argument. */
static void
put_argument(struct rdma_ucm_event_resp *resp, const struct rdma_cm_event *event)
{
	const uint64_t argument = (uintptr_t)event->param.conn.private_data;

	memcpy(&resp->param, &argument, sizeof(argument));
}

static bool
put_event(struct uroce_ucma_file *file, struct rdma_ucm_event_resp *resp, const struct rdma_cm_event *event)
{
	struct ibv_ece ece;

	memset(resp, 0, sizeof(*resp));
	if (!put_names(file, resp, event))
		return false;
	resp->event = event->event;
	resp->status = (uint32_t)event->status;
	if (is_written((uint32_t)event->event))
		put_argument(resp, event);
	else if (event->id->qp_type == IBV_QPT_UD)
		put_ud(&resp->param.ud, &event->param.ud);
	else
		put_conn(&resp->param.conn, &event->param.conn);
	if (uroce_rdma_get_remote_ece(event->id, &ece) == 0) {
		resp->ece.vendor_id = ece.vendor_id;
		resp->ece.attr_mod = ece.options;
	}
	return true;
}

int
uroce_ucma_get_event(struct uroce_ucma_file *file, const void *arg, uint32_t room)
{
	const struct rdma_ucm_get_event *cmd = arg;
	struct rdma_ucm_event_resp resp;
	struct rdma_cm_event *event;
	struct rdma_cm_id *refused;
	bool put;

	do {
		if (uroce_rdma_get_cm_event(file->channel, &event) != 0)
			return -errno;
		pthread_mutex_lock(&uroce_ucma_lock);
		put = put_event(file, &resp, event);
		refused = put ? NULL : event->id;
		(void)uroce_rdma_ack_cm_event(event);
		pthread_mutex_unlock(&uroce_ucma_lock);
		if (refused != NULL)
			uroce_rdma_destroy_id(refused);
	} while (!put);
	memcpy(uroce_ucma_user(cmd->response), &resp, RTE_MIN(room, sizeof(resp)));
	return 0;
}

/* Queue an event that the application writes for an ID. */
int
uroce_ucma_write_cm_event(struct uroce_ucma_file *file, const void *arg)
{
	const struct uroce_ucma_write_cm_event *cmd = arg;
	struct uroce_cma_event *event;
	struct uroce_ucma_id *id;
	int ret;

	if (!is_written(cmd->event))
		return -EINVAL;
	ret = uroce_ucma_id_get(file, cmd->id, &id);
	if (ret != 0)
		return ret;
	uroce_cma_lock();
	event = uroce_cma_event_new(uroce_cma_id_of(id->cm), (enum rdma_cm_event_type)cmd->event, (int)cmd->status);
	if (event != NULL)
		event->event.param.conn.private_data = (const void *)(uintptr_t)cmd->param.arg;
	ret = event != NULL && uroce_cma_event_post(event) ? 0 : -ENOMEM;
	uroce_cma_unlock();
	uroce_ucma_id_put(id);
	return ret;
}
