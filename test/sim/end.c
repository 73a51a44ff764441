/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Runs the rounds of an end: passes frames from the network to the engine and back.
 */

#include "end.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_malloc.h>
#include <rte_mempool.h>

#include "link.h"
#include "uroce.h"
#include "uroce_config.h"
#include "verbs/address/mcast.h"
#include "verbs/qp/qp.h"
#include "wire/template.h"
#include "world.h"

#define RX_FIRST_SEGMENT 192 /* all headers are in the first segment */

static void
end_set_gid(struct end *e)
{
	static const uint8_t ipv4[16] = { [10] = 0xff, [11] = 0xff, [12] = 10 };
	static const uint8_t ipv6[16] = { [0] = 0xfd, [1] = 0x42 };

	memcpy(e->gid.raw, e->world->conf.ipv6 ? ipv6 : ipv4, sizeof(e->gid.raw));
	e->gid.raw[15] = (uint8_t)e->index;
}

/* Deregistration waits for held frames. */
static void
release_all(struct uroce_device *dev)
{
	end_release(container_of(harness_device_of(dev), struct end, host), UINT64_MAX);
}

struct end *
end_create(struct world *w, unsigned int index)
{
	const struct uroce_congestion congestion = { .size = sizeof(congestion), .rpg_min_rate = w->conf.least_mbps };
	struct uroce_device_conf conf = {
		.name = "sim",
		.node_guid = rte_cpu_to_be_64(0x0200000000000000 + index),
		.index = (uint16_t)index,
		.port_id = (uint16_t)index,
		.congestion = &congestion,
		.vlan = w->conf.vlan ? END_VLAN_TCI & 0xfff : 0,
		.numa_node = SOCKET_ID_ANY,
		.log2_max_qp = 8,
		.log2_max_mr = 8,
		.log2_window = w->conf.log2_window,
		.go_back_n = (w->conf.plain_ends >> index & 1) != 0,
	};
	struct end *e = rte_zmalloc(NULL, sizeof(*e), RTE_CACHE_LINE_SIZE);
	int ret;

	SIM_CHECK(e != NULL, "out of memory");
	e->world = w;
	e->index = index;
	end_set_gid(e);
	e->limits = uroce_engine_default_limits;
	if (w->conf.log2_window != 0)
		e->limits.log2_window = w->conf.log2_window;
	e->limits.reorder_frames = RTE_MAX(e->limits.reorder_frames, 2u << e->limits.log2_window);
	e->header_pool = world_pool_create("header", index, w->conf.pool_mbufs,
					   UROCE_ENGINE_ROOM(UROCE_TX_INLINE_BYTES));
	e->payload_pool = world_pool_create("payload", index, w->conf.pool_mbufs,
					    UROCE_ENGINE_ROOM(LARGEST_MTU));
	ret = uroce_engine_init(&e->engine, e->header_pool, e->payload_pool, &e->limits, w->now_ns);
	SIM_CHECK(ret == 0, "uroce_engine_init: %s", strerror(-ret));
	if (w->conf.moves)
		moves_init(e);
	harness_device_init(&e->host, &e->engine, &conf);
	e->host.gids[0] = e->gid;
	e->host.vlan_tci = w->conf.vlan ? END_VLAN_TCI : UROCE_NO_VLAN;
	e->host.multi_seg = w->conf.multi_seg;
	e->host.clock_ns = &e->engine.now_ns;
	e->host.progress = release_all;
	e->host.dev.link_mbps = (uint32_t)(w->conf.link.wire.rate / 1000000);
	SIM_CHECK(fcntl(end_context(e)->async_fd, F_SETFL, O_NONBLOCK) == 0, "fcntl: %s",
		  strerror(errno));
	e->pd = uroce_alloc_pd(end_context(e));
	SIM_CHECK(e->pd != NULL, "uroce_alloc_pd: %s", strerror(errno));
	if (w->conf.memory_bytes == 0)
		return e;
	memory_init(&e->memory, &w->random, w->conf.memory_bytes, index % 2 == 1);
	memory_register(&e->memory, e->pd);
	return e;
}

/* ---- the host's interference ---- */

