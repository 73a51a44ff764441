/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * DH-HMAC-CHAP with a host that computes each byte itself: all hashes and groups, one way and mutual; and what the
 * target refuses.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "auth/crypto.h"
#include "auth/messages.h"
#include "auth/secret.h"
#include "eal.h"
#include "groups.h"
#include "host.h"

#define TRANSACTION 0x1234
#define SEQUENCE 0x89abcdefu

/* By the number of their hash. Byte i of the key is 13 i + the number. */
static const char *const secrets[] = {
	"DHHC-1:00:AA0aJzRBTltodYKPnKm2w9Dd6vcEER4rOEVSX2x5hpP/aw77:",
	"DHHC-1:01:AQ4bKDVCT1xpdoOQnaq3xNHe6/gFEh8sOUZTYG16h5SQWMao:",
	"DHHC-1:02:Ag8cKTZDUF1qd4SRnqu4xdLf7PkGEyAtOkdUYW57iJWir7zJ1uPw/QoXJDE+S1hlKwXE1Q==:",
	"DHHC-1:03:AxAdKjdEUV5reIWSn6y5xtPg7foHFCEuO0hVYm98iZajsL3K1+Tx/gsYJTI/TFlmc4CNmqe0wc7b6PUCDxwpNhwBLb0=:",
};

static const unsigned int key_bytes[] = { 32, 32, 48, 64 };
static const EVP_MD *(*const mds[])(void) = { NULL, EVP_sha256, EVP_sha384, EVP_sha512 };

static struct host h;
static struct nvmf_host allowed = { .nqn = HOST_NQN };
static struct host_queue admin;

static int
setup(void **state)
{
	const char *namespaces[] = { "ram:1M" };

	host_open(&h, namespaces, 1);
	h.target->subsystem.hosts = &allowed;
	h.target->subsystem.nb_hosts = 1;
	return 0;
}

static int
teardown(void **state)
{
	host_close(&h);
	return 0;
}

static void
test_secrets(void **state)
{
	static const char *const wrong[] = {
		"", "DHHC-1:", "DHHC-1:00:", "DHHC-1:00::", "DHHC-1:04:AAAA:", "DHHC-2:00:AAAA:", "DHHC-1:00:AAAA:",
		"DHHC-1:00:AA=A:", "DHHC-1:00:AAAAA:", "DHHC-1:00:====:", "DHHC-1:0",
	};
	struct nvmf_secret s;
	char changed[128];

	for (unsigned int i = 0; i < RTE_DIM(secrets); i++) {
		assert_int_equal(uroce_nvmf_secret_parse(secrets[i], &s), 0);
		assert_int_equal(s.hash, i);
		assert_int_equal(s.bytes, key_bytes[i]);
		for (unsigned int k = 0; k < s.bytes; k++)
			assert_int_equal(s.key[k], (uint8_t)(13 * k + i));
	}
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++)
		assert_int_equal(uroce_nvmf_secret_parse(wrong[i], &s), -EINVAL);
	strcpy(changed, secrets[1]);
	changed[20] ^= 1; /* the CRC is wrong */
	assert_int_equal(uroce_nvmf_secret_parse(changed, &s), -EINVAL);
	strcpy(changed, secrets[1]);
	changed[strlen(changed) - 1] = '\0';
	assert_int_equal(uroce_nvmf_secret_parse(changed, &s), -EINVAL);
}

static uint16_t
auth(struct host_queue *q, uint8_t type, uint8_t secp, uint32_t announced, uint32_t bytes)
{
	struct nvme_command c = { .opcode = NVME_OPCODE_FABRICS, .fabrics.fctype = type };

	c.auth.secp = secp;
	c.auth.spsp0 = c.auth.spsp1 = 1;
	c.auth.bytes = rte_cpu_to_le_32(announced);
	host_keyed(&h, &c, bytes);
	return host_status(host_run(q, &c, 0));
}

static uint16_t
send_message(struct host_queue *q, uint32_t bytes)
{
	return auth(q, NVME_FABRICS_AUTH_SEND, NVME_SECURITY_PROTOCOL, bytes, bytes);
}

static uint16_t
receive_message(struct host_queue *q, uint32_t room)
{
	memset(h.data, 0xee, HOST_BYTES);
	return auth(q, NVME_FABRICS_AUTH_RECEIVE, NVME_SECURITY_PROTOCOL, room, room);
}

