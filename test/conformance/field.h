/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The fields of BTH and extension headers, a row each, which reading, building, comparing and showing of frames
 * follow. Constant; any thread.
 */

#ifndef UROCE_TEST_CONFORMANCE_FIELD_H
#define UROCE_TEST_CONFORMANCE_FIELD_H

#include <stdint.h>

#include "wire/opcode.h"

#define FIELD_IN_BTH (-1)
#define FIELD_COUNT 33

enum field_as { FIELD_NUMBER, FIELD_ADDRESS, FIELD_KEY };

/* What a field is when the script does not say. */
enum field_otherwise {
	FIELD_ZERO,
	FIELD_MUST,	/* be given in both directions */
	FIELD_EXPECT,	/* be given where it is expected; 0 for the engine */
	FIELD_SPECIAL,	/* by what the packet is */
};

struct field {
	const char *name;
	int8_t ext;		/* FIELD_IN_BTH, or enum uroce_ext */
	uint8_t offset;		/* within that header */
	uint8_t bytes;
	uint8_t shift;
	uint8_t bits;
	uint8_t as;		/* enum field_as */
	uint8_t otherwise;	/* enum field_otherwise */
};

enum {	/* rows that are named in code */
	F_OPCODE, F_SE, F_MIGREQ, F_PAD, F_TVER, F_PKEY, F_FECN, F_BECN, F_RESV6, F_DEST, F_ACKREQ, F_RESV7, F_PSN,
	F_SRCQP, F_LEN, F_COMPARE, F_SYNDROME, F_NAMED_COUNT,
};

extern const struct field fields[FIELD_COUNT];

uint64_t field_mask(const struct field *f);
/** Where the field is in a packet of this opcode; NULL: nowhere. An unknown opcode has a BTH only. */
const uint8_t *field_place(const struct field *f, uint8_t opcode, const uint8_t *bth);
uint64_t field_get(const struct field *f, const uint8_t *at);
void field_put(const struct field *f, uint8_t *at, uint64_t value);

#endif /* UROCE_TEST_CONFORMANCE_FIELD_H */
