/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Derives from posted requests what memory and the peer's receives must contain. completions.c checks completions.
 */

#include "oracle.h"

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "completions.h"
#include "trace.h"

/* @return the bytes of the request's SGEs at the time of its execution: an earlier READ may change them before a fenced
 * request */
static uint8_t *
gather(const struct op *op)
{
	uint8_t *data = malloc(op->length + 1);
	uint32_t offset = 0;

	SIM_CHECK(data != NULL, "out of memory");
	for (unsigned int i = 0; i < op->num_sge; i++) {
		memcpy(data + offset, region_after(op->locals[i]), op->locals[i]->bytes);
		offset += op->locals[i]->bytes;
	}
	return data;
}

static void
scatter(struct region *const *regions, unsigned int n, const uint8_t *data, uint32_t length)
{
	for (unsigned int i = 0; i < n && length > 0; i++) {
		uint32_t part = RTE_MIN(length, regions[i]->bytes);

		region_expect(regions[i], 0, data, part);
		data += part;
		length -= part;
	}
}

/* Assign the n-th receive to the n-th message, in any order of posting. */
static void
match(struct side *s)
{
	struct receive *r = STAILQ_FIRST(&s->receives);
	struct message *m = STAILQ_FIRST(&s->messages);

	if (s->recv_failed)
		return;
	for (; r != NULL && m != NULL; r = STAILQ_NEXT(r, link), m = STAILQ_NEXT(m, link)) {
		if (m->receive != NULL)
			continue;
		m->receive = r;
		r->message = m;
		if (!m->is_write && !r->bad)
			scatter(r->regions, r->num_sge, m->data, RTE_MIN(m->length, r->length));
	}
}

static void
send_message(struct side *s, struct op *op, uint8_t *data)
{
	struct message *m = calloc(1, sizeof(*m));

	SIM_CHECK(m != NULL, "out of memory");
	m->op = op;
	m->data = data;
	m->length = op->length;
	m->imm = op->imm;
	m->is_write = op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	m->solicited = op->solicited;
	m->invalidates = op->opcode == IBV_WR_SEND_WITH_INV;
	m->has_imm = op->opcode != IBV_WR_SEND && !m->invalidates;
	op->message = m;
	STAILQ_INSERT_TAIL(&s->peer->messages, m, link);
	match(s->peer);
}

void
oracle_send(struct side *s, struct op *op)
{
	uint8_t *data = NULL;

	STAILQ_INSERT_TAIL(&s->ops, op, link);
	if (op->forbidden)
		return;
	switch (op->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_ATOMIC_WRITE:
		data = gather(op);
		if (op->remote != NULL)
			region_expect(op->remote, 0, data, op->length);
		if (op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
			send_message(s, op, NULL);
		free(data);
		break;
	case IBV_WR_RDMA_READ:
		if (op->remote != NULL)
			scatter(op->locals, op->num_sge, region_after(op->remote), op->length);
		break;
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_SEND_WITH_IMM: send_message(s, op, gather(op)); break;
	default: /* word_check() checks atomics; other operations change no memory */ break;
	}
}

void
oracle_receive(struct side *s, struct receive *r)
{
	STAILQ_INSERT_TAIL(&s->receives, r, link);
	s->receive_count++;
	match(s);
}

bool
oracle_wants_receive(const struct side *s)
{
	const struct message *m;

	STAILQ_FOREACH(m, &s->messages, link)
		if (m->receive == NULL)
			return true;
	return false;
}

/* A failed request was executed completely, partly or not at all, and not further than the request before it. */
static enum memory_placed
check_dead(struct side *s, struct op *op, enum memory_placed before)
{
	static const char *const names[] = { "nothing", "a part", "all" };
	enum memory_placed placed;

	if (op->remote == NULL || op->remote->bytes == 0 || op->forbidden ||
	    (op->opcode != IBV_WR_RDMA_WRITE && op->opcode != IBV_WR_RDMA_WRITE_WITH_IMM))
		return before;
	if (memcmp(region_before(op->remote), region_after(op->remote), op->remote->bytes) == 0)
		return before;
	placed = region_placed(op->remote);
	SIM_CHECK(placed == MEMORY_NOTHING || before == MEMORY_ALL,
		  "QP 0x%06x: %s of a WRITE was executed behind one of which %s was", s->qpn,
		  names[placed], names[before]);
	return placed;
}

void
oracle_finish(struct side *s)
{
	enum memory_placed placed = MEMORY_ALL;
	struct message *m;
	struct op *op;

	SIM_CHECK(s->overrun || (STAILQ_EMPTY(&s->ops) && STAILQ_EMPTY(&s->receives)),
		  "QP 0x%06x: %u sends and %u receives have never completed", s->qpn, s->op_count,
		  s->receive_count);
	completions_drop(s);
	while ((op = STAILQ_FIRST(&s->dead_ops)) != NULL) {
		STAILQ_REMOVE_HEAD(&s->dead_ops, link);
		placed = check_dead(s, op, placed);
		if (op->remote != NULL && op->opcode != IBV_WR_RDMA_READ)
			region_adopt(op->remote, false);
		region_put(op->remote);
		if (op->message != NULL)
			op->message->op = NULL;
		free(op);
	}
	while ((m = STAILQ_FIRST(&s->messages)) != NULL) {
		SIM_CHECK(m->op != NULL || s->peer->send_failed || s->peer->overrun,
			  "QP 0x%06x: a message that its sender saw acknowledged never came",
			  s->qpn);
		STAILQ_REMOVE_HEAD(&s->messages, link);
		if (m->op != NULL)
			m->op->message = NULL;
		free(m->data);
		free(m);
	}
}

/* Accept the values that atomics have returned, which the oracle cannot predict. */
static void
adopt_atomics(struct side *s)
{
	struct op *op;

	STAILQ_FOREACH(op, &s->ops, link)
		if (op->word != NULL && !op->forbidden)
			for (unsigned int i = 0; i < op->num_sge; i++)
				region_adopt(op->locals[i], true);
}

void
oracle_sweep(struct world *w, struct conn *const *conns, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int j = 0; j < 2; j++)
			adopt_atomics(&conns[i]->side[j]);
	for (unsigned int i = 0; i < w->conf.ends; i++)
		memory_sweep(&w->ends[i]->memory, i);
}