static void
hoard_take(struct hoard *h, struct rte_mempool *pool)
{
	if (h->mbufs != NULL)
		return;
	h->count = rte_mempool_avail_count(pool);
	h->mbufs = calloc(h->count + 1, sizeof(h->mbufs[0]));
	SIM_CHECK(h->mbufs != NULL, "out of memory");
	SIM_CHECK(h->count == 0 || rte_pktmbuf_alloc_bulk(pool, h->mbufs, h->count) == 0,
		  "%s has fewer mbufs than it says", pool->name);
}

static void
hoard_give_back(struct hoard *h)
{
	if (h->mbufs == NULL)
		return;
	rte_pktmbuf_free_bulk(h->mbufs, h->count);
	free(h->mbufs);
	h->mbufs = NULL;
}

static void
feed(struct end *e)
{
	hoard_give_back(&e->hoards[0]);
	hoard_give_back(&e->hoards[1]);
	e->hoard_until_ns = 0;
}

void
end_starve(struct end *e, uint64_t until_ns)
{
	hoard_take(&e->hoards[0], e->header_pool);
	hoard_take(&e->hoards[1], e->payload_pool);
	e->hoard_until_ns = RTE_MAX(e->hoard_until_ns, until_ns);
}

void
end_deafen(struct end *e, uint64_t until_ns)
{
	e->deaf_until_ns = RTE_MAX(e->deaf_until_ns, until_ns);
}

void
end_stop(struct end *e, uint64_t until_ns)
{
	e->stopped_until_ns = RTE_MAX(e->stopped_until_ns, until_ns);
}

void
end_release(struct end *e, uint64_t now_ns)
{
	struct held_frames *held = &e->held;

	while (held->head != held->tail && held->until_ns[held->head % END_HELD_FRAMES] <= now_ns)
		rte_pktmbuf_free(held->mbufs[held->head++ % END_HELD_FRAMES]);
}

/* ---- creation and destruction ---- */

void
end_destroy(struct end *e)
{
	int ret;

	if (e->world->conf.memory_bytes != 0) {
		memory_sweep(&e->memory, e->index);
		memory_fini(&e->memory);
	}
	SIM_CHECK(uroce_dealloc_pd(e->pd) == 0, "uroce_dealloc_pd fails");
	ret = harness_device_fini(&e->host);
	SIM_CHECK(ret == 0, "uroce_device_fini: %s", strerror(-ret));
	end_release(e, UINT64_MAX);
	feed(e);
	if (e->moves != NULL)
		moves_fini(e);
	uroce_engine_fini(&e->engine);
	world_pool_destroy(e->header_pool);
	world_pool_destroy(e->payload_pool);
	rte_free(e);
}

struct end *
end_restart(struct end *e)
{
	struct world *w = e->world;
	unsigned int index = e->index;

	link_forget(&w->link, index);
	end_destroy(e);
	w->ends[index] = end_create(w, index);
	return w->ends[index];
}

/* ---- a round ---- */

/* Copy a received frame to mbufs, as a port's driver does. @return NULL: no mbuf is free */
static struct rte_mbuf *
frame_to_mbuf(struct end *e, const struct link_frame *f)
{
	struct world *w = e->world;
	uint32_t first = f->bytes;
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->rx_pool), *second;

	if (m == NULL)
		return NULL;
	m->port = (uint16_t)e->index;
	if (w->conf.split && f->bytes > RX_FIRST_SEGMENT + 1)
		first = random_between(&w->random, RX_FIRST_SEGMENT, f->bytes - 1);
	memcpy(rte_pktmbuf_append(m, (uint16_t)first), f->data, first);
	if (first == f->bytes)
		return m;
	second = rte_pktmbuf_alloc(w->rx_pool);
	if (second == NULL) {
		rte_pktmbuf_free(m);
		return NULL;
	}
	memcpy(rte_pktmbuf_append(second, (uint16_t)(f->bytes - first)), f->data + first,
	       f->bytes - first);
	SIM_CHECK(rte_pktmbuf_chain(m, second) == 0, "rte_pktmbuf_chain fails");
	return m;
}

