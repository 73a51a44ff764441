/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Receives frames in place: the headers of each frame are copied to an mbuf of the queue, behind which a second one
 * refers to the payload in the shared memory. Short frames are copied as a whole. Frames that are not RoCEv2, or that
 * fill several slots, are copied to mbufs of the port's pool, as are all frames while ethdev's receive callbacks need
 * mbufs that they may keep.
 */

#include <string.h>

#include <netinet/in.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_prefetch.h>
#include <rte_udp.h>

#include "port/memif/memif.h"
#include "port/memif/ring.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/opcode.h"
#include "wire/packet.h"

#define VLAN_BYTES 4

static uint16_t
word_at(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

/* @return the size of a RoCEv2 packet's headers up to its payload; 0: it is something else. The parser checks the rest,
 * on the same bytes. */
static uint32_t
headers_of(const uint8_t bytes[UROCE_MEMIF_COPY_BYTES])
{
	uint32_t l3 = RTE_ETHER_HDR_LEN, l4, bth;
	uint16_t type = word_at(bytes + l3 - sizeof(type));

	if (type == RTE_ETHER_TYPE_VLAN) {
		l3 += VLAN_BYTES;
		type = word_at(bytes + l3 - sizeof(type));
	}
	if (type == RTE_ETHER_TYPE_IPV4 && bytes[l3] == RTE_IPV4_VHL_DEF && bytes[l3 + 9] == IPPROTO_UDP)
		l4 = l3 + (uint32_t)sizeof(struct rte_ipv4_hdr);
	else if (type == RTE_ETHER_TYPE_IPV6 && bytes[l3 + 6] == IPPROTO_UDP)
		l4 = l3 + (uint32_t)sizeof(struct rte_ipv6_hdr);
	else
		return 0;
	if (word_at(bytes + l4 + sizeof(uint16_t)) != UROCE_UDP_PORT)
		return 0;
	bth = l4 + (uint32_t)sizeof(struct rte_udp_hdr);
	return bth + uroce_opcodes[bytes[bth]].header_bytes;
}

/* Copy a frame of n slots to an mbuf of the pool. One that is too long becomes empty, which the parser counts. @return
 * NULL: the pool is empty */
static struct rte_mbuf *
copy(const struct uroce_memif_ring *r, const struct uroce_memif_slot *slots, unsigned int n, struct rte_mempool *pool)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint32_t bytes = 0;

	if (unlikely(m == NULL))
		return NULL;
	for (unsigned int i = 0; i < n; i++) {
		if (slots[i].length > (uint32_t)rte_pktmbuf_tailroom(m) - bytes) {
			bytes = 0;
			break;
		}
		memcpy(rte_pktmbuf_mtod_offset(m, uint8_t *, bytes), slots[i].at, slots[i].length);
		bytes += slots[i].length;
	}
	m->data_len = (uint16_t)bytes;
	m->pkt_len = bytes;
	m->port = r->port_id;
	if ((slots[0].flags & MEMIF_DESC_NO_ICRC) != 0 && !uroce_icrc_fill(m))
		m->data_len = m->pkt_len = 0;
	return m;
}

/* Borrow the frame of a slot. @return NULL: it must be copied */
static inline struct rte_mbuf *
borrow(struct uroce_memif_frame *f, const struct uroce_memif_slot *slot)
{
	const uint64_t flags = RTE_MBUF_F_EXTERNAL | (slot->flags & MEMIF_DESC_NO_ICRC ? UROCE_MBUF_NO_ICRC : 0);
	uint32_t head = slot->length;

	if (head <= sizeof(f->bytes)) {
		memcpy(f->bytes, slot->at, head);
		f->head.nb_segs = 1;
		f->head.next = NULL;
	} else {
		memcpy(f->bytes, slot->at, sizeof(f->bytes));
		head = headers_of(f->bytes);
		if (unlikely(head == 0 || slot->length - head > UINT16_MAX))
			return NULL;
		f->body.buf_addr = slot->at + head;
		f->body.buf_len = f->body.data_len = (uint16_t)(slot->length - head);
		f->head.nb_segs = 2;
		f->head.next = &f->body;
	}
	f->head.data_len = (uint16_t)head;
	f->head.pkt_len = slot->length;
	f->head.ol_flags = flags;
	return &f->head;
}

