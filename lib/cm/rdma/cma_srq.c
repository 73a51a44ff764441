/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates and destroys the SRQs of IDs. Application threads.
 */

#include <errno.h>
#include <string.h>

#include "uroce.h"
#include "uroce_cma.h"
#include "cm/rdma/cma.h"

int
uroce_rdma_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq *srq;
	int ret = 0;

	if (id->verbs == NULL || id->srq != NULL || !(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE))
		return uroce_cma_return(-EINVAL);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || attr->pd == NULL) {
		attr->pd = id->pd;
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
	}
	if (attr->srq_type == IBV_SRQT_XRC &&
	    (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) || attr->cq == NULL)) {
		ret = uroce_cma_cqs_create(id, 0, attr->attr.max_wr);
		if (ret != 0)
			return uroce_cma_return(ret);
		attr->cq = id->recv_cq;
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_CQ;
	}
	srq = uroce_create_srq_ex(id->verbs, attr);
	if (srq == NULL) {
		ret = -errno;
		uroce_cma_cqs_destroy(id);
		return uroce_cma_return(ret);
	}
	if (id->pd == NULL)
		id->pd = attr->pd;
	id->srq = srq;
	return 0;
}

int
uroce_rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = {
		.srq_type = id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC,
		.pd = pd,
	};
	int ret;

	/* the extended struct begins with the fields of the other; its comp_mask is in the other's padding */
	memcpy(&ex, attr, sizeof(*attr));
	ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	ret = uroce_rdma_create_srq_ex(id, &ex);
	memcpy(attr, &ex, sizeof(*attr));
	return ret;
}

void
uroce_rdma_destroy_srq(struct rdma_cm_id *id)
{
	if (id->srq == NULL)
		return;
	uroce_destroy_srq(id->srq);
	id->srq = NULL;
	uroce_cma_cqs_destroy(id);
}
