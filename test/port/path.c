/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Paths from address vectors: refused vectors, which leave no references; the headers; and the peer's place: on the
 * link, behind the gateway, in a group, or in this process.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "eal.h"
#include "groups.h"
#include "port/path.h"
#include "tap.h"

#define UNTAGGED 14
#define TAGGED   18
#define TTL      8

enum {
	SGID_LINK_LOCAL,
	SGID_IPV4,
	SGID_IPV6,
	SGID_NONE
};

static const char *const cidrs[] = { "10.0.0.1/24", "fd00::1/64", NULL };

static struct ibv_ah_attr
to(const char *address, uint8_t sgid_index)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh.sgid_index = sgid_index };

	assert_int_equal(uroce_gid_parse(attr.grh.dgid.raw, address), 0);
	return attr;
}

static int
init(struct tap *t, const struct ibv_ah_attr *attr, struct uroce_path *path)
{
	return uroce_port_path_init(&t->port->dev, attr, 2, path);
}

static void
fini(struct tap *t, struct uroce_path *path)
{
	uroce_port_path_fini(&t->port->dev, path);
	assert_false(path->set_up);
	assert_null(path->lladdr);
}

static void
test_refused(void **state)
{
	struct ibv_ah_attr attr = to("10.0.0.2", SGID_IPV4);
	struct uroce_path path;
	struct tap t;

	tap_open(&t, 0, cidrs);
	attr.is_global = 0;
	assert_int_equal(init(&t, &attr, &path), -EINVAL);
	attr = to("10.0.0.2", SGID_IPV4);
	attr.port_num = 0;
	assert_int_equal(init(&t, &attr, &path), -EINVAL);
	/* two address families, on the wire and looped back */
	attr = to("10.0.0.2", SGID_IPV6);
	assert_int_equal(init(&t, &attr, &path), -EINVAL);
	attr = to("fd00::2", SGID_IPV4);
	assert_int_equal(init(&t, &attr, &path), -EINVAL);
	attr = to("10.0.0.1", SGID_LINK_LOCAL);
	assert_int_equal(init(&t, &attr, &path), -EINVAL);
	attr = to("10.0.0.2", SGID_NONE);
	assert_int_equal(init(&t, &attr, &path), -EINVAL);
	attr = to("10.0.0.2", UROCE_MAX_GID);
	assert_int_equal(init(&t, &attr, &path), -EINVAL);
	attr = to("10.9.0.2", SGID_IPV4);
	assert_int_equal(init(&t, &attr, &path), -ENETUNREACH);
	attr = to("fd99::2", SGID_IPV6);
	assert_int_equal(init(&t, &attr, &path), -ENETUNREACH);
	for (unsigned int i = 0; i < SGID_NONE; i++)
		assert_int_equal(t.port->gids[i].refs, 0);
	tap_close(&t);
}

static void
test_headers(void **state)
{
	struct ibv_ah_attr attr = to("10.0.0.2", SGID_IPV4);
	struct uroce_path path;
	struct tap t;

	tap_open(&t, 0, cidrs);
	assert_int_equal(init(&t, &attr, &path), 0);
	assert_int_equal(path.headers.l2_bytes, UNTAGGED);
	assert_memory_equal(path.headers.bytes + 6, &t.port->mac, 6);
	assert_memory_equal(path.headers.bytes + 12, "\x08\x00\x45", 3);
	assert_int_equal(path.headers.bytes[UNTAGGED + TTL], 64);
	assert_memory_equal(path.headers.bytes + UNTAGGED + 12, "\x0a\0\0\x01\x0a\0\0\x02", 8);
	fini(&t, &path);
	attr.grh.hop_limit = 2;
	assert_int_equal(init(&t, &attr, &path), 0);
	assert_int_equal(path.headers.bytes[UNTAGGED + TTL], 2);
	fini(&t, &path);
	/* a flow label of more than 20 bits must not change the traffic class */
	attr = to("fd00::2", SGID_IPV6);
	attr.grh.flow_label = 0xfff12345;
	attr.grh.traffic_class = 0x68;
	assert_int_equal(init(&t, &attr, &path), 0);
	assert_memory_equal(path.headers.bytes + UNTAGGED, "\x66\x81\x23\x45", 4);
	assert_int_equal(path.headers.bytes[UNTAGGED + 7], 64);
	fini(&t, &path);
	tap_close(&t);
}

