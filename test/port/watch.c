/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A port's events for the application: links that go down and up, by the driver's callback or by polling; a removed
 * device; a driver that requests a reset; address changes. The test replaces ethdev's callbacks and reset.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>

#include <cmocka.h>

#include "eal.h"
#include "base/clock.h"
#include "port/ethdev/watch.h"
#include "tap.h"
#include "wire/gid.h"
#include "uroce_cma.h"

static const char *const cidrs[] = { "10.0.0.1/24", NULL };

static struct {
	rte_eth_dev_cb_fn fn[RTE_ETH_EVENT_MAX];
	void *arg;
	unsigned int busy; /* unregistrations that still find a callback running */
	unsigned int resets;
	int reset_error;
} ethdev;

/* Replaces DPDK's function: no driver calls here. */
int
rte_eth_dev_callback_register(uint16_t port_id, enum rte_eth_event_type event,
			      rte_eth_dev_cb_fn cb_fn, void *cb_arg)
{
	assert_null(ethdev.fn[event]);
	ethdev.fn[event] = cb_fn;
	ethdev.arg = cb_arg;
	return 0;
}

int
rte_eth_dev_callback_unregister(uint16_t port_id, enum rte_eth_event_type event,
				rte_eth_dev_cb_fn cb_fn, void *cb_arg)
{
	assert_ptr_equal(ethdev.fn[event], cb_fn);
	assert_ptr_equal(ethdev.arg, cb_arg);
	if (ethdev.busy > 0) {
		ethdev.busy--;
		return -EAGAIN;
	}
	ethdev.fn[event] = NULL;
	return 0;
}

