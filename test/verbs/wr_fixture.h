/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Two QPs on a fake device: requests on one are built by calls, and the same requests on the other are posted as lists.
 */

#ifndef UROCE_TEST_VERBS_WR_FIXTURE_H
#define UROCE_TEST_VERBS_WR_FIXTURE_H

#include <stdint.h>

#include <infiniband/verbs.h>

#include "verbs/qp/qp.h"
#include "verbs/wr_has_flush.h"
#include "fake.h"

#ifdef UROCE_WR_HAS_FLUSH
#define WR_FLUSH_OP IBV_QP_EX_WITH_FLUSH
#else
#define WR_FLUSH_OP 0
#endif
#define WR_RC_OPS (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND | \
		IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | \
		IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | \
		IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV | \
		IBV_QP_EX_WITH_ATOMIC_WRITE | WR_FLUSH_OP)
#define WR_DEPTH 5

#define RC(f) cmocka_unit_test_setup_teardown(f, wr_setup_rc, wr_teardown)
#define UD(f) cmocka_unit_test_setup_teardown(f, wr_setup_ud, wr_teardown)
#define XRC(f) cmocka_unit_test_setup_teardown(f, wr_setup_xrc, wr_teardown)

extern struct fake_pair wr_pair;
extern struct ibv_qp_ex *ex; /* its requests are built by calls */
extern struct ibv_ah *ah;
extern uint8_t data[600];

int wr_setup_rc(void **state);
int wr_setup_ud(void **state);
int wr_setup_xrc(void **state);
int wr_teardown(void **state);

/** Create a QP in RTS. */
struct ibv_qp *wr_create(enum ibv_qp_type type, uint64_t send_ops, int sig_all);
struct uroce_qp *wr_built(void);

/** Take the next WQE of a queue, as the worker does; release its address handle, as the completer does. */
struct uroce_sqe *wr_take(struct uroce_qp *qp);
/** The built WQE must equal the one that posting this request makes. */
void wr_same_as(struct ibv_send_wr wr);

void wr_begin(uint64_t wr_id, unsigned int flags);
/** Bytes in the middle of the data. */
struct ibv_sge wr_entry(uint32_t length);
void wr_set_entry(uint32_t length);

#endif /* UROCE_TEST_VERBS_WR_FIXTURE_H */
