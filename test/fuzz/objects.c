/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * See objects.h. Destroying an object in use must fail with EBUSY, and leave it as it was.
 */

#include "objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "uroce_config.h"

struct objects objects;

static const union ibv_gid groups[2] = {
	{ .raw = { [10] = 0xff, 0xff, 239, 0, 0, 7 } },
	{ .raw = { 0xff, 0x0e, [15] = 7 } },
};

/* ---- creating objects ------------------------------------------------------------------------ */

static void
make_cq(struct fuzz_input *in, unsigned int i)
{
	struct ibv_comp_channel *channel = OBJECTS_PICK(in, channels);
	struct ibv_cq_init_attr_ex attr = { .cqe = 1 + fuzz_u8(in), .channel = channel };
	struct ibv_cq_ex *ex;
	uint8_t how = fuzz_u8(in), vector = fuzz_u8(in);

	objects.extended[i] = (how & 1) != 0;
	if ((how & 1) == 0) {
		objects.cqs[i] = uroce_create_cq(device_context(),
						 (how & 2) != 0 ? (int)fuzz_u32(in) % 65536 : 16,
						 NULL, channel, (how & 4) != 0 ? vector : 0);
		return;
	}
	attr.wc_flags = fuzz_u16(in);
	attr.flags = (how & 8) != 0 ? fuzz_u8(in) : 0;
	attr.comp_mask = (how & 16) != 0   ? fuzz_u8(in)
			 : attr.flags != 0 ? IBV_CQ_INIT_ATTR_MASK_FLAGS
					   : 0;
	if ((attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0)
		attr.parent_domain = OBJECTS_PICK(in, pds);
	ex = uroce_create_cq_ex(device_context(), &attr);
	objects.cqs[i] = ex != NULL ? ibv_cq_ex_to_cq(ex) : NULL;
}

static void *
queue_alloc(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment, uint64_t resource_type)
{
	(void)pd;
	(void)pd_context;
	return resource_type == UROCE_RES_TYPE_SRQ ? IBV_ALLOCATOR_USE_DEFAULT : aligned_alloc(alignment, size);
}

static void
queue_free(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type)
{
	(void)pd;
	(void)pd_context;
	RTE_VERIFY(resource_type != UROCE_RES_TYPE_SRQ);
	free(ptr);
}

/* If `of` is a domain, create a parent domain of it, which fails if `of` is a parent domain itself. */
static void
make_pd(struct ibv_pd *of, unsigned int i)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = of, .alloc = queue_alloc, .free = queue_free,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS,
	};

	objects.pds[i] = of != NULL ? uroce_alloc_parent_domain(device_context(), &attr)
				    : uroce_alloc_pd(device_context());
}

static void
make_mr(struct fuzz_input *in, unsigned int i)
{
	struct ibv_pd *pd = OBJECTS_PICK(in, pds);
	uint8_t how = fuzz_u8(in);
	uint8_t *addr = objects.buffer + fuzz_u16(in) % OBJECTS_BUFFER_BYTES;
	size_t length = RTE_MIN((size_t)fuzz_u16(in),
				(size_t)(objects.buffer + OBJECTS_BUFFER_BYTES - addr));
	int access = (how & 1) != 0 ? (int)fuzz_u32(in)
				    : (int)(fuzz_u8(in) | IBV_ACCESS_LOCAL_WRITE) & 0x1f;

	if (pd == NULL)
		return;
	if ((how & 2) != 0)
		addr = (uint8_t *)(uintptr_t)((fuzz_u8(in) | UINT64_C(0x80)) << 40); /* the kernel's: not mapped */
	switch (how >> 4) {
	case 0: objects.mrs[i] = uroce_alloc_null_mr(pd); break;
	case 1: objects.mrs[i] = uroce_reg_mr_iova(pd, addr, length, fuzz_u64(in), access); break;
	case 2: objects.mrs[i] = uroce_reg_dmabuf_mr(pd, 0, length, 0, -1, access); break;
	default: objects.mrs[i] = uroce_reg_mr(pd, addr, length, access); break;
	}
}

