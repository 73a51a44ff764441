/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sends frames as datagrams. Consecutive frames of one size to the same peer are one message, which the kernel or the
 * NIC divides into packets again (UDP_SEGMENT). The kernel writes the Ethernet, IP and UDP headers, but the ICRC covers
 * the fields below, so that frames must have what the kernel will write:
 * - IPv4 identification: the packet's number in its message, and 0 without one, since packets have DF;
 * - UDP source port: that of the socket.
 * Changing a field changes the ICRC by a product (wire/crc_power.h). Workers.
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
#include "wire/crc_power.h"
#include "wire/headers.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

#define L2_BYTES sizeof(struct rte_ether_hdr)

/* A frame to send. */
struct frame {
	struct rte_mbuf *mbuf;
	struct rte_mbuf *last; /* its last segment, which ends with the ICRC */
	const struct uroce_udp_socket *socket;
	uint8_t *ip;
	uint16_t l3_bytes;
	uint8_t traffic_class;
	uint32_t bytes; /* UDP payload */
};

static const struct uroce_udp_socket *
socket_of(const struct uroce_udp_queue *q, const uint8_t *ip)
{
	const struct rte_ipv4_hdr *ipv4 = (const struct rte_ipv4_hdr *)ip;
	const struct rte_ipv6_hdr *ipv6 = (const struct rte_ipv6_hdr *)ip;

	for (unsigned int i = 0; i < q->nb_sockets; i++) {
		const union uroce_udp_address *local = q->sockets[i].local;

		if (ip[0] >> 4 == 4 ? local->any.sa_family == AF_INET && local->ipv4.sin_addr.s_addr == ipv4->src_addr
				    : local->any.sa_family == AF_INET6 &&
					      memcmp(&local->ipv6.sin6_addr, &ipv6->src_addr, sizeof(ipv6->src_addr)) == 0)
			return &q->sockets[i];
	}
	return NULL;
}

/* @return the bytes of the IP header; 0: it is not UDP without options and extension headers */
static inline uint16_t
ip_read(const struct rte_mbuf *m, struct frame *f)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	const struct rte_ipv4_hdr *ipv4 = (const struct rte_ipv4_hdr *)(eth + 1);
	const struct rte_ipv6_hdr *ipv6 = (const struct rte_ipv6_hdr *)(eth + 1);

	if (eth->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4)) {
		f->traffic_class = ipv4->type_of_service;
		return ipv4->version_ihl == RTE_IPV4_VHL_DEF && ipv4->next_proto_id == IPPROTO_UDP ? sizeof(*ipv4) : 0;
	}
	f->traffic_class = (uint8_t)(rte_be_to_cpu_32(ipv6->vtc_flow) >> RTE_IPV6_HDR_TC_SHIFT);
	return eth->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6) && ipv6->proto == IPPROTO_UDP ? sizeof(*ipv6)
												     : 0;
}

/* @return false: a socket cannot send this frame: it is ARP, ND, IGMP or MLD, or has another source address */
static inline bool
frame_read(const struct uroce_udp_queue *q, struct rte_mbuf *m, struct frame *f)
{
	const struct rte_udp_hdr *udp;
	uint32_t head;

	if (rte_pktmbuf_data_len(m) < L2_BYTES + sizeof(struct rte_ipv6_hdr))
		return false;
	f->mbuf = m;
	f->last = rte_pktmbuf_lastseg(m);
	f->ip = rte_pktmbuf_mtod_offset(m, uint8_t *, L2_BYTES);
	f->l3_bytes = ip_read(m, f);
	head = L2_BYTES + f->l3_bytes + sizeof(*udp);
	if (f->l3_bytes == 0 || rte_pktmbuf_data_len(m) < head || rte_pktmbuf_data_len(f->last) < UROCE_ICRC_BYTES)
		return false;
	f->bytes = rte_pktmbuf_pkt_len(m) - head;
	udp = (const struct rte_udp_hdr *)(f->ip + f->l3_bytes);
	if (udp->dst_port != rte_cpu_to_be_16(UROCE_UDP_PORT) || f->bytes > UROCE_UDP_MESSAGE_BYTES ||
	    rte_be_to_cpu_16(udp->dgram_len) != sizeof(*udp) + f->bytes || f->bytes < UROCE_ICRC_BYTES)
		return false;
	f->socket = socket_of(q, f->ip);
	return f->socket != NULL;
}

