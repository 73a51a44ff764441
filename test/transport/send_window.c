/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A device with a larger window than the default: when a QP's window grows, when it shrinks, and recovery and the
 * reorder buffer beyond the sizes of the default.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gaps.h"
#include "groups.h"
#include "losses.h"
#include "peer.h"
#include "transport/requester/requester.h"
#include "wire/psn.h"

#define LOG2	 11
#define LARGEST	 (1u << LOG2)
#define PACKETS	 (PEER_BUFFER_BYTES / 256) /* of a WRITE */
#define TRIP_NS	 1000000ull
#define WRAPS	 (UROCE_PSN_MASK - 1000) /* a PSN shortly before the wrap */
#define SEQUENCE_NAK (UROCE_AETH_NAK | UROCE_NAK_PSN_SEQUENCE_ERROR)

static const struct peer_conf large = { .mtu = IBV_MTU_256, .log2_window = LOG2 };

static uint32_t next;	/* PSN of the next new packet */
static unsigned int posted;

static void
begin(struct peer *p, const struct peer_conf *conf)
{
	peer_start(p, conf);
	next = PEER_SQ_PSN;
	posted = 0;
}

/* Let the QP send as much as its window allows. @return the number of packets */
static uint32_t
send_all(struct peer *p)
{
	struct peer_packet out;
	struct ibv_wc wc;
	uint32_t n = 0;

	while (uroce_poll_cq(p->send_cq, 1, &wc) == 1)
		posted--;
	for (; posted < 4 * LARGEST / PACKETS; posted++)
		peer_post(p, IBV_WR_RDMA_WRITE, 0, PEER_BUFFER_BYTES, 0, 0);
	for (; peer_out(p, &out); n++)
		next = uroce_psn_add(out.psn, 1);
	return n;
}

/* Send a window; the peer acknowledges it after a round trip, which is longer if packets wait in a queue. */
static uint32_t
round_trip(struct peer *p, uint64_t packet_ns)
{
	uint32_t n = send_all(p);

	p->now_ns += RTE_MAX(TRIP_NS, n * packet_ns);
	assert_int_equal(peer_ack(p, PEER_UNLIMITED, next - 1), UROCE_OK);
	return n;
}

static void
end(struct peer *p)
{
	send_all(p);
	peer_stop(p);
}

static void
it_doubles_while_the_path_holds_it(void **state)
{
	struct peer p;

	(void)state;
	begin(&p, &large);
	for (uint32_t n = UROCE_WINDOW_PACKETS; n < LARGEST; n *= 2)
		assert_int_equal(round_trip(&p, 100), n);
	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(round_trip(&p, 100), LARGEST);
	end(&p);
}

static void
a_queue_ends_the_growth(void **state)
{
	uint32_t n = 0;
	struct peer p;

	(void)state;
	begin(&p, &large);
	/* 1024 packets take 1.5 round trips */
	for (unsigned int i = 0; i < 30; i++)
		n = round_trip(&p, 1500);
	assert_int_equal(n, 1024);
	/* a slower path */
	for (unsigned int i = 0; i < 60; i++)
		n = round_trip(&p, 6000);
	assert_int_equal(n, UROCE_WINDOW_PACKETS);
	end(&p);
}

/* A QP that does not use its window keeps it. */
static void
few_packets(void **state)
{
	struct peer p;

	(void)state;
	begin(&p, &large);
	for (unsigned int i = 0; i < 10; i++) {
		peer_post(&p, IBV_WR_RDMA_WRITE, 0, PEER_BUFFER_BYTES / 2, 0, 0);
		assert_int_equal(peer_requester(&p)->log2_window, UROCE_LOG2_WINDOW);
		for (struct peer_packet out; peer_out(&p, &out);)
			next = uroce_psn_add(out.psn, 1);
		p.now_ns += TRIP_NS;
		assert_int_equal(peer_ack(&p, PEER_UNLIMITED, next - 1), UROCE_OK);
	}
	peer_stop(&p);
}

/* The peer drops all packets that follow a lost one, and its replies show that twice. */
static void
a_plain_peer_gets_the_default(void **state)
{
	struct peer p;

	(void)state;
	begin(&p, &large);
	for (unsigned int i = 0; i < 4; i++)
		round_trip(&p, 100);
	for (unsigned int i = 0; i < 2; i++) {
		uint32_t lost = next;

		assert_true(send_all(&p) > UROCE_WINDOW_PACKETS);
		assert_int_equal(peer_ack(&p, SEQUENCE_NAK, lost), UROCE_OK);
		assert_true(send_all(&p) > 0);
		peer_ack(&p, SEQUENCE_NAK, lost + 1);
		send_all(&p);
		assert_int_equal(peer_ack(&p, PEER_UNLIMITED, next - 1), UROCE_OK);
	}
	assert_int_equal(peer_requester(&p)->peer, UROCE_PEER_PLAIN);
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(round_trip(&p, 100), UROCE_WINDOW_PACKETS);
	end(&p);
}

