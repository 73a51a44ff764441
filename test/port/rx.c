/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A frame for each drop below the transport, with its counter; no frame does harm.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "eal.h"
#include "groups.h"
#include "tap.h"

#define L3    14
#define UDP   34
#define BTH   42
#define BYTES 62 /* Ethernet's minimum plus two bytes */

/* An ACK for QP 0x123456, which does not exist. */
#define ACK                                                          \
	"M P 0800 45 02 0030 0000 4000 40 11 0000 0a000002 0a000001" \
	"c000 12b7 001c 0000"                                        \
	"11 40 ffff 00 123456 00 000001 1f 000000"                   \
	"00000000"
#define ACK6                                                                                             \
	"M P 86dd 60000000 001c 11 40 fd000000000000000000000000000002 fd000000000000000000000000000001" \
	"c000 12b7 001c 0000"                                                                            \
	"11 40 ffff 00 123456 00 000001 1f 000000"                                                       \
	"00000000"

static const char *const cidrs[] = { "10.0.0.1/24", "fd00::1/64", NULL };
static struct tap tap;

static int
setup(void **state)
{
	tap_open(&tap, 0, cidrs);
	return 0;
}

static int
teardown(void **state)
{
	tap_close(&tap);
	return 0;
}

struct change {
	size_t offset;
	uint8_t value;
	const char *counter;
};

static void
drop(const struct change *c)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes = tap_frame(&tap, frame, ACK);

	assert_int_equal(bytes, BYTES);
	frame[c->offset] = c->value;
	tap_checksum_ipv4(frame, L3);
	tap_put_icrc(&tap, frame, bytes, L3, UDP);
	tap_expect_drop(&tap, frame, bytes, c->counter);
}

/* Unchanged, the frame reaches the look-up of its QP. */
static void
test_good(void **state)
{
	const struct change same = { L3, 0x45, "drop_qpn" };
	uint8_t frame[TAP_BYTES];
	size_t bytes;

	drop(&same);
	bytes = tap_frame(&tap, frame, ACK6);
	tap_put_icrc(&tap, frame, bytes, L3, L3 + 40);
	tap_expect_drop(&tap, frame, bytes, "drop_qpn");
	/* with a priority tag, which names no VLAN */
	bytes = tap_frame(&tap, frame,
			  "M P 8100 6000 0800 45 02 0030 0000 4000 40 11 0000 0a000002 0a000001"
			  "c000 12b7 001c 0000 11 40 ffff 00 123456 00 000001 1f 000000 00000000");
	tap_checksum_ipv4(frame, L3 + 4);
	tap_put_icrc(&tap, frame, bytes, L3 + 4, UDP + 4);
	tap_expect_drop(&tap, frame, bytes, "drop_qpn");
}

static void
test_each_header(void **state)
{
	static const struct change changes[] = {
		{ 0, 0x01, "drop_l2_address" }, /* a group that the device has not joined */
		{ 12, 0x88, "drop_ethertype" },
		{ L3, 0x65, "drop_ip_header" },       /* version */
		{ L3, 0x44, "drop_ip_header" },       /* header length */
		{ L3 + 2, 0x40, "drop_ip_header" },   /* a total length beyond the frame */
		{ L3 + 3, 19, "drop_ip_header" },     /* a total length below the header's */
		{ L3 + 6, 0x20, "drop_ip_fragment" }, /* more fragments */
		{ L3 + 7, 0x01, "drop_ip_fragment" }, /* fragment offset */
		{ L3 + 9, 6, "drop_ip_protocol" },
		{ L3 + 19, 9, "drop_ip_address" },
		{ L3 + 16, 0xe0, "drop_ip_address" },
		{ UDP + 3, 0xb8, "drop_udp_port" },
		{ UDP + 5, 0x1b, "drop_udp_length" },
		{ UDP + 5, 0x1d, "drop_udp_length" },
		{ BTH + 1, 0x41, "drop_tver" },   /* R1 */
		{ BTH, 0x15, "drop_opcode" },     /* R2 */
		{ BTH, 0x0c, "drop_length" },     /* R3: a READ request has a RETH */
		{ BTH + 1, 0x70, "drop_length" }, /* R3: too short for this pad count */
	};
	/* the device's address is random */
	const struct change neighbor = { 5, tap.port->mac.addr_bytes[5] ^ 0x55, "drop_l2_address" };

	drop(&neighbor);
	for (unsigned int i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		drop(&changes[i]);
}

static void
test_checksums(void **state)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes = tap_frame(&tap, frame, ACK);

	tap_checksum_ipv4(frame, L3);
	tap_put_icrc(&tap, frame, bytes, L3, UDP);
	frame[bytes - 1] ^= 1;
	tap_expect_drop(&tap, frame, bytes, "drop_icrc");
	frame[bytes - 1] ^= 1;
	frame[L3 + 10] ^= 1;
	tap_expect_drop(&tap, frame, bytes, "drop_ip_header");
}

