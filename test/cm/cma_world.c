/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The service of the two devices. Either the test advances the clock, or a thread does.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <rte_common.h>

#include "cma_world.h"
#include "uroce.h"
#include "uroce_config.h"
#include "cm/rdma/cma_sockaddr.h"
#include "verbs/qp/qp.h"

struct mad {
	STAILQ_ENTRY(mad) link;
	struct uroce_cm_path path;
	struct world_device *from;
	uint8_t bytes[UROCE_CM_MAD_BYTES];
};

struct world world;
uint32_t world_max_conns = 1 << 16;

static STAILQ_HEAD(, mad) under_way = STAILQ_HEAD_INITIALIZER(under_way);
static pthread_t thread;
static bool thread_runs; /* atomic */

static struct world_device *
device_of(struct uroce_device *dev)
{
	return container_of(harness_device_of(dev), struct world_device, host);
}

/* ---- the service ---- */

static void
send_mad(void *arg, const struct uroce_cm_path *path, const uint8_t *bytes)
{
	struct uroce_cm_agent *agent = arg;
	struct mad *mad;

	world.mads++;
	if (world.lose != NULL && world.lose(bytes))
		return;
	mad = malloc(sizeof(*mad));
	assert_non_null(mad);
	mad->path = *path;
	mad->from = device_of(agent->dev);
	memcpy(mad->bytes, bytes, sizeof(mad->bytes));
	STAILQ_INSERT_TAIL(&under_way, mad, link);
}

static const struct uroce_cm_ops cm_ops = { .send = send_mad, .event = uroce_cma_event };

/* The communication manager of a removed device runs on. */
static struct uroce_cm *
manager_at(const union ibv_gid *gid, uint8_t *sgid_index)
{
	for (unsigned int d = 0; d < 2; d++) {
		struct uroce_device *dev = &world.devices[d].host.dev;
		int index = dev->ops.port->find_gid(dev, gid);

		if (index < 0)
			continue;
		*sgid_index = (uint8_t)index;
		return world.devices[d].agent.cm;
	}
	return NULL;
}

/* The caller holds the lock. */
static void
deliver(void)
{
	struct mad *mad;

	while ((mad = STAILQ_FIRST(&under_way)) != NULL) {
		struct uroce_cm_path back = mad->path;
		struct uroce_cm *to;

		STAILQ_REMOVE_HEAD(&under_way, link);
		back.sgid = mad->path.dgid;
		back.dgid = mad->path.sgid;
		back.mtu = IBV_MTU_2048;
		to = manager_at(&back.sgid, &back.sgid_index);
		if (to != NULL)
			uroce_cm_receive(to, mad->bytes, sizeof(mad->bytes), &back, world.now_ns);
		free(mad);
	}
}

void
world_deliver(void)
{
	pthread_mutex_lock(&uroce_cm_lock);
	deliver();
	pthread_mutex_unlock(&uroce_cm_lock);
}

static uint64_t
next_deadline(void)
{
	uint64_t next = uroce_cma_deadline();

	for (unsigned int d = 0; d < 2; d++)
		next = RTE_MIN(next, uroce_cm_deadline(world.devices[d].agent.cm));
	return next;
}

static void
expire(uint64_t now_ns)
{
	world.now_ns = now_ns;
	for (unsigned int d = 0; d < 2; d++)
		uroce_cm_expire(world.devices[d].agent.cm, now_ns);
	uroce_cma_expire(now_ns);
	deliver();
}

void
world_pass(uint64_t ns)
{
	const uint64_t until = world.now_ns + ns;

	pthread_mutex_lock(&uroce_cm_lock);
	deliver();
	while (next_deadline() <= until)
		expire(RTE_MAX(next_deadline(), world.now_ns + 1));
	expire(until);
	pthread_mutex_unlock(&uroce_cm_lock);
}

static void
kick(struct uroce_device *dev)
{
	__atomic_fetch_add(&world.kicks, 1, __ATOMIC_RELAXED);
}

/* The counter of the first device counts for both. */
static int
start(struct uroce_device *dev)
{
	assert_int_equal(pthread_mutex_trylock(&uroce_cm_lock), 0);
	pthread_mutex_unlock(&uroce_cm_lock);
	if (world.start_error != 0)
		return world.start_error;
	if (world.second_fails && dev->index == 1)
		return -ENOMEM;
	if (dev->index == 0) {
		assert_int_equal(world.started, 0);
		world.started++;
		world.starts++;
	}
	world_come(dev->index);
	return 0;
}

static void
finish(struct uroce_device *dev)
{
	struct world_device *device = device_of(dev);

	if (!device->come && !device->gone)
		return;
	if (dev->index == 0) {
		assert_int_equal(world.started, 1);
		world.started--;
	}
	if (!device->gone)
		world_go(dev->index);
	device->gone = false;
}

void
world_come(unsigned int d)
{
	struct world_device *device = &world.devices[d];

	pthread_mutex_lock(&uroce_cm_lock);
	uroce_cma_device_come(&device->agent);
	device->come = true;
	device->gone = false;
	pthread_mutex_unlock(&uroce_cm_lock);
}

