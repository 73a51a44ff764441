/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Filler frames, which make a driver free sent mbufs: when a port gets them, and which. net_ring is a port that cannot
 * free them on request. The test sets the time.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "eal.h"
#include "base/clock.h"
#include "groups.h"
#include "port/worker/tx_kick.h"
#include "port/worker/worker.h"
#include "tap.h"

#define FILLER "M M 9000 Z46"
#define STEP   (UROCE_TX_KICK_WAIT_NS / 2)

/* The interval after that wait: the minimum, or a 64th of the wait if that is longer. */
#define AGAIN_NS RTE_MAX(UROCE_TX_KICK_NS, UROCE_TX_KICK_WAIT_NS / 64)

static const char *const cidrs[] = { "10.0.0.1/24", NULL };

static void
fill(struct tap *t, uint64_t now_ns)
{
	uroce_worker_enter(t->worker);
	uroce_tx_kick_send(&t->port->queues[0], now_ns);
	uroce_worker_exit(t->worker);
}

static void
expect_burst(struct tap *t)
{
	for (unsigned int i = 0; i < UROCE_BURST; i++)
		tap_expect_text(t, FILLER);
	tap_expect_nothing(t);
}

/* A thread waits from start_ns on, and checks often. @return the time of its last check */
static uint64_t
wait_for(struct tap *t, uint64_t start_ns, uint64_t ns)
{
	uint64_t now_ns = start_ns;

	for (; now_ns < start_ns + ns; now_ns += STEP)
		uroce_tx_kick_wait(t->port, now_ns);
	uroce_tx_kick_wait(t->port, start_ns + ns);
	return start_ns + ns;
}

static void
test_nobody_waits(void **state)
{
	struct tap t;

	tap_open(&t, 0, cidrs);
	fill(&t, uroce_clock_ns());
	tap_expect_nothing(&t);
	assert_int_equal(tap_counter(&t, "fillers_sent"), 0);
	tap_close(&t);
}

/* No burst at first, then one burst, and the next after the interval; none once the wait is over. */
static void
test_wait(void **state)
{
	uint64_t now_ns = uroce_clock_ns();
	struct tap t;

	tap_open(&t, 0, cidrs);
	now_ns = wait_for(&t, now_ns, UROCE_TX_KICK_WAIT_NS - 1);
	fill(&t, now_ns);
	tap_expect_nothing(&t);
	uroce_tx_kick_wait(t.port, ++now_ns);
	fill(&t, now_ns);
	expect_burst(&t);
	assert_int_equal(tap_counter(&t, "fillers_sent"), UROCE_BURST);
	fill(&t, now_ns + AGAIN_NS - 1);
	tap_expect_nothing(&t);
	uroce_tx_kick_wait(t.port, now_ns + AGAIN_NS);
	fill(&t, now_ns + AGAIN_NS);
	expect_burst(&t);
	fill(&t, now_ns + AGAIN_NS + UROCE_TX_KICK_WAIT_NS + 1);
	tap_expect_nothing(&t);
	tap_close(&t);
}

/* Two short waits do not add up to a long one. */
static void
test_another_wait(void **state)
{
	uint64_t now_ns = uroce_clock_ns();
	struct tap t;

	tap_open(&t, 0, cidrs);
	now_ns = wait_for(&t, now_ns, UROCE_TX_KICK_WAIT_NS - 1);
	now_ns = wait_for(&t, now_ns + UROCE_TX_KICK_WAIT_NS + 1, UROCE_TX_KICK_WAIT_NS - 1);
	fill(&t, now_ns);
	tap_expect_nothing(&t);
	tap_close(&t);
}

