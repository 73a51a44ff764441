/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

/**
 * @file
 * uroce: RDMA (RoCEv2) on any DPDK port.
 *
 * Data types are those of <infiniband/verbs.h>. Functions have the names of verbs functions with uroce_ in place of
 * ibv_, and behave as the man pages of verbs say. The inline functions ibv_post_send(), ibv_post_recv(),
 * ibv_poll_cq() and ibv_req_notify_cq() of that header work on these objects. Unless its comment says otherwise, a
 * function is thread-safe. If it returns int, it returns 0 or a positive errno; if it returns a pointer, it returns
 * NULL and sets errno on error.
 *
 * The program and the library may be of different releases. Set the member `size` of a struct to its sizeof before each
 * call that reads or fills it: struct uroce_port_conf conf = { .size = sizeof(conf), .mtu = 1500 }. Members that one
 * side lacks count as 0. EINVAL: size is too small, or was not set; E2BIG: a member that the library lacks is not 0, or
 * size exceeds UROCE_MAX_STRUCT_BYTES. See doc/reference/versions.
 *
 * Call rte_eal_init() first.
 */

#ifndef UROCE_H
#define UROCE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <infiniband/verbs.h>

#include "uroce_verbs.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)	/* other symbols of the library are hidden */

/** @defgroup workers Workers
 * @{ */

struct uroce_worker;

/**
 * Create a worker, which drives some of a device's QPs. It makes progress only when it is polled, by
 * uroce_worker_poll() or uroce_worker_launch().
 *
 * @param numa_node	preferred node of its memory; -1: the caller's
 * @return	NULL and errno: ENOMEM; ENOSPC after UROCE_MAX_WORKERS
 */
struct uroce_worker *uroce_create_worker(int numa_node);

/** The options of uroce_create_worker_ex(). A number of 0 stands for the default, which each comment gives last. */
struct uroce_worker_conf {
	size_t size;			/* sizeof(struct uroce_worker_conf) */
	int numa_node;			/* preferred node of its memory; -1: the caller's */
	uint32_t header_mbufs;		/* mbufs for headers, payloads up to 256 bytes, and references to payloads;
					 * 511..1048575; 16383 */
	uint32_t payload_mbufs;		/* mbufs for copied payloads, 127..1048575; 2047 */
	uint32_t inbox_frames;		/* frames that other workers have handed over and this one has not received yet,
					 * 31..65535; 511 with two workers, more with more */
	uint32_t reorder_frames;	/* out-of-order frames that it keeps, 1..65534; 2048. The pool of each of its
					 * queues has as many mbufs more, so it is a part of each device's memory */
	uint32_t reorder_qps;		/* QPs that it keeps out-of-order frames for, 1..262144; 256 */
	uint32_t recoveries;		/* QPs that retransmit selectively at a time, 1..262144; 256 */
	uint32_t rates;			/* QPs with a rate limit at a time, 1..262144; 1024 */
	uint32_t log2_window;		/* most packets that a QP may have in flight, as a power of two: the largest
					 * log2_window of its ports, 5..13; 8: 256 packets */
	uint32_t path_mtu;		/* largest path MTU of its ports: the size of payload_mbufs, 256..4096; 4096 */
};

/**
 * As uroce_create_worker(), with options. doc/reference/memory says how much memory each takes.
 *
 * @param conf	NULL: all defaults, and the caller's node
 * @return	NULL and errno: EINVAL: a member is out of its range, or size; E2BIG: size; else as uroce_create_worker()
 */
struct uroce_worker *uroce_create_worker_ex(const struct uroce_worker_conf *conf);

/** @return 0; EBUSY: it runs on an lcore, or a device uses it, or a thread domain of uroce_alloc_td_on() */
int uroce_destroy_worker(struct uroce_worker *worker);

/**
 * Run one round: send posted requests, receive and process frames, send responses, run timers. Any thread, one at a
 * time: while another thread polls the worker, the function returns 0 at once. Never blocks. Call it often: the worker
 * makes no progress otherwise. Threads may take turns: see uroce_worker_leave(). A thread is not canceled
 * (pthread_cancel(3), deferred) within the call. A round acknowledges the packets that the previous round received, after the requests
 * that the application has posted in between. So if it does not return 0, call it again soon.
 *
 * @return	number of frames that were received and sent
 */
unsigned int uroce_worker_poll(struct uroce_worker *worker);

/**
 * Get a descriptor on which a thread can wait, by epoll(7), poll(2) or select(2), while the worker has nothing to do.
 * It becomes readable after uroce_worker_arm(), when a frame arrives, a thread posts a request or uses the worker, or a
 * timer is due. Call this function before uroce_open_port(), so that the ports get RX interrupts. The descriptor is the
 * same in each call, and uroce_destroy_worker() closes it. Do not read it.
 *
 * @return	-1 and errno: EMFILE, ENFILE, ENOMEM
 */
int uroce_worker_fd(struct uroce_worker *worker);

/**
 * Prepare to wait for uroce_worker_fd(). Call this function on the thread that polls the worker, after
 * uroce_worker_poll() returned 0 and all CQs of the thread were found empty. On success, wait; then poll the worker and
 * the CQs again, which ends the wait also if the descriptor did not become readable. See doc/howto/sleep.
 *
 * @param timeout_ns	NULL, or set on success to the time until the worker must be polled, ns; UINT64_MAX: no timer
 *			runs. The descriptor becomes readable then. It is at most UROCE_WAIT_POLL_NS if a port has no
 *			interrupt or descriptor: then the worker polls at this interval
 * @return	0; EAGAIN: there is work, or another thread uses the worker: poll again; EINVAL: uroce_worker_fd() was
 *		never called; EBUSY: another thread drives the worker
 */
int uroce_worker_arm(struct uroce_worker *worker, uint64_t *timeout_ns);

