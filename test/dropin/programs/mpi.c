/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Messages, collective operations and windows of MPI between all ranks; each received byte is compared. Built with
 * mpicc; the ranks do not know the transport.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include "mpi_need.h"

enum { MOST_BYTES = (1 << 20) + 3, MOST_RANKS = 16, IN_FLIGHT = 32, COUNT = 5000, ROUNDS = 100 };

static int rank, ranks;

static const int sizes[] = { 0, 1, 8, 511, 1024, 4097, 65536, 300001, MOST_BYTES };
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

/* Byte i of the message that rank `from` sends to rank `to`. */
static uint8_t
byte_of(int from, int to, int tag, size_t i)
{
	uint64_t x = (uint64_t)from * 1000003 + (uint64_t)to * 10007 + (uint64_t)tag * 101 + i;

	x *= 0x9e3779b97f4a7c15ull;
	return (uint8_t)(x >> 56);
}

static void
fill(uint8_t *bytes, int from, int to, int tag, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bytes[i] = byte_of(from, to, tag, i);
}

static bool
is_filled(const uint8_t *bytes, int from, int to, int tag, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != byte_of(from, to, tag, i))
			return false;
	return true;
}

static uint8_t *
room(size_t bytes)
{
	uint8_t *p = malloc(bytes);

	NEED(p != NULL);
	memset(p, 0xee, bytes);
	return p;
}

/* Each rank exchanges messages with each other one at once. */
static void
exchange(void)
{
	uint8_t *out = room(MOST_BYTES), *in = room(MOST_BYTES + 1);

	for (int step = 1; step < ranks; step++) {
		int to = (rank + step) % ranks, from = (rank + ranks - step) % ranks;

		for (int tag = 0; tag < SIZES; tag++) {
			MPI_Status status;
			int n;

			fill(out, rank, to, tag, (size_t)sizes[tag]);
			memset(in, 0xee, MOST_BYTES + 1);
			MPI_Sendrecv(out, sizes[tag], MPI_BYTE, to, tag, in, MOST_BYTES, MPI_BYTE, from, tag,
				     MPI_COMM_WORLD, &status);
			MPI_Get_count(&status, MPI_BYTE, &n);
			NEED(n == sizes[tag] && status.MPI_SOURCE == from);
			NEED(is_filled(in, from, rank, tag, (size_t)n) && in[n] == 0xee);
		}
	}
	free(out);
	free(in);
}

/* Many messages at once, received in reverse order; half of them arrive before their receives are posted. */
static void
many_in_flight(void)
{
	enum { BYTES = 20000 };
	uint8_t *out = room((size_t)IN_FLIGHT * BYTES), *in = room((size_t)IN_FLIGHT * BYTES);
	int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
	MPI_Request requests[2 * IN_FLIGHT];

	for (int i = 0; i < IN_FLIGHT; i++) {
		fill(out + i * BYTES, rank, to, i, BYTES);
		MPI_Isend(out + i * BYTES, BYTES, MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[i]);
	}
	for (int i = IN_FLIGHT - 1; i >= 0; i--)
		MPI_Irecv(in + i * BYTES, BYTES, MPI_BYTE, from, i, MPI_COMM_WORLD, &requests[IN_FLIGHT + i]);
	MPI_Waitall(2 * IN_FLIGHT, requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < IN_FLIGHT; i++)
		NEED(is_filled(in + i * BYTES, from, rank, i, BYTES));
	free(out);
	free(in);
}