/* The NIC has checked the IPv4 header: its result counts, good or bad. */
static void
test_checksum_offload(void **state)
{
	uint64_t qpn = tap_counter(&tap, "drop_qpn"), header = tap_counter(&tap, "drop_ip_header");
	uint8_t frame[TAP_BYTES];
	size_t bytes = tap_frame(&tap, frame, ACK);
	struct rte_mbuf *m;

	tap_put_icrc(&tap, frame, bytes, L3, UDP);
	m = tap_mbuf(&tap, frame, bytes);
	m->ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	tap_send_mbuf(&tap, m);
	assert_int_equal(tap_counter(&tap, "drop_qpn"), qpn + 1);
	tap_checksum_ipv4(frame, L3);
	m = tap_mbuf(&tap, frame, bytes);
	m->ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_BAD;
	tap_send_mbuf(&tap, m);
	assert_int_equal(tap_counter(&tap, "drop_ip_header"), header + 1);
}

/* Truncated at each byte, the frame gets a verdict, and no reply. */
static void
test_cut_short(void **state)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes = tap_frame(&tap, frame, ACK);
	uint64_t before;

	tap_checksum_ipv4(frame, L3);
	tap_put_icrc(&tap, frame, bytes, L3, UDP);
	for (size_t n = 0; n < L3 + 20; n++)
		tap_expect_drop(&tap, frame, n, "drop_l2_short");
	for (size_t n = L3 + 20; n < bytes; n++)
		tap_expect_drop(&tap, frame, n, "drop_ip_header");
	before = tap_counter(&tap, "drop_ip_header");
	bytes = tap_frame(&tap, frame, ACK6);
	for (size_t n = L3; n < L3 + 40; n++)
		tap_expect_drop(&tap, frame, n, "drop_l2_short");
	for (size_t n = L3 + 40; n < bytes; n++)
		tap_expect_drop(&tap, frame, n, "drop_ip_header");
	assert_int_equal(tap_counter(&tap, "drop_ip_header"), before + bytes - L3 - 40);
}

static void
test_ipv6_headers(void **state)
{
	static const struct change changes[] = {
		{ L3, 0x40, "drop_ip_header" },    { L3 + 6, 44, "drop_ip_fragment" },
		{ L3 + 6, 0, "drop_ip_protocol" }, /* hop-by-hop options */
		{ L3 + 39, 9, "drop_ip_address" }, { L3 + 24, 0xff, "drop_ip_address" },
		{ 0, 0x33, "drop_l2_address" },
	};
	uint8_t frame[TAP_BYTES];
	size_t bytes;

	for (unsigned int i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		bytes = tap_frame(&tap, frame, ACK6);
		frame[changes[i].offset] = changes[i].value;
		tap_put_icrc(&tap, frame, bytes, L3, L3 + 40);
		tap_expect_drop(&tap, frame, bytes, changes[i].counter);
	}
	/* a RoCE packet to a group of the device, and one to the device in a frame to the group */
	bytes = tap_frame(
		&tap, frame,
		"333300000001 P 86dd 60000000 0014 11 40 fd000000000000000000000000000002"
		"ff020000000000000000000000000001 c000 12b7 0014 0000 11 40 ffff 00 123456 00 000001");
	tap_expect_drop(&tap, frame, bytes, "drop_ip_address");
	bytes = tap_frame(
		&tap, frame,
		"333300000001 P 86dd 60000000 0014 11 40 fd000000000000000000000000000002"
		"fd000000000000000000000000000001 c000 12b7 0014 0000 11 40 ffff 00 123456 00 000001");
	tap_expect_drop(&tap, frame, bytes, "drop_l2_address");
}

