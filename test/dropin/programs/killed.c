/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * "killed serve ADDRESS" has a connection by the RDMA CM to a peer that is killed: it gets the disconnect event, and
 * the receives that wait for a message are flushed. Then it connects to the next peer, and must not disconnect it.
 * "killed die ADDRESS" is the first peer: it is killed while connected, and a program that it has started outlives it.
 * "killed stay ADDRESS" is the second peer.
 */

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

enum { PORT = 7471, RECEIVES = 4, MESSAGES = 2000, BYTES = 64 };

#define NEED(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			exit(EXIT_FAILURE); \
		} \
	} while (0)

static struct rdma_event_channel *channel;
static char buffer[(RECEIVES + 1) * BYTES];
static struct ibv_mr *mr;

/* The next event must be this one. @return its ID */
static struct rdma_cm_id *
expect(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	NEED(rdma_get_cm_event(channel, &event) == 0);
	if (event->event != type) {
		fprintf(stderr, "got event %s (status %d), expected %s\n", rdma_event_str(event->event), event->status,
			rdma_event_str(type));
		exit(EXIT_FAILURE);
	}
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static int
nothing_has_happened(void)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

static void
receive(struct rdma_cm_id *id, uintptr_t i)
{
	NEED(rdma_post_recv(id, (void *)i, buffer + i * BYTES, BYTES, mr) == 0);
}

static void
send_message(struct rdma_cm_id *id)
{
	NEED(rdma_post_send(id, NULL, buffer + RECEIVES * BYTES, BYTES, mr, IBV_SEND_SIGNALED) == 0);
}

/* Create the QP, and post its receives. */
static void
prepare(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = RECEIVES, .max_recv_wr = RECEIVES, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	NEED(rdma_create_qp(id, NULL, &attr) == 0);
	NEED((mr = rdma_reg_msgs(id, buffer, sizeof(buffer))) != NULL);
	for (uintptr_t i = 0; i < RECEIVES; i++)
		receive(id, i);
}

static struct ibv_wc
completion(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		;
	NEED(n == 1);
	return wc;
}

/* Exchange messages many times; the end that began sends first and ends. */
static void
talk(struct rdma_cm_id *id, int begins)
{
	if (begins)
		send_message(id);
	for (int i = 0; i < MESSAGES; i++) {
		struct ibv_wc wc = completion(id->recv_cq);

		NEED(wc.status == IBV_WC_SUCCESS);
		receive(id, wc.wr_id);
		if (!begins || i + 1 < MESSAGES)
			send_message(id);
		NEED(completion(id->send_cq).status == IBV_WC_SUCCESS);
		/* in the last round, the other end may have disconnected already */
		NEED(i + 1 == MESSAGES || nothing_has_happened());
	}
}

static void
end(struct rdma_cm_id *id)
{
	NEED(rdma_disconnect(id) == 0);
	for (unsigned int i = 0; i < RECEIVES; i++)
		NEED(completion(id->recv_cq).status == IBV_WC_WR_FLUSH_ERR);
	NEED(rdma_dereg_mr(mr) == 0);
	rdma_destroy_qp(id);
	NEED(rdma_destroy_id(id) == 0);
}

static struct sockaddr_storage
address(const char *text)
{
	struct sockaddr_storage addr;
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST | RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP }, *info;
	char port[8];

	snprintf(port, sizeof(port), "%d", PORT);
	NEED(rdma_getaddrinfo(text, port, &hints, &info) == 0);
	memcpy(&addr, info->ai_src_addr, info->ai_src_len);
	rdma_freeaddrinfo(info);
	return addr;
}

static struct rdma_cm_id *
accept_next(void)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1, .rnr_retry_count = 7 };
	struct rdma_cm_id *id = expect(RDMA_CM_EVENT_CONNECT_REQUEST);

	prepare(id);
	NEED(rdma_accept(id, &param) == 0);
	NEED(expect(RDMA_CM_EVENT_ESTABLISHED) == id);
	return id;
}

static void
serve(struct sockaddr *addr)
{
	struct rdma_cm_id *listener, *id;

	NEED(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0);
	NEED(rdma_bind_addr(listener, addr) == 0 && rdma_listen(listener, 2) == 0);
	puts("it listens");
	id = accept_next();
	NEED(completion(id->recv_cq).status == IBV_WC_SUCCESS);
	receive(id, 0);
	NEED(expect(RDMA_CM_EVENT_DISCONNECTED) == id);
	end(id);
	puts("the first has ended");
	id = accept_next();
	talk(id, 0);
	NEED(expect(RDMA_CM_EVENT_DISCONNECTED) == id);
	end(id);
	NEED(rdma_destroy_id(listener) == 0);
}

static struct rdma_cm_id *
connected_to(struct sockaddr *addr)
{
	struct rdma_conn_param param = {
		.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7,
	};
	struct rdma_cm_id *id;

	NEED(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
	NEED(rdma_resolve_addr(id, NULL, addr, 20000) == 0 && expect(RDMA_CM_EVENT_ADDR_RESOLVED) == id);
	NEED(rdma_resolve_route(id, 20000) == 0 && expect(RDMA_CM_EVENT_ROUTE_RESOLVED) == id);
	prepare(id);
	NEED(rdma_connect(id, &param) == 0);
	NEED(expect(RDMA_CM_EVENT_ESTABLISHED) == id);
	return id;
}

int
main(int argc, char **argv)
{
	struct sockaddr_storage addr;
	struct rdma_cm_id *id;

	NEED(argc == 3);
	setvbuf(stdout, NULL, _IOLBF, 0);
	NEED((channel = rdma_create_event_channel()) != NULL);
	addr = address(argv[2]);
	if (strcmp(argv[1], "serve") == 0) {
		serve((struct sockaddr *)&addr);
		return 0;
	}
	id = connected_to((struct sockaddr *)&addr);
	if (strcmp(argv[1], "die") == 0) {
		send_message(id);
		NEED(completion(id->send_cq).status == IBV_WC_SUCCESS);
		NEED(system("sleep 100 >/dev/null 2>&1 &") == 0);
		kill(getpid(), SIGKILL);
	}
	talk(id, 1);
	end(id);
	return 0;
}