/* All ranks send to rank 0, which knows neither the next sender nor the length. */
static void
from_anywhere(void)
{
	int seen[MOST_RANKS] = { 0 };

	for (int i = 0; rank != 0 && i < ROUNDS; i++) {
		int n = (rank * 37 + i * 211) % 9000;
		uint8_t *out = room((size_t)n + 1);

		fill(out, rank, 0, i, (size_t)n);
		MPI_Send(out, n, MPI_BYTE, 0, i, MPI_COMM_WORLD);
		free(out);
	}
	for (int i = 0; rank == 0 && i < ROUNDS * (ranks - 1); i++) {
		MPI_Status status;
		uint8_t *in;
		int n, from;

		MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		MPI_Get_count(&status, MPI_BYTE, &n);
		from = status.MPI_SOURCE;
		in = room((size_t)n + 1);
		MPI_Recv(in, n, MPI_BYTE, from, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		NEED(status.MPI_TAG == seen[from]++);	/* messages of one rank stay in order */
		NEED(n == (from * 37 + status.MPI_TAG * 211) % 9000);
		NEED(is_filled(in, from, 0, status.MPI_TAG, (size_t)n));
		free(in);
	}
}

/* The value of a rank for element i. */
static int64_t
value_of(int of, int i)
{
	return (int64_t)(of + 1) * 1000003 + i;
}

static int64_t
sum_of(int last, int i)
{
	int64_t sum = 0;

	for (int r = 0; r <= last; r++)
		sum += value_of(r, i);
	return sum;
}

static void
reductions(void)
{
	static int64_t mine[COUNT * MOST_RANKS], all[COUNT * MOST_RANKS];

	for (int i = 0; i < COUNT * ranks; i++)
		mine[i] = value_of(rank, i);
	MPI_Allreduce(mine, all, COUNT, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < COUNT; i++)
		NEED(all[i] == sum_of(ranks - 1, i));
	for (int root = 0; root < ranks; root++) {
		memset(all, 0, sizeof(all));
		MPI_Reduce(mine, all, COUNT, MPI_INT64_T, MPI_MAX, root, MPI_COMM_WORLD);
		for (int i = 0; i < COUNT; i++)
			NEED(all[i] == (rank == root ? value_of(ranks - 1, i) : 0));
	}
	MPI_Scan(mine, all, COUNT, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < COUNT; i++)
		NEED(all[i] == sum_of(rank, i));
	MPI_Reduce_scatter_block(mine, all, COUNT, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < COUNT; i++)
		NEED(all[i] == sum_of(ranks - 1, rank * COUNT + i));
}

static void
broadcasts(void)
{
	uint8_t *bytes = room(MOST_BYTES);

	for (int root = 0; root < ranks; root++)
		for (int s = 0; s < SIZES; s++) {
			memset(bytes, 0xee, MOST_BYTES);
			if (rank == root)
				fill(bytes, root, 0, s, (size_t)sizes[s]);
			MPI_Bcast(bytes, sizes[s], MPI_BYTE, root, MPI_COMM_WORLD);
			NEED(is_filled(bytes, root, 0, s, (size_t)sizes[s]));
			MPI_Barrier(MPI_COMM_WORLD);
		}
	free(bytes);
}

/* A part of n bytes for each rank, or from each. */
static void
parts(int n)
{
	uint8_t *out = room((size_t)n * MOST_RANKS), *in = room((size_t)n * MOST_RANKS);
	int root = ranks - 1;

	for (int to = 0; to < ranks; to++)
		fill(out + to * n, rank, to, 1, (size_t)n);
	MPI_Alltoall(out, n, MPI_BYTE, in, n, MPI_BYTE, MPI_COMM_WORLD);
	for (int from = 0; from < ranks; from++)
		NEED(is_filled(in + from * n, from, rank, 1, (size_t)n));

	MPI_Allgather(out, n, MPI_BYTE, in, n, MPI_BYTE, MPI_COMM_WORLD);
	for (int from = 0; from < ranks; from++)
		NEED(is_filled(in + from * n, from, 0, 1, (size_t)n));

	memset(in, 0xee, (size_t)n * MOST_RANKS);
	MPI_Gather(out, n, MPI_BYTE, in, n, MPI_BYTE, root, MPI_COMM_WORLD);
	for (int from = 0; rank == root && from < ranks; from++)
		NEED(is_filled(in + from * n, from, 0, 1, (size_t)n));

	MPI_Scatter(out, n, MPI_BYTE, in, n, MPI_BYTE, root, MPI_COMM_WORLD);
	NEED(is_filled(in, root, rank, 1, (size_t)n));
	free(out);
	free(in);
}

/* As parts(), with a different length for each. */
static void
uneven_parts(void)
{
	enum { STEP = 3001 };
	int out_bytes[MOST_RANKS], out_at[MOST_RANKS], in_bytes[MOST_RANKS], in_at[MOST_RANKS];
	uint8_t *out = room((size_t)STEP * MOST_RANKS * MOST_RANKS), *in = room((size_t)STEP * MOST_RANKS * MOST_RANKS);

	for (int r = 0, out_sum = 0, in_sum = 0; r < ranks; r++) {
		out_bytes[r] = STEP * ((rank + r) % ranks);
		in_bytes[r] = STEP * ((rank + r) % ranks);
		out_at[r] = out_sum;
		in_at[r] = in_sum;
		fill(out + out_at[r], rank, r, 2, (size_t)out_bytes[r]);
		out_sum += out_bytes[r];
		in_sum += in_bytes[r];
	}
	MPI_Alltoallv(out, out_bytes, out_at, MPI_BYTE, in, in_bytes, in_at, MPI_BYTE, MPI_COMM_WORLD);
	for (int from = 0; from < ranks; from++)
		NEED(is_filled(in + in_at[from], from, rank, 2, (size_t)in_bytes[from]));
	free(out);
	free(in);
}

/* Each rank writes a part of each window, and reads another rank's part. */
static void
put_and_get(void)
{
	enum { PART = 70001 };
	uint8_t *memory, *out = room((size_t)PART * MOST_RANKS), *in = room(PART);
	MPI_Win window;

	MPI_Win_allocate((MPI_Aint)PART * ranks, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
	MPI_Win_fence(0, window);
	for (int to = 0; to < ranks; to++) {
		fill(out + to * PART, rank, to, 3, PART);
		MPI_Put(out + to * PART, PART, MPI_BYTE, to, (MPI_Aint)PART * rank, PART, MPI_BYTE, window);
	}
	MPI_Win_fence(0, window);
	for (int from = 0; from < ranks; from++)
		NEED(is_filled(memory + from * PART, from, rank, 3, PART));
	for (int of = 0; of < ranks; of++) {
		int writer = (rank + of) % ranks;

		MPI_Win_lock(MPI_LOCK_SHARED, of, 0, window);
		MPI_Get(in, PART, MPI_BYTE, of, (MPI_Aint)PART * writer, PART, MPI_BYTE, window);
		MPI_Win_unlock(of, window);
		NEED(is_filled(in, writer, of, 3, PART));
	}
	MPI_Win_free(&window);
	free(out);
	free(in);
}

/* Counters on rank 0: each number is given out once, sums lose nothing, and one rank at a time wins. */
static void
atomics(void)
{
	int64_t memory[3 + MOST_RANKS * ROUNDS] = { 0 };
	int64_t one = 1, ticket, seen, no = 0, me = rank + 1;
	MPI_Win window;

	MPI_Win_create(memory, sizeof(memory), sizeof(memory[0]), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	MPI_Win_lock_all(0, window);
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, 0, 0, MPI_SUM, window);
		MPI_Win_flush(0, window);
		NEED(ticket >= 0 && ticket < (int64_t)ranks * ROUNDS);
		MPI_Accumulate(&one, 1, MPI_INT64_T, 0, (MPI_Aint)(3 + ticket), 1, MPI_INT64_T, MPI_SUM, window);
		MPI_Accumulate(&me, 1, MPI_INT64_T, 0, 1, 1, MPI_INT64_T, MPI_SUM, window);
		MPI_Win_flush(0, window);
		do {
			MPI_Compare_and_swap(&me, &no, &seen, MPI_INT64_T, 0, 2, window);
			MPI_Win_flush(0, window);
			NEED(seen >= 0 && seen <= ranks && seen != me);
		} while (seen != 0);
		MPI_Compare_and_swap(&no, &me, &seen, MPI_INT64_T, 0, 2, window);
		MPI_Win_flush(0, window);
		NEED(seen == me);
	}
	MPI_Win_unlock_all(window);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
	if (rank == 0) {
		NEED(memory[0] == (int64_t)ranks * ROUNDS && memory[2] == 0);
		NEED(memory[1] == (int64_t)ROUNDS * ranks * (ranks + 1) / 2);
		for (int i = 0; i < ranks * ROUNDS; i++)
			NEED(memory[3 + i] == 1);
	}
	MPI_Win_unlock(0, window);
	MPI_Win_free(&window);
}

/* Post, start, complete, wait: from each rank to the next one, which sees the data once the access is complete. */
static void
neighbors(void)
{
	enum { BYTES = 5000 };
	int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
	uint8_t *memory, *out = room(BYTES);
	MPI_Group world, origin, target;
	MPI_Win window;

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &from, &origin);
	MPI_Group_incl(world, 1, &to, &target);
	MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
	for (int round = 0; round < ROUNDS; round++) {
		fill(out, rank, to, round, BYTES);
		MPI_Win_post(origin, 0, window);
		MPI_Win_start(target, 0, window);
		MPI_Put(out, BYTES, MPI_BYTE, to, 0, BYTES, MPI_BYTE, window);
		MPI_Win_complete(window);
		MPI_Win_wait(window);
		NEED(is_filled(memory, from, rank, round, BYTES));
	}
	MPI_Win_free(&window);
	MPI_Group_free(&origin);
	MPI_Group_free(&target);
	MPI_Group_free(&world);
	free(out);
}

int
main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	NEED(ranks > 1 && ranks <= MOST_RANKS);
	NEED(argc < 2 || ranks == atoi(argv[1]));	/* all ranks are in one world */
	exchange();
	many_in_flight();
	from_anywhere();
	broadcasts();
	reductions();
	for (int s = 1; s < SIZES - 1; s++)
		parts(sizes[s]);
	uneven_parts();
	put_and_get();
	atomics();
	neighbors();
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d ranks\n", ranks);
	MPI_Finalize();
	return 0;
}
