/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The floor of what a payload costs: one CRC over it and one copy of it.
 */

#ifndef UROCE_PERF_FLOOR_H
#define UROCE_PERF_FLOOR_H

#include <stdint.h>

/** CRC and copy payloads of mtu bytes on the calling thread. @return Gb/s; 0: no memory */
double uroce_perf_floor_gbps(uint32_t mtu);

#endif /* UROCE_PERF_FLOOR_H */
