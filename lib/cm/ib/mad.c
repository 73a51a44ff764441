/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The tables of the CM's messages and fields, from chapter 12 of the specification, and access to a field's bits. No
 * state; any thread.
 */

#include "cm/ib/mad.h"

#include <errno.h>
#include <string.h>

#include <rte_debug.h>

#define HEADER_BYTES sizeof(struct uroce_cm_mad_header)

#define MESSAGE(message, offset, needs_answer) \
	[UROCE_CM_##message] = { \
		.name = #message, \
		.private_offset = HEADER_BYTES + (offset), \
		.private_bytes = UROCE_CM_##message##_PRIVATE_BYTES, \
		.answered = needs_answer, \
	}

const struct uroce_cm_message_info uroce_cm_messages[UROCE_CM_MESSAGE_COUNT] = {
	MESSAGE(REQ, 140, true),
	MESSAGE(MRA, 10, false),
	MESSAGE(REJ, 84, false),
	MESSAGE(REP, 36, true),
	MESSAGE(RTU, 8, false),
	MESSAGE(DREQ, 12, true),
	MESSAGE(DREP, 8, false),
	MESSAGE(SIDR_REQ, 16, true),
	MESSAGE(SIDR_REP, 96, false),
	MESSAGE(LAP, 64, true),
	MESSAGE(APR, 84, false),
};

#define FIELD(message_name, field, at, first_bit, width) \
	[UROCE_CM_F_##message_name##_##field] = { \
		.name = #message_name "." #field, \
		.message = UROCE_CM_##message_name, \
		.byte = HEADER_BYTES + (at), \
		.bit = first_bit, \
		.bits = width, \
	},

const struct uroce_cm_field_info uroce_cm_fields[UROCE_CM_FIELD_COUNT] = {
	UROCE_CM_FIELDS(FIELD)
};

/* The bytes that a field touches, as one number. */
static uint64_t
load(const uint8_t *at, unsigned int bytes)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < bytes; i++)
		v = v << 8 | at[i];
	return v;
}

static void
store(uint8_t *at, unsigned int bytes, uint64_t v)
{
	for (unsigned int i = bytes; i-- > 0; v >>= 8)
		at[i] = (uint8_t)v;
}

static unsigned int
bytes_of(const struct uroce_cm_field_info *f)
{
	unsigned int bytes = (f->bit + f->bits + 7u) / 8;

	RTE_VERIFY(bytes <= sizeof(uint64_t));
	return bytes;
}

static unsigned int
shift_of(const struct uroce_cm_field_info *f)
{
	return bytes_of(f) * 8 - f->bit - f->bits;
}

static uint64_t
mask_of(const struct uroce_cm_field_info *f)
{
	return UINT64_MAX >> (64 - f->bits);
}

uint64_t
uroce_cm_field_get(const uint8_t *mad, enum uroce_cm_field field)
{
	const struct uroce_cm_field_info *f = &uroce_cm_fields[field];

	return load(mad + f->byte, bytes_of(f)) >> shift_of(f) & mask_of(f);
}

void
uroce_cm_field_put(uint8_t *mad, enum uroce_cm_field field, uint64_t value)
{
	const struct uroce_cm_field_info *f = &uroce_cm_fields[field];
	unsigned int bytes = bytes_of(f), shift = shift_of(f);
	uint64_t others = load(mad + f->byte, bytes) & ~(mask_of(f) << shift);

	RTE_VERIFY(value <= mask_of(f));
	store(mad + f->byte, bytes, others | value << shift);
}

void
uroce_cm_mad_init(uint8_t *mad, enum uroce_cm_message message, uint64_t tid)
{
	struct uroce_cm_mad_header *h = uroce_cm_header(mad);

	memset(mad, 0, UROCE_CM_MAD_BYTES);
	h->base_version = UROCE_CM_BASE_VERSION;
	h->mgmt_class = UROCE_CM_CLASS;
	h->class_version = UROCE_CM_CLASS_VERSION;
	h->method = UROCE_CM_METHOD_SEND;
	h->tid = rte_cpu_to_be_64(tid);
	h->attr_id = rte_cpu_to_be_16((uint16_t)(UROCE_CM_FIRST_ATTR_ID + message));
}

int
uroce_cm_mad_message(const uint8_t *mad, uint32_t bytes)
{
	const struct uroce_cm_mad_header *h = uroce_cm_header_const(mad);
	unsigned int attr_id;

	if (bytes != UROCE_CM_MAD_BYTES)
		return -EINVAL;
	attr_id = rte_be_to_cpu_16(h->attr_id);
	if (h->base_version != UROCE_CM_BASE_VERSION || h->mgmt_class != UROCE_CM_CLASS ||
	    h->method != UROCE_CM_METHOD_SEND || attr_id < UROCE_CM_FIRST_ATTR_ID ||
	    attr_id >= UROCE_CM_FIRST_ATTR_ID + UROCE_CM_MESSAGE_COUNT)
		return -EINVAL;
	return (int)(attr_id - UROCE_CM_FIRST_ATTR_ID);
}

int
uroce_cm_private_check(enum uroce_cm_message message, const struct uroce_cm_private *priv)
{
	if (priv == NULL || priv->bytes == 0)
		return 0;
	if (priv->data == NULL)
		return -EINVAL;
	return priv->bytes > uroce_cm_messages[message].private_bytes ? -EMSGSIZE : 0;
}

void
uroce_cm_private_put(uint8_t *mad, enum uroce_cm_message message, const struct uroce_cm_private *priv)
{
	RTE_VERIFY(uroce_cm_private_check(message, priv) == 0);
	if (priv != NULL && priv->bytes > 0)
		memcpy(mad + uroce_cm_messages[message].private_offset, priv->data, priv->bytes);
}

struct uroce_cm_private
uroce_cm_private_get(const uint8_t *mad, enum uroce_cm_message message)
{
	const struct uroce_cm_message_info *info = &uroce_cm_messages[message];

	return (struct uroce_cm_private){
		.data = mad + info->private_offset,
		.bytes = info->private_bytes,
	};
}
