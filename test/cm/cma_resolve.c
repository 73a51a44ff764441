/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Binding and resolving addresses: which device an address selects, neighbors that are slow, silent or missing, and
 * routes.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <arpa/inet.h>

#include <cmocka.h>

#include "cma_fixture.h"
#include "cm/rdma/cma_sockaddr.h"
#include "cmocka_compat.h"
#include "eal.h"
#include "groups.h"
#include "uroce_config.h"

static struct rdma_cm_id *id;

static int
setup(void **state)
{
	channel_setup(state);
	id = world_id(channel, RDMA_PS_TCP);
	return 0;
}

static int
teardown(void **state)
{
	assert_int_equal(uroce_rdma_destroy_id(id), 0);
	return channel_teardown(state);
}

static void
test_bind_address(void **state)
{
	const union ibv_gid *sgid = &id->route.addr.addr.ibaddr.sgid;

	assert_int_equal(uroce_rdma_bind_addr(id, world_v4(2, 77)), 0);
	assert_ptr_equal(id->verbs, world_context(1));
	assert_non_null(id->pd);
	assert_int_equal(id->port_num, 1);
	assert_memory_equal(rdma_get_local_addr(id), world_v4(2, 77), sizeof(struct sockaddr_in));
	assert_int_equal(uroce_rdma_get_src_port(id), htons(77));
	assert_int_equal(uroce_rdma_get_dst_port(id), 0);
	assert_int_equal(id->route.addr.addr.ibaddr.pkey, htons(0xffff));
	assert_int_equal(sgid->raw[10] << 8 | sgid->raw[15], 0xff02);
	/* a second bind fails */
	fails(uroce_rdma_bind_addr(id, world_v4(2, 78)), EINVAL);
}

static void
test_bind_ipv6(void **state)
{
	assert_int_equal(uroce_rdma_bind_addr(id, world_v6(1, 0)), 0);
	assert_ptr_equal(id->verbs, world_context(0));
	assert_uint_in_range(ntohs(uroce_rdma_get_src_port(id)), UROCE_CMA_FIRST_PORT,
			UROCE_CMA_LAST_PORT);
}

static void
test_bind_wildcard(void **state)
{
	assert_int_equal(uroce_rdma_bind_addr(id, world_v4(0, 0)), 0);
	assert_null(id->verbs);
	assert_uint_in_range(ntohs(uroce_rdma_get_src_port(id)), UROCE_CMA_FIRST_PORT,
			UROCE_CMA_LAST_PORT);
}

/* libfabric looks for devices by this bind. */
static void
test_bind_loopback(void **state)
{
	struct sockaddr_in loopback = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };

	assert_int_equal(uroce_rdma_bind_addr(id, (struct sockaddr *)&loopback), 0);
	assert_null(id->verbs);
	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, world_v4(2, 9), 1000), 0);
	world_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_ptr_equal(id->verbs, world_context(0));
}

/* After a failed bind, another bind may succeed. */
static void
test_bind_errors(void **state)
{
	struct sockaddr other = { .sa_family = AF_UNIX };

	fails(uroce_rdma_bind_addr(id, world_v4(9, 1)), EADDRNOTAVAIL);
	fails(uroce_rdma_bind_addr(id, &other), EINVAL);
	fails(uroce_rdma_bind_addr(id, NULL), EINVAL);
	assert_int_equal(uroce_rdma_bind_addr(id, world_v4(1, 1)), 0);
}

static void
test_resolve(void **state)
{
	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, world_v4(2, 9), 1000), 0);
	assert_null(id->verbs); /* before the application reads the event */
	world_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_ptr_equal(id->verbs, world_context(0));
	assert_memory_equal(rdma_get_peer_addr(id), world_v4(2, 9), sizeof(struct sockaddr_in));
	assert_int_equal(((struct sockaddr_in *)rdma_get_local_addr(id))->sin_addr.s_addr,
			 htonl(0x0a000001));
	assert_int_not_equal(uroce_rdma_get_src_port(id), 0);
	assert_int_equal(uroce_rdma_get_dst_port(id), htons(9));
	assert_int_equal(id->route.addr.addr.ibaddr.dgid.raw[15], 2);
	assert_int_equal(id->route.num_paths, 0);
	fails(uroce_rdma_resolve_addr(id, NULL, world_v4(2, 9), 1000), EINVAL);
}

