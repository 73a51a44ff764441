/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Follows the connections of net_memif ports. The driver's messages come on EAL's interrupt thread, perhaps before the
 * program has opened the port. This file changes only while all workers are held, so no worker is in a ring.
 */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_malloc.h>

#include "port/ethdev/link.h"
#include "port/memif/memif.h"
#include "port/memif/ring.h"
#include "port/port.h"
#include "uroce.h"

/* By port ID; while all workers are held. */
static struct entry {
	struct uroce_port *port;   /* NULL: not attached */
	struct uroce_memif *memif; /* NULL: not connected, or the driver moves the frames */
} entries[RTE_MAX_ETHPORTS];

/* By port ID, so that uroce_memif_obey() ignores messages without effect: a flood must not hold the workers. */
static bool has_asked[RTE_MAX_ETHPORTS]; /* the peer has sent MEMIF_ASK since it connected; EAL's interrupt thread */
static bool is_shared[RTE_MAX_ETHPORTS]; /* the port wants the peer's memory; atomic */

static void
close_wake(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void
destroy(struct uroce_memif *memif)
{
	if (memif == NULL)
		return;
	uroce_memif_show_end(&memif->show);
	for (uint16_t i = 0; memif->rx != NULL && memif->tx != NULL && i < memif->nb_queues; i++) {
		close_wake(memif->rx[i].ring.wake);
		close_wake(memif->tx[i].ring.wake);
		if (memif->tx[i].ring.ring != NULL)
			uroce_memif_revoke(memif, i, 0, UROCE_MEMIF_ALL_QPS); /* the peer may learn of the end later */
		memif->tx[i].ring.is_broken = true;
		uroce_memif_free_held(memif, i);
	}
	uroce_memif_windows_drop(&memif->windows);
	uroce_memif_regions_drop(&memif->regions);
	rte_free(memif->rx);
	rte_free(memif->tx);
	rte_free(memif);
}

/* @return a duplicate of the descriptor; -1: it is no eventfd */
static int
keep_wake(int fd)
{
	char path[32], name[32] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, name, sizeof(name) - 1) <= 0 || strcmp(name, "anon_inode:[eventfd]") != 0)
		return -1;
	return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* @return false: the ring is not in the memory, or is none */
static bool
ring_init(struct uroce_memif_ring *r, const struct uroce_memif *memif, const struct memif_add_ring *said, int wake)
{
	const uint32_t slots = 1u << RTE_MIN(said->log2_slots, (uint8_t)MEMIF_MAX_LOG2_SLOTS);
	struct memif_ring *at = uroce_memif_region_at(&memif->regions, said->region, said->offset,
		(uint32_t)(sizeof(*at) + slots * sizeof(at->slots[0])));

	if (at == NULL || said->offset % sizeof(uint32_t) != 0 || said->log2_slots > MEMIF_MAX_LOG2_SLOTS ||
	    said->private_bytes != 0 || __atomic_load_n(&at->cookie, __ATOMIC_RELAXED) != MEMIF_COOKIE)
		return false;
	r->regions = &memif->regions;
	r->ring = at;
	r->wake = keep_wake(wake);
	r->slots = (uint16_t)slots;
	/* the client's driver has written its slots, and the server does not know them yet */
	if (!r->is_server)
		r->room = __atomic_load_n(&at->slots[0].length, __ATOMIC_RELAXED);
	return r->is_server || r->room != 0;
}

static void
queues_init(struct uroce_memif *memif, uint16_t port_id, bool is_server)
{
	for (uint16_t i = 0; i < memif->nb_queues; i++)
		memif->rx[i].ring = memif->tx[i].ring = (struct uroce_memif_ring){
			.port_id = port_id, .queue = i, .is_server = is_server, .wake = -1,
		};
}

static bool
rings_init(struct uroce_memif *memif, const struct uroce_memif_offer *offer)
{
	const unsigned int in = offer->is_server ? UROCE_MEMIF_C2S : UROCE_MEMIF_S2C;
	const unsigned int out = offer->is_server ? UROCE_MEMIF_S2C : UROCE_MEMIF_C2S;
	bool ok = true;

	for (uint16_t i = 0; ok && i < memif->nb_queues; i++)
		ok = ring_init(&memif->rx[i].ring, memif, &offer->rings[in][i], offer->wakes[in][i]) &&
		     ring_init(&memif->tx[i].ring, memif, &offer->rings[out][i], offer->wakes[out][i]);
	return ok;
}

/* @return NULL: no memory, or the peer's is not safe: it may shrink, as the hugepages of zero-copy=yes */
static struct uroce_memif *
create(uint16_t port_id, const struct uroce_memif_offer *offer)
{
	const uint16_t n = RTE_MIN(offer->nb_rings[UROCE_MEMIF_S2C], offer->nb_rings[UROCE_MEMIF_C2S]);
	struct uroce_memif *memif = rte_zmalloc("uroce_memif", sizeof(*memif), 0);

	if (memif == NULL || n == 0 || offer->is_wrong)
		goto none;
	memif->nb_queues = n;
	memif->rx = rte_zmalloc("uroce_memif", n * sizeof(memif->rx[0]), RTE_CACHE_LINE_SIZE);
	memif->tx = rte_zmalloc("uroce_memif", n * sizeof(memif->tx[0]), RTE_CACHE_LINE_SIZE);
	if (memif->rx == NULL || memif->tx == NULL)
		goto none;
	queues_init(memif, port_id, offer->is_server);
	for (uint16_t i = 0; i < offer->nb_regions; i++)
		if (uroce_memif_region_add(&memif->regions, offer->regions[i].fd, offer->regions[i].bytes) != 0)
			goto none;
	if (rings_init(memif, offer))
		return memif;
none:
	destroy(memif);
	return NULL;
}

