/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * QP1's traffic byte for byte: a received MAD reaches the CM with its return path, and the CM's reply leaves by that
 * path. A flood costs no more than the queues hold. In one thread.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "eal.h"
#include "groups.h"
#include "port/cm/agent.h"
#include "base/clock.h"
#include "tap.h"

#define L3        14
#define UDP       34
#define DETH      54
#define MAD       62
#define MAD_BYTES 256
#define MORE      100
#define BYTES     (MAD + MAD_BYTES + 4)

/* A DREQ for an unknown connection, from the peer's QP1: the CM replies with a DREP. */
#define DREQ                                                                  \
	"M P 0800 45 00 0134 0000 4000 40 11 0000 0a000002 0a000001"          \
	"c000 12b7 0120 0000"                                                 \
	"64 00 ffff 00 000001 00 000001 80010000 00 000001"                   \
	"01 07 02 03 0000 0000 0000000000000007 0015 0000 00000000" /* MAD */ \
	"00000011 00000022 000000 00 Z220 00000000"

static const char *const cidrs[] = { "10.0.0.1/24", NULL };
static struct tap tap;
static struct uroce_agent *agent;

static int
setup(void **state)
{
	tap_open(&tap, 0, cidrs);
	tap.port->link_due_ns = UINT64_MAX;
	agent = uroce_agent_create(tap.port);
	return agent != NULL ? 0 : -1;
}

static int
teardown(void **state)
{
	uroce_agent_destroy(agent);
	tap_close(&tap);
	return 0;
}

static size_t
dreq(uint8_t *frame)
{
	size_t bytes = tap_frame(&tap, frame, DREQ);

	assert_int_equal(bytes, BYTES);
	tap_checksum_ipv4(frame, L3);
	tap_put_icrc(&tap, frame, bytes, L3, UDP);
	return bytes;
}

static uint64_t
counted(enum uroce_agent_counter which)
{
	return agent->counters[which];
}

/* Answer the device's ARP request, which it sends for its first MAD. */
static void
answer_arp(void)
{
	uint8_t frame[TAP_BYTES];

	tap_expect_text(&tap,
			"ffffffffffff M 0806 0001 0800 06 04 0001 M 0a000001 Z6 0a000002 Z18");
	tap_send(&tap, frame,
		 tap_frame(&tap, frame, "M P 0806 0001 0800 06 04 0002 P 0a000002 M 0a000001 Z18"));
}

static void
test_answer(void **state)
{
	uint8_t frame[TAP_BYTES];
	const uint8_t *out;
	struct rte_mbuf *m;

	tap_send(&tap, frame, dreq(frame));
	assert_int_equal(uroce_agent_round(agent, uroce_clock_ns()), 1);
	assert_int_equal(counted(UROCE_AGENT_RECEIVED), 1);
	assert_int_equal(counted(UROCE_AGENT_SENT), 1);
	answer_arp();
	m = tap_receive(&tap);
	assert_int_equal(rte_pktmbuf_pkt_len(m), BYTES);
	assert_int_equal(rte_pktmbuf_linearize(m), 0);
	out = rte_pktmbuf_mtod(m, const uint8_t *);
	assert_memory_equal(out, "\x02\0\0\0\0\x99", 6);
	assert_memory_equal(out + L3 + 12, "\x0a\0\0\1\x0a\0\0\2", 8);
	assert_memory_equal(out + UDP + 8, "\x64\x40\xff\xff\0\0\0\1", 8); /* to QP1 */
	assert_memory_equal(out + DETH, "\x80\1\0\0\0\0\0\1", 8);
	assert_memory_equal(out + MAD + 16, "\0\x16", 2); /* DREP */
	assert_memory_equal(out + MAD + 24, "\0\0\0\x22\0\0\0\x11",
			    8); /* the two IDs, swapped */
	rte_pktmbuf_free(m);
	assert_true(uroce_agent_flushed(agent));
}

/* The agent drops MADs that do not come from a QP1. */
static void
test_source(void **state)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes = dreq(frame);

	frame[DETH + 7] = 2;
	tap_put_icrc(&tap, frame, bytes, L3, UDP);
	tap_send(&tap, frame, bytes);
	assert_int_equal(uroce_agent_round(agent, uroce_clock_ns()), 1);
	assert_int_equal(counted(UROCE_AGENT_DROP_SOURCE), 1);
	assert_int_equal(counted(UROCE_AGENT_RECEIVED), 0);
	/* R7: and those with another Q_Key */
	bytes = dreq(frame);
	frame[DETH + 3] = 1;
	tap_put_icrc(&tap, frame, bytes, L3, UDP);
	tap_expect_drop(&tap, frame, bytes, "drop_qkey");
	assert_int_equal(uroce_agent_round(agent, uroce_clock_ns()), 0);
	assert_true(uroce_agent_flushed(agent));
}

/* While the agent does not run, the receive queue fills up, and further MADs are dropped; then the agent empties the
 * queue. */
static void
test_flood(void **state)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes = dreq(frame);
	unsigned int n, total = 0;

	frame[DETH + 7] = 2; /* prevents a reply */
	tap_put_icrc(&tap, frame, bytes, L3, UDP);
	for (unsigned int i = 0; i < UROCE_CM_RECVS + 100; i++)
		tap_send(&tap, frame, bytes);
	assert_int_equal(tap_counter(&tap, "drop_no_recv"), 100);
	while ((n = uroce_agent_round(agent, uroce_clock_ns())) != 0) {
		assert_true(n <= UROCE_CM_ROUND);
		total += n;
	}
	assert_int_equal(total, UROCE_CM_RECVS);
	assert_int_equal(counted(UROCE_AGENT_DROP_SOURCE), UROCE_CM_RECVS);
	tap_send(&tap, frame, bytes);
	assert_int_equal(uroce_agent_round(agent, uroce_clock_ns()), 1);
}

/* The agent sends more than the send queue takes while the worker is not polled: the rest waits, and leaves later. */
static void
test_backlog(void **state)
{
	static uint8_t frame[TAP_BYTES];
	struct rte_mbuf *m;

	dreq(frame);
	tap_send(&tap, frame, BYTES);
	uroce_agent_round(agent, uroce_clock_ns());
	answer_arp();
	rte_pktmbuf_free(tap_receive(&tap));
	assert_true(uroce_agent_flushed(agent));
	for (unsigned int i = 0; i < UROCE_CM_SENDS + MORE; i++)
		tap_send(&tap, frame, BYTES);
	for (unsigned int i = 0; i <= UROCE_CM_SENDS / UROCE_CM_ROUND; i++)
		uroce_agent_round(agent, uroce_clock_ns());
	assert_int_equal(agent->sending, UROCE_CM_SENDS);
	assert_int_equal(agent->unsent_count, MORE);
	for (unsigned int i = 0; !uroce_agent_flushed(agent); i++) {
		assert_true(i < 100000);
		uroce_worker_poll(tap.worker);
		while (rte_ring_dequeue(tap.wire.tx[0], (void **)&m) == 0)
			rte_pktmbuf_free(m);
	}
	assert_int_equal(counted(UROCE_AGENT_SENT), UROCE_CM_SENDS + MORE + 1);
	assert_int_equal(counted(UROCE_AGENT_DROP_BACKLOG), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

UROCE_TESTS(port_agent)
{
	const struct CMUnitTest tests[] = {
		TEST(answer),
		TEST(source),
		TEST(flood),
		TEST(backlog),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
