/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Two workers on a net_tap port, as far as the kernel permits: its queues, and flow rules by the kernel's classifier.
 * The peer is a net_af_packet port at the other end of the tap. All messages arrive, whichever queue the kernel
 * chooses.
 */

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_bus_vdev.h>
#include <rte_ethdev.h>

#include "eal.h"
#include "harness/qp.h"
#include "port/port.h"
#include "rings.h"
#include "uroce.h"

#define QPS   8
#define BYTES 3000
#define IFACE "uroce_tap"

enum {
	TAP,    /* with two workers */
	PACKET, /* with one */
	SIDES,
};

static struct uroce_worker *workers[3];

struct side {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cqs[2];
	struct ibv_mr *mr;
	struct ibv_qp *qps[QPS];
	uint8_t buffer[2 * QPS][BYTES]; /* to send, and to receive */
	unsigned int received;
};

static struct side sides[SIDES];
static bool rules_needed;	/* fail if the kernel takes no flow rules */

static void
side_open(struct side *s, const char *device, struct uroce_worker **own, unsigned int n, const char *address)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1, .mtu = 1500 };
	uint16_t port_id;

	assert_int_equal(rte_eth_dev_get_port_by_name(device, &port_id), 0);
	assert_non_null(s->context = uroce_open_port(port_id, &conf, own, n));
	assert_int_equal(uroce_add_address(s->context, address), 0);
	assert_non_null(s->pd = uroce_alloc_pd(s->context));
	for (unsigned int i = 0; i < n; i++)
		assert_non_null(s->cqs[i] = uroce_create_cq(s->context, 256, NULL, NULL, (int)i));
	assert_non_null(s->mr = uroce_reg_mr(s->pd, s->buffer, sizeof(s->buffer), IBV_ACCESS_LOCAL_WRITE));
	for (unsigned int i = 0; i < QPS; i++) {
		struct ibv_qp_init_attr attr = {
			.qp_type = IBV_QPT_RC,
			.send_cq = s->cqs[i % n],
			.recv_cq = s->cqs[i % n],
			.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
		};

		assert_non_null(s->qps[i] = uroce_create_qp(s->pd, &attr));
	}
}

static void
side_connect(struct side *s, const struct side *peer)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1, .hop_limit = 64 } },
	};

	assert_int_equal(uroce_query_gid(peer->context, 1, 1, &attr.ah_attr.grh.dgid), 0);
	for (unsigned int i = 0; i < QPS; i++) {
		attr.dest_qp_num = peer->qps[i]->qp_num;
		attr.ah_attr.grh.flow_label = 0x1234b * (i + 1);
		harness_qp_to(s->qps[i], attr, IBV_QPS_RTS);
	}
}

static void
side_close(struct side *s)
{
	for (unsigned int i = 0; i < QPS; i++)
		assert_int_equal(uroce_destroy_qp(s->qps[i]), 0);
	for (unsigned int i = 0; i < 2; i++)
		if (s->cqs[i] != NULL)
			assert_int_equal(uroce_destroy_cq(s->cqs[i]), 0);
	assert_int_equal(uroce_dereg_mr(s->mr), 0);
	assert_int_equal(uroce_dealloc_pd(s->pd), 0);
	assert_int_equal(uroce_close_device(s->context), 0);
}

static void
post(struct side *s, unsigned int i, uint8_t fill)
{
	struct ibv_sge list = { (uintptr_t)s->buffer[QPS + i], BYTES, s->mr->lkey };
	struct ibv_recv_wr *bad_recv, recv = { .wr_id = i, .sg_list = &list, .num_sge = 1 };
	struct ibv_send_wr *bad_send, send = { .sg_list = &list, .num_sge = 1, .opcode = IBV_WR_SEND };

	assert_int_equal(uroce_post_recv(s->qps[i], &recv, &bad_recv), 0);
	memset(s->buffer[i], fill, BYTES);
	list.addr = (uintptr_t)s->buffer[i];
	send.send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(uroce_post_send(s->qps[i], &send, &bad_send), 0);
}

