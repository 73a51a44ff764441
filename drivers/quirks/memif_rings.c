/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Agrees on the number of rings of net_memif's connections, by the driver's messages on EAL's interrupt thread. A memif
 * server greets a client with the number of rings that it allows, and the client sets up as many, or fewer. The driver
 * always allows 256, and then refuses a client with more queues than the server. So write the number of queues into the
 * greeting. The driver does not say how many rings a connection has, so count them.
 *
 * Pass the connection's memory and rings to the library, which moves the frames in place of the driver.
 *
 * The messages are those of the memif protocol, version 2.0. All functions but recvmsg() run on the interrupt thread.
 */

#include <pthread.h>
#include <stdbool.h>
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
#include "port/memif/memif.h"

#define DRIVER "net_memif"

/* Of liburoce.a. A program that links liburoce.so lacks them, and the driver moves the frames. */
#pragma weak uroce_memif_connect
#pragma weak uroce_memif_obey
#pragma weak uroce_memif_offer_add
#pragma weak uroce_memif_offer_clear
#define PRESET_SOCKET "/run/memif.sock"	/* the driver's default */

/* A connection that is being set up. */
static struct connection {
	int fd;			/* 0: unused */
	bool is_server;		/* this process is */
	bool is_marked;		/* the peer understands MEMIF_ASK and MEMIF_SHOW */
	uint32_t id;		/* of the port at this socket */
	uint16_t port_id;	/* RTE_MAX_ETHPORTS: not connected */
	unsigned int rings[UROCE_MEMIF_DIRECTIONS];
	struct uroce_memif_offer offer;
} connections[RTE_MAX_ETHPORTS];

/* Does the library move the frames in place of the driver? */
static bool
is_moved(void)
{
	return uroce_memif_connect != NULL;
}

static void
renew(struct connection *c, int fd, bool is_server)
{
	c->fd = fd;
	c->is_server = is_server;
	c->is_marked = false;
	c->id = 0;
	c->port_id = RTE_MAX_ETHPORTS;
	memset(c->rings, 0, sizeof(c->rings));
	if (is_moved())
		uroce_memif_offer_clear(&c->offer, is_server);
}

/* The descriptor's connection. @return NULL: there is none */
static struct connection *
connection_of(int fd)
{
	for (unsigned int i = 0; i < RTE_DIM(connections); i++)
		if (connections[i].fd == fd)
			return &connections[i];
	return NULL;
}

/* Drop what is known of a connection that has ended, perhaps before it was set up. */
static void
forget(int fd)
{
	struct connection *c = connection_of(fd);

	if (c != NULL)
		renew(c, 0, false);
}

/* Begin a connection. */
static struct connection *
connection_create(int fd, bool is_server)
{
	static unsigned int oldest;
	struct connection *c = connection_of(fd);

	if (c == NULL)
		c = connection_of(0);
	if (c == NULL) /* the oldest was set up long ago */
		c = &connections[oldest++ % RTE_DIM(connections)];
	renew(c, fd, is_server);
	return c;
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
limit(int fd, bool is_server, struct memif_hello *hello)
{
	unsigned int queues;

	(void)find_port(fd, is_server, NULL, &queues);
	hello->max_s2c_ring = RTE_MIN(hello->max_s2c_ring, (uint16_t)(queues - 1));
	hello->max_c2s_ring = RTE_MIN(hello->max_c2s_ring, (uint16_t)(queues - 1));
}

/* Have the library move the frames. The driver has not processed the message yet, so the rings have no frames. */
static bool
is_accepted(struct connection *c)
{
	unsigned int queues;
	const uint16_t port_id = find_port(c->fd, c->is_server, &c->id, &queues);
	const unsigned int rings = RTE_MIN(c->rings[UROCE_MEMIF_S2C], c->rings[UROCE_MEMIF_C2S]);
	bool ok = true;

	if (port_id != RTE_MAX_ETHPORTS)
		ok = uroce_memif_rings(port_id, RTE_MIN(rings, queues), queues);
	if (ok && port_id != RTE_MAX_ETHPORTS && is_moved()) {
		c->port_id = port_id;
		c->offer.socket = c->is_marked ? c->fd : 0;
		uroce_memif_connect(port_id, &c->offer);
	}
	return ok;
}

static struct memif_message *
message_in(const struct msghdr *m)
{
	return m->msg_iovlen == 1 && m->msg_iov[0].iov_len == sizeof(struct memif_message) ? m->msg_iov[0].iov_base : NULL;
}

/* @return the descriptor that comes with a message, perhaps after the sender's credentials; -1: none */
static int
descriptor_in(const struct msghdr *m)
{
	int fd = -1;

	for (struct cmsghdr *part = CMSG_FIRSTHDR(m); part != NULL; part = CMSG_NXTHDR((struct msghdr *)(uintptr_t)m, part))
		if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS &&
		    part->cmsg_len >= CMSG_LEN(sizeof(fd)))
			memcpy(&fd, CMSG_DATA(part), sizeof(fd));
	return fd;
}

