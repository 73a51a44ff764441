/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The lossy link: what happens to a frame is drawn when it is sent.
 */

#include "link.h"

#include <stdlib.h>
#include <string.h>

#include <rte_ether.h>

#include "trace.h"
#include "wire/headers.h"

void
link_init(struct link *l, const struct link_conf *conf, uint64_t seed)
{
	memset(l, 0, sizeof(*l));
	l->conf = *conf;
	random_init(&l->random, seed, 1);
}

void
link_fini(struct link *l)
{
	for (unsigned int end = 0; end < LINK_ENDS; end++) {
		for (uint32_t i = 0; i < l->to[end].count; i++)
			free(l->to[end].frames[i]);
		free(l->to[end].frames);
	}
}

static bool
is_before(const struct link_frame *a, const struct link_frame *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

static void
queue_push(struct link_queue *q, struct link_frame *f)
{
	uint32_t i = q->count++;

	if (q->count > q->room) {
		q->room = q->room * 2 + 64;
		q->frames = realloc(q->frames, q->room * sizeof(q->frames[0]));
		SIM_CHECK(q->frames != NULL, "out of memory");
	}
	for (; i > 0 && is_before(f, q->frames[(i - 1) / 2]); i = (i - 1) / 2)
		q->frames[i] = q->frames[(i - 1) / 2];
	q->frames[i] = f;
}

static struct link_frame *
queue_pop(struct link_queue *q)
{
	struct link_frame *first = q->frames[0], *last = q->frames[--q->count];
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < q->count) {
		if (child + 1 < q->count && is_before(q->frames[child + 1], q->frames[child]))
			child++;
		if (!is_before(q->frames[child], last))
			break;
		q->frames[i] = q->frames[child];
		i = child;
	}
	q->frames[i] = last;
	return first;
}

static bool
happens(struct link *l, uint32_t rate)
{
	return rate != 0 && random_below(&l->random, 1 << 16) < rate;
}

static struct link_frame *
frame_copy(const struct rte_mbuf *m)
{
	struct link_frame *f = calloc(1, sizeof(*f) + m->pkt_len);
	uint32_t offset = 0;

	SIM_CHECK(f != NULL, "out of memory");
	f->bytes = m->pkt_len;
	for (; m != NULL; m = m->next) {
		SIM_CHECK(offset + m->data_len <= f->bytes, "segments are longer than pkt_len");
		memcpy(f->data + offset, rte_pktmbuf_mtod(m, const void *), m->data_len);
		offset += m->data_len;
	}
	SIM_CHECK(offset == f->bytes, "segments are shorter than pkt_len");
	return f;
}

static uint32_t
bth_offset(const struct link_frame *f)
{
	uint32_t l3 = f->data[12] == 0x81 ? 18 : 14;

	return l3 + (f->data[l3] >> 4 == 6 ? 40 : 20) + 8;
}

static bool
is_dead(const struct link *l, const struct link_frame *f)
{
	const struct uroce_bth *bth = (const void *)(f->data + bth_offset(f));

	for (unsigned int i = 0; i < l->dead_count; i++)
		if (uroce_get24(bth->dest_qp) == l->dead_qpns[i])
			return true;
	return false;
}

/* Flip bits from the BTH on. Its byte 4 is not covered: what a flip does there is harmless. */
static void
corrupt(struct link *l, struct link_frame *f)
{
	uint32_t bth = bth_offset(f), bits = random_between(&l->random, 1, 3), at[3];

	for (uint32_t i = 0; i < bits; i++) {
		do
			at[i] = random_below(&l->random, (f->bytes - bth) * 8);
		while ((i > 0 && at[i] == at[0]) || (i > 1 && at[i] == at[1]));
		f->data[bth + at[i] / 8] ^= (uint8_t)(1 << at[i] % 8);
		if (at[i] / 8 != 4)
			f->damaged = true;
	}
}

static void
truncate_frame(struct link *l, struct link_frame *f)
{
	f->bytes -= random_between(&l->random, 1, f->bytes - sizeof(struct rte_ether_hdr));
	f->damaged = true;
}

static void
dispatch(struct link *l, uint64_t now_ns, unsigned int to, struct link_frame *f)
{
	const struct link_conf *c = &l->conf;
	void (*damage)(struct link * l, struct link_frame * f) = NULL;
	const char *fate = "sent";

	f->due_ns = now_ns + c->delay_ns + random_below(&l->random, c->jitter_ns + 1);
	f->order = l->order++;
	if (happens(l, c->reorder)) {
		f->due_ns += random_below(&l->random, c->reorder_ns + 1);
		fate = "delayed";
	}
	if (happens(l, c->corrupt))
		damage = corrupt;
	else if (happens(l, c->truncate))
		damage = truncate_frame;
	trace_frame(now_ns, f->from, to, damage != NULL ? "damaged" : fate, f->data, f->bytes);
	if (damage != NULL)
		damage(l, f);
	f->due_ns += c->quantum_ns - 1;
	f->due_ns -= f->due_ns % c->quantum_ns;
	queue_push(&l->to[to], f);
}

void
link_send(struct link *l, uint64_t now_ns, unsigned int from, unsigned int to,
	  const struct rte_mbuf *m)
{
	struct link_frame *f = frame_copy(m);

	f->from = (uint16_t)from;
	l->sent++;
	while (happens(l, l->conf.duplicate)) {
		struct link_frame *twin = frame_copy(m);

		twin->from = f->from;
		if (is_dead(l, twin))
			free(twin);
		else
			dispatch(l, now_ns, to, twin);
	}
	if (is_dead(l, f) || happens(l, l->conf.loss)) {
		trace_frame(now_ns, from, to, "lost", f->data, f->bytes);
		l->lost++;
		free(f);
		return;
	}
	dispatch(l, now_ns, to, f);
}

void
link_kill(struct link *l, uint32_t qpn)
{
	SIM_CHECK(l->dead_count < LINK_DEAD_QPNS, "too many dead QPNs");
	l->dead_qpns[l->dead_count++] = qpn;
}

struct link_frame *
link_receive(struct link *l, uint64_t now_ns, unsigned int to)
{
	struct link_queue *q = &l->to[to];

	return q->count > 0 && q->frames[0]->due_ns <= now_ns ? queue_pop(q) : NULL;
}

uint64_t
link_next(const struct link *l)
{
	uint64_t next_ns = UINT64_MAX;

	for (unsigned int end = 0; end < LINK_ENDS; end++)
		if (l->to[end].count > 0)
			next_ns = RTE_MIN(next_ns, l->to[end].frames[0]->due_ns);
	return next_ns;
}