/** The load of a worker. */
struct uroce_worker_load {
	size_t size;		/* set by the caller: sizeof(struct uroce_worker_load) */
	uint64_t busy_ns;	/* time of busy rounds, at most 1 ms each */
	uint64_t total_ns;	/* since the worker was created */
	uint64_t rounds;
	uint64_t busy_rounds;	/* rounds that received or sent frames */
	uint64_t late_rounds;	/* rounds that began 200 us or more after the round before, with no sleep between */
	uint64_t latest_ns;	/* the longest such time; 0: no round was late */
};

/**
 * Get the worker's load since its creation. For the load of an interval, subtract two results, but not latest_ns. A
 * round lasts until the next one begins, so it includes the program's own work between the two polls. Before a late
 * round, the system took the CPU away, or the thread did other work. A worker's first round, and the first after
 * uroce_worker_leave() or a sleep, are not late. Any thread, also while the worker is polled.
 *
 * @return	0; EINVAL or E2BIG: size
 */
int uroce_query_worker(struct uroce_worker *worker, struct uroce_worker_load *load);

/**
 * The calling thread stops polling the worker: it ends, or another thread takes over. Sends owed ACKs, and returns the
 * mbufs in the caches of the thread's lcore id to their pools. Without this call, the mbufs stay there until a thread
 * with this lcore id polls again, and a call that waits polls the worker only UROCE_WORKER_LEFT_NS later. QPs are not
 * affected: their timers stand still while no thread polls. Not from within uroce_worker_poll(). See
 * doc/howto/restart.
 */
void uroce_worker_leave(struct uroce_worker *worker);

/** Poll on a DPDK worker lcore until uroce_worker_stop(), also after another lcore or thread has polled the worker.
 * @return 0; EBUSY: it runs already or the lcore is not idle; EINVAL: no such lcore */
int uroce_worker_launch(struct uroce_worker *worker, unsigned int lcore_id);

/** Stop polling on the lcore of uroce_worker_launch(), and wait for its end. As uroce_worker_leave() on that lcore.
 * @return 0; EINVAL: not launched */
int uroce_worker_stop(struct uroce_worker *worker);

/**
 * Call fn(arg) while no worker of the process polls its ports, so that fn may change memory that a driver reads without
 * a lock. MT-safe; not within a poll. fn may call this function, too.
 */
void uroce_hold_workers(void (*fn)(void *arg), void *arg);

/** @} */

/** @defgroup ports Ports, addresses and congestion control
 * @{ */

/**
 * Congestion control of a port (DCQCN). The port marks the packets that it sends as ECN-capable, if the ECN bits of the
 * traffic class are 0. It answers packets marked CE with CNPs, and limits the rate of a QP that receives CNPs. Names and
 * meanings of the parameters are those of ConnectX. 0 stands for the default, which each comment gives last. See
 * doc/explanation/congestion.
 */
struct uroce_congestion {
	size_t size;			/* sizeof(struct uroce_congestion) */
	uint8_t off;			/* 1: no congestion control; the other parameters have no effect */
	uint8_t np_cnp_dscp;		/* DSCP of CNPs, 1..63, or UROCE_CNP_DSCP_OF_QP for that of the QP; 48 */
	uint8_t rpg_threshold;		/* increases before additive, and again before hyper increase; 5 */
	uint8_t rpg_min_dec_fac;	/* %: least part of the rate that a CNP leaves; 50 */
	uint16_t dce_tcp_g;		/* of 1024: part of alpha that an update keeps; 1020 */
	uint16_t initial_alpha_value;	/* of 1024: alpha at the first CNP; 1024 */
	uint32_t np_min_time_between_cnps;	/* us between two CNPs of a QP; 50 */
	uint32_t rpg_max_rate;		/* Mb/s: a QP above it has no limit; the link's, or 100,000 if unknown */
	uint32_t rpg_min_rate;		/* Mb/s; 10 */
	uint32_t rpg_ai_rate;		/* Mb/s: additive increase of the target rate; 40 */
	uint32_t rpg_hai_rate;		/* Mb/s: hyper increase of the target rate; 200 */
	uint32_t rpg_time_reset;	/* us without a CNP to the next increase; 55 */
	uint32_t rpg_byte_reset;	/* bytes without a CNP to the next increase; 10,000,000 */
	uint32_t rate_to_set_on_first_cnp;	/* Mb/s: the rate that the first CNP reduces; rpg_max_rate */
	uint32_t rate_reduce_monitor_period;	/* us after a reduction in which CNPs do not reduce again; 4 */
	uint32_t dce_tcp_rtt;		/* us without a CNP until alpha decays; 55 */
};

#define UROCE_CNP_DSCP_OF_QP 0xff

/** The options of uroce_open_port(). */
struct uroce_port_conf {
	size_t size;			/* sizeof(struct uroce_port_conf) */
	const char *name;		/* device name; NULL: "uroce<n>" */
	const struct uroce_congestion *congestion;	/* NULL: all defaults */
	unsigned int log2_max_qp;	/* of the most QPs, 1..18; 0: 16 */
	unsigned int log2_max_mr;	/* of the most MRs and windows, 1..22; 0: 16 */
	uint16_t vlan;			/* VLAN ID 1..4094; 0: untagged */
	uint16_t nb_rx_desc;		/* 0: the default of the port or of uroce */
	uint16_t nb_tx_desc;		/* 0: as above */
	uint16_t mtu;			/* Ethernet MTU; 0: enough for path MTU 4096, or the port's maximum */
	uint8_t go_back_n;		/* 1: go back N after a loss, without reorder buffer and early probes */
	uint8_t poll_progress;		/* 1: a poll of an empty CQ polls the device's workers, for programs that do
					 * not poll workers; another thread must poll while the program sleeps */
	uint8_t no_owner;		/* 1: do not claim the port (rte_eth_dev_owner_set()), so that
					 * RTE_ETH_FOREACH_DEV() and dpdk-dumpcap see it */
	uint8_t no_loopback;		/* 1: reach other devices of this process through the port; loop back only
					 * packets to the device's own addresses */
	uint8_t reserved[4];		/* 0 */
	uint32_t max_neighbors;		/* hosts and routers on the link that it reaches at a time; 8..262144; 1024 */
	uint32_t rx_mbufs;		/* mbufs of each RX queue, 127..1048575; 0: nb_rx_desc, as many in the worker,
					 * and its reorder_frames divided by the number of workers */
	uint32_t log2_window;		/* most packets that a QP may have in flight, as a power of two, 5..13; 0: the
					 * least log2_window of its workers. A QP begins with 256:
					 * doc/explanation/recovery says when it has more */
	uint32_t max_cq;		/* CQs, 1..1048576; 65536 */
	uint8_t share_memory;		/* 1: net_memif: if the peer, too, has set this, each reads payloads from the
					 * other's DPDK memory, one copy instead of two. The peer can then read and
					 * change this process's, and crash this process: doc/reference/ports */
	uint8_t reserved_end[7];	/* 0 */
};

