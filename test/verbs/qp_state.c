/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * QP state transitions (R44, R45), exhaustively: each pair of states for each type of QP, and for each allowed
 * transition each attribute, present and missing. The tables here are a second, independent copy of the rules.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "verbs/qp/qp.h"

#define STATES (IBV_QPS_ERR + 1)

#define RC IBV_QPT_RC
#define UC IBV_QPT_UC
#define UD IBV_QPT_UD
#define XI IBV_QPT_XRC_SEND
#define XT IBV_QPT_XRC_RECV
#define RESET IBV_QPS_RESET
#define INIT IBV_QPS_INIT
#define RTR IBV_QPS_RTR
#define RTS IBV_QPS_RTS
#define SQD IBV_QPS_SQD
#define SQE IBV_QPS_SQE

#define CUR IBV_QP_CUR_STATE
#define NOTIFY IBV_QP_EN_SQD_ASYNC_NOTIFY
#define ACCESS IBV_QP_ACCESS_FLAGS
#define PKEY IBV_QP_PKEY_INDEX
#define PORT IBV_QP_PORT
#define QKEY IBV_QP_QKEY
#define AV IBV_QP_AV
#define MTU IBV_QP_PATH_MTU
#define TIMEOUT IBV_QP_TIMEOUT
#define RETRY IBV_QP_RETRY_CNT
#define RNR_RETRY IBV_QP_RNR_RETRY
#define RQ_PSN IBV_QP_RQ_PSN
#define SQ_PSN IBV_QP_SQ_PSN
#define RD IBV_QP_MAX_QP_RD_ATOMIC
#define DEST_RD IBV_QP_MAX_DEST_RD_ATOMIC
#define ALT IBV_QP_ALT_PATH
#define MIG IBV_QP_PATH_MIG_STATE
#define RNR_TIMER IBV_QP_MIN_RNR_TIMER
#define DEST IBV_QP_DEST_QPN

static const enum ibv_qp_type types[] = { RC, UC, UD, XI, XT };

/* The transitions except any -> RESET and any -> ERR, which take no attributes. */
static const struct {
	enum ibv_qp_type type;
	enum ibv_qp_state from, to;
	uint32_t required, optional;
} allowed[] = {
	{ RC, RESET, INIT, PKEY | PORT | ACCESS, 0 },
	{ UC, RESET, INIT, PKEY | PORT | ACCESS, 0 },
	{ UD, RESET, INIT, PKEY | PORT | QKEY, 0 },
	{ RC, INIT, INIT, 0, PKEY | PORT | ACCESS },
	{ UC, INIT, INIT, 0, PKEY | PORT | ACCESS },
	{ UD, INIT, INIT, 0, PKEY | PORT | QKEY },
	{ RC, INIT, RTR, AV | MTU | DEST | RQ_PSN | DEST_RD | RNR_TIMER, ALT | ACCESS | PKEY },
	{ UC, INIT, RTR, AV | MTU | DEST | RQ_PSN, ALT | ACCESS | PKEY },
	{ UD, INIT, RTR, 0, PKEY | QKEY },
	{ RC, RTR, RTS, TIMEOUT | RETRY | RNR_RETRY | SQ_PSN | RD,
	  CUR | ALT | ACCESS | RNR_TIMER | MIG },
	{ UC, RTR, RTS, SQ_PSN, CUR | ALT | ACCESS | MIG },
	{ UD, RTR, RTS, SQ_PSN, CUR | QKEY },
	{ RC, RTS, RTS, 0, CUR | ALT | ACCESS | RNR_TIMER | MIG },
	{ UC, RTS, RTS, 0, CUR | ALT | ACCESS | MIG },
	{ UD, RTS, RTS, 0, CUR | QKEY },
	{ RC, RTS, SQD, 0, NOTIFY },
	{ UC, RTS, SQD, 0, NOTIFY },
	{ UD, RTS, SQD, 0, NOTIFY },
	{ RC, SQD, RTS, 0, CUR | ALT | ACCESS | RNR_TIMER | MIG },
	{ UC, SQD, RTS, 0, CUR | ALT | ACCESS | MIG },
	{ UD, SQD, RTS, 0, CUR | QKEY },
	{ RC, SQD, SQD, 0, PORT | AV | TIMEOUT | RETRY | RNR_RETRY | RD | DEST_RD | ALT | ACCESS |
	  PKEY | RNR_TIMER | MIG },
	{ UC, SQD, SQD, 0, AV | ALT | ACCESS | PKEY | MIG },
	{ UD, SQD, SQD, 0, PKEY | QKEY },
	{ XI, RESET, INIT, PKEY | PORT | ACCESS, 0 },
	{ XT, RESET, INIT, PKEY | PORT | ACCESS, 0 },
	{ XI, INIT, INIT, 0, PKEY | PORT | ACCESS },
	{ XT, INIT, INIT, 0, PKEY | PORT | ACCESS },
	{ XI, INIT, RTR, AV | MTU | DEST | RQ_PSN, ALT | ACCESS | PKEY },
	{ XT, INIT, RTR, AV | MTU | DEST | RQ_PSN | DEST_RD | RNR_TIMER, ALT | ACCESS | PKEY },
	{ XI, RTR, RTS, TIMEOUT | RETRY | RNR_RETRY | SQ_PSN | RD, CUR | ALT | ACCESS | MIG },
	{ XT, RTR, RTS, TIMEOUT | SQ_PSN, CUR | ALT | ACCESS | RNR_TIMER | MIG },
	{ XI, RTS, RTS, 0, CUR | ALT | ACCESS | MIG },
	{ XT, RTS, RTS, 0, CUR | ALT | ACCESS | RNR_TIMER | MIG },
	{ XI, RTS, SQD, 0, NOTIFY },
	{ XT, RTS, SQD, 0, NOTIFY },
	{ XI, SQD, RTS, 0, CUR | ALT | ACCESS | MIG },
	{ XT, SQD, RTS, 0, CUR | ALT | ACCESS | RNR_TIMER | MIG },
	{ XI, SQD, SQD, 0, PORT | AV | TIMEOUT | RETRY | RNR_RETRY | RD | ALT | ACCESS | PKEY | MIG },
	{ XT, SQD, SQD, 0, PORT | AV | TIMEOUT | DEST_RD | ALT | ACCESS | PKEY | RNR_TIMER | MIG },
	{ UC, SQE, RTS, 0, CUR | ACCESS },
	{ UD, SQE, RTS, 0, CUR | QKEY },
};

