/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A device as its objects see it: tables, attributes, events, and the operations that the layer above provides (struct
 * uroce_device_ops): lib/port for real ports, a simulator in tests. Control threads change a device, under `lock`.
 */

#ifndef UROCE_VERBS_DEVICE_DEVICE_H
#define UROCE_VERBS_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>
#include <rte_common.h>

#include "mem/mr.h"
#include "base/slots.h"
#include "base/event_queue.h"
#include "verbs/address/mcast.h"
#include "wire/template.h"

struct uroce_ah;
struct uroce_bells;
struct uroce_congestion;
struct uroce_context;
struct uroce_cq;
struct uroce_device;
struct uroce_engine;
struct uroce_qp;
struct uroce_srq;
struct uroce_xrc_domain;
struct uroce_timer;

/* uroce_path.out of a multicast path: to the port, and to the QPs of the device that are in the group. */
#define UROCE_OUT_GROUP UINT16_MAX

/* The path to a peer: the headers of every packet, and the neighbor's MAC address. */
struct uroce_path {
	struct uroce_template headers;
	/* The neighbor's MAC address as the first 6 bytes in memory; 0: unknown. The port writes it, workers read it
	 * for each packet (relaxed). NULL: the template has the address. Lives as long as the path. */
	const uint64_t *lladdr;
	union ibv_gid sgid;
	union ibv_gid dgid;
	uint16_t out;		/* 0: the device's port; n: loopback to the device of index n - 1; or UROCE_OUT_GROUP */
	bool multi_seg;		/* the port sends chains of mbufs */
	bool set_up;
};

/* Operations on the QPs of an engine, filled in by lib/transport. On the thread that runs the engine. */
struct uroce_transport_ops {
	/* Remove the QP from the engine. After this and uroce_rcu_wait(), no worker has a pointer to it. */
	void (*qp_detach)(struct uroce_qp *qp);
	/* The QP's state or attributes have changed. */
	void (*qp_changed)(struct uroce_qp *qp, enum ibv_qp_state from, int attr_mask);
	/* Fill in the next PSNs, and whether the send queue is draining. */
	void (*qp_query)(const struct uroce_qp *qp, struct ibv_qp_attr *attr);
	/* Replace the ring in which the responder keeps READs and atomics. It has a power of two of zeroed entries of
	 * UROCE_RD_ATOMIC_BYTES; NULL: the responder has no ring. @return the previous ring, or NULL */
	void *(*qp_rd_atomics)(struct uroce_qp *qp, void *ring, uint32_t entries);
	/* Have the engine poll the doorbells of a thread domain; answer them now; answer them and stop polling them. */
	void (*bells_add)(struct uroce_bells *bells);
	void (*bells_take)(struct uroce_bells *bells);
	void (*bells_del)(struct uroce_bells *bells);
	/* @return the engine's time, ns of the device's clock */
	uint64_t (*engine_now)(const struct uroce_engine *engine);
	/* Arm a CQ's timer, or remove it. At the deadline the engine calls uroce_cq_timeout(). */
	void (*timer_arm)(struct uroce_engine *engine, struct uroce_timer *timer, uint64_t deadline_ns);
	void (*timer_remove)(struct uroce_engine *engine, struct uroce_timer *timer);
};

/* Operations on the threads that run the engines, filled in by the workers of lib/port. */
struct uroce_worker_ops {
	/* Choose the QP's engine (qp->engine), by its thread domain or the completion vector of its send CQ.
	 * @return 0 or -errno */
	int (*qp_attach)(struct uroce_qp *qp);
	/* Do peers' packets to this QPN reach the worker of the new QP? NULL: it makes no difference. */
	bool (*qpn_suits)(const struct uroce_qp *qp, uint32_t qpn);
	/* Between enter and exit the calling thread runs the engine, and no other thread does. Not recursive. */
	void (*engine_enter)(struct uroce_engine *engine);
	void (*engine_exit)(struct uroce_engine *engine);
	/* A thread domain that names the engine is destroyed: the engine's worker may be destroyed, too. */
	void (*engine_put)(struct uroce_engine *engine);
	/* Tell the QP's worker of new work on the send queue, or of work to flush. Any thread. */
	void (*doorbell)(struct uroce_qp *qp);
	/* For a calling thread that waits: poll the workers that no other thread owns. Not between enter and exit. */
	void (*progress)(struct uroce_device *dev);
	/* Wake the device's workers that sleep: their polls have work, although no doorbell was rung. Any thread. */
	void (*wake)(struct uroce_device *dev);
	/* Poll the device's workers that no other thread owns, once; if the caller waits for completions, those of this
	 * CQ's QPs suffice (NULL: for something else). Any thread, not between enter and exit. NULL: callers must not
	 * poll workers. */
	void (*poll)(struct uroce_device *dev, struct uroce_cq *cq);
};

