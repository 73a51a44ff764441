/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The rings of a client. The switch reads each of their fields once, into a variable, and checks that: the client may
 * change a field at any time. The switch waits for a client's eventfds, but neither reads nor writes them, since the
 * client could make that block.
 */

#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_memcpy.h>

#include "memif/link.h"

void
uroce_memif_link_init(struct memif_link *link)
{
	*link = (struct memif_link){ 0 };
	for (unsigned int i = 0; i < UROCE_SWITCH_RINGS; i++)
		link->in[i].wake = link->out[i].wake = -1;
}

void
uroce_memif_link_fini(struct memif_link *link)
{
	for (unsigned int i = 0; i < UROCE_SWITCH_RINGS; i++) {
		if (link->in[i].wake >= 0)
			close(link->in[i].wake);
	}
	uroce_memif_regions_drop(&link->regions);
	uroce_memif_link_init(link);
}

/* A call on any other kind of descriptor may block. */
static bool
is_eventfd(int fd)
{
	char path[32], name[32] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, name, sizeof(name) - 1) > 0 && strcmp(name, "anon_inode:[eventfd]") == 0;
}

const char *
uroce_memif_link_add_ring(struct memif_link *link, const struct memif_add_ring *ring, int wake)
{
	bool in = (ring->flags & MEMIF_RING_C2S) != 0;
	uint16_t *count = in ? &link->nb_in : &link->nb_out;
	struct memif_queue *queue;
	uint32_t slots;
	void *at;

	if (ring->index != *count || ring->index >= UROCE_SWITCH_RINGS)
		return "Invalid ring index";
	if (ring->log2_slots > MEMIF_MAX_LOG2_SLOTS || ring->private_bytes != 0)
		return "Invalid ring size";
	slots = 1u << ring->log2_slots;
	at = uroce_memif_region_at(&link->regions, ring->region, ring->offset,
				   (uint32_t)(sizeof(struct memif_ring) + slots * sizeof(struct memif_desc)));
	if (at == NULL || ring->offset % alignof(struct memif_ring) != 0)
		return "Invalid ring offset";
	if (!is_eventfd(wake))
		return "Invalid interrupt fd";
	queue = in ? &link->in[*count] : &link->out[*count];
	*queue = (struct memif_queue){ .ring = at, .slots = (uint16_t)slots, .wake = in ? wake : -1 };
	if (!in)
		close(wake); /* the client polls, so it needs no eventfd */
	(*count)++;
	return NULL;
}

static bool
start(struct memif_queue *queue)
{
	struct memif_ring *ring = queue->ring;

	if (__atomic_load_n(&ring->cookie, __ATOMIC_RELAXED) != MEMIF_COOKIE)
		return false;
	__atomic_store_n(&ring->head, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->tail, 0, __ATOMIC_RELAXED);
	return true;
}

const char *
uroce_memif_link_start(struct memif_link *link)
{
	if (link->nb_in == 0 || link->nb_out == 0)
		return "Missing ring";
	for (unsigned int i = 0; i < link->nb_in; i++)
		if (!start(&link->in[i]))
			return "Wrong ring";
	for (unsigned int i = 0; i < link->nb_out; i++)
		if (!start(&link->out[i]))
			return "Wrong ring";
	uroce_memif_link_wake(link, false);
	return NULL;
}

static struct memif_desc
read_slot(const struct memif_queue *queue, uint16_t at)
{
	const struct memif_desc *slot = &queue->ring->slots[at & (queue->slots - 1)];

	return (struct memif_desc){
		.flags = __atomic_load_n(&slot->flags, __ATOMIC_RELAXED),
		.region = __atomic_load_n(&slot->region, __ATOMIC_RELAXED),
		.length = __atomic_load_n(&slot->length, __ATOMIC_RELAXED),
		.offset = __atomic_load_n(&slot->offset, __ATOMIC_RELAXED),
	};
}

/* Collect the slots of one frame, at most `filled`. A frame that is too long, or has no last slot, becomes empty.
 * @return number of slots; 0: a fault */
static uint16_t
gather(struct memif_link *link, struct memif_queue *queue, uint16_t filled, struct rte_mbuf *frame)
{
	const uint32_t room = RTE_MIN((uint32_t)UROCE_SWITCH_FRAME_BYTES, (uint32_t)rte_pktmbuf_tailroom(frame));
	uint8_t *to = rte_pktmbuf_mtod(frame, uint8_t *);
	uint16_t used = 0;
	uint32_t bytes = 0;
	bool whole = true;

	for (bool more = true; more;) {
		struct memif_desc slot;
		const void *from;

		if (used == filled || used == UROCE_MEMIF_FRAME_SLOTS) {
			whole = false;
			break;
		}
		slot = read_slot(queue, queue->next + used++);
		from = uroce_memif_region_at(&link->regions, slot.region, slot.offset, slot.length);
		if (from == NULL) {
			link->fault = "A slot leads out of the memory";
			return 0;
		}
		whole = whole && slot.length <= room - bytes;
		if (whole) {
			rte_memcpy(to + bytes, from, slot.length);
			bytes += slot.length;
		}
		more = (slot.flags & MEMIF_DESC_NEXT) != 0;
	}
	frame->data_len = whole ? (uint16_t)bytes : 0;
	frame->pkt_len = frame->data_len;
	return used;
}

