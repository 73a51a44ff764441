/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Posts work requests, and checks completions, completion events and asynchronous events. For one thread.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_byteorder.h>

#include "device.h"
#include "statements.h"
#include "uroce_verbs.h"

#define MAX_SGE 32
#define REMOTE_VA 0x7000	/* default remote address of READ and WRITE */
#define REMOTE_RKEY 0x99

struct name {
	const char *name;
	unsigned int value;
};

static const struct name wr_opcodes[] = {
	{ "WRITE", IBV_WR_RDMA_WRITE }, { "WRITE_IMM", IBV_WR_RDMA_WRITE_WITH_IMM }, { "SEND", IBV_WR_SEND },
	{ "SEND_IMM", IBV_WR_SEND_WITH_IMM }, { "READ", IBV_WR_RDMA_READ },
	{ "CMP_SWAP", IBV_WR_ATOMIC_CMP_AND_SWP }, { "FETCH_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD },
	{ "LOCAL_INV", IBV_WR_LOCAL_INV }, { "BIND_MW", IBV_WR_BIND_MW },
	{ "SEND_INV", IBV_WR_SEND_WITH_INV }, { "FLUSH", IBV_WR_FLUSH },
	{ "ATOMIC_WRITE", IBV_WR_ATOMIC_WRITE },
	{ NULL, 0 },
};

static const struct name wc_opcodes[] = {
	{ "SEND", IBV_WC_SEND }, { "WRITE", IBV_WC_RDMA_WRITE }, { "READ", IBV_WC_RDMA_READ },
	{ "COMP_SWAP", IBV_WC_COMP_SWAP }, { "FETCH_ADD", IBV_WC_FETCH_ADD }, { "BIND_MW", IBV_WC_BIND_MW },
	{ "LOCAL_INV", IBV_WC_LOCAL_INV }, { "FLUSH", IBV_WC_FLUSH }, { "ATOMIC_WRITE", IBV_WC_ATOMIC_WRITE },
	{ "RECV", IBV_WC_RECV },
	{ "RECV_WRITE_IMM", IBV_WC_RECV_RDMA_WITH_IMM }, { NULL, 0 },
};

static const struct name wc_statuses[] = {
	{ "SUCCESS", IBV_WC_SUCCESS }, { "LOC_LEN_ERR", IBV_WC_LOC_LEN_ERR },
	{ "LOC_QP_OP_ERR", IBV_WC_LOC_QP_OP_ERR }, { "LOC_PROT_ERR", IBV_WC_LOC_PROT_ERR },
	{ "WR_FLUSH_ERR", IBV_WC_WR_FLUSH_ERR }, { "MW_BIND_ERR", IBV_WC_MW_BIND_ERR },
	{ "BAD_RESP_ERR", IBV_WC_BAD_RESP_ERR }, { "LOC_ACCESS_ERR", IBV_WC_LOC_ACCESS_ERR },
	{ "REM_INV_REQ_ERR", IBV_WC_REM_INV_REQ_ERR }, { "REM_ACCESS_ERR", IBV_WC_REM_ACCESS_ERR },
	{ "REM_OP_ERR", IBV_WC_REM_OP_ERR }, { "RETRY_EXC_ERR", IBV_WC_RETRY_EXC_ERR },
	{ "RNR_RETRY_EXC_ERR", IBV_WC_RNR_RETRY_EXC_ERR }, { NULL, 0 },
};

static const struct name events[] = {
	{ "CQ_ERR", IBV_EVENT_CQ_ERR }, { "QP_FATAL", IBV_EVENT_QP_FATAL },
	{ "QP_REQ_ERR", IBV_EVENT_QP_REQ_ERR }, { "QP_ACCESS_ERR", IBV_EVENT_QP_ACCESS_ERR },
	{ "COMM_EST", IBV_EVENT_COMM_EST }, { "SQ_DRAINED", IBV_EVENT_SQ_DRAINED },
	{ "QP_LAST_WQE_REACHED", IBV_EVENT_QP_LAST_WQE_REACHED },
	{ "SRQ_LIMIT_REACHED", IBV_EVENT_SRQ_LIMIT_REACHED }, { "SRQ_ERR", IBV_EVENT_SRQ_ERR }, { NULL, 0 },
};

static const struct name send_flags[] = {
	{ "fence", IBV_SEND_FENCE }, { "solicited", IBV_SEND_SOLICITED }, { "inline", IBV_SEND_INLINE },
	{ NULL, 0 },
};

static const struct name *
take_name(struct lexer *l, const struct name *names)
{
	for (; names->name != NULL; names++)
		if (lexer_take(l, names->name))
			return names;
	return NULL;
}

static const char *
name_of(const struct name *names, unsigned int value)
{
	for (; names->name != NULL; names++)
		if (names->value == value)
			return names->name;
	return "?";
}

/* sge ADDRESS LENGTH [lkey KEY]: by default with the key of the region */
static bool
take_sge(struct lexer *l, struct ibv_sge *sge, int *n)
{
	const struct object *o;

	if (!lexer_take(l, "sge"))
		return false;
	if (*n == MAX_SGE)
		lexer_fail(l, "more than %d entries", MAX_SGE);
	sge += (*n)++;
	o = object_address(l, &sge->addr);
	sge->length = (uint32_t)object_value(l);
	sge->lkey = o == NULL ? 0 : o->lkey;
	if (lexer_take(l, "lkey"))
		sge->lkey = (uint32_t)object_value(l);
	return true;
}

/* FLUSH has its arguments in the fields of atomics (uroce_send_wr_flush()). */
static bool
uses_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
	       opcode == IBV_WR_FLUSH;
}