static void
test_vlan(void **state)
{
	struct ibv_ah_attr peer = to("10.0.0.2", SGID_IPV4), self = to("10.0.0.1", SGID_IPV4);
	struct uroce_path path;
	struct tap t;

	tap_open(&t, 0x123, cidrs);
	assert_int_equal(init(&t, &peer, &path), 0);
	assert_int_equal(path.headers.l2_bytes, TAGGED);
	assert_memory_equal(path.headers.bytes + 12, "\x81\x00\x01\x23\x08\x00", 6);
	fini(&t, &path);
	assert_int_equal(init(&t, &self, &path), 0);
	assert_memory_equal(path.headers.bytes + 12, "\x81\x00\x01\x23\x08\x00", 6);
	fini(&t, &path);
	/* the lower three bits of the SL are the tag's priority */
	peer.sl = 5;
	assert_int_equal(init(&t, &peer, &path), 0);
	assert_memory_equal(path.headers.bytes + 12, "\x81\x00\xa1\x23\x08\x00", 6);
	fini(&t, &path);
	self.sl = 15;
	assert_int_equal(init(&t, &self, &path), 0);
	assert_memory_equal(path.headers.bytes + 12, "\x81\x00\xe1\x23\x08\x00", 6);
	fini(&t, &path);
	tap_close(&t);
}

/* The path does not wait for the MAC address, and uses it as soon as it is known. */
static void
test_neighbor(void **state)
{
	const struct ibv_ah_attr attr = to("10.0.0.2", SGID_IPV4);
	uint8_t frame[TAP_BYTES];
	struct rte_ether_addr peer;
	struct uroce_path path;
	struct tap t;
	size_t bytes;

	tap_open(&t, 0, cidrs);
	assert_int_equal(init(&t, &attr, &path), 0);
	assert_true(path.set_up);
	assert_int_equal(path.out, 0);
	assert_non_null(path.lladdr);
	assert_int_equal(*path.lladdr, 0);
	/* resolution starts without a frame */
	tap_expect_text(&t, "ffffffffffff M 0806 0001 0800 06 04 0001 M 0a000001 Z6 0a000002 Z18");
	bytes = tap_frame(&t, frame, "M P 0806 0001 0800 06 04 0002 P 0a000002 M 0a000001");
	tap_send(&t, frame, bytes);
	rte_ether_unformat_addr(TAP_PEER, &peer);
	assert_int_equal(*path.lladdr, uroce_neighbor_mac_word(&peer));
	assert_int_equal(uroce_del_address(t.context, cidrs[0]), EBUSY);
	fini(&t, &path);
	fini(&t, &path); /* nothing to release */
	assert_int_equal(uroce_del_address(t.context, cidrs[0]), 0);
	tap_close(&t);
}

