/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * One end of one run: its queue pairs, buffers and completion queues. Created for each row of the result and
 * destroyed after it, so that no row depends on an earlier one. Both ends derive it from the same parameters.
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

#define PERF_QKEY      0x75726f63 /* of UD */
#define PERF_GRH_BYTES 40         /* before a UD message in its receive buffer */

/* What both ends must agree on; the client decides. */
struct perf_params {
	enum perf_op op;
	enum perf_transport transport;
	enum perf_mode mode;
	uint32_t size; /* bytes of a message */
	uint32_t mtu;  /* path MTU, bytes */
	uint32_t qps;
	uint32_t depth;     /* messages outstanding per QP; 1 in lat mode */
	uint32_t rd_atomic; /* READs and atomics outstanding per QP */
	bool verify;
	int64_t fault; /* -1: none */
};

/* The description of a QP that an end sends to the other. */
struct perf_qp_info {
	uint32_t qpn;
	uint32_t psn;
	union ibv_gid gid;
	uint32_t rkey;
	uint64_t out;    /* address of messages to the other end, for READ */
	uint64_t in;     /* address for messages from the other end; an atomic's counter */
	uint64_t credit; /* credits: up to which message the other end has checked */
};

struct perf_qp {
	struct ibv_qp *ibv;
	struct ibv_ah *ah; /* UD: the way to the remote QP */
	struct perf_qp_info local;
	struct perf_qp_info remote;
	uint8_t *out; /* slots * stride bytes */
	uint8_t *in;
	uint64_t *credit; /* written by the peer, over RDMA */
	uint32_t lkey;
	uint32_t index;
	uint64_t posted; /* messages: posted, and completed here */
	uint64_t done;
	uint64_t received; /* messages that came in */
	uint64_t expected; /* the number of the next one: as many, unless some were lost */
	uint64_t credited; /* up to here the peer knows them to be checked */
	uint64_t recv_posted;
	bool credit_busy; /* a credit is on its way */
	uint64_t *stamps; /* TSC when a signalled message was posted, by its number */
};

/* Work requests, prepared as far as they are the same for all messages. */
struct perf_poster {
	struct ibv_send_wr wrs[2 * UROCE_PERF_BATCH]; /* two for a message that is announced */
	struct ibv_sge sges[2 * UROCE_PERF_BATCH];
	unsigned int per_message;
};

struct perf_end {
	struct perf_params params;
	struct app_host *host;
	bool server;
	uint32_t stride;     /* bytes from one slot to the next */
	uint32_t grh;        /* bytes in a receive buffer before the message */
	uint32_t slots;      /* of each QP, each way; a power of two */
	uint32_t window;     /* messages of one QP that the server has not credited, at most */
	uint32_t stamp_mask; /* of struct perf_qp.stamps */
	uint32_t send_depth; /* work requests on a send queue */
	uint32_t recv_depth; /* receives posted per QP; 0: none are needed */
	bool has_out;
	bool has_in;
	bool inlined;
	uint8_t *buffer;
	size_t buffer_bytes;
	bool buffer_mapped; /* not DPDK's memory: payloads are copied */
	struct ibv_pd *pds[UROCE_APP_MAX_PORTS];
	struct ibv_mr *mrs[UROCE_APP_MAX_PORTS];
	struct ibv_cq *cqs[UROCE_APP_MAX_PORTS];
	struct perf_qp *qps;
	uint64_t *stamps;
	struct perf_poster poster;
};

/* Messages may be lost: the transport does not retransmit. */
static inline bool
uroce_perf_is_lossy(const struct perf_params *p)
{
	return p->transport != PERF_RC;
}

/* The server says up to which message it has checked, before its memory is written to again. */
static inline bool
uroce_perf_has_credits(const struct perf_params *p)
{
	if (!p->verify || p->mode == PERF_LAT || uroce_perf_ops[p->op].fetches)
		return false;
	return !uroce_perf_is_lossy(p) || p->op == PERF_WRITE_IMM;
}

/* A message, or its announcement, takes a receive at the server: an empty WRITE with immediate announces a WRITE
 * without immediate that is to be verified. */
