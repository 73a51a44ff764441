/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The descriptors that librdmacm gets when it opens /dev/infiniband/rdma_cm, and the command that moves an ID from
 * one descriptor to another. Any thread of the program.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "ucma/ucma.h"
#include "ucma/ucma_abi.h"
#include "uroce_cma.h"

#define FIRST_ROOM 64

/* Indexed by descriptor; NULL: not a descriptor of this device. */
static struct {
	struct uroce_ucma_file **files;
	int room;
} table;

static bool orphaned;	/* the parent process has lib/cm and DPDK; written before a second thread starts */

/* Lock held. */
static bool
table_reserve(int fd)
{
	const int room = RTE_MAX(fd + 1, RTE_MAX(FIRST_ROOM, table.room * 2));
	struct uroce_ucma_file **grown;

	if (fd < table.room)
		return true;
	grown = realloc(table.files, (size_t)room * sizeof(grown[0]));
	if (grown == NULL)
		return false;
	memset(grown + table.room, 0, (size_t)(room - table.room) * sizeof(grown[0]));
	table.files = grown;
	table.room = room;
	return true;
}

int
uroce_ucma_open(void)
{
	struct uroce_ucma_file *file;
	int fd = -1, error;

	if (orphaned) {
		errno = ENODEV;
		return -1;
	}
	file = calloc(1, sizeof(*file));
	if (file == NULL)
		return -1;
	LIST_INIT(&file->ids);
	file->refs = 1;
	file->channel = uroce_rdma_create_event_channel();
	if (file->channel == NULL) {
		error = errno;
		goto free_file;
	}
	pthread_mutex_lock(&uroce_ucma_lock);
	if (table_reserve(file->channel->fd)) {
		fd = file->channel->fd;
		table.files[fd] = file;
	}
	pthread_mutex_unlock(&uroce_ucma_lock);
	if (fd >= 0)
		return fd;
	uroce_rdma_destroy_event_channel(file->channel);
	error = ENOMEM;
free_file:
	free(file);
	errno = error;
	return -1;
}

struct uroce_ucma_file *
uroce_ucma_file_get(int fd)
{
	struct uroce_ucma_file *file = NULL;

	pthread_mutex_lock(&uroce_ucma_lock);
	if (fd >= 0 && fd < table.room)
		file = table.files[fd];
	if (file != NULL)
		file->refs++;
	pthread_mutex_unlock(&uroce_ucma_lock);
	return file;
}

void
uroce_ucma_file_put(struct uroce_ucma_file *file)
{
	bool last;

	pthread_mutex_lock(&uroce_ucma_lock);
	last = --file->refs == 0;
	pthread_mutex_unlock(&uroce_ucma_lock);
	if (!last)
		return;
	uroce_ucma_ids_destroy(file);
	uroce_rdma_destroy_event_channel(file->channel);
	free(file);
}

int
uroce_ucma_close(int fd)
{
	struct uroce_ucma_file *file = uroce_ucma_file_get(fd);
	bool opened, inherited;

	if (file == NULL)
		return 1;
	pthread_mutex_lock(&uroce_ucma_lock);
	opened = table.files[fd] == file;	/* else another thread has closed it meanwhile */
	inherited = file->inherited;
	if (opened) {
		table.files[fd] = NULL;
		file->refs--;
	}
	pthread_mutex_unlock(&uroce_ucma_lock);
	if (inherited)
		return 1;	/* its memory stays allocated in the child */
	uroce_ucma_file_put(file);
	return opened ? 0 : 1;
}

void
uroce_ucma_fork(void)
{
	pthread_mutex_lock(&uroce_ucma_lock);
}

void
uroce_ucma_fork_over(void)
{
	pthread_mutex_unlock(&uroce_ucma_lock);
}

void
uroce_ucma_forked(bool started)
{
	pthread_mutex_init(&uroce_ucma_lock, NULL);
	orphaned = started;
	for (int fd = 0; fd < table.room; fd++)
		if (table.files[fd] != NULL)
			table.files[fd]->inherited = true;
}

void
uroce_ucma_exit(void)
{
	for (int fd = 0; fd < table.room; fd++) {
		struct uroce_ucma_file *file = uroce_ucma_file_get(fd);

		if (file == NULL)
			continue;
		uroce_ucma_close(fd);
		/* a thread that waits for an event holds a reference to the file */
		if (!file->inherited)
			uroce_ucma_ids_abandon(file);
		uroce_ucma_file_put(file);
	}
}

/* Exclude other moves of the ID until end_moving(). Lock held, but released during the wait.
 * @return 0; -EINVAL: another call has moved the ID to another file */
static int
begin_moving(struct uroce_ucma_id *id, const struct uroce_ucma_file *from)
{
	while (id->moving)
		pthread_cond_wait(&uroce_ucma_released, &uroce_ucma_lock);
	if (id->file != from)
		return -EINVAL;
	id->moving = true;
	return 0;
}

/* Lock held. */
static void
end_moving(struct uroce_ucma_id *id, struct uroce_ucma_file *to)
{
	id->moving = false;
	pthread_cond_broadcast(&uroce_ucma_released);
	id->file = to;
	if (id->leaving)
		return;
	LIST_REMOVE(id, link);
	LIST_INSERT_HEAD(&to->ids, id, link);
}

/* Move an ID. @return 0, with the number of its events that were reported; -errno */
static int
migrate(struct uroce_ucma_id *id, struct uroce_ucma_file *from, struct uroce_ucma_file *to, uint32_t *reported)
{
	int ret;

	pthread_mutex_lock(&uroce_ucma_lock);
	ret = begin_moving(id, from);
	if (ret != 0)
		goto unlock;
	pthread_mutex_unlock(&uroce_ucma_lock);
	if (from != to)	/* waits for a thread that is taking one of its events */
		ret = uroce_ucma_result(uroce_rdma_migrate_id(id->cm, to->channel));
	pthread_mutex_lock(&uroce_ucma_lock);
	end_moving(id, ret == 0 ? to : from);
	*reported = id->events_reported;
unlock:
	pthread_mutex_unlock(&uroce_ucma_lock);
	return ret;
}

/* librdmacm writes the command to the descriptor to which the ID moves. */
int
uroce_ucma_migrate_id(struct uroce_ucma_file *file, const void *arg)
{
	const struct rdma_ucm_migrate_id *cmd = arg;
	struct rdma_ucm_migrate_resp *resp = uroce_ucma_user(cmd->response);
	struct uroce_ucma_file *from = uroce_ucma_file_get((int)cmd->fd);
	struct uroce_ucma_id *id;
	int ret;

	if (from == NULL)
		return -EBADF;
	ret = uroce_ucma_id_get(from, cmd->id, &id);
	if (ret != 0)
		goto put_file;
	ret = migrate(id, from, file, &resp->events_reported);
	uroce_ucma_id_put(id);
put_file:
	uroce_ucma_file_put(from);
	return ret;
}
