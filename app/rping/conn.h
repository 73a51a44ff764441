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

#define RPING_PROBE_ID 1 /* wr_id of a probe; other work requests have 0 */

enum rping_phase {
	RPING_CONNECTING,
	RPING_WAIT_START, /* server: waits for the address to read from */
	RPING_READING,
	RPING_WAIT_SINK, /* server: waits for the address to write to; client: for the end of the READ */
	RPING_WRITING,   /* client: waits for the end of the WRITE */
	RPING_LEAVING,   /* disconnecting */
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
	uint64_t heard_tsc; /* time of the last completion */
	uint64_t leave_tsc; /* LEAVING: deadline */
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *info_mr;
	struct ibv_mr *start_mr;
	struct ibv_mr *data_mr;
	struct rping_info recv_info;
	struct rping_info send_info;
	struct rping_info peer;               /* server: the client's buffer, in host byte order */
	char start[UROCE_RPING_BUFFER_BYTES]; /* client: the server reads it */
	char data[UROCE_RPING_BUFFER_BYTES];  /* client: the server writes it; server: holds the data in between */
};

/** Create a connection for an ID. @return NULL: out of memory */
struct rping_conn *uroce_rping_conn_create(const struct rping_options *o, struct rdma_cm_id *id,
					   bool server);
/** Destroy a connection and its ID. */
void uroce_rping_conn_destroy(struct rping_conn *conn);

/** Create the QP, the CQ and the buffers, and post the first receive. @return 0 or -1, a message printed */
int uroce_rping_conn_prepare(struct rping_conn *conn);
/** With -q: move the program's own QP to RTS. @return 0 or -1, a message printed */
int uroce_rping_conn_modify(struct rping_conn *conn);

int uroce_rping_conn_receive(struct rping_conn *conn);
/** SEND send_info. */
int uroce_rping_conn_send(struct rping_conn *conn);
/** Post an empty WRITE, with RPING_PROBE_ID. */
int uroce_rping_conn_probe(struct rping_conn *conn);
/** Post a READ or a WRITE between `data` and the peer's memory. */
int uroce_rping_conn_rdma(struct rping_conn *conn, enum ibv_wr_opcode opcode, uint32_t bytes);

/** Print a connection's first error, and disconnect. */
void uroce_rping_conn_fail(struct rping_conn *conn, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/** Disconnect, and wait for the peer to notice. */
void uroce_rping_conn_leave(struct rping_conn *conn);

#endif /* UROCE_RPING_CONN_H */
