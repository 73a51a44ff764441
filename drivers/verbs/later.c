/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * libibverbs.so.1: the calls that rdma-core added after release 44, except those that the installed headers lack. uroce
 * supports neither DMA handles nor completion counters.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rte_common.h>
#include <rte_ethdev.h>

#include "port/port.h"
#include "uroce.h"
#include "verbs_symbols.h"

#define UNSUPPORTED(name, type)      \
	int                          \
	ibv_##name(type object)      \
	{                            \
		RTE_SET_USED(object); \
		return EOPNOTSUPP;   \
	}
#define UNSUPPORTED_VALUE(name, type, value_type) \
	int                                       \
	ibv_##name(type object, value_type value) \
	{                                         \
		RTE_SET_USED(object);             \
		RTE_SET_USED(value);              \
		return EOPNOTSUPP;                \
	}
#define UNSUPPORTED_OBJECT(type, name, attr_type)                     \
	struct type *                                                 \
	ibv_##name(struct ibv_context *context, struct attr_type *attr) \
	{                                                             \
		RTE_SET_USED(context);                                \
		RTE_SET_USED(attr);                                   \
		errno = EOPNOTSUPP;                                   \
		return NULL;                                          \
	}

#if UROCE_RDMA_CORE >= 49
const char *
ibv_wr_opcode_str(enum ibv_wr_opcode opcode)
{
	static const char *const names[] = {
		[IBV_WR_RDMA_WRITE] = "rdma-write",
		[IBV_WR_RDMA_WRITE_WITH_IMM] = "rdma-write-with-imm",
		[IBV_WR_SEND] = "send",
		[IBV_WR_SEND_WITH_IMM] = "send-with-imm",
		[IBV_WR_RDMA_READ] = "rdma-read",
		[IBV_WR_ATOMIC_CMP_AND_SWP] = "atomic-cmp-and-swp",
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = "atomic-fetch-and-add",
		[IBV_WR_LOCAL_INV] = "local-inv",
		[IBV_WR_BIND_MW] = "bind-mw",
		[IBV_WR_SEND_WITH_INV] = "send-with-inv",
		[IBV_WR_TSO] = "tso",
		[IBV_WR_DRIVER1] = "driver1",
		[IBV_WR_FLUSH] = "flush",
		[IBV_WR_ATOMIC_WRITE] = "atomic-write",
	};

	return (size_t)opcode < RTE_DIM(names) && names[opcode] != NULL ? names[opcode] : "unknown";
}
#endif

#if UROCE_RDMA_CORE >= 64
struct ibv_buf {
	void *addr;
	size_t bytes;
	struct ibv_pd *pd;
};

void *
ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf)
{
	struct ibv_buf *b = calloc(1, sizeof(*b));
	int error = b == NULL ? ENOMEM : posix_memalign(&b->addr, (size_t)sysconf(_SC_PAGESIZE), size);

	if (error != 0) {
		free(b);
		errno = error;
		return NULL;
	}
	b->bytes = size;
	b->pd = pd;
	*buf = b;
	return b->addr;
}

void
ibv_free_buf(struct ibv_buf *buf)
{
	free(buf->addr);
	free(buf);
}

struct ibv_mr *
ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length, int access)
{
	struct ibv_mr_init_attr attr = {
		.length = length, .access = access, .addr = addr, .buf = buf,
		.comp_mask = IBV_REG_MR_MASK_BUF | IBV_REG_MR_MASK_ADDR,
	};

	return ibv_reg_mr_ex(pd, &attr);
}

/* Is the memory a part of the buffer, and named by its address only? */
static bool
is_in_buf(const struct ibv_pd *pd, const struct ibv_mr_init_attr *attr)
{
	const struct ibv_buf *buf = attr->buf;
	const uint64_t forbidden = IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET;
	const size_t offset = (uintptr_t)attr->addr - (uintptr_t)buf->addr;	/* wraps if addr is below the buffer */

	return buf->pd == pd && (attr->comp_mask & IBV_REG_MR_MASK_ADDR) && (attr->comp_mask & forbidden) == 0 &&
	       offset <= buf->bytes && attr->length <= buf->bytes - offset;
}
#endif

