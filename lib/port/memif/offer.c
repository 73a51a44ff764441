/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Collects the memory and the rings of a connection from the client's messages. EAL's interrupt thread.
 */

#include <fcntl.h>
#include <unistd.h>

#include "port/memif/memif.h"

static bool
add_region(struct uroce_memif_offer *offer, const struct memif_add_region *region, int fd)
{
	const uint16_t n = offer->nb_regions;

	if (region->index != n || n == UROCE_MEMIF_REGIONS || fd < 0)
		return false;
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return false;
	offer->regions[n].fd = fd;
	offer->regions[n].bytes = region->bytes;
	offer->nb_regions++;
	return true;
}

static bool
add_ring(struct uroce_memif_offer *offer, const struct memif_add_ring *ring, int fd)
{
	const unsigned int direction = ring->flags & MEMIF_RING_C2S ? UROCE_MEMIF_C2S : UROCE_MEMIF_S2C;
	uint16_t *n = &offer->nb_rings[direction];

	if (ring->index != *n || *n == UROCE_MEMIF_RINGS)
		return false;
	offer->rings[direction][*n] = *ring;
	offer->wakes[direction][*n] = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	(*n)++;
	return true;
}

void
uroce_memif_offer_add(struct uroce_memif_offer *offer, const struct memif_message *m, int fd)
{
	if (m->type == MEMIF_ADD_REGION)
		offer->is_wrong |= !add_region(offer, &m->region, fd);
	else if (m->type == MEMIF_ADD_RING)
		offer->is_wrong |= !add_ring(offer, &m->ring, fd);
}

static void
close_wake(int fd)
{
	if (fd >= 0)
		close(fd);
}

void
uroce_memif_offer_clear(struct uroce_memif_offer *offer, bool is_server)
{
	while (offer->nb_regions > 0)
		close(offer->regions[--offer->nb_regions].fd);
	for (unsigned int i = 0; i < UROCE_MEMIF_DIRECTIONS; i++)
		while (offer->nb_rings[i] > 0)
			close_wake(offer->wakes[i][--offer->nb_rings[i]]);
	offer->is_wrong = false;
	offer->socket = 0;
	offer->is_server = is_server;
}