static inline bool
uroce_perf_params_receives(const struct perf_params *p)
{
	if (p->op == PERF_WRITE)
		return p->verify && p->mode != PERF_LAT;
	return uroce_perf_ops[p->op].receives;
}

/* wr_id: the QP's index and what the completion is for. */
#define PERF_WR_CREDIT (1ull << 63)

static inline uint64_t
uroce_perf_wr_id(const struct perf_qp *q, uint64_t seq)
{
	return (uint64_t)q->index << 32 | (uint32_t)seq;
}

static inline struct perf_qp *
uroce_perf_wr_qp(const struct perf_end *end, uint64_t wr_id)
{
	return &end->qps[(wr_id & ~PERF_WR_CREDIT) >> 32];
}

/* lat: what says that the round trip is over. */
enum perf_lat_kind {
	PERF_LAT_COMPLETION, /* the work completion: READ, atomics, an empty WRITE */
	PERF_LAT_RECEIVE,    /* the peer's answer, received */
	PERF_LAT_MEMORY,     /* the peer's answer, by its last byte in memory */
};

static inline enum perf_lat_kind
uroce_perf_lat_kind(const struct perf_params *p)
{
	if (uroce_perf_ops[p->op].fetches || (p->op == PERF_WRITE && p->size == 0))
		return PERF_LAT_COMPLETION;
	return p->op == PERF_WRITE ? PERF_LAT_MEMORY : PERF_LAT_RECEIVE;
}

/* The last byte of message `seq` with PERF_LAT_MEMORY: that of none of the 255 before it. */
static inline uint8_t
uroce_perf_lat_marker(uint64_t seq)
{
	return (uint8_t)(seq + 1);
}

/** Has message `seq` arrived, or, if that one was lost, one after it? The worker that places it is
 * polled by the same thread. @return how many after it, or -1: none of them */
static inline int
uroce_perf_lat_arrived(const struct perf_end *end, const struct perf_qp *q, uint64_t seq)
{
	uint8_t marker = __atomic_load_n(&q->in[end->params.size - 1], __ATOMIC_ACQUIRE);

	return (uint8_t)(marker - uroce_perf_lat_marker(seq - 1)) - 1;
}

/* A QP's send queue in lat mode, and for credits: few are outstanding. */
#define PERF_SHORT_QUEUE 16

/* ---- buffers.c ---- */

/** Decide on slots and queues from the parameters. */
void uroce_perf_layout(struct perf_end *end);
/** Allocate the buffers and give each QP its part, filled with what the run starts from. @return 0,
 * -ENOMEM */
int uroce_perf_buffers_create(struct perf_end *end);
void uroce_perf_buffers_destroy(struct perf_end *end);

/* ---- post.c ---- */

void uroce_perf_poster_init(struct perf_end *end);
/** Post n messages, at most UROCE_PERF_BATCH, the last one signalled with its number. @return 0 or
 * errno */
int uroce_perf_post(struct perf_end *end, struct perf_qp *q, unsigned int n);
/** Tell the peer how many of its messages have been checked. @return 0 or errno */
int uroce_perf_post_credit(struct perf_end *end, struct perf_qp *q);

/** Is message `seq` in the slot for `place`? @return offset of the first wrong byte, or PERF_VERIFIED */
size_t uroce_perf_check_message(const struct perf_end *end, const struct perf_qp *q, uint64_t place,
				uint64_t seq);

/* ---- endpoint.c ---- */

/**
 * Make the end: buffers, and QPs in INIT.
 * @param peer	a GID of the other end: which of our addresses to use. @param ours our GID to
 * prefer, or NULL
 * @return 0, or -1 and the reason in error
 */
int uroce_perf_end_create(struct perf_end *end, struct app_host *host,
			  const struct perf_params *params, bool server, const union ibv_gid *peer,
			  const union ibv_gid *ours, char *error, size_t room);

/** Connect the QPs, whose remote parts are filled, and post receives. @return as above */
int uroce_perf_end_connect(struct perf_end *end, char *error, size_t room);

void uroce_perf_end_destroy(struct perf_end *end);

/** Post receives until recv_depth of them wait. @return 0, or -1: the QP is broken */
int uroce_perf_end_receive(struct perf_end *end, struct perf_qp *q);

/** @return how many were taken, negative: the CQ is broken */
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
