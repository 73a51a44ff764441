/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Telemetry of working and of failed QPs: its numbers match the run. Two QPs of one device communicate by loopback; the
 * test polls. The clock stands still between polls, so that no timer fires because the test is delayed.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "cmocka_compat.h"
#include "groups.h"
#include "harness/qp.h"
#include "port/worker/worker.h"
#include "tap.h"
#include "telemetry_client.h"
#include "uroce_config.h"

#define BYTES    10000
#define MTU      1024
#define PACKETS  ((BYTES + MTU - 1) / MTU)
#define FIRST    0xfffff0 /* PSN */
#define SPINS    10000u
#define POLL_NS  1000u /* time that passes before each poll */

static const char *const cidrs[] = { "10.0.0.1/24", NULL };

struct pair {
	struct tap t;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qps[2];
	uint8_t buffer[2 * BYTES];
};

static void
connect_to(struct pair *p, struct ibv_qp *qp, uint32_t dest_qpn)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest_qpn,
		.rq_psn = FIRST,
		.sq_psn = FIRST,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 1,
		.timeout = 8, /* 1 ms */
		.retry_cnt = 1,
		.rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1, .hop_limit = 64 } },
	};

	assert_int_equal(uroce_query_gid(p->t.context, 1, 1, &attr.ah_attr.grh.dgid), 0);
	harness_qp_to(qp, attr, IBV_QPS_RTS);
}

static void
pair_open(struct pair *p)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	tap_open(&p->t, 0, cidrs);
	test_clock_stop();
	p->pd = uroce_alloc_pd(p->t.context);
	p->cq = uroce_create_cq(p->t.context, 64, NULL, NULL, 0);
	p->mr = uroce_reg_mr(p->pd, p->buffer, sizeof(p->buffer),
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				     IBV_ACCESS_REMOTE_ATOMIC);
	assert_non_null(p->mr);
	attr.send_cq = p->cq;
	attr.recv_cq = p->cq;
	for (unsigned int i = 0; i < 2; i++) {
		p->qps[i] = uroce_create_qp(p->pd, &attr);
		assert_non_null(p->qps[i]);
	}
	for (unsigned int i = 0; i < 2; i++)
		connect_to(p, p->qps[i], p->qps[1 - i]->qp_num);
}

static void
pair_close(struct pair *p)
{
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_destroy_qp(p->qps[i]), 0);
	assert_int_equal(uroce_destroy_cq(p->cq), 0);
	assert_int_equal(uroce_dereg_mr(p->mr), 0);
	assert_int_equal(uroce_dealloc_pd(p->pd), 0);
	test_clock_go();
	tap_close(&p->t);
}

static void
post(struct pair *p, enum ibv_wr_opcode opcode, uint32_t bytes, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)p->buffer, bytes, p->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)p->buffer + BYTES;
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)p->buffer + BYTES;
		wr.wr.rdma.rkey = rkey;
	}
	assert_int_equal(uroce_post_send(p->qps[0], &wr, &bad), 0);
}

