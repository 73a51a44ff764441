/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Impairment on a live port: rte_eth_rx_burst() returns what the model decides, shared memory is never written, and
 * nothing leaks.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_mbuf.h>

#include "eal.h"
#include "groups.h"
#include "port/rings.h"
#include "uroce_netem.h"

#define FRAME_BYTES 100
#define BURST	    32

static struct rte_mempool *pool;

struct fixture {
	struct test_rings rings;
	struct uroce_worker *worker;
	struct ibv_context *ctx;
};

static void
fixture_open(struct fixture *f)
{
	test_rings_create(&f->rings, 1);
	f->worker = uroce_create_worker(-1);
	f->ctx = uroce_open_port(f->rings.port_id, NULL, &f->worker, 1);
	assert_non_null(f->ctx);
}

static void
fixture_close(struct fixture *f)
{
	assert_int_equal(uroce_close_device(f->ctx), 0);
	assert_int_equal(uroce_destroy_worker(f->worker), 0);
	test_rings_destroy(&f->rings);
	assert_true(rte_mempool_full(pool));
}

/* An IPv4 frame with numbered bytes; the first byte is the frame's number. */
static struct rte_mbuf *
frame_make(uint8_t number)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	struct rte_ipv4_hdr *ip;
	uint8_t *bytes;

	assert_non_null(m);
	bytes = (uint8_t *)rte_pktmbuf_append(m, FRAME_BYTES);
	for (unsigned int i = 0; i < FRAME_BYTES; i++)
		bytes[i] = (uint8_t)i;
	bytes[0] = number;
	bytes[12] = 0x08;
	bytes[13] = 0x00;
	ip = (struct rte_ipv4_hdr *)(bytes + 14);
	ip->version_ihl = 0x45;
	ip->type_of_service = 0;
	ip->hdr_checksum = 0;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	return m;
}

static void
frames_send(struct fixture *f, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(rte_ring_enqueue(f->rings.rx[0], frame_make((uint8_t)i)), 0);
}

static uint16_t
frames_receive(struct fixture *f, struct rte_mbuf **frames)
{
	return rte_eth_rx_burst(f->rings.port_id, 0, frames, BURST);
}

static struct uroce_netem_stats
stats_of(const struct uroce_netem *n)
{
	struct uroce_netem_stats stats = { .size = sizeof(stats) };

	uroce_netem_stats(n, &stats);
	return stats;
}

static void
test_loss(void **state)
{
	struct fixture f;
	struct rte_mbuf *frames[BURST];
	struct uroce_netem *n;
	unsigned int got = 0;

	fixture_open(&f);
	n = uroce_netem_attach(f.rings.port_id, "loss=0.5");
	assert_non_null(n);
	for (unsigned int round = 0; round < 10; round++) {
		uint16_t nb;
		int last = -1;

		frames_send(&f, BURST);
		nb = frames_receive(&f, frames);
		for (unsigned int i = 0; i < nb; i++) {
			int number = *rte_pktmbuf_mtod(frames[i], uint8_t *);

			assert_true(number > last);	/* in order */
			last = number;
		}
		rte_pktmbuf_free_bulk(frames, nb);
		got += nb;
	}
	assert_true(got > 0 && got < 10 * BURST);
	assert_int_equal(stats_of(n).frames, 10 * BURST);
	assert_int_equal(stats_of(n).lost, 10 * BURST - got);
	uroce_netem_detach(n);
	/* with loss off, all frames arrive */
	frames_send(&f, BURST);
	assert_int_equal(frames_receive(&f, frames), BURST);
	rte_pktmbuf_free_bulk(frames, BURST);
	fixture_close(&f);
}

static unsigned int
bits_that_differ(const struct rte_mbuf *m, uint8_t number)
{
	struct rte_mbuf *good = frame_make(number);
	const uint8_t *a = rte_pktmbuf_mtod(good, const uint8_t *);
	const uint8_t *b = rte_pktmbuf_mtod(m, const uint8_t *);
	unsigned int bits = 0;

	assert_int_equal(m->pkt_len, FRAME_BYTES);
	for (unsigned int i = 0; i < FRAME_BYTES; i++)
		bits += (unsigned int)__builtin_popcount(a[i] ^ b[i]);
	rte_pktmbuf_free(good);
	return bits;
}

/* One bit of each frame flips, but not in the sender's memory. */
static void
test_corruption(void **state)
{
	struct rte_mbuf *sent[BURST], *frames[BURST];
	struct uroce_netem *n;
	struct fixture f;

	fixture_open(&f);
	n = uroce_netem_attach(f.rings.port_id, "corrupt=1");
	assert_non_null(n);
	for (unsigned int i = 0; i < BURST; i++) {
		sent[i] = frame_make(7);
		rte_mbuf_refcnt_update(sent[i], 1);	/* the sender keeps a reference */
		assert_int_equal(rte_ring_enqueue(f.rings.rx[0], sent[i]), 0);
	}
	assert_int_equal(frames_receive(&f, frames), BURST);
	for (unsigned int i = 0; i < BURST; i++) {
		assert_int_equal(bits_that_differ(frames[i], 7), 1);
		assert_int_equal(bits_that_differ(sent[i], 7), 0);
	}
	assert_int_equal(stats_of(n).corrupted, BURST);
	rte_pktmbuf_free_bulk(frames, BURST);
	rte_pktmbuf_free_bulk(sent, BURST);
	uroce_netem_detach(n);
	fixture_close(&f);
}

