/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

/**
 * @file
 * uroce: RDMA (RoCEv2) on any DPDK port.
 *
 * Data types are those of <infiniband/verbs.h>; functions are verbs functions with the prefix uroce_ for
 * ibv_, and behave as their man pages say. ibv_post_send(), ibv_post_recv(), ibv_poll_cq() and
 * ibv_req_notify_cq() of that header work on these objects as they are. All functions are thread-safe
 * unless they say otherwise; functions that return int return 0 or a positive errno unless they say otherwise,
 * those that return a pointer return NULL and set errno.
 *
 * Needs rte_eal_init() first.
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

#pragma GCC visibility push(default)	/* all else of the library is hidden */

/* ---- our own: workers and ports ------------------------------------------------------------------- */

struct uroce_worker;

/**
 * Create a worker: the thread's worth of work that drives some QPs. Nothing runs until somebody polls it.
 *
 * @param numa_node	where its memory should be; -1: the caller's
 * @return	NULL and errno: ENOMEM; ENOSPC after UROCE_MAX_WORKERS
 */
struct uroce_worker *uroce_create_worker(int numa_node);

/** @return 0; EBUSY while it runs on an lcore or a device uses it */
int uroce_destroy_worker(struct uroce_worker *worker);

/**
 * One round: send what was posted, receive, process, send, timers. Any thread, one at a time: while another is in it,
 * returns 0 at once. Never blocks. Call it often: nothing else makes progress. What a round receives is acknowledged by
 * the next one, behind what is posted in between; so after one that is not 0 there should be another soon.
 *
 * @return	how many frames were received and sent
 */
unsigned int uroce_worker_poll(struct uroce_worker *worker);

/* What a worker's time goes into. */
struct uroce_worker_load {
	uint64_t busy_ns;	/* of rounds that received or sent frames, at most 1 ms each: what is beyond that, the
				 * worker has not been polled */
	uint64_t total_ns;	/* since it was made */
	uint64_t rounds;
	uint64_t busy_rounds;
};

/**
 * What the worker has done so far: the difference of two of these is what it did in between. A round ends, here, where
 * the next one begins, so a program's own work between two polls is counted with the round before.
 * Any thread, also while it is polled.
 */
void uroce_query_worker(struct uroce_worker *worker, struct uroce_worker_load *load);

/** Poll on a DPDK worker lcore until uroce_worker_stop().
 * @return 0; EBUSY: it runs already or the lcore is not idle; EINVAL: no such lcore */
int uroce_worker_launch(struct uroce_worker *worker, unsigned int lcore_id);

/** Stop what uroce_worker_launch() started and wait for it. @return 0; EINVAL: it does not run */
int uroce_worker_stop(struct uroce_worker *worker);

/**
 * Call fn(arg) while no worker of the process polls its ports: for what takes memory from under a driver that has no
 * lock of its own against its readers. MT-safe; not within a poll. Within fn it calls what it is given at once.
 */
void uroce_hold_workers(void (*fn)(void *arg), void *arg);

/**
 * Congestion control of a port: packets are marked as capable of ECN (where the traffic class leaves its ECN bits 0),
 * those that come with CE are answered by CNPs, and a QP that CNPs come for is held to a rate, DCQCN's. Names and
 * meanings are those that ConnectX gives them; 0: the default. doc/congestion.
 */
struct uroce_congestion {
	uint8_t off;			/* 1: none of it; what is below has no effect */
	uint8_t np_cnp_dscp;		/* of CNPs, 1..63; default 48; UROCE_CNP_DSCP_OF_QP: the QP's own */
	uint8_t rpg_threshold;		/* increases before the target grows, and before it grows fast; 5 */
	uint8_t rpg_min_dec_fac;	/* %: of the rate is left by a CNP at least; 50 */
	uint16_t dce_tcp_g;		/* of 1024: of alpha is kept when it is updated; 1020 */
	uint16_t initial_alpha_value;	/* of 1024: at the first CNP; 1024 */
	uint32_t np_min_time_between_cnps;	/* us, for a QP; 50 */
	uint32_t rpg_max_rate;		/* Mb/s: above it a QP has no rate; the link's, or 100,000 if unknown */
	uint32_t rpg_min_rate;		/* Mb/s; 10 */
	uint32_t rpg_ai_rate;		/* Mb/s: the target grows by; 40 */
	uint32_t rpg_hai_rate;		/* ... when it grows fast; 200 */
	uint32_t rpg_time_reset;	/* us without a CNP to the next increase; 55 */
	uint32_t rpg_byte_reset;	/* bytes without a CNP to the next increase; 10,000,000 */
	uint32_t rate_to_set_on_first_cnp;	/* Mb/s: what the first CNP reduces; rpg_max_rate */
	uint32_t rate_reduce_monitor_period;	/* us: CNPs that come sooner after one do not reduce again; 4 */
	uint32_t dce_tcp_rtt;		/* us without a CNP until alpha decays; 55 */
};

