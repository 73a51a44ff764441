/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Two workers of one device take turns in one thread. One receives WRITEs by the key of a window, the other invalidates
 * the key. Each schedule interrupts the poll of the first at chosen points, including between the look-up of the key
 * and the placement, and runs the second there. The test tries all schedules. Once the invalidation has completed, no
 * WRITE may change the memory.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>


#include "base/rcu.h"
#include "peer.h"
#include "wire/copy.h"

#define WRITES 2
#define POINTS (WRITES + 4) /* before, in and after the poll, and at each placement */
#define TURNS 4		    /* turns of the invalidating worker: it posts, then it polls */
#define BYTES 16	    /* of a WRITE; all WRITEs have the same address */
#define THEIR_BYTE 0x11
#define OUR_BYTE 0x77
#define THEIR_READER 3 /* RCU reader ids of the two workers */
#define OUR_READER 4

enum how {
	INVALIDATE,	/* type 2, by a LOCAL_INV on a QP of the other worker */
	UNBIND,		/* type 1, by a bind of length 0 */
	BIND_ELSEWHERE, /* type 1 */
};

static struct peer p;
static struct uroce_engine our_engine;
static struct ibv_qp *our_qp; /* of the invalidating worker; a type 2 window belongs to p.qp, of the receiving worker */
static struct ibv_mw *mw;
static uint32_t rkey; /* the key that the peer uses */
static enum how how;
static unsigned int plan[TURNS]; /* the point at which the invalidating worker takes each turn, ascending */
static unsigned int turn, point;
static bool polling;  /* the receiving worker is in its poll */
static bool complete; /* the invalidation has completed */
static unsigned int placed_late; /* WRITEs that were placed after the key was invalidated */
static unsigned int delayed;	 /* polls in which the invalidation waited for the receiving worker */

static void
post(struct ibv_qp *qp, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad;

	wr.send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(uroce_post_send(qp, &wr, &bad), 0);
}

static void
bind_1(uint32_t offset, uint64_t bytes)
{
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = bytes != 0 ? p.mr : NULL, .addr = bytes != 0 ? (uintptr_t)p.buffer + offset : 0,
			       .length = bytes, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE },
	};

	assert_int_equal(uroce_bind_mw(our_qp, mw, &bind), 0);
}

static void
take_back(void)
{
	switch (how) {
	case INVALIDATE:
		post(our_qp, (struct ibv_send_wr){ .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = rkey });
		return;
	case UNBIND:
		bind_1(0, 0);
		return;
	case BIND_ELSEWHERE:
		bind_1(4096, BYTES);
		return;
	}
}

/* Poll the invalidating worker, then its CQ. @return whether a request has completed */
static bool
poll_ours(void)
{
	struct rte_mbuf *m;
	struct ibv_wc wc;

	uroce_rcu_begin_read(OUR_READER);
	assert_int_equal(uroce_engine_send(&our_engine, &m, 1, p.now_ns), 0);
	uroce_rcu_end_read(OUR_READER);
	if (uroce_poll_cq(p.send_cq, 1, &wc) == 0)
		return false;
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	return true;
}

static void
take_turn(void)
{
	if (turn++ == 0) {
		take_back();
		return;
	}
	if (complete)
		return;
	complete = poll_ours();
	if (complete)
		memset(p.buffer, OUR_BYTE, BYTES);
	else
		delayed += polling && turn > 2; /* a request never completes in the poll that invalidates the key */
}

/* The receiving worker has reached its next point. */
static void
reach(void)
{
	while (turn < TURNS && plan[turn] <= point)
		take_turn();
	point++;
}

/* By --wrap, the linker replaces the function that places all payloads of other lengths than 8 with this one. */
void __real_uroce_place_bytes(uint8_t *to, const uint8_t *from, uint32_t bytes);
void __wrap_uroce_place_bytes(uint8_t *to, const uint8_t *from, uint32_t bytes);

void
__wrap_uroce_place_bytes(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	if (polling) {
		reach();
		placed_late += turn > 1;
	}
	__real_uroce_place_bytes(to, from, bytes);
}

