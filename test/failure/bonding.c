/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A device on a bonding port (net_bonding, active-backup), whose members lead to one switch. When the active cable is
 * unplugged, traffic goes on through the other one, and the switch learns the new path even if the device has nothing
 * to send. The test is the switch.
 */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <rte_bus_vdev.h>
#include <rte_eth_bond.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_version.h>

#include "eal.h"
#include "groups.h"
#include "pair.h"
#include "port/port.h"
#include "uroce_config.h"

#define CABLES	2
#define BOND	"net_bonding_test"
#define TIMEOUT 20 /* 4 s: all retries take longer than a failover on a busy machine. Probes find losses earlier */

#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
#define MEMBER "member" /* key of the device's arguments */
#else
#define MEMBER "slave"
#define rte_eth_bond_member_remove rte_eth_bond_slave_remove
#define rte_eth_bond_active_members_get rte_eth_bond_active_slaves_get
#endif

static struct pair pair;
static unsigned int near, far; /* the end with the bonding port, and the other one */

static struct {
	struct test_rings members[CABLES];
	bool plugged[CABLES];
	int learned;		/* cable from which the last frame came; -1: none yet */
	uint16_t port_id;	/* of the bonding device */
} net;

static bool
is_member(uint16_t port_id)
{
	for (unsigned int i = 0; i < CABLES; i++)
		if (net.members[i].queues != 0 && net.members[i].port_id == port_id)
			return true;
	return false;
}

/* Replaces DPDK's function: net_ring has none, but net_bonding requires it of its members. */
int
rte_eth_dev_default_mac_addr_set(uint16_t port_id, struct rte_ether_addr *mac)
{
	int (*set)(uint16_t, struct rte_ether_addr *);

	if (is_member(port_id))
		return 0;
	*(void **)&set = dlsym(RTLD_NEXT, "rte_eth_dev_default_mac_addr_set");
	return set(port_id, mac);
}

/* ---- the switch ---- */

static void
deliver(struct rte_ring *ring, struct rte_mbuf *m, bool plugged)
{
	if (!plugged || rte_ring_enqueue(ring, m) != 0)
		rte_pktmbuf_free(m);
}

static void
switch_from_cable(unsigned int i)
{
	struct rte_mbuf *m;

	while (rte_ring_dequeue(net.members[i].tx[0], (void **)&m) == 0) {
		if (net.plugged[i])
			net.learned = (int)i;
		deliver(pair.ends[far].wire.rx[0], m, net.plugged[i]);
	}
}

/* Frames to the bonding device go where it was seen last, and those to all hosts to all cables. */
static void
switch_to_cables(struct rte_mbuf *m)
{
	const struct rte_ether_addr *dst = &rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr;

	if (rte_is_unicast_ether_addr(dst) && net.learned >= 0) {
		deliver(net.members[net.learned].rx[0], m, net.plugged[net.learned]);
		return;
	}
	rte_mbuf_refcnt_update(m, CABLES - 1); /* the ends do not write to it */
	for (unsigned int i = 0; i < CABLES; i++)
		deliver(net.members[i].rx[0], m, net.plugged[i]);
}

static void
poll(void)
{
	struct rte_mbuf *m;

	pair_poll(&pair, 1);
	for (unsigned int i = 0; i < CABLES; i++)
		switch_from_cable(i);
	while (rte_ring_dequeue(pair.ends[far].wire.tx[0], (void **)&m) == 0)
		switch_to_cables(m);
}

static void
unplug(unsigned int i)
{
	net.plugged[i] = false;
	assert_int_equal(rte_eth_dev_set_link_down(net.members[i].port_id), 0);
}

static void
plug(unsigned int i)
{
	net.plugged[i] = true;
	assert_int_equal(rte_eth_dev_set_link_up(net.members[i].port_id), 0);
}

/* Poll until the driver has noticed that so many cables are plugged in. */
static void
await_members(int n)
{
	uint16_t members[RTE_MAX_ETHPORTS];

	while (rte_eth_bond_active_members_get(net.port_id, members, RTE_MAX_ETHPORTS) != n)
		poll();
}

static unsigned int
active(void)
{
	int port_id = rte_eth_bond_primary_get(net.port_id);

	return port_id == net.members[0].port_id ? 0 : 1;
}

/* ---- the ends ---- */

static void
await_state(enum ibv_port_state state)
{
	struct ibv_port_attr attr;

	do {
		poll();
		assert_int_equal(uroce_query_port(pair.ends[near].context, 1, &attr), 0);
	} while (attr.state != state);
}

/* The last event of the link must be this one. */
static void
await_event(enum ibv_event_type wanted)
{
	enum ibv_event_type last = IBV_EVENT_DEVICE_FATAL;
	struct ibv_async_event event;

	while (last != wanted) {
		poll();
		while (uroce_get_async_event(pair.ends[near].context, &event) == 0) {
			last = event.event_type;
			uroce_ack_async_event(&event);
		}
	}
}

static void
expect_no_error(void)
{
	struct ibv_async_event event;

	while (uroce_get_async_event(pair.ends[near].context, &event) == 0) {
		assert_int_not_equal(event.event_type, IBV_EVENT_PORT_ERR);
		uroce_ack_async_event(&event);
	}
}

static void
bond_create(void)
{
	char args[128];

	for (unsigned int i = 0; i < CABLES; i++) {
		test_rings_create(&net.members[i], 1);
		net.plugged[i] = true;
	}
	net.learned = -1;
	snprintf(args, sizeof(args), "mode=1," MEMBER "=%u," MEMBER "=%u", net.members[0].port_id,
		 net.members[1].port_id);
	assert_int_equal(rte_vdev_init(BOND, args), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name(BOND, &net.port_id), 0);
}

