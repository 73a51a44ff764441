/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A memif server that trusts no client. It replaces that of net_memif (DPDK 22.11): there a bad index, offset or length
 * makes the server access any memory, a bad descriptor blocks it forever, and a client that connects and disconnects
 * terminates it.
 */

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "memif/server.h"
#include "program.h"

#define OTHERS_WAIT "Others wait"

static int
watch(const struct memif_server *s, int fd, uint32_t events, void *whose)
{
	struct epoll_event e = { .events = events, .data.ptr = whose };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) == 0 ? 0 : -errno;
}

int
uroce_memif_server_open(struct memif_server *s, const char *path, struct switch_port *ports, unsigned int nb_ports)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int ret;

	*s = (struct memif_server){ .listener = -1, .epoll = -1, .ports = ports, .nb_ports = nb_ports };
	for (unsigned int i = 0; i < RTE_DIM(s->clients); i++)
		s->clients[i].fd = -1;
	if (snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path) >= (int)sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->listener < 0)
		return -errno;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	ret = s->epoll < 0 ? -errno : watch(s, s->listener, EPOLLIN, &s->listener);
	if (ret == 0 && (bind(s->listener, (struct sockaddr *)&addr, sizeof(addr)) != 0 ||
			 listen(s->listener, UROCE_SWITCH_GUESTS) != 0))
		ret = -errno;
	if (ret != 0)
		uroce_memif_server_close(s);
	return ret;
}

/* Remove the client's descriptors from the epoll set: it would keep an eventfd as long as the client has it, and the
 * socket as long as it is open. */
static void
end(struct memif_server *s, struct memif_client *c, const char *reason)
{
	if (c->connected) {
		uroce_switch_port_detach(&s->ports[c->id]);
		s->owners[c->id] = NULL;
	}
	for (unsigned int i = 0; i < c->link.nb_in; i++)
		epoll_ctl(s->epoll, EPOLL_CTL_DEL, c->link.in[i].wake, NULL);
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, c->fd, NULL);
	uroce_memif_client_fini(c, reason);
}

void
uroce_memif_server_close(struct memif_server *s)
{
	for (unsigned int i = 0; i < RTE_DIM(s->clients); i++)
		if (s->clients[i].fd >= 0)
			end(s, &s->clients[i], "The switch ends");
	if (s->epoll >= 0)
		close(s->epoll);
	if (s->listener >= 0)
		close(s->listener);
	s->epoll = s->listener = -1;
}

/* Log a refusal, but not every attempt of a client that retries. */
static void
refuse(struct memif_server *s, struct memif_client *c, const char *reason, uint64_t now_ns)
{
	s->refused++;
	if (s->said_ns == 0 || now_ns - s->said_ns >= UROCE_SWITCH_SAY_NS) {
		s->said_ns = now_ns;
		if (c->named)
			fprintf(stderr, "%s: refused a client at port %" PRIu32 ": %s\n", uroce_app_name, c->id,
				reason);
		else
			fprintf(stderr, "%s: refused a client: %s\n", uroce_app_name, reason);
	}
	end(s, c, reason);
}

/* Has the port's process exited? Its successor may connect before the switch has seen that. */
static bool
is_leaving(struct memif_client *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLRDHUP };
	const char *reason;

	if (poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0)
		return true;
	return uroce_memif_client_listen(c, &reason) >= MEMIF_SAID_BYE;
}

/* @return NULL, or the reason why the client cannot have the port */
static const char *
find(struct memif_server *s, uint32_t id)
{
	if (id >= s->nb_ports)
		return "ID not found";
	if (s->owners[id] != NULL && is_leaving(s->owners[id]))
		end(s, s->owners[id], NULL);
	return s->owners[id] == NULL ? NULL : "Already connected";
}

static const char *
connect_port(struct memif_server *s, struct memif_client *c)
{
	const char *reason = find(s, c->id);

	if (reason == NULL)
		reason = uroce_memif_client_connect(c);
	if (reason == NULL) {
		s->owners[c->id] = c;
		uroce_memif_link_wake(&c->link, s->waking);
		uroce_switch_port_attach(&s->ports[c->id], &c->link);
	}
	return reason;
}

static const char *
watch_ring(const struct memif_server *s, const struct memif_client *c)
{
	const struct memif_link *link = &c->link;

	return watch(s, link->in[link->nb_in - 1].wake, EPOLLIN | EPOLLET, NULL) == 0 ? NULL : "Invalid interrupt fd";
}

