/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A device whose workers are polled by threads of their own, with QPs that communicate, for tests of races between
 * threads. The helpers do not use cmocka, which supports one thread only: a failure ends the program.
 */

#ifndef UROCE_TEST_PORT_CROWD_H
#define UROCE_TEST_PORT_CROWD_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_debug.h>

#include "rings.h"
#include "uroce.h"

#define CROWD_WORKERS 2
#define CROWD_BYTES   8192 /* of an end's memory: half is sent from, half is written to */
#define CROWD_DEPTH   16   /* of its queues */
#define CROWD_CQE     2048 /* more than any test leaves unpolled */

extern struct uroce_worker *crowd_workers[CROWD_WORKERS];
extern struct ibv_context *crowd_context;

/* Set-up and tear-down for cmocka. */
int crowd_setup(void **state);
int crowd_teardown(void **state);

/* Call all functions at once, each with its argument in a thread of its own, until all return. */
void crowd_run(void *(*const functions[])(void *), void *const args[], unsigned int n);

struct crowd_end {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq; /* NULL: none */
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *memory; /* DPDK memory: sent without copying */
};

void crowd_end_open(struct crowd_end *e, enum ibv_qp_type type, bool with_srq);
void crowd_end_close(struct crowd_end *e);
/* RESET, INIT, RTR, RTS: connect to the peer; a UD QP has none. */
void crowd_end_ready(struct crowd_end *e, const struct crowd_end *peer);
void crowd_end_to(struct crowd_end *e, enum ibv_qp_state state);

/* WRITE from the first half of the end's memory into the second half of the peer's. @return as ibv_post_send(3) */
int crowd_write(struct crowd_end *e, const struct crowd_end *peer, uint32_t bytes, uint32_t lkey);
/* @return as ibv_post_recv(3) */
int crowd_receive(struct crowd_end *e);
/* Wait for a completion. @return its status */
enum ibv_wc_status crowd_wait(struct crowd_end *e);

#endif /* UROCE_TEST_PORT_CROWD_H */
