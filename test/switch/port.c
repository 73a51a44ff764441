/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The queue in front of a port keeps the order, marks frames when it is long, and has a limit.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_ethdev.h>

#include "eal.h"
#include "ecn.h"
#include "groups.h"
#include "memif_peer.h"
#include "world.h"

#define ECT0 2
#define CE 3

static unsigned int
ecn_of(struct rte_mbuf *m)
{
	return uroce_netem_ecn(rte_pktmbuf_mtod(m, uint8_t *), m->data_len);
}

/* With the port's ring full, frames wait: from the 65th on they are marked, and the 513th is dropped. */
static void
test_queue(void **state)
{
	const unsigned int room = TEST_RING_FRAMES - 1, extra = 10;
	unsigned int nb_marked = 0;
	struct switch_port *p;
	struct rte_mbuf *m;
	struct world w;

	world_start(&w);
	p = &w.s.ports[1];
	for (unsigned int i = 0; i < room + UROCE_SWITCH_QUEUE + extra; i++) {
		m = world_frame(&w, 1, 2, i % 2 * 7, i % 3 == 0 ? 0 : ECT0);
		m->hash.usr = i;
		m->port = i % 2; /* two senders, each within its share */
		uroce_switch_port_queue(p, m);
		uroce_switch_port_send(p);
	}
	assert_int_equal(p->sent, room);
	assert_int_equal(p->dropped, extra);
	for (unsigned int i = 0; i < room + UROCE_SWITCH_QUEUE; i++) {
		bool marked = i >= room + UROCE_SWITCH_MARK && i % 3 != 0;

		nb_marked += marked;
		m = world_out(&w, 1);
		assert_non_null(m);
		assert_int_equal(m->hash.usr, i);
		assert_int_equal(ecn_of(m), i % 3 == 0 ? 0 : marked ? CE : ECT0);
		rte_pktmbuf_free(m);
		uroce_switch_port_send(p);
	}
	assert_null(world_out(&w, 1));
	assert_int_equal(p->marked, nb_marked);
	assert_int_equal(p->sent, room + UROCE_SWITCH_QUEUE);
	world_stop(&w);
}

/* An ethdev receives promiscuously, and its counters include each received frame. */
static void
test_receive(void **state)
{
	char name[RTE_ETH_NAME_MAX_LEN], its[RTE_ETH_NAME_MAX_LEN];
	struct rte_mbuf *frames[3];
	struct switch_port *p;
	struct world w;

	world_start(&w);
	p = &w.s.ports[1];
	assert_int_equal(rte_eth_promiscuous_get(p->id), 1);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(rte_ring_enqueue(w.rings[1].rx[0], world_frame(&w, 1, 2, 0, 0)), 0);
	assert_int_equal(uroce_switch_port_receive(p, frames, 2), 2);
	assert_int_equal(uroce_switch_port_receive(p, frames + 2, 2), 1);
	assert_int_equal(p->received, 3);
	assert_int_equal(p->received_bytes, 3 * 60);
	rte_pktmbuf_free_bulk(frames, 3);
	assert_int_equal(rte_eth_dev_get_name_by_port(p->id, its), 0);
	uroce_switch_port_name(p, name);
	assert_string_equal(name, its);
	uroce_switch_port_name(&(struct switch_port){ .id = RTE_MAX_ETHPORTS }, name);
	assert_string_equal(name, "");
	world_stop(&w);
}

/* Ethdevs that do not exist, or lack the queues. */
static void
test_refused(void **state)
{
	struct switch_port p;
	struct world w;

	world_start(&w);
	assert_int_equal(uroce_switch_port_open(&p, RTE_MAX_ETHPORTS, w.pool), -ENODEV);
	assert_int_equal(uroce_switch_port_open(&p, w.rings[0].port_id, w.pool), -EBUSY); /* the ethdev is started */
	world_stop(&w);
}

/* A frame that is also queued at another port is not marked: the mbuf is shared. */
static void
test_shared(void **state)
{
	struct rte_mbuf *m;
	struct world w;

	world_start(&w);
	m = world_frame(&w, 1, 2, 0, ECT0);
	for (unsigned int i = 0; i < UROCE_SWITCH_QUEUE_SHARE + 1; i++) {
		rte_mbuf_refcnt_update(m, 1);
		uroce_switch_port_queue(&w.s.ports[1], m);
	}
	assert_int_equal(w.s.ports[1].marked, 0);
	assert_int_equal(w.s.ports[1].dropped, 1);
	assert_int_equal(ecn_of(m), ECT0);
	rte_pktmbuf_free(m);
	world_stop(&w);
}

