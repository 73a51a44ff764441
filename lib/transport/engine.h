/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * An engine: the transport of some QPs. No I/O, no clock, no lock: the caller passes in packets and `now`, and takes out
 * frames and the next deadline. One thread at a time calls it; any thread may call uroce_engine_doorbell().
 *
 * The folders of lib/transport; the index of each is the first comment of its header:
 *
 *	responder/	executes the peer's requests and answers them
 *	requester/	sends the application's work requests, retransmits, completes
 *	unreliable/	UC and UD, both directions
 *	congestion/	ECN marks, CNPs, DCQCN's rate, pacing
 *	packet/		builds frames
 *	qp/		turns, WQEs and the error state, for all transports
 *	engine.c	dispatches packets and timers; gives QPs turns to send
 *	qp_change.c	applies a change of a QP's state, by a table
 *	psn_set.h	a set of PSNs within a window
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
#include "transport/requester/recovery.h"
#include "transport/responder/ack.h"
#include "transport/responder/reorder.h"
#include "base/timer_wheel.h"
#include "verbs/device/device.h"
#include "wire/packet.h"
#include "wire/verdict.h"

/* Counters of an engine. Received packets are also counted by verdict, in verdicts[]. */
enum uroce_engine_counter {
	UROCE_SENT_PACKETS,
	UROCE_SENT_BYTES,		/* payload */
	UROCE_RECEIVED_BYTES,		/* payload placed */
	UROCE_SENT_ACKS,
	UROCE_RX_WRITE_REQUESTS,	/* messages */
	UROCE_RDMA_SENDS,		/* SENDs completed */
	UROCE_RDMA_RECVS,		/* receive requests completed */
	UROCE_RX_READ_REQUESTS,
	UROCE_RX_ATOMIC_REQUESTS,
	UROCE_SENT_NAKS,
	UROCE_SENT_RNR_NAKS,
	UROCE_SENT_SACKS,
	UROCE_RETRANSMITTED_PACKETS,
	UROCE_TIMEOUTS,
	UROCE_PROBES,			/* probes sent before a transport timeout */
	UROCE_SENT_ASKS,
	UROCE_SACKS_RECEIVED,
	UROCE_NAKS_RECEIVED,
	UROCE_RNR_NAKS_RECEIVED,
	UROCE_ZERO_COPY_PACKETS,
	UROCE_NO_MBUF,			/* a pool was empty; the QP tries again */
	UROCE_CQ_OVERRUNS,
	/* named as Linux names them */
	UROCE_NP_ECN_MARKED_PACKETS,	/* received with CE */
	UROCE_NP_CNP_SENT,
	UROCE_RP_CNP_HANDLED,
	UROCE_RP_CNP_IGNORED,		/* CNPs that slowed down no QP */
	UROCE_EARLY_DROPPED,		/* frames that left the reorder buffer without execution */
	UROCE_EARLY_EXPIRED,		/* frames of these that were kept for too long */
	/* named as Linux names them: retransmission requests, and completions with an error */
	UROCE_PACKET_SEQ_ERR,		/* sequence NAKs received */
	UROCE_COMPLETER_RETRY_ERR,	/* retries charged to a QP's retry_cnt */
	UROCE_REQ_CQE_ERROR,		/* send WQEs that failed or were flushed */
	UROCE_REQ_CQE_FLUSH_ERROR,
	UROCE_REQ_REMOTE_INVALID_REQUEST,
	UROCE_REQ_REMOTE_ACCESS_ERRORS,
	UROCE_REQ_TRANSPORT_RETRIES_EXCEEDED,
	UROCE_REQ_RNR_RETRIES_EXCEEDED,
	UROCE_RESP_CQE_ERROR,		/* receive WQEs that failed or were flushed */
	UROCE_RESP_CQE_FLUSH_ERROR,
	UROCE_RESP_LOCAL_LENGTH_ERROR,
	UROCE_ENGINE_COUNTER_COUNT,
};

extern const char *const uroce_engine_counter_names[UROCE_ENGINE_COUNTER_COUNT];

struct uroce_engine {
	uint64_t now_ns;
	struct rte_mempool *header_pool;	/* headers, small payloads, external segments */
	struct rte_mempool *payload_pool;	/* copied payloads */
	struct uroce_wheel wheel;	/* of QPs */
	struct uroce_wheel cq_wheel;	/* of moderated CQs */
	uint32_t cq_timers;		/* timers in cq_wheel */
	uint32_t rated;			/* QPs that have a rate */
	uint32_t cnp_count;
	TAILQ_HEAD(uroce_qp_list, uroce_qp) active;	/* QPs with something to send, each once */
	struct uroce_qp_list later;	/* QPs whose turn is in the next call of uroce_engine_send(), by active_link */
	struct uroce_qp *failed;	/* QPs that failed in the current call from the engine, by failed_next */
	bool yield;			/* a long FLUSH is to go on in the next round */
	uint64_t heard_ns;		/* all frames that arrived by then have been received; UINT64_MAX: always all */
	uint64_t unheard_ns;		/* becomes heard_ns after unheard_rounds rounds */
	uint32_t unheard_rounds;	/* rounds left; 0: no frames are known to wait */
	uint32_t ring_rounds;		/* rounds that it takes to receive the largest RX ring */
	struct uroce_reorder_store reorder;
	struct uroce_recoveries recoveries;
	uint64_t verdicts[UROCE_VERDICT_COUNT];		/* engine: rw, others: relaxed read */
	/* the first line is that of good packets */
	uint64_t counters[UROCE_ENGINE_COUNTER_COUNT] __rte_cache_aligned;
	struct rte_mbuf *cnps[UROCE_CNPS];	/* to be sent before all else */
	struct uroce_pacer pacer;
	struct uroce_acks acks __rte_cache_aligned;
	/* any thread */
	struct uroce_qp *doorbells __rte_cache_aligned;	/* stack: posters push, the engine takes all */
};

