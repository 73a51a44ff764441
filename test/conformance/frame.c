/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Frames as text: parsed, and completed by the values that a conformant peer sends. For one thread.
 */

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "data.h"
#include "field.h"
#include "frame.h"
#include "object.h"
#include "wire/headers.h"
#include "wire/sack.h"

#define EVERY_CREDIT (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)

static void
set(struct frame *f, unsigned int row, uint64_t value)
{
	f->value[row] = value;
	f->given |= UINT64_C(1) << row;
}

/* "ACK", "NAK 1", "RNR 12" */
static bool
parse_acknowledgement(struct lexer *l, const char *name, struct frame *f)
{
	f->opcode = UROCE_RC_ACKNOWLEDGE;
	if (strcmp(name, "ACK") == 0)
		return true;
	if (strcmp(name, "NAK") == 0)
		set(f, F_SYNDROME, UROCE_AETH_NAK | object_value(l));
	else if (strcmp(name, "RNR") == 0)
		set(f, F_SYNDROME, UROCE_AETH_RNR_NAK | object_value(l));
	else
		return false;
	return true;
}

/* An opcode by its name in the table, where RC's need no prefix, or "opcode 0x15". */
static void
parse_opcode(struct lexer *l, struct frame *f)
{
	const char *name = lexer_need_word(l, "an opcode");

	if (strcmp(name, "opcode") == 0) {
		f->opcode = (uint8_t)object_value(l);
		return;
	}
	if (strcmp(name, "raw") == 0) {
		f->raw = true;
		f->payload_bytes = lexer_hex(l, f->payload, sizeof(f->payload) - 128);
		return;
	}
	if (parse_acknowledgement(l, name, f))
		return;
	for (unsigned int i = 0; i < RTE_DIM(uroce_opcodes); i++) {
		const char *known = uroce_opcodes[i].name;

		if (known == NULL || (strcmp(known, name) != 0 &&
				      (strncmp(known, "RC_", 3) != 0 || strcmp(known + 3, name) != 0)))
			continue;
		f->opcode = (uint8_t)i;
		return;
	}
	lexer_fail(l, "'%s': no such opcode", name);
}

/* A field by its name: all rows of this name that the opcode has. */
static bool
parse_field(struct lexer *l, const char *name, struct frame *f)
{
	static const uint8_t nothing[256];
	uint64_t value = 0;
	bool found = false, any = false;

	for (unsigned int i = 0; i < FIELD_COUNT; i++) {
		if (strcmp(fields[i].name, name) != 0 || field_place(&fields[i], f->opcode, nothing) == NULL)
			continue;
		if (!found) {
			any = lexer_take(l, "*");
			value = any ? 0 : object_value(l);
		}
		found = true;
		if (fields[i].bits < 64 && value > field_mask(&fields[i]) && fields[i].bits != 24)
			lexer_fail(l, "%s: 0x%" PRIx64 " has more than %u bits", name, value, fields[i].bits);
		set(f, i, value & field_mask(&fields[i]));
		if (any)
			f->any |= UINT64_C(1) << i;
	}
	return found;
}

void
frame_parse_address(struct lexer *l, uint8_t gid[16])
{
	const char *text = lexer_text(l);

	memset(gid, 0, 16);
	if (inet_pton(AF_INET6, text, gid) == 1)
		return;
	if (inet_pton(AF_INET, text, gid + 12) != 1)
		lexer_fail(l, "'%s' is no address", text);
	gid[10] = gid[11] = 0xff;
}

static void
parse_payload(struct lexer *l, struct frame *f)
{
	uint64_t n;

	f->any_payload = lexer_take(l, "*");
	if (f->any_payload)
		return;
	n = object_value(l);
	if (n > sizeof(f->payload) - 256)
		lexer_fail(l, "no frame has %" PRIu64 " bytes", n);
	f->payload_bytes = (uint32_t)n;
	data_parse(l, f->payload, f->payload_bytes, true);
	f->pad_bytes = -f->payload_bytes & 3;
}