#define UROCE_CNP_DSCP_OF_QP 0xff

struct uroce_port_conf {
	uint16_t vlan;			/* VLAN ID 1..4094; 0: untagged */
	uint16_t nb_rx_desc;		/* 0: the port's or uroce's default */
	uint16_t nb_tx_desc;
	uint16_t mtu;			/* Ethernet MTU to set on the port; 0: the most that the path MTU 4096 needs and
					 * the port can do */
	unsigned int log2_max_qp;	/* 0: default */
	unsigned int log2_max_mr;
	const char *name;		/* device name; NULL: "uroce<n>" */
	uint8_t go_back_n;		/* 1: keep no out-of-order packets, go back N after a loss, and send no
					 * probes before the transport timeout */
	uint8_t poll_progress;		/* 1: a poll of an empty CQ polls the device's workers. For programs that
					 * do not poll workers; while they sleep, another thread has to poll */
	uint8_t no_owner;		/* 1: the port does not stay uroce's for ethdev (rte_eth_dev_owner_set()), so
					 * that RTE_ETH_FOREACH_DEV() and with it dpdk-dumpcap see it */
	uint8_t no_loopback;		/* 1: the other devices of this process are reached through the port, as
					 * other hosts are; only the device's own addresses are looped back */
	struct uroce_congestion congestion;
};

/**
 * Make a DPDK port an RDMA device: configure and start it with a queue for each worker.
 *
 * @param port_id	an ethdev port which nobody else uses
 * @param conf		NULL: all defaults
 * @param workers	worker i drives queue i; the device's QPs are spread over them
 * @return	the device's context; NULL and errno: EINVAL, EBUSY, ENODEV, ENOMEM, or the port's error
 */
struct ibv_context *uroce_open_port(uint16_t port_id, const struct uroce_port_conf *conf,
				    struct uroce_worker *const *workers, unsigned int nb_workers);

/**
 * ibv_open_device(3): a context besides the one that uroce_open_port() has given, with asynchronous events of its own.
 * Objects of two contexts do not go together.
 *
 * @param device	`device` of that one
 * @return	NULL and errno: ENOMEM, EMFILE
 */
struct ibv_context *uroce_open_device(struct ibv_device *device);

/**
 * ibv_close_device(3). The context of uroce_open_port() stops the port. One of uroce_open_device() is gone when the
 * last object made from it is destroyed, which goes on working until then.
 *
 * @return	0; EBUSY while objects of the port exist, or other contexts
 */
int uroce_close_device(struct ibv_context *context);

/**
 * Give the device an address: GID table entries, ARP or neighbor discovery, ICMP echo. Raises
 * IBV_EVENT_GID_CHANGE.
 *
 * @param cidr	"10.0.0.1/24" or "fd00::1/64"
 * @return	EINVAL: not an address; EEXIST; ENOSPC: the GID table is full
 */
int uroce_add_address(struct ibv_context *context, const char *cidr);
/** Raises IBV_EVENT_GID_CHANGE.
 * @return EINVAL: not an address; ENOENT: not one of the device's; EBUSY: QPs or address handles use it */
int uroce_del_address(struct ibv_context *context, const char *cidr);

/** Answers to a peer outside every subnet of the device go through this router, "10.0.0.254". NULL: none. */
int uroce_set_gateway(struct ibv_context *context, const char *address);

/**
 * Send an ICMP or ICMPv6 echo request and wait for the answer. Makes progress meanwhile.
 *
 * @return	0; ETIMEDOUT; EINVAL: not an address; ENETUNREACH; ENOBUFS: UROCE_MAX_PINGS under way
 */
int uroce_ping(struct ibv_context *context, const char *address, unsigned int timeout_ms);

