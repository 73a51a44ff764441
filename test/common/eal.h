/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * EAL for tests: one thread, ordinary memory, no devices, nothing shared with other processes.
 */

#ifndef UROCE_TEST_EAL_H
#define UROCE_TEST_EAL_H

/** Initialize EAL once. Further EAL arguments are NULL-terminated: test_eal_init("-l", "0,1", NULL).
 * Exits with a message if EAL cannot be initialized. */
void test_eal_init(const char *arg, ...);

#endif /* UROCE_TEST_EAL_H */