/* As lib/port: each QP of the group receives the packet as if it were the only one. */
static void
group_deliver(struct end *e, const struct uroce_packet *packet, uint64_t now_ns)
{
	struct uroce_qp *qps[UROCE_MAX_MCAST_QPS];
	uint8_t gid[16] = { [10] = 0xff, [11] = 0xff };
	unsigned int n;

	memcpy(packet->ip_version == 6 ? gid : gid + 12, packet->dst_ip, packet->ip_version == 6 ? 16 : 4);
	n = uroce_mcast_receivers(&e->host.dev, gid, qps);
	for (unsigned int i = 0; i < n; i++)
		uroce_engine_receive(qps[i]->engine, &qps[i], packet, 1, now_ns);
}

enum frame_fate {
	FRAME_DROPPED,
	FRAME_FOR_QP,
	FRAME_FOR_GROUP,
};

/* As lib/port: decode the packet and look the QP up. */
static enum frame_fate
frame_accept(struct end *e, const struct link_frame *f, struct rte_mbuf *m,
	     struct uroce_packet *packet, struct uroce_qp **qp)
{
	uint16_t l3_offset = e->world->conf.vlan ? 18 : 14;
	enum uroce_verdict v = uroce_packet_decode(m, l3_offset, packet);

	SIM_CHECK(v != UROCE_OK || !f->damaged, "a damaged frame of %u bytes was accepted",
		  f->bytes);
	if (v != UROCE_OK) {
		SIM_CHECK(f->touched || (v == UROCE_DROP_ICRC && e->world->conf.unstable),
			  "a good frame was dropped: %s", uroce_verdicts[v].name);
		e->engine.verdicts[v]++;
		return FRAME_DROPPED;
	}
	*qp = uroce_qp_lookup(&e->host.dev, packet->dest_qpn);
	if (*qp != NULL)
		return FRAME_FOR_QP;
	if (packet->dest_qpn == UROCE_MULTICAST_QPN)
		return FRAME_FOR_GROUP;
	e->unknown_qpn++;
	return FRAME_DROPPED;
}

static void
deliver(struct end *e, struct uroce_qp *const *qps, const struct uroce_packet *packets, unsigned int n, uint64_t now_ns)
{
	if (e->moves != NULL)
		moves_receive(qps, packets, n, now_ns);
	else
		uroce_engine_receive(&e->engine, qps, packets, n, now_ns);
}

static void
heard(struct end *e, uint64_t now_ns, bool drained)
{
	uroce_engine_heard(&e->engine, now_ns, drained);
	if (e->moves != NULL)
		uroce_engine_heard(&e->moves->engine, now_ns, drained);
}

static bool
end_receive(struct end *e, uint64_t now_ns)
{
	struct uroce_packet packets[UROCE_BURST];
	struct uroce_qp *qps[UROCE_BURST];
	struct rte_mbuf *mbufs[UROCE_BURST];
	enum frame_fate fate;
	struct link_frame *f;
	unsigned int n = 0, taken = 0;

	while (taken < UROCE_BURST && (f = link_receive(&e->world->link, e->index)) != NULL) {
		mbufs[taken] = now_ns < e->deaf_until_ns ? NULL : frame_to_mbuf(e, f);
		if (mbufs[taken] == NULL) {
			SIM_CHECK(link_does_harm(&e->world->conf.link), "the receive pool is empty");
			e->no_rx_mbuf++;
			free(f);
			continue;
		}
		fate = frame_accept(e, f, mbufs[taken++], &packets[n], &qps[n]);
		if (fate == FRAME_FOR_QP)
			n++;
		if (fate == FRAME_FOR_GROUP) {
			deliver(e, qps, packets, n, now_ns);
			group_deliver(e, &packets[n], now_ns);
			n = 0;
		}
		free(f);
	}
	if (n > 0)
		deliver(e, qps, packets, n, now_ns);
	rte_pktmbuf_free_bulk(mbufs, taken);
	heard(e, now_ns, taken < UROCE_BURST);
	return taken > 0;
}

static bool
is_for_group(const struct rte_mbuf *m)
{
	return rte_is_multicast_ether_addr(&rte_pktmbuf_mtod(m, const struct rte_ether_hdr *)->dst_addr);
}

