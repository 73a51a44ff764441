/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Draws random table slots, and for each use of a slot an identifier (a QPN or a memory key) that no earlier use had,
 * until all identifiers are used up. The caller holds its table's lock, except for uroce_slots_renew().
 */

#ifndef UROCE_BASE_SLOTS_H
#define UROCE_BASE_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

/* An identifier has id_bits bits: the slot in the uppermost log2 bits, and below it the number of uses of the slot,
 * permuted with the table's secret. When all identifiers of a slot have been used, they return in another order. */
struct uroce_slots {
	uint32_t *order; /* free slots are order[0 .. free - 1] */
	uint32_t *uses;  /* per slot; atomic: renewing an identifier takes no lock */
	uint32_t free;
	uint8_t log2;
	uint8_t id_bits;
	uint32_t secret[4];
};

int uroce_slots_init(struct uroce_slots *s, unsigned int log2, unsigned int id_bits);
void uroce_slots_fini(struct uroce_slots *s);

/** @return 0, or -ENOMEM when every slot is in use */
int uroce_slots_get(struct uroce_slots *s, uint32_t *id);
/** As uroce_slots_get(), but draw up to `draws` slots until the identifier suits the caller. The last one may not. */
int uroce_slots_get_if(struct uroce_slots *s, unsigned int draws, bool (*suits)(const void *arg, uint32_t id),
		       const void *arg, uint32_t *id);
void uroce_slots_put(struct uroce_slots *s, uint32_t id);

/** Draw another identifier for the slot of `id`, which is in use. Any thread, without a lock: no two calls return the
 * same identifier before all identifiers of the slot have been used. */
uint32_t uroce_slots_renew(struct uroce_slots *s, uint32_t id);

static inline uint32_t
uroce_slots_index(unsigned int log2, unsigned int id_bits, uint32_t id)
{
	return id >> (id_bits - log2);
}

#endif /* UROCE_BASE_SLOTS_H */
