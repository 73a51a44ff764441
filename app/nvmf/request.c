/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The life of a command. Everything that the host sends is checked before it is used. The poller of its queue.
 */

#include <string.h>

#include "command/admin.h"
#include "controller.h"
#include "command/fabrics.h"
#include "command/io.h"
#include "poller.h"
#include "queue.h"
#include "request.h"

static enum nvme_direction
direction_of(const struct nvme_command *c)
{
	uint8_t code = c->opcode == NVME_OPCODE_FABRICS ? c->fabrics.fctype : c->opcode;

	return (enum nvme_direction)(code & 3);
}

static uint32_t
get24(const uint8_t b[3])
{
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16;
}

static uint32_t
get32(const uint8_t b[4])
{
	return get24(b) | (uint32_t)b[3] << 24;
}

/* @return NVME_SUCCESS, and where the data are */
static uint16_t
parse_in_capsule(struct nvmf_request *req)
{
	const struct nvme_sgl *sgl = &req->command.sgl;
	uint64_t offset = rte_le_to_cpu_64(sgl->block.offset);
	uint32_t bytes = rte_le_to_cpu_32(sgl->block.length);

	if (bytes == 0) /* no data: some hosts describe them so */
		return NVME_SUCCESS;
	if (req->direction != NVME_TO_TARGET)
		return NVME_SGL_TYPE_INVALID;
	if (offset > req->capsule->data_bytes)
		return NVME_SGL_OFFSET_INVALID;
	if (bytes > req->capsule->data_bytes - offset)
		return NVME_SGL_LENGTH_INVALID;
	req->data = req->capsule->data + offset;
	req->data_bytes = bytes;
	return NVME_SUCCESS;
}

static uint16_t
parse_keyed(struct nvmf_request *req)
{
	const struct nvme_sgl *sgl = &req->command.sgl;

	req->invalidate = sgl->keyed.type == NVME_SGL_KEYED_INVALIDATE;
	req->rkey = get32(sgl->keyed.key);
	req->remote_addr = rte_le_to_cpu_64(sgl->keyed.addr);
	req->data_bytes = get24(sgl->keyed.length);
	req->keyed = req->data_bytes != 0;
	if (req->data_bytes > UROCE_NVMF_BUFFER_BYTES)
		return NVME_SGL_LENGTH_INVALID;
	return NVME_SUCCESS;
}

static uint16_t
parse(struct nvmf_request *req)
{
	const struct nvme_command *c = &req->command;

	if ((c->flags & NVME_FUSED_MASK) != 0 || (c->flags & NVME_PSDT_MASK) != NVME_PSDT_SGL)
		return NVME_INVALID_FIELD;
	req->direction = direction_of(c);
	if (req->direction == NVME_NO_DATA)
		return NVME_SUCCESS;
	if (req->direction == NVME_BOTH_WAYS)
		return NVME_INVALID_OPCODE;
	switch (c->sgl.keyed.type) {
	case NVME_SGL_IN_CAPSULE: return parse_in_capsule(req);
	case NVME_SGL_KEYED:
	case NVME_SGL_KEYED_INVALIDATE: return parse_keyed(req);
	default: return NVME_SGL_TYPE_INVALID;
	}
}

static void
execute(struct nvmf_request *req)
{
	req->state = NVMF_EXECUTING;
	if (req->queue->controller != NULL && req->queue->qid == 0)
		uroce_nvmf_controller_lives(req->queue->controller);
	if (req->command.opcode == NVME_OPCODE_FABRICS)
		uroce_nvmf_fabrics_execute(req);
	else if (req->queue->controller == NULL)
		uroce_nvmf_request_finish(req, NVME_COMMAND_SEQUENCE | NVME_DO_NOT_RETRY);
	else if (req->queue->qid == 0)
		uroce_nvmf_admin_execute(req);
	else
		uroce_nvmf_io_execute(req);
}

/* Fetch the data, if they are in the host's memory; then execute. */
static void
fetch(struct nvmf_request *req)
{
	if (req->keyed && req->direction == NVME_TO_TARGET) {
		req->state = NVMF_FETCHING;
		uroce_nvmf_queue_fetch(req);
		return;
	}
	execute(req);
}

void
uroce_nvmf_request_resume(struct nvmf_request *req)
{
	struct nvmf_poller *p = req->queue->poller;

	req->buffer = uroce_nvmf_buffer_get(p);
	if (req->buffer == NULL) {
		req->state = NVMF_WAITS_FOR_BUFFER;
		TAILQ_INSERT_TAIL(&p->waiting, req, link);
		return;
	}
	req->data = req->buffer;
	fetch(req);
}

void
uroce_nvmf_request_start(struct nvmf_request *req, struct nvmf_capsule *capsule)
{
	uint16_t status;

	req->capsule = capsule;
	req->command = *capsule->command;
	req->data = req->buffer = NULL;
	req->data_bytes = 0;
	req->keyed = req->invalidate = false;
	req->at = 0;
	status = parse(req);
	if (status != NVME_SUCCESS)
		uroce_nvmf_request_finish(req, status | NVME_DO_NOT_RETRY);
	else if (req->keyed)
		uroce_nvmf_request_resume(req);
	else
		execute(req);
}

void
uroce_nvmf_request_fetched(struct nvmf_request *req)
{
	execute(req);
}

void
uroce_nvmf_request_finish_with(struct nvmf_request *req, uint16_t status, uint64_t result)
{
	struct nvme_completion *c = req->completion;

	c->result = rte_cpu_to_le_64(result);
	c->cid = req->command.cid;
	c->sqid = 0;	/* reserved in fabrics */
	c->sqhd = rte_cpu_to_le_16(uroce_nvmf_queue_advance(req->queue));
	c->status = rte_cpu_to_le_16((uint16_t)(status << 1));
	req->state = NVMF_SENDING;
	uroce_nvmf_queue_respond(req, status == NVME_SUCCESS && req->keyed && req->direction == NVME_TO_HOST);
}

void
uroce_nvmf_request_finish(struct nvmf_request *req, uint16_t status)
{
	uroce_nvmf_request_finish_with(req, status, 0);
}

void
uroce_nvmf_request_free(struct nvmf_request *req)
{
	if (req->buffer != NULL)
		uroce_nvmf_buffer_put(req->queue->poller, req->buffer);
	req->buffer = NULL;
	req->state = NVMF_FREE;
	uroce_nvmf_queue_put(req);
}

void
uroce_nvmf_request_reply(struct nvmf_request *req, const void *structure, size_t bytes, uint64_t from)
{
	size_t n = from < bytes ? RTE_MIN(bytes - (size_t)from, (size_t)req->data_bytes) : 0;

	if (req->data == NULL)
		return;
	if (n != 0)
		memcpy(req->data, (const uint8_t *)structure + from, n);
	memset(req->data + n, 0, req->data_bytes - n);
}
