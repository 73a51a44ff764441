/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Agrees on the number of rings of net_memif's connections, by the driver's messages on EAL's interrupt thread. A memif
 * server greets a client with the number of rings that it allows, and the client sets up as many, or fewer. The driver
 * always allows 256, and then refuses a client with more queues than the server. So write the number of queues into the
 * greeting. The driver does not say how many rings a connection has, so count them.
 *
 * The messages are those of the memif protocol, version 2.0. All functions but recvmsg() run on the interrupt thread.
 */

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_kvargs.h>

#include "memif_rings.h"

#define DRIVER "net_memif"
#define MESSAGE_BYTES 128
#define NAME_BYTES 32
#define PRESET_SOCKET "/run/memif.sock"	/* the driver's default */

enum type { NONE = 0, HELLO = 2, INIT = 3, ADD_RING = 5, CONNECT = 6, CONNECTED = 7 };
enum direction { TO_CLIENT, TO_SERVER, DIRECTIONS };

struct message {
	uint16_t type;
	union {
		struct {
			uint8_t name[NAME_BYTES];
			uint16_t min_version, max_version;
			uint16_t max_region;
			uint16_t max_ring[DIRECTIONS];	/* the last index */
		} __rte_packed hello;
		struct {
			uint16_t version;
			uint32_t id;
		} __rte_packed init;
		struct {
			uint16_t flags;			/* enum direction */
			uint16_t index;
		} __rte_packed add_ring;
	};
} __rte_packed;

static_assert(offsetof(struct message, hello.max_ring) == 40, "as in the protocol");
static_assert(sizeof(struct message) <= MESSAGE_BYTES, "a message is longer than what it uses");

/* A connection that is being set up. */
static struct connection {
	int fd;			/* 0: unused */
	uint32_t id;		/* of the port at this socket */
	unsigned int rings[DIRECTIONS];
} connections[RTE_MAX_ETHPORTS];

/* The descriptor's connection; with `create` a new one. @return NULL: there is none */
static struct connection *
connection_of(int fd, bool create)
{
	static unsigned int oldest;
	struct connection *unused = NULL;

	for (unsigned int i = 0; i < RTE_DIM(connections); i++) {
		if (connections[i].fd == fd) {
			if (create)
				connections[i] = (struct connection){ .fd = fd };
			return &connections[i];
		}
		if (connections[i].fd == 0 && unused == NULL)
			unused = &connections[i];
	}
	if (!create)
		return NULL;
	if (unused == NULL) /* the oldest was set up long ago */
		unused = &connections[oldest++ % RTE_DIM(connections)];
	*unused = (struct connection){ .fd = fd };
	return unused;
}

/* Get the path of the server's socket, of either end. */
static bool
socket_of(int fd, bool is_server, char path[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1])
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t bytes = sizeof(at);

	if ((is_server ? getsockname : getpeername)(fd, (struct sockaddr *)&at, &bytes) != 0)
		return false;
	/* an abstract address begins with a zero */
	snprintf(path, sizeof(at.sun_path) + 1, "%.*s", (int)sizeof(at.sun_path) - 1, at.sun_path + (at.sun_path[0] == '\0'));
	return true;
}

static const char *
value_of(const struct rte_kvargs *args, const char *key, const char *preset)
{
	const char *value = rte_kvargs_get(args, key);

	return value != NULL ? value : preset;
}

/* Is this a memif port of the role with this socket, and with this id (NULL: any)? */
static bool
is_at(const struct rte_eth_dev_info *info, bool is_server, const char *path, const uint32_t *id)
{
	const struct rte_devargs *devargs = info->device != NULL ? rte_dev_devargs(info->device) : NULL;
	struct rte_kvargs *args;
	bool ok;

	if (strcmp(info->driver_name, DRIVER) != 0 || devargs == NULL || devargs->args == NULL)
		return false;
	args = rte_kvargs_parse(devargs->args, NULL);
	if (args == NULL)
		return false;
	ok = (strstr(value_of(args, "role", "client"), "server") != NULL) == is_server &&
	     strcmp(value_of(args, "socket", PRESET_SOCKET), path) == 0 &&
	     (id == NULL || strtoul(value_of(args, "id", "0"), NULL, 10) == *id);
	rte_kvargs_free(args);
	return ok;
}

