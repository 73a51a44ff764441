/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * IDs, event channels, devices and port spaces, which the files of the rdma_cm calls (cma_*.c) share. uroce_cm_lock
 * protects all but the public part of an ID. As with librdmacm, only calling threads write that part: the service's
 * thread queues events, and the thread that gets an event updates the ID.
 */

#ifndef UROCE_CM_RDMA_CMA_H
#define UROCE_CM_RDMA_CMA_H

#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>
#include <sys/queue.h>

#include <rdma/rdma_cma.h>

#include "cm/ib/cm.h"
#include "cm/service.h"
#include "base/event_queue.h"

enum uroce_cma_state {
	UROCE_CMA_IDLE,
	UROCE_CMA_BOUND,      /* to an address or a wildcard */
	UROCE_CMA_ADDR_QUERY, /* waits for the neighbor's MAC address */
	UROCE_CMA_ADDR_RESOLVED,
	UROCE_CMA_ROUTE_RESOLVED,
	UROCE_CMA_LISTEN,
	UROCE_CMA_CONNECT, /* from rdma_connect(3) or a request until disconnected */
	UROCE_CMA_DISCONNECT,
	UROCE_CMA_REMOVED, /* its device was removed */
};

struct uroce_cma_id;
struct uroce_cma_port;

/* A device that IDs are bound to, with the PD of IDs that have none of their own. */
struct uroce_cma_device {
	LIST_ENTRY(uroce_cma_device) link;
	LIST_HEAD(, uroce_cma_id) ids;
	struct uroce_device *dev;
	struct ibv_pd *pd;
	uint8_t max_responder_resources;
	uint8_t max_initiator_depth;
};

/* An event channel, which is freed with its last user. An application that calls rdma_destroy_event_channel(3) before
 * rdma_destroy_id(3) is wrong, but it only loses the ID's events. */
struct uroce_cma_channel {
	struct rdma_event_channel ibv;  /* first: the application's pointer */
	struct uroce_event_queue queue; /* a record is the ID whose next event is to be taken */
	uint32_t users;                 /* atomic: its creator, and its IDs */
};

/* A group that an ID has joined. */
struct uroce_cma_mcast {
	LIST_ENTRY(uroce_cma_mcast) link;
	struct uroce_cma_id *id;
	struct sockaddr_storage addr;
	union ibv_gid mgid;
	void *context;
	bool send_only;
	bool joined;   /* the device has joined the group */
	bool attached; /* the ID's QP is attached */
	bool pending;  /* its event is queued, or was got and is not acknowledged */
};

/* The work of the thread that gets an event. */
enum uroce_cma_action {
	UROCE_CMA_NONE,
	UROCE_CMA_PUBLISH,  /* copy the resolved addresses or route to the ID */
	UROCE_CMA_REQUEST,  /* complete the new ID */
	UROCE_CMA_RESPONSE, /* connect the ID's QP, if it has one */
	UROCE_CMA_REFUSED,  /* move the QP to ERR */
	UROCE_CMA_ENDED,    /* drop the event after a CONNECT_ERROR */
	UROCE_CMA_JOINED,   /* attach the QP */
};

struct uroce_cma_event {
	struct rdma_cm_event event; /* first: the application's pointer */
	STAILQ_ENTRY(uroce_cma_event) link;
	struct uroce_cma_id *owner; /* waits for the acknowledgement; of a request: the listener */
	struct uroce_cma_mcast *mcast; /* a group that waits for the acknowledgement; NULL: none */
	enum uroce_cma_action action;
	uint8_t private_data[UROCE_CM_MAX_PRIVATE_BYTES];
};

struct uroce_cma_id {
	struct rdma_cm_id id; /* first: the application's pointer */
	enum uroce_cma_state state;
	struct uroce_cma_device *device; /* NULL: not bound to one */
	LIST_ENTRY(uroce_cma_id) device_link;
	struct uroce_cm_agent *agent; /* of the device; NULL: no device, or it was removed */
	uint8_t sgid_index;
	struct sockaddr_storage src;
	bool src_chosen; /* src and the device were chosen for dst: the ID was bound to a wildcard */
	struct sockaddr_storage dst;
	struct uroce_cma_port *port; /* that it is bound to; NULL: none. A request's ID uses its listener's */
	LIST_ENTRY(uroce_cma_id) port_link;
	struct uroce_cm_conn *conn;
	int backlog; /* requests that may still be queued */

