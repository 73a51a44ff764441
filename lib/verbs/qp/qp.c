/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates queue pairs with their rings and number, publishes them to the workers, queries them, and frees them for
 * qp_destroy.c. State changes are in qp_modify.c. Control threads.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <rte_bitops.h>
#include <rte_common.h>
#include <rte_malloc.h>

#include "uroce.h"
#include "uroce_config.h"
#include "mem/pd.h"
#include "base/log.h"
#include "base/rcu.h"
#include "verbs/address/ah.h"
#include "verbs/cq/cq.h"
#include "verbs/device/device.h"
#include "verbs/internal.h"
#include "verbs/memory/pd.h"
#include "verbs/memory/ring.h"
#include "verbs/qp/qp.h"
#include "verbs/srq/srq.h"
#include "verbs/srq/xrc.h"
#include "wire/opcode.h"
#include "wire/psn.h"

#define SQE_ALIGN 64
#define RQE_ALIGN 16

uint8_t
uroce_qp_transport(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC: return UROCE_TRANSPORT_RC;
	case IBV_QPT_UC: return UROCE_TRANSPORT_UC;
	case IBV_QPT_UD: return UROCE_TRANSPORT_UD;
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV: return UROCE_TRANSPORT_XRC;
	default: return UROCE_TRANSPORT_NONE;
	}
}

/* Not for an XRC initiator, which receives only responses. */
static int
check_recv_attr(const struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	if (attr->recv_cq == NULL || attr->recv_cq->context != pd->context)
		return EINVAL;
	/* the receives of an XRC SRQ are for XRC targets */
	if (attr->srq != NULL)
		return attr->srq->context != pd->context || uroce_srq_of(attr->srq)->xrcd != NULL ? EINVAL : 0;
	return attr->cap.max_recv_wr > UROCE_MAX_QP_WR || attr->cap.max_recv_sge > UROCE_MAX_SGE ? EINVAL : 0;
}

static int
check_init_attr(const struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;

	if (uroce_qp_transport(attr->qp_type) == UROCE_TRANSPORT_NONE)
		return EOPNOTSUPP;
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return EINVAL;		/* it has no PD, but an XRCD: uroce_create_qp_ex() */
	if (attr->send_cq == NULL || attr->send_cq->context != pd->context)
		return EINVAL;
	if (cap->max_send_wr > UROCE_MAX_QP_WR || cap->max_send_sge > UROCE_MAX_SGE ||
	    cap->max_inline_data > UROCE_MAX_INLINE_BYTES)
		return EINVAL;
	return attr->qp_type == IBV_QPT_XRC_SEND ? 0 : check_recv_attr(pd, attr);
}

static int
wq_init(const struct uroce_qp *qp, struct uroce_wq *wq, uint32_t entries, uint32_t stride)
{
	rte_spinlock_init(&wq->lock);
	wq->capacity = entries;
	wq->stride = stride;
	if (entries == 0)
		return 0;
	wq->mask = rte_align32pow2(entries) - 1;
	wq->ring = uroce_ring_alloc(qp->dev, qp->ibv.pd, UROCE_RES_TYPE_QP, ((size_t)wq->mask + 1) * stride);
	return wq->ring == NULL ? ENOMEM : 0;
}

/* No receive can be posted to a QP without a receive queue of its own, even if capacity was requested. Its worker has
 * one entry, for the WQE that the message in progress has taken from an SRQ. */
static int
init_shared_recv(struct uroce_qp *qp)
{
	uint32_t stride = qp->ibv.srq != NULL ? uroce_srq_of(qp->ibv.srq)->wq.stride
			: sizeof(struct uroce_rqe) + UROCE_MAX_SGE * sizeof(struct ibv_sge);
	int ret = qp->ibv.qp_type == IBV_QPT_XRC_SEND ? 0 : wq_init(qp, &qp->rq, 1, stride);

	qp->rq.capacity = 0;
	return ret;
}

