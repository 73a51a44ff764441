/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

/**
 * @file
 * uroce: connection management with the API of librdmacm.
 *
 * Data types are those of <rdma/rdma_cma.h>. Functions have the names of librdmacm's with the prefix uroce_, and behave
 * as their man pages say. They use the same protocol as librdmacm: the peer may be any RoCEv2 host. All functions are
 * thread-safe. A function that returns int returns 0, or -1 and sets errno. A function that returns a pointer returns
 * NULL and sets errno on error. The verbs objects that they create are those of uroce.h.
 *
 * Call rte_eal_init() and open a device (uroce_open_port()) first; the device's workers must be polled.
 */

#ifndef UROCE_CMA_H
#define UROCE_CMA_H

#include <rdma/rdma_cma.h>

#include "uroce.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/** @defgroup cma Connection management
 * @{ */

/** rdma_create_event_channel(3). channel->fd can be polled, and set to O_NONBLOCK. The first channel or ID of a process
 * starts the service: a thread, and QP1 on every device. The last one stops it. */
struct rdma_event_channel *uroce_rdma_create_event_channel(void);
/** rdma_destroy_event_channel(3). Destroy or migrate its IDs first. */
void uroce_rdma_destroy_event_channel(struct rdma_event_channel *channel);

/**
 * rdma_create_id(3).
 *
 * @param channel	NULL: synchronous, calls on the ID wait for their result
 * @param ps		RDMA_PS_TCP, RDMA_PS_UDP or RDMA_PS_IB
 * @return	0; -1 and errno: EPROTONOSUPPORT: RDMA_PS_IPOIB; EINVAL: another one; ENOMEM
 */
int uroce_rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
			 enum rdma_port_space ps);
/** rdma_destroy_id(3). Rejects a request that was not answered, and disconnects a connection. Waits until the
 * application has acknowledged the ID's events that it got. */
int uroce_rdma_destroy_id(struct rdma_cm_id *id);

/** rdma_create_ep(3). Resolving the address and the route takes at most 2 s each. */
int uroce_rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *res, struct ibv_pd *pd,
			 struct ibv_qp_init_attr *qp_init_attr);
/** rdma_destroy_ep(3) */
void uroce_rdma_destroy_ep(struct rdma_cm_id *id);

/** rdma_bind_addr(3), to an address of a device or to a wildcard; 127.0.0.1 is a wildcard, too.
 * @return 0; -1 and errno: EADDRNOTAVAIL: the address of no device; else as the man page */
int uroce_rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr);
/** rdma_resolve_addr(3). Chooses the device that has the address, else one with a subnet of the address, else one that
 * reaches another device of the process, else one with a router. */
int uroce_rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src_addr, struct sockaddr *dst_addr,
			    int timeout_ms);
/** rdma_resolve_route(3). Resolves the route at once; timeout_ms has no effect. */
int uroce_rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms);

/** rdma_create_qp(3). Creates CQs and a PD if none are given; the IDs of a device share id->pd. The QP is in INIT, a UD
 * QP in RTS. */
int uroce_rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr);
/** rdma_create_qp_ex(3) */
int uroce_rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *qp_init_attr);
/** rdma_destroy_qp(3) */
void uroce_rdma_destroy_qp(struct rdma_cm_id *id);
/** rdma_create_srq(3) */
int uroce_rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
/** rdma_create_srq_ex(3) */
int uroce_rdma_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr);
/** rdma_destroy_srq(3) */
void uroce_rdma_destroy_srq(struct rdma_cm_id *id);

/** rdma_connect(3). Private data has at most 56 bytes, 180 for RDMA_PS_UDP. An unanswered request is retransmitted
 * every 6.4 s, 15 times; then RDMA_CM_EVENT_UNREACHABLE follows. */
