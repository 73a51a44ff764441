/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_modify_qp(3), all or nothing: checks and prepares everything that can fail, then applies the attributes and
 * notifies the transport in the engine's turn. Control threads, one at a time for each QP (ibv.mutex). The engine may
 * move the QP to ERR between the two steps.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <rte_bitops.h>
#include <rte_common.h>
#include <rte_malloc.h>

#include "uroce.h"
#include "uroce_config.h"
#include "verbs/address/ah.h"
#include "verbs/device/congestion.h"
#include "verbs/device/device.h"
#include "verbs/internal.h"
#include "verbs/qp/qp.h"
#include "verbs/srq/xrc.h"
#include "wire/opcode.h"
#include "wire/psn.h"

#define MAX_QPN 0xffffffu
#define MAX_TIMER 31		/* 5 bits: timeout, min_rnr_timer */
#define MAX_RETRIES 7		/* 3 bits: retry_cnt, rnr_retry */
#define KNOWN_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		      IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | \
		      IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE | \
		      IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT)
#define QP_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		   IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT)

/* The new parts of a QP, prepared before a modification is applied; afterward, the parts that they have replaced. */
struct preparation {
	struct uroce_path path;
	void *ring;			/* a larger ring for READs and atomics; NULL: the present one suffices */
	uint32_t rd_atomics;		/* entries of the ring */
	enum ibv_mtu port_mtu;		/* UD: the longest message; 0: unchanged */
};

/* Is each attribute of the mask within its range? */
static bool
path_attr_ok(const struct ibv_qp_attr *a, int mask)
{
	if ((mask & IBV_QP_AV) && !uroce_ah_attr_ok(&a->ah_attr))
		return false;
	if ((mask & IBV_QP_PATH_MTU) && (a->path_mtu < IBV_MTU_256 || a->path_mtu > IBV_MTU_4096))
		return false;
	if ((mask & IBV_QP_DEST_QPN) && a->dest_qp_num > MAX_QPN)
		return false;
	if ((mask & IBV_QP_PORT) && a->port_num != 1)
		return false;
	if ((mask & IBV_QP_PKEY_INDEX) && a->pkey_index != 0)
		return false;
	/* there is one path: no IBV_DEVICE_AUTO_PATH_MIG */
	if (mask & IBV_QP_ALT_PATH)
		return false;
	return (mask & IBV_QP_PATH_MIG_STATE) == 0 || a->path_mig_state == IBV_MIG_MIGRATED;
}

static bool
transport_attr_ok(const struct ibv_qp_attr *a, int mask)
{
	if ((mask & IBV_QP_ACCESS_FLAGS) && (a->qp_access_flags & ~KNOWN_ACCESS) != 0)
		return false;
	if ((mask & IBV_QP_TIMEOUT) && a->timeout > MAX_TIMER)
		return false;
	if ((mask & IBV_QP_MIN_RNR_TIMER) && a->min_rnr_timer > MAX_TIMER)
		return false;
	if ((mask & IBV_QP_RETRY_CNT) && a->retry_cnt > MAX_RETRIES)
		return false;
	if ((mask & IBV_QP_RNR_RETRY) && a->rnr_retry > MAX_RETRIES)
		return false;
	if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) && a->max_rd_atomic > UROCE_MAX_RD_ATOMIC)
		return false;
	return (mask & IBV_QP_MAX_DEST_RD_ATOMIC) == 0 ||
	       a->max_dest_rd_atomic <= UROCE_MAX_RD_ATOMIC;
}

static int
check_transition(const struct uroce_qp *qp, enum ibv_qp_state from, const struct ibv_qp_attr *a,
		 int mask)
{
	enum ibv_qp_state to = mask & IBV_QP_STATE ? a->qp_state : from;

	if ((mask & IBV_QP_CUR_STATE) && a->cur_qp_state != from)
		return EINVAL;
	return uroce_qp_transition_check(from, to, qp->ibv.qp_type, mask);
}

static int
get_port_mtu(struct uroce_device *dev, enum ibv_mtu *mtu)
{
	struct ibv_port_attr port;
	int ret = uroce_query_port(&dev->vctx.context, 1, &port);

	if (ret == 0)
		*mtu = port.active_mtu;
	return ret;
}

static int
check_mtu(struct uroce_device *dev, enum ibv_mtu mtu)
{
	enum ibv_mtu most;
	int ret = get_port_mtu(dev, &most);

	if (ret != 0)
		return ret;
	return mtu <= most ? 0 : EINVAL;
}

