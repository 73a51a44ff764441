/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Wakes the peer by its eventfd. A write would block if the peer has filled the counter, and the peer may clear
 * O_NONBLOCK at any time. But the kernel never blocks when it signals the completion of asynchronous I/O. So a worker
 * submits a read of an empty file, whose completion signals the eventfd.
 */

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/aio_abi.h>

#include <rte_branch_prediction.h>

#include "port/memif/memif.h"

#define EVENTS 16 /* completions that are removed together */
#define TRIES  8  /* attempts: another worker may take the room that this one has made */

/* For all rings of the process. */
static struct {
	aio_context_t context; /* 0: none */
	int file;	       /* empty */
} aio;

/* EAL's interrupt thread calls this before the first ring has an eventfd. */
void
uroce_memif_wake_init(void)
{
	if (aio.context != 0)
		return;
	aio.file = memfd_create("uroce_wake", MFD_CLOEXEC);
	if (aio.file < 0)
		return;
	if (syscall(SYS_io_setup, EVENTS, &aio.context) == 0)
		return;
	aio.context = 0;
	close(aio.file);
}

/* Without asynchronous I/O, as in some containers. The write blocks if the peer fills the counter after the poll. */
static void
write_if_ready(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	const uint64_t one = 1;

	if (poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) != 0 && write(fd, &one, sizeof(one)) < 0)
		return; /* it has been woken 2^64 - 2 times */
}

void
uroce_memif_wake_peer(int fd)
{
	struct iocb io = {
		.aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = (uint32_t)aio.file,
		.aio_flags = IOCB_FLAG_RESFD, .aio_resfd = (uint32_t)fd,
	};
	struct iocb *list[] = { &io };
	struct io_event events[EVENTS];

	if (fd < 0)
		return;
	for (unsigned int i = 0; aio.context != 0 && i < TRIES; i++) {
		if (likely(syscall(SYS_io_submit, aio.context, 1, list) == 1))
			return;
		if (errno != EAGAIN || syscall(SYS_io_getevents, aio.context, 0, EVENTS, events, NULL) < 0)
			break;
	}
	write_if_ready(fd);
}
