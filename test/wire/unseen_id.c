/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Identifications that the port did not see: those of all captured IPv4 packets are found again, whatever the guess. A
 * packet with another error is accepted about once in 65,536 times, and never without the flag.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <rte_byteorder.h>
#include <rte_ip.h>

#include "frames.h"
#include "groups.h"
#include "wire/packet.h"
#include "wire/unseen_id.h"

#define L3   14
#define ROOM 8192
#define FLAG (1ull << 40)

static struct {
	unsigned int frames, with_id;
	unsigned int damaged, accepted;
	uint64_t random;
} seen;

static void
find(const struct test_frame *f, void *arg)
{
	static uint8_t bytes[ROOM];
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(bytes + L3);
	struct uroce_packet p;
	struct rte_mbuf m;
	rte_be16_t id;

	memcpy(bytes, f->bytes, f->len);
	test_mbuf_init(&m, bytes, ROOM, f->len);
	if (uroce_packet_decode(&m, L3, &p) != UROCE_OK || p.ip_version != 4)
		return;
	id = ip->packet_id;
	seen.frames++;
	seen.with_id += id != 0;
	ip->packet_id = rte_cpu_to_be_16((uint16_t)test_random(&seen.random));
	assert_int_equal(uroce_packet_check_icrc(&p), ip->packet_id == id ? UROCE_OK : UROCE_DROP_ICRC);
	m.ol_flags = FLAG;
	assert_int_equal(uroce_packet_check_icrc(&p), UROCE_OK);
	assert_int_equal(ip->packet_id, id);
	assert_int_equal(rte_ipv4_cksum(ip), 0); /* over a right checksum */

	for (unsigned int i = 0; i < 100; i++) {
		uint8_t *damaged = bytes + p.l4_offset + 8 + test_random(&seen.random) % 12;
		const uint8_t right = *damaged;

		*damaged ^= (uint8_t)(1u << test_random(&seen.random) % 8);
		ip->packet_id = 0;
		seen.damaged += damaged != (const uint8_t *)&p.bth->ecn;
		seen.accepted += damaged != (const uint8_t *)&p.bth->ecn && uroce_packet_check_icrc(&p) == UROCE_OK;
		*damaged = right;
	}
}

static void
test_captures(void **state)
{
	uroce_unseen_id_flag = FLAG;
	test_frames_each(find, NULL);
	uroce_unseen_id_flag = 0;
	assert_true(seen.frames > 1000 && seen.with_id > 500);
	assert_true(seen.accepted < 20); /* 2 are expected of 100,000 */
}

UROCE_TESTS(wire_unseen_id)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_captures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
