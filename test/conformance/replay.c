/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Replays each capture of test/pcap in both roles. A difference from the capture needs a row in the table of
 * differences, with its reason; all others are failures, and so is a row that does not occur. For one thread.
 */

#include <stdio.h>
#include <string.h>

#include "frame.h"
#include "frames.h"
#include "replay.h"

#define L3 RTE_ETHER_HDR_LEN

static unsigned int failures, exchanges, replayed, mads;

void
replay_fail(const struct replay_end *end, const struct captured *c, const char *what, const char *ours)
{
	char text[512];

	failures++;
	fprintf(stderr, "%s, our %s: %s\n",
		c == NULL ? end->x->file : captured_describe(c, text, sizeof(text)),
		end->role == REPLAY_RESPONDER ? "responder" : "requester", what);
	if (ours != NULL)
		fprintf(stderr, "    %s\n", ours);
}

/* Compare the extension headers, except values that each end chooses itself: credits, and the source QP of a
 * datagram. */
static bool
same_headers(const struct captured *c, const struct uroce_packet *ours)
{
	const struct uroce_opcode_info *info = c->packet.info;
	uint8_t theirs[128], mine[128];

	memcpy(theirs, c->packet.bth, info->header_bytes);
	memcpy(mine, ours->bth, info->header_bytes);
	if (info->ext[UROCE_EXT_AETH] != 0) {
		uint8_t *a = &theirs[info->ext[UROCE_EXT_AETH]], *b = &mine[info->ext[UROCE_EXT_AETH]];

		if (((*a | *b) & UROCE_AETH_CLASS_MASK) == UROCE_AETH_ACK)
			*a = *b;
	}
	if (info->ext[UROCE_EXT_DETH] != 0)
		memcpy(&theirs[info->ext[UROCE_EXT_DETH] + 5], &mine[info->ext[UROCE_EXT_DETH] + 5], 3);
	return memcmp(theirs + sizeof(struct uroce_bth), mine + sizeof(struct uroce_bth),
		      info->header_bytes - sizeof(struct uroce_bth)) == 0;
}

const char *
replay_compare(const struct captured *c, const struct device_frame *ours)
{
	struct uroce_packet p;
	struct rte_mbuf m;

	test_mbuf_init(&m, (uint8_t *)(uintptr_t)ours->bytes, sizeof(ours->bytes), ours->len);
	if (uroce_packet_decode(&m, L3, &p) != UROCE_OK)
		return "a bad frame";
	if (p.opcode != c->packet.opcode)
		return "another opcode";
	if (p.psn != c->packet.psn)
		return "another PSN";
	if (p.dest_qpn != c->packet.dest_qpn)
		return "another QP";
	if (p.solicited != c->packet.solicited)
		return "another solicited event";
	if (p.ack_req != c->packet.ack_req)
		return "another AckReq";
	if (!same_headers(c, &p))
		return "another header";
	if (p.payload_bytes != c->packet.payload_bytes)
		return "another length";
	/* the capture does not show the payload that was sent before the corruption */
	return !c->bad_icrc && memcmp(ours->bytes + p.payload_offset, c->payload, p.payload_bytes) != 0
		? "another payload" : NULL;
}

static void
replay(const struct exchange *x)
{
	exchanges++;
	replayed += x->n;
	replay_responder(x);
	replay_requester(x);
}

/* Datagrams of the communication manager: tests of lib/cm cover them. Each file is printed once. */
static void
leave_out(const struct captured *c)
{
	static const char *last = "";

	mads++;
	if (strcmp(last, c->file) != 0)
		printf("%s: datagrams to QP1 are left out: lib/cm handles them\n", c->file);
	last = c->file;
}

int
main(void)
{
	unsigned int unmet;

	device_open(&device_ipv4);	/* initializes EAL before the first frame is read */
	device_close();
	capture_load();
	capture_each(replay, leave_out);
	unmet = difference_report();
	printf("%u exchanges of %u frames, each in both roles; %u datagrams to QP1 left out\n", exchanges,
	       replayed, mads);
	if (replayed + mads != TEST_CAPTURE_FRAMES) {
		fprintf(stderr, "%d frames were captured\n", TEST_CAPTURE_FRAMES);
		failures++;
	}
	return failures + unmet == 0 ? 0 : 1;
}
