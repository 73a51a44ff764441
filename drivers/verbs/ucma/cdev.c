/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Intercepts librdmacm's open(2), fstat(2), write(2) and close(2) of /dev/infiniband/rdma_cm; all other calls go on
 * to the C library. Any thread of the program.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include <rte_common.h>

#include "ucma/cdev.h"
#include "plt_hook.h"
#include "ucma/ucma.h"
#include "ucma/ucma_abi.h"

#define DEVICE "/dev/infiniband/rdma_cm"
#define LIBRARY "librdmacm.so."

/* A thread canceled (pthread_cancel(3)) during the call would leave locks held. */
static int
open_device(void)
{
	int cancel, fd;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	fd = uroce_ucma_open();
	pthread_setcancelstate(cancel, &cancel);
	return fd;
}

static int
open_instead(const char *path, int flags, ...)
{
	mode_t mode = 0;

	if (strcmp(path, DEVICE) == 0)
		return open_device();
	if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {
		va_list args;

		va_start(args, flags);
		mode = (mode_t)va_arg(args, unsigned int);
		va_end(args);
	}
	return open(path, flags, mode);
}

/* librdmacm checks that it has opened a character device, and that this is the kernel's if the kernel has one. */
static int
fstat_instead(int fd, struct stat *st)
{
	struct uroce_ucma_file *file = uroce_ucma_file_get(fd);

	if (file == NULL)
		return fstat(fd, st);
	uroce_ucma_file_put(file);
	if (stat(DEVICE, st) != 0 || !S_ISCHR(st->st_mode)) {
		memset(st, 0, sizeof(*st));
		st->st_mode = S_IFCHR | S_IRUSR | S_IWUSR;
	}
	return 0;
}

/* The blocking descriptor from which this thread has taken its last event; -1: none, or this thread has closed it. */
static __thread int taken = -1;

static bool
is_get_event(const void *buf, size_t bytes)
{
	struct rdma_ucm_cmd_hdr header;

	if (bytes < sizeof(header))
		return false;
	memcpy(&header, buf, sizeof(header));
	return header.cmd == RDMA_USER_CM_CMD_GET_EVENT;
}

/* The kernel takes long to destroy IDs, so a thread that loops over events is back in write() before another thread
 * closes the descriptor. It stays there until a signal or the end of the process. Here the close may come first; then
 * the thread must wait in the same way. It must not fail, nor write to a file that has got the descriptor's number. */
static bool
closed_in_between(int fd, const void *buf, size_t bytes)
{
	return fd == taken && is_get_event(buf, bytes);
}

static void
note_taken(int fd, const void *buf, size_t bytes)
{
	const int flags = is_get_event(buf, bytes) ? fcntl(fd, F_GETFL) : O_NONBLOCK;

	if (flags != -1 && (flags & O_NONBLOCK) == 0)
		taken = fd;
}

static void
put_file(void *file)
{
	uroce_ucma_file_put(file);
}

/* A thread may be canceled while it waits for an event. */
static ssize_t
write_instead(int fd, const void *buf, size_t bytes)
{
	struct uroce_ucma_file *file = uroce_ucma_file_get(fd);
	ssize_t ret;
	int error;

	if (file == NULL)
		return closed_in_between(fd, buf, bytes) ? pause() : write(fd, buf, bytes);
	pthread_cleanup_push(put_file, file);
	ret = uroce_ucma_write(file, buf, bytes);
	error = errno;
	if (ret >= 0)
		note_taken(fd, buf, bytes);
	pthread_cleanup_pop(1);
	errno = error;
	return ret;
}

static int
close_instead(int fd)
{
	int cancel, ret;

	if (fd == taken)
		taken = -1;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	ret = uroce_ucma_close(fd);
	pthread_setcancelstate(cancel, &cancel);
	return ret == 0 ? 0 : close(fd);
}

bool
uroce_cdev_is_librdmacm(const void *caller)
{
	const char *soname = uroce_plt_soname(caller);

	return soname != NULL && strncmp(soname, LIBRARY, strlen(LIBRARY)) == 0;
}

bool
uroce_cdev_attach(const void *caller)
{
	static const struct uroce_plt_call calls[] = {
		{ "open", "open64", (void (*)(void))open_instead },
		{ "fstat", "fstat64", (void (*)(void))fstat_instead },
		{ "write", NULL, (void (*)(void))write_instead },
		{ "close", NULL, (void (*)(void))close_instead },
	};
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	bool ok;

	if (!uroce_cdev_is_librdmacm(caller))
		return false;
	pthread_mutex_lock(&lock);
	ok = uroce_plt_hook(caller, calls, RTE_DIM(calls));
	pthread_mutex_unlock(&lock);
	if (!ok)
		fprintf(stderr, "uroce: rdma_cm is not available: %s does not call open, fstat, write and close by its "
			"global offset table: use a librdmacm that is linked dynamically to the C library\n",
			uroce_plt_soname(caller));
	return true;
}
