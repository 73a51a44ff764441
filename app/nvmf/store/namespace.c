/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Opens, resizes and closes namespaces. Main thread.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/evp.h>

#include "store/backend.h"
#include "store/namespace.h"
#include "uroce_config.h"

static const struct nvmf_backend *
backend_of(const char *spec, const char **rest)
{
	static const struct nvmf_backend *const sized[] = { &uroce_nvmf_backend_ram, &uroce_nvmf_backend_null };

	for (unsigned int i = 0; i < sizeof(sized) / sizeof(sized[0]); i++) {
		size_t bytes = strlen(sized[i]->name);

		if (strncmp(spec, sized[i]->name, bytes) == 0 && spec[bytes] == ':') {
			*rest = spec + bytes + 1;
			return sized[i];
		}
	}
	*rest = spec;
	return &uroce_nvmf_backend_file;
}

/* Identifiers that are the same after a restart: a hash of the subsystem's name, the namespace's number and its store. A
 * host drops a namespace whose identifiers change. */
static int
identify(struct nvmf_namespace *ns, const char *nqn)
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	char text[1024];
	unsigned int bytes = 0;

	snprintf(text, sizeof(text), "%s/%u/%s", nqn, ns->nsid, ns->path);
	if (EVP_Digest(text, strlen(text), digest, &bytes, EVP_sha256(), NULL) != 1)
		return -ENOMEM;
	memcpy(ns->uuid, digest, sizeof(ns->uuid));
	ns->uuid[6] = (uint8_t)((ns->uuid[6] & 0x0f) | 0x80);	/* version 8: of our own making (RFC 9562) */
	ns->uuid[8] = (uint8_t)((ns->uuid[8] & 0x3f) | 0x80);
	return 0;
}

static void
set_blocks(struct nvmf_namespace *ns, uint64_t blocks)
{
	__atomic_store_n(&ns->blocks, blocks, __ATOMIC_RELAXED);
}

/* @return the canonical path of a file, which is a part of its identity; else the spec itself. The caller frees it */
static char *
path_of(const struct nvmf_backend *backend, const char *spec)
{
	char *path = backend == &uroce_nvmf_backend_file ? realpath(spec, NULL) : NULL;

	return path != NULL ? path : strdup(spec);
}

bool
uroce_nvmf_namespace_is_same(const struct nvmf_namespace *ns, const char *spec)
{
	struct stat own, other;
	const char *rest;

	if (ns->fd < 0 || backend_of(spec, &rest) != ns->backend || fstat(ns->fd, &own) != 0 || stat(spec, &other) != 0)
		return false;
	if (S_ISBLK(own.st_mode) && S_ISBLK(other.st_mode))
		return own.st_rdev == other.st_rdev;
	return own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

struct nvmf_namespace *
uroce_nvmf_namespace_open(const char *spec, uint32_t nsid, bool read_only, const char *nqn, struct nvmf_reason *why)
{
	struct nvmf_namespace *ns = calloc(1, sizeof(*ns));
	const char *rest;
	int64_t bytes;

	why->busy = false;
	snprintf(why->text, sizeof(why->text), "namespace %s: out of memory", spec);
	if (ns == NULL)
		return NULL;
	ns->backend = backend_of(spec, &rest);
	ns->nsid = nsid;
	ns->read_only = read_only;
	ns->block_shift = UROCE_NVMF_BLOCK_SHIFT;
	ns->fd = -1;
	ns->path = path_of(ns->backend, spec);
	if (ns->path == NULL || ns->backend->open(ns, rest, why) != 0)
		goto free_ns;
	bytes = ns->backend->bytes(ns);
	if (bytes < 0 || (uint64_t)bytes >> ns->block_shift == 0) {
		snprintf(why->text, sizeof(why->text), "namespace %s: %s", spec,
			 bytes < 0 ? strerror((int)-bytes) : "it is empty: give the file a size, e.g. truncate -s 1G FILE");
		goto close_backend;
	}
	set_blocks(ns, (uint64_t)bytes >> ns->block_shift);
	if (identify(ns, nqn) == 0)
		return ns;
close_backend:
	ns->backend->close(ns);
free_ns:
	free(ns->path);
	free(ns);
	return NULL;
}

void
uroce_nvmf_namespace_close(struct nvmf_namespace *ns)
{
	ns->backend->close(ns);
	free(ns->path);
	free(ns);
}

bool
uroce_nvmf_namespace_resize(struct nvmf_namespace *ns)
{
	int64_t bytes = ns->backend->bytes(ns);
	uint64_t blocks = bytes > 0 ? (uint64_t)bytes >> ns->block_shift : 0;

	if (blocks == 0 || blocks == uroce_nvmf_namespace_blocks(ns))
		return false;
	set_blocks(ns, blocks);
	return true;
}
