/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * libibverbs.so.1: the calls on PDs, MRs, CQs, QPs and other objects; each calls its counterpart in uroce.h. Calls
 * that are inline in <infiniband/verbs.h> go through the context's operations instead.
 */

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <rte_common.h>

#include "abi.h"
#include "complain.h"
#include "progress/progress.h"
#include "uroce.h"
#include "uroce_config.h"
#include "verbs/address/path.h"
#include "verbs/cq/cq.h"

CALL(struct ibv_pd *, alloc_pd, (struct ibv_context *c), (c))
CALL(int, dealloc_pd, (struct ibv_pd *pd), (pd))
CALL(struct ibv_pd *, import_pd, (struct ibv_context *c, uint32_t handle), (c, handle))
CALL(void, unimport_pd, (struct ibv_pd *pd), (pd))

CALL(struct ibv_mr *, reg_mr, (struct ibv_pd *pd, void *addr, size_t length, int access), (pd, addr, length, access))
CALL(struct ibv_mr *, reg_mr_iova, (struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access),
     (pd, addr, length, iova, access))
CALL(struct ibv_mr *, reg_mr_iova2,
     (struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access),
     (pd, addr, length, iova, access))
CALL(struct ibv_mr *, reg_dmabuf_mr,
     (struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access),
     (pd, offset, length, iova, fd, access))
CALL(int, rereg_mr, (struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access),
     (mr, flags, pd, addr, length, access))
CALL(int, dereg_mr, (struct ibv_mr *mr), (mr))
CALL(struct ibv_mr *, import_mr, (struct ibv_pd *pd, uint32_t handle), (pd, handle))
CALL(void, unimport_mr, (struct ibv_mr *mr), (mr))
CALL(struct ibv_dm *, import_dm, (struct ibv_context *c, uint32_t handle), (c, handle))
CALL(void, unimport_dm, (struct ibv_dm *dm), (dm))

CALL(struct ibv_comp_channel *, create_comp_channel, (struct ibv_context *c), (c))
CALL(int, destroy_comp_channel, (struct ibv_comp_channel *channel), (channel))
CALL(int, resize_cq, (struct ibv_cq *cq, int cqe), (cq, cqe))
CALL(int, destroy_cq, (struct ibv_cq *cq), (cq))
CALL(void, ack_cq_events, (struct ibv_cq *cq, unsigned int n), (cq, n))

CALL(struct ibv_srq *, create_srq, (struct ibv_pd *pd, struct ibv_srq_init_attr *attr), (pd, attr))
CALL(int, modify_srq, (struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask), (srq, attr, mask))
CALL(int, query_srq, (struct ibv_srq *srq, struct ibv_srq_attr *attr), (srq, attr))
CALL(int, destroy_srq, (struct ibv_srq *srq), (srq))

CALL(struct ibv_qp_ex *, qp_to_qp_ex, (struct ibv_qp *qp), (qp))
CALL(int, query_qp, (struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init),
     (qp, attr, mask, init))
CALL(int, query_qp_data_in_order, (struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags), (qp, op, flags))
CALL(int, query_ece, (struct ibv_qp *qp, struct ibv_ece *ece), (qp, ece))
CALL(int, set_ece, (struct ibv_qp *qp, struct ibv_ece *ece), (qp, ece))

CALL(int, init_ah_from_wc,
     (struct ibv_context *c, uint8_t port, struct ibv_wc *wc, struct ibv_grh *grh, struct ibv_ah_attr *attr),
     (c, port, wc, grh, attr))
CALL(int, destroy_ah, (struct ibv_ah *ah), (ah))
CALL(int, attach_mcast, (struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid), (qp, gid, lid))
CALL(int, detach_mcast, (struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid), (qp, gid, lid))

struct ibv_qp *
ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *qp = uroce_create_qp(pd, attr);

	if (qp == NULL && errno == EOPNOTSUPP)
		uroce_complain_qp_type(attr->qp_type);
	return qp;
}

/* Wait for the MAC address of a new address vector, so that the program can fill its send queue at once, as with the
 * kernel. The kernel refuses an unreachable address; here it is accepted, since the peer may start later. */
int
ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int ret = uroce_modify_qp(qp, attr, mask);

	if (ret == 0 && (mask & IBV_QP_AV) != 0)
		uroce_path_wait_qp(qp);
	return ret;
}

/* Debian's qperf passes NULL, the QP of its listening ID. With rdma-core it crashes there, which goes unnoticed
 * because the kernel disconnects for the dead process. Here no kernel would disconnect. */
int
ibv_destroy_qp(struct ibv_qp *qp)
{
	return qp != NULL ? uroce_destroy_qp(qp) : EINVAL;
}

/* RNICs create larger CQs than requested, and programs rely on it: with ib_send_lat -e, two sends complete into a CQ
 * of one entry if the reply arrives before the acknowledgement. */
struct ibv_cq *
ibv_create_cq(struct ibv_context *c, int cqe, void *cq_context, struct ibv_comp_channel *channel, int vector)
{
	return uroce_create_cq(c, cqe > 0 ? RTE_MAX(cqe, UROCE_VERBS_LEAST_CQE) : cqe, cq_context, channel, vector);
}

int
ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	struct uroce_event_taker taker;

	if (!uroce_progress_wait(&uroce_comp_channel_of(channel)->events, &taker))
		return uroce_get_cq_event(channel, cq, cq_context);
	memcpy(cq, taker.record, sizeof(*cq));
	*cq_context = (*cq)->cq_context;
	return 0;
}

/* Calls whose names do not begin with ibv_. */

enum ibv_rate
mult_to_ibv_rate(int mult)
{
	return uroce_mult_to_rate(mult);
}

enum ibv_rate
mbps_to_ibv_rate(int mbps)
{
	return uroce_mbps_to_rate(mbps);
}

/* No memory needs protection from fork(2): a child may copy all of it. */
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

int
ibv_dontfork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}

int
ibv_dofork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}