/**
 * Change the parameters of congestion control, while QPs send. Rates that QPs have go on from what they are, or end
 * at once with `off`. Packets of connections and address handles that were made before keep the ECN bits that they
 * had; CNPs are sent for them, and obeyed, as the parameters say.
 *
 * @param congestion	NULL: all defaults
 * @return	0; EINVAL: out of range; ENOMEM
 */
int uroce_set_congestion(struct ibv_context *context, const struct uroce_congestion *congestion);

/** The parameters as they are, with defaults filled in; rpg_max_rate 0: that of the link. */
void uroce_get_congestion(struct ibv_context *context, struct uroce_congestion *congestion);

struct uroce_counter {
	const char *name;
	uint64_t value;
};

/**
 * Read the device's counters: one for every way to be dropped (named for its verdict), and what was sent.
 * What the transport counts, it counts for each worker: with a worker that drives several devices, for all of
 * them.
 *
 * @param counters	room for `room` entries
 * @return	how many there are; the first `room` of them are written
 */
unsigned int uroce_query_counters(struct ibv_context *context, struct uroce_counter *counters,
				  unsigned int room);

/* ---- verbs ------------------------------------------------------------------------------------------ */

/** ibv_query_device(3). @return 0 */
int uroce_query_device(struct ibv_context *context, struct ibv_device_attr *attr);

/**
 * ibv_query_device_ex(3). completion_timestamp_mask: all 64 bits; hca_core_clock: 1,000,000 kHz, time stamps are
 * nanoseconds.
 *
 * @param input	NULL, or comp_mask 0
 * @return	0; EINVAL: comp_mask
 */
int uroce_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr);

/**
 * ibv_query_rt_values_ex(3).
 *
 * @param values	comp_mask IBV_VALUES_MASK_RAW_CLOCK: raw_clock.tv_nsec becomes the time of the clock that
 *			stamps completions, tv_sec 0
 * @return	0; EINVAL: comp_mask
 */
int uroce_query_rt_values_ex(struct ibv_context *context, struct ibv_values_ex *values);

/** ibv_query_port(3). @return 0; EINVAL: the one port is number 1 */
int uroce_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr);

/** ibv_query_gid(3); an empty entry reads as zeros. @return 0; -1 and errno: EINVAL */
int uroce_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid);

/** ibv_query_gid_ex(3). @return 0; ENODATA: an empty entry; EINVAL, also for flags */
int uroce_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		       struct ibv_gid_entry *entry, uint32_t flags);

/**
 * ibv_query_gid_table(3).
 *
 * @param max_entries	room for as many, not 0
 * @param flags		0
 * @return	how many there are; -EINVAL: there are more, or an argument
 */
ssize_t uroce_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max_entries,
			      uint32_t flags);

/** ibv_query_pkey(3): entry 0, 0xffff, is the only one. @return 0; -1 and errno: EINVAL */
int uroce_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey);
/** ibv_get_pkey_index(3). @return 0; -1 and errno: EINVAL: another port, or not 0xffff */
int uroce_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey);
const char *uroce_get_device_name(struct ibv_device *device);
/** ibv_get_device_index(3): among the process's devices, from 0. */
int uroce_get_device_index(struct ibv_device *device);
__be64 uroce_get_device_guid(struct ibv_device *device);

/**
 * ibv_get_async_event(3). context->async_fd can be polled, and set to O_NONBLOCK. The port's events:
 * IBV_EVENT_PORT_ERR and PORT_ACTIVE when its link goes and comes, noticed within UROCE_LINK_POLL_NS by the
 * worker of its first queue or at once where the driver has interrupts; GID_CHANGE; DEVICE_FATAL when the device
 * has been pulled out.
 *
 * @return	0; -1 and errno: EAGAIN, EINTR
 */
int uroce_get_async_event(struct ibv_context *context, struct ibv_async_event *event);

/** ibv_ack_async_event(3). What an event is about cannot be destroyed before: that call waits. */
void uroce_ack_async_event(struct ibv_async_event *event);

/** ibv_alloc_pd(3). @return NULL and errno: ENOMEM, also after UROCE_MAX_PD */
struct ibv_pd *uroce_alloc_pd(struct ibv_context *context);

