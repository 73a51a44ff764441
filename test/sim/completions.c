/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Checks that every signaled request completes once, in order, with the right fields, and that its effects are then
 * visible at both ends. After the first error nothing succeeds and all requests are flushed.
 */

#include "completions.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "digest.h"
#include "oracle.h"
#include "queues.h"
#include "trace.h"
#include "uroce.h"

static bool
is_read_or_atomic(const struct op *op)
{
	return op->opcode == IBV_WR_RDMA_READ || op->word != NULL;
}

static enum ibv_wc_opcode
wc_opcode_of(const struct op *op)
{
	switch ((int)op->opcode) { /* IBV_WR_FLUSH may not be in the enum */
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM: return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ: return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP: return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD: return IBV_WC_FETCH_ADD;
	case IBV_WR_ATOMIC_WRITE: return IBV_WC_ATOMIC_WRITE;
	case IBV_WR_FLUSH: return IBV_WC_FLUSH;
	case IBV_WR_BIND_MW: return IBV_WC_BIND_MW;
	case IBV_WR_LOCAL_INV: return IBV_WC_LOCAL_INV;
	default: return IBV_WC_SEND;
	}
}

static void
note_atomic(struct side *s, struct op *op, bool unknown)
{
	struct word_result result = {
		.owner = s->life,
		.opcode = op->opcode,
		.compare_add = op->compare_add,
		.swap = op->swap,
		.unknown = unknown,
	};
	uint8_t bytes[sizeof(result.original)];
	uint32_t offset = 0;

	for (unsigned int i = 0; i < op->num_sge; i++) {
		memcpy(bytes + offset, region_real(op->locals[i]), op->locals[i]->bytes);
		offset += op->locals[i]->bytes;
		region_adopt(op->locals[i], true);
	}
	memcpy(&result.original, bytes, sizeof(bytes));
	word_note(op->word, &result);
}

/* The application reuses its buffers at once. */
static void
release_regions(struct region *const *regions, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		if (regions[i]->refs == 1)
			region_fill(regions[i]);
		region_put(regions[i]);
	}
}

/* The sender's completion proves that the peer has received the message. */
static void
check_delivered(struct side *s, struct message *m)
{
	const struct receive *r = m->receive;

	SIM_CHECK(r != NULL, "QP 0x%06x: a message is acknowledged that nothing was posted for",
		  s->qpn);
	SIM_CHECK(!r->must_fail, "QP 0x%06x: a message is acknowledged that could not be placed",
		  s->qpn);
	for (unsigned int i = 0; i < r->num_sge; i++)
		SIM_CHECK(region_placed(r->regions[i]) == MEMORY_ALL,
			  "QP 0x%06x: a message is acknowledged before it is in place", s->qpn);
	m->op = NULL;
}

static void
op_succeeded(struct side *s, struct op *op)
{
	STAILQ_REMOVE_HEAD(&s->ops, link);
	s->op_count--;
	s->completed++;
	SIM_CHECK(!op->must_fail && !op->forbidden && !op->cut, "QP 0x%06x: a request that must fail succeeds",
		  s->qpn);
	window_op_succeeded(s, op);
	if (op->message != NULL)
		check_delivered(s, op->message);
	if (op->opcode == IBV_WR_RDMA_READ)
		for (unsigned int i = 0; i < op->num_sge; i++)
			region_settle(op->locals[i], "READ");
	if (op->word != NULL)
		note_atomic(s, op, false);
	if (op->remote != NULL) {
		if (!is_read_or_atomic(op))
			region_settle(op->remote, "WRITE");
		release_regions(&op->remote, 1);
	}
	release_regions(op->locals, op->num_sge);
	free(op);
}

/* After its completion a failed request does not access its local memory. The remote side may still execute packets in
 * flight. */
static void
op_failed(struct side *s, struct op *op)
{
	STAILQ_REMOVE_HEAD(&s->ops, link);
	s->op_count--;
	if (op->word != NULL && !op->forbidden)
		note_atomic(s, op, true);
	if (op->opcode == IBV_WR_RDMA_READ)
		for (unsigned int i = 0; i < op->num_sge; i++)
			region_adopt(op->locals[i], false);
	release_regions(op->locals, op->num_sge);
	op->num_sge = 0;
	STAILQ_INSERT_TAIL(&s->dead_ops, op, link);
}

