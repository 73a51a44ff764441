/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Queue pairs: created, connected to the peer that the script plays, modified, and queried attribute by attribute. For
 * one thread.
 */

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "frame.h"
#include "statements.h"
#include "verbs/qp/gsi.h"

#define OUR_PSN 200	/* of the engine's first request */
#define THEIR_PSN 100	/* of the first request that the engine expects */
#define DEFAULT_CQE 256

enum attribute_as { PLAIN, ACCESS, MTU, PEER_ADDRESS };

struct attribute {
	const char *name;
	int mask;
	size_t offset;
	uint8_t bytes;
	uint8_t as;
};

#define ROW(name, bit, field, as) \
	{ name, IBV_QP_##bit, offsetof(struct ibv_qp_attr, field), \
	  sizeof(((struct ibv_qp_attr *)NULL)->field), as }

static const struct attribute attributes[] = {
	ROW("pkey_index", PKEY_INDEX, pkey_index, PLAIN), ROW("port", PORT, port_num, PLAIN),
	ROW("access", ACCESS_FLAGS, qp_access_flags, ACCESS), ROW("qkey", QKEY, qkey, PLAIN),
	ROW("av", AV, ah_attr, PEER_ADDRESS), ROW("mtu", PATH_MTU, path_mtu, MTU),
	ROW("dest", DEST_QPN, dest_qp_num, PLAIN), ROW("rq_psn", RQ_PSN, rq_psn, PLAIN),
	ROW("max_dest_rd_atomic", MAX_DEST_RD_ATOMIC, max_dest_rd_atomic, PLAIN),
	ROW("min_rnr_timer", MIN_RNR_TIMER, min_rnr_timer, PLAIN), ROW("timeout", TIMEOUT, timeout, PLAIN),
	ROW("retry_cnt", RETRY_CNT, retry_cnt, PLAIN), ROW("rnr_retry", RNR_RETRY, rnr_retry, PLAIN),
	ROW("sq_psn", SQ_PSN, sq_psn, PLAIN), ROW("max_rd_atomic", MAX_QP_RD_ATOMIC, max_rd_atomic, PLAIN),
	ROW("cur_state", CUR_STATE, cur_qp_state, PLAIN),
	ROW("sqd_notify", EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify, PLAIN),
};

static const char *const state_names[] = {
	[IBV_QPS_RESET] = "RESET", [IBV_QPS_INIT] = "INIT", [IBV_QPS_RTR] = "RTR", [IBV_QPS_RTS] = "RTS",
	[IBV_QPS_SQD] = "SQD", [IBV_QPS_SQE] = "SQE", [IBV_QPS_ERR] = "ERR",
};

/* The attributes of each transition to RTS, by type: RC, UC, UD. */
static const int step_masks[][3] = {
	[IBV_QPS_INIT] = { IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
			   IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
			   IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY },
	[IBV_QPS_RTR] = { IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
			  IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN, 0 },
	[IBV_QPS_RTS] = { IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			  IBV_QP_MAX_QP_RD_ATOMIC, IBV_QP_SQ_PSN, IBV_QP_SQ_PSN },
};

struct attribute_set {
	struct ibv_qp_attr attr;
	int mask;
};

static bool
take_state(struct lexer *l, enum ibv_qp_state *state)
{
	for (unsigned int i = 0; i < RTE_DIM(state_names); i++) {
		if (lexer_take(l, state_names[i])) {
			*state = i;
			return true;
		}
	}
	return false;
}

static void
peer_address(struct ibv_ah_attr *ah, const uint8_t gid[16])
{
	*ah = (struct ibv_ah_attr){ .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } };
	memcpy(ah->grh.dgid.raw, gid, 16);
}

static uint64_t
attribute_value(struct lexer *l, const struct attribute *a)
{
	enum ibv_qp_state state;
	uint64_t value;

	if (a->as == ACCESS)
		return control_access(l);
	if (a->mask == IBV_QP_CUR_STATE && take_state(l, &state))
		return state;
	value = object_value(l);
	if (a->as == MTU)
		for (unsigned int mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++)
			if (value == 128u << mtu)
				return mtu;
	return value;
}

/* Take "name value", if that is next. */
static const struct attribute *
take_attribute(struct lexer *l, struct attribute_set *set)
{
	for (unsigned int i = 0; i < RTE_DIM(attributes); i++) {
		const struct attribute *a = &attributes[i];
		uint8_t gid[16];
		uint64_t value;

		if (!lexer_take(l, a->name))
			continue;
		set->mask |= a->mask;
		if (a->as == PEER_ADDRESS) {
			frame_parse_address(l, gid);
			peer_address(&set->attr.ah_attr, gid);
			return a;
		}
		value = attribute_value(l, a);
		/* right on little-endian machines only, as all that run these tests are */
		memcpy((uint8_t *)&set->attr + a->offset, &value, a->bytes);
		return a;
	}
	return NULL;
}

