/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sends frames: copies them to the buffers of the ring's slots. The builder leaves the ICRC to this file, which computes
 * it unless the peer does without. If the peer has mapped this process's DPDK memory, the slot refers to a payload
 * there, and the frame is held until the peer has read it.
 */

#include <string.h>

#include "port/counters.h"
#include "port/memif/memif.h"
#include "port/memif/ring.h"
#include "wire/copy.h"
#include "wire/icrc.h"
#include "wire/opcode.h"

/* How the peer takes the frames of this burst. */
struct wish {
	bool icrc;
	bool references; /* to payloads, since the peer has mapped the memory */
};

/* Copy as much as a slot has room for. @return bytes; `segment` and `done` then say where to continue */
static uint32_t
fill(uint8_t *to, uint32_t room, const struct rte_mbuf **segment, uint32_t *done)
{
	uint32_t bytes = 0;

	while (*segment != NULL && bytes < room) {
		uint32_t n = RTE_MIN((*segment)->data_len - *done, room - bytes);

		uroce_copy(to + bytes, rte_pktmbuf_mtod_offset(*segment, const uint8_t *, *done), n);
		bytes += n;
		*done += n;
		if (*done == (*segment)->data_len) {
			*segment = (*segment)->next;
			*done = 0;
		}
	}
	return bytes;
}

/* Copy one frame to free slots. @param flags	of the first slot. @return number of slots; 0: too few, or broken */
static uint16_t
put(struct uroce_memif_ring *r, uint16_t vacant, const struct rte_mbuf *frame, uint16_t flags)
{
	uint16_t used = 0;
	uint32_t done = 0;

	while (frame != NULL && used < RTE_MIN(vacant, (uint16_t)UROCE_MEMIF_FRAME_SLOTS)) {
		const uint16_t i = (uint16_t)(r->next + used++);
		struct memif_desc *d = uroce_memif_desc(r, i);
		struct uroce_memif_slot slot;
		uint32_t bytes;

		if (unlikely(!uroce_memif_read(r, i, r->room, &slot) || slot.length == 0))
			return 0;
		bytes = fill(slot.at, slot.length, &frame, &done);
		__atomic_store_n(&d->length, bytes, __ATOMIC_RELAXED);
		__atomic_store_n(&d->flags, (uint16_t)(flags | (frame != NULL ? MEMIF_DESC_NEXT : 0)), __ATOMIC_RELAXED);
		flags = 0;
	}
	return frame == NULL ? used : 0;
}

/* Has the frame three segments: headers, a payload in registered memory, and the ICRC? */
static inline bool
has_attached(const struct rte_mbuf *frame)
{
	return frame->nb_segs == 3 && RTE_MBUF_HAS_EXTBUF(frame->next) &&
	       frame->data_len <= UROCE_MEMIF_COPY_BYTES - sizeof(struct memif_reference);
}

/* A peer that does not poll must not hold all mbufs of the worker. */
static inline uint32_t
most_held(const struct rte_mbuf *frame)
{
	return RTE_MIN((uint32_t)UROCE_MEMIF_HELD, frame->pool->size / UROCE_MEMIF_HELD_PART);
}

/* Put the frame's headers and a reference to its payload into a free slot, and hold the frame. @return number of slots;
 * 0: the frame must be copied */
static uint16_t
put_reference(const struct uroce_memif *memif, struct uroce_memif_tx *tx, struct rte_mbuf *frame)
{
	struct uroce_memif_ring *r = &tx->ring;
	struct memif_desc *d = uroce_memif_desc(r, r->next);
	const struct rte_mbuf *payload = frame->next;
	const uint32_t head = frame->data_len;
	struct memif_reference reference;
	struct uroce_memif_slot slot;

	if (tx->nb_held - tx->nb_freed >= most_held(frame) || !uroce_memif_read(r, r->next, r->room, &slot) ||
	    slot.length < head + sizeof(reference) ||
	    !uroce_memif_refer(&memif->show, rte_pktmbuf_mtod(payload, const void *), payload->data_len, &reference))
		return 0;
	memcpy(slot.at, rte_pktmbuf_mtod(frame, const void *), head);
	memcpy(slot.at + head, &reference, sizeof(reference));
	__atomic_store_n(&d->length, head + (uint32_t)sizeof(reference), __ATOMIC_RELAXED);
	__atomic_store_n(&d->flags, (uint16_t)(MEMIF_DESC_NO_ICRC | MEMIF_DESC_REFERENCE), __ATOMIC_RELAXED);
	tx->held[tx->nb_held++ % UROCE_MEMIF_HELD] = (struct uroce_memif_held){ .frame = frame, .slot = r->next };
	return 1;
}