/** ibv_dealloc_pd(3). @return 0; EBUSY: MRs, memory windows, QPs or a parent domain belong to it */
int uroce_dealloc_pd(struct ibv_pd *pd);

/** ibv_alloc_td(3): a promise that nothing here needs; it changes nothing. @return NULL and errno: ENOMEM, EINVAL */
struct ibv_td *uroce_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *init_attr);

/** ibv_dealloc_td(3). @return 0; EBUSY: it is in a parent domain */
int uroce_dealloc_td(struct ibv_td *td);

/** What the memory is for that a parent domain's alloc() and free() are asked for. */
enum uroce_res_type {
	UROCE_RES_TYPE_QP = 1, /**< a send or a receive queue */
	UROCE_RES_TYPE_SRQ = 2,
	UROCE_RES_TYPE_CQ = 3, /**< of uroce_create_cq_ex() with IBV_CQ_INIT_ATTR_MASK_PD */
};

/**
 * ibv_alloc_parent_domain(3): another name of attr->pd, for whatever takes one; what belongs to either can be used
 * with the other. The rings of queues are in the memory of attr->alloc(), called with an enum uroce_res_type, in the
 * thread that creates or resizes the queue. uroce_dealloc_pd() ends it.
 *
 * @return	NULL and errno: EINVAL: attr->pd is none or a parent domain itself, or of another context; one of the
 *		allocators is missing; ENOMEM, also after UROCE_MAX_PD
 */
struct ibv_pd *uroce_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr);

/**
 * ibv_reg_mr(3): any memory of the process, at any alignment, any number of times.
 *
 * @param length	bytes, 1 .. max_mr_size
 * @param access	remote write and atomic access need local write; IBV_ACCESS_FLUSH_PERSISTENT needs memory
 *		mapped with MAP_SYNC. Relaxed ordering is accepted, and changes nothing: order is kept
 * @return	NULL and errno: EINVAL: length or access; EFAULT: not mapped, or not writable where that is
 *		asked for; ENOMEM: the table is full; EOPNOTSUPP: IBV_ACCESS_ON_DEMAND
 */
struct ibv_mr *uroce_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access);

/** ibv_reg_mr_iova(3): peers and work requests call the first byte iova. @return as uroce_reg_mr() */
struct ibv_mr *uroce_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access);

/** The same: what ibv_reg_mr() and ibv_reg_mr_iova() become where access has optional flags. */
struct ibv_mr *uroce_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				  unsigned int access);

/** ibv_reg_dmabuf_mr(3). @return NULL and errno: EOPNOTSUPP: a dma-buf is not this process's memory */
struct ibv_mr *uroce_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
				   int access);

/** ibv_alloc_null_mr(3): reads as zeros, swallows what is written; its rkey is good for nothing.
 * @return NULL and errno: ENOMEM */
struct ibv_mr *uroce_alloc_null_mr(struct ibv_pd *pd);

/**
 * ibv_rereg_mr(3), all or nothing: the region is as it was unless 0 is returned. The keys stay what they are.
 * Nobody may use the region meanwhile: a peer that does is refused.
 *
 * @param flags	enum ibv_rereg_mr_flags, one at least
 * @return	0; IBV_REREG_MR_ERR_INPUT and errno: as uroce_reg_mr(); EINVAL also: flags, a null MR, a PD of
 *		another device; EBUSY: memory windows are bound to it
 */
int uroce_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access);

/**
 * ibv_dereg_mr(3). Waits until no outgoing packet references the memory, and logs a warning after
 * UROCE_MR_WAIT_TELL_NS. Meanwhile polls the calling thread's own workers, and those without an owner. MT-safe; not
 * from within uroce_worker_poll().
 *
 * @return	0: the memory may be freed; EBUSY: memory windows are bound to it, nothing has changed; ETIMEDOUT: a port
 *		has kept packets for UROCE_MR_WAIT_MAX_NS. Then the keys are invalid for good, but the memory must stay,
 *		and mr is valid for another call of this or of uroce_dereg_mr_async()
 */
int uroce_dereg_mr(struct ibv_mr *mr);