struct ibv_qp_attr
qp_usual_attributes(void)
{
	struct ibv_qp_attr attr = {
		.port_num = 1, .path_mtu = IBV_MTU_1024, .dest_qp_num = OBJECT_PEER_QPN, .rq_psn = THEIR_PSN,
		.sq_psn = OUR_PSN, .max_rd_atomic = 4, .max_dest_rd_atomic = 4, .min_rnr_timer = 12,
		.timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .qkey = 0x11111111,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
	};

	peer_address(&attr.ah_attr, device_conf_get()->peer_gid.raw);
	return attr;
}

static void
override(struct ibv_qp_attr *attr, const struct attribute_set *set)
{
	for (unsigned int i = 0; i < RTE_DIM(attributes); i++) {
		const struct attribute *a = &attributes[i];

		if (set->mask & a->mask)
			memcpy((uint8_t *)attr + a->offset, (const uint8_t *)&set->attr + a->offset, a->bytes);
	}
}

int
qp_connect(struct ibv_qp *qp, enum ibv_qp_state to, struct ibv_qp_attr *attr)
{
	unsigned int type = qp->qp_type == IBV_QPT_RC ? 0 : qp->qp_type == IBV_QPT_UC ? 1 : 2;

	for (enum ibv_qp_state s = IBV_QPS_INIT; s <= to && s <= IBV_QPS_RTS; s++) {
		int error;

		attr->qp_state = s;
		error = uroce_modify_qp(qp, attr, IBV_QP_STATE | step_masks[s][type]);
		if (error != 0)
			return error;
	}
	return 0;
}

static void
connect_qp(struct lexer *l, struct object *o, enum ibv_qp_state to, const struct attribute_set *set)
{
	struct ibv_qp_attr attr = qp_usual_attributes();
	int error;

	override(&attr, set);
	error = qp_connect(o->qp, to, &attr);
	if (error != 0)
		lexer_fail(l, "%s: the step to %s fails: %s", o->name, state_names[attr.qp_state],
			   strerror(error));
}

/* The options at a queue pair's creation. */
struct creation {
	struct ibv_pd *pd;
	struct ibv_qp_init_attr init;
};

static struct creation
usual_creation(void)
{
	return (struct creation){ .init = { .qp_type = IBV_QPT_RC, .cap = { .max_send_wr = 64,
		.max_recv_wr = 64, .max_send_sge = 4, .max_recv_sge = 4, .max_inline_data = 64 } } };
}

static bool
take_creation(struct lexer *l, struct creation *c)
{
	if (lexer_take(l, "rc"))
		c->init.qp_type = IBV_QPT_RC;
	else if (lexer_take(l, "uc"))
		c->init.qp_type = IBV_QPT_UC;
	else if (lexer_take(l, "ud"))
		c->init.qp_type = IBV_QPT_UD;
	else if (lexer_take(l, "pd"))
		c->pd = object_need(l, OBJECT_PD)->pd;
	else if (lexer_take(l, "send_cq"))
		c->init.send_cq = object_need(l, OBJECT_CQ)->cq;
	else if (lexer_take(l, "recv_cq"))
		c->init.recv_cq = object_need(l, OBJECT_CQ)->cq;
	else if (lexer_take(l, "send_wr"))
		c->init.cap.max_send_wr = (uint32_t)object_value(l);
	else if (lexer_take(l, "recv_wr"))
		c->init.cap.max_recv_wr = (uint32_t)object_value(l);
	else if (lexer_take(l, "srq"))
		c->init.srq = object_need(l, OBJECT_SRQ)->srq;
	else if (lexer_take(l, "sig_all"))
		c->init.sq_sig_all = 1;
	else
		return false;
	return true;
}

static int
create_qp(struct lexer *l, struct object *o, struct creation *c)
{
	if (c->pd == NULL)
		c->pd = object_find(l, "P", OBJECT_PD)->pd;
	if (c->init.send_cq == NULL)
		c->init.send_cq = object_find(l, "S", OBJECT_CQ)->cq;
	if (c->init.recv_cq == NULL)
		c->init.recv_cq = object_find(l, "R", OBJECT_CQ)->cq;
	o->qp = uroce_create_qp(c->pd, &c->init);
	if (o->qp == NULL)
		return errno;
	o->qpn = o->qp->qp_num;
	return 0;
}

/* qp Q2 [rc|uc|ud] [pd …] [send_cq …] …: in RESET */
static void
qp_statement(struct lexer *l)
{
	struct object *o = object_add(l, lexer_need_word(l, "a name"), OBJECT_QP);
	struct creation c = usual_creation();

	while (take_creation(l, &c))
		;
	statement_result(l, "create_qp", create_qp(l, o, &c));
}

/* connect Q2 [RTR] [attribute value]… */
static void
connect_statement(struct lexer *l)
{
	struct object *o = object_need(l, OBJECT_QP);
	enum ibv_qp_state to = IBV_QPS_RTS;
	struct attribute_set set = { .mask = 0 };

	take_state(l, &to);
	while (take_attribute(l, &set) != NULL)
		;
	if (!lexer_done(l))
		lexer_fail(l, "'%s': no attribute", l->at);
	connect_qp(l, o, to, &set);
}

