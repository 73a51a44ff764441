/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The descriptors that librdmacm gets when it opens /dev/infiniband/rdma_cm. Any thread of the program.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "ucma/ucma.h"
#include "uroce_cma.h"

#define FIRST_ROOM 64

pthread_mutex_t uroce_ucma_lock = PTHREAD_MUTEX_INITIALIZER;

/* By descriptor; NULL: none of ours. */
static struct {
	struct uroce_ucma_file **files;
	int room;
} table;

static bool orphaned;	/* lib/cm and all of DPDK below it are the parent's; written before there is another thread */

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
	opened = table.files[fd] == file;	/* nobody else has closed it meanwhile */
	inherited = file->inherited;
	if (opened) {
		table.files[fd] = NULL;
		file->refs--;
	}
	pthread_mutex_unlock(&uroce_ucma_lock);
	if (inherited)
		return 1;	/* its memory is the price of a fork */
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
		/* a thread that waits for an event would keep all of it */
		if (!file->inherited)
			uroce_ucma_ids_abandon(file);
		uroce_ucma_file_put(file);
	}
}
