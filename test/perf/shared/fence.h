/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Replaces DPDK's fence, which is assembly on x86, by the compiler's, which the test can count. Included before each
 * file of the library.
 */

#include <rte_atomic.h>

#define rte_atomic_thread_fence(order) __atomic_thread_fence(order)
