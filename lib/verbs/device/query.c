/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Answers queries of a device: attributes from config/uroce_config.h, port and GID table from the layer above. Any
 * thread.
 */

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "uroce.h"
#include "uroce_config.h"
#include "mem/persistent.h"
#include "verbs/device/device.h"
#include "verbs/internal.h"

#define PORT_NUM 1		/* a device has one port */
#define DEFAULT_PKEY 0xffff	/* the only one in RoCE */
#define CLOCK_KHZ 1000000	/* time stamps are nanoseconds */

int
uroce_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	const struct uroce_device *dev = uroce_device_of(context);
	int groups = dev->ops.port->mcast_join != NULL ? UROCE_MAX_MCAST_GROUPS : 0;

	*attr = (struct ibv_device_attr){
		.fw_ver = "uroce",
		.node_guid = dev->node_guid,
		.sys_image_guid = dev->node_guid,
		.vendor_id = UROCE_VENDOR_ID,
		.vendor_part_id = UROCE_VENDOR_PART_ID,
		.max_mr_size = UROCE_MAX_MR_BYTES,
		.page_size_cap = UINT64_MAX & ~UINT64_C(0xfff),
		.max_qp = 1 << dev->qps.log2,
		.max_qp_wr = UROCE_MAX_QP_WR,
		.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_SYS_IMAGE_GUID |
				    IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_MEM_WINDOW |
				    IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS |
				    IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_XRC,
		.max_sge = UROCE_MAX_SGE,
		.max_sge_rd = UROCE_MAX_SGE,
		.max_cq = (int)dev->max_cq,
		.max_cqe = UROCE_MAX_CQE,
		.max_mr = 1 << dev->mrs.log2,	/* MRs and MWs together */
		.max_mw = 1 << dev->mrs.log2,
		.max_pd = UROCE_MAX_PD,
		.max_ah = UROCE_MAX_AH,
		.max_mcast_grp = groups,
		.max_mcast_qp_attach = groups > 0 ? UROCE_MAX_MCAST_QPS : 0,
		.max_total_mcast_qp_attach = groups * UROCE_MAX_MCAST_QPS,
		.max_qp_rd_atom = UROCE_MAX_RD_ATOMIC,
		.max_qp_init_rd_atom = UROCE_MAX_RD_ATOMIC,
		.max_res_rd_atom = UROCE_MAX_RD_ATOMIC << dev->qps.log2,
		.atomic_cap = IBV_ATOMIC_HCA,
		.max_srq = 1 << UROCE_LOG2_MAX_SRQ,
		.max_srq_wr = UROCE_MAX_SRQ_WR,
		.max_srq_sge = UROCE_MAX_SGE,
		.max_pkeys = 1,
		.local_ca_ack_delay = UROCE_LOCAL_CA_ACK_DELAY,
		.phys_port_cnt = 1,
	};
	static_assert(UROCE_MAX_RD_ATOMIC <= INT_MAX >> UROCE_LOG2_LIMIT_QP, "max_res_rd_atom must fit an int");
	return 0;
}

int
uroce_query_device_ex_sized(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			    struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ibv_device_attr_ex full = { .phys_port_cnt_ex = 1 };

	if ((input != NULL && input->comp_mask != 0) || attr_size < sizeof(attr->orig_attr))
		return EINVAL;
	uroce_query_device(context, &full.orig_attr);
	full.completion_timestamp_mask = UINT64_MAX;
	full.hca_core_clock = CLOCK_KHZ;
	full.device_cap_flags_ex = full.orig_attr.device_cap_flags | IBV_DEVICE_FLUSH_GLOBAL |
				   (UROCE_CAN_PERSIST ? IBV_DEVICE_FLUSH_PERSISTENT : 0) |
				   IBV_DEVICE_ATOMIC_WRITE;
	full.cq_mod_caps.max_cq_count = UINT16_MAX;
	full.cq_mod_caps.max_cq_period = UINT16_MAX;
	/* the caller's struct may have fewer fields, or more */
	memset(attr, 0, attr_size);
	memcpy(attr, &full, RTE_MIN(attr_size, sizeof(full)));
	return 0;
}