static void
make_ah(struct fuzz_input *in, unsigned int i)
{
	struct ibv_pd *pd = OBJECTS_PICK(in, pds);
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } };
	uint8_t how = fuzz_u8(in);

	memcpy(attr.grh.dgid.raw, device_conf_get()->peer_gid.raw, 16);
	if ((how & 1) != 0)
		fuzz_bytes(in, attr.grh.dgid.raw, 16);
	if ((how & 2) != 0) {
		attr.is_global = fuzz_u8(in);
		attr.port_num = fuzz_u8(in);
		attr.grh.sgid_index = fuzz_u8(in);
		attr.grh.flow_label = fuzz_u32(in);
	}
	if (pd != NULL)
		objects.ahs[i] = uroce_create_ah(pd, &attr);
}

static void
make_xrcd(struct fuzz_input *in, unsigned int i)
{
	uint8_t how = fuzz_u8(in);
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = (how & 1) != 0 ? device_context()->async_fd : -1,
		.oflags = (how & 2) != 0   ? O_CREAT | O_EXCL
			  : (how & 4) != 0 ? 0
					   : O_CREAT,
	};

	objects.xrcds[i] = uroce_open_xrcd(device_context(), &attr);
}

static void
make_srq(struct fuzz_input *in, unsigned int i)
{
	uint8_t how = fuzz_u8(in);
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = (how & 1) != 0 ? fuzz_u16(in) : 4, .max_sge = 1 + how % 4 },
		.srq_type = (how & 2) != 0   ? IBV_SRQT_XRC
			    : (how & 4) != 0 ? fuzz_u8(in) % 4
					     : IBV_SRQT_BASIC,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.pd = OBJECTS_PICK(in, pds),
		.xrcd = OBJECTS_PICK(in, xrcds),
		.cq = OBJECTS_PICK(in, cqs),
	};

	if (attr.pd == NULL)
		return;
	if (attr.srq_type == IBV_SRQT_XRC && attr.xrcd != NULL && attr.cq != NULL)
		attr.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	if ((how & 8) != 0)
		attr.comp_mask &= fuzz_u8(in);
	objects.srqs[i] = uroce_create_srq_ex(device_context(), &attr);
}

static struct ibv_qp *
open_qp(struct fuzz_input *in)
{
	const struct ibv_qp *of = OBJECTS_PICK(in, qps);
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = of != NULL ? of->qp_num : fuzz_u32(in),
		.qp_type = IBV_QPT_XRC_RECV,
		.xrcd = OBJECTS_PICK(in, xrcds),
	};

	return attr.xrcd != NULL ? uroce_open_qp(device_context(), &attr) : NULL;
}

static void
make_qp(struct fuzz_input *in, unsigned int i)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC,       IBV_QPT_UC,
						  IBV_QPT_UD,       IBV_QPT_XRC_SEND,
						  IBV_QPT_XRC_RECV, IBV_QPT_RAW_PACKET };
	uint8_t how = fuzz_u8(in);
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = types[fuzz_below(in, RTE_DIM(types))],
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = OBJECTS_PICK(in, pds),
		.send_cq = OBJECTS_PICK(in, cqs),
		.recv_cq = OBJECTS_PICK(in, cqs),
		.srq = (how & 1) != 0 ? OBJECTS_PICK(in, srqs) : NULL,
		.sq_sig_all = (how & 2) != 0,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 2,
			 .max_recv_sge = 2,
			 .max_inline_data = how & 0x3c },
	};

	if ((how & 0x80) != 0 && fuzz_below(in, 4) == 0) {
		objects.qps[i] = open_qp(in);
		return;
	}
	if (attr.qp_type == IBV_QPT_XRC_RECV) {
		attr.xrcd = OBJECTS_PICK(in, xrcds);
		attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	}
	if (attr.qp_type == IBV_QPT_XRC_RECV ? attr.xrcd == NULL : attr.pd == NULL)
		return;
	if ((how & 0x40) != 0) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = fuzz_u16(in);
	}
	if ((how & 0x80) != 0) {
		attr.cap.max_send_wr = fuzz_u16(in) % 512;
		attr.cap.max_recv_wr = fuzz_u16(in) % 512;
		attr.cap.max_send_sge = fuzz_u8(in);
		attr.cap.max_recv_sge = fuzz_u8(in);
		attr.cap.max_inline_data = fuzz_u16(in);
	}
	objects.qps[i] = uroce_create_qp_ex(device_context(), &attr);
}

