/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The flow cache: after a good frame, the test changes each bit of its headers once. The verdict and the values of the
 * changed frame must be those of the parser without a flow.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_ring.h>

#include "eal.h"
#include "groups.h"
#include "port/worker/rx.h"
#include "port/worker/worker.h"
#include "tap.h"
#include "uroce.h"
#include "wire/icrc.h"

#define L3    14
#define UDP   34
#define BTH   42
#define BYTES 62 /* Ethernet's minimum plus two bytes */

/* An ACK for QP 0x123456, which does not exist. */
#define BEHIND_ETHERNET                                    \
	"45 02 0030 0000 4000 40 11 0000 0a000002 0a000001" \
	"c000 12b7 001c 0000"                               \
	"11 40 ffff 00 123456 00 000001 1f 000000"          \
	"00000000"
#define ACK "M P 0800" BEHIND_ETHERNET

static const char *const cidrs[] = { "10.0.0.1/24", "fd00::1/64", NULL };
static struct tap tap;
static struct uroce_port_queue *queue;

static int
setup(void **state)
{
	tap_open(&tap, 0, cidrs);
	queue = tap.worker->by_port[tap.wire.port_id];
	return 0;
}

static int
teardown(void **state)
{
	tap_close(&tap);
	return 0;
}

/* Recompute the IP checksum and the ICRC. */
static void
mend(uint8_t *frame, size_t l3, size_t bytes)
{
	memset(frame + l3 + 10, 0, 2);
	tap_checksum_ipv4(frame, l3);
	tap_put_icrc(&tap, frame, bytes, l3, l3 + 20);
}

static void
put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* Receive as a worker does. */
static enum uroce_verdict
receive(struct uroce_flow *flow, struct rte_mbuf *m, struct uroce_packet *p)
{
	enum uroce_verdict v;

	queue->flow = *flow;
	v = uroce_rx_frame(queue, m, 0, p);
	*flow = queue->flow;
	return v == UROCE_OK && p->info != NULL ? uroce_packet_check_icrc(p) : v;
}

static bool
is_in_flow(const struct uroce_flow *flow, struct rte_mbuf *m)
{
	struct uroce_packet p;

	uroce_packet_parse(flow, m, &p);
	return p.in_flow;
}

/* Receive a good frame, which sets the flow. */
static void
first(uint8_t frame[TAP_BYTES], struct uroce_flow *flow)
{
	struct uroce_packet p;
	struct rte_mbuf *m;

	assert_int_equal(tap_frame(&tap, frame, ACK), BYTES);
	mend(frame, L3, BYTES);
	m = tap_mbuf(&tap, frame, BYTES);
	flow->valid = false;
	assert_int_equal(receive(flow, m, &p), UROCE_OK);
	assert_false(p.in_flow);
	assert_true(flow->valid);
	assert_true(is_in_flow(flow, m));
	rte_pktmbuf_free(m);
}

/* May a frame of the same flow have another value in this byte? */
static bool
may_differ(unsigned int at)
{
	unsigned int ip = at - L3;

	if (at >= UDP)
		return at < UDP + 2 || at >= UDP + 4;
	return at >= L3 && ((ip >= 1 && ip <= 5) || ip == 8 || ip == 10 || ip == 11);
}

static void
assert_same_packet(const struct uroce_packet *a, const struct uroce_packet *b)
{
	assert_ptr_equal(a->mbuf, b->mbuf);
	assert_ptr_equal(a->info, b->info);
	assert_ptr_equal(a->bth, b->bth);
	assert_ptr_equal(a->src_ip, b->src_ip);
	assert_ptr_equal(a->dst_ip, b->dst_ip);
	assert_int_equal(a->dest_qpn, b->dest_qpn);
	assert_int_equal(a->psn, b->psn);
	assert_int_equal(a->payload_offset, b->payload_offset);
	assert_int_equal(a->payload_bytes, b->payload_bytes);
	assert_int_equal(a->pkey, b->pkey);
	assert_int_equal(a->l3_offset, b->l3_offset);
	assert_int_equal(a->udp_src_port, b->udp_src_port);
	assert_int_equal(a->opcode, b->opcode);
	assert_int_equal(a->l4_offset, b->l4_offset);
	assert_int_equal(a->ether_type, b->ether_type);
	assert_int_equal(a->vlan_tci, b->vlan_tci);
	assert_int_equal(a->ip_version, b->ip_version);
	assert_int_equal(a->ip_protocol, b->ip_protocol);
	assert_int_equal(a->to_group, b->to_group);
	assert_int_equal(a->traffic_class, b->traffic_class);
	assert_int_equal(a->ack_req, b->ack_req);
	assert_int_equal(a->solicited, b->solicited);
}

