/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Defines the function of munmap.h for programs in which only workers poll ports.
 */

#include <uroce.h>

#include "munmap.h"

void
uroce_memif_hold(void (*fn)(void *arg), void *arg)
{
	uroce_hold_workers(fn, arg);
}