static void
post_recv(struct pair *p)
{
	struct ibv_sge sge = { (uintptr_t)p->buffer + BYTES, BYTES, p->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(uroce_post_recv(p->qps[1], &wr, &bad), 0);
}

static void
poll_worker(struct pair *p)
{
	test_clock_advance(POLL_NS);
	test_poll(&p->t.worker, 1, 1);
}

static void
expect_wc(struct pair *p, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	for (unsigned int i = 0; i < SPINS; i++) {
		if (uroce_poll_cq(p->cq, 1, &wc) == 1) {
			assert_int_equal(wc.status, status);
			return;
		}
		poll_worker(p);
	}
	fail_msg("no completion");
}

static void
ask_qp(struct pair *p, unsigned int i)
{
	telemetry_ask("/uroce/qp,uroce0,%u", p->qps[i]->qp_num);
}

static void
expect_text(struct pair *p, unsigned int i, const char *part)
{
	char command[64];

	snprintf(command, sizeof(command), "/uroce/qp,uroce0,%u", p->qps[i]->qp_num);
	telemetry_expect(command, part);
}

/* The numbers of the QPs, of the worker and of the device, and those under Linux's names, after one message of each
 * kind. */
static void
test_traffic(void **state)
{
	struct pair p;

	pair_open(&p);
	post(&p, IBV_WR_RDMA_WRITE, BYTES, p.mr->rkey);
	expect_wc(&p, IBV_WC_SUCCESS);
	post(&p, IBV_WR_RDMA_READ, BYTES, p.mr->rkey);
	expect_wc(&p, IBV_WC_SUCCESS);
	post(&p, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, p.mr->rkey);
	expect_wc(&p, IBV_WC_SUCCESS);
	post_recv(&p);
	post(&p, IBV_WR_SEND, 100, 0);
	expect_wc(&p, IBV_WC_SUCCESS);
	expect_wc(&p, IBV_WC_SUCCESS);

	ask_qp(&p, 0);
	assert_int_equal(telemetry_number("dest_qpn"), p.qps[1]->qp_num);
	assert_int_equal(telemetry_number("mtu"), MTU);
	assert_int_equal(telemetry_number("loopback"), 1);
	assert_uint_in_range(telemetry_number("udp_source_port"), 0xc000, 0xffff);
	assert_int_equal(telemetry_number("psn"), (FIRST + 2 * PACKETS + 2) & 0xffffff);
	assert_int_equal(telemetry_number("unacked"), (FIRST + 2 * PACKETS + 2) & 0xffffff);
	assert_int_equal(telemetry_number("outstanding"), 0);
	assert_int_equal(telemetry_number("send_queue"), 0);
	assert_int_equal(telemetry_number("send_queue_size"), 8);
	assert_int_equal(telemetry_number("retries_left"), 1);
	assert_int_equal(telemetry_number("retransmitted_packets"), 0);
	assert_true(telemetry_number("rtt_ns") > 0);
	assert_int_equal(telemetry_number("rated"), 0);
	expect_text(&p, 0, "\"state\":\"RTS\"");
	expect_text(&p, 0, "\"type\":\"RC\"");
	expect_text(&p, 0, "\"peer\":\"10.0.0.1\"");
	expect_text(&p, 0, "\"error\":\"none\"");
	ask_qp(&p, 1);
	assert_int_equal(telemetry_number("expected_psn"), (FIRST + 2 * PACKETS + 2) & 0xffffff);
	assert_int_equal(telemetry_number("msn"), 4);

	telemetry_ask("/uroce/hw_counters,uroce0");
	assert_int_equal(telemetry_number("rx_write_requests"), 1);
	assert_int_equal(telemetry_number("rx_read_requests"), 1);
	assert_int_equal(telemetry_number("rx_atomic_requests"), 1);
	assert_int_equal(telemetry_number("rdma_sends"), 1);
	assert_int_equal(telemetry_number("rdma_recvs"), 1);
	assert_int_equal(telemetry_number("sent_pkts"), telemetry_number("rcvd_pkts"));
	assert_int_equal(telemetry_number("req_cqe_error"), 0);
	telemetry_ask("/uroce/worker,0");
	assert_int_equal(telemetry_number("qps"), 2);
	assert_int_equal(telemetry_number("waiting"), 0);
	assert_int_equal(telemetry_number("received_bytes"), 2 * BYTES + 100); /* without those of the atomic */
	assert_true(telemetry_number("busy_cycles") > 0);
	assert_true(telemetry_number("busy_cycles") <= telemetry_number("total_cycles"));
	assert_true(telemetry_number("busy_rounds") <= telemetry_number("rounds"));
	assert_true(telemetry_number("late_rounds") < telemetry_number("rounds"));
	assert_true(telemetry_number("latest_ns") == 0 || telemetry_number("latest_ns") >= UROCE_ROUND_LATE_NS);
	telemetry_ask("/uroce/cq,uroce0,%u", p.cq->handle);
	assert_int_equal(telemetry_number("completed"), 5);
	assert_int_equal(telemetry_number("completions"), 0);
	assert_int_equal(telemetry_number("queues"), 4);
	pair_close(&p);
}

/* A message in flight: the outstanding packets, and the armed timer. */
static void
test_waiting(void **state)
{
	struct pair p;

	pair_open(&p);
	post(&p, IBV_WR_RDMA_WRITE, 8, p.mr->rkey);
	ask_qp(&p, 0);
	assert_int_equal(telemetry_number("send_queue"), 1);
	assert_int_equal(telemetry_number("outstanding"), 0);
	poll_worker(&p);
	ask_qp(&p, 0);
	assert_int_equal(telemetry_number("send_queue"), 1);
	assert_int_equal(telemetry_number("outstanding"), 1);
	assert_int_not_equal(telemetry_number("timer_due_us"), UINT64_MAX);
	expect_wc(&p, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* The peer refuses a request: the records of both ends. */
static void
test_refused(void **state)
{
	char text[64];
	struct pair p;

	pair_open(&p);
	post(&p, IBV_WR_RDMA_WRITE, 8, p.mr->rkey ^ 0x10000);
	expect_wc(&p, IBV_WC_REM_ACCESS_ERR);
	ask_qp(&p, 0);
	assert_int_equal(telemetry_number("naks_received_remote_access"), 1);
	expect_text(&p, 0, "\"state\":\"ERR\"");
	expect_text(&p, 0, "\"error\":\"a send request failed\"");
	snprintf(text, sizeof(text), "\"error_status\":\"%s\"", uroce_wc_status_str(IBV_WC_REM_ACCESS_ERR));
	expect_text(&p, 0, text);
	ask_qp(&p, 1);
	assert_int_equal(telemetry_number("naks_sent_remote_access"), 1);
	expect_text(&p, 1, "\"error\":\"a peer's request was refused\"");
	expect_text(&p, 1, "\"error_verdict\":\"nak_access\"");
	expect_text(&p, 1, "\"last_not_ok\":\"nak_access\"");
	telemetry_ask("/uroce/qps,uroce0,0,ERR");
	assert_int_equal(telemetry_number("count"), 2);
	snprintf(text, sizeof(text), "{\"qps\":[%u],\"naks_sent_remote_access\":[1]}", p.qps[1]->qp_num);
	telemetry_expect("/uroce/top,uroce0,naks_sent_remote_access", text);
	telemetry_ask("/uroce/hw_counters,uroce0");
	assert_int_equal(telemetry_number("req_remote_access_errors"), 1);
	assert_int_equal(telemetry_number("resp_remote_access_errors"), 1);
	pair_close(&p);
}

/* The peer is silent: retries, and the status of the failed request. */
static void
test_silence(void **state)
{
	char text[64];
	struct pair p;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	pair_open(&p);
	assert_int_equal(uroce_modify_qp(p.qps[1], &attr, IBV_QP_STATE), 0);
	post(&p, IBV_WR_RDMA_WRITE, 8, p.mr->rkey);
	for (unsigned int i = 0; i < SPINS; i++) {
		struct ibv_wc wc;

		poll_worker(&p);
		if (uroce_poll_cq(p.cq, 1, &wc) == 1) {
			assert_int_equal(wc.status, IBV_WC_RETRY_EXC_ERR);
			break;
		}
	}
	ask_qp(&p, 0);
	assert_int_equal(telemetry_number("timeouts"), 2);
	assert_int_equal(telemetry_number("retries"), 1);
	assert_true(telemetry_number("retransmitted_packets") >= 1);
	expect_text(&p, 0, "\"error\":\"a send request failed\"");
	snprintf(text, sizeof(text), "{\"qps\":[%u],\"timeouts\":[2]}", p.qps[0]->qp_num);
	telemetry_expect("/uroce/top,uroce0,timeouts", text);
	telemetry_ask("/uroce/hw_counters,uroce0");
	assert_int_equal(telemetry_number("retry_exceeded_err"), 1);
	assert_int_equal(telemetry_number("local_ack_timeout_err"), 2);
	ask_qp(&p, 1);
	assert_true(telemetry_number("packets_not_ok") >= 2);
	expect_text(&p, 1, "\"last_not_ok\":\"drop_qp_state\"");
	pair_close(&p);
}

UROCE_TESTS(port_telemetry_live)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_traffic),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_silence),
	};

	return cmocka_run_group_tests(tests, telemetry_setup, telemetry_teardown);
}
