/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Ports as devices: open, close, and open again without leaks; refused configurations; addresses, GIDs, attributes;
 * paths; workers.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "clock.h"
#include "eal.h"
#include "groups.h"
#include "port/ethdev/link.h"
#include "port/path.h"
#include "port/worker/pool.h"
#include "port/worker/worker.h"
#include "tap.h"

#define ARP_REQUEST "ffffffffffff P 0806 0001 0800 06 04 0001 P 0a000002 Z6 0a000001"

static const char *const cidrs[] = { "10.0.0.1/24", "fd00::1/64", NULL };

static size_t
heap_bytes(void)
{
	struct rte_malloc_socket_stats stats;

	assert_int_equal(rte_malloc_get_socket_stats(0, &stats), 0);
	return stats.heap_allocsz_bytes;
}

static void
test_nothing_is_lost(void **state)
{
	size_t first = 0;
	struct tap t;

	for (unsigned int i = 0; i < 4; i++) {
		tap_open(&t, 0, cidrs);
		tap_close(&t);
		/* EAL keeps some memory of the first open */
		if (i == 1)
			first = heap_bytes();
		if (i > 1)
			assert_int_equal(heap_bytes(), first);
	}
}

static void
expect_refused(uint16_t port_id, const struct uroce_port_conf *conf,
	       struct uroce_worker *const *workers, unsigned int n, int error)
{
	errno = 0;
	assert_null(uroce_open_port(port_id, conf, workers, n));
	assert_int_equal(errno, error);
}

static void
test_refused(void **state)
{
	const struct uroce_port_conf vlan = { .size = sizeof(vlan), .vlan = 4095 };
	const struct uroce_port_conf small = { .size = sizeof(small), .mtu = 200 };
	const struct uroce_port_conf qps = { .size = sizeof(qps), .log2_max_qp = UROCE_LOG2_LIMIT_QP + 1 };
	struct rte_eth_dev_owner owner = { .name = "test" };
	struct uroce_worker *workers[2], *twice[2];
	struct ibv_context *context;
	struct test_rings rings;

	test_rings_create(&rings, 1);
	for (unsigned int i = 0; i < 2; i++)
		workers[i] = uroce_create_worker(-1);
	twice[0] = workers[0];
	twice[1] = workers[0];
	expect_refused(RTE_MAX_ETHPORTS - 1, NULL, workers, 1, ENODEV);
	expect_refused(UINT16_MAX, NULL, workers, 1, ENODEV);
	expect_refused(rings.port_id, NULL, NULL, 1, EINVAL);
	expect_refused(rings.port_id, NULL, workers, 0, EINVAL);
	expect_refused(rings.port_id, NULL, workers, UROCE_MAX_WORKERS + 1, EINVAL);
	expect_refused(rings.port_id, NULL, twice, 2, EINVAL);
	expect_refused(rings.port_id, NULL, workers, 2, EINVAL); /* the ethdev has one queue */
	expect_refused(rings.port_id, &vlan, workers, 1, EINVAL);
	expect_refused(rings.port_id, &small, workers, 1, EINVAL);
	expect_refused(rings.port_id, &qps, workers, 1, EINVAL);
	twice[0] = NULL;
	expect_refused(rings.port_id, NULL, twice, 1, EINVAL);

	assert_int_equal(rte_eth_dev_owner_new(&owner.id), 0);
	assert_int_equal(rte_eth_dev_owner_set(rings.port_id, &owner), 0);
	expect_refused(rings.port_id, NULL, workers, 1, EBUSY);
	assert_int_equal(rte_eth_dev_owner_unset(rings.port_id, owner.id), 0);

	context = uroce_open_port(rings.port_id, NULL, workers, 1);
	assert_non_null(context);
	expect_refused(rings.port_id, NULL, workers, 1, EBUSY);
	assert_int_equal(uroce_destroy_worker(workers[0]), EBUSY);
	assert_int_equal(uroce_close_device(context), 0);

	/* another owner has started it */
	assert_int_equal(rte_eth_dev_start(rings.port_id), 0);
	expect_refused(rings.port_id, NULL, workers, 1, EBUSY);
	assert_int_equal(rte_eth_dev_stop(rings.port_id), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_destroy_worker(workers[i]), 0);
	test_rings_destroy(&rings);
	assert_int_equal(uroce_pools_retired(), 0);
}

