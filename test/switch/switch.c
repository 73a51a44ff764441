/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Forwarding: to the last port of a known station, to all ports for an unknown one, and nowhere for frames that bridges
 * must not forward.
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

/* The frame left by these ports, one bit for each, and by no other; each port holds a reference to the mbuf. */
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
	world_in(&w, 0, world_frame(&w, 1, 2, 0, 0)); /* station 2 is unknown */
	expect_out(&w, 0xe);
	world_in(&w, 2, world_frame(&w, 2, 1, 0, 0));
	expect_out(&w, 0x1);
	world_in(&w, 0, world_frame(&w, 1, 2, 0, 0));
	expect_out(&w, 0x4);
	world_in(&w, 0, world_frame(&w, 1, 2, 5, 0)); /* unknown in this VLAN */
	expect_out(&w, 0xe);
	world_in(&w, 2, world_frame(&w, 3, 2, 0, 0)); /* both are at one port */
	expect_out(&w, 0);
	world_in(&w, 3, world_frame(&w, 2, 1, 0, 0)); /* station 2 moves */
	expect_out(&w, 0x1);
	world_in(&w, 0, world_frame(&w, 1, 2, 0, 0));
	expect_out(&w, 0x8);
	world_in(&w, 0, world_frame(&w, 1, 0xff, 0, 0)); /* to a group */
	expect_out(&w, 0xe);
	assert_int_equal(w.s.ports[0].malformed, 0);
	assert_int_equal(w.s.ports[0].received, 5);
	w.s.nb_ports = 3; /* the switch has three ports now */
	world_in(&w, 0, world_frame(&w, 1, 0xff, 0, 0));
	expect_out(&w, 0x6);
	world_stop(&w);
}

/* A station is learned per VLAN; the priority does not matter. */
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

/* A poll reports the frames that it moved, and whether a port has frames waiting. */
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
	rte_pktmbuf_mtod(m, uint8_t *)[6] = 3; /* a group as source */
	world_in(&w, 0, m);
	m = world_frame(&w, 0, 2, 0, 0);
	rte_pktmbuf_mtod(m, uint8_t *)[6] = 0; /* source 0 */
	world_in(&w, 0, m);
	m = world_frame(&w, 1, 2, 0, 0);
	memcpy(rte_pktmbuf_mtod(m, uint8_t *), "\x01\x80\xc2\x00\x00\x0f", 6); /* the last one for bridges */
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

/* Frames at the limits of the format are forwarded. */
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
	memcpy(rte_pktmbuf_mtod(m, uint8_t *), "\x01\x80\xc2\x00\x00\x10", 6); /* the first one not for bridges */
	world_in(&w, 0, m);
	expect_out(&w, 0xe);
	world_stop(&w);
}

/* A client cannot use another client's address until that one's port is free; a station on a network may move. */
static void
test_forged(void **state)
{
	struct world w;

	world_start(&w);
	w.s.ports[0].is_memif = w.s.ports[1].is_memif = true; /* affects learning only, not polling */
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

/* A client that invents addresses leaves room in the table for others. */
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
	/* nor can it exceed its share by taking over stations of a network */
	uroce_switch_forward(&w.s, 1, world_frame(&w, 250, 0xff, 0, 0), 1);
	uroce_switch_forward(&w.s, 0, world_frame(&w, 250, 0xff, 0, 0), 1);
	assert_int_equal(w.s.fdb.stations[0], UROCE_SWITCH_CLIENT_STATIONS);
	assert_int_equal(w.s.fdb.stations[1], 1);
	w.s.ports[0].is_memif = false;
	world_stop(&w);
}

/* With a full queue, no sending port is always first. */
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
	uroce_switch_poll(&w.s, 1); /* no frame arrives: the turn does not pass */
	assert_int_equal(w.s.turn, before);
	for (unsigned int i = 1; i < WORLD_PORTS; i++)
		for (unsigned int k = 0; k < 6; k++)
			rte_pktmbuf_free(world_out(&w, i));
	world_stop(&w);
}

/* A frame to a group in several segments: the last port that sends it frees it. */
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

/* A port whose link is down gets no frames; frames to its stations are flooded. */
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

/* The last frame in the port's queue announces the departure of station 1. */
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

/* When a client leaves, the switch tells the other clients, in each VLAN of the client, whether or not a new client
 * has connected. It does not tell ports to networks, nor about stations there. */
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
	/* a client that used a host's address does not announce the host's departure when it leaves */
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
