/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Measures how costs grow with the number of objects, with a file for each kind of object. Two devices of one process are
 * connected by net_ring. The main thread posts, and polls the CQs and the first end's worker; a second lcore, if there is
 * one, polls the other end's worker.
 */

#ifndef UROCE_TEST_PERF_SCALE_H
#define UROCE_TEST_PERF_SCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "uroce.h"
#include "uroce_config.h"

#define SCALE_COUNTS  16 /* most counts in a list */
#define SCALE_FIELDS  16
#define SCALE_ROWS    128
#define SCALE_WINDOW  256 /* outstanding messages of all QPs */
#define SCALE_MTU     4096
#define SCALE_RUNS    5 /* runs of each measurement and its comparison, in turn: the best counts */

struct scale_counts {
	uint32_t n[SCALE_COUNTS];
	unsigned int count;
};

struct scale_options {
	struct scale_counts qps;
	struct scale_counts mrs;
	struct scale_counts timers;
	uint32_t connections;
	uint32_t size; /* bytes of a WRITE in the tables of QPs */
	double seconds; /* of one measurement */
	bool workers;
	const char *json; /* NULL: none; "-": standard output */
};

/* A row of the results, in the table `what`. */
struct scale_row {
	const char *what;
	unsigned int count;
	struct {
		const char *name;
		double value;
	} fields[SCALE_FIELDS];
};

struct scale_report {
	unsigned int count;
	struct scale_row rows[SCALE_ROWS];
};

/** Add a row, whose fields follow. `what` and the names of fields are constants. */
struct scale_row *scale_row_add(struct scale_report *report, const char *what);
void scale_row_set(struct scale_row *row, const char *name, double value);
void scale_report_text(const struct scale_report *report, FILE *out);
/** @return 0, or -1: it could not be written */
int scale_report_json(const struct scale_report *report, FILE *out);

struct scale_end {
	uint16_t port_id;
	struct uroce_worker *workers[2];
	unsigned int nb_workers;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr; /* all of buffer */
	uint8_t *buffer;
	size_t bytes;
	union ibv_gid gid;
	struct ibv_qp **qps;
	uint32_t nb_qps;
};

/* ends[0] is the requester, on the main thread; ends[1] is the responder. */
struct scale_pair {
	struct scale_end ends[2];
	unsigned int lcore; /* polls ends[1]; LCORE_ID_ANY: the main thread does */
};

struct scale_conf {
	unsigned int log2_max_qp; /* 0: the default */
	unsigned int log2_max_mr;
	size_t bytes; /* of each end's buffer, in hugepages */
	uint32_t cqes;
};

extern const char *const scale_addresses[2];

/** Exit with a message unless ok. */
void scale_check(bool ok, const char *what);

void scale_pair_open(struct scale_pair *p, const struct scale_conf *conf);
void scale_pair_close(struct scale_pair *p);
/** Poll the workers of the main thread. */
static inline void
scale_pair_poll(const struct scale_pair *p)
{
	uroce_worker_poll(p->ends[0].workers[0]);
	if (p->lcore == UINT32_MAX)
		uroce_worker_poll(p->ends[1].workers[0]);
}

/** Create n RC QPs without receives; the send queue of the first one holds the whole window. */
void scale_qps_create(struct scale_end *e, uint32_t n, uint32_t send_depth);
/** Connect QP i of the end to QP i of the peer, by uroce_modify_qp(): INIT, RTR, RTS. */
void scale_qp_connect(struct scale_end *e, const struct scale_end *peer, uint32_t i);
/** Connect QP i of each end with QP i of the other, for all i. */
void scale_qps_connect(struct scale_pair *p);
void scale_qps_destroy(struct scale_end *e);

/* The load of a run of WRITEs. */
struct scale_load {
	const uint32_t *order; /* QPs in the order of their turns of `batch` WRITEs, repeated */
	uint32_t nb_order;
	uint32_t batch; /* WRITEs per post, the last one signaled */
	uint32_t size;
	/* keys of successive WRITEs, repeated; NULL: that of the end's own region */
	const uint32_t *lkeys;
	const uint32_t *rkeys;
	uint32_t nb_keys;
	double seconds;
	bool inlined;
};

/** @return WRITEs per second */
double scale_writes(struct scale_pair *p, const struct scale_load *load);

/** @return 0 .. n-1 in a random order, the same in each run; the caller frees it */
uint32_t *scale_shuffle(uint32_t n);

static inline uint64_t
scale_random(uint64_t *state)
{
	/* xorshift: the order needs to be scattered, not unpredictable */
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Memory used by objects. */
struct scale_memory {
	size_t heap_bytes; /* of DPDK's heap, with its overhead */
	size_t malloc_bytes;
	size_t process_bytes; /* resident, and hugepages */
};

struct scale_memory scale_memory(void);
/** @return ns since an arbitrary time */
double scale_now(void);

/* The tables. */
void scale_qps(const struct scale_options *o, struct scale_report *report);
void scale_mrs(const struct scale_options *o, struct scale_report *report);
void scale_timers(const struct scale_options *o, struct scale_report *report);
void scale_workers(const struct scale_options *o, struct scale_report *report);
void scale_connections(const struct scale_options *o, struct scale_report *report);

#endif /* UROCE_TEST_PERF_SCALE_H */
