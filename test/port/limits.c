/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The limits of a port and of its workers: what each changes, what is refused with which message, and limits as text.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>
#include <rte_log.h>
#include <rte_mempool.h>

#include "cmocka_compat.h"
#include "eal.h"
#include "groups.h"
#include "port/path.h"
#include "port/port.h"
#include "port/worker/worker.h"
#include "rings.h"
#include "uroce.h"

#define WORKERS 2
#define NEIGHBORS 1500

static struct test_rings rings;
static uint8_t memory[4096];
static struct uroce_worker *workers[WORKERS];
static FILE *stream;
static char *text;
static size_t bytes;
static char reason[256];

static int
setup(void **state)
{
	test_rings_create(&rings, WORKERS);
	return 0;
}

static int
teardown(void **state)
{
	for (unsigned int i = 0; i < WORKERS; i++) {
		if (workers[i] != NULL)
			assert_int_equal(uroce_destroy_worker(workers[i]), 0);
		workers[i] = NULL;
	}
	test_rings_destroy(&rings);
	return 0;
}

static void
listen_to_log(void)
{
	stream = open_memstream(&text, &bytes);
	assert_non_null(stream);
	assert_int_equal(rte_openlog_stream(stream), 0);
}

/* The log since listen_to_log() has the message. */
static void
expect_log(const char *message)
{
	assert_int_equal(rte_openlog_stream(NULL), 0);
	assert_int_equal(fclose(stream), 0);
	if (strstr(text, message) == NULL)
		fail_msg("the log \"%s\" lacks \"%s\"", text, message);
	free(text);
}

static void
create_workers(const struct uroce_worker_conf *first)
{
	workers[0] = uroce_create_worker_ex(first);
	workers[1] = uroce_create_worker(-1);
	assert_true(workers[0] != NULL && workers[1] != NULL);
}

static void
expect_refused(const struct uroce_port_conf *conf, const char *message)
{
	listen_to_log();
	errno = 0;
	assert_null(uroce_open_port(rings.port_id, conf, workers, WORKERS));
	assert_int_equal(errno, EINVAL);
	expect_log(message);
}

static void
test_members(void **state)
{
	const struct uroce_port_conf conf = {
		.size = sizeof(conf), .log2_max_qp = 5, .log2_max_mr = 6, .nb_rx_desc = 64, .max_neighbors = 9,
		.rx_mbufs = 300, .log2_window = 6, .max_cq = 9,
	};
	struct ibv_device_attr attr;
	struct ibv_context *context;
	struct uroce_port *port;

	create_workers(NULL);
	context = uroce_open_port(rings.port_id, &conf, workers, WORKERS);
	assert_non_null(context);
	port = uroce_port_of_context(context);
	assert_int_equal(uroce_query_device(context, &attr), 0);
	assert_int_equal(attr.max_qp, 32);
	assert_int_equal(attr.max_mr, 64);
	assert_int_equal(attr.max_cq, 9);
	assert_int_equal(port->neighbors.capacity, 9);
	assert_int_equal(port->dev.log2_window, 6);
	for (unsigned int i = 0; i < WORKERS; i++)
		assert_int_equal(port->queues[i].pool->size, 300);
	/* caches of lcores leave mbufs for the ring */
	assert_true(WORKERS * port->queues[0].pool->cache_size * 3 / 2 <= 300 - 64);
	assert_int_equal(uroce_close_device(context), 0);
}

/* By default, the queues of a port share the reorder buffer's mbufs, and the window is the least of the workers'. */
static void
test_defaults(void **state)
{
	const struct uroce_worker_conf larger = { .size = sizeof(larger), .numa_node = -1, .log2_window = 10 };
	struct ibv_context *context;
	struct uroce_port *port;

	create_workers(&larger);
	for (unsigned int n = 1; n <= WORKERS; n++) {
		context = uroce_open_port(rings.port_id, NULL, workers, n);
		assert_non_null(context);
		port = uroce_port_of_context(context);
		assert_int_equal(port->dev.log2_window, n == 1 ? 10 : UROCE_LOG2_WINDOW);
		assert_int_equal(port->dev.max_cq, UROCE_MAX_CQ);
		assert_int_equal(port->neighbors.capacity, UROCE_MAX_NEIGHBORS);
		assert_int_equal(port->queues[0].pool->size, UROCE_RX_MBUFS + UROCE_REORDER_FRAMES / n);
		assert_int_equal(uroce_close_device(context), 0);
	}
}

