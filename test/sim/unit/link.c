/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the network: arrival times, harm, cuts, requested losses and overruns. Captured frames are accepted after
 * marking, and dropped after corruption of a byte that the ICRC covers.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ecn.h"
#include "frames.h"
#include "groups.h"
#include "link.h"
#include "trace.h"
#include "uroce_config.h"
#include "wire/opcode.h"
#include "wire/packet.h"

#define ROOM 9216

static uint8_t frame_buf[ROOM + RTE_PKTMBUF_HEADROOM], received_buf[ROOM + RTE_PKTMBUF_HEADROOM];

static void
open_link(struct link *l, struct link_conf conf)
{
	trace_init(false);
	conf.quantum_ns = RTE_MAX(conf.quantum_ns, 1u);
	conf.netem.burst = 1;
	link_init(l, &conf, 4, 1);
}

/* Send a RoCEv2 frame over IPv4, ECT(0), with a number as PSN and behind the BTH. */
static void
send_at(struct link *l, uint64_t now_ns, unsigned int from, unsigned int to, uint8_t opcode, uint8_t number)
{
	struct rte_mbuf m;
	uint8_t *bytes;

	test_mbuf_init(&m, frame_buf, sizeof(frame_buf), 1000 - BOTTLENECK_FRAME_BYTES);
	bytes = rte_pktmbuf_mtod(&m, uint8_t *);
	memset(bytes, 0, m.data_len);
	bytes[12] = 0x08;
	bytes[14] = 0x45;
	bytes[15] = 2;
	bytes[42] = opcode;
	bytes[53] = number; /* last byte of the PSN */
	bytes[54] = number;
	link_send(l, now_ns, from, to, &m);
}

/* @return the number of the frame that has arrived by then; -1: none */
static int
receive_at(struct link *l, uint64_t now_ns, unsigned int to)
{
	struct link_frame *f;
	int number;

	link_advance(l, now_ns);
	f = link_receive(l, to);
	if (f == NULL)
		return -1;
	assert_int_equal(f->to, to);
	number = f->data[54];
	free(f);
	return number;
}

static void
test_delay(void **state)
{
	struct link l;

	open_link(&l, (struct link_conf){ .netem.delay_ns = 500, .quantum_ns = 100 });
	send_at(&l, 1010, 0, 1, 4, 1);
	send_at(&l, 1010, 0, 1, 4, 2);
	send_at(&l, 1010, 2, 3, 4, 3);
	assert_int_equal(link_next(&l), 1600);
	assert_int_equal(receive_at(&l, 1599, 1), -1);
	assert_int_equal(receive_at(&l, 1600, 1), 1);
	assert_int_equal(receive_at(&l, 1600, 1), 2);
	assert_int_equal(receive_at(&l, 1600, 1), -1);
	assert_int_equal(receive_at(&l, 1600, 3), 3);
	assert_int_equal(link_next(&l), UINT64_MAX);
	link_fini(&l);
}

static void
test_cut(void **state)
{
	struct link l;

	open_link(&l, (struct link_conf){ .netem.delay_ns = 100 });
	send_at(&l, 1000, 0, 1, 4, 1); /* in flight */
	link_cut(&l, 1, 0, 2000);
	send_at(&l, 1500, 0, 1, 4, 2);
	send_at(&l, 1500, 1, 0, 4, 3);
	send_at(&l, 1500, 0, 2, 4, 4);
	assert_int_equal(receive_at(&l, 2000, 1), -1);
	assert_int_equal(receive_at(&l, 2000, 0), -1);
	assert_int_equal(receive_at(&l, 2000, 2), 4);
	send_at(&l, 2000, 0, 1, 4, 5);
	assert_int_equal(receive_at(&l, 2100, 1), 5);
	assert_int_equal(l.lost, 3);
	link_fini(&l);
}

/* Check which of 4 ends receive frames of each end. */
static void
assert_reaches(struct link *l, uint64_t now_ns, const char *const who[4])
{
	for (unsigned int from = 0; from < 4; from++)
		for (unsigned int to = 0; to < 4; to++) {
			send_at(l, now_ns, from, to, 4, 9);
			assert_int_equal(receive_at(l, now_ns, to), who[from][to] == 'x' ? 9 : -1);
		}
}

