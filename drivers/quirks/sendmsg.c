/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Replaces sendmsg(2) in programs with net_memif ports, so that a peer that exits before the server's greeting does not
 * crash the program. If the greeting fails, the driver closes the connection, and EAL's interrupt thread waits for
 * itself and panics. On that thread, the replacement treats a message to a peer that has exited as sent; the driver
 * finds the end of the connection with its next read. It also sets close-on-exec on the driver's sockets before they
 * connect, since a child of the program would keep a connection open.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_interrupts.h>

#include "memif_rings.h"

static ssize_t
send_or_not(int fd, const struct msghdr *m, int flags)
{
	ssize_t n;

	fcntl(fd, F_SETFD, FD_CLOEXEC);
	uroce_memif_rings_send(fd, m);
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