/**
 * uroce_dereg_mr() without waiting. When it returns 0, the keys are invalid and mr must not be used any more. The
 * memory must stay until freed(arg) is called. Any thread that calls uroce_worker_poll(), or an lcore that runs a
 * worker, calls freed outside of the worker's turn, and never before this function returns. freed may call any function
 * but uroce_worker_poll(). Until then the protection domain is in use. MT-safe; not from within uroce_worker_poll().
 *
 * @param freed	NULL: no callback
 * @return	0; EBUSY: memory windows are bound to it; ENOMEM. After an error nothing has changed
 */
int uroce_dereg_mr_async(struct ibv_mr *mr, void (*freed)(void *arg), void *arg);

/**
 * ibv_advise_mr(3). Nothing is pinned: to prefetch is to have the system provide the pages now, which it does before
 * this returns, but for PREFETCH_NO_FAULT, which is a hint to it.
 *
 * @return	0; EINVAL: advice or flags; EFAULT: an lkey is not one of the PD, a range is not within its
 *		region, or not writable for PREFETCH_WRITE; ENOTSUP: the kernel is too old; or what kept it from
 *		providing the pages
 */
int uroce_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *sg_list,
		    uint32_t num_sge);

/**
 * ibv_alloc_mw(3). A window of type 2 belongs to the QP to which it is bound, and QP and PD are checked: type 2B,
 * which includes what 2A asks for. Windows share the table of keys with MRs.
 *
 * @return	NULL and errno: EINVAL: type; ENOMEM: memory, or the table is full
 */
struct ibv_mw *uroce_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);

/** ibv_dealloc_mw(3): bound or not. No work request may be about it any more. @return 0 */
int uroce_dealloc_mw(struct ibv_mw *mw);

/**
 * ibv_bind_mw(3): of type 1. mw->rkey is the new key when it returns, and good for peers when the work request
 * has completed; length 0 unbinds. A bind that the rules do not allow completes with IBV_WC_MW_BIND_ERR.
 *
 * @return	0; EINVAL: not of type 1, no MR but a range, unknown access flags, or the QP's type or state; EPERM:
 *		the MR is of another PD; ENOMEM: the send queue is full
 */
int uroce_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/** ibv_import_device(3) and what goes with it: a device is its process's. @return NULL and errno: EOPNOTSUPP */
struct ibv_context *uroce_import_device(int cmd_fd);
struct ibv_pd *uroce_import_pd(struct ibv_context *context, uint32_t pd_handle);
struct ibv_mr *uroce_import_mr(struct ibv_pd *pd, uint32_t mr_handle);
struct ibv_dm *uroce_import_dm(struct ibv_context *context, uint32_t dm_handle);
/** Nothing was imported, so there is nothing to do. */
void uroce_unimport_pd(struct ibv_pd *pd);
void uroce_unimport_mr(struct ibv_mr *mr);
void uroce_unimport_dm(struct ibv_dm *dm);

/** ibv_create_comp_channel(3). channel->fd can be polled, and set to O_NONBLOCK. */
struct ibv_comp_channel *uroce_create_comp_channel(struct ibv_context *context);

/** @return 0; EBUSY: CQs use it */
int uroce_destroy_comp_channel(struct ibv_comp_channel *channel);

/**
 * ibv_create_cq(3).
 *
 * @param cqe		entries, 1 .. UROCE_MAX_CQE: as many are granted
 * @param channel	where its events go; NULL: nowhere
 * @param comp_vector	0 .. context->num_comp_vectors - 1
 * @return	NULL and errno: EINVAL, ENOMEM
 */
struct ibv_cq *uroce_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			       struct ibv_comp_channel *channel, int comp_vector);

/**
 * ibv_create_cq_ex(3). Between start_poll, which returns ENOENT when there is nothing (EIO: and nothing will
 * come, the CQ has overrun), and end_poll, other threads that poll or resize the CQ wait. The same CQ can be
 * polled with uroce_poll_cq(), of ibv_cq_ex_to_cq().
 *
 * @param attr	wc_flags: all but IBV_WC_EX_WITH_TM_INFO, what is not asked for cannot be read; flags:
 *		IBV_CREATE_CQ_ATTR_SINGLE_THREADED: one thread at a time polls and resizes it;
 *		IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN: a completion for which there is no room is lost
 * @return	NULL and errno: EOPNOTSUPP: flags, wc_flags or comp_mask; else as uroce_create_cq()
 */
struct ibv_cq_ex *uroce_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);

