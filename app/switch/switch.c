/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Forwards frames as an IEEE 802.1Q bridge without VLANs of its own: it does not change tags, and a station is an
 * address and a tag.
 */

#include <string.h>

#include <rte_ethdev.h>

#include "switch.h"
#include "wire/departure.h"

#define LEAST_FRAME_BYTES 60

/* Frames to bridges are not forwarded: 01:80:c2:00:00:00 to 0f. */
static bool
is_for_bridges(const struct rte_ether_addr *mac)
{
	static const uint8_t prefix[5] = { 0x01, 0x80, 0xc2 };

	return memcmp(mac->addr_bytes, prefix, sizeof(prefix)) == 0 && mac->addr_bytes[5] < 16;
}

/* @return false: the frame is malformed, or is for bridges */
static bool
parse(const struct rte_mbuf *frame, struct switch_station *src, struct switch_station *dst)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(frame, const struct rte_ether_hdr *);
	const struct rte_vlan_hdr *tag = (const void *)(eth + 1);

	if (frame->data_len < sizeof(*eth) || frame->pkt_len > UROCE_SWITCH_FRAME_BYTES)
		return false;
	src->mac = eth->src_addr;
	dst->mac = eth->dst_addr;
	src->vlan = dst->vlan = 0;
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_VLAN)) {
		if (frame->data_len < sizeof(*eth) + sizeof(*tag))
			return false;
		src->vlan = dst->vlan = tag->vlan_tci & RTE_BE16(0xfff);
	}
	return !rte_is_multicast_ether_addr(&src->mac) && !rte_is_zero_ether_addr(&src->mac) &&
	       !is_for_bridges(&dst->mac);
}

/* Send a frame to all ports except its source; all of them share one mbuf. */
static void
flood(struct uroce_switch *s, unsigned int from, struct rte_mbuf *frame)
{
	for (unsigned int i = 0; i < s->nb_ports; i++) {
		if (i == from || !s->ports[i].up)
			continue;
		rte_pktmbuf_refcnt_update(frame, 1);
		uroce_switch_port_queue(&s->ports[i], frame);
	}
	rte_pktmbuf_free(frame);
}

/* Learn the source address. Behind a client's port is only that client: its addresses stay its own while it is
 * connected and not silent. A host on a network may move to another port. @return false: the address is another
 * client's */
static bool
learn(struct uroce_switch *s, uint16_t from, const struct switch_station *src, uint64_t now_ns)
{
	int known = uroce_switch_fdb_find(&s->fdb, src);

	if (known >= 0 && known != from && s->ports[known].is_memif && s->ports[from].is_memif)
		return false;
	if (known != from && s->ports[from].is_memif && s->fdb.stations[from] >= UROCE_SWITCH_CLIENT_STATIONS)
		s->fdb.unlearned++;
	else
		uroce_switch_fdb_learn(&s->fdb, src, from, now_ns);
	return true;
}

void
uroce_switch_forward(struct uroce_switch *s, uint16_t from, struct rte_mbuf *frame, uint64_t now_ns)
{
	struct switch_station src, dst;
	int to;

	if (unlikely(!parse(frame, &src, &dst))) {
		s->ports[from].malformed++;
		rte_pktmbuf_free(frame);
		return;
	}
	if (unlikely(!learn(s, from, &src, now_ns))) {
		s->ports[from].forged++;
		rte_pktmbuf_free(frame);
		return;
	}
	frame->port = from;
	to = rte_is_multicast_ether_addr(&dst.mac) ? -1 : uroce_switch_fdb_find(&s->fdb, &dst);
	if (to < 0)
		flood(s, from, frame);
	else if (to == from)
		rte_pktmbuf_free(frame); /* the destination is on the segment of the source */
	else
		uroce_switch_port_queue(&s->ports[to], frame);
}

/* The first port polled gets the room in a full queue, so each round starts at another port. */
unsigned int
uroce_switch_poll(struct uroce_switch *s, uint64_t now_ns)
{
	struct rte_mbuf *frames[UROCE_BURST];
	unsigned int total = 0;

	for (unsigned int i = 0; i < s->nb_ports; i++) {
		uint16_t from = (uint16_t)((s->turn + i) % s->nb_ports);
		uint16_t n = uroce_switch_port_receive(&s->ports[from], frames, RTE_DIM(frames));

		for (uint16_t k = 0; k < n; k++)
			uroce_switch_forward(s, from, frames[k], now_ns);
		total += n;
	}
	if (total > 0)
		s->turn++;
	for (unsigned int i = 0; i < s->nb_ports; i++)
		total += uroce_switch_port_send(&s->ports[i]);
	return total;
}

static struct rte_mbuf *
departure(struct rte_mempool *pool, const struct switch_station *station)
{
	const struct uroce_departure says = {
		.protocol = RTE_BE32(UROCE_DEPARTURE_PROTOCOL),
		.version = RTE_BE16(UROCE_DEPARTURE_VERSION),
		.mac = station->mac,
	};
	const struct rte_vlan_hdr tag = {
		.vlan_tci = station->vlan,
		.eth_proto = RTE_BE16(UROCE_DEPARTURE_ETHERTYPE),
	};
	const uint16_t tag_bytes = station->vlan != 0 ? sizeof(tag) : 0;
	struct rte_mbuf *frame = rte_pktmbuf_alloc(pool);
	struct rte_ether_hdr *eth;

	if (frame == NULL)
		return NULL;
	frame->data_len = LEAST_FRAME_BYTES;
	frame->pkt_len = LEAST_FRAME_BYTES;
	eth = rte_pktmbuf_mtod(frame, struct rte_ether_hdr *);
	memset(eth, 0, LEAST_FRAME_BYTES);
	eth->dst_addr = uroce_departure_group();
	eth->src_addr = station->mac; /* as if from the departed station */
	eth->ether_type = tag_bytes != 0 ? RTE_BE16(RTE_ETHER_TYPE_VLAN) : tag.eth_proto;
	memcpy(eth + 1, &tag, tag_bytes);
	memcpy((uint8_t *)(eth + 1) + tag_bytes, &says, sizeof(says));
	return frame;
}

struct leaving {
	struct uroce_switch *s;
	uint16_t from;
};

/* Tell the other processes that a process has exited: if it was killed, it could not tell its peers. On a network the
 * message has no meaning. It precedes all frames of the port's next client. It is not sent for an address that the
 * process took from a host on a network: that host may still be there. */
static void
tell_departure(void *arg, const struct switch_station *station, uint16_t before)
{
	const struct leaving *l = arg;
	struct rte_mbuf *frame;

	if (!l->s->ports[before].is_memif)
		return;
	frame = departure(l->s->ports[l->from].pool, station);
	if (frame == NULL)
		return;
	frame->port = l->from;
	for (unsigned int i = 0; i < l->s->nb_ports; i++) {
		if (i == l->from || !l->s->ports[i].is_memif || !l->s->ports[i].up)
			continue;
		rte_pktmbuf_refcnt_update(frame, 1);
		uroce_switch_port_tell(&l->s->ports[i], frame);
	}
	rte_pktmbuf_free(frame);
}

void
uroce_switch_watch(struct uroce_switch *s, uint64_t now_ns)
{
	for (uint16_t i = 0; i < s->nb_ports; i++) {
		struct leaving l = { .s = s, .from = i };

		if (uroce_switch_port_watch(&s->ports[i], now_ns))
			uroce_switch_fdb_forget(&s->fdb, i, s->ports[i].is_memif ? tell_departure : NULL, &l);
	}
	uroce_switch_fdb_age(&s->fdb, now_ns);
}
