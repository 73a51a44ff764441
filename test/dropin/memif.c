/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The replaced calls of net_memif: on EAL's interrupt thread, which this thread plays if the test says so, they differ
 * from the C library's; on all other threads they do not.
 */

#include <assert.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>

#include "memif_rings.h"
#include "munmap.h"
#include "port/memif/memif.h"

#define BYTES 4096

static bool is_intr;
static unsigned int held;

int
rte_thread_is_intr(void)
{
	return is_intr;
}

void
uroce_memif_hold(void (*fn)(void *arg), void *arg)
{
	held++;
	fn(arg);
	held++;
}

/* Ports 1 and 2; the arguments of their devices and their numbers of queues. */
static struct rte_devargs port_args[3];
static uint16_t port_queues[3];
static struct rte_device { int unused; } devices[3];

int
rte_eth_dev_is_valid_port(uint16_t port_id)
{
	return port_id < 3 && port_args[port_id].args != NULL;
}

int
rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
	*info = (struct rte_eth_dev_info){
		.driver_name = "net_memif", .device = &devices[port_id],
		.nb_rx_queues = port_queues[port_id], .nb_tx_queues = port_queues[port_id],
	};
	return 0;
}

const struct rte_devargs *
rte_dev_devargs(const struct rte_device *device)
{
	return &port_args[device - devices];
}

static unsigned int told_port, told_rings, told_queues;
static bool accepts;

bool
uroce_memif_rings(uint16_t port_id, unsigned int rings, unsigned int queues)
{
	told_port = port_id;
	told_rings = rings;
	told_queues = queues;
	return accepts;
}

static unsigned int offered; /* regions and rings, each with a descriptor */

void
uroce_memif_offer_add(struct uroce_memif_offer *offer, const struct memif_message *m, int fd)
{
	offered += m->type == MEMIF_ADD_REGION || m->type == MEMIF_ADD_RING;
}

void
uroce_memif_offer_clear(struct uroce_memif_offer *offer, bool is_server)
{
	offered = 0;
}

void
uroce_memif_connect(uint16_t port_id, struct uroce_memif_offer *offer)
{
	uroce_memif_offer_clear(offer, offer->is_server);
}

static unsigned int obeyed; /* messages between uroce's ports */
static uint16_t obeyed_port;

void
uroce_memif_obey(uint16_t port_id, const struct memif_message *m, int fd)
{
	obeyed++;
	obeyed_port = port_id;
}

static int
setup(void **state)
{
	is_intr = false;
	held = 0;
	memset(port_args, 0, sizeof(port_args));
	obeyed = 0;
	told_port = told_rings = told_queues = 0;
	accepts = true;
	return 0;
}

static bool
is_mapped(void *addr)
{
	return msync(addr, BYTES, MS_ASYNC) == 0;
}

static void *
map(void)
{
	void *addr = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(addr != MAP_FAILED && is_mapped(addr));
	return addr;
}

static void
test_unmap(void **state)
{
	void *addr = map();

	assert_int_equal(munmap(addr, BYTES), 0);
	assert_false(is_mapped(addr));
	assert_int_equal(held, 0);
	is_intr = true;
	addr = map();
	assert_int_equal(munmap(addr, BYTES), 0);
	assert_false(is_mapped(addr));
	assert_int_equal(held, 2);
}

static void
test_unmap_refused(void **state)
{
	char page[BYTES];

	for (unsigned int i = 0; i < 2; i++) {
		is_intr = i == 1;
		errno = 0;
		assert_int_equal(munmap(page + 1, 0), -1);
		assert_int_equal(errno, EINVAL);
	}
}

/* Send five bytes in two parts. */
static ssize_t
say(int fd, int flags)
{
	struct iovec parts[] = {
		{ .iov_base = (char[]){ "abc" }, .iov_len = 3 },
		{ .iov_base = (char[]){ "de" }, .iov_len = 2 },
	};
	const struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2 };

	errno = 0;
	return sendmsg(fd, &m, flags);
}

