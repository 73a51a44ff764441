/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The neighbor table, with a clock that the test sets: probes and their backoff, frames that wait, aging, and a full
 * table, small or large.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "eal.h"
#include "groups.h"
#include "port/net/neighbor.h"

#define CAPACITY 8
#define MANY     3000
#define ROOM     16
#define S        1000000000ull

#define SOLICITED (UROCE_NEIGHBOR_SOLICITED | UROCE_NEIGHBOR_OVERRIDE)

static struct uroce_neighbors table;
static struct rte_mempool *pool;
static struct uroce_probe probes[ROOM];
static struct rte_mbuf *frames[UROCE_NEIGHBOR_PENDING];
static const struct rte_ether_addr mac_a = { { 2, 0, 0, 0, 0, 0xa } };
static const struct rte_ether_addr mac_b = { { 2, 0, 0, 0, 0, 0xb } };

static int
setup(void **state)
{
	return uroce_neighbors_init(&table, "test", CAPACITY, SOCKET_ID_ANY);
}

static int
teardown(void **state)
{
	uroce_neighbors_fini(&table);
	return rte_mempool_full(pool) ? 0 : -1;
}

static int
setup_many(void **state)
{
	return uroce_neighbors_init(&table, "test", MANY, SOCKET_ID_ANY);
}

static const uint8_t *
addr(uint16_t n)
{
	static uint8_t value[16];

	memset(value, 0xfd, sizeof(value));
	value[14] = (uint8_t)(n >> 8);
	value[15] = (uint8_t)n;
	return value;
}

static unsigned int
due(uint64_t now, uint64_t *next)
{
	return uroce_neighbors_due(&table, now, probes, ROOM, next);
}

static void
test_probes_back_off(void **state)
{
	struct uroce_neighbor *n = uroce_neighbor_get(&table, addr(1));
	uint64_t now = S, next, last = 0;

	for (unsigned int i = 0; i < UROCE_NEIGHBOR_PROBES; i++) {
		assert_int_equal(due(now, &next), 1);
		assert_memory_equal(probes[0].addr, addr(1), 16);
		assert_true(rte_is_zero_ether_addr(&probes[0].mac));
		assert_int_equal(next - now, UROCE_NEIGHBOR_PROBE_NS << i);
		assert_int_equal(due(next - 1, &last), 0);
		assert_int_equal(last, next);
		now = next;
	}
	assert_int_equal(due(now, &next), 0);
	assert_int_equal(n->state, UROCE_NEIGHBOR_FAILED);
	assert_int_equal(next, UINT64_MAX);
	/* requested again: probing starts anew */
	assert_ptr_equal(uroce_neighbor_get(&table, addr(1)), n);
	assert_int_equal(due(now, &next), 1);
	uroce_neighbor_put(&table, n, now);
	uroce_neighbor_put(&table, n, now);
}

/* A request without a path: probes go out while requests continue, a failure is returned once, then probing starts
 * anew. */
static void
test_asked(void **state)
{
	const uint64_t step = UROCE_NEIGHBOR_WANTED_NS / 2;
	uint64_t now = S, next;
	unsigned int sent = 0;
	int ret;

	assert_int_equal(uroce_neighbor_ask(&table, addr(1), now), -EINPROGRESS);
	assert_int_equal(due(now, &next), 1);
	assert_int_equal(uroce_neighbor_learn(&table, addr(1), &mac_a, SOLICITED, now, frames), 0);
	assert_int_equal(uroce_neighbor_ask(&table, addr(1), now), 0);
	/* no requests any more: the entry expires */
	assert_int_equal(due(now + UROCE_NEIGHBOR_AGE_NS, &next), 0);
	assert_int_equal(next, UINT64_MAX);

	now += UROCE_NEIGHBOR_AGE_NS;
	do {
		ret = uroce_neighbor_ask(&table, addr(1), now);
		sent += due(now, &next);
		now += step;
	} while (ret == -EINPROGRESS && sent < 100);
	assert_int_equal(ret, -EHOSTUNREACH);
	assert_int_equal(sent, UROCE_NEIGHBOR_PROBES);
	assert_int_equal(uroce_neighbor_ask(&table, addr(1), now), -EINPROGRESS);
	assert_int_equal(due(now, &next), 1);
	/* without requests, probing stops before a reply */
	assert_int_equal(due(now + UROCE_NEIGHBOR_WANTED_NS, &next), 0);
	assert_int_equal(next, UINT64_MAX);
}