/**
 * Set members of the two structs, which have their `size`, from text: "log2_window=12,rx_mbufs=8191". A name is that
 * of a member that is a number and a limit; a name that both structs have sets both.
 *
 * @param limits	such as the value of a program's option
 * @param reason	set to the mistake and its remedy if the call fails
 * @param room		bytes in `reason`
 * @return	0; EINVAL: there is no such limit, or it is out of its range; ENOMEM
 */
int uroce_parse_limits(const char *limits, struct uroce_worker_conf *worker, struct uroce_port_conf *port, char *reason,
		       size_t room);

/**
 * Turn a DPDK port into an RDMA device: configure and start the port with a queue for each worker.
 *
 * @param port_id	an ethdev port that no other code uses
 * @param conf		NULL: all defaults
 * @param workers	worker i polls queue i, and drives the QPs whose send CQ has completion vector i
 * @return	the device's context; NULL and errno: EINVAL, E2BIG, EBUSY, ENODEV, ENOMEM, or the port's error
 */
struct ibv_context *uroce_open_port(uint16_t port_id, const struct uroce_port_conf *conf,
				    struct uroce_worker *const *workers, unsigned int nb_workers);

/**
 * ibv_open_device(3): open another context of a device, with its own asynchronous events. Objects of different
 * contexts cannot be combined.
 *
 * @param device	`device` of the context of uroce_open_port()
 * @return	NULL and errno: ENOMEM, EMFILE
 */
struct ibv_context *uroce_open_device(struct ibv_device *device);

/**
 * ibv_close_device(3). Closing the context of uroce_open_port() stops the port. A context of uroce_open_device() is
 * freed when its last object is destroyed; until then its objects keep working.
 *
 * @return	0; EBUSY: objects or other contexts of the port exist
 */
int uroce_close_device(struct ibv_context *context);

/**
 * Stop a port while the device's objects stay, and its QPs stay connected: to start it with another MTU or number of
 * descriptors, with more or other workers, or to reset its driver. When the function returns, no thread calls the driver,
 * and the program may call ethdev for the port. Until uroce_start_port(), the port drops all frames; QPs retransmit
 * by their timers, and fail once retry_cnt is exhausted. The state of the port is IBV_PORT_DOWN; raises
 * IBV_EVENT_PORT_ERR if it was IBV_PORT_ACTIVE. See doc/howto/restart.
 *
 * @param context	any context of the device
 * @return	0; EINVAL: the port is stopped
 */
int uroce_stop_port(struct ibv_context *context);

/**
 * Configure and start a port after uroce_stop_port(), with a queue for each worker. It keeps its MAC address, and
 * announces the device's addresses. Calls rte_eth_dev_reset() first if the driver has requested it
 * (RTE_ETH_EVENT_INTR_RESET). Raises IBV_EVENT_PORT_ACTIVE once the link is up. Creation of QPs waits for the call's
 * end.
 *
 * @param context	any context of the device
 * @param conf		mtu, nb_rx_desc, nb_tx_desc, rx_mbufs apply, the others are ignored; NULL: all as before. mtu
 *			must suffice for the path MTU of each connected QP; UD QPs keep theirs
 * @param workers	as for uroce_open_port(); NULL: the workers that the port had. A worker that the port had, but
 *			no longer uses, may be destroyed once no thread polls the device's CQs or queries its counters
 * @return	0; EBUSY: the port is started, or QPs belong to a worker that it no longer uses (see uroce_qp_move());
 *		EINVAL, E2BIG, ENODEV, ENOMEM, ENOTSUP or the port's error: the port is still stopped, and the function
 *		may be called again
 */
int uroce_start_port(struct ibv_context *context, const struct uroce_port_conf *conf,
		     struct uroce_worker *const *workers, unsigned int nb_workers);

/**
 * Add an address to the device: to its GID table, and for ARP or neighbor discovery and ICMP echo. Raises
 * IBV_EVENT_GID_CHANGE.
 *
 * @param cidr	"10.0.0.1/24" or "fd00::1/64"
 * @return	EINVAL: not an address; EEXIST; ENOSPC: the GID table is full
 */
int uroce_add_address(struct ibv_context *context, const char *cidr);
/** Remove an address from the device. Raises IBV_EVENT_GID_CHANGE.
 * @return EINVAL: not an address; ENOENT: the device does not have it; EBUSY: QPs or address handles use it */
int uroce_del_address(struct ibv_context *context, const char *cidr);

/** Set the router for destinations outside of the device's subnets. @param address	"10.0.0.254"; NULL: none */
int uroce_set_gateway(struct ibv_context *context, const char *address);

/**
 * Send an ICMP or ICMPv6 echo request and wait for the reply. Polls workers while it waits.
 *
 * @return	0; ETIMEDOUT; EINVAL: not an address; ENETUNREACH; ENOBUFS: UROCE_MAX_PINGS are outstanding
 */
int uroce_ping(struct ibv_context *context, const char *address, unsigned int timeout_ms);

