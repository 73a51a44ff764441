/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Telemetry as a client of EAL's socket sees it: each command, for one device and for several, and the replies to wrong
 * parameters.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "port/mcast.h"
#include "port/telemetry/page.h"
#include "port/telemetry/telemetry.h"
#include "port/worker/worker.h"
#include "tap.h"
#include "telemetry_client.h"
#include "uroce_cma.h"
#include "uroce_config.h"

static const char *const cidrs[] = { "10.0.0.1/24", NULL };

static struct ibv_qp *
qp_create(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	struct ibv_qp *qp = uroce_create_qp(pd, &attr);

	assert_non_null(qp);
	return qp;
}

static void
test_device(void **state)
{
	const union ibv_gid group = { .raw = { 0xff, 0x15, [13] = 1, 2, 3 } };
	struct rdma_event_channel *channel;
	uint8_t frame[TAP_BYTES];
	struct tap t;

	tap_open(&t, 9, cidrs);
	tap_send(&t, frame, tap_frame(&t, frame, "ffffffffffff P 9999 Z46")); /* an untagged frame */
	telemetry_expect("/uroce/list", "[\"uroce0\"]");
	telemetry_expect("/uroce/info,uroce0", "\"vlan\":9");
	telemetry_expect("/uroce/info,uroce0", "10.0.0.1");
	telemetry_expect("/uroce/info,uroce0", "\"groups\":[]");
	telemetry_expect("/uroce/info,uroce0", "\"workers\":[0]");
	telemetry_expect("/uroce/info,uroce0", "\"steering\":\"none\"");
	telemetry_expect("/uroce/info,uroce0", "\"qps\":0");
	assert_int_equal(uroce_port_mcast_join(&t.port->dev, &group), 0);
	telemetry_expect("/uroce/info,uroce0", "\"groups\":[\"ff15::1:203\"]");
	uroce_port_mcast_leave(&t.port->dev, &group);
	telemetry_expect_null("/uroce/cm,uroce0");
	channel = uroce_rdma_create_event_channel();
	assert_non_null(channel);
	telemetry_expect("/uroce/cm,uroce0", "\"mads_received\":0");
	uroce_rdma_destroy_event_channel(channel);
	telemetry_expect_null("/uroce/cm,uroce0");
	telemetry_expect("/uroce/stats,uroce0", "\"drop_vlan\":1");
	telemetry_expect("/uroce/stats,uroce0", "\"bad_response\":0");
	telemetry_expect("/uroce/hw_counters,uroce0", "\"rcvd_pkts\":0");
	telemetry_expect("/uroce/hw_counters,uroce0", "\"rx_icrc_encapsulated\":0"); /* the last counter */
	tap_close(&t);
	telemetry_expect("/uroce/list", "[]");
	telemetry_expect_null("/uroce/info,uroce0");
}

static void
expect_no_objects(void)
{
	telemetry_expect("/uroce/qp,uroce0", "[]");
	telemetry_expect("/uroce/qps,uroce0", "{\"count\":0,\"qps\":[]}");
	telemetry_expect("/uroce/cqs,uroce0", "{\"count\":0,\"cqs\":[]}");
	telemetry_expect("/uroce/srqs,uroce0", "{\"count\":0,\"srqs\":[]}");
	telemetry_expect("/uroce/mrs,uroce0", "{\"count\":0,\"keys\":[]}");
}

static void
expect_qp(const struct ibv_qp *qp)
{
	char text[64];

	snprintf(text, sizeof(text), "[%u]", qp->qp_num);
	telemetry_expect("/uroce/qp,uroce0", text);
	snprintf(text, sizeof(text), "{\"count\":1,\"qps\":[%u]}", qp->qp_num);
	telemetry_expect("/uroce/qps,uroce0", text);
	telemetry_expect("/uroce/qps,uroce0,0,RESET", text);
	telemetry_expect("/uroce/qps,uroce0,,RESET", text);
	telemetry_expect("/uroce/qps,uroce0,0,ERR", "{\"count\":0,\"qps\":[]}");
	telemetry_expect("/uroce/top,uroce0", "{\"qps\":[],\"retransmitted_packets\":[]}");
	telemetry_ask("/uroce/qp,uroce0,%u", qp->qp_num);
	assert_int_equal(telemetry_number("send_cq"), qp->send_cq->handle);
	assert_int_equal(telemetry_number("recv_queue_size"), 4);
	snprintf(text, sizeof(text), "/uroce/qp,uroce0,%u", qp->qp_num);
	telemetry_expect(text, "\"state\":\"RESET\"");
	telemetry_expect(text, "\"error\":\"none\"");
	snprintf(text, sizeof(text), "/uroce/qp,uroce0,%u", qp->qp_num ^ 1);
	telemetry_expect_null(text);
}