static void
test_names(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .name = "storage" };
	struct ibv_context *contexts[3];
	struct test_rings rings[3];
	struct uroce_worker *w = uroce_create_worker(-1);

	for (unsigned int i = 0; i < 3; i++) {
		test_rings_create(&rings[i], 1);
		contexts[i] = uroce_open_port(rings[i].port_id, i == 2 ? &conf : NULL, &w, 1);
		assert_non_null(contexts[i]);
	}
	assert_string_equal(uroce_get_device_name(contexts[0]->device), "uroce0");
	assert_string_equal(uroce_get_device_name(contexts[1]->device), "uroce1");
	assert_string_equal(uroce_get_device_name(contexts[2]->device), "storage");
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(uroce_close_device(contexts[i]), 0);
		test_rings_destroy(&rings[i]);
	}
	assert_int_equal(uroce_destroy_worker(w), 0);
}

static void
test_objects_keep_it_open(void **state)
{
	struct ibv_xrcd_init_attr xrcd_attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_context *other;
	struct ibv_xrcd *xrcd;
	struct ibv_pd *pd;
	struct tap t;

	tap_open(&t, 0, cidrs);
	pd = uroce_alloc_pd(t.context);
	assert_non_null(pd);
	assert_int_equal(uroce_close_device(t.context), EBUSY);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	other = uroce_open_device(t.context->device);
	assert_non_null(other);
	assert_int_equal(uroce_close_device(t.context), EBUSY);
	assert_int_equal(uroce_close_device(other), 0);
	xrcd = uroce_open_xrcd(t.context, &xrcd_attr);
	assert_non_null(xrcd);
	assert_int_equal(uroce_close_device(t.context), EBUSY);
	assert_int_equal(uroce_close_xrcd(xrcd), 0);
	tap_close(&t);
}

static void
test_mtu(void **state)
{
	static const struct {
		uint16_t ethernet;
		enum ibv_mtu mtu;
	} cases[] = {
		{ 339, 0 },
		{ 340, IBV_MTU_256 },
		{ 595, IBV_MTU_256 },
		{ 596, IBV_MTU_512 },
		{ 1107, IBV_MTU_512 },
		{ 1108, IBV_MTU_1024 },
		{ 1500, IBV_MTU_1024 },
		{ 2131, IBV_MTU_1024 },
		{ 2132, IBV_MTU_2048 },
		{ 4179, IBV_MTU_2048 },
		{ 4180, IBV_MTU_4096 },
		{ 4200, IBV_MTU_4096 },
		{ 9000, IBV_MTU_4096 },
		{ UINT16_MAX, IBV_MTU_4096 },
	};

	for (unsigned int i = 0; i < RTE_DIM(cases); i++)
		assert_int_equal(uroce_mtu_of_ethernet(cases[i].ethernet), cases[i].mtu);
}

static void
test_port_attributes(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .mtu = 1500 };
	struct ibv_port_attr attr;
	struct ibv_context *context;
	struct tap t;

	tap_open(&t, 0, cidrs);
	assert_int_equal(uroce_query_port(t.context, 1, &attr), 0);
	assert_int_equal(attr.state, IBV_PORT_ACTIVE);
	assert_int_equal(attr.phys_state, 5);
	assert_int_equal(attr.max_mtu, IBV_MTU_4096);
	assert_int_equal(attr.active_mtu, IBV_MTU_4096);
	assert_int_equal(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(attr.lid, 0);
	assert_int_equal(attr.gid_tbl_len, UROCE_MAX_GID);
	assert_int_equal(attr.pkey_tbl_len, 1);
	assert_int_equal(attr.max_msg_sz, 1u << 31);
	/* net_ring reports 10 Gb/s */
	assert_int_equal(attr.active_width, 1);
	assert_int_equal(attr.active_speed, 8);
	assert_int_equal(uroce_query_port(t.context, 2, &attr), EINVAL);
	assert_int_equal(rte_eth_dev_set_link_down(t.wire.port_id), 0);
	assert_int_equal(uroce_query_port(t.context, 1, &attr), 0);
	assert_int_equal(attr.state, IBV_PORT_DOWN);
	assert_int_equal(uroce_close_device(t.context), 0);

	context = uroce_open_port(t.wire.port_id, &conf, &t.worker, 1);
	assert_non_null(context);
	assert_int_equal(uroce_query_port(context, 1, &attr), 0);
	assert_int_equal(attr.active_mtu, IBV_MTU_1024);
	t.context = context;
	tap_close(&t);
}

