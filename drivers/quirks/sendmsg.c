/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Replaces sendmsg(2) in programs with net_memif ports, so that a peer that exits before the server has greeted it
 * does not end the program. The driver closes such a connection and lets EAL's interrupt thread wait for itself, which
 * panics. On that thread, a message to a peer that has gone counts as sent, and the driver finds the end of the
 * connection with its next read. It also marks the driver's sockets close-on-exec before they connect: a child of the
 * program would keep a connection open.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_interrupts.h>

static ssize_t
send_or_not(int fd, const struct msghdr *m, int flags)
{
	ssize_t n;

	fcntl(fd, F_SETFD, FD_CLOEXEC);
	n = syscall(SYS_sendmsg, fd, m, flags | MSG_NOSIGNAL);
	if (n >= 0 || (errno != EPIPE && errno != ECONNRESET))
		return n;
	n = 0;
	for (size_t i = 0; i < m->msg_iovlen; i++)
		n += (ssize_t)m->msg_iov[i].iov_len;
	return n;
}

/* Visible to the drivers, which are shared objects. */
__attribute__((visibility("default"))) ssize_t
sendmsg(int fd, const struct msghdr *m, int flags)
{
	return rte_thread_is_intr() ? send_or_not(fd, m, flags) : syscall(SYS_sendmsg, fd, m, flags);
}