static void
test_frames_wait(void **state)
{
	struct uroce_neighbor *n = uroce_neighbor_get(&table, addr(1));
	struct rte_mbuf *held[UROCE_NEIGHBOR_PENDING], *more = rte_pktmbuf_alloc(pool);
	struct rte_ether_addr mac;
	uint64_t next;

	assert_int_equal(due(S, &next), 1);
	assert_int_equal(uroce_neighbor_hold(&table, addr(2), more, &mac), UROCE_HOLD_FULL);
	for (unsigned int i = 0; i < UROCE_NEIGHBOR_PENDING; i++) {
		held[i] = rte_pktmbuf_alloc(pool);
		assert_int_equal(uroce_neighbor_hold(&table, addr(1), held[i], &mac),
				 UROCE_HOLD_KEPT);
	}
	assert_int_equal(uroce_neighbor_hold(&table, addr(1), more, &mac), UROCE_HOLD_FULL);
	assert_int_equal(uroce_neighbor_learn(&table, addr(1), &mac_a, SOLICITED, S, frames),
			 UROCE_NEIGHBOR_PENDING);
	assert_memory_equal(frames, held, sizeof(held));
	rte_pktmbuf_free_bulk(frames, UROCE_NEIGHBOR_PENDING);
	assert_int_equal(n->lladdr, uroce_neighbor_mac_word(&mac_a));
	assert_int_equal(uroce_neighbor_hold(&table, addr(1), more, &mac), UROCE_HOLD_RESOLVED);
	assert_memory_equal(&mac, &mac_a, sizeof(mac));
	rte_pktmbuf_free(more);
	uroce_neighbor_put_lladdr(&table, &n->lladdr, S);
	assert_int_equal(n->refs, 0);
}

/* Frames that wait for many silent neighbors do not take the mbufs of frames for others. */
static void
test_frames_of_many(void **state)
{
	const unsigned int fill = UROCE_NEIGHBORS_PENDING / UROCE_NEIGHBOR_PENDING;
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	struct uroce_neighbor *n[CAPACITY];
	struct rte_ether_addr mac;

	assert_true(fill < CAPACITY);
	for (uint8_t i = 0; i <= fill; i++)
		n[i] = uroce_neighbor_get(&table, addr(i));
	for (unsigned int i = 0; i < UROCE_NEIGHBORS_PENDING; i++) {
		assert_int_equal(uroce_neighbor_hold(&table, addr((uint8_t)(i % fill)), m, &mac),
				 UROCE_HOLD_KEPT);
		m = rte_pktmbuf_alloc(pool);
	}
	assert_int_equal(uroce_neighbor_hold(&table, addr((uint8_t)fill), m, &mac),
			 UROCE_HOLD_FULL);
	/* one of them replies */
	assert_int_equal(uroce_neighbor_learn(&table, addr(0), &mac_a, SOLICITED, S, frames),
			 UROCE_NEIGHBOR_PENDING);
	rte_pktmbuf_free_bulk(frames, UROCE_NEIGHBOR_PENDING);
	assert_int_equal(uroce_neighbor_hold(&table, addr((uint8_t)fill), m, &mac),
			 UROCE_HOLD_KEPT);
	for (uint8_t i = 0; i <= fill; i++)
		uroce_neighbor_put(&table, n[i], S);
	/* the frames are freed with their entries */
	for (uint64_t now = S; now < 200 * S; now += S)
		(void)due(now, &(uint64_t){ 0 });
	assert_int_equal(table.nb_pending, 0);
}

/* Without a reply the frames are dropped and counted; another frame starts probing anew. */
static void
test_frames_dropped(void **state)
{
	struct uroce_neighbor *n = uroce_neighbor_get(&table, addr(1));
	struct rte_ether_addr mac;
	uint64_t now = S, next;

	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(
			uroce_neighbor_hold(&table, addr(1), rte_pktmbuf_alloc(pool), &mac),
			UROCE_HOLD_KEPT);
	for (unsigned int i = 0; i <= UROCE_NEIGHBOR_PROBES; i++, now = next)
		due(now, &next);
	assert_int_equal(table.dropped, 3);
	assert_true(rte_mempool_full(pool));
	assert_int_equal(uroce_neighbor_hold(&table, addr(1), rte_pktmbuf_alloc(pool), &mac),
			 UROCE_HOLD_KEPT_DUE);
	assert_int_equal(due(S, &next), 1);
	uroce_neighbor_put(&table, n, S);
	/* the table frees the frame that still waits */
}