struct change {
	uint16_t port_id;
	struct uroce_port *port;
	struct uroce_memif *memif;
};

/* The last connection's descriptors are about to be closed: sleeping workers poll until they know those of the next. */
static void
wakes_change(struct uroce_port *port)
{
	for (uint16_t i = 0; i < port->nb_queues; i++) {
		struct uroce_port_queue *q = &port->queues[i];

		q->rx_wake = UROCE_RX_WAKE_NONE;
		q->rx_fd = -1;
		__atomic_store_n(&q->rx_stale, true, __ATOMIC_RELAXED);
	}
}

/* Let the port use the connection; its QPs leave the ICRC to uroce_memif_send(). */
static void
apply(const struct entry *e)
{
	if (e->port == NULL)
		return;
	e->port->memif = e->memif;
	e->port->dev.no_icrc = e->port->dev.by_cpu = e->memif != NULL;
	__atomic_store_n(&is_shared[e->port->port_id], e->memif != NULL && e->port->share_memory, __ATOMIC_RELAXED);
	if (e->memif != NULL)
		uroce_memif_show_want(&e->memif->show, e->port->share_memory);
	wakes_change(e->port);
}

/* Replace the connection, and destroy the last one. */
static void
set_memif(void *arg)
{
	const struct change *c = arg;
	struct entry *e = &entries[c->port_id];
	struct uroce_memif *old = e->memif;

	e->memif = c->memif;
	apply(e);
	destroy(old);
}

static void
set_port(void *arg)
{
	const struct change *c = arg;
	struct entry *e = &entries[c->port_id];

	e->port = c->port;
	apply(e);
}

void
uroce_memif_connect(uint16_t port_id, struct uroce_memif_offer *offer)
{
	struct change c = { .port_id = port_id, .memif = create(port_id, offer) };

	if (c.memif != NULL)
		uroce_memif_show_begin(&c.memif->show, offer->socket);
	has_asked[port_id] = false;
	uroce_memif_wake_init();
	uroce_memif_set_moved(port_id, c.memif != NULL);
	uroce_hold_workers(set_memif, &c);
	uroce_memif_offer_clear(offer, offer->is_server);
}

/* The arguments of obey(): a message of the peer. */
struct told {
	uint16_t port_id;
	const struct memif_message *message;
	int fd;
};

static void
see(struct uroce_memif *memif, const struct told *t)
{
	const int ret = uroce_memif_window_set(&memif->windows, &t->message->show, t->fd);

	if (ret == 0) /* pairs with the acquire in uroce_memif_is_shown() of the peer */
		__atomic_store_n(&memif->rx[0].ring.ring->seen, ++memif->nb_seen, __ATOMIC_RELEASE);
	else
		UROCE_LOG(ERR, "port %u: share_memory: cannot map the peer's memory, so the peer copies payloads: %s\n",
			  t->port_id, strerror(-ret));
}

static void
obey(void *arg)
{
	const struct told *t = arg;
	const struct entry *e = &entries[t->port_id];

	if (e->memif == NULL)
		return;
	if (t->message->type == MEMIF_ASK)
		uroce_memif_show_asked(&e->memif->show);
	else if (e->port != NULL && e->port->share_memory)
		see(e->memif, t);
}

void
uroce_memif_obey(uint16_t port_id, const struct memif_message *m, int fd)
{
	struct told t = { .port_id = port_id, .message = m, .fd = fd };

	if (m->type == MEMIF_ASK ? has_asked[port_id] : !__atomic_load_n(&is_shared[port_id], __ATOMIC_RELAXED))
		return;
	has_asked[port_id] |= m->type == MEMIF_ASK;
	uroce_hold_workers(obey, &t);
}

static void
forget_dead(void *arg)
{
	(void)arg;
	for (uint16_t i = 0; i < RTE_DIM(entries); i++) {
		struct change c = { .port_id = i };

		if (entries[i].memif != NULL && !uroce_memif_is_up(&entries[i].memif->rx[0].ring))
			set_memif(&c);
	}
}

void
uroce_memif_disconnect(void)
{
	uroce_hold_workers(forget_dead, NULL);
}

/* Say why the option has no effect. */
static void
warn(const struct uroce_port *port)
{
	if (!port->share_memory)
		return;
	if (!port->at_process)
		UROCE_LOG(WARNING, "port %u: share_memory is only for net_memif\n", port->port_id);
	else if (uroce_mtu_of_ethernet(port->mtu) < IBV_MTU_2048)
		UROCE_LOG(WARNING, "port %u: share_memory needs path MTU 2048 or 4096: give net_memif bsize=4352\n",
			  port->port_id);
}

void
uroce_memif_attach(struct uroce_port *port)
{
	struct change c = { .port_id = port->port_id, .port = port };

	warn(port);
	if (port->at_process)
		uroce_hold_workers(set_port, &c);
}

static void
unset_port(void *arg)
{
	struct uroce_port *port = arg;
	struct change c = { .port_id = port->port_id };

	set_memif(&c);
	entries[port->port_id].port = NULL;
}

void
uroce_memif_detach(struct uroce_port *port)
{
	if (port->at_process)
		uroce_hold_workers(unset_port, port);
}
