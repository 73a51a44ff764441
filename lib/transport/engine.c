/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The engine: passes received packets to responder and completer, runs timers, and gives QPs turns to send.
 */

#include <string.h>

#include <rte_branch_prediction.h>

#include "transport/congestion/congestion.h"
#include "transport/doorbell.h"
#include "transport/engine.h"
#include "transport/qp_change.h"
#include "transport/qp/qp.h"
#include "transport/qp/turns.h"
#include "transport/requester/requester.h"
#include "transport/responder/responder.h"
#include "transport/unreliable/unreliable.h"
#include "uroce_config.h"
#include "verbs/device/congestion.h"
#include "wire/gid.h"
#include "wire/sack.h"

const char *const uroce_engine_counter_names[UROCE_ENGINE_COUNTER_COUNT] = {
	[UROCE_SENT_PACKETS] = "sent_packets",
	[UROCE_SENT_BYTES] = "sent_bytes",
	[UROCE_RECEIVED_BYTES] = "received_bytes",
	[UROCE_SENT_ACKS] = "sent_acks",
	[UROCE_RX_WRITE_REQUESTS] = "rx_write_requests",
	[UROCE_RDMA_SENDS] = "rdma_sends",
	[UROCE_RDMA_RECVS] = "rdma_recvs",
	[UROCE_RX_READ_REQUESTS] = "rx_read_requests",
	[UROCE_RX_ATOMIC_REQUESTS] = "rx_atomic_requests",
	[UROCE_SENT_NAKS] = "sent_naks",
	[UROCE_SENT_RNR_NAKS] = "sent_rnr_naks",
	[UROCE_SENT_SACKS] = "sent_sacks",
	[UROCE_RETRANSMITTED_PACKETS] = "retransmitted_packets",
	[UROCE_TIMEOUTS] = "timeouts",
	[UROCE_PROBES] = "probes",
	[UROCE_SENT_ASKS] = "sent_asks",
	[UROCE_SACKS_RECEIVED] = "sacks_received",
	[UROCE_NAKS_RECEIVED] = "naks_received",
	[UROCE_RNR_NAKS_RECEIVED] = "rnr_naks_received",
	[UROCE_ZERO_COPY_PACKETS] = "zero_copy_packets",
	[UROCE_NO_MBUF] = "no_mbuf",
	[UROCE_CQ_OVERRUNS] = "cq_overruns",
	[UROCE_NP_ECN_MARKED_PACKETS] = "np_ecn_marked_roce_packets",
	[UROCE_NP_CNP_SENT] = "np_cnp_sent",
	[UROCE_RP_CNP_HANDLED] = "rp_cnp_handled",
	[UROCE_RP_CNP_IGNORED] = "rp_cnp_ignored",
	[UROCE_EARLY_DROPPED] = "early_dropped",
	[UROCE_EARLY_EXPIRED] = "early_expired",
	[UROCE_PACKET_SEQ_ERR] = "packet_seq_err",
	[UROCE_COMPLETER_RETRY_ERR] = "completer_retry_err",
	[UROCE_REQ_CQE_ERROR] = "req_cqe_error",
	[UROCE_REQ_CQE_FLUSH_ERROR] = "req_cqe_flush_error",
	[UROCE_REQ_REMOTE_INVALID_REQUEST] = "req_remote_invalid_request",
	[UROCE_REQ_REMOTE_ACCESS_ERRORS] = "req_remote_access_errors",
	[UROCE_REQ_TRANSPORT_RETRIES_EXCEEDED] = "req_transport_retries_exceeded",
	[UROCE_REQ_RNR_RETRIES_EXCEEDED] = "req_rnr_retries_exceeded",
	[UROCE_RESP_CQE_ERROR] = "resp_cqe_error",
	[UROCE_RESP_CQE_FLUSH_ERROR] = "resp_cqe_flush_error",
	[UROCE_RESP_LOCAL_LENGTH_ERROR] = "resp_local_length_error",
};

const struct uroce_engine_limits uroce_engine_default_limits = {
	.reorder_frames = UROCE_REORDER_FRAMES,
	.reorder_qps = UROCE_REORDER_QPS,
	.recoveries = UROCE_RECOVERIES,
	.rates = UROCE_RATES,
	.log2_window = UROCE_LOG2_WINDOW,
};

