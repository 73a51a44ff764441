/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A poller's io_uring. The poller's thread.
 */

#ifndef UROCE_NVMF_URING_H
#define UROCE_NVMF_URING_H

#include <stddef.h>
#include <stdint.h>

#include <liburing.h>

#include "store/backend.h"
#include "uroce_config.h"

struct nvmf_uring {
	struct io_uring ring;	/* ring_fd: -1: there is none */
	unsigned int busy;	/* I/Os in the ring, or not submitted yet */
	unsigned int unsubmitted;
	bool has_files;		/* the kernel takes registered files */
	int files[UROCE_NVMF_MAX_NAMESPACES];	/* registered; -1: none */
	const uint8_t *arena;	/* the registered buffer 0 */
	size_t arena_bytes;
};

/** Create the ring; the arena is registered with it. @return 0 or -1, a message printed */
int uroce_nvmf_uring_init(struct nvmf_uring *u, void *arena, size_t bytes);
void uroce_nvmf_uring_fini(struct nvmf_uring *u);

/** Register this file as number i, instead of another, or none (-1). */
void uroce_nvmf_uring_set_file(struct nvmf_uring *u, unsigned int i, int fd);
/** Put the I/O of a namespace on a file into the ring. Its done() is called at once if the ring is full. */
void uroce_nvmf_uring_submit(struct nvmf_uring *u, struct nvmf_io *io);
/** Submit the ring's I/Os, and take its completions. @return their number */
unsigned int uroce_nvmf_uring_poll(struct nvmf_uring *u);

#endif /* UROCE_NVMF_URING_H */
