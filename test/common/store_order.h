/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Shows in which order memory is written, without a second thread: the upper of two pages is read-only until a store to
 * it has been recorded. One at a time.
 */

#ifndef UROCE_TEST_STORE_ORDER_H
#define UROCE_TEST_STORE_ORDER_H

#include <stdint.h>

#define STORE_ORDER_BYTES 8192	/* bytes below the boundary, and above it */

/** Map both pages writable. @return the boundary */
uint8_t *store_order_init(void);
void store_order_fini(void);

/** Set all bytes to `fill`, and watch the page above the boundary. */
void store_order_watch(uint8_t fill);

/** End the watch. @return the number of bytes directly below the boundary that had been written before the first store
 * above it; UINT32_MAX: no store above it */
uint32_t store_order_below(void);

#endif /* UROCE_TEST_STORE_ORDER_H */
