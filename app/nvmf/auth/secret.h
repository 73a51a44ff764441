/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The secrets that hosts and the target share, as `nvme gen-dhchap-key` prints them.
 */

#ifndef UROCE_NVMF_SECRET_H
#define UROCE_NVMF_SECRET_H

#include <stdint.h>

#include "auth/messages.h"

struct nvmf_secret {
	uint8_t key[AUTH_HASH_BYTES];
	unsigned int bytes;	/* 32, 48 or 64; 0: there is no secret */
	uint8_t hash;		/* enum auth_hash, which binds the key to an NQN; 0: none */
};

/* A host that may connect, and the secrets of its authentication. */
struct nvmf_host {
	const char *nqn;
	struct nvmf_secret host_key;	/* none: it connects without authentication */
	struct nvmf_secret ctrl_key;	/* none: the target cannot prove its identity */
};

/** Parse "DHHC-1:HH:BASE64:". @return 0 or -EINVAL */
int uroce_nvmf_secret_parse(const char *text, struct nvmf_secret *secret);

#endif /* UROCE_NVMF_SECRET_H */
