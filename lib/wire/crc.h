/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Computes the CRC-32 of a few bytes, some of them masked, and of payloads. ISA-L's functions are made for long
 * runs of bytes: for a small frame the call would take most of the time. No state; any thread.
 */

#ifndef UROCE_WIRE_CRC_H
#define UROCE_WIRE_CRC_H

#include <stdbool.h>
#include <stdint.h>

#define UROCE_CRC_BLOCK      16
#define UROCE_CRC_MAX_BLOCKS 8
#define UROCE_CRC_STEP       128

/**
 * Ethernet's CRC from a state of 0 on, over blocks of data in which each byte counts as
 * (byte & ~clear) ^ flip. All three are of blocks * UROCE_CRC_BLOCK bytes, at any alignment.
 *
 * @param blocks	1 to UROCE_CRC_MAX_BLOCKS
 * @return	the state, inverted: crc32_gzip_refl() goes on from it
 */
uint32_t uroce_crc_masked(const uint8_t *data, const uint8_t *clear, const uint8_t *flip,
			  unsigned int blocks);

/** The same on a processor without carry-less multiplication. */
uint32_t uroce_crc_masked_portable(const uint8_t *data, const uint8_t *clear, const uint8_t *flip,
				   unsigned int blocks);

/** As crc32_gzip_refl(), which it is where nothing is faster on this processor. */
uint32_t uroce_crc(uint32_t crc, const uint8_t *data, uint32_t bytes);

/** The same by registers of 256 bits, for a multiple of UROCE_CRC_STEP that is not 0. */
uint32_t uroce_crc_wide(uint32_t crc, const uint8_t *data, uint32_t bytes);

/** Can this processor? */
bool uroce_crc_wide_can(void);

#endif /* UROCE_WIRE_CRC_H */
