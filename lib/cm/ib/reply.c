/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Replies to messages that have no connection: one reply to the sender of each message, without state. Under the CM's
 * lock.
 */

#include <string.h>

#include <rte_debug.h>

#include "cm/ib/internal.h"
#include "cm/ib/message.h"

static void
begin(uint8_t *reply, enum uroce_cm_message message, const uint8_t *mad)
{
	uroce_cm_mad_init(reply, message, rte_be_to_cpu_64(uroce_cm_header_const(mad)->tid));
}

/* Swap the communication IDs of the message; a REQ has only one. */
static void
swap_ids(uint8_t *reply, const uint8_t *mad, bool is_req)
{
	uroce_cm_put(reply, RTU, LOCAL_COMM_ID,
		     is_req ? 0 : uroce_cm_get(mad, RTU, REMOTE_COMM_ID));
	uroce_cm_put(reply, RTU, REMOTE_COMM_ID, uroce_cm_get(mad, RTU, LOCAL_COMM_ID));
}

void
uroce_cm_reply_rej(struct uroce_cm *cm, const struct uroce_cm_path *path, const uint8_t *mad,
		   enum uroce_cm_about about, uint16_t reason, const void *info, uint8_t info_bytes)
{
	uint8_t reply[UROCE_CM_MAD_BYTES];

	RTE_VERIFY(info_bytes <= UROCE_CM_REJ_INFO_BYTES);
	begin(reply, UROCE_CM_REJ, mad);
	swap_ids(reply, mad, about == UROCE_CM_ABOUT_REQ);
	uroce_cm_put(reply, REJ, ABOUT, about);
	uroce_cm_put(reply, REJ, REASON, reason);
	uroce_cm_put(reply, REJ, INFO_LENGTH, info_bytes);
	if (info_bytes > 0)
		memcpy(uroce_cm_at(reply, REJ, INFO), info, info_bytes);
	uroce_cm_transmit(cm, path, UROCE_CM_REJ, reply);
}

void
uroce_cm_reply_drep(struct uroce_cm *cm, const struct uroce_cm_path *path, const uint8_t *mad)
{
	uint8_t reply[UROCE_CM_MAD_BYTES];

	begin(reply, UROCE_CM_DREP, mad);
	swap_ids(reply, mad, false);
	uroce_cm_transmit(cm, path, UROCE_CM_DREP, reply);
}

void
uroce_cm_reply_apr(struct uroce_cm *cm, const struct uroce_cm_path *path, const uint8_t *mad,
		   uint8_t status)
{
	uint8_t reply[UROCE_CM_MAD_BYTES];

	begin(reply, UROCE_CM_APR, mad);
	swap_ids(reply, mad, false);
	uroce_cm_put(reply, APR, STATUS, status);
	uroce_cm_transmit(cm, path, UROCE_CM_APR, reply);
}

void
uroce_cm_reply_sidr(struct uroce_cm *cm, const struct uroce_cm_path *path, const uint8_t *mad,
		    uint8_t status)
{
	uint8_t reply[UROCE_CM_MAD_BYTES];

	begin(reply, UROCE_CM_SIDR_REP, mad);
	uroce_cm_put(reply, SIDR_REP, REQUEST_ID, uroce_cm_get(mad, SIDR_REQ, REQUEST_ID));
	uroce_cm_put(reply, SIDR_REP, SERVICE_ID, uroce_cm_get(mad, SIDR_REQ, SERVICE_ID));
	uroce_cm_put(reply, SIDR_REP, STATUS, status);
	uroce_cm_transmit(cm, path, UROCE_CM_SIDR_REP, reply);
}
