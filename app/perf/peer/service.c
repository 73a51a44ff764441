/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The server's process: waits for a client, creates an endpoint for each row, runs the server's rounds until the
 * client is done, and reports. Main thread, which is the first lane.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "peer/cm.h"
#include "peer/message.h"
#include "peer/oob.h"
#include "measure/servers.h"
#include "peer/service.h"
#include "signals.h"

#define LAST_LINES       64 /* of a client that is no longer served */
#define LOOKS_PER_SECOND 50 /* reads of the socket per second during a run */

struct service {
	struct app_host *host;
	struct perf_conn conn;
	struct perf_servers servers;
	union ibv_gid wanted; /* the server's address as the client gave it */
	bool serving;         /* `servers` has endpoints */
	bool silent;          /* the client was silent: do not wait for its end */
	uint64_t *counts;     /* atomics: the client's operations on each QP */
	unsigned int rows;
	uint64_t errors;
};

static unsigned int
idle(void *arg)
{
	struct service *s = arg;
	unsigned int work = uroce_worker_poll(s->host->workers[0]);

	return s->serving ? work + uroce_perf_server_round(s->servers.servers[0]) : work;
}

static unsigned int
idle_worker(void *arg)
{
	return uroce_worker_poll(((struct service *)arg)->host->workers[0]);
}

/* Print why the client is no longer served. @return -1 */
static int
lost(struct service *s, int ret)
{
	s->silent = ret == -ETIMEDOUT;
	if (ret == -ETIMEDOUT)
		fprintf(stderr, "uroce-perf: the client has been silent for %u s\n",
			UROCE_PERF_OOB_TIMEOUT_MS / 1000);
	else if (ret == -EPROTO)
		fprintf(stderr,
			"uroce-perf: the client has sent an invalid message: use the same release at both ends\n");
	else if (ret == -EINTR)
		fprintf(stderr, "uroce-perf: stopped\n");
	else
		fprintf(stderr, "uroce-perf: the client has closed the connection\n");
	return -1;
}

/* Send an error to the client, and print it. @return -1 */
static int
refuse(struct service *s, const char *error)
{
	fprintf(stderr, "uroce-perf: %s\n", error);
	uroce_perf_conn_send(&s->conn, "error %.400s", error);
	return -1;
}

static int
greet(struct service *s)
{
	char line[UROCE_PERF_OOB_LINE_BYTES], error[PERF_TEXT_BYTES];
	uint32_t mtu = 4096, rd_atomic = UROCE_MAX_RD_ATOMIC;
	bool ours = false;
	int ret = uroce_perf_conn_recv(&s->conn, line, sizeof(line), UROCE_PERF_OOB_TIMEOUT_MS);

	if (ret != 0)
		return lost(s, ret);
	if (uroce_perf_message_greeting(line, "hello", error, sizeof(error)) != 0)
		return refuse(s, error);
	if (uroce_perf_message_gid(line, "to", &s->wanted) != 0)
		return lost(s, -EPROTO);
	for (unsigned int d = 0; d < s->host->nb_devs; d++) {
		const struct app_device *dev = &s->host->devs[d];
		const struct app_address *a = uroce_app_device_address(dev, true, &s->wanted);

		ours |= a != NULL && memcmp(&a->gid, &s->wanted, sizeof(a->gid)) == 0;
		mtu = RTE_MIN(mtu, dev->mtu);
		rd_atomic = RTE_MIN(rd_atomic, (uint32_t)dev->attr.max_qp_rd_atom);
	}
	if (!ours)
		return refuse(s,
			      "the client's --client address is none of the server's --addr: use one of them");
	ret = uroce_perf_conn_send(&s->conn, "uroce-perf %u welcome mtu=%u rd_atomic=%u",
				   PERF_OOB_VERSION, mtu, rd_atomic);
	return ret == 0 ? 0 : lost(s, ret);
}

/* Receive the client's QPs, one line each. */
static struct perf_qp_info *
infos_receive(struct service *s, uint32_t n)
{
	struct perf_qp_info *infos = calloc(n, sizeof(*infos));
	char line[UROCE_PERF_OOB_LINE_BYTES];

	for (uint32_t i = 0; i < n && infos != NULL; i++) {
		int ret = uroce_perf_conn_recv(&s->conn, line, sizeof(line),
					       UROCE_PERF_OOB_TIMEOUT_MS);

		if (ret == 0)
			ret = uroce_perf_parse_qp(line, i, &infos[i]);
		if (ret == 0)
			continue;
		lost(s, ret);
		free(infos);
		return NULL;
	}
	return infos;
}