/* @return number of slots from `from` to `to`; more than the ring has is a fault, and 0 is returned */
static uint16_t
between(struct memif_link *link, const struct memif_queue *queue, uint16_t from, uint16_t to)
{
	uint16_t n = to - from;

	if (likely(n <= queue->slots))
		return n;
	link->fault = "A ring's index leads out of it";
	return 0;
}

static uint16_t
receive(struct memif_link *link, struct memif_queue *queue, struct rte_mempool *pool, struct rte_mbuf **frames,
	uint16_t room)
{
	/* pairs with the release of the client, which has filled them */
	uint16_t head = __atomic_load_n(&queue->ring->head, __ATOMIC_ACQUIRE);
	uint16_t filled = between(link, queue, queue->next, head);
	uint16_t n = 0;

	if (filled == 0)
		return 0;
	for (uint16_t k = 0; filled > 0 && k < room; k++) {
		struct rte_mbuf *frame = rte_pktmbuf_alloc(pool);
		uint16_t used;

		if (unlikely(frame == NULL))
			break;
		used = gather(link, queue, filled, frame);
		queue->next += used;
		filled -= used;
		if (likely(frame->data_len != 0)) {
			frames[n++] = frame;
			continue;
		}
		rte_pktmbuf_free(frame);
		if (used == 0)
			break;
		link->malformed++;
	}
	__atomic_store_n(&queue->ring->tail, queue->next, __ATOMIC_RELEASE); /* the client then refills them */
	return n;
}

uint16_t
uroce_memif_link_receive(struct memif_link *link, struct rte_mempool *pool, struct rte_mbuf **frames, uint16_t room)
{
	uint16_t n = 0;

	for (uint16_t i = 0; i < link->nb_in && n < room && link->fault == NULL; i++) {
		uint16_t at = (link->turn + i) % link->nb_in;

		n += receive(link, &link->in[at], pool, frames + n, room - n);
	}
	if (link->nb_in > 1)
		link->turn++;
	return n;
}

/* Copy as much as a slot has room for. @return bytes; `segment` and `done` then say where to continue */
static uint32_t
fill(uint8_t *to, uint32_t room, const struct rte_mbuf **segment, uint32_t *done)
{
	uint32_t bytes = 0;

	while (*segment != NULL && bytes < room) {
		uint32_t n = RTE_MIN((*segment)->data_len - *done, room - bytes);

		rte_memcpy(to + bytes, rte_pktmbuf_mtod_offset(*segment, const uint8_t *, *done), n);
		bytes += n;
		*done += n;
		if (*done == (*segment)->data_len) {
			*segment = (*segment)->next;
			*done = 0;
		}
	}
	return bytes;
}

/* Copy one frame to free slots. @return number of slots; 0: not enough free slots, or a fault */
static uint16_t
scatter(struct memif_link *link, struct memif_queue *queue, uint16_t vacant, const struct rte_mbuf *frame)
{
	uint16_t used = 0;
	uint32_t done = 0;

	while (frame != NULL && used < RTE_MIN(vacant, (uint16_t)UROCE_MEMIF_FRAME_SLOTS)) {
		uint16_t at = queue->next + used++;
		struct memif_desc *slot = &queue->ring->slots[at & (queue->slots - 1)];
		const struct memif_desc is = read_slot(queue, at);
		void *to = uroce_memif_region_at(&link->regions, is.region, is.offset, is.length);
		uint32_t bytes;

		if (to == NULL || is.length == 0) {
			link->fault = "A slot leads out of the memory";
			return 0;
		}
		bytes = fill(to, is.length, &frame, &done);
		__atomic_store_n(&slot->length, bytes, __ATOMIC_RELAXED);
		__atomic_store_n(&slot->flags, (uint16_t)(frame != NULL ? MEMIF_DESC_NEXT : 0), __ATOMIC_RELAXED);
	}
	return frame == NULL ? used : 0;
}

uint16_t
uroce_memif_link_send(struct memif_link *link, struct rte_mbuf **frames, uint16_t n)
{
	struct memif_queue *queue = &link->out[0]; /* other rings stay empty */
	uint16_t head, vacant, done = 0;

	link->too_long = false;
	if (link->fault != NULL)
		return 0;
	/* pairs with the release of the client, which has read them */
	head = __atomic_load_n(&queue->ring->head, __ATOMIC_ACQUIRE);
	vacant = between(link, queue, queue->next, head);
	for (; done < n && vacant > 0; done++) {
		uint16_t used = scatter(link, queue, vacant, frames[done]);

		if (used == 0) {
			link->too_long = vacant >= RTE_MIN(queue->slots, (uint16_t)UROCE_MEMIF_FRAME_SLOTS);
			break;
		}
		queue->next += used;
		vacant -= used;
		rte_pktmbuf_free(frames[done]);
	}
	if (done > 0) /* pairs with the acquire of the client, which reads them */
		__atomic_store_n(&queue->ring->tail, queue->next, __ATOMIC_RELEASE);
	return done;
}

void
uroce_memif_link_wake(struct memif_link *link, bool wanted)
{
	for (unsigned int i = 0; i < link->nb_in; i++)
		__atomic_store_n(&link->in[i].ring->flags, (uint16_t)(wanted ? 0 : MEMIF_RING_NO_WAKING),
				 __ATOMIC_RELAXED);
}