/* Do the frames differ only in what may differ within a message? */
static inline bool
is_alike(const struct frame *a, const struct frame *b)
{
	const uint32_t addresses = a->l3_bytes == sizeof(struct rte_ipv4_hdr)
					   ? offsetof(struct rte_ipv4_hdr, src_addr)
					   : offsetof(struct rte_ipv6_hdr, src_addr);

	return a->l3_bytes == b->l3_bytes && a->traffic_class == b->traffic_class &&
	       memcmp(a->ip + addresses, b->ip + addresses, a->l3_bytes - addresses) == 0;
}

/* May the frame's headers and ICRC be written? */
static inline bool
is_writable(const struct frame *f)
{
	return rte_mbuf_refcnt_read(f->mbuf) == 1 && rte_mbuf_refcnt_read(f->last) == 1 && RTE_MBUF_DIRECT(f->last);
}

/* The power for a change of the word that is `offset` bytes behind the IP header's start. */
static uint32_t
power_of(struct uroce_udp_tx *tx, const struct frame *f, uint32_t offset)
{
	uint32_t bytes = f->l3_bytes + (uint32_t)sizeof(struct rte_udp_hdr) + f->bytes - UROCE_ICRC_BYTES - offset;
	struct uroce_udp_power *p = &tx->powers[bytes / 4 % RTE_DIM(tx->powers)];

	if (p->covered_bytes != bytes) {
		p->covered_bytes = bytes;
		p->power = uroce_crc_power((int32_t)bytes);
	}
	return p->power;
}

/* Change the first two bytes of the word at this offset, and the ICRC. The UDP checksum is not in use. */
static void
frame_change(struct uroce_udp_tx *tx, const struct frame *f, uint32_t offset, rte_be16_t value)
{
	const uint32_t power = power_of(tx, f, offset);
	uint8_t *icrc_at = rte_pktmbuf_mtod_offset(f->last, uint8_t *, f->last->data_len - UROCE_ICRC_BYTES);
	uint16_t old, change[2] = { 0, 0 };
	rte_le32_t word, icrc;

	memcpy(&old, f->ip + offset, sizeof(old));
	memcpy(f->ip + offset, &value, sizeof(value));
	change[0] = old ^ value;
	memcpy(&word, change, sizeof(word));
	memcpy(&icrc, icrc_at, sizeof(icrc));
	icrc ^= rte_cpu_to_le_32(uroce_crc_multiply(rte_le_to_cpu_32(word), power));
	memcpy(icrc_at, &icrc, sizeof(icrc));
}

/* Give the frame the source port and the identification of packet `number` of a message. @return false: it is shared */
static inline bool
frame_number(struct uroce_udp_tx *tx, const struct frame *f, unsigned int number)
{
	const struct rte_udp_hdr *udp = (const struct rte_udp_hdr *)(f->ip + f->l3_bytes);
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)f->ip;
	const rte_be16_t id = rte_cpu_to_be_16((uint16_t)number);
	const bool has_port = udp->src_port == rte_cpu_to_be_16(UROCE_UDP_PORT);
	const bool has_id = f->l3_bytes != sizeof(*ip) || ip->packet_id == id;

	if (likely(has_port && has_id))
		return true;
	if (!is_writable(f))
		return false;
	if (!has_port)
		frame_change(tx, f, f->l3_bytes, rte_cpu_to_be_16(UROCE_UDP_PORT));
	if (!has_id)
		frame_change(tx, f, offsetof(struct rte_ipv4_hdr, packet_id), id);
	return true;
}

