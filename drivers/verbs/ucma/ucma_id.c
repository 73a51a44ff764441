/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The IDs of the rdma_cm device, with the groups that they have joined, and the commands that create and destroy
 * them. An ID is destroyed once no call uses it. Any thread of the program.
 */

#include <errno.h>
#include <stdlib.h>

#include "cm/rdma/cma.h"
#include "ucma/ucma.h"
#include "ucma/ucma_abi.h"
#include "ucma/ucma_handles.h"
#include "uroce_cma.h"

pthread_mutex_t uroce_ucma_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t uroce_ucma_released = PTHREAD_COND_INITIALIZER;
static struct uroce_ucma_handles handles;
static struct uroce_ucma_handles groups;

struct uroce_ucma_id *
uroce_ucma_id_new(struct uroce_ucma_file *file, struct rdma_cm_id *cm, uint64_t uid)
{
	struct uroce_ucma_id *id = calloc(1, sizeof(*id));

	if (id == NULL)
		return NULL;
	if (uroce_ucma_handle_alloc(&handles, id, &id->handle) != 0) {
		free(id);
		return NULL;
	}
	LIST_INIT(&id->mcasts);
	id->file = file;
	id->cm = cm;
	id->uid = uid;
	cm->context = id;
	LIST_INSERT_HEAD(&file->ids, id, link);
	return id;
}

/* Lock held. */
static int
find(struct uroce_ucma_file *file, uint32_t handle, struct uroce_ucma_id **id)
{
	*id = uroce_ucma_handle_find(&handles, handle);
	if (*id == NULL)
		return -ENOENT;
	return (*id)->file == file ? 0 : -EINVAL;
}

int
uroce_ucma_id_get(struct uroce_ucma_file *file, uint32_t handle, struct uroce_ucma_id **id)
{
	int ret;

	pthread_mutex_lock(&uroce_ucma_lock);
	ret = find(file, handle, id);
	if (ret == 0)
		(*id)->refs++;
	pthread_mutex_unlock(&uroce_ucma_lock);
	return ret;
}

void
uroce_ucma_id_put(struct uroce_ucma_id *id)
{
	pthread_mutex_lock(&uroce_ucma_lock);
	if (--id->refs == 0)
		pthread_cond_broadcast(&uroce_ucma_released);
	pthread_mutex_unlock(&uroce_ucma_lock);
}

int
uroce_ucma_mcast_insert(struct uroce_ucma_mcast *mcast)
{
	int ret = uroce_ucma_handle_alloc(&groups, mcast, &mcast->handle);

	if (ret == 0)
		LIST_INSERT_HEAD(&mcast->id->mcasts, mcast, link);
	return ret;
}

void
uroce_ucma_mcast_remove(struct uroce_ucma_mcast *mcast)
{
	uroce_ucma_handle_free(&groups, mcast->handle);
	LIST_REMOVE(mcast, link);
}

struct uroce_ucma_mcast *
uroce_ucma_mcast_find(uint32_t handle)
{
	return uroce_ucma_handle_find(&groups, handle);
}

/* Lock held. */
static void
mcasts_free(struct uroce_ucma_id *id)
{
	struct uroce_ucma_mcast *mcast;

	while ((mcast = LIST_FIRST(&id->mcasts)) != NULL) {
		uroce_ucma_mcast_remove(mcast);
		free(mcast);
	}
}

/* The port space determines the type, except for RDMA_PS_IB. */
static int
qp_type(const struct rdma_ucm_create_id *cmd, enum ibv_qp_type *type)
{
	switch (cmd->ps) {
	case RDMA_PS_TCP: *type = IBV_QPT_RC; return 0;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB: *type = IBV_QPT_UD; return 0;
	case RDMA_PS_IB: *type = (enum ibv_qp_type)cmd->qp_type; return 0;
	default: return -EINVAL;
	}
}

int
uroce_ucma_create_id(struct uroce_ucma_file *file, const void *arg)
{
	const struct rdma_ucm_create_id *cmd = arg;
	struct rdma_ucm_create_id_resp *resp = uroce_ucma_user(cmd->response);
	struct uroce_cma_id *cm = NULL;
	struct uroce_ucma_id *id;
	enum ibv_qp_type type;
	int ret = qp_type(cmd, &type);

	if (ret == 0)
		ret = uroce_cma_id_create(file->channel, NULL, (enum rdma_port_space)cmd->ps, type, &cm);
	if (ret != 0)
		return ret;
	pthread_mutex_lock(&uroce_ucma_lock);
	id = uroce_ucma_id_new(file, &cm->id, cmd->uid);
	if (id != NULL)
		resp->id = id->handle;
	pthread_mutex_unlock(&uroce_ucma_lock);
	if (id != NULL)
		return 0;
	uroce_rdma_destroy_id(&cm->id);
	return -ENOMEM;
}

/* Remove the ID from the table and its file, and wait for calls on it. Lock held, but released during the wait. */
static void
detach(struct uroce_ucma_id *id)
{
	id->leaving = true;
	uroce_ucma_handle_free(&handles, id->handle);
	LIST_REMOVE(id, link);
	while (id->refs != 0)
		pthread_cond_wait(&uroce_ucma_released, &uroce_ucma_lock);
}

/* Destroy a detached ID. @return number of its events that were reported */
static uint32_t
destroy(struct uroce_ucma_id *id)
{
	uint32_t reported;

	uroce_rdma_destroy_id(id->cm);	/* waits for a thread that is taking one of its events */
	pthread_mutex_lock(&uroce_ucma_lock);
	reported = id->events_reported;
	mcasts_free(id);
	pthread_mutex_unlock(&uroce_ucma_lock);
	free(id);
	return reported;
}

int
uroce_ucma_destroy_id(struct uroce_ucma_file *file, const void *arg)
{
	const struct rdma_ucm_destroy_id *cmd = arg;
	struct rdma_ucm_destroy_id_resp *resp = uroce_ucma_user(cmd->response);
	struct uroce_ucma_id *id;
	int ret;

	pthread_mutex_lock(&uroce_ucma_lock);
	ret = find(file, cmd->id, &id);
	if (ret == 0)
		detach(id);
	pthread_mutex_unlock(&uroce_ucma_lock);
	if (ret == 0)
		resp->events_reported = destroy(id);
	return ret;
}

static void
destroy_all(struct uroce_ucma_file *file, bool idle_only)
{
	struct uroce_ucma_id *id;

	do {
		pthread_mutex_lock(&uroce_ucma_lock);
		LIST_FOREACH(id, &file->ids, link)
			if (!idle_only || id->refs == 0)
				break;
		if (id != NULL)
			detach(id);
		pthread_mutex_unlock(&uroce_ucma_lock);
		if (id != NULL)
			(void)destroy(id);
	} while (id != NULL);
}

void
uroce_ucma_ids_destroy(struct uroce_ucma_file *file)
{
	destroy_all(file, false);
}

void
uroce_ucma_ids_abandon(struct uroce_ucma_file *file)
{
	destroy_all(file, true);
}
