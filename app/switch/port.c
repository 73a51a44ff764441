/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The ports of the switch: an ethdev or a client each, and the queue in front of it, which sets ECN marks when it is
 * long and drops frames when it is full.
 */

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_debug.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "ecn.h"
#include "port.h"
#include "port/ethdev/ethdev_halt.h"

static_assert((UROCE_SWITCH_SLOTS & (UROCE_SWITCH_SLOTS - 1)) == 0, "a circle");
static_assert(UROCE_SWITCH_SLOTS > UROCE_SWITCH_QUEUE, "some are of those that are told");

int
uroce_switch_port_open(struct switch_port *p, uint16_t id, struct rte_mempool *pool)
{
	const struct rte_eth_conf conf = { 0 };
	uint16_t rx_desc = UROCE_SWITCH_DESC, tx_desc = UROCE_SWITCH_DESC;
	int ret;

	*p = (struct switch_port){ .id = id, .pool = pool };
	ret = rte_eth_dev_configure(id, 1, 1, &conf);
	if (ret == 0)
		ret = rte_eth_dev_adjust_nb_rx_tx_desc(id, &rx_desc, &tx_desc);
	if (ret == 0)
		ret = rte_eth_rx_queue_setup(id, 0, rx_desc, SOCKET_ID_ANY, NULL, pool);
	if (ret == 0)
		ret = rte_eth_tx_queue_setup(id, 0, tx_desc, SOCKET_ID_ANY, NULL);
	if (ret == 0)
		ret = rte_eth_dev_start(id);
	if (ret == 0)
		rte_eth_promiscuous_enable(id); /* a port without MAC filters receives all frames */
	return ret;
}

void
uroce_switch_port_open_memif(struct switch_port *p, uint16_t id, struct rte_mempool *pool)
{
	*p = (struct switch_port){ .id = id, .pool = pool, .is_memif = true };
}

static void
drop_head(struct switch_port *p)
{
	struct rte_mbuf *frame = p->queue[p->head++ % UROCE_SWITCH_SLOTS];

	p->waiting[frame->port]--;
	p->dropped++;
	rte_pktmbuf_free(frame);
}

static void
discard(struct switch_port *p)
{
	while (p->head != p->tail)
		drop_head(p);
}

void
uroce_switch_port_close(struct switch_port *p)
{
	discard(p);
	if (!p->is_memif)
		uroce_ethdev_halt(p->id);
}

void
uroce_switch_port_attach(struct switch_port *p, struct memif_link *link)
{
	p->link = link;
}

void
uroce_switch_port_detach(struct switch_port *p)
{
	p->link = NULL;
	p->gone = true;
}

void
uroce_switch_port_name(const struct switch_port *p, char *name)
{
	if (p->is_memif)
		snprintf(name, RTE_ETH_NAME_MAX_LEN, "memif%u", p->id);
	else if (rte_eth_dev_get_name_by_port(p->id, name) != 0)
		name[0] = '\0';
}

