/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Receives datagrams as frames. The kernel delivers consecutive packets of one size as one message (UDP_GRO). Each mbuf
 * of the message's room takes a packet, if the packets have the size of those before; else they are copied. The kernel
 * has removed the headers, so the frames get headers with the addresses, ports and traffic class that the kernel tells.
 * It tells no IPv4 identification: the packet's number in its message is a guess, which wire/unseen_id.c corrects.
 * Workers.
 */

#include <errno.h>
#include <string.h>

#include <netinet/in.h>
#include <netinet/udp.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "base/dpdk_compat.h"
#include "port/counters.h"
#include "port/udp/queue.h"
#include "wire/headers.h"
#include "wire/unseen_id.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define MOST_BYTES 65536 /* of a message */
#define MOST_HEAD  (sizeof(struct rte_ether_hdr) + sizeof(struct rte_ipv6_hdr) + sizeof(struct rte_udp_hdr))
#define HOP_LIMIT  64

/* What the kernel tells about a message. */
struct told {
	uint32_t segment; /* bytes of each packet but the last */
	uint8_t traffic_class;
	uint32_t lost; /* datagrams of the socket that found no room */
};

/* The headers of a message's frames. */
struct head {
	uint8_t bytes[MOST_HEAD];
	uint32_t l3_bytes;
	uint32_t ip_sum; /* one's complement sum of the IPv4 header, without length and identification */
	uint64_t flags;  /* of the mbufs */
};

static void
unit_put(struct uroce_udp_rx *rx, struct uroce_udp_room *room, unsigned int i)
{
	room->iovs[i].iov_base = rte_pktmbuf_mtod_offset(room->mbufs[i], void *, MOST_HEAD);
	room->iovs[i].iov_len = rx->unit;
}

static void
message_reset(struct uroce_udp_rx *rx, unsigned int i)
{
	struct uroce_udp_room *room = &rx->rooms[i];

	rx->messages[i].msg_hdr = (struct msghdr){
		.msg_name = &room->peer,
		.msg_namelen = sizeof(room->peer),
		.msg_iov = room->iovs,
		.msg_iovlen = rx->nb_units,
		.msg_control = &room->control,
		.msg_controllen = sizeof(room->control),
	};
}

static void
rooms_free(struct uroce_udp_rx *rx)
{
	for (unsigned int i = 0; rx->pool != NULL && i < UROCE_UDP_RX_MESSAGES; i++)
		rte_pktmbuf_free_bulk(rx->rooms[i].mbufs, rx->nb_units);
	rx->nb_units = 0;
}

/* Give each message room for MOST_BYTES, in units of this size. @return false: there are not enough mbufs */
static bool
rooms_init(struct uroce_udp_rx *rx, uint32_t unit)
{
	struct rte_mbuf *mbufs[UROCE_UDP_RX_MESSAGES * UROCE_UDP_SEGMENTS];
	const unsigned int nb_units = (MOST_BYTES + unit - 1) / unit;

	if (rte_pktmbuf_alloc_bulk(rx->pool, mbufs, UROCE_UDP_RX_MESSAGES * nb_units) != 0)
		return false;
	rooms_free(rx);
	rx->unit = unit;
	rx->nb_units = nb_units;
	for (unsigned int i = 0; i < UROCE_UDP_RX_MESSAGES; i++) {
		memcpy(rx->rooms[i].mbufs, &mbufs[i * nb_units], nb_units * sizeof(mbufs[0]));
		for (unsigned int j = 0; j < nb_units; j++)
			unit_put(rx, &rx->rooms[i], j);
		message_reset(rx, i);
	}
	return true;
}

int
uroce_udp_rx_init(struct uroce_udp_rx *rx, struct rte_mempool *pool)
{
	rx->pool = pool;
	rx->nb_units = 0;
	rx->first_ready = rx->nb_ready = 0;
	rx->most_unit = (uint32_t)(rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM - MOST_HEAD);
	if (rx->most_unit >= UROCE_UDP_MIN_UNIT && rooms_init(rx, rx->most_unit))
		return 0;
	rx->pool = NULL;
	return -ENOMEM;
}

