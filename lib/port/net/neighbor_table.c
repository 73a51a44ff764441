/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The storage of the neighbor table. The entry of an address is found by a hash table, the next entry that is due by a
 * heap, the entries of a MAC address by buckets, and an entry to evict by a queue. So no operation takes longer because
 * the table is large. Workers and control threads, under the table's lock.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_debug.h>
#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_jhash.h>
#include <rte_malloc.h>

#include "base/random.h"
#include "port/counters.h"
#include "port/net/neighbor_table.h"

#define MACS_PER_BUCKET 4
#define HASH_ENTRY_BYTES 80 /* of rte_hash and of macs, about */

/* Copy the address first: in a frame it may be unaligned, and rte_jhash() requires alignment. */
static uint32_t
address_hash(const void *addr, uint32_t length, uint32_t seed)
{
	uint32_t words[4];

	RTE_VERIFY(length == sizeof(words));
	memcpy(words, addr, sizeof(words));
	return rte_jhash_32b(words, RTE_DIM(words), seed);
}

static int
hash_init(struct uroce_neighbors *t, const char *name, int numa_node)
{
	char hash_name[RTE_HASH_NAMESIZE];
	struct rte_hash_parameters params = {
		.name = hash_name,
		.entries = t->capacity,
		.key_len = sizeof(((struct uroce_neighbor *)NULL)->addr),
		.hash_func = address_hash,
		.hash_func_init_val = t->seed,
		.socket_id = numa_node,
		.extra_flag = RTE_HASH_EXTRA_FLAGS_EXT_TABLE,
	};

	snprintf(hash_name, sizeof(hash_name), "nb_%s", name);
	t->hash = rte_hash_create(&params);
	return t->hash != NULL ? 0 : -rte_errno;
}

static void
pending_init(struct uroce_neighbors *t)
{
	for (unsigned int i = 0; i < UROCE_NEIGHBORS_PENDING; i++)
		t->pending[i].next = (uint8_t)(i + 1);
}

int
uroce_neighbors_init(struct uroce_neighbors *t, const char *name, uint32_t capacity,
		      int numa_node)
{
	int ret = -ENOMEM;

	memset(t, 0, sizeof(*t));
	rte_spinlock_init(&t->lock);
	TAILQ_INIT(&t->unused);
	pending_init(t);
	t->capacity = capacity;
	t->seed = (uint32_t)uroce_random();
	t->mac_mask = rte_align32pow2(RTE_MAX(capacity / MACS_PER_BUCKET, 1u)) - 1;
	t->entries = rte_zmalloc_socket("uroce_neighbors", capacity * sizeof(*t->entries), RTE_CACHE_LINE_SIZE,
					numa_node);
	t->by_due = rte_zmalloc_socket("uroce_neighbors", capacity * sizeof(*t->by_due), RTE_CACHE_LINE_SIZE,
				       numa_node);
	t->macs = rte_zmalloc_socket("uroce_neighbors", (t->mac_mask + 1) * sizeof(*t->macs), RTE_CACHE_LINE_SIZE,
				     numa_node);
	if (t->entries != NULL && t->by_due != NULL && t->macs != NULL)
		ret = hash_init(t, name, numa_node);
	if (ret < 0)
		uroce_neighbors_fini(t);
	return ret;
}

/* rte_hash has buckets of eight entries in a cache line or two, its keys, and as much again for EXT_TABLE. */
size_t
uroce_neighbors_bytes(uint32_t capacity)
{
	return capacity * (sizeof(struct uroce_neighbor) + sizeof(void *) + HASH_ENTRY_BYTES);
}

void
uroce_neighbors_fini(struct uroce_neighbors *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		uroce_neighbor_drop(t, t->by_due[i]);
	rte_hash_free(t->hash);
	rte_free(t->macs);
	rte_free(t->by_due);
	rte_free(t->entries);
}

struct uroce_neighbor *
uroce_neighbor_find(struct uroce_neighbors *t, const uint8_t addr[16])
{
	uint32_t key[4]; /* an aligned copy: an address in a frame may be unaligned */
	int32_t position;

	memcpy(key, addr, sizeof(key));
	position = rte_hash_lookup(t->hash, key);
	return position >= 0 ? &t->entries[position] : NULL;
}

/* Put the entry at a position of the heap. */
static void
heap_put(struct uroce_neighbors *t, uint32_t position, struct uroce_neighbor *n)
{
	t->by_due[position] = n;
	n->position = position;
}

/* Move the entry up or down the heap, from a position that it may leave empty, to where its due_ns belongs. */
static void
heap_sift(struct uroce_neighbors *t, uint32_t position, struct uroce_neighbor *n)
{
	uint32_t child;

	for (; position > 0 && t->by_due[(position - 1) / 2]->due_ns > n->due_ns; position = (position - 1) / 2)
		heap_put(t, position, t->by_due[(position - 1) / 2]);
	for (; (child = 2 * position + 1) < t->count; position = child) {
		if (child + 1 < t->count && t->by_due[child + 1]->due_ns < t->by_due[child]->due_ns)
			child++;
		if (t->by_due[child]->due_ns >= n->due_ns)
			break;
		heap_put(t, position, t->by_due[child]);
	}
	heap_put(t, position, n);
}

