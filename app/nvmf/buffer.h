/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The data buffers of a poller: one region of DPDK's memory, which RDMA and io_uring know. The poller's thread.
 */

#ifndef UROCE_NVMF_BUFFER_H
#define UROCE_NVMF_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include <uroce.h>

#include "uroce_config.h"

struct nvmf_buffers {
	uint8_t *arena;		/* UROCE_NVMF_BUFFERS of UROCE_NVMF_BUFFER_BYTES */
	size_t arena_bytes;
	struct ibv_mr *mr;
	void *free;		/* list; each free buffer begins with the address of the next */
	unsigned int nb_free;
};

/** Allocate and register the buffers. @return 0 or -1, a message printed */
int uroce_nvmf_buffers_init(struct nvmf_buffers *b, struct ibv_pd *pd);
void uroce_nvmf_buffers_fini(struct nvmf_buffers *b);

/** Take a buffer. @return NULL: none is free */
uint8_t *uroce_nvmf_buffer_get(struct nvmf_buffers *b);
void uroce_nvmf_buffer_put(struct nvmf_buffers *b, uint8_t *buffer);

#endif /* UROCE_NVMF_BUFFER_H */
