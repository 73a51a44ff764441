/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The part of the CM service that belongs to one device: QP1 with its buffers and queues, and the CM.
 */

#ifndef UROCE_PORT_CM_AGENT_H
#define UROCE_PORT_CM_AGENT_H

#include <stdint.h>
#include <sys/queue.h>

#include "cm/service.h"
#include "port/cm/departure.h"
#include "port/port.h"

enum uroce_agent_counter {
	UROCE_AGENT_RECEIVED,     /* MADs passed to the CM */
	UROCE_AGENT_SENT,         /* MADs posted */
	UROCE_AGENT_DROP_SOURCE,  /* received, but not from a QP1, or from an address without a path back */
	UROCE_AGENT_DROP_PATH,    /* no address handle for the path, or the post failed */
	UROCE_AGENT_DROP_BACKLOG, /* UROCE_CM_BACKLOG MADs wait already, or no memory */
	UROCE_AGENT_COUNTER_COUNT,
};

extern const char *const uroce_agent_counter_names[UROCE_AGENT_COUNTER_COUNT];

struct uroce_unsent;

/* All fields are under uroce_cm_lock, once the agent is in the service's list. */
struct uroce_agent {
	struct uroce_cm_agent ibcm;
	struct uroce_port *port;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *recv_cq; /* raises its events on the channel */
	struct ibv_cq *send_cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buffers;
	struct uroce_departures departures; /* the port's departures that the CM knows of */
	bool gone;        /* the device was removed, and its IDs have been notified */
	uint32_t sending; /* MADs posted and not completed */
	uint32_t unsent_count;
	STAILQ_HEAD(, uroce_unsent) unsent;
	uint64_t counters[UROCE_AGENT_COUNTER_COUNT]; /* others: relaxed read */
};

/* The numbers of the device's objects that belong to the agent. */
#define UROCE_AGENT_PDS      1
#define UROCE_AGENT_CQS      2
#define UROCE_AGENT_QPS      1
#define UROCE_AGENT_CHANNELS 1

/** Create QP1 and the CM. Control threads, without uroce_cm_lock. @return NULL, with errno set */
struct uroce_agent *uroce_agent_create(struct uroce_port *port);
/** Destroy the agent, to which no other thread refers any more. Control threads, without uroce_cm_lock. */
void uroce_agent_destroy(struct uroce_agent *a);

/** Pass up to UROCE_CM_ROUND received MADs to the CM, run its timers, and post waiting MADs.
 * @return the number of MADs received and posted */
unsigned int uroce_agent_round(struct uroce_agent *a, uint64_t now_ns);
/** The channel's descriptor is readable: take its events, and arm the CQ again. */
void uroce_agent_rearm(struct uroce_agent *a);
/** Post waiting MADs as far as possible. @return whether all MADs have been sent */
bool uroce_agent_flushed(struct uroce_agent *a);

#endif /* UROCE_PORT_CM_AGENT_H */
