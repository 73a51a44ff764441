/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Frames as a scenario writes them: an opcode and fields by name, for the engine or expected from it. What
 * is not written is what a conformant peer sends; what is wrong on purpose is written too. One thread.
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
	uint64_t given;			/* by field: the script says what it is */
	uint64_t any;			/* by field: whatever it is */
	uint64_t value[FIELD_COUNT];
	bool any_credits;		/* of an acknowledgement */
	bool raw;			/* the payload is all that follows the UDP header */
	bool any_payload;
	bool icrc_bad;
	bool has_address;		/* the engine's peer has another address in this frame */
	uint8_t address[16];
	bool has_group;			/* for the engine: the group that it is sent to */
	uint8_t group[16];
	uint8_t traffic_class;
	uint32_t pad_bytes;		/* that are there, whatever the BTH says */
	uint32_t cut_bytes;		/* missing at the end of what the ICRC covers */
	uint32_t udp_len, ip_len;	/* FRAME_NO_LENGTH: what is right */
	uint32_t payload_bytes;
	uint8_t payload[DEVICE_FRAME_BYTES];
};

/** Read a frame up to the end of the statement. @param expected false: for the engine, which fills in that its
 * destination is this QP; true: from the engine, and from this QP */
void frame_parse(struct lexer *l, bool expected, uint32_t qpn, struct frame *f);
void frame_build(struct lexer *l, const struct frame *f, struct device_frame *out);
/** Fail the script unless this is the frame. */
void frame_check(struct lexer *l, const struct frame *expected, const struct device_frame *got);
/** For messages. @return text */
const char *frame_describe(const struct device_frame *f, char *text, size_t bytes);

/** "10.0.0.9" or "fd00::9" as a GID. */
void frame_parse_address(struct lexer *l, uint8_t gid[16]);

#endif /* UROCE_TEST_CONFORMANCE_FRAME_H */