static bool
take_send_option(struct lexer *l, struct ibv_send_wr *wr)
{
	bool atomic = uses_atomic(wr->opcode);
	const struct name *flag;

	if (lexer_take(l, "wr"))
		wr->wr_id = object_value(l);
	else if (lexer_take(l, "va"))
		*(atomic ? &wr->wr.atomic.remote_addr : &wr->wr.rdma.remote_addr) = object_value(l);
	else if (lexer_take(l, "rkey"))
		*(atomic ? &wr->wr.atomic.rkey : &wr->wr.rdma.rkey) = (uint32_t)object_value(l);
	else if (lexer_take(l, "imm"))
		wr->imm_data = rte_cpu_to_be_32((uint32_t)object_value(l));
	else if (lexer_take(l, "inv"))
		wr->invalidate_rkey = (uint32_t)object_value(l);
	else if (lexer_take(l, "swap"))
		wr->wr.atomic.swap = object_value(l);
	else if (lexer_take(l, "type"))
		wr->wr.atomic.swap |= object_value(l);
	else if (lexer_take(l, "level"))
		wr->wr.atomic.swap |= object_value(l) << 4;
	else if (lexer_take(l, "add") || lexer_take(l, "compare") || lexer_take(l, "len"))
		wr->wr.atomic.compare_add = object_value(l);
	else if (lexer_take(l, "ah"))
		wr->wr.ud.ah = object_need(l, OBJECT_AH)->ah;
	else if (lexer_take(l, "qpn"))
		wr->wr.ud.remote_qpn = (uint32_t)object_value(l);
	else if (lexer_take(l, "qkey"))
		wr->wr.ud.remote_qkey = (uint32_t)object_value(l);
	else if (lexer_take(l, "unsignaled"))
		wr->send_flags &= ~(unsigned int)IBV_SEND_SIGNALED;
	else if (lexer_take(l, "flags"))
		wr->send_flags |= (unsigned int)object_value(l);
	else if ((flag = take_name(l, send_flags)) != NULL)
		wr->send_flags |= flag->value;
	else
		return false;
	return true;
}

/* post Q SEND wr 1 sge A 5 … [= EINVAL] */
static void
post_statement(struct lexer *l)
{
	struct object *o = object_need(l, OBJECT_QP);
	const struct name *opcode = take_name(l, wr_opcodes);
	struct ibv_sge sge[MAX_SGE];
	struct ibv_send_wr wr = { .sg_list = sge, .send_flags = IBV_SEND_SIGNALED }, *bad = NULL;
	int error;

	if (opcode != NULL) {
		wr.opcode = opcode->value;
	} else {
		lexer_need(l, "opcode");
		wr.opcode = (enum ibv_wr_opcode)object_value(l);
	}
	if (uses_atomic(wr.opcode)) {
		wr.wr.atomic.remote_addr = REMOTE_VA;
		wr.wr.atomic.rkey = REMOTE_RKEY;
	} else if (o->qp->qp_type != IBV_QPT_UD) {
		wr.wr.rdma.remote_addr = REMOTE_VA;
		wr.wr.rdma.rkey = REMOTE_RKEY;
	}
	while (take_sge(l, sge, &wr.num_sge) || take_send_option(l, &wr))
		;
	error = ibv_post_send(o->qp, &wr, &bad);
	if (error != 0 && bad != &wr)
		lexer_fail(l, "post_send: bad_wr is not the work request");
	statement_result(l, "post_send", error);
}

