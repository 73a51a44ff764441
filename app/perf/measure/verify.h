/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The bytes that a message must have. They depend on the queue pair, the message number and the offset, so bytes of
 * another message, QP or offset are wrong.
 */

#ifndef UROCE_PERF_MEASURE_VERIFY_H
#define UROCE_PERF_MEASURE_VERIFY_H

#include <stddef.h>
#include <stdint.h>

/* all bytes are right */
#define PERF_VERIFIED SIZE_MAX

/** Get the start of the pattern of message `seq` of queue pair `qp`; also the value of an atomic's counter after
 * `seq` operations. */
uint64_t uroce_perf_pattern(uint32_t qp, uint64_t seq);

/** Write the message. */
void uroce_perf_fill(void *buf, size_t length, uint64_t pattern);

/** Make every byte wrong for that message, so that bytes that do not arrive are found. */
void uroce_perf_poison(void *buf, size_t length, uint64_t pattern);

/** Check a message. @return offset of the first wrong byte; PERF_VERIFIED: none */
size_t uroce_perf_check(const void *buf, size_t length, uint64_t pattern);

#endif /* UROCE_PERF_MEASURE_VERIFY_H */
