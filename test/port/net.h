/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Two ends with one RC QP each, on ports of the process, and all operations between them.
 */

#ifndef UROCE_TEST_PORT_NET_H
#define UROCE_TEST_PORT_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rings.h"
#include "uroce.h"

#define END_BYTES 100000

enum end_memory {
	END_MEMORY_DPDK,
	END_MEMORY_MALLOC
};

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buffer; /* END_BYTES long */
	enum end_memory memory;
};

struct net {
	struct test_rings wire[2];
	struct uroce_worker *workers[2];
	unsigned int nb_workers;
	struct end ends[2];
	bool threads; /* lcores poll the workers; otherwise the test does */
};

void end_open(struct end *e, struct ibv_context *context, enum end_memory memory);
/** end_open() with a completion vector, which names the worker of the QP. */
void end_open_on(struct end *e, struct ibv_context *context, enum end_memory memory, int comp_vector);
void end_close(struct end *e);
void end_connect(struct end *e, const struct end *peer);
void end_fill(struct end *e, unsigned int seed);

/** From and to the start of the buffers. @param add	for a FETCH AND ADD */
void end_post(struct end *e, enum ibv_wr_opcode opcode, const struct end *peer, size_t bytes, uint64_t add);

void net_create_workers(struct net *net, unsigned int n);
void net_destroy_workers(struct net *net);
void net_connect(struct net *net);

/** Open two devices on a wire, with worker i % nb_workers for device i. */
void net_open(struct net *net, const struct uroce_port_conf *conf, unsigned int nb_workers, const char *a,
	      const char *b);
void net_close(struct net *net);

/** Wait for a successful completion. */
void net_expect_ok(struct net *net, struct end *e, enum ibv_wc_opcode opcode);
/** SEND, WRITE, READ and an atomic in one direction, a WRITE in the other. */
void net_run_operations(struct net *net);
/** All operations between a device with two workers, whose QP is on the second one, and a device with one. The frames
 * to the former must arrive at its first worker. The wire exists; closes everything. */
void net_run_handed_over(struct net *net, const struct uroce_port_conf *conf);

#endif /* UROCE_TEST_PORT_NET_H */
