/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Helpers for tests of losses: replies of the peer, and WRITEs of one packet each.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "losses.h"
#include "uroce_config.h"
#include "wire/psn.h"

enum uroce_verdict
peer_ack(struct peer *p, uint8_t syndrome, uint32_t psn)
{
	struct peer_packet in = { .opcode = UROCE_RC_ACKNOWLEDGE, .psn = psn & UROCE_PSN_MASK, .syndrome = syndrome };

	return peer_in(p, &in);
}

enum uroce_verdict
peer_sack(struct peer *p, uint32_t psn, uint32_t asked, const uint16_t (*runs)[2], unsigned int n)
{
	struct uroce_sack payload = { 0 };
	struct peer_packet in = {
		.opcode = UROCE_RC_SACK, .psn = psn & UROCE_PSN_MASK, .syndrome = PEER_UNLIMITED,
		.payload = (const uint8_t *)&payload, .payload_bytes = UROCE_SACK_BYTES(n),
	};

	uroce_put24(payload.asked, asked & UROCE_PSN_MASK);
	for (unsigned int i = 0; i < n; i++)
		payload.runs[i] = (struct uroce_sack_run){ rte_cpu_to_be_16(runs[i][0]), rte_cpu_to_be_16(runs[i][1]) };
	return peer_in(p, &in);
}

enum uroce_verdict
peer_response(struct peer *p, uint8_t opcode, uint32_t psn, const uint8_t *payload, uint32_t bytes)
{
	struct peer_packet in = { .opcode = opcode, .psn = psn & UROCE_PSN_MASK, .syndrome = PEER_UNLIMITED,
				  .payload = payload, .payload_bytes = bytes };

	return peer_in(p, &in);
}

struct uroce_requester *
peer_requester(struct peer *p)
{
	return uroce_requester_of(uroce_qp_of(p->qp));
}

void
peer_expect_write(struct peer *p, uint32_t psn, bool ack_req)
{
	struct peer_packet out = peer_expect(p, UROCE_RC_WRITE_ONLY, psn & UROCE_PSN_MASK);

	assert_int_equal(out.ack_req, ack_req);
}

void
peer_post_writes(struct peer *p, uint64_t wr_id, uint32_t psn, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		peer_post(p, IBV_WR_RDMA_WRITE, 8 * (uint32_t)i, 8, wr_id + i, 0);
	for (unsigned int i = 0; i < n; i++)
		peer_expect_write(p, psn + i, true);
	peer_expect_nothing(p);
}

void
peer_expect_writes_done(struct peer *p, uint64_t wr_id, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		peer_expect_wc(p->send_cq, IBV_WC_SUCCESS, wr_id + i);
	peer_expect_no_wc(p->send_cq);
}

void
peer_learn_keeps(struct peer *p, uint32_t psn)
{
	peer_post_writes(p, 0, psn, 3);
	assert_int_equal(peer_ack(p, UROCE_AETH_SEQUENCE_NAK, psn), UROCE_OK);
	peer_expect_write(p, psn, true);
	peer_expect_nothing(p);
	assert_int_equal(peer_ack(p, PEER_UNLIMITED, psn + 2), UROCE_OK);
	peer_expect_writes_done(p, 0, 3);
	assert_int_equal(peer_requester(p)->peer, UROCE_PEER_KEEPS);
	assert_null(peer_requester(p)->recovery);
}

void
peer_learn_sacks(struct peer *p, uint32_t psn)
{
	peer_learn_keeps(p, psn);
	peer_post_writes(p, 0, psn + 3, 3);
	assert_int_equal(peer_ack(p, UROCE_AETH_SEQUENCE_NAK, psn + 3), UROCE_OK);
	peer_expect(p, UROCE_RC_ASK, (psn + 6) & UROCE_PSN_MASK);
	peer_expect_write(p, psn + 3, true);
	peer_expect_nothing(p);
	assert_int_equal(peer_sack(p, psn + 6, psn + 6, NULL, 0), UROCE_OK);
	peer_expect_writes_done(p, 0, 3);
	assert_int_equal(peer_requester(p)->peer, UROCE_PEER_SACKS);
	assert_null(peer_requester(p)->recovery);
}