/**
 * Change the parameters of congestion control, also while QPs send. QPs keep their current rates, unless `off` removes
 * them at once. Existing connections and address handles keep the ECN bits of their packets; the new parameters apply
 * to CNPs of all QPs.
 *
 * @param congestion	NULL: all defaults
 * @return	0; EINVAL: out of range, or size; E2BIG: size; ENOMEM
 */
int uroce_set_congestion(struct ibv_context *context, const struct uroce_congestion *congestion);

/** Get the parameters of congestion control, with defaults filled in; rpg_max_rate 0: that of the link.
 * @return 0; EINVAL or E2BIG: size */
int uroce_get_congestion(struct ibv_context *context, struct uroce_congestion *congestion);

/** A counter of a device, with its name. Programs pass arrays of it, so no release adds a member. */
struct uroce_counter {
	const char *name;
	uint64_t value;
};

/**
 * Read the device's counters: one for each verdict on a received packet, and those of sent packets. The transport has
 * one set of counters per worker: if a worker drives several devices, its counts include all of them.
 *
 * @param counters	room for `room` entries
 * @return	number of counters; the first `room` of them are written
 */
unsigned int uroce_query_counters(struct ibv_context *context, struct uroce_counter *counters,
				  unsigned int room);

/** @} */

/** @defgroup devices Devices and asynchronous events
 * @{ */

/** ibv_query_device(3). @return 0 */
int uroce_query_device(struct ibv_context *context, struct ibv_device_attr *attr);

/** uroce_query_device_ex() for a struct of attr_size bytes, as in the <infiniband/verbs.h> of the program. */
int uroce_query_device_ex_sized(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
				struct ibv_device_attr_ex *attr, size_t attr_size);

/**
 * ibv_query_device_ex(3). completion_timestamp_mask has all 64 bits; hca_core_clock is 1,000,000 kHz, since time
 * stamps are nanoseconds.
 *
 * @param input	NULL, or comp_mask 0
 * @return	0; EINVAL: comp_mask
 */
static inline int
uroce_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
		      struct ibv_device_attr_ex *attr)
{
	return uroce_query_device_ex_sized(context, input, attr, sizeof(*attr));
}

/**
 * ibv_query_rt_values_ex(3).
 *
 * @param values	comp_mask IBV_VALUES_MASK_RAW_CLOCK: raw_clock.tv_nsec is set to the time of the clock of
 *			completion time stamps, tv_sec to 0
 * @return	0; EINVAL: comp_mask
 */
int uroce_query_rt_values_ex(struct ibv_context *context, struct ibv_values_ex *values);

/** uroce_query_port() for a struct of attr_size bytes, as in the <infiniband/verbs.h> of the program. */
int uroce_query_port_sized(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr, size_t attr_size);

/** ibv_query_port(3). @return 0; EINVAL: port_num is not 1 */
static inline int
uroce_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr)
{
	return uroce_query_port_sized(context, port_num, attr, sizeof(*attr));
}

/** ibv_query_gid(3); an empty entry is all zeros. @return 0; -1 and errno: EINVAL */
int uroce_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid);

/** ibv_query_gid_ex(3). @return 0; ENODATA: an empty entry; EINVAL: port, index, or flags not 0 */
int uroce_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		       struct ibv_gid_entry *entry, uint32_t flags);

/**
 * ibv_query_gid_table(3).
 *
 * @param max_entries	room in `entries`, not 0
 * @param flags		0
 * @return	number of entries; -EINVAL: more than max_entries, or an argument
 */
ssize_t uroce_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max_entries,
			      uint32_t flags);

/** ibv_query_pkey(3). The only entry is number 0, 0xffff. @return 0; -1 and errno: EINVAL */
int uroce_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey);
/** ibv_get_pkey_index(3). @return 0; -1 and errno: EINVAL: another port, or not 0xffff */
int uroce_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey);
const char *uroce_get_device_name(struct ibv_device *device);
/** ibv_get_device_index(3): devices of a process are numbered from 0. */
int uroce_get_device_index(struct ibv_device *device);
__be64 uroce_get_device_guid(struct ibv_device *device);

/**
 * ibv_get_async_event(3). context->async_fd can be polled, and set to O_NONBLOCK. Events of a port:
 * IBV_EVENT_PORT_ERR and IBV_EVENT_PORT_ACTIVE when its link goes down and up, IBV_EVENT_GID_CHANGE, and
 * IBV_EVENT_DEVICE_FATAL when the device has been removed. If the driver has interrupts, a change of the link is
 * reported at once, else within UROCE_LINK_POLL_NS, while the worker of the first queue is polled.
 *
 * @return	0; -1 and errno: EAGAIN, EINTR
 */
int uroce_get_async_event(struct ibv_context *context, struct ibv_async_event *event);

/** ibv_ack_async_event(3). A call that destroys the event's object waits until the event is acknowledged. */
void uroce_ack_async_event(struct ibv_async_event *event);

/** @} */

/** @defgroup domains Protection domains
 * @{ */

/** ibv_alloc_pd(3). @return NULL and errno: ENOMEM, also after UROCE_MAX_PD */
struct ibv_pd *uroce_alloc_pd(struct ibv_context *context);

/** ibv_dealloc_pd(3). @return 0; EBUSY: MRs, memory windows, QPs or a parent domain belong to it */
int uroce_dealloc_pd(struct ibv_pd *pd);

/** ibv_alloc_td(3): QPs and CQs of a parent domain with it take no locks, so one thread at a time may use them.
 * @return NULL and errno: ENOMEM, EINVAL */
struct ibv_td *uroce_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *init_attr);

/**
 * As uroce_alloc_td(), for QPs of one worker: a QP that is created with a parent domain of this thread domain belongs
 * to the worker, whichever its completion queues. If the thread that posts is the one that polls the worker, posting
 * takes no atomic operation.
 *
 * @param worker	one of the workers of the device
 * @return	NULL and errno: ENOMEM; EINVAL: the device does not use the worker
 */
