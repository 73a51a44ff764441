/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The rings of net_memif's connections. Programs that link drivers/quirks/memif_rings.c define uroce_memif_rings().
 */

#ifndef UROCE_DRIVERS_QUIRKS_MEMIF_RINGS_H
#define UROCE_DRIVERS_QUIRKS_MEMIF_RINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/**
 * The port is about to connect, with at least one ring in each direction. The program must not use its queues without a
 * ring: the driver would use the first ring for them. On EAL's interrupt thread.
 *
 * @param rings		the first so many queues have rings
 * @param queues	those of the port
 * @return		false: refuse the connection
 */
bool uroce_memif_rings(uint16_t port_id, unsigned int rings, unsigned int queues);

/** Look at a message that the driver sends, and limit the number of rings in it. On EAL's interrupt thread. */
void uroce_memif_rings_send(int fd, const struct msghdr *m);

#endif /* UROCE_DRIVERS_QUIRKS_MEMIF_RINGS_H */
