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

/* What `qp` creates and `close` destroys. */
struct end {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *memory;
	size_t size;
	bool own_memory;
	uint32_t psn;
	uint8_t sgid_index;
};

extern struct end self;
extern struct ibv_context *context;
extern struct ibv_pd *pd;

/** Give the processor to others for a moment. */
void idle(void);

/* end.c */
void do_qp(const char *line);
void do_connect(const char *line);
void do_state(void);
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

#endif /* INTEROP_END_H */