/* Words other than fields. */
static bool
parse_other(struct lexer *l, const char *name, struct frame *f)
{
	if (strcmp(name, "payload") == 0) {
		parse_payload(l, f);
	} else if (strcmp(name, "to") == 0) {	/* va and rkey */
		uint64_t va;
		const struct object *o = object_address(l, &va);

		for (unsigned int i = 0; i < FIELD_COUNT; i++) {
			if (strcmp(fields[i].name, "va") == 0)
				set(f, i, va);
			if (strcmp(fields[i].name, "rkey") == 0 && o != NULL)
				set(f, i, o->rkey);
		}
	} else if (strcmp(name, "add") == 0) {
		parse_field(l, "swap", f);
	} else if (strcmp(name, "address") == 0) {
		f->has_address = true;
		frame_parse_address(l, f->address);
	} else if (strcmp(name, "group") == 0) {
		f->has_group = true;
		frame_parse_address(l, f->group);
	} else if (strcmp(name, "tos") == 0) {
		f->traffic_class = (uint8_t)object_value(l);
	} else if (strcmp(name, "icrc") == 0) {
		lexer_need(l, "bad");
		f->icrc_bad = true;
	} else if (strcmp(name, "padbytes") == 0) {
		f->pad_bytes = (uint32_t)object_value(l);
	} else if (strcmp(name, "cut") == 0) {
		f->cut_bytes = (uint32_t)object_value(l);
	} else if (strcmp(name, "udplen") == 0) {
		f->udp_len = (uint32_t)object_value(l);
	} else if (strcmp(name, "iplen") == 0) {
		f->ip_len = (uint32_t)object_value(l);
	} else {
		return false;
	}
	return true;
}

/* True for packets that uroce sends only to a peer that runs uroce, and for the NAK by which it identifies itself. */
static bool
has_mark(const struct frame *f, bool expected)
{
	return f->opcode == UROCE_RC_ASK || f->opcode == UROCE_RC_SACK ||
	       (expected && f->opcode == UROCE_RC_ACKNOWLEDGE && f->value[F_SYNDROME] == UROCE_AETH_SEQUENCE_NAK);
}

static uint64_t
default_value(unsigned int row, const struct frame *f, bool expected, uint32_t qpn)
{
	const struct uroce_opcode_info *info = &uroce_opcodes[f->opcode];

	switch (row) {
	case F_OPCODE: return f->opcode;
	case F_MIGREQ: return 1;
	case F_PAD: return -f->payload_bytes & 3;
	case F_PKEY: return UROCE_DEFAULT_PKEY;
	case F_DEST: return expected ? OBJECT_PEER_QPN : qpn;
	case F_SRCQP: return expected ? qpn : OBJECT_PEER_QPN;
	case F_ACKREQ:
		return info->transport == UROCE_TRANSPORT_RC && (info->flags & UROCE_OPF_REQUEST) &&
		       (info->flags & UROCE_OPF_LAST);
	case F_RESV7: return has_mark(f, expected) ? UROCE_BTH_MARK : 0;
	case F_LEN: return f->payload_bytes;
	case F_SYNDROME: return EVERY_CREDIT;
	default: return 0;
	}
}

static void
fill_defaults(struct lexer *l, struct frame *f, bool expected, uint32_t qpn)
{
	static const uint8_t nothing[256];
	uint8_t op = uroce_opcodes[f->opcode].op;
	bool whole = (uroce_opcodes[f->opcode].flags & UROCE_OPF_ONLY) == UROCE_OPF_ONLY &&
		     op != UROCE_OP_READ_REQUEST;

	for (unsigned int i = 0; i < FIELD_COUNT; i++) {
		if ((f->given >> i & 1) != 0 || field_place(&fields[i], f->opcode, nothing) == NULL)
			continue;
		if (fields[i].otherwise == FIELD_MUST || (fields[i].otherwise == FIELD_EXPECT && expected) ||
		    (i == F_LEN && !whole) || (i == F_COMPARE && op == UROCE_OP_CMP_SWAP))
			lexer_fail(l, "%s must be given", fields[i].name);
		f->value[i] = default_value(i, f, expected, qpn);
		if (i == F_SYNDROME)
			f->any_credits = expected;
	}
}

void
frame_parse(struct lexer *l, bool expected, uint32_t qpn, struct frame *f)
{
	const char *name;

	memset(f, 0, sizeof(*f));
	f->udp_len = f->ip_len = FRAME_NO_LENGTH;
	parse_opcode(l, f);
	while ((name = lexer_word(l)) != NULL) {
		char copy[LEXER_WORD_BYTES];

		snprintf(copy, sizeof(copy), "%s", name);
		if (!parse_field(l, copy, f) && !parse_other(l, copy, f))
			lexer_fail(l, "'%s': no field of this packet", copy);
	}
	if (!lexer_done(l))
		lexer_fail(l, "expected a field before '%s'", l->at);
	if (!f->raw)
		fill_defaults(l, f, expected, qpn);
}