static void
expect_failure(struct host_queue *q, uint8_t reason)
{
	const uint8_t failure[8] = { AUTH_COMMON, AUTH_FAILURE1, 0, 0, TRANSACTION & 0xff, TRANSACTION >> 8, AUTH_FAILED, reason };

	assert_int_equal(receive_message(q, 4096), NVME_SUCCESS);
	assert_memory_equal(h.data, failure, sizeof(failure));
	/* the queue can do no more */
	assert_int_equal(receive_message(q, 4096), NVME_COMMAND_SEQUENCE);
	assert_int_equal(send_message(q, 72), NVME_COMMAND_SEQUENCE);
}

/* Offer a hash and a group. */
static void
send_negotiate(struct host_queue *q, uint8_t hash, uint8_t group)
{
	const struct auth_negotiate m = {
		.header = { AUTH_COMMON, AUTH_NEGOTIATE, 0, rte_cpu_to_le_16(TRANSACTION) }, .protocols = 1,
		.dhchap = { .protocol = AUTH_PROTOCOL_DHCHAP, .nb_hashes = 1, .nb_groups = 1, .hashes = { hash }, .groups = { group } },
	};

	memcpy(h.data, &m, sizeof(m));
	assert_int_equal(send_message(q, sizeof(m)), NVME_SUCCESS);
}

struct run {
	uint8_t hash, group;
	unsigned int hash_bytes, dh_bytes;
	uint8_t challenge[AUTH_HASH_BYTES], sequence[4], shared[AUTH_DH_BYTES], own_value[AUTH_DH_BYTES];
};

static void
receive_challenge(struct host_queue *q, struct run *r)
{
	EVP_PKEY *key;

	r->hash_bytes = (unsigned int)EVP_MD_get_size(mds[r->hash]());
	r->dh_bytes = uroce_nvmf_group_bytes(r->group);
	assert_int_equal(receive_message(q, 4096), NVME_SUCCESS);
	const uint8_t head[12] = { AUTH_DHCHAP, AUTH_CHALLENGE, 0, 0, TRANSACTION & 0xff, TRANSACTION >> 8,
				   (uint8_t)r->hash_bytes, 0, r->hash, r->group, (uint8_t)r->dh_bytes, (uint8_t)(r->dh_bytes >> 8) };
	assert_memory_equal(h.data, head, sizeof(head));
	memcpy(r->sequence, h.data + 12, 4);
	memcpy(r->challenge, h.data + 16, r->hash_bytes);
	assert_int_equal(h.data[16 + r->hash_bytes + r->dh_bytes], 0);	/* padded */
	if (r->dh_bytes == 0)
		return;
	key = uroce_nvmf_dh_create(r->group, r->own_value);
	assert_non_null(key);
	assert_int_equal(uroce_nvmf_dh_share(key, h.data + 16 + r->hash_bytes, r->dh_bytes, r->shared), 0);
	EVP_PKEY_free(key);
}

static uint8_t *
append(uint8_t *at, const void *bytes, size_t n)
{
	memcpy(at, bytes, n);
	return at + n;
}

/* The response as the specification writes it, for the secret of number `secret`. */
static void
compute(const struct run *r, unsigned int secret, bool host, const uint8_t *challenge, const uint8_t sequence[4],
	uint8_t *response)
{
	const char *nqn = host ? HOST_NQN : TARGET_NQN, *peer = host ? TARGET_NQN : HOST_NQN;
	const uint8_t numbers[3] = { TRANSACTION & 0xff, TRANSACTION >> 8, 0 };
	uint8_t raw[64], key[64], text[1024], session[64], *at;
	unsigned int n = key_bytes[secret];

	for (unsigned int i = 0; i < n; i++)
		raw[i] = (uint8_t)(13 * i + secret);
	memcpy(key, raw, n);
	if (secret != 0) {
		at = append(append(text, nqn, strlen(nqn)), "NVMe-over-Fabrics", 17);
		assert_non_null(HMAC(mds[secret](), raw, (int)key_bytes[secret], text, (size_t)(at - text), key, &n));
	}
	memcpy(text, challenge, r->hash_bytes);
	if (r->dh_bytes != 0) {
		assert_int_equal(EVP_Digest(r->shared, r->dh_bytes, session, NULL, mds[r->hash](), NULL), 1);
		assert_non_null(HMAC(mds[r->hash](), session, (int)r->hash_bytes, challenge, r->hash_bytes, text, NULL));
	}
	at = append(append(text + r->hash_bytes, sequence, 4), numbers, sizeof(numbers));
	at = host ? append(at, "HostHost", 8) : append(at, "Controller", 10);
	at = append(append(at, nqn, strlen(nqn) + 1), peer, strlen(peer));
	assert_non_null(HMAC(mds[r->hash](), key, (int)n, text, (size_t)(at - text), response, NULL));
}

