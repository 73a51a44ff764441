/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Which way frames go: to where a station was last seen, everywhere when nobody knows, and nowhere when no switch
 * forwards them.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_ethdev.h>

#include "eal.h"
#include "groups.h"
#include "world.h"

/* It has left by these ports, one bit for each, and by no other; each has a share of the mbuf. */
static void
expect_out(struct world *w, unsigned int ports)
{
	for (unsigned int i = 0; i < WORLD_PORTS; i++) {
		struct rte_mbuf *m = world_out(w, i);

		if ((m != NULL) != (ports >> i & 1))
			fail_msg("port %u: %s", i, m != NULL ? "a frame" : "no frame");
		if (m != NULL)
			assert_int_equal(rte_mbuf_refcnt_read(m), __builtin_popcount(ports >> i));
		rte_pktmbuf_free(m);
		assert_null(world_out(w, i));
	}
}

static void
test_ways(void **state)
{
	struct world w;

	world_start(&w);
	world_in(&w, 0, world_frame(&w, 1, 2, 0, 0)); /* nobody knows 2 */
	expect_out(&w, 0xe);
	world_in(&w, 2, world_frame(&w, 2, 1, 0, 0));
	expect_out(&w, 0x1);
	world_in(&w, 0, world_frame(&w, 1, 2, 0, 0));
	expect_out(&w, 0x4);
	world_in(&w, 0, world_frame(&w, 1, 2, 5, 0)); /* not in this VLAN */
	expect_out(&w, 0xe);
	world_in(&w, 2, world_frame(&w, 3, 2, 0, 0)); /* both at one port */
	expect_out(&w, 0);
	world_in(&w, 3, world_frame(&w, 2, 1, 0, 0)); /* 2 has moved */
	expect_out(&w, 0x1);
	world_in(&w, 0, world_frame(&w, 1, 2, 0, 0));
	expect_out(&w, 0x8);
	world_in(&w, 0, world_frame(&w, 1, 0xff, 0, 0)); /* a group */
	expect_out(&w, 0xe);
	assert_int_equal(w.s.ports[0].malformed, 0);
	assert_int_equal(w.s.ports[0].received, 5);
	w.s.nb_ports = 3; /* there is no fourth */
	world_in(&w, 0, world_frame(&w, 1, 0xff, 0, 0));
	expect_out(&w, 0x6);
	world_stop(&w);
}

/* A station is one in each VLAN, whatever the priority. */
static void
test_vlans(void **state)
{
	struct rte_vlan_hdr *tag;
	struct rte_mbuf *m;
	struct world w;

	world_start(&w);
	world_in(&w, 2, world_frame(&w, 2, 0xff, 5, 0));
	expect_out(&w, 0xb);
	world_in(&w, 0, world_frame(&w, 1, 2, 6, 0));
	expect_out(&w, 0xe);
	world_in(&w, 0, world_frame(&w, 1, 2, 0, 0));
	expect_out(&w, 0xe);
	world_in(&w, 0, world_frame(&w, 1, 2, 5, 0));
	expect_out(&w, 0x4);
	m = world_frame(&w, 1, 2, 5, 0);
	tag = rte_pktmbuf_mtod_offset(m, struct rte_vlan_hdr *, sizeof(struct rte_ether_hdr));
	tag->vlan_tci = RTE_BE16(5);
	world_in(&w, 0, m);
	expect_out(&w, 0x4);
	world_stop(&w);
}

/* Whoever asks is told what a round has moved, and a port whose frames wait. */
static void
test_round(void **state)
{
	struct world w;

	world_start(&w);
	assert_int_equal(uroce_switch_poll(&w.s, 1), 0);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(rte_ring_enqueue(w.rings[2].rx[0], world_frame(&w, 1, 0xff, 0, 0)), 0);
	assert_int_equal(uroce_switch_poll(&w.s, 1), 3 + 3 * 3);
	for (unsigned int i = 0; i < 3 * WORLD_PORTS; i++)
		rte_pktmbuf_free(world_out(&w, i % WORLD_PORTS));
	uroce_switch_forward(&w.s, 2, world_frame(&w, 1, 0xff, 0, 0), 1);
	assert_int_equal(w.s.ports[0].waiting[2], 1);
	assert_int_equal(uroce_switch_poll(&w.s, 1), 3);
	expect_out(&w, 0xb);
	world_stop(&w);
}

