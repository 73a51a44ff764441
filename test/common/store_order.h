/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Shows in which order memory is written, without a second thread: of two pages the upper one cannot be written until a
 * store to it has been noted. One at a time.
 */

#ifndef UROCE_TEST_STORE_ORDER_H
#define UROCE_TEST_STORE_ORDER_H

#include <stdint.h>

#define STORE_ORDER_BYTES 8192	/* writable below the boundary, and as many above it */

/** Map the pages, all of them writable. @return the boundary */
uint8_t *store_order_init(void);
void store_order_fini(void);

/** All bytes become `fill`; then the page above the boundary is watched. */
void store_order_watch(uint8_t fill);

/** End the watch. @return how many bytes directly below the boundary were not `fill` any more when the page above it was
 * written first; UINT32_MAX: it was not written */
uint32_t store_order_below(void);

#endif /* UROCE_TEST_STORE_ORDER_H */
