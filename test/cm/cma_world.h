/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A service for the rdma_cm calls without ports: two devices with two addresses each, whose MADs go
 * to each other in this process, and a clock that the test turns. MADs can be lost, neighbors
 * unknown.
 */

#ifndef UROCE_TEST_CM_CMA_WORLD_H
#define UROCE_TEST_CM_CMA_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <netinet/in.h>

#include "uroce_cma.h"
#include "cm/rdma/cma.h"
#include "cm/service.h"
#include "harness/device.h"

#define WORLD_MS 1000000ull

/* Addresses: 10.0.0.(1 + device), fd00::(1 + device); from 10.0.0.100 on are neighbors of device 0
 * that depend on world.resolve; all else is not reachable. */
struct world_device {
	struct harness_device host;
	struct uroce_port_ops port_ops;
	struct uroce_cm_agent agent;
	bool come; /* it can be found */
	bool gone; /* it was removed while the service ran */
};

struct world {
	struct world_device devices[2];
	uint64_t now_ns;
	unsigned int started; /* service: start less stop */
	unsigned int starts;
	unsigned int kicks;
	unsigned int mads; /* sent */
	/* what the service does */
	int start_error;
	bool second_fails; /* ... to start, on the second device only */
	int resolve; /* of neighbors: 0 or -errno */
	bool (*lose)(const uint8_t *mad);
	bool threaded; /* a thread turns the clock and delivers, for calls that wait */
};

extern struct world world;
/* Of each device; what its tables take is cleared in each set-up. */
extern uint32_t world_max_conns;

/* cmocka's set-up and tear-down; in the end nothing may be left. */
int world_setup(void **state);
int world_teardown(void **state);
/* The same, with a thread. */
int world_setup_threaded(void **state);

/* Deliver what is under way, and what that leads to. */
void world_deliver(void);
/* Let time pass, in steps up to the next deadline. */
void world_pass(uint64_t ns);
struct ibv_context *world_context(unsigned int device);
/* The device is removed, or comes back. */
void world_go(unsigned int device);
void world_come(unsigned int device);

struct sockaddr *world_v4(unsigned int host, uint16_t port); /* 10.0.0.host; 0: the wildcard */
struct sockaddr *world_v6(unsigned int host, uint16_t port);

/* The channel's next event has to be of this type; acknowledge it. */
struct rdma_cm_event *world_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type);
/* The same, acknowledged; the ID it is about. */
struct rdma_cm_id *world_take(struct rdma_event_channel *channel, enum rdma_cm_event_type type,
			      int status);
void world_no_event(struct rdma_event_channel *channel);
struct rdma_event_channel *world_channel(void);

struct rdma_cm_id *world_id(struct rdma_event_channel *channel, enum rdma_port_space ps);
/* One that listens at 10.0.0.host. */
struct rdma_cm_id *world_listener(struct rdma_event_channel *channel, unsigned int host,
				  uint16_t port, enum rdma_port_space ps, int backlog);
/* One that is resolved, to 10.0.0.host, from device 0. */
struct rdma_cm_id *world_resolved(struct rdma_event_channel *channel, unsigned int host,
				  uint16_t port, enum rdma_port_space ps);
/* A QP with CQs of its own. */
void world_qp(struct rdma_cm_id *id);
/* Connect, and get the request: the ID of the other end. */
struct rdma_cm_id *world_request(struct rdma_event_channel *channel, struct rdma_cm_id *client,
				 struct rdma_conn_param *param);
enum ibv_qp_state world_qp_state(const struct rdma_cm_id *id, struct ibv_qp_attr *attr);

/* Two IDs, connected, with QPs: server listens at 10.0.0.2. */
struct world_pair {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct rdma_cm_id *client;
	struct rdma_cm_id *server;
};

void world_connect(struct world_pair *pair);
void world_disconnect(struct world_pair *pair);

#endif /* UROCE_TEST_CM_CMA_WORLD_H */