static struct rte_mbuf *
frame_of(struct world *w, uint16_t vlan, uint16_t bytes)
{
	struct rte_mbuf *m = world_frame(w, 1, 2, vlan, 0);

	m->data_len = bytes;
	m->pkt_len = bytes;
	return m;
}

static void
test_malformed(void **state)
{
	struct world w;
	struct rte_mbuf *m;

	world_start(&w);
	m = world_frame(&w, 1, 2, 0, 0);
	rte_pktmbuf_mtod(m, uint8_t *)[6] = 3; /* from a group */
	world_in(&w, 0, m);
	m = world_frame(&w, 0, 2, 0, 0);
	rte_pktmbuf_mtod(m, uint8_t *)[6] = 0; /* from nobody */
	world_in(&w, 0, m);
	m = world_frame(&w, 1, 2, 0, 0);
	memcpy(rte_pktmbuf_mtod(m, uint8_t *), "\x01\x80\xc2\x00\x00\x0f", 6); /* the last that is for bridges */
	world_in(&w, 0, m);
	for (uint16_t bytes = 0; bytes < 18; bytes++)
		world_in(&w, 0, frame_of(&w, 5, bytes));
	for (uint16_t bytes = 0; bytes < 14; bytes++)
		world_in(&w, 0, frame_of(&w, 0, bytes));
	m = world_frame(&w, 1, 2, 0, 0);
	m->pkt_len = UROCE_SWITCH_FRAME_BYTES + 1;
	world_in(&w, 0, m);
	expect_out(&w, 0);
	assert_int_equal(w.s.ports[0].malformed, 36);
	assert_int_equal(rte_hash_count(w.s.fdb.hash), 0);
	world_stop(&w);
}

/* What is just not malformed is forwarded. */
static void
test_least_and_most(void **state)
{
	struct rte_mbuf *m;
	struct world w;

	world_start(&w);
	world_in(&w, 0, frame_of(&w, 5, 18));
	expect_out(&w, 0xe);
	world_in(&w, 0, frame_of(&w, 0, 14));
	expect_out(&w, 0xe);
	m = world_frame(&w, 1, 2, 0, 0);
	m->pkt_len = UROCE_SWITCH_FRAME_BYTES;
	world_in(&w, 0, m);
	expect_out(&w, 0xe);
	m = world_frame(&w, 1, 2, 0, 0);
	memcpy(rte_pktmbuf_mtod(m, uint8_t *), "\x01\x80\xc2\x00\x00\x10", 6); /* the first that is not for bridges */
	world_in(&w, 0, m);
	expect_out(&w, 0xe);
	world_stop(&w);
}

/* A client cannot be another one, until that one's port is free; who comes by a network may have moved. */
static void
test_forged(void **state)
{
	struct world w;

	world_start(&w);
	w.s.ports[0].is_memif = w.s.ports[1].is_memif = true; /* for who learns, not for who polls */
	uroce_switch_forward(&w.s, 0, world_frame(&w, 1, 2, 0, 0), 1);
	uroce_switch_forward(&w.s, 1, world_frame(&w, 1, 2, 0, 0), 1);
	assert_int_equal(w.s.ports[1].forged, 1);
	assert_int_equal(w.s.ports[0].forged, 0);
	uroce_switch_forward(&w.s, 1, world_frame(&w, 1, 2, 9, 0), 1); /* another VLAN */
	assert_int_equal(w.s.ports[1].forged, 1);
	uroce_switch_forward(&w.s, 0, world_frame(&w, 1, 2, 9, 0), 1);
	assert_int_equal(w.s.ports[0].forged, 1);
	uroce_switch_fdb_forget(&w.s.fdb, 0, NULL, NULL);
	uroce_switch_forward(&w.s, 1, world_frame(&w, 1, 2, 0, 0), 1);
	assert_int_equal(w.s.ports[1].forged, 1);
	uroce_switch_forward(&w.s, 2, world_frame(&w, 1, 2, 0, 0), 1);
	uroce_switch_forward(&w.s, 1, world_frame(&w, 1, 2, 0, 0), 1);
	assert_int_equal(w.s.ports[1].forged + w.s.ports[2].forged, 1);
	w.s.ports[0].is_memif = w.s.ports[1].is_memif = false;
	world_stop(&w);
}

