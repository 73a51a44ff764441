/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Messages of DH-HMAC-CHAP (NVMe TP 8006). All fields are little-endian, DH values big-endian.
 */

#ifndef UROCE_NVMF_AUTH_MESSAGES_H
#define UROCE_NVMF_AUTH_MESSAGES_H

#include <assert.h>
#include <stdint.h>

#include <rte_byteorder.h>

enum auth_type {
	AUTH_COMMON = 0x00,
	AUTH_DHCHAP = 0x01,
};

enum auth_id {
	AUTH_NEGOTIATE = 0x00,	/* common */
	AUTH_CHALLENGE = 0x01,
	AUTH_REPLY = 0x02,
	AUTH_SUCCESS1 = 0x03,
	AUTH_SUCCESS2 = 0x04,
	AUTH_FAILURE2 = 0xf0,	/* common: of the host */
	AUTH_FAILURE1 = 0xf1,	/* common: of the controller */
};

enum auth_reason {
	AUTH_FAILED = 1,
	AUTH_PROTOCOL_NOT_USABLE = 2,
	AUTH_CONCATENATION_MISMATCH = 3,
	AUTH_HASH_NOT_USABLE = 4,
	AUTH_GROUP_NOT_USABLE = 5,
	AUTH_INCORRECT_PAYLOAD = 6,
	AUTH_INCORRECT_MESSAGE = 7,
};

enum auth_hash {
	AUTH_SHA256 = 1,
	AUTH_SHA384 = 2,
	AUTH_SHA512 = 3,
};

enum auth_group {
	AUTH_GROUP_NULL = 0,
	AUTH_FFDHE2048 = 1,
	AUTH_FFDHE3072 = 2,
	AUTH_FFDHE4096 = 3,
	AUTH_FFDHE6144 = 4,
	AUTH_FFDHE8192 = 5,
	AUTH_GROUPS = 6,
};

#define AUTH_HASH_BYTES 64	/* the longest */
#define AUTH_DH_BYTES 1024	/* the longest */
#define AUTH_PROTOCOL_DHCHAP 1
#define AUTH_LIST 30		/* most identifiers of hashes, and of groups */

struct auth_header {
	uint8_t type;
	uint8_t id;
	rte_le16_t reserved;
	rte_le16_t transaction;
};

struct auth_negotiate {
	struct auth_header header;
	uint8_t concatenation;	/* of a secure channel: not supported, 0 */
	uint8_t protocols;
	struct {
		uint8_t protocol;
		uint8_t reserved;
		uint8_t nb_hashes;
		uint8_t nb_groups;
		uint8_t hashes[AUTH_LIST];
		uint8_t groups[AUTH_LIST];
	} dhchap;		/* the first protocol */
};

static_assert(sizeof(struct auth_negotiate) == 72, "AUTH_Negotiate with a protocol");

struct auth_challenge {
	struct auth_header header;
	uint8_t hash_bytes;
	uint8_t reserved;
	uint8_t hash;
	uint8_t group;
	rte_le16_t dh_bytes;
	rte_le32_t sequence;
	uint8_t value[];	/* C1, and the target's DH value */
};

static_assert(sizeof(struct auth_challenge) == 16, "DH-HMAC-CHAP_Challenge");

struct auth_reply {
	struct auth_header header;
	uint8_t hash_bytes;
	uint8_t reserved;
	uint8_t has_challenge;	/* C2 is valid: the target must prove its identity, too */
	uint8_t reserved2;
	rte_le16_t dh_bytes;
	rte_le32_t sequence;
	uint8_t value[];	/* the response, C2, and the host's DH value */
};

static_assert(sizeof(struct auth_reply) == 16, "DH-HMAC-CHAP_Reply");

struct auth_success1 {
	struct auth_header header;
	uint8_t hash_bytes;
	uint8_t reserved;
	uint8_t has_response;
	uint8_t reserved2[7];
	uint8_t value[];	/* the response to C2 */
};

static_assert(sizeof(struct auth_success1) == 16, "DH-HMAC-CHAP_Success1");

struct auth_failure {
	struct auth_header header;
	uint8_t reason;
	uint8_t explanation;	/* enum auth_reason */
};

static_assert(sizeof(struct auth_failure) == 8, "AUTH_Failure");

#endif /* UROCE_NVMF_AUTH_MESSAGES_H */
