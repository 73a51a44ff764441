/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The table of counters under Linux's names: it contains the counters of rxe and mlx5 that uroce can provide, each
 * once, and each is exactly the sum of its sources.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cmocka_compat.h"
#include "groups.h"
#include "port/counters.h"
#include "port/telemetry/hw_counters.h"
#include "port/ethdev/watch.h"
#include "port/worker/worker.h"
#include "eal.h"
#include "tap.h"

static const char *const cidrs[] = { "10.0.0.1/24", NULL };

/* The names of Linux's drivers; ack_deferred, DCT, adaptive retransmission and slow restart have no counterpart. */
static const char *const names[] = {
	"sent_pkts", "rcvd_pkts", "duplicate_request", "out_of_seq_request", "rcvd_rnr_err", "send_rnr_err",
	"rcvd_seq_err", "retry_exceeded_err", "retry_rnr_exceeded_err", "completer_retry_err", "send_err",
	"link_downed", "rdma_sends", "rdma_recvs", "rx_write_requests", "rx_read_requests", "rx_atomic_requests",
	"out_of_buffer", "out_of_sequence", "rnr_nak_retry_err", "packet_seq_err", "implied_nak_seq_err",
	"local_ack_timeout_err", "resp_local_length_error", "resp_cqe_error", "req_cqe_error",
	"req_remote_invalid_request", "req_remote_access_errors", "resp_remote_access_errors",
	"resp_cqe_flush_error", "req_cqe_flush_error", "req_transport_retries_exceeded",
	"req_rnr_retries_exceeded", "rp_cnp_ignored", "rp_cnp_handled", "np_ecn_marked_roce_packets",
	"np_cnp_sent", "rx_icrc_encapsulated",
};

static void
test_names(void **state)
{
	assert_int_equal(uroce_hw_counter_count, RTE_DIM(names));
	for (unsigned int i = 0; i < RTE_DIM(names); i++) {
		unsigned int found = 0;

		for (unsigned int j = 0; j < uroce_hw_counter_count; j++)
			found += strcmp(uroce_hw_counters[j].name, names[i]) == 0;
		if (found != 1)
			fail_msg("counter %s appears %u times", names[i], found);
	}
}

/* The counter that a source refers to. */
static uint64_t *
source_of(struct tap *t, const struct uroce_hw_source *s)
{
	switch (s->kind) {
	case UROCE_HW_ENGINE:
		assert_uint_in_range(s->index, 0, UROCE_ENGINE_COUNTER_COUNT - 1);
		return &t->worker->engine.counters[s->index];
	case UROCE_HW_VERDICT:
		assert_uint_in_range(s->index, UROCE_OK + 1, UROCE_VERDICT_COUNT - 1);
		return &t->worker->engine.verdicts[s->index];
	case UROCE_HW_PORT:
		assert_uint_in_range(s->index, 0, UROCE_PORT_COUNTER_COUNT - 1);
		return &t->port->queues[0].counters[s->index];
	case UROCE_HW_RECEIVED:
		return &t->worker->engine.verdicts[UROCE_OK];
	case UROCE_HW_LINK:
		return &t->port->link_downed;
	}
	return NULL;
}

static unsigned int
source_count(const struct uroce_hw_counter *c)
{
	unsigned int n = 0;

	while (n < UROCE_HW_COUNTER_SOURCES && c->sources[n].kind != UROCE_HW_END)
		n++;
	return n;
}

static void
test_sums(void **state)
{
	struct tap t;

	tap_open(&t, 0, cidrs);
	for (unsigned int i = 0; i < uroce_hw_counter_count; i++) {
		const struct uroce_hw_counter *c = &uroce_hw_counters[i];
		uint64_t before = uroce_hw_counter_read(t.port, c), expected = before;

		assert_true(source_count(c) > 0);
		for (unsigned int s = 0; s < source_count(c); s++) {
			uroce_counter_add(source_of(&t, &c->sources[s]), 1 + s * 100);
			expected += 1 + s * 100;
		}
		assert_int_equal(uroce_hw_counter_read(t.port, c), expected);
	}
	tap_close(&t);
}

/* Dropped packets count as received, too. */
static void
test_received(void **state)
{
	const struct uroce_hw_counter *c = &uroce_hw_counters[1];
	struct tap t;

	tap_open(&t, 0, cidrs);
	assert_string_equal(c->name, "rcvd_pkts");
	for (unsigned int v = 0; v < UROCE_VERDICT_COUNT; v++)
		uroce_counter_add(&t.worker->engine.verdicts[v], 1);
	assert_int_equal(uroce_hw_counter_read(t.port, c), UROCE_VERDICT_COUNT);
	/* dropped before the engine */
	uroce_counter_add(&t.port->queues[0].verdicts[UROCE_DROP_ICRC], 1);
	assert_int_equal(uroce_hw_counter_read(t.port, c), UROCE_VERDICT_COUNT);
	tap_close(&t);
}

UROCE_TESTS(port_hw_counters)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_received),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
