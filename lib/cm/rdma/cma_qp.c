/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The QPs of IDs: created with a CQ and a PD where the application gives none, modified by what the connection has
 * agreed, destroyed with what was created for them. The application's threads, which take uroce_cm_lock only to ask
 * for attributes.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <rte_common.h>

#include "uroce.h"
#include "uroce_cma.h"
#include "uroce_config.h"
#include "cm/rdma/cma.h"
#include "cm/rdma/cma_qp.h"

/* Of a QP whose connection has not begun, or which has none. */
static int
unconnected_attr(const struct uroce_cma_id *id, struct ibv_qp_attr *attr, int *attr_mask)
{
	if (attr->qp_state != IBV_QPS_INIT || id->device == NULL)
		return -EINVAL;
	attr->pkey_index = 0;
	attr->port_num = 1;
	*attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	if (uroce_cma_is_ud(id)) {
		attr->qkey = UROCE_CMA_QKEY;
		*attr_mask |= IBV_QP_QKEY;
	} else {
		attr->qp_access_flags = 0;
		*attr_mask |= IBV_QP_ACCESS_FLAGS;
	}
	return 0;
}

/* A peer may offer more than the device can do, and mean no harm: 255 stands for its most. */
static void
limit_to_device(const struct uroce_cma_id *id, struct ibv_qp_attr *attr, int attr_mask)
{
	if (id->device == NULL)
		return;
	if ((attr_mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0)
		attr->max_dest_rd_atomic =
			RTE_MIN(attr->max_dest_rd_atomic, id->device->max_responder_resources);
	if ((attr_mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0)
		attr->max_rd_atomic =
			RTE_MIN(attr->max_rd_atomic, id->device->max_initiator_depth);
}

/* What the QP has to be modified with to reach attr->qp_state. */
static int
state_attr(struct uroce_cma_id *id, struct ibv_qp_attr *attr, int *attr_mask)
{
	int ret;

	uroce_cma_lock();
	if (uroce_cma_is_ud(id) || id->conn == NULL)
		ret = unconnected_attr(id, attr, attr_mask);
	else
		ret = uroce_cm_qp_attr(id->conn, attr, attr_mask);
	/* what the request or the answer tells the peer to begin at; the answer is not yet sent */
	if (ret == 0 && (*attr_mask & IBV_QP_RQ_PSN))
		attr->rq_psn = id->starting_psn;
	if (ret == 0 && (*attr_mask & IBV_QP_TIMEOUT) && id->timeout_set)
		attr->timeout = id->timeout;
	if (ret == 0)
		limit_to_device(id, attr, *attr_mask);
	uroce_cma_unlock();
	return ret;
}

int
uroce_rdma_init_qp_attr(struct rdma_cm_id *ibv, struct ibv_qp_attr *qp_attr, int *qp_attr_mask)
{
	return uroce_cma_return(state_attr(uroce_cma_id_of(ibv), qp_attr, qp_attr_mask));
}

static int
modify_to(struct uroce_cma_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;
	int ret = state_attr(id, &attr, &mask);

	return ret != 0 ? ret : -uroce_modify_qp(qp, &attr, mask);
}

static int
modify_ud(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int ret = uroce_modify_qp(qp, &attr, IBV_QP_STATE);

	if (ret != 0)
		return -ret;
	attr.qp_state = IBV_QPS_RTS;
	return -uroce_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

int
uroce_cma_qp_init(struct uroce_cma_id *id, struct ibv_qp *qp)
{
	int ret = modify_to(id, qp, IBV_QPS_INIT);

	return ret == 0 && uroce_cma_is_ud(id) ? modify_ud(qp) : ret;
}

int
uroce_cma_qp_connect(struct uroce_cma_id *id, uint8_t responder_resources, uint8_t initiator_depth)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int mask, ret;

	if (id->id.qp == NULL)
		return 0;
	/* again: the access that the other end needs is known now */
	ret = modify_to(id, id->id.qp, IBV_QPS_INIT);
	if (ret == 0)
		ret = state_attr(id, &attr, &mask);
	if (ret != 0)
		return ret;
	if (responder_resources != RDMA_MAX_RESP_RES)
		attr.max_dest_rd_atomic = responder_resources;
	ret = -uroce_modify_qp(id->id.qp, &attr, mask);
	if (ret != 0)
		return ret;
	attr.qp_state = IBV_QPS_RTS;
	ret = state_attr(id, &attr, &mask);
	if (ret != 0)
		return ret;
	if (initiator_depth != RDMA_MAX_INIT_DEPTH)
		attr.max_rd_atomic = initiator_depth;
	return -uroce_modify_qp(id->id.qp, &attr, mask);
}

int
uroce_cma_qp_error(struct uroce_cma_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (id->id.qp == NULL)
		return 0;
	return -uroce_modify_qp(id->id.qp, &attr, IBV_QP_STATE);
}

void
uroce_cma_cqs_destroy(struct rdma_cm_id *id)
{
	if (id->recv_cq != NULL) {
		uroce_destroy_cq(id->recv_cq);
		uroce_destroy_comp_channel(id->recv_cq_channel);
	}
	if (id->send_cq != NULL) {
		uroce_destroy_cq(id->send_cq);
		uroce_destroy_comp_channel(id->send_cq_channel);
	}
	id->recv_cq = NULL;
	id->recv_cq_channel = NULL;
	id->send_cq = NULL;
	id->send_cq_channel = NULL;
}

static int
cq_create(struct rdma_cm_id *id, uint32_t size, struct ibv_comp_channel **channel,
	  struct ibv_cq **cq)
{
	*channel = uroce_create_comp_channel(id->verbs);
	if (*channel == NULL)
		return -errno;
	*cq = uroce_create_cq(id->verbs, (int)size, id, *channel, 0);
	if (*cq == NULL) {
		const int ret = -errno;

		uroce_destroy_comp_channel(*channel);
		*channel = NULL;
		return ret;
	}
	return 0;
}

int
uroce_cma_cqs_create(struct rdma_cm_id *id, uint32_t send_size, uint32_t recv_size)
{
	int ret = 0;

	if (recv_size > UROCE_MAX_CQE || send_size > UROCE_MAX_CQE)
		return -EINVAL;
	if (recv_size != 0)
		ret = cq_create(id, recv_size, &id->recv_cq_channel, &id->recv_cq);
	if (ret == 0 && send_size != 0)
		ret = cq_create(id, send_size, &id->send_cq_channel, &id->send_cq);
	if (ret != 0)
		uroce_cma_cqs_destroy(id);
	return ret;
}

static bool
attr_ok(const struct rdma_cm_id *id, const struct ibv_qp_init_attr_ex *attr)
{
	if (id->verbs == NULL || id->qp != NULL)
		return false;
	if (attr->pd != NULL && attr->pd->context != id->verbs)
		return false;
	if (id->recv_cq != NULL && attr->recv_cq != NULL && id->recv_cq != attr->recv_cq)
		return false;
	return id->send_cq == NULL || attr->send_cq == NULL || id->send_cq == attr->send_cq;
}

/* Not ibv_create_qp_ex(): of what is plain that makes a call of libibverbs. */
static struct ibv_qp *
verbs_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, create_qp_ex);
	struct ibv_qp_init_attr plain;
	struct ibv_qp *qp;

	if (attr->comp_mask != IBV_QP_INIT_ATTR_PD) {
		if (vctx != NULL)
			return vctx->create_qp_ex(context, attr);
		errno = EOPNOTSUPP;
		return NULL;
	}
	/* one begins as the other */
	memcpy(&plain, attr, sizeof(plain));
	qp = uroce_create_qp(attr->pd, &plain);
	attr->cap = plain.cap;
	return qp;
}

