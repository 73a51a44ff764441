/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Without RSS and flow rules all frames arrive at one worker. Full inboxes of the others delay frames, and lose none.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "eal.h"
#include "port/port.h"
#include "port/worker/worker.h"
#include "rings.h"
#include "sides.h"
#include "uroce.h"

static unsigned int held; /* polls after which frames waited for an inbox */

/* All frames land in the queue of worker 0, and the inboxes of the other workers are small. Worker 0 is polled most. */
static void
poll_unevenly(void)
{
	for (unsigned int k = 0; k < 2; k++) {
		for (unsigned int i = 0; i < 8; i++)
			uroce_worker_poll(sides[k].workers[0]);
		held += uroce_port_of_context(sides[k].context)->queues[0].handover.count != 0;
		test_poll(sides[k].workers, SIDE_WORKERS, 1);
		side_take_completions(&sides[k]);
	}
}

static void
without_rss(void)
{
	held = 0;
	for (unsigned int k = 0; k < 2; k++) {
		sides[k].nic.types = 0;
		sides[k].nic.takes = 0;
	}
	sides_open(UROCE_MIN_INBOX_FRAMES);
}

/* Full inboxes delay frames, and lose none: reliable QPs retransmit nothing. */
static void
test_full_inbox(void **state)
{
	without_rss();
	sides_connect(IBV_QPT_RC, SIDE_QPS, GID_IPV4, 0);
	sides_traffic(0, SIDE_QPS);
	sides[0].received = 0;
	for (unsigned int i = 0; i < SIDE_QPS; i++)
		for (unsigned int n = 0; n < 32; n++) {
			side_receive_post(&sides[0], i);
			side_send_post(&sides[1], i, SIDE_BYTES, NULL);
		}
	while (sides[0].received < 32 * SIDE_QPS)
		poll_unevenly();
	assert_true(held > 0);
	assert_true(side_counter(0, "handed_over") > 32 * SIDE_QPS);
	sides_expect_nothing_lost();
}

/* Datagrams, which nothing would retransmit. */
static void
test_full_inbox_datagrams(void **state)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = GID_IPV4 } };
	struct ibv_ah *ah;

	without_rss();
	sides_connect(IBV_QPT_UD, SIDE_QPS, GID_IPV4, 0);
	assert_int_equal(uroce_query_gid(sides[0].context, 1, GID_IPV4, &attr.grh.dgid), 0);
	assert_non_null(ah = uroce_create_ah(sides[1].pd, &attr));
	sides_datagrams(&sides[1], 1, 1, ah, sides_poll);
	sides_datagrams(&sides[1], SIDE_QPS, 60, ah, poll_unevenly);
	assert_true(held > 0);
	sides_expect_nothing_lost();
	assert_int_equal(uroce_destroy_ah(ah), 0);
}

/* A multicast message to QPs of all workers. */
static void
test_full_inbox_group(void **state)
{
	const union ibv_gid group = { .raw = UROCE_GID_IPV4(239, 1, 2, 3) };
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = GID_IPV4, .dgid = group } };
	struct ibv_sge list;
	struct ibv_send_wr wr = { .sg_list = &list,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	const unsigned int messages = 60;

	without_rss();
	sides_connect(IBV_QPT_UD, 2 * SIDE_WORKERS, GID_IPV4, 0);
	for (unsigned int i = 0; i < 2 * SIDE_WORKERS; i++) {
		assert_int_equal(uroce_attach_mcast(sides[0].qps[i], &group, 0), 0);
		for (unsigned int n = 0; n < messages; n++)
			side_receive_post(&sides[0], i);
	}
	list = side_sge(&sides[1], 0, 100);
	assert_non_null(wr.wr.ud.ah = uroce_create_ah(sides[1].pd, &attr));
	wr.wr.ud.remote_qpn = 0xffffff;
	wr.wr.ud.remote_qkey = SIDE_QKEY;
	for (unsigned int n = 0; n < messages; n++)
		assert_int_equal(uroce_post_send(sides[1].qps[0], &wr, &bad), 0);
	while (sides[0].received < messages * 2 * SIDE_WORKERS)
		poll_unevenly();
	assert_true(held > 0);
	assert_int_equal(side_counter(0, "handed_over"), messages * (SIDE_WORKERS - 1));
	assert_int_equal(side_counter(0, "group_deliveries"), messages * 2 * SIDE_WORKERS);
	sides_expect_nothing_lost();
	for (unsigned int i = 0; i < 2 * SIDE_WORKERS; i++)
		assert_int_equal(uroce_detach_mcast(sides[0].qps[i], &group, 0), 0);
	assert_int_equal(uroce_destroy_ah(wr.wr.ud.ah), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sides_setup, sides_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_full_inbox),
		TEST(test_full_inbox_datagrams),
		TEST(test_full_inbox_group),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
