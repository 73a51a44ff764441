/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A program that uses no CPU while it has nothing to do: its only thread waits by epoll(7) for its worker and for events
 * of connections. The server returns each message. The client sends five messages and prints the round-trip times.
 *
 *	cc -o sleeper sleeper.c $(pkg-config --static --cflags --libs uroce)
 *	./sleeper EAL-ARGUMENTS -- 10.0.0.1/24
 *	./sleeper EAL-ARGUMENTS -- 10.0.0.2/24 10.0.0.1
 */

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <arpa/inet.h>
#include <sys/epoll.h>

#include <rte_eal.h>

#include <uroce.h>
#include <uroce_cma.h>

#define PORT	   7471
#define MESSAGES   5
#define PAUSE_US   200000	/* between an answer and the next message */
#define RESOLVE_MS 2000
#define NEVER	   UINT64_MAX

/* One connection at a time. */
static struct {
	struct uroce_worker *worker;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char message[32];	/* received and sent */
	bool is_client;
	bool is_over;
	unsigned int count;	/* messages sent or answered */
	uint64_t sent_us;
	uint64_t next_us;	/* client: time of the next message */
} me = { .next_us = NEVER };

static uint64_t
now_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void
check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "sleeper: cannot %s\n", what);
	exit(1);
}

static void
post_receive(void)
{
	struct ibv_sge sge = { (uintptr_t)me.message, sizeof(me.message), me.mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	check(uroce_post_recv(me.id->qp, &wr, &bad) == 0, "post a receive");
}

static void
send_message(void)
{
	struct ibv_sge sge = { (uintptr_t)me.message, sizeof(me.message), me.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;

	if (me.is_client) {
		snprintf(me.message, sizeof(me.message), "message %u", me.count);
		post_receive();	/* the answer is the same text */
	}
	me.count++;
	me.sent_us = now_us(CLOCK_MONOTONIC);
	me.next_us = NEVER;
	check(uroce_post_send(me.id->qp, &wr, &bad) == 0, "send a message");
}

static void
completed(const struct ibv_wc *wc)
{
	uint64_t now = now_us(CLOCK_MONOTONIC);

	if (wc->status == IBV_WC_WR_FLUSH_ERR)
		return;	/* the connection has ended */
	check(wc->status == IBV_WC_SUCCESS, uroce_wc_status_str(wc->status));
	if (wc->opcode == IBV_WC_SEND) {
		if (!me.is_client)
			post_receive();	/* the next message overwrites the answer, which has arrived */
	} else if (!me.is_client) {
		send_message();
	} else {
		printf("%s: answered after %u us\n", me.message, (unsigned int)(now - me.sent_us));
		me.next_us = now + PAUSE_US;
	}
}

/* Create what a connection needs; the server then accepts it, and the client connects. */
static void
connect_id(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .send_cq = me.cq, .recv_cq = me.cq,
		.cap = { .max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };

	me.id = id;
	me.count = 0;
	check(uroce_rdma_create_qp(id, NULL, &attr) == 0, "create a queue pair");
	me.mr = uroce_reg_mr(id->pd, me.message, sizeof(me.message), IBV_ACCESS_LOCAL_WRITE);
	check(me.mr != NULL, "register memory");
	if (!me.is_client)
		post_receive();
	check((me.is_client ? uroce_rdma_connect(id, &param) : uroce_rdma_accept(id, &param)) == 0, "connect");
}

static void
disconnected(struct rdma_cm_id *id)
{
	uroce_rdma_disconnect(id);
	uroce_rdma_destroy_qp(id);
	uroce_dereg_mr(me.mr);
	printf("%u messages; CPU time since the start: %.3f s\n", me.count,
	       (double)now_us(CLOCK_PROCESS_CPUTIME_ID) / 1e6);
	fflush(stdout);
	me.id = NULL;
	me.is_over = me.is_client;
}

/* @return whether there was an event */
static bool
get_cm_event(void)
{
	struct rdma_cm_id *id, *unused = NULL;
	enum rdma_cm_event_type type;
	struct rdma_cm_event *event;

	if (uroce_rdma_get_cm_event(me.channel, &event) != 0)
		return false;
	id = event->id;
	type = event->event;
	if (type == RDMA_CM_EVENT_ADDR_RESOLVED)
		check(uroce_rdma_resolve_route(id, RESOLVE_MS) == 0, "resolve the route");
	else if (type == RDMA_CM_EVENT_ROUTE_RESOLVED || (type == RDMA_CM_EVENT_CONNECT_REQUEST && me.id == NULL))
		connect_id(id);
	else if (type == RDMA_CM_EVENT_CONNECT_REQUEST || type == RDMA_CM_EVENT_TIMEWAIT_EXIT)
		unused = id;
	else if (type == RDMA_CM_EVENT_ESTABLISHED && me.is_client)
		send_message();
	else if (type == RDMA_CM_EVENT_DISCONNECTED)
		disconnected(id);
	else if (type != RDMA_CM_EVENT_ESTABLISHED)
		check(false, uroce_rdma_event_str(type));
	uroce_rdma_ack_cm_event(event);
	if (unused != NULL)
		uroce_rdma_destroy_id(unused);
	return true;
}

/* Do all work there is. @return false: nothing to do, the thread may sleep */
static bool
work(void)
{
	bool busy = uroce_worker_poll(me.worker) != 0;
	struct ibv_wc wc;

	while (uroce_poll_cq(me.cq, 1, &wc) > 0) {
		completed(&wc);
		busy = true;
	}
	if (now_us(CLOCK_MONOTONIC) >= me.next_us) {
		if (me.count < MESSAGES)
			send_message();
		else
			uroce_rdma_disconnect(me.id);
		me.next_us = NEVER;
		busy = true;
	}
	return get_cm_event() || busy;
}

static void
wait_for(int epoll_fd, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	check(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0, "wait for a descriptor");
}

int
main(int argc, char **argv)
{
	struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int words = rte_eal_init(argc, argv), epoll_fd = epoll_create1(0);
	struct epoll_event event;
	struct rdma_cm_id *id;
	struct ibv_context *device;

	if (words < 0)
		return 1;
	argc -= words;
	argv += words;
	check(argc == 2 || (argc == 3 && inet_pton(AF_INET, argv[2], &peer.sin_addr) == 1), "parse ADDRESS/BITS [SERVER]");
	me.is_client = argc == 3;

	/* The descriptor first, so that the port gets RX interrupts. */
	me.worker = uroce_create_worker(-1);
	check(me.worker != NULL && uroce_worker_fd(me.worker) >= 0, "create a worker");
	device = uroce_open_port(0, NULL, &me.worker, 1);
	check(device != NULL && uroce_add_address(device, argv[1]) == 0, "open port 0");
	me.cq = uroce_create_cq(device, 8, NULL, NULL, 0);
	me.channel = uroce_rdma_create_event_channel();
	check(me.cq != NULL && me.channel != NULL, "create a completion queue or an event channel");
	fcntl(me.channel->fd, F_SETFL, O_NONBLOCK);
	wait_for(epoll_fd, uroce_worker_fd(me.worker));
	wait_for(epoll_fd, me.channel->fd);

	check(uroce_rdma_create_id(me.channel, &id, NULL, RDMA_PS_TCP) == 0, "create an ID");
	if (me.is_client)
		check(uroce_rdma_resolve_addr(id, NULL, (struct sockaddr *)&peer, RESOLVE_MS) == 0, "resolve the address");
	else
		check(uroce_rdma_bind_addr(id, (struct sockaddr *)&peer) == 0 && uroce_rdma_listen(id, 1) == 0, "listen");
	puts("ready");
	fflush(stdout);
	while (!me.is_over) {
		uint64_t now = now_us(CLOCK_MONOTONIC);

		if (!work() && uroce_worker_arm(me.worker, NULL) == 0)
			epoll_wait(epoll_fd, &event, 1, me.next_us == NEVER ? -1 : (int)((me.next_us - now) / 1000 + 1));
	}
	uroce_rdma_destroy_id(id);
	uroce_rdma_destroy_event_channel(me.channel);
	return uroce_destroy_cq(me.cq) == 0 && uroce_close_device(device) == 0 ? 0 : 1;
}