/* Entries are as large as the requested capacities need; room that alignment adds is granted too. */
static int
init_queues(struct uroce_qp *qp, const struct ibv_qp_cap *cap)
{
	uint32_t send_room = RTE_ALIGN_CEIL(RTE_MAX(cap->max_send_sge * sizeof(struct ibv_sge),
						    cap->max_inline_data), SQE_ALIGN);
	uint32_t recv_room = RTE_ALIGN_CEIL(cap->max_recv_sge * sizeof(struct ibv_sge), RQE_ALIGN);
	int ret;

	ret = wq_init(qp, &qp->sq, cap->max_send_wr, sizeof(struct uroce_sqe) + send_room);
	if (ret == 0 && (qp->ibv.srq != NULL || qp->transport == UROCE_TRANSPORT_XRC)) {
		ret = init_shared_recv(qp);
	} else if (ret == 0) {
		ret = wq_init(qp, &qp->rq, cap->max_recv_wr,
			      sizeof(struct uroce_rqe) + recv_room);
		qp->rq.max_sge = recv_room / sizeof(struct ibv_sge);
	}
	qp->sq.max_sge = RTE_MIN(send_room / sizeof(struct ibv_sge), (size_t)UROCE_MAX_SGE);
	qp->sq.max_inline = RTE_MIN(send_room, (uint32_t)UROCE_MAX_INLINE_BYTES);
	qp->cap = (struct ibv_qp_cap){
		.max_send_wr = qp->sq.capacity,
		.max_recv_wr = qp->rq.capacity,
		.max_send_sge = qp->sq.max_sge,
		.max_recv_sge = qp->rq.max_sge,
		.max_inline_data = qp->sq.max_inline,
	};
	return ret;
}

static void
free_rings(struct uroce_qp *qp)
{
	if (qp->sq.ring != NULL)
		uroce_ah_put_queued(qp);
	uroce_ring_free(qp->sq.ring);
	uroce_ring_free(qp->rq.ring);
	qp->sq.ring = qp->rq.ring = NULL;
}

static void
qp_free(struct uroce_qp *qp)
{
	pthread_cond_destroy(&qp->ibv.cond);
	pthread_mutex_destroy(&qp->ibv.mutex);
	rte_free(qp->dev->ops.transport->qp_rd_atomics(qp, NULL, 0));
	free_rings(qp);
	rte_free(qp);
}

static struct uroce_qp *
qp_alloc(struct uroce_device *dev, struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
	bool receives = init->qp_type != IBV_QPT_XRC_SEND;
	struct uroce_qp *qp = uroce_device_alloc(dev, "uroce_qp", sizeof(*qp));

	if (qp == NULL)
		return NULL;
	qp->dev = dev;
	qp->ibv.context = pd != NULL ? pd->context : &dev->vctx.context;	/* an XRC target has no PD */
	qp->ibv.qp_context = init->qp_context;
	qp->ibv.pd = pd;
	qp->ibv.send_cq = init->send_cq;
	qp->ibv.recv_cq = receives ? init->recv_cq : NULL;
	qp->ibv.srq = receives ? init->srq : NULL;
	qp->recv_srq = uroce_srq_of(qp->ibv.srq);
	qp->sq.pd = qp->rq.pd = pd != NULL ? uroce_pd_protection(pd) : NULL;
	qp->sq.single_threaded = qp->rq.single_threaded = uroce_pd_is_single_threaded(pd);
	qp->ibv.qp_type = init->qp_type;
	qp->transport = uroce_qp_transport(init->qp_type);
	qp->opcode_base = qp->transport == UROCE_TRANSPORT_XRC  ? UROCE_XRC_SEND_FIRST
			  : qp->transport == UROCE_TRANSPORT_UC ? UROCE_UC_SEND_FIRST
								: 0;
	qp->ibv.state = IBV_QPS_RESET;	/* R44 */
	qp->state = IBV_QPS_RESET;
	qp->sq_sig_all = init->sq_sig_all != 0;
	pthread_mutex_init(&qp->ibv.mutex, NULL);
	pthread_cond_init(&qp->ibv.cond, NULL);
	uroce_qp_attr_reset(qp);
	if (init_queues(qp, &init->cap) != 0) {
		qp_free(qp);
		return NULL;
	}
	return qp;
}

static int
get_gsi(struct uroce_device *dev)
{
	if (dev->qps.gsi_used)
		return -EEXIST;
	dev->qps.gsi_used = true;
	return 0;
}

static bool
qpn_suits(const void *arg, uint32_t qpn)
{
	const struct uroce_qp *qp = arg;

	return qp->dev->ops.worker->qpn_suits(qp, qpn);
}

