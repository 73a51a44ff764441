/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The server's rounds: reads the memory that the client offers, writes the data to the memory that the client then
 * offers, and reports both by SENDs. It checks the client's messages. Main thread.
 */

#include <stdio.h>

#include "rping.h"

void
uroce_rping_server_received(struct rping_conn *conn)
{
	switch (conn->phase) {
	case RPING_CONNECTING:
	case RPING_WAIT_START:
		if (conn->peer.size == 0 || conn->peer.size > sizeof(conn->data)) {
			uroce_rping_conn_fail(
				conn, "the client's ping has %u bytes: 1 to %zu are possible",
				conn->peer.size, sizeof(conn->data));
			return;
		}
		conn->phase = RPING_READING;
		(void)uroce_rping_conn_rdma(conn, IBV_WR_RDMA_READ, conn->peer.size);
		break;
	case RPING_WAIT_SINK:
		conn->phase = RPING_WRITING;
		(void)uroce_rping_conn_rdma(
			conn, IBV_WR_RDMA_WRITE,
			uroce_rping_text_bytes(conn->data, conn->peer.size > sizeof(conn->data)
								   ? sizeof(conn->data)
								   : conn->peer.size));
		break;
	default: uroce_rping_conn_fail(conn, "the client has sent an unexpected message");
	}
}

static void
read_done(struct rping_conn *conn)
{
	const struct rping_options *o = conn->options;

	if (o->verbose)
		printf("server ping data: %.*s\n", (int)conn->peer.size, conn->data);
	if (o->fault == (int64_t)conn->round)
		conn->data[conn->peer.size / 2] ^= 1;
	conn->phase = RPING_WAIT_SINK;
	(void)uroce_rping_conn_send(conn);
}

void
uroce_rping_server_done(struct rping_conn *conn, enum ibv_wc_opcode opcode)
{
	if (opcode == IBV_WC_RDMA_READ && conn->phase == RPING_READING) {
		read_done(conn);
	} else if (opcode == IBV_WC_RDMA_WRITE && conn->phase == RPING_WRITING) {
		conn->round++;
		conn->phase = RPING_WAIT_START;
		(void)uroce_rping_conn_send(conn);
	}
}
