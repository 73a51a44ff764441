/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The neighbor table. A path, a ping or a request of rdma_cm creates an entry, and the reply to a probe resolves
 * it. An aged entry is probed again. An entry stays while a path points to it. Workers and control threads, under
 * the table's lock.
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
#include "port/net/neighbor.h"

#define MAX_BACKOFF 5 /* doublings */

/* Copy the address first: in a frame it may be unaligned, and rte_jhash() requires alignment. */
static uint32_t
address_hash(const void *addr, uint32_t length, uint32_t seed)
{
	uint32_t words[4];

	RTE_VERIFY(length == sizeof(words));
	memcpy(words, addr, sizeof(words));
	return rte_jhash_32b(words, RTE_DIM(words), seed);
}

int
uroce_neighbors_init(struct uroce_neighbors *t, const char *name, uint32_t capacity,
		      int numa_node)
{
	char hash_name[RTE_HASH_NAMESIZE];
	struct rte_hash_parameters params = {
		.name = hash_name,
		.entries = capacity,
		.key_len = sizeof(((struct uroce_neighbor *)NULL)->addr),
		.hash_func = address_hash,
		.hash_func_init_val = (uint32_t)uroce_random(),
		.socket_id = numa_node,
		.extra_flag = RTE_HASH_EXTRA_FLAGS_EXT_TABLE,
	};

	memset(t, 0, sizeof(*t));
	rte_spinlock_init(&t->lock);
	t->capacity = capacity;
	snprintf(hash_name, sizeof(hash_name), "nb_%s", name);
	t->entries = rte_zmalloc_socket("uroce_neighbors", capacity * sizeof(*t->entries),
					RTE_CACHE_LINE_SIZE, numa_node);
	if (t->entries == NULL)
		return -ENOMEM;
	t->hash = rte_hash_create(&params);
	if (t->hash == NULL) {
		rte_free(t->entries);
		return -rte_errno;
	}
	return 0;
}

static void
drop_pending(struct uroce_neighbors *t, struct uroce_neighbor *n)
{
	rte_pktmbuf_free_bulk(n->pending, n->nb_pending);
	uroce_counter_add(&t->dropped, n->nb_pending);
	t->nb_pending -= n->nb_pending;
	n->nb_pending = 0;
}

void
uroce_neighbors_fini(struct uroce_neighbors *t)
{
	for (uint32_t i = 0; i < t->capacity; i++)
		drop_pending(t, &t->entries[i]);
	rte_hash_free(t->hash);
	rte_free(t->entries);
}

static struct uroce_neighbor *
find(struct uroce_neighbors *t, const uint8_t addr[16])
{
	uint32_t key[4]; /* an aligned copy: an address in a frame may be unaligned */
	int32_t position;

	memcpy(key, addr, sizeof(key));
	position = rte_hash_lookup(t->hash, key);
	return position >= 0 ? &t->entries[position] : NULL;
}

static void
entry_remove(struct uroce_neighbors *t, struct uroce_neighbor *n)
{
	RTE_VERIFY(n->refs == 0);
	drop_pending(t, n);
	rte_hash_del_key(t->hash, n->addr);
	__atomic_store_n(&n->lladdr, 0, __ATOMIC_RELAXED);
	n->state = UROCE_NEIGHBOR_FREE;
}

/* Make room: remove an entry that no path points to. @return false: there is none */
static bool
evict(struct uroce_neighbors *t)
{
	for (uint32_t i = 0; i < t->capacity; i++) {
		struct uroce_neighbor *n = &t->entries[i];

		if (n->state != UROCE_NEIGHBOR_FREE && n->refs == 0) {
			entry_remove(t, n);
			return true;
		}
	}
	return false;
}

static void
ask(struct uroce_neighbor *n)
{
	n->state = UROCE_NEIGHBOR_INCOMPLETE;
	n->probes = 0;
	n->due_ns = 0;
}

static struct uroce_neighbor *
add(struct uroce_neighbors *t, const uint8_t addr[16])
{
	struct uroce_neighbor *n;
	uint32_t key[4];
	int32_t position;

	if (rte_hash_count(t->hash) >= (int32_t)t->capacity && !evict(t))
		return NULL;
	memcpy(key, addr, sizeof(key));
	position = rte_hash_add_key(t->hash, key);
	if (position < 0)
		return NULL;
	RTE_VERIFY((uint32_t)position < t->capacity);
	n = &t->entries[position];
	memcpy(n->addr, addr, sizeof(n->addr));
	n->wanted_ns = 0;
	n->known = 0;
	n->departed = 0;
	ask(n);
	return n;
}

