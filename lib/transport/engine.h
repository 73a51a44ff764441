/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * An engine: the transport of some QPs. No I/O, no clock, no lock: the caller passes in packets and the time, and takes
 * out frames and the next deadline. One thread at a time calls it; any thread may call uroce_engine_doorbell().
 * README.rst is the index of lib/transport.
 */

#ifndef UROCE_TRANSPORT_ENGINE_H
#define UROCE_TRANSPORT_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_mbuf.h>

#include "transport/congestion/pacer.h"
#include "transport/requester/budget.h"
#include "transport/requester/recovery.h"
#include "transport/responder/ack.h"
#include "transport/responder/reorder.h"
#include "base/timer_wheel.h"
#include "verbs/device/device.h"
#include "verbs/qp/bells.h"
#include "wire/packet.h"
#include "wire/verdict.h"

/* Counters of an engine. Received packets are also counted by verdict, in verdicts[]. */
enum uroce_engine_counter {
	UROCE_SENT_PACKETS,		/* packets handed to the port, retransmitted ones too */
	UROCE_SENT_BYTES,		/* bytes of payload */
	UROCE_RECEIVED_BYTES,		/* bytes of payload that were placed */
	UROCE_SENT_ACKS,		/* ACK packets */
	UROCE_RX_WRITE_REQUESTS,	/* WRITE messages */
	UROCE_RDMA_SENDS,		/* SENDs completed */
	UROCE_RDMA_RECVS,		/* receive requests completed */
	UROCE_RX_READ_REQUESTS,		/* READs accepted */
	UROCE_RX_ATOMIC_REQUESTS,	/* atomics executed */
	UROCE_SENT_NAKS,		/* NAKs, without RNR NAKs */
	UROCE_SENT_RNR_NAKS,		/* RNR NAKs: no receive was posted */
	UROCE_SENT_SACKS,		/* reports of the packets behind a gap */
	UROCE_RETRANSMITTED_PACKETS,	/* packets that were retransmitted */
	UROCE_TIMEOUTS,			/* transport timeouts */
	UROCE_PROBES,			/* probes sent before a transport timeout */
	UROCE_SENT_ASKS,		/* requests for SACKs */
	UROCE_SACKS_RECEIVED,		/* SACKs received */
	UROCE_NAKS_RECEIVED,		/* NAKs received */
	UROCE_RNR_NAKS_RECEIVED,	/* RNR NAKs received: the peer has posted no receive */
	UROCE_ZERO_COPY_PACKETS,	/* packets whose payload was sent without a copy */
	UROCE_NO_MBUF,			/* a pool was empty; the QP tries again */
	UROCE_CQ_OVERRUNS,		/* completion queues that overran */
	/* congestion control, with Linux's names */
	UROCE_NP_ECN_MARKED_PACKETS,	/* packets received with CE */
	UROCE_NP_CNP_SENT,		/* CNPs sent */
	UROCE_RP_CNP_HANDLED,		/* CNPs that reduced a QP's rate */
	UROCE_RP_CNP_IGNORED,		/* CNPs that slowed down no QP */
	UROCE_EARLY_DROPPED,		/* frames that left the reorder buffer without execution */
	UROCE_EARLY_EXPIRED,		/* frames of early_dropped that were kept for too long */
	/* retransmission requests, and completions with an error, with Linux's names */
	UROCE_PACKET_SEQ_ERR,		/* sequence NAKs received */
	UROCE_COMPLETER_RETRY_ERR,	/* retries charged to a QP's retry_cnt */
	UROCE_REQ_CQE_ERROR,		/* send WQEs that failed or were flushed */
	UROCE_REQ_CQE_FLUSH_ERROR,	/* send WQEs that were flushed */
	UROCE_REQ_REMOTE_INVALID_REQUEST,	/* send WQEs with IBV_WC_REM_INV_REQ_ERR */
	UROCE_REQ_REMOTE_ACCESS_ERRORS,	/* send WQEs with IBV_WC_REM_ACCESS_ERR */
	UROCE_REQ_TRANSPORT_RETRIES_EXCEEDED,	/* send WQEs with IBV_WC_RETRY_EXC_ERR */
	UROCE_REQ_RNR_RETRIES_EXCEEDED,	/* send WQEs with IBV_WC_RNR_RETRY_EXC_ERR */
	UROCE_RESP_CQE_ERROR,		/* receive WQEs that failed or were flushed */
	UROCE_RESP_CQE_FLUSH_ERROR,	/* receive WQEs that were flushed */
	UROCE_RESP_LOCAL_LENGTH_ERROR,	/* receive WQEs that were too short */
	UROCE_ENGINE_COUNTER_COUNT,
};

extern const char *const uroce_engine_counter_names[UROCE_ENGINE_COUNTER_COUNT];

