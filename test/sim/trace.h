/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Records the last frames and events of a simulation, printed on failure; with -v, prints all of them.
 */

#ifndef UROCE_TEST_SIM_TRACE_H
#define UROCE_TEST_SIM_TRACE_H

#include <stdbool.h>
#include <stdint.h>

/** Clear the trace. @param live	print each record at once */
void trace_init(bool live);

/** Record a frame, from its Ethernet header on. @param fate	"sent", "lost", … */
void trace_frame(uint64_t now_ns, unsigned int from, unsigned int to, const char *fate,
		 const uint8_t *data, uint32_t bytes);

/** Record an event. */
void trace_note(uint64_t now_ns, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Print the newest records, oldest first. */
void trace_dump(void);

#endif /* UROCE_TEST_SIM_TRACE_H */