/* ---- destroying objects ----------------------------------------------------------------------- */

/* The call succeeds, or the object is in use. */
#define DESTROY(kind, i, call)                              \
	do {                                                \
		int error_ = call(objects.kind[i]);         \
		RTE_VERIFY(error_ == 0 || error_ == EBUSY); \
		if (error_ == 0)                            \
			objects.kind[i] = NULL;             \
	} while (0)

#define TOGGLE(kind, i, make, destroy)             \
	do {                                       \
		if (objects.kind[i] != NULL)       \
			DESTROY(kind, i, destroy); \
		else                               \
			make;                      \
	} while (0)

void
objects_toggle(struct fuzz_input *in)
{
	uint8_t what = fuzz_u8(in);
	unsigned int i = fuzz_below(in, OBJECTS_EACH);
	struct ibv_pd *pd = OBJECTS_PICK(in, pds);

	objects_drain_events();
	switch (what % 12) {
	case 0:
		TOGGLE(pds, i, make_pd(what >= 128 ? pd : NULL, i), uroce_dealloc_pd);
		break;
	case 1:
		TOGGLE(channels, i,
		       objects.channels[i] = uroce_create_comp_channel(device_context()),
		       uroce_destroy_comp_channel);
		break;
	case 2:
	case 3: TOGGLE(cqs, i, make_cq(in, i), uroce_destroy_cq); break;
	case 4:
	case 5: TOGGLE(mrs, i, make_mr(in, i), uroce_dereg_mr); break;
	case 6:
		/* a queue may hold posted binds of a window, so windows are destroyed last */
		if (objects.mws[i] == NULL && pd != NULL)
			objects.mws[i] = uroce_alloc_mw(pd, fuzz_u8(in) % 4);
		break;
	case 7: TOGGLE(ahs, i, make_ah(in, i), uroce_destroy_ah); break;
	case 8: TOGGLE(xrcds, i, make_xrcd(in, i), uroce_close_xrcd); break;
	case 9: TOGGLE(srqs, i, make_srq(in, i), uroce_destroy_srq); break;
	default: TOGGLE(qps, i, make_qp(in, i), uroce_destroy_qp); break;
	}
}

void
objects_end(void)
{
	objects_drain_events();
	for (unsigned int i = 0; i < OBJECTS_EACH; i++) {
		for (unsigned int g = 0; g < RTE_DIM(groups) && objects.qps[i] != NULL; g++)
			uroce_detach_mcast(objects.qps[i], &groups[g], 0);
		RTE_VERIFY(objects.qps[i] == NULL || uroce_destroy_qp(objects.qps[i]) == 0);
	}
	for (unsigned int i = 0; i < OBJECTS_EACH; i++) {
		RTE_VERIFY(objects.srqs[i] == NULL || uroce_destroy_srq(objects.srqs[i]) == 0);
		RTE_VERIFY(objects.ahs[i] == NULL || uroce_destroy_ah(objects.ahs[i]) == 0);
		RTE_VERIFY(objects.mws[i] == NULL || uroce_dealloc_mw(objects.mws[i]) == 0);
	}
	for (unsigned int i = 0; i < OBJECTS_EACH; i++) {
		RTE_VERIFY(objects.mrs[i] == NULL || uroce_dereg_mr(objects.mrs[i]) == 0);
		RTE_VERIFY(objects.cqs[i] == NULL || uroce_destroy_cq(objects.cqs[i]) == 0);
		RTE_VERIFY(objects.xrcds[i] == NULL || uroce_close_xrcd(objects.xrcds[i]) == 0);
	}
	for (unsigned int i = 0; i < OBJECTS_EACH; i++) {
		RTE_VERIFY(objects.channels[i] == NULL ||
			   uroce_destroy_comp_channel(objects.channels[i]) == 0);
		/* a parent domain is destroyed before its protection domain */
		if (objects.pds[i] != NULL)
			DESTROY(pds, i, uroce_dealloc_pd);
	}
	for (unsigned int i = 0; i < OBJECTS_EACH; i++)
		RTE_VERIFY(objects.pds[i] == NULL || uroce_dealloc_pd(objects.pds[i]) == 0);
	memset(&objects, 0, sizeof(objects));
}