static void
test_send(void **state)
{
	char got[8] = "";
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	for (unsigned int i = 0; i < 2; i++) {
		is_intr = i == 1;
		assert_int_equal(say(ends[0], 0), 5);
		assert_int_equal(recv(ends[1], got, sizeof(got), 0), 5);
		assert_string_equal(got, "abcde");
	}
	close(ends[0]);
	close(ends[1]);
}

/* Send to a closed socket, with and without unread data in it. */
static void
test_send_gone(void **state)
{
	static const int errors[] = { EPIPE, ECONNRESET };
	int ends[2];

	for (unsigned int i = 0; i < 4; i++) {
		is_intr = i >= 2;
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
		if (i % 2 == 1)
			assert_int_equal(say(ends[0], 0), 5);
		close(ends[1]);
		assert_int_equal(say(ends[0], is_intr ? 0 : MSG_NOSIGNAL), is_intr ? 5 : -1); /* without a signal */
		assert_int_equal(errno, errors[i % 2]);
		close(ends[0]);
	}
}

/* Other errors are reported. */
static void
test_send_refused(void **state)
{
	for (unsigned int i = 0; i < 2; i++) {
		is_intr = i == 1;
		assert_int_equal(say(-1, 0), -1);
		assert_int_equal(errno, EBADF);
	}
}

enum { HELLO = 2, INIT = 3, ADD_REGION = 4, ADD_RING = 5, CONNECT = 6, CONNECTED = 7, DISCONNECT = 8 };
enum { FROM_CLIENT = 1 };

/* The fields that a test sets: of HELLO the last ring in each direction, of INIT the port's id, of ADD_RING direction
 * and ring. */
struct message {
	uint16_t type;
	uint8_t before[38];
	uint16_t max_ring[2];
	uint8_t after[84];
};

static_assert(sizeof(struct message) == 128, "as in the protocol");

static struct message
message_of(uint16_t type, uint32_t id)
{
	struct message m = { .type = type, .max_ring = { 255, 255 } };

	memcpy(m.before + (type == INIT ? 2 : 0), &id, sizeof(id));
	return m;
}

/* A server's socket with a connection. */
struct wire {
	char path[64];
	int listener, server, client;
};

static void
wire_open(struct wire *w)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(w->path, sizeof(w->path), "memif-%d", (int)getpid());
	strcpy(at.sun_path, w->path);
	unlink(w->path);
	w->listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	w->client = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(bind(w->listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(w->listener, 1), 0);
	assert_int_equal(connect(w->client, (struct sockaddr *)&at, sizeof(at)), 0);
	w->server = accept(w->listener, NULL, NULL);
	assert_true(w->server >= 0);
	is_intr = true;
}

static void
wire_close(struct wire *w)
{
	close(w->listener);
	close(w->server);
	close(w->client);
	unlink(w->path);
}

static void
port_is(unsigned int port_id, const struct wire *w, const char *role, unsigned int id, uint16_t queues)
{
	static char args[3][128];

	snprintf(args[port_id], sizeof(args[port_id]), "role=%s,id=%u,socket=%s,socket-abstract=no", role, id, w->path);
	port_args[port_id].args = args[port_id];
	port_queues[port_id] = queues;
}

static void
tell(int fd, struct message m)
{
	struct iovec part = { .iov_base = &m, .iov_len = sizeof(m) };
	const struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	assert_int_equal(sendmsg(fd, &header, 0), sizeof(m));
}

static struct message
hear(int fd)
{
	struct message m;
	struct iovec part = { .iov_base = &m, .iov_len = sizeof(m) };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	assert_int_equal(recvmsg(fd, &header, 0), sizeof(m));
	return m;
}

/* As a peer, whose messages are not changed. */
static void
tell_as_peer(int fd, struct message m)
{
	assert_int_equal(send(fd, &m, sizeof(m), 0), sizeof(m));
}