static void
poll_theirs(void)
{
	struct peer_packet writes[WRITES];
	uint8_t payload[BYTES];

	memset(payload, THEIR_BYTE, sizeof(payload));
	for (uint32_t i = 0; i < WRITES; i++)
		writes[i] = (struct peer_packet){
			.opcode = UROCE_RC_WRITE_ONLY, .psn = PEER_RQ_PSN + i, .va = (uintptr_t)p.buffer, .rkey = rkey,
			.dma_len = BYTES, .payload = payload, .payload_bytes = BYTES,
		};
	reach();
	uroce_rcu_begin_read(THEIR_READER);
	polling = true;
	reach();
	peer_in_burst(&p, writes, WRITES);
	reach();
	polling = false;
	uroce_rcu_end_read(THEIR_READER);
	point = POINTS - 1;	/* refused WRITEs have reached no point */
	reach();
}

static void
lend(void)
{
	struct rte_mbuf *m;
	struct ibv_wc wc;

	if (mw->type == IBV_MW_TYPE_1) {
		bind_1(0, BYTES);
		assert_true(poll_ours());
	} else {
		post(p.qp, (struct ibv_send_wr){
			.opcode = IBV_WR_BIND_MW,
			.bind_mw = { .mw = mw, .rkey = ibv_inc_rkey(mw->rkey),
				     .bind_info = { .mr = p.mr, .addr = (uintptr_t)p.buffer, .length = BYTES,
						    .mw_access_flags = IBV_ACCESS_REMOTE_WRITE } } });
		assert_int_equal(uroce_engine_send(&p.engine, &m, 1, p.now_ns), 0);
		assert_int_equal(uroce_poll_cq(p.send_cq, 1, &wc), 1);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	}
	rkey = mw->rkey;
}

static void
start(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { .max_send_wr = 4 } };
	const struct peer_conf conf = { .type = IBV_QPT_RC };

	peer_start(&p, &conf);
	assert_int_equal(uroce_rcu_register(THEIR_READER), 0);
	assert_int_equal(uroce_rcu_register(OUR_READER), 0);
	assert_int_equal(uroce_engine_init(&our_engine, p.headers, p.payloads, NULL, p.now_ns), 0);
	p.host.engine = &our_engine;
	init.send_cq = init.recv_cq = p.send_cq;
	our_qp = uroce_create_qp(p.pd, &init);
	assert_non_null(our_qp);
	peer_connect(our_qp, &conf);
	mw = uroce_alloc_mw(p.pd, how == INVALIDATE ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
	assert_non_null(mw);
	lend();
	turn = point = 0;
	complete = false;
}

static void
finish(void)
{
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	assert_int_equal(uroce_destroy_qp(our_qp), 0);
	uroce_engine_fini(&our_engine);
	assert_int_equal(uroce_rcu_unregister(OUR_READER), 0);
	assert_int_equal(uroce_rcu_unregister(THEIR_READER), 0);
	peer_stop(&p);
}

static void
run_schedule(void)
{
	start();
	poll_theirs();
	assert_int_equal(turn, TURNS);
	/* the receiving worker's poll has ended, so the invalidation can complete */
	if (!complete)
		take_turn();
	assert_true(complete);
	for (unsigned int i = 0; i < BYTES; i++)
		if (p.buffer[i] != OUR_BYTE)
			fail_msg("a WRITE was placed after the invalidation had completed; turns at %u %u %u %u",
				 plan[0], plan[1], plan[2], plan[3]);
	finish();
}

/* Go to the next schedule of ascending points. @return false: that was the last */
static bool
next_schedule(void)
{
	unsigned int i = TURNS;

	while (i > 0 && plan[i - 1] == POINTS - 1)
		i--;
	if (i == 0)
		return false;
	plan[i - 1]++;
	for (; i < TURNS; i++)
		plan[i] = plan[i - 1];
	return true;
}

static void
run_all(enum how by)
{
	unsigned int schedules = 0;

	how = by;
	placed_late = delayed = 0;
	memset(plan, 0, sizeof(plan));
	do {
		run_schedule();
		schedules++;
	} while (next_schedule());
	assert_int_equal(schedules, 126);	/* 4 turns at 6 points, in order */
	assert_true(placed_late > 0);
	assert_true(delayed > 0);
}

static void
a_window_that_is_invalidated_on_another_qp(void **state)
{
	run_all(INVALIDATE);
}

static void
a_window_of_type_1_that_is_unbound(void **state)
{
	run_all(UNBIND);
}

static void
a_window_of_type_1_that_is_bound_elsewhere(void **state)
{
	run_all(BIND_ELSEWHERE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_that_is_invalidated_on_another_qp),
		cmocka_unit_test(a_window_of_type_1_that_is_unbound),
		cmocka_unit_test(a_window_of_type_1_that_is_bound_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
