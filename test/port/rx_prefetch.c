/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Looking ahead in a burst: the QP number is found where frames have it, with IPv4, IPv6 and a tag; nothing is read
 * beyond a short frame; who has come just before is not asked for again, and who is not there is nobody.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "eal.h"
#include "groups.h"
#include "port/worker/rx_prefetch.h"

#define QPN  0x123456
#define BITS 4 /* of the table of QPs */

/* A mbuf that ends where its frame does: a sanitizer sees what is read beyond. */
struct frame {
	struct rte_mbuf m;
	uint8_t *bytes;
};

static void
frame_make(struct frame *f, uint16_t ether_type, bool tagged, uint32_t qpn, size_t length)
{
	uint8_t bytes[128] = { 0 };
	size_t at = sizeof(struct rte_ether_hdr);

	bytes[12] = tagged ? RTE_ETHER_TYPE_VLAN >> 8 : ether_type >> 8;
	bytes[13] = tagged ? RTE_ETHER_TYPE_VLAN & 0xff : ether_type & 0xff;
	if (tagged) {
		bytes[16] = ether_type >> 8;
		bytes[17] = ether_type & 0xff;
		at += sizeof(struct rte_vlan_hdr);
	}
	at += ether_type == RTE_ETHER_TYPE_IPV4 ? 20 : 40;
	at += sizeof(struct rte_udp_hdr);
	uroce_put24(((struct uroce_bth *)(bytes + at))->dest_qp, qpn);
	if (length == 0)
		length = at + sizeof(struct uroce_bth);
	f->bytes = malloc(length);
	assert_non_null(f->bytes);
	memcpy(f->bytes, bytes, length);
	memset(&f->m, 0, sizeof(f->m));
	f->m.buf_addr = f->bytes;
	f->m.data_len = (uint16_t)length;
}

static void
assert_qpn(uint16_t ether_type, bool tagged, size_t length, uint32_t qpn)
{
	struct frame f;

	frame_make(&f, ether_type, tagged, QPN, length);
	assert_int_equal(uroce_rx_prefetch_qpn(&f.m), qpn);
	free(f.bytes);
}

static void
test_where_it_is(void **state)
{
	assert_qpn(RTE_ETHER_TYPE_IPV4, false, 0, QPN);
	assert_qpn(RTE_ETHER_TYPE_IPV4, true, 0, QPN);
	assert_qpn(RTE_ETHER_TYPE_IPV6, false, 0, QPN);
	assert_qpn(RTE_ETHER_TYPE_IPV6, true, 0, QPN);
}

static void
test_short_frames(void **state)
{
	static const struct {
		uint16_t type;
		bool tagged;
		size_t whole;
	} kinds[] = {
		{ RTE_ETHER_TYPE_IPV4, false, 54 },
		{ RTE_ETHER_TYPE_IPV4, true, 58 },
		{ RTE_ETHER_TYPE_IPV6, false, 74 },
		{ RTE_ETHER_TYPE_IPV6, true, 78 },
	};

	for (unsigned int i = 0; i < RTE_DIM(kinds); i++) {
		for (size_t length = 1; length < kinds[i].whole; length++)
			assert_qpn(kinds[i].type, kinds[i].tagged, length, UROCE_RX_PREFETCH_NONE);
		assert_qpn(kinds[i].type, kinds[i].tagged, kinds[i].whole, QPN);
	}
}

static void
test_burst(void **state)
{
	static const uint32_t qpns[] = { 7, 7, 8, UINT32_C(0xffffff), 7 };
	static const uint32_t found[] = { 7, UROCE_RX_PREFETCH_NONE, 8, UINT32_C(0xffffff), 7 };
	struct uroce_device *dev = calloc(1, sizeof(*dev));
	struct rte_mbuf *frames[RTE_DIM(qpns)];
	struct frame made[RTE_DIM(qpns)];
	struct uroce_rx_prefetch ahead;

	assert_non_null(dev);
	dev->qps.log2 = BITS;
	dev->qps.qps = calloc(1u << BITS, sizeof(dev->qps.qps[0]));
	assert_non_null(dev->qps.qps);
	for (unsigned int i = 0; i < RTE_DIM(qpns); i++) {
		frame_make(&made[i], RTE_ETHER_TYPE_IPV4, false, qpns[i], 0);
		frames[i] = &made[i].m;
	}
	uroce_rx_prefetch_init(&ahead, dev, frames, RTE_DIM(frames));
	for (unsigned int i = 0; i < RTE_DIM(qpns); i++)
		assert_int_equal(ahead.qpns[i], found[i]);
	/* nobody is there, and beyond the burst nothing */
	for (unsigned int i = 0; i < RTE_DIM(qpns) + UROCE_RX_AHEAD; i++) {
		assert_null(uroce_rx_prefetch_qp(&ahead, i));
		uroce_rx_prefetch_look(&ahead, i);
		uroce_rx_prefetch_take(&ahead, i, NULL);
	}
	for (unsigned int i = 0; i < RTE_DIM(qpns); i++)
		free(made[i].bytes);
	free(dev->qps.qps);
	free(dev);
}

UROCE_TESTS(port_rx_prefetch)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_where_it_is),
		cmocka_unit_test(test_short_frames),
		cmocka_unit_test(test_burst),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
