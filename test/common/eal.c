/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include "eal.h"
#ifdef TEST_TSAN
#include "tsan.h"
#endif

void
test_eal_init(const char *arg, ...)
{
	static const char *const fixed[] = {
		"test", "--no-huge", "-m", "256", "--no-pci", "--no-shconf", "--no-telemetry",
		"--log-level=lib.eal:warning",
	};
	static char *argv[32];
	unsigned int argc = 0;
	va_list more;

	for (unsigned int i = 0; i < RTE_DIM(fixed); i++)
		argv[argc++] = (char *)(uintptr_t)fixed[i];
	va_start(more, arg);
#ifdef TEST_TSAN
	argv[argc++] = (char *)(uintptr_t) "--mbuf-pool-ops-name=" TEST_TSAN_POOL;
#endif
	for (; arg != NULL && argc < RTE_DIM(argv) - 1; arg = va_arg(more, const char *))
		argv[argc++] = (char *)(uintptr_t)arg;
	va_end(more);
	if (rte_eal_init((int)argc, argv) < 0) {
		fprintf(stderr, "rte_eal_init: %s\n", rte_strerror(rte_errno));
		exit(1);
	}
}