/* Add the frame's bytes behind the UDP header to the message. */
static inline void
iovs_add(struct uroce_udp_tx *tx, const struct frame *f)
{
	uint32_t skip = L2_BYTES + f->l3_bytes + (uint32_t)sizeof(struct rte_udp_hdr);

	for (const struct rte_mbuf *m = f->mbuf; m != NULL; m = m->next) {
		struct iovec *iov = &tx->iovs[tx->nb_iovs++];

		iov->iov_base = rte_pktmbuf_mtod_offset(m, void *, skip);
		iov->iov_len = rte_pktmbuf_data_len(m) - skip;
		skip = 0;
	}
}

static void
peer_set(struct msghdr *h, union uroce_udp_address *peer, const struct frame *f)
{
	memset(peer, 0, sizeof(*peer));
	h->msg_name = peer;
	if (f->l3_bytes == sizeof(struct rte_ipv4_hdr)) {
		h->msg_namelen = sizeof(peer->ipv4);
		peer->ipv4.sin_family = AF_INET;
		peer->ipv4.sin_port = rte_cpu_to_be_16(UROCE_UDP_PORT);
		peer->ipv4.sin_addr.s_addr = ((const struct rte_ipv4_hdr *)f->ip)->dst_addr;
	} else {
		h->msg_namelen = sizeof(peer->ipv6);
		peer->ipv6.sin6_family = AF_INET6;
		peer->ipv6.sin6_port = rte_cpu_to_be_16(UROCE_UDP_PORT);
		memcpy(&peer->ipv6.sin6_addr, &((const struct rte_ipv6_hdr *)f->ip)->dst_addr,
		       sizeof(peer->ipv6.sin6_addr));
	}
}

static struct cmsghdr *
control_add(struct msghdr *h, struct cmsghdr *c, int level, int type, const void *value, size_t bytes)
{
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(bytes);
	memcpy(CMSG_DATA(c), value, bytes);
	h->msg_controllen += CMSG_SPACE(bytes);
	return (struct cmsghdr *)((uint8_t *)c + CMSG_SPACE(bytes));
}

/* @param segment	bytes of each packet but the last; 0: there is one packet */
static void
control_set(struct msghdr *h, const struct frame *f, uint16_t segment)
{
	struct cmsghdr *c = h->msg_control;
	int traffic_class = f->traffic_class;
	const bool ipv4 = f->l3_bytes == sizeof(struct rte_ipv4_hdr);

	h->msg_controllen = 0;
	if (segment != 0)
		c = control_add(h, c, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment));
	if (traffic_class != 0)
		control_add(h, c, ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_TOS : IPV6_TCLASS, &traffic_class,
			    sizeof(traffic_class));
}

/* Collect the frames of a message, of which the first is given. @return their number; 0: the first is shared, and cannot
 * be sent */
static unsigned int
message_add(struct uroce_udp_queue *q, const struct frame *first, struct rte_mbuf **frames, unsigned int n)
{
	struct uroce_udp_tx *tx = &q->tx;
	const bool alone = !tx->gso || tx->nb_alone != 0;
	const unsigned int begin = tx->nb_iovs, most = alone ? 1 : RTE_MIN(n, (unsigned int)UROCE_UDP_SEGMENTS);
	struct msghdr *h = &tx->messages[tx->nb_messages].msg_hdr;
	uint32_t bytes = first->bytes;
	struct frame f = *first;
	unsigned int count = 1;

	if (!frame_number(tx, first, 0))
		return 0;
	iovs_add(tx, first);
	while (count < most && f.bytes == first->bytes && frame_read(q, frames[count], &f) && is_alike(first, &f) &&
	       f.bytes <= first->bytes && bytes + f.bytes <= UROCE_UDP_MESSAGE_BYTES &&
	       tx->nb_iovs + f.mbuf->nb_segs <= RTE_DIM(tx->iovs) && frame_number(tx, &f, count)) {
		iovs_add(tx, &f);
		bytes += f.bytes;
		count++;
	}
	peer_set(h, &tx->peers[tx->nb_messages], first);
	h->msg_iov = &tx->iovs[begin];
	h->msg_iovlen = tx->nb_iovs - begin;
	h->msg_control = &tx->controls[tx->nb_messages];
	control_set(h, first, count > 1 ? (uint16_t)first->bytes : 0);
	tx->nb_messages++;
	return count;
}