/* Free the frames held for slots before this one. */
static void
free_before(struct uroce_memif_tx *tx, uint16_t slot)
{
	while (tx->nb_freed != tx->nb_held) {
		const struct uroce_memif_held *held = &tx->held[tx->nb_freed % UROCE_MEMIF_HELD];

		if ((int16_t)(slot - held->slot) <= 0)
			break;
		rte_pktmbuf_free(held->frame);
		tx->nb_freed++;
	}
}

/* Can the frame never fit into the ring? */
static bool
is_too_long(const struct uroce_memif_ring *r, uint16_t vacant)
{
	return !r->is_broken && vacant >= RTE_MIN(r->slots, (uint16_t)UROCE_MEMIF_FRAME_SLOTS);
}

/* Compute the frame's ICRC if the peer needs one. @return the flags of its first slot */
static inline uint16_t
finish(struct rte_mbuf *m, bool needs_icrc)
{
	if (likely((m->ol_flags & UROCE_MBUF_NO_ICRC) == 0))
		return 0;
	if (likely(!needs_icrc))
		return MEMIF_DESC_NO_ICRC;
	(void)uroce_icrc_fill(m);
	return 0;
}

static inline uint16_t
credit(const struct uroce_memif_ring *r)
{
	return r->is_server ? 0 : r->slots;
}

/* Run the TX callbacks, on frames with ICRCs. As in rte_eth_tx_burst(), they see frames that the ring may not
 * take. */
static uint16_t
call_back(struct uroce_memif_ring *r, struct rte_mbuf **frames, uint16_t n)
{
	/* relaxed: as in rte_eth_tx_burst(), the address is data-dependent */
	struct rte_eth_rxtx_callback *callbacks =
		__atomic_load_n(&rte_eth_fp_ops[r->port_id].txq.clbk[r->queue], __ATOMIC_RELAXED);

	if (likely(callbacks == NULL))
		return n;
	for (uint16_t i = 0; i < n; i++)
		(void)finish(frames[i], true);
	return rte_eth_call_tx_callbacks(r->port_id, r->queue, frames, n, callbacks);
}

/* Wake the peer if it sleeps. */
static inline void
wake(const struct uroce_memif_ring *r)
{
	/* pairs with the fence in arm(), between its write of the flags and its look at the ring */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (unlikely((__atomic_load_n(&r->ring->flags, __ATOMIC_RELAXED) & MEMIF_RING_NO_WAKING) == 0))
		uroce_memif_wake_peer(r->wake);
}

/* @return the number of frames after which to publish. The peer receives long frames while the next ones are
 * copied. A burst of ACKs, short messages or references is published once. The two frames in its middle decide: adding
 * all lengths is slow. */
static inline uint16_t
step_of(struct rte_mbuf *const *frames, uint16_t n, bool references)
{
	if (n <= UROCE_MEMIF_STEP ||
	    frames[n / 2 - 1]->pkt_len + frames[n / 2]->pkt_len < UROCE_MEMIF_LONG_BYTES ||
	    (references && has_attached(frames[n / 2])))
		return n;
	return UROCE_MEMIF_STEP;
}

/* Put up to n frames into the ring, and publish them. A frame that can never fit is dropped. A frame that is held is
 * replaced by NULL. @return the number of frames put or dropped; fewer than n: the ring is full or broken */
static inline uint16_t
send_step(const struct uroce_memif *memif, struct uroce_memif_tx *tx, uint16_t *vacant, struct rte_mbuf **frames,
	  uint16_t n, const struct wish *wish)
{
	struct uroce_memif_ring *r = &tx->ring;
	uint16_t used, done;

	for (done = 0; done < n && *vacant != 0; done++, *vacant -= used) {
		used = 0;
		if (wish->references && has_attached(frames[done]))
			used = put_reference(memif, tx, frames[done]);
		if (used != 0)
			frames[done] = NULL;
		else
			used = put(r, *vacant, frames[done], finish(frames[done], wish->icrc));
		if (likely(used != 0))
			r->next += used;
		else if (!is_too_long(r, *vacant))
			break;
	}
	if (likely(done != 0))
		uroce_memif_publish(r, 0);
	return done;
}

