/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A device as its objects see it: tables, attributes, events, and what the layer above lends it (struct
 * uroce_device_ops): lib/port for real ports, a simulator in tests. Control threads, under `lock`.
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
struct uroce_congestion;
struct uroce_context;
struct uroce_cq;
struct uroce_device;
struct uroce_engine;
struct uroce_qp;
struct uroce_srq;
struct uroce_xrc_domain;
struct uroce_timer;

/* To the port and, when QPs of the device are in the multicast group, to them. */
#define UROCE_OUT_GROUP UINT16_MAX

/* The way to a peer: headers for every packet, and where they get the neighbor's address from. */
struct uroce_path {
	struct uroce_template headers;
	/* The neighbor's MAC address as the first 6 bytes in memory, 0 while unknown: written by the port,
	 * read per packet (relaxed). NULL: the template's is right. Lives as long as the path. */
	const uint64_t *lladdr;
	union ibv_gid sgid;
	union ibv_gid dgid;
	uint16_t out;		/* 0: the device's port; n: loopback to the device of index n - 1; or UROCE_OUT_GROUP */
	bool multi_seg;		/* the port sends chains of mbufs */
	bool set_up;
};

/* What the transport does with the QPs of an engine. lib/transport fills it in; all on the engine's one thread. */
struct uroce_transport_ops {
	/* The engine forgets the QP; after it, and uroce_rcu_wait(), nobody has a pointer to it. */
	void (*qp_detach)(struct uroce_qp *qp);
	/* The QP's state or attributes have changed. */
	void (*qp_changed)(struct uroce_qp *qp, enum ibv_qp_state from, int attr_mask);
	/* The PSNs that come next, and whether the send queue still drains. */
	void (*qp_query)(const struct uroce_qp *qp, struct ibv_qp_attr *attr);
	/* The responder keeps READs and atomics in this ring from now on, a power of two of entries of
	 * UROCE_RD_ATOMIC_BYTES, all zeros; NULL: in none. @return the ring that it replaces, or NULL */
	void *(*qp_rd_atomics)(struct uroce_qp *qp, void *ring, uint32_t entries);
	/* The engine's time, ns of the device's clock. */
	uint64_t (*engine_now)(const struct uroce_engine *engine);
	/* Call uroce_cq_timeout() at a time, or no more. */
	void (*timer_arm)(struct uroce_engine *engine, struct uroce_timer *timer, uint64_t deadline_ns);
	void (*timer_remove)(struct uroce_engine *engine, struct uroce_timer *timer);
};

/* Which thread runs the engines. The workers of lib/port fill it in. */
struct uroce_worker_ops {
	/* Choose the QP's engine (qp->engine). @return 0 or -errno */
	int (*qp_attach)(struct uroce_qp *qp);
	/* Between enter and exit the calling thread is the engine's one thread. Not recursive. */
	void (*engine_enter)(struct uroce_engine *engine);
	void (*engine_exit)(struct uroce_engine *engine);
	/* There is new work on the send queue, or work to flush. Any thread. */
	void (*doorbell)(struct uroce_qp *qp);
	/* The calling thread waits: poll the workers that no other thread owns. Not between enter and exit. */
	void (*progress)(struct uroce_device *dev);
	/* Poll the device's workers that no other thread owns, once. Any thread, not between enter and exit. NULL: not
	 * allowed. */
	void (*poll)(struct uroce_device *dev);
};

