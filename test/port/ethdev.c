/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The Ethernet device below a port: its configuration, refused configurations, and that it is released with all its
 * mbufs.
 */

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_bus_vdev.h>
#include <rte_ring.h>

#include "eal.h"
#include "groups.h"
#include "port/ethdev/ethdev.h"
#include "port/worker/pool.h"
#include "port/worker/worker.h"
#include "rings.h"
#include "tasks.h"
#include "uroce.h"

#define QUEUES 2

static struct uroce_worker worker = { .conf.reorder_frames = UROCE_REORDER_FRAMES };
static struct uroce_port_queue queues[QUEUES + 1];
static struct uroce_port port;
static struct test_rings rings;

static int
setup(void **state)
{
	test_rings_create(&rings, QUEUES);
	return 0;
}

static int
teardown(void **state)
{
	test_rings_destroy(&rings);
	return 0;
}

static void
prepare(uint16_t nb_queues)
{
	memset(&port, 0, sizeof(port));
	memset(queues, 0, sizeof(queues));
	port.port_id = rings.port_id;
	port.nb_queues = nb_queues;
	port.most_queues = nb_queues;
	port.numa_node = SOCKET_ID_ANY;
	port.queues = queues;
	for (uint16_t i = 0; i < nb_queues; i++) {
		queues[i].port = &port;
		queues[i].worker = &worker;
		queues[i].port_id = rings.port_id;
		queues[i].id = i;
	}
}

static void
assert_free(void)
{
	struct rte_eth_dev_owner owner;

	assert_int_equal(rte_eth_dev_owner_get(rings.port_id, &owner), 0);
	assert_int_equal(owner.id, RTE_ETH_DEV_NO_OWNER);
	for (unsigned int i = 0; i < QUEUES; i++)
		assert_null(queues[i].pool);
	assert_int_equal(uroce_pools_retired(), 0);
}

static void
test_refused(void **state)
{
	const struct uroce_port_conf defaults = { .size = sizeof(defaults) };
	const struct uroce_port_conf small = { .size = sizeof(small), .mtu = 339 };
	const struct uroce_port_conf large = { .size = sizeof(large), .nb_rx_desc = 65535 }; /* more than memory */
	struct rte_eth_dev_owner owner = { .name = "test" };

	/* uroce_open_port() itself refuses a missing port: see port.c */
	prepare(QUEUES + 1);
	assert_int_equal(uroce_ethdev_start(&port, &defaults), -EINVAL);
	assert_free();
	prepare(1);
	assert_int_equal(uroce_ethdev_start(&port, &small), -EINVAL);
	assert_free();
	assert_int_equal(uroce_ethdev_start(&port, &large), -ENOMEM);
	assert_free();

	assert_int_equal(rte_eth_dev_owner_new(&owner.id), 0);
	assert_int_equal(rte_eth_dev_owner_set(rings.port_id, &owner), 0);
	assert_int_equal(uroce_ethdev_start(&port, &defaults), -EBUSY);
	assert_int_equal(rte_eth_dev_owner_unset(rings.port_id, owner.id), 0);
	assert_free();
}

static void
test_conf(void **state)
{
	static const struct {
		struct uroce_port_conf conf;
		uint16_t nb_queues;
		uint16_t mtu;
		unsigned int mbufs;
	} cases[] = {
		{ { .mtu = 0 }, 1, UROCE_PORT_MTU, UROCE_RX_MBUFS + UROCE_REORDER_FRAMES },
		{ { .mtu = 1500, .nb_rx_desc = 64 }, 2, 1500, 64 + 1023 + UROCE_REORDER_FRAMES / 2 },
		{ { .mtu = 1500, .go_back_n = 1 }, 1, 1500, UROCE_RX_MBUFS },
		{ { .mtu = 9000, .nb_rx_desc = 2048, .nb_tx_desc = 64 }, 1, 9000, 4095 + UROCE_REORDER_FRAMES },
	};
	struct rte_eth_dev_owner owner;

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		prepare(cases[i].nb_queues);
		assert_int_equal(uroce_ethdev_start(&port, &cases[i].conf), 0);
		assert_int_equal(port.mtu, cases[i].mtu);
		assert_true(port.multi_seg);
		assert_true(rte_is_valid_assigned_ether_addr(&port.mac));
		assert_int_equal(rte_eth_dev_owner_get(rings.port_id, &owner), 0);
		assert_int_equal(owner.id, port.owner);
		assert_string_equal(owner.name, "uroce");
		for (unsigned int j = 0; j < cases[i].nb_queues; j++) {
			assert_int_equal(queues[j].pool->size, cases[i].mbufs);
			/* the largest frame fits into one mbuf */
			assert_true(rte_pktmbuf_data_room_size(queues[j].pool) >=
				    RTE_PKTMBUF_HEADROOM + cases[i].mtu + 14 + 4 + 4);
		}
		uroce_ethdev_stop(&port);
		assert_free();
	}
}