/* A client that makes up addresses leaves room in the table for others. */
static void
test_crowd(void **state)
{
	struct world w;

	world_start(&w);
	w.s.ports[0].is_memif = true;
	for (unsigned int i = 0; i < 200; i++)
		uroce_switch_forward(&w.s, 0, world_frame(&w, (uint8_t)(i + 1), 0xff, 0, 0), 1);
	assert_int_equal(rte_hash_count(w.s.fdb.hash), UROCE_SWITCH_CLIENT_STATIONS);
	assert_int_equal(w.s.fdb.unlearned, 200 - UROCE_SWITCH_CLIENT_STATIONS);
	/* nor does it get more than its share by taking over those of a network */
	uroce_switch_forward(&w.s, 1, world_frame(&w, 250, 0xff, 0, 0), 1);
	uroce_switch_forward(&w.s, 0, world_frame(&w, 250, 0xff, 0, 0), 1);
	assert_int_equal(w.s.fdb.stations[0], UROCE_SWITCH_CLIENT_STATIONS);
	assert_int_equal(w.s.fdb.stations[1], 1);
	w.s.ports[0].is_memif = false;
	world_stop(&w);
}

/* Where a queue is full, none of those who fill it is always first. */
static void
test_turns(void **state)
{
	unsigned int before;
	struct world w;

	world_start(&w);
	for (unsigned int i = 0; i < 6; i++) {
		unsigned int first = w.s.turn % WORLD_PORTS;

		world_in(&w, 0, world_frame(&w, 1, 0xff, 0, 0));
		assert_int_not_equal(w.s.turn % WORLD_PORTS, first);
	}
	before = w.s.turn;
	uroce_switch_poll(&w.s, 1); /* nothing comes: nobody's turn passes */
	assert_int_equal(w.s.turn, before);
	for (unsigned int i = 1; i < WORLD_PORTS; i++)
		for (unsigned int k = 0; k < 6; k++)
			rte_pktmbuf_free(world_out(&w, i));
	world_stop(&w);
}

/* A group's frame in several segments, and who gets it last frees it. */
static void
test_chain(void **state)
{
	struct world w;
	struct rte_mbuf *m;

	world_start(&w);
	m = world_frame(&w, 1, 0xff, 0, 0);
	assert_int_equal(rte_pktmbuf_chain(m, world_frame(&w, 9, 9, 0, 0)), 0);
	world_in(&w, 0, m);
	expect_out(&w, 0xe);
	world_stop(&w);
}

/* A port whose link has gone gets nothing, and who was there is looked for everywhere. */
static void
test_link(void **state)
{
	struct world w;

	world_start(&w);
	world_in(&w, 2, world_frame(&w, 2, 1, 0, 0));
	expect_out(&w, 0xb);
	assert_int_equal(rte_eth_dev_set_link_down(w.s.ports[2].id), 0);
	uroce_switch_watch(&w.s, 2);
	world_in(&w, 0, world_frame(&w, 1, 2, 0, 0));
	expect_out(&w, 0xa);
	assert_int_equal(rte_eth_dev_set_link_up(w.s.ports[2].id), 0);
	uroce_switch_watch(&w.s, 3);
	world_in(&w, 0, world_frame(&w, 1, 2, 0, 0));
	expect_out(&w, 0xe);
	world_stop(&w);
}

