/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * usage: mpi_threads 2 [MESSAGES [THREADS]]. Threads of two ranks, each with a communicator of its own, exchange
 * messages at the same time (MPI_THREAD_MULTIPLE), and compare each. With MESSAGES of 8 bytes for each thread, prints
 * how many all threads exchange in a second. Built with mpicc.
 */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

#include "mpi_need.h"

enum { MOST_THREADS = 16, IN_FLIGHT = 32, ROOM = 256, SIZES = 3 };

static const int sizes[SIZES] = { 8, 64, ROOM };	/* in turn; with MESSAGES only the first */

static MPI_Comm communicators[MOST_THREADS];
static int rank, messages = 3200, varies;

static uint64_t
word_of(int thread, int message, int from)
{
	return ((uint64_t)thread << 48 | (uint64_t)from << 32 | (uint64_t)message) * 0x9e3779b97f4a7c15ull;
}

static int
size_of(int message)
{
	return sizes[varies ? message % SIZES : 0];
}

/* Exchange IN_FLIGHT messages with the other rank. */
static void
exchange(int thread, int first)
{
	static __thread uint64_t out[IN_FLIGHT][ROOM / 8], in[IN_FLIGHT][ROOM / 8];
	MPI_Request requests[2 * IN_FLIGHT];

	for (int i = 0; i < IN_FLIGHT; i++) {
		const int bytes = size_of(first + i);

		MPI_Irecv(in[i], bytes, MPI_BYTE, !rank, i, communicators[thread], &requests[IN_FLIGHT + i]);
		for (int k = 0; k < bytes / 8; k++)
			out[i][k] = word_of(thread, first + i, rank) + (uint64_t)k;
		MPI_Isend(out[i], bytes, MPI_BYTE, !rank, i, communicators[thread], &requests[i]);
	}
	MPI_Waitall(2 * IN_FLIGHT, requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < IN_FLIGHT; i++)
		for (int k = 0; k < size_of(first + i) / 8; k++)
			NEED(in[i][k] == word_of(thread, first + i, !rank) + (uint64_t)k);
}

static void *
run(void *arg)
{
	for (int i = 0; i < messages; i += IN_FLIGHT)
		exchange((int)(intptr_t)arg, i);
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t threads[MOST_THREADS];
	int count = 4, ranks, level;
	double start, seconds;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	varies = argc < 3;
	if (argc > 2)
		messages = atoi(argv[2]);
	if (argc > 3)
		count = atoi(argv[3]);
	NEED(level == MPI_THREAD_MULTIPLE);
	NEED(ranks == 2 && argc >= 2 && atoi(argv[1]) == 2);
	NEED(count >= 1 && count <= MOST_THREADS);
	for (int i = 0; i < count; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &communicators[i]);
	MPI_Barrier(MPI_COMM_WORLD);
	start = MPI_Wtime();
	for (int i = 0; i < count; i++)
		NEED(pthread_create(&threads[i], NULL, run, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	seconds = MPI_Wtime() - start;
	if (rank == 0)
		printf("%d threads: %.3f M messages/s in each direction\n", count, 1e-6 * messages * count / seconds);
	for (int i = 0; i < count; i++)
		MPI_Comm_free(&communicators[i]);
	MPI_Finalize();
	return EXIT_SUCCESS;
}
