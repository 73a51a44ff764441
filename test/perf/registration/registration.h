/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Measures the cost of registering memory, and that of pinning the same memory by the kernel, which registration for an
 * RDMA NIC includes. Main thread.
 */

#ifndef UROCE_TEST_PERF_REGISTRATION_H
#define UROCE_TEST_PERF_REGISTRATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "uroce.h"

/* The kind of memory of a row. */
enum memory_kind {
	MEMORY_HUGEPAGES, /* EAL's */
	MEMORY_ORDINARY,  /* anonymous pages, all present */
	MEMORY_KINDS,
};

/** @return "hugepages", which EAL has been started with, or "no-huge"; or "ordinary" */
const char *memory_name(enum memory_kind kind);

/* Microseconds: the median and the best of all measurements. */
struct cost {
	double median_us;
	double best_us;
};

struct row {
	enum memory_kind kind;
	size_t bytes;
	struct cost reg;
	struct cost dereg;
	struct cost pin;
	struct cost unpin;
	char left_out[96]; /* why the row, or its pinning, is missing; "": complete */
};

/**
 * Allocate memory with all of its pages.
 * @param left_out	set when NULL is returned
 */
void *memory_get(enum memory_kind kind, size_t bytes, char *left_out, size_t room);
void memory_put(enum memory_kind kind, void *va, size_t bytes);

/**
 * Prepare pinning by io_uring_register(2) of fixed buffers, which uses the same function of the kernel as drivers do for
 * ibv_reg_mr(3). @return a descriptor, or -errno
 */
int pin_open(void);
/** @return 0 or -errno */
int pin(int fd, void *va, size_t bytes);
int unpin(int fd);

void report_text(const struct row *rows, unsigned int n, FILE *out);
/** @return 0, or -1: it could not be written */
int report_json(const struct row *rows, unsigned int n, FILE *out);

#endif /* UROCE_TEST_PERF_REGISTRATION_H */
