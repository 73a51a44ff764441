/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A device's end of the CM service: QP1 with its buffers and queues, and the CM that it feeds.
 */

#ifndef UROCE_PORT_CM_AGENT_H
#define UROCE_PORT_CM_AGENT_H

#include <stdint.h>
#include <sys/queue.h>

#include "cm/service.h"
#include "port/cm/departure.h"
#include "port/port.h"

enum uroce_agent_counter {
	UROCE_AGENT_RECEIVED,     /* MADs that were given to the CM */
	UROCE_AGENT_SENT,         /* ... and posted */
	UROCE_AGENT_DROP_SOURCE,  /* not from a QP1, or not from an address that can be answered */
	UROCE_AGENT_DROP_PATH,    /* none leads to the peer */
	UROCE_AGENT_DROP_BACKLOG, /* there are UROCE_CM_BACKLOG */
	UROCE_AGENT_COUNTER_COUNT,
};

extern const char *const uroce_agent_counter_names[UROCE_AGENT_COUNTER_COUNT];

struct uroce_unsent;

/* All under uroce_cm_lock, once the service knows it. */
struct uroce_agent {
	struct uroce_cm_agent ibcm;
	struct uroce_port *port;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *recv_cq; /* its events come to the channel */
	struct ibv_cq *send_cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buffers;
	struct uroce_departures departures; /* of the port's, those that the CM knows of */
	bool gone;        /* its device is removed, and its IDs are notified */
	uint32_t sending; /* posted and not completed */
	uint32_t unsent_count;
	STAILQ_HEAD(, uroce_unsent) unsent;
	uint64_t counters[UROCE_AGENT_COUNTER_COUNT]; /* relaxed read */
};

/* How many of its device's objects are the agent's, and not the application's. */
#define UROCE_AGENT_PDS      1
#define UROCE_AGENT_CQS      2
#define UROCE_AGENT_QPS      1
#define UROCE_AGENT_CHANNELS 1

/** Make QP1 and the CM. Control threads, without uroce_cm_lock. @return NULL and errno */
struct uroce_agent *uroce_agent_create(struct uroce_port *port);
/** No thread refers to it any more. Control threads, without uroce_cm_lock. */
void uroce_agent_destroy(struct uroce_agent *a);

/** Give the CM what has come, up to UROCE_CM_ROUND, and its time. @return how many MADs came and
 * went */
unsigned int uroce_agent_round(struct uroce_agent *a, uint64_t now_ns);
/** The channel's descriptor is readable: take its events, and ask for the next. */
void uroce_agent_rearm(struct uroce_agent *a);
/** Has everything left that was to be sent? Posts what it can of it. */
bool uroce_agent_flushed(struct uroce_agent *a);

#endif /* UROCE_PORT_CM_AGENT_H */