/**
 * ibv_resize_cq(3): exactly cqe entries from now on; what is in it stays. Others may poll it meanwhile, QPs
 * complete to it.
 *
 * @return	0; EINVAL: not 1 .. UROCE_MAX_CQE, or more than that is in it; ENOMEM
 */
int uroce_resize_cq(struct ibv_cq *cq, int cqe);

/**
 * ibv_modify_cq(3): when the CQ is armed, an event comes after moderate.cq_count completions or
 * moderate.cq_period microseconds after the first of them, whatever is sooner. A count of 0: after the period
 * alone; a period of 0: after the count alone; both 0: at once, as before. What waits is told of at once.
 *
 * @param attr	attr_mask: IBV_CQ_ATTR_MODERATE
 * @return	0; EINVAL: attr_mask
 */
int uroce_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);

/** Waits until its events that were got are acknowledged. @return 0; EBUSY: QPs use it */
int uroce_destroy_cq(struct ibv_cq *cq);

/**
 * ibv_poll_cq(3). Never blocks, and makes no progress by itself.
 *
 * @return	how many completions were written; -1: the CQ has overrun, and all that was in it before has
 *		been polled
 */
int uroce_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);

/** ibv_req_notify_cq(3): one event, for the next completion to come. @return 0 */
int uroce_req_notify_cq(struct ibv_cq *cq, int solicited_only);

/** ibv_get_cq_event(3). @return 0; -1 and errno: EAGAIN, EINTR */
int uroce_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context);

/** ibv_ack_cq_events(3) */
void uroce_ack_cq_events(struct ibv_cq *cq, unsigned int nevents);

/**
 * ibv_create_srq(3). A receive posted to it goes to the message that begins next at any of its QPs. Its memory is of
 * the SRQ's domain, whatever the QP's.
 *
 * @param init_attr	attr: max_wr, 1 .. max_srq_wr, and max_sge, up to max_srq_sge; what is granted is written
 *		back. srq_limit does not count
 * @return	NULL and errno: EINVAL, ENOMEM: memory, or there are max_srq of them
 */
struct ibv_srq *uroce_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init_attr);

/**
 * ibv_create_srq_ex(3). IBV_SRQT_XRC: also with an XRCD and a CQ, where its receives complete; it is found by its
 * number, which peers put into their requests, and what these do to memory has to be allowed in the SRQ's domain.
 *
 * @return	as uroce_create_srq(); EOPNOTSUPP: IBV_SRQT_TM
 */
struct ibv_srq *uroce_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *init_attr);

/**
 * ibv_modify_srq(3), all or nothing, while it is in use. IBV_SRQ_MAX_WR: a new size; what is queued stays.
 * IBV_SRQ_LIMIT: one IBV_EVENT_SRQ_LIMIT_REACHED when fewer than srq_limit receives are queued, at once if that is
 * so already; 0: none.
 *
 * @return	0; EINVAL: beyond max_srq_wr, fewer than are queued, or a limit beyond the size; ENOMEM
 */
int uroce_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int attr_mask);

/** ibv_query_srq(3); srq_limit is 0 unless it is armed. @return 0 */
int uroce_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);

/** ibv_get_srq_num(3). @return 0; EOPNOTSUPP: not an XRC SRQ */
int uroce_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num);

/** ibv_destroy_srq(3). Waits until its events that were got are acknowledged. What is queued, and what a message to an
 * XRC SRQ has taken, is gone. @return 0; EBUSY: QPs use it */
int uroce_destroy_srq(struct ibv_srq *srq);

/** ibv_post_srq_recv(3), as uroce_post_send(). @return 0; EINVAL: SGEs; ENOMEM: full */
int uroce_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/**
 * ibv_open_xrcd(3). Each inode has one domain, within the process, and all that open it share that; fd -1 makes one
 * that nobody else can open.
 *
 * @param init_attr	oflags: O_CREAT, and O_EXCL with it; other flags do not count
 * @return	NULL and errno: EAGAIN: there is none, and no O_CREAT; EINVAL: there is one, and O_EXCL; or comp_mask;
 *		EBADF; ENOMEM
 */
struct ibv_xrcd *uroce_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *init_attr);

/** ibv_close_xrcd(3). @return 0; EBUSY: SRQs or QPs were made with it */
int uroce_close_xrcd(struct ibv_xrcd *xrcd);