/* A sender that exceeds the port's rate leaves room in the queue for other senders. */
static void
test_share(void **state)
{
	struct switch_port *p;
	struct rte_mbuf *m;
	struct world w;

	world_start(&w);
	p = &w.s.ports[1];
	for (unsigned int i = 0; i < UROCE_SWITCH_QUEUE; i++)
		uroce_switch_port_queue(p, world_frame(&w, 1, 2, 0, 0));
	assert_int_equal(p->tail, UROCE_SWITCH_QUEUE_SHARE);
	for (unsigned int i = 0; i < UROCE_SWITCH_QUEUE; i++) {
		m = world_frame(&w, 3, 2, 0, 0);
		m->port = 2;
		uroce_switch_port_queue(p, m);
	}
	assert_int_equal(p->tail, UROCE_SWITCH_QUEUE);
	assert_int_equal(p->dropped, UROCE_SWITCH_QUEUE);
	assert_int_equal(uroce_switch_port_send(p), UROCE_SWITCH_QUEUE);
	assert_int_equal(p->sent_bytes, 60 * UROCE_SWITCH_QUEUE);
	for (unsigned int i = 0; i < UROCE_SWITCH_QUEUE; i++)
		rte_pktmbuf_free(world_out(&w, 1));
	uroce_switch_port_queue(p, world_frame(&w, 1, 2, 0, 0)); /* its frames have left: it has room again */
	assert_int_equal(p->dropped, UROCE_SWITCH_QUEUE);
	world_stop(&w);
}

/* Notifications queue behind all frames, and have slots of their own. */
static void
test_told(void **state)
{
	const unsigned int told = UROCE_SWITCH_SLOTS - UROCE_SWITCH_QUEUE;
	struct switch_port *p;
	struct rte_mbuf *m;
	struct world w;

	world_start(&w);
	p = &w.s.ports[1];
	for (unsigned int i = 0; i < UROCE_SWITCH_QUEUE; i++) {
		m = world_frame(&w, 1, 2, 0, 0);
		m->port = i % 2;
		uroce_switch_port_queue(p, m);
	}
	for (unsigned int i = 0; i < told + 1; i++)
		uroce_switch_port_tell(p, world_frame(&w, 3, 2, 0, ECT0));
	assert_int_equal(p->tail - p->head, UROCE_SWITCH_SLOTS);
	assert_int_equal(p->dropped, 1);
	assert_int_equal(p->marked, 0);
	for (unsigned int i = 0; i < UROCE_SWITCH_SLOTS; i++) {
		uroce_switch_port_send(p);
		m = world_out(&w, 1);
		assert_non_null(m);
		assert_int_equal(rte_pktmbuf_mtod(m, uint8_t *)[11], i < UROCE_SWITCH_QUEUE ? 1 : 3);
		rte_pktmbuf_free(m);
		/* frames cannot use the notifications' slots */
		if (p->tail - p->head >= UROCE_SWITCH_QUEUE)
			uroce_switch_port_queue(p, world_frame(&w, 1, 2, 0, 0));
	}
	assert_int_equal(p->sent, UROCE_SWITCH_SLOTS);
	p->up = false;
	uroce_switch_port_tell(p, world_frame(&w, 3, 2, 0, 0));
	assert_int_equal(p->tail - p->head, 0);
	world_stop(&w);
}

/* A frame that the driver does not accept is dropped after a while, and the frames behind it get their turn. */
static void
test_stalled(void **state)
{
	const unsigned int room = TEST_RING_FRAMES - 1;
	struct switch_port *p;
	struct world w;

	world_start(&w);
	p = &w.s.ports[1];
	for (unsigned int i = 0; i < room + 3; i++) {
		uroce_switch_port_queue(p, world_frame(&w, 1, 2, 0, 0));
		uroce_switch_port_send(p);
	}
	assert_int_equal(p->tail - p->head, 3);
	assert_false(uroce_switch_port_watch(p, 5));
	assert_false(uroce_switch_port_watch(p, 4 + UROCE_TX_STALL_NS));
	assert_int_equal(p->dropped, 0);
	assert_false(uroce_switch_port_watch(p, 5 + UROCE_TX_STALL_NS));
	assert_int_equal(p->dropped, 1);
	assert_int_equal(p->waiting[0], 2);
	assert_false(uroce_switch_port_watch(p, 6 + UROCE_TX_STALL_NS)); /* the next frame waits for as long */
	assert_int_equal(p->dropped, 1);
	rte_pktmbuf_free(world_out(&w, 1));
	assert_int_equal(uroce_switch_port_send(p), 1);
	assert_false(uroce_switch_port_watch(p, 5 + 2 * UROCE_TX_STALL_NS));
	assert_int_equal(p->dropped, 1);
	world_stop(&w);
}

