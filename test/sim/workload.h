/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The application of a simulation: it posts random requests and receives on random connections,
 * polls its CQs now and then, and uses its memory again as soon as it may.
 */

#ifndef UROCE_TEST_SIM_WORKLOAD_H
#define UROCE_TEST_SIM_WORKLOAD_H

#include <stdbool.h>

#include "conn.h"

#define SIM_CONNS        8
#define SIM_SHARED_WORDS 4 /* per end, for atomics from every connection */
#define SIM_WORDS        (SIM_SHARED_WORDS + 2 * SIM_CONNS)

struct sim {
	uint64_t seed;
	struct world world;
	struct sim_random random;
	unsigned int conn_count;
	unsigned int conn_drawn; /* so many it would be if none were left out */
	struct conn *conns[SIM_CONNS];
	struct word *words[LINK_ENDS]; /* SIM_WORDS each */
	struct ibv_mr *word_mrs[LINK_ENDS];
	uint64_t posted;
	uint64_t actions;
	uint64_t rounds; /* that the clock has gone on */
	bool calm; /* receives are there when they are needed, nothing fails on purpose */
	struct unreliable *unreliable;
	struct shared *shared;
};

/* A work request that is being put together. */
struct request {
	struct ibv_send_wr wr;
	struct ibv_sge sge[UROCE_MAX_SGE];
	struct op *op;
};

/** Post about so many requests, with the world going on, then let everything complete and come to
 * rest. */
void workload_run(struct sim *sim, unsigned int steps);

/** What is drawn from here on depends on nothing but the seed and this number: see keep.h. */
void workload_draw_anew(struct sim *sim, uint64_t number);

/** Let the world go on until every side that can still complete has, and all is at rest.
 * @param post_receives	for messages that have none yet */
void workload_settle(struct sim *sim, bool post_receives);

/** Make one request of this opcode; NULL: there is no memory for it just now. The caller may change
 * it before request_post(). */
struct request *request_make(struct sim *sim, struct side *s, enum ibv_wr_opcode opcode,
			     uint32_t length);
/** Tell the oracle, and post a list of them; frees the requests. */
void request_post(struct side *s, struct request **requests, unsigned int n);

/** Post a receive with room for `length` bytes.
 * @param mr	to name; NULL: any that fits
 * @param bad	it may not be written with its keys
 * @return false: there is no memory for it just now */
bool receive_post(struct sim *sim, struct side *s, uint32_t length, const struct ibv_mr *mr, bool bad);

/** Have it signaled. Before request_post(). */
void request_signal(struct side *s, struct request *q);

#endif /* UROCE_TEST_SIM_WORKLOAD_H */