/* A port without an owner has none after the stop, so that other users find it; an owner that it had stays. */
static void
test_no_owner(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .mtu = 1500, .no_owner = 1 };
	struct rte_eth_dev_owner owner = { .name = "test" }, seen;

	prepare(1);
	assert_int_equal(rte_eth_dev_owner_new(&owner.id), 0);
	assert_int_equal(rte_eth_dev_owner_set(rings.port_id, &owner), 0);
	assert_int_equal(uroce_ethdev_start(&port, &conf), -EBUSY);
	assert_int_equal(rte_eth_dev_owner_unset(rings.port_id, owner.id), 0);

	assert_int_equal(uroce_ethdev_start(&port, &conf), 0);
	assert_int_equal(rte_eth_dev_owner_get(rings.port_id, &seen), 0);
	assert_int_equal(seen.id, RTE_ETH_DEV_NO_OWNER);
	/* an owner set in between stays */
	assert_int_equal(rte_eth_dev_owner_set(rings.port_id, &owner), 0);
	uroce_ethdev_stop(&port);
	assert_int_equal(rte_eth_dev_owner_get(rings.port_id, &seen), 0);
	assert_int_equal(seen.id, owner.id);
	assert_int_equal(rte_eth_dev_owner_unset(rings.port_id, owner.id), 0);
	assert_free();
}

/* Frames that were received but not read return to their pool. */
static void
test_stop(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .mtu = 1500 };
	struct rte_mbuf *frames[100];

	prepare(QUEUES);
	assert_int_equal(uroce_ethdev_start(&port, &conf), 0);
	for (unsigned int i = 0; i < QUEUES; i++) {
		assert_int_equal(rte_pktmbuf_alloc_bulk(queues[i].pool, frames, RTE_DIM(frames)),
				 0);
		assert_int_equal(rte_ring_enqueue_bulk(rings.rx[i], (void **)frames,
						       RTE_DIM(frames), NULL),
				 RTE_DIM(frames));
	}
	uroce_ethdev_stop(&port);
	for (unsigned int i = 0; i < QUEUES; i++)
		assert_true(rte_ring_empty(rings.rx[i]));
	assert_free();
}

/* A device that cannot filter groups receives all of them. */
static void
test_listen(void **state)
{
	static const struct uroce_addresses none;
	const struct uroce_port_conf conf = { .size = sizeof(conf), .mtu = 1500 };

	prepare(1);
	assert_int_equal(uroce_ethdev_start(&port, &conf), 0);
	uroce_ethdev_listen(&port, &none);
	assert_true(rte_eth_allmulticast_get(rings.port_id) == 1 ||
		    rte_eth_promiscuous_get(rings.port_id) == 1);
	uroce_ethdev_stop(&port);
	assert_free();
}

/* The driver of this device starts a thread when it is configured: the thread takes no signals of the process except
 * faults, which go to the thread that causes them. The thread stays even if there is no memory for the queues. */
static void
test_signals(void **state)
{
	static const int faults[] = { SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP };
	const struct uroce_port_conf conf = { .size = sizeof(conf), .nb_rx_desc = 65535 };
	struct test_tasks before, started;
	sigset_t open, own;
	char args[64];

	snprintf(args, sizeof(args), "iface=/tmp/uroce-test-vhost-%d", getpid());
	if (rte_vdev_init("net_vhost0", args) != 0)
		skip(); /* some distributions lack this driver */
	prepare(1);
	assert_int_equal(rte_eth_dev_get_port_by_name("net_vhost0", &port.port_id), 0);
	test_tasks_list(&before);
	assert_int_equal(uroce_ethdev_start(&port, &conf), -ENOMEM);
	test_tasks_since(&before, &started);
	assert_int_not_equal(started.count, 0);
	sigemptyset(&open);
	for (unsigned int i = 0; i < RTE_DIM(faults); i++)
		sigaddset(&open, faults[i]);
	assert_int_equal(test_tasks_take_signals(&started, &open), 0);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &own), 0);
	assert_true(sigisemptyset(&own));
	assert_int_equal(rte_vdev_uninit("net_vhost0"), 0);
}

UROCE_TESTS(port_ethdev)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_conf),
		cmocka_unit_test(test_no_owner),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_listen),
		cmocka_unit_test(test_signals),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, setup, teardown);
}
