/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The computations of DH-HMAC-CHAP, by OpenSSL's libcrypto.
 */

#include <errno.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/dh.h>
#include <openssl/hmac.h>

#include "auth/crypto.h"
#include "nvme.h"

static const struct {
	const char *name;
	unsigned int bytes;
} groups[AUTH_GROUPS] = {
	[AUTH_GROUP_NULL] = { "null", 0 },	   [AUTH_FFDHE2048] = { "ffdhe2048", 256 },
	[AUTH_FFDHE3072] = { "ffdhe3072", 384 },   [AUTH_FFDHE4096] = { "ffdhe4096", 512 },
	[AUTH_FFDHE6144] = { "ffdhe6144", 768 },   [AUTH_FFDHE8192] = { "ffdhe8192", 1024 },
};

unsigned int
uroce_nvmf_hash_bytes(uint8_t hash)
{
	return hash >= AUTH_SHA256 && hash <= AUTH_SHA512 ? 16u * (hash + 1u) : 0;
}

unsigned int
uroce_nvmf_group_bytes(uint8_t group)
{
	return group < AUTH_GROUPS ? groups[group].bytes : 0;
}

const char *
uroce_nvmf_group_name(uint8_t group)
{
	return group < AUTH_GROUPS ? groups[group].name : NULL;
}

static const EVP_MD *
md_of(uint8_t hash)
{
	switch (hash) {
	case AUTH_SHA256: return EVP_sha256();
	case AUTH_SHA384: return EVP_sha384();
	default: return EVP_sha512();
	}
}

static int
hmac(uint8_t hash, const uint8_t *key, unsigned int key_bytes, const uint8_t *text, size_t n, uint8_t *result)
{
	return HMAC(md_of(hash), key, (int)key_bytes, text, n, result, NULL) != NULL ? 0 : -ENOMEM;
}

static size_t
append(uint8_t *text, size_t at, const void *bytes, size_t n)
{
	memcpy(text + at, bytes, n);
	return at + n;
}

/* Bind the key to the NQN, if the secret says so. @return the bytes of the key, 0: libcrypto has failed */
static unsigned int
transform(const struct nvmf_secret *secret, const char *nqn, uint8_t key[AUTH_HASH_BYTES])
{
	static const char suffix[] = "NVMe-over-Fabrics";
	uint8_t text[NVME_NQN_BYTES + sizeof(suffix)];
	size_t n;

	if (secret->hash == 0) {
		memcpy(key, secret->key, secret->bytes);
		return secret->bytes;
	}
	n = append(text, 0, nqn, strnlen(nqn, NVME_NQN_MAX));
	n = append(text, n, suffix, strlen(suffix));
	return hmac(secret->hash, secret->key, secret->bytes, text, n, key) == 0 ? uroce_nvmf_hash_bytes(secret->hash) : 0;
}

/* The challenge; with DH, an HMAC of it by the hash of the shared secret. */
static int
augment(const struct nvmf_proof *p, uint8_t challenge[AUTH_HASH_BYTES])
{
	const unsigned int bytes = uroce_nvmf_hash_bytes(p->hash);
	uint8_t session[AUTH_HASH_BYTES];
	int ret = -ENOMEM;

	if (p->shared_bytes == 0) {
		memcpy(challenge, p->challenge, bytes);
		return 0;
	}
	if (EVP_Digest(p->shared, p->shared_bytes, session, NULL, md_of(p->hash), NULL) == 1)
		ret = hmac(p->hash, session, bytes, p->challenge, bytes, challenge);
	OPENSSL_cleanse(session, sizeof(session));
	return ret;
}

int
uroce_nvmf_respond(const struct nvmf_proof *p, uint8_t response[AUTH_HASH_BYTES])
{
	const uint8_t numbers[7] = { (uint8_t)p->sequence, (uint8_t)(p->sequence >> 8), (uint8_t)(p->sequence >> 16),
				     (uint8_t)(p->sequence >> 24), (uint8_t)p->transaction,
				     (uint8_t)(p->transaction >> 8), 0 /* no concatenation */ };
	uint8_t text[AUTH_HASH_BYTES + sizeof(numbers) + 16 + 2 * NVME_NQN_BYTES], key[AUTH_HASH_BYTES];
	unsigned int key_bytes = transform(p->secret, p->nqn, key);
	int ret = key_bytes == 0 ? -ENOMEM : augment(p, text);
	size_t n = uroce_nvmf_hash_bytes(p->hash);

	if (ret == 0) {
		n = append(text, n, numbers, sizeof(numbers));
		n = append(text, n, p->who, strlen(p->who));
		n = append(text, n, p->nqn, strnlen(p->nqn, NVME_NQN_MAX));
		text[n++] = 0;
		n = append(text, n, p->peer_nqn, strnlen(p->peer_nqn, NVME_NQN_MAX));
		ret = hmac(p->hash, key, key_bytes, text, n, response);
	}
	OPENSSL_cleanse(key, sizeof(key));
	return ret;
}

static EVP_PKEY *
generate(const char *group)
{
	OSSL_PARAM params[2] = {
		OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)(uintptr_t)group, 0),
		OSSL_PARAM_construct_end(),
	};
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "DH", NULL);
	EVP_PKEY *key = NULL;

	if (ctx != NULL && EVP_PKEY_keygen_init(ctx) == 1 && EVP_PKEY_CTX_set_params(ctx, params) == 1)
		(void)EVP_PKEY_generate(ctx, &key);
	EVP_PKEY_CTX_free(ctx);
	return key;
}

EVP_PKEY *
uroce_nvmf_dh_create(uint8_t group, uint8_t *value)
{
	EVP_PKEY *key = generate(groups[group].name);
	unsigned char *public = NULL;
	size_t n = key != NULL ? EVP_PKEY_get1_encoded_public_key(key, &public) : 0;

	if (n != 0 && n == groups[group].bytes) {
		memcpy(value, public, n);
	} else {
		EVP_PKEY_free(key);
		key = NULL;
	}
	OPENSSL_free(public);
	return key;
}

int
uroce_nvmf_dh_share(EVP_PKEY *key, const uint8_t *peer_value, unsigned int bytes, uint8_t *shared)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, NULL);
	EVP_PKEY *peer = EVP_PKEY_new();
	size_t n = bytes;
	int ret = -EINVAL;

	/* set_peer checks that the value is one of the group */
	if (ctx != NULL && peer != NULL && EVP_PKEY_copy_parameters(peer, key) == 1 &&
	    EVP_PKEY_set1_encoded_public_key(peer, peer_value, bytes) == 1 && EVP_PKEY_derive_init(ctx) == 1 &&
	    EVP_PKEY_CTX_set_dh_pad(ctx, 1) == 1 && EVP_PKEY_derive_set_peer(ctx, peer) == 1 &&
	    EVP_PKEY_derive(ctx, shared, &n) == 1 && n == bytes)
		ret = 0;
	EVP_PKEY_free(peer);
	EVP_PKEY_CTX_free(ctx);
	return ret;
}
