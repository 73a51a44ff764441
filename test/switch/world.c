/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A switch whose ports are rings of the test, and frames for it.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_ethdev.h>
#include <rte_ip.h>

#include "world.h"

void
world_start(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->pool = rte_pktmbuf_pool_create("test_switch", 4095, 0, 0, RTE_PKTMBUF_HEADROOM + 256, SOCKET_ID_ANY);
	assert_non_null(w->pool);
	assert_int_equal(uroce_switch_fdb_init(&w->s.fdb), 0);
	for (unsigned int i = 0; i < WORLD_PORTS; i++) {
		test_rings_create(&w->rings[i], 1);
		assert_int_equal(uroce_switch_port_open(&w->s.ports[i], w->rings[i].port_id, w->pool), 0);
		w->s.nb_ports++;
	}
	uroce_switch_watch(&w->s, 0);
}

void
world_stop(struct world *w)
{
	for (unsigned int i = 0; i < WORLD_PORTS; i++) {
		uroce_switch_port_close(&w->s.ports[i]);
		test_rings_destroy(&w->rings[i]);
	}
	uroce_switch_fdb_fini(&w->s.fdb);
	assert_true(rte_mempool_full(w->pool));
	rte_mempool_free(w->pool);
}

struct rte_mbuf *
world_frame(struct world *w, uint8_t from, uint8_t to, uint16_t vlan, uint8_t ecn)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->pool);
	struct rte_ether_hdr *eth;
	struct rte_ipv4_hdr *ip;

	assert_non_null(m);
	m->port = 0;
	m->data_len = 60;
	m->pkt_len = 60;
	eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	memset(eth, 0, 60);
	eth->src_addr = (struct rte_ether_addr){ { 2, 0, 0, 0, 0, from } };
	eth->dst_addr = (struct rte_ether_addr){ { to == 0xff ? 0x33 : 2, 0, 0, 0, 0, to } };
	ip = (struct rte_ipv4_hdr *)(eth + 1);
	eth->ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	if (vlan != 0) {
		struct rte_vlan_hdr *tag = (struct rte_vlan_hdr *)(eth + 1);

		eth->ether_type = RTE_BE16(RTE_ETHER_TYPE_VLAN);
		tag->vlan_tci = rte_cpu_to_be_16(vlan | 0x6000); /* with a priority */
		tag->eth_proto = RTE_BE16(RTE_ETHER_TYPE_IPV4);
		ip = (struct rte_ipv4_hdr *)(tag + 1);
	}
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->type_of_service = ecn;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	return m;
}

void
world_in(struct world *w, unsigned int port, struct rte_mbuf *frame)
{
	assert_int_equal(rte_ring_enqueue(w->rings[port].rx[0], frame), 0);
	uroce_switch_poll(&w->s, 1);
}

struct rte_mbuf *
world_out(struct world *w, unsigned int port)
{
	void *frame = NULL;

	return rte_ring_dequeue(w->rings[port].tx[0], &frame) == 0 ? frame : NULL;
}
