/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The peer of udaddy(1): a datagram service found by SIDR, then messages in one direction, and as many back. Each
 * message carries its sender's QPN as immediate data. Arguments: EAL's, "--", the port's address with its prefix
 * length, and for a client the server's address.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <arpa/inet.h>

#include <rte_common.h>
#include <rte_eal.h>

#include "uroce_cma.h"

#define MESSAGES      10	/* udaddy's defaults */
#define MESSAGE_BYTES 100
#define PORT	      7174
#define GRH_BYTES     40
#define LIMIT_S	      600

static struct uroce_worker *worker;
static struct rdma_event_channel *channel;

static struct {
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint32_t remote_qpn;
	uint32_t remote_qkey;
	uint8_t memory[GRH_BYTES + MESSAGE_BYTES];
} node;

static void __rte_noreturn
die(const char *what)
{
	fprintf(stderr, "sidr: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void
poll_worker(void)
{
	static time_t since;

	if (since == 0)
		since = time(NULL);
	if (time(NULL) - since > LIMIT_S) {
		errno = ETIMEDOUT;
		die("nothing happens");
	}
	if (uroce_worker_poll(worker) == 0)
		nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
}

/* Wait for this event, which the caller acknowledges. */
static struct rdma_cm_event *
event_wait(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	while (uroce_rdma_get_cm_event(channel, &event) != 0) {
		if (errno != EAGAIN)
			die("get_cm_event");
		poll_worker();
	}
	if (event->event == type)
		return event;
	fprintf(stderr, "sidr: got event %s (status %d), expected %s\n", uroce_rdma_event_str(event->event),
		event->status, uroce_rdma_event_str(type));
	exit(1);
}

static void
qp_create(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = MESSAGES, .max_recv_wr = MESSAGES, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_sge sge = { .addr = (uintptr_t)node.memory, .length = sizeof(node.memory) };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	node.pd = uroce_alloc_pd(node.id->verbs);
	node.cq = uroce_create_cq(node.id->verbs, 2 * MESSAGES, NULL, NULL, 0);
	if (node.pd == NULL || node.cq == NULL)
		die("PD and CQ");
	node.mr = uroce_reg_mr(node.pd, node.memory, sizeof(node.memory), IBV_ACCESS_LOCAL_WRITE);
	init.send_cq = init.recv_cq = node.cq;
	if (node.mr == NULL || uroce_rdma_create_qp(node.id, node.pd, &init) != 0)
		die("QP");
	sge.lkey = node.mr->lkey;
	for (unsigned int i = 0; i < MESSAGES; i++) {
		errno = ibv_post_recv(node.id->qp, &wr, &bad);
		if (errno != 0)
			die("post_recv");
	}
}

static void
messages_send(void)
{
	struct ibv_sge sge = { .addr = (uintptr_t)node.memory, .length = MESSAGE_BYTES,
			       .lkey = node.mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htonl(node.id->qp->qp_num),
		.wr.ud = { .ah = node.ah, .remote_qpn = node.remote_qpn,
			   .remote_qkey = node.remote_qkey },
	};

	for (unsigned int i = 0; i < MESSAGES; i++) {
		errno = ibv_post_send(node.id->qp, &wr, &bad);
		if (errno != 0)
			die("post_send");
	}
}

/* A server replies to the sender of the first message. */
static void
answer_to(struct ibv_wc *wc)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	node.ah = uroce_create_ah_from_wc(node.pd, wc, (struct ibv_grh *)node.memory, 1);
	if (node.ah == NULL)
		die("create_ah_from_wc");
	node.remote_qpn = ntohl(wc->imm_data);
	if (node.remote_qpn != wc->src_qp) {
		fprintf(stderr, "sidr: a message from QP %u names QP %u\n", wc->src_qp,
			node.remote_qpn);
		exit(1);
	}
	errno = uroce_query_qp(node.id->qp, &attr, IBV_QP_QKEY, &init);
	if (errno != 0)
		die("query_qp");
	node.remote_qkey = attr.qkey;
}

static void
completions_wait(unsigned int sends, unsigned int receives)
{
	struct ibv_wc wc;

	while (sends + receives > 0) {
		int n = ibv_poll_cq(node.cq, 1, &wc);

		if (n < 0 || (n > 0 && wc.status != IBV_WC_SUCCESS)) {
			fprintf(stderr, "sidr: a completion has status %d\n", n < 0 ? n : (int)wc.status);
			exit(1);
		}
		if (n == 0) {
			poll_worker();
		} else if (wc.opcode & IBV_WC_RECV) {
			if (node.ah == NULL)
				answer_to(&wc);
			receives--;
		} else {
			sends--;
		}
	}
}

static void
run_server(struct sockaddr *address)
{
	struct rdma_conn_param param = { 0 };
	struct rdma_cm_event *event;
	struct rdma_cm_id *listener;

	if (uroce_rdma_create_id(channel, &listener, NULL, RDMA_PS_UDP) != 0 ||
	    uroce_rdma_bind_addr(listener, address) != 0 || uroce_rdma_listen(listener, 1) != 0)
		die("listen");
	puts("listening");
	fflush(stdout);
	event = event_wait(RDMA_CM_EVENT_CONNECT_REQUEST);
	node.id = event->id;
	uroce_rdma_ack_cm_event(event);
	qp_create();
	param.qp_num = node.id->qp->qp_num;
	if (uroce_rdma_accept(node.id, &param) != 0)
		die("accept");
	completions_wait(0, MESSAGES);
	messages_send();
	completions_wait(MESSAGES, 0);
	uroce_rdma_destroy_id(listener);
}

static void
run_client(struct sockaddr *address)
{
	struct rdma_conn_param param = { 0 };
	struct rdma_cm_event *event;

	if (uroce_rdma_create_id(channel, &node.id, NULL, RDMA_PS_UDP) != 0 ||
	    uroce_rdma_resolve_addr(node.id, NULL, address, 5000) != 0)
		die("resolve_addr");
	uroce_rdma_ack_cm_event(event_wait(RDMA_CM_EVENT_ADDR_RESOLVED));
	if (uroce_rdma_resolve_route(node.id, 5000) != 0)
		die("resolve_route");
	uroce_rdma_ack_cm_event(event_wait(RDMA_CM_EVENT_ROUTE_RESOLVED));
	qp_create();
	if (uroce_rdma_connect(node.id, &param) != 0)
		die("connect");
	event = event_wait(RDMA_CM_EVENT_ESTABLISHED);
	node.remote_qpn = event->param.ud.qp_num;
	node.remote_qkey = event->param.ud.qkey;
	node.ah = uroce_create_ah(node.pd, &event->param.ud.ah_attr);
	if (node.ah == NULL)
		die("create_ah");
	uroce_rdma_ack_cm_event(event);
	messages_send();
	completions_wait(MESSAGES, MESSAGES);
}

static void
sockaddr_of(struct sockaddr_storage *address, const char *text)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)address;
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)address;
	char only[INET6_ADDRSTRLEN] = "";

	memset(address, 0, sizeof(*address));
	snprintf(only, sizeof(only), "%.*s", (int)strcspn(text, "/"), text);
	if (inet_pton(AF_INET, only, &sin->sin_addr) == 1) {
		sin->sin_family = AF_INET;
		sin->sin_port = htons(PORT);
		return;
	}
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = htons(PORT);
	errno = EINVAL;
	if (inet_pton(AF_INET6, only, &sin6->sin6_addr) != 1)
		die(text);
}

