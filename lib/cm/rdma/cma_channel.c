/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates and destroys event channels, counts their users, and changes the channel of an ID. Application threads.
 */

#include <errno.h>
#include <stdlib.h>

#include "uroce_cma.h"
#include "cm/rdma/cma.h"

int
uroce_cma_return(int ret)
{
	if (ret == 0)
		return 0;
	errno = -ret;
	return -1;
}

static struct uroce_event_refs *
refs_of(const void *record)
{
	struct uroce_cma_id *const *id = record;

	return &(*id)->refs;
}

struct uroce_cma_channel *
uroce_cma_channel_create(void)
{
	struct uroce_cma_channel *channel = calloc(1, sizeof(*channel));
	int ret;

	if (channel == NULL)
		return NULL;
	ret = uroce_event_queue_init(&channel->queue, sizeof(struct uroce_cma_id *), refs_of);
	if (ret != 0) {
		free(channel);
		errno = -ret;
		return NULL;
	}
	channel->ibv.fd = channel->queue.fd;
	channel->users = 1;
	return channel;
}

void
uroce_cma_channel_get(struct uroce_cma_channel *channel)
{
	__atomic_fetch_add(&channel->users, 1, __ATOMIC_RELAXED);
}

void
uroce_cma_channel_put(struct uroce_cma_channel *channel)
{
	/* pairs with itself: all other users have finished with the channel */
	if (__atomic_sub_fetch(&channel->users, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	uroce_event_queue_fini(&channel->queue);
	free(channel);
}

struct rdma_event_channel *
uroce_rdma_create_event_channel(void)
{
	struct uroce_cma_channel *channel;
	int ret = uroce_cm_users_get();

	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	channel = uroce_cma_channel_create();
	if (channel == NULL) {
		ret = errno;
		uroce_cm_users_put();
		errno = ret;
		return NULL;
	}
	return &channel->ibv;
}

void
uroce_rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	uroce_cma_channel_put(uroce_cma_channel_of(channel));
	uroce_cm_users_put();
}

void
uroce_cma_id_set_channel(struct uroce_cma_id *id, struct uroce_cma_channel *to)
{
	struct uroce_cma_channel *from = uroce_cma_channel_of(id->id.channel);

	uroce_cma_channel_get(to);
	id->id.channel = &to->ibv;
	uroce_cma_channel_put(from);
}
