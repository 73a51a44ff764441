/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A slice of a message's scatter/gather list, and a cursor through its contiguous pieces. On the engine's thread.
 */

#ifndef UROCE_TRANSPORT_PACKET_SLICE_H
#define UROCE_TRANSPORT_PACKET_SLICE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_debug.h>

#include "mem/mr.h"
#include "verbs/qp/qp.h"
#include "wire/packet.h"

/* A range of bytes of a message: its place in the scatter/gather list, and the rights that the keys must have. */
struct uroce_slice {
	const struct ibv_sge *sge;
	uint32_t num_sge;
	uint32_t offset;
	uint32_t length;
	uint32_t access;	/* enum ibv_access_flags that the keys must have */
	const struct ibv_pd *pd;	/* protection domain of the keys; NULL: the QP's */
	bool copy;		/* copy the memory, which may change before the frame leaves */
	bool only_stable;	/* reference the memory only if uroce_key_is_referable() */
};

/** Copy a packet's payload to the slice. @return 0 or -EACCES: nothing was written */
int uroce_slice_scatter(const struct uroce_qp *qp, const struct uroce_slice *slice,
			const struct uroce_packet *packet);
/** Copy slice->length bytes to the slice. @return 0 or -EACCES: nothing was written */
int uroce_slice_write(const struct uroce_qp *qp, const struct uroce_slice *slice, const uint8_t *bytes);
/** Copy the slice to dst. @return 0 or -EACCES */
int uroce_slice_gather(const struct uroce_qp *qp, const struct uroce_slice *slice, uint8_t *dst);

/* A position in a list of scatter/gather entries. */
struct uroce_cursor {
	const struct ibv_sge *sge;
	uint32_t left;		/* entries left, including sge */
	uint32_t offset;	/* byte offset within sge */
};

static inline struct uroce_cursor
uroce_cursor_at(const struct uroce_slice *s)
{
	struct uroce_cursor c = { .sge = s->sge, .left = s->num_sge, .offset = s->offset };

	while (c.left > 0 && c.offset >= c.sge->length) {
		c.offset -= c.sge->length;
		c.sge++;
		c.left--;
	}
	return c;
}

/** @return the protection domain of a slice's keys */
static inline const struct ibv_pd *
uroce_slice_pd(const struct uroce_qp *qp, const struct uroce_slice *s)
{
	return s->pd != NULL ? s->pd : qp->sq.pd;
}

/** Take the next contiguous piece of at most `want` bytes. @param addr	set to its address.
 * @return its length; 0: its key is not valid */
static inline uint32_t
uroce_cursor_next(struct uroce_cursor *c, const struct uroce_qp *qp, const struct uroce_slice *slice, uint32_t want,
		  const struct uroce_mr_key **key, uint64_t *addr)
{
	uint32_t n;

	while (c->left > 0 && c->sge->length == c->offset) {
		c->sge++;
		c->left--;
		c->offset = 0;
	}
	RTE_ASSERT(c->left > 0);
	n = RTE_MIN(want, c->sge->length - c->offset);
	*addr = c->sge->addr + c->offset;
	*key = uroce_key_lookup(&qp->dev->mrs, c->sge->lkey, uroce_slice_pd(qp, slice), &qp->windows, *addr, n,
				slice->access);
	if (unlikely(*key == NULL))
		return 0;
	c->offset += n;
	return n;
}

#endif /* UROCE_TRANSPORT_PACKET_SLICE_H */