/* The network below the device and its clocks, filled in by lib/port. Any thread but a worker's. */
struct uroce_port_ops {
	/* The time: ns of the device's clock, and ns since 1970. */
	void (*clocks)(struct uroce_device *dev, uint64_t *device_ns, uint64_t *wall_ns);
	/* Set up the path of an address vector. Without a flow label, the QPN chooses its UDP source port.
	 * @return 0 or -errno */
	int (*path_init)(struct uroce_device *dev, const struct ibv_ah_attr *attr, uint32_t remote_qpn,
			 struct uroce_path *path);
	void (*path_fini)(struct uroce_device *dev, struct uroce_path *path);
	int (*query_port)(struct uroce_device *dev, struct ibv_port_attr *attr);
	int (*query_gid)(struct uroce_device *dev, unsigned int index, struct ibv_gid_entry *entry);
	/* @return the index of the GID, or -ENOENT: the device does not have it */
	int (*find_gid)(struct uroce_device *dev, const union ibv_gid *gid);
	/* Find the device's route to dgid and the source GID for it. sgid: the only acceptable source; NULL: any.
	 * @return the route's metric, lower is better; or -ENETUNREACH */
	int (*route)(struct uroce_device *dev, const union ibv_gid *sgid, const union ibv_gid *dgid,
		     uint8_t *sgid_index);
	/* Is the MAC address of the next hop to dgid known? If not, request it. @return 0: known; -EINPROGRESS: call
	 * again; -EHOSTUNREACH: no reply, or no route */
	int (*resolve)(struct uroce_device *dev, const union ibv_gid *dgid);
	/* Join a multicast group when its first QP is attached, leave it when the last one is detached. One call at
	 * a time. The port passes the group's packets to uroce_mcast_receivers(). NULL: no multicast.
	 * @return 0 or -errno */
	int (*mcast_join)(struct uroce_device *dev, const union ibv_gid *mgid);
	void (*mcast_leave)(struct uroce_device *dev, const union ibv_gid *mgid);
	/* Choose the flow label for a peer's packets to a QP, such that the QP's worker receives them. NULL: none is
	 * better than another. @return 20 bits; 0: none */
	uint32_t (*flow_label)(struct uroce_device *dev, uint32_t qpn, const union ibv_gid *own,
			       const union ibv_gid *peer);
	/* The buffers of the QP's requests may change from now on, and no peer may use their new bytes as a payload.
	 * Within a poll, or with the turn, of the QP's worker. NULL: frames that have left have their own bytes. */
	void (*revoke)(struct uroce_qp *qp);
	/* Log that a deregistration has waited `ns` for `frames` frames. NULL: no log. */
	void (*mr_waits)(struct uroce_device *dev, const struct ibv_mr *mr, uint32_t frames, uint64_t ns);
};

/* The control thread that drives connections of the device (lib/cm), filled in by lib/port/cm. */
struct uroce_service_ops {
	/* Create the device's QP1, pass its MADs to the communication manager, and serve its deadlines; then call
	 * uroce_cma_device_come(). One call at a time, without uroce_cm_lock. @return 0 or -errno */
	int (*start)(struct uroce_device *dev);
	/* Call uroce_cma_device_gone() and undo start(), if it was called. As start(), without uroce_cm_lock. */
	void (*stop)(struct uroce_device *dev);
	/* Wake the thread: a deadline has become earlier, or a neighbor has departed. Any thread. */
	void (*kick)(struct uroce_device *dev);
};

/* The operations that the layers above provide to a device, a table for each part that implements some. Constant. */
struct uroce_device_ops {
	const struct uroce_transport_ops *transport;
	const struct uroce_worker_ops *worker;
	const struct uroce_port_ops *port;
	const struct uroce_service_ops *service;	/* NULL: no connections */
};

struct uroce_device_conf {
	const char *name;	/* "uroce0" */
	uint64_t node_guid;	/* big-endian */
	uint16_t index;		/* number among the process's devices */
	uint16_t port_id;	/* mbuf->port of the frames that its QPs send */
	uint16_t vlan;		/* VLAN of the frames that it accepts; 0: untagged */
	int numa_node;
	unsigned int log2_max_qp;
	unsigned int log2_max_mr;
	unsigned int log2_window;	/* 0: UROCE_LOG2_WINDOW */
	uint32_t max_cq;	/* 0: UROCE_MAX_CQ */
	bool go_back_n;		/* uroce_port_conf.go_back_n */
	const struct uroce_congestion *congestion;	/* uroce_port_conf.congestion; NULL: all defaults */
	bool poll_progress;	/* uroce_port_conf.poll_progress */
	unsigned int comp_vectors;	/* completion vectors: the number of workers; 0: 1 */
};

/* QPs by QPN. The uppermost bits of the 24 are the slot, as with keys. Readers under uroce_rcu. */
struct uroce_qps {
	struct uroce_qp **qps;	/* control: release; worker: acquire */
	struct uroce_qp *gsi;	/* QP1. control: release; worker: acquire */
	struct uroce_slots slots;
	uint8_t log2;
	bool gsi_used;
};

/* XRC SRQs by number, with slots as for QPs. Readers under uroce_rcu. */
struct uroce_srqs {
	struct uroce_srq **srqs;	/* control: release; worker: acquire */
	struct uroce_slots slots;
};

