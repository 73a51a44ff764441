/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A memif client that sends and writes exactly as the test asks, right or wrong.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmocka_compat.h"
#include "memif_peer.h"

static struct memif_ring *
ring_init(struct memif_peer *p, unsigned int number, unsigned int log2)
{
	const uint32_t bytes = (uint32_t)(sizeof(struct memif_ring) + p->slots * sizeof(struct memif_desc));
	struct memif_ring *ring = (struct memif_ring *)(p->at + number * bytes);

	ring->cookie = MEMIF_COOKIE;
	for (uint32_t i = 0; i < p->slots; i++)
		ring->slots[i] = (struct memif_desc){ .length = p->room,
						      .offset = 2 * bytes + (number * p->slots + i) * p->room };
	p->rings[number] = (struct memif_add_ring){ .flags = number == 0 ? MEMIF_RING_C2S : 0,
						    .offset = number * bytes,
						    .log2_slots = (uint8_t)log2 };
	return ring;
}

void
memif_peer_init(struct memif_peer *p, unsigned int log2, uint32_t room)
{
	*p = (struct memif_peer){ .fd = -1, .slots = 1u << log2, .room = room };
	p->bytes = 2 * (sizeof(struct memif_ring) + p->slots * (sizeof(struct memif_desc) + room));
	p->memory = memfd_create("peer", MFD_ALLOW_SEALING);
	assert_true(p->memory >= 0);
	assert_int_equal(ftruncate(p->memory, (off_t)p->bytes), 0);
	assert_int_equal(fcntl(p->memory, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	p->at = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->memory, 0);
	assert_ptr_not_equal(p->at, MAP_FAILED);
	p->wake = eventfd(0, EFD_NONBLOCK);
	assert_true(p->wake >= 0);
	p->out = ring_init(p, 0, log2);
	p->in = ring_init(p, 1, log2);
}

void
memif_peer_fini(struct memif_peer *p)
{
	if (p->fd >= 0)
		close(p->fd);
	close(p->wake);
	close(p->memory);
	munmap(p->at, p->bytes);
}

void
memif_peer_join(struct memif_peer *p, struct memif_link *link)
{
	uroce_memif_link_init(link);
	assert_int_equal(uroce_memif_region_add(&link->regions, p->memory, p->bytes), 0);
	assert_null(uroce_memif_link_add_ring(link, &p->rings[0], dup(p->wake)));
	assert_null(uroce_memif_link_add_ring(link, &p->rings[1], dup(p->wake)));
	assert_null(uroce_memif_link_start(link));
	memif_peer_free(p, (uint16_t)p->slots);
}

void
memif_peer_fill(struct memif_peer *p, uint16_t slot, uint8_t value, uint32_t bytes, bool more)
{
	struct memif_desc *d = &p->out->slots[slot % p->slots];

	memset(p->at + d->offset, value, bytes);
	d->length = bytes;
	d->flags = more ? MEMIF_DESC_NEXT : 0;
}

void
memif_peer_publish(struct memif_peer *p, uint16_t slots)
{
	__atomic_store_n(&p->out->head, p->out->head + slots, __ATOMIC_RELEASE);
}

void
memif_peer_free(struct memif_peer *p, uint16_t slots)
{
	for (uint16_t i = 0; i < slots; i++)
		p->in->slots[(p->in->head + i) % p->slots].length = p->room;
	__atomic_store_n(&p->in->head, p->in->head + slots, __ATOMIC_RELEASE);
}

void
memif_peer_dial(struct memif_peer *p, const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	p->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	assert_true(p->fd >= 0);
	assert_int_equal(connect(p->fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
}

void
memif_peer_say(struct memif_peer *p, const struct memif_message *m, size_t bytes, int fd, unsigned int copies)
{
	union {
		char bytes[CMSG_SPACE(64 * sizeof(int))];
		struct cmsghdr aligned;
	} control = { { 0 } };
	struct iovec at = { .iov_base = (void *)(uintptr_t)m, .iov_len = bytes };
	struct msghdr h = { .msg_iov = &at, .msg_iovlen = 1 };
	int fds[64];

	if (copies > 0) {
		struct cmsghdr *part = &control.aligned;

		assert_uint_in_range(copies, 1, 64);
		for (unsigned int i = 0; i < copies; i++)
			fds[i] = fd;
		h.msg_control = &control;
		h.msg_controllen = CMSG_SPACE(copies * sizeof(int));
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(copies * sizeof(int));
		memcpy(CMSG_DATA(part), fds, copies * sizeof(int));
	}
	assert_int_equal(sendmsg(p->fd, &h, MSG_NOSIGNAL), bytes);
}

int
memif_peer_hear(struct memif_peer *p, struct memif_message *m)
{
	ssize_t n = recv(p->fd, m, sizeof(*m), MSG_DONTWAIT);

	return n == (ssize_t)sizeof(*m) ? m->type : n == 0 ? -1 : 0;
}