int
uroce_engine_init(struct uroce_engine *e, struct rte_mempool *header_pool, struct rte_mempool *payload_pool,
		  const struct uroce_engine_limits *limits, uint64_t now_ns)
{
	int node = header_pool->socket_id;
	int ret;

	if (limits == NULL)
		limits = &uroce_engine_default_limits;
	memset(e, 0, sizeof(*e));
	e->header_pool = header_pool;
	e->payload_pool = payload_pool;
	e->now_ns = now_ns;
	e->heard_ns = UINT64_MAX;
	e->ring_rounds = UROCE_RX_DESC / UROCE_BURST;
	TAILQ_INIT(&e->active);
	TAILQ_INIT(&e->later);
	LIST_INIT(&e->bells);
	TAILQ_INIT(&e->acks.overflow);
	uroce_budgets_init(e);
	uroce_wheel_init(&e->wheel, now_ns);
	uroce_wheel_init(&e->cq_wheel, now_ns);
	ret = uroce_reorder_init(&e->reorder, limits->reorder_frames, limits->reorder_qps, limits->log2_window,
				 node);
	if (ret < 0)
		return ret;
	ret = uroce_recoveries_init(&e->recoveries, limits->recoveries, limits->log2_window, node);
	if (ret < 0)
		goto fini_reorder;
	ret = uroce_pacer_init(&e->pacer, limits->rates, node, now_ns);
	if (ret < 0)
		goto fini_recoveries;
	return 0;

fini_recoveries:
	uroce_recoveries_fini(&e->recoveries);
fini_reorder:
	uroce_reorder_fini(&e->reorder);
	return ret;
}

void
uroce_engine_fini(struct uroce_engine *e)
{
	RTE_VERIFY(e->rated == 0);
	if (e->cnp_count != 0)
		rte_pktmbuf_free_bulk(e->cnps, e->cnp_count);
	uroce_pacer_fini(&e->pacer);
	uroce_recoveries_fini(&e->recoveries);
	uroce_reorder_fini(&e->reorder);
}

/* R6: equal except for the membership bit, and not both limited members. Our P_Key is that of a full member. */
static bool
pkey_matches(uint16_t pkey)
{
	return (pkey & 0x7fff) == (UROCE_DEFAULT_PKEY & 0x7fff);
}

/* R8: does the packet come from the address in the QP's address vector? */
static bool
source_matches(const struct uroce_qp *qp, const struct uroce_packet *p)
{
	const uint8_t *gid = qp->path.dgid.raw;

	if (p->ip_version == 6)
		return memcmp(gid, p->src_ip, 16) == 0;
	return uroce_gid_is_ipv4(gid) && memcmp(gid + UROCE_GID_IPV4_OFFSET, p->src_ip, 4) == 0;
}

/* May the CNP reduce the QP's rate? A UD QP has no peer whose address could be compared (R8). */
static enum uroce_verdict
check_cnp(const struct uroce_qp *qp, const struct uroce_packet *p)
{
	if (!pkey_matches(p->pkey))
		return UROCE_DROP_PKEY;
	if (qp->state < IBV_QPS_RTR || qp->state == IBV_QPS_ERR)
		return UROCE_DROP_QP_STATE;
	if (qp->transport != UROCE_TRANSPORT_UD && !source_matches(qp, p))
		return UROCE_DROP_SOURCE;
	/* never slow down the MADs of the connection manager: they are few */
	if (qp->ibv.qp_num == UROCE_GSI_QPN || uroce_congestion_of(qp->dev)->off)
		return UROCE_DROP_CNP;
	return UROCE_CNP_RECEIVED;
}

static enum uroce_verdict
receive_cnp(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	enum uroce_verdict verdict = check_cnp(qp, p);

	if (verdict == UROCE_CNP_RECEIVED && !uroce_pacer_cnp(e, qp))
		verdict = UROCE_DROP_CNP;
	uroce_count(e, verdict == UROCE_CNP_RECEIVED ? UROCE_RP_CNP_HANDLED : UROCE_RP_CNP_IGNORED, 1);
	uroce_qp_history_count(&qp->history, UROCE_QP_CNPS_RECEIVED, 1);
	uroce_trace_cnp_received(qp->dev->index, qp->ibv.qp_num, verdict == UROCE_CNP_RECEIVED);
	return verdict;
}