/** The data room, beside the headroom, of mbufs of the payload pool, for the largest path MTU in use, and of
 * the header pool, with UROCE_TX_INLINE_BYTES for mtu. Header mbufs are many and small, so that a ring full of
 * them does not thrash the cache. */
#define UROCE_ENGINE_ROOM(mtu) (UROCE_TEMPLATE_BYTES + 64 + (mtu) + 8)
/** Private area of the pools' mbufs, for uroce_mr_attach() and struct uroce_frame_route; a whole line, so that headers
 * begin with one. */
#define UROCE_ENGINE_PRIV_BYTES RTE_ALIGN(sizeof(struct rte_mbuf_ext_shared_info), RTE_CACHE_LINE_SIZE)
/** Where the data of such mbufs begin, from the mbuf on. */
#define UROCE_ENGINE_DATA_OFFSET (sizeof(struct rte_mbuf) + UROCE_ENGINE_PRIV_BYTES + RTE_PKTMBUF_HEADROOM)

/* The destination of a frame that does not leave by its device's port at once. Then m->port is RTE_MBUF_PORT_INVALID, and
 * this is in the private area of the first mbuf. */
struct uroce_frame_route {
	union ibv_gid dgid;	/* the peer whose MAC address is not known, or a multicast group */
	uint32_t dest_qpn;
	uint16_t port_id;	/* of the device */
	uint16_t out;		/* uroce_path.out */
};

static_assert(sizeof(struct uroce_frame_route) <= UROCE_ENGINE_PRIV_BYTES, "UROCE_ENGINE_PRIV_BYTES");

static inline struct uroce_frame_route *
uroce_frame_route(struct rte_mbuf *m)
{
	return (struct uroce_frame_route *)rte_mbuf_to_priv(m);
}

/** @return 0 or -ENOMEM; uroce_engine_fini() */
int uroce_engine_init(struct uroce_engine *e, struct rte_mempool *header_pool,
		      struct rte_mempool *payload_pool, uint64_t now_ns);
/** All its QPs are detached. The pools stay the caller's. */
void uroce_engine_fini(struct uroce_engine *e);

/**
 * Process decoded packets, each for a QP of this engine (uroce_qp_lookup()). The mbufs stay the caller's,
 * to free after the call. Within an RCU reader section, as all below.
 */
void uroce_engine_receive(struct uroce_engine *e, struct uroce_qp *const *qps,
			  const struct uroce_packet *packets, unsigned int n, uint64_t now_ns);

/**
 * Expire timers, take doorbells, and cut packets. A message leaves behind each ACK that was owed when it was posted, if
 * completions show the order to the peer: the ACK is for a request that completed a receive here, or the message
 * completes a receive there. An ACK that waits for READ responses delays only the messages of its own QP.
 * @param frames	from the Ethernet header on; m->port is the device's port, or see struct uroce_frame_route; the
 *			caller owns them
 * @return	how many, up to n; fewer: there is nothing more to send now
 */
unsigned int uroce_engine_send(struct uroce_engine *e, struct rte_mbuf **frames, unsigned int n,
			       uint64_t now_ns);

/**
 * A round has received its bursts, and calls uroce_engine_send() next. Timers that wait for the peer fire only once all
 * frames that arrived before their deadline have been received: after a stall the worker reads the ACKs in the rings
 * before it retransmits. An engine without rounds fires timers when they are due, and sends each ACK at once.
 *
 * @param now_ns	time before the round received
 * @param drained	every source returned fewer frames than requested
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
		/* all bursts were full: the frames that were in the rings at unheard_ns have been received */
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

/** Has the application posted WQEs since the last uroce_engine_send()? */
static inline bool
uroce_engine_is_rung(const struct uroce_engine *e)
{
	return __atomic_load_n(&e->doorbells, __ATOMIC_RELAXED) != NULL;
}

/**
 * Send what the engine owes to peers, and no messages: for a caller that is not sure to call uroce_engine_send() again.
 * @return	as uroce_engine_send()
 */
unsigned int uroce_engine_send_owed(struct uroce_engine *e, struct rte_mbuf **frames, unsigned int n);

/** The applications of this engine poll memory, while another thread polls the engine: wait for their replies, so long
 * at most, to send ACKs with them. 0: do not wait. */
static inline void
uroce_engine_wait_for_replies(struct uroce_engine *e, uint64_t reply_ns)
{
	e->acks.reply_ns = reply_ns;
}

/** When uroce_engine_send() has to be called at the latest, ns; UINT64_MAX: nothing is pending. A lower
 * bound: there may be nothing to do yet. */
uint64_t uroce_engine_deadline(const struct uroce_engine *e);

/* The calls that a device makes of its QPs' engines. */
extern const struct uroce_transport_ops uroce_transport_ops;
void uroce_engine_qp_changed(struct uroce_qp *qp, enum ibv_qp_state from, int attr_mask);
void uroce_engine_qp_query(const struct uroce_qp *qp, struct ibv_qp_attr *attr);
void uroce_engine_doorbell(struct uroce_qp *qp);		/* any thread */

#endif /* UROCE_TRANSPORT_ENGINE_H */
