/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * One packet: the path's headers, BTH, payload from the QP's memory, ICRC. Payloads that DPDK's memory
 * subsystem knows leave as external mbufs, with a mbuf behind them for pad and ICRC; others are copied.
 */

#include <errno.h>

#include <rte_mbuf.h>

#include "transport/packet/mbuf.h"
#include "transport/packet/packet.h"
#include "transport/qp/qp.h"
#include "uroce_config.h"
#include "wire/copy.h"
#include "wire/icrc.h"

/* A position in a list of scatter/gather entries. */
struct cursor {
	const struct ibv_sge *sge;
	uint32_t left;		/* entries, this one included */
	uint32_t offset;	/* within this one */
};

static struct cursor
cursor_at(const struct uroce_slice *s)
{
	struct cursor c = { .sge = s->sge, .left = s->num_sge, .offset = s->offset };

	while (c.left > 0 && c.offset >= c.sge->length) {
		c.offset -= c.sge->length;
		c.sge++;
		c.left--;
	}
	return c;
}

/* The next contiguous piece of at most `want` bytes: its length, or 0 when a key does not resolve. */
static uint32_t
cursor_next(struct cursor *c, const struct uroce_qp *qp, const struct uroce_slice *slice, uint32_t want,
	    const struct uroce_mr_key **key, uint64_t *addr)
{
	const struct ibv_pd *pd = slice->pd != NULL ? slice->pd : qp->ibv.pd;
	uint32_t n;

	while (c->left > 0 && c->sge->length == c->offset) {
		c->sge++;
		c->left--;
		c->offset = 0;
	}
	RTE_ASSERT(c->left > 0);
	n = RTE_MIN(want, c->sge->length - c->offset);
	*addr = c->sge->addr + c->offset;
	*key = uroce_key_lookup(&qp->dev->mrs, c->sge->lkey, pd, &qp->windows, *addr, n, slice->access);
	if (unlikely(*key == NULL))
		return 0;
	c->offset += n;
	return n;
}

struct piece {
	uint8_t *va;
	uint32_t n;
};