/* How many records of each kind an engine has. */
struct uroce_engine_limits {
	uint32_t reorder_frames;	/* out-of-order frames that it keeps */
	uint32_t reorder_qps;		/* QPs that it keeps such frames for */
	uint32_t recoveries;		/* QPs in selective recovery */
	uint32_t rates;			/* QPs with a rate limit */
	uint32_t log2_window;		/* at least uroce_device.log2_window of its QPs */
};

extern const struct uroce_engine_limits uroce_engine_default_limits;

struct uroce_engine {
	uint64_t now_ns;
	struct rte_mempool *header_pool;	/* headers, small payloads, external segments */
	struct rte_mempool *payload_pool;	/* copied payloads */
	struct uroce_wheel wheel;	/* timers of QPs */
	struct uroce_wheel cq_wheel;	/* timers of moderated CQs */
	uint32_t cq_timers;		/* timers in cq_wheel */
	uint32_t rated;			/* QPs that have a rate */
	uint32_t cnp_count;
	struct uroce_qp_list active;	/* QPs with something to send, each once */
	struct uroce_qp_list later;	/* QPs with a turn in the next call of uroce_engine_send() */
	struct uroce_bells_list bells;	/* doorbells of thread domains */
	struct uroce_qp *failed;	/* QPs that failed in the current call from the engine, linked by failed_next */
	bool yield;			/* end this round: a long FLUSH continues in the next one */
	uint64_t heard_ns;		/* all frames that arrived by then have been received; UINT64_MAX: no rounds */
	uint64_t unheard_ns;		/* becomes heard_ns after unheard_rounds rounds */
	uint32_t unheard_rounds;	/* rounds until then; 0: the sources were drained */
	uint32_t ring_rounds;		/* rounds that it takes to receive the largest RX ring */
	struct uroce_reorder_store reorder;
	struct uroce_recoveries recoveries;
	struct uroce_budget budgets[UROCE_BUDGETS];
	uint64_t verdicts[UROCE_VERDICT_COUNT];		/* engine: rw, others: relaxed read */
	/* the first cache line has the counters of packets without errors */
	uint64_t counters[UROCE_ENGINE_COUNTER_COUNT] __rte_cache_aligned;
	struct rte_mbuf *cnps[UROCE_CNPS];	/* CNPs to send before all other frames */
	struct uroce_pacer pacer;
	struct uroce_acks acks __rte_cache_aligned;
	/* accessed by any thread */
	struct uroce_qp *doorbells __rte_cache_aligned;	/* stack: posting threads push, the engine takes all */
};

/** The data room of an mbuf, without the headroom. For the payload pool mtu is the largest path MTU in use, for the
 * header pool UROCE_TX_INLINE_BYTES. Header mbufs are many and small, so that a ring full of them does not thrash the
 * cache. */
#define UROCE_ENGINE_ROOM(mtu) (UROCE_TEMPLATE_BYTES + 64 + (mtu) + 8)
/** Private area of the pools' mbufs, for uroce_mr_attach() and struct uroce_frame_route. It fills a cache line, so that
 * the headers start at one. */
#define UROCE_ENGINE_PRIV_BYTES RTE_ALIGN(sizeof(struct rte_mbuf_ext_shared_info), RTE_CACHE_LINE_SIZE)
/** Offset of the data from the start of such an mbuf. */
#define UROCE_ENGINE_DATA_OFFSET (sizeof(struct rte_mbuf) + UROCE_ENGINE_PRIV_BYTES + RTE_PKTMBUF_HEADROOM)

/* The destination of a frame that does not leave by its device's port at once. Then m->port is RTE_MBUF_PORT_INVALID, and
 * this is in the private area of the first mbuf. */
struct uroce_frame_route {
	union ibv_gid dgid;	/* the peer, whose MAC address is not known, or a multicast group */
	uint32_t dest_qpn;
	uint16_t port_id;	/* port of the QP's device */
	uint16_t out;		/* uroce_path.out */
};

static_assert(sizeof(struct uroce_frame_route) <= UROCE_ENGINE_PRIV_BYTES, "UROCE_ENGINE_PRIV_BYTES");

static inline struct uroce_frame_route *
uroce_frame_route(struct rte_mbuf *m)
{
	return (struct uroce_frame_route *)rte_mbuf_to_priv(m);
}

/** @param limits	NULL: the defaults. @return 0 or -ENOMEM */
int uroce_engine_init(struct uroce_engine *e, struct rte_mempool *header_pool, struct rte_mempool *payload_pool,
		      const struct uroce_engine_limits *limits, uint64_t now_ns);
/** Destroy an engine without QPs. The caller still owns the pools. */
void uroce_engine_fini(struct uroce_engine *e);

