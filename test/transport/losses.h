/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Helpers for tests of losses: replies of the peer, and WRITEs of one packet each.
 */

#ifndef UROCE_TEST_LOSSES_H
#define UROCE_TEST_LOSSES_H

#include "peer.h"
#include "transport/requester/recovery.h"
#include "verbs/qp/qp.h"
#include "wire/sack.h"

#define PEER_UNLIMITED (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)

enum uroce_verdict peer_ack(struct peer *p, uint8_t syndrome, uint32_t psn);
/* Deliver a SACK with up to two runs, each { offset, count } behind psn. */
enum uroce_verdict peer_sack(struct peer *p, uint32_t psn, uint32_t asked, const uint16_t (*runs)[2], unsigned int n);
enum uroce_verdict peer_response(struct peer *p, uint8_t opcode, uint32_t psn, const uint8_t *payload, uint32_t bytes);
struct uroce_requester *peer_requester(struct peer *p);
void peer_expect_write(struct peer *p, uint32_t psn, bool ack_req);
/* Post and send n WRITEs of one packet each. */
void peer_post_writes(struct peer *p, uint64_t wr_id, uint32_t psn, unsigned int n);
void peer_expect_writes_done(struct peer *p, uint64_t wr_id, unsigned int n);
/* Make the peer show that it keeps out-of-order packets; or that it sends SACKs. Acknowledge all before psn. */
void peer_learn_keeps(struct peer *p, uint32_t psn);
void peer_learn_sacks(struct peer *p, uint32_t psn);

#endif
