/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Clients at the switch's socket: a correct client gets its port. Clients that send nonsense or leave in the middle
 * cost no other client its port, and the switch no descriptor.
 */

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_common.h>

#include "closer.h"
#include "groups.h"
#include "memif_peer.h"
#include "memif/server.h"

#define PORTS 3

static struct memif_server server;
static struct switch_port ports[PORTS];
static char top[64], path[80];
static uint64_t now_ns;
static unsigned int at_rest; /* open descriptors of the process before a test */

static unsigned int
descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

/* Wait for this number: a thread closes some of the descriptors. */
static void
assert_descriptors(unsigned int expected)
{
	for (unsigned int i = 0; i < 10000 && descriptors() != expected; i++)
		usleep(1000);
	assert_int_equal(descriptors(), expected);
}

static int
start(void **state)
{
	now_ns = 1;
	at_rest = descriptors();
	if (uroce_switch_closer_start() != 0)
		return -1;
	for (uint16_t i = 0; i < PORTS; i++)
		uroce_switch_port_open_memif(&ports[i], i, NULL);
	return uroce_memif_server_open(&server, path, ports, PORTS);
}

static int
finish(void **state)
{
	uroce_memif_server_close(&server);
	uroce_switch_closer_stop();
	assert_descriptors(at_rest);
	return unlink(path);
}

/* Send a message, let the switch read it, and read its reply. */
static int
exchange(struct memif_peer *p, struct memif_message *m, int fd, unsigned int copies)
{
	memif_peer_say(p, m, sizeof(*m), fd, copies);
	uroce_memif_server_poll(&server, now_ns);
	return memif_peer_hear(p, m);
}

static void
dial(struct memif_peer *p)
{
	struct memif_message m;

	memif_peer_dial(p, path);
	uroce_memif_server_poll(&server, now_ns);
	assert_int_equal(memif_peer_hear(p, &m), MEMIF_HELLO);
	assert_int_equal(m.hello.min_version, MEMIF_VERSION);
	assert_int_equal(m.hello.max_log2_slots, 14);
	assert_int_equal(m.hello.max_c2s_ring, UROCE_SWITCH_RINGS - 1);
	assert_int_equal(m.hello.max_s2c_ring, UROCE_SWITCH_RINGS - 1);
	assert_int_equal(m.hello.max_region, UROCE_MEMIF_REGIONS - 1);
}

static struct memif_message
init_of(uint32_t id)
{
	return (struct memif_message){ .type = MEMIF_INIT, .init = { .version = MEMIF_VERSION, .id = id } };
}

static struct memif_message
region_of(const struct memif_peer *p)
{
	return (struct memif_message){ .type = MEMIF_ADD_REGION, .region = { .bytes = p->bytes } };
}

static struct memif_message
ring_of(const struct memif_peer *p, unsigned int number)
{
	return (struct memif_message){ .type = MEMIF_ADD_RING, .ring = p->rings[number] };
}

/* Send all messages but the last, CONNECT. */
static void
prepare(struct memif_peer *p, uint32_t id)
{
	struct memif_message m = init_of(id);

	memif_peer_init(p, 3, 256);
	dial(p);
	assert_int_equal(exchange(p, &m, -1, 0), MEMIF_ACK);
	m = region_of(p);
	assert_int_equal(exchange(p, &m, p->memory, 1), MEMIF_ACK);
	for (unsigned int i = 0; i < 2; i++) {
		m = ring_of(p, i);
		assert_int_equal(exchange(p, &m, p->wake, 1), MEMIF_ACK);
	}
}

static void
join(struct memif_peer *p, uint32_t id)
{
	struct memif_message m = { .type = MEMIF_CONNECT };
	char name[MEMIF_NAME];

	prepare(p, id);
	assert_int_equal(exchange(p, &m, -1, 0), MEMIF_CONNECTED);
	snprintf(name, sizeof(name), "uroce-switch %" PRIu32, id);
	assert_string_equal(m.interface, name);
	assert_non_null(ports[id].link);
}

/* The switch answers a wrong message by ending the connection, with a reason. */
static void
expect_refused(struct memif_peer *p, struct memif_message m, int fd, unsigned int copies, const char *says)
{
	assert_int_equal(exchange(p, &m, fd, copies), MEMIF_DISCONNECT);
	if (strstr(m.disconnect.reason, says) == NULL)
		fail_msg("got '%s', expected '%s'", m.disconnect.reason, says);
	assert_int_equal(memif_peer_hear(p, &m), -1);
	memif_peer_fini(p);
}