int uroce_rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *conn_param);
/** rdma_establish(3) */
int uroce_rdma_establish(struct rdma_cm_id *id);
/** rdma_listen(3). Requests beyond the backlog are rejected at once. (Linux ignores them, and the peer retries.) */
int uroce_rdma_listen(struct rdma_cm_id *id, int backlog);
/** rdma_get_request(3). @return 0; -1 and errno: EINVAL: the ID has an event channel; else as the man page */
int uroce_rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id);
/** rdma_accept(3). Private data has at most 196 bytes, 136 for RDMA_PS_UDP. */
int uroce_rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *conn_param);
/** rdma_reject(3), with the reason 28, consumer defined. Private data has at most 148 bytes. */
int uroce_rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len);
/** rdma_reject_ece(): as rdma_reject(3), with the reason 'vendor option not supported'. */
int uroce_rdma_reject_ece(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len);
/** rdma_notify(3), for IBV_EVENT_COMM_EST only. */
int uroce_rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event);
/**
 * rdma_disconnect(3). Changes the caller's QP to ERR, even if it then returns EINVAL because there is no connection. The
 * peer's QP changes when the peer disconnects, too. Each ID with a channel gets one RDMA_CM_EVENT_DISCONNECTED, then
 * RDMA_CM_EVENT_TIMEWAIT_EXIT. A synchronous ID waits for the first; it does not see that its peer disconnects: use a
 * channel for that.
 */
int uroce_rdma_disconnect(struct rdma_cm_id *id);

/** rdma_join_multicast(3), of a bound ID of RDMA_PS_UDP. uroce_rdma_get_cm_event() attaches the QP. */
int uroce_rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context);
/** rdma_join_multicast_ex(3) */
int uroce_rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *mc_join_attr,
				 void *context);
/** rdma_leave_multicast(3) */
int uroce_rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr);

/** rdma_get_cm_event(3). RDMA_CM_EVENT_ROUTE_ERROR and RDMA_CM_EVENT_ADDR_CHANGE do not occur. */
int uroce_rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event);
/** rdma_ack_cm_event(3) */
int uroce_rdma_ack_cm_event(struct rdma_cm_event *event);

/** rdma_get_src_port(3): as of the last event that the application got. */
__be16 uroce_rdma_get_src_port(struct rdma_cm_id *id);
/** rdma_get_dst_port(3): as of the last event that the application got. */
__be16 uroce_rdma_get_dst_port(struct rdma_cm_id *id);

/** rdma_get_devices(3). @return a NULL-terminated array of the open ports' contexts, without
 * references: the application may close them */
struct ibv_context **uroce_rdma_get_devices(int *num_devices);
/** rdma_free_devices(3) */
void uroce_rdma_free_devices(struct ibv_context **list);
/** rdma_event_str(3); never NULL. */
const char *uroce_rdma_event_str(enum rdma_cm_event_type event);
/** rdma_set_option(3): RDMA_OPTION_ID_TOS, RDMA_OPTION_ID_REUSEADDR, RDMA_OPTION_ID_AFONLY and
 * RDMA_OPTION_ID_ACK_TIMEOUT. @return 0; -1 and errno: EOPNOTSUPP: RDMA_OPTION_IB_PATH; ENOSYS: another option */
int uroce_rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval, size_t optlen);
/** rdma_migrate_id(3). Waits until the application has acknowledged the events of the old channel that it got. */
int uroce_rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel);
/** rdma_getaddrinfo(3). Resolves numeric addresses without a name service. Returns one result, without ai_route.
 * @return 0; -1 and errno: ENXIO: unknown name; else as the man page */
int uroce_rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
			   struct rdma_addrinfo **res);
/** rdma_freeaddrinfo(3) */
void uroce_rdma_freeaddrinfo(struct rdma_addrinfo *res);
/** rdma_init_qp_attr(3) */
int uroce_rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *qp_attr, int *qp_attr_mask);
/** rdma_set_local_ece(3). Sent to the peer, but not interpreted. */
int uroce_rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece);
/** rdma_get_remote_ece(3) */
int uroce_rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece);

/** @} */

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* UROCE_CMA_H */
