/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Namespaces for benchmarks and tests: in memory (ram:SIZE), or nowhere (null:SIZE), where reads return zeros. Each I/O is
 * done at once, on the poller's thread.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "store/backend.h"
#include "uroce_config.h"

#ifndef MADV_POPULATE_WRITE /* kernels before 5.14 do not know it */
#define MADV_POPULATE_WRITE 23
#endif

int
uroce_nvmf_size_parse(const char *text, uint64_t *bytes)
{
	static const char suffixes[] = "KMGT";
	const char *suffix;
	uint64_t value;
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	suffix = *end != '\0' ? strchr(suffixes, *end) : NULL;
	if (errno != 0 || value == 0 || (*end != '\0' && (suffix == NULL || end[1] != '\0')))
		return -EINVAL;
	for (int i = suffix != NULL ? (int)(suffix - suffixes) + 1 : 0; i > 0; i--) {
		if (value > UROCE_NVMF_MAX_BYTES / 1024)
			return -EINVAL;
		value *= 1024;
	}
	if (value > UROCE_NVMF_MAX_BYTES)
		return -EINVAL;
	*bytes = value;
	return 0;
}

static int
size_of(struct nvmf_namespace *ns, const char *spec, struct nvmf_reason *why)
{
	uint64_t bytes;

	if (uroce_nvmf_size_parse(spec, &bytes) != 0) {
		snprintf(why->text, sizeof(why->text),
			 "namespace %s: '%s' is no size: use a number with K, M, G or T, e.g. 1G", ns->path, spec);
		return -1;
	}
	ns->blocks = bytes >> ns->block_shift;
	if (ns->blocks == 0) {
		snprintf(why->text, sizeof(why->text), "namespace %s: it is smaller than a block, %u bytes", ns->path,
			 1u << ns->block_shift);
		return -1;
	}
	ns->stable = true; /* as stable as it gets */
	ns->can_punch = true;
	return 0;
}

static int64_t
bytes_of(struct nvmf_namespace *ns)
{
	return (int64_t)(ns->blocks << ns->block_shift);
}

/* @return MiB of memory available without swapping; UINT64_MAX: the kernel does not say */
static uint64_t
available_mib(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	unsigned long long kib;
	uint64_t mib = UINT64_MAX;
	char line[128];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			mib = kib >> 10;
	if (f != NULL)
		fclose(f);
	return mib;
}

/* Take all of the memory now: if it ran out later, the kernel would kill the target, not fail a host's write. */
static int
ram_open(struct nvmf_namespace *ns, const char *spec, struct nvmf_reason *why)
{
	const uint64_t available = available_mib();
	size_t bytes;

	if (size_of(ns, spec, why) != 0)
		return -1;
	bytes = (size_t)bytes_of(ns);
	if (bytes >> 20 < available) {
		ns->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (ns->memory != MAP_FAILED) {
			(void)madvise(ns->memory, bytes, MADV_HUGEPAGE); /* fewer TLB misses, where there is one */
			if (madvise(ns->memory, bytes, MADV_POPULATE_WRITE) == 0 || errno == EINVAL) /* an old kernel */
				return 0;
			munmap(ns->memory, bytes);
		}
		ns->memory = NULL;
	}
	snprintf(why->text, sizeof(why->text),
		 "namespace %s: it needs %zu MiB, and %llu MiB of memory are available: give it less, or serve a file",
		 ns->path, bytes >> 20, (unsigned long long)available);
	return -1;
}

static void
ram_close(struct nvmf_namespace *ns)
{
	munmap(ns->memory, (size_t)bytes_of(ns));
}

static void
ram_submit(struct nvmf_uring *u, struct nvmf_io *io)
{
	uint8_t *at = io->ns->memory + io->offset;

	(void)u;
	switch (io->kind) {
	case NVMF_IO_READ: memcpy(io->data, at, io->bytes); break;
	case NVMF_IO_WRITE: memcpy(at, io->data, io->bytes); break;
	case NVMF_IO_ZERO: memset(at, 0, io->bytes); break;
	case NVMF_IO_PUNCH: /* a hint; and the pages' zeros may be read before other writes */
	case NVMF_IO_FLUSH: break;
	}
	io->done(io, 0);
}

static void
null_close(struct nvmf_namespace *ns)
{
	(void)ns;
}

static void
null_submit(struct nvmf_uring *u, struct nvmf_io *io)
{
	(void)u;
	if (io->kind == NVMF_IO_READ)
		memset(io->data, 0, io->bytes);
	io->done(io, 0);
}

const struct nvmf_backend uroce_nvmf_backend_ram = {
	.name = "ram",
	.open = ram_open,
	.close = ram_close,
	.bytes = bytes_of,
	.submit = ram_submit,
};

const struct nvmf_backend uroce_nvmf_backend_null = {
	.name = "null",
	.open = size_of,
	.close = null_close,
	.bytes = bytes_of,
	.submit = null_submit,
};
