/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Makes and evicts the flow rules of a port. The first rule shows which kind the driver accepts. A full table evicts
 * the rule of a QP that is gone, else the least recently used one; a rule in use stays, so that QPs beyond the limit do
 * not evict each other's rules in turn. EAL's interrupt thread, under the port's lock.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_errno.h>

#include "base/log.h"
#include "port/port.h"
#include "port/steer/note.h"
#include "port/steer/rules.h"
#include "port/worker/worker.h"
#include "verbs/qp/qp.h"
#include "wire/gid.h"

/* Frames that a worker has noted, and the queue in which they should land. */
struct wish {
	struct uroce_rule_match match;
	uint16_t queue;
};

/* @return the port's queue from which this engine's worker receives; -1: none */
static int
queue_of(const struct uroce_port *port, const struct uroce_engine *engine)
{
	for (uint16_t i = 0; i < port->nb_queues; i++)
		if (&port->queues[i].worker->engine == engine)
			return port->queues[i].no_rx ? -1 : i;
	return -1;
}

static void
rule_destroy(struct uroce_port *port, unsigned int index)
{
	struct uroce_rules *r = &port->steer.rules;
	struct rte_flow_error error;

	if (rte_flow_destroy(port->port_id, r->rules[index].flow, &error) != 0)
		UROCE_LOG(DEBUG, "port %u: the driver keeps the flow rule of QP %" PRIu32 "\n", port->port_id,
			  r->rules[index].match.qpn);
	r->rules[index] = r->rules[--r->count];
}

/* A number that changes when the QP receives packets. In the turn of its worker. */
static uint32_t
activity_of(const struct uroce_qp *qp)
{
	struct ibv_qp_attr attr = { .rq_psn = 0 };

	qp->dev->ops.transport->qp_query(qp, &attr);
	return attr.rq_psn + attr.sq_psn + qp->rq.head;
}

/* In the worker's turn. @return false: the QP is gone, or another worker's */
static bool
rule_look(const struct uroce_port *port, struct uroce_rule *rule, uint64_t now_ns)
{
	const struct uroce_qp *qp = uroce_qp_lookup(&port->dev, rule->match.qpn);
	uint32_t activity;

	if (qp == NULL || queue_of(port, uroce_qp_engine(qp)) != rule->queue)
		return false;
	activity = activity_of(qp);
	if (activity != rule->activity)
		rule->used_ns = now_ns;
	rule->activity = activity;
	return true;
}

/* Update the time of last use of each rule, before rules are evicted. Rules of destroyed QPs count as never used. */
static void
look(struct uroce_port *port, uint64_t now_ns)
{
	struct uroce_rules *r = &port->steer.rules;

	if (r->looked_ns == now_ns)
		return;
	r->looked_ns = now_ns;
	for (uint16_t queue = 0; queue < port->nb_queues; queue++) {
		struct uroce_worker *w = port->queues[queue].worker;

		if (!uroce_worker_enter_within(w, UROCE_TELEMETRY_WAIT_NS))
			continue;
		for (unsigned int i = 0; i < r->count; i++)
			if (r->rules[i].queue == queue && !rule_look(port, &r->rules[i], now_ns))
				r->rules[i].used_ns = 0;
		uroce_worker_exit(w);
	}
}

/* Remove the least recently used rule, unless it has been used since the last look. @return false: all are in use */
static bool
evict(struct uroce_port *port, uint64_t now_ns)
{
	struct uroce_rules *r = &port->steer.rules;
	unsigned int oldest = 0;

	look(port, now_ns);
	for (unsigned int i = 1; i < r->count; i++)
		if (r->rules[i].used_ns < r->rules[oldest].used_ns)
			oldest = i;
	if (r->count == 0 || r->rules[oldest].used_ns >= now_ns)
		return false;
	rule_destroy(port, oldest);
	uroce_counter_add(&r->evicted, 1);
	return true;
}

/* The driver has refused a kind, of which it has taken no rule yet: try the next. */
static void
next_kind(struct uroce_port *port, const struct rte_flow_error *error)
{
	struct uroce_rules *r = &port->steer.rules;

	r->kind++;
	if (r->kind != UROCE_RULE_NONE)
		return;
	UROCE_LOG(DEBUG, "port %u: the driver takes no flow rules (%s): workers hand frames over\n", port->port_id,
		  error->message != NULL ? error->message : "no reason");
	__atomic_store_n(&r->refused, true, __ATOMIC_RELAXED);
}

/* The peers of a datagram QP have many addresses and source ports. */
static bool
is_possible(enum uroce_rule_kind kind, const struct wish *w)
{
	return kind != UROCE_RULE_NONE && (kind != UROCE_RULE_UDP || w->match.src_port != 0);
}

