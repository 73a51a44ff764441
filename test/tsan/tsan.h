/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * For tests that are built with -Db_sanitize=thread.
 */

#ifndef UROCE_TEST_TSAN_H
#define UROCE_TEST_TSAN_H

/* The mempool ops whose order of things ThreadSanitizer sees: EAL's --mbuf-pool-ops-name. */
#define TEST_TSAN_POOL "uroce_tsan"

#endif /* UROCE_TEST_TSAN_H */
