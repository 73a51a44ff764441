/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The book of the work requests that were posted: each completes once at most, in its queue's
 * order, and in the end each that has to. One thread.
 */

#ifndef UROCE_TEST_FUZZ_RECORDS_H
#define UROCE_TEST_FUZZ_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce.h>

/* Queues: those of QP i are 2 * i and 2 * i + 1; behind them the SRQs'. */
#define RECORDS_QUEUES 16
#define RECORDS_MAX    1024

void records_reset(void);
bool records_full(void);
/** What is about to be posted to a queue. @return its wr_id */
uint64_t records_add(unsigned int queue, bool signalled);
/** It was refused. */
void records_remove(void);
/** One that was polled. */
void records_complete(const struct ibv_wc *wc);
/** What is in the queue is gone, without a completion: RESET. */
void records_forget(unsigned int queue);
/** Everything that has to complete has. */
void records_settle(unsigned int queue);

#endif /* UROCE_TEST_FUZZ_RECORDS_H */