struct ibv_td *uroce_alloc_td_on(struct ibv_context *context, struct uroce_worker *worker);

/** ibv_dealloc_td(3). @return 0; EBUSY: it is in a parent domain */
int uroce_dealloc_td(struct ibv_td *td);

/** The purpose of memory, for a parent domain's alloc() and free(). */
enum uroce_res_type {
	UROCE_RES_TYPE_QP = 1, /**< a send or a receive queue */
	UROCE_RES_TYPE_SRQ = 2,
	UROCE_RES_TYPE_CQ = 3, /**< of uroce_create_cq_ex() with IBV_CQ_INIT_ATTR_MASK_PD */
};

/**
 * ibv_alloc_parent_domain(3): another name of attr->pd, for each function that takes a PD. Objects of either can be
 * used with the other. The rings of queues are allocated by attr->alloc(), called with an enum uroce_res_type by the
 * thread that creates or resizes the queue. Freed by uroce_dealloc_pd().
 *
 * @return	NULL and errno: EINVAL: attr->pd is NULL, a parent domain, or of another context, or an
 *		allocator is missing; ENOMEM, also after UROCE_MAX_PD
 */
struct ibv_pd *uroce_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr);

/** @} */

/** @defgroup memory Memory regions and windows
 * @{ */

/**
 * ibv_reg_mr(3): any memory of the process, at any alignment, any number of times.
 *
 * @param length	bytes, 1 .. max_mr_size
 * @param access	remote write and atomic access need local write; IBV_ACCESS_FLUSH_PERSISTENT needs memory
 *		mapped with MAP_SYNC; relaxed ordering is accepted and has no effect
 * @return	NULL and errno: EINVAL: length or access; EFAULT: not mapped, or not writable although access has
 *		local write; ENOMEM: the table is full; EOPNOTSUPP: IBV_ACCESS_ON_DEMAND
 */
struct ibv_mr *uroce_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access);

/** ibv_reg_mr_iova(3). @param iova	address of the first byte in work requests and for peers
 * @return as uroce_reg_mr() */
struct ibv_mr *uroce_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access);

/** ibv_reg_mr_iova2(), to which verbs.h redirects ibv_reg_mr() and ibv_reg_mr_iova() if access has optional flags. */
struct ibv_mr *uroce_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				  unsigned int access);

/** ibv_reg_dmabuf_mr(3). Not supported. @return NULL and errno: EOPNOTSUPP */
struct ibv_mr *uroce_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
				   int access);

/** ibv_alloc_null_mr(3). Reads return zeros, writes are discarded; peers cannot use its rkey.
 * @return NULL and errno: ENOMEM */
struct ibv_mr *uroce_alloc_null_mr(struct ibv_pd *pd);

/**
 * ibv_rereg_mr(3), all or nothing: after an error the region is unchanged. The keys do not change. Neither the
 * application nor a peer may use the region during the call: the access of a peer is refused.
 *
 * @param flags	enum ibv_rereg_mr_flags, at least one
 * @return	0; IBV_REREG_MR_ERR_INPUT and errno: as uroce_reg_mr(); EINVAL also: flags, a null MR, a PD of
 *		another device; EBUSY: memory windows are bound to it
 */
int uroce_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access);

/**
 * ibv_dereg_mr(3). Waits until no outgoing packet references the memory, and logs a warning after
 * UROCE_MR_WAIT_TELL_NS. While it waits, it polls the calling thread's own workers, and those without an owner.
 * MT-safe; not from within uroce_worker_poll().
 *
 * @return	0: the memory may be freed; EBUSY: memory windows are bound to it, nothing has changed; ETIMEDOUT: a
 *		port has kept packets for UROCE_MR_WAIT_MAX_NS. Then the keys are invalid for good, but the memory must
 *		stay: call this function or uroce_dereg_mr_async() again
 */
int uroce_dereg_mr(struct ibv_mr *mr);

/**
 * uroce_dereg_mr() without waiting. When it returns 0, the keys are invalid and mr must not be used any more. The
 * memory must stay, and the protection domain is in use, until freed(arg) is called. Any thread that calls
 * uroce_worker_poll(), or an lcore that runs a worker, calls freed outside of the worker's turn, and never before this
 * function returns. freed may call any function but uroce_worker_poll(). MT-safe; not from within uroce_worker_poll().
 *
 * @param freed	NULL: no callback
 * @return	0; EBUSY: memory windows are bound to it; ENOMEM. After an error nothing has changed
 */
int uroce_dereg_mr_async(struct ibv_mr *mr, void (*freed)(void *arg), void *arg);

/**
 * ibv_advise_mr(3). Prefetching makes the kernel provide the pages before the function returns; PREFETCH_NO_FAULT is
 * only a hint to the kernel. No page is pinned.
 *
 * @return	0; EINVAL: advice or flags; EFAULT: an lkey does not belong to the PD, a range is not within its
 *		region, or not writable for PREFETCH_WRITE; ENOTSUP: the kernel is too old; or the kernel's error
 */
int uroce_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *sg_list,
		    uint32_t num_sge);

/**
 * ibv_alloc_mw(3). Type 2 windows are of type 2B, which includes 2A: the QP to which a window is bound and the PD are
 * checked. Windows share the table of keys with MRs.
 *
 * @return	NULL and errno: EINVAL: type; ENOMEM: memory, or the table is full
 */
struct ibv_mw *uroce_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);

/** ibv_dealloc_mw(3), of a window that is bound or not. No outstanding work request may use it. @return 0 */
int uroce_dealloc_mw(struct ibv_mw *mw);

/**
 * ibv_bind_mw(3), for type 1. When it returns, mw->rkey is the new key; peers can use the key when the work request
 * has completed. Length 0 unbinds. A bind that the rules do not allow completes with IBV_WC_MW_BIND_ERR.
 *
 * @return	0; EINVAL: not of type 1, a range without an MR, unknown access flags, or the QP's type or state;
 *		EPERM: the MR is of another PD; ENOMEM: the send queue is full
 */