/* @param mutual	the host sends a challenge, too: byte i is 7 i */
static uint32_t
make_reply(const struct run *r, unsigned int secret, bool mutual)
{
	struct auth_reply m = {
		.header = { AUTH_DHCHAP, AUTH_REPLY, 0, rte_cpu_to_le_16(TRANSACTION) }, .hash_bytes = (uint8_t)r->hash_bytes,
		.has_challenge = mutual, .dh_bytes = rte_cpu_to_le_16((uint16_t)r->dh_bytes),
		.sequence = mutual ? rte_cpu_to_le_32(SEQUENCE) : 0,
	};
	uint8_t *at = append(h.data, &m, sizeof(m));

	compute(r, secret, true, r->challenge, r->sequence, at);
	for (unsigned int i = 0; i < r->hash_bytes; i++)
		at[r->hash_bytes + i] = mutual ? (uint8_t)(7 * i) : 0;
	memcpy(at + 2 * r->hash_bytes, r->own_value, r->dh_bytes);
	return (uint32_t)(sizeof(m) + 2 * r->hash_bytes + r->dh_bytes);
}

static void
expect_success(struct host_queue *q, const struct run *r, unsigned int secret, bool mutual)
{
	const uint8_t head[16] = { AUTH_DHCHAP, AUTH_SUCCESS1, 0, 0, TRANSACTION & 0xff, TRANSACTION >> 8,
				   (uint8_t)r->hash_bytes, 0, mutual };
	const uint8_t success2[16] = { AUTH_DHCHAP, AUTH_SUCCESS2, 0, 0, TRANSACTION & 0xff, TRANSACTION >> 8 };
	const uint8_t sequence[4] = { SEQUENCE & 0xff, SEQUENCE >> 8 & 0xff, SEQUENCE >> 16 & 0xff, SEQUENCE >> 24 };
	uint8_t challenge[64], response[64];

	assert_int_equal(receive_message(q, 4096), NVME_SUCCESS);
	assert_memory_equal(h.data, head, sizeof(head));
	if (!mutual)
		return;
	for (unsigned int i = 0; i < r->hash_bytes; i++)
		challenge[i] = (uint8_t)(7 * i);
	compute(r, secret, false, challenge, sequence, response);
	assert_memory_equal(h.data + 16, response, r->hash_bytes);
	memcpy(h.data, success2, sizeof(success2));
	assert_int_equal(send_message(q, sizeof(success2)), NVME_SUCCESS);
}

/* A command that the host may send after authentication only. */
static uint16_t
probe(struct host_queue *q)
{
	struct nvme_command c = { .opcode = NVME_OPCODE_FABRICS, .fabrics.fctype = NVME_FABRICS_PROPERTY_GET };

	c.property.offset = rte_cpu_to_le_32(NVME_PROPERTY_VS);
	return host_status(host_run(q, &c, 0));
}

static void
authenticate(struct host_queue *q, uint8_t hash, uint8_t group, unsigned int secret, bool mutual)
{
	struct run r = { .hash = hash, .group = group };

	send_negotiate(q, hash, group);
	receive_challenge(q, &r);
	assert_int_equal(send_message(q, make_reply(&r, secret, mutual)), NVME_SUCCESS);
	expect_success(q, &r, secret, mutual);
}

static void
open_admin(void)
{
	assert_true(host_queue_open(&h, &admin, 0, NULL));
	assert_int_equal(host_connect(&admin, 0, NVME_CNTLID_DYNAMIC, TARGET_NQN), NVME_SUCCESS);
}

static void
allow(unsigned int host_secret, bool mutual)
{
	memset(&allowed.ctrl_key, 0, sizeof(allowed.ctrl_key));
	assert_int_equal(uroce_nvmf_secret_parse(secrets[host_secret], &allowed.host_key), 0);
	if (mutual)
		assert_int_equal(uroce_nvmf_secret_parse(secrets[host_secret], &allowed.ctrl_key), 0);
}