static void
expect_mr(const struct ibv_mr *mr)
{
	char text[64];

	snprintf(text, sizeof(text), "{\"count\":1,\"keys\":[%u]}", mr->rkey);
	telemetry_expect("/uroce/mrs,uroce0", text);
	telemetry_ask("/uroce/mr,uroce0,0x%x", mr->rkey);
	assert_int_equal(telemetry_number("key"), mr->rkey);
	assert_int_equal(telemetry_number("address"), (uintptr_t)mr->addr);
	assert_int_equal(telemetry_number("length"), mr->length);
	assert_int_equal(telemetry_number("remote_read"), 1);
	assert_int_equal(telemetry_number("remote_write"), 0);
	assert_int_equal(telemetry_number("zero_copy"), 0); /* not DPDK memory */
	assert_int_equal(telemetry_number("pd"), mr->pd->handle);
	assert_int_equal(telemetry_number("frames_in_flight"), 0);
}

/* Objects are created and destroyed; the commands find existing ones, also by number. */
static void
test_objects(void **state)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 10, .max_sge = 1 } };
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad;
	static uint8_t buffer[8192];
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char text[64];
	struct tap t;

	tap_open(&t, 0, cidrs);
	expect_no_objects();
	pd = uroce_alloc_pd(t.context);
	cq = uroce_create_cq(t.context, 4, NULL, NULL, 0);
	qp = qp_create(pd, cq);
	srq = uroce_create_srq(pd, &srq_attr);
	assert_non_null(srq);
	mr = uroce_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	assert_non_null(mr);
	assert_int_equal(uroce_post_srq_recv(srq, &recv, &bad), 0);

	expect_qp(qp);
	telemetry_ask("/uroce/cq,uroce0,%u", cq->handle);
	assert_int_equal(telemetry_number("size"), cq->cqe);
	assert_int_equal(telemetry_number("queues"), 2);
	assert_int_equal(telemetry_number("overrun"), 0);
	telemetry_ask("/uroce/srq,uroce0,%u", srq->handle);
	assert_int_equal(telemetry_number("size"), srq_attr.attr.max_wr);
	assert_int_equal(telemetry_number("receives"), 1);
	assert_int_equal(telemetry_number("xrc"), 0);
	expect_mr(mr);
	telemetry_expect("/uroce/info,uroce0", "\"qps\":1,\"cqs\":1,\"srqs\":1,\"mrs\":1,\"pds\":1");

	assert_int_equal(uroce_dereg_mr(mr), 0);
	assert_int_equal(uroce_destroy_srq(srq), 0);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	snprintf(text, sizeof(text), "/uroce/cq,uroce0,%u", cq->handle);
	assert_int_equal(uroce_destroy_cq(cq), 0);
	telemetry_expect_null(text);
	expect_no_objects();
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	tap_close(&t);
}

