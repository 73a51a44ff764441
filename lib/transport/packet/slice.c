/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Copies payloads between a message's scatter/gather list and packets. On the engine's thread.
 */

#include <errno.h>

#include "transport/packet/slice.h"
#include "uroce_config.h"
#include "wire/copy.h"

struct piece {
	uint8_t *va;
	uint32_t n;
};

/* Resolve all pieces of a slice before any byte is written. @return the number of pieces, or -EACCES */
static __rte_always_inline int
resolve(const struct uroce_qp *qp, const struct uroce_slice *slice, struct piece pieces[UROCE_MAX_SGE])
{
	struct uroce_cursor c = uroce_cursor_at(slice);
	const struct uroce_mr_key *key;
	uint64_t addr;
	int count = 0;

	for (uint32_t done = 0; done < slice->length; done += pieces[count++].n) {
		RTE_ASSERT(count < UROCE_MAX_SGE);
		pieces[count].n = uroce_cursor_next(&c, qp, slice, slice->length - done, &key, &addr);
		if (unlikely(pieces[count].n == 0))
			return -EACCES;
		pieces[count].va = uroce_mr_va(key, addr);
	}
	return count;
}

int
uroce_slice_scatter(const struct uroce_qp *qp, const struct uroce_slice *slice,
		    const struct uroce_packet *packet)
{
	struct piece pieces[UROCE_MAX_SGE];
	int count = resolve(qp, slice, pieces);
	uint32_t done = 0;

	for (int i = 0; i < count; i++) {
		uroce_packet_copy(packet, done, pieces[i].va, pieces[i].n);
		done += pieces[i].n;
	}
	return RTE_MIN(count, 0);
}

int
uroce_slice_write(const struct uroce_qp *qp, const struct uroce_slice *slice, const uint8_t *bytes)
{
	struct piece pieces[UROCE_MAX_SGE];
	int count = resolve(qp, slice, pieces);

	for (int i = 0; i < count; i++) {
		uroce_place(pieces[i].va, bytes, pieces[i].n);
		bytes += pieces[i].n;
	}
	return RTE_MIN(count, 0);
}

int
uroce_slice_gather(const struct uroce_qp *qp, const struct uroce_slice *slice, uint8_t *dst)
{
	struct uroce_cursor c = uroce_cursor_at(slice);
	const struct uroce_mr_key *key;
	uint64_t addr;
	uint32_t n;

	for (uint32_t done = 0; done < slice->length; done += n) {
		n = uroce_cursor_next(&c, qp, slice, slice->length - done, &key, &addr);
		if (unlikely(n == 0))
			return -EACCES;
		uroce_copy(dst + done, uroce_mr_va(key, addr), n);
	}
	return 0;
}