static void
test_join(void **state)
{
	const unsigned int before = descriptors();
	struct memif_peer p[PORTS];

	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < PORTS; i++)
			join(&p[i], PORTS - 1 - i);
		for (unsigned int i = 0; i < PORTS; i++) {
			const struct memif_message bye = { .type = MEMIF_DISCONNECT };

			if (i == 1)
				memif_peer_say(&p[i], &bye, sizeof(bye), -1, 0);
			memif_peer_fini(&p[i]);
		}
		uroce_memif_server_poll(&server, now_ns);
		for (unsigned int i = 0; i < PORTS; i++)
			assert_null(ports[i].link);
	}
	assert_descriptors(before);
	assert_int_equal(server.refused, 0);
}

/* The next client gets the port, though it connects before the switch has read the end of the last one. */
static void
test_succession(void **state)
{
	struct memif_message m = { .type = MEMIF_CONNECT };
	struct memif_peer first, second;

	join(&first, 1);
	prepare(&second, 0);
	memif_peer_fini(&second);
	memif_peer_fini(&first);
	prepare(&second, 1);
	assert_int_equal(exchange(&second, &m, -1, 0), MEMIF_CONNECTED);
	assert_true(ports[1].gone);
	assert_non_null(ports[1].link);
	memif_peer_fini(&second);
}

/* The next client names its port before the switch has read the end of the last client. That one has sent
 * DISCONNECT, or has closed its socket, with an unread message or without. */
static void
test_succession_in_one_poll(void **state)
{
	static const uint16_t last[] = { MEMIF_ACK, MEMIF_ACK, MEMIF_DISCONNECT };

	for (unsigned int i = 0; i < RTE_DIM(last); i++) {
		struct memif_message m = init_of(1), bye = { .type = last[i] };
		struct memif_peer first, second;

		join(&first, 1);
		memif_peer_init(&second, 3, 256);
		dial(&second);
		memif_peer_say(&second, &m, sizeof(m), -1, 0);
		if (i > 0)
			memif_peer_say(&first, &bye, sizeof(bye), -1, 0);
		if (last[i] != MEMIF_DISCONNECT)
			memif_peer_fini(&first);
		uroce_memif_server_poll(&server, now_ns);
		assert_int_equal(memif_peer_hear(&second, &m), MEMIF_ACK);
		assert_null(ports[1].link);
		if (last[i] == MEMIF_DISCONNECT)
			memif_peer_fini(&first);
		memif_peer_fini(&second);
		uroce_memif_server_poll(&server, now_ns);
	}
}

/* A port in use stays with its client; of two clients that want it, the first that sends CONNECT gets it. */
static void
test_taken(void **state)
{
	struct memif_message m = { .type = MEMIF_CONNECT };
	struct memif_peer first, second;

	prepare(&first, 2);
	join(&second, 2);
	expect_refused(&first, m, -1, 0, "Already connected");
	memif_peer_init(&first, 3, 256);
	dial(&first);
	expect_refused(&first, init_of(2), -1, 0, "Already connected");
	assert_non_null(ports[2].link);
	memif_peer_fini(&second);
}

