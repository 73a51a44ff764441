/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Headers written from a template, byte by byte; the IPv4 checksum for each length; the UDP source port.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <string.h>

#include <cmocka.h>

#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_ip.h>

#include "groups.h"
#include "wire/gid.h"
#include "wire/template.h"

#define GID6(last)                                                                  \
	{                                                                           \
		0xfd, 0x12, 0x34, 0x56, 0x78, 0x9a, 0, 0, 0, 0, 0, 0, 0, 0, 0, last \
	}

static const struct uroce_template_conf conf4 = {
	.src_mac = { { 0x02, 0x11, 0x22, 0x33, 0x44, 0x55 } },
	.dst_mac = { { 0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee } },
	.vlan_tci = UROCE_NO_VLAN,
	.src_gid = UROCE_GID_IPV4(10, 77, 0, 2),
	.dst_gid = UROCE_GID_IPV4(10, 77, 0, 1),
	.traffic_class = 0x6a,
	.hop_limit = 63,
	.flow_label = 0xabcde, /* IPv4 ignores it */
	.udp_src_port = 0xc123,
};

static const struct uroce_template_conf conf6 = {
	.src_mac = { { 0x02, 0x11, 0x22, 0x33, 0x44, 0x55 } },
	.dst_mac = { { 0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee } },
	.vlan_tci = 0xb123,
	.src_gid = GID6(2),
	.dst_gid = GID6(1),
	.traffic_class = 0xd1,
	.hop_limit = 1,
	.flow_label = 0x5abcde, /* its lower 20 bits count */
	.udp_src_port = 0xffff,
};

/* Write into a buffer of exactly the promised size. @return the bytes of headers */
static uint32_t
write_headers(const struct uroce_template_conf *conf, uint32_t payload,
	      uint8_t dst[UROCE_TEMPLATE_BYTES])
{
	struct uroce_template t;

	memset(&t, 0xa5, sizeof(t));
	assert_int_equal(uroce_template_init(&t, conf), 0);
	assert_int_equal(t.header_bytes, t.l2_bytes + t.l3_bytes + 8);
	memset(dst, 0x5a, UROCE_TEMPLATE_BYTES);
	uroce_template_write(&t, dst, payload);
	return t.header_bytes;
}

static void
test_ipv4(void **state)
{
	static const uint8_t expected[] = {
		0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0x02, 0x11, 0x22, 0x33, 0x44, 0x55, 0x08, 0x00,
		0x45, 0x6a, 0x04, 0x2c, 0x00, 0x00, 0x40, 0x00, 0x3f, 0x11, 0x22, 0xbb, 10,   77,
		0,    2,    10,   77,   0,    1,    0xc1, 0x23, 0x12, 0xb7, 0x04, 0x18, 0x00, 0x00,
	};
	uint8_t frame[UROCE_TEMPLATE_BYTES];

	(void)state;
	assert_int_equal(write_headers(&conf4, 1040, frame), sizeof(expected));
	assert_memory_equal(frame, expected, sizeof(expected));
}

static void
test_ipv6_vlan(void **state)
{
	static const uint8_t expected[] = {
		0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0x02, 0x11, 0x22, 0x33, 0x44, 0x55, 0x81, 0x00,
		0xb1, 0x23, 0x86, 0xdd, 0x6d, 0x1a, 0xbc, 0xde, 0x00, 0x18, 0x11, 0x01, 0xfd, 0x12,
		0x34, 0x56, 0x78, 0x9a, 0,    0,    0,    0,    0,    0,    0,    0,    0,    2,
		0xfd, 0x12, 0x34, 0x56, 0x78, 0x9a, 0,    0,    0,    0,    0,    0,    0,    0,
		0,    1,    0xff, 0xff, 0x12, 0xb7, 0x00, 0x18, 0x00, 0x00,
	};
	uint8_t frame[UROCE_TEMPLATE_BYTES];

	(void)state;
	assert_int_equal(write_headers(&conf6, 16, frame), sizeof(expected));
	assert_memory_equal(frame, expected, sizeof(expected));
}

/* The VLAN tag shifts the bytes behind it and changes nothing else. */
static void
test_vlan_only_adds_a_tag(void **state)
{
	uint8_t plain[UROCE_TEMPLATE_BYTES], tagged[UROCE_TEMPLATE_BYTES];
	struct uroce_template_conf conf = conf4;
	uint32_t n = write_headers(&conf, 100, plain);

	(void)state;
	for (unsigned int tci = 0; tci < UROCE_NO_VLAN; tci += 0x0fff) {
		conf.vlan_tci = (uint16_t)tci;
		assert_int_equal(write_headers(&conf, 100, tagged), n + 4);
		assert_memory_equal(tagged, plain, 12);
		assert_int_equal(tagged[12] << 8 | tagged[13], 0x8100);
		assert_int_equal(tagged[14] << 8 | tagged[15], tci);
		assert_memory_equal(tagged + 16, plain + 12, n - 12);
	}
}

