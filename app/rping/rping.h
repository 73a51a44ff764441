/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * One run: the ends that this process is, with their ports, and the loop that drives them. Main
 * thread.
 */

#ifndef UROCE_RPING_RPING_H
#define UROCE_RPING_RPING_H

#include "conn.h"
#include "host.h"

struct rping {
	const struct rping_options *options;
	struct app_host hosts[2]; /* the second: the server's, with both ends in this process */
	struct sockaddr_storage server;
	struct sockaddr_storage source; /* the client's; family 0: any */
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	TAILQ_HEAD(, rping_conn) conns;
	bool client_over;
	bool server_over; /* the one connection that a server serves without -P */
	bool server_busy;
	bool failed;
	unsigned int idle; /* rounds in which nothing has happened */
};

/** Listen, connect, ping, and disconnect. hosts, server and source are set. @return 0 or -1,
 * messages printed */
int uroce_rping_run(struct rping *r);

/** A round of everything. Also for a caller that waits for something else. */
void uroce_rping_round(struct rping *r);

/* event.c: the channel's events. @return how many there were */
unsigned int uroce_rping_events(struct rping *r);

/* poll.c: take what has completed. @return how many completions */
unsigned int uroce_rping_poll(struct rping_conn *conn);

/* client.c, server.c: a message has come; an RDMA operation is done */
void uroce_rping_client_start(struct rping_conn *conn);
void uroce_rping_client_received(struct rping_conn *conn);
void uroce_rping_server_received(struct rping_conn *conn);
void uroce_rping_server_done(struct rping_conn *conn, enum ibv_wc_opcode opcode);

#endif /* UROCE_RPING_RPING_H */
