/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The target's side of DH-HMAC-CHAP. Each field from the host is checked before it is used. A queue computes one DH key
 * for each authentication, and none after a failure, so a host without the secret costs one key per connection.
 */

#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "auth/crypto.h"
#include "auth/dhchap.h"
#include "nvme.h"

struct nvmf_dhchap *
uroce_nvmf_dhchap_create(const struct nvmf_host *host, const char *subnqn, uint8_t least_group)
{
	struct nvmf_dhchap *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->host = host;
	a->subnqn = subnqn;
	a->least_group = least_group;
	return a;
}

void
uroce_nvmf_dhchap_free(struct nvmf_dhchap *a)
{
	if (a == NULL)
		return;
	EVP_PKEY_free(a->key);
	OPENSSL_cleanse(a, sizeof(*a));
	free(a);
}

static void
fail(struct nvmf_dhchap *a, enum auth_reason reason)
{
	a->authenticated = false;
	a->reason = reason;
	a->step = NVMF_AUTH_FAILURE1;
}

/* The hash of the secret if the host offers it, otherwise the first that it offers. @return 0: none is usable */
static uint8_t
choose_hash(const struct nvmf_dhchap *a, const struct auth_negotiate *m)
{
	uint8_t chosen = 0;

	for (unsigned int i = 0; i < m->dhchap.nb_hashes; i++) {
		uint8_t hash = m->dhchap.hashes[i];

		if (uroce_nvmf_hash_bytes(hash) != 0 && (chosen == 0 || hash == a->host->host_key.hash))
			chosen = hash;
	}
	return chosen;
}

/* The weakest group that is strong enough: others cost the poller more. @return AUTH_GROUPS: none is usable */
static uint8_t
choose_group(const struct nvmf_dhchap *a, const struct auth_negotiate *m)
{
	uint8_t chosen = AUTH_GROUPS;

	for (unsigned int i = 0; i < m->dhchap.nb_groups; i++)
		if (m->dhchap.groups[i] >= a->least_group && m->dhchap.groups[i] < chosen)
			chosen = m->dhchap.groups[i];
	return chosen;
}

static void
negotiate(struct nvmf_dhchap *a, const uint8_t *message, size_t bytes)
{
	struct auth_negotiate m;

	if (bytes < sizeof(m)) {
		fail(a, AUTH_INCORRECT_PAYLOAD);
		return;
	}
	memcpy(&m, message, sizeof(m));
	a->transaction = rte_le_to_cpu_16(m.header.transaction);
	if (m.concatenation != 0)
		fail(a, AUTH_CONCATENATION_MISMATCH);
	else if (m.protocols == 0 || m.dhchap.protocol != AUTH_PROTOCOL_DHCHAP)
		fail(a, AUTH_PROTOCOL_NOT_USABLE);
	else if (m.dhchap.nb_hashes > AUTH_LIST || m.dhchap.nb_groups > AUTH_LIST)
		fail(a, AUTH_INCORRECT_PAYLOAD);
	else if ((a->hash = choose_hash(a, &m)) == 0)
		fail(a, AUTH_HASH_NOT_USABLE);
	else if ((a->group = choose_group(a, &m)) == AUTH_GROUPS)
		fail(a, AUTH_GROUP_NOT_USABLE);
	else
		a->step = NVMF_AUTH_CHALLENGE;
}

static int
respond(const struct nvmf_dhchap *a, bool host, uint8_t response[AUTH_HASH_BYTES])
{
	const struct nvmf_proof p = {
		.secret = host ? &a->host->host_key : &a->host->ctrl_key,
		.who = host ? "HostHost" : "Controller",
		.nqn = host ? a->host->nqn : a->subnqn,
		.peer_nqn = host ? a->subnqn : a->host->nqn,
		.challenge = host ? a->challenge1 : a->challenge2,
		.sequence = host ? a->sequence1 : a->sequence2,
		.transaction = a->transaction,
		.hash = a->hash,
		.shared = a->shared,
		.shared_bytes = uroce_nvmf_group_bytes(a->group),
	};

	return uroce_nvmf_respond(&p, response);
}

