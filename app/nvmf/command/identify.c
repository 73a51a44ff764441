/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Identify: what the target, its controllers and namespaces are. The poller of the admin queue.
 */

#include <stdio.h>
#include <string.h>

#include "command/execute.h"
#include "controller.h"
#include "queue.h"
#include "request.h"
#include "uroce_config.h"

#define MODEL "uroce NVMe-oF target"
#define SGLS_KEYED (1u << 0 | 1u << 2 | 1u << 20)	/* supported; keyed; offset: in-capsule data */

static void
describe_commands(struct nvme_identify_controller *id)
{
	id->sqes = 0x66;
	id->cqes = 0x44;
	id->maxcmd = rte_cpu_to_le_16(UROCE_NVMF_QUEUE_DEPTH);
	id->oncs = rte_cpu_to_le_16(1u << 0 | 1u << 2 | 1u << 3 | 1u << 7); /* Compare, DSM, Write Zeroes, Verify */
	id->vwc = 1 | 3u << 1; /* a cache; Flush of all namespaces is supported */
	id->sgls = rte_cpu_to_le_32(SGLS_KEYED);
	id->ioccsz = rte_cpu_to_le_32((sizeof(struct nvme_command) + UROCE_NVMF_IN_CAPSULE_BYTES) / 16);
	id->iorcsz = rte_cpu_to_le_32(sizeof(struct nvme_completion) / 16);
	id->msdbd = 1;
}

static void
identify_controller(struct nvmf_request *req)
{
	const struct nvmf_controller *c = req->queue->controller;
	const struct nvmf_subsystem *s = c->subsystem;
	struct nvme_identify_controller id = { .mdts = UROCE_NVMF_MDTS, .cmic = 1 << 1, .acl = 3, .lpa = 1 << 2 };

	uroce_nvme_set_text(id.serial, sizeof(id.serial), s->serial);
	uroce_nvme_set_text(id.model, sizeof(id.model), MODEL);
	uroce_nvme_set_text(id.firmware, sizeof(id.firmware), UROCE_VERSION);
	id.cntlid = rte_cpu_to_le_16(c->cntlid);
	id.version = rte_cpu_to_le_32(NVME_VERSION_1_4);
	id.cntrltype = c->discovery ? 2 : 1;
	id.aerl = UROCE_NVMF_EVENTS - 1;
	id.kas = rte_cpu_to_le_16(10); /* keep-alive in steps of 1 s */
	snprintf(id.subnqn, sizeof(id.subnqn), "%s", c->discovery ? NVME_DISCOVERY_NQN : s->nqn);
	id.maxcmd = rte_cpu_to_le_16(UROCE_NVMF_QUEUE_DEPTH);
	id.sgls = rte_cpu_to_le_32(SGLS_KEYED);
	if (!c->discovery) {
		describe_commands(&id);
		id.oaes = rte_cpu_to_le_32(NVME_EVENT_NAMESPACE);
		id.frmw = 1 << 1 | 1; /* one slot, read-only */
		id.nn = rte_cpu_to_le_32(UROCE_NVMF_MAX_NAMESPACES);
	}
	uroce_nvmf_request_reply(req, &id, sizeof(id), 0);
}

static void
identify_namespace(struct nvmf_request *req, const struct nvmf_namespace *ns)
{
	struct nvme_identify_namespace id = { .nmic = 1, .dlfeat = 1 };

	if (ns != NULL) { /* zeros for one that is not active */
		id.nsze = id.ncap = id.nuse = rte_cpu_to_le_64(uroce_nvmf_namespace_blocks(ns));
		id.nsattr = ns->read_only;
		memcpy(id.nguid, ns->uuid, sizeof(id.nguid));
		id.lbaf[0].data_shift = ns->block_shift;
	}
	uroce_nvmf_request_reply(req, &id, sizeof(id), 0);
}

