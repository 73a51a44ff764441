/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What the files of the rdma_cm calls (cma_*.c) share: IDs, event channels, devices, port spaces. uroce_cm_lock
 * protects all but the public part of an ID, which only the calling thread writes, as with librdmacm: the service's
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
	UROCE_CMA_ADDR_QUERY, /* the neighbor has been asked for its address */
	UROCE_CMA_ADDR_RESOLVED,
	UROCE_CMA_ROUTE_RESOLVED,
	UROCE_CMA_LISTEN,
	UROCE_CMA_CONNECT, /* from connect or a request on, until disconnected */
	UROCE_CMA_DISCONNECT,
	UROCE_CMA_REMOVED, /* its device is gone */
};

struct uroce_cma_id;
struct uroce_cma_port;

/* A device that IDs are bound to, with the PD that they share if they have none of their own. */
struct uroce_cma_device {
	LIST_ENTRY(uroce_cma_device) link;
	LIST_HEAD(, uroce_cma_id) ids;
	struct uroce_device *dev;
	struct ibv_pd *pd;
	uint8_t max_responder_resources;
	uint8_t max_initiator_depth;
};

/* It goes with its last user: rdma_destroy_event_channel(3) before rdma_destroy_id(3) is wrong, and
 * only ends the events. */
struct uroce_cma_channel {
	struct rdma_event_channel ibv;  /* first: what the user has */
	struct uroce_event_queue queue; /* a record: the ID whose next event is to be taken */
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
	bool joined;   /* at the device */
	bool attached; /* the ID's QP */
	bool pending;  /* its event is queued, or was got and is not acknowledged */
};

/* The work that an event asks of the thread that gets it. */
enum uroce_cma_action {
	UROCE_CMA_NONE,
	UROCE_CMA_PUBLISH,  /* addresses or route resolved */
	UROCE_CMA_REQUEST,  /* a new ID */
	UROCE_CMA_RESPONSE, /* the QP, if the ID has one, becomes connected */
	UROCE_CMA_REFUSED,  /* the QP goes to ERR */
	UROCE_CMA_ENDED,
	UROCE_CMA_JOINED, /* the QP is attached */
};

struct uroce_cma_event {
	struct rdma_cm_event event; /* first: what the user has */
	STAILQ_ENTRY(uroce_cma_event) link;
	struct uroce_cma_id *owner; /* waits for its acknowledgement; of a request: the listener */
	struct uroce_cma_mcast *mcast; /* and so does this */
	enum uroce_cma_action action;
	uint8_t private_data[UROCE_CM_MAX_PRIVATE_BYTES];
};

struct uroce_cma_id {
	struct rdma_cm_id id; /* first: what the user has */
	enum uroce_cma_state state;
	struct uroce_cma_device *device; /* NULL: not bound to one */
	LIST_ENTRY(uroce_cma_id) device_link;
	struct uroce_cm_agent *agent; /* the device's; NULL: none, or gone */
	uint8_t sgid_index;
	struct sockaddr_storage src;
	bool src_chosen; /* src and the device were chosen for dst: the ID was bound to a wildcard */
	struct sockaddr_storage dst;
	struct uroce_cma_port *port; /* bound to; NULL: no port, or a request's listener's */
	LIST_ENTRY(uroce_cma_id) port_link;
	struct uroce_cm_conn *conn;
	int backlog; /* requests that may still be queued */

	/* address resolution */
	TAILQ_ENTRY(uroce_cma_id) resolve_link; /* in ADDR_QUERY */
	uint64_t resolve_next_ns;
	uint64_t resolve_until_ns;

	/* events: queued here, announced in the channel's queue */
	STAILQ_HEAD(, uroce_cma_event) events;
	struct uroce_event_refs refs; /* under the channel's queue's lock */
	uint32_t taken;               /* events taken from the list */
	uint32_t acked;
	uint32_t calls;      /* under way with the lock let go */
	pthread_cond_t cond; /* acked, or calls has reached 0 */

