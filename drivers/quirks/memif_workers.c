/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Defines the functions of munmap.h and memif_rings.h for programs in which only workers poll ports.
 */

#include <stdio.h>

#include <uroce.h>

#include "memif_rings.h"
#include "munmap.h"

/* Each worker polls a queue of the port. */
bool
uroce_memif_rings(uint16_t port_id, unsigned int rings, unsigned int queues)
{
	if (rings < queues)
		fprintf(stderr, "port %u has %u queues, its net_memif peer has %u: use as many workers as the peer has\n",
			port_id, queues, rings);
	return rings >= queues;
}

void
uroce_memif_hold(void (*fn)(void *arg), void *arg)
{
	uroce_hold_workers(fn, arg);
}
