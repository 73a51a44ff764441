/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What the files of the communication manager share: a device's manager, its connections, and functions. Under the
 * lock of the caller of cm.h's functions. The rdma_cm calls do not include it.
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
	TAILQ_ENTRY(uroce_cm_conn) waiting_link; /* while a REP waits for its answer */
	bool in_remote;
	bool in_qpn;
	bool in_listen;
	bool active;   /* has sent the REQ */
	bool probed;   /* a probe was sent: its DREP ends the connection */
	bool orphan;   /* released by the consumer: no events, freed when it is over */
	uint8_t pins;  /* calls that hold it while the consumer is called */
	uint8_t state; /* enum uroce_cm_state */
	uint8_t qp_type;
	uint32_t local_id;
	uint32_t tid_high; /* of our own requests' transactions: as random as local_id */
	uint32_t remote_id;      /* of a SIDR exchange: the request's */
	uint64_t remote_ca_guid; /* network byte order */
	uint64_t tid;            /* of what is being answered, or of our own requests */
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
	uint8_t ack_timeout; /* the QP's */
	uint8_t target_ack_delay;
	uint8_t max_cm_retries;
	uint8_t retries_left;
	uint8_t response_timeout; /* of the peer's CM, 4.096 us << it */
	uint64_t interval_ns;     /* from a message to its repetition */
	uint64_t wait_ns;         /* the same until an MRA asks for longer */
	uint64_t give_up_ns; /* on the answer to a REP, whatever the peer wants; else UINT64_MAX */
	uint64_t probe_ns;   /* when the last probe was sent, if probed */
	uint16_t source;     /* of half_open_of, while it is half open */
	struct uroce_timer timer;
	struct uroce_cm_path path;
	uint32_t lap_count;              /* LAPs sent: each has its own transaction */
	int8_t mad_message;              /* enum uroce_cm_message of mad; -1: none */
	uint8_t mad[UROCE_CM_MAD_BYTES]; /* sent last, to be sent again */
};

/* The names of uroce_cm_query_counters(), behind those of each message sent and received. */
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
	TAILQ_HEAD(, uroce_cm_conn) waiting; /* those whose REP waits for its answer, oldest first */
	uint32_t lingering;
	bool started;       /* the wheel knows the time */
	uint64_t secret[2]; /* key of the tables' hash: no peer can choose IDs that collide */
	struct uroce_cm_table local;  /* by our communication ID */
	struct uroce_cm_table remote; /* by the peer's, and its CA's GUID; SIDR: and its GID */
	struct uroce_cm_table qpns;   /* by the peer's QPN and its CA's GUID: until TIMEWAIT */
	struct uroce_cm_table services;   /* listeners to one service ID */
	struct uroce_cm_conn_list masked; /* listeners to several */
	struct uroce_wheel wheel;
	/* any thread reads */
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

/** The hash of values that a peer chooses, with a key that it does not know. */
uint32_t uroce_cm_hash(const struct uroce_cm *cm, uint64_t a, uint64_t b);
/** The peer's place in half_open_of. Peers share a place when their hashes meet; the key is secret, so that none can
 * choose another's. */
uint16_t uroce_cm_source(const struct uroce_cm *cm, const union ibv_gid *gid);

/** @return 0 or -ENOMEM */
int uroce_cm_tables_create(struct uroce_cm *cm);
void uroce_cm_tables_destroy(struct uroce_cm *cm);
/** Give the connection a random communication ID that no other has, and random transaction IDs, so that no peer can
 * guess them. */
void uroce_cm_local_add(struct uroce_cm_conn *conn);
void uroce_cm_local_remove(struct uroce_cm_conn *conn);
struct uroce_cm_conn *uroce_cm_local_find(struct uroce_cm *cm, uint32_t id);
/** By conn's remote_id and remote_ca_guid. */
void uroce_cm_remote_add(struct uroce_cm_conn *conn);
void uroce_cm_remote_remove(struct uroce_cm_conn *conn);
struct uroce_cm_conn *uroce_cm_remote_find(struct uroce_cm *cm, uint32_t id, uint64_t ca_guid,
					   const union ibv_gid *dgid);
/** By conn's remote_id and the GID of its path. */
void uroce_cm_sidr_add(struct uroce_cm_conn *conn);
struct uroce_cm_conn *uroce_cm_sidr_find(struct uroce_cm *cm, uint32_t request_id,
					 const union ibv_gid *dgid);
void uroce_cm_qpn_add(struct uroce_cm_conn *conn);
void uroce_cm_qpn_remove(struct uroce_cm_conn *conn);
struct uroce_cm_conn *uroce_cm_qpn_find(struct uroce_cm *cm, uint32_t qpn, uint64_t ca_guid,
					const union ibv_gid *dgid);