struct uroce_neighbor *
uroce_neighbor_get(struct uroce_neighbors *t, const uint8_t addr[16])
{
	struct uroce_neighbor *n;

	rte_spinlock_lock(&t->lock);
	n = find(t, addr);
	if (n == NULL)
		n = add(t, addr);
	else if (n->state == UROCE_NEIGHBOR_FAILED)
		ask(n);
	if (n != NULL)
		n->refs++;
	rte_spinlock_unlock(&t->lock);
	return n;
}

void
uroce_neighbor_put(struct uroce_neighbors *t, struct uroce_neighbor *n, uint64_t now_ns)
{
	rte_spinlock_lock(&t->lock);
	RTE_VERIFY(n->refs > 0);
	n->refs--;
	/* an entry without users is not probed again: it expires at its age limit */
	if (n->refs == 0)
		n->due_ns = RTE_MIN(n->due_ns, now_ns + UROCE_NEIGHBOR_AGE_NS);
	rte_spinlock_unlock(&t->lock);
}

void
uroce_neighbor_put_lladdr(struct uroce_neighbors *t, const uint64_t *lladdr, uint64_t now_ns)
{
	size_t offset = (size_t)((const uint8_t *)lladdr - (const uint8_t *)t->entries);

	RTE_VERIFY(offset / sizeof(*t->entries) < t->capacity);
	uroce_neighbor_put(t, &t->entries[offset / sizeof(*t->entries)], now_ns);
}

/* The result of uroce_neighbor_ask(). Under the lock. */
static int
answer_state(struct uroce_neighbor *n, uint64_t now_ns)
{
	bool asked = n->wanted_ns > now_ns;

	n->wanted_ns = now_ns + UROCE_NEIGHBOR_WANTED_NS;
	if (n->lladdr != 0)
		return 0;
	if (n->state != UROCE_NEIGHBOR_FAILED)
		return -EINPROGRESS;
	if (asked) {
		n->wanted_ns = 0; /* reported once: the next call starts a new probe */
		return -EHOSTUNREACH;
	}
	ask(n);
	return -EINPROGRESS;
}

int
uroce_neighbor_ask(struct uroce_neighbors *t, const uint8_t addr[16], uint64_t now_ns)
{
	struct uroce_neighbor *n;
	int ret = -ENOBUFS;

	rte_spinlock_lock(&t->lock);
	n = find(t, addr);
	if (n == NULL)
		n = add(t, addr);
	if (n != NULL)
		ret = answer_state(n, now_ns);
	rte_spinlock_unlock(&t->lock);
	return ret;
}

enum uroce_hold
uroce_neighbor_hold(struct uroce_neighbors *t, const uint8_t addr[16], struct rte_mbuf *m,
		     struct rte_ether_addr *mac)
{
	enum uroce_hold hold = UROCE_HOLD_FULL;
	struct uroce_neighbor *n;

	rte_spinlock_lock(&t->lock);
	n = find(t, addr);
	if (n == NULL)
		goto unlock;
	if (n->lladdr != 0) {
		memcpy(mac, &n->lladdr, sizeof(*mac));
		hold = UROCE_HOLD_RESOLVED;
		goto unlock;
	}
	if (n->nb_pending == UROCE_NEIGHBOR_PENDING || t->nb_pending == UROCE_NEIGHBORS_PENDING)
		goto unlock;
	n->pending[n->nb_pending++] = m;
	t->nb_pending++;
	hold = UROCE_HOLD_KEPT;
	if (n->state == UROCE_NEIGHBOR_FAILED) {
		ask(n);
		hold = UROCE_HOLD_KEPT_DUE;
	}
unlock:
	rte_spinlock_unlock(&t->lock);
	return hold;
}

unsigned int
uroce_neighbor_learn(struct uroce_neighbors *t, const uint8_t addr[16],
		      const struct rte_ether_addr *mac, unsigned int how, uint64_t now_ns,
		      struct rte_mbuf **frames)
{
	uint64_t word = uroce_neighbor_mac_word(mac);
	struct uroce_neighbor *n;
	unsigned int count = 0;

	if (!rte_is_valid_assigned_ether_addr(mac))
		return 0;
	rte_spinlock_lock(&t->lock);
	n = find(t, addr);
	if (n == NULL)
		goto unlock;
	if (n->lladdr != 0 && n->lladdr != word && (how & UROCE_NEIGHBOR_OVERRIDE) == 0)
		goto unlock;
	/* only an answer to a probe confirms an entry and resets its age */
	if (n->lladdr == word && (how & UROCE_NEIGHBOR_SOLICITED) == 0)
		goto unlock;
	__atomic_store_n(&n->lladdr, word, __ATOMIC_RELAXED);
	n->known = word;
	n->state = UROCE_NEIGHBOR_REACHABLE;
	n->probes = 0;
	n->due_ns = now_ns + UROCE_NEIGHBOR_AGE_NS;
	count = n->nb_pending;
	memcpy(frames, n->pending, count * sizeof(*frames));
	t->nb_pending -= count;
	n->nb_pending = 0;
unlock:
	rte_spinlock_unlock(&t->lock);
	return count;
}