/* bind Q M wr 1 mr A range A+8 16 access remote_write [rkey K] [by post|verb] [= EINVAL]; without mr: unbind. By
 * default, a type 1 window is bound by ibv_bind_mw(), a type 2 window by a work request. */
static void
bind_statement(struct lexer *l)
{
	struct object *o = object_need(l, OBJECT_QP), *window = object_need(l, OBJECT_MW);
	bool post = window->mw->type == IBV_MW_TYPE_2;
	struct ibv_mw_bind_info info = { .mr = NULL };
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_mw_bind verb;

	wr.bind_mw.rkey = ibv_inc_rkey(window->mw->rkey);
	for (;;) {
		if (lexer_take(l, "wr")) {
			wr.wr_id = object_value(l);
		} else if (lexer_take(l, "mr")) {
			info.mr = object_need(l, OBJECT_MR)->mr;
		} else if (lexer_take(l, "range")) {
			info.addr = object_value(l);
			info.length = object_value(l);
		} else if (lexer_take(l, "access")) {
			info.mw_access_flags = control_access(l);
		} else if (lexer_take(l, "rkey")) {
			wr.bind_mw.rkey = (uint32_t)object_value(l);
		} else if (lexer_take(l, "by")) {
			post = lexer_take(l, "post");
			if (!post)
				lexer_need(l, "verb");
		} else {
			break;
		}
	}
	wr.bind_mw.mw = window->mw;
	wr.bind_mw.bind_info = info;
	verb = (struct ibv_mw_bind){ .wr_id = wr.wr_id, .send_flags = wr.send_flags, .bind_info = info };
	statement_result(l, "bind_mw", post ? ibv_post_send(o->qp, &wr, &bad)
					    : uroce_bind_mw(o->qp, window->mw, &verb));
}

/* recv Q wr 1 sge A 10 [= EINVAL]; also for an SRQ */
static void
recv_statement(struct lexer *l)
{
	struct object *srq = object_take(l, OBJECT_SRQ);
	struct object *o = srq != NULL ? srq : object_need(l, OBJECT_QP);
	struct ibv_sge sge[MAX_SGE];
	struct ibv_recv_wr wr = { .sg_list = sge }, *bad = NULL;
	int error;

	for (;;) {
		if (lexer_take(l, "wr"))
			wr.wr_id = object_value(l);
		else if (!take_sge(l, sge, &wr.num_sge))
			break;
	}
	error = srq != NULL ? ibv_post_srq_recv(o->srq, &wr, &bad) : ibv_post_recv(o->qp, &wr, &bad);
	if (error != 0 && bad != &wr)
		lexer_fail(l, "post_recv: bad_wr is not the work request");
	statement_result(l, "post_recv", error);
}

static void
check_number(struct lexer *l, const char *name, uint64_t got)
{
	uint64_t expected = object_value(l);

	if (got != expected)
		lexer_fail(l, "%s: expected %" PRIu64 ", got %" PRIu64, name, expected, got);
}

/* Immediate data and invalidated keys must be in the completion exactly if the script gives them. */
static void
check_wc_flags(struct lexer *l, const struct ibv_wc *wc, unsigned int expected)
{
	unsigned int got = wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV | IBV_WC_GRH);

	if (wc->status == IBV_WC_SUCCESS && got != expected)
		lexer_fail(l, "wc_flags: expected 0x%x, got 0x%x", expected, got);
}

static void
check_wc(struct lexer *l, const struct ibv_wc *wc)
{
	unsigned int flags = 0;
	bool status_checked = false;
	const struct name *name;

	while (!lexer_done(l)) {
		if (lexer_take(l, "wr")) {
			check_number(l, "wr", wc->wr_id);
		} else if (lexer_take(l, "bytes")) {
			check_number(l, "bytes", wc->byte_len);
		} else if (lexer_take(l, "qp")) {
			check_number(l, "qp", wc->qp_num);
		} else if (lexer_take(l, "src")) {
			check_number(l, "src", wc->src_qp);
		} else if (lexer_take(l, "imm")) {
			flags |= IBV_WC_WITH_IMM;
			check_number(l, "imm", rte_be_to_cpu_32(wc->imm_data));
		} else if (lexer_take(l, "inv")) {
			flags |= IBV_WC_WITH_INV;
			check_number(l, "inv", wc->invalidated_rkey);
		} else if (lexer_take(l, "grh")) {
			flags |= IBV_WC_GRH;
		} else if ((name = take_name(l, wc_statuses)) != NULL) {
			status_checked = true;
			if (wc->status != name->value)
				lexer_fail(l, "expected %s, got %s", name->name,
					   name_of(wc_statuses, wc->status));
		} else if ((name = take_name(l, wc_opcodes)) != NULL) {
			if (wc->status == IBV_WC_SUCCESS && wc->opcode != name->value)
				lexer_fail(l, "expected %s, got %s", name->name,
					   name_of(wc_opcodes, wc->opcode));
		} else {
			lexer_fail(l, "'%s': nothing that a completion has", l->at);
		}
	}
	if (!status_checked && wc->status != IBV_WC_SUCCESS)
		lexer_fail(l, "expected SUCCESS, got %s", name_of(wc_statuses, wc->status));
	check_wc_flags(l, wc, flags);
}

