/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The table of QP state transitions, with the required and optional attributes of each (R44, R45), from
 * ibv_modify_qp(3) and the specification's tables of QP state transitions. Constant; any thread.
 */

#include <errno.h>
#include <stdint.h>

#include <rte_common.h>

#include "verbs/qp/qp.h"

/* XI, XT: the initiator and the target of XRC, IBV_QPT_XRC_SEND and _RECV */
enum { RC, UC, UD, XI, XT, TYPE_COUNT };

#define CONNECTED (1 << RC | 1 << UC | 1 << XI | 1 << XT)
#define ALL (CONNECTED | 1 << UD)
#define UNRELIABLE (1 << UC | 1 << UD)

#define STATE_COUNT (IBV_QPS_ERR + 1)

/* Attributes that go together */
#define INIT_CONNECTED (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define INIT_UD (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)
#define RTR_UC (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTR_RC (RTR_UC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RETRIES (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY)
#define RTS_RC (RETRIES | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC)
#define MIGRATION (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE)
#define RTS_XT (IBV_QP_TIMEOUT | IBV_QP_SQ_PSN)
/* may change whenever a QP is in, or goes to, RTS */
#define RUN_UD (IBV_QP_CUR_STATE | IBV_QP_QKEY)
#define RUN_UC (IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | MIGRATION)
#define RUN_RC (RUN_UC | IBV_QP_MIN_RNR_TIMER)
/* may change while a QP is drained */
#define SQD_UC (IBV_QP_AV | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS | MIGRATION)
#define SQD_XI (SQD_UC | IBV_QP_PORT | RETRIES | IBV_QP_MAX_QP_RD_ATOMIC)
#define SQD_XT (SQD_UC | IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_MAX_DEST_RD_ATOMIC | \
		IBV_QP_MIN_RNR_TIMER)
#define SQD_RC (SQD_XI | SQD_XT)
/* the same for all connected types, and for UD */
#define PER_TYPE(connected, ud) { \
	[RC] = (connected), [UC] = (connected), [UD] = (ud), [XI] = (connected), [XT] = (connected), \
}
#define RUN { RUN_RC, RUN_UC, RUN_UD, [XI] = RUN_UC, [XT] = RUN_RC }

struct transition {
	uint8_t types;			/* the types that it is allowed for: 1 << RC … */
	uint32_t required[TYPE_COUNT];	/* enum ibv_qp_attr_mask */
	uint32_t optional[TYPE_COUNT];
};

static const struct transition transitions[STATE_COUNT][STATE_COUNT] = {
	[IBV_QPS_RESET] = {
		[IBV_QPS_RESET] = { ALL },
		[IBV_QPS_INIT] = { ALL, .required = PER_TYPE(INIT_CONNECTED, INIT_UD) },
		[IBV_QPS_ERR] = { ALL },
	},
	[IBV_QPS_INIT] = {
		[IBV_QPS_RESET] = { ALL },
		[IBV_QPS_INIT] = { ALL, .optional = PER_TYPE(INIT_CONNECTED, INIT_UD) },
		[IBV_QPS_RTR] = {
			ALL,
			.required = { RTR_RC, RTR_UC, 0, [XI] = RTR_UC, [XT] = RTR_RC },
			.optional = PER_TYPE(IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX,
					     IBV_QP_PKEY_INDEX | IBV_QP_QKEY),
		},
		[IBV_QPS_ERR] = { ALL },
	},
	[IBV_QPS_RTR] = {
		[IBV_QPS_RESET] = { ALL },
		[IBV_QPS_RTS] = {
			ALL,
			.required = { RTS_RC, IBV_QP_SQ_PSN, IBV_QP_SQ_PSN, [XI] = RTS_RC, [XT] = RTS_XT },
			.optional = RUN,
		},
		[IBV_QPS_ERR] = { ALL },
	},
	[IBV_QPS_RTS] = {
		[IBV_QPS_RESET] = { ALL },
		[IBV_QPS_RTS] = { ALL, .optional = RUN },
		[IBV_QPS_SQD] = {
			ALL,
			.optional = PER_TYPE(IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY),
		},
		[IBV_QPS_ERR] = { ALL },
	},
	[IBV_QPS_SQD] = {
		[IBV_QPS_RESET] = { ALL },
		[IBV_QPS_RTS] = { ALL, .optional = RUN },
		[IBV_QPS_SQD] = {
			ALL,
			.optional = {
				SQD_RC, SQD_UC, IBV_QP_PKEY_INDEX | IBV_QP_QKEY, [XI] = SQD_XI, [XT] = SQD_XT,
			},
		},
		[IBV_QPS_ERR] = { ALL },
	},
	/* only the transport moves a QP to SQE, when a send fails; an RC QP goes to ERR instead */
	[IBV_QPS_SQE] = {
		[IBV_QPS_RESET] = { ALL },
		[IBV_QPS_RTS] = {
			UNRELIABLE,
			.optional = {
				[UC] = IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS,
				[UD] = RUN_UD,
			},
		},
		[IBV_QPS_ERR] = { ALL },
	},
	[IBV_QPS_ERR] = {
		[IBV_QPS_RESET] = { ALL },
		[IBV_QPS_ERR] = { ALL },
	},
};

static int
type_index(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC: return RC;
	case IBV_QPT_UC: return UC;
	case IBV_QPT_UD: return UD;
	case IBV_QPT_XRC_SEND: return XI;
	case IBV_QPT_XRC_RECV: return XT;
	default: return -1;
	}
}

int
uroce_qp_transition_check(enum ibv_qp_state from, enum ibv_qp_state to, enum ibv_qp_type type,
			  int attr_mask)
{
	int index = type_index(type);
	uint32_t mask = (uint32_t)attr_mask;
	const struct transition *t;

	if (index < 0 || (unsigned int)from >= STATE_COUNT || (unsigned int)to >= STATE_COUNT)
		return EINVAL;
	t = &transitions[from][to];
	if ((t->types & (1 << index)) == 0)
		return EINVAL;
	/* without IBV_QP_STATE in the mask, the state stays */
	if (from != to && (mask & IBV_QP_STATE) == 0)
		return EINVAL;
	if ((mask & t->required[index]) != t->required[index])
		return EINVAL;
	if ((mask & ~(t->required[index] | t->optional[index] | IBV_QP_STATE)) != 0)
		return EINVAL;
	return 0;
}