static void
test_age(void **state)
{
	struct uroce_neighbor *n = uroce_neighbor_get(&table, addr(1));
	uint64_t now, next;

	uroce_neighbor_learn(&table, addr(1), &mac_a, SOLICITED, S, frames);
	assert_int_equal(due(S, &next), 0);
	now = S + UROCE_NEIGHBOR_AGE_NS;
	assert_int_equal(next, now);
	/* still in use: a unicast probe */
	assert_int_equal(due(now, &next), 1);
	assert_memory_equal(&probes[0].mac, &mac_a, sizeof(mac_a));
	assert_int_equal(n->lladdr, uroce_neighbor_mac_word(&mac_a));
	uroce_neighbor_learn(&table, addr(1), &mac_a, SOLICITED, now, frames);
	assert_int_equal(n->state, UROCE_NEIGHBOR_REACHABLE);
	/* no reply: after unicast probes, a broadcast */
	now += UROCE_NEIGHBOR_AGE_NS;
	for (unsigned int i = 0; i < UROCE_NEIGHBOR_PROBES; i++, now = next) {
		assert_int_equal(due(now, &next), 1);
		assert_memory_equal(&probes[0].mac, &mac_a, sizeof(mac_a));
	}
	assert_int_equal(due(now, &next), 1);
	assert_true(rte_is_zero_ether_addr(&probes[0].mac));
	assert_int_equal(n->lladdr, 0);
	uroce_neighbor_put(&table, n, now);
}

/* An entry that no path uses expires without probes. */
static void
test_unused(void **state)
{
	struct uroce_neighbor *n = uroce_neighbor_get(&table, addr(1));
	uint64_t next;

	uroce_neighbor_learn(&table, addr(1), &mac_a, SOLICITED, S, frames);
	uroce_neighbor_put(&table, n, S);
	assert_int_equal(n->state, UROCE_NEIGHBOR_REACHABLE);
	assert_int_equal(due(S + UROCE_NEIGHBOR_AGE_NS, &next), 0);
	assert_int_equal(n->state, UROCE_NEIGHBOR_FREE);
	assert_int_equal(next, UINT64_MAX);
}

static void
test_learn(void **state)
{
	const struct rte_ether_addr group = { { 3, 0, 0, 0, 0, 1 } }, nobody = { { 0 } };
	struct uroce_neighbor *n = uroce_neighbor_get(&table, addr(1));
	uint64_t next;

	uroce_neighbor_learn(&table, addr(2), &mac_a, SOLICITED, S, frames);
	assert_int_equal(due(S, &next), 1); /* only addr(1) needs a probe */
	uroce_neighbor_learn(&table, addr(1), &group, SOLICITED, S, frames);
	uroce_neighbor_learn(&table, addr(1), &nobody, SOLICITED, S, frames);
	assert_int_equal(n->lladdr, 0);
	uroce_neighbor_learn(&table, addr(1), &mac_a, 0, S, frames);
	assert_int_equal(n->lladdr, uroce_neighbor_mac_word(&mac_a));
	uroce_neighbor_learn(&table, addr(1), &mac_b, UROCE_NEIGHBOR_SOLICITED, S, frames);
	assert_int_equal(n->lladdr, uroce_neighbor_mac_word(&mac_a));
	uroce_neighbor_learn(&table, addr(1), &mac_b, UROCE_NEIGHBOR_OVERRIDE, S, frames);
	assert_int_equal(n->lladdr, uroce_neighbor_mac_word(&mac_b));
	/* the same MAC address, unsolicited, does not renew the entry */
	uroce_neighbor_learn(&table, addr(1), &mac_b, UROCE_NEIGHBOR_OVERRIDE, 2 * S, frames);
	assert_int_equal(n->due_ns, S + UROCE_NEIGHBOR_AGE_NS);
	uroce_neighbor_put(&table, n, S);
}

