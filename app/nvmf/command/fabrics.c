/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Fabrics commands. The poller of the queue.
 */

#include <stddef.h>
#include <string.h>

#include "auth/crypto.h"
#include "auth/dhchap.h"
#include "controller.h"
#include "command/execute.h"
#include "report/log.h"
#include "queue.h"
#include "target.h"
#include "request.h"

/* The result of a Connect that fails because of a field: its offset, and whether it is in the data */
#define BAD_FIELD(offset, in_data) ((uint64_t)(offset) | (uint64_t)(in_data) << 16)
#define IN_COMMAND(field) BAD_FIELD(offsetof(struct nvme_command, field), 0)
#define IN_DATA(field) BAD_FIELD(offsetof(struct nvme_connect_data, field), 1)

/* It may be empty: SPDK's initiators need not have a name. */
static bool
is_text(const char nqn[NVME_NQN_BYTES])
{
	size_t n = strnlen(nqn, NVME_NQN_BYTES);

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)nqn[i] < ' ' || nqn[i] == 0x7f) /* for the log */
			return false;
	return n <= NVME_NQN_MAX;
}

/* @return a status; bad: the result that names the wrong field */
static uint16_t
check_command(const struct nvmf_queue *q, const struct nvme_command *c, uint64_t *bad)
{
	uint16_t qid = rte_le_to_cpu_16(c->connect.qid), sqsize = rte_le_to_cpu_16(c->connect.sqsize);

	if (rte_le_to_cpu_16(c->connect.recfmt) != 0)
		return NVME_CONNECT_FORMAT;
	*bad = IN_COMMAND(connect.qid);
	if (qid != q->qid || qid >= UROCE_NVMF_MAX_QUEUES) /* the CM's private data named the same */
		return NVME_CONNECT_INVALID_PARAM;
	*bad = IN_COMMAND(connect.sqsize);
	if (sqsize == 0 || sqsize >= UROCE_NVMF_QUEUE_DEPTH || sqsize + 1u > q->depth + 1u)
		return NVME_CONNECT_INVALID_PARAM;
	return NVME_SUCCESS;
}

static uint16_t
check_data(const struct nvmf_subsystem *s, const struct nvmf_queue *q, const struct nvme_connect_data *data,
	   const struct nvmf_host **host, uint64_t *bad)
{
	/* it has no I/O queues: they join a controller, whose host may have to authenticate */
	bool discovery = q->qid == 0 && strcmp(data->subnqn, NVME_DISCOVERY_NQN) == 0;

	*bad = IN_DATA(hostnqn);
	if (!is_text(data->hostnqn))
		return NVME_CONNECT_INVALID_PARAM;
	*bad = IN_DATA(subnqn);
	if (!is_text(data->subnqn) || (!discovery && strcmp(data->subnqn, s->nqn) != 0))
		return NVME_CONNECT_INVALID_PARAM;
	*bad = IN_DATA(cntlid);
	if (q->qid == 0 && rte_le_to_cpu_16(data->cntlid) != NVME_CNTLID_DYNAMIC)
		return NVME_CONNECT_INVALID_PARAM;
	*bad = 0;
	*host = NULL;
	return discovery || uroce_nvmf_subsystem_admits(s, data->hostnqn, host) ? NVME_SUCCESS : NVME_CONNECT_INVALID_HOST;
}

static uint16_t
require_authentication(struct nvmf_queue *q, const struct nvmf_host *host)
{
	const struct nvmf_subsystem *s = uroce_nvmf_queue_subsystem(q);

	uroce_nvmf_dhchap_free(q->auth); /* of a Connect that has failed */
	q->auth = uroce_nvmf_dhchap_create(host, s->nqn, s->dh_group);
	return q->auth != NULL ? NVME_SUCCESS : NVME_INTERNAL_ERROR;
}

