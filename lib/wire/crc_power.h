/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Arithmetic on Ethernet's CRC as a polynomial: how a CRC changes when covered bytes change, and which change of some
 * bytes explains a change of the CRC. No state; any thread.
 */

#ifndef UROCE_WIRE_CRC_POWER_H
#define UROCE_WIRE_CRC_POWER_H

#include <stdint.h>

/** @return the product of two residues modulo the CRC's polynomial */
uint32_t uroce_crc_multiply(uint32_t a, uint32_t b);

/**
 * Compute x^(8 * bytes). If four covered bytes, of which the last `bytes` of the covered bytes are the first, change by
 * XOR with a word (as a little-endian number), the CRC changes by the product of that word and this power.
 *
 * @param bytes	negative: the inverse, by which a change of the CRC is multiplied for the word
 */
uint32_t uroce_crc_power(int32_t bytes);

#endif /* UROCE_WIRE_CRC_POWER_H */
