/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Two devices on a wire within the process, one worker for both, polled by the test; and two queue pairs on them.
 */

#ifndef UROCE_TEST_FAILURE_PAIR_H
#define UROCE_TEST_FAILURE_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "port/rings.h"
#include "uroce.h"

#define PAIR_BYTES   16384
#define PAIR_TIMEOUT 14 /* 67 ms, R36 */

struct pair_end {
	struct test_rings wire;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	uint8_t *memory;
};

struct pair {
	struct uroce_worker *worker;
	struct pair_end ends[2];
};

/* Ports and devices: 10.0.0.1 and 10.0.0.2. */
void pair_open(struct pair *p);
void pair_close(struct pair *p);
void pair_poll(struct pair *p, unsigned int rounds);

/* What the ends need to talk: a PD, a CQ, memory of DPDK's and a region on it, and a queue pair. @return 0 or the
 * errno of what could not be made; then nothing is left */
int pair_end_create(struct pair_end *e);
void pair_end_destroy(struct pair_end *e);
/* From RESET to RTS, to each other. */
void pair_connect(struct pair *p);
void pair_reset(struct pair *p);

/* WRITE all memory from the first end's to the second's. */
void pair_write(struct pair *p);
/* Poll until it has completed. @return its status */
enum ibv_wc_status pair_wait(struct pair *p);

#endif /* UROCE_TEST_FAILURE_PAIR_H */