static void
log_refusal(const struct nvmf_queue *q, const struct nvme_connect_data *data, uint16_t status)
{
	uroce_nvmf_log(NVMF_LOG_REFUSED, "queue %u of host %s is refused: status 0x%03x%s", q->qid,
		       is_text(data->hostnqn) ? uroce_nvmf_host_name(data->hostnqn) : "(no text)", status,
		       status == NVME_CONNECT_INVALID_HOST ? ": add --allow-host" : "");
}

/* The host may retry what fails here: the target has room later, or the controller has just ended, and the host will make
 * another one. When Linux must not retry, it drops the controller, and the file systems on it fail. */
static uint16_t
connect_controller(struct nvmf_queue *q, const struct nvme_connect_data *data, const struct nvmf_host *host,
		   uint32_t kato_ms)
{
	uint16_t status = NVME_SUCCESS;

	if (host != NULL && host->host_key.bytes != 0)
		status = require_authentication(q, host);
	if (status != NVME_SUCCESS)
		return status;
	return q->qid == 0 ? uroce_nvmf_controller_create(q, data, kato_ms) : uroce_nvmf_controller_join(q, data, q->qid);
}

static void
connect_queue(struct nvmf_request *req)
{
	const struct nvme_command *c = &req->command;
	struct nvmf_queue *q = req->queue;
	const struct nvmf_host *host = NULL;
	struct nvme_connect_data data;
	uint64_t bad = 0;
	uint16_t status;

	if (q->controller != NULL || req->direction != NVME_TO_TARGET || req->data_bytes != sizeof(data)) {
		uroce_nvmf_request_finish(req, (q->controller != NULL ? NVME_COMMAND_SEQUENCE : NVME_SGL_LENGTH_INVALID) |
						       NVME_DO_NOT_RETRY);
		return;
	}
	memcpy(&data, req->data, sizeof(data));
	/* the texts are compared as strings */
	data.subnqn[NVME_NQN_BYTES - 1] = data.hostnqn[NVME_NQN_BYTES - 1] = '\0';
	status = check_command(q, c, &bad);
	if (status == NVME_SUCCESS)
		status = check_data(uroce_nvmf_queue_subsystem(q), q, &data, &host, &bad);
	status = status != NVME_SUCCESS ? status | NVME_DO_NOT_RETRY
					: connect_controller(q, &data, host, rte_le_to_cpu_32(c->connect.kato_ms));
	if (status == NVME_CONNECT_INVALID_PARAM)
		bad = IN_DATA(cntlid);
	if (status != NVME_SUCCESS) {
		log_refusal(q, &data, status & (uint16_t)~NVME_DO_NOT_RETRY);
		uroce_nvmf_request_finish_with(req, status, bad);
		return;
	}
	q->sqsize = (uint16_t)(rte_le_to_cpu_16(c->connect.sqsize) + 1);
	uroce_nvmf_request_finish_with(req, NVME_SUCCESS,
				       q->controller->cntlid | (q->auth != NULL ? NVME_CONNECT_AUTH_REQUIRED : 0));
}

static void
property_get(struct nvmf_request *req)
{
	uint64_t value;
	bool known;

	value = uroce_nvmf_controller_property(req->queue->controller, rte_le_to_cpu_32(req->command.property.offset),
					       &known);
	if ((req->command.property.attrib & 7) == 0)
		value = (uint32_t)value;
	uroce_nvmf_request_finish_with(req, known ? NVME_SUCCESS : NVME_INVALID_FIELD | NVME_DO_NOT_RETRY, value);
}

static void
property_set(struct nvmf_request *req)
{
	uint16_t status = NVME_INVALID_FIELD;

	if ((req->command.property.attrib & 7) == 0)
		status = uroce_nvmf_controller_set_property(req->queue->controller,
							    rte_le_to_cpu_32(req->command.property.offset),
							    rte_le_to_cpu_64(req->command.property.value));
	uroce_nvmf_request_finish(req, status == NVME_SUCCESS ? status : status | NVME_DO_NOT_RETRY);
}