/* A frame with a changed byte belongs to the flow only if may_differ() allows it, and its lengths and checksum are
 * right. With and without a flow, the verdict and the values are the same. @return 1 if the frame is valid in the
 * flow */
static unsigned int
compare(const struct uroce_flow *flow, struct rte_mbuf *m, unsigned int changed)
{
	struct uroce_flow copy = *flow, none = { .valid = false };
	struct uroce_packet p, expected;
	enum uroce_verdict verdict = receive(&none, m, &expected);

	assert_false(expected.in_flow);
	assert_int_equal(receive(&copy, m, &p), verdict);
	assert_true(!p.in_flow || may_differ(changed));
	if (may_differ(changed))
		assert_int_equal(p.in_flow, verdict != UROCE_DROP_IP_HEADER && verdict != UROCE_DROP_UDP_LENGTH);
	if (verdict != UROCE_OK)
		return 0;
	assert_same_packet(&p, &expected);
	return may_differ(changed);
}

static void
test_every_bit(void **state)
{
	uint8_t frame[TAP_BYTES], changed[TAP_BYTES];
	unsigned int right[2] = { 0, 0 };
	struct uroce_flow flow;
	struct rte_mbuf *m;

	uroce_worker_enter(tap.worker);
	first(frame, &flow);
	for (unsigned int i = 0; i < 2 * 8 * BYTES; i++) {
		unsigned int bit = i / 2;

		memcpy(changed, frame, BYTES);
		changed[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (i % 2 != 0)
			mend(changed, L3, BYTES);
		m = tap_mbuf(&tap, changed, BYTES);
		right[i % 2] += compare(&flow, m, bit / 8);
		rte_pktmbuf_free(m);
	}
	uroce_worker_exit(tap.worker);
	/* without new checksums, these bits may change: the UDP checksum, and the BTH's bits outside the ICRC */
	assert_int_equal(right[0], 16 + 8);
	assert_true(right[1] > right[0] + 100);
}

/* Check that a frame after a good frame of the same burst gets the same result as alone.
 * @return true: its headers repeat those of the good frame */
static bool
repeats(const struct uroce_packet *like, struct uroce_flow *flow, const uint8_t *frame, size_t bytes)
{
	struct rte_mbuf *m = tap_mbuf(&tap, frame, bytes);
	struct uroce_packet p, expected;
	struct uroce_icrc_head head;
	bool is;

	assert_int_equal(uroce_packet_check_next(like, &head), UROCE_OK);
	is = uroce_packet_repeat(like, m, &p);
	if (is) {
		assert_int_equal(uroce_packet_parse(flow, m, &expected), UROCE_OK);
		assert_true(p.repeats && !expected.repeats);
		assert_same_packet(&p, &expected);
		assert_int_equal(uroce_packet_check_next(&p, &head), uroce_packet_check_icrc(&expected));
	}
	rte_pktmbuf_free(m);
	return is;
}

/* Change each bit of a frame: its headers repeat those of the frame before if the bit is in the last word of the BTH or
 * behind it. */
static void
test_repeats(void **state)
{
	uint8_t frame[TAP_BYTES] = { 0 }, changed[TAP_BYTES];
	const size_t sizes[] = { BYTES, BYTES + 256 };
	struct uroce_packet like;
	struct uroce_flow flow;
	struct rte_mbuf *m;

	uroce_worker_enter(tap.worker);
	for (unsigned int s = 0; s < RTE_DIM(sizes); s++) {
		const size_t bytes = sizes[s];

		first(frame, &flow);
		frame[BTH] = bytes == BYTES ? UROCE_RC_ACKNOWLEDGE : UROCE_RC_WRITE_MIDDLE;
		put16(frame + L3 + 2, (uint16_t)(bytes - L3));
		put16(frame + UDP + 4, (uint16_t)(bytes - UDP));
		mend(frame, L3, bytes);
		m = tap_mbuf(&tap, frame, bytes);
		assert_int_equal(uroce_packet_parse(&flow, m, &like), UROCE_OK);
		assert_true(like.in_flow);
		for (unsigned int i = 0; i < 2 * 8 * bytes; i++) {
			const unsigned int at = i / 16;

			memcpy(changed, frame, bytes);
			changed[at] ^= (uint8_t)(1 << i / 2 % 8);
			if (i % 2 != 0)
				mend(changed, L3, bytes);
			assert_int_equal(repeats(&like, &flow, changed, bytes),
					 at >= BTH + 8 || (i % 2 != 0 && (at == L3 + 10 || at == L3 + 11)));
		}
		assert_false(repeats(&like, &flow, frame, bytes - 1));
		rte_pktmbuf_free(m);
	}
	uroce_worker_exit(tap.worker);
}

/* The headers that are read must be in the first segment. */
static void
test_every_cut(void **state)
{
	struct uroce_flow flow;
	uint8_t frame[TAP_BYTES];
	struct rte_mbuf *m, *rest;

	uroce_worker_enter(tap.worker);
	first(frame, &flow);
	for (unsigned int cut = UROCE_FLOW_BYTES - 1; cut < BYTES; cut++) {
		m = tap_mbuf(&tap, frame, cut);
		rest = tap_mbuf(&tap, frame + cut, BYTES - cut);
		assert_int_equal(rte_pktmbuf_chain(m, rest), 0);
		if (cut >= UROCE_FLOW_BYTES)
			compare(&flow, m, UDP);
		else
			assert_false(is_in_flow(&flow, m));
		rte_pktmbuf_free(m);
	}
	uroce_worker_exit(tap.worker);
}

static void
test_elsewhere(void **state)
{
	struct uroce_flow flow;
	uint8_t frame[TAP_BYTES];
	struct rte_mbuf *m;

	uroce_worker_enter(tap.worker);
	first(frame, &flow);
	m = tap_mbuf(&tap, frame, BYTES);
	m->ol_flags |= RTE_MBUF_F_RX_VLAN_STRIPPED;
	assert_false(is_in_flow(&flow, m));
	m->ol_flags &= ~RTE_MBUF_F_RX_VLAN_STRIPPED;
	assert_true(is_in_flow(&flow, m));
	/* the NIC reports a bad checksum */
	m->ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_BAD;
	compare(&flow, m, UDP);
	rte_pktmbuf_free(m);
	uroce_worker_exit(tap.worker);
}

/* These frames set no flow. */
static void
test_no_flow(void **state)
{
	static const char *const texts[] = {
		"M P 8100 6000 0800" BEHIND_ETHERNET,
		"M P 86dd 60000000 001c 11 40 fd000000000000000000000000000002 fd000000000000000000000000000001"
		"c000 12b7 001c 0000 11 40 ffff 00 123456 00 000001 1f 000000 00000000",
	};
	static const size_t l4_of[] = { UDP + 4, L3 + 40 }, l3_of[] = { L3 + 4, L3 };
	uint8_t frame[TAP_BYTES];
	struct uroce_flow flow;
	struct uroce_packet p;
	struct rte_mbuf *m;
	uint32_t icrc;
	size_t bytes;

	uroce_worker_enter(tap.worker);
	for (unsigned int i = 0; i < RTE_DIM(texts); i++) {
		first(frame, &flow);
		bytes = tap_frame(&tap, frame, texts[i]);
		if (i == 0)
			tap_checksum_ipv4(frame, l3_of[i]);
		m = tap_mbuf(&tap, frame, bytes);
		icrc = uroce_icrc(m, (uint32_t)l3_of[i], (uint32_t)l4_of[i], (uint32_t)(bytes - 4 - l3_of[i]));
		for (unsigned int b = 0; b < 4; b++)
			*rte_pktmbuf_mtod_offset(m, uint8_t *, bytes - 4 + b) = (uint8_t)(icrc >> 8 * b);
		assert_int_equal(receive(&flow, m, &p), UROCE_OK);
		assert_false(flow.valid);
		assert_false(is_in_flow(&flow, m));
		rte_pktmbuf_free(m);
	}
	uroce_worker_exit(tap.worker);
}

/* Behind a good frame in the same burst, each frame is dropped for its own reason. */
static void
test_burst(void **state)
{
	static const struct {
		size_t offset;
		uint8_t value;
		const char *counter;
	} changes[] = {
		{ L3, 0x45, "drop_qpn" }, /* unchanged: the QP does not exist */
		{ L3 + 1, 0x03, "drop_qpn" },
		{ 12, 0x88, "drop_ethertype" },
		{ L3, 0x65, "drop_ip_header" },
		{ L3 + 3, 19, "drop_ip_header" },
		{ L3 + 6, 0x20, "drop_ip_fragment" },
		{ L3 + 9, 6, "drop_ip_protocol" },
		{ L3 + 19, 9, "drop_ip_address" },
		{ UDP + 3, 0xb8, "drop_udp_port" },
		{ UDP + 5, 0x1b, "drop_udp_length" },
		{ BTH + 1, 0x41, "drop_tver" },
		{ BTH, 0x15, "drop_opcode" },
		{ L3 + 8, 0x01, "drop_qpn" },
	};
	uint64_t before[RTE_DIM(changes)];
	struct uroce_flow flow;
	uint8_t frame[TAP_BYTES];

	for (unsigned int i = 0; i < RTE_DIM(changes); i++) {
		before[i] = tap_counter(&tap, changes[i].counter);
		uroce_worker_enter(tap.worker);
		first(frame, &flow);
		uroce_worker_exit(tap.worker);
		frame[changes[i].offset] = changes[i].value;
		mend(frame, L3, BYTES);
		assert_int_equal(rte_ring_enqueue(tap.wire.rx[0], tap_mbuf(&tap, frame, BYTES)), 0);
	}
	assert_int_equal(uroce_worker_poll(tap.worker), RTE_DIM(changes));
	for (unsigned int i = 0; i < RTE_DIM(changes); i++) {
		unsigned int same = 0;

		for (unsigned int j = 0; j < RTE_DIM(changes); j++)
			same += strcmp(changes[i].counter, changes[j].counter) == 0;
		assert_int_equal(tap_counter(&tap, changes[i].counter), before[i] + same);
	}
}

static void
poll_one(const uint8_t *frame, const char *counter)
{
	const uint64_t before = tap_counter(&tap, counter);

	assert_int_equal(rte_ring_enqueue(tap.wire.rx[0], tap_mbuf(&tap, frame, BYTES)), 0);
	uroce_worker_poll(tap.worker);
	assert_int_equal(tap_counter(&tap, counter), before + 1);
}

/* Deleting the address ends its flow. */
static void
test_address_changed(void **state)
{
	uint8_t frame[TAP_BYTES];

	assert_int_equal(tap_frame(&tap, frame, ACK), BYTES);
	mend(frame, L3, BYTES);
	for (unsigned int i = 0; i < 2; i++) {
		poll_one(frame, "drop_qpn");
		assert_true(queue->flow.valid);
		assert_int_equal(uroce_del_address(tap.context, cidrs[0]), 0);
		poll_one(frame, "drop_ip_address");
		assert_false(queue->flow.valid);
		assert_int_equal(uroce_add_address(tap.context, cidrs[0]), 0);
	}
}

/* A burst of frames for several QPs that do not exist: the look-ups run ahead, and each frame is dropped and
 * counted. */
static void
test_burst_of_unknown_qps(void **state)
{
	static const uint32_t qpns[] = { 7, 7, 8, UROCE_MULTICAST_QPN, 7, 0, 8 };
	const uint64_t before = tap_counter(&tap, "drop_qpn");
	struct uroce_flow flow;
	uint8_t frame[TAP_BYTES];

	for (unsigned int i = 0; i < UROCE_BURST; i++) {
		uroce_worker_enter(tap.worker);
		first(frame, &flow);
		uroce_worker_exit(tap.worker);
		uroce_put24(((struct uroce_bth *)(frame + BTH))->dest_qp, qpns[i % RTE_DIM(qpns)]);
		mend(frame, L3, BYTES);
		assert_int_equal(rte_ring_enqueue(tap.wire.rx[0], tap_mbuf(&tap, frame, BYTES)), 0);
	}
	assert_int_equal(uroce_worker_poll(tap.worker), UROCE_BURST);
	assert_int_equal(tap_counter(&tap, "drop_qpn"), before + UROCE_BURST);
}

UROCE_TESTS(port_rx_flow)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_bit), cmocka_unit_test(test_every_cut), cmocka_unit_test(test_elsewhere),
		cmocka_unit_test(test_no_flow),   cmocka_unit_test(test_burst), cmocka_unit_test(test_burst_of_unknown_qps),
		cmocka_unit_test(test_address_changed), cmocka_unit_test(test_repeats),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, setup, teardown);
}
