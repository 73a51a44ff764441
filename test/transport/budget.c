/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Budgets: how many packets the QPs of an engine have in flight to one peer.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "transport/qp/turns.h"
#include "transport/requester/requester.h"
#include "uroce_config.h"

#define QPS 3
#define LIMIT UROCE_BUDGET_PACKETS

/* An engine without pools, and QPs to one peer. */
struct fixture {
	struct uroce_engine *e;
	struct uroce_qp *qps[QPS];
};

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->e = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*f->e));
	memset(f->e, 0, sizeof(*f->e));
	f->e->now_ns = 1000;
	TAILQ_INIT(&f->e->active);
	TAILQ_INIT(&f->e->later);
	uroce_budgets_init(f->e);
	for (unsigned int i = 0; i < QPS; i++) {
		f->qps[i] = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*f->qps[i]));
		memset(f->qps[i], 0, sizeof(*f->qps[i]));
		f->qps[i]->timeout = 14;
	}
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	for (unsigned int i = 0; i < QPS; i++)
		free(f->qps[i]);
	free(f->e);
	free(f);
	return 0;
}

/* A turn of the QP, in which it wants to send n packets. @return the number that it sends */
static uint32_t
turn(struct fixture *f, unsigned int i, uint32_t n)
{
	struct uroce_qp *qp = f->qps[i];
	uint32_t room;

	uroce_qp_deactivate(f->e, qp);
	room = uroce_budget_room(f->e, qp);
	n = RTE_MIN(n, room);
	uroce_requester_of(qp)->psn = uroce_psn_add(uroce_requester_of(qp)->psn, n);
	if (room == 0)
		uroce_budget_wait(f->e, qp);
	uroce_budget_sent(f->e, qp);
	return n;
}

static void
answer(struct fixture *f, unsigned int i, uint32_t n)
{
	struct uroce_requester *req = uroce_requester_of(f->qps[i]);

	req->unacked = uroce_psn_add(req->unacked, n);
	uroce_budget_answered(f->e, f->qps[i], n);
}

static uint32_t
in_flight(const struct fixture *f)
{
	return f->e->budgets[0].in_flight;
}

/* A QP alone has its whole window, others wait, and get turns in the order in which they have come. */
static void
test_turns_are_granted_in_order(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(turn(f, 0, 2 * LIMIT), 2 * LIMIT);
	assert_int_equal(turn(f, 1, 1), 0);
	assert_int_equal(turn(f, 2, 1), 0);
	assert_int_equal(in_flight(f), 2 * LIMIT);
	answer(f, 0, LIMIT);
	assert_true(TAILQ_EMPTY(&f->e->active));
	answer(f, 0, 16);
	assert_ptr_equal(TAILQ_FIRST(&f->e->active), f->qps[1]);
	assert_int_equal(turn(f, 0, 1), 0);	/* behind the QPs that wait */
	assert_int_equal(turn(f, 1, 1000), UROCE_SEND_QUANTUM);
	assert_true(TAILQ_EMPTY(&f->e->active));
	answer(f, 1, UROCE_SEND_QUANTUM);
	assert_ptr_equal(TAILQ_FIRST(&f->e->active), f->qps[2]);
	assert_int_equal(turn(f, 2, 4), 4);
	assert_ptr_equal(TAILQ_FIRST(&f->e->active), f->qps[0]);	/* there is room for one more */
}

/* The last packet before a wait has AckReq, or no answer would come. */
static void
test_the_last_packet_is_answered(void **state)
{
	struct fixture *f = *state;

	turn(f, 0, LIMIT);
	turn(f, 1, 1);
	uroce_requester_of(f->qps[0])->since_ack_req = 5;
	assert_int_equal(turn(f, 0, 10), 1);
	uroce_requester_of(f->qps[0])->since_ack_req = 0;
	assert_int_equal(turn(f, 0, 10), 0);
}