#if UROCE_RDMA_CORE >= 59
UNSUPPORTED_OBJECT(ibv_dmah, alloc_dmah, ibv_dmah_init_attr)
UNSUPPORTED(dealloc_dmah, struct ibv_dmah *)

static struct ibv_mr *
invalid(int error)
{
	errno = error;
	return NULL;
}

struct ibv_mr *
ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
	const uint64_t file = IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET | IBV_REG_MR_MASK_IOVA;
	uint64_t mask = attr->comp_mask;

#if UROCE_RDMA_CORE >= 64
	if (mask & IBV_REG_MR_MASK_BUF) {
		if (!is_in_buf(pd, attr))
			return invalid(EINVAL);
		mask &= ~(uint64_t)IBV_REG_MR_MASK_BUF;
	}
#endif
	if ((mask & ~(file | IBV_REG_MR_MASK_ADDR)) != 0)	/* a DMA handle, or a flag of a later release */
		return invalid(EOPNOTSUPP);
	if (mask & IBV_REG_MR_MASK_FD)
		return mask != file ? invalid(EINVAL) :
		       uroce_reg_dmabuf_mr(pd, attr->fd_offset, attr->length, attr->iova, attr->fd, attr->access);
	if ((mask & IBV_REG_MR_MASK_ADDR) == 0 || (mask & IBV_REG_MR_MASK_FD_OFFSET))
		return invalid(EINVAL);
	return uroce_reg_mr_iova2(pd, attr->addr, attr->length,
				  mask & IBV_REG_MR_MASK_IOVA ? attr->iova : (uintptr_t)attr->addr,
				  (unsigned int)attr->access);
}
#endif

#if UROCE_RDMA_CORE >= 62
#define MBPS_PER_UNIT 100

/* There is no device memory: no call returns an ibv_dm. */
int
ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	RTE_SET_USED(dm);
	errno = EOPNOTSUPP;
	return -1;
}

/* In units of 100 Mb/s; 0 if the link is down, or if the driver reports no speed. */
int
ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed)
{
	struct rte_eth_link link = { .link_speed = RTE_ETH_SPEED_NUM_NONE };
	int ret;

	if (port_num != 1)
		return EINVAL;
	ret = rte_eth_link_get_nowait(uroce_port_of_context(context)->port_id, &link);
	if (ret < 0)
		return -ret;
	*port_speed = link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed / MBPS_PER_UNIT;
	return 0;
}
#endif

#if UROCE_RDMA_CORE >= 65
/* A buffer is ordinary memory, not a dma-buf. */
int
ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
	RTE_SET_USED(buf);
	errno = ENODATA;
	return -1;
}

int
_ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps, size_t caps_size)
{
	RTE_SET_USED(context);
	RTE_SET_USED(caps);
	RTE_SET_USED(caps_size);
	return EOPNOTSUPP;
}

int
ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *counter, struct ibv_qp_attach_comp_cntr_attr *attr)
{
	RTE_SET_USED(qp);
	RTE_SET_USED(counter);
	RTE_SET_USED(attr);
	return EOPNOTSUPP;
}

UNSUPPORTED_OBJECT(ibv_comp_cntr, create_comp_cntr, ibv_comp_cntr_init_attr)
UNSUPPORTED(destroy_comp_cntr, struct ibv_comp_cntr *)
UNSUPPORTED_VALUE(set_comp_cntr, struct ibv_comp_cntr *, uint64_t)
UNSUPPORTED_VALUE(set_err_comp_cntr, struct ibv_comp_cntr *, uint64_t)
UNSUPPORTED_VALUE(inc_comp_cntr, struct ibv_comp_cntr *, uint64_t)
UNSUPPORTED_VALUE(inc_err_comp_cntr, struct ibv_comp_cntr *, uint64_t)
UNSUPPORTED_VALUE(read_comp_cntr, struct ibv_comp_cntr *, uint64_t *)
UNSUPPORTED_VALUE(read_err_comp_cntr, struct ibv_comp_cntr *, uint64_t *)
#endif
