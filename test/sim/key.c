/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Searches the outstanding requests of reliable connections for a key.
 */

#include "key.h"

#include "oracle.h"
#include "trace.h"
#include "workload.h"

static bool
op_names(const struct op *op, uint32_t key)
{
	for (unsigned int i = 0; i < op->num_sge; i++)
		if (op->lkeys[i] == key)
			return true;
	return op->rkey == key;
}

static bool
receive_names(const struct receive *r, uint32_t key)
{
	for (unsigned int i = 0; i < r->num_sge; i++)
		if (r->lkeys[i] == key)
			return true;
	return false;
}

static bool
side_names(const struct side *s, uint32_t key)
{
	const struct receive *r;
	const struct op *op;

	/* packets of failed requests may still be in flight */
	STAILQ_FOREACH(op, &s->ops, link)
		if (op_names(op, key))
			return true;
	STAILQ_FOREACH(op, &s->dead_ops, link)
		if (op_names(op, key))
			return true;
	STAILQ_FOREACH(r, &s->receives, link)
		if (receive_names(r, key))
			return true;
	return false;
}

bool
key_is_used(const struct sim *sim, uint32_t key)
{
	for (unsigned int i = 0; i < sim->conn_count; i++)
		if (side_names(&sim->conns[i]->side[0], key) || side_names(&sim->conns[i]->side[1], key))
			return true;
	return false;
}

/* Writes to the region have no effect from now on. @return whether all were placed before */
static bool
freeze(struct region *r)
{
	bool all = region_placed(r) == MEMORY_ALL;

	region_adopt(r, false);
	return all;
}

static void
cut_remote(struct op *op)
{
	if (op->remote == NULL || op->remote->bytes == 0)
		return;
	if (op->opcode == IBV_WR_RDMA_WRITE || op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
	    op->opcode == IBV_WR_ATOMIC_WRITE)
		op->cut |= !freeze(op->remote);
}

/* Overwrite the bytes to be sent: if they are sent nevertheless, the receiver notices. */
static void
cut_local(struct op *op)
{
	for (unsigned int i = 0; i < op->num_sge; i++) {
		if (op->locals[i]->bytes == 0)
			continue;
		if (op->opcode == IBV_WR_RDMA_READ)
			op->cut |= !freeze(op->locals[i]);
		else if (op->word == NULL && op->locals[i]->refs == 1)
			region_fill(op->locals[i]);
	}
}

static void
cut_receive(struct receive *r)
{
	if (r->message == NULL)
		r->bad = true;
	for (unsigned int i = 0; i < r->num_sge; i++)
		r->must_fail |= r->regions[i]->bytes > 0 && !freeze(r->regions[i]);
}

static void
cut_side(struct side *s, uint32_t key)
{
	struct receive *r;
	struct op *op;

	STAILQ_FOREACH(op, &s->ops, link) {
		if (op->rkey == key)
			cut_remote(op);
		else if (op_names(op, key))
			cut_local(op);
	}
	STAILQ_FOREACH(op, &s->dead_ops, link)
		if (op->rkey == key)
			cut_remote(op);
	STAILQ_FOREACH(r, &s->receives, link)
		if (receive_names(r, key))
			cut_receive(r);
}

void
key_gone(struct sim *sim, uint32_t key)
{
	trace_note(sim->world.now_ns, "key 0x%08x is gone", key);
	for (unsigned int i = 0; i < sim->conn_count; i++) {
		cut_side(&sim->conns[i]->side[0], key);
		cut_side(&sim->conns[i]->side[1], key);
	}
}

void
key_churn(struct sim *sim)
{
	struct end *e = sim->world.ends[random_below(&sim->random, sim->world.conf.ends)];
	/* not the first: windows are bound to it */
	unsigned int i = random_between(&sim->random, 1, MEMORY_MRS - 1);

	if (!key_is_used(sim, e->memory.mrs[i]->rkey))
		memory_register_again(&e->memory, i, e->pd);
}
