/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Records which thread accesses which pair of cache lines, and counts atomic operations. The library is compiled for
 * ThreadSanitizer, but touched.c defines the functions that it calls at each access, and keeps a table of lines. One
 * thread runs at a time, so that the table needs no lock and results are reproducible; threads identify themselves by
 * touched_as().
 */

#ifndef UROCE_TEST_PERF_TOUCHED_H
#define UROCE_TEST_PERF_TOUCHED_H

#include <stddef.h>
#include <stdint.h>

#include "base/lines.h"

#define TOUCHED_NOBODY UINT32_MAX
#define TOUCHED_LINE_BYTES UROCE_LINES_APART

struct touched_line {
	uintptr_t address; /* 0: the entry is free */
	uint32_t writers; /* a bit for each thread */
	uint32_t readers;
	const void *code[2]; /* code of the first write, and of the access by a second thread */
};

/* Read-modify-write operations of one place in the code on one address, or full fences. */
struct touched_atomic {
	uintptr_t address; /* 0: fences */
	const void *code;
	uint32_t thread;
	uint64_t count;
};

/** Set the number of the calling thread, 0..31; accesses of TOUCHED_NOBODY are not recorded. */
void touched_as(uint32_t thread);
void touched_forget(void);

/** Call f for each line that several threads have written, or that one has written and another read.
 * @return number of such lines */
unsigned int touched_shared(void (*f)(const struct touched_line *line, void *arg), void *arg);
/** Call f for all atomic operations. */
void touched_atomics(void (*f)(const struct touched_atomic *atomic, void *arg), void *arg);
/** Count the lines that the thread has written, and those that it has only read. */
void touched_count(uint32_t thread, unsigned int *written, unsigned int *read);

#endif /* UROCE_TEST_PERF_TOUCHED_H */