void
uroce_udp_rx_fini(struct uroce_udp_rx *rx)
{
	rooms_free(rx);
	if (rx->pool != NULL)
		rte_pktmbuf_free_bulk(&rx->ready[rx->first_ready], rx->nb_ready);
	rx->nb_ready = 0;
	rx->pool = NULL;
}

static void
told_read(const struct msghdr *h, uint32_t bytes, struct told *told)
{
	int number;

	*told = (struct told){ .segment = bytes };
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c != NULL; c = CMSG_NXTHDR((struct msghdr *)(uintptr_t)h, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
			told->traffic_class = *CMSG_DATA(c);
			continue;
		}
		memcpy(&number, CMSG_DATA(c), sizeof(number));
		if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO && number > 0)
			told->segment = (uint32_t)number;
		else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)
			told->traffic_class = (uint8_t)number;
		else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL)
			told->lost = (uint32_t)number;
	}
}

static void
head_ipv4(struct head *head, const struct uroce_udp_socket *s, const union uroce_udp_address *peer, uint8_t traffic_class)
{
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)head->bytes;
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(eth + 1);

	eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	uroce_udp_mac(&eth->src_addr, (const uint8_t *)&peer->ipv4.sin_addr);
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->type_of_service = traffic_class;
	ip->fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG);
	ip->time_to_live = HOP_LIMIT;
	ip->next_proto_id = IPPROTO_UDP;
	ip->src_addr = peer->ipv4.sin_addr.s_addr;
	ip->dst_addr = s->local->ipv4.sin_addr.s_addr;
	head->l3_bytes = sizeof(*ip);
	head->ip_sum = rte_raw_cksum(ip, sizeof(*ip));
	head->flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD | uroce_unseen_id_flag;
}

static void
head_ipv6(struct head *head, const struct uroce_udp_socket *s, const union uroce_udp_address *peer, uint8_t traffic_class)
{
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)head->bytes;
	struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)(eth + 1);

	eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6);
	uroce_udp_mac(&eth->src_addr, peer->ipv6.sin6_addr.s6_addr + 12);
	ip->vtc_flow = rte_cpu_to_be_32(6u << 28 | (uint32_t)traffic_class << RTE_IPV6_HDR_TC_SHIFT);
	ip->proto = IPPROTO_UDP;
	ip->hop_limits = HOP_LIMIT;
	memcpy(&ip->src_addr, &peer->ipv6.sin6_addr, sizeof(ip->src_addr));
	memcpy(&ip->dst_addr, &s->local->ipv6.sin6_addr, sizeof(ip->dst_addr));
	head->l3_bytes = sizeof(*ip);
	head->flags = 0;
}

static void
head_init(struct head *head, const struct uroce_udp_rx *rx, const struct uroce_udp_socket *s,
	  const union uroce_udp_address *peer, uint8_t traffic_class)
{
	struct rte_udp_hdr *udp;

	memset(head->bytes, 0, sizeof(head->bytes));
	((struct rte_ether_hdr *)head->bytes)->dst_addr = rx->mac;
	if (peer->any.sa_family == AF_INET)
		head_ipv4(head, s, peer, traffic_class);
	else
		head_ipv6(head, s, peer, traffic_class);
	udp = (struct rte_udp_hdr *)(head->bytes + sizeof(struct rte_ether_hdr) + head->l3_bytes);
	udp->src_port = peer->any.sa_family == AF_INET ? peer->ipv4.sin_port : peer->ipv6.sin6_port;
	udp->dst_port = rte_cpu_to_be_16(UROCE_UDP_PORT);
}

