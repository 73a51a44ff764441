/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A set of PSNs that are less than UROCE_REORDER_WINDOW apart: what has come early, what the peer has, what has been
 * answered. A bit for each, at PSN modulo the window, so that a PSN that is passed makes room for one ahead. Whoever
 * has it, on one thread.
 */

#ifndef UROCE_TRANSPORT_PSN_SET_H
#define UROCE_TRANSPORT_PSN_SET_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "uroce_config.h"

#define UROCE_PSN_SET_WORDS (UROCE_REORDER_WINDOW / 64)

static_assert((UROCE_REORDER_WINDOW & (UROCE_REORDER_WINDOW - 1)) == 0 && UROCE_REORDER_WINDOW >= 64, "words of a set");

struct uroce_psn_set {
	uint64_t words[UROCE_PSN_SET_WORDS];
};

static inline uint32_t
uroce_psn_set_word(uint32_t psn)
{
	return (psn & (UROCE_REORDER_WINDOW - 1)) / 64;
}

/* Those of n PSNs from psn on that are in its word: how many, and their bits. */
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
	return (s->words[uroce_psn_set_word(psn)] >> (psn & 63) & 1) != 0;
}

/** Put n PSNs (at most the window) from psn on into the set, or take them out. */
static inline void
uroce_psn_set_put(struct uroce_psn_set *s, uint32_t psn, uint32_t n, bool in)
{
	uint64_t mask;
	uint32_t k;

	for (; n > 0; psn += k, n -= k) {
		uint64_t *word = &s->words[uroce_psn_set_word(psn)];

		k = uroce_psn_set_part(psn, n, &mask);
		*word = in ? *word | mask : *word & ~mask;
	}
}

/** Of n PSNs (at most the window) from psn on, how many are in the set, or are not, before the first for which that
 * is not so. */
static inline uint32_t
uroce_psn_set_run(const struct uroce_psn_set *s, uint32_t psn, uint32_t n, bool in)
{
	uint64_t mask, others;
	uint32_t k;

	for (uint32_t done = 0; done < n; psn += k, done += k) {
		uint64_t word = s->words[uroce_psn_set_word(psn)];

		k = uroce_psn_set_part(psn, n - done, &mask);
		others = (in ? ~word : word) & mask;
		if (others != 0)
			return done + (uint32_t)__builtin_ctzll(others) - (psn & 63);
	}
	return n;
}

#endif /* UROCE_TRANSPORT_PSN_SET_H */