/* Borrow the frame of a slot that refers to its payload. @return NULL: the slot or its reference is wrong */
static struct rte_mbuf *
borrow_far(const struct uroce_memif_windows *windows, struct uroce_memif_frame *f, const struct uroce_memif_slot *slot)
{
	const uint32_t head = slot->length - (uint32_t)sizeof(struct memif_reference);
	struct memif_reference reference;
	uint8_t *payload;
	uint32_t rest;

	if (slot->length > sizeof(f->bytes) || slot->length < sizeof(reference))
		return NULL;
	memcpy(f->bytes, slot->at, slot->length);
	memcpy(&reference, f->bytes + head, sizeof(reference));
	payload = uroce_memif_window_at(windows, &reference);
	if (payload == NULL || reference.bytes > UROCE_MAX_PATH_MTU || head == 0 || head != headers_of(f->bytes))
		return NULL;
	rest = (-reference.bytes & 3) + UROCE_ICRC_BYTES;
	f->far.buf_addr = payload;
	f->far.buf_len = f->far.data_len = (uint16_t)reference.bytes;
	f->end.data_len = (uint16_t)rest;
	f->head.nb_segs = 3;
	f->head.next = &f->far;
	f->head.data_len = (uint16_t)head;
	f->head.pkt_len = head + reference.bytes + rest;
	f->head.ol_flags = RTE_MBUF_F_EXTERNAL | UROCE_MBUF_NO_ICRC;
	uroce_mbuf_guard(&f->head, slot->word);
	return &f->head;
}

/* Take the frame of a slot that refers to its payload. @return NULL: the pool is empty, or the ring is broken */
static struct rte_mbuf *
take_far(const struct uroce_memif_windows *windows, struct uroce_memif_rx *rx, struct uroce_memif_frame *f,
	 const struct uroce_memif_slot *slot, bool may_borrow, struct rte_mempool *pool)
{
	struct rte_mbuf *m = borrow_far(windows, f, slot), *copy;

	if (unlikely(m == NULL))
		uroce_memif_break(&rx->ring, "payload outside the shown memory");
	if (likely(m == NULL || may_borrow))
		return m;
	copy = rte_pktmbuf_copy(m, pool, 0, UINT32_MAX);
	if (copy == NULL)
		return NULL;
	copy->ol_flags &= ~UROCE_MBUF_GUARDED;
	if (uroce_mbuf_is_revoked(m))
		copy->data_len = copy->pkt_len = 0; /* the parser counts it as a drop */
	else
		(void)uroce_icrc_fill(copy);
	return copy;
}

/* Read up to `n` slots, and prefetch the headers of their frames. @return the number of slots */
static unsigned int
read_slots(struct uroce_memif_ring *r, struct uroce_memif_slot *slots, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		if (unlikely(!uroce_memif_read(r, (uint16_t)(r->next + i), 0, &slots[i])))
			return 0;
		rte_prefetch0(slots[i].at);
		rte_prefetch0(slots[i].at + RTE_CACHE_LINE_SIZE);
	}
	return n;
}

/* @return the number of slots of the first frame; 0: its end is not among these */
static unsigned int
slots_of_frame(const struct uroce_memif_slot *slots, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (likely((slots[i].flags & MEMIF_DESC_NEXT) == 0))
			return i + 1;
	return 0;
}

/* Take the frames of these slots. @return the number of frames */
static uint16_t
take(const struct uroce_memif_windows *windows, struct uroce_memif_rx *rx, const struct uroce_memif_slot *slots,
     unsigned int count, bool may_borrow, struct rte_mempool *pool, struct rte_mbuf **frames)
{
	uint16_t n = 0;

	for (unsigned int i = 0, used; i < count; i += used) {
		const bool is_far = (slots[i].flags & MEMIF_DESC_REFERENCE) != 0;
		struct rte_mbuf *m = NULL;

		used = slots_of_frame(&slots[i], count - i);
		if (unlikely(used == 0)) {
			if (n != 0)
				break; /* the rest may follow in the next burst */
			used = count - i; /* no frame is that long */
		} else if (likely(used == 1 && may_borrow && !is_far)) {
			m = borrow(&rx->frames[n], &slots[i]);
		}
		if (is_far)
			m = take_far(windows, rx, &rx->frames[n], &slots[i], may_borrow, pool);
		else if (unlikely(m == NULL))
			m = copy(&rx->ring, &slots[i], used, pool);
		if (unlikely(m == NULL))
			break;
		frames[n++] = m;
		rx->ring.next += (uint16_t)used;
	}
	return n;
}

/* The peer need not compute ICRCs, unless another reader of the frames wants them. */
static inline void
set_flags(struct uroce_memif_rx *rx, uint16_t flags)
{
	if (likely(rx->flags == flags))
		return;
	rx->flags = flags;
	__atomic_store_n(&rx->ring.ring->flags, flags, __ATOMIC_RELAXED);
}