/* After a minute of waiting, a burst comes once a second: the port is not flooded. */
static void
test_rarer(void **state)
{
	const uint64_t minute_ns = 64000000000ull, second_ns = 1000000000ull;
	uint64_t now_ns = uroce_clock_ns();
	struct tap t;

	tap_open(&t, 0, cidrs);
	now_ns = wait_for(&t, now_ns, minute_ns);
	fill(&t, now_ns);
	expect_burst(&t);
	now_ns = wait_for(&t, now_ns, second_ns - 1);
	fill(&t, now_ns);
	tap_expect_nothing(&t);
	now_ns = wait_for(&t, now_ns, 1);
	fill(&t, now_ns);
	expect_burst(&t);
	tap_close(&t);
}

/* A worker that lacked mbufs waits for those in its ports' rings, until it lacks none any more. */
static void
test_short_of_mbufs(void **state)
{
	uint64_t last_ns;
	struct tap t;

	tap_open(&t, 0, cidrs);
	assert_int_equal(t.port->filler.last_ns, 0);
	t.worker->engine.counters[UROCE_NO_MBUF]++;
	uroce_worker_poll(t.worker);
	last_ns = t.port->filler.last_ns;
	assert_int_equal(last_ns, t.worker->now_ns);
	uroce_worker_poll(t.worker);
	assert_int_equal(t.port->filler.last_ns, last_ns);
	tap_close(&t);
}

/* Filler frames have the VLAN tag, too; without mbufs no filler is sent. */
static void
test_vlan_and_no_mbufs(void **state)
{
	static struct rte_mbuf *taken[UROCE_HEADER_MBUFS];
	uint64_t now_ns = uroce_clock_ns();
	unsigned int n = 0;
	struct tap t;

	tap_open(&t, 5, cidrs);
	now_ns = wait_for(&t, now_ns, UROCE_TX_KICK_WAIT_NS);
	fill(&t, now_ns);
	for (unsigned int i = 0; i < UROCE_BURST; i++)
		tap_expect_text(&t, "M M 8100 0005 9000 Z42");
	while (n < RTE_DIM(taken)) {
		taken[n] = rte_pktmbuf_alloc(t.worker->engine.header_pool);
		if (taken[n] == NULL)
			break;
		n++;
	}
	now_ns = wait_for(&t, now_ns, UROCE_TX_KICK_WAIT_NS);
	fill(&t, now_ns);
	tap_expect_nothing(&t);
	rte_pktmbuf_free_bulk(taken, n);
	tap_close(&t);
}

/* A full ring takes no filler; frames that wait for it leave first. */
static void
test_push(void **state)
{
	struct uroce_port_queue *q;
	unsigned int n, sum = 0;
	uint64_t before;
	struct tap t;

	tap_open(&t, 0, cidrs);
	q = &t.port->queues[0];
	before = tap_counter(&t, "tx_frames");
	uroce_worker_enter(t.worker);
	assert_int_equal(uroce_tx_kick_push(q), UROCE_BURST);
	uroce_worker_exit(t.worker);
	expect_burst(&t);
	uroce_worker_enter(t.worker);
	while ((n = uroce_tx_kick_push(q)) != 0)
		sum += n;
	assert_int_equal(uroce_tx_kick_push(q), 0);
	uroce_worker_exit(t.worker);
	assert_int_equal(tap_counter(&t, "fillers_sent"), UROCE_BURST + sum);
	assert_int_equal(tap_counter(&t, "tx_frames"), before + UROCE_BURST + sum);
	while (sum-- > 0)
		tap_expect_text(&t, FILLER);
	tap_expect_nothing(&t);
	uroce_worker_enter(t.worker);
	q->tx[q->nb_tx++] = rte_pktmbuf_alloc(t.worker->engine.header_pool);
	assert_int_equal(uroce_tx_kick_push(q), 0);
	rte_pktmbuf_free(q->tx[--q->nb_tx]);
	uroce_worker_exit(t.worker);
	tap_expect_nothing(&t);
	tap_close(&t);
}

UROCE_TESTS(port_tx_kick)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_waits),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_another_wait),
		cmocka_unit_test(test_rarer),
		cmocka_unit_test(test_short_of_mbufs),
		cmocka_unit_test(test_vlan_and_no_mbufs),
		cmocka_unit_test(test_push),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