/* Collect messages of one socket. Frames that cannot be sent are passed over. @return the number of frames */
static unsigned int
messages_make(struct uroce_udp_queue *q, struct rte_mbuf **frames, unsigned int n, const struct uroce_udp_socket **socket)
{
	struct uroce_udp_tx *tx = &q->tx;
	unsigned int i = 0, count;
	struct frame f;

	tx->nb_messages = tx->nb_iovs = 0;
	*socket = NULL;
	while (i < n && tx->nb_messages < UROCE_UDP_TX_MESSAGES) {
		count = 0;
		if (frame_read(q, frames[i], &f) && f.mbuf->nb_segs <= RTE_DIM(tx->iovs)) {
			if (*socket != NULL && f.socket != *socket)
				break;
			if (tx->nb_iovs + f.mbuf->nb_segs > RTE_DIM(tx->iovs))
				break;
			*socket = f.socket;
			count = message_add(q, &f, frames + i, n - i);
		}
		if (count == 0)
			uroce_counter_add(tx->drops, 1);
		i += RTE_MAX(count, 1u);
		tx->nb_alone -= RTE_MIN(tx->nb_alone, 1);
		if (tx->nb_messages != 0)
			tx->ends[tx->nb_messages - 1] = (uint16_t)i;
	}
	return i;
}

static bool
is_batch(const struct msghdr *h)
{
	const struct cmsghdr *first = CMSG_FIRSTHDR(h);

	return first != NULL && first->cmsg_level == IPPROTO_UDP && first->cmsg_type == UDP_SEGMENT;
}

/* The kernel has refused a message of so many frames. @return whether it may take them later */
static bool
is_busy(struct uroce_udp_tx *tx, const struct mmsghdr *refused, unsigned int frames)
{
	if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR)
		return true;
	if (!is_batch(&refused->msg_hdr))
		return false;
	/* some of the packets are too long for the interface, or it cannot compute checksums */
	tx->nb_alone = (uint16_t)frames;
	return true;
}

/* Send the messages. @return the number of frames that were sent, or refused for good */
static unsigned int
messages_send(struct uroce_udp_tx *tx, int fd, unsigned int n)
{
	unsigned int done = 0, frames;
	int sent;

	while (done < tx->nb_messages) {
		sent = sendmmsg(fd, &tx->messages[done], tx->nb_messages - done, MSG_DONTWAIT);
		frames = tx->ends[done] - (done != 0 ? tx->ends[done - 1] : 0u);
		if (sent <= 0 && is_busy(tx, &tx->messages[done], frames))
			break;
		if (sent <= 0) {
			uroce_counter_add(tx->drops, frames);
			sent = 1;
		}
		done += (unsigned int)sent;
	}
	if (done == tx->nb_messages)
		return n;
	return done != 0 ? tx->ends[done - 1] : 0;
}

uint16_t
uroce_udp_send(uint16_t port_id, uint16_t queue, struct rte_mbuf *frames[], uint16_t n, void *arg)
{
	struct uroce_udp_queue *q = arg;
	const struct uroce_udp_socket *socket;
	unsigned int done = 0, made, sent;

	RTE_SET_USED(port_id);
	RTE_SET_USED(queue);
	while (done < n) {
		made = messages_make(q, frames + done, n - done, &socket);
		sent = q->tx.nb_messages != 0 ? messages_send(&q->tx, socket->fd, made) : made;
		done += sent;
		if (sent != made)
			break;
	}
	return (uint16_t)done;
}
