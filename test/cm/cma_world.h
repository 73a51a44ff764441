/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A service for the rdma_cm calls without ports: two devices with two addresses each exchange MADs within the process,
 * and the test advances the clock. MADs can be lost, and neighbors can be unknown.
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

/* Addresses: 10.0.0.(1 + device), fd00::(1 + device). From 10.0.0.100 on, addresses are neighbors of device 0 that
 * depend on world.resolve. All other addresses are unreachable. */
struct world_device {
	struct harness_device host;
	struct uroce_port_ops port_ops;
	struct uroce_cm_agent agent;
	bool come; /* the device list contains it */
	bool gone; /* removed while the service ran */
};

struct world {
	struct world_device devices[2];
	uint64_t now_ns;
	unsigned int started; /* starts of the service less stops */
	unsigned int starts;
	unsigned int kicks;
	unsigned int mads; /* number sent */
	/* results of the service */
	int start_error;
	bool second_fails; /* ... only on the second device */
	int resolve; /* result for neighbors: 0 or -errno */
	bool (*lose)(const uint8_t *mad);
	bool threaded; /* a thread advances the clock and delivers MADs, for calls that block */
};

extern struct world world;
/* Limit of connections of each device; each set-up resets it. */
extern uint32_t world_max_conns;

/* Set-up and tear-down for cmocka; the latter fails if anything leaks. */
int world_setup(void **state);
int world_teardown(void **state);
/* The same, with a thread that advances the clock. */
int world_setup_threaded(void **state);

/* Deliver MADs, and the MADs that they cause. */
void world_deliver(void);
/* Advance the clock, in steps up to the next deadline. */
void world_pass(uint64_t ns);
struct ibv_context *world_context(unsigned int device);
/* Remove a device, or bring it back. */
void world_go(unsigned int device);
void world_come(unsigned int device);

struct sockaddr *world_v4(unsigned int host, uint16_t port); /* 10.0.0.host; 0: the wildcard */
struct sockaddr *world_v6(unsigned int host, uint16_t port);

/* The channel's next event must have this type; the caller acknowledges it. */
struct rdma_cm_event *world_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type);
/* The same, but acknowledged. @return the event's ID */
struct rdma_cm_id *world_take(struct rdma_event_channel *channel, enum rdma_cm_event_type type,
			      int status);
void world_no_event(struct rdma_event_channel *channel);
struct rdma_event_channel *world_channel(void);

struct rdma_cm_id *world_id(struct rdma_event_channel *channel, enum rdma_port_space ps);
/* An ID that listens at 10.0.0.host. */
struct rdma_cm_id *world_listener(struct rdma_event_channel *channel, unsigned int host,
				  uint16_t port, enum rdma_port_space ps, int backlog);
/* An ID of device 0 that is resolved to 10.0.0.host. */
struct rdma_cm_id *world_resolved(struct rdma_event_channel *channel, unsigned int host,
				  uint16_t port, enum rdma_port_space ps);
/* Create a QP with CQs of its own. */
void world_qp(struct rdma_cm_id *id);
/* Connect, and take the request. @return the ID at the server */
struct rdma_cm_id *world_request(struct rdma_event_channel *channel, struct rdma_cm_id *client,
				 struct rdma_conn_param *param);
enum ibv_qp_state world_qp_state(const struct rdma_cm_id *id, struct ibv_qp_attr *attr);

/* Two connected IDs with QPs; the server listens at 10.0.0.2. */
struct world_pair {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct rdma_cm_id *client;
	struct rdma_cm_id *server;
};

void world_connect(struct world_pair *pair);
void world_disconnect(struct world_pair *pair);

#endif /* UROCE_TEST_CM_CMA_WORLD_H */
