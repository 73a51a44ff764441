/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Commands of the rdma_cm device for multicast groups: each group that an ID has joined has a handle and events of
 * its own. librdmacm attaches the ID's QP. Any thread of the program.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/rdma/cma_sockaddr.h"
#include "base/log.h"
#include "ucma/ucma.h"
#include "ucma/ucma_abi.h"
#include "uroce_cma.h"

static struct uroce_ucma_mcast *
create(struct uroce_ucma_id *id, uint64_t uid, const struct sockaddr *addr)
{
	struct uroce_ucma_mcast *mcast = calloc(1, sizeof(*mcast));
	int ret;

	if (mcast == NULL)
		return NULL;
	mcast->id = id;
	mcast->uid = uid;
	memcpy(&mcast->addr, addr, uroce_cma_addr_len(addr));
	pthread_mutex_lock(&uroce_ucma_lock);
	ret = uroce_ucma_mcast_insert(mcast);
	pthread_mutex_unlock(&uroce_ucma_lock);
	if (ret == 0)
		return mcast;
	free(mcast);
	return NULL;
}

static int
join_group(struct uroce_ucma_id *id, uint64_t uid, const struct sockaddr *addr, uint32_t flags, uint32_t *handle)
{
	struct uroce_ucma_mcast *mcast = create(id, uid, addr);
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = flags,
	};
	int ret;

	if (mcast == NULL)
		return -ENOMEM;
	attr.addr = (struct sockaddr *)&mcast->addr;
	*handle = mcast->handle;	/* before another thread may free it */
	ret = uroce_ucma_result(uroce_rdma_join_multicast_ex(id->cm, &attr, mcast));
	pthread_mutex_lock(&uroce_ucma_lock);
	mcast->joined = ret == 0;
	if (ret != 0)
		uroce_ucma_mcast_remove(mcast);
	pthread_mutex_unlock(&uroce_ucma_lock);
	if (ret == 0)
		UROCE_LOG(DEBUG, "joins a group\n");
	else
		free(mcast);
	return ret;
}

static int
join(struct uroce_ucma_file *file, uint32_t id_handle, uint64_t uid, const void *addr, uint32_t flags,
     struct rdma_ucm_create_id_resp *resp)
{
	struct uroce_ucma_id *id;
	int ret;

	if (uroce_cma_addr_len(addr) == 0)
		return -EINVAL;
	ret = uroce_ucma_id_get(file, id_handle, &id);
	if (ret != 0)
		return ret;
	ret = join_group(id, uid, addr, flags, &resp->id);
	uroce_ucma_id_put(id);
	return ret;
}

int
uroce_ucma_join_ip_mcast(struct uroce_ucma_file *file, const void *arg)
{
	const struct rdma_ucm_join_ip_mcast *cmd = arg;

	return join(file, cmd->id, cmd->uid, &cmd->addr, RDMA_MC_JOIN_FLAG_FULLMEMBER,
		    uroce_ucma_user(cmd->response));
}

int
uroce_ucma_join_mcast(struct uroce_ucma_file *file, const void *arg)
{
	const struct rdma_ucm_join_mcast *cmd = arg;

	if (cmd->addr_size == 0 || uroce_cma_addr_len((const struct sockaddr *)&cmd->addr) != cmd->addr_size)
		return -EINVAL;
	return join(file, cmd->id, cmd->uid, &cmd->addr, cmd->join_flags, uroce_ucma_user(cmd->response));
}

/* Remove the group from the table; the caller frees it.
 * @return 0; -ENOENT: no such group, or its join is in progress, or its ID is being destroyed, which frees the group;
 *		-EINVAL: it belongs to another descriptor */
static int
take(struct uroce_ucma_file *file, uint32_t handle, struct uroce_ucma_mcast **mcast)
{
	int ret = 0;

	pthread_mutex_lock(&uroce_ucma_lock);
	*mcast = uroce_ucma_mcast_find(handle);
	if (*mcast == NULL || !(*mcast)->joined || (*mcast)->id->leaving)
		ret = -ENOENT;
	else if ((*mcast)->id->file != file)
		ret = -EINVAL;
	if (ret == 0) {
		(*mcast)->id->refs++;
		uroce_ucma_mcast_remove(*mcast);
	}
	pthread_mutex_unlock(&uroce_ucma_lock);
	return ret;
}

int
uroce_ucma_leave_mcast(struct uroce_ucma_file *file, const void *arg)
{
	const struct rdma_ucm_destroy_id *cmd = arg;
	struct rdma_ucm_destroy_id_resp *resp = uroce_ucma_user(cmd->response);
	struct uroce_ucma_mcast *mcast;
	int ret = take(file, cmd->id, &mcast);

	if (ret != 0)
		return ret;
	/* waits for a thread that is taking the group's event */
	ret = uroce_ucma_result(uroce_rdma_leave_multicast(mcast->id->cm, (struct sockaddr *)&mcast->addr));
	pthread_mutex_lock(&uroce_ucma_lock);
	resp->events_reported = mcast->events_reported;
	pthread_mutex_unlock(&uroce_ucma_lock);
	uroce_ucma_id_put(mcast->id);
	free(mcast);
	return ret;
}
