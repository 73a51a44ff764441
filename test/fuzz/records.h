/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A record of all posted work requests: each completes at most once, in the order of its queue, and at the end all that
 * must have completed have. For one thread.
 */

#ifndef UROCE_TEST_FUZZ_RECORDS_H
#define UROCE_TEST_FUZZ_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce.h>

/* Queues: QP i has 2 * i and 2 * i + 1; the SRQs' queues follow. */
#define RECORDS_QUEUES 16
#define RECORDS_MAX    1024

void records_reset(void);
bool records_full(void);
/** Record a request before it is posted to a queue. @return its wr_id */
uint64_t records_add(unsigned int queue, bool signalled);
/** Remove the last request: posting failed. */
void records_remove(void);
/** Record a polled completion. */
void records_complete(const struct ibv_wc *wc);
/** A reset has discarded the queue's requests, without completions. */
void records_forget(unsigned int queue);
/** Check that all requests of the queue that must complete have done so. */
void records_settle(unsigned int queue);

#endif /* UROCE_TEST_FUZZ_RECORDS_H */
