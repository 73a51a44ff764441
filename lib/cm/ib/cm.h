/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The communication manager of one device: exchanges MADs over QP1 (class 0x07) with the peers' managers to make
 * connections, end them, and resolve service IDs (SIDR). No I/O, no clock, no lock: MADs and `now` in, MADs, events
 * and the next deadline out. One thread at a time calls it, under a lock of the caller's; lib/port drives it, and
 * the rdma_cm calls are its consumer.
 */

#ifndef UROCE_CM_IB_CM_H
#define UROCE_CM_IB_CM_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define UROCE_CM_MAD_BYTES 256

/* Private data that fits into each message, bytes. */
#define UROCE_CM_REQ_PRIVATE_BYTES 92
#define UROCE_CM_MRA_PRIVATE_BYTES 222
#define UROCE_CM_REJ_PRIVATE_BYTES 148
#define UROCE_CM_REP_PRIVATE_BYTES 196
#define UROCE_CM_RTU_PRIVATE_BYTES 224
#define UROCE_CM_DREQ_PRIVATE_BYTES 220
#define UROCE_CM_DREP_PRIVATE_BYTES 224
#define UROCE_CM_LAP_PRIVATE_BYTES 168
#define UROCE_CM_APR_PRIVATE_BYTES 148
#define UROCE_CM_SIDR_REQ_PRIVATE_BYTES 216
#define UROCE_CM_SIDR_REP_PRIVATE_BYTES 136
#define UROCE_CM_MAX_PRIVATE_BYTES 224

#define UROCE_CM_REJ_INFO_BYTES 72
#define UROCE_CM_APR_INFO_BYTES 72
#define UROCE_CM_SIDR_INFO_BYTES 72

struct uroce_cm;
/* One end of a connection in the making, made, or in TIMEWAIT; of a SIDR exchange; or a listener. */
struct uroce_cm_conn;

/* The way to the other communication manager and, in a REQ, between the QPs. */
struct uroce_cm_path {
	union ibv_gid sgid;		/* ours */
	union ibv_gid dgid;		/* the peer's */
	uint8_t sgid_index;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t sl;
	uint32_t flow_label;		/* 20 bits */
	uint16_t pkey;
	uint8_t mtu;			/* enum ibv_mtu */
	uint8_t packet_life_time;	/* 4.096 us << it, 5 bits */
};

struct uroce_cm_private {
	const void *data;		/* valid during the call */
	uint8_t bytes;
};

/* A REQ as it is sent, or as it was received, seen from here: local is ours, remote the peer's; a peer's initiator
 * depth is our responder resources and the other way round. */
struct uroce_cm_req {
	uint64_t service_id;
	uint64_t ca_guid;		/* received: the peer's, network byte order; sent: conf's, whatever is here */
	struct uroce_cm_path path;	/* received: seen from here */
	struct uroce_cm_path alternate;	/* dgid all zero: none */
	uint32_t qpn;			/* of the sender's QP */
	uint32_t qkey;
	uint32_t starting_psn;
	uint32_t srqn;
	uint32_t ece_vendor_id;		/* 24 bits: enhanced connection establishment; 0: none */
	uint32_t ece_attr_mod;
	uint8_t qp_type;		/* enum ibv_qp_type: RC, UC, XRC_SEND; received: RC, UC, XRC_RECV */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t remote_cm_response_timeout;	/* 4.096 us << it, 5 bits: within which the peer's CM answers */
	uint8_t local_cm_response_timeout;	/* … and ours */
	uint8_t local_ack_timeout;	/* primary path's, 5 bits; 0: made of packet_life_time and ca_ack_delay */
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t max_cm_retries;
	bool flow_control;
	bool srq;
	struct uroce_cm_private priv;
};

/* Seen from here, as a REQ. */
struct uroce_cm_rep {
	uint64_t ca_guid;		/* received */
	uint32_t qpn;
	uint32_t qkey;
	uint32_t starting_psn;
	uint32_t ece_vendor_id;
	uint32_t ece_attr_mod;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t target_ack_delay;	/* received; sent: conf's ca_ack_delay, whatever is here */
	uint8_t failover_accepted;
	uint8_t rnr_retry_count;
	bool flow_control;
	bool srq;
	struct uroce_cm_private priv;
};