/* The network below the device and its clocks. The port of lib/port fills it in. Any thread but a worker's. */
struct uroce_port_ops {
	/* The time: ns of the device's clock, and since 1970. */
	void (*clocks)(struct uroce_device *dev, uint64_t *device_ns, uint64_t *wall_ns);
	/* Resolve an address vector. @return 0 or -errno. qpns choose the UDP source port */
	int (*path_init)(struct uroce_device *dev, const struct ibv_ah_attr *attr, uint32_t local_qpn,
			 uint32_t remote_qpn, struct uroce_path *path);
	void (*path_fini)(struct uroce_device *dev, struct uroce_path *path);
	int (*query_port)(struct uroce_device *dev, struct ibv_port_attr *attr);
	int (*query_gid)(struct uroce_device *dev, unsigned int index, struct ibv_gid_entry *entry);
	/* @return the index of the GID, or -ENOENT: it is not the device's */
	int (*find_gid)(struct uroce_device *dev, const union ibv_gid *gid);
	/* How well the device leads to dgid, and by which of its GIDs. sgid: the GID that it must be; NULL: any.
	 * @return the lower, the better; or -ENETUNREACH */
	int (*route)(struct uroce_device *dev, const union ibv_gid *sgid, const union ibv_gid *dgid,
		     uint8_t *sgid_index);
	/* Is the MAC address of the next hop to dgid known? If not, asks for it. @return 0: it is; -EINPROGRESS: call
	 * again; -EHOSTUNREACH: no answer, or no way */
	int (*resolve)(struct uroce_device *dev, const union ibv_gid *dgid);
	/* The first QP is attached to a multicast group, the last one is detached. One call at a time. The port
	 * gives what it receives for the group to uroce_mcast_receivers(). NULL: no multicast.
	 * @return 0 or -errno */
	int (*mcast_join)(struct uroce_device *dev, const union ibv_gid *mgid);
	void (*mcast_leave)(struct uroce_device *dev, const union ibv_gid *mgid);
	/* Log that a deregistration has waited this long for so many frames. NULL: no log. */
	void (*mr_waits)(struct uroce_device *dev, const struct ibv_mr *mr, uint32_t frames, uint64_t ns);
};

/* The control thread that drives connections of the device (lib/cm). The service of lib/port/cm fills it in. */
struct uroce_service_ops {
	/* Create the device's QP1, pass its MADs to the communication manager, and keep its deadlines; then
	 * uroce_cma_device_come(). One call at a time, without uroce_cm_lock. @return 0 or -errno */
	int (*start)(struct uroce_device *dev);
	/* uroce_cma_device_gone(), and end all that start() began, if it did. As start(). */
	void (*stop)(struct uroce_device *dev);
	/* A deadline is nearer, or a neighbor has departed. Any thread. */
	void (*kick)(struct uroce_device *dev);
};

/* The calls that a device makes of the layers above it, by the part that implements them. Constant. */
struct uroce_device_ops {
	const struct uroce_transport_ops *transport;
	const struct uroce_worker_ops *worker;
	const struct uroce_port_ops *port;
	const struct uroce_service_ops *service;	/* NULL: no connections */
};

struct uroce_device_conf {
	const char *name;	/* "uroce0" */
	uint64_t node_guid;	/* big-endian */
	uint16_t index;		/* among the process's devices */
	uint16_t port_id;	/* mbuf->port of what its QPs send */
	uint16_t vlan;		/* of the frames it takes; 0: untagged */
	int numa_node;
	unsigned int log2_max_qp;
	unsigned int log2_max_mr;
	bool go_back_n;		/* uroce_port_conf.go_back_n */
	const struct uroce_congestion *congestion;	/* uroce_port_conf.congestion; NULL: all defaults */
	bool poll_progress;	/* uroce_port_conf.poll_progress */
};

/* QPs by QPN: slot in the uppermost bits of the 24, as with keys. Readers under uroce_rcu. */
struct uroce_qps {
	struct uroce_qp **qps;	/* control: release; worker: acquire */
	struct uroce_qp *gsi;	/* QP1; as those of the table */
	struct uroce_slots slots;
	uint8_t log2;
	bool gsi_used;
};

/* XRC SRQs by number, as QPs. Readers under uroce_rcu. */
struct uroce_srqs {
	struct uroce_srq **srqs;	/* control: release; worker: acquire */
	struct uroce_slots slots;
};