/* Each length, and addresses whose sum carries once, twice or not at all. */
static void
test_ipv4_checksum(void **state)
{
	static const uint8_t last[][4] = {
		{ 10, 0, 0, 1 },        { 255, 255, 255, 255 },     { 0, 0, 0, 0 },
		{ 192, 168, 255, 254 }, { 0x7a, 0xee, 0xc0, 0x01 }, { 1, 2, 3, 4 },
	};
	uint8_t frame[UROCE_TEMPLATE_BYTES];
	struct uroce_template t;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(last); i++) {
		struct uroce_template_conf conf = conf4;

		memcpy(conf.src_gid + 12, last[i], 4);
		memcpy(conf.dst_gid + 12, last[RTE_DIM(last) - 1 - i], 4);
		assert_int_equal(uroce_template_init(&t, &conf), 0);
		for (uint32_t payload = 0; payload <= 65535 - 28; payload++) {
			struct rte_ipv4_hdr *ip = (void *)(frame + t.l2_bytes);
			rte_be16_t written;

			uroce_template_write(&t, frame, payload);
			assert_int_equal(rte_be_to_cpu_16(ip->total_length), 28 + payload);
			assert_int_equal(rte_raw_cksum(ip, sizeof(*ip)), 0xffff);
			written = ip->hdr_checksum;
			ip->hdr_checksum = 0;
			assert_int_equal(written, rte_ipv4_cksum(ip));
		}
	}
}

static void
test_families(void **state)
{
	struct uroce_template_conf conf = conf4;
	struct uroce_template t;

	(void)state;
	memcpy(conf.dst_gid, conf6.dst_gid, 16);
	assert_int_equal(uroce_template_init(&t, &conf), -EINVAL);
	memcpy(conf.src_gid, conf6.src_gid, 16);
	assert_int_equal(uroce_template_init(&t, &conf), 0);
	assert_int_equal(t.l3_bytes, 40);
	memcpy(conf.dst_gid, conf4.dst_gid, 16);
	assert_int_equal(uroce_template_init(&t, &conf), -EINVAL);
	memcpy(conf.src_gid, conf4.src_gid, 16);
	assert_int_equal(uroce_template_init(&t, &conf), 0);
	assert_int_equal(t.l3_bytes, 20);
}

static void
test_port_from_flow_label(void **state)
{
	(void)state;
	assert_int_equal(uroce_udp_src_port(0x00001, 7), 0xc001);
	assert_int_equal(uroce_udp_src_port(0x12345, 7), 0xe341);
	assert_int_equal(uroce_udp_src_port(0xfffff, 7), 0xc000 | (0x3fff ^ 0x3f));
	assert_int_equal(uroce_udp_src_port(0xfc000, 7), 0xc03f);
	/* the flow label has 20 bits */
	assert_int_equal(uroce_udp_src_port(0xfff12345, 1), uroce_udp_src_port(0x12345, 3));
	for (uint32_t fl = 0; fl <= 0xfffff; fl++)
		assert_true(uroce_udp_src_port(fl, 0x11) >= 0xc000);
}

/* Without a flow label, the destination QPN folded to 20 bits is the label. */
static void
test_port_from_qpn(void **state)
{
	static unsigned int seen[0x4000];
	unsigned int most = 0;

	(void)state;
	assert_int_equal(uroce_flow_label_to(0x00012), 0x00012);
	assert_int_equal(uroce_flow_label_to(0x123456), 0x23457);
	assert_int_equal(uroce_flow_label_to(0x100001), 1); /* 0 is no label */
	for (uint32_t qpn = 2; qpn < 0xffffff; qpn++) {
		uint16_t port = uroce_udp_src_port(0, qpn);

		assert_int_equal(port, uroce_udp_src_port(uroce_flow_label_to(qpn), 0));
		most = RTE_MAX(most, ++seen[port & 0x3fff]);
	}
	assert_true(most <= 0x1000000 / 0x4000 + 16); /* all ports alike */
}

/* Changing the traffic class gives the same template as creating it with that class; no other field changes. */
static void
a_traffic_class_can_be_changed(void **state)
{
	const struct uroce_template_conf *const confs[] = { &conf4, &conf6 };

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(confs); i++) {
		for (unsigned int tc = 0; tc < 256; tc++) {
			struct uroce_template_conf conf = *confs[i];
			struct uroce_template want, got;

			assert_int_equal(uroce_template_init(&got, &conf), 0);
			conf.traffic_class = (uint8_t)tc;
			assert_int_equal(uroce_template_init(&want, &conf), 0);
			uroce_template_set_traffic_class(&got, (uint8_t)tc);
			assert_memory_equal(&got, &want, sizeof(got));
			assert_int_equal(uroce_template_traffic_class(&got), tc);
		}
	}
}

UROCE_TESTS(wire_template)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4),
		cmocka_unit_test(test_ipv6_vlan),
		cmocka_unit_test(test_vlan_only_adds_a_tag),
		cmocka_unit_test(test_ipv4_checksum),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_port_from_flow_label),
		cmocka_unit_test(test_port_from_qpn),
		cmocka_unit_test(a_traffic_class_can_be_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
