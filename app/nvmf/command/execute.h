/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Executes the commands of a queue. The poller of the queue.
 */

#ifndef UROCE_NVMF_EXECUTE_H
#define UROCE_NVMF_EXECUTE_H

struct nvmf_request;

/** Execute a command whose data are there; it finishes now or later. */
void uroce_nvmf_execute(struct nvmf_request *req);

/* Each kind of command: fabrics.c, admin.c, identify.c, log_page.c, io.c. They finish it now or later. */
void uroce_nvmf_fabrics_execute(struct nvmf_request *req);
void uroce_nvmf_admin_execute(struct nvmf_request *req);
void uroce_nvmf_identify(struct nvmf_request *req);
void uroce_nvmf_log_page(struct nvmf_request *req);
void uroce_nvmf_io_execute(struct nvmf_request *req);

#endif /* UROCE_NVMF_EXECUTE_H */
