/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The embedding program stops and starts ports under traffic, between two polls, as ethdev requires. The requester
 * retransmits the packets in flight, or fails with the right status.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <string.h>

#include <cmocka.h>
#include <rte_ethdev.h>

#include "clock.h"
#include "eal.h"
#include "groups.h"
#include "pair.h"
#include "uroce_config.h"

static struct pair pair;

static int
setup(void **state)
{
	pair_open(&pair);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(pair_end_create(&pair.ends[i]), 0);
		assert_int_equal(fcntl(pair.ends[i].context->async_fd, F_SETFL, O_NONBLOCK), 0);
	}
	pair_connect(&pair);
	return 0;
}

static int
teardown(void **state)
{
	for (unsigned int i = 0; i < 2; i++)
		pair_end_destroy(&pair.ends[i]);
	pair_close(&pair);
	return 0;
}

static void
exchange(uint8_t byte)
{
	memset(pair.ends[0].memory, byte, PAIR_BYTES);
	memset(pair.ends[1].memory, ~byte, PAIR_BYTES);
	pair_write(&pair);
	assert_int_equal(pair_wait(&pair), IBV_WC_SUCCESS);
	assert_memory_equal(pair.ends[0].memory, pair.ends[1].memory, PAIR_BYTES);
}

/* Poll until the last link event is the wanted one. The port checks its link every UROCE_LINK_POLL_NS. */
static void
wait_for_link(unsigned int end, enum ibv_event_type wanted)
{
	enum ibv_event_type last = IBV_EVENT_DEVICE_FATAL;
	struct ibv_async_event event;

	while (last != wanted) {
		pair_poll(&pair, 1);
		while (uroce_get_async_event(pair.ends[end].context, &event) == 0) {
			if (event.event_type == IBV_EVENT_PORT_ERR || event.event_type == IBV_EVENT_PORT_ACTIVE)
				last = event.event_type;
			uroce_ack_async_event(&event);
		}
	}
}

static enum ibv_port_state
port_state(unsigned int end)
{
	struct ibv_port_attr attr;

	assert_int_equal(uroce_query_port(pair.ends[end].context, 1, &attr), 0);
	return attr.state;
}

/* Stop a port in the middle of a message, for less than the retry time, at either end. */
static void
stop_and_start(unsigned int end)
{
	exchange(1);
	memset(pair.ends[0].memory, 2, PAIR_BYTES);
	pair_write(&pair);
	pair_poll(&pair, 1);
	assert_int_equal(rte_eth_dev_stop(pair.ends[end].wire.port_id), 0);
	wait_for_link(end, IBV_EVENT_PORT_ERR);
	assert_int_equal(port_state(end), IBV_PORT_DOWN);
	assert_int_equal(rte_eth_dev_start(pair.ends[end].wire.port_id), 0);
	assert_int_equal(pair_wait(&pair), IBV_WC_SUCCESS);
	assert_memory_equal(pair.ends[0].memory, pair.ends[1].memory, PAIR_BYTES);
	exchange(3);
	wait_for_link(end, IBV_EVENT_PORT_ACTIVE);
	assert_int_equal(port_state(end), IBV_PORT_ACTIVE);
}

static void
test_requester(void **state)
{
	stop_and_start(0);
}

static void
test_responder(void **state)
{
	stop_and_start(1);
}

/* After a stop longer than the retry time, the message fails, the requests behind it are flushed, and the QP can be
 * connected again. */
static void
test_for_long(void **state)
{
	exchange(1);
	assert_int_equal(rte_eth_dev_stop(pair.ends[1].wire.port_id), 0);
	pair_write(&pair);
	pair_write(&pair);
	assert_int_equal(pair_wait(&pair), IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(pair_wait(&pair), IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(rte_eth_dev_start(pair.ends[1].wire.port_id), 0);
	pair_poll(&pair, 10);
	pair_reset(&pair);
	pair_connect(&pair);
	exchange(2);
}

/* Objects destroyed during a stop leave nothing behind, and no destroy waits for a port that does not send. */
static void
test_destroyed(void **state)
{
	exchange(1);
	pair_write(&pair);
	assert_int_equal(rte_eth_dev_stop(pair.ends[0].wire.port_id), 0);
	pair_poll(&pair, 10);
	pair_end_destroy(&pair.ends[0]);
	assert_int_equal(rte_eth_dev_start(pair.ends[0].wire.port_id), 0);
	assert_int_equal(pair_end_create(&pair.ends[0]), 0);
	pair_end_destroy(&pair.ends[1]);
	assert_int_equal(pair_end_create(&pair.ends[1]), 0);
	pair_connect(&pair);
	exchange(2);
}

/* A worker that is not polled for longer than a timeout, as in a stopped process, does not count several timeouts at
 * once: it retransmits and goes on. */
static void
test_nobody_polls(void **state)
{
	exchange(1);
	pair_write(&pair);
	pair_poll(&pair, 1);
	test_clock_advance(10 * 67 * 1000000ull);
	assert_int_equal(pair_wait(&pair), IBV_WC_SUCCESS);
	exchange(2);
}

UROCE_TESTS(failure_port)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(requester), TEST(responder), TEST(for_long), TEST(destroyed), TEST(nobody_polls),
	};

	test_eal_init("--log-level=lib.ethdev:critical", NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