static void
identify_active(struct nvmf_request *req, uint32_t after)
{
	const struct nvmf_subsystem *s = req->queue->controller->subsystem;
	rte_le32_t list[1024] = { 0 };
	unsigned int n = 0;

	for (uint32_t nsid = after + 1; nsid <= UROCE_NVMF_MAX_NAMESPACES && n < RTE_DIM(list); nsid++)
		if (uroce_nvmf_subsystem_namespace(s, nsid) != NULL)
			list[n++] = rte_cpu_to_le_32(nsid);
	uroce_nvmf_request_reply(req, list, sizeof(list), 0);
}

static size_t
add_descriptor(uint8_t *list, size_t at, uint8_t type, const void *value, uint8_t bytes)
{
	list[at] = type;
	list[at + 1] = bytes;
	memcpy(&list[at + 4], value, bytes);
	return at + 4 + bytes;
}

static void
identify_descriptors(struct nvmf_request *req, const struct nvmf_namespace *ns)
{
	const uint8_t command_set = 0; /* NVM */
	uint8_t list[NVME_PAGE_BYTES] = { 0 };
	size_t at;

	at = add_descriptor(list, 0, NVME_DESCRIPTOR_NGUID, ns->uuid, sizeof(ns->uuid));
	at = add_descriptor(list, at, NVME_DESCRIPTOR_UUID, ns->uuid, sizeof(ns->uuid));
	(void)add_descriptor(list, at, NVME_DESCRIPTOR_CSI, &command_set, 1);
	uroce_nvmf_request_reply(req, list, sizeof(list), 0);
}

/* The NVM command set's own structures: limits, all 0: none. */
static void
identify_command_set(struct nvmf_request *req)
{
	if (uroce_nvmf_cdw(req, 11) >> 24 != 0) {
		uroce_nvmf_request_refuse(req, NVME_INVALID_FIELD);
		return;
	}
	uroce_nvmf_request_reply(req, NULL, 0, 0);
}

/* Combinations of I/O command sets: the first has NVM only. */
static void
identify_command_sets(struct nvmf_request *req)
{
	rte_le64_t sets[512] = { rte_cpu_to_le_64(1) };

	uroce_nvmf_request_reply(req, sets, sizeof(sets), 0);
}

static void
identify_one(struct nvmf_request *req, uint32_t nsid, uint8_t cns)
{
	const struct nvmf_namespace *ns = uroce_nvmf_subsystem_namespace(req->queue->controller->subsystem, nsid);
	bool valid = nsid != 0 && nsid <= UROCE_NVMF_MAX_NAMESPACES;

	if (!valid || (ns == NULL && cns != NVME_CNS_NAMESPACE))
		uroce_nvmf_request_refuse(req, NVME_INVALID_NAMESPACE);
	else if (cns == NVME_CNS_NAMESPACE)
		identify_namespace(req, ns);
	else if (cns == NVME_CNS_DESCRIPTORS)
		identify_descriptors(req, ns);
	else
		identify_command_set(req);
}

void
uroce_nvmf_identify(struct nvmf_request *req)
{
	const struct nvmf_controller *c = req->queue->controller;
	uint32_t nsid = rte_le_to_cpu_32(req->command.nsid);
	uint8_t cns = uroce_nvmf_cdw(req, 10) & 0xff;

	if (c->discovery && cns != NVME_CNS_CONTROLLER) {
		uroce_nvmf_request_refuse(req, NVME_INVALID_FIELD);
		return;
	}
	switch (cns) {
	case NVME_CNS_CONTROLLER: identify_controller(req); break;
	case NVME_CNS_ACTIVE_NAMESPACES:
		if (nsid < 0xfffffffe) {
			identify_active(req, nsid);
			break;
		}
		uroce_nvmf_request_refuse(req, NVME_INVALID_NAMESPACE);
		break;
	case NVME_CNS_NAMESPACE:
	case NVME_CNS_DESCRIPTORS:
	case NVME_CNS_CSI_NAMESPACE: identify_one(req, nsid, cns); break;
	case NVME_CNS_CSI_CONTROLLER: identify_command_set(req); break;
	case NVME_CNS_COMMAND_SETS: identify_command_sets(req); break;
	default: uroce_nvmf_request_refuse(req, NVME_INVALID_FIELD);
	}
}