static int
create_qp(struct uroce_cma_id *id, struct ibv_qp_init_attr_ex *attr)
{
	struct rdma_cm_id *ibv = &id->id;
	struct ibv_qp *qp;
	int ret = uroce_cma_cqs_create(ibv,
				       attr->send_cq || ibv->send_cq ? 0 : attr->cap.max_send_wr,
				       attr->recv_cq || ibv->recv_cq ? 0 : attr->cap.max_recv_wr);

	if (ret != 0)
		return ret;
	if (attr->send_cq == NULL)
		attr->send_cq = ibv->send_cq;
	if (attr->recv_cq == NULL)
		attr->recv_cq = ibv->recv_cq;
	if (attr->srq == NULL)
		attr->srq = ibv->srq;
	qp = verbs_create_qp(ibv->verbs, attr);
	if (qp == NULL) {
		ret = -errno;
		goto destroy_cqs;
	}
	ret = uroce_cma_qp_init(id, qp);
	if (ret != 0)
		goto destroy_qp;
	ibv->pd = qp->pd;
	ibv->qp = qp;
	return 0;

destroy_qp:
	uroce_destroy_qp(qp);
destroy_cqs:
	uroce_cma_cqs_destroy(ibv);
	return ret;
}

int
uroce_rdma_create_qp_ex(struct rdma_cm_id *ibv, struct ibv_qp_init_attr_ex *attr)
{
	struct uroce_cma_id *id = uroce_cma_id_of(ibv);
	int ret;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || attr->pd == NULL) {
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		attr->pd = ibv->pd;
	}
	if (!attr_ok(ibv, attr))
		return uroce_cma_return(-EINVAL);
	uroce_cma_lock();
	uroce_cma_call_suspend(id);
	ret = create_qp(id, attr);
	uroce_cma_call_resume(id);
	uroce_cma_unlock();
	return uroce_cma_return(ret);
}

int
uroce_rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
		     struct ibv_qp_init_attr *qp_init_attr)
{
	struct ibv_qp_init_attr_ex attr = { .qp_context = NULL };
	int ret;

	/* one begins as the other; where that is padded this has comp_mask already */
	memcpy(&attr, qp_init_attr, sizeof(*qp_init_attr));
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	attr.pd = pd != NULL ? pd : id->pd;
	ret = uroce_rdma_create_qp_ex(id, &attr);
	memcpy(qp_init_attr, &attr, sizeof(*qp_init_attr));
	return ret;
}

void
uroce_rdma_destroy_qp(struct rdma_cm_id *ibv)
{
	struct uroce_cma_id *id = uroce_cma_id_of(ibv);

	if (ibv->qp == NULL)
		return;
	uroce_cma_mcasts_detach(id);
	uroce_destroy_qp(ibv->qp);
	ibv->qp = NULL;
	uroce_cma_cqs_destroy(ibv);
}
