/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The neighbors' states. A path, a ping or a request of rdma_cm creates an entry, and the reply to a probe resolves
 * it. An aged entry is probed again. An entry stays while a path points to it. Workers and control threads, under
 * the table's lock.
 */

#include <errno.h>
#include <string.h>

#include <rte_debug.h>

#include "port/net/neighbor.h"
#include "port/net/neighbor_table.h"

#define MAX_BACKOFF 5 /* doublings */

/* Probe the neighbor at once. */
static void
ask(struct uroce_neighbors *t, struct uroce_neighbor *n)
{
	n->state = UROCE_NEIGHBOR_INCOMPLETE;
	n->probes = 0;
	uroce_neighbor_schedule(t, n, 0);
}

static struct uroce_neighbor *
find_or_add(struct uroce_neighbors *t, const uint8_t addr[16])
{
	struct uroce_neighbor *n = uroce_neighbor_find(t, addr);

	if (n != NULL)
		return n;
	n = uroce_neighbor_add(t, addr);
	if (n != NULL)
		ask(t, n);
	return n;
}

struct uroce_neighbor *
uroce_neighbor_get(struct uroce_neighbors *t, const uint8_t addr[16])
{
	struct uroce_neighbor *n;

	rte_spinlock_lock(&t->lock);
	n = find_or_add(t, addr);
	if (n != NULL) {
		if (n->state == UROCE_NEIGHBOR_FAILED)
			ask(t, n);
		uroce_neighbor_ref(t, n);
	}
	rte_spinlock_unlock(&t->lock);
	return n;
}

void
uroce_neighbor_put(struct uroce_neighbors *t, struct uroce_neighbor *n, uint64_t now_ns)
{
	rte_spinlock_lock(&t->lock);
	uroce_neighbor_unref(t, n);
	/* an entry without users is not probed again: it expires at its age limit */
	if (n->refs == 0)
		uroce_neighbor_schedule(t, n, RTE_MIN(n->due_ns, now_ns + UROCE_NEIGHBOR_AGE_NS));
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
answer_state(struct uroce_neighbors *t, struct uroce_neighbor *n, uint64_t now_ns)
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
	ask(t, n);
	return -EINPROGRESS;
}

int
uroce_neighbor_ask(struct uroce_neighbors *t, const uint8_t addr[16], uint64_t now_ns)
{
	struct uroce_neighbor *n;
	int ret = -ENOBUFS;

	rte_spinlock_lock(&t->lock);
	n = find_or_add(t, addr);
	if (n != NULL)
		ret = answer_state(t, n, now_ns);
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
	n = uroce_neighbor_find(t, addr);
	if (n == NULL)
		goto unlock;
	if (n->lladdr != 0) {
		memcpy(mac, &n->lladdr, sizeof(*mac));
		hold = UROCE_HOLD_RESOLVED;
		goto unlock;
	}
	if (!uroce_neighbor_keep(t, n, m))
		goto unlock;
	hold = UROCE_HOLD_KEPT;
	if (n->state == UROCE_NEIGHBOR_FAILED) {
		ask(t, n);
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
	n = uroce_neighbor_find(t, addr);
	if (n == NULL)
		goto unlock;
	if (n->lladdr != 0 && n->lladdr != word && (how & UROCE_NEIGHBOR_OVERRIDE) == 0)
		goto unlock;
	/* only an answer to a probe confirms an entry and resets its age */
	if (n->lladdr == word && (how & UROCE_NEIGHBOR_SOLICITED) == 0)
		goto unlock;
	__atomic_store_n(&n->lladdr, word, __ATOMIC_RELAXED);
	uroce_neighbor_set_known(t, n, word);
	n->state = UROCE_NEIGHBOR_REACHABLE;
	n->probes = 0;
	uroce_neighbor_schedule(t, n, now_ns + UROCE_NEIGHBOR_AGE_NS);
	count = uroce_neighbor_take(t, n, frames);
unlock:
	rte_spinlock_unlock(&t->lock);
	return count;
}

/* The entry has aged, or has not answered the last probe. @return false: the neighbor does not answer */
static bool
may_answer(struct uroce_neighbors *t, struct uroce_neighbor *n)
{
	if (n->state == UROCE_NEIGHBOR_REACHABLE) {
		n->state = UROCE_NEIGHBOR_PROBED;
		return true;
	}
	if (n->probes < UROCE_NEIGHBOR_PROBES)
		return true;
	if (n->state != UROCE_NEIGHBOR_PROBED)
		return false;
	/* the neighbor may have a new MAC address: broadcast the probe, as for an unknown one */
	__atomic_store_n(&n->lladdr, 0, __ATOMIC_RELAXED);
	ask(t, n);
	return true;
}

/* The entry stays while a path points to it. */
static void
give_up(struct uroce_neighbors *t, struct uroce_neighbor *n, uint64_t now_ns)
{
	uroce_neighbor_drop(t, n);
	n->state = UROCE_NEIGHBOR_FAILED;
	uroce_neighbor_schedule(t, n, n->refs != 0 ? UINT64_MAX : now_ns + UROCE_NEIGHBOR_AGE_NS);
}

static void
probe(struct uroce_neighbors *t, struct uroce_neighbor *n, struct uroce_probe *p, uint64_t now_ns)
{
	memcpy(p->addr, n->addr, sizeof(p->addr));
	memcpy(&p->mac, &n->lladdr, sizeof(p->mac));
	uroce_neighbor_schedule(t, n, now_ns + (UROCE_NEIGHBOR_PROBE_NS << RTE_MIN(n->probes, MAX_BACKOFF)));
	n->probes++;
}

unsigned int
uroce_neighbors_due(struct uroce_neighbors *t, uint64_t now_ns, struct uroce_probe *probes,
		     unsigned int room, uint64_t *next_ns)
{
	unsigned int count = 0;

	rte_spinlock_lock(&t->lock);
	while (t->count != 0 && t->by_due[0]->due_ns <= now_ns && count < room) {
		struct uroce_neighbor *n = t->by_due[0];

		if (n->refs == 0 && n->nb_pending == 0 && n->wanted_ns <= now_ns)
			uroce_neighbor_remove(t, n);
		else if (n->state != UROCE_NEIGHBOR_FAILED && may_answer(t, n))
			probe(t, n, &probes[count++], now_ns);
		else
			give_up(t, n, now_ns);
	}
	*next_ns = t->count != 0 ? RTE_MAX(t->by_due[0]->due_ns, now_ns) : UINT64_MAX;
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
		ask(t, n);
	}
	rte_spinlock_unlock(&t->lock);
}

void
uroce_neighbors_purge(struct uroce_neighbors *t)
{
	rte_spinlock_lock(&t->lock);
	for (uint32_t i = 0; i < t->count; i++)
		uroce_neighbor_drop(t, t->by_due[i]);
	rte_spinlock_unlock(&t->lock);
}

bool
uroce_neighbors_depart(struct uroce_neighbors *t, const struct rte_ether_addr *mac)
{
	const uint64_t word = uroce_neighbor_mac_word(mac);
	struct uroce_neighbor *n;
	bool found = false;
	uint64_t now;

	if (!rte_is_valid_assigned_ether_addr(mac))
		return false;
	rte_spinlock_lock(&t->lock);
	now = t->departures + 1;
	LIST_FOREACH(n, uroce_neighbors_with(t, word), same_mac) {
		if (n->known != word)
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
	n = uroce_neighbor_find(t, addr);
	departed = n != NULL && n->departed > since;
	rte_spinlock_unlock(&t->lock);
	return departed;
}
