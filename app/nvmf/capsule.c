/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Parses what a host sends: the CM's private data; the command of a capsule and its SGL, where the command's data are.
 */

#include <string.h>

#include "capsule.h"
#include "request.h"
#include "uroce_config.h"

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

	if (bytes == 0) /* no data: some hosts send such an SGL */
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

uint16_t
uroce_nvmf_capsule_parse(struct nvmf_request *req)
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

uint16_t
uroce_nvmf_parse_request(const void *private_data, size_t bytes, struct nvme_cm_request *priv)
{
	uint16_t hrqsize, qid;

	if (private_data == NULL || bytes < sizeof(*priv))
		return NVME_CM_INVALID_LENGTH;
	memcpy(priv, private_data, sizeof(*priv));
	if (rte_le_to_cpu_16(priv->recfmt) != 0)
		return NVME_CM_INVALID_RECFMT;
	qid = rte_le_to_cpu_16(priv->qid);
	if (qid >= UROCE_NVMF_MAX_QUEUES)
		return NVME_CM_INVALID_QID;
	hrqsize = rte_le_to_cpu_16(priv->hrqsize);
	if (rte_le_to_cpu_16(priv->hsqsize) == 0 || rte_le_to_cpu_16(priv->hsqsize) >= UROCE_NVMF_QUEUE_DEPTH)
		return NVME_CM_INVALID_HSQSIZE;
	if (hrqsize == 0 || hrqsize > UROCE_NVMF_QUEUE_DEPTH)
		return NVME_CM_INVALID_HRQSIZE;
	return 0;
}
