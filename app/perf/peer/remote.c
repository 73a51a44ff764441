/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A server in another process, as a struct perf_peer over the connection of conn.h. The client's main thread, which
 * polls its worker while it waits.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "peer/cm.h"
#include "peer/remote.h"

#define TICKS_PER_SIGN 4 /* ticks between two "alive" lines */

static int
gone(char *error, size_t room, int ret)
{
	if (ret == -ETIMEDOUT)
		snprintf(error, room, "the server has stopped responding");
	else if (ret == -EPROTO)
		snprintf(error, room, "the server has sent an invalid message: use the same release at both ends");
	else
		snprintf(error, room, "the server has closed the connection");
	return -1;
}

/* Receive a line; a line "error" is a failure. */
static int
receive(struct perf_remote *remote, unsigned int timeout_ms, char *line, char *error, size_t room)
{
	int ret = uroce_perf_conn_recv(&remote->conn, line, UROCE_PERF_OOB_LINE_BYTES, timeout_ms);

	if (ret != 0)
		return gone(error, room, ret);
	if (uroce_perf_message_is(line, "error")) {
		snprintf(error, room, "error at the server: %.200s", line[5] == ' ' ? line + 6 : "");
		return -1;
	}
	return 0;
}

static int
begin(struct perf_peer *peer, struct perf_client *c, char *error, size_t room)
{
	struct perf_remote *remote = (struct perf_remote *)peer;
	const struct perf_params *p = &c->lanes.ends[0]->params;
	char line[UROCE_PERF_OOB_LINE_BYTES];
	int ret = uroce_perf_send_params(&remote->conn, p);

	for (uint32_t i = 0; i < p->qps && ret == 0; i++)
		ret = uroce_perf_send_qp(&remote->conn, i, &uroce_perf_lanes_qp(&c->lanes, i)->local);
	if (ret != 0)
		return gone(error, room, ret);
	for (uint32_t i = 0; i < p->qps; i++) {
		if (receive(remote, UROCE_PERF_OOB_TIMEOUT_MS, line, error, room) != 0)
			return -1;
		if (uroce_perf_parse_qp(line, i, &uroce_perf_lanes_qp(&c->lanes, i)->remote) != 0)
			return gone(error, room, -EPROTO);
	}
	return 0;
}

/* A server without errors sends nothing. */
static int
alive(struct perf_peer *peer, char *error, size_t room)
{
	struct perf_remote *remote = (struct perf_remote *)peer;
	char line[UROCE_PERF_OOB_LINE_BYTES];
	int ret = uroce_perf_conn_recv(&remote->conn, line, sizeof(line), 0);

	if (ret == 0 && uroce_perf_message_is(line, "error")) {
		snprintf(error, room, "error at the server: %.200s", line[5] == ' ' ? line + 6 : "");
		return -1;
	}
	if (ret != -EAGAIN)
		return gone(error, room, ret == 0 ? -EPROTO : ret);
	if (++remote->ticks % TICKS_PER_SIGN != 0)
		return 0;
	ret = uroce_perf_conn_send(&remote->conn, "alive");
	return ret == 0 ? 0 : gone(error, room, ret);
}

static int
finish(struct perf_peer *peer, const struct perf_client *c, struct perf_verdict *verdict, char *error, size_t room)
{
	struct perf_remote *remote = (struct perf_remote *)peer;
	const struct perf_run *run = c->runs[0];
	const struct perf_params *p = &run->end.params;
	char line[UROCE_PERF_OOB_LINE_BYTES];
	int ret = 0;

	for (uint32_t i = 0; i < p->qps && uroce_perf_ops[p->op].atomic && ret == 0; i++)
		ret = uroce_perf_conn_send(&remote->conn, "count index=%u ops=%llu", i,
					   (unsigned long long)uroce_perf_lanes_qp(&c->lanes, i)->done);
	if (ret == 0)
		ret = uroce_perf_conn_send(&remote->conn, "done ops=%llu failed=%u",
					   (unsigned long long)run->posted, run->failed);
	if (ret != 0)
		return gone(error, room, ret);
	/* if the server's end caused the failure, it may not answer any more */
	ret = receive(remote, run->failed ? UROCE_PERF_OOB_FAILED_MS : UROCE_PERF_OOB_TIMEOUT_MS,
		      line, error, room);
	if (ret == 0 && uroce_perf_parse_verdict(line, verdict) != 0)
		ret = gone(error, room, -EPROTO);
	return ret;
}

/* Poll during a wait for the server: its packets need ACKs. */
static unsigned int
idle(void *arg)
{
	return uroce_worker_poll(((struct app_host *)arg)->workers[0]);
}

static void
connect_explain(const struct perf_options *o, int error)
{
	const char *hint = o->use_oob ? "check that the server runs with the same --oob"
				      : "check that the server runs and has this address, and that the link is up";

	if (error == EINTR)
		return; /* the user has pressed Ctrl-C */
	if (error == EACCES)
		hint = "check the permissions of the socket";
	else if (error == EADDRNOTAVAIL)
		hint = "check the host name in --oob";
	else if (error == ETIMEDOUT && !o->use_oob)
		hint = "the host responds, but without a server: check that the server runs, and without --oob";
	fprintf(stderr, "uroce-perf: cannot connect to %s: %s: %s\n",
		o->use_oob ? o->oob.text : o->peer_text, strerror(error), hint);
}

static int
greet(struct perf_remote *remote, const struct perf_options *o, char *error, size_t room)
{
	char line[UROCE_PERF_OOB_LINE_BYTES], gid[33];
	uint64_t mtu, rd_atomic;
	int ret;

	uroce_perf_gid_print(&o->peer, gid);
	ret = uroce_perf_conn_send(&remote->conn, "uroce-perf %u hello to=%s", PERF_OOB_VERSION,
				   gid);
	if (ret != 0)
		return gone(error, room, ret);
	if (receive(remote, UROCE_PERF_OOB_TIMEOUT_MS, line, error, room) != 0 ||
	    uroce_perf_message_greeting(line, "welcome", error, room) != 0)
		return -1;
	if (uroce_perf_message_number(line, "mtu", 256, 4096, &mtu) != 0 ||
	    uroce_perf_message_number(line, "rd_atomic", 1, UROCE_MAX_RD_ATOMIC, &rd_atomic) != 0)
		return gone(error, room, -EPROTO);
	remote->peer.mtu = (uint32_t)mtu;
	remote->peer.rd_atomic = (uint32_t)rd_atomic;
	return 0;
}

int
uroce_perf_remote_open(struct perf_remote *remote, struct app_host *host,
		       const struct perf_options *o)
{
	char error[PERF_TEXT_BYTES];
	int ret;

	memset(remote, 0, sizeof(*remote));
	remote->peer = (struct perf_peer){ .begin = begin, .alive = alive, .finish = finish };
	remote->conn.idle = idle;
	remote->conn.idle_arg = host;
	ret = o->use_oob ? uroce_perf_oob_connect(&remote->conn, &o->oob)
			 : uroce_perf_cm_connect(&remote->conn, &o->peer);
	if (ret != 0) {
		connect_explain(o, -ret);
		return -1;
	}
	if (greet(remote, o, error, sizeof(error)) == 0)
		return 0;
	fprintf(stderr, "uroce-perf: %s\n", error);
	return -1;
}

void
uroce_perf_remote_close(struct perf_remote *remote)
{
	uroce_perf_conn_close(&remote->conn);
}