void
uroce_neighbor_schedule(struct uroce_neighbors *t, struct uroce_neighbor *n, uint64_t due_ns)
{
	n->due_ns = due_ns;
	heap_sift(t, n->position, n);
}

struct uroce_neighbor *
uroce_neighbor_add(struct uroce_neighbors *t, const uint8_t addr[16])
{
	struct uroce_neighbor *n;
	uint32_t key[4];
	int32_t position;

	if (t->count == t->capacity) {
		if (TAILQ_EMPTY(&t->unused))
			return NULL;
		uroce_neighbor_remove(t, TAILQ_FIRST(&t->unused));
	}
	memcpy(key, addr, sizeof(key));
	position = rte_hash_add_key(t->hash, key);
	if (position < 0)
		return NULL;
	RTE_VERIFY((uint32_t)position < t->capacity);
	n = &t->entries[position];
	memset(n, 0, sizeof(*n));
	memcpy(n->addr, addr, sizeof(n->addr));
	TAILQ_INSERT_TAIL(&t->unused, n, unused);
	__atomic_store_n(&t->count, t->count + 1, __ATOMIC_RELAXED);
	heap_sift(t, t->count - 1, n);
	return n;
}

void
uroce_neighbor_remove(struct uroce_neighbors *t, struct uroce_neighbor *n)
{
	struct uroce_neighbor *last = t->by_due[t->count - 1];

	RTE_VERIFY(n->refs == 0);
	__atomic_store_n(&t->count, t->count - 1, __ATOMIC_RELAXED);
	uroce_neighbor_drop(t, n);
	uroce_neighbor_set_known(t, n, 0);
	TAILQ_REMOVE(&t->unused, n, unused);
	if (last != n)
		heap_sift(t, n->position, last);
	rte_hash_del_key(t->hash, n->addr);
	__atomic_store_n(&n->lladdr, 0, __ATOMIC_RELAXED);
	n->state = UROCE_NEIGHBOR_FREE;
}

void
uroce_neighbor_ref(struct uroce_neighbors *t, struct uroce_neighbor *n)
{
	if (n->refs++ == 0)
		TAILQ_REMOVE(&t->unused, n, unused);
}

void
uroce_neighbor_unref(struct uroce_neighbors *t, struct uroce_neighbor *n)
{
	RTE_VERIFY(n->refs > 0);
	if (--n->refs == 0)
		TAILQ_INSERT_TAIL(&t->unused, n, unused);
}

struct uroce_neighbor_macs *
uroce_neighbors_with(struct uroce_neighbors *t, uint64_t lladdr)
{
	return &t->macs[rte_jhash_2words((uint32_t)lladdr, (uint32_t)(lladdr >> 32), t->seed) & t->mac_mask];
}

void
uroce_neighbor_set_known(struct uroce_neighbors *t, struct uroce_neighbor *n, uint64_t lladdr)
{
	if (n->known != 0)
		LIST_REMOVE(n, same_mac);
	n->known = lladdr;
	if (lladdr != 0)
		LIST_INSERT_HEAD(uroce_neighbors_with(t, lladdr), n, same_mac);
}

bool
uroce_neighbor_keep(struct uroce_neighbors *t, struct uroce_neighbor *n, struct rte_mbuf *m)
{
	struct uroce_neighbor_frame *frame = &t->pending[t->free_pending];
	uint8_t slot = t->free_pending;

	if (n->nb_pending == UROCE_NEIGHBOR_PENDING || t->nb_pending == UROCE_NEIGHBORS_PENDING)
		return false;
	t->free_pending = frame->next;
	frame->mbuf = m;
	frame->next = slot;
	if (n->nb_pending != 0) {
		frame->next = t->pending[n->pending].next;
		t->pending[n->pending].next = slot;
	}
	n->pending = slot;
	n->nb_pending++;
	t->nb_pending++;
	return true;
}

unsigned int
uroce_neighbor_take(struct uroce_neighbors *t, struct uroce_neighbor *n, struct rte_mbuf **frames)
{
	unsigned int count = n->nb_pending;
	uint8_t slot;

	if (count == 0)
		return 0;
	slot = t->pending[n->pending].next;
	for (unsigned int i = 0; i < count; i++, slot = t->pending[slot].next)
		frames[i] = t->pending[slot].mbuf;
	/* the circle becomes the head of the list of free slots; slot is its first again */
	t->pending[n->pending].next = t->free_pending;
	t->free_pending = slot;
	t->nb_pending -= count;
	n->nb_pending = 0;
	return count;
}

void
uroce_neighbor_drop(struct uroce_neighbors *t, struct uroce_neighbor *n)
{
	struct rte_mbuf *frames[UROCE_NEIGHBOR_PENDING];
	unsigned int count = uroce_neighbor_take(t, n, frames);

	rte_pktmbuf_free_bulk(frames, count);
	uroce_counter_add(&t->dropped, count);
}
