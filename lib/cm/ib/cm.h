/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The communication manager of one device: exchanges MADs over QP1 (class 0x07) with the peers' managers to make
 * connections, end them, and resolve service IDs (SIDR). It does no I/O, reads no clock and takes no lock: MADs and the
 * time go in; MADs, events and the next deadline come out. One thread at a time may call it, under a lock of the
 * caller. lib/port drives the manager, and the rdma_cm calls are its consumer.
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
/* One end of a connection, from its handshake to the end of TIMEWAIT; one end of a SIDR exchange; or a listener. */
struct uroce_cm_conn;

/* The path to the peer's communication manager and, in a REQ, between the QPs. */
struct uroce_cm_path {
	union ibv_gid sgid;		/* this end's */
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

/* A REQ that is sent or was received, seen from this end: `local` is this end, `remote` the peer. The peer's initiator
 * depth is this end's responder resources, and the other way round. */
struct uroce_cm_req {
	uint64_t service_id;
	uint64_t ca_guid;		/* received: the peer's, network byte order; sent: ignored, conf's is used */
	struct uroce_cm_path path;	/* seen from this end, also if received */
	struct uroce_cm_path alternate;	/* dgid all zero: none */
	uint32_t qpn;			/* of the sender's QP */
	uint32_t peer_flow_label;	/* sent: the label that the peer shall use; 0: path's. Received: ignored */
	uint32_t qkey;
	uint32_t starting_psn;
	uint32_t srqn;
	uint32_t ece_vendor_id;		/* 24 bits: enhanced connection establishment; 0: none */
	uint32_t ece_attr_mod;
	uint8_t qp_type;		/* enum ibv_qp_type: RC, UC, XRC_SEND; received: RC, UC, XRC_RECV */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t remote_cm_response_timeout;	/* the peer's CM replies within 4.096 us << it, 5 bits */
	uint8_t local_cm_response_timeout;	/* this end's CM replies within 4.096 us << it, 5 bits */
	uint8_t local_ack_timeout;	/* primary path's, 5 bits; 0: computed from packet_life_time and ca_ack_delay */
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t max_cm_retries;
	bool flow_control;
	bool srq;
	struct uroce_cm_private priv;
};

/* A REP, seen from this end as a REQ is. */
struct uroce_cm_rep {
	uint64_t ca_guid;		/* received */
	uint32_t qpn;
	uint32_t qkey;
	uint32_t starting_psn;
	uint32_t ece_vendor_id;
	uint32_t ece_attr_mod;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t target_ack_delay;	/* received: the peer's; sent: ignored, conf's ca_ack_delay is used */
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
	UROCE_CM_REQ_RECEIVED,		/* conn is new, offered to `listener` */
	UROCE_CM_REQ_ERROR,		/* timed out */
	UROCE_CM_REP_RECEIVED,
	UROCE_CM_REP_ERROR,
	UROCE_CM_RTU_RECEIVED,		/* also for uroce_cm_established() */
	UROCE_CM_REJ_RECEIVED,
	UROCE_CM_MRA_RECEIVED,
	UROCE_CM_LAP_RECEIVED,
	UROCE_CM_APR_RECEIVED,
	UROCE_CM_LAP_ERROR,
	UROCE_CM_DREQ_RECEIVED,
	UROCE_CM_DREP_RECEIVED,
	UROCE_CM_DREQ_ERROR,
	UROCE_CM_TIMEWAIT_EXIT,		/* the QP's number and PSNs may be reused */
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
	struct uroce_cm_private priv;	/* private data of the message */
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
	/* Send a MAD to QP1 at path->dgid. The MAD may be lost: the manager retransmits messages that need a reply.
	 * Must not call uroce_cm_*(). */
	void (*send)(void *arg, const struct uroce_cm_path *path, const uint8_t mad[UROCE_CM_MAD_BYTES]);
	/* Handle an event. Called from within uroce_cm_receive(), uroce_cm_expire() and uroce_cm_depart(), under the
	 * caller's lock. May call all of uroce_cm_*() but these three and uroce_cm_destroy().
	 * REQ_RECEIVED and SIDR_REQ_RECEIVED: @return 0 to take the new connection, or a reason to reject it (SIDR: a
	 * status), after which the connection is freed. UROCE_CM_REJ_INVALID_SERVICE_ID (UROCE_CM_SIDR_UNSUPPORTED):
	 * not for this listener; the manager offers the connection to the next listener of the service ID.
	 * LAP_RECEIVED: @return 0: the manager replies that alternate paths are not supported; 1: the consumer calls
	 * uroce_cm_send_apr(). For other events the value is ignored. */
	int (*event)(void *arg, const struct uroce_cm_event *event);
};

struct uroce_cm_conf {
	const struct uroce_cm_ops *ops;
	void *arg;
	uint64_t ca_guid;		/* network byte order */
	uint8_t ca_ack_delay;		/* local CA ack delay */
	uint32_t max_conns;		/* limit, with TIMEWAIT and unanswered requests: UROCE_CM_MAX_CONNS */
};

/** @return NULL: no memory */
struct uroce_cm *uroce_cm_create(const struct uroce_cm_conf *conf);
/** Free the manager and all its connections, without sending anything. */
void uroce_cm_destroy(struct uroce_cm *cm);

/** Process a MAD that was received on QP1. Everything in it may be hostile. path: back to its sender. */
void uroce_cm_receive(struct uroce_cm *cm, const uint8_t *mad, uint32_t bytes, const struct uroce_cm_path *path,
		      uint64_t now_ns);
/** Process the deadlines that have passed: retransmissions, timeouts, the end of TIMEWAIT. */
void uroce_cm_expire(struct uroce_cm *cm, uint64_t now_ns);
/** @return the next deadline for uroce_cm_expire(), ns; UINT64_MAX: none */
uint64_t uroce_cm_deadline(const struct uroce_cm *cm);

/** The processes at the other end of some paths have departed, perhaps killed. End connections and handshakes over
 * these paths as if the peers had disconnected, without sending anything. Requests without a reply go on, because a
 * successor of the peer may reply to them.
 * @param is_gone	has the peer of this path departed? Must not call uroce_cm_*() */
void uroce_cm_depart(struct uroce_cm *cm, bool (*is_gone)(void *arg, const struct uroce_cm_path *path), void *arg,
		     uint64_t now_ns);

/** @param user	returned by uroce_cm_conn_user(); the consumer of a received REQ sets it in the event
 * @return	NULL and errno: ENOMEM, also beyond max_conns */
struct uroce_cm_conn *uroce_cm_conn_create(struct uroce_cm *cm, void *user);
/** Release a connection. If it has not ended, it is rejected or disconnected first, as its state requires, and its
 * communication ID stays in TIMEWAIT. No more events follow. */
void uroce_cm_conn_destroy(struct uroce_cm_conn *conn, uint64_t now_ns);
void *uroce_cm_conn_user(const struct uroce_cm_conn *conn);
void uroce_cm_conn_set_user(struct uroce_cm_conn *conn, void *user);

/** Listen for REQs and SIDR_REQs for a service ID. Several listeners of one ID get them in turn, see uroce_cm_ops.
 * @param mask	bits of the service ID that count
 * @return 0; -EBUSY: the connection is in use */
int uroce_cm_listen(struct uroce_cm_conn *conn, uint64_t service_id, uint64_t mask);

/* Each returns 0; -EINVAL: the connection's state does not allow it, or a parameter does not fit its field; -EMSGSIZE:
 * private data too long. A message that needs a reply is retransmitted max_cm_retries times. */
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
/** The QP has received a packet before the RTU (IBV_EVENT_COMM_EST): the connection is established. The event
 * RTU_RECEIVED is raised before the call returns.
 * @return 0; -EINVAL */
int uroce_cm_established(struct uroce_cm_conn *conn, uint64_t now_ns);

/**
 * Fill in the attributes and mask that take the QP of a connection to the state attr->qp_state (INIT, RTR or RTS), from
 * the messages that were exchanged.
 * @return 0; -EINVAL: the state does not allow it
 */
int uroce_cm_qp_attr(const struct uroce_cm_conn *conn, struct ibv_qp_attr *attr, int *attr_mask);

/** Read the counters: MADs sent, received, retransmitted, dropped for each reason. For telemetry; any thread. */
unsigned int uroce_cm_query_counters(const struct uroce_cm *cm, const char **names, uint64_t *values,
				     unsigned int room);

#endif /* UROCE_CM_IB_CM_H */