/* @return whether the DH value is one of the group, or there is none without DH */
static bool
share(struct nvmf_dhchap *a, const uint8_t *value, unsigned int bytes)
{
	if (bytes != uroce_nvmf_group_bytes(a->group))
		return false;
	return bytes == 0 || (a->key != NULL && uroce_nvmf_dh_share(a->key, value, bytes, a->shared) == 0);
}

static void
take_reply(struct nvmf_dhchap *a, const uint8_t *message, size_t bytes)
{
	const unsigned int hash_bytes = uroce_nvmf_hash_bytes(a->hash);
	const uint8_t *value = message + sizeof(struct auth_reply);
	uint8_t expected[AUTH_HASH_BYTES];
	struct auth_reply m;

	if (bytes < sizeof(m)) {
		fail(a, AUTH_INCORRECT_PAYLOAD);
		return;
	}
	memcpy(&m, message, sizeof(m));
	if (m.hash_bytes != hash_bytes || bytes - sizeof(m) < 2 * hash_bytes + (size_t)rte_le_to_cpu_16(m.dh_bytes)) {
		fail(a, AUTH_INCORRECT_PAYLOAD);
		return;
	}
	a->sequence2 = rte_le_to_cpu_32(m.sequence);
	a->mutual = m.has_challenge != 0 && a->sequence2 != 0; /* 0: the challenge is for the keys of TLS only */
	memcpy(a->challenge2, value + hash_bytes, hash_bytes);
	if (!share(a, value + 2 * hash_bytes, rte_le_to_cpu_16(m.dh_bytes)))
		fail(a, AUTH_GROUP_NOT_USABLE);
	else if (respond(a, true, expected) != 0 || CRYPTO_memcmp(expected, value, hash_bytes) != 0)
		fail(a, AUTH_FAILED);
	else if (a->mutual && a->host->ctrl_key.bytes == 0)
		fail(a, AUTH_FAILED);
	else
		a->step = NVMF_AUTH_SUCCESS1;
	a->authenticated |= a->step == NVMF_AUTH_SUCCESS1 && !a->mutual;
	OPENSSL_cleanse(expected, sizeof(expected));
}

/* The transaction is over: the next begins with AUTH_Negotiate. */
static void
finish(struct nvmf_dhchap *a)
{
	EVP_PKEY_free(a->key);
	a->key = NULL;
	OPENSSL_cleanse(a->shared, sizeof(a->shared));
	a->step = NVMF_AUTH_NEGOTIATE;
}

uint16_t
uroce_nvmf_dhchap_send(struct nvmf_dhchap *a, const uint8_t *message, size_t bytes)
{
	struct auth_header m = { .type = UINT8_MAX };
	bool same;

	if (a->step == NVMF_AUTH_FAILED)
		return NVME_COMMAND_SEQUENCE;
	if (bytes >= sizeof(m))
		memcpy(&m, message, sizeof(m));
	same = rte_le_to_cpu_16(m.transaction) == a->transaction;
	if (m.type == AUTH_COMMON && m.id == AUTH_NEGOTIATE && a->step == NVMF_AUTH_NEGOTIATE) {
		negotiate(a, message, bytes);
	} else if (m.type == AUTH_DHCHAP && m.id == AUTH_REPLY && a->step == NVMF_AUTH_REPLY && same) {
		take_reply(a, message, bytes);
	} else if (m.type == AUTH_DHCHAP && m.id == AUTH_SUCCESS2 && a->step == NVMF_AUTH_SUCCESS2 && same) {
		a->authenticated = true;
		finish(a);
	} else if (m.type == AUTH_COMMON && m.id == AUTH_FAILURE2) {
		fail(a, AUTH_FAILED); /* the host does not accept the target, and expects no answer */
		a->step = NVMF_AUTH_FAILED;
	} else {
		fail(a, AUTH_INCORRECT_MESSAGE);
	}
	return NVME_SUCCESS;
}