static void
check_send_error(struct side *s, const struct ibv_wc *wc, const struct op *op)
{
	SIM_CHECK(s->may_fail, "QP 0x%06x: wr 0x%" PRIx64 " fails: %s", s->qpn, wc->wr_id,
		  uroce_wc_status_str(wc->status));
	if (s->send_failed) {
		SIM_CHECK(wc->status == IBV_WC_WR_FLUSH_ERR, "QP 0x%06x: %s after an error", s->qpn,
			  uroce_wc_status_str(wc->status));
		return;
	}
	s->send_failed = true;
	if (wc->status == IBV_WC_WR_FLUSH_ERR) {
		SIM_CHECK(s->culprit == NULL || s->culprit != op,
			  "QP 0x%06x: the request that must fail is flushed", s->qpn);
		return;
	}
	s->send_status = wc->status;
	SIM_CHECK((s->send_errors & 1u << wc->status) != 0, "QP 0x%06x: %s is not how it must fail",
		  s->qpn, uroce_wc_status_str(wc->status));
	SIM_CHECK(s->culprit == NULL || s->culprit == op || wc->status == IBV_WC_RETRY_EXC_ERR,
		  "QP 0x%06x: the wrong request fails: %s", s->qpn,
		  uroce_wc_status_str(wc->status));
}

static void
check_send_success(struct side *s, const struct ibv_wc *wc, const struct op *op)
{
	SIM_CHECK(!s->send_failed, "QP 0x%06x: success after an error", s->qpn);
	SIM_CHECK(op->signaled, "QP 0x%06x: an unsignaled request completes", s->qpn);
	SIM_CHECK(wc->opcode == wc_opcode_of(op), "QP 0x%06x: wc.opcode %d for opcode %d", s->qpn,
		  (int)wc->opcode, (int)op->opcode);
	SIM_CHECK(!is_read_or_atomic(op) || wc->byte_len == op->length,
		  "QP 0x%06x: wc.byte_len %u instead of %u", s->qpn, wc->byte_len, op->length);
	SIM_CHECK(wc->wc_flags == 0, "QP 0x%06x: wc.wc_flags 0x%x", s->qpn, wc->wc_flags);
}

static void
check_send(struct side *s, const struct ibv_wc *wc)
{
	struct op *op;

	while ((op = STAILQ_FIRST(&s->ops)) != NULL && op->wr_id != wc->wr_id) {
		SIM_CHECK(!op->signaled || s->overrun,
			  "QP 0x%06x: the completion of wr 0x%" PRIx64
			  " is missing before 0x%" PRIx64,
			  s->qpn, op->wr_id, wc->wr_id);
		SIM_CHECK(!s->send_failed || s->overrun,
			  "QP 0x%06x: wr 0x%" PRIx64 " was not flushed", s->qpn, op->wr_id);
		op_succeeded(s, op);
	}
	SIM_CHECK(op != NULL, "QP 0x%06x: wr 0x%" PRIx64 " completes twice, or was never posted",
		  s->qpn, wc->wr_id);
	SIM_CHECK(!s->drained, "QP 0x%06x: a completion after the event that it is drained",
		  s->qpn);
	if (wc->status == IBV_WC_SUCCESS) {
		check_send_success(s, wc, op);
		op_succeeded(s, op);
	} else {
		check_send_error(s, wc, op);
		op_failed(s, op);
	}
}

/* A receive completes after the effects of all requests before its message, such as WRITEs. */
static void
check_order(struct side *s, const struct message *m)
{
	const struct op *op;

	if (m->op == NULL || s->peer->send_failed)
		return;
	STAILQ_FOREACH(op, &s->peer->ops, link) {
		if (op->remote != NULL && !is_read_or_atomic(op) && !op->forbidden)
			SIM_CHECK(region_placed(op->remote) == MEMORY_ALL,
				  "QP 0x%06x: a receive completes before an earlier WRITE", s->qpn);
		if (op == m->op)
			return;
	}
}

/* @return whether the message was solicited */
static bool
check_recv_success(struct side *s, const struct ibv_wc *wc, struct receive *r)
{
	struct message *m = r->message;
	unsigned int flags;
	bool solicited;

	SIM_CHECK(!s->recv_failed, "QP 0x%06x: a receive succeeds after an error", s->qpn);
	SIM_CHECK(m != NULL && m == STAILQ_FIRST(&s->messages),
		  "QP 0x%06x: a receive completes without a message", s->qpn);
	SIM_CHECK(!r->must_fail && (!r->bad || m->is_write || m->length == 0),
		  "QP 0x%06x: a receive that may not be written succeeds", s->qpn);
	SIM_CHECK(!m->is_write || m->op == NULL || !m->op->cut,
		  "QP 0x%06x: a receive completes for a WRITE that was not allowed", s->qpn);
	flags = m->has_imm ? IBV_WC_WITH_IMM : m->invalidates ? IBV_WC_WITH_INV : 0;
	SIM_CHECK(wc->opcode == (m->is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV),
		  "QP 0x%06x: wc.opcode %d of a receive", s->qpn, (int)wc->opcode);
	SIM_CHECK(wc->byte_len == m->length, "QP 0x%06x: wc.byte_len %u instead of %u", s->qpn,
		  wc->byte_len, m->length);
	SIM_CHECK(wc->wc_flags == flags, "QP 0x%06x: wc.wc_flags 0x%x instead of 0x%x", s->qpn,
		  wc->wc_flags, flags);
	SIM_CHECK(!m->has_imm || wc->imm_data == m->imm,
		  "QP 0x%06x: wc.imm_data 0x%x instead of 0x%x", s->qpn, wc->imm_data, m->imm);
	if (m->invalidates)
		window_invalidated(s, wc);
	for (unsigned int i = 0; i < r->num_sge; i++)
		region_settle(r->regions[i], "receive");
	check_order(s, m);
	STAILQ_REMOVE_HEAD(&s->messages, link);
	if (m->op != NULL)
		m->op->message = NULL;
	solicited = m->solicited;
	free(m->data);
	free(m);
	return solicited;
}