static void
test_refused(void **state)
{
	static const struct {
		struct uroce_port_conf conf;
		const char *message;
	} cases[] = {
#define CASE(member, value, message) { { .size = sizeof(struct uroce_port_conf), .member = value }, message }
		CASE(log2_max_qp, 19, "log2_max_qp 19 is not in 1..18: pass a number in this range, or 0 for 16"),
		CASE(log2_max_mr, 23, "log2_max_mr 23 is not in 1..22: pass a number in this range, or 0 for 16"),
		CASE(max_neighbors, 262145, "max_neighbors 262145 is not in 8..262144"),
		CASE(rx_mbufs, 126, "rx_mbufs 126 is not in 127..1048575: pass a number in this range, or 0 for the default"),
		CASE(log2_window, 4, "log2_window 4 is not in 5..13"),
		CASE(log2_window, 14, "log2_window 14 is not in 5..13"),
		CASE(max_cq, 1048577, "max_cq 1048577 is not in 1..1048576"),
		CASE(log2_window, 9, "log2_window 9 exceeds 8, that of worker 0: create the worker by "
				     "uroce_create_worker_ex() with log2_window 9"),
		CASE(rx_mbufs, 1000, "rx_mbufs 1000 is less than 1088, for 1024 RX descriptors and two bursts: raise it, "
				     "or lower nb_rx_desc"),
#undef CASE
	};

	create_workers(NULL);
	for (unsigned int i = 0; i < RTE_DIM(cases); i++)
		expect_refused(&cases[i].conf, cases[i].message);
}

/* A worker for small packets takes no port for larger ones. */
static void
test_path_mtu(void **state)
{
	const struct uroce_worker_conf small = { .size = sizeof(small), .numa_node = -1, .path_mtu = 1024 };
	const struct uroce_port_conf fits = { .size = sizeof(fits), .mtu = 1500 };
	struct ibv_context *context;

	create_workers(&small);
	expect_refused(NULL, "Ethernet MTU 4200 has path MTU 4096, and path_mtu of worker 0 is 1024: raise it, or pass mtu 1108");
	context = uroce_open_port(rings.port_id, &fits, workers, WORKERS);
	assert_non_null(context);
	assert_int_equal(uroce_close_device(context), 0);
}

/* A device without room for another object says which limit to raise. */
static void
test_full(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .log2_max_qp = 1, .log2_max_mr = 1, .max_cq = 1 };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_context *context;
	struct ibv_mr *mrs[2];
	struct ibv_qp *qps[2];
	struct ibv_pd *pd;
	struct ibv_cq *cq;

	create_workers(NULL);
	context = uroce_open_port(rings.port_id, &conf, workers, 1);
	assert_non_null(context);
	pd = uroce_alloc_pd(context);
	init.send_cq = init.recv_cq = cq = uroce_create_cq(context, 1, NULL, NULL, 0);
	assert_true(pd != NULL && cq != NULL);
	for (unsigned int i = 0; i < 2; i++) {
		assert_non_null(mrs[i] = uroce_reg_mr(pd, memory, sizeof(memory), 0));
		assert_non_null(qps[i] = uroce_create_qp(pd, &init));
	}
	listen_to_log();
	assert_null(uroce_create_cq(context, 1, NULL, NULL, 0));
	expect_log("uroce0 has 1 CQs, its limit: open its port with a larger max_cq");
	listen_to_log();
	assert_null(uroce_reg_mr(pd, memory, sizeof(memory), 0));
	expect_log("a device has 2 memory regions and windows, its limit: open its port with a log2_max_mr above 1");
	listen_to_log();
	assert_null(uroce_alloc_mw(pd, IBV_MW_TYPE_1));
	expect_log("a device has 2 memory regions and windows, its limit");
	listen_to_log();
	assert_null(uroce_create_qp(pd, &init));
	expect_log("uroce0 has 2 QPs, its limit: open its port with a log2_max_qp above 1");
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(uroce_destroy_qp(qps[i]), 0);
		assert_int_equal(uroce_dereg_mr(mrs[i]), 0);
	}
	assert_int_equal(uroce_destroy_cq(cq), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	assert_int_equal(uroce_close_device(context), 0);
}

