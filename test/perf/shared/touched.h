/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Which thread touches which cache line. The library is compiled for ThreadSanitizer, but what the compiler has it call
 * at each access is not the sanitizer. It is here, and keeps a table of lines. One thread runs at a time, so that
 * the table needs no lock and the same is found each time; threads are told apart by who they say they are.
 */

#ifndef UROCE_TEST_PERF_TOUCHED_H
#define UROCE_TEST_PERF_TOUCHED_H

#include <stddef.h>
#include <stdint.h>

#define TOUCHED_NOBODY UINT32_MAX

struct touched_line {
	uintptr_t address; /* 0: this entry of the table is free */
	uint32_t writers; /* a bit for each thread */
	uint32_t readers;
	const void *code[2]; /* where it was written first, and by the second thread, or read */
};

/** From here on the calling thread is this one, 0..31; what TOUCHED_NOBODY touches is not noted. */
void touched_as(uint32_t thread);
void touched_forget(void);

/** Lines in the range that several have written, or that one has written and another read. Call f for each.
 * @return how many */
unsigned int touched_shared(void (*f)(const struct touched_line *line, void *arg), void *arg);
/** Lines that the thread has written, and has read and not written. */
void touched_count(uint32_t thread, unsigned int *written, unsigned int *read);

#endif /* UROCE_TEST_PERF_TOUCHED_H */
