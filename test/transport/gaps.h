/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Helpers for tests of gaps in the peer's requests: WRITEs of 8 bytes, each to an address derived from its PSN.
 */

#ifndef UROCE_TEST_GAPS_H
#define UROCE_TEST_GAPS_H

#include "peer.h"
#include "uroce_config.h"
#include "wire/psn.h"
#include "wire/sack.h"

#define PEER_UNLIMITED (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)
#define PSN(i) ((PEER_RQ_PSN + (i)) & UROCE_PSN_MASK)
#define MTU 1024

extern uint8_t gap_pattern[8 * MTU];

void gap_pattern_init(void);
struct peer_packet gap_write_only(const struct peer *p, uint32_t psn, uint32_t offset);
struct peer_packet gap_read(const struct peer *p, uint32_t psn, uint32_t length);
enum uroce_verdict gap_in_write(struct peer *p, uint32_t psn, bool ack_req);
/* Deliver the missing packet. The requests that it makes executable count as verdicts of their own. */
void gap_close(struct peer *p, uint32_t psn);
enum uroce_verdict gap_in_ask(struct peer *p, uint32_t psn);
unsigned int gap_kept(const struct peer *p);
bool gap_is_written(const struct peer *p, uint32_t psn);
uint64_t gap_counter(const struct peer *p, enum uroce_engine_counter c);
void gap_drain(struct peer *p);

#endif /* UROCE_TEST_GAPS_H */