/**
 * Process parsed packets, each for a QP of this engine (uroce_qp_lookup()). The caller frees the mbufs after the call.
 * This and all functions below run within an RCU reader section.
 */
void uroce_engine_receive(struct uroce_engine *e, struct uroce_qp *const *qps,
			  const struct uroce_packet *packets, unsigned int n, uint64_t now_ns);

/**
 * Run timers, take doorbells, and build packets. A message leaves after each ACK that was owed when the application
 * posted the message, if completions show the order to the peer. They do if the ACK is for a request that completed a
 * receive at this end, or if the message completes a receive at the peer. An ACK that waits for READ responses delays
 * only messages of its own QP.
 * @param frames	set to frames, which the caller owns; m->port is the device's port, or see struct
 *			uroce_frame_route
 * @return	the number of frames; fewer than n: there is nothing more to send now
 */
unsigned int uroce_engine_send(struct uroce_engine *e, struct rte_mbuf **frames, unsigned int n,
			       uint64_t now_ns);

/**
 * Report that a round has received its bursts; the caller calls uroce_engine_send() next. Timers that wait for the peer
 * fire only after all frames that arrived before their deadline have been received: after a stall the engine processes
 * the ACKs in the rings before it retransmits. If this is never called, timers fire when they are due, and each ACK is
 * sent at once.
 *
 * @param now_ns	time at which the round began to receive
 * @param drained	every source has been drained
 */
static inline void
uroce_engine_heard(struct uroce_engine *e, uint64_t now_ns, bool drained)
{
	if (likely(drained)) {
		e->heard_ns = now_ns;
		e->unheard_rounds = 0;
	} else if (e->unheard_rounds == 0) {
		e->unheard_ns = now_ns;
		e->unheard_rounds = e->ring_rounds;
	} else if (--e->unheard_rounds == 0) {
		/* enough full bursts: all frames that were in the rings at unheard_ns have been received */
		e->heard_ns = e->unheard_ns;
	}
	if (e->acks.head != e->acks.tail || e->acks.reply_count != 0)
		uroce_acks_round(e);
	e->acks.packets = 0;
}

/** @return the latest deadline for which timers that wait for the peer may fire */
static inline uint64_t
uroce_engine_heard_by(const struct uroce_engine *e)
{
	return RTE_MIN(e->now_ns, e->heard_ns);
}

/** Have threads rung doorbells, other than those of thread domains, since the last uroce_engine_send()? Any thread. */
static inline bool
uroce_engine_has_doorbells(const struct uroce_engine *e)
{
	return __atomic_load_n(&e->doorbells, __ATOMIC_RELAXED) != NULL;
}

/** Has the application posted WQEs since the last uroce_engine_send()? */
static inline bool
uroce_engine_is_rung(const struct uroce_engine *e)
{
	const struct uroce_bells *bells;

	LIST_FOREACH(bells, &e->bells, link)
		if (!uroce_bells_is_empty(bells))
			return true;
	return uroce_engine_has_doorbells(e);
}

/**
 * Send owed ACKs and NAKs, but no messages: for a caller that may not call uroce_engine_send() again.
 * @return	as uroce_engine_send()
 */
unsigned int uroce_engine_send_owed(struct uroce_engine *e, struct rte_mbuf **frames, unsigned int n);

/** Let ACKs wait for the application's reply, to leave in one burst with it, for at most reply_ns; 0: no wait. For
 * applications that poll memory for incoming WRITEs while another thread polls the engine. */
static inline void
uroce_engine_wait_for_replies(struct uroce_engine *e, uint64_t reply_ns)
{
	e->acks.reply_ns = reply_ns;
}

/** @return the latest time for the next call of uroce_engine_send(), ns; UINT64_MAX: nothing is pending. It may be too
 * early: then that call does nothing. */
uint64_t uroce_engine_deadline(const struct uroce_engine *e);

/* The functions of the engine that a device calls for its QPs. */
extern const struct uroce_transport_ops uroce_transport_ops;
void uroce_engine_qp_changed(struct uroce_qp *qp, enum ibv_qp_state from, int attr_mask);
void uroce_engine_qp_query(const struct uroce_qp *qp, struct ibv_qp_attr *attr);
void uroce_engine_doorbell(struct uroce_qp *qp);		/* any thread */

/**
 * Move a QP to another engine, in any state of the QP, and give it a turn there. Retransmission goes on where it was,
 * unless a table of the other engine is full. Then the QP goes back N, drops the requests in its reorder buffer, or
 * sends without its rate. The calling thread runs both engines.
 *
 * @param now_ns	not before the time of either engine
 * @return	false: another thread is ringing the QP's doorbell, and nothing has changed: call again
 */
bool uroce_engine_qp_move(struct uroce_qp *qp, struct uroce_engine *to, uint64_t now_ns);

#endif /* UROCE_TRANSPORT_ENGINE_H */
