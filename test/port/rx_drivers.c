/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A frame wakes a worker that sleeps on ports of Linux interfaces: net_af_packet, net_af_xdp, net_tap. In a network
 * namespace of its own; exits with 77 if the machine lacks the privilege or every driver.
 */

#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include <cmocka.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#include "eal.h"
#include "port/port.h"
#include "port/worker/pool.h"
#include "uroce.h"

#define SKIP	77
#define QUEUES	2
#define ROUNDS	3
#define NETWORK "ip link add e0 type veth peer name e1 && ip link set e0 up && ip link set e1 up"

struct driver {
	const char *name;
	const char *args;
	const char *peer;	/* frames sent on this interface arrive at the port */
	unsigned int queues;
};

static const struct driver drivers[] = {
	{ "net_af_packet", "iface=e0", "e1", 1 },
	{ "net_af_packet", "iface=e0,qpairs=2", "e1", 2 },
	{ "net_af_xdp", "iface=e0", "e1", 1 },
	{ "net_tap", "iface=t0", "t0", 1 },
	{ "net_tap", "iface=t0", "t0", 2 },
};

static unsigned int tested;

/* @return a socket that sends on an interface */
static int
peer_open(const char *interface)
{
	const struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(interface),
	};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Send a frame of a protocol that uroce drops. */
static void
peer_send(int fd)
{
	static const uint8_t frame[60] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, [6] = 2, [12] = 0x88, 0xb5 };

	assert_int_equal(send(fd, frame, sizeof(frame), 0), sizeof(frame));
}

static uint64_t
received(const struct uroce_port *port)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < port->nb_queues; i++)
		n += port->queues[i].counters[UROCE_PORT_RX_FRAMES];
	return n;
}

/* Sleep until a frame arrives: the port's timers are off. */
static void
sleep_once(struct uroce_port *port, struct uroce_worker **workers)
{
	struct pollfd fds[QUEUES];
	bool asleep = true;

	port->upkeep_ns = UINT64_MAX;
	for (unsigned int i = 0; i < port->nb_queues; i++) {
		fds[i] = (struct pollfd){ .fd = uroce_worker_fd(workers[i]), .events = POLLIN };
		asleep &= uroce_worker_poll(workers[i]) == 0;
		asleep &= uroce_worker_arm(workers[i], NULL) == 0;
	}
	if (asleep)
		assert_true(poll(fds, port->nb_queues, -1) > 0);
}

/* Let both ends become quiet: the kernel sends frames when an interface comes up. */
static void
settle(struct uroce_port *port, struct uroce_worker **workers)
{
	unsigned int n;

	do {
		n = 0;
		for (unsigned int i = 0; i < port->nb_queues; i++) {
			port->upkeep_ns = UINT64_MAX;
			n += uroce_worker_poll(workers[i]);
			n += uroce_worker_arm(workers[i], NULL) != 0;
		}
	} while (n != 0);
}

static void
use(const struct driver *d, struct uroce_port *port, struct uroce_worker **workers)
{
	int peer = peer_open(d->peer);

	for (unsigned int i = 0; i < d->queues; i++) {
		assert_int_equal(port->queues[i].rx_wake, UROCE_RX_WAKE_SOCKET);
		assert_true(i == 0 || port->queues[i].rx_fd != port->queues[0].rx_fd);
	}
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint64_t before;

		settle(port, workers);
		before = received(port);
		peer_send(peer);
		while (received(port) == before)
			sleep_once(port, workers);
	}
	close(peer);
}

static void
test_driver(const struct driver *d)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .mtu = 1500 };
	struct uroce_worker *workers[QUEUES];
	struct ibv_context *context;
	static unsigned int sequence;
	uint16_t port_id;
	char name[64];

	snprintf(name, sizeof(name), "%s%u", d->name, sequence++);
	if (rte_eal_hotplug_add("vdev", name, d->args) != 0 || rte_eth_dev_get_port_by_name(name, &port_id) != 0) {
		print_message("skipped %s,%s: not on this machine\n", d->name, d->args);
		return;
	}
	for (unsigned int i = 0; i < d->queues; i++) {
		workers[i] = uroce_create_worker(-1);
		assert_non_null(workers[i]);
		assert_true(uroce_worker_fd(workers[i]) >= 0);
	}
	context = uroce_open_port(port_id, &conf, workers, d->queues);
	assert_non_null(context);
	use(d, uroce_port_of_context(context), workers);
	assert_int_equal(uroce_close_device(context), 0);
	for (unsigned int i = 0; i < d->queues; i++)
		assert_int_equal(uroce_destroy_worker(workers[i]), 0);
	assert_int_equal(rte_eal_hotplug_remove("vdev", name), 0);
	tested++;
}

static void
test_drivers(void **state)
{
	for (unsigned int i = 0; i < RTE_DIM(drivers); i++)
		test_driver(&drivers[i]);
}

/* libxdp does not free this when net_af_xdp closes its sockets. */
const char *__lsan_default_suppressions(void);

const char *
__lsan_default_suppressions(void)
{
	return "leak:xsk_umem__create";
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drivers),
	};
	int ret;

	if (unshare(CLONE_NEWNET) != 0 || system(NETWORK) != 0) {
		fprintf(stderr, "skipped: no network namespace with veth interfaces\n");
		return SKIP;
	}
	test_eal_init(NULL);
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	return ret == 0 && tested == 0 ? SKIP : ret;
}