static void
make(struct lexer *l, const char *name, enum object_kind kind, int cqe)
{
	struct object *o = object_add(l, name, kind);

	if (kind == OBJECT_PD)
		o->pd = uroce_alloc_pd(device_context());
	else
		o->cq = uroce_create_cq(device_context(), cqe, o, NULL, 0);
	if (o->verbs == NULL)
		lexer_fail(l, "%s: %s", name, strerror(errno));
}

/* setup [STATE] [cqe N] [options of qp] [attribute value]…: P, S, R and Q, connected to the peer */
static void
setup_statement(struct lexer *l)
{
	struct creation c = usual_creation();
	struct attribute_set set = { .mask = 0 };
	enum ibv_qp_state to = IBV_QPS_RTS;
	int cqe = DEFAULT_CQE, error;
	struct object *o;

	take_state(l, &to);
	while (!lexer_done(l)) {
		if (lexer_take(l, "cqe"))
			cqe = (int)object_value(l);
		else if (!take_creation(l, &c) && take_attribute(l, &set) == NULL)
			lexer_fail(l, "'%s': neither an attribute nor what a QP is created with", l->at);
	}
	make(l, "P", OBJECT_PD, 0);
	make(l, "S", OBJECT_CQ, cqe);
	make(l, "R", OBJECT_CQ, cqe);
	o = object_add(l, "Q", OBJECT_QP);
	error = create_qp(l, o, &c);
	if (error != 0)
		lexer_fail(l, "create_qp: %s", strerror(error));
	connect_qp(l, o, to, &set);
}

/* modify Q [STATE] [attribute value]… [= EINVAL]: with these attributes and no others */
static void
modify_statement(struct lexer *l)
{
	struct object *o = object_need(l, OBJECT_QP);
	struct attribute_set set = { .mask = 0 };
	enum ibv_qp_state to;

	if (take_state(l, &to)) {
		set.attr.qp_state = to;
		set.mask |= IBV_QP_STATE;
	}
	while (take_attribute(l, &set) != NULL)
		;
	statement_result(l, "modify_qp", uroce_modify_qp(o->qp, &set.attr, set.mask));
}

/* query Q [STATE] [attribute value]…: the attributes have these values */
static void
query_statement(struct lexer *l)
{
	struct object *o = object_need(l, OBJECT_QP);
	struct attribute_set expected = { .mask = 0 };
	struct ibv_qp_init_attr init;
	const struct attribute *a;
	struct ibv_qp_attr attr;
	enum ibv_qp_state state;

	if (uroce_query_qp(o->qp, &attr, ~0, &init) != 0)
		lexer_fail(l, "query_qp fails");
	if (take_state(l, &state) && attr.qp_state != state)
		lexer_fail(l, "state: expected %s, got %s", state_names[state], state_names[attr.qp_state]);
	while ((a = take_attribute(l, &expected)) != NULL) {
		uint64_t e = 0, g = 0;

		memcpy(&e, (const uint8_t *)&expected.attr + a->offset, RTE_MIN(a->bytes, sizeof(e)));
		memcpy(&g, (const uint8_t *)&attr + a->offset, RTE_MIN(a->bytes, sizeof(g)));
		if (e != g)
			lexer_fail(l, "%s: expected 0x%lx, got 0x%lx", a->name, e, g);
	}
	statement_result(l, "query_qp", 0);
}

/* attach Q 239.1.1.1, detach Q 239.1.1.1 */
static void
attach_statement(struct lexer *l)
{
	struct object *o = object_need(l, OBJECT_QP);
	union ibv_gid mgid;

	frame_parse_address(l, mgid.raw);
	statement_result(l, "attach_mcast", uroce_attach_mcast(o->qp, &mgid, 0));
}

static void
detach_statement(struct lexer *l)
{
	struct object *o = object_need(l, OBJECT_QP);
	union ibv_gid mgid;

	frame_parse_address(l, mgid.raw);
	statement_result(l, "detach_mcast", uroce_detach_mcast(o->qp, &mgid, 0));
}

/* gsi G: QP1, with the queues of "setup" */
static void
gsi_statement(struct lexer *l)
{
	struct object *o = object_add(l, lexer_need_word(l, "a name"), OBJECT_QP);
	struct ibv_qp_cap cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1 };

	o->qp = uroce_gsi_create(object_find(l, "P", OBJECT_PD)->pd, object_find(l, "S", OBJECT_CQ)->cq,
				 object_find(l, "R", OBJECT_CQ)->cq, &cap);
	if (o->qp != NULL)
		o->qpn = o->qp->qp_num;
	statement_result(l, "gsi_create", o->qp == NULL ? errno : 0);
}

const struct object *
qp_first(void)
{
	for (unsigned int i = 0; object_at(i) != NULL; i++)
		if (object_at(i)->kind == OBJECT_QP)
			return object_at(i);
	return NULL;
}

const struct statement qp_statements[] = {
	{ "setup", setup_statement }, { "qp", qp_statement }, { "connect", connect_statement },
	{ "modify", modify_statement }, { "query", query_statement }, { "attach", attach_statement },
	{ "detach", detach_statement }, { "gsi", gsi_statement }, { NULL, NULL },
};
