/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The probe's queue pairs and memory, and the commands that act on them. Each command prints one line on standard
 * output.
 */

#ifndef INTEROP_END_H
#define INTEROP_END_H

#include "probe.h"

#define MAX_WR  64
#define MAX_SGE 16

#define MAX_QPS 4

/* The objects that `qp` creates and `close` destroys. */
struct end {
	struct ibv_qp *qps[MAX_QPS];	/* each with its own connection */
	struct ibv_ah *ahs[MAX_QPS];	/* UD: the path to the peer */
	uint32_t remote_qpns[MAX_QPS];
	unsigned int count;
	struct ibv_srq *srq;	/* shared by all queue pairs, or NULL */
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	uint32_t qkey;
	uint8_t *memory;
	size_t size;
	bool own_memory;
	bool placement;	/* the QPs allow FLUSH and ATOMIC_WRITE */
	uint32_t psn;
	uint8_t sgid_index;
};

extern struct end self;
extern struct ibv_context *context;
extern struct ibv_pd *pd;

/** The queue pair that the line selects by "q="; the first one without "q=". */
unsigned int qp_index(const char *line);

/** Yield the CPU for a moment. */
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

/* placement.c */
struct ibv_qp *create_placement_qp(struct ibv_qp_init_attr *init);
void do_place(const char *line);

/* window.c */
void do_bind(const char *line);
int window_close(void);

#endif /* INTEROP_END_H */
