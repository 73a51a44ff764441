/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A program whose ports are polled by workers, and by nobody else, outlives the peer of a net_memif.
 */

#include <uroce.h>

#include "unmap.h"

void
uroce_memif_hold(void (*fn)(void *arg), void *arg)
{
	uroce_hold_workers(fn, arg);
}
