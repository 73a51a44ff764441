/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Measures the time of a connection through the CM, one after the other, and with many in progress at a time. The main
 * thread runs both ends, with one event channel for both; the CM's thread sends and receives.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_bitops.h>
#include <rte_common.h>

#include "scale.h"
#include "uroce_cma.h"

#define CLIENT	   "10.0.0.1"
#define SERVER	   "10.0.0.2"
#define PORT	   7471
#define RESOLVE_MS 20000
#define AT_A_TIME  64

struct cm {
	struct scale_pair *pair;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct rdma_cm_id **ids; /* of both ends */
	uint32_t nb_ids;
	uint32_t begun;
	uint32_t wanted;
	uint32_t established; /* ends */
};

static struct sockaddr *
address(struct sockaddr_in *sin, const char *text, uint16_t port)
{
	memset(sin, 0, sizeof(*sin));
	sin->sin_family = AF_INET;
	sin->sin_port = htons(port);
	scale_check(inet_pton(AF_INET, text, &sin->sin_addr) == 1, "an address");
	return (struct sockaddr *)sin;
}

static void
qp_create(const struct cm *cm, struct rdma_cm_id *id, unsigned int end)
{
	const struct scale_end *e = &cm->pair->ends[end];
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	scale_check(uroce_rdma_create_qp(id, e->pd, &init) == 0, "a connection's queue pair");
}

static void
begin(struct cm *cm)
{
	struct sockaddr_in from, to;
	struct rdma_cm_id *id;

	scale_check(uroce_rdma_create_id(cm->channel, &id, NULL, RDMA_PS_TCP) == 0, "a connection's ID");
	cm->ids[cm->nb_ids++] = id;
	cm->begun++;
	/* with the first end's address: without a source, the connection would use the loopback */
	scale_check(uroce_rdma_resolve_addr(id, address(&from, CLIENT, 0), address(&to, SERVER, PORT), RESOLVE_MS) == 0,
		    "resolving an address");
}

/* Take the next step of the event's connection. */
static void
step(struct cm *cm, enum rdma_cm_event_type type, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1, .retry_count = 7 };

	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		scale_check(uroce_rdma_resolve_route(id, RESOLVE_MS) == 0, "resolving a route");
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		qp_create(cm, id, 0);
		scale_check(uroce_rdma_connect(id, &param) == 0, "connecting");
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		cm->ids[cm->nb_ids++] = id;
		qp_create(cm, id, 1);
		scale_check(uroce_rdma_accept(id, &param) == 0, "accepting");
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (++cm->established % 2 == 0 && cm->begun < cm->wanted)
			begin(cm);
		break;
	default:
		fprintf(stderr, "scale: a connection has met %s\n", uroce_rdma_event_str(type));
		exit(1);
	}
}

/* @return us per connection */
static double
connect_many(struct cm *cm, uint32_t n, uint32_t at_a_time)
{
	double start = scale_now();

	cm->begun = cm->established = 0;
	cm->wanted = n;
	for (uint32_t i = 0; i < RTE_MIN(n, at_a_time); i++)
		begin(cm);
	while (cm->established < 2 * n) {
		struct rdma_cm_event *event;
		enum rdma_cm_event_type type;
		struct rdma_cm_id *id;

		scale_check(uroce_rdma_get_cm_event(cm->channel, &event) == 0, "an event of the CM");
		type = event->event;
		id = event->id;
		uroce_rdma_ack_cm_event(event);
		step(cm, type, id);
	}
	return (scale_now() - start) / 1e3 / n;
}

/* Destroy connections without a disconnect, which is not measured. */
static void
drop_all(struct cm *cm)
{
	while (cm->nb_ids > 0) {
		struct rdma_cm_id *id = cm->ids[--cm->nb_ids];

		uroce_rdma_destroy_qp(id);
		scale_check(uroce_rdma_destroy_id(id) == 0, "destroying a connection's ID");
	}
}

static void
cm_open(struct cm *cm, uint32_t n)
{
	struct sockaddr_in sin;

	cm->ids = calloc(2 * (size_t)n, sizeof(struct rdma_cm_id *));
	cm->channel = uroce_rdma_create_event_channel();
	scale_check(cm->ids != NULL && cm->channel != NULL, "a channel of the CM");
	scale_check(uroce_rdma_create_id(cm->channel, &cm->listener, NULL, RDMA_PS_TCP) == 0, "a listener");
	scale_check(uroce_rdma_bind_addr(cm->listener, address(&sin, SERVER, PORT)) == 0, "binding");
	scale_check(uroce_rdma_listen(cm->listener, AT_A_TIME) == 0, "listening");
}

static void
measure(const struct scale_options *o, struct scale_report *report)
{
	const uint32_t n = o->connections;
	const struct scale_conf conf = {
		.log2_max_qp = RTE_MAX(rte_log2_u32(2 * n + 1) + 1, 10u), .bytes = SCALE_MTU, .cqes = SCALE_WINDOW,
	};
	struct scale_memory before, after;
	double one_us, many_us;
	struct scale_row *row;
	struct scale_pair p;
	struct cm cm = { .pair = &p };

	scale_pair_open(&p, &conf);
	cm_open(&cm, 2 * n);
	before = scale_memory();
	one_us = connect_many(&cm, n, 1);
	after = scale_memory();
	many_us = connect_many(&cm, n, AT_A_TIME);
	drop_all(&cm);
	uroce_rdma_destroy_id(cm.listener);
	uroce_rdma_destroy_event_channel(cm.channel);
	free(cm.ids);
	scale_pair_close(&p);

	row = scale_row_add(report, "connections");
	scale_row_set(row, "connections", n);
	scale_row_set(row, "us_one_by_one", one_us);
	scale_row_set(row, "us_64_at_a_time", many_us);
	/* with queue pair and queues, at one end */
	scale_row_set(row, "bytes", (double)(after.heap_bytes + after.malloc_bytes - before.heap_bytes -
					      before.malloc_bytes) / (2.0 * n));
}

void
scale_connections(const struct scale_options *o, struct scale_report *report)
{
	if (o->connections != 0)
		measure(o, report);
}
