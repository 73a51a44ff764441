/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The rings of a client: frames pass unchanged, in as many slots as they need. If a client writes nonsense into its
 * memory, it loses its link, and no byte of the switch's memory changes.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmocka_compat.h"
#include "eal.h"
#include "groups.h"
#include "memif/link.h"
#include "memif_peer.h"

#define SLOTS 8
#define LOG2  3
#define ROOM  256
#define RING  (sizeof(struct memif_ring) + SLOTS * sizeof(struct memif_desc))

static struct rte_mempool *pool;
static struct memif_peer peer;
static struct memif_link joined;
static struct rte_mbuf *frames[UROCE_BURST];

static int
start(void **state)
{
	memif_peer_init(&peer, LOG2, ROOM);
	memif_peer_join(&peer, &joined);
	return 0;
}

static int
finish(void **state)
{
	uroce_memif_link_fini(&joined);
	memif_peer_fini(&peer);
	return rte_mempool_full(pool) ? 0 : 1;
}

static uint16_t
receive(void)
{
	return uroce_memif_link_receive(&joined, pool, frames, UROCE_BURST);
}

static struct rte_mbuf *
frame_of(uint8_t value, uint16_t bytes)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	assert_non_null(m);
	memset(rte_pktmbuf_append(m, bytes), value, bytes);
	return m;
}

/* Several times round the ring, in both directions. */
static void
test_frames(void **state)
{
	assert_int_equal(peer.out->flags, MEMIF_RING_NO_WAKING);
	for (uint16_t i = 0; i < 5 * SLOTS; i++) {
		const struct memif_desc *slot = &peer.in->slots[i % SLOTS];

		assert_int_equal(receive(), 0);
		memif_peer_fill(&peer, i, (uint8_t)i, 60 + i, false);
		memif_peer_publish(&peer, 1);
		assert_int_equal(receive(), 1);
		assert_int_equal(frames[0]->pkt_len, 60 + i);
		assert_int_equal(rte_pktmbuf_mtod(frames[0], uint8_t *)[59 + i], (uint8_t)i);
		assert_int_equal(peer.out->tail, i + 1);
		assert_int_equal(uroce_memif_link_send(&joined, frames, 1), 1);
		assert_int_equal(peer.in->tail, i + 1);
		assert_int_equal(slot->length, 60 + i);
		assert_int_equal(slot->flags, 0);
		assert_int_equal(peer.at[slot->offset + 59 + i], (uint8_t)i);
		memif_peer_free(&peer, 1);
	}
	assert_null(joined.fault);
	assert_int_equal(joined.malformed, 0);
}

/* The client's indices wrap at 65,536. */
static void
test_wrap(void **state)
{
	for (uint32_t i = 0; i < 65536 + 3 * SLOTS; i += SLOTS) {
		for (uint16_t k = 0; k < SLOTS; k++)
			memif_peer_fill(&peer, k, 1, 60, false);
		memif_peer_publish(&peer, SLOTS);
		assert_int_equal(receive(), SLOTS);
		assert_int_equal(uroce_memif_link_send(&joined, frames, SLOTS), SLOTS);
		memif_peer_free(&peer, SLOTS);
	}
	assert_null(joined.fault);
}

/* A frame in several slots, from an mbuf with several segments; each slot says whether the frame continues. */
static void
test_chain(void **state)
{
	struct rte_mbuf *m = frame_of(7, 300);

	for (uint16_t i = 0; i < 3; i++)
		memif_peer_fill(&peer, i, 10 + (uint8_t)i, 200, i < 2);
	memif_peer_publish(&peer, 3);
	assert_int_equal(receive(), 1);
	assert_int_equal(frames[0]->pkt_len, 600);
	assert_int_equal(rte_pktmbuf_mtod(frames[0], uint8_t *)[200], 11);
	assert_int_equal(rte_pktmbuf_chain(frames[0], m), 0);
	for (uint16_t i = 0; i < SLOTS; i++)
		peer.in->slots[i].flags = 0xffff;
	assert_int_equal(uroce_memif_link_send(&joined, frames, 1), 1);
	assert_int_equal(peer.in->tail, 4); /* 900 bytes in buffers of 256 */
	for (uint16_t i = 0; i < 4; i++) {
		assert_int_equal(peer.in->slots[i].flags, i < 3 ? MEMIF_DESC_NEXT : 0);
		assert_int_equal(peer.in->slots[i].length, i < 3 ? 256 : 900 - 3 * 256);
	}
	assert_int_equal(peer.at[peer.in->slots[2].offset + 600 - 512 - 1], 12);
	assert_int_equal(peer.at[peer.in->slots[2].offset + 600 - 512], 7);
}