struct uroce_device {
	union {
		struct ibv_device ibv;
		uint8_t room[2048];	/* providers read past it, as in struct verbs_device */
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
	bool go_back_n;		/* constant */
	bool ecn_capable;	/* congestion control is on; relaxed */
	uint32_t reclaims;	/* objects that are being destroyed asynchronously; atomic */
	uint32_t link_mbps;	/* the port's speed, which it writes; 0: unknown. Relaxed */
	const struct uroce_congestion *congestion;	/* control: release, under lock; worker: acquire, within RCU */
	bool poll_progress;	/* constant */
	int numa_node;
	struct uroce_event_queue events;	/* its fd is vctx.context.async_fd */
	pthread_mutex_t contexts_lock;
	LIST_HEAD(, uroce_context) contexts;	/* besides vctx, that are open; under contexts_lock */
	pthread_mutex_t lock;	/* the control sides of qps and srqs, lists, counts */
	LIST_HEAD(, uroce_ah) dead_ahs;	/* destroyed with sends under way */
	uint32_t context_count;	/* besides vctx, that are open or have objects */
	uint32_t ah_count;
	uint32_t pd_count;
	uint32_t cq_count;
	uint32_t qp_count;
	uint32_t srq_count;
	uint32_t xrcd_count;
	LIST_HEAD(, uroce_xrc_domain) xrc_domains;
	uint32_t channel_count;
	TAILQ_HEAD(, uroce_cq) cqs;	/* by handle, so that telemetry can name them */
	TAILQ_HEAD(, uroce_srq) srq_list;
	uint32_t handles;	/* given so far to PDs, CQs and SRQs */
	struct verbs_context vctx;	/* its own context. Last: it grows upwards */
};

/* rdma-core's libibverbs has something of its own in `priv`; nobody else looks there. */
static inline struct uroce_device *
uroce_device_of(struct ibv_context *ctx)
{
	return (struct uroce_device *)container_of(ctx, struct verbs_context, context)->priv;
}

/** Prepare a device (allocated zeroed by the caller) and its context. @return 0 or -errno */
int uroce_device_init(struct uroce_device *dev, const struct uroce_device_ops *ops,
		      const struct uroce_device_conf *conf);
/** @return 0, or -EBUSY while it has objects */
int uroce_device_fini(struct uroce_device *dev);

/** Zeroed memory near the device's port, where there is any; rte_free(). */
void *uroce_device_alloc(const struct uroce_device *dev, const char *type, size_t bytes);

/** Count an object in (@return false: there are `limit` of them) or out. */
bool uroce_device_count(struct uroce_device *dev, uint32_t *count, uint32_t limit);
void uroce_device_uncount(struct uroce_device *dev, uint32_t *count);

/** A CQ or SRQ is complete, and gets its number; it is about to go. */
void uroce_device_add_cq(struct uroce_device *dev, struct uroce_cq *cq);
void uroce_device_del_cq(struct uroce_device *dev, struct uroce_cq *cq);
void uroce_device_add_srq(struct uroce_device *dev, struct uroce_srq *srq);
void uroce_device_del_srq(struct uroce_device *dev, struct uroce_srq *srq);

/** Before a CQ or QP goes: forget its unread events, wait for those that were read to be acknowledged. */
void uroce_device_forget_events(struct ibv_context *context, struct uroce_event_refs *refs,
				pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *acked);

/** As uroce_device_forget_events() without waiting. @return false: some events are not acknowledged yet */
bool uroce_device_try_forget_events(struct ibv_context *context, struct uroce_event_refs *refs, pthread_mutex_t *mutex,
				    const uint32_t *acked);

/**
 * Queue an asynchronous event for uroce_get_async_event(): that of an object for its context, any other for all of
 * them. Any thread, a worker's too; never blocks.
 */
void uroce_device_event(struct uroce_device *dev, const struct ibv_async_event *event);

#endif /* UROCE_VERBS_DEVICE_DEVICE_H */
