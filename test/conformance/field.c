/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The table of fields, by the headers' layout on the wire. Shares no code with lib/transport. For any thread.
 */

#include <stddef.h>

#include <rte_common.h>

#include "field.h"

#define BTH FIELD_IN_BTH
#define NUMBER FIELD_NUMBER
#define ADDRESS FIELD_ADDRESS
#define KEY FIELD_KEY
#define ZERO FIELD_ZERO
#define MUST FIELD_MUST
#define EXPECT FIELD_EXPECT
#define SPECIAL FIELD_SPECIAL

const struct field fields[FIELD_COUNT] = {
	[F_OPCODE] = { "opcode", BTH, 0, 1, 0, 8, NUMBER, SPECIAL },
	[F_SE] = { "se", BTH, 1, 1, 7, 1, NUMBER, ZERO },
	[F_MIGREQ] = { "migreq", BTH, 1, 1, 6, 1, NUMBER, SPECIAL },
	[F_PAD] = { "pad", BTH, 1, 1, 4, 2, NUMBER, SPECIAL },
	[F_TVER] = { "tver", BTH, 1, 1, 0, 4, NUMBER, ZERO },
	[F_PKEY] = { "pkey", BTH, 2, 2, 0, 16, KEY, SPECIAL },
	[F_FECN] = { "fecn", BTH, 4, 1, 7, 1, NUMBER, ZERO },
	[F_BECN] = { "becn", BTH, 4, 1, 6, 1, NUMBER, ZERO },
	[F_RESV6] = { "resv6", BTH, 4, 1, 0, 6, NUMBER, ZERO },
	[F_DEST] = { "dest", BTH, 5, 3, 0, 24, KEY, SPECIAL },
	[F_ACKREQ] = { "ackreq", BTH, 8, 1, 7, 1, NUMBER, SPECIAL },
	[F_RESV7] = { "resv7", BTH, 8, 1, 0, 7, NUMBER, ZERO },
	[F_PSN] = { "psn", BTH, 9, 3, 0, 24, NUMBER, MUST },
	[F_SRCQP] = { "srcqp", UROCE_EXT_DETH, 5, 3, 0, 24, KEY, SPECIAL },
	[F_LEN] = { "len", UROCE_EXT_RETH, 12, 4, 0, 32, NUMBER, SPECIAL },
	[F_COMPARE] = { "compare", UROCE_EXT_ATOMICETH, 20, 8, 0, 64, NUMBER, SPECIAL },
	[F_SYNDROME] = { "syndrome", UROCE_EXT_AETH, 0, 1, 0, 8, KEY, SPECIAL },
	{ "msn", UROCE_EXT_AETH, 1, 3, 0, 24, NUMBER, EXPECT },
	{ "xrcsrq", UROCE_EXT_XRCETH, 1, 3, 0, 24, KEY, MUST },
	{ "xrcresv", UROCE_EXT_XRCETH, 0, 1, 0, 8, NUMBER, ZERO },
	{ "qkey", UROCE_EXT_DETH, 0, 4, 0, 32, KEY, MUST },
	{ "dethresv", UROCE_EXT_DETH, 4, 1, 0, 8, NUMBER, ZERO },
	{ "type", UROCE_EXT_FETH, 3, 1, 0, 4, NUMBER, MUST },
	{ "level", UROCE_EXT_FETH, 3, 1, 4, 2, NUMBER, MUST },
	{ "fethresv", UROCE_EXT_FETH, 0, 4, 6, 26, NUMBER, ZERO },
	{ "va", UROCE_EXT_RETH, 0, 8, 0, 64, ADDRESS, MUST },
	{ "rkey", UROCE_EXT_RETH, 8, 4, 0, 32, KEY, MUST },
	{ "va", UROCE_EXT_ATOMICETH, 0, 8, 0, 64, ADDRESS, MUST },
	{ "rkey", UROCE_EXT_ATOMICETH, 8, 4, 0, 32, KEY, MUST },
	{ "swap", UROCE_EXT_ATOMICETH, 12, 8, 0, 64, NUMBER, MUST },
	{ "original", UROCE_EXT_ATOMICACKETH, 0, 8, 0, 64, NUMBER, MUST },
	{ "imm", UROCE_EXT_IMMDT, 0, 4, 0, 32, KEY, MUST },
	{ "inv", UROCE_EXT_IETH, 0, 4, 0, 32, KEY, MUST },
};

uint64_t
field_mask(const struct field *f)
{
	return f->bits == 64 ? UINT64_MAX : (UINT64_C(1) << f->bits) - 1;
}

const uint8_t *
field_place(const struct field *f, uint8_t opcode, const uint8_t *bth)
{
	if (f->ext == FIELD_IN_BTH)
		return bth + f->offset;
	if (uroce_opcodes[opcode].ext[f->ext] == 0)
		return NULL;
	return bth + uroce_opcodes[opcode].ext[f->ext] + f->offset;
}

static uint64_t
get_bytes(const uint8_t *at, unsigned int n)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < n; i++)
		value = value << 8 | at[i];
	return value;
}

uint64_t
field_get(const struct field *f, const uint8_t *at)
{
	return get_bytes(at, f->bytes) >> f->shift & field_mask(f);
}

void
field_put(const struct field *f, uint8_t *at, uint64_t value)
{
	uint64_t all = get_bytes(at, f->bytes);

	all = (all & ~(field_mask(f) << f->shift)) | (value & field_mask(f)) << f->shift;
	for (unsigned int i = f->bytes; i > 0; i--, all >>= 8)
		at[i - 1] = (uint8_t)all;
}
