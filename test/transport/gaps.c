/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Helpers for tests of gaps in the peer's requests: WRITEs of 8 bytes, each to an address derived from its PSN.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "gaps.h"

uint8_t gap_pattern[8 * MTU];

void
gap_pattern_init(void)
{
	for (unsigned int i = 0; i < sizeof(gap_pattern); i++)
		gap_pattern[i] = (uint8_t)(i * 7 + i / 256 + 1);
}

struct peer_packet
gap_write_only(const struct peer *p, uint32_t psn, uint32_t offset)
{
	return (struct peer_packet){
		.opcode = UROCE_RC_WRITE_ONLY, .psn = psn, .rkey = p->mr->rkey,
		.va = (uintptr_t)p->buffer + offset, .dma_len = 8, .payload = gap_pattern + 1, .payload_bytes = 8,
	};
}

enum uroce_verdict
gap_in_write(struct peer *p, uint32_t psn, bool ack_req)
{
	struct peer_packet in = gap_write_only(p, psn, 8 * (psn & 1023));

	in.ack_req = ack_req;
	return peer_in(p, &in);
}

void
gap_close(struct peer *p, uint32_t psn)
{
	struct peer_packet in = gap_write_only(p, psn, 8 * (psn & 1023));
	uint64_t ok = p->engine.verdicts[UROCE_OK];

	peer_in_burst(p, &in, 1);
	assert_int_equal(p->engine.verdicts[UROCE_OK], ok + 1);
}

enum uroce_verdict
gap_in_ask(struct peer *p, uint32_t psn)
{
	struct peer_packet in = { .opcode = UROCE_RC_ASK, .psn = psn };

	return peer_in(p, &in);
}

unsigned int
gap_kept(const struct peer *p)
{
	return UROCE_REORDER_FRAMES - p->engine.reorder.frames_free;
}

bool
gap_is_written(const struct peer *p, uint32_t psn)
{
	return memcmp(p->buffer + 8 * (psn & 1023), gap_pattern + 1, 8) == 0;
}

uint64_t
gap_counter(const struct peer *p, enum uroce_engine_counter c)
{
	return p->engine.counters[c];
}

void
gap_drain(struct peer *p)
{
	struct peer_packet out;

	while (peer_out(p, &out))
		;
}

struct peer_packet
gap_read(const struct peer *p, uint32_t psn, uint32_t length)
{
	return (struct peer_packet){ .opcode = UROCE_RC_READ_REQUEST, .psn = psn, .rkey = p->mr->rkey,
				     .va = (uintptr_t)p->buffer, .dma_len = length };
}