/* REJ reasons of the specification: 1-33 and 35. */
enum uroce_cm_rej_reason {
	UROCE_CM_REJ_NO_QP = 1,
	UROCE_CM_REJ_NO_EEC = 2,
	UROCE_CM_REJ_NO_RESOURCES = 3,
	UROCE_CM_REJ_TIMEOUT = 4,
	UROCE_CM_REJ_UNSUPPORTED = 5,
	UROCE_CM_REJ_INVALID_COMM_ID = 6,
	UROCE_CM_REJ_INVALID_COMM_INSTANCE = 7,
	UROCE_CM_REJ_INVALID_SERVICE_ID = 8,
	UROCE_CM_REJ_INVALID_TRANSPORT_TYPE = 9,
	UROCE_CM_REJ_STALE_CONNECTION = 10,
	UROCE_CM_REJ_RDC_NOT_EXIST = 11,
	UROCE_CM_REJ_INVALID_GID = 12,
	UROCE_CM_REJ_INVALID_LID = 13,
	UROCE_CM_REJ_INVALID_SL = 14,
	UROCE_CM_REJ_INVALID_TRAFFIC_CLASS = 15,
	UROCE_CM_REJ_INVALID_HOP_LIMIT = 16,
	UROCE_CM_REJ_INVALID_PACKET_RATE = 17,
	UROCE_CM_REJ_INVALID_ALT_GID = 18,
	UROCE_CM_REJ_INVALID_ALT_LID = 19,
	UROCE_CM_REJ_INVALID_ALT_SL = 20,
	UROCE_CM_REJ_INVALID_ALT_TRAFFIC_CLASS = 21,
	UROCE_CM_REJ_INVALID_ALT_HOP_LIMIT = 22,
	UROCE_CM_REJ_INVALID_ALT_PACKET_RATE = 23,
	UROCE_CM_REJ_PORT_CM_REDIRECT = 24,
	UROCE_CM_REJ_PORT_REDIRECT = 25,
	UROCE_CM_REJ_INVALID_MTU = 26,
	UROCE_CM_REJ_INSUFFICIENT_RESP_RESOURCES = 27,
	UROCE_CM_REJ_CONSUMER_DEFINED = 28,
	UROCE_CM_REJ_INVALID_RNR_RETRY = 29,
	UROCE_CM_REJ_DUPLICATE_LOCAL_COMM_ID = 30,
	UROCE_CM_REJ_INVALID_CLASS_VERSION = 31,
	UROCE_CM_REJ_INVALID_FLOW_LABEL = 32,
	UROCE_CM_REJ_INVALID_ALT_FLOW_LABEL = 33,
	UROCE_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED = 35,
};

enum uroce_cm_sidr_status {
	UROCE_CM_SIDR_SUCCESS,
	UROCE_CM_SIDR_UNSUPPORTED,
	UROCE_CM_SIDR_REJECT,
	UROCE_CM_SIDR_NO_QP,
	UROCE_CM_SIDR_REDIRECT,
	UROCE_CM_SIDR_UNSUPPORTED_VERSION,
};

enum uroce_cm_event_type {
	UROCE_CM_REQ_RECEIVED,		/* conn: a new one, whose listener is conn_listener */
	UROCE_CM_REQ_ERROR,		/* no answer */
	UROCE_CM_REP_RECEIVED,
	UROCE_CM_REP_ERROR,
	UROCE_CM_RTU_RECEIVED,		/* or what else shows that the peer is connected */
	UROCE_CM_REJ_RECEIVED,
	UROCE_CM_MRA_RECEIVED,
	UROCE_CM_LAP_RECEIVED,
	UROCE_CM_APR_RECEIVED,
	UROCE_CM_LAP_ERROR,
	UROCE_CM_DREQ_RECEIVED,
	UROCE_CM_DREP_RECEIVED,
	UROCE_CM_DREQ_ERROR,
	UROCE_CM_TIMEWAIT_EXIT,		/* the QP's number and PSNs may be used again */
	UROCE_CM_SIDR_REQ_RECEIVED,
	UROCE_CM_SIDR_REP_RECEIVED,
	UROCE_CM_SIDR_REQ_ERROR,
};