static enum uroce_verdict
receive(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	if (unlikely(p->info->transport != qp->transport))	/* R2 */
		return p->info->transport == UROCE_TRANSPORT_CNP ? receive_cnp(e, qp, p) : UROCE_DROP_TRANSPORT;
	if (unlikely(p->opcode >= UROCE_RC_ASK) && (qp->dev->go_back_n || !uroce_bth_is_marked(p->bth)))
		return UROCE_DROP_OPCODE;
	/* an XRC initiator has no responder, a target no requester */
	if (unlikely(qp->transport == UROCE_TRANSPORT_XRC) &&
	    !!(p->info->flags & UROCE_OPF_REQUEST) != (qp->target != NULL))
		return UROCE_DROP_TRANSPORT;
	if (unlikely(!pkey_matches(p->pkey)))
		return UROCE_DROP_PKEY;
	if (unlikely(qp->transport == UROCE_TRANSPORT_UD))
		return uroce_ud_receive(e, qp, p);
	if (unlikely(!qp->path.set_up))
		return UROCE_DROP_QP_STATE;
	if (unlikely(!source_matches(qp, p)))
		return UROCE_DROP_SOURCE;
	if (unlikely(qp->transport == UROCE_TRANSPORT_UC))
		return uroce_uc_receive(e, qp, p);
	if (unlikely(p->opcode == UROCE_RC_ASK))
		return uroce_responder_ask(e, qp, p);
	return p->info->flags & UROCE_OPF_REQUEST ? uroce_responder_receive(e, qp, p)
						  : uroce_completer_receive(e, qp, p);
}

void
uroce_engine_receive(struct uroce_engine *e, struct uroce_qp *const *qps, const struct uroce_packet *packets,
		     unsigned int n, uint64_t now_ns)
{
	e->now_ns = now_ns;
	e->acks.packets += n;
	for (unsigned int i = 0; i < n; i++) {
		enum uroce_verdict verdict = receive(e, qps[i], &packets[i]);

		uroce_qp_end_failed(e);
		uroce_count_verdict(e, verdict);
		if (unlikely(verdict != UROCE_OK))
			uroce_qp_history_verdict(&qps[i]->history, verdict, now_ns);
		if (unlikely((packets[i].traffic_class & UROCE_ECN_MASK) == UROCE_ECN_CE))
			uroce_congestion_marked(e, qps[i], &packets[i], verdict);
	}
}

static void
timer_fired(struct uroce_timer *t, void *arg)
{
	uroce_completer_timeout(arg, uroce_qp_of_timer(t));
	uroce_qp_end_failed(arg);
}

static void
cq_timer_fired(struct uroce_timer *t, void *arg)
{
	struct uroce_engine *e = arg;

	e->cq_timers--;
	uroce_cq_timeout(t, e);
}

static uint64_t
engine_now(const struct uroce_engine *e)
{
	return e->now_ns;
}

static void
engine_timer_arm(struct uroce_engine *e, struct uroce_timer *timer, uint64_t deadline_ns)
{
	/* an empty wheel may be far behind the time: advance it first, which is cheap while it is empty */
	if (e->cq_timers++ == 0)
		uroce_wheel_expire(&e->cq_wheel, e->now_ns, cq_timer_fired, e);
	uroce_wheel_arm(&e->cq_wheel, timer, deadline_ns);
}

static void
engine_timer_remove(struct uroce_engine *e, struct uroce_timer *timer)
{
	if (timer->slot_ns != 0)
		e->cq_timers--;
	uroce_wheel_remove(&e->cq_wheel, timer);
}

/* Send the QP's responses, then its requests. After a turn full of responses the requests come first, so that a peer
 * that keeps sending READs does not starve them. @return the number of frames */
