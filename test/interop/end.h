/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What the probe has at a time, a queue pair and its memory, and the commands that act on it. Each
 * answers with a line on standard output.
 */

#ifndef INTEROP_END_H
#define INTEROP_END_H

#include "probe.h"

#define MAX_WR  64
#define MAX_SGE 16

#define MAX_QPS 4

/* What `qp` creates and `close` destroys. */
struct end {
	struct ibv_qp *qps[MAX_QPS];	/* with their own ways to the peer */
	struct ibv_ah *ahs[MAX_QPS];	/* UD */
	uint32_t remote_qpns[MAX_QPS];
	unsigned int count;
	struct ibv_srq *srq;	/* of all of them, or NULL */
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	uint32_t qkey;
	uint8_t *memory;
	size_t size;
	bool own_memory;
	uint32_t psn;
	uint8_t sgid_index;
};

extern struct end self;
extern struct ibv_context *context;
extern struct ibv_pd *pd;

/** The queue pair that the line names by "q=", the first one if it names none. */
unsigned int qp_index(const char *line);

/** Give the processor to others for a moment. */
void idle(void);

/* end.c */
void do_qp(const char *line);
void do_connect(const char *line);
void do_state(const char *line);
int end_close(void);

/* memory.c */
bool in_memory(uint64_t at, uint64_t len, uint64_t n, uint64_t stride);
void do_fill(const char *line);
void do_check(const char *line);
void do_word(const char *line, bool put);

/* work.c */
void do_recv(const char *line);
void do_send(const char *line);
void do_poll(const char *line);

/* window.c */
void do_bind(const char *line);
int window_close(void);

#endif /* INTEROP_END_H */