static struct rte_flow *
flow_create(struct uroce_port *port, const struct wish *w)
{
	struct uroce_rules *r = &port->steer.rules;
	struct rte_flow_error error;
	struct rte_flow *flow;

	while (is_possible(r->kind, w)) {
		flow = uroce_pattern_create(port->port_id, r->kind, &w->match, w->queue, &error);
		if (flow != NULL || r->installed != 0)
			return flow;
		next_kind(port, &error);
	}
	return NULL;
}

/* @return the index of the rule for the same QP and IP version, or r->count */
static unsigned int
find(const struct uroce_rules *r, const struct uroce_rule_match *match)
{
	unsigned int i = 0;

	while (i < r->count && (r->rules[i].match.qpn != match->qpn ||
				uroce_gid_is_ipv4(r->rules[i].match.src) != uroce_gid_is_ipv4(match->src)))
		i++;
	return i;
}

/* Does the rule lead to the wanted queue already? Then the noted frame came before it took effect. */
static bool
is_fulfilled(const struct uroce_rules *r, const struct uroce_rule *rule, const struct wish *w)
{
	return rule->queue == w->queue &&
	       (r->kind != UROCE_RULE_UDP || (rule->match.src_port == w->match.src_port &&
					      memcmp(rule->match.src, w->match.src, sizeof(w->match.src)) == 0));
}

/* A device may have less room than the table: then evict a rule, and try again. It may also have the same rule already:
 * two QPs may have a peer with the same source port. */
static void
fulfill(struct uroce_port *port, const struct wish *w, uint64_t now_ns)
{
	struct uroce_rules *r = &port->steer.rules;
	unsigned int index = find(r, &w->match);
	struct rte_flow *flow = NULL;

	if (index < r->count) {
		if (is_fulfilled(r, &r->rules[index], w))
			return;
		rule_destroy(port, index); /* the QP has moved, or its peer has another source port */
	}
	rte_errno = 0;
	if (r->count < UROCE_STEER_RULES)
		flow = flow_create(port, w);
	if (flow == NULL && is_possible(r->kind, w) && rte_errno != EEXIST && evict(port, now_ns))
		flow = flow_create(port, w);
	if (flow == NULL) {
		uroce_counter_add(&r->rejected, 1);
		return;
	}
	r->rules[r->count++] = (struct uroce_rule){
		.flow = flow,
		.match = w->match,
		.queue = w->queue,
		.used_ns = now_ns,
	};
	uroce_counter_add(&r->installed, 1);
}

/* In the turn of a worker, which makes this thread a reader of the QPs. @return false: the QP is gone */
static bool
wish_init(const struct uroce_port *port, const struct uroce_noted *noted, struct wish *w)
{
	const struct uroce_qp *qp = uroce_qp_lookup(&port->dev, noted->qpn);
	int queue = qp != NULL ? queue_of(port, uroce_qp_engine(qp)) : -1;

	if (queue < 0)
		return false;
	w->queue = (uint16_t)queue;
	w->match = (struct uroce_rule_match){
		.qpn = noted->qpn,
		.src_port = qp->transport != UROCE_TRANSPORT_UD ? noted->src_port : 0,
		.vlan = port->vlan,
	};
	memcpy(w->match.src, noted->src, sizeof(w->match.src));
	return true;
}

static unsigned int
collect(struct uroce_port *port, struct uroce_port_queue *q, struct wish wishes[UROCE_STEER_NOTES])
{
	struct uroce_noted noted[UROCE_STEER_NOTES];
	unsigned int n, count = 0;

	n = uroce_notes_take(&q->notes, noted);
	if (n == 0 || !uroce_worker_enter_within(q->worker, UROCE_TELEMETRY_WAIT_NS))
		return 0;
	for (unsigned int i = 0; i < n; i++)
		count += wish_init(port, &noted[i], &wishes[count]);
	uroce_worker_exit(q->worker);
	return count;
}

void
uroce_rules_make(struct uroce_port *port, uint64_t now_ns)
{
	struct wish wishes[UROCE_STEER_NOTES];

	for (uint16_t i = 0; i < port->nb_queues; i++) {
		unsigned int n = collect(port, &port->queues[i], wishes);

		for (unsigned int k = 0; k < n; k++)
			fulfill(port, &wishes[k], now_ns);
	}
}

void
uroce_rules_clear(struct uroce_port *port)
{
	while (port->steer.rules.count != 0)
		rule_destroy(port, port->steer.rules.count - 1);
}