static void
test_nonsense(void **state)
{
	const unsigned int before = descriptors();
	struct memif_message m;
	struct memif_peer p;

#define AT_FIRST(message, says) \
	do { \
		memif_peer_init(&p, 3, 256); \
		dial(&p); \
		m = (message); \
		expect_refused(&p, m, -1, 0, says); \
	} while (0)

	AT_FIRST(init_of(PORTS), "ID not found");
	AT_FIRST(init_of(UINT32_MAX), "ID not found");
	AT_FIRST(((struct memif_message){ .type = MEMIF_INIT, .init.version = 0x0300 }), "version");
	AT_FIRST(((struct memif_message){ .type = MEMIF_INIT, .init = { .version = MEMIF_VERSION, .mode = 1 } }),
		 "mode");
	AT_FIRST((struct memif_message){ .type = MEMIF_CONNECT }, "Unexpected");
	AT_FIRST((struct memif_message){ .type = MEMIF_HELLO }, "Unexpected");
	AT_FIRST((struct memif_message){ .type = UINT16_MAX }, "Unexpected");
#define THEN(message, fd, copies, says) \
	do { \
		prepare(&p, 0); \
		m = (message); \
		expect_refused(&p, m, fd, copies, says); \
	} while (0)

	THEN(init_of(1), -1, 0, "Unexpected");
	THEN((struct memif_message){ .type = MEMIF_CONNECTED }, -1, 0, "Unknown");
	THEN(region_of(&p), p.memory, 1, "region index");
	THEN(ring_of(&p, 0), p.wake, 1, "ring index");
	THEN(ring_of(&p, 0), -1, 0, "interrupt fd");
	m = region_of(&p);
	m.region.index = 1;
	THEN(m, -1, 0, "region fd");
	m.type = MEMIF_ADD_REGION;
	m.region.index = 1;
	m.region.bytes = UINT64_MAX;
	THEN(m, p.memory, 1, "smaller than stated");
	m.type = MEMIF_ADD_REGION;
	m.region.index = 1;
	m.region.bytes = 1;
	THEN(m, p.wake, 1, "sealed");
	prepare(&p, 0);
	p.in->cookie = 1;
	expect_refused(&p, (struct memif_message){ .type = MEMIF_CONNECT }, -1, 0, "Wrong ring");
	assert_null(ports[0].link);
	join(&p, 0);
	m = region_of(&p);
	m.region.index = 1;
	expect_refused(&p, m, p.memory, 1, "Unexpected"); /* it has its memory already */
	assert_null(ports[0].link);
#undef AT_FIRST
#undef THEN
	assert_descriptors(before);
	assert_int_equal(server.refused, 17);
}

/* Messages of other lengths, and descriptors with messages that carry none. */
static void
test_odd_messages(void **state)
{
	const unsigned int before = descriptors();
	struct memif_message m = init_of(0);
	struct memif_peer p;

	for (size_t bytes = 1; bytes < sizeof(m); bytes += 21) {
		memif_peer_init(&p, 3, 256);
		dial(&p);
		memif_peer_say(&p, &m, bytes, p.wake, 3);
		uroce_memif_server_poll(&server, now_ns);
		assert_int_equal(memif_peer_hear(&p, &m), MEMIF_DISCONNECT);
		memif_peer_fini(&p);
		m = init_of(0);
	}
	memif_peer_init(&p, 3, 256);
	dial(&p);
	assert_int_equal(exchange(&p, &m, p.wake, 64), MEMIF_ACK);
	m = region_of(&p);
	assert_int_equal(exchange(&p, &m, p.memory, 2), MEMIF_ACK);
	m.type = MEMIF_ACK; /* ignored, without a reply */
	assert_int_equal(exchange(&p, &m, p.memory, 3), 0);
	memif_peer_fini(&p);
	uroce_memif_server_poll(&server, now_ns);
	assert_descriptors(before);
}

/* A client that sends many messages gets one turn per poll, as all others. */
static void
test_many_messages(void **state)
{
	const struct memif_message ack = { .type = MEMIF_ACK };
	struct memif_message m = init_of(0);
	struct memif_peer p;

	memif_peer_init(&p, 3, 256);
	dial(&p);
	for (unsigned int i = 0; i < 20; i++)
		memif_peer_say(&p, &ack, sizeof(ack), -1, 0);
	assert_int_equal(exchange(&p, &m, -1, 0), 0);
	uroce_memif_server_poll(&server, now_ns);
	assert_int_equal(memif_peer_hear(&p, &m), MEMIF_ACK);
	memif_peer_fini(&p);
}

/* A socket that lingers: the last close of it blocks until the other end, *to, is closed. */
static int
lingering_socket(int *to)
{
	const struct linger linger = { .l_onoff = 1, .l_linger = 3600 };
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	char junk[4096] = { 0 };

	assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&addr, &bytes), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	*to = accept(listener, NULL, NULL);
	assert_true(*to >= 0);
	close(listener);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	while (send(fd, junk, sizeof(junk), MSG_DONTWAIT) > 0)
		;
	return fd;
}

/* Descriptors whose close takes an hour: one with a message, one repeated with a message, and one with a message
 * that is no longer read. */
