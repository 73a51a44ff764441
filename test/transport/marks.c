/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests CNPs: the bytes, receivers and frequency of those that are sent; the senders and limits of those that count.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmocka_compat.h"
#include "groups.h"
#include "peer.h"
#include "transport/congestion/pacer.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "wire/psn.h"

#define CE 3
#define ECT0 2
#define CNP_TRAFFIC_CLASS (UROCE_CNP_DSCP << 2 | ECT0)
#define CNP_FRAME_BYTES (14 + 60)

static const struct peer_packet marked = {
	.opcode = UROCE_RC_WRITE_ONLY, .psn = PEER_RQ_PSN, .traffic_class = 0x60 | CE,
};

static uint64_t
counter(const struct peer *p, enum uroce_engine_counter c)
{
	return p->engine.counters[c];
}

/* The CRC of Ethernet, bit by bit. */
static uint32_t
crc32(uint32_t crc, const uint8_t *bytes, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/* The ICRC by the specification, for an IPv4 frame without VLAN tag. */
static uint32_t
icrc_of(const uint8_t *frame, unsigned int bytes)
{
	static const uint8_t ones[8] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	uint8_t masked[128];

	memcpy(masked, frame, bytes);
	masked[14 + 1] = masked[14 + 8] = masked[14 + 10] = masked[14 + 11] = 0xff;
	masked[34 + 6] = masked[34 + 7] = masked[42 + 4] = 0xff;
	return ~crc32(crc32(UINT32_MAX, ones, sizeof(ones)), masked + 14, bytes - 14 - 4);
}

/* Compare the whole frame to the peer, except the UDP source port and the ICRC, which are computed. */
static void
expect_frame(struct peer *p, uint8_t traffic_class, uint16_t udp_src_port)
{
	uint8_t want[CNP_FRAME_BYTES] = {
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00,
		0x45, traffic_class, 0, 60, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
		(uint8_t)(udp_src_port >> 8), (uint8_t)udp_src_port, 4791 >> 8, 4791 & 0xff, 0, 40, 0, 0,
		0x81, 0x40, 0xff, 0xff, 0x40, PEER_QPN >> 16, PEER_QPN >> 8 & 0xff, PEER_QPN & 0xff,
		/* AckReq, PSN and the reserved bytes are zero */
	};
	const uint8_t *got;
	struct rte_mbuf *m;
	uint32_t sum = 0;

	assert_int_equal(uroce_engine_deadline(&p->engine), p->now_ns);
	assert_int_equal(uroce_engine_send(&p->engine, &m, 1, p->now_ns), 1);
	assert_int_equal(rte_pktmbuf_pkt_len(m), sizeof(want));
	assert_int_equal(m->nb_segs, 1);
	got = rte_pktmbuf_mtod(m, const uint8_t *);
	for (int i = 14; i < 34; i += 2)
		sum += (uint32_t)got[i] << 8 | got[i + 1];
	assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
	memcpy(want + 14 + 10, got + 14 + 10, 2);
	for (unsigned int i = 0; i < 4; i++)	/* little-endian */
		want[sizeof(want) - 4 + i] = (uint8_t)(icrc_of(got, sizeof(want)) >> 8 * i);
	assert_memory_equal(got, want, sizeof(want));
	rte_pktmbuf_free(m);
}

static void
expect_cnp(struct peer *p)
{
	struct peer_packet cnp = peer_expect(p, UROCE_CNP, 0);

	assert_false(cnp.ack_req);
	assert_int_equal(cnp.payload_bytes, 0);
	assert_int_equal(cnp.traffic_class, CNP_TRAFFIC_CLASS);
}

static void
a_cnp_byte_by_byte(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(peer_in(&p, &marked), UROCE_OK);
	expect_frame(&p, CNP_TRAFFIC_CLASS, uroce_udp_src_port(0, PEER_QPN));
	peer_expect_nothing(&p);
	assert_int_equal(counter(&p, UROCE_NP_ECN_MARKED_PACKETS), 1);
	assert_int_equal(counter(&p, UROCE_NP_CNP_SENT), 1);
	peer_stop(&p);
}

static void
only_what_is_marked_is_told_of(void **state)
{
	struct peer_packet in = marked;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint8_t ecn = 0; ecn < CE; ecn++, in.psn++) {
		in.traffic_class = 0xb8 | ecn;
		assert_int_equal(peer_in(&p, &in), UROCE_OK);
	}
	peer_expect_nothing(&p);
	assert_int_equal(counter(&p, UROCE_NP_ECN_MARKED_PACKETS), 0);
	peer_stop(&p);
}

