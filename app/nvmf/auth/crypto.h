/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The computations of DH-HMAC-CHAP.
 */

#ifndef UROCE_NVMF_CRYPTO_H
#define UROCE_NVMF_CRYPTO_H

#include <stddef.h>
#include <stdint.h>

#include <openssl/evp.h>

#include "auth/secret.h"

/** @return the bytes of a hash; 0: not known */
unsigned int uroce_nvmf_hash_bytes(uint8_t hash);
/** @return the bytes of a group's values, 0 for AUTH_GROUP_NULL */
unsigned int uroce_nvmf_group_bytes(uint8_t group);
/** @return the name, such as "ffdhe2048"; NULL: not known */
const char *uroce_nvmf_group_name(uint8_t group);

/* What a response proves: knowledge of the secret by the one end, to the other. */
struct nvmf_proof {
	const struct nvmf_secret *secret;
	const char *who;	/* "HostHost" or "Controller" */
	const char *nqn;	/* of the end that proves */
	const char *peer_nqn;
	const uint8_t *challenge;
	uint32_t sequence;
	uint16_t transaction;
	uint8_t hash;
	const uint8_t *shared;	/* the DH secret */
	unsigned int shared_bytes;	/* 0: without DH */
};

/** Compute the response. @return 0 or -ENOMEM */
int uroce_nvmf_respond(const struct nvmf_proof *p, uint8_t response[AUTH_HASH_BYTES]);

/** Make a DH key; value: the public value, of uroce_nvmf_group_bytes(). @return NULL: libcrypto has failed */
EVP_PKEY *uroce_nvmf_dh_create(uint8_t group, uint8_t *value);
/** Compute the shared secret from the peer's public value; both have uroce_nvmf_group_bytes(). @return 0 or -EINVAL:
 * the value is not one of the group */
int uroce_nvmf_dh_share(EVP_PKEY *key, const uint8_t *peer_value, unsigned int bytes, uint8_t *shared);

#endif /* UROCE_NVMF_CRYPTO_H */