static void
test_gids(void **state)
{
	struct ibv_gid_entry entry;
	union ibv_gid gid;
	char text[64];
	struct tap t;

	tap_open(&t, 0, cidrs);
	assert_int_equal(uroce_query_gid_ex(t.context, 1, 0, &entry, 0), 0);
	assert_int_equal(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(entry.gid.raw[0], 0xfe);
	/* the interface identifier is the node GUID */
	assert_memory_equal(entry.gid.raw + 8,
			    &(uint64_t){ uroce_get_device_guid(t.context->device) }, 8);
	assert_int_equal(uroce_query_gid(t.context, 1, 1, &gid), 0);
	assert_string_equal(uroce_gid_format(gid.raw, text, sizeof(text)), "10.0.0.1");
	assert_int_equal(uroce_query_gid_ex(t.context, 1, 2, &entry, 0), 0);
	assert_string_equal(uroce_gid_format(entry.gid.raw, text, sizeof(text)), "fd00::1");
	assert_int_equal(uroce_query_gid_ex(t.context, 1, 3, &entry, 0), ENODATA);
	assert_int_equal(uroce_query_gid_ex(t.context, 1, UROCE_MAX_GID, &entry, 0), EINVAL);
	tap_close(&t);
}

static void
test_addresses(void **state)
{
	char cidr[32];
	struct tap t;

	tap_open(&t, 0, cidrs);
	assert_int_equal(uroce_add_address(t.context, "10.0.0.1/24"), EEXIST);
	assert_int_equal(uroce_add_address(t.context, "10.0.0.1/16"), EEXIST);
	assert_int_equal(uroce_add_address(t.context, "10.0.0.1"), EINVAL);
	assert_int_equal(uroce_add_address(t.context, NULL), EINVAL);
	assert_int_equal(uroce_del_address(t.context, "10.0.0.2/24"), ENOENT);
	assert_int_equal(uroce_del_address(t.context, "10.0.0.1/25"), ENOENT);
	assert_int_equal(uroce_del_address(t.context, "what"), EINVAL);
	assert_int_equal(uroce_set_gateway(t.context, "10.0.0.1"), EINVAL); /* the device's own address */
	assert_int_equal(uroce_set_gateway(t.context, "10.0.0"), EINVAL);
	assert_int_equal(uroce_set_gateway(t.context, NULL), 0);
	for (unsigned int i = 3; i < UROCE_MAX_GID; i++) {
		snprintf(cidr, sizeof(cidr), "10.1.0.%u/24", i);
		assert_int_equal(uroce_add_address(t.context, cidr), 0);
	}
	assert_int_equal(uroce_add_address(t.context, "10.2.0.1/24"), ENOSPC);
	assert_int_equal(uroce_del_address(t.context, "10.0.0.1/24"), 0);
	assert_int_equal(uroce_del_address(t.context, "10.0.0.1/24"), ENOENT);
	assert_int_equal(uroce_add_address(t.context, "10.2.0.1/24"), 0);
	tap_close(&t);
}

/* A deleted address is no longer answered for. */
static void
test_deleted_address(void **state)
{
	uint8_t frame[TAP_BYTES];
	struct tap t;
	size_t bytes;

	tap_open(&t, 0, cidrs);
	bytes = tap_frame(&t, frame, ARP_REQUEST);
	tap_send(&t, frame, bytes);
	rte_pktmbuf_free(tap_receive(&t));
	assert_int_equal(uroce_del_address(t.context, "10.0.0.1/24"), 0);
	tap_expect_drop(&t, frame, bytes, "drop_ip_address");
	tap_close(&t);
}

static void
dgid(struct ibv_ah_attr *attr, const char *address)
{
	struct uroce_subnet s;
	char cidr[64];

	snprintf(cidr, sizeof(cidr), "%s/32", address);
	assert_int_equal(uroce_subnet_parse(&s, cidr), 0);
	memcpy(attr->grh.dgid.raw, s.gid, sizeof(s.gid));
}

static void
test_path(void **state)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh.sgid_index = 1 };
	struct uroce_device *dev;
	struct uroce_path path;
	struct tap t;

	tap_open(&t, 0, cidrs);
	dev = uroce_device_of(t.context);
	dgid(&attr, "10.0.0.2");
	assert_int_equal(uroce_port_path_init(dev, &attr, 2, &path), 0);
	assert_true(path.set_up);
	assert_int_equal(path.out, 0);
	assert_non_null(path.lladdr);
	assert_true(path.multi_seg);
	assert_memory_equal(path.dgid.raw, attr.grh.dgid.raw, 16);
	assert_memory_equal(path.sgid.raw, t.port->gids[1].subnet.gid, 16);
	assert_int_equal(path.headers.bytes[14 + 8], 64); /* TTL */
	/* the source address is in use */
	assert_int_equal(uroce_del_address(t.context, "10.0.0.1/24"), EBUSY);
	uroce_port_path_fini(dev, &path);
	assert_false(path.set_up);
	uroce_port_path_fini(dev, &path); /* nothing to release */

	attr.grh.hop_limit = 1;
	attr.grh.traffic_class = 0x68;
	assert_int_equal(uroce_port_path_init(dev, &attr, 2, &path), 0);
	assert_int_equal(path.headers.bytes[14 + 8], 64);
	assert_int_equal(path.headers.bytes[14 + 1], 0x68);
	uroce_port_path_fini(dev, &path);
	attr.grh.hop_limit = 9;
	assert_int_equal(uroce_port_path_init(dev, &attr, 2, &path), 0);
	assert_int_equal(path.headers.bytes[14 + 8], 9);
	uroce_port_path_fini(dev, &path);

	dgid(&attr, "10.0.0.1");
	assert_int_equal(uroce_port_path_init(dev, &attr, 2, &path), 0);
	assert_int_equal(path.out, dev->index + 1);
	assert_null(path.lladdr);
	uroce_port_path_fini(dev, &path);
	assert_int_equal(uroce_del_address(t.context, "10.0.0.1/24"), 0);
	tap_close(&t);
}