static bool
is_up(const struct switch_port *p)
{
	struct rte_eth_link link = { 0 };

	if (p->is_memif)
		return p->link != NULL;
	return rte_eth_link_get_nowait(p->id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

/* Drop a frame that the driver does not take: it would block all frames behind it. */
static void
watch_head(struct switch_port *p, uint64_t now_ns)
{
	if (p->head == p->tail || p->head != p->stalled) {
		p->stalled = p->head;
		p->stalled_ns = now_ns;
	} else if (now_ns - p->stalled_ns >= UROCE_TX_STALL_NS) {
		drop_head(p);
	}
}

bool
uroce_switch_port_watch(struct switch_port *p, uint64_t now_ns)
{
	bool was = p->up, gone = p->gone;

	p->gone = false;
	p->up = is_up(p);
	if (gone || (was && !p->up)) {
		discard(p);
		return true;
	}
	watch_head(p, now_ns);
	return false;
}

static uint64_t
bytes_of(struct rte_mbuf *const *frames, uint16_t n)
{
	uint64_t bytes = 0;

	for (uint16_t i = 0; i < n; i++)
		bytes += frames[i]->pkt_len;
	return bytes;
}

static uint16_t
receive_memif(struct switch_port *p, struct rte_mbuf **frames, uint16_t room)
{
	uint16_t n = uroce_memif_link_receive(p->link, p->pool, frames, room);

	p->malformed += p->link->malformed;
	p->link->malformed = 0;
	return n;
}

uint16_t
uroce_switch_port_receive(struct switch_port *p, struct rte_mbuf **frames, uint16_t room)
{
	uint16_t n = 0;

	if (!p->is_memif)
		n = rte_eth_rx_burst(p->id, 0, frames, room);
	else if (p->link != NULL)
		n = receive_memif(p, frames, room);
	p->received += n;
	p->received_bytes += bytes_of(frames, n);
	return n;
}

/* Set an ECN mark, so that the sender slows down before frames are dropped. A frame that other ports share is left
 * alone. */
static bool
mark(struct rte_mbuf *frame)
{
	uint8_t *bytes = rte_pktmbuf_mtod(frame, uint8_t *);

	return rte_mbuf_refcnt_read(frame) == 1 && uroce_netem_ecn(bytes, frame->data_len) != 0 &&
	       uroce_netem_mark(bytes, frame->data_len);
}

static void
append(struct switch_port *p, struct rte_mbuf *frame)
{
	p->waiting[frame->port]++;
	p->queue[p->tail++ % UROCE_SWITCH_SLOTS] = frame;
}

static void
refuse(struct switch_port *p, struct rte_mbuf *frame)
{
	p->dropped++;
	rte_pktmbuf_free(frame);
}

void
uroce_switch_port_queue(struct switch_port *p, struct rte_mbuf *frame)
{
	uint32_t waiting = p->tail - p->head;

	RTE_ASSERT(frame->port < UROCE_SWITCH_PORTS);
	if (waiting >= UROCE_SWITCH_QUEUE || p->waiting[frame->port] >= UROCE_SWITCH_QUEUE_SHARE || !p->up) {
		refuse(p, frame);
		return;
	}
	if (waiting >= UROCE_SWITCH_MARK && mark(frame))
		p->marked++;
	append(p, frame);
}

void
uroce_switch_port_tell(struct switch_port *p, struct rte_mbuf *frame)
{
	RTE_ASSERT(frame->port < UROCE_SWITCH_PORTS);
	if (p->tail - p->head == UROCE_SWITCH_SLOTS || !p->up)
		refuse(p, frame);
	else
		append(p, frame);
}

/* Send frames. Their source and length are read first, since a frame that was sent is freed. @return frames sent */
static uint16_t
send_some(struct switch_port *p, struct rte_mbuf **frames, uint16_t n)
{
	uint16_t from[UROCE_BURST], done;
	uint32_t bytes[UROCE_BURST];

	for (uint16_t i = 0; i < n; i++) {
		from[i] = frames[i]->port;
		bytes[i] = frames[i]->pkt_len;
	}
	if (!p->is_memif)
		done = rte_eth_tx_burst(p->id, 0, frames, n);
	else
		done = p->link != NULL ? uroce_memif_link_send(p->link, frames, n) : 0;
	for (uint16_t i = 0; i < done; i++) {
		p->waiting[from[i]]--;
		p->sent_bytes += bytes[i];
	}
	return done;
}

unsigned int
uroce_switch_port_send(struct switch_port *p)
{
	unsigned int sent = 0;

	while (p->head != p->tail) {
		uint32_t at = p->head % UROCE_SWITCH_SLOTS;
		uint32_t n = RTE_MIN(p->tail - p->head, (uint32_t)UROCE_BURST);
		uint16_t done;

		n = RTE_MIN(n, UROCE_SWITCH_SLOTS - at);
		done = send_some(p, &p->queue[at], (uint16_t)n);
		p->head += done;
		sent += done;
		if (done == n)
			continue;
		if (p->link == NULL || !p->link->too_long)
			break;
		drop_head(p);
	}
	p->sent += sent;
	return sent;
}
