/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * RX interrupts of a port whose worker sleeps, on an ethdev that behaves as a NIC: a frame raises an interrupt only if
 * it arrives while interrupts are enabled. The test replaces ethdev's functions for interrupts.
 */

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_ethdev.h>

#include "eal.h"
#include "port/ethdev/watch.h"
#include "port/port.h"
#include "port/worker/pool.h"
#include "rings.h"

static struct {
	int fd;
	bool has_interrupts;
	bool refuses_configure;	/* a configuration with RX interrupts */
	bool refuses_start;
	bool fails;		/* to enable an interrupt */
	bool is_configured;	/* with RX interrupts */
	bool is_enabled;
	struct test_rings *late;	/* a frame arrives just before the next call enables the interrupt */
} nic;

static struct rte_mempool *pool;

static void
arrive(struct test_rings *wire)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	assert_non_null(m);
	assert_non_null(rte_pktmbuf_append(m, 10));	/* too short for any protocol */
	assert_int_equal(rte_ring_enqueue(wire->rx[0], m), 0);
	if (nic.is_enabled)
		assert_int_equal(eventfd_write(nic.fd, 1), 0);
}

int
rte_eth_dev_configure(uint16_t port_id, uint16_t nb_rx, uint16_t nb_tx, const struct rte_eth_conf *conf)
{
	int (*real)(uint16_t, uint16_t, uint16_t, const struct rte_eth_conf *);

	if (nic.refuses_configure && conf->intr_conf.rxq != 0)
		return -EINVAL;
	nic.is_configured = conf->intr_conf.rxq != 0;
	*(void **)&real = dlsym(RTLD_NEXT, "rte_eth_dev_configure");
	return real(port_id, nb_rx, nb_tx, conf);
}

int
rte_eth_dev_start(uint16_t port_id)
{
	int (*real)(uint16_t);

	if (nic.refuses_start && nic.is_configured)
		return -EIO;
	*(void **)&real = dlsym(RTLD_NEXT, "rte_eth_dev_start");
	return real(port_id);
}

int
rte_eth_dev_rx_intr_enable(uint16_t port_id, uint16_t queue_id)
{
	if (!nic.has_interrupts)
		return -ENOTSUP;
	if (nic.fails)
		return -EIO;
	if (nic.late != NULL)
		arrive(nic.late);
	nic.late = NULL;
	nic.is_enabled = true;
	return 0;
}

int
rte_eth_dev_rx_intr_disable(uint16_t port_id, uint16_t queue_id)
{
	nic.is_enabled = false;
	return 0;
}

int
rte_eth_dev_rx_intr_ctl_q_get_fd(uint16_t port_id, uint16_t queue_id)
{
	assert_true(nic.is_configured);	/* ethdev would log an error */
	return nic.fd;
}

struct fixture {
	struct test_rings wire;
	struct uroce_worker *worker;
	struct ibv_context *context;
	struct uroce_port_queue *queue;
	int fd;
};

static void
port_open(struct fixture *f)
{
	f->context = uroce_open_port(f->wire.port_id, NULL, &f->worker, 1);
	assert_non_null(f->context);
	f->queue = &uroce_port_of_context(f->context)->queues[0];
}

static int
setup(void **state)
{
	static struct fixture f;

	memset(&nic, 0, sizeof(nic));
	nic.has_interrupts = true;
	nic.fd = eventfd(0, EFD_NONBLOCK);
	test_rings_create(&f.wire, 1);
	f.worker = uroce_create_worker(-1);
	*state = &f;
	return f.worker == NULL;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	struct rte_mbuf *m;

	assert_int_equal(uroce_close_device(f->context), 0);
	assert_false(nic.is_enabled);
	while (rte_ring_dequeue(f->wire.tx[0], (void **)&m) == 0)
		rte_pktmbuf_free(m);
	assert_int_equal(uroce_destroy_worker(f->worker), 0);
	assert_int_equal(uroce_pools_retired(), 0);
	test_rings_destroy(&f->wire);
	close(nic.fd);
	return 0;
}

/* Leave the worker without work and timers. */
static void
settle(struct fixture *f)
{
	while (uroce_worker_poll(f->worker) != 0)
		;
	uroce_port_of_context(f->context)->upkeep_ns = UINT64_MAX;
}

static void
arm(struct fixture *f)
{
	settle(f);
	assert_int_equal(uroce_worker_arm(f->worker, NULL), 0);
}

