/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Decides which commands a queue executes. The poller of the queue.
 */

#include "command/execute.h"
#include "controller.h"
#include "queue.h"
#include "request.h"

void
uroce_nvmf_execute(struct nvmf_request *req)
{
	const struct nvmf_queue *q = req->queue;

	if (q->controller != NULL && q->qid == 0)
		uroce_nvmf_controller_lives(q->controller);
	if (req->command.opcode == NVME_OPCODE_FABRICS)
		uroce_nvmf_fabrics_execute(req);
	else if (q->controller == NULL)
		uroce_nvmf_request_refuse(req, NVME_COMMAND_SEQUENCE);
	else if (!uroce_nvmf_queue_is_open(q))
		uroce_nvmf_request_refuse(req, NVME_AUTH_REQUIRED);
	else if (q->qid == 0)
		uroce_nvmf_admin_execute(req);
	else
		uroce_nvmf_io_execute(req);
}
