/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Telemetry of one QP: its state and PSNs, its timer, its retransmissions, and the cause of its failure. The QP is
 * copied in its worker's turn, which takes less than a microsecond, and printed afterward. EAL's telemetry threads,
 * with the registry's lock.
 */

#include <errno.h>
#include <string.h>

#include <arpa/inet.h>
#include <rte_byteorder.h>

#include "base/dpdk_compat.h"
#include "base/rcu.h"
#include "base/clock.h"
#include "port/net/gid.h"
#include "port/port.h"
#include "port/telemetry/page.h"
#include "port/telemetry/telemetry.h"
#include "port/worker/worker.h"
#include "transport/qp/state.h"
#include "transport/requester/state.h"
#include "uroce.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "verbs/srq/srq.h"
#include "wire/psn.h"

/* A copy of a QP at one time. The objects that it points to stay: this thread is an RCU reader. */
struct view {
	struct uroce_qp qp;
	struct uroce_requester req;
	struct uroce_responder resp;
	struct uroce_dcqcn dcqcn; /* set if the QP has a rate */
	uint32_t early_frames;
	uint64_t now_ns;
	unsigned int worker;
};

/* Copy the QP. Threads that post write the indices of its queues meanwhile, so those are not of the same instant. */
static bool
view_take(struct view *v, const struct uroce_qp *qp)
{
	struct uroce_worker *w = uroce_worker_of(uroce_qp_engine(qp));

	if (!uroce_worker_enter_within(w, UROCE_TELEMETRY_WAIT_NS))
		return false;
	if (w != uroce_worker_of(uroce_qp_engine(qp))) { /* the QP has moved meanwhile */
		uroce_worker_exit(w);
		return false;
	}
	memcpy(&v->qp, qp, sizeof(v->qp));
	v->req = *uroce_requester_of(qp);
	v->resp = *uroce_responder_of(qp);
	if (qp->rate != NULL)
		v->dcqcn = qp->rate->dcqcn;
	v->early_frames = uroce_responder_of(qp)->reorder != NULL ? uroce_responder_of(qp)->reorder->frames : 0;
	uroce_worker_exit(w);
	v->now_ns = uroce_clock_ns();
	v->worker = w->index;
	return true;
}

static void
add_int(struct rte_tel_data *d, const char *name, uint64_t value)
{
	rte_tel_data_add_dict_int(d, name, (int)value);
}

static const char *
type_name(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return "RC";
	case IBV_QPT_UC:
		return "UC";
	case IBV_QPT_UD:
		return "UD";
	case IBV_QPT_XRC_SEND:
		return "XRC_SEND";
	case IBV_QPT_XRC_RECV:
		return "XRC_RECV";
	default:
		return "?";
	}
}

static void
describe_path(const struct view *v, struct rte_tel_data *d)
{
	const struct uroce_path *path = &v->qp.path;
	const struct uroce_template *t = &path->headers;
	char text[INET6_ADDRSTRLEN];
	uint16_t port;

	add_int(d, "dest_qpn", v->qp.attr.dest_qp_num);
	rte_tel_data_add_dict_string(d, "peer", uroce_gid_format(path->dgid.raw, text, sizeof(text)));
	add_int(d, "loopback", path->out != 0);
	add_int(d, "mtu", v->qp.mtu_bytes);
	if (!path->set_up)
		return;
	memcpy(&port, t->bytes + t->l2_bytes + t->l3_bytes, sizeof(port));
	rte_tel_data_add_dict_string(d, "address", uroce_gid_format(path->sgid.raw, text, sizeof(text)));
	add_int(d, "udp_source_port", rte_be_to_cpu_16(port));
}

static void
describe_queues(const struct view *v, struct rte_tel_data *d)
{
	const struct ibv_qp *ibv = &v->qp.ibv;

	add_int(d, "send_queue", v->qp.sq.tail - v->qp.sq.head);
	add_int(d, "send_queue_size", v->qp.sq.capacity);
	add_int(d, "recv_queue", v->qp.rq.tail - v->qp.rq.head);
	if (ibv->srq == NULL)
		add_int(d, "recv_queue_size", v->qp.rq.capacity);
	else
		add_int(d, "srq", ibv->srq->handle);
	if (ibv->send_cq != NULL)
		add_int(d, "send_cq", ibv->send_cq->handle);
	if (ibv->recv_cq != NULL)
		add_int(d, "recv_cq", ibv->recv_cq->handle);
}

/* The purpose of the timer follows from the requester's state, as in uroce_completer_timeout(). */
static const char *
timer_name(const struct uroce_requester *req)
{
	if (req->timer.deadline_ns == 0)
		return "none";
	if (uroce_requester_waits(req->state))
		return "rnr";
	return req->timer.deadline_ns < req->timeout_ns ? "probe" : "timeout";
}

static void
describe_requester(const struct view *v, struct rte_tel_data *d)
{
	static const char *const kinds[] = { "unknown", "plain", "keeps", "sacks" };
	const struct uroce_requester *req = &v->req;
	uint64_t due_ns = req->timer.deadline_ns;

	add_int(d, "psn", req->psn);
	add_int(d, "unacked", req->unacked);
	add_int(d, "outstanding", uroce_psn_distance(req->psn, req->unacked));
	add_int(d, "window", 1u << req->log2_window);
	add_int(d, "rd_atomics", req->rd_atomics);
	if (req->credited)
		rte_tel_data_add_dict_int(d, "credits", uroce_psn_diff(req->lsn, req->ssn) + 1);
	add_int(d, "retries_left", req->retries_left);
	add_int(d, "rnr_retries_left", req->rnr_retries_left);
	rte_tel_data_add_dict_string(d, "timer", timer_name(req));
	if (due_ns != 0)
		rte_tel_data_add_dict_uint(d, "timer_due_us", due_ns > v->now_ns ? (due_ns - v->now_ns) / 1000 : 0);
	rte_tel_data_add_dict_uint(d, "rtt_ns", req->srtt_ns);
	rte_tel_data_add_dict_uint(d, "rtt_variation_ns", req->rttvar_ns);
	add_int(d, "recovering", req->recovery != NULL);
	rte_tel_data_add_dict_string(d, "peer_kind", req->peer < RTE_DIM(kinds) ? kinds[req->peer] : "?");
}