/* A QP whose peer is silent, that goes back, or that leaves, keeps nothing from the others. */
static void
test_no_qp_blocks_others(void **state)
{
	struct fixture *f = *state;

	turn(f, 0, LIMIT);
	turn(f, 1, 1);
	f->qps[0]->listed |= UROCE_QP_SILENT;
	uroce_budget_update(f->e, f->qps[0]);
	assert_int_equal(in_flight(f), 0);
	assert_true(f->qps[1]->listed & UROCE_QP_GRANTED);
	assert_int_equal(turn(f, 1, 40), 40);	/* none but its own packets count */
	f->qps[0]->listed &= ~UROCE_QP_SILENT;
	answer(f, 0, 1);
	assert_int_equal(in_flight(f), LIMIT - 1 + 40);
	turn(f, 2, 1);
	uroce_requester_of(f->qps[0])->psn = uroce_requester_of(f->qps[0])->unacked;
	uroce_budget_update(f->e, f->qps[0]);
	assert_int_equal(in_flight(f), 40);
	assert_true(f->qps[2]->listed & UROCE_QP_GRANTED);
	uroce_budget_leave(f->e, f->qps[2]);
	uroce_budget_leave(f->e, f->qps[1]);
	assert_int_equal(in_flight(f), 0);
	assert_false(f->qps[2]->listed & (UROCE_QP_GRANTED | UROCE_QP_WAITING));
}

/* Without a timer, the QP would wait for lost packets forever. So its packets count in no budget. */
static void
test_a_qp_without_a_timer_blocks_no_others(void **state)
{
	struct fixture *f = *state;

	f->qps[0]->timeout = f->qps[1]->timeout = 0;
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(turn(f, i, 2 * LIMIT), 2 * LIMIT);
		assert_int_equal(in_flight(f), 0);
	}
	assert_int_equal(turn(f, 2, 2 * LIMIT), 2 * LIMIT);
	assert_int_equal(in_flight(f), 2 * LIMIT);
	assert_int_equal(turn(f, 0, 1), 0); /* it waits for others, however */
	answer(f, 2, 2 * LIMIT);
	assert_ptr_equal(TAILQ_FIRST(&f->e->active), f->qps[0]);
}

/* Of two peers with the same hash, the second one has no budget, and does not slow the first one. */
static void
test_no_peer_blocks_others(void **state)
{
	struct fixture *f = *state;

	f->qps[2]->path.dgid.raw[15] = 1;
	assert_int_equal(turn(f, 0, LIMIT), LIMIT);
	assert_int_equal(turn(f, 1, 1), 0);
	assert_int_equal(turn(f, 2, 2 * LIMIT), 2 * LIMIT);
	assert_int_equal(in_flight(f), LIMIT);
	uroce_requester_of(f->qps[2])->unacked = uroce_requester_of(f->qps[2])->psn;
	answer(f, 0, LIMIT);
	uroce_budget_leave(f->e, f->qps[1]);
	assert_int_equal(turn(f, 2, LIMIT), LIMIT); /* the budget is its own now */
	assert_int_equal(in_flight(f), LIMIT);
	assert_int_equal(turn(f, 0, 2 * LIMIT), 2 * LIMIT);
	assert_int_equal(in_flight(f), LIMIT);
	uroce_budget_leave(f->e, f->qps[2]);
	assert_int_equal(in_flight(f), 0);
	assert_int_equal(f->e->budgets[0].qps, 0);
}

/* Answer epochs of a path that holds `path` packets and has this round trip. @return the limit that the search finds */
static uint32_t
search(struct fixture *f, uint32_t path, uint64_t rtt_ns)
{
	struct uroce_budget *b = &f->e->budgets[0];

	for (unsigned int i = 0; i < 10000 && !b->settled; i++) {
		b->limited = true;
		f->e->now_ns += rtt_ns * RTE_MAX(path, b->limit) / path;
		uroce_budget_answered(f->e, f->qps[0], b->limit);
	}
	assert_true(b->settled);
	return b->limit;
}

static void
test_a_long_path_gets_a_large_limit(void **state)
{
	assert_int_equal(search(*state, 3000, 1000000), 4096);
}

static void
test_a_short_path_gets_a_small_limit(void **state)
{
	assert_int_equal(search(*state, 20, 10000), UROCE_MIN_BUDGET_PACKETS);
}

UROCE_TESTS(budget)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_turns_are_granted_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_last_packet_is_answered, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_qp_blocks_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_qp_without_a_timer_blocks_no_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_peer_blocks_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_long_path_gets_a_large_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_short_path_gets_a_small_limit, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