/* The whole clock value is in tv_nsec, as with other providers; tv_sec is 0. */
int
uroce_query_rt_values_ex(struct ibv_context *context, struct ibv_values_ex *values)
{
	struct uroce_device *dev = uroce_device_of(context);
	uint64_t device_ns, wall_ns;

	if ((values->comp_mask & ~IBV_VALUES_MASK_RAW_CLOCK) != 0)
		return EINVAL;
	if (values->comp_mask == 0)
		return 0;
	dev->ops.port->clocks(dev, &device_ns, &wall_ns);
	values->raw_clock.tv_sec = 0;
	values->raw_clock.tv_nsec = (long)device_ns;
	return 0;
}

static int
query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr)
{
	struct uroce_device *dev = uroce_device_of(context);

	if (port_num != PORT_NUM)
		return EINVAL;
	*attr = (struct ibv_port_attr){
		.gid_tbl_len = UROCE_MAX_GID,
		.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
		.max_msg_sz = UROCE_MAX_MSG_BYTES,
		.pkey_tbl_len = 1,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
	};
	return -dev->ops.port->query_port(dev, attr);
}

int
uroce_query_port_sized(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		       size_t attr_size)
{
	struct ibv_port_attr full;
	int ret = query_port(context, port_num, &full);

	if (ret != 0)
		return ret;
	memset(attr, 0, attr_size);
	memcpy(attr, &full, RTE_MIN(attr_size, sizeof(full)));
	return 0;
}

/* For applications built with an older struct ibv_port_attr, which ends before port_cap_flags2. */
int
uroce_context_query_port_compat(struct ibv_context *context, uint8_t port_num,
				struct _compat_ibv_port_attr *attr)
{
	return uroce_query_port_sized(context, port_num, (struct ibv_port_attr *)attr,
				      offsetof(struct ibv_port_attr, port_cap_flags2));
}

static int
query_gid_entry(struct ibv_context *context, uint32_t port_num, uint32_t index,
		struct ibv_gid_entry *entry)
{
	struct uroce_device *dev = uroce_device_of(context);
	int ret;

	if (port_num != PORT_NUM || index >= UROCE_MAX_GID)
		return EINVAL;
	memset(entry, 0, sizeof(*entry));
	ret = -dev->ops.port->query_gid(dev, index, entry);
	if (ret != 0)
		return ret;
	entry->gid_index = index;
	entry->port_num = port_num;
	return 0;
}

int
uroce_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
	struct ibv_gid_entry entry;
	int ret = query_gid_entry(context, port_num, (uint32_t)index, &entry);

	if (ret != 0 && ret != ENODATA) {
		errno = ret;
		return -1;
	}
	/* an empty entry reads as zero */
	if (ret == ENODATA)
		memset(gid, 0, sizeof(*gid));
	else
		*gid = entry.gid;
	return 0;
}

int
uroce_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		   struct ibv_gid_entry *entry, uint32_t flags)
{
	return flags != 0 ? EINVAL : query_gid_entry(context, port_num, gid_index, entry);
}

ssize_t
uroce_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max_entries,
		      uint32_t flags)
{
	struct ibv_gid_entry entry;
	size_t n = 0;
	int ret;

	if (flags != 0 || max_entries == 0)
		return -EINVAL;
	for (uint32_t i = 0; i < UROCE_MAX_GID; i++) {
		ret = query_gid_entry(context, PORT_NUM, i, &entry);
		if (ret == ENODATA)
			continue;
		if (ret != 0 || n == max_entries)
			return ret != 0 ? -ret : -EINVAL;
		entries[n++] = entry;
	}
	return (ssize_t)n;
}

int
uroce_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
	(void)context;
	if (port_num != PORT_NUM || index != 0) {
		errno = EINVAL;
		return -1;
	}
	*pkey = rte_cpu_to_be_16(DEFAULT_PKEY);
	return 0;
}

int
uroce_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	(void)context;
	if (port_num == PORT_NUM && pkey == rte_cpu_to_be_16(DEFAULT_PKEY))
		return 0;
	errno = EINVAL;
	return -1;
}

int
uroce_get_device_index(struct ibv_device *device)
{
	return container_of(device, struct uroce_device, ibv)->index;
}

const char *
uroce_get_device_name(struct ibv_device *device)
{
	return device->name;
}

__be64
uroce_get_device_guid(struct ibv_device *device)
{
	return container_of(device, struct uroce_device, ibv)->node_guid;
}