static inline void
ipv4_finish(struct rte_ipv4_hdr *ip, uint32_t sum, uint16_t udp_bytes, unsigned int number)
{
	ip->total_length = rte_cpu_to_be_16((uint16_t)(sizeof(*ip) + udp_bytes));
	ip->packet_id = rte_cpu_to_be_16((uint16_t)number);
	sum += (uint32_t)ip->total_length + ip->packet_id;
	sum = (sum & 0xffff) + (sum >> 16);
	ip->hdr_checksum = (rte_be16_t)~(uint16_t)(sum + (sum >> 16));
}

/* Put the headers in front of a packet, which begins MOST_HEAD bytes behind the mbuf's headroom.
 * @param number	of the packet in its message */
static inline void
frame_finish(const struct uroce_udp_rx *rx, const struct head *head, struct rte_mbuf *m, uint32_t bytes, unsigned int number)
{
	const uint32_t head_bytes = sizeof(struct rte_ether_hdr) + head->l3_bytes + (uint32_t)sizeof(struct rte_udp_hdr);
	const uint16_t udp_bytes = (uint16_t)(sizeof(struct rte_udp_hdr) + bytes);
	uint8_t *ip;

	m->data_off = (uint16_t)(RTE_PKTMBUF_HEADROOM + MOST_HEAD - head_bytes);
	m->data_len = (uint16_t)(head_bytes + bytes);
	m->pkt_len = m->data_len;
	m->port = rx->port_id;
	m->ol_flags |= head->flags;
	memcpy(rte_pktmbuf_mtod(m, void *), head->bytes, head_bytes);
	ip = rte_pktmbuf_mtod_offset(m, uint8_t *, sizeof(struct rte_ether_hdr));
	((struct rte_udp_hdr *)(ip + head->l3_bytes))->dgram_len = rte_cpu_to_be_16(udp_bytes);
	if (head->l3_bytes == sizeof(struct rte_ipv4_hdr))
		ipv4_finish((struct rte_ipv4_hdr *)ip, head->ip_sum, udp_bytes, number);
	else
		((struct rte_ipv6_hdr *)ip)->payload_len = rte_cpu_to_be_16(udp_bytes);
}

/* Take n mbufs, which a message has filled, out of its room. @return false: there are no others in exchange */
static bool
room_take(struct uroce_udp_rx *rx, struct uroce_udp_room *room, unsigned int n, struct rte_mbuf **taken)
{
	memcpy(taken, room->mbufs, n * sizeof(*taken));
	if (rte_pktmbuf_alloc_bulk(rx->pool, room->mbufs, n) != 0) {
		memcpy(room->mbufs, taken, n * sizeof(*taken));
		return false;
	}
	for (unsigned int i = 0; i < n; i++)
		unit_put(rx, room, i);
	return true;
}

/* Copy bytes of a message from its room. */
static void
room_copy(const struct uroce_udp_rx *rx, const struct uroce_udp_room *room, uint32_t offset, void *to, uint32_t bytes)
{
	uint8_t *dst = to;

	while (bytes != 0) {
		const uint32_t at = offset % rx->unit, n = RTE_MIN(rx->unit - at, bytes);

		memcpy(dst, (const uint8_t *)room->iovs[offset / rx->unit].iov_base + at, n);
		dst += n;
		offset += n;
		bytes -= n;
	}
}

/* @return the number of frames: all of the message; 0: there are no mbufs */
static unsigned int
copy_all(struct uroce_udp_rx *rx, const struct uroce_udp_room *room, uint32_t bytes, uint32_t segment,
	 struct rte_mbuf **frames)
{
	const unsigned int n = RTE_MAX((bytes + segment - 1) / segment, 1u);

	if (rte_pktmbuf_alloc_bulk(rx->pool, frames, n) != 0)
		return 0;
	for (unsigned int i = 0; i < n; i++)
		room_copy(rx, room, i * segment, rte_pktmbuf_mtod_offset(frames[i], void *, MOST_HEAD),
			  RTE_MIN(segment, bytes - i * segment));
	return n;
}

/* Divide a message into packets, each in an mbuf. @return their number; 0: there are no mbufs, or the packets are longer
 * than the port's frames */