struct uroce_cm_sidr_rep {
	uint32_t qpn;
	uint32_t qkey;
	uint8_t status;			/* enum uroce_cm_sidr_status */
	struct uroce_cm_private priv;
};

struct uroce_cm_event {
	enum uroce_cm_event_type type;
	struct uroce_cm_conn *conn;
	struct uroce_cm_conn *listener;	/* of a REQ or SIDR_REQ received */
	struct uroce_cm_private priv;	/* of the message that it is about */
	union {
		const struct uroce_cm_req *req;		/* REQ_RECEIVED */
		const struct uroce_cm_rep *rep;		/* REP_RECEIVED */
		struct {
			uint16_t reason;		/* enum uroce_cm_rej_reason */
			uint8_t info_bytes;
			const uint8_t *info;
		} rej;
		struct {
			uint64_t service_id;
			struct uroce_cm_path path;
			uint16_t pkey;
		} sidr_req;
		const struct uroce_cm_sidr_rep *sidr_rep;
		uint8_t mra_service_timeout;
		uint8_t apr_status;
		const struct uroce_cm_path *lap_path;
	};
};

struct uroce_cm_ops {
	/* Send a MAD to QP1 at path->dgid. It may be lost: what needs an answer is sent again. Calls none of
	 * uroce_cm_*(). */
	void (*send)(void *arg, const struct uroce_cm_path *path, const uint8_t mad[UROCE_CM_MAD_BYTES]);
	/* Something has happened. Called from within uroce_cm_receive(), uroce_cm_expire() and uroce_cm_depart(), under
	 * the caller's lock; may call back all of uroce_cm_*() but these three and uroce_cm_destroy().
	 * REQ_RECEIVED and SIDR_REQ_RECEIVED: @return 0 to take the new connection, or a reason to reject it with
	 * (SIDR: a status), after which it is gone. UROCE_CM_REJ_INVALID_SERVICE_ID (UROCE_CM_SIDR_UNSUPPORTED):
	 * not for this listener; the next one of the service ID is asked.
	 * LAP_RECEIVED: @return 0 to have it answered that we have no alternate paths; 1: uroce_cm_send_apr() does.
	 * Else the value is ignored. */
	int (*event)(void *arg, const struct uroce_cm_event *event);
};

struct uroce_cm_conf {
	const struct uroce_cm_ops *ops;
	void *arg;
	uint64_t ca_guid;		/* network byte order */
	uint8_t ca_ack_delay;		/* local CA ack delay */
	uint32_t max_conns;		/* with TIMEWAIT and requests not yet answered: UROCE_CM_MAX_CONNS */
};

/** @return NULL: no memory */
struct uroce_cm *uroce_cm_create(const struct uroce_cm_conf *conf);
/** Every connection is forgotten, and nothing more is sent. */
void uroce_cm_destroy(struct uroce_cm *cm);

/** A MAD came to QP1. Everything in it is hostile. path: back to its sender. */
void uroce_cm_receive(struct uroce_cm *cm, const uint8_t *mad, uint32_t bytes, const struct uroce_cm_path *path,
		      uint64_t now_ns);
/** Retransmissions, time-outs, TIMEWAIT. */
void uroce_cm_expire(struct uroce_cm *cm, uint64_t now_ns);
/** When uroce_cm_expire() has something to do, ns; UINT64_MAX: never. */
uint64_t uroce_cm_deadline(const struct uroce_cm *cm);

/** The processes at the other end of some paths have gone, killed perhaps: connections over these paths, and those that
 * are being made, end as if the peers had disconnected. Nothing is sent. Requests without an answer go on: a successor of
 * the peer may answer them.
 * @param is_gone	of a path; calls none of uroce_cm_*() */
void uroce_cm_depart(struct uroce_cm *cm, bool (*is_gone)(void *arg, const struct uroce_cm_path *path), void *arg,
		     uint64_t now_ns);

