/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Commands of the rdma_cm device that bind IDs to addresses and resolve addresses. Each has a short form, for IP
 * addresses, and a long form. AF_IB is refused: librdmacm tries it once, and then uses the short forms.
 */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "cm/rdma/cma.h"
#include "cm/rdma/cma_sockaddr.h"
#include "ucma/ucma.h"
#include "ucma/ucma_abi.h"
#include "uroce_cma.h"

static int
bind_id(struct uroce_ucma_file *file, uint32_t handle, const struct sockaddr_storage *addr)
{
	struct sockaddr_storage copy = *addr;
	struct uroce_ucma_id *id;
	int ret = uroce_ucma_id_get(file, handle, &id);

	if (ret != 0)
		return ret;
	ret = uroce_ucma_result(uroce_rdma_bind_addr(id->cm, (struct sockaddr *)&copy));
	uroce_ucma_id_put(id);
	return ret;
}

static struct sockaddr_storage
widen(const struct sockaddr_in6 *addr)
{
	struct sockaddr_storage wide = { .ss_family = AF_UNSPEC };

	memcpy(&wide, addr, sizeof(*addr));
	return wide;
}

/* Does the length in a command of the long form match the address's family? */
static bool
length_is(const struct __kernel_sockaddr_storage *addr, uint16_t bytes)
{
	return bytes != 0 && uroce_cma_addr_len((const struct sockaddr *)addr) == bytes;
}

static struct sockaddr_storage
storage(const struct __kernel_sockaddr_storage *addr)
{
	struct sockaddr_storage copy;

	static_assert(sizeof(copy) == sizeof(*addr), "the kernel's is the C library's");
	memcpy(&copy, addr, sizeof(copy));
	return copy;
}

int
uroce_ucma_bind_ip(struct uroce_ucma_file *file, const void *arg)
{
	const struct rdma_ucm_bind_ip *cmd = arg;
	const struct sockaddr_storage addr = widen(&cmd->addr);

	return bind_id(file, cmd->id, &addr);
}

int
uroce_ucma_bind(struct uroce_ucma_file *file, const void *arg)
{
	const struct rdma_ucm_bind *cmd = arg;
	const struct sockaddr_storage addr = storage(&cmd->addr);

	if (cmd->reserved != 0 || !length_is(&cmd->addr, cmd->addr_size))
		return -EINVAL;
	return bind_id(file, cmd->id, &addr);
}

static int
resolve(struct uroce_ucma_file *file, uint32_t handle, struct sockaddr_storage *src, struct sockaddr_storage *dst,
	uint32_t timeout_ms)
{
	struct sockaddr *from = src->ss_family != AF_UNSPEC ? (struct sockaddr *)src : NULL;
	struct uroce_ucma_id *id;
	int ret = uroce_ucma_id_get(file, handle, &id);

	if (ret != 0)
		return ret;
	ret = uroce_ucma_result(
		uroce_rdma_resolve_addr(id->cm, from, (struct sockaddr *)dst, (int)timeout_ms));
	uroce_ucma_id_put(id);
	return ret;
}

int
uroce_ucma_resolve_ip(struct uroce_ucma_file *file, const void *arg)
{
	const struct rdma_ucm_resolve_ip *cmd = arg;
	struct sockaddr_storage src = widen(&cmd->src_addr), dst = widen(&cmd->dst_addr);

	return resolve(file, cmd->id, &src, &dst, cmd->timeout_ms);
}

int
uroce_ucma_resolve_addr(struct uroce_ucma_file *file, const void *arg)
{
	const struct rdma_ucm_resolve_addr *cmd = arg;
	struct sockaddr_storage src = storage(&cmd->src_addr), dst = storage(&cmd->dst_addr);

	if (cmd->reserved != 0 || !length_is(&cmd->dst_addr, cmd->dst_size))
		return -EINVAL;
	if (cmd->src_size != 0 && !length_is(&cmd->src_addr, cmd->src_size))
		return -EINVAL;
	if (cmd->src_size == 0)
		src.ss_family = AF_UNSPEC;
	return resolve(file, cmd->id, &src, &dst, cmd->timeout_ms);
}

int
uroce_ucma_resolve_route(struct uroce_ucma_file *file, const void *arg)
{
	const struct rdma_ucm_resolve_route *cmd = arg;
	struct uroce_ucma_id *id;
	int ret = uroce_ucma_id_get(file, cmd->id, &id);

	if (ret != 0)
		return ret;
	ret = uroce_ucma_result(uroce_rdma_resolve_route(id->cm, (int)cmd->timeout_ms));
	uroce_ucma_id_put(id);
	return ret;
}

/* Only InfiniBand's subnet administrator resolves services. As in the kernel, the ID must be bound to a device. */
int
uroce_ucma_resolve_ib_service(struct uroce_ucma_file *file, const void *arg)
{
	const struct uroce_ucma_resolve_ib_service *cmd = arg;
	struct uroce_ucma_id *id;
	bool bound;
	int ret = uroce_ucma_id_get(file, cmd->id, &id);

	if (ret != 0)
		return ret;
	uroce_cma_lock();
	bound = id->cm->verbs != NULL;
	uroce_cma_unlock();
	uroce_ucma_id_put(id);
	return bound ? -EOPNOTSUPP : -EINVAL;
}
