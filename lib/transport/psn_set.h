/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A bitmap of PSNs that are less than a reorder window apart, such as the packets in the reorder buffer or the packets
 * that the peer has received. The index of a PSN's bit is the PSN modulo the window, so a PSN that enters the window
 * reuses the bit of one that has left it. One thread at a time.
 */

#ifndef UROCE_TRANSPORT_PSN_SET_H
#define UROCE_TRANSPORT_PSN_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_common.h>

/* The number of words of a set. @param window	in PSNs, a power of two, 64 or more */
#define UROCE_PSN_SET_WORDS(window) ((window) / 64u)

struct uroce_psn_set {
	uint64_t *words;
	uint32_t window;
};

/** Empty the set. Its memory is large enough for this window. */
static inline void
uroce_psn_set_clear(struct uroce_psn_set *s, uint32_t window)
{
	s->window = window;
	memset(s->words, 0, UROCE_PSN_SET_WORDS(window) * sizeof(s->words[0]));
}

/** Make a set the same as another, whose window its memory is large enough for. */
static inline void
uroce_psn_set_copy(struct uroce_psn_set *s, const struct uroce_psn_set *from)
{
	s->window = from->window;
	memcpy(s->words, from->words, UROCE_PSN_SET_WORDS(from->window) * sizeof(s->words[0]));
}

static inline uint32_t
uroce_psn_set_word(const struct uroce_psn_set *s, uint32_t psn)
{
	return (psn & (s->window - 1)) / 64;
}

/* Of n PSNs from psn on, those in the same word as psn. @param mask	set to their bits. @return their number */
static inline uint32_t
uroce_psn_set_part(uint32_t psn, uint32_t n, uint64_t *mask)
{
	uint32_t k = RTE_MIN(n, 64 - (psn & 63));

	*mask = (~0ull >> (64 - k)) << (psn & 63);
	return k;
}

static inline bool
uroce_psn_set_has(const struct uroce_psn_set *s, uint32_t psn)
{
	return (s->words[uroce_psn_set_word(s, psn)] >> (psn & 63) & 1) != 0;
}

/** Add n PSNs (at most the window) from psn on to the set, or remove them. */
static inline void
uroce_psn_set_put(struct uroce_psn_set *s, uint32_t psn, uint32_t n, bool in)
{
	uint64_t mask;
	uint32_t k;

	for (; n > 0; psn += k, n -= k) {
		uint64_t *word = &s->words[uroce_psn_set_word(s, psn)];

		k = uroce_psn_set_part(psn, n, &mask);
		*word = in ? *word | mask : *word & ~mask;
	}
}

/** @return the length of the run of PSNs, from psn on, that are in the set (in) or not in it (!in); at most n, which is
 * at most the window */
static inline uint32_t
uroce_psn_set_run(const struct uroce_psn_set *s, uint32_t psn, uint32_t n, bool in)
{
	uint64_t mask, others;
	uint32_t k;

	for (uint32_t done = 0; done < n; psn += k, done += k) {
		uint64_t word = s->words[uroce_psn_set_word(s, psn)];

		k = uroce_psn_set_part(psn, n - done, &mask);
		others = (in ? ~word : word) & mask;
		if (others != 0)
			return done + (uint32_t)__builtin_ctzll(others) - (psn & 63);
	}
	return n;
}

/** @return how many of n PSNs (at most the window), from psn on, are in at least one of two sets of the same window */
static inline uint32_t
uroce_psn_set_either(const struct uroce_psn_set *a, const struct uroce_psn_set *b, uint32_t psn, uint32_t n)
{
	uint32_t found = 0, k;
	uint64_t mask;

	for (; n > 0; psn += k, n -= k) {
		uint32_t word = uroce_psn_set_word(a, psn);

		k = uroce_psn_set_part(psn, n, &mask);
		found += (uint32_t)__builtin_popcountll((a->words[word] | b->words[word]) & mask);
	}
	return found;
}

#endif /* UROCE_TRANSPORT_PSN_SET_H */
