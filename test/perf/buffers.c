/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the slots and queues of a run for every operation, mode and end, and the contents of the buffers before it. Both
 * ends must compute the same slots.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "eal.h"
#include "groups.h"
#include "measure/endpoint.h"
#include "measure/verify.h"

static const uint32_t sizes[] = { 0, 1, 8, 64, 4097, 65536, 1 << 20, UROCE_PERF_MAX_SIZE };
static const uint32_t depths[] = { 1, 2, 3, 128, 129, UROCE_MAX_QP_WR };
static const uint32_t qps[] = { 1, 64, UROCE_PERF_MAX_QPS };

static struct perf_end
layout(const struct perf_params *p, bool server)
{
	static struct app_host host = { .nb_devs = 1 };
	struct perf_end end;

	memset(&end, 0, sizeof(end));
	end.params = *p;
	end.host = &host;
	end.lanes = 1;
	end.server = server;
	uroce_perf_layout(&end);
	return end;
}

static void
check_layout(const struct perf_params *p)
{
	const struct perf_end client = layout(p, false), server = layout(p, true);
	const bool fetches = uroce_perf_ops[p->op].fetches;

	assert_int_equal(client.slots, server.slots);
	assert_int_equal(client.stride, server.stride);
	assert_true(client.slots >= 1 && (client.slots & (client.slots - 1)) == 0);
	assert_true(client.stride >= p->size && client.stride % RTE_CACHE_LINE_SIZE == 0);
	assert_true(client.slots == 1 ||
		    (uint64_t)client.slots * client.stride * p->qps <= UROCE_PERF_BUFFER_BYTES);
	assert_true(client.stamp_mask + 1 >= p->depth);
	/* if one end writes to or reads from slots, the other end has them */
	assert_true(client.has_out || client.has_in);
	assert_true(!client.has_out || fetches || server.has_in);
	assert_true(!fetches || (client.has_in && (server.has_out || server.has_in)));
	assert_true(client.send_depth >= (p->mode == PERF_LAT ? 1 : p->depth));
	/* a receive for each message that the client may have outstanding, or none */
	assert_true(server.recv_depth == 0 || server.recv_depth >= RTE_MIN(p->depth, 2u));
	assert_true((server.recv_depth > 0) == uroce_perf_params_receives(p));
	assert_true(client.recv_depth == 0 || p->mode == PERF_LAT);
}

static void
test_layouts(void **state)
{
	struct perf_params p = { .mtu = 4096, .rd_atomic = 1, .fault = -1 };

	for (unsigned int i = 0; i < PERF_OP_COUNT * PERF_MODE_COUNT * 2; i++) {
		p.op = i % PERF_OP_COUNT;
		p.mode = i / PERF_OP_COUNT % PERF_MODE_COUNT;
		p.verify = i / PERF_OP_COUNT / PERF_MODE_COUNT;
		for (unsigned int s = 0; s < RTE_DIM(sizes); s++) {
			p.size = uroce_perf_ops[p.op].atomic ? 8 : sizes[s];
			for (unsigned int d = 0; d < RTE_DIM(depths) * RTE_DIM(qps); d++) {
				p.depth = p.mode == PERF_LAT ? 1 : depths[d % RTE_DIM(depths)];
				p.qps = qps[d / RTE_DIM(depths)];
				check_layout(&p);
			}
		}
	}
}

/* --buffers sets the memory of a queue pair: at least one message, and all queue pairs have at most 64 MiB. */
static void
test_bytes_given(void **state)
{
	static const struct {
		uint32_t buffers, size, qps, slots;
	} cases[] = {
		{ 0, 65536, 1, 16 },		/* 1 MiB */
		{ 524288, 65536, 1, 8 },
		{ 8 << 20, 65536, 1, 128 },
		{ 1, 65536, 1, 1 },
		{ 8 << 20, 65536, 64, 16 },	/* 64 MiB in all */
	};

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		for (unsigned int verify = 0; verify < 2; verify++) {
			struct perf_params p = {
				.op = PERF_WRITE, .mtu = 4096, .depth = 128, .fault = -1,
				.size = cases[i].size, .qps = cases[i].qps, .buffers = cases[i].buffers,
				.verify = verify,
			};

			if (cases[i].buffers == 0 && verify)
				continue;
			check_layout(&p);
			assert_int_equal(layout(&p, false).slots, cases[i].slots);
		}
	}
}

