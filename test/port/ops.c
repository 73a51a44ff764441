/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A port's operations for its device: a turn belongs to the engine's worker, progress applies to each worker, and GIDs
 * come from the port.
 */

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_ring.h>

#include "cmocka_compat.h"
#include "eal.h"
#include "base/clock.h"
#include "groups.h"
#include "port/worker/pool.h"
#include "port/port.h"
#include "port/worker/worker.h"
#include "rings.h"
#include "uroce.h"

#define WORKERS 2

struct fixture {
	struct test_rings wire;
	struct uroce_worker *workers[WORKERS];
	struct ibv_context *context;
	struct uroce_device *dev;
	struct rte_mempool *pool;
};

static int
setup(void **state)
{
	static struct fixture f;

	test_rings_create(&f.wire, WORKERS);
	for (unsigned int i = 0; i < WORKERS; i++)
		f.workers[i] = uroce_create_worker(-1);
	f.context = uroce_open_port(f.wire.port_id, NULL, f.workers, WORKERS);
	f.pool = uroce_pool_create("test", 63, 128, SOCKET_ID_ANY);
	if (f.context == NULL || f.pool == NULL)
		return -1;
	f.dev = uroce_device_of(f.context);
	*state = &f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	struct rte_mbuf *m;

	if (uroce_close_device(f->context) != 0)
		return -1;
	for (unsigned int i = 0; i < WORKERS; i++) {
		while (rte_ring_dequeue(f->wire.tx[i], (void **)&m) == 0)
			rte_pktmbuf_free(m);
		if (uroce_destroy_worker(f->workers[i]) != 0)
			return -1;
	}
	uroce_pool_retire(f->pool);
	test_rings_destroy(&f->wire);
	return uroce_pools_retired() == 0 ? 0 : -1;
}

/* Put a frame that is too short for any protocol on the wire. */
static void
put(struct fixture *f, unsigned int queue)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(f->pool);

	assert_non_null(m);
	assert_non_null(rte_pktmbuf_append(m, 10));
	assert_int_equal(rte_ring_enqueue(f->wire.rx[queue], m), 0);
}

/* A thread inside an engine has the turn of that engine's worker, and of no other. */
static void
test_turn(void **state)
{
	struct fixture *f = *state;

	test_poll(f->workers, WORKERS, 10); /* receive the announcements */
	for (unsigned int i = 0; i < WORKERS; i++) {
		uroce_port_ops.worker->engine_enter(&f->workers[i]->engine);
		put(f, 0);
		put(f, 1);
		assert_int_equal(uroce_worker_poll(f->workers[i]), 0);
		assert_int_equal(uroce_worker_poll(f->workers[1 - i]), 1);
		assert_int_equal(rte_ring_count(f->wire.rx[i]), 1);
		uroce_port_ops.worker->engine_exit(&f->workers[i]->engine);
		assert_int_equal(uroce_worker_poll(f->workers[i]), 1);
	}
}

static void
test_progress(void **state)
{
	struct fixture *f = *state;
	uint64_t before = test_counter(f->context, "rx_frames");

	for (unsigned int i = 0; i < WORKERS; i++)
		put(f, i);
	uroce_port_ops.worker->progress(f->dev);
	for (unsigned int i = 0; i < WORKERS; i++) {
		assert_true(rte_ring_empty(f->wire.rx[i]));
		assert_false(f->workers[i]->cleanup); /* done by then, too */
	}
	assert_int_equal(test_counter(f->context, "rx_frames"), before + WORKERS);
}

/* The device's clock is that of the workers, the wall clock is the system's; neither goes back. */
static void
test_clocks(void **state)
{
	struct fixture *f = *state;
	uint64_t before_ns = uroce_clock_ns(), device_ns, wall_ns;
	uint64_t after_ns;

	uroce_port_ops.port->clocks(f->dev, &device_ns, &wall_ns);
	after_ns = uroce_clock_ns();
	assert_uint_in_range(device_ns, before_ns, after_ns);
	/* later than 2020 */
	assert_true(wall_ns > UINT64_C(1577836800) * 1000000000);
}

static void
test_query_gid(void **state)
{
	struct fixture *f = *state;
	struct uroce_port *port = uroce_port_of(f->dev);
	struct ibv_gid_entry entry = { 0 };

	assert_int_equal(uroce_port_ops.port->query_gid(f->dev, 0, &entry), 0);
	assert_memory_equal(entry.gid.raw, port->gids[0].subnet.gid, 16);
	assert_int_equal(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(uroce_port_ops.port->query_gid(f->dev, 1, &entry), -ENODATA);
	assert_int_equal(uroce_port_ops.port->query_gid(f->dev, UROCE_MAX_GID - 1, &entry), -ENODATA);
	assert_int_equal(uroce_port_ops.port->query_gid(f->dev, UROCE_MAX_GID, &entry), -EINVAL);
	assert_int_equal(uroce_port_ops.port->query_gid(f->dev, UINT_MAX, &entry), -EINVAL);
	assert_int_equal(uroce_add_address(f->context, "10.0.0.1/24"), 0);
	assert_int_equal(uroce_port_ops.port->query_gid(f->dev, 1, &entry), 0);
	assert_memory_equal(entry.gid.raw, port->gids[1].subnet.gid, 16);
	assert_int_equal(uroce_del_address(f->context, "10.0.0.1/24"), 0);
	assert_int_equal(uroce_port_ops.port->query_gid(f->dev, 1, &entry), -ENODATA);
}

UROCE_TESTS(port_ops)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turn),
		cmocka_unit_test(test_progress),
		cmocka_unit_test(test_clocks),
		cmocka_unit_test(test_query_gid),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, setup, teardown);
}