/* A link that goes down invalidates all MAC addresses; when it comes up, addresses learned in between stay. */
static void
test_link(void **state)
{
	struct uroce_neighbor *n = uroce_neighbor_get(&table, addr(1));
	struct uroce_neighbor *other = uroce_neighbor_get(&table, addr(2));
	uint64_t now = S, next;

	uroce_neighbor_learn(&table, addr(1), &mac_a, SOLICITED, now, frames);
	uroce_neighbors_link(&table, false);
	assert_int_equal(n->lladdr, 0);
	/* a neighbor that does not reply fails */
	for (unsigned int i = 0; i < UROCE_NEIGHBOR_PROBES; i++, now = next) {
		assert_int_equal(due(now, &next), 2);
		assert_true(rte_is_zero_ether_addr(&probes[0].mac));
	}
	assert_int_equal(due(now, &next), 0);
	assert_int_equal(n->state, UROCE_NEIGHBOR_FAILED);
	/* a new peer announces itself before the table sees that the link is up */
	uroce_neighbor_learn(&table, addr(1), &mac_b, SOLICITED, now, frames);
	uroce_neighbors_link(&table, true);
	assert_int_equal(n->lladdr, uroce_neighbor_mac_word(&mac_b));
	assert_int_equal(due(now, &next), 1);
	assert_memory_equal(probes[0].addr, addr(2), 16);
	uroce_neighbor_put(&table, n, now);
	uroce_neighbor_put(&table, other, now);
}

/* The departure of a MAC address applies to all IP addresses that have it or had it last, and to no others. */
static void
test_departures(void **state)
{
	static const struct rte_ether_addr nobody;
	struct uroce_neighbor *n[3];
	uint64_t next;

	for (uint8_t i = 0; i < 3; i++)
		n[i] = uroce_neighbor_get(&table, addr(i));
	assert_false(uroce_neighbors_depart(&table, &nobody));	/* no neighbor has this MAC address */
	assert_false(uroce_neighbors_depart(&table, &mac_a));
	assert_int_equal(table.departures, 0);
	uroce_neighbor_learn(&table, addr(0), &mac_a, SOLICITED, S, frames);
	uroce_neighbor_learn(&table, addr(1), &mac_a, SOLICITED, S, frames);
	uroce_neighbor_learn(&table, addr(2), &mac_b, SOLICITED, S, frames);
	for (uint8_t i = 0; i < 3; i++)
		assert_false(uroce_neighbor_departed(&table, addr(i), 0));
	assert_true(uroce_neighbors_depart(&table, &mac_a));
	assert_int_equal(table.departures, 1);
	for (uint8_t i = 0; i < 3; i++)
		assert_int_equal(uroce_neighbor_departed(&table, addr(i), 0), i < 2);
	assert_false(uroce_neighbor_departed(&table, addr(0), 1));
	assert_false(uroce_neighbor_departed(&table, addr(3), 0));	/* not in the table */
	/* one neighbor has moved to another MAC address; the other has not replied for long */
	uroce_neighbor_learn(&table, addr(0), &mac_b, SOLICITED, S, frames);
	uroce_neighbors_link(&table, false);
	assert_int_equal(n[1]->lladdr, 0);
	assert_true(uroce_neighbors_depart(&table, &mac_a));
	assert_false(uroce_neighbor_departed(&table, addr(0), 1));
	assert_true(uroce_neighbor_departed(&table, addr(1), 1));
	/* an unused entry expires; a neighbor that returns gets a new entry */
	for (uint8_t i = 0; i < 3; i++)
		uroce_neighbor_put(&table, n[i], S);
	due(S + UROCE_NEIGHBOR_AGE_NS, &next);
	assert_false(uroce_neighbors_depart(&table, &mac_b));
	uroce_neighbor_put(&table, uroce_neighbor_get(&table, addr(1)), S);
	assert_false(uroce_neighbor_departed(&table, addr(1), 0));
}