static struct perf_end
create(enum perf_op op, bool server, bool verify, int64_t fault)
{
	const struct perf_params p = {
		.op = op,
		.size = 100,
		.mtu = 1024,
		.qps = 3,
		.depth = 4,
		.verify = verify,
		.fault = fault,
	};
	struct perf_end end = layout(&p, server);

	end.qps = calloc(p.qps, sizeof(*end.qps));
	assert_non_null(end.qps);
	assert_int_equal(uroce_perf_buffers_create(&end), 0);
	return end;
}

static void
destroy(struct perf_end *end)
{
	uroce_perf_buffers_destroy(end);
	free(end->qps);
}

/* Slots, windows and credits do not overlap, and all are within the buffer. */
static void
test_places(void **state)
{
	struct perf_end end = create(PERF_SEND, true, true, -1);
	const size_t window = (size_t)end.slots * end.stride;
	const uint8_t *next = end.buffer;

	for (uint32_t i = 0; i < end.params.qps; i++) {
		const struct perf_qp *q = &end.qps[i];

		assert_int_equal(q->index, i);
		assert_true((uint8_t *)q->credit >= next);
		assert_true(q->in >= (uint8_t *)(q->credit + 1));
		assert_null(q->out);
		assert_int_equal(*q->credit, 0);
		next = q->in + window;
	}
	assert_true(next <= end.buffer + end.buffer_bytes);
	destroy(&end);
}

/* Before the run no byte at the destination has its final value. */
static void
test_destination_is_poisoned(void **state)
{
	struct perf_end end = create(PERF_WRITE, true, true, -1);
	uint8_t message[100];

	for (uint32_t i = 0; i < end.params.qps * end.slots; i++) {
		const struct perf_qp *q = &end.qps[i / end.slots];
		const uint8_t *slot = uroce_perf_slot(&end, q->in, i % end.slots);

		uroce_perf_fill(message, sizeof(message),
				uroce_perf_pattern(q->index, i % end.slots));
		for (unsigned int at = 0; at < sizeof(message); at++)
			assert_int_not_equal(slot[at], message[at]);
	}
	destroy(&end);
}

static void
test_source_of_reads(void **state)
{
	struct perf_end server = create(PERF_READ, true, true, -1);

	assert_null(server.qps[0].in);
	for (uint32_t i = 0; i < server.slots; i++)
		assert_true(uroce_perf_check(uroce_perf_slot(&server, server.qps[2].out, i), 100,
					     uroce_perf_pattern(2, i)) == PERF_VERIFIED);
	destroy(&server);
}

/* --fault for data that the client does not write: one byte of one slot, one counter. */
static void
test_faults(void **state)
{
	struct perf_end server = create(PERF_READ, true, true, 1);

	for (uint32_t i = 0; i < server.slots; i++) {
		size_t wrong = uroce_perf_check(uroce_perf_slot(&server, server.qps[0].out, i), 100,
						uroce_perf_pattern(0, i));

		assert_true(wrong == (i == 1 ? 0 : PERF_VERIFIED));
	}
	destroy(&server);
	server = create(PERF_FETCH_ADD, true, true, 0);
	assert_true(*(uint64_t *)server.qps[0].in == uroce_perf_pattern(0, 0) + 1);
	assert_true(*(uint64_t *)server.qps[1].in == uroce_perf_pattern(1, 0));
	destroy(&server);
}

static int
setup(void **state)
{
	test_eal_init(NULL);
	return 0;
}

UROCE_TESTS(perf_buffers)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_bytes_given),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_destination_is_poisoned),
		cmocka_unit_test(test_source_of_reads),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
