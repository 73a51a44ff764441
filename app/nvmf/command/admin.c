/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Admin commands: features, asynchronous events, Abort, Keep Alive. The poller of the admin queue.
 */

#include "command/execute.h"
#include "controller.h"
#include "queue.h"
#include "request.h"

static void
set_queues(struct nvmf_request *req)
{
	struct nvmf_controller *c = req->queue->controller;
	uint32_t sqs = uroce_nvmf_cdw(req, 11) & 0xffff, cqs = uroce_nvmf_cdw(req, 11) >> 16;
	uint32_t n = RTE_MIN(RTE_MIN(sqs, cqs) + 1, (uint32_t)c->subsystem->io_queues);

	if (sqs == 0xffff || cqs == 0xffff) {
		uroce_nvmf_request_refuse(req, NVME_INVALID_FIELD);
		return;
	}
	if (c->nb_queues > 1) { /* only before I/O queues exist */
		uroce_nvmf_request_refuse(req, NVME_COMMAND_SEQUENCE);
		return;
	}
	c->io_queues = (uint16_t)n;
	uroce_nvmf_request_finish_with(req, NVME_SUCCESS, (n - 1) | (n - 1) << 16);
}

static void
set_features(struct nvmf_request *req)
{
	struct nvmf_controller *c = req->queue->controller;
	uint32_t value = uroce_nvmf_cdw(req, 11);

	if (uroce_nvmf_cdw(req, 10) >> 31 != 0) {
		uroce_nvmf_request_refuse(req, NVME_FEATURE_NOT_SAVEABLE);
		return;
	}
	switch (uroce_nvmf_cdw(req, 10) & 0xff) {
	case NVME_FEATURE_QUEUES:
		set_queues(req);
		return;
	case NVME_FEATURE_ASYNC_EVENTS:
		c->event_config = value;
		break;
	case NVME_FEATURE_KEEP_ALIVE:
		c->kato_ms = RTE_MIN(value, 0x7fffffffu);
		break;
	case NVME_FEATURE_WRITE_CACHE:
		if ((value & 1) == 0) { /* the page cache cannot be switched off: Flush and FUA work */
			uroce_nvmf_request_refuse(req, NVME_FEATURE_NOT_CHANGEABLE);
			return;
		}
		break;
	case NVME_FEATURE_ARBITRATION:
	case NVME_FEATURE_POWER:
	case NVME_FEATURE_TEMPERATURE:
	case NVME_FEATURE_ERROR_RECOVERY:
		break; /* without effect on a target of queues of equal weight */
	default:
		uroce_nvmf_request_refuse(req, NVME_INVALID_FIELD);
		return;
	}
	uroce_nvmf_request_finish(req, NVME_SUCCESS);
}

static void
get_host_id(struct nvmf_request *req)
{
	const struct nvmf_controller *c = req->queue->controller;

	if ((uroce_nvmf_cdw(req, 11) & 1) == 0) { /* fabrics: 128 bits only */
		uroce_nvmf_request_refuse(req, NVME_INVALID_FIELD);
		return;
	}
	uroce_nvmf_request_reply(req, c->hostid, sizeof(c->hostid), 0);
}

static void
get_features(struct nvmf_request *req)
{
	const struct nvmf_controller *c = req->queue->controller;
	uint64_t result = 0;

	switch (uroce_nvmf_cdw(req, 10) & 0xff) {
	case NVME_FEATURE_QUEUES: result = (c->io_queues - 1u) | (c->io_queues - 1u) << 16; break;
	case NVME_FEATURE_ASYNC_EVENTS: result = c->event_config; break;
	case NVME_FEATURE_KEEP_ALIVE: result = c->kato_ms; break;
	case NVME_FEATURE_WRITE_CACHE: result = 1; break;
	case NVME_FEATURE_ARBITRATION:
	case NVME_FEATURE_POWER:
	case NVME_FEATURE_TEMPERATURE:
	case NVME_FEATURE_ERROR_RECOVERY:
	case NVME_FEATURE_ATOMICITY: break;
	case NVME_FEATURE_HOST_ID: get_host_id(req); return;
	default: uroce_nvmf_request_refuse(req, NVME_INVALID_FIELD); return;
	}
	/* only a result: if the host asks for data, too, send zeros instead of the buffer's last contents */
	uroce_nvmf_request_fill(req, NULL, 0, 0);
	uroce_nvmf_request_finish_with(req, NVME_SUCCESS, result);
}

/* A command that executes is not aborted: it ends soon. Asynchronous event requests are. */
static void
abort_command(struct nvmf_request *req)
{
	struct nvmf_controller *c = req->queue->controller;
	uint16_t sqid = uroce_nvmf_cdw(req, 10) & 0xffff, cid = uroce_nvmf_cdw(req, 10) >> 16;
	struct nvmf_request *held;

	TAILQ_FOREACH(held, &c->events, link)
		if (sqid == 0 && rte_le_to_cpu_16(held->command.cid) == cid)
			break;
	if (held != NULL) {
		uroce_nvmf_controller_drop_event(c, held);
		uroce_nvmf_request_finish(held, NVME_ABORTED_BY_REQUEST);
	}
	uroce_nvmf_request_finish_with(req, NVME_SUCCESS, held == NULL);
}

static void
hold_event(struct nvmf_request *req)
{
	uint16_t status = uroce_nvmf_controller_hold_event(req->queue->controller, req);

	if (status != NVME_SUCCESS)
		uroce_nvmf_request_refuse(req, status);
}

/* Discovery controllers have few commands. */
static bool
is_allowed(const struct nvmf_controller *c, uint8_t opcode)
{
	switch (opcode) {
	case NVME_ADMIN_GET_LOG_PAGE:
	case NVME_ADMIN_IDENTIFY:
	case NVME_ADMIN_KEEP_ALIVE: return true;
	case NVME_ADMIN_ASYNC_EVENT:
	case NVME_ADMIN_SET_FEATURES:
	case NVME_ADMIN_GET_FEATURES: return true;
	default: return !c->discovery;
	}
}

void
uroce_nvmf_admin_execute(struct nvmf_request *req)
{
	const struct nvmf_controller *c = req->queue->controller;
	uint8_t opcode = req->command.opcode;

	if (!uroce_nvmf_controller_is_ready(c)) {
		uroce_nvmf_request_refuse(req, NVME_COMMAND_SEQUENCE);
		return;
	}
	if (!is_allowed(c, opcode)) {
		uroce_nvmf_request_refuse(req, NVME_INVALID_OPCODE);
		return;
	}
	switch (opcode) {
	case NVME_ADMIN_GET_LOG_PAGE: uroce_nvmf_log_page(req); break;
	case NVME_ADMIN_IDENTIFY: uroce_nvmf_identify(req); break;
	case NVME_ADMIN_ABORT: abort_command(req); break;
	case NVME_ADMIN_SET_FEATURES: set_features(req); break;
	case NVME_ADMIN_GET_FEATURES: get_features(req); break;
	case NVME_ADMIN_ASYNC_EVENT: hold_event(req); break;
	case NVME_ADMIN_KEEP_ALIVE: uroce_nvmf_request_finish(req, NVME_SUCCESS); break; /* see execute() */
	default: uroce_nvmf_request_refuse(req, NVME_INVALID_OPCODE);
	}
}