struct uroce_device {
	union {
		struct ibv_device ibv;
		uint8_t room[2048];	/* providers read past `ibv`, as in struct verbs_device */
	};
	struct uroce_device_ops ops;
	struct uroce_mrs mrs;
	struct uroce_qps qps;
	struct uroce_mcast mcast;
	struct uroce_srqs srqs;
	uint64_t node_guid;
	uint16_t index;
	uint16_t port_id;
	uint16_t vlan;
	uint8_t log2_window;	/* constant: of the most PSNs that a QP has in flight */
	bool go_back_n;		/* constant */
	bool ecn_capable;	/* congestion control is on; relaxed */
	uint32_t reclaims;	/* objects that are being destroyed asynchronously; atomic */
	bool no_icrc;		/* leave the ICRC of frames out; written by the port while all workers are held */
	bool by_cpu;		/* the port reads payloads by virtual address within the round; as no_icrc */
	uint32_t link_mbps;	/* link speed, written by the port, relaxed; 0: unknown */
	const struct uroce_congestion *congestion;	/* control: release, under lock; worker: acquire, within RCU */
	bool poll_progress;	/* constant */
	int numa_node;
	struct uroce_event_queue events;	/* its fd is vctx.context.async_fd */
	pthread_mutex_t contexts_lock;
	LIST_HEAD(, uroce_context) contexts;	/* open contexts besides vctx; under contexts_lock */
	pthread_rwlock_t engines_lock;	/* write: the device's engines change; read: a QP gets or changes its engine */
	pthread_mutex_t lock;	/* protects the control sides of qps and srqs, lists, counts */
	LIST_HEAD(, uroce_ah) dead_ahs;	/* destroyed with sends in flight */
	uint32_t context_count;	/* contexts besides vctx that are open or have objects */
	uint32_t ah_count;
	uint32_t pd_count;
	uint32_t cq_count;
	uint32_t max_cq;	/* constant */
	uint32_t qp_count;
	uint32_t srq_count;
	uint32_t xrcd_count;
	LIST_HEAD(, uroce_xrc_domain) xrc_domains;
	uint32_t channel_count;
	TAILQ_HEAD(, uroce_cq) cqs;	/* in the order of their handles, which telemetry reports */
	TAILQ_HEAD(, uroce_srq) srq_list;
	uint32_t handles;	/* the last handle given to a PD, CQ or SRQ */
	struct verbs_context vctx;	/* the device's own context. Last: new versions add fields at its start */
};

/* `priv` points to the device. With rdma-core it belongs to libibverbs; no application reads it. */
static inline struct uroce_device *
uroce_device_of(struct ibv_context *ctx)
{
	return (struct uroce_device *)container_of(ctx, struct verbs_context, context)->priv;
}

/** @return the PSNs of the reorder buffer, and the most in flight while a requester recovers; a power of two */
static inline uint32_t
uroce_reorder_window(const struct uroce_device *dev)
{
	return 1u << (dev->log2_window + UROCE_LOG2_REORDER_WINDOWS);
}

/** Prepare a device (allocated zeroed by the caller) and its context. @return 0 or -errno */
int uroce_device_init(struct uroce_device *dev, const struct uroce_device_ops *ops,
		      const struct uroce_device_conf *conf);
/** @return 0, or -EBUSY while it has objects */
int uroce_device_fini(struct uroce_device *dev);

/** Allocate zeroed memory, on the NUMA node of the device's port if there is any left. Free it with rte_free(). */
void *uroce_device_alloc(const struct uroce_device *dev, const char *type, size_t bytes);

/** Count an object in (@return false: there are `limit` of them already) or out. */
bool uroce_device_count(struct uroce_device *dev, uint32_t *count, uint32_t limit);
void uroce_device_uncount(struct uroce_device *dev, uint32_t *count);

/** Give a complete CQ or SRQ its number and list it; remove it from the list before it is destroyed. */
void uroce_device_add_cq(struct uroce_device *dev, struct uroce_cq *cq);
void uroce_device_del_cq(struct uroce_device *dev, struct uroce_cq *cq);
void uroce_device_add_srq(struct uroce_device *dev, struct uroce_srq *srq);
void uroce_device_del_srq(struct uroce_device *dev, struct uroce_srq *srq);

/** Before a CQ, QP or SRQ is destroyed: drop its unread events, and wait until the others are acknowledged. */
void uroce_device_forget_events(struct ibv_context *context, struct uroce_event_refs *refs,
				pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *acked);

/** As uroce_device_forget_events() without waiting. @return false: some events are not acknowledged yet */
bool uroce_device_try_forget_events(struct ibv_context *context, struct uroce_event_refs *refs, pthread_mutex_t *mutex,
				    const uint32_t *acked);

/**
 * Queue an asynchronous event for uroce_get_async_event(): an object's event at its context, any other event at all
 * contexts. Any thread, including workers; never waits for the application.
 */
void uroce_device_event(struct uroce_device *dev, const struct ibv_async_event *event);

#endif /* UROCE_VERBS_DEVICE_DEVICE_H */
