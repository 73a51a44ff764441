/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Defines munmap.h's function for programs whose ports are polled by workers only.
 */

#include <uroce.h>

#include "munmap.h"

void
uroce_memif_hold(void (*fn)(void *arg), void *arg)
{
	uroce_hold_workers(fn, arg);
}
