/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Structs and functions that the files of the communication manager share: a device's manager and its connections. All
 * under the lock that callers of cm.h's functions hold. The rdma_cm calls do not include it.
 */

#ifndef UROCE_CM_IB_INTERNAL_H
#define UROCE_CM_IB_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cm/ib/cm.h"
#include "cm/ib/mad.h"
#include "cm/ib/state.h"
#include "base/timer_wheel.h"
#include "uroce_config.h"

LIST_HEAD(uroce_cm_conn_list, uroce_cm_conn);

struct uroce_cm_table {
	struct uroce_cm_conn_list *buckets;
	uint32_t mask;
};

struct uroce_cm_conn {
	struct uroce_cm *cm;
	void *user;
	LIST_ENTRY(uroce_cm_conn) local_link;  /* always */
	LIST_ENTRY(uroce_cm_conn) remote_link; /* while in_remote */
	LIST_ENTRY(uroce_cm_conn) qpn_link;    /* while in_qpn */
	LIST_ENTRY(uroce_cm_conn) listen_link; /* while in_listen */
	TAILQ_ENTRY(uroce_cm_conn) waiting_link; /* while a REP waits for its reply */
	bool in_remote;
	bool in_qpn;
	bool in_listen;
	bool active;   /* this end has sent the REQ */
	bool probed;   /* a probe was sent: its DREP ends the connection */
	bool orphan;   /* released by the consumer: no events, freed when it has ended */
	uint8_t pins;  /* calls into the consumer that keep it from being freed */
	uint8_t state; /* enum uroce_cm_state */
	uint8_t qp_type;
	uint32_t local_id;
	uint32_t tid_high; /* random upper half of the transaction IDs of this end's requests */
	uint32_t remote_id;      /* SIDR: the request ID */
	uint64_t remote_ca_guid; /* network byte order */
	uint64_t tid;            /* transaction ID of the message to reply to, or of this end's request */
	uint64_t service_id;
	uint64_t service_mask; /* of a listener */
	uint32_t local_qpn;
	uint32_t remote_qpn;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t ack_timeout; /* of the QP */
	uint8_t target_ack_delay;
	uint8_t max_cm_retries;
	uint8_t retries_left;
	uint8_t response_timeout; /* of the peer's CM, 4.096 us << it */
	uint64_t interval_ns;     /* from a message to its retransmission */
	uint64_t wait_ns;         /* interval_ns, or longer after an MRA */
	uint64_t give_up_ns; /* deadline for the reply to a REP, even after an MRA; else UINT64_MAX */
	uint64_t probe_ns;   /* when the last probe was sent, if probed */
	uint16_t source;     /* index into half_open_of, while it is half open */
	struct uroce_timer timer;
	struct uroce_cm_path path;
	uint32_t lap_count;              /* LAPs sent: each has its own transaction */
	int8_t mad_message;              /* enum uroce_cm_message of mad; -1: none */
	uint8_t mad[UROCE_CM_MAD_BYTES]; /* the last message sent, for retransmission */
};

/* Counters of uroce_cm_query_counters(), after those of each message sent and received. */
#define UROCE_CM_COUNTERS(X)  \
	X(retransmitted)      \
	X(answered_again)     \
	X(duplicate)          \
	X(drop_malformed)     \
	X(drop_class_version) \
	X(drop_unknown_id)    \
	X(drop_unexpected)    \
	X(drop_half_open)     \
	X(drop_half_open_gid) \
	X(drop_tid)           \
	X(half_open_evicted)  \
	X(half_open_expired)  \
	X(departed)           \
	X(rej_stale)          \
	X(rej_service_id)     \
	X(rej_no_resources)   \
	X(rej_invalid)

enum uroce_cm_counter {
#define UROCE_CM_COUNTER(name) UROCE_CM_COUNT_##name,
	UROCE_CM_COUNTERS(UROCE_CM_COUNTER)
#undef UROCE_CM_COUNTER
	UROCE_CM_COUNTER_COUNT,
};

