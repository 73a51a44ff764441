/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * One lane of one end of a run: the queue pairs, buffers and completion queues of one worker, which one thread at a time
 * uses. Created for each row of the result and destroyed after it, so that no row depends on an earlier one. Both ends
 * derive it from the same parameters.
 */

#ifndef UROCE_PERF_MEASURE_ENDPOINT_H
#define UROCE_PERF_MEASURE_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include <uroce.h>
#include <uroce_config.h>

#include "host.h"
#include "options.h"

#define PERF_QKEY      0x75726f63 /* Q_Key of UD QPs */
#define PERF_GRH_BYTES 40         /* precede a UD message in its receive buffer */

/* The parameters that both ends must agree on; the client decides. */
struct perf_params {
	enum perf_op op;
	enum perf_transport transport;
	enum perf_mode mode;
	uint32_t size; /* bytes of a message */
	uint32_t mtu;  /* path MTU, bytes */
	uint32_t qps;
	uint32_t depth;     /* messages outstanding per QP; 1 in lat mode */
	uint32_t buffers;   /* bytes of a QP's message buffers in each direction; 0: the default */
	uint32_t rd_atomic; /* READs and atomics outstanding per QP */
	bool verify;
	int64_t fault; /* -1: none */
};

/* A QP's description, which one end sends to the other. */
struct perf_qp_info {
	uint32_t qpn;
	uint32_t psn;
	union ibv_gid gid;
	uint32_t rkey;
	uint64_t out;    /* address of messages to the other end, for READ */
	uint64_t in;     /* address for messages from the other end; an atomic's counter */
	uint64_t credit; /* address of the credit: the number of messages that the other end has checked */
};

struct perf_qp {
	struct ibv_qp *ibv;
	struct ibv_ah *ah; /* UD: address handle of the remote QP */
	struct perf_qp_info local;
	struct perf_qp_info remote;
	uint8_t *out; /* slots * stride bytes */
	uint8_t *in;
	uint64_t *credit; /* written by the peer, over RDMA */
	uint32_t lkey;
	uint32_t index; /* among all QPs of the run */
	uint32_t at;    /* index in perf_end.qps */
	uint64_t posted; /* messages posted; `done`: completed here */
	uint64_t done;
	uint64_t received; /* messages received */
	uint64_t expected; /* number of the next message; differs from `received` after a loss */
	uint64_t credited; /* the credit that the peer has */
	uint64_t recv_posted;
	bool credit_busy; /* a credit is in flight */
	uint64_t *stamps; /* TSC when a signaled message was posted, by its number */
};

/* Work requests; the fields that are the same for all messages are filled. */
struct perf_poster {
	struct ibv_send_wr wrs[2 * UROCE_PERF_BATCH]; /* two per announced message */
	struct ibv_sge sges[2 * UROCE_PERF_BATCH];
	unsigned int per_message;
};

struct perf_end {
	struct perf_params params;
	struct app_host *host;
	struct uroce_worker *worker; /* drives the QPs */
	unsigned int lane;           /* its index */
	unsigned int lanes;          /* of this end of the run */
	uint32_t nb_qps;             /* of params.qps */
	bool server;
	uint32_t stride;     /* bytes between two slots */
	uint32_t grh;        /* bytes in a receive buffer before the message */
	uint32_t slots;      /* per QP and direction; a power of two */
	uint32_t window;     /* most messages of one QP without the server's credit */
	uint32_t stamp_mask; /* of struct perf_qp.stamps */
	uint32_t send_depth; /* depth of a send queue */
	uint32_t recv_depth; /* receives posted per QP; 0: none needed */
	bool has_out;
	bool has_in;
	bool inlined;
	uint8_t *buffer;
	size_t buffer_bytes;
	bool buffer_mapped; /* not in DPDK's memory: payloads are copied */
	struct ibv_pd *pds[UROCE_APP_MAX_PORTS];
	struct ibv_td *tds[UROCE_APP_MAX_PORTS];     /* of the thread that runs the lane */
	struct ibv_pd *domains[UROCE_APP_MAX_PORTS]; /* parent domains of both */
	struct ibv_mr *mrs[UROCE_APP_MAX_PORTS];
	struct ibv_cq *cqs[UROCE_APP_MAX_PORTS];
	struct perf_qp *qps;
	uint64_t *stamps;
	struct perf_poster poster;
};

/* May messages be lost, since the transport does not retransmit? */
static inline bool
uroce_perf_is_lossy(const struct perf_params *p)
{
	return p->transport != PERF_RC;
}

/* Does the server credit checked messages, so that the client may overwrite their slots? */
static inline bool
uroce_perf_has_credits(const struct perf_params *p)
{
	if (!p->verify || p->mode == PERF_LAT || uroce_perf_ops[p->op].fetches)
		return false;
	return !uroce_perf_is_lossy(p) || p->op == PERF_WRITE_IMM;
}

/* Does a message, or its announcement, consume a receive at the server? An empty WRITE with immediate data announces
 * a WRITE without immediate data that is to be verified. */
static inline bool
uroce_perf_params_receives(const struct perf_params *p)
{
	if (p->op == PERF_WRITE)
		return p->verify && p->mode != PERF_LAT;
	return uroce_perf_ops[p->op].receives;
}

/* wr_id: the QP's index in its lane, and a flag for credits. */
#define PERF_WR_CREDIT (1ull << 63)

