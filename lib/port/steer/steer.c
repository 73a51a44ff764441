/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Chooses QPNs and flow labels with which peers' frames land in the queue of the QP's worker. Control threads.
 */

#include <string.h>

#include <rte_alarm.h>

#include "base/clock.h"
#include "base/log.h"
#include "port/port.h"
#include "port/steer/note.h"
#include "port/steer/steer.h"
#include "port/worker/worker.h"
#include "verbs/qp/qp.h"
#include "wire/gid.h"
#include "wire/headers.h"
#include "wire/template.h"

/* A step that has no common factor with 2^20 runs through all labels. */
#define LABEL_STEP 0x9e37

static void
make_rules(void *arg)
{
	struct uroce_port *port = arg;

	pthread_mutex_lock(&port->lock);
	uroce_rules_make(port, uroce_clock_ns());
	pthread_mutex_unlock(&port->lock);
}

void
uroce_steer_start(struct uroce_port *port)
{
	struct uroce_steer *s = &port->steer;

	s->make_rules = make_rules;
	memset(&s->rss, 0, sizeof(s->rss));
	s->rules.refused = port->open_queues == 1 || s->rules.kind == UROCE_RULE_NONE;
	if (port->open_queues == 1)
		return;
	if (uroce_rss_read(&s->rss, port->port_id) == 0)
		UROCE_LOG(DEBUG, "port %u: a table of %u entries %s chooses the RX queue\n", port->port_id,
			  s->rss.reta_size,
			  s->rss.ignores_peer ? "and the UDP source port" : "and a hash of addresses");
	else
		UROCE_LOG(DEBUG, "port %u: the driver does not report how it chooses the RX queue\n", port->port_id);
}

/* The port may be started with other queues and another RSS function: notes would be out of date. */
void
uroce_steer_stop(struct uroce_port *port)
{
	struct uroce_noted noted[UROCE_STEER_NOTES];

	rte_eal_alarm_cancel(make_rules, port);
	for (uint16_t i = 0; i < port->nb_queues; i++)
		uroce_notes_take(&port->queues[i].notes, noted);
	pthread_mutex_lock(&port->lock); /* telemetry reads the rules */
	uroce_rules_clear(port);
	pthread_mutex_unlock(&port->lock);
}

static bool
leads_to(const struct uroce_port *port, int queue, const struct uroce_engine *engine)
{
	return queue >= 0 && queue < port->nb_queues && &port->queues[queue].worker->engine == engine;
}

/* The peer is not known yet: no QPN is better than another unless the addresses make no difference. */
bool
uroce_steer_suits(const struct uroce_qp *qp, uint32_t qpn)
{
	static const uint8_t any[16] = UROCE_GID_IPV4(0, 0, 0, 0);
	const struct uroce_port *port = uroce_port_of(qp->dev);
	const struct uroce_rss *rss = &port->steer.rss;

	if (!rss->ignores_peer)
		return true;
	return leads_to(port, uroce_rss_queue(rss, any, any, uroce_udp_src_port(0, qpn)), qp->engine);
}

/* @return the engine of a QP; NULL: there is none. The turn of a worker makes this thread a reader of the QPs */
static const struct uroce_engine *
engine_of(struct uroce_port *port, uint32_t qpn)
{
	struct uroce_worker *w = port->queues[0].worker;
	const struct uroce_engine *engine;
	const struct uroce_qp *qp;

	uroce_worker_enter(w);
	qp = uroce_qp_lookup(&port->dev, qpn);
	engine = qp != NULL ? uroce_qp_engine(qp) : NULL;
	uroce_worker_exit(w);
	return engine;
}

/* Try labels, from that of uroce peers on. */
static uint32_t
find_label(struct uroce_port *port, uint32_t qpn, const union ibv_gid *own, const union ibv_gid *peer)
{
	const struct uroce_rss *rss = &port->steer.rss;
	uint32_t label = uroce_flow_label_to(qpn);
	const struct uroce_engine *engine;

	if (rss->reta_size == 0)
		return 0;
	engine = engine_of(port, qpn);
	for (unsigned int i = 0; engine != NULL && i < port->nb_queues * UROCE_STEER_DRAWS; i++) {
		uint16_t src_port = uroce_udp_src_port(label, qpn);

		if (label != 0 && leads_to(port, uroce_rss_queue(rss, peer->raw, own->raw, src_port), engine))
			return label;
		label = (label + LABEL_STEP) & UROCE_FLOW_LABEL_MASK;
	}
	return 0;
}

uint32_t
uroce_steer_label(struct uroce_device *dev, uint32_t qpn, const union ibv_gid *own, const union ibv_gid *peer)
{
	uint32_t label;

	pthread_rwlock_rdlock(&dev->engines_lock);
	label = find_label(uroce_port_of(dev), qpn, own, peer);
	pthread_rwlock_unlock(&dev->engines_lock);
	return label;
}