/* Draw the QPN of a QP whose engine is known. */
static int
draw_qpn(struct uroce_device *dev, const struct uroce_qp *qp, uint32_t *qpn)
{
	unsigned int draws = UROCE_STEER_DRAWS * (unsigned int)dev->vctx.context.num_comp_vectors;

	if (dev->ops.worker->qpn_suits == NULL)
		return uroce_slots_get(&dev->qps.slots, qpn);
	return uroce_slots_get_if(&dev->qps.slots, draws, qpn_suits, qp, qpn);
}

/* Reserve the requested QPN; 0: any. */
static int
get_qpn(struct uroce_device *dev, const struct uroce_qp *qp, uint32_t *qpn)
{
	int ret;

	pthread_mutex_lock(&dev->lock);
	ret = *qpn == UROCE_GSI_QPN ? get_gsi(dev) : draw_qpn(dev, qp, qpn);
	if (ret == 0)
		dev->qp_count++;
	pthread_mutex_unlock(&dev->lock);
	if (ret == -ENOMEM)
		UROCE_LOG(ERR, "%s has %u QPs, its limit: open its port with a log2_max_qp above %u\n", dev->ibv.name,
			  1u << dev->qps.log2, dev->qps.log2);
	return -ret;
}

static void
put_qpn(struct uroce_device *dev, uint32_t qpn)
{
	pthread_mutex_lock(&dev->lock);
	if (qpn == UROCE_GSI_QPN)
		dev->qps.gsi_used = false;
	else
		uroce_slots_put(&dev->qps.slots, qpn);
	dev->qp_count--;
	pthread_mutex_unlock(&dev->lock);
}

static void
publish(struct uroce_device *dev, uint32_t qpn, struct uroce_qp *qp)
{
	struct uroce_qp **slot = qpn == UROCE_GSI_QPN ? &dev->qps.gsi
			       : &dev->qps.qps[uroce_slots_index(dev->qps.log2, 24, qpn)];

	/* pairs with the acquire in uroce_qp_lookup() */
	__atomic_store_n(slot, qp, __ATOMIC_RELEASE);
}

/* An XRC target has none of these, an initiator no receive CQ. */
static void
get_refs(struct uroce_qp *qp)
{
	if (qp->ibv.pd != NULL)
		uroce_pd_get(qp->ibv.pd);
	if (qp->ibv.send_cq != NULL)
		uroce_cq_attach(uroce_cq_of(qp->ibv.send_cq), qp->engine);
	if (qp->ibv.recv_cq != NULL)
		uroce_cq_attach(uroce_cq_of(qp->ibv.recv_cq), qp->engine);
	if (qp->ibv.srq != NULL)
		uroce_srq_attach(uroce_srq_of(qp->ibv.srq));
}

static void
put_refs(struct uroce_qp *qp)
{
	if (qp->ibv.srq != NULL)
		uroce_srq_detach(uroce_srq_of(qp->ibv.srq));
	if (qp->ibv.recv_cq != NULL)
		uroce_cq_detach(uroce_cq_of(qp->ibv.recv_cq), qp->engine);
	if (qp->ibv.send_cq != NULL)
		uroce_cq_detach(uroce_cq_of(qp->ibv.send_cq), qp->engine);
	if (qp->ibv.pd != NULL)
		uroce_pd_put(qp->ibv.pd);
}

/* Create a QP from checked attributes. A QPN of 0: draw one. @return NULL and errno */
static struct uroce_qp *
qp_create(struct uroce_device *dev, struct ibv_pd *pd, const struct ibv_qp_init_attr *init, uint32_t qpn,
	  struct uroce_xrc_target *target)
{
	struct uroce_qp *qp = qp_alloc(dev, pd, init);
	int ret;