/* ---- changing objects -------------------------------------------------------------------------- */

void
objects_drain_events(void)
{
	struct ibv_async_event event;
	struct ibv_cq *cq;
	void *context;

	RTE_VERIFY(fcntl(device_context()->async_fd, F_SETFL, O_NONBLOCK) == 0);
	while (uroce_get_async_event(device_context(), &event) == 0)
		uroce_ack_async_event(&event);
	for (unsigned int i = 0; i < OBJECTS_EACH; i++) {
		if (objects.channels[i] == NULL)
			continue;
		RTE_VERIFY(fcntl(objects.channels[i]->fd, F_SETFL, O_NONBLOCK) == 0);
		while (uroce_get_cq_event(objects.channels[i], &cq, &context) == 0)
			uroce_ack_cq_events(cq, 1);
	}
}

static void
change_cq(struct fuzz_input *in, struct ibv_cq *cq)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = 1 + fuzz_u8(in) % 2,
					   .moderate = { .cq_count = fuzz_u8(in),
							 .cq_period = fuzz_u8(in) } };

	switch (fuzz_below(in, 3)) {
	case 0: uroce_resize_cq(cq, fuzz_u16(in)); break;
	case 1: uroce_modify_cq(cq, &attr); break;
	default: uroce_req_notify_cq(cq, attr.attr_mask); break;
	}
}

static void
change_srq(struct fuzz_input *in, struct ibv_srq *srq)
{
	struct ibv_srq_attr attr = { .max_wr = fuzz_u16(in), .srq_limit = fuzz_u16(in) };
	uint32_t number;

	uroce_modify_srq(srq, &attr, fuzz_u8(in) % 5);
	RTE_VERIFY(uroce_query_srq(srq, &attr) == 0);
	uroce_get_srq_num(srq, &number);
}

void
objects_change(struct fuzz_input *in)
{
	uint8_t what = fuzz_u8(in);
	struct ibv_cq *cq = OBJECTS_PICK(in, cqs);
	struct ibv_srq *srq = OBJECTS_PICK(in, srqs);
	struct ibv_mr *mr = OBJECTS_PICK(in, mrs);
	struct ibv_qp *qp = OBJECTS_PICK(in, qps);
	struct ibv_pd *pd = OBJECTS_PICK(in, pds);
	uint8_t flags = fuzz_u8(in) % 16;
	struct ibv_sge sge = objects_sge(in);
	uint16_t offset = fuzz_u16(in) % OBJECTS_BUFFER_BYTES, access = fuzz_u16(in);

	if (what % 8 < 2 && cq != NULL)
		change_cq(in, cq);
	else if (what % 8 < 4 && srq != NULL)
		change_srq(in, srq);
	else if (what % 8 == 4 && mr != NULL)
		uroce_rereg_mr(mr, flags, pd, objects.buffer + offset,
			       RTE_MIN((size_t)fuzz_u16(in), (size_t)OBJECTS_BUFFER_BYTES - offset),
			       access);
	else if (what % 8 == 5 && qp != NULL)
		uroce_attach_mcast(
			qp, flags == 3 ? (const union ibv_gid *)objects.buffer : &groups[flags % 2],
			0);
	else if (what % 8 == 6 && qp != NULL)
		uroce_detach_mcast(qp, &groups[flags % 2], 0);
	else if (what % 8 == 7 && pd != NULL)
		uroce_advise_mr(pd, flags % 4, flags / 4, &sge, 1);
}

struct ibv_sge
objects_sge(struct fuzz_input *in)
{
	const struct ibv_mr *mr = OBJECTS_PICK(in, mrs);
	uint16_t offset = fuzz_u16(in), length = fuzz_u16(in);

	if (mr == NULL)
		return (struct ibv_sge){ offset, length % 512, length };
	return (struct ibv_sge){ (uintptr_t)mr->addr + offset % 1024, length % 2048, mr->lkey };
}
