/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The fields of the BTH and the extension headers, a row for each, for parsing, building, comparing and printing
 * frames. Constant, for any thread.
 */

#ifndef UROCE_TEST_CONFORMANCE_FIELD_H
#define UROCE_TEST_CONFORMANCE_FIELD_H

#include <stdint.h>

#include "wire/opcode.h"

#define FIELD_IN_BTH (-1)
#define FIELD_COUNT 33

enum field_as { FIELD_NUMBER, FIELD_ADDRESS, FIELD_KEY };

/* The value of a field that the script does not give. */
enum field_otherwise {
	FIELD_ZERO,
	FIELD_MUST,	/* none: the script must give it in both directions */
	FIELD_EXPECT,	/* none in an expected frame; 0 in a frame for the engine */
	FIELD_SPECIAL,	/* depends on the packet */
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

enum {	/* rows that the code refers to */
	F_OPCODE, F_SE, F_MIGREQ, F_PAD, F_TVER, F_PKEY, F_FECN, F_BECN, F_RESV6, F_DEST, F_ACKREQ, F_RESV7, F_PSN,
	F_SRCQP, F_LEN, F_COMPARE, F_SYNDROME, F_NAMED_COUNT,
};

extern const struct field fields[FIELD_COUNT];

uint64_t field_mask(const struct field *f);
/** The field's place in a packet of this opcode; NULL: none. A packet with an unknown opcode has a BTH only. */
const uint8_t *field_place(const struct field *f, uint8_t opcode, const uint8_t *bth);
uint64_t field_get(const struct field *f, const uint8_t *at);
void field_put(const struct field *f, uint8_t *at, uint64_t value);

#endif /* UROCE_TEST_CONFORMANCE_FIELD_H */