static void
test_all(void **state)
{
	h.target->subsystem.dh_group = AUTH_GROUP_NULL;
	for (uint8_t group = 0; group < AUTH_GROUPS; group++)
		for (uint8_t hash = AUTH_SHA256; hash <= AUTH_SHA512; hash++) {
			bool mutual = ((hash + group) & 1) != 0;
			unsigned int secret = (hash + group) % RTE_DIM(secrets);

			allow(secret, mutual);
			open_admin();
			assert_int_equal(probe(&admin), NVME_AUTH_REQUIRED);
			authenticate(&admin, hash, group, secret, mutual);
			assert_int_equal(probe(&admin), NVME_SUCCESS);
			host_queue_close(&admin);
		}
}

/* Each queue authenticates, and may do so again. */
static void
test_io_queue(void **state)
{
	struct nvme_command c = { .opcode = NVME_IO_READ, .nsid = rte_cpu_to_le_32(1) };
	struct host_queue io;
	uint16_t cntlid;

	allow(1, false);
	open_admin();
	cntlid = LIST_FIRST(&h.target->subsystem.controllers)->cntlid;
	assert_true(host_queue_open(&h, &io, 1, NULL));
	assert_int_equal(host_connect(&io, 1, cntlid, TARGET_NQN), NVME_CONNECT_INVALID_PARAM); /* too early */
	authenticate(&admin, AUTH_SHA256, AUTH_FFDHE2048, 1, false);
	host_enable(&admin);
	/* it needs no authentication, and no I/O queues */
	assert_int_equal(host_connect(&io, 1, cntlid, NVME_DISCOVERY_NQN), NVME_CONNECT_INVALID_PARAM);
	assert_int_equal(host_connect(&io, 1, cntlid, TARGET_NQN), NVME_SUCCESS);
	host_keyed(&h, &c, 512);
	assert_int_equal(host_status(host_run(&io, &c, 0)), NVME_AUTH_REQUIRED);
	authenticate(&io, AUTH_SHA512, AUTH_FFDHE3072, 1, false);
	host_keyed(&h, &c, 512);
	assert_int_equal(host_status(host_run(&io, &c, 0)), NVME_SUCCESS);
	authenticate(&admin, AUTH_SHA384, AUTH_GROUP_NULL, 1, false);
	host_queue_close(&io);
	host_queue_close(&admin);
}

static void
test_wrong_secret(void **state)
{
	struct run r = { .hash = AUTH_SHA256, .group = AUTH_FFDHE2048 };

	allow(1, false);
	open_admin();
	send_negotiate(&admin, r.hash, r.group);
	receive_challenge(&admin, &r);
	assert_int_equal(send_message(&admin, make_reply(&r, 0, false)), NVME_SUCCESS);
	assert_int_equal(probe(&admin), NVME_AUTH_REQUIRED);
	expect_failure(&admin, AUTH_FAILED);
	assert_int_equal(probe(&admin), NVME_AUTH_REQUIRED);
	host_queue_close(&admin);
	/* the target has no key of its own */
	open_admin();
	send_negotiate(&admin, r.hash, r.group);
	receive_challenge(&admin, &r);
	assert_int_equal(send_message(&admin, make_reply(&r, 1, true)), NVME_SUCCESS);
	expect_failure(&admin, AUTH_FAILED);
	host_queue_close(&admin);
}

/* Negotiations that fail: a byte of the message is wrong. */
static void
test_negotiation(void **state)
{
	static const struct {
		unsigned int at;
		uint8_t value, reason;
	} cases[] = {
		{ 6, 1, AUTH_CONCATENATION_MISMATCH }, { 7, 0, AUTH_PROTOCOL_NOT_USABLE }, { 8, 2, AUTH_PROTOCOL_NOT_USABLE },
		{ 10, 31, AUTH_INCORRECT_PAYLOAD }, { 11, 31, AUTH_INCORRECT_PAYLOAD }, { 10, 0, AUTH_HASH_NOT_USABLE },
		{ 12, 4, AUTH_HASH_NOT_USABLE }, { 11, 0, AUTH_GROUP_NOT_USABLE }, { 42, 6, AUTH_GROUP_NOT_USABLE },
		{ 42, 0, AUTH_GROUP_NOT_USABLE /* weaker than the target accepts */ }, { 0, 2, AUTH_INCORRECT_MESSAGE },
		{ 1, 2, AUTH_INCORRECT_MESSAGE },
	};
	uint8_t right[72] = { AUTH_COMMON, AUTH_NEGOTIATE, [4] = TRANSACTION & 0xff, TRANSACTION >> 8, 0, 1, 1, 0, 1, 1, 1, [42] = 1 };

	allow(1, false);
	h.target->subsystem.dh_group = AUTH_FFDHE2048;
	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		open_admin();
		memcpy(h.data, right, sizeof(right));
		h.data[cases[i].at] = cases[i].value;
		assert_int_equal(send_message(&admin, sizeof(right)), NVME_SUCCESS);
		if (cases[i].reason == AUTH_INCORRECT_MESSAGE) {
			assert_int_equal(receive_message(&admin, 4096), NVME_SUCCESS);
			assert_int_equal(h.data[1], AUTH_FAILURE1);
			assert_int_equal(h.data[7], AUTH_INCORRECT_MESSAGE);
		} else {
			expect_failure(&admin, cases[i].reason);
		}
		host_queue_close(&admin);
	}
}