/* Indices from before the start belong to an earlier use of the ring. */
static void
test_begin(void **state)
{
	finish(NULL);
	memif_peer_init(&peer, LOG2, ROOM);
	peer.out->head = peer.in->tail = 3;
	peer.out->tail = peer.in->head = 2;
	memif_peer_join(&peer, &joined);
	assert_int_equal(peer.out->head, 0);
	assert_int_equal(peer.out->tail, 0);
	assert_int_equal(peer.in->head, SLOTS);	/* all slots are free again */
	assert_int_equal(peer.in->tail, 0);
}

/* A frame has a limited number of slots, however small they are. */
static void
test_slots(void **state)
{
	finish(NULL);
	memif_peer_init(&peer, 7, 16);
	memif_peer_join(&peer, &joined);
	for (uint16_t i = 0; i <= UROCE_MEMIF_FRAME_SLOTS; i++)
		memif_peer_fill(&peer, i, 1, 16, i < UROCE_MEMIF_FRAME_SLOTS);
	memif_peer_publish(&peer, UROCE_MEMIF_FRAME_SLOTS + 1);
	assert_int_equal(receive(), 1);
	assert_int_equal(joined.malformed, 1);
	assert_int_equal(frames[0]->pkt_len, 16);	/* the frame behind it */
	rte_pktmbuf_free(frames[0]);

	frames[0] = frame_of(1, UROCE_MEMIF_FRAME_SLOTS * 16);
	frames[1] = frame_of(1, UROCE_MEMIF_FRAME_SLOTS * 16 + 1);
	assert_int_equal(uroce_memif_link_send(&joined, frames, 1), 1);
	assert_int_equal(uroce_memif_link_send(&joined, &frames[1], 1), 0);
	assert_true(joined.too_long); /* as many slots are free as a frame may take: half of the ring */
	memif_peer_free(&peer, UROCE_MEMIF_FRAME_SLOTS);
	assert_int_equal(uroce_memif_link_send(&joined, &frames[1], 1), 0);
	assert_true(joined.too_long);
	rte_pktmbuf_free(frames[1]);
}

/* The size of the mbuf also bounds a frame. */
static void
test_small_mbufs(void **state)
{
	struct rte_mempool *small = rte_pktmbuf_pool_create("test_small", 3, 0, 0, RTE_PKTMBUF_HEADROOM + 64,
							    SOCKET_ID_ANY);

	assert_non_null(small);
	memif_peer_fill(&peer, 0, 1, 65, false);
	memif_peer_fill(&peer, 1, 1, 64, false);
	memif_peer_publish(&peer, 2);
	assert_int_equal(uroce_memif_link_receive(&joined, small, frames, UROCE_BURST), 1);
	assert_int_equal(frames[0]->pkt_len, 64);
	assert_int_equal(joined.malformed, 1);
	rte_pktmbuf_free(frames[0]);
	rte_mempool_free(small);
}

/* Without mbufs, frames wait in the ring. */
static void
test_no_mbufs(void **state)
{
	struct rte_mempool *few = rte_pktmbuf_pool_create("test_few", 3, 0, 0, RTE_PKTMBUF_HEADROOM + 64,
							  SOCKET_ID_ANY);

	assert_non_null(few);
	for (uint16_t i = 0; i < 5; i++)
		memif_peer_fill(&peer, i, (uint8_t)i, 60, false);
	memif_peer_publish(&peer, 5);
	assert_int_equal(uroce_memif_link_receive(&joined, few, frames, UROCE_BURST), 3);
	assert_int_equal(peer.out->tail, 3);
	rte_pktmbuf_free_bulk(frames, 3);
	assert_int_equal(uroce_memif_link_receive(&joined, few, frames, UROCE_BURST), 2);
	assert_int_equal(*rte_pktmbuf_mtod(frames[1], uint8_t *), 4);
	rte_pktmbuf_free_bulk(frames, 2);
	rte_mempool_free(few);
}