static void
one_for_an_interval(void **state)
{
	struct peer_packet in = marked;
	unsigned int sent = 0;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	/* one mark per us, for 500 us: CNPs at 0, 50, ... 450 */
	for (int i = 0; i < 500; i++, in.psn++, p.now_ns += 1000) {
		struct peer_packet out;

		assert_int_equal(peer_in(&p, &in), UROCE_OK);
		while (peer_out(&p, &out)) {
			assert_int_equal(out.opcode, UROCE_CNP);
			assert_int_equal(i % UROCE_CNP_INTERVAL_US, 0);
			sent++;
		}
	}
	assert_int_equal(sent, 10);
	assert_int_equal(counter(&p, UROCE_NP_CNP_SENT), 10);
	assert_int_equal(counter(&p, UROCE_NP_ECN_MARKED_PACKETS), 500);
	peer_stop(&p);
}

static void
an_interval_is_a_parameter(void **state)
{
	const struct uroce_congestion conf = { .size = sizeof(conf), .np_min_time_between_cnps = 7, .np_cnp_dscp = 26 };
	struct peer_packet in = marked;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(uroce_set_congestion(p.qp->context, &conf), 0);
	peer_in(&p, &in);
	expect_frame(&p, 26 << 2 | ECT0, uroce_udp_src_port(0, PEER_QPN));
	p.now_ns += 6999;
	in.psn++;
	peer_in(&p, &in);
	peer_expect_nothing(&p);
	p.now_ns += 1;
	in.psn++;
	peer_in(&p, &in);
	assert_int_equal(peer_expect(&p, UROCE_CNP, 0).traffic_class, 26 << 2 | ECT0);
	peer_stop(&p);
}

static void
a_cnp_like_what_else_the_queue_pair_sends(void **state)
{
	const struct uroce_congestion conf = { .size = sizeof(conf), .np_cnp_dscp = UROCE_CNP_DSCP_OF_QP };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(uroce_set_congestion(p.qp->context, &conf), 0);
	peer_in(&p, &marked);
	expect_frame(&p, 0 << 2 | ECT0, uroce_udp_src_port(0, PEER_QPN));
	peer_stop(&p);
}

static void
one_for_each_queue_pair(void **state)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	static const struct peer_conf conf;
	struct peer_packet in = marked;
	struct ibv_qp *first, *second;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	init.send_cq = init.recv_cq = p.recv_cq;
	first = p.qp;
	second = uroce_create_qp(p.pd, &init);
	assert_non_null(second);
	peer_connect(second, &conf);
	for (int i = 0; i < 4; i++) {
		p.qp = i % 2 == 0 ? first : second;
		in.psn = marked.psn + (uint32_t)i / 2;
		assert_int_equal(peer_in(&p, &in), UROCE_OK);
	}
	p.qp = first;
	expect_cnp(&p);
	expect_cnp(&p);
	peer_expect_nothing(&p);
	assert_int_equal(uroce_destroy_qp(second), 0);
	peer_stop(&p);
}

/* Marks on the replies to this side's requests also cause CNPs. */
static void
a_marked_answer_is_told_of(void **state)
{
	struct peer_packet ack = { .opcode = UROCE_RC_ACKNOWLEDGE, .psn = PEER_SQ_PSN, .traffic_class = CE,
				   .syndrome = UROCE_AETH_CREDITS_UNLIMITED, .msn = 1 };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 64, 1, 0);
	assert_int_equal(peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN).traffic_class, ECT0);
	assert_int_equal(peer_in(&p, &ack), UROCE_OK);
	expect_cnp(&p);
	peer_stop(&p);
}

