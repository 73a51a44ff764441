/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The last frames and events of a simulation, printed when it fails; all of them with -v.
 */

#ifndef UROCE_TEST_SIM_TRACE_H
#define UROCE_TEST_SIM_TRACE_H

#include <stdbool.h>
#include <stdint.h>

/** Forget everything. @param live print each record as it comes */
void trace_init(bool live);

/** A frame, from its Ethernet header on, and what becomes of it: "sent", "lost", … */
void trace_frame(uint64_t now_ns, unsigned int from, unsigned int to, const char *fate,
		 const uint8_t *data, uint32_t bytes);

/** Something else worth knowing. */
void trace_note(uint64_t now_ns, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Print the newest records, oldest first. */
void trace_dump(void);

#endif /* UROCE_TEST_SIM_TRACE_H */
