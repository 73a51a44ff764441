/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memif_messages.h"
#include "memif_pair.h"

#define LOG2  11
#define SLOTS (1u << LOG2)
#define ROOM  8192u
#define RING  ((uint32_t)(sizeof(struct memif_ring) + SLOTS * sizeof(struct memif_desc)))
#define BYTES (2 * (RING + SLOTS * ROOM))

struct memif_pair memif_pair;

static struct memif_add_ring
ring_of(unsigned int number)
{
	struct memif_ring *ring = (struct memif_ring *)(memif_pair.at + number * RING);

	ring->cookie = MEMIF_COOKIE;
	for (uint32_t i = 0; i < SLOTS; i++)
		ring->slots[i] = (struct memif_desc){ .length = ROOM, .offset = 2 * RING + (number * SLOTS + i) * ROOM };
	return (struct memif_add_ring){ .flags = number, .offset = number * RING, .log2_slots = LOG2 };
}

static void
connect_device(unsigned int i, bool has_socket)
{
	struct uroce_memif_offer offer = { .is_server = i == 0, .socket = has_socket ? memif_pair.sockets[i] : 0 };
	struct memif_message region = { .type = MEMIF_ADD_REGION, .region = { .bytes = BYTES } };

	uroce_memif_offer_add(&offer, &region, memif_pair.memory);
	for (unsigned int number = 0; number < 2; number++) {
		struct memif_message ring = { .type = MEMIF_ADD_RING, .ring = ring_of(number) };

		uroce_memif_offer_add(&offer, &ring, -1);
	}
	uroce_memif_connect(memif_pair.ports[i]->port_id, &offer);
	assert_non_null(memif_pair.ports[i]->memif);
}

void
memif_pair_connect(const bool shares[2], bool has_sockets)
{
	memif_pair.memory = memfd_create("pair", MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(memif_pair.memory, BYTES), 0);
	assert_int_equal(fcntl(memif_pair.memory, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	memif_pair.at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memif_pair.memory, 0);
	assert_ptr_not_equal(memif_pair.at, MAP_FAILED);
	memif_sockets(memif_pair.sockets);
	for (unsigned int i = 0; i < 2; i++) {
		memif_pair.ports[i] = uroce_port_of_context(memif_pair.net.ends[i].context);
		memif_pair.ports[i]->share_memory = shares[i];
		memif_pair.ports[i]->at_process = true;
		uroce_memif_attach(memif_pair.ports[i]);
	}
	for (unsigned int i = 0; i < 2; i++)
		connect_device(i, has_sockets);
}

void
memif_pair_open(const bool shares[2], bool has_sockets)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };

	net_open(&memif_pair.net, &conf, 1, "10.0.0.1/24", "10.0.0.2/24");
	memif_pair_connect(shares, has_sockets);
}

void
memif_pair_disconnect(void)
{
	munmap(memif_pair.at, BYTES);
	close(memif_pair.memory);
	close(memif_pair.sockets[0]);
	close(memif_pair.sockets[1]);
}

void
memif_pair_close(void)
{
	uroce_memif_detach(memif_pair.ports[0]);
	net_close(&memif_pair.net);
	memif_pair_disconnect();
}

uint16_t
memif_pair_pass(unsigned int i)
{
	struct memif_message m;
	int fd;

	memif_receive(memif_pair.sockets[i], &m, &fd);
	uroce_memif_obey(memif_pair.ports[i]->port_id, &m, fd);
	if (fd >= 0)
		close(fd);
	return m.type;
}

/* Does the peer of device i know all of its memory? */
static bool
is_shown(unsigned int i)
{
	const struct uroce_memif *memif = memif_pair.ports[i]->memif;

	return uroce_memif_is_shown(&memif->show, &memif->tx[0].ring.ring->seen);
}

void
memif_pair_show(void)
{
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(memif_pair_pass(i), MEMIF_ASK);
	for (unsigned int i = 0; i < 2; i++)
		while (!is_shown(i)) /* EAL's interrupt thread says so after it has sent the last one */
			if (memif_has_message(memif_pair.sockets[1 - i]))
				assert_int_equal(memif_pair_pass(1 - i), MEMIF_SHOW);
}

void
memif_pair_set_deaf(bool is_deaf)
{
	memif_pair.ports[1]->memif->rx[0].ring.is_broken = is_deaf;
}

struct memif_waiting
memif_pair_send_unheard(enum ibv_wr_opcode opcode)
{
	struct uroce_memif_ring *r = &memif_pair.ports[0]->memif->tx[0].ring;
	struct memif_desc *desc = &r->ring->slots[r->next % r->slots];
	struct memif_waiting w = { .bytes = memif_pair.at + desc->offset, .desc = desc };

	memif_pair_set_deaf(true);
	end_fill(&memif_pair.net.ends[0], 9);
	end_post(&memif_pair.net.ends[0], opcode, &memif_pair.net.ends[1], 4096, 0);
	test_poll(memif_pair.net.workers, 1, 3);
	assert_int_equal(desc->flags, MEMIF_DESC_NO_ICRC | MEMIF_DESC_REFERENCE);
	assert_int_equal(desc->length,
			 14 + 20 + 8 + 12 + (opcode == IBV_WR_RDMA_WRITE ? 16 : 0) + sizeof(w.reference));
	memcpy(&w.reference, w.bytes + desc->length - sizeof(w.reference), sizeof(w.reference));
	return w;
}

struct memif_waiting
memif_pair_open_unheard(void)
{
	memif_pair_open((const bool[2]){ true, true }, true);
	memif_pair_show();
	net_run_operations(&memif_pair.net);
	return memif_pair_send_unheard(IBV_WR_RDMA_WRITE);
}

void
memif_pair_hear(const struct memif_waiting *w)
{
	memcpy(w->bytes + w->desc->length - sizeof(w->reference), &w->reference, sizeof(w->reference));
	memif_pair_set_deaf(false);
	test_poll(memif_pair.net.workers, 1, 3);
}