	bool sync;          /* has a channel of its own, and calls wait for their events */
	bool passive;       /* made by a request */
	bool answered;      /* ... which was accepted or rejected: from then on it has events */
	bool leaving;       /* is being destroyed */
	bool disconnecting; /* rdma_disconnect(3) was called */
	bool connect_error; /* the response could not be used: what follows is not reported */
	bool reuseaddr;
	bool afonly;
	bool afonly_set;
	bool timeout_set;
	uint8_t timeout; /* local ACK timeout, 5 bits */
	uint8_t tos;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint32_t starting_psn;              /* the peer's first PSN */
	uint32_t sidr_qpn;                  /* the QPN in the answer to a SIDR_REQ */
	struct ibv_ece local_ece;           /* offered */
	struct ibv_ece remote_ece;          /* offered or accepted by the peer */
	struct ibv_qp_init_attr *init_attr; /* rdma_create_ep(3): of the QPs for its requests */
	void *connect_data;                 /* rdma_create_ep(3): goes before the user's */
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

/** Let the lock go within a call; the ID stays until uroce_cma_call_resume(). Lock held. */
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
/** May it listen, where it is bound? @return 0; -EADDRINUSE */
int uroce_cma_port_check_listen(const struct uroce_cma_id *id);
/** An ID has begun or ceased to listen: listen on the agents where an ID does, and on no others.
 * @return 0, or -errno of the first agent that failed */
int uroce_cma_port_sync(struct uroce_cma_port *port);
/** All ports: a device has come. */
void uroce_cma_ports_sync(void);
/** A device is removed: no ID listens on it any more. */
void uroce_cma_ports_forget(const struct uroce_cm_agent *agent);
/** The ID that listens on the port for a request to dst: a specific address before a wildcard. NULL: none */
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
/** Queue it, or free it when the ID has none or there is no room. Lock held. @return was it queued?
 */
bool uroce_cma_event_post(struct uroce_cma_event *event);
/** new and post, of one that carries nothing. Lock held. */
void uroce_cma_event_simple(struct uroce_cma_id *id, enum rdma_cm_event_type type, int status,
			    enum uroce_cma_action action);
/** The ID's next event, which was announced in its channel. Takes the lock. */
struct uroce_cma_event *uroce_cma_event_take(struct uroce_cma_id *id);
/** Acknowledge the event that a synchronous ID keeps, if there is one. Takes the lock. */
void uroce_cma_event_kept_ack(struct rdma_cm_id *ibv);
/** Forget the ID's events, but for those that were taken: wait for their acknowledgements. Lock
 * held, let go while it waits. */
void uroce_cma_events_forget(struct uroce_cma_id *id);
/** Take back a group's event that no thread has got. Lock held. @return was it there? */
bool uroce_cma_events_remove(struct uroce_cma_id *id, const struct uroce_cma_mcast *mcast);
/** Move the ID and the announcements of its events to another channel. Lock held.
 * @return how many of them were got from the old one */
uint32_t uroce_cma_events_move(struct uroce_cma_id *id, struct uroce_cma_channel *to);

/* ---- cma_channel.c ---- */

/** @return with one user; NULL and errno */
struct uroce_cma_channel *uroce_cma_channel_create(void);
/** Add or drop a user. Any thread, with or without the lock. */
void uroce_cma_channel_get(struct uroce_cma_channel *channel);
void uroce_cma_channel_put(struct uroce_cma_channel *channel);
/** The ID's events come from another channel from now on. Lock held. */
void uroce_cma_id_set_channel(struct uroce_cma_id *id, struct uroce_cma_channel *to);
/** The result of a public function: 0, or -1 and errno, from 0 or -errno. */
int uroce_cma_return(int ret);

/* ---- cma_get_event.c ---- */

/** A synchronous ID waits for the event of a call and keeps it in id->event. @return 0 or -errno of
 * the event */
int uroce_cma_complete(struct uroce_cma_id *id);

/* ---- cma_resolve.c ---- */

/** Stop resolving. Lock held. */
void uroce_cma_resolve_cancel(struct uroce_cma_id *id);

/* ---- cma_path.c: lock held ---- */

/** The path from the ID's source to its destination. */
void uroce_cma_path(const struct uroce_cma_id *id, struct uroce_cm_path *path);
/** The same for an address handle. */
void uroce_cma_ah_attr(const struct uroce_cma_id *id, struct ibv_ah_attr *attr);
/** Copy addresses, device and route to the public part. */
void uroce_cma_id_publish(struct uroce_cma_id *id);

/* ---- cma_request.c, cma_datagram.c: what came from a device ---- */

/** @return 0 or a reason to reject it */
int uroce_cma_request(struct uroce_cm_agent *agent, const struct uroce_cm_event *event);
/** @return 0 or a status of the answer */
int uroce_cma_sidr_request(struct uroce_cm_agent *agent, const struct uroce_cm_event *event);
void uroce_cma_sidr_event(struct uroce_cma_id *id, const struct uroce_cm_event *event);
/** The listener for a request whose header, addresses and path agree. NULL: none, or they do not agree */
struct uroce_cma_id *uroce_cma_request_listener(const struct uroce_cm_event *event,
						const struct uroce_cm_path *path,
						struct sockaddr_storage *src,
						struct sockaddr_storage *dst);
/** An ID for the request, bound as it says; NULL: no memory */
struct uroce_cma_id *
uroce_cma_request_id(struct uroce_cma_id *listener, struct uroce_cm_agent *agent,
		     const struct uroce_cm_event *event, const struct uroce_cm_path *path,
		     const struct sockaddr_storage *src, const struct sockaddr_storage *dst);

/* ---- cma_datagram.c ---- */

int uroce_cma_sidr_connect(struct uroce_cma_id *id, const struct rdma_conn_param *param);
int uroce_cma_sidr_answer(struct uroce_cma_id *id, uint8_t status, const void *private_data,
			  uint8_t bytes);

/* ---- cma_qp.c: of an ID's QP or SRQ, without the lock ---- */

/** CQs with channels, of these sizes; 0: none. @return 0 or -errno */
int uroce_cma_cqs_create(struct rdma_cm_id *id, uint32_t send_size, uint32_t recv_size);
void uroce_cma_cqs_destroy(struct rdma_cm_id *id);

/* ---- cma_qp_state.c: without the lock, 0 or -errno ---- */

/** INIT, and for UD RTR and RTS. */
int uroce_cma_qp_init(struct uroce_cma_id *id, struct ibv_qp *qp);
/** RTR and RTS. @param responder_resources, initiator_depth	RDMA_MAX_RESP_RES,
 * RDMA_MAX_INIT_DEPTH: as was agreed */
int uroce_cma_qp_connect(struct uroce_cma_id *id, uint8_t responder_resources,
			 uint8_t initiator_depth);
int uroce_cma_qp_error(struct uroce_cma_id *id);
/** The response has come: connect the ID's QP, then send an RTU. */
int uroce_cma_establish(struct uroce_cma_id *id);

/* ---- cma_multicast.c ---- */

/** An ID leaves its groups. Lock held. */
void uroce_cma_mcasts_leave(struct uroce_cma_id *id);
/** Detach its QP, which is about to be destroyed. Without the lock. */
void uroce_cma_mcasts_detach(struct uroce_cma_id *id);
/** Free its groups; their events are acknowledged. */
void uroce_cma_mcasts_free(struct uroce_cma_id *id);

#endif /* UROCE_CM_RDMA_CMA_H */