/* @return the first slot that the peer has not returned */
static uint16_t
first_unread(const struct uroce_memif_ring *r, uint16_t vacant)
{
	return (uint16_t)(r->next - (r->slots - vacant));
}

void
uroce_memif_free_held(struct uroce_memif *memif, uint16_t queue)
{
	struct uroce_memif_tx *tx = &memif->tx[queue];
	const struct uroce_memif_ring *r = &tx->ring;

	if (likely(queue >= memif->nb_queues || tx->nb_freed == tx->nb_held))
		return;
	/* of a broken ring, all: the peer need not read them any more */
	free_before(tx, r->is_broken ? r->next : first_unread(r, uroce_memif_available(&tx->ring, credit(r))));
}

/* Is it a request to this QP, not a response? */
static bool
is_request(const struct rte_mbuf *m, uint32_t at, uint32_t dest_qpn)
{
	const struct uroce_bth *bth = rte_pktmbuf_mtod_offset(m, const struct uroce_bth *, at);

	if (dest_qpn == UROCE_MEMIF_ALL_QPS)
		return true;
	return m->data_len >= at + sizeof(*bth) && uroce_get24(bth->dest_qp) == dest_qpn &&
	       uroce_opcodes[bth->opcode].op != UROCE_OP_READ_RESPONSE;
}

void
uroce_memif_revoke(struct uroce_memif *memif, uint16_t queue, uint32_t bth, uint32_t dest_qpn)
{
	struct uroce_memif_tx *tx = &memif->tx[queue];

	if (queue >= memif->nb_queues)
		return;
	for (uint32_t i = tx->nb_freed; i != tx->nb_held; i++) {
		const struct uroce_memif_held *held = &tx->held[i % UROCE_MEMIF_HELD];

		if (is_request(held->frame, bth, dest_qpn))
			__atomic_store_n(&uroce_memif_desc(&tx->ring, held->slot)->flags,
					 (uint16_t)(MEMIF_DESC_NO_ICRC | MEMIF_DESC_REFERENCE | MEMIF_DESC_REVOKED),
					 __ATOMIC_RELAXED);
	}
	/* before the application learns that it may write to the memory; pairs with uroce_mbuf_is_revoked() */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static struct wish
wish_of(const struct uroce_memif *memif, const struct uroce_memif_ring *r)
{
	struct wish wish = { .icrc = (__atomic_load_n(&r->ring->flags, __ATOMIC_RELAXED) & MEMIF_RING_NO_ICRC) == 0 };

	wish.references = !wish.icrc && uroce_memif_is_shown(&memif->show, &memif->tx[0].ring.ring->seen);
	return wish;
}

uint16_t
uroce_memif_send(struct uroce_memif *memif, uint16_t queue, struct rte_mbuf **frames, uint16_t n, uint64_t *references)
{
	struct uroce_memif_tx *tx = &memif->tx[queue];
	struct uroce_memif_ring *r = &tx->ring;
	const uint32_t held = tx->nb_held;
	uint16_t vacant, step, last, done = 0;
	struct wish wish;

	if (unlikely(queue >= memif->nb_queues || r->is_broken || (!r->is_started && !uroce_memif_is_up(r))))
		return 0;
	r->is_started = true;
	n = call_back(r, frames, n);
	wish = wish_of(memif, r);
	vacant = uroce_memif_available(r, credit(r));
	free_before(tx, first_unread(r, vacant));
	step = step_of(frames, n, wish.references);
	do {
		last = send_step(memif, tx, &vacant, frames + done, (uint16_t)RTE_MIN(n - done, step), &wish);
		done += last;
	} while (last == step && done < n);
	if (likely(done != 0)) {
		wake(r);
		rte_pktmbuf_free_bulk(frames, done);
	}
	uroce_counter_add(references, tx->nb_held - held);
	return done;
}