static void
what_is_not_the_peers_is_not_told_of(void **state)
{
	struct peer_packet in = marked, cnp = { .opcode = UROCE_CNP, .traffic_class = CE };
	struct peer_conf init = { .state = IBV_QPS_INIT };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	in.last_ip_byte = 3;
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_SOURCE);
	in = marked;
	in.pkey = 0x1234;
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_PKEY);
	in = marked;
	in.opcode = UROCE_UD_SEND_ONLY;
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_TRANSPORT);
	/* a marked CNP causes no CNP */
	assert_int_equal(peer_in(&p, &cnp), UROCE_CNP_RECEIVED);
	peer_expect_nothing(&p);
	peer_stop(&p);
	peer_start(&p, &init);
	assert_int_equal(peer_in(&p, &marked), UROCE_DROP_QP_STATE);
	peer_expect_nothing(&p);
	assert_int_equal(counter(&p, UROCE_NP_ECN_MARKED_PACKETS), 0);
	peer_stop(&p);
}

static void
the_sender_of_a_datagram_is_told(void **state)
{
	struct peer_conf conf = { .type = IBV_QPT_UD };
	struct peer_packet in = { .opcode = UROCE_UD_SEND_ONLY, .traffic_class = CE };
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	peer_post_recv(&p, 0, 4096, 1);
	in.qkey = 0x22222222;
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_QKEY);
	in.qkey = 0;
	in.src_qpn = UROCE_GSI_QPN;	/* QP1 ignores CNPs */
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_nothing(&p);
	in.src_qpn = PEER_QPN;
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_NO_RECV);
	expect_frame(&p, CNP_TRAFFIC_CLASS, uroce_udp_src_port(0, PEER_QPN));
	peer_stop(&p);
}

static void
an_unreliable_connection_is_told(void **state)
{
	struct peer_conf conf = { .type = IBV_QPT_UC };
	struct peer_packet in = { .opcode = UROCE_UC_SEND_FIRST + UROCE_RC_WRITE_ONLY, .traffic_class = CE };
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	expect_frame(&p, CNP_TRAFFIC_CLASS, uroce_udp_src_port(0, PEER_QPN));
	peer_stop(&p);
}

static void
nobody_is_told_when_it_is_off(void **state)
{
	const struct uroce_congestion off = { .size = sizeof(off), .off = 1 };
	struct peer_packet in = marked, cnp = { .opcode = UROCE_CNP };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(uroce_set_congestion(p.qp->context, &off), 0);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_nothing(&p);
	assert_int_equal(counter(&p, UROCE_NP_ECN_MARKED_PACKETS), 1);
	assert_int_equal(peer_in(&p, &cnp), UROCE_DROP_CNP);
	assert_int_equal(counter(&p, UROCE_RP_CNP_IGNORED), 1);
	assert_int_equal(p.engine.rated, 0);
	peer_stop(&p);
}

/* More CNPs than an engine queues. */
static void
many_are_bounded_and_come_first(void **state)
{
	const struct uroce_congestion often = { .size = sizeof(often), .np_min_time_between_cnps = 1 };
	struct peer_packet in = marked;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(uroce_set_congestion(p.qp->context, &often), 0);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 64, 1, 0);
	for (int i = 0; i < UROCE_CNPS + 5; i++, in.psn++, p.now_ns += 1000)
		assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(counter(&p, UROCE_NP_CNP_SENT), UROCE_CNPS);
	for (int i = 0; i < UROCE_CNPS; i++)
		expect_cnp(&p);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN);
	peer_expect_nothing(&p);
	/* the engine frees queued CNPs: peer_stop() checks all mbufs */
	peer_in(&p, &in);
	peer_stop(&p);
}