/* Find the ports to which the socket may lead.
 * @param queues	set to the least number of queues of one; without a port: 1
 * @return		one of them; RTE_MAX_ETHPORTS: there is none */
static uint16_t
find_port(int fd, bool is_server, const uint32_t *id, unsigned int *queues)
{
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];
	uint16_t found = RTE_MAX_ETHPORTS;
	struct rte_eth_dev_info info;

	*queues = 1;
	for (uint16_t i = 0; socket_of(fd, is_server, path) && i < RTE_MAX_ETHPORTS; i++) {
		unsigned int n;

		if (!rte_eth_dev_is_valid_port(i) || rte_eth_dev_info_get(i, &info) != 0 ||
		    !is_at(&info, is_server, path, id))
			continue;
		n = RTE_MAX(RTE_MIN(info.nb_rx_queues, info.nb_tx_queues), 1);
		*queues = found == RTE_MAX_ETHPORTS ? n : RTE_MIN(n, *queues);
		found = i;
	}
	return found;
}

/* The driver refuses a ring for which its port has no queue. */
static void
limit(int fd, bool is_server, struct message *hello)
{
	unsigned int queues;

	(void)find_port(fd, is_server, NULL, &queues);
	for (unsigned int i = 0; i < DIRECTIONS; i++)
		hello->hello.max_ring[i] = RTE_MIN(hello->hello.max_ring[i], (uint16_t)(queues - 1));
}

static bool
is_accepted(const struct connection *c, bool is_server)
{
	unsigned int queues;
	const uint16_t port_id = find_port(c->fd, is_server, &c->id, &queues);
	const unsigned int rings = RTE_MIN(c->rings[TO_CLIENT], c->rings[TO_SERVER]);

	return port_id == RTE_MAX_ETHPORTS || uroce_memif_rings(port_id, RTE_MIN(rings, queues), queues);
}

static struct message *
message_in(const struct msghdr *m)
{
	return m->msg_iovlen == 1 && m->msg_iov[0].iov_len == MESSAGE_BYTES ? m->msg_iov[0].iov_base : NULL;
}

void
uroce_memif_rings_send(int fd, const struct msghdr *m)
{
	struct message *message = message_in(m);
	struct connection *c;

	if (message == NULL)
		return;
	if (message->type == HELLO)
		limit(fd, true, message);
	else if (message->type == INIT && (c = connection_of(fd, false)) != NULL)
		c->id = message->init.id;
}

static void
receive_hello(int fd, struct message *message)
{
	struct connection *c = connection_of(fd, true);

	limit(fd, false, message);
	for (unsigned int i = 0; c != NULL && i < DIRECTIONS; i++)
		c->rings[i] = message->hello.max_ring[i] + 1u;
}

static void
receive_ring(struct connection *c, const struct message *message)
{
	unsigned int *rings = &c->rings[message->add_ring.flags & 1];

	*rings = RTE_MAX(*rings, message->add_ring.index + 1u);
}

/* The driver has not processed the message yet, so it is not connected. It disconnects on one without a type. */
static void
receive(int fd, struct message *message)
{
	struct connection *c = connection_of(fd, message->type == INIT);

	if (message->type == HELLO)
		receive_hello(fd, message);
	else if (c == NULL)
		return;
	else if (message->type == INIT)
		c->id = message->init.id;
	else if (message->type == ADD_RING)
		receive_ring(c, message);
	else if (message->type == CONNECT || message->type == CONNECTED)
		message->type = is_accepted(c, message->type == CONNECT) ? message->type : NONE;
}

/* As the C library's: a cancellation point. */
static ssize_t
receive_canceled(int fd, struct msghdr *m, int flags)
{
	ssize_t n;
	int type;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	n = syscall(SYS_recvmsg, fd, m, flags);
	pthread_setcanceltype(type, NULL);
	return n;
}

/* Visible to the drivers, which are shared objects. */
__attribute__((visibility("default"))) ssize_t
recvmsg(int fd, struct msghdr *m, int flags)
{
	struct message *message;
	ssize_t n;

	if (!rte_thread_is_intr())
		return receive_canceled(fd, m, flags);
	n = syscall(SYS_recvmsg, fd, m, flags);
	message = message_in(m);
	if (n == MESSAGE_BYTES && message != NULL)
		receive(fd, message);
	return n;
}
