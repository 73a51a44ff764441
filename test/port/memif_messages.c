/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <sys/socket.h>

#include "memif_messages.h"

void
memif_sockets(int sockets[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
}

void
memif_receive(int socket, struct memif_message *m, int *fd)
{
	char control[CMSG_SPACE(sizeof(*fd))] = { 0 };
	struct iovec part = { .iov_base = m, .iov_len = sizeof(*m) };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *with;

	*fd = -1;
	assert_int_equal(recvmsg(socket, &message, 0), sizeof(*m));
	with = CMSG_FIRSTHDR(&message);
	if (with != NULL && with->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(with), sizeof(*fd));
}

int
memif_has_message(int socket)
{
	struct pollfd p = { .fd = socket, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}