static int
check(struct uroce_qp *qp, const struct ibv_qp_attr *a, int mask)
{
	enum ibv_qp_state from = __atomic_load_n(&qp->state, __ATOMIC_RELAXED);

	if (check_transition(qp, from, a, mask) != 0 || !path_attr_ok(a, mask) ||
	    !transport_attr_ok(a, mask))
		return EINVAL;
	return mask & IBV_QP_PATH_MTU ? check_mtu(qp->dev, a->path_mtu) : 0;
}

/* Prepare a ring for the last READs and atomics, with at least one entry. */
static int
prepare_rd_atomics(const struct uroce_qp *qp, unsigned int max_dest_rd_atomic, struct preparation *p)
{
	uint32_t entries = rte_align32pow2(RTE_MAX(max_dest_rd_atomic, 1u));

	if (entries <= qp->rd_atomics)
		return 0;
	p->ring = uroce_device_alloc(qp->dev, "uroce_rd_atomic", (size_t)entries * UROCE_RD_ATOMIC_BYTES);
	if (p->ring == NULL)
		return ENOMEM;
	p->rd_atomics = entries;
	return 0;
}

static int
prepare(struct uroce_qp *qp, const struct ibv_qp_attr *a, int mask, struct preparation *p)
{
	struct uroce_device *dev = qp->dev;
	uint32_t remote = mask & IBV_QP_DEST_QPN ? a->dest_qp_num : qp->attr.dest_qp_num;
	int ret = 0;

	memset(p, 0, sizeof(*p));
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		ret = prepare_rd_atomics(qp, a->max_dest_rd_atomic, p);
	/* R40: the port's MTU limits datagrams, because the QP has no path */
	if (ret == 0 && qp->transport == UROCE_TRANSPORT_UD && (mask & IBV_QP_STATE) &&
	    a->qp_state == IBV_QPS_RTR)
		ret = get_port_mtu(dev, &p->port_mtu);
	if (ret == 0 && (mask & IBV_QP_AV)) {
		ret = -dev->ops.port->path_init(dev, &a->ah_attr, remote, &p->path);
		p->path.set_up = ret == 0;
		if (ret == 0)
			uroce_congestion_mark(dev, &p->path);
	}
	return ret;
}

static void
dispose(struct uroce_device *dev, struct preparation *p)
{
	if (p->path.set_up)
		dev->ops.port->path_fini(dev, &p->path);
	rte_free(p->ring);
}

void
uroce_qp_attr_reset(struct uroce_qp *qp)
{
	memset(&qp->attr, 0, sizeof(qp->attr));
	qp->attr.path_mtu = IBV_MTU_256;
	qp->mtu_bytes = 256;
	qp->access = 0;
	qp->dest_qpn = 0;
	qp->timeout = qp->retry_cnt = qp->rnr_retry = 0;
}

static void
clear_queues(struct uroce_qp *qp)
{
	/* Between enter and exit this thread may write the worker's indices; the locks keep posters out. The releases
	 * pair with the acquires in uroce_wq_has_room() and is_sending(). */
	uroce_wq_lock(&qp->sq);
	uroce_ah_put_queued(qp);
	__atomic_store_n(&qp->sq.head, qp->sq.tail, __ATOMIC_RELEASE);
	uroce_wq_unlock(&qp->sq);
	uroce_wq_lock(&qp->rq);
	__atomic_store_n(&qp->rq.head, qp->rq.tail, __ATOMIC_RELEASE);
	uroce_wq_unlock(&qp->rq);
}

static void
apply_path(struct uroce_qp *qp, const struct ibv_qp_attr *a, int mask, struct preparation *p)
{
	if (mask & IBV_QP_AV) {
		struct uroce_path old = qp->path;

		qp->path = p->path;
		p->path = old;
		qp->attr.ah_attr = a->ah_attr;
	}
	if ((mask & IBV_QP_PATH_MTU) || p->port_mtu != 0) {
		qp->attr.path_mtu = p->port_mtu != 0 ? p->port_mtu : a->path_mtu;
		qp->mtu_bytes = 128u << qp->attr.path_mtu;
	}
	if (mask & IBV_QP_DEST_QPN)
		qp->dest_qpn = qp->attr.dest_qp_num = a->dest_qp_num;
	if (mask & IBV_QP_PORT)
		qp->attr.port_num = a->port_num;
	if (mask & IBV_QP_PKEY_INDEX)
		qp->attr.pkey_index = a->pkey_index;
	if (mask & IBV_QP_PATH_MIG_STATE)
		qp->attr.path_mig_state = a->path_mig_state;
}