static void
check_recv_error(struct side *s, const struct ibv_wc *wc, struct receive *r)
{
	SIM_CHECK(s->may_fail, "QP 0x%06x: a receive fails: %s", s->qpn,
		  uroce_wc_status_str(wc->status));
	if (s->recv_failed || wc->status == IBV_WC_WR_FLUSH_ERR) {
		SIM_CHECK(wc->status == IBV_WC_WR_FLUSH_ERR,
			  "QP 0x%06x: a receive fails after an error: %s", s->qpn,
			  uroce_wc_status_str(wc->status));
	} else {
		SIM_CHECK((s->recv_errors & 1u << wc->status) != 0,
			  "QP 0x%06x: %s is not how a receive must fail", s->qpn,
			  uroce_wc_status_str(wc->status));
		s->recv_status = wc->status;
	}
	s->recv_failed = true;
	for (unsigned int i = 0; i < r->num_sge; i++)
		region_adopt(r->regions[i], false);
	if (r->message != NULL)
		r->message->receive = NULL;
}

static bool
check_recv(struct side *s, const struct ibv_wc *wc)
{
	struct receive *r = STAILQ_FIRST(&s->receives);
	bool solicited = true;

	SIM_CHECK(r != NULL, "QP 0x%06x: a receive completes that was never posted", s->qpn);
	SIM_CHECK(r->wr_id == wc->wr_id,
		  "QP 0x%06x: receive 0x%" PRIx64 " completes instead of 0x%" PRIx64, s->qpn,
		  wc->wr_id, r->wr_id);
	if (wc->status == IBV_WC_SUCCESS)
		solicited = check_recv_success(s, wc, r);
	else
		check_recv_error(s, wc, r);
	STAILQ_REMOVE_HEAD(&s->receives, link);
	s->receive_count--;
	release_regions(r->regions, r->num_sge);
	free(r);
	return solicited;
}

bool
completion_check(struct side *s, const struct ibv_wc *wc, bool is_recv)
{
	trace_note(s->end->world->now_ns,
		   "end %u qp 0x%06x %s wr 0x%" PRIx64 " opcode %d bytes %u: %s", s->end->index,
		   s->qpn, is_recv ? "recv" : "send", wc->wr_id, (int)wc->opcode, wc->byte_len,
		   uroce_wc_status_str(wc->status));
	digest_completion(s->end->world->now_ns, s->end->index, wc);
	SIM_CHECK(wc->qp_num == s->qpn, "wc.qp_num 0x%06x instead of 0x%06x", wc->qp_num, s->qpn);
	if (is_recv)
		return check_recv(s, wc);
	check_send(s, wc);
	return wc->status != IBV_WC_SUCCESS;
}

void
completions_drop(struct side *s)
{
	struct receive *r;
	struct op *op;

	while ((op = STAILQ_FIRST(&s->ops)) != NULL) {
		s->send_failed = true;
		op_failed(s, op);
	}
	while ((r = STAILQ_FIRST(&s->receives)) != NULL) {
		STAILQ_REMOVE_HEAD(&s->receives, link);
		s->receive_count--;
		for (unsigned int i = 0; i < r->num_sge; i++)
			region_adopt(r->regions[i], false);
		if (r->message != NULL)
			r->message->receive = NULL;
		release_regions(r->regions, r->num_sge);
		free(r);
	}
}

/* The lowest bit of a wr_id is set for receives, in case both share a CQ. */
static unsigned int
poll_cq(struct side *s, struct ibv_cq *cq, unsigned int room)
{
	struct ibv_wc wc[16];
	int n = queue_poll(s, cq, (int)RTE_MIN(room, RTE_DIM(wc)), wc);

	SIM_CHECK(n >= 0 || s->overrun, "uroce_poll_cq fails");
	for (int i = 0; i < n; i++)
		watch_saw(s, cq, completion_check(s, &wc[i], (wc[i].wr_id & 1) != 0));
	return n > 0 ? (unsigned int)n : 0;
}

unsigned int
oracle_poll(struct side *s, unsigned int n)
{
	unsigned int got = poll_cq(s, s->send_cq, n);

	if (s->recv_cq != s->send_cq)
		got += poll_cq(s, s->recv_cq, n);
	return got;
}

void
oracle_poll_all(struct side *s)
{
	while (oracle_poll(s, 16) > 0)
		;
	watch_check(s);
}