static void
test_path_errors(void **state)
{
	struct ibv_ah_attr good = { .is_global = 1, .port_num = 1, .grh.sgid_index = 1 }, attr;
	struct uroce_device *dev;
	struct uroce_path path;
	struct tap t;

	tap_open(&t, 0, cidrs);
	dev = uroce_device_of(t.context);
	dgid(&good, "10.0.0.2");
	attr = good;
	attr.is_global = 0;
	assert_int_equal(uroce_port_path_init(dev, &attr, 2, &path), -EINVAL);
	attr = good;
	attr.port_num = 2;
	assert_int_equal(uroce_port_path_init(dev, &attr, 2, &path), -EINVAL);
	attr = good;
	attr.grh.sgid_index = 2; /* IPv6 to IPv4 */
	assert_int_equal(uroce_port_path_init(dev, &attr, 2, &path), -EINVAL);
	attr.grh.sgid_index = 3; /* an empty entry */
	assert_int_equal(uroce_port_path_init(dev, &attr, 2, &path), -EINVAL);
	attr.grh.sgid_index = 255;
	assert_int_equal(uroce_port_path_init(dev, &attr, 2, &path), -EINVAL);
	attr = good;
	dgid(&attr, "192.168.0.1"); /* no gateway */
	assert_int_equal(uroce_port_path_init(dev, &attr, 2, &path), -ENETUNREACH);
	memset(attr.grh.dgid.raw, 0, sizeof(attr.grh.dgid.raw));
	assert_int_equal(uroce_port_path_init(dev, &attr, 2, &path), -EINVAL);
	/* no references are left */
	assert_int_equal(uroce_del_address(t.context, "10.0.0.1/24"), 0);
	assert_int_equal(uroce_del_address(t.context, "fd00::1/64"), 0);
	tap_close(&t);
}