/* Resolve from a source address of either device. */
static void
test_resolve_from(void **state)
{
	assert_int_equal(uroce_rdma_resolve_addr(id, world_v6(2, 5), world_v6(1, 9), 1000), 0);
	world_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_ptr_equal(id->verbs, world_context(1));
	assert_int_equal(uroce_rdma_get_src_port(id), htons(5));
}

/* After a bind: a wildcard is replaced by an address, a specific address stays. */
static void
test_resolve_bound(void **state)
{
	struct rdma_cm_id *other = world_id(channel, RDMA_PS_TCP);

	assert_int_equal(uroce_rdma_bind_addr(id, world_v4(0, 44)), 0);
	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, world_v4(2, 9), 1000), 0);
	world_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_memory_equal(rdma_get_local_addr(id), world_v4(1, 44), sizeof(struct sockaddr_in));

	assert_int_equal(uroce_rdma_bind_addr(other, world_v4(2, 45)), 0);
	assert_int_equal(uroce_rdma_resolve_addr(other, NULL, world_v4(1, 9), 1000), 0);
	world_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_memory_equal(rdma_get_local_addr(other), world_v4(2, 45),
			    sizeof(struct sockaddr_in));
	assert_int_equal(uroce_rdma_destroy_id(other), 0);
}

static void
test_resolve_errors(void **state)
{
	struct sockaddr other = { .sa_family = AF_UNIX };

	fails(uroce_rdma_resolve_addr(id, NULL, NULL, 1), EINVAL);
	fails(uroce_rdma_resolve_addr(id, NULL, &other, 1), EINVAL);
	fails(uroce_rdma_resolve_addr(id, &other, world_v4(2, 1), 1), EINVAL);
	fails(uroce_rdma_resolve_addr(id, NULL, world_v4(0, 1), 1), EINVAL);
	fails(uroce_rdma_resolve_addr(id, world_v4(99, 0), world_v4(2, 1), 1), EADDRNOTAVAIL);
	/* two address families */
	fails(uroce_rdma_resolve_addr(id, world_v4(1, 0), world_v6(2, 1), 1), EINVAL);
	world_no_event(channel);
	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, world_v4(2, 1), 1), 0);
	world_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
}

/* Without a route the ID gets an event, and may resolve another address. */
static void
test_unreachable_network(void **state)
{
	struct sockaddr_in far = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc0a80001) };

	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, (struct sockaddr *)&far, 1000), 0);
	world_take(channel, RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH);
	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, world_v4(2, 9), 1000), 0);
	world_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
}

static void
test_slow_neighbor(void **state)
{
	world.resolve = -EINPROGRESS;
	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, world_v4(100, 9), 1000), 0);
	assert_int_equal(uroce_cma_deadline(), world.now_ns + UROCE_CMA_RESOLVE_NS);
	world_pass(500 * WORLD_MS);
	world_no_event(channel);
	world.resolve = 0;
	world_pass(20 * WORLD_MS);
	world_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(uroce_cma_deadline(), UINT64_MAX);
}

static void
test_silent_neighbor(void **state)
{
	world.resolve = -EINPROGRESS;
	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, world_v4(100, 9), 1000), 0);
	world_pass(999 * WORLD_MS);
	world_no_event(channel);
	world_pass(20 * WORLD_MS);
	world_take(channel, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
	/* the device reports that the neighbor is unreachable */
	world.resolve = -EHOSTUNREACH;
	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, world_v4(100, 9), 1000), 0);
	world_take(channel, RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH);
}

