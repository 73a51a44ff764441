/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The ports whose frames the driver does not move: it must not receive from their rings. Any thread.
 */

#include <rte_config.h>

#include "port/memif/memif.h"

static bool moved[RTE_MAX_ETHPORTS];

void
uroce_memif_set_moved(uint16_t port_id, bool is_moved)
{
	__atomic_store_n(&moved[port_id], is_moved, __ATOMIC_RELAXED);
}

bool
uroce_memif_is_moved(uint16_t port_id)
{
	return __atomic_load_n(&moved[port_id], __ATOMIC_RELAXED);
}