static void
test_groups(void **state)
{
	struct link l;

	open_link(&l, (struct link_conf){ .quantum_ns = 1 });
	link_partition(&l, 0x5, UINT64_MAX);
	assert_reaches(&l, 10, (const char *const[]){ "x.x.", ".x.x", "x.x.", ".x.x" });
	link_mend(&l);
	assert_reaches(&l, 10, (const char *const[]){ "xxxx", "xxxx", "xxxx", "xxxx" });
	link_pull(&l, 2, 50);
	assert_reaches(&l, 49, (const char *const[]){ "xx.x", "xx.x", "....", "xx.x" });
	assert_reaches(&l, 50, (const char *const[]){ "xxxx", "xxxx", "xxxx", "xxxx" });
	link_fini(&l);
}

static void
test_chosen(void **state)
{
	struct link l;

	open_link(&l, (struct link_conf){ .quantum_ns = 1 });
	link_choose(&l, 0, 1, 6, 2);
	link_choose(&l, 0, 1, 7, 1);
	for (uint8_t i = 0; i < 4; i++) {
		send_at(&l, 0, 0, 1, 6, i);
		send_at(&l, 0, 1, 0, 6, i);
		send_at(&l, 0, 0, 1, 7, 10 + i);
	}
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(receive_at(&l, 0, 0), i);
		if (i != 1)
			assert_int_equal(receive_at(&l, 0, 1), i);
		if (i != 0)
			assert_int_equal(receive_at(&l, 0, 1), 10 + i);
	}
	assert_int_equal(l.lost, 2);
	link_fini(&l);
}

/* A network that loses everything spares a packet that it has harmed often enough, and only this packet. */
static void
test_most_harmed(void **state)
{
	struct link l;

	open_link(&l, (struct link_conf){ .netem.loss = UINT32_MAX, .most_harmed = 2 });
	for (unsigned int i = 0; i < 4; i++) {
		send_at(&l, 0, 0, 1, 4, 7);
		assert_int_equal(receive_at(&l, 0, 1), i < 2 ? -1 : 7);
		send_at(&l, 0, 0, 2, 4, 7);
		assert_int_equal(receive_at(&l, 0, 2), i < 2 ? -1 : 7);
	}
	send_at(&l, 0, 0, 1, 4, 8);
	assert_int_equal(receive_at(&l, 0, 1), -1);
	assert_int_equal(l.lost, 5);
	link_fini(&l);
}

/* A frame that a cut wire loses, and a frame delayed for longer than a timeout, count as harmed, too. */
static void
test_most_harmed_otherwise(void **state)
{
	struct link l;

	open_link(&l, (struct link_conf){ .netem = { .reorder = UINT32_MAX, .late_ns = 3000000 }, .most_harmed = 2 });
	link_cut(&l, 0, 1, 10);
	send_at(&l, 0, 0, 1, 4, 1);
	send_at(&l, 10, 0, 1, 4, 1);
	assert_int_equal(receive_at(&l, 2000000, 1), -1);
	send_at(&l, 2000000, 0, 1, 4, 1);
	assert_int_equal(receive_at(&l, 2000000, 1), 1);
	link_fini(&l);
}

static void
test_overrun(void **state)
{
	struct link l;

	open_link(&l, (struct link_conf){ .rx_frames = 3 });
	for (uint8_t i = 0; i < 5; i++)
		send_at(&l, 0, 0, 1, 4, i);
	link_advance(&l, 0);
	assert_int_equal(l.overrun, 2);
	assert_int_equal(receive_at(&l, 0, 1), 0);
	send_at(&l, 0, 0, 1, 4, 7); /* there is room again */
	assert_int_equal(receive_at(&l, 0, 1), 1);
	assert_int_equal(receive_at(&l, 0, 1), 2);
	assert_int_equal(receive_at(&l, 0, 1), 7);
	assert_int_equal(receive_at(&l, 0, 1), -1);
	send_at(&l, 0, 0, 1, 4, 8);
	link_forget(&l, 1);
	assert_int_equal(receive_at(&l, 0, 1), -1);
	link_fini(&l);
}

