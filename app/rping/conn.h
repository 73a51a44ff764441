/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A connection of either end: its ID, QP, CQ and buffers, and its state. Main thread.
 */

#ifndef UROCE_RPING_CONN_H
#define UROCE_RPING_CONN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <uroce_cma.h>
#include <uroce_config.h>

#include "options.h"
#include "ping.h"

#define RPING_PROBE_ID 1 /* wr_id of a probe; of other work requests 0 */

enum rping_phase {
	RPING_CONNECTING,
	RPING_WAIT_START, /* server: for the address to read from */
	RPING_READING,
	RPING_WAIT_SINK, /* server: for the address to write to. Client: for the word that it was
			    read */
	RPING_WRITING,   /* Client: for the word that it was written */
	RPING_LEAVING,   /* disconnects */
	RPING_OVER,
};

struct rping_conn {
	TAILQ_ENTRY(rping_conn) link;
	const struct rping_options *options;
	struct rdma_cm_id *id;
	bool server;
	bool established;
	bool disconnected;
	bool failed;
	enum rping_phase phase;
	uint32_t round;
	bool probing;       /* a probe is outstanding */
	uint64_t heard_tsc; /* something completed last */
	uint64_t leave_tsc; /* LEAVING: when to wait no longer */
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *info_mr;
	struct ibv_mr *start_mr;
	struct ibv_mr *data_mr;
	struct rping_info recv_info;
	struct rping_info send_info;
	struct rping_info peer;               /* the server's client's, in host byte order */
	char start[UROCE_RPING_BUFFER_BYTES]; /* the client's: is read */
	char data[UROCE_RPING_BUFFER_BYTES];  /* the client's: is written. The server's: in between
					       */
};

/** @return NULL: no memory */
struct rping_conn *uroce_rping_conn_create(const struct rping_options *o, struct rdma_cm_id *id,
					   bool server);
/** With its ID. */
void uroce_rping_conn_destroy(struct rping_conn *conn);

/** QP, CQ, buffers, and the first receive. @return 0 or -1, a message printed */
int uroce_rping_conn_prepare(struct rping_conn *conn);
/** -q: move the QP of the user's own to RTS. @return 0 or -1, a message printed */
int uroce_rping_conn_modify(struct rping_conn *conn);

int uroce_rping_conn_receive(struct rping_conn *conn);
/** SEND send_info. */
int uroce_rping_conn_send(struct rping_conn *conn);
/** WRITE no bytes, with RPING_PROBE_ID. */
int uroce_rping_conn_probe(struct rping_conn *conn);
/** Between data and the peer's memory. */
int uroce_rping_conn_rdma(struct rping_conn *conn, enum ibv_wr_opcode opcode, uint32_t bytes);

/** Print the first error of a connection, and leave. */
void uroce_rping_conn_fail(struct rping_conn *conn, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/** Disconnect, and wait for the other end to have heard of it. */
void uroce_rping_conn_leave(struct rping_conn *conn);

#endif /* UROCE_RPING_CONN_H */