static void
test_duplicates(void **state)
{
	struct rte_mbuf *frames[BURST];
	struct uroce_netem *n;
	struct fixture f;

	fixture_open(&f);
	n = uroce_netem_attach(f.rings.port_id, "dup=1");
	assert_non_null(n);
	frames_send(&f, 5);
	assert_int_equal(frames_receive(&f, frames), 10);
	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(bits_that_differ(frames[i], (uint8_t)(i % 5)), 0);
	rte_pktmbuf_free_bulk(frames, 10);
	/* without room in the burst, the duplicate arrives with the next one */
	frames_send(&f, BURST);
	assert_int_equal(frames_receive(&f, frames), BURST);
	rte_pktmbuf_free_bulk(frames, BURST);
	assert_int_equal(frames_receive(&f, frames), BURST);
	rte_pktmbuf_free_bulk(frames, BURST);
	assert_int_equal(stats_of(n).duplicated, BURST + 5);
	uroce_netem_detach(n);
	fixture_close(&f);
}

static void
test_marks(void **state)
{
	struct rte_mbuf *frames[BURST];
	struct uroce_netem *n;
	struct fixture f;

	fixture_open(&f);
	n = uroce_netem_attach(f.rings.port_id, "ecn=1");
	assert_non_null(n);
	frames_send(&f, 3);
	assert_int_equal(frames_receive(&f, frames), 3);
	for (unsigned int i = 0; i < 3; i++) {
		const struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(frames[i], struct rte_ipv4_hdr *, 14);

		assert_int_equal(ip->type_of_service, 3);
		assert_int_equal(rte_raw_cksum(ip, sizeof(*ip)), 0xffff);
	}
	assert_int_equal(stats_of(n).marked, 3);
	rte_pktmbuf_free_bulk(frames, 3);
	uroce_netem_detach(n);
	fixture_close(&f);
}

/* A frame of any length that is not IP is not marked. */
static void
test_marks_of_others(void **state)
{
	struct rte_mbuf *frames[BURST], *m;
	struct uroce_netem *n;
	struct fixture f;

	fixture_open(&f);
	n = uroce_netem_attach(f.rings.port_id, "ecn=1");
	assert_non_null(n);
	for (uint16_t bytes = 1; bytes < 34; bytes++) {	/* truncated at each byte of the header */
		m = frame_make(1);
		rte_pktmbuf_trim(m, (uint16_t)(FRAME_BYTES - bytes));
		assert_int_equal(rte_ring_enqueue(f.rings.rx[0], m), 0);
		assert_int_equal(frames_receive(&f, frames), 1);
		assert_int_equal(frames[0]->pkt_len, bytes);
		rte_pktmbuf_free(frames[0]);
	}
	assert_int_equal(stats_of(n).marked, 0);
	uroce_netem_detach(n);
	fixture_close(&f);
}

static void
test_delay(void **state)
{
	const uint64_t ms = rte_get_tsc_hz() / 1000;
	struct rte_mbuf *frames[BURST];
	struct uroce_netem *n;
	struct fixture f;
	uint64_t start;
	uint16_t nb = 0;

	fixture_open(&f);
	n = uroce_netem_attach(f.rings.port_id, "delay=20ms");
	assert_non_null(n);
	frames_send(&f, 5);
	start = rte_rdtsc();
	while (nb == 0)
		nb = frames_receive(&f, frames);
	assert_true(rte_rdtsc() - start >= 20 * ms);	/* never before the delay has passed */
	assert_int_equal(nb, 5);
	for (unsigned int i = 0; i < nb; i++)
		assert_int_equal(bits_that_differ(frames[i], (uint8_t)i), 0);
	assert_int_equal(stats_of(n).delayed, 5);
	rte_pktmbuf_free_bulk(frames, nb);
	/* teardown frees the frames that are still delayed */
	frames_send(&f, 5);
	assert_int_equal(frames_receive(&f, frames), 0);
	uroce_netem_detach(n);
	fixture_close(&f);
}

static void
test_limit(void **state)
{
	struct rte_mbuf *frames[BURST];
	struct uroce_netem *n;
	struct fixture f;

	fixture_open(&f);
	n = uroce_netem_attach(f.rings.port_id, "delay=10s,limit=3");
	assert_non_null(n);
	frames_send(&f, 10);
	assert_int_equal(frames_receive(&f, frames), 0);
	assert_int_equal(stats_of(n).overflow, 7);
	assert_int_equal(stats_of(n).lost, 7);
	uroce_netem_detach(n);
	fixture_close(&f);
}

static void
test_wrong(void **state)
{
	struct fixture f;

	fixture_open(&f);
	assert_null(uroce_netem_attach(f.rings.port_id, "loss=2"));
	assert_int_equal(errno, EINVAL);
	assert_null(uroce_netem_attach(RTE_MAX_ETHPORTS - 1, "loss=0.1"));
	assert_int_equal(errno, ENODEV);
	uroce_netem_detach(NULL);
	fixture_close(&f);
}

UROCE_TESTS(netem_netem)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_corruption),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_marks_of_others),
		cmocka_unit_test(test_delay),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_wrong),
	};

	test_eal_init(NULL);
	pool = rte_pktmbuf_pool_create("frames", 1023, 0, 0, 2048, SOCKET_ID_ANY);
	if (pool == NULL)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