int uroce_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/** ibv_import_device(3) and related functions. Not supported: processes cannot share a device.
 * @return NULL and errno: EOPNOTSUPP */
struct ibv_context *uroce_import_device(int cmd_fd);
struct ibv_pd *uroce_import_pd(struct ibv_context *context, uint32_t pd_handle);
struct ibv_mr *uroce_import_mr(struct ibv_pd *pd, uint32_t mr_handle);
struct ibv_dm *uroce_import_dm(struct ibv_context *context, uint32_t dm_handle);
/** No-op, since no object can be imported. */
void uroce_unimport_pd(struct ibv_pd *pd);
void uroce_unimport_mr(struct ibv_mr *mr);
void uroce_unimport_dm(struct ibv_dm *dm);

/** @} */

/** @defgroup cqs Completion queues
 * @{ */

/** ibv_create_comp_channel(3). channel->fd can be polled, and set to O_NONBLOCK. */
struct ibv_comp_channel *uroce_create_comp_channel(struct ibv_context *context);

/** @return 0; EBUSY: CQs use it */
int uroce_destroy_comp_channel(struct ibv_comp_channel *channel);

/**
 * ibv_create_cq(3).
 *
 * @param cqe		entries, 1 .. UROCE_MAX_CQE; the CQ gets exactly this number
 * @param channel	receives the CQ's events; NULL: none
 * @param comp_vector	0 .. context->num_comp_vectors - 1: the index, in the array of uroce_open_port(), of the worker
 *		that drives the QPs with this send CQ
 * @return	NULL and errno: EINVAL, ENOMEM
 */
struct ibv_cq *uroce_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			       struct ibv_comp_channel *channel, int comp_vector);

/**
 * ibv_create_cq_ex(3). start_poll returns ENOENT: the CQ is empty; EIO: it is empty and has overrun. Between
 * start_poll and end_poll, other threads that poll or resize the CQ wait. uroce_poll_cq() can poll the same CQ, from
 * ibv_cq_ex_to_cq().
 *
 * @param attr	wc_flags: all except IBV_WC_EX_WITH_TM_INFO; a field without its flag cannot be read. flags:
 *		IBV_CREATE_CQ_ATTR_SINGLE_THREADED: the application polls and resizes the CQ by one thread at a time;
 *		IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN: completions that do not fit are lost
 * @return	NULL and errno: EOPNOTSUPP: flags, wc_flags or comp_mask; else as uroce_create_cq()
 */
struct ibv_cq_ex *uroce_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);

/**
 * ibv_resize_cq(3), to exactly cqe entries. Completions stay in the CQ. Threads may poll the CQ, and QPs may complete
 * to it, during the call.
 *
 * @return	0; EINVAL: not 1 .. UROCE_MAX_CQE, or the CQ holds more completions; ENOMEM
 */
int uroce_resize_cq(struct ibv_cq *cq, int cqe);

/**
 * ibv_modify_cq(3). An armed CQ raises its event after moderate.cq_count completions, or moderate.cq_period
 * microseconds after the first of them, whichever is sooner. Count 0: after the period; period 0: after the count; both
 * 0, the default: at once. The call raises the event for completions that wait.
 *
 * @param attr	attr_mask: IBV_CQ_ATTR_MODERATE
 * @return	0; EINVAL: attr_mask
 */
int uroce_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);

/** ibv_destroy_cq(3). Waits until the application has acknowledged the CQ's events that it got.
 * @return 0; EBUSY: QPs use it */
int uroce_destroy_cq(struct ibv_cq *cq);

/**
 * ibv_poll_cq(3). Never blocks. Polls no worker, unless uroce_port_conf.poll_progress is set.
 *
 * @return	number of completions that were written; -1: the CQ has overrun, and all earlier completions have
 *		been polled
 */
int uroce_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);

/** ibv_req_notify_cq(3): arm the CQ for one event, at its next completion. @return 0 */
int uroce_req_notify_cq(struct ibv_cq *cq, int solicited_only);

/** ibv_get_cq_event(3). @return 0; -1 and errno: EAGAIN, EINTR */
int uroce_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context);

/** ibv_ack_cq_events(3) */
void uroce_ack_cq_events(struct ibv_cq *cq, unsigned int nevents);

/** @} */

/** @defgroup srqs Shared receive queues and XRC domains
 * @{ */

/**
 * ibv_create_srq(3). The next message to any QP of the SRQ consumes the next posted receive. Its lkeys are those of
 * the SRQ's protection domain, not of the QP's.
 *
 * @param init_attr	attr: max_wr, 1 .. max_srq_wr, and max_sge, up to max_srq_sge; the granted values are written
 *		back. srq_limit is ignored
 * @return	NULL and errno: EINVAL; ENOMEM: memory, or max_srq SRQs exist
 */
struct ibv_srq *uroce_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init_attr);

/**
 * ibv_create_srq_ex(3). IBV_SRQT_XRC: needs also an XRCD, and a CQ for its completions. Peers put the SRQ's number into
 * their requests; the SRQ's protection domain must allow the memory accesses of these requests.
 *
 * @return	as uroce_create_srq(); EOPNOTSUPP: IBV_SRQT_TM
 */
struct ibv_srq *uroce_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *init_attr);

/**
 * ibv_modify_srq(3), all or nothing, also while the SRQ is in use. IBV_SRQ_MAX_WR: resize it; queued receives stay.
 * IBV_SRQ_LIMIT: raise one IBV_EVENT_SRQ_LIMIT_REACHED when fewer than srq_limit receives are queued, at once if there
 * are fewer already; 0: never.
 *
 * @return	0; EINVAL: a size beyond max_srq_wr or below the queued receives, or a limit beyond the size; ENOMEM
 */
int uroce_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int attr_mask);