static void
take_completions(struct side *s, uint8_t fill)
{
	struct ibv_wc wc;

	for (unsigned int i = 0; i < 2; i++)
		while (s->cqs[i] != NULL && uroce_poll_cq(s->cqs[i], 1, &wc) == 1) {
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
			if (wc.opcode != IBV_WC_RECV)
				continue;
			assert_int_equal(s->buffer[QPS + wc.wr_id][0], fill);
			assert_int_equal(s->buffer[QPS + wc.wr_id][BYTES - 1], fill);
			s->received++;
		}
}

/* A message of each QP in both directions. */
static void
traffic(uint8_t fill)
{
	for (unsigned int i = 0; i < QPS; i++)
		for (unsigned int k = 0; k < SIDES; k++)
			post(&sides[k], i, (uint8_t)(fill + k));
	for (unsigned int k = 0; k < SIDES; k++)
		sides[k].received = 0;
	while (sides[TAP].received < QPS || sides[PACKET].received < QPS) {
		test_poll(workers, RTE_DIM(workers), 1);
		for (unsigned int k = 0; k < SIDES; k++)
			take_completions(&sides[k], (uint8_t)(fill + 1 - k));
	}
}

static void
test_traffic(void **state)
{
	const struct uroce_port *port = uroce_port_of_context(sides[TAP].context);
	uint64_t before;
	uint8_t fill = 1;

	do {
		before = test_counter(sides[TAP].context, "handed_over");
		traffic(fill);
		fill += 2;
	} while (test_counter(sides[TAP].context, "handed_over") != before &&
		 !__atomic_load_n(&port->steer.rules.refused, __ATOMIC_RELAXED));
	print_message("steered %ju, handed over %ju, %ju rules\n",
		      (uintmax_t)test_counter(sides[TAP].context, "steered"),
		      (uintmax_t)test_counter(sides[TAP].context, "handed_over"),
		      (uintmax_t)test_counter(sides[TAP].context, "rules_installed"));
	if (port->steer.rules.refused)
		print_message("the kernel takes no flow rules (TC flower): these were not tested\n");
	if (rules_needed)
		assert_false(port->steer.rules.refused);
	assert_int_equal(test_counter(sides[TAP].context, "drop_handover"), 0);
	traffic(fill);
}

static int
open_sides(void **state)
{
	for (unsigned int i = 0; i < RTE_DIM(workers); i++)
		assert_non_null(workers[i] = uroce_create_worker(-1));
	side_open(&sides[TAP], "net_tap_uroce", workers, 2, "10.0.0.1/24");
	side_open(&sides[PACKET], "net_af_packet_uroce", workers + 2, 1, "10.0.0.2/24");
	side_connect(&sides[TAP], &sides[PACKET]);
	side_connect(&sides[PACKET], &sides[TAP]);
	return 0;
}

static int
close_sides(void **state)
{
	for (unsigned int i = 0; i < SIDES; i++)
		side_close(&sides[i]);
	for (unsigned int i = 0; i < RTE_DIM(workers); i++)
		assert_int_equal(uroce_destroy_worker(workers[i]), 0);
	return 0;
}

/* usage: test_port_net_tap [--rules] */
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_traffic) };

	rules_needed = argc == 2 && strcmp(argv[1], "--rules") == 0;
	if (unshare(CLONE_NEWNET) != 0 || access("/dev/net/tun", R_OK | W_OK) != 0) {
		printf("skipped: a network namespace and /dev/net/tun are needed: %s\n", strerror(errno));
		return 77;
	}
	test_eal_init("-m", "512", NULL);
	if (rte_vdev_init("net_tap_uroce", "iface=" IFACE) != 0 ||
	    system("ip link set " IFACE " up") != 0 ||	/* Linux 6.1 has no fanout on an interface that is down */
	    rte_vdev_init("net_af_packet_uroce", "iface=" IFACE) != 0) {
		printf("skipped: DPDK or the kernel lacks net_tap or net_af_packet\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, open_sides, close_sides);
}