static void
test_lingering(void **state)
{
	const unsigned int before = descriptors();
	const struct memif_message ack = { .type = MEMIF_ACK }, wrong = { .type = MEMIF_CONNECTED };
	struct memif_peer p, q;
	int to[3], fd;

	memif_peer_init(&p, 3, 256);
	dial(&p);
	for (unsigned int i = 0; i < 2; i++) {
		fd = lingering_socket(&to[i]);
		memif_peer_say(&p, &ack, sizeof(ack), fd, i == 0 ? 1 : 64);
		close(fd);
		uroce_memif_server_poll(&server, now_ns);
	}
	memif_peer_say(&p, &wrong, sizeof(wrong), -1, 0);
	fd = lingering_socket(&to[2]);
	memif_peer_say(&p, &ack, sizeof(ack), fd, 1);
	close(fd);
	uroce_memif_server_poll(&server, now_ns);
	join(&q, 0);
	memif_peer_fini(&q);
	memif_peer_fini(&p);
	for (unsigned int i = 0; i < 3; i++)
		close(to[i]);
	uroce_memif_server_poll(&server, now_ns);
	assert_descriptors(before);
}

/* Clients that connect and close at once, at any point. */
static void
test_knock(void **state)
{
	const unsigned int before = descriptors();
	struct memif_peer p;

	for (unsigned int i = 0; i < 500; i++) {
		memif_peer_init(&p, 3, 256);
		memif_peer_dial(&p, path);
		if (i % 2 == 0)
			uroce_memif_server_poll(&server, now_ns);
		memif_peer_fini(&p);
		if (i % 3 == 0)
			uroce_memif_server_poll(&server, now_ns);
	}
	uroce_memif_server_poll(&server, now_ns);
	uroce_memif_server_poll(&server, now_ns);
	assert_descriptors(before);
	join(&p, 0);
	memif_peer_fini(&p);
}

/* Any number of silent clients keep no other client from its port, and are disconnected after a while. */
static void
test_silent(void **state)
{
	enum { SILENT = UROCE_SWITCH_PORTS + UROCE_SWITCH_GUESTS + 20 };
	const unsigned int before = descriptors();
	struct memif_peer silent[SILENT], p, q;

	join(&q, 1);
	for (unsigned int i = 0; i < SILENT; i++) {
		memif_peer_init(&silent[i], 3, 256);
		dial(&silent[i]);
		now_ns++;
	}
	assert_int_equal(server.refused, 21); /* all places but one were free */
	assert_int_equal(server.said_ns, now_ns - 21); /* when the switch logged the first refusal */
	for (unsigned int i = 0; i < SILENT; i++) { /* the oldest were disconnected */
		struct pollfd told = { .fd = silent[i].fd, .events = POLLIN };

		assert_int_equal(poll(&told, 1, 0), i < 21);
	}
	join(&p, 0);
	assert_non_null(ports[1].link);
	now_ns += UROCE_SWITCH_GREET_NS;
	uroce_memif_server_poll(&server, now_ns);
	for (unsigned int i = 0; i < SILENT; i++) {
		struct memif_message m;

		assert_int_equal(memif_peer_hear(&silent[i], &m), MEMIF_DISCONNECT);
		assert_int_equal(memif_peer_hear(&silent[i], &m), -1);
		memif_peer_fini(&silent[i]);
	}
	assert_non_null(ports[0].link);
	assert_non_null(ports[1].link);
	memif_peer_fini(&p);
	memif_peer_fini(&q);
	uroce_memif_server_poll(&server, now_ns);
	assert_descriptors(before);
}

