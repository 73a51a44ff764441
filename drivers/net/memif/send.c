/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * When a peer has gone before net_memif (DPDK 22.11), as the server of a socket, has greeted it, the driver closes the
 * connection and leaves EAL's interrupt thread to wait for it, which panics. A program of which this file is a part
 * outlives that: on that thread, what is sent to one who has gone counts as sent, and the driver reads next that he
 * has. Nor does the driver keep its sockets from programs that this one starts, which would keep the connection when it
 * is killed: here each is seen before there is a connection. Not part of the library, where it would be everybody's
 * sendmsg(2).
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
