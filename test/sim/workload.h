/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The application of a simulation: it posts random requests and receives on random connections,
 * polls its CQs now and then, and reuses its memory as soon as verbs allow it.
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
	unsigned int conn_drawn; /* number of connections, including those left out */
	struct conn *conns[SIM_CONNS];
	struct word *words[LINK_ENDS]; /* SIM_WORDS each */
	struct ibv_mr *word_mrs[LINK_ENDS];
	uint64_t posted;
	uint64_t actions;
	uint64_t rounds; /* number of advances of the clock */
	bool calm; /* receives are posted in time, and no scenario runs */
	struct unreliable *unreliable;
	struct shared *shared;
};

/* A work request before it is posted. */
struct request {
	struct ibv_send_wr wr;
	struct ibv_sge sge[UROCE_MAX_SGE];
	struct op *op;
};

/** Post about `steps` requests while the world runs, then let all complete and come to rest. */
void workload_run(struct sim *sim, unsigned int steps);

/** Restart the random numbers: they depend only on the seed and this number, see keep.h. */
void workload_draw_anew(struct sim *sim, uint64_t number);

/** Run the world until all requests have completed that can, and all is at rest.
 * @param post_receives	for messages without a receive */
void workload_settle(struct sim *sim, bool post_receives);

/** Make a request with this opcode, which the caller may change before request_post().
 * @return NULL: no memory is free */
struct request *request_make(struct sim *sim, struct side *s, enum ibv_wr_opcode opcode,
			     uint32_t length);
/** Record the requests in the oracle, post them as a list, and free them. */
void request_post(struct side *s, struct request **requests, unsigned int n);

/** Post a receive with room for `length` bytes.
 * @param mr	whose key it uses; NULL: any that fits
 * @param bad	its keys do not allow writing
 * @return false: no memory is free */
bool receive_post(struct sim *sim, struct side *s, uint32_t length, const struct ibv_mr *mr, bool bad);

/** Make the request signaled, before request_post(). */
void request_signal(struct side *s, struct request *q);

#endif /* UROCE_TEST_SIM_WORKLOAD_H */
