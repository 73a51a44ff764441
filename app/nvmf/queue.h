/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A queue of a controller: an RC connection with its receive buffers and requests. The main thread creates it when a host
 * connects, and marks it when the connection ends; its poller does everything else, and destroys it.
 */

#ifndef UROCE_NVMF_QUEUE_H
#define UROCE_NVMF_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <uroce_cma.h>

#include "auth/dhchap.h"
#include "nvme.h"
#include "request.h"

struct nvmf_controller;
struct nvmf_poller;
struct nvmf_target;

struct nvmf_queue {
	struct nvmf_target *target;
	struct nvmf_poller *poller;
	void (*execute)(struct nvmf_request *req);	/* a command whose data are there: uroce_nvmf_execute() */
	struct rdma_cm_id *id;
	struct ibv_qp *qp;
	struct nvmf_dhchap *auth;	/* NULL: the host needs none */
	struct nvmf_controller *controller;	/* set by Connect; NULL: not connected. Poller */
	uint16_t qid;		/* of the CM's private data, and then of Connect */
	uint16_t depth;		/* receives; the host has at most so many commands outstanding */
	uint16_t sqsize;	/* entries of the submission queue, of Connect */
	uint16_t sqhd;
	uint32_t max_reads;	/* RDMA READs that may be outstanding */
	uint8_t *memory;	/* commands, in-capsule data, completions */
	size_t memory_bytes;
	struct ibv_mr *mr;
	struct nvmf_capsule *capsules;	/* depth */
	struct nvmf_request *requests;	/* nb_requests */
	unsigned int nb_requests;
	unsigned int busy;	/* requests in use */
	unsigned int posted;	/* work requests whose completions have not been taken */
	bool dead;		/* the QP has failed or is to be disconnected: nothing more is posted */
	bool disconnected;	/* rdma_disconnect() was called */
	STAILQ_HEAD(, nvmf_request) free;
	STAILQ_HEAD(, nvmf_capsule) pending;	/* commands that wait for a request */
	TAILQ_ENTRY(nvmf_queue) link;	/* the poller's */
	uint64_t connect_by_ns;	/* without Connect and authentication until then, the queue is dropped; 0: not set */
	uint64_t commands;	/* poller: rw, telemetry: relaxed read */
	/* other threads: release; poller: acquire */
	bool gone;		/* the connection has ended: RDMA_CM_EVENT_DISCONNECTED */
	bool kick;		/* end the connection: the controller ends */
};

/** Create the queue of a connection request, with receives posted, before it is accepted. Main thread.
 * @return NULL: out of resources */
struct nvmf_queue *uroce_nvmf_queue_create(struct nvmf_target *target, struct nvmf_poller *p, struct rdma_cm_id *id,
					   uint16_t qid, uint16_t depth, uint32_t max_reads);
/** Free a queue that was not handed to its poller. */
void uroce_nvmf_queue_free(struct nvmf_queue *q);

/** A completion of any queue of the poller. */
void uroce_nvmf_queue_completion(const struct ibv_wc *wc);
/** Look at what other threads ask of the queue; destroy it when it has ended. Poller, periodically. */
void uroce_nvmf_queue_look(struct nvmf_queue *q, uint64_t now_ns);

/** May the host use the queue? */
static inline bool
uroce_nvmf_queue_is_open(const struct nvmf_queue *q)
{
	return q->controller != NULL && (q->auth == NULL || q->auth->authenticated);
}

/** End the connection. Any thread: the poller does it. */
static inline void
uroce_nvmf_queue_kick(struct nvmf_queue *q)
{
	/* pairs with the acquire in uroce_nvmf_queue_look() */
	__atomic_store_n(&q->kick, true, __ATOMIC_RELEASE);
}

#endif /* UROCE_NVMF_QUEUE_H */