static void
apply_transport(struct uroce_qp *qp, const struct ibv_qp_attr *a, int mask)
{
	struct ibv_qp_attr *to = &qp->attr;

	if (mask & IBV_QP_ACCESS_FLAGS) {
		to->qp_access_flags = a->qp_access_flags;
		qp->access = a->qp_access_flags & QP_ACCESS;
	}
	if (mask & IBV_QP_QKEY)
		to->qkey = a->qkey;
	/* as with RNICs, the low 24 bits count: some applications draw PSNs of 32 bits */
	if (mask & IBV_QP_RQ_PSN)
		to->rq_psn = a->rq_psn & UROCE_PSN_MASK;
	if (mask & IBV_QP_SQ_PSN)
		to->sq_psn = a->sq_psn & UROCE_PSN_MASK;
	if (mask & IBV_QP_TIMEOUT)
		qp->timeout = to->timeout = a->timeout;
	if (mask & IBV_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = a->min_rnr_timer;
	if (mask & IBV_QP_RETRY_CNT)
		qp->retry_cnt = to->retry_cnt = a->retry_cnt;
	if (mask & IBV_QP_RNR_RETRY)
		qp->rnr_retry = to->rnr_retry = a->rnr_retry;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = a->max_rd_atomic;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = a->max_dest_rd_atomic;
	if (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY)
		to->en_sqd_async_notify = a->en_sqd_async_notify != 0;
}

static void
apply_rd_atomics(struct uroce_qp *qp, struct preparation *p)
{
	if (p->ring == NULL)
		return;
	qp->rd_atomics = p->rd_atomics;
	p->ring = qp->dev->ops.transport->qp_rd_atomics(qp, p->ring, p->rd_atomics);
}

/* In the engine's turn; cannot fail. */
static void
apply(struct uroce_qp *qp, const struct ibv_qp_attr *a, int mask, struct preparation *p)
{
	enum ibv_qp_state from = qp->state;
	enum ibv_qp_state to = mask & IBV_QP_STATE ? a->qp_state : from;
	const struct uroce_port_ops *port = qp->dev->ops.port;

	if (to == IBV_QPS_RESET && port != NULL && port->revoke != NULL)
		port->revoke(qp); /* while it knows its peer */
	apply_path(qp, a, mask, p);
	if (from != to)
		qp->attr.en_sqd_async_notify = 0;	/* requested anew for each transition */
	apply_transport(qp, a, mask);
	apply_rd_atomics(qp, p);
	qp->attr.qp_state = to;
	/* posters read it under the queues' locks */
	__atomic_store_n(&qp->state, to, __ATOMIC_RELAXED);
	if (to == IBV_QPS_RESET) {
		clear_queues(qp);
		uroce_qp_attr_reset(qp);
		p->path = qp->path;
		memset(&qp->path, 0, sizeof(qp->path));
	}
	qp->dev->ops.transport->qp_changed(qp, from, mask);
	qp->ibv.state = to;
}

/* Applications set all attributes of an RC QP at both ends of XRC. Ignore those that only the other end has, as the
 * kernel does. */
static int
own_mask(enum ibv_qp_type type, int attr_mask)
{
	if (type == IBV_QPT_XRC_SEND)
		return attr_mask & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (type == IBV_QPT_XRC_RECV)
		return attr_mask & ~(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
	return attr_mask;
}

int
uroce_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int attr_mask)
{
	struct uroce_qp *qp = uroce_qp_real(uroce_qp_of(ibv));
	struct preparation p = { .ring = NULL };
	int ret;

	attr_mask = own_mask(ibv->qp_type, attr_mask);
	pthread_mutex_lock(&qp->ibv.mutex);
	ret = check(qp, attr, attr_mask);
	if (ret == 0)
		ret = prepare(qp, attr, attr_mask, &p);
	if (ret == 0) {
		uroce_qp_enter(qp);
		/* check again: the engine may have moved the QP to ERR */
		ret = check_transition(qp, qp->state, attr, attr_mask);
		if (ret == 0)
			apply(qp, attr, attr_mask, &p);
		uroce_qp_exit(qp);
	}
	/* As RNICs do: otherwise the application would take completions from before RESET for new ones. Under
	 * ibv.mutex, so that the QP stays in RESET. */
	if (ret == 0 && (attr_mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET)
		uroce_qp_forget_completions(qp);
	dispose(qp->dev, &p);
	ibv->state = qp->ibv.state;	/* of this handle; another handle is updated when it is queried */
	pthread_mutex_unlock(&qp->ibv.mutex);
	return ret;
}
