/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Accesses the caller's memory by the addresses in a command, and returns EFAULT for a wrong address, as the kernel
 * does.
 */

#ifndef UROCE_DRIVERS_VERBS_UCMA_UCMA_USER_H
#define UROCE_DRIVERS_VERBS_UCMA_UCMA_USER_H

#include <stddef.h>
#include <stdint.h>

/** Get the pointer to a command's reply buffer, which uroce_ucma_user_clear() has checked. */
static inline void *
uroce_ucma_user(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

/** Fill a reply buffer with zeros. Any thread. @return 0; -EFAULT: the buffer cannot be written */
int uroce_ucma_user_clear(uint64_t address, size_t bytes);
/** Read memory of the caller. Any thread.
 * @param bytes	up to UROCE_UCMA_MAX_BYTES
 * @return 0; -EFAULT: the memory cannot be read */
int uroce_ucma_user_read(uint64_t address, void *to, size_t bytes);

#endif /* UROCE_DRIVERS_VERBS_UCMA_UCMA_USER_H */
