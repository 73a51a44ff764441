/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The peer of target engine: makes packets from the bytes of an input, most of them nearly valid, so that they pass the
 * first checks. For one thread.
 */

#ifndef UROCE_TEST_FUZZ_PLAYER_H
#define UROCE_TEST_FUZZ_PLAYER_H

#include "fuzz.h"

/* Bits of a packet's second byte: deviations from a valid packet. */
#define PLAYER_RAW_OPCODE  0x01
#define PLAYER_ODD_PSN     0x02
#define PLAYER_ODD_HEADERS 0x04
#define PLAYER_ODD_SIZE    0x08
#define PLAYER_DAMAGED     0x10
#define PLAYER_ACKREQ      0x20
#define PLAYER_SOLICITED   0x40
#define PLAYER_MORE        0x80 /* in one burst with the next packet */

/** Make a packet, and deliver it unless the burst continues. */
void player_packet(struct fuzz_input *in);
/** Deliver the packets of the burst. */
void player_flush(void);

#endif /* UROCE_TEST_FUZZ_PLAYER_H */
