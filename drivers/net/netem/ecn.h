/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Reads and sets the ECN field of a frame's IP header, as a congested switch does. The frame is contiguous from the
 * Ethernet header on; it may be an mbuf of a live port, or part of a simulation. Any thread.
 */

#ifndef UROCE_NETEM_ECN_H
#define UROCE_NETEM_ECN_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/headers.h"

/** @return the codepoint; 0: the bytes contain no complete IP header */
unsigned int uroce_netem_ecn(const uint8_t *frame, uint32_t bytes);

/** Set CE; a wrong header checksum of IPv4 stays wrong.
 * @return false: the bytes contain no complete IP header, and the frame is unchanged */
bool uroce_netem_mark(uint8_t *frame, uint32_t bytes);

#endif /* UROCE_NETEM_ECN_H */
