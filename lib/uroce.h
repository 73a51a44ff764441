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
 * unless they say otherwise; functions that return int return 0 or a positive errno, those that return a
 * pointer return NULL and set errno.
 *
 * Needs rte_eal_init() first.
 */

#ifndef UROCE_H
#define UROCE_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

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
 * One round: receive, process, send, timers. Any thread, one at a time: while another is in it, returns 0
 * at once. Never blocks. Call it often: nothing else makes progress.
 *
 * @return	how many frames were received and sent
 */
unsigned int uroce_worker_poll(struct uroce_worker *worker);

/** Poll on a DPDK worker lcore until uroce_worker_stop().
 * @return 0; EBUSY: it runs already or the lcore is not idle; EINVAL: no such lcore */
int uroce_worker_launch(struct uroce_worker *worker, unsigned int lcore_id);

/** Stop what uroce_worker_launch() started and wait for it. @return 0; EINVAL: it does not run */
int uroce_worker_stop(struct uroce_worker *worker);

struct uroce_port_conf {
	uint16_t vlan;			/* VLAN ID 1..4094; 0: untagged */
	uint16_t nb_rx_desc;		/* 0: the port's or uroce's default */
	uint16_t nb_tx_desc;
	uint16_t mtu;			/* Ethernet MTU to set on the port; 0: the most that the path MTU 4096 needs and
					 * the port can do */
	unsigned int log2_max_qp;	/* 0: default */
	unsigned int log2_max_mr;
	const char *name;		/* device name; NULL: "uroce<n>" */
	uint8_t no_loopback;		/* 1: the other devices of this process are reached through the port, as
					 * other hosts are; only the device's own addresses are looped back */
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

/** ibv_close_device(3), and stop the port. @return 0; EBUSY while objects of it exist */
int uroce_close_device(struct ibv_context *context);

/**
 * Give the device an address: GID table entries, ARP or neighbour discovery, ICMP echo.
 *
 * @param cidr	"10.0.0.1/24" or "fd00::1/64"
 * @return	EINVAL: not an address; EEXIST; ENOSPC: the GID table is full
 */
int uroce_add_address(struct ibv_context *context, const char *cidr);
/** @return EINVAL: not an address; ENOENT: not one of the device's; EBUSY: QPs or address handles use it */
int uroce_del_address(struct ibv_context *context, const char *cidr);

/** Answers to a peer outside every subnet of the device go through this router, "10.0.0.254". NULL: none. */
int uroce_set_gateway(struct ibv_context *context, const char *address);

/**
 * Send an ICMP or ICMPv6 echo request and wait for the answer. Makes progress meanwhile.
 *
 * @return	0; ETIMEDOUT; EINVAL: not an address; ENETUNREACH; ENOBUFS: UROCE_MAX_PINGS under way
 */
int uroce_ping(struct ibv_context *context, const char *address, unsigned int timeout_ms);

struct uroce_counter {
	const char *name;
	uint64_t value;
};

/**
 * Read the device's counters: one for every way to be dropped (named for its verdict), and what was sent.
 *
 * @param counters	room for `room` entries
 * @return	how many there are; the first `room` of them are written
 */
unsigned int uroce_query_counters(struct ibv_context *context, struct uroce_counter *counters,
				  unsigned int room);

/* ---- verbs ------------------------------------------------------------------------------------------ */

int uroce_query_device(struct ibv_context *context, struct ibv_device_attr *attr);
int uroce_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr);
int uroce_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid);
int uroce_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		       struct ibv_gid_entry *entry, uint32_t flags);
int uroce_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey);
const char *uroce_get_device_name(struct ibv_device *device);
__be64 uroce_get_device_guid(struct ibv_device *device);

int uroce_get_async_event(struct ibv_context *context, struct ibv_async_event *event);
void uroce_ack_async_event(struct ibv_async_event *event);

struct ibv_pd *uroce_alloc_pd(struct ibv_context *context);
int uroce_dealloc_pd(struct ibv_pd *pd);

struct ibv_mr *uroce_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access);
int uroce_dereg_mr(struct ibv_mr *mr);

struct ibv_comp_channel *uroce_create_comp_channel(struct ibv_context *context);
int uroce_destroy_comp_channel(struct ibv_comp_channel *channel);

struct ibv_cq *uroce_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			       struct ibv_comp_channel *channel, int comp_vector);
int uroce_destroy_cq(struct ibv_cq *cq);
int uroce_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int uroce_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int uroce_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context);
void uroce_ack_cq_events(struct ibv_cq *cq, unsigned int nevents);

struct ibv_qp *uroce_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init_attr);
int uroce_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask);
int uroce_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
		   struct ibv_qp_init_attr *init_attr);
int uroce_destroy_qp(struct ibv_qp *qp);

int uroce_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int uroce_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

const char *uroce_wc_status_str(enum ibv_wc_status status);
const char *uroce_event_type_str(enum ibv_event_type event);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* UROCE_H */
