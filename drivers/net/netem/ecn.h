/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The ECN field of a frame's IP header, which a congested switch reads and sets. The frame is contiguous bytes from
 * the Ethernet header on, of a live port's mbuf or of a simulation. Any thread.
 */

#ifndef UROCE_NETEM_ECN_H
#define UROCE_NETEM_ECN_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/headers.h"

/** @return the codepoint, 0 where there is no whole IP header in so many bytes */
unsigned int uroce_netem_ecn(const uint8_t *frame, uint32_t bytes);

/** Set CE; the header checksum of IPv4 stays as right, or wrong, as it was. @return false: there is no whole IP
 * header in so many bytes, and the frame is as it was */
bool uroce_netem_mark(uint8_t *frame, uint32_t bytes);

#endif /* UROCE_NETEM_ECN_H */