static int
row_connect(struct service *s, const struct perf_params *p, const struct perf_qp_info *infos)
{
	struct perf_lanes *lanes = &s->servers.lanes;
	char error[PERF_TEXT_BYTES];
	int ret = 0;

	if (uroce_perf_servers_create(&s->servers, uroce_perf_lanes_count(p, s->host), s->host, p, &infos[0].gid,
				      &s->wanted, error, sizeof(error)) != 0)
		return refuse(s, error);
	for (uint32_t i = 0; i < p->qps; i++)
		uroce_perf_lanes_qp(lanes, i)->remote = infos[i];
	if (uroce_perf_lanes_connect(lanes, error, sizeof(error)) != 0) {
		uroce_perf_servers_destroy(&s->servers);
		return refuse(s, error);
	}
	uroce_perf_servers_start(&s->servers, 1);
	s->serving = true;
	for (uint32_t i = 0; i < p->qps && ret == 0; i++)
		ret = uroce_perf_send_qp(&s->conn, i, &uroce_perf_lanes_qp(lanes, i)->local);
	return ret == 0 ? 0 : lost(s, ret);
}

/* Set up the row that the line describes. */
static int
row_begin(struct service *s, const char *line)
{
	struct perf_params p;
	struct perf_qp_info *infos;
	int ret = uroce_perf_parse_params(line, &p);

	if (ret != 0)
		return lost(s, ret);
	infos = infos_receive(s, p.qps);
	s->counts = calloc(p.qps, sizeof(*s->counts));
	ret = infos == NULL || s->counts == NULL ? -1 : row_connect(s, &p, infos);
	free(infos);
	return ret;
}

static void
row_close(struct service *s)
{
	if (s->serving)
		uroce_perf_servers_destroy(&s->servers);
	s->serving = false;
	free(s->counts);
	s->counts = NULL;
}

/* The client is done: check the messages, send the result and print it. */
static int
row_finish(struct service *s, const char *line)
{
	const struct perf_params *p = &s->servers.lanes.ends[0]->params;
	const struct perf_verdict *v = &s->servers.verdict;
	uint64_t ops, failed;
	int ret;

	if (uroce_perf_message_number(line, "ops", 0, UINT64_MAX, &ops) != 0 ||
	    uroce_perf_message_number(line, "failed", 0, 1, &failed) != 0)
		return lost(s, -EPROTO);
	uroce_perf_servers_stop(&s->servers);
	if (failed == 0)
		uroce_perf_servers_finish(&s->servers, ops, uroce_perf_ops[p->op].atomic ? s->counts : NULL,
					  idle_worker, s);
	else
		uroce_perf_servers_verdict(&s->servers);
	s->rows++;
	s->errors += v->errors;
	printf("%s of %u bytes, %u queue pairs: %" PRIu64 " messages%s\n",
	       uroce_perf_ops[p->op].name, p->size, p->qps, ops,
	       failed != 0 ? ", ended by an error at the client" : "");
	if (p->verify)
		printf("verified here: %" PRIu64 " bytes\n", v->verified_bytes);
	if (v->text[0] != '\0')
		fprintf(stderr, "uroce-perf: %s\n", v->text);
	fflush(stdout);
	ret = uroce_perf_send_verdict(&s->conn, v);
	return ret == 0 ? 0 : lost(s, ret);
}

/* Run the server's rounds, and read the socket from time to time. @return 0 and a line, or -1 */
static int
row_wait(struct service *s, char *line, size_t room)
{
	const uint64_t hz = rte_get_tsc_hz();
	uint64_t now = rte_rdtsc(), next = now;
	uint64_t silent = now + hz / 1000 * UROCE_PERF_OOB_TIMEOUT_MS;

	while (!uroce_app_stopped()) {
		int ret;

		idle(s);
		now = rte_rdtsc();
		if (likely(now < next))
			continue;
		next = now + hz / LOOKS_PER_SECOND;
		ret = uroce_perf_conn_recv(&s->conn, line, room, 0);
		if (ret == 0 && !uroce_perf_message_is(line, "alive"))
			return 0;
		if (ret == 0)
			silent = now + hz / 1000 * UROCE_PERF_OOB_TIMEOUT_MS;
		else if (ret != -EAGAIN)
			return lost(s, ret);
		else if (now > silent)
			return lost(s, -ETIMEDOUT);
	}
	return lost(s, -EINTR);
}

