/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A worker's round: what a poll counts and where it stops, which thread has the turn, and which queues the worker
 * drives.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_ring.h>

#include "eal.h"
#include "groups.h"
#include "port/worker/worker.h"
#include "tap.h"

#define REQUEST "ffffffffffff P 0806 0001 0800 06 04 0001 P 0a000002 Z6 0a000001"
#define REPLY   "P M 0806 0001 0800 06 04 0002 M 0a000001 P 0a000002 Z18"
#define MANY    200 /* frames; more than a poll receives */

static_assert(MANY > 2 * UROCE_BURST, "MANY");

static const char *const cidrs[] = { "10.0.0.1/24", NULL };

/* Put frames that are too short for any protocol on the wire. */
static void
put_short(struct tap *t, unsigned int n)
{
	static const uint8_t frame[10];

	while (n-- > 0)
		assert_int_equal(rte_ring_enqueue(t->wire.rx[0], tap_mbuf(t, frame, sizeof(frame))),
				 0);
}

static void
put_inbox(struct tap *t, const char *text)
{
	struct uroce_inbox_item item = { .port_id = t->wire.port_id };
	uint8_t frame[TAP_BYTES];

	item.packet.mbuf = tap_mbuf(t, frame, tap_frame(t, frame, text));
	assert_int_equal(rte_ring_mp_enqueue_elem(t->worker->inbox, &item, sizeof(item)), 0);
}

static void
test_counts(void **state)
{
	unsigned int left = MANY, n;
	struct tap t;

	tap_open(&t, 0, cidrs);
	assert_int_equal(uroce_worker_poll(t.worker), 0);
	put_short(&t, 5);
	assert_int_equal(uroce_worker_poll(t.worker), 5);
	assert_int_equal(uroce_worker_poll(t.worker), 0);
	assert_int_equal(tap_counter(&t, "rx_frames"), 5);
	assert_int_equal(tap_counter(&t, "drop_l2_short"), 5);
	put_short(&t, MANY);
	for (; left > 0; left -= n) {
		n = uroce_worker_poll(t.worker);
		assert_int_equal(n, RTE_MIN(left, (unsigned int)UROCE_BURST));
	}
	assert_int_equal(uroce_worker_poll(t.worker), 0);
	assert_int_equal(tap_counter(&t, "rx_frames"), 5 + MANY);
	tap_close(&t);
}

/* A poll does nothing while another thread has the turn; the next poll misses no frame. */
static void
test_turn(void **state)
{
	struct tap t;

	tap_open(&t, 0, cidrs);
	for (unsigned int i = 0; i < 3; i++) {
		uroce_worker_enter(t.worker);
		put_short(&t, 2);
		assert_int_equal(uroce_worker_poll(t.worker), 0);
		uroce_workers_progress();
		assert_int_equal(rte_ring_count(t.wire.rx[0]), 2);
		uroce_worker_exit(t.worker);
		if (i == 2)
			uroce_workers_progress();
		else
			assert_int_equal(uroce_worker_poll(t.worker), 2);
		assert_int_equal(rte_ring_count(t.wire.rx[0]), 0);
		assert_int_equal(tap_counter(&t, "rx_frames"), 2 * (i + 1));
	}
	tap_close(&t);
}

/* An observer waits for the turn for a limited time, and a polling thread lets it have the turn. */
static void
test_guest(void **state)
{
	struct tap t;

	tap_open(&t, 0, cidrs);
	assert_true(uroce_worker_enter_within(t.worker, 0));
	assert_int_equal(t.worker->guests, 0);
	assert_false(uroce_worker_enter_within(t.worker, 1000000));
	assert_int_equal(t.worker->guests, 0);
	put_short(&t, 2);
	assert_int_equal(uroce_worker_poll(t.worker), 0);
	uroce_worker_exit(t.worker);
	t.worker->guests = 1; /* as if an observer waited */
	assert_int_equal(uroce_worker_poll(t.worker), 0);
	t.worker->guests = 0;
	assert_int_equal(uroce_worker_poll(t.worker), 2);
	tap_close(&t);
}

static void *
poll_on(void *arg)
{
	struct uroce_worker *w = arg;

	while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED))
		uroce_worker_poll(w);
	return NULL;
}

/* The observer gets the turn however fast another thread polls. */
static void
test_guest_of_a_busy_one(void **state)
{
	pthread_t poller;
	uint64_t rounds;
	struct tap t;

	tap_open(&t, 0, cidrs);
	assert_int_equal(pthread_create(&poller, NULL, poll_on, t.worker), 0);
	for (unsigned int i = 0; i < 100; i++) {
		assert_true(uroce_worker_enter_within(t.worker, 60000000000));
		rounds = t.worker->load.rounds;
		sched_yield();
		assert_int_equal(t.worker->load.rounds, rounds);
		uroce_worker_exit(t.worker);
	}
	__atomic_store_n(&t.worker->stop, true, __ATOMIC_RELAXED);
	pthread_join(poller, NULL);
	tap_close(&t);
}

/* A removed queue is not read; frames for it from elsewhere are freed and counted. */
static void
test_queue(void **state)
{
	struct uroce_port_queue *q;
	struct tap t;

	tap_open(&t, 0, cidrs);
	q = &t.port->queues[0];
	assert_int_equal(t.worker->nb_queues, 1);
	assert_ptr_equal(t.worker->by_port[t.wire.port_id], q);
	uroce_worker_del_queue(t.worker, q);
	assert_int_equal(t.worker->nb_queues, 0);
	assert_null(t.worker->by_port[t.wire.port_id]);
	put_short(&t, 3);
	put_inbox(&t, REQUEST);
	assert_int_equal(uroce_worker_poll(t.worker), 1); /* from the inbox */
	assert_int_equal(t.worker->lost, 1);
	assert_int_equal(rte_ring_count(t.wire.rx[0]), 3);
	tap_expect_nothing(&t);

	uroce_worker_add_queue(t.worker, q);
	assert_int_equal(t.worker->nb_queues, 1);
	assert_int_equal(uroce_worker_poll(t.worker), 3);
	assert_int_equal(t.worker->lost, 1);
	tap_close(&t);
}

/* A looped-back frame is processed like one from the port, but does not count as the port's. */
static void
test_inbox(void **state)
{
	struct tap t;

	tap_open(&t, 0, cidrs);
	put_inbox(&t, REQUEST);
	uroce_workers_drain(); /* a worker drives its port: the frame stays */
	assert_int_equal(rte_ring_count(t.worker->inbox), 1);
	assert_int_equal(uroce_worker_poll(t.worker), 2); /* one received, one sent */
	tap_expect_text(&t, REPLY);
	tap_expect_nothing(&t);
	put_inbox(&t, "P P 0806");
	assert_int_equal(uroce_worker_poll(t.worker), 1);
	assert_int_equal(tap_counter(&t, "rx_frames"), 0);
	assert_int_equal(tap_counter(&t, "arp_answered"), 1);
	assert_int_equal(t.worker->lost, 0);
	tap_close(&t);
}

UROCE_TESTS(port_worker)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_turn),
		cmocka_unit_test(test_guest),
		cmocka_unit_test(test_guest_of_a_busy_one),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_inbox),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