static void
a_forged_cnp_is_dropped(void **state)
{
	struct peer_packet cnp = { .opcode = UROCE_CNP, .last_ip_byte = 3 };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(peer_in(&p, &cnp), UROCE_DROP_SOURCE);
	cnp = (struct peer_packet){ .opcode = UROCE_CNP, .pkey = 0x1234 };
	assert_int_equal(peer_in(&p, &cnp), UROCE_DROP_PKEY);
	assert_int_equal(counter(&p, UROCE_RP_CNP_IGNORED), 1001);
	assert_int_equal(counter(&p, UROCE_RP_CNP_HANDLED), 0);
	assert_null(uroce_qp_of(p.qp)->rate);
	peer_stop(&p);
}

static void
a_cnp_for_who_does_not_send_is_dropped(void **state)
{
	struct peer_packet cnp = { .opcode = UROCE_CNP };
	struct peer_conf conf = { .state = IBV_QPS_INIT };
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	assert_int_equal(peer_in(&p, &cnp), UROCE_DROP_QP_STATE);
	peer_stop(&p);
	peer_start(&p, NULL);
	assert_int_equal(uroce_modify_qp(p.qp, &error, IBV_QP_STATE), 0);
	assert_int_equal(peer_in(&p, &cnp), UROCE_DROP_QP_STATE);
	assert_int_equal(p.engine.rated, 0);
	peer_stop(&p);
}

/* Only its own peer can slow down a QP, at most to the minimum rate, and only while it sends CNPs. */
static void
a_flood_of_cnps_leaves_the_least_rate(void **state)
{
	struct peer_packet cnp = { .opcode = UROCE_CNP }, out;
	struct peer_conf conf = { .mtu = IBV_MTU_4096, .type = IBV_QPT_UC };
	uint64_t begin_ns, bytes = 0;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	for (uint64_t i = 0; i < 16; i++)
		peer_post(&p, IBV_WR_RDMA_WRITE, 0, 32768, i, 0);
	begin_ns = p.now_ns;
	for (; p.now_ns < begin_ns + 100000000; p.now_ns += 5000) {
		assert_int_equal(peer_in(&p, &cnp), UROCE_CNP_RECEIVED);
		if (p.now_ns < begin_ns + 1000000)
			continue;	/* the rate has not yet come down */
		assert_int_equal(uroce_qp_of(p.qp)->rate->dcqcn.current_bps, UROCE_RPG_MIN_RATE * 1000000);
		while (peer_out(&p, &out))
			bytes += out.payload_bytes;
	}
	assert_uint_in_range(bytes, UROCE_RPG_MIN_RATE * 99000 / 8 * 9 / 10, UROCE_RPG_MIN_RATE * 100000 / 8);
	for (begin_ns = p.now_ns; uroce_qp_of(p.qp)->rate != NULL;) {
		peer_wait(&p);
		peer_out(&p, &out);
		assert_true(p.now_ns < begin_ns + 2000000000);
	}
	peer_stop(&p);
}

UROCE_TESTS(marks)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cnp_byte_by_byte),
		cmocka_unit_test(only_what_is_marked_is_told_of),
		cmocka_unit_test(one_for_an_interval),
		cmocka_unit_test(an_interval_is_a_parameter),
		cmocka_unit_test(a_cnp_like_what_else_the_queue_pair_sends),
		cmocka_unit_test(one_for_each_queue_pair),
		cmocka_unit_test(a_marked_answer_is_told_of),
		cmocka_unit_test(what_is_not_the_peers_is_not_told_of),
		cmocka_unit_test(the_sender_of_a_datagram_is_told),
		cmocka_unit_test(an_unreliable_connection_is_told),
		cmocka_unit_test(nobody_is_told_when_it_is_off),
		cmocka_unit_test(many_are_bounded_and_come_first),
		cmocka_unit_test(a_forged_cnp_is_dropped),
		cmocka_unit_test(a_cnp_for_who_does_not_send_is_dropped),
		cmocka_unit_test(a_flood_of_cnps_leaves_the_least_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