static bool
is_allowed(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to, uint32_t *required,
	   uint32_t *optional)
{
	*required = 0;
	*optional = 0;
	if (to == RESET || to == IBV_QPS_ERR)
		return true;
	for (size_t i = 0; i < RTE_DIM(allowed); i++) {
		if (allowed[i].type == type && allowed[i].from == from && allowed[i].to == to) {
			*required = allowed[i].required;
			*optional = allowed[i].optional;
			return true;
		}
	}
	return false;
}

static void
check_allowed(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to,
	      uint32_t required, uint32_t optional)
{
	int mask = required | IBV_QP_STATE;

	assert_int_equal(uroce_qp_transition_check(from, to, type, mask), 0);
	assert_int_equal(uroce_qp_transition_check(from, to, type, mask | optional), 0);
	/* without a state in the mask, the state stays */
	assert_int_equal(uroce_qp_transition_check(from, to, type, required),
			 from == to ? 0 : EINVAL);
	for (unsigned int bit = 0; bit < 32; bit++) {
		uint32_t b = UINT32_C(1) << bit;
		int with = uroce_qp_transition_check(from, to, type, mask | b);
		int without = uroce_qp_transition_check(from, to, type, mask & ~b);

		if (b == IBV_QP_STATE)
			continue;
		assert_int_equal(with, (b & (required | optional)) != 0 ? 0 : EINVAL);
		assert_int_equal(without, (b & required) != 0 ? EINVAL : 0);
	}
}

static void
test_every_transition(void **state)
{
	for (size_t t = 0; t < RTE_DIM(types); t++) {
		for (unsigned int pair = 0; pair < STATES * STATES; pair++) {
			enum ibv_qp_state from = pair / STATES;
			enum ibv_qp_state to = pair % STATES;
			uint32_t required, optional;

			if (is_allowed(types[t], from, to, &required, &optional)) {
				check_allowed(types[t], from, to, required, optional);
				continue;
			}
			for (uint64_t mask = 0; mask < 1u << 26; mask = mask * 2 + 1)
				assert_int_equal(uroce_qp_transition_check(from, to, types[t], mask),
						 EINVAL);
			assert_int_equal(uroce_qp_transition_check(from, to, types[t], IBV_QP_STATE),
					 EINVAL);
		}
	}
}

static void
test_nonsense(void **state)
{
	assert_int_equal(uroce_qp_transition_check(RESET, IBV_QPS_UNKNOWN, RC, IBV_QP_STATE), EINVAL);
	assert_int_equal(uroce_qp_transition_check(IBV_QPS_UNKNOWN, RESET, RC, IBV_QP_STATE), EINVAL);
	assert_int_equal(uroce_qp_transition_check(RESET, -1, RC, IBV_QP_STATE), EINVAL);
	assert_int_equal(uroce_qp_transition_check(-1, RESET, RC, IBV_QP_STATE), EINVAL);
	assert_int_equal(uroce_qp_transition_check(RESET, RESET, IBV_QPT_RAW_PACKET, IBV_QP_STATE),
			 EINVAL);
	assert_int_equal(uroce_qp_transition_check(RESET, RESET, 0, IBV_QP_STATE), EINVAL);
}

UROCE_TESTS(qp_state)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_transition),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