static void
describe_responder(const struct view *v, struct rte_tel_data *d)
{
	const struct uroce_responder *resp = &v->resp;

	add_int(d, "expected_psn", resp->psn);
	add_int(d, "msn", resp->msn);
	add_int(d, "responses_owed", resp->resource_tail - resp->resource_head);
	add_int(d, "early_frames", v->early_frames);
}

static void
describe_rate(const struct view *v, struct rte_tel_data *d)
{
	const bool rated = v->qp.rate != NULL;

	add_int(d, "rated", rated);
	if (!rated)
		return;
	rte_tel_data_add_dict_uint(d, "rate_mbps", v->dcqcn.current_bps / 1000000);
	rte_tel_data_add_dict_uint(d, "target_mbps", v->dcqcn.target_bps / 1000000);
	rte_tel_data_add_dict_uint(d, "alpha_permille", (uint64_t)v->dcqcn.alpha * 1000 / UROCE_DCQCN_ONE);
}

static uint64_t
age_ms(const struct view *v, uint64_t ns)
{
	return v->now_ns > ns ? (v->now_ns - ns) / 1000000 : 0;
}

static void
describe_history(const struct view *v, struct rte_tel_data *d)
{
	const struct uroce_qp_history *h = &v->qp.history;

	for (unsigned int i = 0; i < UROCE_QP_COUNTER_COUNT; i++)
		rte_tel_data_add_dict_uint(d, uroce_qp_counter_names[i], h->counters[i]);
	if (h->last_verdict != UROCE_OK) {
		rte_tel_data_add_dict_string(d, "last_not_ok", uroce_verdicts[h->last_verdict].name);
		rte_tel_data_add_dict_uint(d, "last_not_ok_ms_ago", age_ms(v, h->last_verdict_ns));
	}
	rte_tel_data_add_dict_string(d, "error", uroce_qp_cause_names[h->cause]);
	if (h->cause == UROCE_CAUSE_NONE)
		return;
	rte_tel_data_add_dict_uint(d, "error_ms_ago", age_ms(v, h->cause_ns));
	if (h->status != IBV_WC_SUCCESS)
		rte_tel_data_add_dict_string(d, "error_status", uroce_wc_status_str(h->status));
	if (h->verdict != UROCE_OK)
		rte_tel_data_add_dict_string(d, "error_verdict", uroce_verdicts[h->verdict].name);
}

static void
describe(const struct view *v, struct rte_tel_data *d)
{
	uint32_t state = v->qp.state;

	rte_tel_data_start_dict(d);
	add_int(d, "qpn", v->qp.ibv.qp_num);
	rte_tel_data_add_dict_string(d, "type", type_name(v->qp.ibv.qp_type));
	rte_tel_data_add_dict_string(
		d, "state",
		state < RTE_DIM(uroce_telemetry_qp_states) ? uroce_telemetry_qp_states[state] : "?");
	add_int(d, "worker", v->worker);
	describe_path(v, d);
	describe_queues(v, d);
	describe_requester(v, d);
	describe_responder(v, d);
	describe_rate(v, d);
	describe_history(v, d);
}

static int
describe_one(struct uroce_device *dev, const char *argument, struct rte_tel_data *d)
{
	const struct uroce_qp *qp;
	uint64_t qpn;
	struct view v;

	if (uroce_telemetry_number(argument, UROCE_QPN_MASK, &qpn) != 0)
		return -EINVAL;
	qp = uroce_qp_lookup(dev, (uint32_t)qpn);
	if (qp == NULL)
		return -ENOENT;
	if (view_take(&v, qp)) {
		describe(&v, d);
	} else {
		rte_tel_data_start_dict(d);
		rte_tel_data_add_dict_string(d, "error", "the QP's worker has not released its turn: try again");
	}
	return 0;
}

/* List the device's first QPs, in an array. */
static int
list_first(const struct uroce_device *dev, struct rte_tel_data *d)
{
	unsigned int listed = 0;

	rte_tel_data_start_array(d, RTE_TEL_INT_VAL);
	for (uint32_t i = 0; i < 1u << dev->qps.log2 && listed < UROCE_TELEMETRY_PAGE; i++) {
		/* pairs with the release in publish() of verbs/qp/qp.c */
		const struct uroce_qp *qp = __atomic_load_n(&dev->qps.qps[i], __ATOMIC_ACQUIRE);

		if (qp != NULL && rte_tel_data_add_array_int(d, (int)qp->ibv.qp_num) == 0)
			listed++;
	}
	return 0;
}

int
uroce_telemetry_qp(struct uroce_port *port, const char *argument, struct rte_tel_data *d)
{
	int ret;

	uroce_rcu_watch_begin();
	ret = argument != NULL ? describe_one(&port->dev, argument, d) : list_first(&port->dev, d);
	uroce_rcu_watch_end();
	return ret;
}
