/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Two devices on a wire within one process, with one worker for both or one for each, which the test polls; and two
 * queue pairs on them.
 */

#ifndef UROCE_TEST_FAILURE_PAIR_H
#define UROCE_TEST_FAILURE_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "port/rings.h"
#include "uroce.h"

#define PAIR_BYTES   16384
#define PAIR_PSNS    0x1000 /* between the first PSNs of two connections */
#define PAIR_TIMEOUT 14 /* 67 ms (R36) */

struct pair_end {
	struct test_rings wire;
	struct ibv_context *context;
	int vector; /* of the CQ */
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	uint8_t *memory;
};

struct pair {
	struct uroce_worker *workers[8];	/* that pair_poll() polls and pair_close() destroys */
	unsigned int nb_workers;
	uint8_t timeout; /* of the QPs; PAIR_TIMEOUT unless the test sets another */
	struct pair_end ends[2];
	uint32_t psn;	/* first PSN of the connection: no frame of an older one fits */
};

/* Opens two ports and two devices with the addresses 10.0.0.1 and 10.0.0.2, with one worker for both. */
void pair_open(struct pair *p);
/* The same with one worker for both or two, and ports with several queues, of which each device has one so far. */
void pair_open_with(struct pair *p, unsigned int nb_workers, unsigned int queues);
void pair_close(struct pair *p);
void pair_poll(struct pair *p, unsigned int rounds);

/* Create a PD, a CQ, memory of DPDK with a region, and a queue pair. @return 0 or an errno; on failure, no object is
 * left */
int pair_end_create(struct pair_end *e);
void pair_end_destroy(struct pair_end *e);
/* Connect the queue pairs to each other, from RESET to RTS. */
void pair_connect(struct pair *p);
void pair_reset(struct pair *p);

/* Post an RDMA WRITE of all memory of the first end to the second's, or a READ of the second's. */
void pair_post(struct pair *p, enum ibv_wr_opcode opcode);
/* WRITE all memory of the first end into the second's. */
void pair_write(struct pair *p);
/* @return false: the work request has not completed; else fails unless it has succeeded */
bool pair_has_completed(struct pair *p);
/* Poll until the work request completes. @return its status */
enum ibv_wc_status pair_wait(struct pair *p);

#endif /* UROCE_TEST_FAILURE_PAIR_H */
