/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The CM's MADs on the wire: the common header, a row for each of the eleven messages, and a row for each field of each
 * message. A field's bit offset counts from the most significant bit of a byte, as in the specification's tables. No
 * state; any thread.
 */

#ifndef UROCE_CM_IB_MAD_H
#define UROCE_CM_IB_MAD_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "cm/ib/cm.h"

#define UROCE_CM_BASE_VERSION 1
#define UROCE_CM_CLASS 0x07
#define UROCE_CM_CLASS_VERSION 2
#define UROCE_CM_METHOD_SEND 0x03
#define UROCE_CM_FIRST_ATTR_ID 0x10

struct uroce_cm_mad_header {
	uint8_t base_version;
	uint8_t mgmt_class;
	uint8_t class_version;
	uint8_t method;
	rte_be16_t status;
	rte_be16_t class_specific;
	rte_be64_t tid;
	rte_be16_t attr_id;
	rte_be16_t reserved;
	rte_be32_t attr_mod;
} __attribute__((packed));

static_assert(sizeof(struct uroce_cm_mad_header) == 24, "the MAD header must have 24 bytes");

/* In the order of their attribute IDs. */
enum uroce_cm_message {
	UROCE_CM_REQ,
	UROCE_CM_MRA,
	UROCE_CM_REJ,
	UROCE_CM_REP,
	UROCE_CM_RTU,
	UROCE_CM_DREQ,
	UROCE_CM_DREP,
	UROCE_CM_SIDR_REQ,
	UROCE_CM_SIDR_REP,
	UROCE_CM_LAP,
	UROCE_CM_APR,
	UROCE_CM_MESSAGE_COUNT,
};

struct uroce_cm_message_info {
	const char *name;
	uint16_t private_offset;	/* from the start of the MAD */
	uint8_t private_bytes;
	bool answered;			/* retransmitted until a reply arrives */
};

extern const struct uroce_cm_message_info uroce_cm_messages[UROCE_CM_MESSAGE_COUNT];

/* The message that an MRA or REJ refers to. */
enum uroce_cm_about {
	UROCE_CM_ABOUT_REQ,
	UROCE_CM_ABOUT_REP,
	UROCE_CM_ABOUT_OTHER,		/* MRA: a LAP. REJ: no message, or another one */
};

