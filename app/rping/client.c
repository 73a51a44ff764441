/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The client's rounds: offers a ping for the server's READ, then room for its WRITE, and checks the data. Main
 * thread.
 */

#include <stdio.h>
#include <string.h>

#include <rte_byteorder.h>

#include "rping.h"

static void
offer(struct rping_conn *conn, const char *buffer, const struct ibv_mr *mr)
{
	conn->send_info = (struct rping_info){
		.addr = rte_cpu_to_be_64((uintptr_t)buffer),
		.rkey = rte_cpu_to_be_32(mr->rkey),
		.size = rte_cpu_to_be_32(conn->options->size),
	};
	(void)uroce_rping_conn_send(conn);
}

void
uroce_rping_client_start(struct rping_conn *conn)
{
	const struct rping_options *o = conn->options;

	if (o->count != 0 && conn->round == o->count) {
		uroce_rping_conn_leave(conn);
		return;
	}
	uroce_rping_fill(conn->start, o->size, conn->round);
	memset(conn->data, 0xff, o->size); /* a byte that is not written cannot be right by chance */
	conn->phase = RPING_WAIT_SINK;
	offer(conn, conn->start, conn->start_mr);
}

static void
check(struct rping_conn *conn)
{
	const struct rping_options *o = conn->options;
	uint32_t at;

	if (o->validate) {
		at = uroce_rping_compare(conn->start, conn->data, o->size);
		if (at < o->size) {
			uroce_rping_conn_fail(conn, "ping %u: byte %u is wrong: data mismatch",
					      conn->round, at);
			return;
		}
	}
	if (o->verbose)
		printf("ping data: %.*s\n", (int)o->size, conn->data);
	conn->round++;
	uroce_rping_client_start(conn);
}

void
uroce_rping_client_received(struct rping_conn *conn)
{
	switch (conn->phase) {
	case RPING_WAIT_SINK:
		conn->phase = RPING_WRITING;
		offer(conn, conn->data, conn->data_mr);
		break;
	case RPING_WRITING: check(conn); break;
	default: uroce_rping_conn_fail(conn, "the server has sent an unexpected message");
	}
}