	/* address resolution */
	TAILQ_ENTRY(uroce_cma_id) resolve_link; /* in ADDR_QUERY */
	uint64_t resolve_next_ns;
	uint64_t resolve_until_ns;

	/* events: queued here, announced in the channel's queue */
	STAILQ_HEAD(, uroce_cma_event) events;
	struct uroce_event_refs refs; /* under the lock of the channel's queue */
	uint32_t taken;               /* events taken from the list */
	uint32_t acked;               /* events acknowledged */
	uint32_t calls;      /* calls in progress that have released the lock */
	pthread_cond_t cond; /* acked or calls has changed */

	bool sync;          /* has a channel of its own, and calls wait for their events */
	bool passive;       /* created by a request */
	bool answered;      /* the application has accepted the request: the ID gets events */
	bool leaving;       /* is being destroyed */
	bool disconnecting; /* rdma_disconnect(3) was called */
	bool connect_error; /* CONNECT_ERROR was reported: later events of the connection are dropped */
	bool reuseaddr;
	bool afonly;
	bool afonly_set;
	bool timeout_set;
	uint8_t timeout; /* local ACK timeout, 5 bits */
	uint8_t tos;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint32_t starting_psn;              /* the peer's first PSN */
	uint32_t sidr_qpn;                  /* the QPN in the reply to a SIDR_REQ */
	struct ibv_ece local_ece;           /* offered by this end */
	struct ibv_ece remote_ece;          /* offered or accepted by the peer */
	struct ibv_qp_init_attr *init_attr; /* rdma_create_ep(3): for the QPs of its requests */
	void *connect_data;                 /* rdma_create_ep(3): precedes the application's private data */
	uint8_t connect_bytes;
	LIST_HEAD(, uroce_cma_mcast) mcasts;
};

static inline struct uroce_cma_id *
uroce_cma_id_of(struct rdma_cm_id *id)
{
	return (struct uroce_cma_id *)id;
}

static inline struct uroce_cma_channel *
uroce_cma_channel_of(struct rdma_event_channel *channel)
{
	return (struct uroce_cma_channel *)channel;
}

static inline struct sockaddr *
uroce_cma_src(struct uroce_cma_id *id)
{
	return (struct sockaddr *)&id->src;
}

static inline struct sockaddr *
uroce_cma_dst(struct uroce_cma_id *id)
{
	return (struct sockaddr *)&id->dst;
}

static inline bool
uroce_cma_is_ud(const struct uroce_cma_id *id)
{
	return id->id.qp_type == IBV_QPT_UD;
}

/* ---- cma_id.c ---- */

/** Take the lock for a call on the ID. */
static inline void
uroce_cma_lock(void)
{
	pthread_mutex_lock(&uroce_cm_lock);
}

static inline void
uroce_cma_unlock(void)
{
	pthread_mutex_unlock(&uroce_cm_lock);
}

/** Release the lock within a call; the ID is not freed before uroce_cma_call_resume(). Lock held. */
void uroce_cma_call_suspend(struct uroce_cma_id *id);
void uroce_cma_call_resume(struct uroce_cma_id *id);

/** @param channel	NULL: one of its own. Without the lock. @return 0 or -errno */
int uroce_cma_id_create(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
			enum ibv_qp_type qp_type, struct uroce_cma_id **created);
/** Create an ID for a listener's request: on its channel, in state CONNECT. Lock held.
 * @return NULL: no memory */
struct uroce_cma_id *uroce_cma_id_create_passive(struct uroce_cma_id *listener);
/** Destroy an ID of a request whose event no thread has got. Lock held. */
void uroce_cma_id_discard(struct uroce_cma_id *id);
/** Free an ID that nothing refers to. */
void uroce_cma_id_free(struct uroce_cma_id *id);

