/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Small numbers for objects, the lowest free one each time, as the kernel gives them: librdmacm indexes tables by
 * them. Under uroce_ucma_lock.
 */

#ifndef UROCE_DRIVERS_VERBS_UCMA_UCMA_HANDLES_H
#define UROCE_DRIVERS_VERBS_UCMA_UCMA_HANDLES_H

#include <stdint.h>

struct uroce_ucma_handles {
	void **objects;		/* NULL: free */
	uint32_t room;
	uint32_t lowest;	/* none below it is free */
};

/** @return 0; -ENOMEM, also where there are UROCE_UCMA_MAX_HANDLES */
int uroce_ucma_handle_alloc(struct uroce_ucma_handles *handles, void *object, uint32_t *handle);
void uroce_ucma_handle_free(struct uroce_ucma_handles *handles, uint32_t handle);
/** @return NULL: there is none */
void *uroce_ucma_handle_find(const struct uroce_ucma_handles *handles, uint32_t handle);

#endif /* UROCE_DRIVERS_VERBS_UCMA_UCMA_HANDLES_H */
