/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Builds a packet from its description. A payload in the caller's bytes, or an empty one, shares one mbuf with the
 * headers. A payload in registered memory is copied, or attached as external mbufs, with one more mbuf for pad and
 * ICRC. On the engine's thread.
 */

#include <errno.h>
#include <string.h>

#include <rte_mbuf.h>

#include "transport/packet/packet.h"
#include "transport/packet/tx_inline.h"
#include "uroce_config.h"
#include "wire/icrc.h"

/* Allocate the first mbuf and write the headers to it. */
static __rte_noinline struct rte_mbuf *
begin(struct rte_mempool *pool, const struct uroce_qp *qp, const struct uroce_packet_desc *d, bool chained)
{
	struct rte_mbuf *m = uroce_mbuf_alloc(pool, chained, chained ? 1 : uroce_mbuf_lines(d->slice->length));
	uint8_t *end;

	if (unlikely(m == NULL))
		return NULL;
	end = uroce_put_headers(m, qp, d, d->slice->length);
	m->data_len = (uint16_t)(end - rte_pktmbuf_mtod(m, uint8_t *));
	m->pkt_len = m->data_len;
	return m;
}

static void
finish(const struct uroce_qp *qp, struct rte_mbuf *head, struct rte_mbuf *tail, const struct uroce_packet_desc *d)
{
	const struct uroce_template *t = &d->path->headers;

	if (uroce_packet_no_icrc(qp, d->path))
		uroce_icrc_leave_out(head, tail, -d->slice->length & 3);
	else
		uroce_icrc_append(head, tail, t->l2_bytes, t->l2_bytes + t->l3_bytes, -d->slice->length & 3);
}

static int
build_copied(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_packet_desc *d,
	     struct rte_mbuf **out)
{
	const uint32_t length = d->slice->length;
	struct rte_mbuf *m = begin(uroce_pool_for(e, length), qp, d, false);
	int ret;

	if (unlikely(m == NULL))
		return -ENOBUFS;
	ret = uroce_slice_gather(qp, d->slice, rte_pktmbuf_mtod_offset(m, uint8_t *, m->data_len));
	if (unlikely(ret != 0)) {
		rte_pktmbuf_free(m);
		return ret;
	}
	m->data_len += (uint16_t)length;
	m->pkt_len += length;
	finish(qp, m, m, d);
	*out = m;
	return 0;
}

/* Append a new mbuf to *tail. */
static int
append(struct uroce_engine *e, struct rte_mbuf *head, struct rte_mbuf **tail)
{
	struct rte_mbuf *m = uroce_mbuf_alloc(e->header_pool, true, 1);

	if (unlikely(m == NULL))
		return -ENOBUFS;
	(*tail)->next = m;
	*tail = m;
	head->nb_segs++;
	return 0;
}

/* Chain the slice to the head as external mbufs, and one more mbuf. That mbuf is for the pad and the ICRC, which must
 * not be written to the application's memory. @return 0, -ENOBUFS, -EACCES; -ENOTSUP: the payload must be copied */
static int
attach(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_packet_desc *d, struct rte_mbuf *head,
       struct rte_mbuf **tail)
{
	const struct uroce_slice *slice = d->slice;
	struct uroce_cursor c = uroce_cursor_at(slice);
	const struct uroce_mr_key *key;
	int segs = 0, ret;
	uint64_t addr;
	uint32_t n;

	*tail = head;
	for (uint32_t done = 0; done < slice->length; done += n) {
		n = uroce_cursor_next(&c, qp, slice, slice->length - done, &key, &addr);
		if (unlikely(n == 0))
			return -EACCES;
		if (segs++ == UROCE_ZERO_COPY_SEGS ||
		    (unlikely(slice->only_stable) && !uroce_key_is_referable(key, uroce_packet_no_icrc(qp, d->path))))
			return -ENOTSUP;
		ret = append(e, head, tail);
		if (likely(ret == 0))
			ret = uroce_mr_attach(key, addr, (uint16_t)n, uroce_packet_by_cpu(qp, d->path), *tail);
		if (unlikely(ret != 0))
			return ret;
		head->pkt_len += n;
	}
	return append(e, head, tail);
}

static int
build_attached(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_packet_desc *d,
	       struct rte_mbuf **out)
{
	struct rte_mbuf *m = begin(e->header_pool, qp, d, true), *tail;
	int ret;

	if (unlikely(m == NULL))
		return -ENOBUFS;
	ret = attach(e, qp, d, m, &tail);
	if (unlikely(ret != 0)) {
		rte_pktmbuf_free(m);
		return ret;
	}
	finish(qp, m, tail, d);
	uroce_count(e, UROCE_ZERO_COPY_PACKETS, 1);
	*out = m;
	return 0;
}

/* Build one packet whose payload is in registered memory. */
static __rte_noinline int
build_slice(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_packet_desc *d,
	    struct rte_mbuf **out)
{
	int ret = -ENOTSUP;

	if (!uroce_packet_copies(d->path, d->slice))
		ret = build_attached(e, qp, d, out);
	return ret == -ENOTSUP ? build_copied(e, qp, d, out) : ret;
}

int
uroce_packets_build(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_packet_desc *d,
		    struct rte_mbuf **frames, unsigned int n)
{
	int ret;

	if (n > 1 && uroce_tx_bulk(e, qp, d, frames, n) != 0)
		return (int)n;
	if (d->slice == NULL)
		return uroce_packet_build_inline(e, qp, d, frames);
	ret = build_slice(e, qp, d, frames);
	if (unlikely(ret != 0)) {
		if (ret == -ENOBUFS)
			uroce_count(e, UROCE_NO_MBUF, 1);
		return ret;
	}
	uroce_count(e, UROCE_SENT_PACKETS, 1);
	return 1;
}
