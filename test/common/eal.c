/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include "eal.h"
#ifdef TEST_TSAN
#include "tsan.h"
#endif

#define MEMORY_MIB (RTE_CACHE_LINE_SIZE > 64 ? "512" : "256") /* cache lines of 128 bytes make larger mbufs */

void
test_eal_init(const char *arg, ...)
{
	static const char *const fixed[] = {
		"test", "--no-huge", "--no-pci", "--no-shconf", "--no-telemetry",
		"--log-level=lib.eal:warning",
	};
	static char *argv[32];
	unsigned int argc = 0;
	bool memory = false;
	va_list more;

	for (unsigned int i = 0; i < RTE_DIM(fixed); i++)
		argv[argc++] = (char *)(uintptr_t)fixed[i];
	va_start(more, arg);
#ifdef TEST_TSAN
	argv[argc++] = (char *)(uintptr_t) "--mbuf-pool-ops-name=" TEST_TSAN_POOL;
#endif
	for (; arg != NULL && argc < RTE_DIM(argv) - 3; arg = va_arg(more, const char *)) {
		memory |= strcmp(arg, "-m") == 0;
		argv[argc++] = (char *)(uintptr_t)arg;
	}
	va_end(more);
	if (!memory) { /* EAL of DPDK 25.11 refuses a second -m */
		argv[argc++] = (char *)(uintptr_t) "-m";
		argv[argc++] = (char *)(uintptr_t)MEMORY_MIB;
	}
	if (rte_eal_init((int)argc, argv) < 0) {
		fprintf(stderr, "rte_eal_init: %s\n", rte_strerror(rte_errno));
		exit(1);
	}
}