/* More hosts on the link than the default allows. */
static void
test_neighbors(void **state)
{
	static struct uroce_path paths[NEIGHBORS];
	const struct uroce_port_conf conf = { .size = sizeof(conf), .max_neighbors = NEIGHBORS };
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .sgid_index = 1, .dgid.raw = { [10] = 0xff, [11] = 0xff, [12] = 10 } },
	};
	struct ibv_context *context;
	struct uroce_path path;

	assert_true(NEIGHBORS > UROCE_MAX_NEIGHBORS);
	create_workers(NULL);
	context = uroce_open_port(rings.port_id, &conf, workers, 1);
	assert_non_null(context);
	assert_int_equal(uroce_add_address(context, "10.0.0.1/16"), 0);
	for (unsigned int i = 0; i < NEIGHBORS; i++) {
		attr.grh.dgid.raw[14] = (uint8_t)(1 + i / 256);
		attr.grh.dgid.raw[15] = (uint8_t)i;
		assert_int_equal(uroce_port_path_init(uroce_device_of(context), &attr, 1, &paths[i]), 0);
	}
	attr.grh.dgid.raw[14] = 200;
	listen_to_log();
	assert_int_equal(uroce_port_path_init(uroce_device_of(context), &attr, 1, &path), -ENOMEM);
	expect_log("has paths to 1500 neighbors, its limit: open it with a max_neighbors above 1500");
	for (unsigned int i = 0; i < NEIGHBORS; i++)
		uroce_port_path_fini(uroce_device_of(context), &paths[i]);
	assert_int_equal(uroce_close_device(context), 0);
}

static void
expect_reason(const char *message)
{
	if (strstr(reason, message) == NULL)
		fail_msg("the reason \"%s\" lacks \"%s\"", reason, message);
}

static void
test_text(void **state)
{
	struct uroce_worker_conf worker = { .size = sizeof(worker), .numa_node = 3, .rates = 5 };
	struct uroce_port_conf port = { .size = sizeof(port), .vlan = 7 };

	assert_int_equal(uroce_parse_limits("", &worker, &port, reason, sizeof(reason)), 0);
	assert_int_equal(uroce_parse_limits("log2_window=12, rx_mbufs=8191,header_mbufs=1000,mtu=1500,rates=0", &worker,
					    &port, reason, sizeof(reason)), 0);
	assert_true(worker.log2_window == 12 && port.log2_window == 12);
	assert_true(port.rx_mbufs == 8191 && port.mtu == 1500 && port.vlan == 7 && port.max_cq == 0);
	assert_true(worker.header_mbufs == 1000 && worker.numa_node == 3 && worker.rates == 0);
}

static void
test_wrong_text(void **state)
{
	static const struct {
		const char *limits;
		const char *message;
	} cases[] = {
		{ "window=12", "limit window: there is no such limit" },
		{ "size=4", "limit size: there is no such limit" },
		{ "rates", "limit rates: write NAME=N" },
		{ "rates=", "limit rates=: write NAME=N" },
		{ "rates=-1", "limit rates=-1: write NAME=N" },
		{ "rates=1k", "limit rates: write NAME=N" },
		{ "rates=8,log2_window=14", "log2_window 14 is not in 5..13" },
		{ "mtu=65536", "mtu 65536 is not in 1..65535" },
		{ "rates=99999999999999999999", "rates 18446744073709551615 is not in 1..262144" },
	};

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		struct uroce_worker_conf worker = { .size = sizeof(worker) };
		struct uroce_port_conf port = { .size = sizeof(port) };

		assert_int_equal(uroce_parse_limits(cases[i].limits, &worker, &port, reason, sizeof(reason)), EINVAL);
		expect_reason(cases[i].message);
	}
}

/* A program that was compiled with a header that lacks max_cq. */
static void
test_text_for_older_program(void **state)
{
	struct uroce_worker_conf worker = { .size = sizeof(worker) };
	struct uroce_port_conf port = { .size = offsetof(struct uroce_port_conf, max_cq), .max_cq = 77 };

	assert_int_equal(uroce_parse_limits("rx_mbufs=8191", &worker, &port, reason, sizeof(reason)), 0);
	assert_int_equal(uroce_parse_limits("max_cq=1", &worker, &port, reason, sizeof(reason)), EINVAL);
	expect_reason("limit max_cq: there is no such limit");
	assert_int_equal(port.max_cq, 77);
}

UROCE_TESTS(port_limits)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_members, setup, teardown),
		cmocka_unit_test_setup_teardown(test_defaults, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_path_mtu, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_neighbors, setup, teardown),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_wrong_text),
		cmocka_unit_test(test_text_for_older_program),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