/* Where the bytes of a slice are, all of them, before any is written. @return how many pieces, or -EACCES */
static __rte_always_inline int
resolve_slice(const struct uroce_qp *qp, const struct uroce_slice *slice, struct piece pieces[UROCE_MAX_SGE])
{
	struct cursor c = cursor_at(slice);
	const struct uroce_mr_key *key;
	uint64_t addr;
	int count = 0;

	for (uint32_t done = 0; done < slice->length; done += pieces[count++].n) {
		RTE_ASSERT(count < UROCE_MAX_SGE);
		pieces[count].n = cursor_next(&c, qp, slice, slice->length - done, &key, &addr);
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
	int count = resolve_slice(qp, slice, pieces);
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
	int count = resolve_slice(qp, slice, pieces);

	for (int i = 0; i < count; i++) {
		uroce_place(pieces[i].va, bytes, pieces[i].n);
		bytes += pieces[i].n;
	}
	return RTE_MIN(count, 0);
}

static int
copy_slice(const struct uroce_qp *qp, const struct uroce_slice *slice, uint8_t *dst)
{
	struct cursor c = cursor_at(slice);
	const struct uroce_mr_key *key;
	uint64_t addr;
	uint32_t n;

	for (uint32_t done = 0; done < slice->length; done += n) {
		n = cursor_next(&c, qp, slice, slice->length - done, &key, &addr);
		if (unlikely(n == 0))
			return -EACCES;
		uroce_copy(dst + done, uroce_mr_va(key, addr), n);
	}
	return 0;
}

/* Chain the slice behind f->tail as external mbufs. -ENOTSUP: it has to be copied; f is as before then. */
static int
attach_slice(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_slice *slice,
	     struct uroce_frame *f)
{
	struct cursor c = cursor_at(slice);
	const struct uroce_mr_key *key;
	struct rte_mbuf *m;
	int segs = 0, ret;
	uint64_t addr;
	uint32_t n;

	for (uint32_t done = 0; done < slice->length; done += n) {
		n = cursor_next(&c, qp, slice, slice->length - done, &key, &addr);
		ret = n == 0 ? -EACCES : segs++ == UROCE_ZERO_COPY_SEGS ? -ENOTSUP : 0;
		if (unlikely(slice->only_stable) && ret == 0 && !uroce_key_is_stable(key))
			ret = -ENOTSUP;
		if (ret != 0)
			goto undo;
		m = uroce_mbuf_alloc(e->header_pool, true);
		if (unlikely(m == NULL)) {
			ret = -ENOBUFS;
			goto undo;
		}
		ret = uroce_mr_attach(key, addr, (uint16_t)n, m);
		if (ret != 0) {
			rte_pktmbuf_free(m);
			goto undo;
		}
		f->tail->next = m;
		f->tail = m;
		f->head->nb_segs++;
		f->head->pkt_len += n;
	}
	/* pad and ICRC cannot go into somebody's memory */
	m = uroce_mbuf_alloc(e->header_pool, true);
	ret = -ENOBUFS;
	if (unlikely(m == NULL))
		goto undo;
	f->tail->next = m;
	f->tail = m;
	f->head->nb_segs++;
	uroce_count(e, UROCE_ZERO_COPY_PACKETS, 1);
	return 0;

undo:
	rte_pktmbuf_free(f->head->next);
	f->head->next = NULL;
	f->head->nb_segs = 1;
	f->head->pkt_len = f->head->data_len;
	f->tail = f->head;
	return ret;
}

int
uroce_frame_begin_to(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_path *path,
		     uint32_t dest_qpn, uint8_t opcode, uint8_t bth_flags, bool ack_req, uint32_t psn,
		     const struct uroce_slice *slice, const uint8_t *bytes, struct uroce_frame *f)
{
	const struct uroce_opcode_info *info = &uroce_opcodes[opcode];
	uint32_t payload = slice == NULL ? 0 : slice->length;
	uint32_t header = path->headers.header_bytes + info->header_bytes;
	bool zero_copy = payload >= UROCE_ZERO_COPY_BYTES && bytes == NULL && path->multi_seg && !slice->copy;
	struct rte_mempool *pool;
	int ret;

	f->path = path;
	f->pad = -payload & 3;
again:
	pool = zero_copy || payload <= UROCE_TX_INLINE_BYTES ? e->header_pool : e->payload_pool;
	f->head = f->tail = uroce_mbuf_alloc(pool, zero_copy);
	if (unlikely(f->head == NULL)) {
		uroce_count(e, UROCE_NO_MBUF, 1);
		return -ENOBUFS;
	}
	uroce_frame_headers(qp, path, f->head, info->header_bytes + payload + f->pad + UROCE_ICRC_BYTES);
	f->bth = rte_pktmbuf_mtod_offset(f->head, struct uroce_bth *, path->headers.header_bytes);
	f->ext = (uint8_t *)(f->bth + 1);
	uroce_bth_write(f->bth, opcode,
			(uint8_t)(bth_flags | UROCE_BTH_MIGREQ | f->pad << UROCE_BTH_PAD_SHIFT),
			UROCE_DEFAULT_PKEY, dest_qpn, ack_req, psn);
	f->head->data_len = (uint16_t)header;
	f->head->pkt_len = header;
	if (payload == 0)
		return 0;

	if (zero_copy) {
		ret = attach_slice(e, qp, slice, f);
		if (ret == -ENOTSUP) {
			rte_pktmbuf_free(f->head);
			zero_copy = false;
			goto again;
		}
	} else {
		uint8_t *dst = rte_pktmbuf_mtod_offset(f->head, uint8_t *, header);

		if (bytes != NULL) {
			uroce_copy(dst, bytes + slice->offset, payload);
			ret = 0;
		} else {
			ret = copy_slice(qp, slice, dst);
		}
		f->head->data_len = (uint16_t)(header + payload);
		f->head->pkt_len = header + payload;
	}
	if (unlikely(ret != 0)) {
		rte_pktmbuf_free(f->head);
		if (ret == -ENOBUFS)
			uroce_count(e, UROCE_NO_MBUF, 1);
	}
	return ret;
}

struct rte_mbuf *
uroce_frame_end(struct uroce_engine *e, struct uroce_frame *f)
{
	uint32_t l3 = f->path->headers.l2_bytes;
	uint32_t l4 = l3 + f->path->headers.l3_bytes;

	uroce_icrc_append(f->head, f->tail, l3, l4, f->pad);
	uroce_count(e, UROCE_SENT_PACKETS, 1);
	return f->head;
}
