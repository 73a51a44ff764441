/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Probes the peer; by ICMP for UC and UD, where a message that is not answered proves nothing.
 */

#ifndef UROCE_PERF_MEASURE_PING_H
#define UROCE_PERF_MEASURE_PING_H

#include <stdbool.h>

struct perf_end;
struct perf_run;

/** See that every QP reaches its peer, before the clock starts; else the run has failed. */
void uroce_perf_probe(struct perf_run *r);

/** Do the ports behind the queue pairs answer? @return 0; ETIMEDOUT, or another errno of uroce_ping() */
int uroce_perf_ping(const struct perf_end *end, unsigned int timeout_ms);

/**
 * Has all arrived that was sent, and what the peer's program has sent because of it? What has not, when
 * this says so, is lost, however long a busy machine has kept either end from its work.
 * @return false: the peer has not answered within UROCE_PERF_LOST_MS; ask again
 */
bool uroce_perf_is_settled(struct perf_run *r);

#endif /* UROCE_PERF_MEASURE_PING_H */
