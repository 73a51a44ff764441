/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * libibverbs.so.1: the calls that list, open and query devices. The library keeps a context of its own open on each
 * port as long as the process runs; ibv_open_device(3) opens another.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "abi.h"
#include "ucma/cdev.h"
#include "complain.h"
#include "host.h"
#include "plt_hook.h"
#include "port/driven.h"
#include "uroce.h"
#include "verbs/qp/wr.h"

#define DPDK_DRIVER "librte_"

#undef ibv_get_device_list
#undef ibv_query_port

enum { GID_TYPE_SYSFS_ROCE_V2 = 1 };	/* enum ibv_gid_type_sysfs of libibverbs' driver.h */

static struct ibv_context *
context_of(const struct ibv_device *device)
{
	struct ibv_context *const *contexts;
	unsigned int n = uroce_host_devices(&contexts);

	for (unsigned int i = 0; i < n; i++)
		if (contexts[i]->device == device)
			return contexts[i];
	return NULL;
}

/* Drivers of a shared DPDK, such as mlx5, look for their NIC's RDMA device, perhaps while rte_eal_init() runs. */
static bool
is_dpdk_driver(const void *caller)
{
	const char *soname = uroce_plt_soname(caller);

	return soname != NULL && strncmp(soname, DPDK_DRIVER, strlen(DPDK_DRIVER)) == 0;
}

struct ibv_device **
ibv_get_device_list(int *num_devices)
{
	const void *caller = __builtin_return_address(0);
	struct ibv_context *const *contexts;
	unsigned int n = is_dpdk_driver(caller) ? 0 : uroce_host_devices(&contexts);
	struct ibv_device **list = calloc(n + 1, sizeof(list[0]));

	(void)uroce_cdev_attach(caller);
	if (num_devices != NULL)
		*num_devices = list == NULL ? 0 : (int)n;
	if (list == NULL)
		return NULL;
	for (unsigned int i = 0; i < n; i++)
		list[i] = contexts[i]->device;
	return list;
}

void
ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *
ibv_get_device_name(struct ibv_device *device)
{
	return uroce_get_device_name(device);
}

int
ibv_get_device_index(struct ibv_device *device)
{
	return uroce_get_device_index(device);
}

__be64
ibv_get_device_guid(struct ibv_device *device)
{
	struct ibv_context *context = context_of(device);
	struct ibv_device_attr attr;

	return context != NULL && uroce_query_device(context, &attr) == 0 ? attr.node_guid : 0;
}

/* With several workers, the thread that polls a QP's CQ gets the QP, before it posts. */
static int
post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	uroce_driven_settle(qp);
	return uroce_post_send(qp, wr, bad_wr);
}

static int
post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	uroce_driven_settle(qp);
	return uroce_post_recv(qp, wr, bad_wr);
}

static void
wr_start(struct ibv_qp_ex *qp)
{
	uroce_driven_settle(&qp->qp_base);
	uroce_wr_start(qp);
}

/* ibv_create_qp_ex(3) is inline and calls this function through the context's operations. */
static struct ibv_qp *
create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp = uroce_create_qp_ex(context, attr);
	struct ibv_qp_ex *ex = qp != NULL ? uroce_qp_to_qp_ex(qp) : NULL;

	if (qp == NULL && errno == EOPNOTSUPP)
		uroce_complain_qp_type(attr->qp_type);
	if (ex != NULL && context->num_comp_vectors > 1)
		ex->wr_start = wr_start;
	return qp;
}

struct ibv_context *
ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *context;

	if (context_of(device) == NULL) {
		errno = ENODEV;
		return NULL;
	}
	context = uroce_open_device(device);
	if (context == NULL)
		return NULL;
	verbs_get_ctx(context)->create_qp_ex = create_qp_ex;
	if (context->num_comp_vectors > 1) {
		context->ops.post_send = post_send;
		context->ops.post_recv = post_recv;
	}
	return context;
}

int
ibv_close_device(struct ibv_context *context)
{
	return uroce_close_device(context);
}

int
ibv_query_port(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *port_attr)
{
	return context->ops._compat_query_port(context, port_num, port_attr);
}

/* A caller built against a newer libibverbs passes a longer entry, one built against an older version a shorter one. */
int
_ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		  struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	struct ibv_gid_entry ours;
	int ret = uroce_query_gid_ex(context, port_num, gid_index, &ours, flags);

	if (ret != 0)
		return ret;
	memset(entry, 0, entry_size);
	memcpy(entry, &ours, entry_size < sizeof(ours) ? entry_size : sizeof(ours));
	return 0;
}

ssize_t
_ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max_entries,
		     uint32_t flags, size_t entry_size)
{
	if (entry_size != sizeof(entries[0]))
		return -EOPNOTSUPP;
	return uroce_query_gid_table(context, entries, max_entries, flags);
}

/* Declared in libibverbs' driver.h, which Debian does not install. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index, int *type);

int
ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index, int *type)
{
	struct ibv_gid_entry entry;
	int error = uroce_query_gid_ex(context, port_num, index, &entry, 0);

	*type = GID_TYPE_SYSFS_ROCE_V2;
	if (error == 0 || error == ENODATA)	/* an empty entry has a type, too */
		return 0;
	errno = error;
	return -1;
}

CALL(int, query_device, (struct ibv_context *c, struct ibv_device_attr *attr), (c, attr))
CALL(int, query_gid, (struct ibv_context *c, uint8_t port, int index, union ibv_gid *gid), (c, port, index, gid))
CALL(int, query_pkey, (struct ibv_context *c, uint8_t port, int index, __be16 *pkey), (c, port, index, pkey))
CALL(int, get_pkey_index, (struct ibv_context *c, uint8_t port, __be16 pkey), (c, port, pkey))
CALL(int, get_async_event, (struct ibv_context *c, struct ibv_async_event *event), (c, event))
CALL(void, ack_async_event, (struct ibv_async_event *event), (event))
CALL(struct ibv_context *, import_device, (int fd), (fd))
CALL(int, fork_init, (void), ())
CALL(enum ibv_fork_status, is_fork_initialized, (void), ())
CALL(const char *, node_type_str, (enum ibv_node_type type), (type))
CALL(const char *, port_state_str, (enum ibv_port_state state), (state))
CALL(const char *, event_type_str, (enum ibv_event_type type), (type))
CALL(const char *, wc_status_str, (enum ibv_wc_status status), (status))
CALL(int, rate_to_mult, (enum ibv_rate rate), (rate))
CALL(int, rate_to_mbps, (enum ibv_rate rate), (rate))
