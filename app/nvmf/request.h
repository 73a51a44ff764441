/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A command in progress: received, its data fetched by RDMA READ, executed, its data written to the host and its
 * completion sent. The poller of its queue.
 */

#ifndef UROCE_NVMF_REQUEST_H
#define UROCE_NVMF_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "store/backend.h"
#include "nvme.h"

struct nvmf_queue;
struct nvmf_request;

TAILQ_HEAD(nvmf_request_list, nvmf_request);

/* A receive buffer of a queue: a command, and data behind it. */
struct nvmf_capsule {
	struct nvmf_queue *queue;
	struct nvme_command *command;	/* in the queue's registered memory */
	uint8_t *data;			/* in-capsule data */
	uint32_t data_bytes;		/* received */
	STAILQ_ENTRY(nvmf_capsule) link;
};

enum nvmf_request_state {
	NVMF_FREE,
	NVMF_WAITS_FOR_BUFFER,
	NVMF_FETCHING,		/* RDMA READ */
	NVMF_EXECUTING,
	NVMF_HELD,		/* an asynchronous event request */
	NVMF_SENDING,
};

struct nvmf_request {
	struct nvmf_queue *queue;
	struct nvmf_capsule *capsule;
	enum nvmf_request_state state;
	struct nvme_command command;	/* a copy: the host may write into the capsule's memory only by a new SEND, but
					 * the receive buffer is posted again before the response */
	struct nvme_completion *completion;	/* in the queue's registered memory */
	/* data */
	enum nvme_direction direction;
	uint8_t *data;		/* NULL: none */
	uint32_t data_bytes;	/* announced by the host */
	uint8_t *buffer;	/* of the poller, to be returned; NULL: in-capsule data, or none */
	uint64_t remote_addr;
	uint32_t rkey;
	bool keyed;
	bool invalidate;	/* the response invalidates rkey */
	/* execution */
	uint64_t started_ns;	/* the poller's time */
	struct nvmf_io io;
	uint32_t at;		/* the next block or range of a command of several I/Os */
	TAILQ_ENTRY(nvmf_request) link;	/* the poller's waiting, or the controller's held events */
	STAILQ_ENTRY(nvmf_request) free;
};

/** A command has arrived: start a request for it, at once or when one is free. */
void uroce_nvmf_request_start(struct nvmf_capsule *capsule);
/** A buffer is free, for which the request has waited. */
void uroce_nvmf_request_resume(struct nvmf_request *req);
/** Its data are there: execute the command. */
void uroce_nvmf_request_execute(struct nvmf_request *req);

/** The command uses this namespace, instead of another. Finishing it ends the use. @param ns	NULL: none */
void uroce_nvmf_request_use(struct nvmf_request *req, struct nvmf_namespace *ns);

/** Finish the command. @param status	enum nvme_status, maybe with NVME_DO_NOT_RETRY */
void uroce_nvmf_request_finish(struct nvmf_request *req, uint16_t status);
/** Finish the command with this status and NVME_DO_NOT_RETRY. */
void uroce_nvmf_request_refuse(struct nvmf_request *req, uint16_t status);
/** Finish the command with a result (DW0 and DW1 of the completion). */
void uroce_nvmf_request_finish_with(struct nvmf_request *req, uint16_t status, uint64_t result);

/** The response was sent, or cannot be: free the request, and start the next pending command with it. */
void uroce_nvmf_request_free(struct nvmf_request *req);

/** Copy `bytes` of a data structure to the request's data from offset `from` of the structure on; zeros behind it. For
 * commands that return a structure. */
void uroce_nvmf_request_fill(struct nvmf_request *req, const void *structure, size_t bytes, uint64_t from);
/** The same, and finish the command with success. */
void uroce_nvmf_request_reply(struct nvmf_request *req, const void *structure, size_t bytes, uint64_t from);

/** @return CDW10 + i of the command, as the host's byte order */
static inline uint32_t
uroce_nvmf_cdw(const struct nvmf_request *req, unsigned int i)
{
	return rte_le_to_cpu_32(req->command.cdw[i - 10]);
}

#endif /* UROCE_NVMF_REQUEST_H */
