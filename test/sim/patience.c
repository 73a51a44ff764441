/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The table of harmed packets is indexed by a hash of end, QPN and PSN.
 */

#include "patience.h"

/* A key is never 0, which marks an empty slot, because no QPN is 0. */
static uint64_t
key_of(unsigned int to, uint32_t qpn, uint32_t psn)
{
	return (uint64_t)to << 48 | (uint64_t)qpn << 24 | psn;
}

static uint32_t
slot_of(uint64_t key)
{
	return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - PATIENCE_LOG2_SLOTS));
}

bool
patience_is_over(const struct patience *p, unsigned int to, uint32_t qpn, uint32_t psn, uint32_t most)
{
	uint64_t key = key_of(to, qpn, psn);
	uint32_t slot = slot_of(key);

	return p->keys[slot] == key && p->harmed[slot] >= most;
}

void
patience_try(struct patience *p, unsigned int to, uint32_t qpn, uint32_t psn)
{
	uint64_t key = key_of(to, qpn, psn);
	uint32_t slot = slot_of(key);

	if (p->keys[slot] != key) {
		p->keys[slot] = key;
		p->harmed[slot] = 0;
	}
	p->harmed[slot] += p->harmed[slot] < UINT8_MAX;
}