/* A QP at each end; the first end will send. */
static void
open_ends(unsigned int bond_end)
{
	static const char *const addresses[] = { "10.0.0.1/24", "10.0.0.2/24" };
	const struct uroce_port_conf conf = {
		.size = sizeof(conf), .no_loopback = 1, .log2_max_qp = 10, .log2_max_mr = 10,
	};

	memset(&pair, 0, sizeof(pair));
	near = bond_end;
	far = 1 - bond_end;
	pair.timeout = TIMEOUT;
	pair.nb_workers = 1;
	pair.workers[0] = uroce_create_worker(-1);
	assert_non_null(pair.workers[0]);
	bond_create();
	test_rings_create(&pair.ends[far].wire, 1);
	for (unsigned int i = 0; i < 2; i++) {
		struct pair_end *e = &pair.ends[i];

		e->context = uroce_open_port(i == near ? net.port_id : e->wire.port_id, &conf, pair.workers, 1);
		assert_non_null(e->context);
		assert_int_equal(uroce_add_address(e->context, addresses[i]), 0);
		assert_int_equal(fcntl(e->context->async_fd, F_SETFL, O_NONBLOCK), 0);
		assert_int_equal(pair_end_create(e), 0);
	}
	await_state(IBV_PORT_ACTIVE);
	await_members(CABLES);
	pair_connect(&pair);
}

static int
setup_requester(void **state)
{
	open_ends(0);
	return 0;
}

static int
setup_responder(void **state)
{
	open_ends(1);
	return 0;
}

static int
teardown(void **state)
{
	for (unsigned int i = 0; i < 2; i++) {
		pair_end_destroy(&pair.ends[i]);
		assert_int_equal(uroce_close_device(pair.ends[i].context), 0);
	}
	for (unsigned int i = 0; i < CABLES; i++)
		assert_int_equal(rte_eth_bond_member_remove(net.port_id, net.members[i].port_id), 0);
	assert_int_equal(rte_eth_dev_close(net.port_id), 0);
	assert_int_equal(rte_vdev_uninit(BOND), 0);
	for (unsigned int i = 0; i < CABLES; i++) {
		test_rings_destroy(&net.members[i]);
		net.members[i].queues = 0;
	}
	test_rings_destroy(&pair.ends[far].wire);
	assert_int_equal(uroce_destroy_worker(pair.workers[0]), 0);
	return 0;
}

static void
post(uint8_t byte)
{
	memset(pair.ends[0].memory, byte, PAIR_BYTES);
	memset(pair.ends[1].memory, ~byte, PAIR_BYTES);
	pair_post(&pair, byte % 2 == 0 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ);
}

static void
finish(void)
{
	while (!pair_has_completed(&pair))
		poll();
	assert_memory_equal(pair.ends[0].memory, pair.ends[1].memory, PAIR_BYTES);
}

static void
exchange(uint8_t byte)
{
	post(byte);
	finish();
}

/* Unplug the active cable in the middle of a message, or between two. The link of the bonding device does not
 * change. */
static void
fail_over(uint8_t byte, unsigned int polls)
{
	unsigned int was = active();

	exchange(byte);
	if (polls != 0)
		post(byte + 1);
	for (unsigned int i = 0; i < polls; i++)
		poll();
	unplug(was);
	if (polls == 0)
		post(byte + 1);
	finish();
	await_members(CABLES - 1); /* the message may have been complete before */
	assert_int_equal(active(), 1 - was);
	exchange(byte);
	plug(was);
	await_members(CABLES);
	exchange(byte + 1);
}

static void
test_fail_over(void **state)
{
	for (unsigned int i = 0; i < 4; i++)
		fail_over((uint8_t)i, i);
	expect_no_error();
	assert_true(test_counter(pair.ends[0].context, "retransmitted_packets") +
		    test_counter(pair.ends[0].context, "probes") > 0);
}

/* Both cables are unplugged, then the one that was plugged in first is not the one that was active. */
static void
test_both(void **state)
{
	exchange(1);
	unplug(0);
	unplug(1);
	await_event(IBV_EVENT_PORT_ERR);
	post(2);
	plug(1);
	await_event(IBV_EVENT_PORT_ACTIVE);
	finish();
	assert_int_equal(active(), 1);
	plug(0);
	exchange(3);
}

/* The bonding port is stopped and started, and keeps the address of its first member. */
static void
test_restart(void **state)
{
	struct ibv_context *context = pair.ends[near].context;
	struct rte_ether_addr mac = uroce_port_of_context(context)->mac;

	fail_over(1, 0);
	assert_int_equal(uroce_stop_port(context), 0);
	post(3);
	for (unsigned int i = 0; i < 100; i++)
		poll();
	assert_int_equal(uroce_start_port(context, NULL, NULL, 0), 0);
	finish();
	assert_memory_equal(&uroce_port_of_context(context)->mac, &mac, sizeof(mac));
	exchange(4);
}

/* The members belong to the bonding device. */
static void
test_member(void **state)
{
	assert_null(uroce_open_port(net.members[0].port_id, NULL, pair.workers, 1));
	assert_int_equal(errno, EBUSY);
	assert_int_equal(uroce_port_of_context(pair.ends[near].context)->bond.count, CABLES);
	assert_int_equal(uroce_port_of_context(pair.ends[far].context)->bond.count, 0);
}

UROCE_TESTS(failure_bonding)
{
#define TEST(name, setup) cmocka_unit_test_setup_teardown(test_##name, setup_##setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(fail_over, requester), TEST(fail_over, responder), TEST(both, requester),
		TEST(both, responder),	    TEST(restart, responder),	TEST(member, requester),
	};

	test_eal_init("--log-level=lib.ethdev:critical", "--log-level=pmd.net.bond*:critical", NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
