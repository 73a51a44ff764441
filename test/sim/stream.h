/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A stream: one RC connection whose send queue is never empty, for measurements in virtual time. Every message has a
 * slot in the memory of both ends; at the end the contents of all slots are compared.
 */

#ifndef UROCE_TEST_SIM_STREAM_H
#define UROCE_TEST_SIM_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "world.h"

#define STREAM_MOST 64 /* streams at a time */

struct stream_conf {
	enum ibv_wr_opcode opcode; /* WRITE, READ, or SEND */
	uint32_t message_bytes;
	uint32_t depth; /* outstanding messages */
	uint8_t timeout;
	bool no_retries; /* retry_cnt is 0 */
	uint8_t traffic_class;
	bool changing; /* READ: the memory changes all the time */
	bool stable;   /* READ: the memory is registered as stable */
};

struct stream {
	struct world *world;
	struct stream_conf conf;
	struct end *ends[2]; /* the first posts */
	struct ibv_qp *qps[2];
	struct ibv_cq *cqs[2];
	struct ibv_mr *mrs[2];
	uint32_t rkey;	    /* of the second end, also after it was killed */
	uint8_t *memory[2]; /* `depth` slots */
	uint64_t posted;
	uint64_t completed;
	uint32_t changes;
	bool stopped; /* posts no more requests */
	bool lost[2]; /* the end was killed, with its objects */
	enum ibv_wc_status status; /* of the first failed request; only a killed peer may cause it */
};

void stream_create(struct stream *s, struct world *w, unsigned int from, unsigned int to,
		   const struct stream_conf *conf);
/** End 0 or 1 of the stream is killed: free the stream's objects there. */
void stream_lose(struct stream *s, unsigned int half);
/** Compare the memory of both ends, and destroy the stream, whose messages have completed. */
void stream_destroy(struct stream *s);

/** Run the world with n streams until then. */
void streams_run(struct world *w, struct stream *streams, unsigned int n, uint64_t until_ns);
/** Stop posting, and run until all messages have completed and the world is at rest. */
void streams_finish(struct world *w, struct stream *streams, unsigned int n);

static inline uint64_t
stream_bytes(const struct stream *s)
{
	return s->completed * s->conf.message_bytes;
}

#endif /* UROCE_TEST_SIM_STREAM_H */