/* A frame that does not fit yet waits; one that never fits is reported. */
static void
test_room(void **state)
{
	frames[0] = frame_of(1, 5 * ROOM);
	frames[1] = frame_of(2, 4 * ROOM);
	assert_int_equal(uroce_memif_link_send(&joined, frames, 2), 1);
	assert_false(joined.too_long);
	assert_int_equal(peer.in->tail, 5);
	assert_int_equal(uroce_memif_link_send(&joined, frames + 1, 1), 0);
	assert_int_equal(peer.in->tail, 5);
	memif_peer_free(&peer, 1);
	assert_int_equal(uroce_memif_link_send(&joined, frames + 1, 1), 1);
	assert_int_equal(peer.in->tail, 9);
	memif_peer_free(&peer, 8);
	frames[0] = frame_of(3, SLOTS * ROOM + 1);
	assert_int_equal(uroce_memif_link_send(&joined, frames, 1), 0);
	assert_true(joined.too_long);
	assert_null(joined.fault);
	rte_pktmbuf_free(frames[0]);
	frames[0] = frame_of(4, SLOTS * ROOM);
	assert_int_equal(uroce_memif_link_send(&joined, frames, 1), 1);
	assert_false(joined.too_long);
}

/* Malformed frames: empty, too long, and one that continues without a next slot. The frames behind them arrive. */
static void
test_malformed(void **state)
{
	memif_peer_fill(&peer, 0, 1, 0, false);
	memif_peer_fill(&peer, 1, 1, 60, false);
	memif_peer_publish(&peer, 2);
	assert_int_equal(receive(), 1);
	rte_pktmbuf_free(frames[0]);
	assert_int_equal(joined.malformed, 1);
	memif_peer_fill(&peer, 2, 1, 60, true);
	memif_peer_publish(&peer, 1);
	assert_int_equal(receive(), 0);
	assert_int_equal(joined.malformed, 2);
	memif_peer_fill(&peer, 3, 1, 60, false);
	peer.out->slots[3].offset = 0;
	peer.out->slots[3].length = (uint32_t)peer.bytes; /* more than UROCE_SWITCH_FRAME_BYTES with the next slots */
	peer.out->slots[3].flags = MEMIF_DESC_NEXT;
	for (uint16_t i = 4; i < 10; i++) {
		memif_peer_fill(&peer, i, 1, ROOM, true);
		peer.out->slots[i % SLOTS].offset = 0;
		peer.out->slots[i % SLOTS].length = (uint32_t)peer.bytes;
	}
	memif_peer_fill(&peer, 10, 1, 60, false);
	memif_peer_publish(&peer, 8);
	assert_int_equal(receive(), 0);
	assert_int_equal(joined.malformed, 3);
	assert_null(joined.fault);
}

static void
expect_fault(const char *says)
{
	assert_non_null(joined.fault);
	if (strstr(joined.fault, says) == NULL)
		fail_msg("got '%s', expected '%s'", joined.fault, says);
	frames[0] = frame_of(1, 60);
	assert_int_equal(receive(), 0);
	assert_int_equal(uroce_memif_link_send(&joined, frames, 1), 0);
	rte_pktmbuf_free(frames[0]);
}

/* After any fault, the switch reads nothing more from the ring. */
static void
test_fault(void **state)
{
	joined.fault = "slot";
	memif_peer_fill(&peer, 0, 1, 60, false);
	memif_peer_publish(&peer, 1);
	expect_fault("slot");
	assert_int_equal(peer.out->tail, 0);
	assert_int_equal(peer.in->tail, 0);
}

static void
test_index_out(void **state)
{
	memif_peer_publish(&peer, SLOTS + 1);
	assert_int_equal(receive(), 0);
	expect_fault("index");
}

static void
test_index_in(void **state)
{
	memif_peer_free(&peer, 1);
	frames[0] = frame_of(1, 60);
	assert_int_equal(uroce_memif_link_send(&joined, frames, 1), 0);
	rte_pktmbuf_free(frames[0]);
	expect_fault("index");
}

static void
test_slot_out(void **state)
{
	static const struct memif_desc wrong[] = {
		{ .region = 1, .length = 60 },
		{ .region = UINT16_MAX, .length = 60 },
		{ .offset = UINT32_MAX, .length = 60 },
		{ .length = UINT32_MAX },
		{ .offset = 1, .length = UINT32_MAX },
	};

	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		memif_peer_fill(&peer, 0, 1, 60, false);
		peer.out->slots[1] = wrong[i];
		memif_peer_publish(&peer, 2);
		assert_int_equal(receive(), 1); /* the frame before it */
		rte_pktmbuf_free(frames[0]);
		expect_fault("slot");
		assert_int_equal(joined.malformed, 0);
		finish(NULL);
		start(NULL);
	}
}