/* @return a status */
static uint16_t
check_auth(const struct nvmf_request *req)
{
	const struct nvme_command *c = &req->command;

	if (req->queue->auth == NULL)
		return NVME_COMMAND_SEQUENCE; /* the host has no key here */
	if (c->auth.secp != NVME_SECURITY_PROTOCOL || c->auth.spsp0 != 1 || c->auth.spsp1 != 1)
		return NVME_INVALID_FIELD;
	if (rte_le_to_cpu_32(c->auth.bytes) == 0 || rte_le_to_cpu_32(c->auth.bytes) > UROCE_NVMF_AUTH_BYTES)
		return NVME_INVALID_FIELD;
	return rte_le_to_cpu_32(c->auth.bytes) == req->data_bytes && req->data != NULL ? NVME_SUCCESS
										       : NVME_SGL_LENGTH_INVALID;
}

static void
log_authentication(const struct nvmf_queue *q)
{
	const struct nvmf_controller *c = q->controller;

	if (q->auth->authenticated)
		uroce_nvmf_log(NVMF_LOG_AUTHENTICATION, "controller %u: queue %u of host %s: authenticated by %s", c->cntlid,
			       q->qid, uroce_nvmf_host_name(c->hostnqn), uroce_nvmf_group_name(q->auth->group));
	else
		uroce_nvmf_log(NVMF_LOG_AUTHENTICATION, "controller %u: queue %u of host %s: authentication failed: reason %u "
			       "of DH-HMAC-CHAP: compare --host-key and --ctrl-key with the host's secrets",
			       c->cntlid, q->qid, uroce_nvmf_host_name(c->hostnqn), q->auth->reason);
}

static void
authenticate(struct nvmf_request *req, bool send)
{
	struct nvmf_dhchap *a = req->queue->auth;
	uint16_t status = check_auth(req);
	uint8_t message[UROCE_NVMF_AUTH_BYTES];
	size_t bytes = req->data_bytes;
	bool was, failed;

	if (status == NVME_SUCCESS) {
		was = a->authenticated;
		failed = a->step == NVMF_AUTH_FAILED;
		status = send ? uroce_nvmf_dhchap_send(a, req->data, bytes)
			      : uroce_nvmf_dhchap_receive(a, message, &bytes);
		if (was != a->authenticated || failed != (a->step == NVMF_AUTH_FAILED))
			log_authentication(req->queue);
	}
	if (status == NVME_SUCCESS && !send)
		uroce_nvmf_request_fill(req, message, bytes, 0);
	uroce_nvmf_request_finish(req, status == NVME_SUCCESS ? status : status | NVME_DO_NOT_RETRY);
}

void
uroce_nvmf_fabrics_execute(struct nvmf_request *req)
{
	const struct nvmf_queue *q = req->queue;
	uint8_t type = req->command.fabrics.fctype;

	if (type == NVME_FABRICS_CONNECT) {
		connect_queue(req);
	} else if (q->controller == NULL) {
		uroce_nvmf_request_refuse(req, NVME_COMMAND_SEQUENCE);
	} else if (type == NVME_FABRICS_AUTH_SEND || type == NVME_FABRICS_AUTH_RECEIVE) {
		authenticate(req, type == NVME_FABRICS_AUTH_SEND);
	} else if (!uroce_nvmf_queue_is_open(q)) {
		uroce_nvmf_request_refuse(req, NVME_AUTH_REQUIRED);
	} else if (type == NVME_FABRICS_PROPERTY_GET && q->qid == 0) {
		property_get(req);
	} else if (type == NVME_FABRICS_PROPERTY_SET && q->qid == 0) {
		property_set(req);
	} else if (type == NVME_FABRICS_DISCONNECT && q->qid != 0) {
		uroce_nvmf_request_finish(req, NVME_SUCCESS);
		uroce_nvmf_queue_kick(req->queue);
	} else {
		uroce_nvmf_request_refuse(req, NVME_INVALID_OPCODE);
	}
}
