/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A process for each test, because drivers/verbs starts its threads once per process.
 */

#ifndef UROCE_TEST_DROPIN_PROCESS_H
#define UROCE_TEST_DROPIN_PROCESS_H

#include <stdio.h>
#include <string.h>

#define PROCESS_EAL "--no-huge -m 256 --no-pci --no-shconf --no-telemetry"
#define PROCESS_TEXT_BYTES 4096

/* For functions that return 0 or a line number: cmocka's assertions do not reach the parent. */
#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			return __LINE__; \
		} \
	} while (0)

/**
 * Run fn in a child with these variables (NULL: unset); fail if it does not return 0.
 * @param said	output of the child on stderr
 */
void process_run(const char *eal_args, const char *addresses, int (*fn)(void), char said[PROCESS_TEXT_BYTES]);

#endif /* UROCE_TEST_DROPIN_PROCESS_H */
