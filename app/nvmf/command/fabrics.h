/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Fabrics commands: Connect, Property Get and Set, Disconnect. The poller of the queue.
 */

#ifndef UROCE_NVMF_FABRICS_H
#define UROCE_NVMF_FABRICS_H

struct nvmf_request;

/** Execute a fabrics command, and finish it. */
void uroce_nvmf_fabrics_execute(struct nvmf_request *req);

#endif /* UROCE_NVMF_FABRICS_H */
