/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Frames in a scenario: an opcode and fields by name, for the engine or expected from it. Missing fields have the
 * values of a conformant peer; deliberate errors are written, too. For one thread.
 */

#ifndef UROCE_TEST_CONFORMANCE_FRAME_H
#define UROCE_TEST_CONFORMANCE_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"
#include "field.h"
#include "lexer.h"

#define FRAME_NO_LENGTH UINT32_MAX

struct frame {
	uint8_t opcode;
	uint64_t given;			/* by field: the script gives the value */
	uint64_t any;			/* by field: any value matches */
	uint64_t value[FIELD_COUNT];
	bool any_credits;		/* any credits match in an ACK */
	bool raw;			/* the payload is everything behind the UDP header */
	bool any_payload;
	bool icrc_bad;
	bool has_address;		/* the frame has another address of the peer */
	uint8_t address[16];
	bool has_group;			/* for the engine: the destination group */
	uint8_t group[16];
	uint8_t traffic_class;
	uint32_t pad_bytes;		/* actual padding, which may differ from the BTH */
	uint32_t cut_bytes;		/* bytes cut at the end of what the ICRC covers */
	uint32_t udp_len, ip_len;	/* FRAME_NO_LENGTH: the right value */
	uint32_t payload_bytes;
	uint8_t payload[DEVICE_FRAME_BYTES];
};

/**
 * Parse a frame up to the end of the statement. @param expected	false: for the engine, with this QP as default
 * destination; true: from the engine, and from this QP
 */
void frame_parse(struct lexer *l, bool expected, uint32_t qpn, struct frame *f);
void frame_build(struct lexer *l, const struct frame *f, struct device_frame *out);
/** Fail the script unless the frames match. */
void frame_check(struct lexer *l, const struct frame *expected, const struct device_frame *got);
/** Describe a frame for messages. @return text */
const char *frame_describe(const struct device_frame *f, char *text, size_t bytes);

/** Parse "10.0.0.9" or "fd00::9" as a GID. */
void frame_parse_address(struct lexer *l, uint8_t gid[16]);

#endif /* UROCE_TEST_CONFORMANCE_FRAME_H */