static void
test_unicast_packet_in_broadcast_frame(void **state)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes = tap_frame(&tap, frame, ACK);

	tap_checksum_ipv4(frame, L3);
	memset(frame, 0xff, 6);
	tap_expect_drop(&tap, frame, bytes, "drop_l2_address");
}

static void
test_vlan(void **state)
{
	uint64_t before = tap_counter(&tap, "drop_vlan");
	uint8_t frame[TAP_BYTES];
	struct rte_mbuf *m;
	size_t bytes;

	bytes = tap_frame(
		&tap, frame,
		"M P 8100 0007 0800 45 02 0030 0000 4000 40 11 0000 0a000002 0a000001 Z28");
	tap_expect_drop(&tap, frame, bytes, "drop_vlan");
	for (size_t n = 14; n < 18; n++)
		tap_expect_drop(&tap, frame, n, "drop_l2_short");
	/* the NIC has stripped the tag */
	bytes = tap_frame(&tap, frame, ACK);
	m = tap_mbuf(&tap, frame, bytes);
	m->ol_flags |= RTE_MBUF_F_RX_VLAN_STRIPPED;
	m->vlan_tci = 0x6007;
	tap_send_mbuf(&tap, m);
	assert_int_equal(tap_counter(&tap, "drop_vlan"), before + 2);
	/* two tags */
	bytes = tap_frame(&tap, frame,
			  "M P 8100 0000 8100 0000 0800 45 02 0030 0000 4000 40 11 0000 Z40");
	tap_expect_drop(&tap, frame, bytes, "drop_ethertype");
}

/* On a VLAN, frames without a tag or with another tag are dropped. */
static void
test_on_vlan(void **state)
{
	uint8_t frame[TAP_BYTES];
	struct rte_mbuf *m;
	uint64_t before;
	struct tap t;
	size_t bytes;

	tap_close(&tap);
	tap_open(&t, 7, cidrs);
	bytes = tap_frame(&t, frame, ACK);
	tap_expect_drop(&t, frame, bytes, "drop_vlan");
	bytes = tap_frame(&t, frame, "M P 8100 0008 0800 45 02 0030 0000 4000 40 11 0000 Z40");
	tap_expect_drop(&t, frame, bytes, "drop_vlan");
	bytes = tap_frame(&t, frame, "M P 8100 0000 0800 45 02 0030 0000 4000 40 11 0000 Z40");
	tap_expect_drop(&t, frame, bytes, "drop_vlan");
	/* the device's own tag, stripped by the NIC: the frame goes on */
	bytes = tap_frame(&t, frame, "M P 9999 Z60");
	before = tap_counter(&t, "drop_ethertype");
	m = tap_mbuf(&t, frame, bytes);
	m->ol_flags |= RTE_MBUF_F_RX_VLAN_STRIPPED;
	m->vlan_tci = 0x6007;
	tap_send_mbuf(&t, m);
	assert_int_equal(tap_counter(&t, "drop_ethertype"), before + 1);
	tap_close(&t);
	tap_open(&tap, 0, cidrs);
}

UROCE_TESTS(port_rx)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_each_header),
		cmocka_unit_test(test_checksums),
		cmocka_unit_test(test_checksum_offload),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_ipv6_headers),
		cmocka_unit_test(test_unicast_packet_in_broadcast_frame),
		cmocka_unit_test(test_vlan),
		cmocka_unit_test(test_on_vlan),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, setup, teardown);
}