/* Tell the peer that this process understands uroce's own messages. */
static void
mark(char name[MEMIF_NAME])
{
	if (is_moved())
		memif_mark(name);
}

void
uroce_memif_rings_send(int fd, const struct msghdr *m)
{
	struct memif_message *message = message_in(m);
	struct connection *c = connection_of(fd);

	if (message == NULL)
		return;
	if (message->type == MEMIF_HELLO) {
		forget(fd); /* an earlier connection with this descriptor may have ended in an error */
		limit(fd, true, &message->hello);
		mark(message->hello.name);
	} else if (c == NULL) {
		return;
	} else if (message->type == MEMIF_INIT) {
		c->id = message->init.id;
		mark(message->init.name);
	} else if (message->type == MEMIF_DISCONNECT) {
		forget(fd);
	} else if (is_moved()) {
		uroce_memif_offer_add(&c->offer, message, descriptor_in(m));
	}
}

static void
receive_hello(int fd, struct memif_hello *hello)
{
	struct connection *c = connection_create(fd, false);

	limit(fd, false, hello);
	c->is_marked = memif_is_marked(hello->name);
	c->rings[UROCE_MEMIF_S2C] = hello->max_s2c_ring + 1u;
	c->rings[UROCE_MEMIF_C2S] = hello->max_c2s_ring + 1u;
}

static void
receive_ring(struct connection *c, const struct memif_add_ring *ring)
{
	unsigned int *rings = &c->rings[ring->flags & MEMIF_RING_C2S ? UROCE_MEMIF_C2S : UROCE_MEMIF_S2C];

	*rings = RTE_MAX(*rings, ring->index + 1u);
}

static void
receive_init(struct connection *c, const struct memif_init *init)
{
	c->id = init->id;
	c->is_marked = memif_is_marked(init->name);
}

/* The driver has not processed the message yet, so it is not connected. It disconnects on one without a type. */
static void
receive(int fd, struct memif_message *message, int passed)
{
	struct connection *c = message->type == MEMIF_INIT ? connection_create(fd, true) : connection_of(fd);

	if (message->type == MEMIF_HELLO)
		receive_hello(fd, &message->hello);
	else if (c == NULL)
		return;
	else if (message->type == MEMIF_INIT)
		receive_init(c, &message->init);
	else if (message->type == MEMIF_ADD_RING)
		receive_ring(c, &message->ring);
	else if (message->type == MEMIF_CONNECT || message->type == MEMIF_CONNECTED)
		message->type = is_accepted(c) ? message->type : 0;
	else if (message->type == MEMIF_DISCONNECT)
		forget(fd);
	if (c != NULL && c->is_server && is_moved())
		uroce_memif_offer_add(&c->offer, message, passed);
}

/* Carry out a message that the driver does not know. The driver gets an ACK, which has no effect, and no descriptor. */
static void
receive_own(int fd, struct msghdr *m, struct memif_message *message, int passed)
{
	const struct connection *c = connection_of(fd);

	if (c != NULL && c->port_id != RTE_MAX_ETHPORTS && is_moved())
		uroce_memif_obey(c->port_id, message, passed);
	message->type = MEMIF_ACK;
	if (passed >= 0)
		close(passed);
	m->msg_controllen = 0;
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
	struct memif_message *message;
	ssize_t n;

	if (!rte_thread_is_intr())
		return receive_canceled(fd, m, flags);
	n = syscall(SYS_recvmsg, fd, m, flags);
	message = message_in(m);
	if (n == (ssize_t)sizeof(*message) && message != NULL &&
	    (message->type == MEMIF_ASK || message->type == MEMIF_SHOW))
		receive_own(fd, m, message, descriptor_in(m));
	else if (n == (ssize_t)sizeof(*message) && message != NULL)
		receive(fd, message, descriptor_in(m));
	else if (n == 0)
		forget(fd);
	return n;
}
