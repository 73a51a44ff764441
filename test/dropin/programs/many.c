/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * usage: many PORT [SERVER]. Two devices, each opened twice, in two processes. On each of these contexts, a thread
 * sends messages in both directions, and waits for its completion events by epoll.
 */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/epoll.h>

#include "ends.h"

#define DEVICES 2
#define CONTEXTS 2
#define ENDS (DEVICES * CONTEXTS)

enum { MESSAGES = 200 };

static struct end ends[ENDS];
static bool is_server;

/* A process that was stopped or frozen gets EINTR: epoll_wait(2) is not restarted. */
static void
sleep_at(int epoll, struct epoll_event *ready)
{
	int n;

	do
		n = epoll_wait(epoll, ready, 1, -1);
	while (n < 0 && errno == EINTR);
	NEED(n == 1);
}

/* Sleep until a completion comes. */
static struct ibv_wc
wait_for(struct end *end, int epoll)
{
	struct epoll_event ready;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;
	int n;

	for (;;) {
		n = ibv_poll_cq(end->cq, 1, &wc);
		if (n == 0) {	/* one may have come before the arming */
			NEED(ibv_req_notify_cq(end->cq, 0) == 0);
			n = ibv_poll_cq(end->cq, 1, &wc);
		}
		NEED(n >= 0);
		if (n == 1) {
			NEED(wc.status == IBV_WC_SUCCESS);
			return wc;
		}
		sleep_at(epoll, &ready);
		NEED(ready.data.ptr == end);
		NEED(ibv_get_cq_event(end->channel, &cq, &context) == 0);
		NEED(cq == end->cq);
		NEED(context == end);
		ibv_ack_cq_events(cq, 1);
	}
}

/* The server returns the client's messages: the same buffer receives and sends. */
static void *
to_and_fro(void *arg)
{
	struct end *end = arg;
	const uint8_t own = (uint8_t)(end - ends);
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = end };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	NEED(epoll >= 0);
	NEED(epoll_ctl(epoll, EPOLL_CTL_ADD, end->channel->fd, &event) == 0);
	for (int i = 0; i < MESSAGES; i++) {
		const uint8_t value = (uint8_t)(i ^ own << 6), answer = value ^ 0xff;

		if (is_server) {
			while (wait_for(end, epoll).opcode != IBV_WC_RECV)
				;
			NEED(end->buffer[0] == value);
			NEED(end->buffer[BYTES - 1] == value);
			memset(end->buffer, answer, BYTES);
			post_recv(end, 0);
			post_send(end, 0, IBV_WR_SEND, NULL);
			continue;
		}
		memset(end->buffer, value, BYTES);
		post_send(end, 0, IBV_WR_SEND, NULL);
		NEED(wait_for(end, epoll).opcode == IBV_WC_SEND);
		post_recv(end, 0);
		NEED(wait_for(end, epoll).opcode == IBV_WC_RECV);
		NEED(end->buffer[0] == answer);
		NEED(end->buffer[BYTES - 1] == answer);
	}
	close(epoll);
	return NULL;
}

int
main(int argc, char **argv)
{
	struct address own[ENDS], others[ENDS];
	pthread_t threads[ENDS];
	char done = 0;
	int fd;

	NEED(argc >= 2);
	is_server = argc < 3;
	for (int i = 0; i < ENDS; i++) {
		end_open(&ends[i], device_at(i / CONTEXTS));
		end_make_qp(&ends[i]);
		own[i] = end_address(&ends[i]);
	}
	NEED(memcmp(&own[0].gid, &own[ENDS - 1].gid, sizeof(own[0].gid)) != 0);
	NEED(ends[0].context != ends[1].context);
	NEED(ends[0].context->async_fd != ends[1].context->async_fd);
	fd = meet(argv[1], argv[2]);
	swap(fd, own, others, sizeof(own));
	for (int i = 0; i < ENDS; i++) {
		end_connect(&ends[i], &others[i]);
		if (is_server)
			post_recv(&ends[i], 0);
	}
	swap(fd, &done, &done, 1);
	for (int i = 0; i < ENDS; i++)
		NEED(pthread_create(&threads[i], NULL, to_and_fro, &ends[i]) == 0);
	for (int i = 0; i < ENDS; i++)
		pthread_join(threads[i], NULL);
	swap(fd, &done, &done, 1);
	for (int i = 0; i < ENDS; i++)
		end_close(&ends[i]);
	printf("%d messages each on %d contexts\n", MESSAGES, ENDS);
	return 0;
}