static int
lowest_free(void)
{
	int fd = dup(STDIN_FILENO);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

/* Without free descriptors, guests make room for a new client. */
static void
test_descriptors(void **state)
{
	const unsigned int at_first = descriptors();
	struct memif_peer guest, p, q;
	struct rlimit before, few;
	struct memif_message m;

	join(&q, 1);
	memif_peer_init(&guest, 3, 256);
	dial(&guest);
	assert_descriptors(at_first + 9); /* per client three and its socket; and an eventfd */
	memif_peer_init(&p, 3, 256);
	memif_peer_dial(&p, path);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ .rlim_cur = (rlim_t)lowest_free(), .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	while (memif_peer_hear(&p, &m) != MEMIF_HELLO) /* the thread closes the guest's socket */
		uroce_memif_server_poll(&server, now_ns);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(memif_peer_hear(&guest, &m), MEMIF_DISCONNECT);
	assert_non_null(ports[1].link);
	memif_peer_fini(&guest);
	memif_peer_fini(&p);
	memif_peer_fini(&q);
}

/* Nonsense in the rings disconnects the client, and frees its port for the next. */
static void
test_fault(void **state)
{
	struct pollfd epoll = { .fd = server.epoll, .events = POLLIN };
	struct memif_message m;
	struct rte_mbuf *frame;
	struct memif_peer p;

	join(&p, 0);
	memif_peer_publish(&p, 1000);
	assert_int_equal(uroce_switch_port_receive(&ports[0], &frame, 1), 0);
	uroce_memif_server_poll(&server, now_ns);
	assert_int_equal(memif_peer_hear(&p, &m), MEMIF_DISCONNECT);
	assert_non_null(strstr(m.disconnect.reason, "index"));
	assert_null(ports[0].link);
	/* its eventfd no longer wakes the switch */
	assert_int_equal(eventfd_write(p.wake, 1), 0);
	assert_int_equal(poll(&epoll, 1, 0), 0);
	memif_peer_fini(&p);
	join(&p, 0);
	memif_peer_fini(&p);
}

/* A client that was asked to wakes the switch every time; the switch never reads its eventfd. */
static void
test_wake(void **state)
{
	const uint64_t one = 1, long_ns = 60000000000ull;
	struct memif_peer p, late;

	join(&p, 0);
	uroce_memif_server_wake(&server, true);
	assert_int_equal(p.out->flags, 0);
	join(&late, 1);
	assert_int_equal(late.out->flags, 0);
	memif_peer_fini(&late);
	uroce_memif_server_poll(&server, now_ns);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(write(p.wake, &one, sizeof(one)), sizeof(one));
		uroce_memif_server_wait(&server, long_ns); /* returns only if the client woke it */
		uroce_memif_server_poll(&server, now_ns);
	}
	uroce_memif_server_wait(&server, 1000); /* no wake-up: the wait ends anyway */
	uroce_memif_server_wake(&server, false);
	assert_int_equal(p.out->flags, MEMIF_RING_NO_WAKING);
	memif_peer_fini(&p);
	uroce_memif_server_wait(&server, long_ns); /* the disconnect wakes the switch */
	uroce_memif_server_poll(&server, now_ns);
	assert_null(ports[0].link);
}

static void
test_open(void **state)
{
	struct memif_server other;
	char long_path[200];

	assert_int_equal(uroce_memif_server_open(&other, path, ports, PORTS), -EADDRINUSE);
	assert_int_equal(uroce_memif_server_open(&other, "/no/such/directory/memif", ports, PORTS), -ENOENT);
	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	assert_int_equal(uroce_memif_server_open(&other, long_path, ports, PORTS), -ENAMETOOLONG);
}

UROCE_TESTS(switch_memif_server)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_join, start, finish),
		cmocka_unit_test_setup_teardown(test_succession, start, finish),
		cmocka_unit_test_setup_teardown(test_succession_in_one_poll, start, finish),
		cmocka_unit_test_setup_teardown(test_taken, start, finish),
		cmocka_unit_test_setup_teardown(test_nonsense, start, finish),
		cmocka_unit_test_setup_teardown(test_odd_messages, start, finish),
		cmocka_unit_test_setup_teardown(test_many_messages, start, finish),
		cmocka_unit_test_setup_teardown(test_lingering, start, finish),
		cmocka_unit_test_setup_teardown(test_knock, start, finish),
		cmocka_unit_test_setup_teardown(test_silent, start, finish),
		cmocka_unit_test_setup_teardown(test_descriptors, start, finish),
		cmocka_unit_test_setup_teardown(test_fault, start, finish),
		cmocka_unit_test_setup_teardown(test_wake, start, finish),
		cmocka_unit_test_setup_teardown(test_open, start, finish),
	};
	int ret;

	snprintf(top, sizeof(top), "/tmp/uroce-switch-XXXXXX");
	if (mkdtemp(top) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/memif", top);
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	return rmdir(top) == 0 ? ret : 1;
}
