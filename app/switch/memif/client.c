/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Handles the messages of a client. The client may send anything in any order, pass any descriptors, and disconnect
 * at any time: the socket never blocks, and a send to a client that has exited raises no signal.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "closer.h"
#include "memif/client.h"

/* A message is lost if the client does not read. */
static bool
say(const struct memif_client *c, const struct memif_message *m)
{
	return send(c->fd, m, sizeof(*m), MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(*m);
}

static bool
greet(const struct memif_client *c)
{
	struct memif_message m = {
		.type = MEMIF_HELLO,
		.hello = {
			.name = "uroce-switch",
			.min_version = MEMIF_VERSION,
			.max_version = MEMIF_VERSION,
			.max_region = UROCE_MEMIF_REGIONS - 1,
			.max_s2c_ring = UROCE_SWITCH_RINGS - 1,
			.max_c2s_ring = UROCE_SWITCH_RINGS - 1,
			.max_log2_slots = MEMIF_MAX_LOG2_SLOTS,
		},
	};

	return say(c, &m);
}

bool
uroce_memif_client_init(struct memif_client *c, int fd, uint64_t now_ns)
{
	*c = (struct memif_client){ .fd = fd, .since_ns = now_ns };
	uroce_memif_link_init(&c->link);
	if (greet(c))
		return true;
	uroce_memif_client_fini(c, NULL);
	return false;
}

void
uroce_memif_client_fini(struct memif_client *c, const char *reason)
{
	struct memif_message m = { .type = MEMIF_DISCONNECT };

	if (reason != NULL) {
		snprintf(m.disconnect.reason, sizeof(m.disconnect.reason), "%s", reason);
		say(c, &m);
	}
	shutdown(c->fd, SHUT_RDWR); /* the client sees the end even if the closing thread blocks */
	uroce_switch_close(c->fd);
	uroce_memif_link_fini(&c->link);
	c->fd = -1; /* free for the next client */
}

bool
uroce_memif_client_acknowledge(const struct memif_client *c)
{
	const struct memif_message m = { .type = MEMIF_ACK };

	return say(c, &m);
}

const char *
uroce_memif_client_connect(struct memif_client *c)
{
	struct memif_message m = { .type = MEMIF_CONNECTED };
	const char *reason = uroce_memif_link_start(&c->link);

	if (reason != NULL)
		return reason;
	snprintf(m.interface, sizeof(m.interface), "uroce-switch %u", c->id);
	if (!say(c, &m))
		return "Not taken";
	c->connected = true;
	return NULL;
}

/* Get the first descriptor that came with a message; the others are closed. The buffer has room for all of them: the
 * kernel would close the rest on this thread. */
static int
passed(struct msghdr *h)
{
	int first = -1, fds[UROCE_SWITCH_PASSED];

	for (struct cmsghdr *part = CMSG_FIRSTHDR(h); part != NULL; part = CMSG_NXTHDR(h, part)) {
		size_t n = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		n = RTE_MIN(n, (size_t)UROCE_SWITCH_PASSED);
		memcpy(fds, CMSG_DATA(part), n * sizeof(int));
		for (size_t i = 0; i < n; i++) {
			if (first < 0)
				first = fds[i];
			else
				uroce_switch_close(fds[i]);
		}
	}
	return first;
}

/* @return bytes; 0: the client has disconnected; -1: nothing yet */
static ssize_t
hear(const struct memif_client *c, struct memif_message *m, int *fd)
{
	union {
		char bytes[CMSG_SPACE(UROCE_SWITCH_PASSED * sizeof(int))];
		struct cmsghdr aligned;
	} control;
	struct iovec at = { .iov_base = m, .iov_len = sizeof(*m) };
	struct msghdr h = {
		.msg_iov = &at,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(c->fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*fd = -1;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -1 : 0;
	*fd = passed(&h);
	return n;
}

static const char *
on_init(struct memif_client *c, const struct memif_init *init)
{
	if (init->version != MEMIF_VERSION)
		return "Incompatible memif version";
	if (init->mode != MEMIF_MODE_ETHERNET)
		return "Only ethernet mode supported";
	c->id = init->id;
	c->named = true;
	return NULL;
}

static const char *
on_region(struct memif_client *c, const struct memif_add_region *region, int fd)
{
	if (fd < 0)
		return "Missing region fd";
	if (region->index != c->link.regions.count)
		return "Invalid region index";
	switch (uroce_memif_region_add(&c->link.regions, fd, region->bytes)) {
	case 0: return NULL;
	case -EPERM: return "Region is not memory sealed against shrinking";
	case -EINVAL: return "Region is smaller than stated";
	default: return "Region is too large";
	}
}

/* On success the link owns the descriptor. */
static const char *
on_ring(struct memif_client *c, const struct memif_add_ring *ring, int *fd)
{
	const char *reason;

	if (*fd < 0)
		return "Missing interrupt fd";
	reason = uroce_memif_link_add_ring(&c->link, ring, *fd);
	if (reason == NULL)
		*fd = -1;
	return reason;
}

static enum memif_said
understand(struct memif_client *c, const struct memif_message *m, int *fd, const char **reason)
{
	enum memif_said said = MEMIF_SAID_ENOUGH;

	if (m->type == MEMIF_ACK)
		return MEMIF_SAID_ENOUGH;
	if (m->type == MEMIF_DISCONNECT)
		return MEMIF_SAID_BYE;
	if (c->connected || c->named == (m->type == MEMIF_INIT)) {
		*reason = "Unexpected message";
		return MEMIF_SAID_WRONG;
	}
	switch (m->type) {
	case MEMIF_INIT:
		*reason = on_init(c, &m->init);
		said = MEMIF_SAID_NAME;
		break;
	case MEMIF_ADD_REGION: *reason = on_region(c, &m->region, *fd); break;
	case MEMIF_ADD_RING:
		*reason = on_ring(c, &m->ring, fd);
		if ((m->ring.flags & MEMIF_RING_C2S) != 0)
			said = MEMIF_SAID_RING;
		break;
	case MEMIF_CONNECT: return MEMIF_SAID_CONNECT;
	default: *reason = "Unknown message type";
	}
	if (*reason == NULL && said != MEMIF_SAID_NAME && !uroce_memif_client_acknowledge(c))
		*reason = "Not taken";
	return *reason == NULL ? said : MEMIF_SAID_WRONG;
}

enum memif_said
uroce_memif_client_listen(struct memif_client *c, const char **reason)
{
	enum memif_said said = MEMIF_SAID_WRONG;
	struct memif_message m;
	int fd;
	ssize_t n = hear(c, &m, &fd);

	*reason = NULL;
	if (n == (ssize_t)sizeof(m))
		said = understand(c, &m, &fd, reason);
	else if (n > 0)
		*reason = "Invalid message size";
	else
		said = n == 0 ? MEMIF_SAID_BYE : MEMIF_SAID_NOTHING;
	if (fd >= 0)
		uroce_switch_close(fd);
	return said;
}