/* ---- cma_device.c ---- */

/** Bind the ID to an agent's device. Lock held. @return 0; -ENOMEM, -ENODEV */
int uroce_cma_device_bind(struct uroce_cma_id *id, struct uroce_cm_agent *agent,
			  uint8_t sgid_index);
void uroce_cma_device_unbind(struct uroce_cma_id *id);
/** Lock held. @return NULL: no ID is bound to it */
struct uroce_cma_device *uroce_cma_device_find(const struct uroce_device *dev);

/* ---- cma_port.c ---- */

/** Bind the ID to the port of its src, or to one that is free. Lock held. @return 0; -EADDRINUSE,
 * -ENOMEM */
int uroce_cma_port_bind(struct uroce_cma_id *id);
void uroce_cma_port_unbind(struct uroce_cma_id *id);
/** May the ID listen on the address and port that it is bound to? @return 0; -EADDRINUSE */
int uroce_cma_port_check_listen(const struct uroce_cma_id *id);
/** Listen on the agents on which an ID of the port listens, and on no others. Called when an ID begins or stops
 * listening. @return 0, or -errno of the first agent that failed */
int uroce_cma_port_sync(struct uroce_cma_port *port);
/** uroce_cma_port_sync() for all ports, when a device was added. */
void uroce_cma_ports_sync(void);
/** End all listeners on a device that is removed. */
void uroce_cma_ports_forget(const struct uroce_cm_agent *agent);
/** @return the ID that listens on the port for requests to dst, by its address or else by a wildcard; NULL: none */
struct uroce_cma_id *uroce_cma_port_match(struct uroce_cma_port *port, const struct sockaddr *dst);
/** The port and the service ID of a listening connection. */
struct uroce_cma_port *uroce_cma_port_of(const struct uroce_cm_conn *listener);
uint64_t uroce_cma_service_id(enum rdma_port_space ps, __be16 port);
__be16 uroce_cma_port_number(const struct uroce_cma_port *port);

/* ---- cma_event.c ---- */

/** @return NULL: no memory */
struct uroce_cma_event *uroce_cma_event_new(struct uroce_cma_id *id, enum rdma_cm_event_type type,
					    int status);
void uroce_cma_event_private(struct uroce_cma_event *event, const struct uroce_cm_private *priv);
/** Queue an event, or free it if the ID gets no events or there is no room. Lock held. @return was it queued? */
bool uroce_cma_event_post(struct uroce_cma_event *event);
/** Create and queue an event without parameters. Lock held. */
void uroce_cma_event_simple(struct uroce_cma_id *id, enum rdma_cm_event_type type, int status,
			    enum uroce_cma_action action);
/** Take the ID's next event, which was announced in its channel. Takes the lock. */
struct uroce_cma_event *uroce_cma_event_take(struct uroce_cma_id *id);
/** Acknowledge the event that a synchronous ID keeps, if there is one. Takes the lock. */
void uroce_cma_event_kept_ack(struct rdma_cm_id *ibv);
/** Drop the ID's queued events, and wait until those that were taken are acknowledged. Lock held, released during the
 * wait. */
void uroce_cma_events_forget(struct uroce_cma_id *id);
/** Drop a group's event if no thread has got it. Lock held. @return was it dropped? */
bool uroce_cma_events_remove(struct uroce_cma_id *id, const struct uroce_cma_mcast *mcast);
/** Move the ID and the announcements of its events to another channel. Lock held.
 * @return the number of announcements that were read from the old one */
uint32_t uroce_cma_events_move(struct uroce_cma_id *id, struct uroce_cma_channel *to);

/* ---- cma_channel.c ---- */

/** @return a channel with one user; NULL and errno */
struct uroce_cma_channel *uroce_cma_channel_create(void);
/** Add or drop a user. Any thread, with or without the lock. */
void uroce_cma_channel_get(struct uroce_cma_channel *channel);
void uroce_cma_channel_put(struct uroce_cma_channel *channel);
/** Set the channel that gets the ID's events from now on. Lock held. */
void uroce_cma_id_set_channel(struct uroce_cma_id *id, struct uroce_cma_channel *to);
/** Convert 0 or -errno to the result of a public function: 0, or -1 and errno. */
int uroce_cma_return(int ret);