/* poll R wr 1 [RECV] [status] [bytes 5] …, poll R none, poll R overrun */
static void
poll_statement(struct lexer *l)
{
	struct object *o = object_need(l, OBJECT_CQ);
	struct ibv_wc wc;
	int n = ibv_poll_cq(o->cq, 1, &wc);

	if (lexer_take(l, "none")) {
		if (n != 0)
			lexer_fail(l, "expected no completion, got one of wr %" PRIu64, wc.wr_id);
		return;
	}
	if (lexer_take(l, "overrun")) {
		if (n != -1)
			lexer_fail(l, "expected an overrun, got %d", n);
		o->overrun = true;
		return;
	}
	if (n != 1)
		lexer_fail(l, "expected a completion, got %s", n == 0 ? "none" : "an overrun");
	check_wc(l, &wc);
}

/* arm C [solicited] */
static void
arm_statement(struct lexer *l)
{
	struct object *o = object_need(l, OBJECT_CQ);
	int solicited = lexer_take(l, "solicited");

	statement_result(l, "req_notify_cq", ibv_req_notify_cq(o->cq, solicited));
}

/* notified CH C, notified CH none */
static void
notified_statement(struct lexer *l)
{
	struct object *channel = object_need(l, OBJECT_CHANNEL);
	struct ibv_cq *cq;
	void *context;
	int ret = uroce_get_cq_event(channel->channel, &cq, &context);

	if (ret == 0)
		uroce_ack_cq_events(cq, 1);
	if (lexer_take(l, "none")) {
		if (ret == 0)
			lexer_fail(l, "expected no completion event, got one");
		return;
	}
	if (ret != 0)
		lexer_fail(l, "expected a completion event, got none");
	if (context != object_need(l, OBJECT_CQ))
		lexer_fail(l, "the completion event is of another CQ");
}

static const char *
element_of(const struct ibv_async_event *event)
{
	for (unsigned int i = 0; object_at(i) != NULL; i++)
		if (object_at(i)->verbs == event->element.cq)
			return object_at(i)->name;
	return "nothing";
}

/* event QP_FATAL Q, event none */
static void
event_statement(struct lexer *l)
{
	const struct name *name = take_name(l, events);
	struct ibv_async_event event;
	const char *of;

	if (uroce_get_async_event(device_context(), &event) != 0) {
		if (name != NULL)
			lexer_fail(l, "expected the event %s, got none", name->name);
		lexer_need(l, "none");
		return;
	}
	of = element_of(&event);
	uroce_ack_async_event(&event);
	if (name == NULL || event.event_type != name->value || !lexer_take(l, of))
		lexer_fail(l, "expected another event, got %s of %s", name_of(events, event.event_type), of);
}

void
work_check_empty(struct lexer *l)
{
	struct ibv_async_event event;
	struct ibv_wc wc;

	for (unsigned int i = 0; object_at(i) != NULL; i++) {
		const struct object *o = object_at(i);

		if (o->kind != OBJECT_CQ || o->verbs == NULL || o->overrun)
			continue;
		if (ibv_poll_cq(o->cq, 1, &wc) != 0)
			lexer_fail(l, "at the end %s holds a completion of wr %" PRIu64 ", %s", o->name,
				   wc.wr_id, name_of(wc_statuses, wc.status));
	}
	if (uroce_get_async_event(device_context(), &event) == 0) {
		uroce_ack_async_event(&event);
		lexer_fail(l, "at the end there is an event: %s of %s", name_of(events, event.event_type),
			   element_of(&event));
	}
}

const struct statement work_statements[] = {
	{ "post", post_statement }, { "bind", bind_statement }, { "recv", recv_statement }, { "poll", poll_statement },
	{ "arm", arm_statement }, { "notified", notified_statement }, { "event", event_statement },
	{ NULL, NULL },
};