/* Each page of a list; all pages together contain each member once. */
static void
test_pages(void **state)
{
	struct ibv_qp *qps[2 * UROCE_TELEMETRY_PAGE + 7];
	const unsigned int n = RTE_DIM(qps);
	unsigned int listed = 0, pages = 0;
	uint64_t from = 0;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct tap t;

	tap_open(&t, 0, cidrs);
	pd = uroce_alloc_pd(t.context);
	cq = uroce_create_cq(t.context, 4, NULL, NULL, 0);
	for (unsigned int i = 0; i < n; i++)
		qps[i] = qp_create(pd, cq);
	while (from != UINT64_MAX) {
		const char *got = telemetry_ask("/uroce/qps,uroce0,%llu", (unsigned long long)from);
		char text[32];

		assert_int_equal(telemetry_number("count"), n);
		for (unsigned int i = 0; i < n; i++) {
			snprintf(text, sizeof(text), "[%u,", qps[i]->qp_num);
			if (strstr(got, text) != NULL)
				listed++;
			text[0] = ',';
			if (strstr(got, text) != NULL)
				listed++;
			snprintf(text, sizeof(text), ",%u]", qps[i]->qp_num);
			if (strstr(got, text) != NULL)
				listed++;
		}
		from = telemetry_number_or("next", UINT64_MAX);
		assert_true(++pages <= 3);
	}
	assert_int_equal(pages, 3);
	assert_int_equal(listed, n);
	/* the first ones, as an array */
	telemetry_ask("/uroce/qp,uroce0");
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(uroce_destroy_qp(qps[i]), 0);
	assert_int_equal(uroce_destroy_cq(cq), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	tap_close(&t);
}

static void
test_wrong_parameters(void **state)
{
	static const char *const commands[] = {
		"/uroce/info", "/uroce/stats", "/uroce/hw_counters", "/uroce/cm", "/uroce/qp", "/uroce/qps",
		"/uroce/top", "/uroce/mrs", "/uroce/mr", "/uroce/cqs", "/uroce/cq", "/uroce/srqs", "/uroce/srq",
	};
	static const char *const wrong[] = {
		"", ",", ",,", ",uroce1", ",uroce", ",uroce00", ",0", ",uroce0,-1", ",uroce0, 1", ",uroce0,+1",
		",uroce0,nonsense", ",uroce0,1x", ",uroce0,0x", ",uroce0,99999999999",
		",uroce0,99999999999999999999999999999999", ",uroce0,18446744073709551615", ",uroce0,1,2,3",
		",uroce0,%s%n", ",uroce0,\"", ",uroce0,0x1000000000",
	};
	char text[1100], filler[900];
	struct tap t;

	tap_open(&t, 0, cidrs);
	memset(filler, '9', sizeof(filler) - 1);
	filler[sizeof(filler) - 1] = '\0';
	for (unsigned int i = 0; i < RTE_DIM(commands); i++) {
		for (unsigned int j = 0; j < RTE_DIM(wrong); j++) {
			snprintf(text, sizeof(text), "%s%s", commands[i], wrong[j]);
			telemetry_expect_null(text);
		}
		snprintf(text, sizeof(text), "%s,uroce0,%s", commands[i], filler);
		telemetry_expect_null(text);
		snprintf(text, sizeof(text), "%s,%s", commands[i], filler);
		telemetry_expect_null(text);
	}
	telemetry_expect_null("/uroce/qps,uroce0,0,RTX");
	telemetry_expect_null("/uroce/qps,uroce0,0,");
	telemetry_expect_null("/uroce/qps,uroce0,x,RTS");
	telemetry_expect_null("/uroce/top,uroce0,");
	telemetry_expect_null("/uroce/mr,uroce0,0");
	telemetry_expect_null("/uroce/worker,1");
	telemetry_expect_null("/uroce/worker,64");
	telemetry_expect_null("/uroce/worker,-1");
	telemetry_expect_null("/uroce/worker,uroce0");
	telemetry_expect_null("/uroce/worker,0,0");
	tap_close(&t);
}

/* Each command applies to the device that it names. */
static void
test_several(void **state)
{
	struct uroce_port_conf conf = { .size = sizeof(conf), .name = "other" };
	struct ibv_context *context;
	struct test_rings wire;
	struct ibv_cq *cq;
	struct tap t;

	tap_open(&t, 0, cidrs);
	test_rings_create(&wire, 1);
	context = uroce_open_port(wire.port_id, &conf, &t.worker, 1);
	assert_non_null(context);
	telemetry_expect("/uroce/list", "[\"uroce0\",\"other\"]");
	cq = uroce_create_cq(context, 4, NULL, NULL, 0);
	telemetry_expect("/uroce/info,uroce0", "\"cqs\":0");
	telemetry_expect("/uroce/info,other", "\"cqs\":1");
	telemetry_expect("/uroce/worker", "[0]");
	telemetry_expect("/uroce/worker,0", "\"queues\":[\"uroce0:0\",\"other:0\"]");
	telemetry_expect("/uroce/worker,0", "\"lcore\":-1");
	telemetry_expect("/uroce/worker,0", "\"devices\":2");
	assert_int_equal(uroce_destroy_cq(cq), 0);
	assert_int_equal(uroce_close_device(context), 0);
	test_rings_destroy(&wire);
	tap_close(&t);
	telemetry_expect("/uroce/worker", "[]");
	telemetry_expect_null("/uroce/worker,0");
}

/* A thread keeps the turn of the QP's worker: the reply says so, without waiting for it. */
static void
test_turn(void **state)
{
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	char text[64];
	struct tap t;

	tap_open(&t, 0, cidrs);
	pd = uroce_alloc_pd(t.context);
	cq = uroce_create_cq(t.context, 4, NULL, NULL, 0);
	qp = qp_create(pd, cq);
	snprintf(text, sizeof(text), "/uroce/qp,uroce0,%u", qp->qp_num);
	uroce_worker_enter(t.worker);
	telemetry_expect(text, "has not released its turn");
	telemetry_expect("/uroce/qps,uroce0", "\"count\":1");
	telemetry_expect("/uroce/worker,0", "\"qps\":1");
	telemetry_expect("/uroce/stats,uroce0", "\"rx_frames\":0");
	uroce_worker_exit(t.worker);
	telemetry_expect(text, "\"state\":\"RESET\"");
	assert_int_equal(uroce_destroy_qp(qp), 0);
	assert_int_equal(uroce_destroy_cq(cq), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	tap_close(&t);
}

/* A QP is shown on the worker to which it has moved. */
static void
test_moved(void **state)
{
	struct uroce_worker *workers[2];
	struct ibv_context *context;
	struct test_rings wire;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	test_rings_create(&wire, 2);
	for (unsigned int i = 0; i < 2; i++)
		assert_non_null(workers[i] = uroce_create_worker(-1));
	assert_non_null(context = uroce_open_port(wire.port_id, NULL, workers, 2));
	pd = uroce_alloc_pd(context);
	cq = uroce_create_cq(context, 4, NULL, NULL, 0);
	qp = qp_create(pd, cq);
	for (int i = 0; i < 2; i++) {
		telemetry_ask("/uroce/qp,uroce0,%u", qp->qp_num);
		assert_int_equal(telemetry_number("worker"), i);
		telemetry_expect("/uroce/worker,0", i == 0 ? "\"qps\":1" : "\"qps\":0");
		telemetry_expect("/uroce/worker,1", i == 0 ? "\"qps\":0" : "\"qps\":1");
		assert_int_equal(uroce_qp_move(qp, workers[1]), 0);
	}
	assert_int_equal(uroce_destroy_qp(qp), 0);
	assert_int_equal(uroce_destroy_cq(cq), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	assert_int_equal(uroce_close_device(context), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_destroy_worker(workers[i]), 0);
	test_rings_destroy(&wire);
}

static void
test_numbers(void **state)
{
	uint64_t value;

	assert_int_equal(uroce_telemetry_number("0", 0, &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(uroce_telemetry_number("18446744073709551615", UINT64_MAX, &value), 0);
	assert_int_equal(value, UINT64_MAX);
	assert_int_equal(uroce_telemetry_number("0xFf", 255, &value), 0);
	assert_int_equal(value, 255);
	assert_int_not_equal(uroce_telemetry_number("256", 255, &value), 0);
	assert_int_not_equal(uroce_telemetry_number("18446744073709551616", UINT64_MAX, &value), 0);
	assert_int_not_equal(uroce_telemetry_number(NULL, 1, &value), 0);
	assert_int_equal(uroce_telemetry_from(NULL, 1, &value), 0);
	assert_int_equal(value, 0);
}

UROCE_TESTS(port_telemetry)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_wrong_parameters),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_turn),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, telemetry_setup, telemetry_teardown);
}