/**
 * ibv_create_qp(3).
 *
 * @param init_attr	qp_type: IBV_QPT_RC, _UC or _UD; cap: what is granted is written back; sq_sig_all; srq: then
 *		receives come from that, and what cap says of them does not count
 * @return	NULL and errno: EOPNOTSUPP: another type; EINVAL: beyond a limit of the device,
 *		or a CQ of another; ENOMEM: memory, or there are max_qp of them
 */
struct ibv_qp *uroce_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init_attr);

/**
 * ibv_create_qp_ex(3): as uroce_create_qp(), with the calls of struct ibv_qp_ex if they are asked for. Then
 * ibv_wr_start() and the other inline calls of that kind work; until wr_complete or wr_abort other threads that post
 * to the QP wait. wr_complete returns EINVAL: state, flags, data or addresses that a call does not take; ENOMEM: the
 * queue is full; nothing is posted then.
 *
 * IBV_QPT_XRC_RECV has an XRCD; the QP itself lives as long as one that was created, or opened with uroce_open_qp(),
 * does.
 *
 * @param attr	comp_mask: IBV_QP_INIT_ATTR_PD, or for IBV_QPT_XRC_RECV IBV_QP_INIT_ATTR_XRCD, which must be
 *		there; IBV_QP_INIT_ATTR_SEND_OPS_FLAGS: what
 *		uroce_post_send() takes for the type of QP; IBV_QP_INIT_ATTR_CREATE_FLAGS: for IBV_QPT_UD
 *		IBV_QP_CREATE_BLOCK_SELF_MCAST_LB, not to hear one's own messages to a group; else 0
 * @return	NULL and errno: EOPNOTSUPP: comp_mask, send_ops_flags or create_flags; else as uroce_create_qp()
 */
struct ibv_qp *uroce_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);

/** ibv_qp_to_qp_ex(). @return NULL: the QP was made without IBV_QP_INIT_ATTR_SEND_OPS_FLAGS */
struct ibv_qp_ex *uroce_qp_to_qp_ex(struct ibv_qp *qp);

/** ibv_open_qp(3): a second way to an IBV_QPT_XRC_RECV QP of the same XRCD, with events of its own.
 * @return NULL and errno: EINVAL, also when there is no such QP; EOPNOTSUPP: a bit of comp_mask; ENOMEM */
struct ibv_qp *uroce_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);

/**
 * ibv_modify_qp(3), all or nothing.
 *
 * @return	0; EINVAL: transition, mask or value; ENETUNREACH: no subnet of the device and no router leads to the
 *		address; ENOMEM
 */
int uroce_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask);

/** ibv_query_qp(3): all attributes, whatever the mask; sq_psn and rq_psn are the next ones. @return 0 */
int uroce_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
		   struct ibv_qp_init_attr *init_attr);

/** ibv_destroy_qp(3). Waits until the application has acknowledged the QP's events that it got. Waits for another
 * thread between ibv_start_poll() and ibv_end_poll() of one of its CQs. For UD and UC, gives queued messages a moment
 * to leave. Removes the QP's unpolled completions from its CQs.
 * @return 0; EBUSY: it is attached to a multicast group (R49) */
int uroce_destroy_qp(struct ibv_qp *qp);

/**
 * uroce_destroy_qp() that waits only for a round of the QP's worker, and for a thread that reads the QP's completions.
 * When it returns 0, qp must not be used any more, its completions have been removed from its CQs, and nothing more is
 * sent, not even queued messages of UD and UC. freed(arg) is called as by uroce_dereg_mr_async(), when no worker reads
 * or writes for the QP, and the application has acknowledged the QP's events that it got. Until then the CQs, the SRQ
 * and the protection domain are in use, and the memory of posted requests must stay. MT-safe; not from within
 * uroce_worker_poll().
 *
 * @param freed	NULL: no callback
 * @return	0; EBUSY: it is attached to a multicast group (R49); ENOMEM; EOPNOTSUPP: an XRC target
 */
int uroce_destroy_qp_async(struct ibv_qp *qp, void (*freed)(void *arg), void *arg);

/**
 * ibv_create_ah(3). The handle can be used by any number of UD QPs of its PD.
 *
 * @param attr	is_global is not 0, port_num 1; dgid: a host's or a multicast group's; flow_label 0: the UDP source
 *		port is made of the numbers of the two QPs, else of it
 * @return	NULL and errno: EINVAL: attributes; ENETUNREACH: no subnet of the device and no router leads to the
 *		address; ENOMEM: memory, or there are max_ah of them
 */
