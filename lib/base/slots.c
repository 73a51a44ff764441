/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Draws table slots and their identifiers so that known identifiers reveal nothing about the next one: slots are
 * random, and the low bits come from a permutation with a 128-bit secret. Each slot has its own permutation, and
 * gets a new one when all its identifiers have been used. Control threads hold the table's lock; threads that post
 * renew identifiers without it.
 */

#include <errno.h>
#include <stdlib.h>

#include <rte_bitops.h>
#include <rte_common.h>
#include <rte_debug.h>

#include "base/random.h"
#include "base/slots.h"

#define ROUNDS 8 /* the number that format-preserving encryption (NIST SP 800-38G, FF3-1) uses */

static inline uint64_t
rotate(uint64_t v, unsigned int bits)
{
	return v << bits | v >> (64 - bits);
}

static void
sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32) + v[3];
	v[2] += v[1];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

/* SipHash-1-3 of one word, without its length padding. */
static uint64_t
keyed_hash(const uint32_t secret[4], uint64_t word)
{
	const uint64_t k0 = (uint64_t)secret[1] << 32 | secret[0];
	const uint64_t k1 = (uint64_t)secret[3] << 32 | secret[2];
	uint64_t v[4] = {
		k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d,
		k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573,
	};

	v[3] ^= word;
	sip_round(v);
	v[0] ^= word;
	v[2] ^= 0xff;
	for (unsigned int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* A Feistel network over `bits` bits, which may be an odd number. Each round XORs one half with a hash of the other,
 * which can be undone: so the network is a permutation. */
static uint32_t
permute(const uint32_t secret[4], uint64_t tweak, uint32_t x, unsigned int bits)
{
	const unsigned int low_bits = bits / 2;
	uint32_t low = x & (RTE_BIT32(low_bits) - 1);
	uint32_t high = x >> low_bits;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		const uint64_t round = tweak ^ (uint64_t)(i + 1) << 32;

		if (i % 2 == 0)
			high ^= keyed_hash(secret, round ^ low) & (RTE_BIT32(bits - low_bits) - 1);
		else
			low ^= keyed_hash(secret, round ^ high) & (RTE_BIT32(low_bits) - 1);
	}
	return high << low_bits | low;
}

/* @return the slot's identifier after this number of uses */
static uint32_t
id_at(const struct uroce_slots *s, uint32_t slot, uint32_t uses)
{
	const unsigned int bits = s->id_bits - s->log2;
	const uint32_t cycle = uses >> bits;
	const uint64_t tweak = keyed_hash(s->secret, (uint64_t)slot << 32 | cycle);

	return slot << bits | permute(s->secret, tweak, uses & (RTE_BIT32(bits) - 1), bits);
}

#define RESERVED_IDS 3

/* 0 and 1 are QP0 and QP1, all ones the multicast QPN; a key of 0 resolves to nothing. */
static int
is_reserved(uint32_t id, unsigned int id_bits)
{
	return id <= 1 || id == UINT32_MAX >> (32 - id_bits);
}

int
uroce_slots_init(struct uroce_slots *s, unsigned int log2, unsigned int id_bits)
{
	const uint32_t n = RTE_BIT32(log2);

	/* at least four identifiers per slot, of which three may be reserved */
	RTE_VERIFY(id_bits <= 32 && log2 + 2 <= id_bits && id_bits - log2 < 32);
	s->order = malloc(n * sizeof(*s->order));
	s->uses = malloc(n * sizeof(*s->uses));
	if (s->order == NULL || s->uses == NULL) {
		free(s->order);
		free(s->uses);
		s->order = NULL;
		s->uses = NULL;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		s->order[i] = i;
		s->uses[i] = 0;
	}
	s->free = n;
	s->log2 = log2;
	s->id_bits = id_bits;
	for (unsigned int i = 0; i < RTE_DIM(s->secret); i++)
		s->secret[i] = uroce_random() >> 32;
	return 0;
}

void
uroce_slots_fini(struct uroce_slots *s)
{
	free(s->order);
	free(s->uses);
	s->order = NULL;
	s->uses = NULL;
	s->free = 0;
}

/* @return the identifier of the previous use, if this use begins a cycle: only then the two may be equal. Else 0 */
static uint32_t
id_before(const struct uroce_slots *s, uint32_t slot, uint32_t uses)
{
	const unsigned int bits = s->id_bits - s->log2;

	if ((uses & (RTE_BIT32(bits) - 1)) > RESERVED_IDS)
		return 0;
	while (uses > 0) {
		uint32_t id = id_at(s, slot, --uses);

		if (!is_reserved(id, s->id_bits))
			return id;
	}
	return 0;
}

/* May the slot have this identifier after this number of uses? */
static bool
is_usable(const struct uroce_slots *s, uint32_t slot, uint32_t uses, uint32_t id)
{
	return !is_reserved(id, s->id_bits) && id != id_before(s, slot, uses);
}

static uint32_t
next_id(struct uroce_slots *s, uint32_t slot)
{
	uint32_t id, uses;

	do {
		uses = __atomic_fetch_add(&s->uses[slot], 1, __ATOMIC_RELAXED);
		id = id_at(s, slot, uses);
	} while (!is_usable(s, slot, uses, id));
	return id;
}

/* @return what next_id() would return for a free slot */
static uint32_t
peek_id(const struct uroce_slots *s, uint32_t slot)
{
	uint32_t uses = __atomic_load_n(&s->uses[slot], __ATOMIC_RELAXED);
	uint32_t id = id_at(s, slot, uses);

	while (!is_usable(s, slot, uses, id))
		id = id_at(s, slot, ++uses);
	return id;
}

/* Take the free slot at this place of the order. */
static uint32_t
take(struct uroce_slots *s, uint32_t drawn)
{
	uint32_t slot = s->order[drawn];

	s->free--;
	s->order[drawn] = s->order[s->free];
	return next_id(s, slot);
}

int
uroce_slots_get(struct uroce_slots *s, uint32_t *id)
{
	if (s->free == 0)
		return -ENOMEM;
	*id = take(s, uroce_random_below(s->free));
	return 0;
}

/* A slot that is drawn in vain is left as it was, with its next identifier: the number of identifiers is limited. */
int
uroce_slots_get_if(struct uroce_slots *s, unsigned int draws, bool (*suits)(const void *arg, uint32_t id),
		   const void *arg, uint32_t *id)
{
	uint32_t drawn;

	if (s->free == 0)
		return -ENOMEM;
	drawn = uroce_random_below(s->free);
	while (draws-- > 1 && !suits(arg, peek_id(s, s->order[drawn])))
		drawn = uroce_random_below(s->free);
	*id = take(s, drawn);
	return 0;
}

uint32_t
uroce_slots_renew(struct uroce_slots *s, uint32_t id)
{
	return next_id(s, uroce_slots_index(s->log2, s->id_bits, id));
}

void
uroce_slots_put(struct uroce_slots *s, uint32_t id)
{
	RTE_VERIFY(s->free < RTE_BIT32(s->log2));
	s->order[s->free] = uroce_slots_index(s->log2, s->id_bits, id);
	s->free++;
}