static unsigned int
take_turn(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames, unsigned int room)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	unsigned int n = 0, requests;

	if (unlikely(qp->transport == UROCE_TRANSPORT_UC))
		return uroce_uc_send(e, qp, frames, room);
	if (unlikely(qp->transport == UROCE_TRANSPORT_UD))
		return uroce_ud_send(e, qp, frames, room);
	if (unlikely(resp->filled_turn)) {
		resp->filled_turn = false;
		n = uroce_requester_send(e, qp, frames, room);
	}
	requests = n;
	if (n < room && !e->acks.blocked)
		n += uroce_response_send(e, qp, frames + n, room - n);
	if (unlikely(n == room && requests == 0))
		resp->filled_turn = true;
	else if (requests == 0)
		n += uroce_requester_send(e, qp, frames + n, room - n);
	return n;
}

/* Send one frame at a time, as far as the QP's rate allows. ACKs and NAKs are not charged. @return the number of frames */
static unsigned int
take_rated_turn(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames, unsigned int room)
{
	unsigned int n = 0;

	if (!uroce_pacer_begin(e, qp))
		return take_turn(e, qp, frames, room);
	while (n < room) {
		bool paced = !uroce_response_is_ack(qp);

		if (paced && uroce_pacer_waits(qp))
			break;
		if (!paced)
			uroce_responder_of(qp)->filled_turn = false;	/* the frame must be the ACK */
		if (take_turn(e, qp, &frames[n], 1) == 0)
			break;
		if (paced)
			uroce_pacer_spend(qp, frames[n]);
		n++;
	}
	uroce_pacer_end(e, qp);
	return n;
}

/* Prefetch during this QP's turn: the next WQE of the next QP, whose own cache lines have arrived by now, and the cache
 * lines of the QP after that. With many QPs they are in no cache. */
static inline void
prefetch_turns(const struct uroce_qp *qp)
{
	const struct uroce_qp *next = TAILQ_NEXT(qp, active_link);

	if (next == NULL)
		return;
	if (uroce_requester_of(next)->next != __atomic_load_n(&next->sq.tail, __ATOMIC_RELAXED))
		uroce_sqe_prefetch(&next->sq, uroce_requester_of(next)->next);
	next = TAILQ_NEXT(next, active_link);
	if (next == NULL)
		return;
	uroce_qp_prefetch_constant(next);
	uroce_qp_prefetch_variable(next);
}

/* Send the CNPs, before all other frames. @return the number of frames */
static unsigned int
send_cnps(struct uroce_engine *e, struct rte_mbuf **frames, unsigned int n)
{
	unsigned int sent = RTE_MIN(e->cnp_count, n);

	memcpy(frames, e->cnps, sent * sizeof(frames[0]));
	e->cnp_count -= sent;
	memmove(e->cnps, e->cnps + sent, e->cnp_count * sizeof(e->cnps[0]));
	return sent;
}

/* Give turns to the QPs that the previous call deferred to this one. */
static void
activate_those_of_later(struct uroce_engine *e)
{
	struct uroce_qp *qp;

	while ((qp = TAILQ_FIRST(&e->later)) != NULL)
		uroce_qp_activate(e, qp);
}

/* The rare work of a round: CNPs, rates, moderated CQs, the reorder buffer. @return the number of frames */
static unsigned int
send_rare(struct uroce_engine *e, struct rte_mbuf **frames, unsigned int n)
{
	if (e->cq_timers != 0)
		uroce_wheel_expire(&e->cq_wheel, e->now_ns, cq_timer_fired, e);
	if (e->rated != 0)
		uroce_pacer_expire(e);
	uroce_reorder_expire(e);
	uroce_acks_expire(e);
	activate_those_of_later(e);
	return send_cnps(e, frames, n);
}

static unsigned int
send_acks(struct uroce_engine *e, struct rte_mbuf **frames, unsigned int n)
{
	unsigned int sent = uroce_acks_send(e, frames, n);

	uroce_qp_end_failed(e);	/* a QP fails once its fatal NAK has left */
	return sent;
}

unsigned int
uroce_engine_send_owed(struct uroce_engine *e, struct rte_mbuf **frames, unsigned int n)
{
	uroce_acks_due_now(e);
	return send_acks(e, frames, n);
}

/* The QP's next message must follow ACKs that are still owed: send them, then continue the QP's turn. */
static unsigned int
send_acks_first(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames, unsigned int n)
{
	e->acks.blocked = false;
	uroce_qp_activate_next(e, qp);
	e->acks.lead |= uroce_acks_are_due(e);
	uroce_acks_due_all(&e->acks);
	return send_acks(e, frames, n);
}