static bool
is_readable(const struct fixture *f)
{
	struct pollfd p = { .fd = f->fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void
test_interrupt(void **state)
{
	struct fixture *f = *state;

	f->fd = uroce_worker_fd(f->worker);
	port_open(f);
	assert_true(nic.is_configured);
	assert_int_equal(f->queue->rx_wake, UROCE_RX_WAKE_INTERRUPT);
	for (unsigned int i = 0; i < 3; i++) {
		assert_false(nic.is_enabled);
		arm(f);
		assert_true(nic.is_enabled);
		assert_false(is_readable(f));
		arrive(&f->wire);
		assert_true(is_readable(f));
		assert_int_equal(uroce_worker_poll(f->worker), 1);
		arrive(&f->wire);	/* without an interrupt */
	}
}

/* Frames that arrive before the interrupt is enabled raise none. */
static void
test_race(void **state)
{
	struct fixture *f = *state;

	f->fd = uroce_worker_fd(f->worker);
	port_open(f);
	settle(f);
	arrive(&f->wire);
	assert_int_equal(uroce_worker_arm(f->worker, NULL), EAGAIN);
	assert_false(nic.is_enabled);
	settle(f);
	nic.late = &f->wire;
	assert_int_equal(uroce_worker_arm(f->worker, NULL), EAGAIN);
	assert_false(nic.is_enabled);
	assert_true(rte_ring_empty(f->wire.rx[0]));
	arm(f);
	assert_false(is_readable(f));
}

/* The device is closed while the worker is armed. */
static void
test_close(void **state)
{
	struct fixture *f = *state;

	f->fd = uroce_worker_fd(f->worker);
	port_open(f);
	arm(f);
	assert_true(nic.is_enabled);
}

static void
assert_polls(struct fixture *f)
{
	uint64_t timeout_ns = 0;

	assert_int_equal(f->queue->rx_wake, UROCE_RX_WAKE_NONE);
	settle(f);
	assert_int_equal(uroce_worker_arm(f->worker, &timeout_ns), 0);
	assert_true(timeout_ns == UROCE_WAIT_POLL_NS);
	assert_false(nic.is_enabled);
}

static void
test_fails(void **state)
{
	struct fixture *f = *state;
	uint64_t timeout_ns = 0;

	f->fd = uroce_worker_fd(f->worker);
	port_open(f);
	arm(f);
	settle(f);
	nic.fails = true;
	assert_int_equal(uroce_worker_arm(f->worker, &timeout_ns), 0);
	assert_true(timeout_ns == UROCE_WAIT_POLL_NS);
}

static void
test_refused(void **state)
{
	struct fixture *f = *state;

	f->fd = uroce_worker_fd(f->worker);
	nic.refuses_configure = true;
	port_open(f);
	assert_polls(f);
	assert_int_equal(uroce_close_device(f->context), 0);
	nic.refuses_configure = false;
	nic.refuses_start = true;
	port_open(f);
	assert_false(nic.is_configured);
	assert_polls(f);
	assert_int_equal(uroce_close_device(f->context), 0);
	nic.refuses_start = false;
	nic.has_interrupts = false;
	port_open(f);
	assert_polls(f);
}

/* A port that was opened before its worker had a descriptor has no interrupts. */
static void
test_too_late(void **state)
{
	struct fixture *f = *state;

	port_open(f);
	assert_false(nic.is_configured);
	f->fd = uroce_worker_fd(f->worker);
	assert_polls(f);
}

/* A driver may have a descriptor only while its peer is connected. */
static void
test_connected_later(void **state)
{
	struct fixture *f = *state;
	int fd = nic.fd;

	nic.fd = -1;
	f->fd = uroce_worker_fd(f->worker);
	port_open(f);
	assert_int_equal(rte_eth_dev_set_link_down(f->wire.port_id), 0);
	uroce_watch_link(uroce_port_of_context(f->context));
	assert_polls(f);
	nic.fd = fd;
	assert_int_equal(rte_eth_dev_set_link_up(f->wire.port_id), 0);
	uroce_watch_link(uroce_port_of_context(f->context));
	assert_true(is_readable(f));
	arm(f);
	assert_int_equal(f->queue->rx_wake, UROCE_RX_WAKE_INTERRUPT);
	arm(f);
	assert_true(nic.is_enabled);
	arrive(&f->wire);
	assert_true(is_readable(f));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_interrupt, setup, teardown),
		cmocka_unit_test_setup_teardown(test_race, setup, teardown),
		cmocka_unit_test_setup_teardown(test_close, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_connected_later, setup, teardown),
	};

	test_eal_init(NULL);
	pool = uroce_pool_create("test", 63, 128, SOCKET_ID_ANY);
	return pool == NULL || cmocka_run_group_tests(tests, NULL, NULL);
}
