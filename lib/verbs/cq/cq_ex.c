/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Extended CQs, ibv_create_cq_ex(3): reads the same ring in place, an entry at a time, between start_poll and
 * end_poll. The polling thread holds the CQ's poll_lock meanwhile. Any thread.
 */

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "uroce.h"
#include "verbs/cq/cq.h"
#include "verbs/device/device.h"

#define KNOWN_WC_FLAGS (IBV_CREATE_CQ_SUP_WC_FLAGS & ~(uint64_t)IBV_WC_EX_WITH_TM_INFO)
#define KNOWN_FLAGS (IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN)

static uint32_t
at(const struct uroce_cq *cq)
{
	return (cq->next - 1) & cq->get.mask;
}

static const struct ibv_wc *
wc_of(struct ibv_cq_ex *ex)
{
	const struct uroce_cq *cq = uroce_cq_of_ex(ex);

	return &cq->get.wcs[at(cq)];
}

/* Make the entry at `next` the current one, if there is one. */
static int
next_poll(struct ibv_cq_ex *ex)
{
	struct uroce_cq *cq = uroce_cq_of_ex(ex);
	const struct ibv_wc *wc;

	/* pairs with the release in push() */
	if (cq->next == __atomic_load_n(&cq->tail, __ATOMIC_ACQUIRE))
		return ENOENT;
	cq->next++;
	wc = wc_of(ex);
	ex->wr_id = wc->wr_id;
	ex->status = wc->status;
	return 0;
}

static int
start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct uroce_cq *cq = uroce_cq_of_ex(ex);
	bool overrun;
	int ret;

	if (unlikely(attr != NULL && attr->comp_mask != 0))
		return EINVAL;
	/* pairs with the release in set_overrun(), as in uroce_poll_cq() */
	overrun = __atomic_load_n(&cq->overrun, __ATOMIC_ACQUIRE);
	if (uroce_cq_has_nothing(cq))
		return overrun ? EIO : ENOENT;
	uroce_cq_poll_lock(cq);
	cq->next = cq->head;
	ret = next_poll(ex);
	if (unlikely(ret != 0))
		uroce_cq_poll_unlock(cq);
	else
		__atomic_store_n(&cq->reader, (uintptr_t)pthread_self(), __ATOMIC_RELAXED);
	return ret;
}

/* The clocks are read once for all entries of a batch, which keeps the differences between their times. */
static int
start_poll_wallclock(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct uroce_device *dev = uroce_device_of(ex->context);
	int ret = start_poll(ex, attr);
	uint64_t device_ns, wall_ns;

	if (ret != 0)
		return ret;
	dev->ops.port->clocks(dev, &device_ns, &wall_ns);
	uroce_cq_of_ex(ex)->wall_offset_ns = wall_ns - device_ns;
	return 0;
}

static void
end_poll(struct ibv_cq_ex *ex)
{
	struct uroce_cq *cq = uroce_cq_of_ex(ex);

	__atomic_store_n(&cq->reader, 0, __ATOMIC_RELAXED);
	/* pairs with the acquire in push() */
	__atomic_store_n(&cq->head, cq->next, __ATOMIC_RELEASE);
	uroce_cq_poll_unlock(cq);
}

static enum ibv_wc_opcode
read_opcode(struct ibv_cq_ex *ex)
{
	return wc_of(ex)->opcode;
}

static uint32_t
read_vendor_err(struct ibv_cq_ex *ex)
{
	return wc_of(ex)->vendor_err;
}

static unsigned int
read_wc_flags(struct ibv_cq_ex *ex)
{
	return wc_of(ex)->wc_flags;
}

static uint32_t
read_byte_len(struct ibv_cq_ex *ex)
{
	return wc_of(ex)->byte_len;
}

/* Immediate data, or the invalidated rkey, which has the same place. */
static __be32
read_imm_data(struct ibv_cq_ex *ex)
{
	return wc_of(ex)->imm_data;
}

static uint32_t
read_qp_num(struct ibv_cq_ex *ex)
{
	return wc_of(ex)->qp_num;
}

static uint32_t
read_src_qp(struct ibv_cq_ex *ex)
{
	return wc_of(ex)->src_qp;
}

static uint32_t
read_slid(struct ibv_cq_ex *ex)
{
	return wc_of(ex)->slid;
}

static uint8_t
read_sl(struct ibv_cq_ex *ex)
{
	return wc_of(ex)->sl;
}

static uint8_t
read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return wc_of(ex)->dlid_path_bits;
}

static uint64_t
read_completion_ts(struct ibv_cq_ex *ex)
{
	const struct uroce_cq *cq = uroce_cq_of_ex(ex);

	return cq->get.stamps[at(cq)];
}

static uint64_t
read_completion_wallclock_ns(struct ibv_cq_ex *ex)
{
	return read_completion_ts(ex) + uroce_cq_of_ex(ex)->wall_offset_ns;
}

/* A device accepts only frames of its own VLAN. */
static uint16_t
read_cvlan(struct ibv_cq_ex *ex)
{
	return uroce_device_of(ex->context)->vlan;
}

/* The tag of no flow: flows cannot be created. */
static uint32_t
read_flow_tag(struct ibv_cq_ex *ex)
{
	RTE_SET_USED(ex);
	return 0;
}

/* Only the fields that the application requested can be read. */
static void
init_fields(struct ibv_cq_ex *ex, uint64_t wc_flags)
{
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ex->read_completion_wallclock_ns = read_completion_wallclock_ns;
	if (wc_flags & IBV_WC_EX_WITH_CVLAN)
		ex->read_cvlan = read_cvlan;
	if (wc_flags & IBV_WC_EX_WITH_FLOW_TAG)
		ex->read_flow_tag = read_flow_tag;
}

struct ibv_cq_ex *
uroce_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	uint32_t flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
	struct uroce_cq *cq;

	if ((attr->comp_mask & ~(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD)) != 0 ||
	    (attr->wc_flags & ~KNOWN_WC_FLAGS) != 0 || (flags & ~KNOWN_FLAGS) != 0) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	cq = uroce_cq_create(context, attr);
	if (cq == NULL)
		return NULL;
	cq->single_threaded |= (flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0;
	cq->ignore_overrun = flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	cq->ex.start_poll = attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK ?
			    start_poll_wallclock : start_poll;
	cq->ex.next_poll = next_poll;
	cq->ex.end_poll = end_poll;
	cq->ex.read_opcode = read_opcode;
	cq->ex.read_vendor_err = read_vendor_err;
	cq->ex.read_wc_flags = read_wc_flags;
	init_fields(&cq->ex, attr->wc_flags);
	return &cq->ex;
}