static unsigned int
frame_destination(const struct end *e, const struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	unsigned int to = eth->dst_addr.addr_bytes[5];

	SIM_CHECK(to < e->world->conf.ends, "a frame for end %u, which does not exist", to);
	SIM_CHECK(m->port == e->host.dev.port_id, "a frame for port %u leaves by port %u", m->port,
		  e->host.dev.port_id);
	SIM_CHECK(e->world->conf.multi_seg || m->nb_segs == 1,
		  "a chain for a port that takes none");
	return to;
}

/* A multicast frame goes to all ends, and back to QPs of its own device. */
static void
send_frame(struct end *e, const struct rte_mbuf *m, uint64_t now_ns)
{
	struct world *w = e->world;

	if (!is_for_group(m)) {
		link_send(&w->link, now_ns, e->index, frame_destination(e, m), m);
		return;
	}
	for (unsigned int to = 0; to < w->conf.ends; to++)
		link_send(&w->link, now_ns, e->index, to, m);
}

static bool
end_send(struct end *e, uint64_t now_ns)
{
	uint32_t burst = e->world->conf.send_burst;
	struct rte_mbuf *frames[UROCE_BURST];
	struct held_frames *held = &e->held;
	uint64_t no_mbuf = end_counter(e, UROCE_NO_MBUF);
	unsigned int n;

	end_release(e, now_ns);
	if (e->hoard_until_ns <= now_ns)
		feed(e);
	e->has_more = false;
	if (link_ready(&e->world->link, now_ns, e->index) > now_ns)
		return false; /* the port is busy */
	n = uroce_engine_send(&e->engine, frames, burst, now_ns);
	if (e->moves != NULL)
		n += uroce_engine_send(&e->moves->engine, frames + n, burst - n, now_ns);
	SIM_CHECK(n <= burst, "uroce_engine_send() returns %u of %u", n, burst);
	if (n > 0 && e->departing != NULL)
		e->departing(e->departing_arg);
	for (unsigned int i = 0; i < n; i++) {
		send_frame(e, frames[i], now_ns);
		if (held->tail - held->head == END_HELD_FRAMES)
			end_release(e, UINT64_MAX);
		held->mbufs[held->tail % END_HELD_FRAMES] = frames[i];
		held->until_ns[held->tail++ % END_HELD_FRAMES] = now_ns + e->world->conf.hold_ns;
	}
	e->has_more = n == burst;
	e->starved = n == 0 && end_counter(e, UROCE_NO_MBUF) != no_mbuf;
	return n > 0;
}

bool
end_poll(struct end *e, uint64_t now_ns)
{
	bool busy;

	if (now_ns < e->stopped_until_ns)
		return false;
	if (e->moves != NULL)
		moves_happen(e, now_ns);
	busy = end_receive(e, now_ns);
	return end_send(e, now_ns) || busy;
}

/* @return when the port frees sent mbufs */
static uint64_t
refill_next(const struct end *e)
{
	uint64_t next_ns = UINT64_MAX;

	if (e->held.head != e->held.tail)
		next_ns = e->held.until_ns[e->held.head % END_HELD_FRAMES];
	if (e->hoard_until_ns != 0)
		next_ns = RTE_MIN(next_ns, e->hoard_until_ns);
	return next_ns;
}

uint64_t
end_next(const struct end *e)
{
	const struct link *l = &e->world->link;
	uint64_t now_ns = e->world->now_ns, refill_ns = refill_next(e);
	uint64_t next_ns = uroce_engine_deadline(&e->engine);

	if (e->moves != NULL)
		next_ns = RTE_MIN(next_ns, uroce_engine_deadline(&e->moves->engine));
	if (e->has_more)
		next_ns = now_ns;
	/* the engine is due, but could not send: wait for mbufs */
	if (e->starved && refill_ns != UINT64_MAX && next_ns <= now_ns)
		next_ns = refill_ns;
	if (next_ns != UINT64_MAX)
		next_ns = RTE_MAX(next_ns, link_ready(l, now_ns, e->index));
	if (l->ports[e->index].arrived_count != 0)
		next_ns = now_ns;
	next_ns = RTE_MIN(next_ns, refill_ns);
	return next_ns == UINT64_MAX ? next_ns : RTE_MAX(next_ns, e->stopped_until_ns);
}