static inline uint64_t
uroce_perf_wr_id(const struct perf_qp *q, uint64_t seq)
{
	return (uint64_t)q->at << 32 | (uint32_t)seq;
}

static inline struct perf_qp *
uroce_perf_wr_qp(const struct perf_end *end, uint64_t wr_id)
{
	return &end->qps[(wr_id & ~PERF_WR_CREDIT) >> 32];
}

/* lat: the event that ends a round trip. */
enum perf_lat_kind {
	PERF_LAT_COMPLETION, /* the work completion: READ, atomics, an empty WRITE */
	PERF_LAT_RECEIVE,    /* a receive of the peer's reply */
	PERF_LAT_MEMORY,     /* the last byte of the peer's reply in memory */
};

static inline enum perf_lat_kind
uroce_perf_lat_kind(const struct perf_params *p)
{
	if (uroce_perf_ops[p->op].fetches || (p->op == PERF_WRITE && p->size == 0))
		return PERF_LAT_COMPLETION;
	return p->op == PERF_WRITE ? PERF_LAT_MEMORY : PERF_LAT_RECEIVE;
}

/* Get the last byte of message `seq` with PERF_LAT_MEMORY; it differs from those of the 255 messages before. */
static inline uint8_t
uroce_perf_lat_marker(uint64_t seq)
{
	return (uint8_t)(seq + 1);
}

/** Has message `seq` arrived or, if it was lost, a later one? The calling thread polls the worker that places it.
 * @return how much later the message is; -1: none has arrived. Pairs with the release in uroce_place() */
static inline int
uroce_perf_lat_arrived(const struct perf_end *end, const struct perf_qp *q, uint64_t seq)
{
	uint8_t marker = __atomic_load_n(&q->in[end->params.size - 1], __ATOMIC_ACQUIRE);

	return (uint8_t)(marker - uroce_perf_lat_marker(seq - 1)) - 1;
}

/* Depth of a QP's send queue in lat mode and for credits: few are in flight. */
#define PERF_SHORT_QUEUE 16

/* ---- buffers.c ---- */

/** Compute the number of QPs, slots and queue depths from the parameters. */
void uroce_perf_layout(struct perf_end *end);
/** Allocate zeroed memory that shares no cache line with other memory: threads of other lanes write there. Free it with
 * free(). */
void *uroce_perf_lines_alloc(size_t bytes);
/** Allocate the buffers, and give each QP its part with the initial contents. @return 0 or -ENOMEM */
int uroce_perf_buffers_create(struct perf_end *end);
void uroce_perf_buffers_destroy(struct perf_end *end);

/* ---- post.c ---- */

void uroce_perf_poster_init(struct perf_end *end);
/** Post n messages, at most UROCE_PERF_BATCH; the last one is signaled, with its number. @return 0 or errno */
int uroce_perf_post(struct perf_end *end, struct perf_qp *q, unsigned int n);
/** Post a credit: the number of the peer's messages that were checked. @return 0 or errno */
int uroce_perf_post_credit(struct perf_end *end, struct perf_qp *q);

/** Check message `seq` in the slot for `place`. @return offset of the first wrong byte, or PERF_VERIFIED */
size_t uroce_perf_check_message(const struct perf_end *end, const struct perf_qp *q, uint64_t place,
				uint64_t seq);

/* ---- endpoint.c ---- */

/** Get the index among all QPs of the run of QP `at` of the end. QP i of each end is on the device i modulo their number;
 * a device deals its QPs to the lanes in turn. */
static inline uint32_t
uroce_perf_end_qp_index(const struct perf_end *end, uint32_t at)
{
	const uint32_t devs = end->host->nb_devs;

	return (at / devs * end->lanes + end->lane) * devs + at % devs;
}

/**
 * Create a lane of an end: its buffers, and its QPs in INIT.
 * @param lane	its index, of `lanes`
 * @param peer	a GID of the other end, which selects the address family
 * @param ours	the preferred GID of this end, or NULL
 * @return 0; -1: the reason is in error
 */
int uroce_perf_end_create(struct perf_end *end, struct app_host *host,
			  const struct perf_params *params, bool server, unsigned int lane, unsigned int lanes,
			  const union ibv_gid *peer, const union ibv_gid *ours, char *error, size_t room);

/** Connect the QPs, whose remote parts are filled, and post receives. @return as above */
int uroce_perf_end_connect(struct perf_end *end, char *error, size_t room);

void uroce_perf_end_destroy(struct perf_end *end);

/** Post receives until recv_depth are posted. @return 0; -1: the QP is broken */
int uroce_perf_end_receive(struct perf_end *end, struct perf_qp *q);

/** Poll the CQs. @return number of completions; negative: a CQ is broken */
static inline int
uroce_perf_end_completions(struct perf_end *end, struct ibv_wc *wcs, int n)
{
	int got = 0;

	for (unsigned int d = 0; d < end->host->nb_devs && got < n; d++) {
		int ret = ibv_poll_cq(end->cqs[d], n - got, &wcs[got]);

		if (ret < 0)
			return ret;
		got += ret;
	}
	return got;
}

static inline uint8_t *
uroce_perf_slot(const struct perf_end *end, uint8_t *window, uint64_t seq)
{
	return window + (size_t)(seq & (end->slots - 1)) * end->stride;
}

#endif /* UROCE_PERF_MEASURE_ENDPOINT_H */