/** @param user	uroce_cm_conn_user() gives it back; for a connection that came as a REQ it is set in the event
 * @return	NULL and errno: ENOMEM, also after max_conns */
struct uroce_cm_conn *uroce_cm_conn_create(struct uroce_cm *cm, void *user);
/** Forget it; a connection that is not over is rejected or disconnected first, as its state asks for, and its
 * communication ID stays in TIMEWAIT without it. No more events of it. */
void uroce_cm_conn_destroy(struct uroce_cm_conn *conn, uint64_t now_ns);
void *uroce_cm_conn_user(const struct uroce_cm_conn *conn);
void uroce_cm_conn_set_user(struct uroce_cm_conn *conn, void *user);

/** Take REQs and SIDR_REQs for a service ID. Several listeners of one ID are asked in turn, see uroce_cm_ops.
 * @param mask	bits of the service ID that count
 * @return 0; -EBUSY: it listens or is connected */
int uroce_cm_listen(struct uroce_cm_conn *conn, uint64_t service_id, uint64_t mask);

/* Each: 0; -EINVAL: the connection's state does not allow it, or a parameter is beyond its field; -EMSGSIZE:
 * private data too long. What needs an answer is retransmitted max_cm_retries times. */
int uroce_cm_send_req(struct uroce_cm_conn *conn, const struct uroce_cm_req *req, uint64_t now_ns);
int uroce_cm_send_rep(struct uroce_cm_conn *conn, const struct uroce_cm_rep *rep, uint64_t now_ns);
int uroce_cm_send_rtu(struct uroce_cm_conn *conn, const struct uroce_cm_private *priv, uint64_t now_ns);
int uroce_cm_send_rej(struct uroce_cm_conn *conn, uint16_t reason, const void *info, uint8_t info_bytes,
		      const struct uroce_cm_private *priv, uint64_t now_ns);
int uroce_cm_send_mra(struct uroce_cm_conn *conn, uint8_t service_timeout, const struct uroce_cm_private *priv,
		      uint64_t now_ns);
int uroce_cm_send_dreq(struct uroce_cm_conn *conn, const struct uroce_cm_private *priv, uint64_t now_ns);
int uroce_cm_send_drep(struct uroce_cm_conn *conn, const struct uroce_cm_private *priv, uint64_t now_ns);
int uroce_cm_send_lap(struct uroce_cm_conn *conn, const struct uroce_cm_path *alternate,
		      const struct uroce_cm_private *priv, uint64_t now_ns);
int uroce_cm_send_apr(struct uroce_cm_conn *conn, uint8_t status, const void *info, uint8_t info_bytes,
		      const struct uroce_cm_private *priv, uint64_t now_ns);
int uroce_cm_send_sidr_req(struct uroce_cm_conn *conn, uint64_t service_id, const struct uroce_cm_path *path,
			   uint32_t timeout_ms, uint8_t max_cm_retries, const struct uroce_cm_private *priv,
			   uint64_t now_ns);
int uroce_cm_send_sidr_rep(struct uroce_cm_conn *conn, const struct uroce_cm_sidr_rep *rep, uint64_t now_ns);
/** The QP has received something although the RTU is missing (IBV_EVENT_COMM_EST): it is established. The event
 * RTU_RECEIVED is raised before it returns.
 * @return 0; -EINVAL */
int uroce_cm_established(struct uroce_cm_conn *conn, uint64_t now_ns);

/**
 * What the QP of a connection has to be modified with, from what was exchanged: ibv_qp_attr and mask for INIT, RTR
 * or RTS (attr->qp_state says which).
 * @return 0; -EINVAL: the state does not allow it
 */
int uroce_cm_qp_attr(const struct uroce_cm_conn *conn, struct ibv_qp_attr *attr, int *attr_mask);

/** Counted: MADs sent, received, retransmitted, dropped for each reason. For telemetry; any thread. */
unsigned int uroce_cm_query_counters(const struct uroce_cm *cm, const char **names, uint64_t *values,
				     unsigned int room);

#endif /* UROCE_CM_IB_CM_H */
