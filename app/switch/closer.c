/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Closes descriptors on a thread of its own, which gets their numbers through a pipe. If close(2) blocks and the pipe
 * is full, further descriptors stay open: frames are still forwarded, but in the end no new client can connect.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "closer.h"

static int pipe_end = -1; /* descriptors to close are written here; -1: no closing thread */

static void *
run(void *arg)
{
	const int from = (int)(intptr_t)arg;
	int fd;

	while (read(from, &fd, sizeof(fd)) == (ssize_t)sizeof(fd))
		close(fd);
	close(from);
	return NULL;
}

/* Signals are for the main thread. No thread joins this one: it may block in close(2). */
static int
start_thread(int from)
{
	sigset_t all, before;
	pthread_t thread;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, NULL, run, (void *)(intptr_t)from);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error == 0)
		pthread_detach(thread);
	return -error;
}

int
uroce_switch_closer_start(void)
{
	int ends[2], ret;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	ret = fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0 ? -errno : start_thread(ends[0]);
	if (ret != 0) {
		close(ends[0]);
		close(ends[1]);
		return ret;
	}
	pipe_end = ends[1];
	return 0;
}

void
uroce_switch_closer_stop(void)
{
	if (pipe_end >= 0)
		close(pipe_end);
	pipe_end = -1;
}

void
uroce_switch_close(int fd)
{
	if (pipe_end < 0)
		close(fd);
	else
		(void)!write(pipe_end, &fd, sizeof(fd)); /* a pipe takes the whole number or nothing */
}