/* ---- cma_get_event.c ---- */

/** If the ID is synchronous, wait for the event of a call and keep it in id->event. @return 0 or -errno of the event */
int uroce_cma_complete(struct uroce_cma_id *id);

/* ---- cma_resolve.c ---- */

/** Stop resolving. Lock held. */
void uroce_cma_resolve_cancel(struct uroce_cma_id *id);

/* ---- cma_path.c: lock held ---- */

/** Fill in the path from the ID's source to its destination. */
void uroce_cma_path(const struct uroce_cma_id *id, struct uroce_cm_path *path);
/** Fill in the same path for an address handle. */
void uroce_cma_ah_attr(const struct uroce_cma_id *id, struct ibv_ah_attr *attr);
/** Copy addresses, device and route to the public part. */
void uroce_cma_id_publish(struct uroce_cma_id *id);

/* ---- cma_request.c, cma_datagram.c: events of the communication manager ---- */

/** @return 0 or a reason to reject the request */
int uroce_cma_request(struct uroce_cm_agent *agent, const struct uroce_cm_event *event);
/** @return 0 or a status to reject the request */
int uroce_cma_sidr_request(struct uroce_cm_agent *agent, const struct uroce_cm_event *event);
void uroce_cma_sidr_event(struct uroce_cma_id *id, const struct uroce_cm_event *event);
/** @return the listener for a request; NULL: there is none, or the request's header, addresses and path disagree */
struct uroce_cma_id *uroce_cma_request_listener(const struct uroce_cm_event *event,
						const struct uroce_cm_path *path,
						struct sockaddr_storage *src,
						struct sockaddr_storage *dst);
/** Create an ID for a request, bound to its device and addresses. @return NULL: no memory */
struct uroce_cma_id *
uroce_cma_request_id(struct uroce_cma_id *listener, struct uroce_cm_agent *agent,
		     const struct uroce_cm_event *event, const struct uroce_cm_path *path,
		     const struct sockaddr_storage *src, const struct sockaddr_storage *dst);

/* ---- cma_datagram.c ---- */

int uroce_cma_sidr_connect(struct uroce_cma_id *id, const struct rdma_conn_param *param);
int uroce_cma_sidr_answer(struct uroce_cma_id *id, uint8_t status, const void *private_data,
			  uint8_t bytes);

/* ---- cma_qp.c: for an ID's QP or SRQ, without the lock ---- */

/** Create CQs of these sizes, with channels; 0: none. @return 0 or -errno */
int uroce_cma_cqs_create(struct rdma_cm_id *id, uint32_t send_size, uint32_t recv_size);
void uroce_cma_cqs_destroy(struct rdma_cm_id *id);

/* ---- cma_qp_state.c: without the lock, 0 or -errno ---- */

/** Move the QP to INIT, and a UD QP on to RTS. */
int uroce_cma_qp_init(struct uroce_cma_id *id, struct ibv_qp *qp);
/** Move the QP to RTR and RTS.
 * @param responder_resources, initiator_depth	RDMA_MAX_RESP_RES, RDMA_MAX_INIT_DEPTH: as the connection has agreed */
int uroce_cma_qp_connect(struct uroce_cma_id *id, uint8_t responder_resources,
			 uint8_t initiator_depth);
int uroce_cma_qp_error(struct uroce_cma_id *id);
/** After the response: connect the ID's QP, then send an RTU. */
int uroce_cma_establish(struct uroce_cma_id *id);

/* ---- cma_multicast.c ---- */

/** Make the device leave the ID's groups. Lock held. */
void uroce_cma_mcasts_leave(struct uroce_cma_id *id);
/** Detach the ID's QP before it is destroyed. Without the lock. */
void uroce_cma_mcasts_detach(struct uroce_cma_id *id);
/** Free the ID's groups, after their events are acknowledged. */
void uroce_cma_mcasts_free(struct uroce_cma_id *id);

#endif /* UROCE_CM_RDMA_CMA_H */
