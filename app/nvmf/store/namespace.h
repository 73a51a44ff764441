/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A namespace: blocks on a file, a block device, or in memory, with identifiers that stay the same over a restart. The
 * main and telemetry threads open and resize it; pollers read it and submit I/O to its back end.
 */

#ifndef UROCE_NVMF_NAMESPACE_H
#define UROCE_NVMF_NAMESPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvmf_backend;

/* Why a namespace cannot be served. */
struct nvmf_reason {
	bool busy;		/* in use, perhaps only for a moment: try again */
	char text[1024];
};

struct nvmf_namespace {
	const struct nvmf_backend *backend;
	char *path;		/* of the file; "ram:SIZE" or "null:SIZE" */
	uint32_t nsid;
	uint8_t block_shift;	/* log2 of the bytes of a block */
	bool read_only;
	bool stable;		/* completed writes are on stable storage: there is nothing to flush */
	bool can_punch;		/* DSM deallocates blocks */
	uint32_t removed_at;	/* the subsystem's changes then; under its namespace_lock */
	int fd;			/* files; -1: none. The file is also registered with the pollers' rings, as nsid - 1 */
	uint8_t *memory;	/* RAM */
	uint64_t blocks;	/* atomic: main and telemetry write, pollers read */
	int flush_error;	/* atomic: of a flush that has failed; 0: none. Pollers: rw, telemetry: relaxed read */
	uint8_t uuid[16];	/* also its NGUID */
};

/**
 * Open a namespace.
 *
 * @param spec	PATH, ram:SIZE or null:SIZE, with SIZE in bytes or with a suffix K, M, G or T
 * @param nqn	of the subsystem: the identifiers are made of it, the spec and nsid
 * @return	NULL: see why
 */
struct nvmf_namespace *uroce_nvmf_namespace_open(const char *spec, uint32_t nsid, bool read_only, const char *nqn,
						 struct nvmf_reason *why);
void uroce_nvmf_namespace_close(struct nvmf_namespace *ns);
/** @return whether the spec is the file or device of this namespace */
bool uroce_nvmf_namespace_is_same(const struct nvmf_namespace *ns, const char *spec);

/** Read the size of the file again. Under the subsystem's namespace_lock. @return true: it has changed */
bool uroce_nvmf_namespace_resize(struct nvmf_namespace *ns);

/** Parse a size such as 512M. @return 0 or -EINVAL */
int uroce_nvmf_size_parse(const char *text, uint64_t *bytes);

static inline uint64_t
uroce_nvmf_namespace_blocks(const struct nvmf_namespace *ns)
{
	return __atomic_load_n(&ns->blocks, __ATOMIC_RELAXED);
}

#endif /* UROCE_NVMF_NAMESPACE_H */