/* Replaces DPDK's function: net_ring has none. */
int
rte_eth_dev_reset(uint16_t port_id)
{
	struct rte_eth_link link;

	assert_int_equal(rte_eth_link_get_nowait(port_id, &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN); /* the port is stopped */
	ethdev.resets++;
	return ethdev.reset_error;
}

static void
call(struct tap *t, enum rte_eth_event_type event)
{
	assert_non_null(ethdev.fn[event]);
	assert_int_equal(ethdev.fn[event](t->wire.port_id, event, ethdev.arg, NULL), 0);
}

static void
expect_event(struct tap *t, enum ibv_event_type type)
{
	struct ibv_async_event event;

	assert_int_equal(uroce_get_async_event(t->context, &event), 0);
	assert_int_equal(event.event_type, type);
	if (type != IBV_EVENT_DEVICE_FATAL)
		assert_int_equal(event.element.port_num, 1);
	uroce_ack_async_event(&event);
}

static void
expect_no_event(struct tap *t)
{
	struct ibv_async_event event;

	assert_int_equal(uroce_get_async_event(t->context, &event), -1);
	assert_int_equal(errno, EAGAIN);
}

/* Open a device, and drain the event of its first address. */
static void
open_device(struct tap *t)
{
	tap_open(t, 0, cidrs);
	assert_int_equal(fcntl(t->context->async_fd, F_SETFL, O_NONBLOCK), 0);
	expect_event(t, IBV_EVENT_GID_CHANGE);
	expect_no_event(t);
}

static enum ibv_port_state
port_state(struct tap *t)
{
	struct ibv_port_attr attr;

	assert_int_equal(uroce_query_port(t->context, 1, &attr), 0);
	return attr.state;
}

/* Without callbacks of the driver, worker 0 polls the link, at intervals. */
static void
test_polled_link(void **state)
{
	uint64_t now_ns = uroce_clock_ns() + 3600 * UINT64_C(1000000000);
	const struct rte_ether_addr peer = { { 2, 0, 0, 0, 0, 0x99 } };
	struct rte_mbuf *frames[UROCE_NEIGHBOR_PENDING];
	struct uroce_neighbor *n;
	uint8_t gid[16];
	struct tap t;

	open_device(&t);
	uroce_gid_from_ipv4(gid, RTE_BE32(0x0a000002));
	n = uroce_neighbor_get(&t.port->neighbors, gid);
	uroce_neighbor_learn(&t.port->neighbors, gid, &peer, UROCE_NEIGHBOR_SOLICITED, now_ns, frames);
	tap_upkeep(&t, now_ns);
	assert_true(t.port->upkeep_ns <= now_ns + UROCE_LINK_POLL_NS);
	assert_int_equal(rte_eth_dev_set_link_down(t.wire.port_id), 0);
	tap_upkeep(&t, now_ns + UROCE_LINK_POLL_NS - 1);
	expect_no_event(&t);
	tap_upkeep(&t, now_ns + UROCE_LINK_POLL_NS);
	expect_event(&t, IBV_EVENT_PORT_ERR);
	assert_int_equal(n->lladdr, 0);	/* another host may have the address when the link is up again */
	assert_int_equal(port_state(&t), IBV_PORT_DOWN);
	tap_upkeep(&t, now_ns + 2 * UROCE_LINK_POLL_NS);
	expect_no_event(&t);
	assert_int_equal(rte_eth_dev_set_link_up(t.wire.port_id), 0);
	tap_upkeep(&t, now_ns + 3 * UROCE_LINK_POLL_NS);
	expect_event(&t, IBV_EVENT_PORT_ACTIVE);
	assert_int_equal(port_state(&t), IBV_PORT_ACTIVE);
	expect_no_event(&t);
	assert_int_equal(t.port->link_downed, 1);
	uroce_neighbor_put(&t.port->neighbors, n, now_ns);
	tap_close(&t);
}

static void
test_called(void **state)
{
	struct tap t;

	open_device(&t);
	call(&t, RTE_ETH_EVENT_INTR_LSC); /* nothing has changed */
	expect_no_event(&t);
	assert_int_equal(rte_eth_dev_set_link_down(t.wire.port_id), 0);
	call(&t, RTE_ETH_EVENT_INTR_LSC);
	expect_event(&t, IBV_EVENT_PORT_ERR);
	call(&t, RTE_ETH_EVENT_INTR_LSC);
	expect_no_event(&t);
	assert_int_equal(rte_eth_dev_set_link_up(t.wire.port_id), 0);
	call(&t, RTE_ETH_EVENT_INTR_LSC);
	expect_event(&t, IBV_EVENT_PORT_ACTIVE);
	expect_no_event(&t);
	tap_close(&t);
}

/* A removal is reported once, and no link event follows: the removed device is not polled. */
static void
test_removed(void **state)
{
	struct tap t;

	open_device(&t);
	call(&t, RTE_ETH_EVENT_INTR_RMV);
	expect_event(&t, IBV_EVENT_PORT_ERR);
	expect_event(&t, IBV_EVENT_DEVICE_FATAL);
	call(&t, RTE_ETH_EVENT_INTR_RMV);
	call(&t, RTE_ETH_EVENT_INTR_LSC);
	tap_upkeep(&t, uroce_clock_ns() + 3600 * UINT64_C(1000000000));
	expect_no_event(&t);
	assert_int_equal(port_state(&t), IBV_PORT_DOWN);
	assert_true(uroce_watch_is_removed(t.port));
	tap_close(&t);
}

static void
restart(struct tap *t, int error)
{
	assert_int_equal(uroce_stop_port(t->context), 0);
	ethdev.resets = 0;
	ethdev.reset_error = error;
	assert_int_equal(uroce_start_port(t->context, NULL, NULL, 0), -error);
}

/* The driver requests a reset: the link is down until the port is started again, which resets it. */
static void
test_reset(void **state)
{
	struct tap t;

	open_device(&t);
	call(&t, RTE_ETH_EVENT_INTR_RESET);
	expect_event(&t, IBV_EVENT_PORT_ERR);
	assert_int_equal(port_state(&t), IBV_PORT_DOWN);
	call(&t, RTE_ETH_EVENT_INTR_RESET);
	call(&t, RTE_ETH_EVENT_INTR_LSC);
	expect_no_event(&t);
	restart(&t, -EIO);
	assert_int_equal(ethdev.resets, 1);
	ethdev.reset_error = 0;
	assert_int_equal(uroce_start_port(t.context, NULL, NULL, 0), 0);
	assert_int_equal(ethdev.resets, 2);
	expect_event(&t, IBV_EVENT_PORT_ACTIVE);
	assert_int_equal(port_state(&t), IBV_PORT_ACTIVE);
	restart(&t, 0);
	assert_int_equal(ethdev.resets, 0);
	expect_event(&t, IBV_EVENT_PORT_ERR);
	expect_event(&t, IBV_EVENT_PORT_ACTIVE);
	expect_no_event(&t);
	tap_close(&t);
}

/* A device that is removed while its port is stopped does not start again. */
static void
test_removed_while_stopped(void **state)
{
	struct tap t;

	open_device(&t);
	assert_int_equal(uroce_stop_port(t.context), 0);
	expect_event(&t, IBV_EVENT_PORT_ERR);
	call(&t, RTE_ETH_EVENT_INTR_LSC);
	call(&t, RTE_ETH_EVENT_INTR_RMV);
	expect_event(&t, IBV_EVENT_DEVICE_FATAL);
	expect_no_event(&t);
	assert_int_equal(uroce_start_port(t.context, NULL, NULL, 0), ENODEV);
	tap_close(&t);
}

/* The switch behind the link may have forgotten the port: it announces its addresses. */
static void
test_announced(void **state)
{
	struct rte_mbuf *m;
	struct tap t;

	open_device(&t);
	tap_expect_nothing(&t);
	assert_int_equal(uroce_stop_port(t.context), 0);
	assert_int_equal(uroce_start_port(t.context, NULL, NULL, 0), 0);
	m = tap_receive(&t); /* of the link-local address: test/port/nd.c */
	assert_int_equal(rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->ether_type, RTE_BE16(RTE_ETHER_TYPE_IPV6));
	rte_pktmbuf_free(m);
	tap_expect_text(&t, "ffffffffffff M 0806 0001 0800 06 04 0001 M 0a000001 Z6 0a000001 Z18");
	tap_close(&t);
}

/* IDs get an event, and no ID can bind to the device any more. */
static void
test_removed_under_cm(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct rdma_event_channel *channel;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	struct tap t;

	inet_pton(AF_INET, "10.0.0.1", &in.sin_addr);
	open_device(&t);
	channel = uroce_rdma_create_event_channel();
	assert_non_null(channel);
	assert_int_equal(uroce_rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_rdma_bind_addr(id, (struct sockaddr *)&in), 0);
	assert_ptr_equal(id->verbs, t.context);
	call(&t, RTE_ETH_EVENT_INTR_RMV);
	assert_int_equal(uroce_rdma_get_cm_event(channel, &event), 0);
	assert_int_equal(event->event, RDMA_CM_EVENT_DEVICE_REMOVAL);
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	assert_int_equal(uroce_rdma_destroy_id(id), 0);
	assert_int_equal(uroce_rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_rdma_bind_addr(id, (struct sockaddr *)&in), -1);
	assert_int_equal(uroce_rdma_destroy_id(id), 0);
	uroce_rdma_destroy_event_channel(channel);
	tap_close(&t);
}

static void
test_addresses(void **state)
{
	struct tap t;

	open_device(&t);
	assert_int_equal(uroce_add_address(t.context, "fd00::1/64"), 0);
	expect_event(&t, IBV_EVENT_GID_CHANGE);
	assert_int_equal(uroce_add_address(t.context, "fd00::1/64"), EEXIST);
	assert_int_equal(uroce_del_address(t.context, "fd00::2/64"), ENOENT);
	expect_no_event(&t);
	assert_int_equal(uroce_del_address(t.context, "fd00::1/64"), 0);
	expect_event(&t, IBV_EVENT_GID_CHANGE);
	expect_no_event(&t);
	tap_close(&t);
}

/* Closing a device waits for a running callback. */
static void
test_stop(void **state)
{
	struct tap t;

	open_device(&t);
	ethdev.busy = 3;
	tap_close(&t);
	assert_int_equal(ethdev.busy, 0);
	for (unsigned int i = 0; i < RTE_DIM(ethdev.fn); i++)
		assert_null(ethdev.fn[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_polled_link), cmocka_unit_test(test_called),
		cmocka_unit_test(test_removed),     cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_stop),        cmocka_unit_test(test_removed_under_cm),
		cmocka_unit_test(test_reset),       cmocka_unit_test(test_removed_while_stopped),
		cmocka_unit_test(test_announced),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
