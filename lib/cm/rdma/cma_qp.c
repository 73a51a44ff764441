/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates the QPs of IDs, with CQs and a PD if the application passes none, and destroys the QPs and these CQs.
 * Application threads.
 */

#include <errno.h>
#include <string.h>

#include "uroce.h"
#include "uroce_cma.h"
#include "uroce_config.h"
#include "cm/rdma/cma.h"

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

/* Not by ibv_create_qp_ex(), which would call libibverbs for plain attributes. */
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
	/* struct ibv_qp_init_attr_ex begins with the fields of struct ibv_qp_init_attr */
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

	/* the extended struct begins with the fields of the other; its comp_mask is in the other's padding */
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