static void
test_full(void **state)
{
	struct uroce_neighbor *n[CAPACITY];
	uint64_t next;

	for (uint8_t i = 0; i < CAPACITY; i++) {
		n[i] = uroce_neighbor_get(&table, addr(i));
		assert_non_null(n[i]);
	}
	assert_null(uroce_neighbor_get(&table, addr(CAPACITY)));
	uroce_neighbor_put(&table, n[3], S);
	assert_ptr_equal(uroce_neighbor_get(&table, addr(CAPACITY)), n[3]);
	assert_memory_equal(n[3]->addr, addr(CAPACITY), 16);
	/* more probes are due than there is room for: the rest is due at once */
	assert_int_equal(uroce_neighbors_due(&table, S, probes, 3, &next), 3);
	assert_int_equal(next, S);
	assert_int_equal(uroce_neighbors_due(&table, S, probes, ROOM, &next), CAPACITY - 3);
	for (uint8_t i = 0; i < CAPACITY; i++)
		uroce_neighbor_put(&table, n[i], S);
}

/* The next time that an entry is due, by comparing all of them. */
static uint64_t
least_due(void)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < table.capacity; i++)
		if (table.entries[i].state != UROCE_NEIGHBOR_FREE)
			least = RTE_MIN(least, table.entries[i].due_ns);
	return least;
}

/* Learn a neighbor's MAC address at random times, release its path, or take one. */
static void
change(struct uroce_neighbor **n, uint16_t i, uint64_t now)
{
	switch (rand() % 3) {
	case 0:
		if (n[i] == NULL)
			n[i] = uroce_neighbor_get(&table, addr(i));
		break;
	case 1: uroce_neighbor_learn(&table, addr(i), &mac_a, SOLICITED, now - (uint64_t)(rand() % 9) * S, frames); break;
	default:
		if (n[i] != NULL)
			uroce_neighbor_put(&table, n[i], now);
		n[i] = NULL;
	}
}

/* Entries are due in order of time, in whatever order they come, change and go. */
static void
test_order(void **state)
{
	static struct uroce_neighbor *n[MANY];
	uint64_t now = 100 * S, next;

	srand(1);
	for (unsigned int i = 0; i < 20000; i++) {
		change(n, (uint16_t)(rand() % MANY), now);
		if (i % 16 != 0)
			continue;
		now += S / 8;
		while (due(now, &next) == ROOM)
			assert_int_equal(next, RTE_MAX(least_due(), now));
		assert_int_equal(next, least_due());
	}
	for (uint16_t i = 0; i < MANY; i++)
		if (n[i] != NULL)
			uroce_neighbor_put(&table, n[i], now);
	while (due(now + 2 * UROCE_NEIGHBOR_AGE_NS, &next) != 0)
		;
	assert_int_equal(next, UINT64_MAX);
	assert_int_equal(table.count, 0);
}

/* A large table has room for all of its neighbors, and removes the one that has been without a path for longest. */
static void
test_many(void **state)
{
	struct uroce_neighbor *n;

	for (uint16_t i = 0; i < MANY; i++) {
		n = uroce_neighbor_get(&table, addr(i));
		assert_non_null(n);
		uroce_neighbor_learn(&table, addr(i), &mac_a, SOLICITED, S, frames);
	}
	assert_null(uroce_neighbor_get(&table, addr(MANY)));
	assert_int_equal(uroce_neighbor_ask(&table, addr(MANY), S), -ENOBUFS);
	for (uint16_t i = MANY; i > 0; i--)
		uroce_neighbor_put_lladdr(&table, &table.entries[i - 1].lladdr, S);
	for (uint16_t i = 1; i <= MANY / 2; i++) {
		n = uroce_neighbor_get(&table, addr((uint16_t)(MANY + i)));
		assert_ptr_equal(n, &table.entries[MANY - i]);
		uroce_neighbor_learn(&table, n->addr, &mac_b, SOLICITED, S, frames);
		uroce_neighbor_put(&table, n, S);
	}
	/* a departure finds the neighbors with this MAC address, and no others */
	assert_true(uroce_neighbors_depart(&table, &mac_b));
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(table.entries[i].departed, i >= MANY / 2);
	assert_true(uroce_neighbors_depart(&table, &mac_a));
}

UROCE_TESTS(port_neighbor)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_probes_back_off, setup, teardown),
		cmocka_unit_test_setup_teardown(test_asked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_frames_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(test_frames_of_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_frames_dropped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_age, setup, teardown),
		cmocka_unit_test_setup_teardown(test_link, setup, teardown),
		cmocka_unit_test_setup_teardown(test_departures, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_learn, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_order, setup_many, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup_many, teardown),
	};

	test_eal_init(NULL);
	pool = rte_pktmbuf_pool_create("test", 255, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (pool == NULL)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
