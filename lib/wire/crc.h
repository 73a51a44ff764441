/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Computes the CRC-32 of headers, in which bytes are masked, and of payloads. ISA-L's functions are made for long
 * runs of bytes, and are slow for a small frame. No state; any thread.
 */

#ifndef UROCE_WIRE_CRC_H
#define UROCE_WIRE_CRC_H

#include <stdbool.h>
#include <stdint.h>

#define UROCE_CRC_BLOCK      16
#define UROCE_CRC_MAX_BLOCKS 8
#define UROCE_CRC_STEP       128

/**
 * Compute Ethernet's CRC, from an initial state of 0, over (data & ~clear) ^ flip. Each of the three has
 * blocks * UROCE_CRC_BLOCK bytes, at any alignment.
 *
 * @param blocks	1 to UROCE_CRC_MAX_BLOCKS
 * @return	the inverted state, from which crc32_gzip_refl() can continue
 */
uint32_t uroce_crc_masked(const uint8_t *data, const uint8_t *clear, const uint8_t *flip,
			  unsigned int blocks);

/** As uroce_crc_masked(), for processors without carry-less multiplication. */
uint32_t uroce_crc_masked_portable(const uint8_t *data, const uint8_t *clear, const uint8_t *flip,
				   unsigned int blocks);

/** As crc32_gzip_refl(), by the fastest method of this processor. */
uint32_t uroce_crc(uint32_t crc, const uint8_t *data, uint32_t bytes);

/** As uroce_crc(), by registers of 256 bits. @param bytes	a multiple of UROCE_CRC_STEP, not 0 */
uint32_t uroce_crc_wide(uint32_t crc, const uint8_t *data, uint32_t bytes);

/** Can this processor execute uroce_crc_wide()? */
bool uroce_crc_wide_can(void);

/** As uroce_crc(), by registers of 512 bits. @param bytes	a multiple of 4, not 0 */
uint32_t uroce_crc_widest(uint32_t crc, const uint8_t *data, uint32_t bytes);

/** Can this processor execute uroce_crc_widest()? */
bool uroce_crc_widest_can(void);

#endif /* UROCE_WIRE_CRC_H */
