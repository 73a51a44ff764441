/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The device for tests of verbs: one of the harness, with stand-ins for engines, and RC QPs on it.
 */

#ifndef UROCE_TEST_VERBS_FAKE_H
#define UROCE_TEST_VERBS_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/device.h"
#include "harness/qp.h"
#include "verbs/cq/cq.h"
#include "verbs/qp/qp.h"

/* Entry 1 of its GID table is ::ffff:10.0.0.1; all others are empty. */
extern struct harness_device fake;

/* Set-up and tear-down functions for cmocka; the latter fails if an object is left. */
int fake_setup(void **state);
int fake_teardown(void **state);
/* Open with a QP table of this size. */
void fake_open(unsigned int log2_max_qp);

static inline struct uroce_engine *
fake_engine(unsigned int i)
{
	return harness_engine_handle(&fake.engines[i]);
}

/* A PD, a CQ, and RC QPs that use them. */
struct fake_pair {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
};

struct fake_pair fake_pair_create(int cqe);
void fake_pair_destroy(struct fake_pair *pair);
struct ibv_qp_init_attr fake_init_attr(const struct fake_pair *pair);
struct ibv_qp *fake_qp_create(const struct fake_pair *pair);

#define FAKE_INIT_MASK harness_qp_mask(IBV_QPT_RC, IBV_QPS_INIT)
#define FAKE_RTR_MASK harness_qp_mask(IBV_QPT_RC, IBV_QPS_RTR)
#define FAKE_RTS_MASK harness_qp_mask(IBV_QPT_RC, IBV_QPS_RTS)

/* Attributes that are valid for each transition of an RC QP. */
struct ibv_qp_attr fake_attr(enum ibv_qp_state to);
/* Take the QP from RESET through INIT, RTR and RTS to the state; to ERR directly. */
void fake_qp_to(struct ibv_qp *qp, enum ibv_qp_state to);

#endif /* UROCE_TEST_VERBS_FAKE_H */