static int
count_take(struct service *s, const char *line)
{
	uint64_t index;

	if (uroce_perf_message_number(line, "index", 0, s->servers.lanes.ends[0]->params.qps - 1, &index) != 0)
		return lost(s, -EPROTO);
	if (uroce_perf_message_number(line, "ops", 0, UINT64_MAX, &s->counts[index]) != 0)
		return lost(s, -EPROTO);
	return 0;
}

static int
row_serve(struct service *s)
{
	char line[UROCE_PERF_OOB_LINE_BYTES];

	for (;;) {
		if (row_wait(s, line, sizeof(line)) != 0)
			return -1;
		if (uroce_perf_message_is(line, "done"))
			return row_finish(s, line);
		if (!uroce_perf_message_is(line, "count"))
			return lost(s, -EPROTO);
		if (count_take(s, line) != 0)
			return -1;
	}
}

/* The client closes its port, then the socket. Until the socket is closed, do not close the server's port, nor poll
 * it: when the client's end disappears, net_memif takes the port down on EAL's interrupt thread, without a lock. */
static void
client_leave(struct service *s)
{
	char line[UROCE_PERF_OOB_LINE_BYTES];
	unsigned int lines = 0;

	if (s->conn.cm != NULL) {
		if (!s->silent)
			uroce_perf_cm_leave(&s->conn);
		uroce_perf_conn_close(&s->conn);
		uroce_app_host_stop(s->host);
		rte_delay_us_sleep(UROCE_PERF_LEAVE_MS * 1000);
		return;
	}
	uroce_app_host_stop(s->host);
	s->conn.idle = NULL;
	s->conn.interruptible = false;
	uroce_perf_oob_shutdown(&s->conn);
	while (uroce_perf_conn_recv(&s->conn, line, sizeof(line), UROCE_PERF_OOB_TIMEOUT_MS) == 0 &&
	       ++lines < LAST_LINES)
		;
	uroce_perf_conn_close(&s->conn);
	rte_delay_us_sleep(UROCE_PERF_LEAVE_MS * 1000);
}

/* Serve all rows of one client. */
static int
client_serve(struct service *s)
{
	char line[UROCE_PERF_OOB_LINE_BYTES];
	int ret;

	if (greet(s) != 0)
		return -1;
	while (!uroce_app_stopped()) {
		ret = uroce_perf_conn_recv(&s->conn, line, sizeof(line), UROCE_PERF_OOB_TIMEOUT_MS);
		if (ret == 0 && uroce_perf_message_is(line, "bye"))
			return 0;
		if (ret == 0 && uroce_perf_message_is(line, "alive"))
			continue; /* the client's prompt waits for its user */
		if (ret != 0)
			return lost(s, ret);
		ret = row_begin(s, line);
		if (ret == 0)
			ret = row_serve(s);
		row_close(s);
		if (ret != 0)
			return -1;
	}
	return lost(s, -EINTR);
}

/* Wait for the client. @return 0; -EINTR: the user wants to stop; -errno */
static int
client_accept(struct service *s, const struct perf_oob_addr *oob)
{
	int listener = uroce_perf_oob_listen(oob);
	int ret;

	if (listener < 0)
		return listener;
	printf("waiting for a client on %s\n", oob->text);
	fflush(stdout);
	ret = uroce_perf_oob_accept(&s->conn, listener);
	uroce_perf_oob_unlisten(oob, listener);
	return ret;
}

static int
client_accept_cm(struct service *s, const struct perf_options *o)
{
	struct perf_cm *cm = uroce_perf_cm_listen();

	if (cm == NULL)
		return -errno;
	printf("waiting for a client at %s", o->addrs[0]);
	for (unsigned int i = 1; i < o->nb_addrs; i++)
		printf(", %s", o->addrs[i]);
	printf("\n");
	fflush(stdout);
	return uroce_perf_cm_accept(&s->conn, cm);
}

int
uroce_perf_serve(struct app_host *host, const struct perf_options *o)
{
	struct service s = {
		.host = host,
		.conn = { .idle = idle, .interruptible = true },
	};
	int ret;

	s.conn.idle_arg = &s;
	ret = o->use_oob ? client_accept(&s, &o->oob) : client_accept_cm(&s, o);
	if (ret == 0) {
		ret = client_serve(&s);
		client_leave(&s);
	} else if (ret != -EINTR) {
		fprintf(stderr, "uroce-perf: cannot wait for a client on %s: %s\n",
			o->use_oob ? o->oob.text : "the RDMA CM", strerror(-ret));
	} else {
		ret = 0; /* the user stopped the wait for a client */
	}
	return ret != 0 || s.errors != 0 ? 1 : 0;
}
