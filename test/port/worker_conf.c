/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The configuration of a worker: its defaults, what each member changes, and what is refused.
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
#include <rte_ring.h>

#include "cmocka_compat.h"
#include "eal.h"
#include "groups.h"
#include "port/port.h"
#include "port/worker/pool.h"
#include "port/worker/worker.h"
#include "rings.h"
#include "uroce.h"

static void
expect(const struct uroce_worker *w, const struct uroce_worker_conf *conf)
{
	unsigned int recoveries = 0, rates = 0, qps = 0;
	const struct uroce_recovery *recovery;
	const struct uroce_reorder *reorder;
	const struct uroce_rate *rate;

	assert_int_equal(w->engine.header_pool->size, conf->header_mbufs);
	assert_int_equal(w->engine.payload_pool->size, conf->payload_mbufs);
	assert_int_equal(rte_ring_get_capacity(w->inbox), conf->inbox_frames);
	assert_int_equal(w->engine.reorder.frames_free, conf->reorder_frames);
	TAILQ_FOREACH(reorder, &w->engine.reorder.free, link)
		qps++;
	assert_int_equal(qps, conf->reorder_qps);
	for (recovery = w->engine.recoveries.free; recovery != NULL; recovery = recovery->next)
		recoveries++;
	assert_int_equal(recoveries, conf->recoveries);
	SLIST_FOREACH(rate, &w->engine.pacer.free, free)
		rates++;
	assert_int_equal(rates, conf->rates);
	assert_int_equal(w->conf.log2_window, conf->log2_window);
	assert_int_equal(rte_pktmbuf_data_room_size(w->engine.payload_pool),
			 RTE_PKTMBUF_HEADROOM + UROCE_ENGINE_ROOM(conf->path_mtu));
}

static void
test_defaults(void **state)
{
	static const struct uroce_worker_conf defaults = {
		.header_mbufs = UROCE_HEADER_MBUFS,
		.payload_mbufs = UROCE_PAYLOAD_MBUFS,
		.inbox_frames = UROCE_INBOX - 1,
		.reorder_frames = UROCE_REORDER_FRAMES,
		.reorder_qps = UROCE_REORDER_QPS,
		.recoveries = UROCE_RECOVERIES,
		.rates = UROCE_RATES,
		.log2_window = UROCE_LOG2_WINDOW,
		.path_mtu = 4096,
	};
	const struct uroce_worker_conf conf = { .size = sizeof(conf), .numa_node = -1 };
	struct uroce_worker *workers[] = {
		uroce_create_worker(-1), uroce_create_worker_ex(NULL), uroce_create_worker_ex(&conf),
	};

	for (unsigned int i = 0; i < RTE_DIM(workers); i++) {
		assert_non_null(workers[i]);
		assert_int_equal(workers[i]->numa_node, 0);
		expect(workers[i], &defaults);
		assert_int_equal(uroce_destroy_worker(workers[i]), 0);
	}
}

static void
test_members(void **state)
{
	const struct uroce_worker_conf conf = {
		.size = sizeof(conf), .numa_node = -1, .header_mbufs = 1000, .payload_mbufs = 500, .inbox_frames = 100,
		.reorder_frames = 300, .reorder_qps = 3, .recoveries = 4, .rates = 5, .log2_window = 6, .path_mtu = 4096,
	};
	struct uroce_worker *w = uroce_create_worker_ex(&conf);
	struct test_rings rings;
	struct ibv_context *context;

	assert_non_null(w);
	expect(w, &conf);
	test_rings_create(&rings, 1);
	context = uroce_open_port(rings.port_id, NULL, &w, 1);
	assert_non_null(context);
	assert_int_equal(w->queues[0]->pool->size, UROCE_RX_MBUFS + conf.reorder_frames);
	assert_int_equal(uroce_close_device(context), 0);
	assert_int_equal(uroce_destroy_worker(w), 0);
	test_rings_destroy(&rings);
}

/* Create a worker, which must fail. The log must contain `message`. */
static void
expect_refused(const struct uroce_worker_conf *conf, int error, const char *message)
{
	char *text;
	size_t bytes;
	FILE *stream = open_memstream(&text, &bytes);

	assert_non_null(stream);
	assert_int_equal(rte_openlog_stream(stream), 0);
	errno = 0;
	assert_null(uroce_create_worker_ex(conf));
	assert_int_equal(errno, error);
	assert_int_equal(rte_openlog_stream(NULL), 0);
	assert_int_equal(fclose(stream), 0);
	if (strstr(text, message) == NULL)
		fail_msg("the log \"%s\" lacks \"%s\"", text, message);
	free(text);
}

static void
test_refused(void **state)
{
	static const struct {
		size_t offset;
		uint32_t value;
		const char *message;
	} cases[] = {
#define CASE(member, value, range) { offsetof(struct uroce_worker_conf, member), value, #member " " #value " is not in " range }
		CASE(header_mbufs, 510, "511..1048575: pass a number in this range, or 0 for 16383"),
		CASE(header_mbufs, 1048576, "511..1048575"),
		CASE(payload_mbufs, 126, "127..1048575: pass a number in this range, or 0 for 2047"),
		CASE(payload_mbufs, 1048576, "127..1048575"),
		CASE(inbox_frames, 30, "31..65535: pass a number in this range, or 0 for 511"),
		CASE(inbox_frames, 65536, "31..65535"),
		CASE(reorder_frames, 65535, "1..65534: pass a number in this range, or 0 for 2048"),
		CASE(reorder_qps, 262145, "1..262144: pass a number in this range, or 0 for 256"),
		CASE(recoveries, 262145, "1..262144: pass a number in this range, or 0 for 256"),
		CASE(log2_window, 4, "5..13: pass a number in this range, or 0 for 8"),
		CASE(path_mtu, 4097, "256..4096: pass a number in this range, or 0 for 4096"),
		CASE(rates, 262145, "1..262144: pass a number in this range, or 0 for 1024"),
#undef CASE
	};

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		struct uroce_worker_conf conf = { .size = sizeof(conf), .numa_node = -1 };

		memcpy((uint8_t *)&conf + cases[i].offset, &cases[i].value, sizeof(cases[i].value));
		expect_refused(&conf, EINVAL, cases[i].message);
	}
}

/* The message names the memory that this configuration needs. */
static void
test_shortage(void **state)
{
	const struct uroce_worker_conf conf = { .size = sizeof(conf), .numa_node = -1, .payload_mbufs = 100000 };

	expect_refused(&conf, ENOMEM, "a worker needs 4");	/* 476 MiB, or somewhat more */
}

UROCE_TESTS(port_worker_conf)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_shortage),
	};

	test_eal_init("-m", "256", NULL); /* too little memory for test_shortage() */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