/* After an error the ID has no device: the device may be closed, and the next resolution may select another. */
static void
test_error_leaves_device(void **state)
{
	struct sockaddr_in far = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc0a80001) };
	const struct sockaddr *src;
	__be16 port;

	world.resolve = -EINPROGRESS;
	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, world_v4(100, 9), 1000), 0);
	assert_int_equal(world.devices[0].host.dev.pd_count, 1);
	port = uroce_cma_addr_port(uroce_cma_src(uroce_cma_id_of(id)));
	world_pass(1020 * WORLD_MS);
	world_take(channel, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
	assert_int_equal(world.devices[0].host.dev.pd_count, 0);
	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, (struct sockaddr *)&far, 1000), 0);
	world_take(channel, RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH);
	assert_int_equal(world.devices[0].host.dev.pd_count, 0);
	world_go(0);
	world_no_event(channel);
	world_come(0);
	/* a wildcard again, with its former port */
	src = uroce_cma_src(uroce_cma_id_of(id));
	assert_int_equal(((const struct sockaddr_in *)src)->sin_addr.s_addr, 0);
	assert_int_equal(((const struct sockaddr_in *)src)->sin_port, port);
	assert_int_not_equal(port, 0);
	world.resolve = 0;
	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, world_v4(2, 9), 1000), 0);
	world_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(uroce_rdma_get_src_port(id), port);
}

/* After an error, an ID that the application bound to an address stays bound. */
static void
test_error_keeps_bound(void **state)
{
	assert_int_equal(uroce_rdma_bind_addr(id, world_v4(1, 44)), 0);
	world.resolve = -EHOSTUNREACH;
	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, world_v4(100, 9), 1000), 0);
	world_take(channel, RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH);
	assert_int_equal(world.devices[0].host.dev.pd_count, 1);
	assert_memory_equal(uroce_cma_src(uroce_cma_id_of(id)), world_v4(1, 44),
			    sizeof(struct sockaddr_in));
}

/* Several resolutions at once, each with a timeout of its own. */
static void
test_order(void **state)
{
	struct rdma_cm_id *other = world_id(channel, RDMA_PS_TCP);

	world.resolve = -EINPROGRESS;
	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, world_v4(100, 9), 2000), 0);
	world_pass(5 * WORLD_MS);
	assert_int_equal(uroce_rdma_resolve_addr(other, NULL, world_v4(101, 9), 1000), 0);
	world_pass(1020 * WORLD_MS);
	assert_ptr_equal(world_take(channel, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT), other);
	world_no_event(channel);
	world_pass(1000 * WORLD_MS);
	assert_ptr_equal(world_take(channel, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT), id);
	assert_int_equal(uroce_rdma_destroy_id(other), 0);
}

/* An ID may be destroyed during its resolution. */
static void
test_destroy_while_resolving(void **state)
{
	struct rdma_cm_id *other = world_id(channel, RDMA_PS_TCP);

	world.resolve = -EINPROGRESS;
	assert_int_equal(uroce_rdma_resolve_addr(other, NULL, world_v4(100, 9), 1000), 0);
	assert_int_equal(uroce_rdma_destroy_id(other), 0);
	assert_int_equal(uroce_cma_deadline(), UINT64_MAX);
	world_pass(2000 * WORLD_MS);
	world_no_event(channel);
}

static void
test_route(void **state)
{
	const struct ibv_sa_path_rec *path;

	fails(uroce_rdma_resolve_route(id, 1), EINVAL);
	assert_int_equal(uroce_rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS,
					       &(uint8_t){ 0x60 }, 1),
			 0);
	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, world_v4(2, 9), 1000), 0);
	world_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(uroce_rdma_resolve_route(id, 1), 0);
	world_take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	assert_int_equal(id->route.num_paths, 1);
	path = id->route.path_rec;
	assert_int_equal(path->sgid.raw[15], 1);
	assert_int_equal(path->dgid.raw[15], 2);
	assert_int_equal(path->traffic_class, 0x60);
	assert_int_equal(path->hop_limit, UROCE_CMA_HOP_LIMIT);
	assert_int_equal(path->mtu, IBV_MTU_2048);
	assert_int_equal(path->pkey, htons(0xffff));
	assert_int_equal(path->packet_life_time, 18);
	fails(uroce_rdma_resolve_route(id, 1), EINVAL);
}

UROCE_TESTS(cma_resolve)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(bind_address),
		TEST(bind_ipv6),
		TEST(bind_wildcard),
		TEST(bind_loopback),
		TEST(bind_errors),
		TEST(resolve),
		TEST(resolve_from),
		TEST(resolve_bound),
		TEST(resolve_errors),
		TEST(unreachable_network),
		TEST(slow_neighbor),
		TEST(silent_neighbor),
		TEST(error_leaves_device),
		TEST(error_keeps_bound),
		TEST(order),
		TEST(destroy_while_resolving),
		TEST(route),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