static unsigned int
divide(struct uroce_udp_rx *rx, struct uroce_udp_room *room, uint32_t bytes, uint32_t segment, struct rte_mbuf **frames)
{
	const unsigned int n = segment != 0 ? (bytes + segment - 1) / segment : 1;

	if (segment > rx->most_unit || n > UROCE_UDP_RX_SEGMENTS)
		return 0;
	if (n > 1 ? segment == rx->unit : bytes <= rx->unit)
		return room_take(rx, room, n, frames) ? n : 0;
	return copy_all(rx, room, bytes, RTE_MAX(segment, 1u), frames);
}

/* Turn a received message into frames that are ready. */
static void
message_take(struct uroce_udp_rx *rx, struct uroce_udp_socket *s, unsigned int i)
{
	struct rte_mbuf **frames = &rx->ready[rx->first_ready + rx->nb_ready];
	struct msghdr *h = &rx->messages[i].msg_hdr;
	const uint32_t bytes = rx->messages[i].msg_len;
	struct told told;
	struct head head;
	unsigned int n = 0;

	told_read(h, bytes, &told);
	if ((h->msg_flags & MSG_TRUNC) == 0)
		n = divide(rx, &rx->rooms[i], bytes, told.segment, frames);
	if (told.lost != 0 && told.lost != s->lost) {
		uroce_counter_add(rx->drops, told.lost - s->lost);
		s->lost = told.lost;
	}
	if (unlikely(n == 0)) {
		uroce_counter_add(rx->drops, 1);
		return;
	}
	head_init(&head, rx, s, &rx->rooms[i].peer, told.traffic_class);
	for (unsigned int j = 0; j < n; j++)
		frame_finish(rx, &head, frames[j], RTE_MIN(told.segment, bytes - j * told.segment), j);
	rx->nb_ready += n;
}

/* The size of the packets of the last long messages, for the messages to come. */
static uint32_t
next_unit(const struct uroce_udp_rx *rx, unsigned int n)
{
	uint32_t unit = rx->unit;
	struct told told;

	for (unsigned int i = 0; i < n; i++) {
		told_read(&rx->messages[i].msg_hdr, rx->messages[i].msg_len, &told);
		if (told.segment < rx->messages[i].msg_len && told.segment >= UROCE_UDP_MIN_UNIT &&
		    told.segment <= rx->most_unit)
			unit = told.segment;
	}
	return unit;
}

static void
socket_receive(struct uroce_udp_rx *rx, struct uroce_udp_socket *s)
{
	int n = recvmmsg(s->fd, rx->messages, UROCE_UDP_RX_MESSAGES, MSG_DONTWAIT, NULL);
	uint32_t unit;

	if (n <= 0)
		return;
	unit = next_unit(rx, (unsigned int)n);
	for (unsigned int i = 0; i < (unsigned int)n; i++) {
		message_take(rx, s, i);
		message_reset(rx, i);
	}
	if (unlikely(unit != rx->unit))
		rooms_init(rx, unit);	/* if it fails, packets are copied */
}

uint16_t
uroce_udp_receive(uint16_t port_id, uint16_t queue, struct rte_mbuf *frames[], uint16_t n, uint16_t room, void *arg)
{
	struct uroce_udp_queue *q = arg;
	struct uroce_udp_rx *rx = &q->rx;

	RTE_SET_USED(port_id);
	RTE_SET_USED(queue);
	RTE_SET_USED(n);
	for (unsigned int i = 0; i < q->nb_sockets && rx->nb_ready == 0; i++) {
		rx->first_ready = 0;
		socket_receive(rx, &q->sockets[q->next_socket]);
		q->next_socket = q->next_socket + 1 < q->nb_sockets ? q->next_socket + 1 : 0;
	}
	room = (uint16_t)RTE_MIN(room, rx->nb_ready);
	memcpy(frames, &rx->ready[rx->first_ready], room * sizeof(frames[0]));
	rx->first_ready += room;
	rx->nb_ready -= room;
	return room;
}