/* Fill the neighbor table, and exceed it by one; and again. */
static void
test_too_many_neighbors(void **state)
{
	static const char *const wide[] = { "10.0.0.1/16", NULL };
	static struct uroce_path paths[UROCE_MAX_NEIGHBORS];
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh.sgid_index = 1 };
	struct uroce_device *dev;
	struct uroce_path path;
	struct tap t;

	tap_open(&t, 0, wide);
	dev = uroce_device_of(t.context);
	dgid(&attr, "10.0.0.2");
	for (unsigned int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < UROCE_MAX_NEIGHBORS; i++) {
			attr.grh.dgid.raw[14] = (uint8_t)(1 + i / 256 + 8 * round);
			attr.grh.dgid.raw[15] = (uint8_t)i;
			assert_int_equal(uroce_port_path_init(dev, &attr, 2, &paths[i]), 0);
		}
		attr.grh.dgid.raw[14] = 200;
		assert_int_equal(uroce_port_path_init(dev, &attr, 2, &path), -ENOMEM);
		for (unsigned int i = 0; i < UROCE_MAX_NEIGHBORS; i++)
			uroce_port_path_fini(dev, &paths[i]);
	}
	tap_close(&t);
}

/* While a thread has the turn, a poll does nothing. */
static void
test_turn(void **state)
{
	uint8_t frame[TAP_BYTES];
	struct tap t;
	size_t bytes;

	tap_open(&t, 0, cidrs);
	bytes = tap_frame(&t, frame, ARP_REQUEST);
	uroce_worker_enter(t.worker);
	assert_int_equal(rte_ring_enqueue(t.wire.rx[0], tap_mbuf(&t, frame, bytes)), 0);
	assert_int_equal(uroce_worker_poll(t.worker), 0);
	assert_true(rte_ring_empty(t.wire.tx[0]));
	uroce_worker_exit(t.worker);
	assert_int_equal(uroce_worker_poll(t.worker), 2); /* one received, one sent */
	rte_pktmbuf_free(tap_receive(&t));
	tap_close(&t);
}

/* A port whose ring is full, with a reply to send. */
struct stalled {
	struct tap tap;
	struct rte_mbuf *filler[TEST_RING_FRAMES];	/* not valid frames */
	unsigned int room;
	uint8_t frame[TAP_BYTES];
	size_t bytes;
};

static void
stalled_open(struct stalled *s)
{
	struct rte_ring *ring;

	memset(s->filler, 0, sizeof(s->filler));
	tap_open(&s->tap, 0, cidrs);
	ring = s->tap.wire.tx[0];
	s->room = rte_ring_free_count(ring);
	assert_int_equal(rte_ring_enqueue_bulk(ring, (void **)s->filler, s->room, NULL), s->room);
	s->bytes = tap_frame(&s->tap, s->frame, ARP_REQUEST);
	tap_send(&s->tap, s->frame, s->bytes);
}

static void
stalled_release(struct stalled *s)
{
	assert_int_equal(rte_ring_dequeue_bulk(s->tap.wire.tx[0], (void **)s->filler, s->room, NULL), s->room);
}

/* The worker keeps the reply, then drops and counts it; replies work again when the port accepts frames. */
static void
test_stalled(void **state)
{
	struct stalled s;
	struct tap *t = &s.tap;

	stalled_open(&s);
	assert_int_equal(tap_counter(t, "arp_answered"), 1);
	assert_int_equal(tap_counter(t, "tx_drop_stalled"), 0);
	while (tap_counter(t, "tx_drop_stalled") == 0)
		uroce_worker_poll(t->worker);
	/* the port is known to be stalled: frames are dropped at once */
	tap_send(t, s.frame, s.bytes);
	assert_int_equal(tap_counter(t, "tx_drop_stalled"), 2);
	stalled_release(&s);
	tap_send(t, s.frame, s.bytes);
	rte_pktmbuf_free(tap_receive(t));
	assert_int_equal(tap_counter(t, "tx_drop_stalled"), 2);
	tap_close(t);
}

