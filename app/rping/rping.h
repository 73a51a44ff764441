/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * One run: the one or two ends in this process, their ports, and the loop that polls them. Main thread.
 */

#ifndef UROCE_RPING_RPING_H
#define UROCE_RPING_RPING_H

#include "conn.h"
#include "host.h"

struct rping {
	const struct rping_options *options;
	struct app_host hosts[2]; /* the second is the server's, if both ends are in this process */
	struct sockaddr_storage server;
	struct sockaddr_storage source; /* the client's address; family 0: any */
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	TAILQ_HEAD(, rping_conn) conns;
	bool client_over;
	bool server_over; /* without -P: the server's only connection has ended */
	bool server_busy;
	bool failed;
	unsigned int idle; /* consecutive rounds without work */
};

/** Listen, connect, ping, and disconnect. hosts, server and source are set. @return 0 or -1, messages printed */
int uroce_rping_run(struct rping *r);

/** Run one round: poll workers, events and connections. Also for a caller that waits for something else. */
void uroce_rping_round(struct rping *r);

/* event.c: handle the channel's events. @return number of events */
unsigned int uroce_rping_events(struct rping *r);

/* poll.c: handle a connection's completions. @return number of completions */
unsigned int uroce_rping_poll(struct rping_conn *conn);

/* client.c, server.c: handle a received message, or the completion of an RDMA operation */
void uroce_rping_client_start(struct rping_conn *conn);
void uroce_rping_client_received(struct rping_conn *conn);
void uroce_rping_server_received(struct rping_conn *conn);
void uroce_rping_server_done(struct rping_conn *conn, enum ibv_wc_opcode opcode);

#endif /* UROCE_RPING_RPING_H */