struct ibv_ah *uroce_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);

/** ibv_destroy_ah(3). Sends that were posted with it are not affected. @return 0 */
int uroce_destroy_ah(struct ibv_ah *ah);

/**
 * ibv_init_ah_from_wc(3): the address vector with which to answer a datagram.
 *
 * @param grh	the first 40 bytes of the receive buffer
 * @return	0; -1 and errno: EINVAL: not a receive of a UD QP, or to none of the device's addresses. For one that
 *		came by multicast, the first entry of the GID table that has the kind of the sender's address speaks.
 */
int uroce_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
			  struct ibv_grh *grh, struct ibv_ah_attr *ah_attr);

/** ibv_create_ah_from_wc(3). @return NULL and errno, of the two above */
struct ibv_ah *uroce_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				       uint8_t port_num);

/**
 * ibv_attach_mcast(3): from now on the QP receives what is sent to the group with its Q_Key. Its device joins the
 * group. A QP of it that sends to the group does not receive its own unless it is attached. To send, make an address
 * handle for the group and give 0xffffff as the remote QPN.
 *
 * @param gid	of the group: an IPv6 address in ff00/8, or one of IPv4 in 224.0.0.0/4, mapped into IPv6
 * @param lid	no matter
 * @return	0, also if it was attached before; EINVAL: not a UD QP, or not a group; ENOMEM: memory, max_mcast_grp or
 *		max_mcast_qp_attach; EOPNOTSUPP: max_mcast_grp is 0; and why the port cannot join
 */
int uroce_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);

/** ibv_detach_mcast(3). @return 0; EINVAL: not attached; ENOMEM; EOPNOTSUPP as above */
int uroce_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);

/**
 * ibv_post_send(3). No system call, no allocation. What is posted to a QP in the error state is flushed; to a UC or
 * UD QP whose send queue is in error (IBV_QPS_SQE), too.
 *
 * @param bad_wr	where it stopped; those before are posted
 * @return	0; EINVAL: opcode, flags, SGEs, inline data, address or the QP's state; ENOMEM: the queue is full
 */
int uroce_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);

/** ibv_post_recv(3), as uroce_post_send(). @return 0; EINVAL: SGEs, a QP in RESET, or one with an
 * SRQ; ENOMEM: full */
int uroce_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/** ibv_query_qp_data_in_order(3). @return 0: no order is promised of every byte, only that the last one comes last */
int uroce_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags);

/** ibv_query_ece(3): nobody's, all zeros. @return 0 */
int uroce_query_ece(struct ibv_qp *qp, struct ibv_ece *ece);
/** ibv_set_ece(3). @return 0; EOPNOTSUPP: anything but zeros */
int uroce_set_ece(struct ibv_qp *qp, struct ibv_ece *ece);

/** ibv_fork_init(3): nothing to be done. Only the parent may go on to use uroce. @return 0 */
int uroce_fork_init(void);
/** ibv_is_fork_initialized(3). @return IBV_FORK_UNNEEDED */
enum ibv_fork_status uroce_is_fork_initialized(void);

/** ibv_rate_to_mult(3). @return -1: no such rate */
int uroce_rate_to_mult(enum ibv_rate rate);
/** mult_to_ibv_rate(3). @return IBV_RATE_MAX: no rate is this multiple of 2.5 Gb/s */
enum ibv_rate uroce_mult_to_rate(int mult);
/** ibv_rate_to_mbps(3). @return -1: no such rate */
int uroce_rate_to_mbps(enum ibv_rate rate);
/** mbps_to_ibv_rate(3). @return IBV_RATE_MAX: no rate is exactly this */
enum ibv_rate uroce_mbps_to_rate(int mbps);

/** The node type in words; never NULL. */
const char *uroce_node_type_str(enum ibv_node_type type);
/** The port state in words; never NULL. */
const char *uroce_port_state_str(enum ibv_port_state state);
/** The status in words; never NULL. */
const char *uroce_wc_status_str(enum ibv_wc_status status);
/** The event in words; never NULL. */
const char *uroce_event_type_str(enum ibv_event_type event);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* UROCE_H */