/* Replies that fail, and DH values that are not of the group. */
static void
test_reply(void **state)
{
	static const struct {
		unsigned int at, change;
		int longer;
		uint8_t reason;
	} cases[] = {
		{ 4, 1, 0, AUTH_INCORRECT_MESSAGE }, { 6, 1, 0, AUTH_INCORRECT_PAYLOAD }, { 10, 0xff, 0, AUTH_INCORRECT_PAYLOAD },
		{ 11, 1, 0, AUTH_GROUP_NOT_USABLE }, { 0, 0, -1, AUTH_INCORRECT_PAYLOAD }, { 16, 1, 0, AUTH_FAILED },
		{ 47, 0x80, 0, AUTH_FAILED },
	};

	allow(1, false);
	for (unsigned int i = 0; i <= RTE_DIM(cases); i++) {
		struct run r = { .hash = AUTH_SHA256, .group = AUTH_FFDHE2048 };
		uint32_t bytes;

		open_admin();
		send_negotiate(&admin, r.hash, r.group);
		receive_challenge(&admin, &r);
		bytes = make_reply(&r, 1, false);
		if (i == RTE_DIM(cases)) {
			memset(h.data + 80, 0, 256);
			assert_int_equal(send_message(&admin, bytes), NVME_SUCCESS);
			expect_failure(&admin, AUTH_GROUP_NOT_USABLE);
		} else {
			h.data[cases[i].at] ^= (uint8_t)cases[i].change;
			assert_int_equal(send_message(&admin, (uint32_t)((int)bytes + cases[i].longer)), NVME_SUCCESS);
			expect_failure(&admin, cases[i].reason);
		}
		host_queue_close(&admin);
	}
}

/* Wrong commands have their status, and change nothing. */
static void
test_commands(void **state)
{
	allow(1, false);
	open_admin();
	assert_int_equal(auth(&admin, NVME_FABRICS_AUTH_SEND, 0xea, 72, 72), NVME_INVALID_FIELD);
	assert_int_equal(auth(&admin, NVME_FABRICS_AUTH_SEND, NVME_SECURITY_PROTOCOL, 0, 0), NVME_INVALID_FIELD);
	assert_int_equal(auth(&admin, NVME_FABRICS_AUTH_SEND, NVME_SECURITY_PROTOCOL, 4097, 4097), NVME_INVALID_FIELD);
	assert_int_equal(auth(&admin, NVME_FABRICS_AUTH_SEND, NVME_SECURITY_PROTOCOL, 72, 71), NVME_SGL_LENGTH_INVALID);
	assert_int_equal(auth(&admin, NVME_FABRICS_AUTH_RECEIVE, NVME_SECURITY_PROTOCOL, 71, 72), NVME_SGL_LENGTH_INVALID);
	authenticate(&admin, AUTH_SHA256, AUTH_FFDHE2048, 1, false);
	/* the challenge does not fit: the transaction fails */
	send_negotiate(&admin, AUTH_SHA256, AUTH_FFDHE2048);
	assert_int_equal(receive_message(&admin, 100), NVME_INVALID_FIELD);
	assert_int_equal(probe(&admin), NVME_AUTH_REQUIRED);
	host_queue_close(&admin);
	/* a host without a key */
	memset(&allowed.host_key, 0, sizeof(allowed.host_key));
	open_admin();
	assert_int_equal(probe(&admin), NVME_SUCCESS);
	assert_int_equal(send_message(&admin, 72), NVME_COMMAND_SEQUENCE);
	host_queue_close(&admin);
}

UROCE_TESTS(nvmf_auth)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_io_queue),
		cmocka_unit_test(test_wrong_secret),
		cmocka_unit_test(test_negotiation),
		cmocka_unit_test(test_reply),
		cmocka_unit_test(test_commands),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, setup, teardown);
}