/* Two senders at once: their ports and that of the switch take 1 us per frame. */
static void
test_switch(void **state)
{
	struct link_conf conf = {
		.switched = true,
		.netem.delay_ns = 10000,
		.tx_bytes = 1000,
		.wire = { .rate = UINT64_C(8000000000), .limit_bytes = 3000, .mark_min_bytes = 2000,
			  .mark_max_bytes = 2000 },
	};
	struct link_frame *f;
	unsigned int n = 0;
	struct link l;

	open_link(&l, conf);
	for (uint8_t i = 0; i < 5; i++) {
		assert_int_equal(link_ready(&l, 0, 0), i < 2 ? 0 : (i - 1) * 1000);
		send_at(&l, 0, 0, 3, 4, i);
		send_at(&l, 0, 1, 3, 4, 10 + i);
	}
	/* per us two frames arrive at the switch and one leaves: queues of 0, 1, 1, 2, 2, 3 -> dropped, … */
	link_advance(&l, UINT64_MAX / 2000);
	for (; (f = link_receive(&l, 3)) != NULL; n++) {
		assert_int_equal(f->due_ns, 12000 + n * 1000);
		assert_int_equal(uroce_netem_ecn(f->data, f->bytes), n < 3 ? 2 : UROCE_ECN_CE);
		free(f);
	}
	assert_int_equal(n, 7);
	assert_int_equal(l.ports[3].in.dropped, 3);
	assert_int_equal(l.lost, 3);
	link_fini(&l);
}

static enum uroce_verdict
decode(struct rte_mbuf *m)
{
	struct uroce_packet packet;

	return uroce_packet_decode(m, rte_pktmbuf_mtod(m, uint8_t *)[12] == 0x81 ? 18 : 14, &packet);
}

static enum uroce_verdict
decode_received(const struct link_frame *f)
{
	struct rte_mbuf m;

	test_mbuf_init(&m, received_buf, sizeof(received_buf), f->bytes);
	memcpy(rte_pktmbuf_mtod(&m, uint8_t *), f->data, f->bytes);
	return decode(&m);
}

struct tally {
	struct link link;
	unsigned int wrong;
	unsigned int right;
	unsigned int touched;
	unsigned int damaged;
};

static void
send_captured(const struct test_frame *frame, void *arg)
{
	struct tally *t = arg;
	struct link_frame *f;
	struct rte_mbuf m;

	test_mbuf_init(&m, frame_buf, sizeof(frame_buf), frame->len);
	memcpy(rte_pktmbuf_mtod(&m, uint8_t *), frame->bytes, frame->len);
	if (decode(&m) != UROCE_OK) {
		t->wrong++; /* one capture has a wrong ICRC on purpose */
		return;
	}
	link_send(&t->link, 0, 0, 1, &m);
	link_advance(&t->link, 0);
	while ((f = link_receive(&t->link, 1)) != NULL) {
		enum uroce_verdict v = decode_received(f);

		if (f->damaged)
			assert_int_not_equal(v, UROCE_OK);
		else if (!f->touched)
			assert_int_equal(v, UROCE_OK);
		t->right += v == UROCE_OK;
		t->touched += f->touched;
		t->damaged += f->damaged;
		free(f);
	}
}

static void
test_captures_marked(void **state)
{
	struct tally t = { .right = 0 };

	open_link(&t.link, (struct link_conf){ .netem.ecn = UINT32_MAX });
	test_frames_each(send_captured, &t);
	assert_int_equal(t.wrong, 1);
	assert_int_equal(t.right, TEST_CAPTURE_FRAMES - 1);
	assert_int_equal(t.touched, 0);
	link_fini(&t.link);
}

static void
test_captures_damaged(void **state)
{
	struct tally t = { .right = 0 };

	for (unsigned int i = 0; i < 20; i++) {
		open_link(&t.link, (struct link_conf){ .netem.corrupt = UINT32_MAX });
		t.link.paths[1].model.random += i;
		test_frames_each(send_captured, &t);
		link_fini(&t.link);
	}
	/* some bits are not covered, some change the destination; most corruptions are noticed */
	assert_true(t.right > 0);
	assert_true(t.touched > t.damaged);
	assert_true(t.damaged > 20 * TEST_CAPTURE_FRAMES / 2);
}

static void
test_captures_truncated(void **state)
{
	struct tally t = { .right = 0 };

	open_link(&t.link, (struct link_conf){ .truncate = UINT32_MAX });
	test_frames_each(send_captured, &t);
	assert_int_equal(t.right, 0);
	assert_int_equal(t.damaged, TEST_CAPTURE_FRAMES - 1);
	link_fini(&t.link);
}

UROCE_TESTS(sim_link)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_delay),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_chosen),
		cmocka_unit_test(test_most_harmed),
		cmocka_unit_test(test_most_harmed_otherwise),
		cmocka_unit_test(test_overrun),
		cmocka_unit_test(test_switch),
		cmocka_unit_test(test_captures_marked),
		cmocka_unit_test(test_captures_damaged),
		cmocka_unit_test(test_captures_truncated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
