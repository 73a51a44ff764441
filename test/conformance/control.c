/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Protection domains, memory, completion queues and channels: created, and destroyed with all other objects. For one
 * thread.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "frame.h"
#include "statements.h"
#include "uroce_verbs.h"

#define PAGE_BYTES 4096

static const struct {
	const char *name;
	int value;
} errors[] = {
	{ "EACCES", EACCES }, { "EAGAIN", EAGAIN }, { "EBUSY", EBUSY }, { "EFAULT", EFAULT },
	{ "EINVAL", EINVAL }, { "ENETUNREACH", ENETUNREACH }, { "ENOENT", ENOENT }, { "ENOMEM", ENOMEM },
	{ "EOPNOTSUPP", EOPNOTSUPP }, { "EPERM", EPERM },
};

static const struct {
	const char *name;
	unsigned int flag;
} accesses[] = {
	{ "none", 0 }, { "local_write", IBV_ACCESS_LOCAL_WRITE }, { "remote_write", IBV_ACCESS_REMOTE_WRITE },
	{ "remote_read", IBV_ACCESS_REMOTE_READ }, { "remote_atomic", IBV_ACCESS_REMOTE_ATOMIC },
	{ "mw_bind", IBV_ACCESS_MW_BIND }, { "zero_based", IBV_ACCESS_ZERO_BASED },
	{ "flush_global", IBV_ACCESS_FLUSH_GLOBAL }, { "flush_persistent", IBV_ACCESS_FLUSH_PERSISTENT },
};

static int
error_value(struct lexer *l, const char *name)
{
	for (unsigned int i = 0; i < RTE_DIM(errors); i++)
		if (strcmp(errors[i].name, name) == 0)
			return errors[i].value;
	lexer_fail(l, "'%s': no error that is known here", name);
}

void
statement_result(struct lexer *l, const char *call, int error)
{
	int expected = 0;

	if (lexer_take(l, "="))
		expected = error_value(l, lexer_need_word(l, "an error"));
	if (!lexer_done(l))
		lexer_fail(l, "'%s' was not expected", l->at);
	if (error != expected)
		lexer_fail(l, "%s: expected %s, got %s", call, expected == 0 ? "success" : strerror(expected),
			   error == 0 ? "success" : strerror(error));
}

unsigned int
control_access(struct lexer *l)
{
	unsigned int flags = 0, i;

	do {
		const char *name = lexer_need_word(l, "an access right");

		for (i = 0; i < RTE_DIM(accesses) && strcmp(accesses[i].name, name) != 0; i++)
			;
		if (i == RTE_DIM(accesses))
			lexer_fail(l, "'%s': no access right", name);
		flags |= accesses[i].flag;
	} while (lexer_take(l, "|"));
	return flags;
}

static void
pd_statement(struct lexer *l)
{
	struct object *o = object_add(l, lexer_need_word(l, "a name"), OBJECT_PD);

	o->pd = uroce_alloc_pd(device_context());
	statement_result(l, "alloc_pd", o->pd == NULL ? errno : 0);
}

static void
channel_statement(struct lexer *l)
{
	struct object *o = object_add(l, lexer_need_word(l, "a name"), OBJECT_CHANNEL);

	o->channel = uroce_create_comp_channel(device_context());
	if (o->channel != NULL)
		(void)fcntl(o->channel->fd, F_SETFL, O_NONBLOCK);
	statement_result(l, "create_comp_channel", o->channel == NULL ? errno : 0);
}

/* cq C 16 [channel CH] */
static void
cq_statement(struct lexer *l)
{
	struct object *o = object_add(l, lexer_need_word(l, "a name"), OBJECT_CQ);
	struct ibv_comp_channel *channel = NULL;
	int cqe = (int)object_value(l);

	if (lexer_take(l, "channel"))
		channel = object_need(l, OBJECT_CHANNEL)->channel;
	o->cq = uroce_create_cq(device_context(), cqe, o, channel, 0);
	statement_result(l, "create_cq", o->cq == NULL ? errno : 0);
}

static void
register_memory(struct lexer *l, struct object *o, struct ibv_pd *pd, uint8_t *at, uint64_t bytes,
		unsigned int access)
{
	o->mr = uroce_reg_mr(pd, at, bytes, (int)access);
	if (o->mr != NULL) {
		o->addr = access & IBV_ACCESS_ZERO_BASED ? 0 : (uintptr_t)at;
		o->lkey = o->mr->lkey;
		o->rkey = o->mr->rkey;
	}
	statement_result(l, "reg_mr", o->mr == NULL ? errno : 0);
}

/* mr A 4096 [pd P] [access …] [at B+16]: a region of its own memory, or of a part of another region's */
static void
mr_statement(struct lexer *l)
{
	struct object *o = object_add(l, lexer_need_word(l, "a name"), OBJECT_MR);
	unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			      IBV_ACCESS_REMOTE_ATOMIC;
	struct ibv_pd *pd = NULL;
	uint8_t *at = NULL;

	o->bytes = object_value(l);
	for (;;) {
		if (lexer_take(l, "pd"))
			pd = object_need(l, OBJECT_PD)->pd;
		else if (lexer_take(l, "access"))
			access = control_access(l);
		else if (lexer_take(l, "at"))
			at = (uint8_t *)(uintptr_t)object_value(l);
		else
			break;
	}
	if (pd == NULL)
		pd = object_find(l, "P", OBJECT_PD)->pd;
	if (at == NULL && o->bytes > 0) {
		uint64_t room = RTE_ALIGN_CEIL(o->bytes, PAGE_BYTES);

		at = o->memory = aligned_alloc(PAGE_BYTES, room);
		RTE_VERIFY(at != NULL);
		memset(at, 0, room);
	}
	register_memory(l, o, pd, at, o->bytes, access);
}