void uroce_cm_listen_add(struct uroce_cm_conn *conn);
void uroce_cm_listen_remove(struct uroce_cm_conn *conn);
/** The listener to the service ID behind `after`; NULL: the first.
 * @return NULL: there is no other */
struct uroce_cm_conn *uroce_cm_listen_next(struct uroce_cm *cm, uint64_t service_id,
					   const struct uroce_cm_conn *after);

/* ---- conn.c: life ---- */

/** The wheel starts when the time is first told. */
void uroce_cm_start(struct uroce_cm *cm, uint64_t now_ns);
struct uroce_cm_conn *uroce_cm_conn_alloc(struct uroce_cm *cm, void *user);
/** To a state, with all that it means for tables, timers and counts. */
void uroce_cm_conn_enter(struct uroce_cm_conn *conn, enum uroce_cm_state state, uint64_t now_ns);
/** Free it if the consumer has let go of it and it is over. The caller forgets it. */
void uroce_cm_conn_settle(struct uroce_cm_conn *conn);
/** Tell the consumer, if there is one. The connection stays while it is called, unless settled.
 * @return what the consumer did */
int uroce_cm_conn_raise(struct uroce_cm_conn *conn, struct uroce_cm_event *event);

/* ---- half_open.c: how much peers may begin ---- */

/** Is there room for one more, of this peer? Another connection may be given up for it. Else it is
 * counted, and to be dropped. */
bool uroce_cm_half_open_admit(struct uroce_cm *cm, const union ibv_gid *gid, uint64_t now_ns);

/* ---- send.c: messages of a connection ---- */

/** Within response_timeout, and the way there and back, the peer answers: what it says of itself is
 * bounded. */
void uroce_cm_set_interval(struct uroce_cm_conn *conn, uint8_t response_timeout);

/** The timer, as long as the connection waits for an answer: wait_ns, and no longer than there is
 * patience. */
void uroce_cm_wait_for_answer(struct uroce_cm_conn *conn, uint64_t now_ns);

void uroce_cm_transmit(struct uroce_cm *cm, const struct uroce_cm_path *path,
		       enum uroce_cm_message message, const uint8_t *mad);
/** Send the last answer again, or what it was without its private data. */
void uroce_cm_answer_again(struct uroce_cm_conn *conn, enum uroce_cm_message duplicate);
/** Retransmit the request that waits for its answer, and wait. */
void uroce_cm_retransmit(struct uroce_cm_conn *conn, uint64_t now_ns);
/** Probe the peer of an established connection: a peer that has lost the connection answers by DREP. */
void uroce_cm_send_probe(struct uroce_cm_conn *conn, uint64_t now_ns);
/** Is the DREP the answer to a probe? */
bool uroce_cm_answers_probe(const struct uroce_cm_conn *conn, const uint8_t *drep);

/* ---- reply.c: answers to messages without a connection ---- */

void uroce_cm_reply_rej(struct uroce_cm *cm, const struct uroce_cm_path *path, const uint8_t *mad,
			enum uroce_cm_about about, uint16_t reason, const void *info,
			uint8_t info_bytes);
void uroce_cm_reply_drep(struct uroce_cm *cm, const struct uroce_cm_path *path, const uint8_t *mad);
void uroce_cm_reply_apr(struct uroce_cm *cm, const struct uroce_cm_path *path, const uint8_t *mad,
			uint8_t status);
void uroce_cm_reply_sidr(struct uroce_cm *cm, const struct uroce_cm_path *path, const uint8_t *mad,
			 uint8_t status);

/* ---- request.c, resolve.c: what begins something ---- */

void uroce_cm_receive_req(struct uroce_cm *cm, const uint8_t *mad, const struct uroce_cm_path *path,
			  uint64_t now_ns);
void uroce_cm_receive_sidr_req(struct uroce_cm *cm, const uint8_t *mad,
			       const struct uroce_cm_path *path, uint64_t now_ns);
/** Ask the listeners in turn. @return 0: one has taken it; else the last one's answer, or `none` if
 * there is no listener */
int uroce_cm_offer(struct uroce_cm_conn *conn, struct uroce_cm_event *event, int none);

/* ---- receive.c: what goes on ---- */

/** Apply a message to its connection as the state table says. */
void uroce_cm_handle(struct uroce_cm_conn *conn, enum uroce_cm_message message, const uint8_t *mad,
		     uint64_t now_ns);
/** A REQ or REP names the peer's QP of the connection. It may be forged, so the connection does not end:
 * the peer is probed. */
void uroce_cm_suspect_stale(struct uroce_cm_conn *conn, uint64_t now_ns);

/* ---- attr.c ---- */

/** The local ACK timeout: the power of two that covers the round trip and the responder's delay. */
uint8_t uroce_cm_ack_timeout(uint8_t ack_delay, uint8_t packet_life_time);

#endif /* UROCE_CM_IB_INTERNAL_H */