void
world_go(unsigned int d)
{
	struct world_device *device = &world.devices[d];

	pthread_mutex_lock(&uroce_cm_lock);
	uroce_cma_device_gone(&device->agent);
	device->come = false;
	device->gone = true;
	pthread_mutex_unlock(&uroce_cm_lock);
}

/* 10.0.0.* and fd00::* */
static bool
in_subnet(const union ibv_gid *gid)
{
	static const uint8_t v4[15] = { [10] = 0xff, [11] = 0xff, 10 };
	static const uint8_t v6[15] = { 0xfd };

	return memcmp(gid->raw, v4, sizeof(v4)) == 0 || memcmp(gid->raw, v6, sizeof(v6)) == 0;
}

/* Without a source address, only the first device has routes. */
static int
route(struct uroce_device *dev, const union ibv_gid *sgid, const union ibv_gid *dgid, uint8_t *sgid_index)
{
	int index = dgid->raw[10] == 0xff ? 0 : 1;

	if (!in_subnet(dgid) || (sgid == NULL && dev->index != 0))
		return -ENETUNREACH;
	if (sgid != NULL)
		index = dev->ops.port->find_gid(dev, sgid);
	*sgid_index = (uint8_t)index;
	return index < 0 ? -ENETUNREACH : 0;
}

static int
resolve(struct uroce_device *dev, const union ibv_gid *dgid)
{
	uint8_t index;

	return uroce_cm_find(dgid, &index) != NULL ? 0 : world.resolve;
}

static const struct uroce_service_ops service_ops = {
	.start = start,
	.stop = finish,
	.kick = kick,
};

/* ---- set-up ---- */

static void *
turn_clock(void *arg)
{
	const struct timespec pause = { .tv_nsec = 100000 };

	while (__atomic_load_n(&thread_runs, __ATOMIC_ACQUIRE)) {
		world_pass(10 * WORLD_MS);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void
device_create(unsigned int d)
{
	static const char *const names[] = { "world0", "world1" };
	struct world_device *device = &world.devices[d];
	const struct uroce_device_conf conf = {
		.name = names[d],
		.node_guid = 0x100 + d,
		.index = (uint16_t)d,
		.numa_node = -1,
		.log2_max_mr = 8,
		.log2_max_qp = 8,
	};
	const struct uroce_cm_conf cm_conf = {
		.ops = &cm_ops,
		.arg = &device->agent,
		.ca_guid = 0x100 + d,
		.ca_ack_delay = UROCE_LOCAL_CA_ACK_DELAY,
		.max_conns = world_max_conns,
	};

	harness_device_init_standin(&device->host, &conf);
	device->port_ops = *device->host.dev.ops.port;
	device->port_ops.route = route;
	device->port_ops.resolve = resolve;
	device->host.dev.ops.port = &device->port_ops;
	device->host.dev.ops.service = &service_ops;
	device->host.clock_ns = &world.now_ns;
	device->host.active_mtu = IBV_MTU_2048;
	uroce_cma_addr_to_gid(world_v4(1 + d, 0), &device->host.gids[0]);
	uroce_cma_addr_to_gid(world_v6(1 + d, 0), &device->host.gids[1]);
	device->agent.dev = &device->host.dev;
	device->agent.cm = uroce_cm_create(&cm_conf);
	assert_non_null(device->agent.cm);
	uroce_cm_device_opened(&device->host.dev);
}

int
world_setup(void **state)
{
	memset(&world, 0, sizeof(world));
	world.now_ns = WORLD_MS;
	for (unsigned int d = 0; d < 2; d++)
		device_create(d);
	return 0;
}

int
world_setup_threaded(void **state)
{
	world_setup(state);
	world.threaded = true;
	__atomic_store_n(&thread_runs, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_create(&thread, NULL, turn_clock, NULL), 0);
	return 0;
}

int
world_teardown(void **state)
{
	struct mad *mad;

	if (world.threaded) {
		__atomic_store_n(&thread_runs, false, __ATOMIC_RELEASE);
		pthread_join(thread, NULL);
	}
	assert_int_equal(world.started, 0);
	while ((mad = STAILQ_FIRST(&under_way)) != NULL) {
		STAILQ_REMOVE_HEAD(&under_way, link);
		free(mad);
	}
	for (unsigned int d = 0; d < 2; d++) {
		struct world_device *device = &world.devices[d];

		assert_int_equal(device->host.attached, 0);
		assert_int_equal(device->host.paths, 0);
		assert_int_equal(device->host.joined, 0);
		uroce_cm_device_closing(&device->host.dev, NULL);
		uroce_cm_destroy(device->agent.cm);
		assert_int_equal(harness_device_fini(&device->host), 0);
	}
	assert_int_equal(uroce_cma_deadline(), UINT64_MAX);
	return 0;
}

struct ibv_context *
world_context(unsigned int device)
{
	return world.devices[device].host.context;
}
