/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Authentication of a queue: the host sends AUTH_Negotiate, and receives the challenge; it sends its reply, and
 * receives AUTH_Success1; if it has asked the target to prove its identity, it sends AUTH_Success2. The poller of the
 * queue.
 */

#ifndef UROCE_NVMF_DHCHAP_H
#define UROCE_NVMF_DHCHAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/evp.h>

#include "auth/secret.h"

enum nvmf_auth_step {
	NVMF_AUTH_NEGOTIATE,	/* the host's turn */
	NVMF_AUTH_CHALLENGE,	/* the target's turn, with Authentication Receive */
	NVMF_AUTH_REPLY,
	NVMF_AUTH_SUCCESS1,	/* the target's */
	NVMF_AUTH_SUCCESS2,
	NVMF_AUTH_FAILURE1,	/* the target's */
	NVMF_AUTH_FAILED,
};

struct nvmf_dhchap {
	const struct nvmf_host *host;
	const char *subnqn;
	uint8_t least_group;	/* enum auth_group */
	bool authenticated;
	enum nvmf_auth_step step;
	uint8_t reason;		/* of a failure */
	uint16_t transaction;
	uint8_t hash;
	uint8_t group;
	uint32_t sequence1, sequence2;
	uint8_t challenge1[AUTH_HASH_BYTES], challenge2[AUTH_HASH_BYTES];
	bool mutual;		/* the target proves its identity, too */
	EVP_PKEY *key;		/* DH; NULL: none */
	uint8_t shared[AUTH_DH_BYTES];
};

/** @param least_group	weakest DH group that is accepted. @return NULL: out of memory */
struct nvmf_dhchap *uroce_nvmf_dhchap_create(const struct nvmf_host *host, const char *subnqn, uint8_t least_group);
void uroce_nvmf_dhchap_free(struct nvmf_dhchap *a);

/** A message of the host. @return a status; failures of authentication are told by uroce_nvmf_dhchap_receive() */
uint16_t uroce_nvmf_dhchap_send(struct nvmf_dhchap *a, const uint8_t *message, size_t bytes);
/** The host asks for the target's message. @param bytes	room, and then the message's. @return a status */
uint16_t uroce_nvmf_dhchap_receive(struct nvmf_dhchap *a, uint8_t *message, size_t *bytes);

#endif /* UROCE_NVMF_DHCHAP_H */
