/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The interface between I/O commands and what stores the blocks. A back end completes an I/O by its done(), at
 * once or from uroce_nvmf_uring_poll(), on the poller's thread.
 */

#ifndef UROCE_NVMF_BACKEND_H
#define UROCE_NVMF_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "store/namespace.h"

struct nvmf_uring;

enum nvmf_io_kind {
	NVMF_IO_READ,
	NVMF_IO_WRITE,
	NVMF_IO_FLUSH,
	NVMF_IO_ZERO,		/* write zeroes */
	NVMF_IO_PUNCH,		/* deallocate */
};

/* One I/O of a command. It must stay until it is done. */
struct nvmf_io {
	enum nvmf_io_kind kind;
	bool fua;		/* a write that must be on stable storage */
	uint8_t *data;
	uint64_t offset;	/* bytes */
	uint64_t bytes;
	uint64_t moved;		/* bytes that are read or written so far */
	struct nvmf_namespace *ns;
	void (*done)(struct nvmf_io *io, int error);	/* error: 0 or -errno; -EIO also for a short file */
};

struct nvmf_backend {
	const char *name;
	/** Parse the rest of the spec and open it. @return 0 or -1: see why */
	int (*open)(struct nvmf_namespace *ns, const char *spec, struct nvmf_reason *why);
	void (*close)(struct nvmf_namespace *ns);
	/** @return the size now, bytes, or -errno */
	int64_t (*bytes)(struct nvmf_namespace *ns);
	/** Begin an I/O. Poller. */
	void (*submit)(struct nvmf_uring *u, struct nvmf_io *io);
};

extern const struct nvmf_backend uroce_nvmf_backend_file;
extern const struct nvmf_backend uroce_nvmf_backend_ram;
extern const struct nvmf_backend uroce_nvmf_backend_null;

#endif /* UROCE_NVMF_BACKEND_H */