/** ibv_query_srq(3); srq_limit is 0 if no limit is armed. @return 0 */
int uroce_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);

/** ibv_get_srq_num(3). @return 0; EOPNOTSUPP: not an XRC SRQ */
int uroce_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num);

/** ibv_destroy_srq(3). Waits until the application has acknowledged the SRQ's events that it got. Queued receives, and
 * those of incomplete messages to an XRC SRQ, do not complete. @return 0; EBUSY: QPs use it */
int uroce_destroy_srq(struct ibv_srq *srq);

/** ibv_post_srq_recv(3), as uroce_post_send(). @return 0; EINVAL: SGEs; ENOMEM: full */
int uroce_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/**
 * ibv_open_xrcd(3). Within the process, all that open the same inode share one domain; fd -1 creates a private domain.
 *
 * @param init_attr	oflags: O_CREAT, and O_EXCL with it; other flags are ignored
 * @return	NULL and errno: EAGAIN: no such domain, and no O_CREAT; EINVAL: it exists, and O_EXCL; or comp_mask;
 *		EBADF; ENOMEM
 */
struct ibv_xrcd *uroce_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *init_attr);

/** ibv_close_xrcd(3). @return 0; EBUSY: SRQs or QPs use it */
int uroce_close_xrcd(struct ibv_xrcd *xrcd);

/** @} */

/** @defgroup qps Queue pairs
 * @{ */

/**
 * ibv_create_qp(3).
 *
 * @param init_attr	qp_type: IBV_QPT_RC, _UC or _UD; cap: the granted values are written back; sq_sig_all; srq:
 *		the QP consumes receives of this SRQ, and the receive values of cap are ignored
 * @return	NULL and errno: EOPNOTSUPP: another type; EINVAL: beyond a limit of the device, or a CQ of another
 *		device; ENOMEM: memory, or max_qp QPs exist
 */
struct ibv_qp *uroce_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init_attr);

/**
 * ibv_create_qp_ex(3): as uroce_create_qp(). With IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, ibv_wr_start() and the other inline
 * functions of struct ibv_qp_ex work. Between ibv_wr_start() and ibv_wr_complete() or ibv_wr_abort(), other threads
 * that post to the QP wait. ibv_wr_complete() posts all requests, or none and returns EINVAL: state, flags, data or
 * address; ENOMEM: the queue is full.
 *
 * An IBV_QPT_XRC_RECV QP needs an XRCD. It exists until each handle of it, created or opened with uroce_open_qp(), has
 * been destroyed.
 *
 * @param attr	comp_mask: IBV_QP_INIT_ATTR_PD is required, for IBV_QPT_XRC_RECV IBV_QP_INIT_ATTR_XRCD instead;
 *		IBV_QP_INIT_ATTR_SEND_OPS_FLAGS: opcodes that uroce_post_send() accepts for the type of QP;
 *		IBV_QP_INIT_ATTR_CREATE_FLAGS: 0, or for IBV_QPT_UD IBV_QP_CREATE_BLOCK_SELF_MCAST_LB, not to receive
 *		the QP's own messages to a group
 * @return	NULL and errno: EOPNOTSUPP: comp_mask, send_ops_flags or create_flags; else as uroce_create_qp()
 */
struct ibv_qp *uroce_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);

/**
 * Get the worker that drives a QP: that of its thread domain (uroce_alloc_td_on()), else that of the completion vector of
 * its send CQ. A QP without a send CQ, IBV_QPT_XRC_RECV, belongs to any worker of the device. uroce_qp_move() changes it.
 *
 * @return	never NULL
 */
struct uroce_worker *uroce_qp_worker(struct ibv_qp *qp);

/**
 * Move a QP to another worker of its device, so that another thread drives it. The QP may be in any state, also connected
 * and with traffic in both directions, while other threads post and poll. Nothing is lost: received frames that wait for
 * the QP are processed first, and retransmission goes on where it was. The QP keeps its completion queues. A CQ that it
 * shares with other QPs takes a lock for each completion from then on.
 *
 * The function takes the turns of both workers and waits until each other worker has ended its round, so that the two
 * workers pause for some microseconds. Frames that the port has not sent yet may arrive after later ones, as on any
 * network: an RC QP puts them in order, a UC QP may lose a message. Any thread, but not from within
 * uroce_worker_poll() or uroce_hold_workers().
 *
 * @param qp	a handle of an XRC target QP moves the QP itself
 * @return	0, also if the worker drives the QP already; EINVAL: the device does not use the worker
 */
int uroce_qp_move(struct ibv_qp *qp, struct uroce_worker *worker);

/** ibv_qp_to_qp_ex(). @return NULL: the QP was created without IBV_QP_INIT_ATTR_SEND_OPS_FLAGS */
struct ibv_qp_ex *uroce_qp_to_qp_ex(struct ibv_qp *qp);

/** ibv_open_qp(3): another handle of an IBV_QPT_XRC_RECV QP of the same XRCD, with its own events.
 * @return NULL and errno: EINVAL, also if there is no such QP; EOPNOTSUPP: a bit of comp_mask; ENOMEM */
struct ibv_qp *uroce_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);

/**
 * ibv_modify_qp(3), all or nothing.
 *
 * @return	0; EINVAL: transition, mask or value; ENETUNREACH: the address is in no subnet of the device, and
 *		there is no router; ENOMEM
 */
int uroce_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask);

/** ibv_query_qp(3). Ignores the mask and returns all attributes; sq_psn and rq_psn are the next PSNs. @return 0 */
int uroce_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
		   struct ibv_qp_init_attr *init_attr);

/** ibv_destroy_qp(3). Waits until the application has acknowledged the QP's events that it got. Waits for another
 * thread between ibv_start_poll() and ibv_end_poll() of one of its CQs. For UD and UC, polls the worker up to
 * UROCE_DESTROY_POLLS times so that queued messages are sent. Removes the QP's unpolled completions from its CQs.
 * @return 0; EBUSY: it is attached to a multicast group (R49) */
