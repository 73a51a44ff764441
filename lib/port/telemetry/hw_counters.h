/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A device's counters under Linux's names in /sys/class/infiniband/.../hw_counters, so that monitoring for RNICs and
 * Soft-RoCE works with uroce. Any thread, while the workers run.
 */

#ifndef UROCE_PORT_TELEMETRY_HW_COUNTERS_H
#define UROCE_PORT_TELEMETRY_HW_COUNTERS_H

#include <stdint.h>

struct uroce_port;

#define UROCE_HW_COUNTER_SOURCES 4

/* The kind of a counter's source. */
enum uroce_hw_source_kind {
	UROCE_HW_END,      /* no more sources */
	UROCE_HW_ENGINE,   /* enum uroce_engine_counter */
	UROCE_HW_VERDICT,  /* enum uroce_verdict */
	UROCE_HW_PORT,     /* enum uroce_port_counter */
	UROCE_HW_RECEIVED, /* packets that have reached an engine, with any verdict */
	UROCE_HW_LINK,     /* number of times that the link went down */
};

struct uroce_hw_source {
	uint8_t kind;  /* enum uroce_hw_source_kind */
	uint8_t index; /* index in the enum of this kind */
};

/* A counter: the sum of its sources. */
struct uroce_hw_counter {
	const char *name;
	const char *of; /* Linux driver that has the counter: "rxe", "mlx5", "both" */
	struct uroce_hw_source sources[UROCE_HW_COUNTER_SOURCES];
};

extern const struct uroce_hw_counter uroce_hw_counters[];
extern const unsigned int uroce_hw_counter_count;

uint64_t uroce_hw_counter_read(const struct uroce_port *port, const struct uroce_hw_counter *counter);

#endif /* UROCE_PORT_TELEMETRY_HW_COUNTERS_H */
