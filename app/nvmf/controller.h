/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A controller: what a host's queues share. Created by Connect of an admin queue. Pollers of its queues, the main thread.
 */

#ifndef UROCE_NVMF_CONTROLLER_H
#define UROCE_NVMF_CONTROLLER_H

#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>

#include "nvme.h"
#include "request.h"
#include "subsystem.h"

struct nvmf_queue;

struct nvmf_controller {
	struct nvmf_subsystem *subsystem;
	uint16_t cntlid;
	bool discovery;
	char hostnqn[NVME_NQN_MAX + 1];
	uint8_t hostid[16];
	LIST_ENTRY(nvmf_controller) link;	/* subsystem's, under its lock */
	/* under the subsystem's lock */
	struct nvmf_queue *queues[UROCE_NVMF_MAX_QUEUES];	/* by qid; 0: the admin queue */
	unsigned int nb_queues;
	bool ends;		/* no queue may join */
	/* the admin queue's poller */
	uint32_t cc;
	uint32_t csts;
	uint32_t kato_ms;	/* 0: none */
	uint64_t alive_ns;	/* time of the last command of the admin queue; 0: one has just arrived */
	uint32_t event_config;
	uint16_t io_queues;	/* granted by Set Features */
	bool event_masked;	/* a namespace event was sent; the log was not read yet */
	struct nvmf_request_list events;	/* asynchronous event requests */
	unsigned int nb_events;
	/* atomic: bit per namespace that has changed since the log was read; any thread sets, the admin poller takes */
	uint64_t changed[UROCE_NVMF_MAX_NAMESPACES / 64];
	bool event_due;		/* atomic */
};

/** Connect of an admin queue: create the controller. @return NVME_SUCCESS, or a status for the response */
uint16_t uroce_nvmf_controller_create(struct nvmf_queue *q, const struct nvme_connect_data *data, uint32_t kato_ms);
/** Connect of an I/O queue: join its controller. @return as above */
uint16_t uroce_nvmf_controller_join(struct nvmf_queue *q, const struct nvme_connect_data *data, uint16_t qid);
/** A queue ends. The end of the admin queue ends the others; the last one frees the controller. */
void uroce_nvmf_controller_leave(struct nvmf_controller *c, struct nvmf_queue *q);

/** Periodically, on the admin queue's poller: keep-alive, events. */
void uroce_nvmf_controller_look(struct nvmf_controller *c, struct nvmf_queue *q, uint64_t now_ns);

uint64_t uroce_nvmf_controller_property(const struct nvmf_controller *c, uint32_t offset, bool *known);
/** @return a status */
uint16_t uroce_nvmf_controller_set_property(struct nvmf_controller *c, uint32_t offset, uint64_t value);

/** Hold an asynchronous event request. @return a status */
uint16_t uroce_nvmf_controller_hold_event(struct nvmf_controller *c, struct nvmf_request *req);
/** Forget a held request, which the caller frees or finishes. */
void uroce_nvmf_controller_drop_event(struct nvmf_controller *c, struct nvmf_request *req);

/** A command of the admin queue has arrived, so the host lives. */
static inline void
uroce_nvmf_controller_lives(struct nvmf_controller *c)
{
	c->alive_ns = 0; /* uroce_nvmf_controller_look() sets the time */
}

/** @return the host's NQN for the log */
static inline const char *
uroce_nvmf_host_name(const char *hostnqn)
{
	return hostnqn[0] != '\0' ? hostnqn : "(no NQN)";
}

static inline bool
uroce_nvmf_controller_is_ready(const struct nvmf_controller *c)
{
	return (c->csts & NVME_CSTS_READY) != 0;
}

#endif /* UROCE_NVMF_CONTROLLER_H */