/* Fields of a path, in a REQ twice and in a LAP once: message, path, byte offsets. One row for each field. */
#define UROCE_CM_PATH_FIELDS(X, message, path, lids, gids, label, rate, tclass, hops, sl, timeout) \
	X(message, path##_LOCAL_LID, lids, 0, 16) \
	X(message, path##_REMOTE_LID, (lids) + 2, 0, 16) \
	X(message, path##_LOCAL_GID, gids, 0, 128) \
	X(message, path##_REMOTE_GID, (gids) + 16, 0, 128) \
	X(message, path##_FLOW_LABEL, label, 0, 20) \
	X(message, path##_PACKET_RATE, rate, 2, 6) \
	X(message, path##_TRAFFIC_CLASS, tclass, 0, 8) \
	X(message, path##_HOP_LIMIT, hops, 0, 8) \
	X(message, path##_SL, sl, 0, 4) \
	X(message, path##_SUBNET_LOCAL, sl, 4, 1) \
	X(message, path##_ACK_TIMEOUT, timeout, 0, 5)

/* Message, field, byte offset after the header, bit offset, bits. Fields wider than 64 bits are whole bytes. */
#define UROCE_CM_FIELDS(X) \
	X(REQ, LOCAL_COMM_ID, 0, 0, 32) \
	X(REQ, VENDOR_ID, 5, 0, 24) \
	X(REQ, SERVICE_ID, 8, 0, 64) \
	X(REQ, CA_GUID, 16, 0, 64) \
	X(REQ, QKEY, 28, 0, 32) \
	X(REQ, QPN, 32, 0, 24) \
	X(REQ, RESPONDER_RESOURCES, 35, 0, 8) \
	X(REQ, LOCAL_EECN, 36, 0, 24) \
	X(REQ, INITIATOR_DEPTH, 39, 0, 8) \
	X(REQ, REMOTE_EECN, 40, 0, 24) \
	X(REQ, REMOTE_CM_RESPONSE_TIMEOUT, 43, 0, 5) \
	X(REQ, TRANSPORT_SERVICE, 43, 5, 2) \
	X(REQ, FLOW_CONTROL, 43, 7, 1) \
	X(REQ, STARTING_PSN, 44, 0, 24) \
	X(REQ, LOCAL_CM_RESPONSE_TIMEOUT, 47, 0, 5) \
	X(REQ, RETRY_COUNT, 47, 5, 3) \
	X(REQ, PKEY, 48, 0, 16) \
	X(REQ, MTU, 50, 0, 4) \
	X(REQ, RDC_EXISTS, 50, 4, 1) \
	X(REQ, RNR_RETRY_COUNT, 50, 5, 3) \
	X(REQ, MAX_CM_RETRIES, 51, 0, 4) \
	X(REQ, SRQ, 51, 4, 1) \
	X(REQ, EXTENDED_TRANSPORT, 51, 5, 3) \
	UROCE_CM_PATH_FIELDS(X, REQ, PRIMARY, 52, 56, 88, 91, 92, 93, 94, 95) \
	UROCE_CM_PATH_FIELDS(X, REQ, ALTERNATE, 96, 100, 132, 135, 136, 137, 138, 139) \
	X(MRA, LOCAL_COMM_ID, 0, 0, 32) \
	X(MRA, REMOTE_COMM_ID, 4, 0, 32) \
	X(MRA, ABOUT, 8, 0, 2) \
	X(MRA, SERVICE_TIMEOUT, 9, 0, 5) \
	X(REJ, LOCAL_COMM_ID, 0, 0, 32) \
	X(REJ, REMOTE_COMM_ID, 4, 0, 32) \
	X(REJ, ABOUT, 8, 0, 2) \
	X(REJ, INFO_LENGTH, 9, 0, 7) \
	X(REJ, REASON, 10, 0, 16) \
	X(REJ, INFO, 12, 0, 576) \
	X(REP, LOCAL_COMM_ID, 0, 0, 32) \
	X(REP, REMOTE_COMM_ID, 4, 0, 32) \
	X(REP, QKEY, 8, 0, 32) \
	X(REP, QPN, 12, 0, 24) \
	X(REP, VENDOR_ID_H, 15, 0, 8) \
	X(REP, EECN, 16, 0, 24) \
	X(REP, VENDOR_ID_M, 19, 0, 8) \
	X(REP, STARTING_PSN, 20, 0, 24) \
	X(REP, VENDOR_ID_L, 23, 0, 8) \
	X(REP, RESPONDER_RESOURCES, 24, 0, 8) \
	X(REP, INITIATOR_DEPTH, 25, 0, 8) \
	X(REP, TARGET_ACK_DELAY, 26, 0, 5) \
	X(REP, FAILOVER_ACCEPTED, 26, 5, 2) \
	X(REP, FLOW_CONTROL, 26, 7, 1) \
	X(REP, RNR_RETRY_COUNT, 27, 0, 3) \
	X(REP, SRQ, 27, 3, 1) \
	X(REP, CA_GUID, 28, 0, 64) \
	X(RTU, LOCAL_COMM_ID, 0, 0, 32) \
	X(RTU, REMOTE_COMM_ID, 4, 0, 32) \
	X(DREQ, LOCAL_COMM_ID, 0, 0, 32) \
	X(DREQ, REMOTE_COMM_ID, 4, 0, 32) \
	X(DREQ, REMOTE_QPN, 8, 0, 24) \
	X(DREP, LOCAL_COMM_ID, 0, 0, 32) \
	X(DREP, REMOTE_COMM_ID, 4, 0, 32) \
	X(SIDR_REQ, REQUEST_ID, 0, 0, 32) \
	X(SIDR_REQ, PKEY, 4, 0, 16) \
	X(SIDR_REQ, SERVICE_ID, 8, 0, 64) \
	X(SIDR_REP, REQUEST_ID, 0, 0, 32) \
	X(SIDR_REP, STATUS, 4, 0, 8) \
	X(SIDR_REP, INFO_LENGTH, 5, 0, 8) \
	X(SIDR_REP, QPN, 8, 0, 24) \
	X(SIDR_REP, SERVICE_ID, 12, 0, 64) \
	X(SIDR_REP, QKEY, 20, 0, 32) \
	X(SIDR_REP, INFO, 24, 0, 576) \
	X(LAP, LOCAL_COMM_ID, 0, 0, 32) \
	X(LAP, REMOTE_COMM_ID, 4, 0, 32) \
	X(LAP, REMOTE_QPN, 12, 0, 24) \
	X(LAP, REMOTE_CM_RESPONSE_TIMEOUT, 15, 0, 5) \
	UROCE_CM_PATH_FIELDS(X, LAP, ALTERNATE, 20, 24, 56, 61, 59, 60, 62, 63) \
	X(APR, LOCAL_COMM_ID, 0, 0, 32) \
	X(APR, REMOTE_COMM_ID, 4, 0, 32) \
	X(APR, INFO_LENGTH, 8, 0, 8) \
	X(APR, STATUS, 9, 0, 8) \
	X(APR, INFO, 12, 0, 576)

#define UROCE_CM_FIELD_NAME(message, field, byte, bit, bits) UROCE_CM_F_##message##_##field,
enum uroce_cm_field {
	UROCE_CM_FIELDS(UROCE_CM_FIELD_NAME)
	UROCE_CM_FIELD_COUNT,
};
#undef UROCE_CM_FIELD_NAME

struct uroce_cm_field_info {
	const char *name;		/* "REQ.QPN" */
	uint8_t message;		/* enum uroce_cm_message */
	uint8_t byte;			/* from the start of the MAD */
	uint8_t bit;
	uint16_t bits;
};

extern const struct uroce_cm_field_info uroce_cm_fields[UROCE_CM_FIELD_COUNT];

uint64_t uroce_cm_field_get(const uint8_t *mad, enum uroce_cm_field field);
/** @param value	must fit into the field */
void uroce_cm_field_put(uint8_t *mad, enum uroce_cm_field field, uint64_t value);

/* Example: uroce_cm_get(mad, REQ, QPN). uroce_cm_at() is for fields wider than 64 bits. */
#define uroce_cm_get(mad, message, field) uroce_cm_field_get(mad, UROCE_CM_F_##message##_##field)
#define uroce_cm_put(mad, message, field, value) \
	uroce_cm_field_put(mad, UROCE_CM_F_##message##_##field, value)
#define uroce_cm_at(mad, message, field) \
	((mad) + uroce_cm_fields[UROCE_CM_F_##message##_##field].byte)

static inline struct uroce_cm_mad_header *
uroce_cm_header(uint8_t *mad)
{
	return (struct uroce_cm_mad_header *)mad;
}

static inline const struct uroce_cm_mad_header *
uroce_cm_header_const(const uint8_t *mad)
{
	return (const struct uroce_cm_mad_header *)mad;
}

/** Fill in the header, and the rest with zeroes. */
void uroce_cm_mad_init(uint8_t *mad, enum uroce_cm_message message, uint64_t tid);
/** @return enum uroce_cm_message, or -EINVAL: it is no MAD of communication management. The class version is not
 * checked. */
int uroce_cm_mad_message(const uint8_t *mad, uint32_t bytes);

/** @return 0; -EMSGSIZE: more than the message has room for; -EINVAL: bytes without data */
int uroce_cm_private_check(enum uroce_cm_message message, const struct uroce_cm_private *priv);
/** Write private data that uroce_cm_private_check() has accepted; NULL: none. */
void uroce_cm_private_put(uint8_t *mad, enum uroce_cm_message message, const struct uroce_cm_private *priv);
/** @return all of the message's room for private data: the wire format has no length of it */
struct uroce_cm_private uroce_cm_private_get(const uint8_t *mad, enum uroce_cm_message message);

#endif /* UROCE_CM_IB_MAD_H */