/* The last frame that waits at a port says that station 1 has gone. */
static void
expect_departure(const struct switch_port *p, uint16_t vlan)
{
	static const uint8_t untagged[] = "\x01\x80\xc2\x00\x00\x0e\x02\x00\x00\x00\x00\x01\x88\xb5"
					  "uroc\x00\x01\x02\x00\x00\x00\x00\x01";
	static const uint8_t tagged[] = "\x01\x80\xc2\x00\x00\x0e\x02\x00\x00\x00\x00\x01\x81\x00\x00\x05\x88\xb5"
					"uroc\x00\x01\x02\x00\x00\x00\x00\x01";
	const size_t bytes = vlan != 0 ? sizeof(tagged) - 1 : sizeof(untagged) - 1;
	const struct rte_mbuf *m = p->queue[p->tail - 1];
	const uint8_t *at = rte_pktmbuf_mtod(m, const uint8_t *);

	assert_int_equal(m->pkt_len, 60);
	assert_int_equal(m->data_len, 60);
	assert_memory_equal(at, vlan != 0 ? tagged : untagged, bytes);
	for (size_t i = bytes; i < 60; i++)
		assert_int_equal(at[i], 0);
}

/* Of a client that has gone the others are told, each in its VLAN, whether another one has come since or not; nobody
 * on a network is, nor of one who goes there. */
static void
test_departures(void **state)
{
	struct memif_link links[3];
	struct world w;

	world_start(&w);
	for (unsigned int i = 0; i < 3; i++) {
		uroce_memif_link_init(&links[i]);
		w.s.ports[i].is_memif = true;
		uroce_switch_port_attach(&w.s.ports[i], &links[i]);
	}
	for (uint16_t vlan = 0; vlan <= 5; vlan += 5) {
		const uint32_t waiting = w.s.ports[1].tail;

		uroce_switch_forward(&w.s, 0, world_frame(&w, 1, 0xff, vlan, 0), 1);
		uroce_switch_port_detach(&w.s.ports[0]);
		if (vlan != 0)
			uroce_switch_port_attach(&w.s.ports[0], &links[0]);
		uroce_switch_watch(&w.s, 2);
		for (unsigned int i = 1; i < 3; i++) {
			assert_int_equal(w.s.ports[i].tail - waiting, 2);
			expect_departure(&w.s.ports[i], vlan);
		}
		assert_int_equal(w.s.ports[0].tail, 0);
		assert_int_equal(w.s.ports[3].tail, 1 + vlan / 5);
		uroce_switch_watch(&w.s, 3);
		assert_int_equal(w.s.ports[1].tail - waiting, 2);
		uroce_switch_port_attach(&w.s.ports[0], &links[0]);
		uroce_switch_watch(&w.s, 4);
	}
	uroce_switch_forward(&w.s, 3, world_frame(&w, 9, 0xff, 0, 0), 5);
	assert_int_equal(rte_eth_dev_set_link_down(w.s.ports[3].id), 0);
	uroce_switch_watch(&w.s, 6);
	assert_int_equal(w.s.ports[1].tail, 5);
	/* a client that takes a host's address says nothing of the host by leaving */
	assert_int_equal(rte_eth_dev_set_link_up(w.s.ports[3].id), 0);
	uroce_switch_watch(&w.s, 7);
	uroce_switch_forward(&w.s, 3, world_frame(&w, 1, 0xff, 0, 0), 7);
	uroce_switch_forward(&w.s, 0, world_frame(&w, 1, 0xff, 0, 0), 8);
	uroce_switch_forward(&w.s, 0, world_frame(&w, 1, 0xff, 0, 0), 9);
	uroce_switch_port_detach(&w.s.ports[0]);
	assert_int_equal(w.s.ports[1].tail, 8);
	uroce_switch_watch(&w.s, 10);
	assert_int_equal(w.s.ports[1].tail, 8);
	for (unsigned int i = 0; i < 3; i++)
		w.s.ports[i].is_memif = false;
	world_stop(&w);
}

UROCE_TESTS(switch_switch)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_vlans),
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_least_and_most),
		cmocka_unit_test(test_forged),
		cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_departures),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
