/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * An address handle for the reply to a datagram: IPv4, IPv6, multicast, and headers that no sender can have sent.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_byteorder.h>
#include <rte_ip.h>

#include "groups.h"
#include "uroce.h"
#include "eal.h"
#include "fixture.h"

static void
put_ipv4(struct ibv_grh *grh, uint32_t src, uint32_t dst)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)((uint8_t *)grh + 20);

	memset(grh, 0, sizeof(*grh));
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->type_of_service = 0x88;
	ip->time_to_live = 3;
	ip->src_addr = rte_cpu_to_be_32(src);
	ip->dst_addr = rte_cpu_to_be_32(dst);
	ip->hdr_checksum = rte_ipv4_cksum(ip);
}

static void
put_ipv6(struct ibv_grh *grh, const union ibv_gid *src, const union ibv_gid *dst)
{
	memset(grh, 0, sizeof(*grh));
	grh->version_tclass_flow = rte_cpu_to_be_32(6u << 28 | 0x77 << 20 | 0xabcde);
	grh->sgid = *src;
	grh->dgid = *dst;
}

static const union ibv_gid ours_v6 = { .raw = { 0xfd, [15] = 1 } };
static const union ibv_gid theirs_v6 = { .raw = { 0xfd, [15] = 2 } };

static void
refused(uint8_t port_num, unsigned int wc_flags, struct ibv_grh *grh)
{
	struct ibv_wc wc = { .wc_flags = wc_flags };
	struct ibv_ah_attr attr;

	errno = 0;
	assert_int_equal(uroce_init_ah_from_wc(fake.context, port_num, &wc, grh, &attr), -1);
	assert_int_equal(errno, EINVAL);
	assert_null(uroce_create_ah_from_wc(pair.pd, &wc, grh, port_num));
	assert_int_equal(errno, EINVAL);
}

static struct ibv_ah_attr
accepted(struct ibv_grh *grh)
{
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH, .sl = 3 };
	struct ibv_ah_attr attr;

	assert_int_equal(uroce_init_ah_from_wc(fake.context, 1, &wc, grh, &attr), 0);
	assert_int_equal(attr.is_global, 1);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(attr.sl, 3);
	assert_int_equal(attr.grh.hop_limit, 0xff);
	return attr;
}

static void
test_ipv4(void **state)
{
	static const uint8_t peer[16] = { [10] = 0xff, 0xff, 10, 0, 0, 2 };
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_ah_attr attr;
	struct ibv_grh grh;
	struct ibv_ah *ah;

	(void)state;
	put_ipv4(&grh, 0x0a000002, 0x0a000001);
	attr = accepted(&grh);
	assert_memory_equal(attr.grh.dgid.raw, peer, 16);
	assert_int_equal(attr.grh.sgid_index, 1);
	assert_int_equal(attr.grh.traffic_class, 0x88);
	assert_int_equal(attr.grh.flow_label, 0);
	ah = uroce_create_ah_from_wc(pair.pd, &wc, &grh, 1);
	assert_non_null(ah);
	assert_int_equal(uroce_destroy_ah(ah), 0);
}

static void
test_ipv6(void **state)
{
	struct ibv_ah_attr attr;
	struct ibv_grh grh;

	(void)state;
	fake.gids[2] = ours_v6;
	put_ipv6(&grh, &theirs_v6, &ours_v6);
	attr = accepted(&grh);
	assert_memory_equal(&attr.grh.dgid, &theirs_v6, 16);
	assert_int_equal(attr.grh.sgid_index, 2);
	assert_int_equal(attr.grh.traffic_class, 0x74);	/* the ECN bits belong to the received packet */
	assert_int_equal(attr.grh.flow_label, 0xabcde);
}

static void
test_multicast(void **state)
{
	static const union ibv_gid group = { .raw = { 0xff, 0x0e, [15] = 5 } };
	struct ibv_grh grh;

	(void)state;
	put_ipv4(&grh, 0x0a000002, 0xe0010203);
	assert_int_equal(accepted(&grh).grh.sgid_index, 1);
	put_ipv6(&grh, &theirs_v6, &group);
	refused(1, IBV_WC_GRH, &grh);
	fake.gids[2] = ours_v6;
	assert_int_equal(accepted(&grh).grh.sgid_index, 2);
}

static void
test_refused(void **state)
{
	struct rte_ipv4_hdr *ip;
	struct ibv_grh grh;

	(void)state;
	ip = (struct rte_ipv4_hdr *)((uint8_t *)&grh + 20);
	put_ipv4(&grh, 0x0a000002, 0x0a000001);
	refused(1, 0, &grh);
	refused(2, IBV_WC_GRH, &grh);
	put_ipv4(&grh, 0x0a000002, 0x0a000009);	/* sent to another host */
	refused(1, IBV_WC_GRH, &grh);
	put_ipv4(&grh, 0x0a000002, 0x0a000001);
	ip->hdr_checksum ^= 1;
	refused(1, IBV_WC_GRH, &grh);
	put_ipv4(&grh, 0x0a000002, 0x0a000001);
	ip->version_ihl = 0x44;
	refused(1, IBV_WC_GRH, &grh);
	memset(&grh, 0, sizeof(grh));
	refused(1, IBV_WC_GRH, &grh);
	memset(&grh, 0xff, sizeof(grh));
	refused(1, IBV_WC_GRH, &grh);
	put_ipv6(&grh, &theirs_v6, &ours_v6);	/* not an address of this device */
	refused(1, IBV_WC_GRH, &grh);
}

UROCE_TESTS(ah_wc)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ipv4, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_ipv6, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_multicast, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_refused, pair_setup, pair_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