static void
test_slot_in(void **state)
{
	static const struct memif_desc wrong[] = {
		{ .region = 1, .length = 60 },
		{ .offset = UINT32_MAX, .length = 60 },
		{ .length = UINT32_MAX },
		{ .length = 0 },
	};

	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		frames[0] = frame_of(1, 60);
		frames[1] = frame_of(1, 60);
		peer.in->slots[1] = wrong[i];
		assert_int_equal(uroce_memif_link_send(&joined, frames, 2), 1);
		assert_int_equal(peer.in->tail, 1);
		rte_pktmbuf_free(frames[1]);
		expect_fault("slot");
		finish(NULL);
		start(NULL);
	}
}

/* A client writes random values into its memory between any two calls. */
static void
test_noise(void **state)
{
	srand(7);
	for (unsigned int round = 0; round < 20000; round++) {
		uint16_t n;

		for (unsigned int i = 0; i < 4; i++)
			peer.at[(unsigned int)rand() % (2 * RING)] = (uint8_t)rand();
		peer.out->head = (uint16_t)(peer.out->tail + rand() % (SLOTS + 1));
		peer.in->head = (uint16_t)(peer.in->tail + SLOTS);
		n = receive();
		for (uint16_t i = 0; i < n; i++)
			assert_uint_in_range(frames[i]->pkt_len, 1, UROCE_SWITCH_FRAME_BYTES);
		for (uint16_t i = uroce_memif_link_send(&joined, frames, n); i < n; i++)
			rte_pktmbuf_free(frames[i]);
		if (joined.fault == NULL && round % 1000 != 0)
			continue;
		finish(NULL);
		start(NULL);
	}
}

/* After a client has left, its memory and descriptors are released, and nothing else is. */
static void
test_given_back(void **state)
{
	int out = dup(peer.wake), in = dup(peer.wake);
	struct memif_link link;
	void *at;

	uroce_memif_link_init(&link);
	assert_int_equal(uroce_memif_region_add(&link.regions, peer.memory, peer.bytes), 0);
	at = link.regions.at[0].addr;
	assert_null(uroce_memif_link_add_ring(&link, &peer.rings[0], out));
	assert_null(uroce_memif_link_add_ring(&link, &peer.rings[1], in));
	assert_int_equal(fcntl(in, F_GETFD), -1); /* the switch does not wake that end */
	assert_int_not_equal(fcntl(out, F_GETFD), -1);
	for (unsigned int i = 0; i < UROCE_SWITCH_RINGS; i++) {
		assert_int_equal(link.in[i].wake, i == 0 ? out : -1);
		assert_int_equal(link.out[i].wake, -1);
	}
	uroce_memif_link_fini(&link);
	assert_int_equal(fcntl(out, F_GETFD), -1);
	assert_int_equal(msync(at, peer.bytes, MS_ASYNC), -1);
	assert_int_equal(link.nb_in, 0);
	assert_int_equal(link.in[0].wake, -1);
	assert_null(link.fault);
}

static void
test_rings(void **state)
{
	static const struct {
		struct memif_add_ring ring;
		const char *says;
	} wrong[] = {
		{ { .index = 1 }, "index" },
		{ { .index = UINT16_MAX }, "index" },
		{ { .log2_slots = 15 }, "size" },
		{ { .log2_slots = 255 }, "size" },
		{ { .private_bytes = 1 }, "size" },
		{ { .region = 1 }, "offset" },
		{ { .region = UINT16_MAX }, "offset" },
		{ { .offset = 2 }, "offset" },
		{ { .offset = UINT32_MAX - 3 }, "offset" },
		{ { .log2_slots = 14 }, "offset" },
	};
	struct memif_link link;

	uroce_memif_link_init(&link);
	assert_int_equal(uroce_memif_region_add(&link.regions, peer.memory, peer.bytes), 0);
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		const char *reason = uroce_memif_link_add_ring(&link, &wrong[i].ring, peer.wake);

		assert_non_null(reason);
		assert_non_null(strstr(reason, wrong[i].says));
	}
	assert_non_null(uroce_memif_link_add_ring(&link, &peer.rings[0], peer.memory)); /* without an eventfd */
	assert_non_null(uroce_memif_link_add_ring(&link, &peer.rings[0], STDIN_FILENO));
	assert_string_equal(uroce_memif_link_start(&link), "Missing ring");
	assert_null(uroce_memif_link_add_ring(&link, &peer.rings[0], dup(peer.wake)));
	assert_string_equal(uroce_memif_link_start(&link), "Missing ring");
	assert_null(uroce_memif_link_add_ring(&link, &peer.rings[1], dup(peer.wake)));
	peer.in->cookie = 1;
	assert_string_equal(uroce_memif_link_start(&link), "Wrong ring");
	uroce_memif_link_fini(&link);
}

