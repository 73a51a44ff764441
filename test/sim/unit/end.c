/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests stopped, starved and deaf ends, and cut wires: a stream between two ends makes no progress until the mishap is
 * over, and then continues without an error. A busy port makes its end wait.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "eal.h"
#include "groups.h"
#include "stream.h"
#include "trace.h"

#define MS UINT64_C(1000000)

struct fixture {
	struct world world;
	struct stream stream;
};

static void
fixture_open(struct fixture *f, struct link_conf link)
{
	struct world_conf conf = {
		.ends = 2, .multi_seg = true, .send_burst = UROCE_BURST, .pool_mbufs = 1023, .link = link,
	};
	struct stream_conf stream = {
		.opcode = IBV_WR_RDMA_WRITE, .message_bytes = 10000, .depth = 8, .timeout = 8,
	};

	trace_init(false);
	conf.link.quantum_ns = 1;
	conf.link.netem.burst = 1;
	conf.link.netem.delay_ns = 1000;
	if (conf.link.wire.rate == 0)
		conf.link.wire.rate = UINT64_C(10000000000);
	conf.link.tx_bytes = 1 << 16;
	world_init(&f->world, &conf, 1);
	stream_create(&f->stream, &f->world, 0, 1, &stream);
	streams_run(&f->world, &f->stream, 1, f->world.now_ns + MS);
	assert_true(f->stream.completed > 40);
}

/* The stream continues, and its data is right. */
static void
fixture_close(struct fixture *f)
{
	uint64_t completed = f->stream.completed;

	streams_run(&f->world, &f->stream, 1, f->world.now_ns + 10 * MS);
	assert_true(f->stream.completed > completed + 40);
	streams_finish(&f->world, &f->stream, 1);
	stream_destroy(&f->stream);
	world_fini(&f->world);
}

/* Until then only messages in flight complete. */
static void
assert_still(struct fixture *f, uint64_t until_ns)
{
	uint64_t completed;

	streams_run(&f->world, &f->stream, 1, f->world.now_ns + MS / 2);
	completed = f->stream.completed;
	streams_run(&f->world, &f->stream, 1, until_ns);
	assert_int_equal(f->stream.completed, completed);
}

static void
test_stop(void **state)
{
	struct fixture f;
	uint64_t until_ns;

	fixture_open(&f, (struct link_conf){ .rx_frames = 4 });
	until_ns = f.world.now_ns + 2 * MS;
	end_stop(f.world.ends[1], until_ns);
	assert_still(&f, until_ns);
	assert_int_equal(f.world.link.ports[1].arrived_count, 4);
	assert_true(f.world.link.overrun > 0);
	fixture_close(&f);
}

static void
test_starve(void **state)
{
	struct fixture f;
	uint64_t until_ns;

	fixture_open(&f, (struct link_conf){ .switched = false });
	until_ns = f.world.now_ns + 2 * MS;
	end_starve(f.world.ends[0], until_ns);
	assert_int_equal(rte_mempool_avail_count(f.world.ends[0]->header_pool), 0);
	assert_int_equal(rte_mempool_avail_count(f.world.ends[0]->payload_pool), 0);
	assert_still(&f, until_ns);
	assert_true(world_counters(&f.world, UROCE_NO_MBUF) > 0);
	fixture_close(&f);
}

static void
test_deafen(void **state)
{
	struct fixture f;
	uint64_t until_ns;

	fixture_open(&f, (struct link_conf){ .mishaps = true });
	f.world.mishaps.next_ns = UINT64_MAX; /* no other mishaps */
	until_ns = f.world.now_ns + 2 * MS;
	end_deafen(f.world.ends[1], until_ns);
	assert_still(&f, until_ns);
	assert_true(f.world.ends[1]->no_rx_mbuf > 0);
	fixture_close(&f);
}

static void
test_cut(void **state)
{
	struct fixture f;
	uint64_t until_ns;

	fixture_open(&f, (struct link_conf){ .switched = false });
	until_ns = f.world.now_ns + 2 * MS;
	link_partition(&f.world.link, 0x2, until_ns);
	assert_still(&f, until_ns);
	assert_true(f.world.link.lost > 0);
	fixture_close(&f);
}

/* Each kind of mishap, one after the other. */
static void
test_mishaps(void **state)
{
	struct fixture f;

	fixture_open(&f, (struct link_conf){ .mishaps = true });
	streams_run(&f.world, &f.stream, 1, f.world.now_ns + 300 * MS);
	assert_true(f.world.mishaps.count > 10);
	fixture_close(&f);
}

/* An end sends a busy port no more frames than it accepts, so that no frame waits longer than that. */
static void
test_busy_port(void **state)
{
	struct fixture f;
	uint64_t most = 0;

	fixture_open(&f, (struct link_conf){ .wire.rate = UINT64_C(5000000000) });
	for (unsigned int i = 0; i < 1000; i++) {
		streams_run(&f.world, &f.stream, 1, f.world.now_ns + 1000);
		most = RTE_MAX(most, bottleneck_backlog(&f.world.link.ports[0].out, f.world.now_ns));
	}
	assert_true(most > 1 << 15 && most < (1 << 16) + UROCE_BURST * 4300);
	fixture_close(&f);
}

UROCE_TESTS(sim_end)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_starve),
		cmocka_unit_test(test_deafen),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_mishaps),
		cmocka_unit_test(test_busy_port),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