/* The stall does not count while the worker was not polled: a host that stops all processes stops the other end,
 * too. */
static void
test_not_stalled_while_away(void **state)
{
	struct stalled s;

	stalled_open(&s);
	for (unsigned int i = 0; i < 3; i++) {
		test_clock_advance(UROCE_TX_STALL_NS + UROCE_TX_STALL_NS / 2);
		uroce_worker_poll(s.tap.worker);
		assert_int_equal(tap_counter(&s.tap, "tx_drop_stalled"), 0);
	}
	stalled_release(&s);
	uroce_worker_poll(s.tap.worker);
	rte_pktmbuf_free(tap_receive(&s.tap));
	tap_close(&s.tap);
}

/* A port's stall goes on through late rounds that are less than UROCE_ROUND_MAX_NS apart. */
static void
test_stalled_in_late_rounds(void **state)
{
	struct stalled s;

	stalled_open(&s);
	for (unsigned int i = 0; i < UROCE_TX_STALL_NS / UROCE_ROUND_LATE_NS / 2; i++) {
		test_clock_advance(UROCE_ROUND_LATE_NS);
		uroce_worker_poll(s.tap.worker);
		assert_int_equal(tap_counter(&s.tap, "tx_drop_stalled"), 0);
	}
	for (unsigned int i = 0; i < UROCE_TX_STALL_NS / UROCE_ROUND_LATE_NS; i++) {
		test_clock_advance(UROCE_ROUND_LATE_NS);
		uroce_worker_poll(s.tap.worker);
	}
	assert_int_equal(tap_counter(&s.tap, "tx_drop_stalled"), 1);
	stalled_release(&s);
	tap_close(&s.tap);
}

static void
test_workers(void **state)
{
	struct uroce_worker *workers[UROCE_MAX_WORKERS];
	unsigned int n;

	/* as many as memory allows; these few always fit */
	for (n = 0; n < 4; n++) {
		workers[n] = uroce_create_worker(-1);
		assert_non_null(workers[n]);
		assert_int_equal(uroce_worker_poll(workers[n]), 0);
	}
	assert_int_equal(uroce_worker_launch(workers[0], rte_get_main_lcore()), EINVAL);
	assert_int_equal(uroce_worker_launch(workers[0], RTE_MAX_LCORE), EINVAL);
	assert_int_equal(uroce_worker_stop(workers[0]), EINVAL);
	while (n-- > 0)
		assert_int_equal(uroce_destroy_worker(workers[n]), 0);
	assert_int_equal(uroce_pools_retired(), 0);
}

/* A retired pool whose mbufs are in use is freed when they return. */
static void
test_retired_pool(void **state)
{
	struct rte_mempool *pool = uroce_pool_create("test", 63, 2048, SOCKET_ID_ANY);
	struct rte_mbuf *m;

	assert_non_null(pool);
	m = rte_pktmbuf_alloc(pool);
	assert_non_null(m);
	uroce_pool_retire(pool);
	assert_int_equal(uroce_pools_retired(), 1);
	rte_pktmbuf_free(m);
	assert_int_equal(uroce_pools_retired(), 0);
	uroce_pool_retire(NULL);
	assert_null(uroce_pool_create("test", 63, UINT16_MAX, SOCKET_ID_ANY));
	assert_int_equal(errno, EINVAL);
}

UROCE_TESTS(port_port)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_lost),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_objects_keep_it_open),
		cmocka_unit_test(test_mtu),
		cmocka_unit_test(test_port_attributes),
		cmocka_unit_test(test_gids),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_deleted_address),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_path_errors),
		cmocka_unit_test(test_too_many_neighbors),
		cmocka_unit_test(test_turn),
		cmocka_unit_test(test_stalled),
		cmocka_unit_test(test_not_stalled_while_away),
		cmocka_unit_test(test_stalled_in_late_rounds),
		cmocka_unit_test(test_workers),
		cmocka_unit_test(test_retired_pool),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
