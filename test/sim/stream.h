/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A stream: one RC connection whose send queue is never empty, for measurements in virtual time. Every message has a
 * slot in the memory of both ends, and what arrives there is compared in the end.
 */

#ifndef UROCE_TEST_SIM_STREAM_H
#define UROCE_TEST_SIM_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "world.h"

#define STREAM_MOST 64 /* that run at a time */

struct stream_conf {
	enum ibv_wr_opcode opcode; /* WRITE, READ, or SEND */
	uint32_t message_bytes;
	uint32_t depth; /* messages posted and not complete */
	uint8_t timeout;
	bool no_retries; /* retry_cnt is 0 */
	uint8_t traffic_class;
	bool changing; /* READ: of memory that changes all the time, */
	bool stable;   /* ... though it was said to be stable */
};

struct stream {
	struct world *world;
	struct stream_conf conf;
	struct end *ends[2]; /* the first posts */
	struct ibv_qp *qps[2];
	struct ibv_cq *cqs[2];
	struct ibv_mr *mrs[2];
	uint32_t rkey;	    /* of the second, also when that is no more */
	uint8_t *memory[2]; /* depth slots */
	uint64_t posted;
	uint64_t completed;
	uint32_t changes;
	bool stopped; /* posts no more */
	bool lost[2]; /* the end has died with what it had of it */
	enum ibv_wc_status status; /* of the first that failed, which one may only as the peer has died */
};

void stream_create(struct stream *s, struct world *w, unsigned int from, unsigned int to,
		   const struct stream_conf *conf);
/** One of its ends, 0 or 1, dies: free what is there. */
void stream_lose(struct stream *s, unsigned int half);
/** It is complete: compare, and destroy. */
void stream_destroy(struct stream *s);

/** Let the world go on with n streams until then. */
void streams_run(struct world *w, struct stream *streams, unsigned int n, uint64_t until_ns);
/** Post no more, until all is complete and the world at rest. */
void streams_finish(struct world *w, struct stream *streams, unsigned int n);

static inline uint64_t
stream_bytes(const struct stream *s)
{
	return s->completed * s->conf.message_bytes;
}

#endif /* UROCE_TEST_SIM_STREAM_H */