/* A client's port: frames pass in both directions, a frame that is too long is dropped, and the end of the client
 * frees the queued frames. */
static void
test_memif(void **state)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	struct memif_link link;
	struct memif_peer peer;
	struct rte_mbuf *frame, *none;
	struct switch_port *p;
	struct world w;

	world_start(&w);
	p = &w.s.ports[1];
	uroce_switch_port_close(p);
	uroce_switch_port_open_memif(p, 1, w.pool);
	uroce_switch_port_name(p, name);
	assert_string_equal(name, "memif1");
	assert_int_equal(uroce_switch_port_receive(p, &frame, 1), 0);
	memif_peer_init(&peer, 1, 128);
	memif_peer_join(&peer, &link);
	uroce_switch_port_attach(p, &link);
	assert_false(uroce_switch_port_watch(p, 0));
	assert_true(p->up);
	memif_peer_fill(&peer, 0, 1, 70, false);
	memif_peer_fill(&peer, 1, 1, 0, false);
	memif_peer_publish(&peer, 2);
	assert_int_equal(uroce_switch_port_receive(p, &frame, 4), 1);
	assert_int_equal(p->received_bytes, 70);
	assert_int_equal(p->malformed, 1);
	assert_int_equal(uroce_switch_port_receive(p, &none, 1), 0);
	assert_int_equal(p->malformed, 1); /* counted once */
	frame->port = 0;
	uroce_switch_port_queue(p, frame);
	assert_int_equal(uroce_switch_port_send(p), 1);
	memif_peer_free(&peer, 1);
	frame = world_frame(&w, 1, 2, 0, 0);
	rte_pktmbuf_append(frame, 190);
	assert_non_null(rte_pktmbuf_append(frame, 3));
	assert_int_equal(rte_pktmbuf_chain(frame, world_frame(&w, 1, 2, 0, 0)), 0);
	uroce_switch_port_queue(p, frame); /* 313 bytes in room for 256 */
	uroce_switch_port_queue(p, world_frame(&w, 1, 2, 0, 0));
	assert_int_equal(uroce_switch_port_send(p), 1);
	assert_int_equal(p->dropped, 1);
	assert_int_equal(p->sent, 2);
	assert_int_equal(p->sent_bytes, 130);
	uroce_switch_port_queue(p, world_frame(&w, 1, 2, 0, 0));
	uroce_switch_port_detach(p);
	uroce_switch_port_attach(p, &link); /* the next client, before the switch has noticed the end */
	assert_true(uroce_switch_port_watch(p, 0));
	assert_int_equal(p->dropped, 2);
	assert_true(p->up);
	assert_false(uroce_switch_port_watch(p, 0)); /* noticed once */
	uroce_switch_port_detach(p);
	assert_true(uroce_switch_port_watch(p, 0));
	assert_false(p->up);
	uroce_memif_link_fini(&link);
	memif_peer_fini(&peer);
	world_stop(&w);
}

/* When the link goes down, the queued frames are dropped. */
static void
test_link(void **state)
{
	struct switch_port *p;
	struct world w;

	world_start(&w);
	p = &w.s.ports[1];
	assert_true(p->up);
	assert_false(uroce_switch_port_watch(p, 0));
	uroce_switch_port_queue(p, world_frame(&w, 1, 2, 0, 0));
	assert_int_equal(rte_eth_dev_set_link_down(p->id), 0);
	assert_true(uroce_switch_port_watch(p, 0));
	assert_int_equal(p->dropped, 1);
	uroce_switch_port_queue(p, world_frame(&w, 1, 2, 0, 0));
	assert_int_equal(p->dropped, 2);
	assert_false(uroce_switch_port_watch(p, 0));
	world_stop(&w);
}

UROCE_TESTS(switch_port)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_receive),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_stalled),
		cmocka_unit_test(test_memif),
		cmocka_unit_test(test_link),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