unsigned int
uroce_engine_send(struct uroce_engine *e, struct rte_mbuf **frames, unsigned int n, uint64_t now_ns)
{
	unsigned int sent = 0;

	e->now_ns = now_ns;
	uroce_wheel_expire(&e->wheel, uroce_engine_heard_by(e), timer_fired, e);
	uroce_doorbells_take(e);
	if (unlikely((e->cq_timers | e->rated | e->cnp_count | e->acks.reply_count) != 0 ||
		     !TAILQ_EMPTY(&e->reorder.holders) || !TAILQ_EMPTY(&e->later)))
		sent = send_rare(e, frames, n);
	/* messages must follow the owed ACKs: send all ACKs before the turns, so that none of the turns has to end
	 * early */
	if (e->acks.lead && !TAILQ_EMPTY(&e->active))
		uroce_acks_due_all(&e->acks);
	if (e->acks.lead && uroce_acks_are_due(e))
		sent += send_acks(e, frames + sent, n - sent);
	while (sent < n && !TAILQ_EMPTY(&e->active)) {
		struct uroce_qp *qp = TAILQ_FIRST(&e->active);
		unsigned int room = RTE_MIN(n - sent, (unsigned int)UROCE_SEND_QUANTUM);
		uint64_t no_mbuf = e->counters[UROCE_NO_MBUF];
		unsigned int turn;

		prefetch_turns(qp);
		uroce_qp_deactivate(e, qp);
		turn = likely(!uroce_qp_is_rated(qp)) ? take_turn(e, qp, frames + sent, room)
						: take_rated_turn(e, qp, frames + sent, room);
		uroce_qp_end_failed(e);
		sent += turn;
		if (unlikely(e->acks.blocked)) {
			sent += send_acks_first(e, qp, frames + sent, n - sent);
			if (unlikely(uroce_acks_are_due(e)))	/* no room, or no mbuf */
				break;
			continue;
		}
		if (turn == room || (uroce_response_pending(qp) && !uroce_pacer_waits(qp)))
			uroce_qp_activate(e, qp);
		if (unlikely(e->counters[UROCE_NO_MBUF] != no_mbuf)) {
			uroce_qp_activate(e, qp);
			break;
		}
		if (unlikely(e->yield)) {
			e->yield = false;
			break;
		}
	}
	if (!e->acks.lead && uroce_acks_are_due(e))
		sent += send_acks(e, frames + sent, n - sent);
	return sent;
}

uint64_t
uroce_engine_deadline(const struct uroce_engine *e)
{
	uint64_t next_ns;

	if (!TAILQ_EMPTY(&e->active) || !TAILQ_EMPTY(&e->later) || e->cnp_count != 0 ||
	    uroce_engine_is_rung(e))
		return e->now_ns;
	next_ns = RTE_MIN(uroce_wheel_next(&e->wheel), uroce_acks_deadline(e));
	if (unlikely(e->cq_timers != 0))
		next_ns = RTE_MIN(next_ns, uroce_wheel_next(&e->cq_wheel));
	if (unlikely(e->rated != 0))
		next_ns = RTE_MIN(next_ns, uroce_wheel_next(&e->pacer.wheel));
	if (unlikely(!TAILQ_EMPTY(&e->reorder.holders)))
		next_ns = RTE_MIN(next_ns, uroce_reorder_deadline(&e->reorder));
	return next_ns;
}

static void
engine_qp_detach(struct uroce_qp *qp)
{
	struct uroce_engine *e = qp->engine;

	uroce_doorbells_take(e);
	uroce_qp_leave(e, qp);
}

const struct uroce_transport_ops uroce_transport_ops = {
	.qp_detach = engine_qp_detach,
	.qp_changed = uroce_engine_qp_changed,
	.qp_query = uroce_engine_qp_query,
	.qp_rd_atomics = uroce_responder_take_ring,
	.bells_add = uroce_bells_add,
	.bells_take = uroce_bells_take,
	.bells_del = uroce_bells_del,
	.engine_now = engine_now,
	.timer_arm = engine_timer_arm,
	.timer_remove = engine_timer_remove,
};
