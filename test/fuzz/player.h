/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The peer of the target engine: packets by the bytes of an input, most of them nearly right, so
 * that they get in. One thread.
 */

#ifndef UROCE_TEST_FUZZ_PLAYER_H
#define UROCE_TEST_FUZZ_PLAYER_H

#include "fuzz.h"

/* The second byte of a packet: what of it is not as it should be. */
#define PLAYER_RAW_OPCODE  0x01
#define PLAYER_ODD_PSN     0x02
#define PLAYER_ODD_HEADERS 0x04
#define PLAYER_ODD_SIZE    0x08
#define PLAYER_DAMAGED     0x10
#define PLAYER_ACKREQ      0x20
#define PLAYER_SOLICITED   0x40
#define PLAYER_MORE        0x80 /* comes in one burst with the next */

/** Make a packet; it is given to the engine at once, unless more is to come. */
void player_packet(struct fuzz_input *in);
/** Give the engine what has gathered. */
void player_flush(void);

#endif /* UROCE_TEST_FUZZ_PLAYER_H */