static inline uint16_t
credit(const struct uroce_memif_ring *r)
{
	return r->is_server ? 0 : r->slots;
}

/* The frames that the queue lends have pool mbufs' fields, for copies of them. */
static bool
start(struct uroce_memif_rx *rx, struct rte_mempool *pool)
{
	struct uroce_memif_ring *r = &rx->ring;

	if (!uroce_memif_is_up(r))
		return false;
	for (unsigned int i = 0; i < UROCE_BURST; i++) {
		struct uroce_memif_frame *f = &rx->frames[i];

		f->head = (struct rte_mbuf){
			.buf_addr = f->bytes, .buf_len = sizeof(f->bytes), .refcnt = 1, .pool = pool, .port = r->port_id,
		};
		f->body = (struct rte_mbuf){
			.refcnt = 1, .nb_segs = 1, .pool = pool, .port = r->port_id, .ol_flags = RTE_MBUF_F_EXTERNAL,
		};
		f->far = f->end = f->body;
		f->far.next = &f->end;
		f->end.buf_addr = f->zeros;
		f->end.buf_len = sizeof(f->zeros);
	}
	if (!r->is_server)
		uroce_memif_publish(r, credit(r));
	r->is_started = true;
	return true;
}

/* Have the client's slots their buffers' size again. */
static void
refill(const struct uroce_memif_ring *r, uint16_t from)
{
	for (uint16_t i = from; i != r->next; i++)
		__atomic_store_n(&uroce_memif_desc(r, i)->length, r->room, __ATOMIC_RELAXED);
}

static inline struct rte_eth_rxtx_callback *
callbacks_of(const struct uroce_memif_ring *r)
{
	/* relaxed: as in rte_eth_rx_burst(), the address is data-dependent */
	return __atomic_load_n(&rte_eth_fp_ops[r->port_id].rxq.clbk[r->queue], __ATOMIC_RELAXED);
}

uint16_t
uroce_memif_receive(struct uroce_memif *memif, uint16_t queue, struct rte_mempool *pool, struct rte_mbuf **frames)
{
	struct uroce_memif_rx *rx = &memif->rx[queue];
	struct uroce_memif_ring *r = &rx->ring;
	struct uroce_memif_slot slots[UROCE_BURST];
	struct rte_eth_rxtx_callback *callbacks;
	uint16_t n, from;

	if (unlikely(queue >= memif->nb_queues || r->is_broken || (!r->is_started && !start(rx, pool))))
		return 0;
	from = r->next;
	callbacks = callbacks_of(r);
	set_flags(rx, (rx->is_asleep ? 0 : MEMIF_RING_NO_WAKING) | (callbacks == NULL ? MEMIF_RING_NO_ICRC : 0));
	n = uroce_memif_available(r, 0);
	if (n != 0)
		n = (uint16_t)read_slots(r, slots, RTE_MIN(n, (uint16_t)UROCE_BURST));
	if (n != 0)
		n = take(&memif->windows, rx, slots, n, callbacks == NULL, pool, frames);
	if (!r->is_server)
		refill(r, from);
	if (likely(callbacks == NULL))
		return n;
	uroce_memif_release(memif, queue);
	return rte_eth_call_rx_callbacks(r->port_id, queue, frames, n, UROCE_BURST, callbacks);
}

void
uroce_memif_release(struct uroce_memif *memif, uint16_t queue)
{
	struct uroce_memif_ring *r = &memif->rx[queue].ring;

	if (queue < memif->nb_queues && r->is_started)
		uroce_memif_publish(r, credit(r));
}

int
uroce_memif_wake_fd(const struct uroce_memif *memif, uint16_t queue)
{
	return queue < memif->nb_queues ? memif->rx[queue].ring.wake : -1;
}

/* The caller receives once more behind a fence, which pairs with that of the peer's uroce_memif_send(). */
void
uroce_memif_wake_enable(struct uroce_memif *memif, uint16_t queue, bool on)
{
	struct uroce_memif_rx *rx = &memif->rx[queue];

	if (queue >= memif->nb_queues || !rx->ring.is_started)
		return;
	rx->is_asleep = on;
	set_flags(rx, (uint16_t)((rx->flags & ~MEMIF_RING_NO_WAKING) | (on ? 0 : MEMIF_RING_NO_WAKING)));
}

bool
uroce_memif_wake_is_sure(const struct uroce_memif *memif, uint16_t queue)
{
	const struct uroce_memif_ring *r = &memif->tx[queue].ring;

	return queue < memif->nb_queues && r->is_started &&
	       (__atomic_load_n(&r->ring->flags, __ATOMIC_RELAXED) & MEMIF_RING_NO_ICRC) != 0;
}
