/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates rings, and net_ring ports on them. Main thread.
 */

#include <stdio.h>

#include <rte_eth_ring.h>
#include <rte_ring.h>

#include "uroce_config.h"
#include "wire.h"

int
test_wire_create(uint16_t ports[2], unsigned int queues, unsigned int turned)
{
	struct rte_ring *sent[2][UROCE_MAX_WORKERS], *received[2][UROCE_MAX_WORKERS];
	static unsigned int sequence;
	char name[RTE_RING_NAMESIZE];
	int port;

	for (unsigned int d = 0; d < 2; d++) {
		for (unsigned int q = 0; q < queues; q++) {
			snprintf(name, sizeof(name), "wire_%u", sequence++);
			sent[d][q] = rte_ring_create(name, UROCE_APP_RING_FRAMES, SOCKET_ID_ANY,
						     RING_F_SP_ENQ | RING_F_SC_DEQ);
			if (sent[d][q] == NULL)
				return -1;
			received[1 - d][(q + turned) % queues] = sent[d][q];
		}
	}
	for (unsigned int d = 0; d < 2; d++) {
		snprintf(name, sizeof(name), "wire_port_%u", sequence++);
		port = rte_eth_from_rings(name, received[d], queues, sent[d], queues, 0);
		if (port < 0)
			return -1;
		ports[d] = (uint16_t)port;
	}
	return 0;
}