static void
node_destroy(void)
{
	uroce_destroy_ah(node.ah);
	uroce_rdma_destroy_qp(node.id);
	uroce_destroy_cq(node.cq);
	uroce_dereg_mr(node.mr);
	uroce_dealloc_pd(node.pd);
	uroce_rdma_destroy_id(node.id);
	uroce_rdma_destroy_event_channel(channel);
}

int
main(int argc, char **argv)
{
	int used = rte_eal_init(argc, argv);
	struct sockaddr_storage address;
	struct ibv_context *context;

	if (used < 0 || used + 2 > argc)
		return 2;
	worker = uroce_create_worker(-1);
	context = worker == NULL ? NULL : uroce_open_port(0, NULL, &worker, 1);
	if (context == NULL || (errno = uroce_add_address(context, argv[used + 1])) != 0)
		die("port");
	channel = uroce_rdma_create_event_channel();
	if (channel == NULL || fcntl(channel->fd, F_SETFL, O_NONBLOCK) != 0)
		die("event channel");
	sockaddr_of(&address, argv[argc - 1]);
	if (used + 2 == argc)
		run_server((struct sockaddr *)&address);
	else
		run_client((struct sockaddr *)&address);
	node_destroy();
	errno = uroce_close_device(context);
	if (errno != 0)
		die("close_device");
	uroce_destroy_worker(worker);
	puts("data transfers complete");
	return 0;
}