/* After a timeout the path may be another. */
static void
a_timeout_resets_it(void **state)
{
	struct peer p;

	(void)state;
	begin(&p, &large);
	for (unsigned int i = 0; i < 4; i++)
		round_trip(&p, 100);
	send_all(&p);
	while (p.engine.counters[UROCE_TIMEOUTS] == 0) {
		peer_wait(&p);
		for (struct peer_packet out; peer_out(&p, &out);)
			;
	}
	assert_int_equal(peer_requester(&p)->log2_window, UROCE_LOG2_WINDOW);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, next - 1), UROCE_OK);
	end(&p);
}

static void
a_smaller_one(void **state)
{
	static const struct peer_conf small = { .mtu = IBV_MTU_256, .log2_window = UROCE_MIN_LOG2_WINDOW };
	struct peer p;

	(void)state;
	begin(&p, &small);
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(round_trip(&p, 100), 1u << UROCE_MIN_LOG2_WINDOW);
	end(&p);
}

/* One packet is lost of a window that is larger than the default's reorder buffer: the QP retransmits this packet only,
 * and goes on. */
static void
lose_one(uint32_t first)
{
	static const uint16_t run[][2] = { { 1, LARGEST - 1 } };
	struct peer_packet out;
	struct peer p;
	uint32_t lost;

	begin(&p, &(struct peer_conf){ .mtu = IBV_MTU_256, .log2_window = LOG2, .sq_psn = first });
	peer_learn_sacks(&p, first);
	next = first + 6;
	while (uroce_window(peer_requester(&p)) < LARGEST)
		round_trip(&p, 100);
	lost = next;
	assert_int_equal(send_all(&p), LARGEST);
	p.now_ns += TRIP_NS;
	assert_int_equal(peer_sack(&p, lost, next, run, 1), UROCE_OK);
	assert_true(peer_out(&p, &out));
	assert_int_equal(out.psn, lost);
	assert_int_equal(send_all(&p), LARGEST - 1);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, next - 1), UROCE_OK);
	assert_null(peer_requester(&p)->recovery);
	end(&p);
}

static void
a_loss_in_a_large_one(void **state)
{
	(void)state;
	assert_true(LARGEST > UROCE_REORDER_WINDOW);
	lose_one(PEER_SQ_PSN);
	lose_one(WRAPS - 2 * LARGEST);
}

/* Packets arrive in any order, up to the end of a large reorder buffer. */
static void
reorder(uint32_t first)
{
	const uint32_t end = LARGEST << UROCE_LOG2_REORDER_WINDOWS;
	struct peer p;

	peer_start(&p, &(struct peer_conf){ .log2_window = LOG2, .rq_psn = first });
	assert_int_equal(gap_in_write(&p, uroce_psn_add(first, end), false), UROCE_NAK_SEQUENCE);
	peer_expect_ack(&p, UROCE_AETH_SEQUENCE_NAK, first, 0);
	for (uint32_t i = UROCE_REORDER_WINDOW + 4; i >= UROCE_REORDER_WINDOW - 5; i--)
		assert_int_equal(gap_in_write(&p, uroce_psn_add(first, i), false), UROCE_EARLY);
	assert_int_equal(gap_in_write(&p, uroce_psn_add(first, end - 1), false), UROCE_EARLY);
	assert_int_equal(gap_in_write(&p, uroce_psn_add(first, UROCE_REORDER_WINDOW), false), UROCE_DUPLICATE);
	assert_int_equal(gap_kept(&p), 11);
	for (uint32_t i = 0; i < UROCE_REORDER_WINDOW - 5; i++)
		assert_int_equal(gap_in_write(&p, uroce_psn_add(first, i), false), UROCE_OK);
	assert_int_equal(gap_kept(&p), 1);
	gap_drain(&p);
	assert_int_equal(uroce_responder_of(uroce_qp_of(p.qp))->psn, uroce_psn_add(first, UROCE_REORDER_WINDOW + 5));
	peer_stop(&p);
}

static void
a_large_reorder_buffer(void **state)
{
	(void)state;
	reorder(PEER_RQ_PSN);
	reorder(WRAPS);
	reorder(WRAPS - UROCE_REORDER_WINDOW + 1000);
}

UROCE_TESTS(send_window)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_doubles_while_the_path_holds_it),
		cmocka_unit_test(a_queue_ends_the_growth),
		cmocka_unit_test(few_packets),
		cmocka_unit_test(a_plain_peer_gets_the_default),
		cmocka_unit_test(a_timeout_resets_it),
		cmocka_unit_test(a_smaller_one),
		cmocka_unit_test(a_loss_in_a_large_one),
		cmocka_unit_test(a_large_reorder_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
