/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Probes the peer; by ICMP for UC and UD, where a missing reply to a message proves nothing.
 */

#ifndef UROCE_PERF_MEASURE_PING_H
#define UROCE_PERF_MEASURE_PING_H

#include <stdbool.h>

struct perf_end;
struct perf_run;

/** Check that every QP reaches its peer, before the clock starts; if not, the run has failed. */
void uroce_perf_probe(struct perf_run *r);

/** Ping the ports of the queue pairs. @return 0; ETIMEDOUT, or another errno of uroce_ping() */
int uroce_perf_ping(const struct perf_end *end, unsigned int timeout_ms);

/**
 * Have all frames that were sent arrived, and all replies of the peer's program? If so, missing messages are lost,
 * even on a busy machine.
 * @return false: the peer has not answered within UROCE_PERF_LOST_MS; call again
 */
bool uroce_perf_is_settled(struct perf_run *r);

#endif /* UROCE_PERF_MEASURE_PING_H */