struct uroce_cm {
	struct uroce_cm_conf conf;
	uint32_t conns;
	uint32_t half_open;
	uint16_t half_open_of[UROCE_CM_SOURCES]; /* by peer */
	TAILQ_HEAD(, uroce_cm_conn) waiting; /* connections whose REP waits for its reply, oldest first */
	uint32_t lingering; /* connections in SIDR_REP_SENT */
	bool started;       /* the wheel is initialized */
	uint64_t secret[2]; /* key of the tables' hash: no peer can choose IDs that collide */
	struct uroce_cm_table local;  /* by this end's communication ID */
	struct uroce_cm_table remote; /* by the peer's communication ID and CA GUID; SIDR: request ID and GID */
	struct uroce_cm_table qpns;   /* by the peer's QPN and CA GUID, until TIMEWAIT */
	struct uroce_cm_table services;   /* listeners for one service ID */
	struct uroce_cm_conn_list masked; /* listeners for several service IDs */
	struct uroce_wheel wheel;
	/* read by any thread */
	uint64_t sent[UROCE_CM_MESSAGE_COUNT];
	uint64_t received[UROCE_CM_MESSAGE_COUNT];
	uint64_t counters[UROCE_CM_COUNTER_COUNT];
};

static inline void
uroce_cm_bump(uint64_t *counter)
{
	/* one writer; pairs with the reads in uroce_cm_query_counters() */
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

#define UROCE_CM_BUMP(cm, name) uroce_cm_bump(&(cm)->counters[UROCE_CM_COUNT_##name])

static inline uint64_t
uroce_cm_timeout_ns(unsigned int exponent)
{
	return UINT64_C(4096) << RTE_MIN(exponent, 31u);
}

static inline bool
uroce_cm_same_gid(const union ibv_gid *a, const union ibv_gid *b)
{
	return a->global.subnet_prefix == b->global.subnet_prefix &&
	       a->global.interface_id == b->global.interface_id;
}

/* ---- lookup.c: tables ---- */

/** Hash values that a peer chooses, with a key that it does not know. */
uint32_t uroce_cm_hash(const struct uroce_cm *cm, uint64_t a, uint64_t b);
/** @return the peer's index into half_open_of. Peers with equal hashes share one; the key is secret, so that no peer
 * can choose the index of another. */
uint16_t uroce_cm_source(const struct uroce_cm *cm, const union ibv_gid *gid);

/** @return 0 or -ENOMEM */
int uroce_cm_tables_create(struct uroce_cm *cm);
void uroce_cm_tables_destroy(struct uroce_cm *cm);
/** Give the connection a random communication ID that no other has, and random transaction IDs, so that no peer can
 * guess them. */
void uroce_cm_local_add(struct uroce_cm_conn *conn);
void uroce_cm_local_remove(struct uroce_cm_conn *conn);
struct uroce_cm_conn *uroce_cm_local_find(struct uroce_cm *cm, uint32_t id);
/** Add it by its remote_id and remote_ca_guid. */
void uroce_cm_remote_add(struct uroce_cm_conn *conn);
void uroce_cm_remote_remove(struct uroce_cm_conn *conn);
struct uroce_cm_conn *uroce_cm_remote_find(struct uroce_cm *cm, uint32_t id, uint64_t ca_guid,
					   const union ibv_gid *dgid);
/** Add it by its remote_id and the peer's GID. */
void uroce_cm_sidr_add(struct uroce_cm_conn *conn);
struct uroce_cm_conn *uroce_cm_sidr_find(struct uroce_cm *cm, uint32_t request_id,
					 const union ibv_gid *dgid);
void uroce_cm_qpn_add(struct uroce_cm_conn *conn);
void uroce_cm_qpn_remove(struct uroce_cm_conn *conn);
struct uroce_cm_conn *uroce_cm_qpn_find(struct uroce_cm *cm, uint32_t qpn, uint64_t ca_guid,
					const union ibv_gid *dgid);
void uroce_cm_listen_add(struct uroce_cm_conn *conn);
void uroce_cm_listen_remove(struct uroce_cm_conn *conn);
/** @param after	NULL: find the first listener
 * @return the next listener for the service ID; NULL: there is none */
struct uroce_cm_conn *uroce_cm_listen_next(struct uroce_cm *cm, uint64_t service_id,
					   const struct uroce_cm_conn *after);

/* ---- conn.c: life ---- */

/** Initialize the wheel, in the first call that passes the time. */
void uroce_cm_start(struct uroce_cm *cm, uint64_t now_ns);
struct uroce_cm_conn *uroce_cm_conn_alloc(struct uroce_cm *cm, void *user);
/** Move it to a state, and update tables, timers and counts. */
void uroce_cm_conn_enter(struct uroce_cm_conn *conn, enum uroce_cm_state state, uint64_t now_ns);
/** Free it if the consumer has released it and it has ended. The caller must not use it any more. */
void uroce_cm_conn_settle(struct uroce_cm_conn *conn);
/** Pass the event to the consumer, unless it has released the connection. The connection is not freed meanwhile.
 * @return the consumer's result */
int uroce_cm_conn_raise(struct uroce_cm_conn *conn, struct uroce_cm_event *event);

/* ---- half_open.c: limits of unfinished handshakes ---- */

/** Is there room for one more of this peer? Another connection may be evicted for it. @return false: the request is
 * counted, and the caller drops it */
bool uroce_cm_half_open_admit(struct uroce_cm *cm, const union ibv_gid *gid, uint64_t now_ns);

/* ---- send.c: messages of a connection ---- */

/** Set the retransmission interval: the peer's response_timeout, within limits, and the round trip. */
void uroce_cm_set_interval(struct uroce_cm_conn *conn, uint8_t response_timeout);

/** Arm the timer for wait_ns, but not beyond give_up_ns. */
void uroce_cm_wait_for_answer(struct uroce_cm_conn *conn, uint64_t now_ns);

void uroce_cm_transmit(struct uroce_cm *cm, const struct uroce_cm_path *path,
		       enum uroce_cm_message message, const uint8_t *mad);
/** Retransmit the last reply, or one like it without its private data. */
void uroce_cm_answer_again(struct uroce_cm_conn *conn, enum uroce_cm_message duplicate);
/** Retransmit the request that waits for its reply, and arm the timer. */
void uroce_cm_retransmit(struct uroce_cm_conn *conn, uint64_t now_ns);
/** Probe the peer of an established connection: a peer that has lost the connection replies with a DREP. */
void uroce_cm_send_probe(struct uroce_cm_conn *conn, uint64_t now_ns);
/** Is the DREP the reply to a probe? */
bool uroce_cm_answers_probe(const struct uroce_cm_conn *conn, const uint8_t *drep);

/* ---- reply.c: replies to messages without a connection ---- */

void uroce_cm_reply_rej(struct uroce_cm *cm, const struct uroce_cm_path *path, const uint8_t *mad,
			enum uroce_cm_about about, uint16_t reason, const void *info,
			uint8_t info_bytes);
void uroce_cm_reply_drep(struct uroce_cm *cm, const struct uroce_cm_path *path, const uint8_t *mad);
void uroce_cm_reply_apr(struct uroce_cm *cm, const struct uroce_cm_path *path, const uint8_t *mad,
			uint8_t status);
void uroce_cm_reply_sidr(struct uroce_cm *cm, const struct uroce_cm_path *path, const uint8_t *mad,
			 uint8_t status);

/* ---- request.c, resolve.c: REQ and SIDR_REQ ---- */

void uroce_cm_receive_req(struct uroce_cm *cm, const uint8_t *mad, const struct uroce_cm_path *path,
			  uint64_t now_ns);
void uroce_cm_receive_sidr_req(struct uroce_cm *cm, const uint8_t *mad,
			       const struct uroce_cm_path *path, uint64_t now_ns);
/** Offer a connection to the listeners in turn. @return 0: one has taken it; else the result of the last, or `none` if
 * there is no listener */
int uroce_cm_offer(struct uroce_cm_conn *conn, struct uroce_cm_event *event, int none);

/* ---- receive.c: the other messages ---- */

/** Apply a message to its connection as the state table says. */
void uroce_cm_handle(struct uroce_cm_conn *conn, enum uroce_cm_message message, const uint8_t *mad,
		     uint64_t now_ns);
/** A new REQ or REP has the peer QPN of this connection. The message may be forged, so probe the peer instead of ending
 * the connection. */
void uroce_cm_suspect_stale(struct uroce_cm_conn *conn, uint64_t now_ns);

/* ---- attr.c ---- */

/** The local ACK timeout: the power of two that covers the round trip and the responder's delay. */
uint8_t uroce_cm_ack_timeout(uint8_t ack_delay, uint8_t packet_life_time);

#endif /* UROCE_CM_IB_INTERNAL_H */
