/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Implementations of a memory copy, to find the fastest on a machine.
 */

#ifndef UROCE_PERF_FLOOR_COPIES_H
#define UROCE_PERF_FLOOR_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_copy {
	const char *name;
	void (*copy)(uint8_t *to, const uint8_t *from, size_t n);
	bool (*can)(void); /* can this machine run it? */
};

extern const struct perf_copy uroce_perf_copies[];
extern const unsigned int uroce_perf_nb_copies;

#endif /* UROCE_PERF_FLOOR_COPIES_H */