/* All rings of a client are read, in turn. */
static void
test_many_rings(void **state)
{
	struct memif_add_ring again = peer.rings[0];
	struct memif_link link;

	uroce_memif_link_init(&link);
	assert_int_equal(uroce_memif_region_add(&link.regions, peer.memory, peer.bytes), 0);
	for (again.index = 0; again.index < UROCE_SWITCH_RINGS; again.index++)
		assert_null(uroce_memif_link_add_ring(&link, &again, dup(peer.wake)));
	assert_non_null(uroce_memif_link_add_ring(&link, &again, peer.wake));
	assert_null(uroce_memif_link_add_ring(&link, &peer.rings[1], dup(peer.wake)));
	assert_null(uroce_memif_link_start(&link));
	memif_peer_fill(&peer, 0, 1, 60, false);
	memif_peer_publish(&peer, 1);
	assert_int_equal(uroce_memif_link_receive(&link, pool, frames, UROCE_BURST), UROCE_SWITCH_RINGS);
	rte_pktmbuf_free_bulk(frames, UROCE_SWITCH_RINGS);
	memif_peer_fill(&peer, 1, 1, 60, false);
	memif_peer_fill(&peer, 2, 1, 60, false);
	memif_peer_publish(&peer, 2);
	for (unsigned int taken = 2; taken <= 3; taken++) {
		for (unsigned int i = 0; i < UROCE_SWITCH_RINGS; i++) {
			assert_int_equal(uroce_memif_link_receive(&link, pool, frames, 1), 1);
			rte_pktmbuf_free(frames[0]);
		}
		for (unsigned int i = 0; i < UROCE_SWITCH_RINGS; i++)
			assert_int_equal(link.in[i].next, taken);
	}
	assert_int_equal(uroce_memif_link_receive(&link, pool, frames, 1), 0);
	for (uint16_t i = 3; i < 6; i++)
		memif_peer_fill(&peer, i, 1, 60, false);
	memif_peer_publish(&peer, 3);
	assert_int_equal(uroce_memif_link_receive(&link, pool, frames, 4), 4); /* from two rings */
	rte_pktmbuf_free_bulk(frames, 4);
	uroce_memif_link_fini(&link);
}

static void
test_wake(void **state)
{
	uroce_memif_link_wake(&joined, true);
	assert_int_equal(peer.out->flags, 0);
	uroce_memif_link_wake(&joined, false);
	assert_int_equal(peer.out->flags, MEMIF_RING_NO_WAKING);
}

UROCE_TESTS(switch_memif_link)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_frames, start, finish),
		cmocka_unit_test_setup_teardown(test_wrap, start, finish),
		cmocka_unit_test_setup_teardown(test_chain, start, finish),
		cmocka_unit_test_setup_teardown(test_begin, start, finish),
		cmocka_unit_test_setup_teardown(test_slots, start, finish),
		cmocka_unit_test_setup_teardown(test_small_mbufs, start, finish),
		cmocka_unit_test_setup_teardown(test_no_mbufs, start, finish),
		cmocka_unit_test_setup_teardown(test_room, start, finish),
		cmocka_unit_test_setup_teardown(test_malformed, start, finish),
		cmocka_unit_test_setup_teardown(test_fault, start, finish),
		cmocka_unit_test_setup_teardown(test_index_out, start, finish),
		cmocka_unit_test_setup_teardown(test_index_in, start, finish),
		cmocka_unit_test_setup_teardown(test_slot_out, start, finish),
		cmocka_unit_test_setup_teardown(test_slot_in, start, finish),
		cmocka_unit_test_setup_teardown(test_noise, start, finish),
		cmocka_unit_test_setup_teardown(test_given_back, start, finish),
		cmocka_unit_test_setup_teardown(test_rings, start, finish),
		cmocka_unit_test_setup_teardown(test_many_rings, start, finish),
		cmocka_unit_test_setup_teardown(test_wake, start, finish),
	};

	test_eal_init(NULL);
	pool = rte_pktmbuf_pool_create("test_link", 255, 0, 0, RTE_PKTMBUF_HEADROOM + UROCE_SWITCH_FRAME_BYTES,
				       SOCKET_ID_ANY);
	return pool == NULL ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