int uroce_destroy_qp(struct ibv_qp *qp);

/**
 * As uroce_destroy_qp(), but waits only for a round of the QP's worker, and for a thread that reads the QP's
 * completions. When it returns 0, qp must not be used any more, and its completions have been removed from its CQs. It
 * sends no more packets, not even queued messages of UD and UC. freed(arg) is called as by uroce_dereg_mr_async(), once
 * no worker uses the QP and the application has acknowledged the QP's events that it got. Until then the CQs, the SRQ
 * and the protection domain are in use, and the memory of posted requests must stay. MT-safe; not from within
 * uroce_worker_poll().
 *
 * @param freed	NULL: no callback
 * @return	0; EBUSY: it is attached to a multicast group (R49); ENOMEM; EOPNOTSUPP: an XRC target
 */
int uroce_destroy_qp_async(struct ibv_qp *qp, void (*freed)(void *arg), void *arg);

/** @} */

/** @defgroup datagrams Address handles and multicast
 * @{ */

/**
 * ibv_create_ah(3). All UD QPs of the PD can use the handle.
 *
 * @param attr	is_global: not 0; port_num: 1; dgid: of a host or a multicast group; flow_label: determines the
 *		UDP source port; 0: the number of the destination QP does
 * @return	NULL and errno: EINVAL: attributes; ENETUNREACH: the address is in no subnet of the device, and there
 *		is no router; ENOMEM: memory, or max_ah handles exist
 */
struct ibv_ah *uroce_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);

/** ibv_destroy_ah(3). Sends that were posted with the handle are not affected. @return 0 */
int uroce_destroy_ah(struct ibv_ah *ah);

/**
 * ibv_init_ah_from_wc(3): the address vector for the reply to a datagram. For a multicast datagram, the source is the
 * first entry of the GID table with the sender's address family.
 *
 * @param grh	the first 40 bytes of the receive buffer
 * @return	0; -1 and errno: EINVAL: not a receive of a UD QP, or not sent to an address of the device
 */
int uroce_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
			  struct ibv_grh *grh, struct ibv_ah_attr *ah_attr);

/** ibv_create_ah_from_wc(3). @return NULL and errno, as uroce_init_ah_from_wc() and uroce_create_ah() */
struct ibv_ah *uroce_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				       uint8_t port_num);

/**
 * ibv_attach_mcast(3): the QP receives messages to the group that have its Q_Key, and its device joins the group. A QP
 * need not be attached to send to a group; it receives its own messages only if it is attached. To send, create an
 * address handle for the group, and use 0xffffff as the remote QPN.
 *
 * @param gid	of the group: an IPv6 address in ff00::/8, or an IPv4 address in 224.0.0.0/4, mapped into IPv6
 * @param lid	ignored
 * @return	0, also if the QP is attached already; EINVAL: not a UD QP, or not a group; ENOMEM: memory,
 *		max_mcast_grp or max_mcast_qp_attach; EOPNOTSUPP: max_mcast_grp is 0; or the port's error
 */
int uroce_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);

/** ibv_detach_mcast(3). @return 0; EINVAL: not attached; ENOMEM; EOPNOTSUPP: max_mcast_grp is 0 */
int uroce_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);

/** @} */

/** @defgroup posting Posting work requests
 * @{ */

/**
 * ibv_post_send(3). No system call, no allocation. A QP in the error state, and a UC or UD QP whose send queue is in
 * error (IBV_QPS_SQE), flushes the requests.
 *
 * @param bad_wr	the first request that was not posted
 * @return	0; EINVAL: opcode, flags, SGEs, inline data, address or the QP's state; ENOMEM: the queue is full
 */
int uroce_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);

/** ibv_post_recv(3), as uroce_post_send(). @return 0; EINVAL: SGEs, a QP in RESET, or one with an
 * SRQ; ENOMEM: full */
int uroce_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/** ibv_query_qp_data_in_order(3). @return 0: the order of bytes is not guaranteed, but the last byte comes last */
int uroce_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags);

/** ibv_query_ece(3): no vendor, all zeros. @return 0 */
int uroce_query_ece(struct ibv_qp *qp, struct ibv_ece *ece);
/** ibv_set_ece(3). @return 0; EOPNOTSUPP: a field is not zero */
int uroce_set_ece(struct ibv_qp *qp, struct ibv_ece *ece);

/** @} */

/** @defgroup names Fork, rates and names
 * @{ */

/** ibv_fork_init(3): no-op. After a fork, only the parent may use uroce. @return 0 */
int uroce_fork_init(void);
/** ibv_is_fork_initialized(3). @return IBV_FORK_UNNEEDED */
enum ibv_fork_status uroce_is_fork_initialized(void);

/** ibv_rate_to_mult(3). @return -1: unknown rate */
int uroce_rate_to_mult(enum ibv_rate rate);
/** mult_to_ibv_rate(3). @return IBV_RATE_MAX: no rate with this multiple of 2.5 Gb/s */
enum ibv_rate uroce_mult_to_rate(int mult);
/** ibv_rate_to_mbps(3). @return -1: unknown rate */
int uroce_rate_to_mbps(enum ibv_rate rate);
/** mbps_to_ibv_rate(3). @return IBV_RATE_MAX: no rate is exactly this */
enum ibv_rate uroce_mbps_to_rate(int mbps);

/** ibv_node_type_str(): the node type in words, never NULL. */
const char *uroce_node_type_str(enum ibv_node_type type);
/** ibv_port_state_str(): the port state in words, never NULL. */
const char *uroce_port_state_str(enum ibv_port_state state);
/** ibv_wc_status_str(): the status in words, never NULL. */
const char *uroce_wc_status_str(enum ibv_wc_status status);
/** ibv_event_type_str(3): the event in words, never NULL. */
const char *uroce_event_type_str(enum ibv_event_type event);

/** @} */

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* UROCE_H */
