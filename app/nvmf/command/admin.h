/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Admin commands. The poller of the admin queue.
 */

#ifndef UROCE_NVMF_ADMIN_H
#define UROCE_NVMF_ADMIN_H

struct nvmf_request;

/** Execute an admin command, and finish it. */
void uroce_nvmf_admin_execute(struct nvmf_request *req);

/** identify.c, log_page.c: the commands that return data. */
void uroce_nvmf_identify(struct nvmf_request *req);
void uroce_nvmf_log_page(struct nvmf_request *req);

#endif /* UROCE_NVMF_ADMIN_H */
