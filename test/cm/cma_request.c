/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Requests of a hostile peer: wrong or malformed headers, and QP types without a listener. Each is rejected, and no
 * listener gets an event.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <arpa/inet.h>

#include <cmocka.h>

#include "cma_fixture.h"
#include "eal.h"
#include "cm/rdma/cma_header.h"
#include "cm/rdma/cma_sockaddr.h"
#include "base/random.h"
#include "groups.h"

static struct rdma_cm_id *listener;
static uint32_t qpn;

static int
setup(void **state)
{
	channel_setup(state);
	listener = world_listener(channel, 2, 7174, RDMA_PS_TCP, 0);
	qpn = 100;
	uroce_random_seed(1);
	return 0;
}

static int
teardown(void **state)
{
	uroce_random_seed(0);
	assert_int_equal(uroce_rdma_destroy_id(listener), 0);
	return channel_teardown(state);
}

static uint64_t
rejected(void)
{
	const char *names[64];
	uint64_t values[64];
	unsigned int n = uroce_cm_query_counters(world.devices[1].agent.cm, names, values, 64);

	for (unsigned int i = 0; i < n; i++)
		if (strcmp(names[i], "cm_sent_REJ") == 0)
			return values[i];
	fail_msg("no counter counts rejections");
	return 0;
}

/* Send a request from device 0's communication manager directly, with this private data. */
static void
request(const uint8_t *data, uint8_t bytes, enum ibv_qp_type type)
{
	struct uroce_cm_req req = {
		.service_id = uroce_cma_service_id(RDMA_PS_TCP, htons(7174)),
		.path = { .pkey = 0xffff,
			  .mtu = IBV_MTU_1024,
			  .packet_life_time = 18,
			  .hop_limit = 64 },
		.qpn = qpn++,
		.qp_type = (uint8_t)type,
		.remote_cm_response_timeout = 20,
		.local_cm_response_timeout = 20,
		.max_cm_retries = 1,
		.priv = { .data = data, .bytes = bytes },
	};
	struct uroce_cm_conn *conn;

	uroce_cma_addr_to_gid(world_v4(1, 0), &req.path.sgid);
	uroce_cma_addr_to_gid(world_v4(2, 0), &req.path.dgid);
	pthread_mutex_lock(&uroce_cm_lock);
	conn = uroce_cm_conn_create(world.devices[0].agent.cm, NULL);
	assert_non_null(conn);
	assert_int_equal(uroce_cm_send_req(conn, &req, world.now_ns), 0);
	pthread_mutex_unlock(&uroce_cm_lock);
	world_deliver();
	pthread_mutex_lock(&uroce_cm_lock);
	uroce_cm_conn_destroy(conn, world.now_ns);
	pthread_mutex_unlock(&uroce_cm_lock);
}

static void
refused(const uint8_t *data, uint8_t bytes, enum ibv_qp_type type)
{
	const uint64_t before = rejected();

	request(data, bytes, type);
	world_no_event(channel);
	assert_int_equal(rejected(), before + 1);
}

static void
encode(uint8_t *header, struct sockaddr *src, struct sockaddr *dst)
{
	uroce_cma_header_encode(header, src, dst);
}

static void
test_good(void **state)
{
	uint8_t header[UROCE_CMA_HEADER_BYTES];

	encode(header, world_v4(1, 9), world_v4(2, 0));
	request(header, sizeof(header), IBV_QPT_RC);
	assert_int_equal(
		uroce_rdma_destroy_id(world_take(channel, RDMA_CM_EVENT_CONNECT_REQUEST, 0)), 0);
}

/* Addresses in the header that differ from the path's. */
static void
test_liars(void **state)
{
	uint8_t header[UROCE_CMA_HEADER_BYTES];

	encode(header, world_v4(3, 9), world_v4(2, 0));
	refused(header, sizeof(header), IBV_QPT_RC);
	encode(header, world_v4(1, 9), world_v4(1, 0));
	refused(header, sizeof(header), IBV_QPT_RC);
	encode(header, world_v6(1, 9), world_v6(2, 0));
	refused(header, sizeof(header), IBV_QPT_RC);
}

static void
test_other_transport(void **state)
{
	uint8_t header[UROCE_CMA_HEADER_BYTES];

	encode(header, world_v4(1, 9), world_v4(2, 0));
	refused(header, sizeof(header), IBV_QPT_UC);
}

static void
test_no_header(void **state)
{
	uint8_t data[UROCE_CM_REQ_PRIVATE_BYTES];

	refused(NULL, 0, IBV_QPT_RC);
	for (unsigned int i = 0; i < 2000; i++) {
		for (unsigned int j = 0; j < sizeof(data); j++)
			data[j] = (uint8_t)uroce_random();
		data[0] &= 1;
		data[1] = data[1] & 1 ? 0x40 : data[1];
		refused(data, (uint8_t)uroce_random_below(sizeof(data) + 1), IBV_QPT_RC);
	}
}

UROCE_TESTS(cma_request)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(good),
		TEST(liars),
		TEST(other_transport),
		TEST(no_header),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