/* ah H 10.0.0.9 [pd P2] [label N] */
static void
ah_statement(struct lexer *l)
{
	struct object *o = object_add(l, lexer_need_word(l, "a name"), OBJECT_AH);
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } };
	struct ibv_pd *pd = NULL;

	frame_parse_address(l, attr.grh.dgid.raw);
	for (;;) {
		if (lexer_take(l, "pd"))
			pd = object_need(l, OBJECT_PD)->pd;
		else if (lexer_take(l, "label"))
			attr.grh.flow_label = (uint32_t)object_value(l);
		else
			break;
	}
	o->ah = uroce_create_ah(pd != NULL ? pd : object_find(l, "P", OBJECT_PD)->pd, &attr);
	statement_result(l, "create_ah", o->ah == NULL ? errno : 0);
}

/* srq X 16 [sge N] [pd P2] */
static void
srq_statement(struct lexer *l)
{
	struct object *o = object_add(l, lexer_need_word(l, "a name"), OBJECT_SRQ);
	struct ibv_srq_init_attr init = { .attr = { .max_wr = (uint32_t)object_value(l), .max_sge = 4 } };
	struct ibv_pd *pd = NULL;

	for (;;) {
		if (lexer_take(l, "sge"))
			init.attr.max_sge = (uint32_t)object_value(l);
		else if (lexer_take(l, "pd"))
			pd = object_need(l, OBJECT_PD)->pd;
		else
			break;
	}
	o->srq = uroce_create_srq(pd != NULL ? pd : object_find(l, "P", OBJECT_PD)->pd, &init);
	statement_result(l, "create_srq", o->srq == NULL ? errno : 0);
}

/* mw M 1|2 [pd P2] */
static void
mw_statement(struct lexer *l)
{
	struct object *o = object_add(l, lexer_need_word(l, "a name"), OBJECT_MW);
	uint64_t type = lexer_number(l);
	struct ibv_pd *pd = NULL;

	if (lexer_take(l, "pd"))
		pd = object_need(l, OBJECT_PD)->pd;
	o->mw = uroce_alloc_mw(pd != NULL ? pd : object_find(l, "P", OBJECT_PD)->pd,
			       type == 1 ? IBV_MW_TYPE_1 : type == 2 ? IBV_MW_TYPE_2 : (enum ibv_mw_type)type);
	if (o->mw != NULL)
		o->rkey = o->mw->rkey;
	statement_result(l, "alloc_mw", o->mw == NULL ? errno : 0);
}

/* let K = M.rkey */
static void
let_statement(struct lexer *l)
{
	struct object *o = object_add(l, lexer_need_word(l, "a name"), OBJECT_VALUE);

	lexer_need(l, "=");
	o->addr = object_value(l);
	statement_result(l, "let", 0);
}

/* limit X 2: an event when fewer receives are queued */
static void
limit_statement(struct lexer *l)
{
	struct object *o = object_need(l, OBJECT_SRQ);
	struct ibv_srq_attr attr = { .srq_limit = (uint32_t)object_value(l) };

	statement_result(l, "modify_srq", uroce_modify_srq(o->srq, &attr, IBV_SRQ_LIMIT));
}

static int
destroy(struct object *o)
{
	switch (o->kind) {
	case OBJECT_PD: return uroce_dealloc_pd(o->pd);
	case OBJECT_CQ: return uroce_destroy_cq(o->cq);
	case OBJECT_QP: return uroce_destroy_qp(o->qp);
	case OBJECT_MR: return uroce_dereg_mr(o->mr);
	case OBJECT_CHANNEL: return uroce_destroy_comp_channel(o->channel);
	case OBJECT_SRQ: return uroce_destroy_srq(o->srq);
	case OBJECT_AH: return uroce_destroy_ah(o->ah);
	case OBJECT_MW: return uroce_dealloc_mw(o->mw);
	default: return EINVAL;
	}
}

/* destroy A [= EBUSY] */
static void
destroy_statement(struct lexer *l)
{
	const char *name = lexer_need_word(l, "a name");
	struct object *o = NULL;
	int error;

	for (unsigned int i = 0; object_at(i) != NULL; i++)
		if (strcmp(object_at(i)->name, name) == 0)
			o = object_at(i);
	if (o == NULL || o->verbs == NULL)
		lexer_fail(l, "there is no '%s'", name);
	error = destroy(o);
	if (error == 0)
		o->verbs = NULL;
	statement_result(l, "destroy", error);
}

void
control_destroy_all(struct lexer *l)
{
	static const enum object_kind order[] = {
		OBJECT_QP, OBJECT_AH, OBJECT_SRQ, OBJECT_MW, OBJECT_MR, OBJECT_CQ, OBJECT_CHANNEL, OBJECT_PD,
	};

	for (unsigned int k = 0; k < RTE_DIM(order); k++) {
		for (unsigned int i = 0; object_at(i) != NULL; i++) {
			struct object *o = object_at(i);
			int error;

			if (o->kind != order[k] || o->verbs == NULL)
				continue;
			error = destroy(o);
			if (error != 0)
				lexer_fail(l, "at the end %s cannot be destroyed: %s", o->name,
					   strerror(error));
			o->verbs = NULL;
		}
	}
}

const struct statement control_statements[] = {
	{ "pd", pd_statement }, { "channel", channel_statement }, { "cq", cq_statement },
	{ "mr", mr_statement }, { "ah", ah_statement }, { "srq", srq_statement }, { "limit", limit_statement },
	{ "mw", mw_statement }, { "let", let_statement }, { "destroy", destroy_statement }, { NULL, NULL },
};