static void
set_header(struct auth_header *m, uint8_t type, uint8_t id, const struct nvmf_dhchap *a)
{
	m->type = type;
	m->id = id;
	m->transaction = rte_cpu_to_le_16(a->transaction);
}

/* @return the bytes of the message, 0: libcrypto has failed */
static size_t
make_challenge(struct nvmf_dhchap *a, uint8_t *message)
{
	const unsigned int hash_bytes = uroce_nvmf_hash_bytes(a->hash), dh_bytes = uroce_nvmf_group_bytes(a->group);
	struct auth_challenge m = { .hash_bytes = (uint8_t)hash_bytes, .hash = a->hash, .group = a->group };

	EVP_PKEY_free(a->key);
	a->key = NULL;
	if (dh_bytes != 0)
		a->key = uroce_nvmf_dh_create(a->group, message + sizeof(m) + hash_bytes);
	if ((dh_bytes != 0 && a->key == NULL) || RAND_bytes(a->challenge1, (int)hash_bytes) != 1 ||
	    RAND_bytes((uint8_t *)&a->sequence1, sizeof(a->sequence1)) != 1)
		return 0;
	a->sequence1 |= 1; /* not 0 */
	set_header(&m.header, AUTH_DHCHAP, AUTH_CHALLENGE, a);
	m.dh_bytes = rte_cpu_to_le_16((uint16_t)dh_bytes);
	m.sequence = rte_cpu_to_le_32(a->sequence1);
	memcpy(message, &m, sizeof(m));
	memcpy(message + sizeof(m), a->challenge1, hash_bytes);
	a->step = NVMF_AUTH_REPLY;
	return sizeof(m) + hash_bytes + dh_bytes;
}

static size_t
make_success(struct nvmf_dhchap *a, uint8_t *message)
{
	const unsigned int hash_bytes = uroce_nvmf_hash_bytes(a->hash);
	struct auth_success1 m = { .hash_bytes = (uint8_t)hash_bytes, .has_response = a->mutual };

	set_header(&m.header, AUTH_DHCHAP, AUTH_SUCCESS1, a);
	memcpy(message, &m, sizeof(m));
	if (!a->mutual) {
		finish(a);
		return sizeof(m);
	}
	a->step = NVMF_AUTH_SUCCESS2;
	return respond(a, false, message + sizeof(m)) == 0 ? sizeof(m) + hash_bytes : 0;
}

static size_t
make_failure(struct nvmf_dhchap *a, uint8_t *message)
{
	struct auth_failure m = { .reason = AUTH_FAILED, .explanation = a->reason };

	set_header(&m.header, AUTH_COMMON, AUTH_FAILURE1, a);
	memcpy(message, &m, sizeof(m));
	a->step = NVMF_AUTH_FAILED;
	return sizeof(m);
}

uint16_t
uroce_nvmf_dhchap_receive(struct nvmf_dhchap *a, uint8_t *message, size_t *bytes)
{
	uint8_t made[sizeof(struct auth_challenge) + AUTH_HASH_BYTES + AUTH_DH_BYTES];
	size_t n = 0;

	if (a->step == NVMF_AUTH_FAILED)
		return NVME_COMMAND_SEQUENCE;
	if (a->step == NVMF_AUTH_CHALLENGE)
		n = make_challenge(a, made);
	else if (a->step == NVMF_AUTH_SUCCESS1)
		n = make_success(a, made);
	else if (a->step != NVMF_AUTH_FAILURE1)
		fail(a, AUTH_INCORRECT_MESSAGE); /* it is the host's turn */
	if (a->step != NVMF_AUTH_FAILURE1 && n == 0)
		fail(a, AUTH_FAILED);
	if (a->step == NVMF_AUTH_FAILURE1)
		n = make_failure(a, made);
	if (n > *bytes) {
		a->authenticated = false;
		a->step = NVMF_AUTH_FAILED;
		return NVME_INVALID_FIELD;
	}
	memcpy(message, made, n);
	*bytes = n;
	return NVME_SUCCESS;
}