static void
test_gateway(void **state)
{
	const struct ibv_ah_attr far[] = { to("192.168.0.1", SGID_IPV4),
					   to("10.0.0.254", SGID_IPV4) };
	struct uroce_path paths[2];
	struct tap t;

	tap_open(&t, 0, cidrs);
	assert_int_equal(uroce_set_gateway(t.context, "10.0.0.254"), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(init(&t, &far[i], &paths[i]), 0);
	/* by the gateway's MAC address to the peer's IP address */
	assert_non_null(paths[0].lladdr);
	assert_ptr_equal(paths[0].lladdr, paths[1].lladdr);
	assert_memory_equal(paths[0].headers.bytes + UNTAGGED + 16, "\xc0\xa8\0\x01", 4);
	for (unsigned int i = 0; i < 2; i++)
		fini(&t, &paths[i]);
	tap_close(&t);
}

/* The MAC address of a group is derived from the group: no resolution. */
static void
test_multicast(void **state)
{
	struct ibv_ah_attr attr = to("10.0.0.2", SGID_IPV4);
	struct uroce_path path;
	struct tap t;

	tap_open(&t, 0, cidrs);
	memcpy(attr.grh.dgid.raw + 12, "\xe1\x82\x03\x04", 4);
	assert_int_equal(init(&t, &attr, &path), 0);
	assert_null(path.lladdr);
	assert_int_equal(path.out, UROCE_OUT_GROUP);
	assert_memory_equal(path.headers.bytes, "\x01\x00\x5e\x02\x03\x04", 6);
	fini(&t, &path);
	tap_expect_nothing(&t);
	tap_close(&t);
}

/* A path from the tapped device to an address of another device. */
static void
expect_out(struct tap *t, const char *address, uint8_t sgid_index, const struct uroce_port *peer)
{
	const struct ibv_ah_attr attr = to(address, sgid_index);
	struct uroce_path path;

	assert_int_equal(init(t, &attr, &path), 0);
	assert_int_equal(path.out, peer != NULL ? peer->dev.index + 1 : 0);
	if (peer != NULL) {
		assert_null(path.lladdr);
		assert_memory_equal(path.headers.bytes, &peer->mac, 6);
	} else {
		assert_non_null(path.lladdr);
	}
	fini(t, &path);
}

static void
test_loopback(void **state)
{
	struct uroce_port_conf conf = { .size = sizeof(conf) };
	struct ibv_context *other;
	struct uroce_port *port;
	struct test_rings rings;
	char link_local[64];
	struct tap t;

	tap_open(&t, 0, cidrs);
	test_rings_create(&rings, 1);
	expect_out(&t, "10.0.0.1", SGID_IPV4, t.port);
	expect_out(&t, "fd00::1", SGID_IPV6, t.port);
	for (conf.no_loopback = 0; conf.no_loopback < 2; conf.no_loopback++) {
		other = uroce_open_port(rings.port_id, &conf, &t.worker, 1);
		assert_non_null(other);
		port = uroce_port_of_context(other);
		expect_out(&t, "10.0.0.7", SGID_IPV4, NULL);
		assert_int_equal(uroce_add_address(other, "10.0.0.7/24"), 0);
		expect_out(&t, "10.0.0.7", SGID_IPV4, conf.no_loopback ? NULL : port);
		/* a link-local address is valid on its own link only */
		uroce_gid_format(port->gids[0].subnet.gid, link_local, sizeof(link_local));
		assert_memory_not_equal(&port->mac, &t.port->mac, sizeof(port->mac));
		expect_out(&t, link_local, SGID_LINK_LOCAL, NULL);
		assert_int_equal(uroce_close_device(other), 0);
		expect_out(&t, "10.0.0.7", SGID_IPV4, NULL);
	}
	test_rings_destroy(&rings);
	tap_close(&t);
}

/* The frame is as the peer's port would receive it, with the peer's VLAN. */
static void
test_loopback_vlan(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .vlan = 0x45 };
	struct ibv_ah_attr attr = to("10.0.0.7", SGID_IPV4);
	struct ibv_context *other;
	struct test_rings rings;
	struct uroce_path path;
	struct tap t;

	tap_open(&t, 0x123, cidrs);
	test_rings_create(&rings, 1);
	other = uroce_open_port(rings.port_id, &conf, &t.worker, 1);
	assert_non_null(other);
	assert_int_equal(uroce_add_address(other, "10.0.0.7/24"), 0);
	attr.sl = 3;
	assert_int_equal(init(&t, &attr, &path), 0);
	assert_memory_equal(path.headers.bytes + 12, "\x81\x00\x60\x45\x08\x00", 6);
	fini(&t, &path);
	assert_int_equal(uroce_close_device(other), 0);
	test_rings_destroy(&rings);
	tap_close(&t);
}

UROCE_TESTS(port_path)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),  cmocka_unit_test(test_headers),
		cmocka_unit_test(test_vlan),     cmocka_unit_test(test_neighbor),
		cmocka_unit_test(test_gateway),  cmocka_unit_test(test_multicast),
		cmocka_unit_test(test_loopback), cmocka_unit_test(test_loopback_vlan),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