static struct message
hear_as_peer(int fd)
{
	struct message m;

	assert_int_equal(recv(fd, &m, sizeof(m), 0), sizeof(m));
	return m;
}

/* The greeting allows as many rings as the port has queues; if the socket is that of several ports, the least. */
static void
test_greeting(void **state)
{
	static const uint16_t queues[][2] = { { 4, 0 }, { 4, 3 }, { 1, 2 }, { 0, 0 } };
	static const uint16_t last[] = { 3, 2, 0, 0 };
	struct wire w;

	wire_open(&w);
	for (unsigned int i = 0; i < RTE_DIM(last); i++) {
		struct message m;

		setup(state);
		is_intr = true;
		for (unsigned int k = 0; k < 2 && queues[i][k] != 0; k++)
			port_is(k + 1, &w, "server", k, queues[i][k]);
		tell(w.server, message_of(HELLO, 0));
		m = hear_as_peer(w.client);
		assert_int_equal(m.max_ring[0], last[i]);
		assert_int_equal(m.max_ring[1], last[i]);
	}
	is_intr = false;
	tell(w.server, message_of(HELLO, 0));
	assert_int_equal(hear_as_peer(w.client).max_ring[0], 255);
	wire_close(&w);
}

/* A server counts the client's rings. */
static void
test_rings_of_client(void **state)
{
	struct wire w;

	wire_open(&w);
	port_is(1, &w, "server", 7, 4);
	port_is(2, &w, "server", 8, 4);
	for (uint32_t rings = 1; rings <= 4; rings++) {
		tell_as_peer(w.client, message_of(INIT, 8));
		hear(w.server);
		for (uint32_t i = 0; i < 2 * rings; i++) {
			tell_as_peer(w.client, message_of(ADD_RING, (i % 2 * FROM_CLIENT) | i / 2 << 16));
			hear(w.server);
		}
		told_port = 0;
		tell_as_peer(w.client, message_of(CONNECT, 0));
		assert_int_equal(hear(w.server).type, CONNECT);
		assert_int_equal(told_port, 2);
		assert_int_equal(told_rings, rings);
		assert_int_equal(told_queues, 4);
	}
	accepts = false;
	tell_as_peer(w.client, message_of(CONNECT, 0));
	assert_int_equal(hear(w.server).type, 0);
	wire_close(&w);
}

/* A client sets up as many rings as the server allows, if it has as many queues. */
static void
test_rings_of_server(void **state)
{
	struct wire w;

	wire_open(&w);
	port_is(2, &w, "client", 5, 3);
	for (uint16_t allowed = 1; allowed <= 5; allowed++) {
		struct message hello = message_of(HELLO, 0);

		hello.max_ring[0] = hello.max_ring[1] = allowed - 1;
		tell_as_peer(w.server, hello);
		assert_int_equal(hear(w.client).max_ring[1], RTE_MIN(allowed, 3) - 1);
		tell(w.client, message_of(INIT, 5));
		hear_as_peer(w.server);
		told_port = 0;
		tell_as_peer(w.server, message_of(CONNECTED, 0));
		assert_int_equal(hear(w.client).type, CONNECTED);
		assert_int_equal(told_port, 2);
		assert_int_equal(told_rings, RTE_MIN(allowed, 3));
	}
	wire_close(&w);
}

/* If the port is unknown, the connection has one ring: every port has at least one queue. */
static void
test_rings_of_unknown_port(void **state)
{
	struct wire w;

	wire_open(&w);
	tell_as_peer(w.server, message_of(HELLO, 0));
	assert_int_equal(hear(w.client).max_ring[0], 0);
	tell_as_peer(w.server, message_of(CONNECTED, 0));
	assert_int_equal(hear(w.client).type, CONNECTED);
	assert_int_equal(told_port, 0);
	wire_close(&w);
}

