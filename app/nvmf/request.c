/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The life of a command. Everything that the host sends is checked before it is used. The poller of its queue.
 */

#include <string.h>

#include <rte_common.h>

#include "buffer.h"
#include "capsule.h"
#include "poller.h"
#include "post.h"
#include "queue.h"
#include "request.h"

void
uroce_nvmf_request_execute(struct nvmf_request *req)
{
	req->state = NVMF_EXECUTING;
	req->queue->execute(req);
}

/* Fetch the data, if they are in the host's memory; then execute. */
static void
fetch(struct nvmf_request *req)
{
	if (req->keyed && req->direction == NVME_TO_TARGET) {
		req->state = NVMF_FETCHING;
		if (!uroce_nvmf_post_fetch(req))
			uroce_nvmf_request_free(req);
		return;
	}
	uroce_nvmf_request_execute(req);
}

void
uroce_nvmf_request_resume(struct nvmf_request *req)
{
	struct nvmf_poller *p = req->queue->poller;

	req->buffer = uroce_nvmf_buffer_get(&p->buffers);
	if (req->buffer == NULL) {
		req->state = NVMF_WAITS_FOR_BUFFER;
		TAILQ_INSERT_TAIL(&p->waiting, req, link);
		return;
	}
	req->data = req->buffer;
	fetch(req);
}

static void
begin(struct nvmf_request *req, struct nvmf_capsule *capsule)
{
	uint16_t status;

	req->capsule = capsule;
	req->command = *capsule->command;
	req->data = req->buffer = NULL;
	req->data_bytes = 0;
	req->keyed = req->invalidate = false;
	req->at = 0;
	req->io.ns = NULL;
	req->started_ns = req->queue->poller->now_ns;
	req->direction = NVME_NO_DATA;
	status = uroce_nvmf_capsule_parse(req);
	if (status != NVME_SUCCESS)
		uroce_nvmf_request_refuse(req, status);
	else if (req->keyed)
		uroce_nvmf_request_resume(req);
	else
		uroce_nvmf_request_execute(req);
}

void
uroce_nvmf_request_start(struct nvmf_capsule *capsule)
{
	struct nvmf_queue *q = capsule->queue;
	struct nvmf_request *req = STAILQ_FIRST(&q->free);

	if (req == NULL) {
		STAILQ_INSERT_TAIL(&q->pending, capsule, link);
		return;
	}
	STAILQ_REMOVE_HEAD(&q->free, free);
	q->busy++;
	begin(req, capsule);
}

void
uroce_nvmf_request_use(struct nvmf_request *req, struct nvmf_namespace *ns)
{
	uint32_t *uses = req->queue->poller->uses;

	/* pairs with the acquire in is_used() */
	if (req->io.ns != NULL)
		__atomic_store_n(&uses[req->io.ns->nsid - 1], uses[req->io.ns->nsid - 1] - 1, __ATOMIC_RELEASE);
	req->io.ns = ns;
	if (ns != NULL)
		__atomic_store_n(&uses[ns->nsid - 1], uses[ns->nsid - 1] + 1, __ATOMIC_RELAXED);
}

/* @return the submission queue's head after one more command */
static uint16_t
advance(struct nvmf_queue *q)
{
	if (q->sqsize != 0)
		q->sqhd = (uint16_t)((q->sqhd + 1u) % q->sqsize);
	return q->sqhd;
}

static void
count(const struct nvmf_request *req, uint16_t status)
{
	struct nvmf_poller *p = req->queue->poller;
	struct nvmf_counters *n = &p->counters;
	uint32_t us_log2 = rte_fls_u64((p->now_ns - req->started_ns) / 1000);

	uroce_nvmf_count(&req->queue->commands, 1);
	uroce_nvmf_count(&n->commands, 1);
	if (status != NVME_SUCCESS)
		uroce_nvmf_count(&n->errors, 1);
	else if (req->queue->qid != 0 && req->direction != NVME_NO_DATA)
		uroce_nvmf_count(req->direction == NVME_TO_HOST ? &n->bytes_read : &n->bytes_written, req->data_bytes);
	if (req->queue->qid != 0)
		uroce_nvmf_count(&n->latency[RTE_MIN(us_log2, (uint32_t)UROCE_NVMF_LATENCIES - 1)], 1);
}

void
uroce_nvmf_request_finish_with(struct nvmf_request *req, uint16_t status, uint64_t result)
{
	struct nvme_completion *c = req->completion;

	c->result = rte_cpu_to_le_64(result);
	c->cid = req->command.cid;
	c->sqid = 0;	/* reserved in fabrics */
	c->sqhd = rte_cpu_to_le_16(advance(req->queue));
	c->status = rte_cpu_to_le_16((uint16_t)(status << 1));
	req->state = NVMF_SENDING;
	uroce_nvmf_request_use(req, NULL);
	count(req, status);
	if (!uroce_nvmf_post_response(req, status == NVME_SUCCESS && req->keyed && req->direction == NVME_TO_HOST))
		uroce_nvmf_request_free(req);
}

void
uroce_nvmf_request_finish(struct nvmf_request *req, uint16_t status)
{
	uroce_nvmf_request_finish_with(req, status, 0);
}

void
uroce_nvmf_request_refuse(struct nvmf_request *req, uint16_t status)
{
	uroce_nvmf_request_finish(req, status | NVME_DO_NOT_RETRY);
}

void
uroce_nvmf_request_free(struct nvmf_request *req)
{
	struct nvmf_queue *q = req->queue;
	struct nvmf_capsule *c = STAILQ_FIRST(&q->pending);

	if (req->buffer != NULL)
		uroce_nvmf_buffer_put(&q->poller->buffers, req->buffer);
	req->buffer = NULL;
	req->state = NVMF_FREE;
	STAILQ_INSERT_HEAD(&q->free, req, free);
	q->busy--;
	if (c == NULL)
		return;
	STAILQ_REMOVE_HEAD(&q->pending, link);
	if (!q->dead)
		uroce_nvmf_request_start(c);
}

void
uroce_nvmf_request_fill(struct nvmf_request *req, const void *structure, size_t bytes, uint64_t from)
{
	size_t n = from < bytes ? RTE_MIN(bytes - (size_t)from, (size_t)req->data_bytes) : 0;

	if (req->data == NULL)
		return;
	if (n != 0)
		memcpy(req->data, (const uint8_t *)structure + from, n);
	memset(req->data + n, 0, req->data_bytes - n);
}

void
uroce_nvmf_request_reply(struct nvmf_request *req, const void *structure, size_t bytes, uint64_t from)
{
	uroce_nvmf_request_fill(req, structure, bytes, from);
	uroce_nvmf_request_finish(req, NVME_SUCCESS);
}
