/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Maps small numbers to objects. A new object gets the lowest free number, as in the kernel: librdmacm uses handles
 * as indexes of its tables. Under uroce_ucma_lock.
 */

#ifndef UROCE_DRIVERS_VERBS_UCMA_UCMA_HANDLES_H
#define UROCE_DRIVERS_VERBS_UCMA_UCMA_HANDLES_H

#include <stdint.h>

struct uroce_ucma_handles {
	void **objects;		/* NULL: free */
	uint32_t room;
	uint32_t lowest;	/* no handle below it is free */
};

/** @return 0; -ENOMEM: no memory, or UROCE_UCMA_MAX_HANDLES are in use */
int uroce_ucma_handle_alloc(struct uroce_ucma_handles *handles, void *object, uint32_t *handle);
void uroce_ucma_handle_free(struct uroce_ucma_handles *handles, uint32_t handle);
/** @return NULL: no such handle */
void *uroce_ucma_handle_find(const struct uroce_ucma_handles *handles, uint32_t handle);

#endif /* UROCE_DRIVERS_VERBS_UCMA_UCMA_HANDLES_H */