/* A connection that ends before it is set up leaves no descriptors: if the client leaves or exits, or is refused. */
static void
test_end(void **state)
{
	struct iovec part = { 0 };
	struct msghdr nothing = { .msg_iov = &part, .msg_iovlen = 1 };
	struct wire w;

	wire_open(&w);
	port_is(1, &w, "server", 7, 4);
	for (unsigned int how = 0; how < 3; how++) {
		tell_as_peer(w.client, message_of(INIT, 7));
		hear(w.server);
		tell_as_peer(w.client, message_of(ADD_REGION, 0));
		hear(w.server);
		tell_as_peer(w.client, message_of(ADD_RING, 0));
		hear(w.server);
		assert_int_equal(offered, 2);
		if (how == 0) {
			tell(w.server, message_of(DISCONNECT, 0));
		} else if (how == 1) {
			tell_as_peer(w.client, message_of(DISCONNECT, 0));
			hear(w.server);
		} else {
			shutdown(w.client, SHUT_RDWR);
			assert_int_equal(recvmsg(w.server, &nothing, 0), 0);
		}
		assert_int_equal(offered, 0);
	}
	wire_close(&w);
}

/* Messages between uroce's ports: the driver gets one without effect. Those of another connection, which has the
 * descriptor of one that ended in an error, are not obeyed before it is set up. */
static void
test_own_messages(void **state)
{
	struct wire w;

	wire_open(&w);
	port_is(2, &w, "server", 7, 1);
	tell(w.server, message_of(HELLO, 0));
	hear_as_peer(w.client);
	for (unsigned int i = 0; i < 2; i++) {
		tell_as_peer(w.client, message_of(MEMIF_ASK + (uint16_t)i, 0));
		assert_int_equal(hear(w.server).type, MEMIF_ACK);
		assert_int_equal(obeyed, 0);
	}
	tell_as_peer(w.client, message_of(INIT, 7));
	hear(w.server);
	tell_as_peer(w.client, message_of(CONNECT, 0));
	hear(w.server);
	for (unsigned int i = 0; i < 2; i++) {
		tell_as_peer(w.client, message_of(MEMIF_ASK + (uint16_t)i, 0));
		assert_int_equal(hear(w.server).type, MEMIF_ACK);
		assert_int_equal(obeyed, i + 1);
		assert_int_equal(obeyed_port, 2);
	}
	tell(w.server, message_of(HELLO, 0));
	tell_as_peer(w.client, message_of(MEMIF_SHOW, 0));
	assert_int_equal(hear(w.server).type, MEMIF_ACK);
	assert_int_equal(obeyed, 2);
	wire_close(&w);
}

/* A uroce process marks its greetings, and only those of such processes are marked. */
static void
test_mark(void **state)
{
	struct memif_message m;
	struct message sent;
	struct wire w;

	wire_open(&w);
	sent = message_of(HELLO, 0);
	memcpy(&m, &sent, sizeof(m));
	assert_false(memif_is_marked(m.hello.name));
	tell(w.server, sent);
	sent = hear_as_peer(w.client);
	memcpy(&m, &sent, sizeof(m));
	assert_true(memif_is_marked(m.hello.name));
	tell_as_peer(w.server, sent);
	hear(w.client);
	tell(w.client, message_of(INIT, 5));
	sent = hear_as_peer(w.server);
	memcpy(&m, &sent, sizeof(m));
	assert_true(memif_is_marked(m.init.name));
	assert_int_equal(m.init.id, 5);
	wire_close(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_unmap, setup),
		cmocka_unit_test_setup(test_unmap_refused, setup),
		cmocka_unit_test_setup(test_send, setup),
		cmocka_unit_test_setup(test_send_gone, setup),
		cmocka_unit_test_setup(test_send_refused, setup),
		cmocka_unit_test_setup(test_greeting, setup),
		cmocka_unit_test_setup(test_rings_of_client, setup),
		cmocka_unit_test_setup(test_rings_of_server, setup),
		cmocka_unit_test_setup(test_rings_of_unknown_port, setup),
		cmocka_unit_test_setup(test_end, setup),
		cmocka_unit_test_setup(test_own_messages, setup),
		cmocka_unit_test_setup(test_mark, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