/* The entry has aged, or has not answered the last probe. @return whether to probe it again */
static bool
overdue(struct uroce_neighbors *t, struct uroce_neighbor *n, uint64_t now_ns)
{
	switch (n->state) {
	case UROCE_NEIGHBOR_REACHABLE: n->state = UROCE_NEIGHBOR_PROBED; return true;
	case UROCE_NEIGHBOR_PROBED:
		if (n->probes < UROCE_NEIGHBOR_PROBES)
			return true;
		/* the neighbor may have a new MAC address: broadcast the probe, as for an unknown one */
		__atomic_store_n(&n->lladdr, 0, __ATOMIC_RELAXED);
		ask(n);
		return true;
	case UROCE_NEIGHBOR_INCOMPLETE:
		if (n->probes < UROCE_NEIGHBOR_PROBES)
			return true;
		drop_pending(t, n);
		n->state = UROCE_NEIGHBOR_FAILED;
		/* the entry stays while a path points to it */
		n->due_ns = n->refs != 0 ? UINT64_MAX : now_ns + UROCE_NEIGHBOR_AGE_NS;
		return false;
	default: n->due_ns = UINT64_MAX; return false;
	}
}

static void
probe(struct uroce_neighbor *n, struct uroce_probe *p, uint64_t now_ns)
{
	memcpy(p->addr, n->addr, sizeof(p->addr));
	memcpy(&p->mac, &n->lladdr, sizeof(p->mac));
	n->due_ns = now_ns + (UROCE_NEIGHBOR_PROBE_NS << RTE_MIN(n->probes, MAX_BACKOFF));
	n->probes++;
}

unsigned int
uroce_neighbors_due(struct uroce_neighbors *t, uint64_t now_ns, struct uroce_probe *probes,
		     unsigned int room, uint64_t *next_ns)
{
	unsigned int count = 0;

	*next_ns = UINT64_MAX;
	rte_spinlock_lock(&t->lock);
	for (uint32_t i = 0; i < t->capacity; i++) {
		struct uroce_neighbor *n = &t->entries[i];

		if (n->state == UROCE_NEIGHBOR_FREE)
			continue;
		if (n->due_ns <= now_ns) {
			if (count == room) {
				*next_ns = now_ns;
				break;
			}
			if (n->refs == 0 && n->nb_pending == 0 && n->wanted_ns <= now_ns) {
				entry_remove(t, n);
				continue;
			}
			if (overdue(t, n, now_ns))
				probe(n, &probes[count++], now_ns);
		}
		*next_ns = RTE_MIN(*next_ns, n->due_ns);
	}
	rte_spinlock_unlock(&t->lock);
	return count;
}

void
uroce_neighbors_link(struct uroce_neighbors *t, bool up)
{
	rte_spinlock_lock(&t->lock);
	for (uint32_t i = 0; i < t->capacity; i++) {
		struct uroce_neighbor *n = &t->entries[i];

		if (n->state == UROCE_NEIGHBOR_FREE || (up && n->lladdr != 0))
			continue;
		__atomic_store_n(&n->lladdr, 0, __ATOMIC_RELAXED);
		ask(n);
	}
	rte_spinlock_unlock(&t->lock);
}

void
uroce_neighbors_purge(struct uroce_neighbors *t)
{
	rte_spinlock_lock(&t->lock);
	for (uint32_t i = 0; i < t->capacity; i++)
		drop_pending(t, &t->entries[i]);
	rte_spinlock_unlock(&t->lock);
}

bool
uroce_neighbors_depart(struct uroce_neighbors *t, const struct rte_ether_addr *mac)
{
	const uint64_t word = uroce_neighbor_mac_word(mac);
	bool found = false;
	uint64_t now;

	if (!rte_is_valid_assigned_ether_addr(mac))
		return false;
	rte_spinlock_lock(&t->lock);
	now = t->departures + 1;
	for (uint32_t i = 0; i < t->capacity; i++) {
		struct uroce_neighbor *n = &t->entries[i];

		if (n->state == UROCE_NEIGHBOR_FREE || n->known != word)
			continue;
		n->departed = now;
		found = true;
	}
	/* pairs with the acquire in uroce_departures_now() */
	if (found)
		__atomic_store_n(&t->departures, now, __ATOMIC_RELEASE);
	rte_spinlock_unlock(&t->lock);
	return found;
}

bool
uroce_neighbor_departed(struct uroce_neighbors *t, const uint8_t addr[16], uint64_t since)
{
	const struct uroce_neighbor *n;
	bool departed;

	rte_spinlock_lock(&t->lock);
	n = find(t, addr);
	departed = n != NULL && n->departed > since;
	rte_spinlock_unlock(&t->lock);
	return departed;
}
