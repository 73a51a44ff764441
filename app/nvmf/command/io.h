/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * I/O commands. The poller of the queue.
 */

#ifndef UROCE_NVMF_IO_H
#define UROCE_NVMF_IO_H

struct nvmf_request;

/** Execute an I/O command; it finishes when its last I/O is done. */
void uroce_nvmf_io_execute(struct nvmf_request *req);

#endif /* UROCE_NVMF_IO_H */