	if (qp == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	qp->ibv.qp_num = qpn;
	qp->target = target;
	pthread_rwlock_rdlock(&dev->engines_lock);
	ret = -dev->ops.worker->qp_attach(qp);
	if (ret == 0)
		ret = get_qpn(dev, qp, &qp->ibv.qp_num);
	if (ret != 0)
		goto free_qp;
	qp->ibv.handle = qp->ibv.qp_num;
	qp->sq.bells = uroce_pd_bells(qp->ibv.pd);
	if (qp->sq.bells != NULL && qp->sq.bells->engine != qp->engine)
		qp->sq.bells = NULL; /* the device no longer uses the thread domain's worker */
	get_refs(qp);
	publish(dev, qp->ibv.qp_num, qp);
	pthread_rwlock_unlock(&dev->engines_lock);
	return qp;

free_qp:
	pthread_rwlock_unlock(&dev->engines_lock);
	qp_free(qp);
	errno = ret;
	return NULL;
}

struct ibv_qp *
uroce_qp_create(struct ibv_pd *pd, struct ibv_qp_init_attr *init_attr, uint32_t qpn)
{
	int ret = check_init_attr(pd, init_attr);
	struct uroce_qp *qp;

	if (ret != 0) {
		errno = ret;
		return NULL;
	}
	qp = qp_create(uroce_device_of(pd->context), pd, init_attr, qpn, NULL);
	if (qp == NULL)
		return NULL;
	init_attr->cap = qp->cap;
	return &qp->ibv;
}

struct ibv_qp *
uroce_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init_attr)
{
	return uroce_qp_create(pd, init_attr, 0);
}

struct uroce_qp *
uroce_xrc_qp_create(struct uroce_device *dev, struct uroce_xrc_target *target)
{
	static const struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_XRC_RECV };

	return qp_create(dev, NULL, &init, 0, target);
}

/* A thread that posts while the QP moves may ring the doorbells of the previous engine, which would find the QP
 * freed. */
static void
leave_bells(struct uroce_qp *qp)
{
	struct uroce_bells *bells = uroce_pd_bells(qp->ibv.pd);

	if (bells == NULL || qp->sq.bells == bells)
		return;
	qp->dev->ops.worker->engine_enter(bells->engine);
	qp->dev->ops.transport->bells_take(bells);
	qp->dev->ops.worker->engine_exit(bells->engine);
}

void
uroce_qp_withdraw(struct uroce_qp *qp)
{
	publish(qp->dev, qp->ibv.qp_num, NULL);
	leave_bells(qp);
	uroce_qp_enter(qp);
	qp->dev->ops.transport->qp_detach(qp);
	uroce_qp_exit(qp);
}

void
uroce_qp_dispose(struct uroce_qp *qp)
{
	struct uroce_device *dev = qp->dev;

	uroce_mw_owner_gone(&dev->mrs, &qp->windows);
	if (qp->path.set_up)
		dev->ops.port->path_fini(dev, &qp->path);
	free_rings(qp);		/* uses the parent domain's allocator: before put_refs() */
	put_refs(qp);
	put_qpn(dev, qp->ibv.qp_num);
	qp_free(qp);
}

void
uroce_qp_destroy(struct uroce_qp *qp)
{
	struct ibv_qp *ibv = &qp->ibv;

	uroce_qp_withdraw(qp);
	uroce_rcu_wait();
	/* applications free the objects that wr_id refers to, and the QPN may be reused soon */
	uroce_qp_forget_completions(qp);
	uroce_device_forget_events(ibv->context, &qp->events, &ibv->mutex, &ibv->cond,
				   &ibv->events_completed);
	uroce_qp_dispose(qp);
}

int
uroce_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int attr_mask,
	       struct ibv_qp_init_attr *init_attr)
{
	struct uroce_qp *qp = uroce_qp_real(uroce_qp_of(ibv));
	enum ibv_qp_state state;

	(void)attr_mask;	/* a hint: to return all attributes costs the same */
	pthread_mutex_lock(&qp->ibv.mutex);
	uroce_qp_enter(qp);
	state = qp->state;
	*attr = qp->attr;
	qp->dev->ops.transport->qp_query(qp, attr);
	uroce_qp_exit(qp);
	ibv->state = qp->ibv.state = state;
	pthread_mutex_unlock(&qp->ibv.mutex);

	attr->qp_state = state;
	attr->cur_qp_state = state;
	attr->cap = qp->cap;
	*init_attr = (struct ibv_qp_init_attr){
		.qp_context = ibv->qp_context,
		.send_cq = ibv->send_cq,
		.recv_cq = ibv->recv_cq,
		.srq = ibv->srq,
		.cap = qp->cap,
		.qp_type = ibv->qp_type,
		.sq_sig_all = qp->sq_sig_all,
	};
	return 0;
}
