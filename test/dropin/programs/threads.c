/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * usage: threads PORT MODE [SERVER]. Threads of two processes, each with a device, a CQ and a connection of its own,
 * exchange messages at the same time; each byte is compared. MODE: how they wait for completions, or what the process
 * does meanwhile.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

#include "ends.h"

enum { THREADS = 4, MESSAGES = 2000, SLEEPS = 100, FORKS = 10 };

enum mode {
	POLL,
	EVENTS,
	ASLEEP,		/* the server's threads call nothing, while the client reads and writes its memory */
	EXIT,		/* both processes exit while their threads poll */
	FORK,		/* the client forks while its threads poll */
	MODES
};

static const char *const modes[MODES] = { "poll", "events", "asleep", "exit", "fork" };

static struct end ends[THREADS];
static struct address own[THREADS], others[THREADS];
static pthread_barrier_t barrier;
static enum mode mode;
static bool is_server;

static void
fill(uint8_t *bytes, unsigned int thread, unsigned int message, bool by_server)
{
	const uint32_t word = 0x9e3779b9u * (thread * MESSAGES * 2 + message * 2 + by_server + 1);

	for (uint32_t i = 0; i < BYTES / sizeof(word); i++) {
		const uint32_t w = word + i;

		memcpy(bytes + i * sizeof(w), &w, sizeof(w));
	}
}

static void
check(const uint8_t *bytes, unsigned int thread, unsigned int message, bool by_server)
{
	uint8_t expected[BYTES];

	fill(expected, thread, message, by_server);
	NEED(memcmp(bytes, expected, BYTES) == 0);
}

static enum ibv_wc_opcode
next(struct end *end)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	if (mode != EVENTS)
		return poll_for(end, IBV_WC_SUCCESS).opcode;
	while (ibv_poll_cq(end->cq, 1, &wc) == 0) {
		NEED(ibv_get_cq_event(end->channel, &cq, &context) == 0);
		ibv_ack_cq_events(cq, 1);
		NEED(ibv_req_notify_cq(cq, 0) == 0);
	}
	NEED(wc.status == IBV_WC_SUCCESS);
	return wc.opcode;
}

/* The client sends a message, and the server another one in return: the same buffer receives and sends. */
static void
exchange(unsigned int thread, unsigned int message)
{
	struct end *end = &ends[thread];

	if (is_server) {
		while (next(end) != IBV_WC_RECV)
			;
		check(end->buffer, thread, message, false);
		fill(end->buffer, thread, message, true);
		post_recv(end, 0);
		post_send(end, 0, IBV_WR_SEND, NULL);
		return;
	}
	fill(end->buffer, thread, message, false);
	post_send(end, 0, IBV_WR_SEND, NULL);
	NEED(next(end) == IBV_WC_SEND);
	post_recv(end, 0);
	NEED(next(end) == IBV_WC_RECV);
	check(end->buffer, thread, message, true);
}

/* The client writes the server's memory, and reads it back. */
static void
access_memory(unsigned int thread, unsigned int message)
{
	struct end *end = &ends[thread];

	fill(end->buffer, thread, message, false);
	post_send(end, 0, IBV_WR_RDMA_WRITE, &others[thread]);
	NEED(next(end) == IBV_WC_RDMA_WRITE);
	memset(end->buffer, 0, BYTES);
	post_send(end, 0, IBV_WR_RDMA_READ, &others[thread]);
	NEED(next(end) == IBV_WC_RDMA_READ);
	check(end->buffer, thread, message, false);
}

static void
run(unsigned int thread)
{
	for (unsigned int i = 0; mode == EXIT || i < MESSAGES; i++) {
		if (mode != ASLEEP)
			exchange(thread, i);
		else if (!is_server && i < SLEEPS)
			access_memory(thread, i);
	}
}

/* Make the thread's end, so that a library may choose resources by thread. */
static void *
thread_main(void *arg)
{
	const unsigned int thread = (unsigned int)(uintptr_t)arg;
	struct end *end = &ends[thread];

	end_open(end, device_at(0));
	end_make_qp(end);
	own[thread] = end_address(end);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);	/* main() has the other process's addresses */
	end_connect(end, &others[thread]);
	if (mode == EVENTS)
		NEED(ibv_req_notify_cq(end->cq, 0) == 0);
	if (is_server)
		post_recv(end, 0);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);	/* the other process's threads have connected, too */
	run(thread);
	return NULL;
}

static void
fork_often(void)
{
	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork();
		int status;

		NEED(child >= 0);
		if (child == 0 && i % 2 == 0)
			_exit(0);
		if (child == 0)
			exit(0);
		NEED(waitpid(child, &status, 0) == child);
		NEED(WIFEXITED(status));
		NEED(WEXITSTATUS(status) == 0);
	}
}

int
main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	char done = 0;
	int fd;

	NEED(argc >= 3);
	is_server = argc < 4;
	while (mode < MODES && strcmp(modes[mode], argv[2]) != 0)
		mode++;
	NEED(mode < MODES);
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (uintptr_t i = 0; i < THREADS; i++)
		NEED(pthread_create(&threads[i], NULL, thread_main, (void *)i) == 0);
	pthread_barrier_wait(&barrier);
	fd = meet(argv[1], argv[3]);
	swap(fd, own, others, sizeof(own));
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	swap(fd, &done, &done, 1);
	pthread_barrier_wait(&barrier);
	if (mode == FORK && !is_server)
		fork_often();
	if (mode == EXIT) {
		usleep(200000);
		printf("exits\n");
		swap(fd, &done, &done, 1);
		return 0;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	swap(fd, &done, &done, 1);
	for (int i = 0; i < THREADS; i++)
		end_close(&ends[i]);
	printf("%d threads: %s\n", THREADS, modes[mode]);
	return 0;
}