static void
serve(struct memif_server *s, struct memif_client *c, uint64_t now_ns)
{
	for (unsigned int i = 0; i < UROCE_SWITCH_MESSAGES; i++) {
		const char *reason;

		switch (uroce_memif_client_listen(c, &reason)) {
		case MEMIF_SAID_NOTHING: return;
		case MEMIF_SAID_ENOUGH: continue;
		case MEMIF_SAID_BYE: end(s, c, NULL); return;
		case MEMIF_SAID_RING: reason = watch_ring(s, c); break;
		case MEMIF_SAID_NAME:
			reason = find(s, c->id);
			if (reason == NULL && !uroce_memif_client_acknowledge(c))
				reason = "Not taken";
			break;
		case MEMIF_SAID_CONNECT: reason = connect_port(s, c); break;
		case MEMIF_SAID_WRONG: break;
		}
		if (reason != NULL) {
			refuse(s, c, reason, now_ns);
			return;
		}
	}
}

/* @return the client that has waited longest without a port; NULL: all clients have ports */
static struct memif_client *
oldest_guest(struct memif_server *s)
{
	struct memif_client *oldest = NULL;

	for (unsigned int i = 0; i < RTE_DIM(s->clients); i++) {
		struct memif_client *c = &s->clients[i];

		if (c->fd >= 0 && !c->connected && (oldest == NULL || c->since_ns < oldest->since_ns))
			oldest = c;
	}
	return oldest;
}

/* Find a place for a new client. If all are taken, evict the oldest client without a port: there are more places than
 * ports. */
static struct memif_client *
find_place(struct memif_server *s)
{
	for (unsigned int i = 0; i < RTE_DIM(s->clients); i++)
		if (s->clients[i].fd < 0)
			return &s->clients[i];
	return oldest_guest(s);
}

static void
accept_client(struct memif_server *s, int fd, uint64_t now_ns)
{
	struct memif_client *c = find_place(s);

	if (c->fd >= 0)
		refuse(s, c, OTHERS_WAIT, now_ns);
	if (uroce_memif_client_init(c, fd, now_ns) && watch(s, fd, EPOLLIN | EPOLLRDHUP, c) != 0)
		end(s, c, "No room");
}

/* Accept new clients. If clients without a port hold all descriptors, evict the oldest of them: no client could
 * connect otherwise, and a pending connection would keep the switch from sleeping. */
static void
accept_clients(struct memif_server *s, uint64_t now_ns)
{
	struct memif_client *oldest;
	int fd = 0;

	for (unsigned int i = 0; i < UROCE_SWITCH_GUESTS && fd >= 0; i++) {
		fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			accept_client(s, fd, now_ns);
	}
	if (fd >= 0 || errno != EMFILE)
		return;
	oldest = oldest_guest(s);
	if (oldest != NULL)
		refuse(s, oldest, OTHERS_WAIT, now_ns);
}

static void
look_after(struct memif_server *s, uint64_t now_ns)
{
	for (unsigned int i = 0; i < RTE_DIM(s->clients); i++) {
		struct memif_client *c = &s->clients[i];

		if (c->fd < 0)
			continue;
		if (c->link.fault != NULL)
			refuse(s, c, c->link.fault, now_ns);
		else if (!c->connected && now_ns - c->since_ns >= UROCE_SWITCH_GREET_NS)
			refuse(s, c, "Too slow", now_ns);
	}
}

void
uroce_memif_server_poll(struct memif_server *s, uint64_t now_ns)
{
	struct epoll_event events[UROCE_SWITCH_EVENTS];
	int n = epoll_wait(s->epoll, events, UROCE_SWITCH_EVENTS, 0);
	bool knocked = false;

	for (int i = 0; i < n; i++) {
		struct memif_client *c = events[i].data.ptr;

		if (events[i].data.ptr == &s->listener)
			knocked = true;
		else if (c != NULL && c->fd >= 0) /* a place is reused only after all events of its last client */
			serve(s, c, now_ns);
	}
	look_after(s, now_ns);
	if (knocked)
		accept_clients(s, now_ns);
}

void
uroce_memif_server_wake(struct memif_server *s, bool wanted)
{
	s->waking = wanted;
	for (unsigned int i = 0; i < s->nb_ports; i++)
		if (s->owners[i] != NULL)
			uroce_memif_link_wake(&s->owners[i]->link, wanted);
	/* Write the flags before the switch reads the rings. This should pair with a fence of the client between its
	 * write of a ring and its read of the flags. net_memif has none, so each sleep has a time limit. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void
uroce_memif_server_wait(const struct memif_server *s, uint64_t ns)
{
	const struct timespec t = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };
	struct pollfd p = { .fd = s->epoll, .events = POLLIN };

	ppoll(&p, 1, &t, NULL);
}
