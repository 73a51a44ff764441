/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sends frames: copies them to the buffers of the ring's slots. The builder leaves the ICRC to this file, which computes
 * it unless the peer does without.
 */

#include "port/memif/memif.h"
#include "port/memif/ring.h"
#include "wire/copy.h"
#include "wire/icrc.h"

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
 * copied. A burst of ACKs and short messages is published once. The two frames in its middle decide: adding all
 * lengths is slow. */
static inline uint16_t
step_of(struct rte_mbuf *const *frames, uint16_t n)
{
	if (n <= UROCE_MEMIF_STEP ||
	    frames[n / 2 - 1]->pkt_len + frames[n / 2]->pkt_len < UROCE_MEMIF_LONG_BYTES)
		return n;
	return UROCE_MEMIF_STEP;
}

/* Copy up to n frames to the ring, and publish them. A frame that can never fit is dropped. @return the number of
 * frames copied or dropped; fewer than n: the ring is full or broken */
static inline uint16_t
send_step(struct uroce_memif_ring *r, uint16_t *vacant, struct rte_mbuf **frames, uint16_t n, bool needs_icrc)
{
	uint16_t used, done;

	for (done = 0; done < n && *vacant != 0; done++, *vacant -= used) {
		used = put(r, *vacant, frames[done], finish(frames[done], needs_icrc));
		if (likely(used != 0))
			r->next += used;
		else if (!is_too_long(r, *vacant))
			break;
	}
	if (likely(done != 0))
		uroce_memif_publish(r, 0);
	return done;
}

uint16_t
uroce_memif_send(struct uroce_memif *memif, uint16_t queue, struct rte_mbuf **frames, uint16_t n)
{
	struct uroce_memif_ring *r = &memif->tx[queue].ring;
	uint16_t vacant, step, last, done = 0;
	bool needs_icrc;

	if (unlikely(queue >= memif->nb_queues || r->is_broken || (!r->is_started && !uroce_memif_is_up(r))))
		return 0;
	r->is_started = true;
	n = call_back(r, frames, n);
	needs_icrc = (__atomic_load_n(&r->ring->flags, __ATOMIC_RELAXED) & MEMIF_RING_NO_ICRC) == 0;
	vacant = uroce_memif_available(r, credit(r));
	step = step_of(frames, n);
	do {
		last = send_step(r, &vacant, frames + done, (uint16_t)RTE_MIN(n - done, step), needs_icrc);
		done += last;
	} while (last == step && done < n);
	if (likely(done != 0)) {
		wake(r);
		rte_pktmbuf_free_bulk(frames, done);
	}
	return done;
}
