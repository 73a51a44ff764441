/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Attacks that a connected peer, or an attacker that forges its packets, can keep up: floods and storms, endless work,
 * silence. All packets have a right ICRC and a QPN that exists.
 */

#include <string.h>

#include <rte_common.h>

#include "crowd.h"
#include "wire/headers.h"
#include "wire/psn.h"
#include "wire/sack.h"

#define UNLIMITED (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)
#define PACKETS   (CROWD_BYTES / 4096) /* of a READ's response */

/* A request for the registered memory, which the attacker may access. */
static struct peer_packet
request(const struct crowd *c, uint8_t opcode, uint32_t bytes)
{
	return (struct peer_packet){
		.opcode = opcode,
		.psn = c->next_psn,
		.va = (uintptr_t)c->peer.buffer,
		.rkey = c->peer.mr->rkey,
		.dma_len = bytes,
	};
}

static struct peer_packet
write_only(const struct crowd *c, uint32_t psn)
{
	struct peer_packet in = request(c, UROCE_RC_WRITE_ONLY, 8);

	in.psn = psn;
	in.payload_bytes = 8;
	in.ack_req = true;
	return in;
}

/* ---- requests ----------------------------------------------------------------------------- */

static void
duplicates(struct crowd *c)
{
	struct peer_packet in = write_only(c, PEER_RQ_PSN);

	crowd_in_times(c, &in, CROWD_STRIKES);
}

/* Packets beyond the reorder window. */
static void
ahead(struct crowd *c)
{
	struct peer_packet in = write_only(c, PEER_RQ_PSN + 100000);

	crowd_in_times(c, &in, CROWD_STRIKES);
}

/* ASK packets, each far from the next, over the whole PSN space. */
static void
asks(struct crowd *c)
{
	for (unsigned int i = 0; i < CROWD_STRIKES; i++)
		crowd_in(c, &(struct peer_packet){ .opcode = UROCE_RC_ASK,
						   .psn = (uint32_t)(c->number++ * 7919) &
							  UROCE_PSN_MASK });
}

/* WRITEs with an ECN mark, as if from a switch. */
static void
marks(struct crowd *c)
{
	struct peer_packet in = write_only(c, PEER_RQ_PSN);

	in.traffic_class = UROCE_ECN_CE;
	crowd_in_times(c, &in, CROWD_STRIKES);
}

static void
of_others(struct crowd *c)
{
	struct peer_packet in = write_only(c, PEER_RQ_PSN);

	in.last_ip_byte = 77;
	crowd_in_times(c, &in, CROWD_STRIKES);
}

static void
of_another_transport(struct crowd *c)
{
	struct peer_packet in = write_only(c, PEER_RQ_PSN);

	in.opcode = UROCE_RC_WRITE_ONLY + UROCE_UC_SEND_FIRST;
	crowd_in_times(c, &in, CROWD_STRIKES);
}

static void
of_another_partition(struct crowd *c)
{
	struct peer_packet in = write_only(c, PEER_RQ_PSN);

	in.pkey = 0x1234;
	crowd_in_times(c, &in, CROWD_STRIKES);
}

static void
wrong_keys(struct crowd *c)
{
	struct peer_packet in = write_only(c, c->next_psn);

	in.rkey = (uint32_t)++c->number * 0x9e3779b9u;
	if (in.rkey == c->peer.mr->rkey)
		in.rkey++;
	crowd_in_times(c, &in, CROWD_STRIKES);
}

static void
messages_without_beginning(struct crowd *c)
{
	struct peer_packet in = write_only(c, c->next_psn);

	in.opcode = UROCE_RC_WRITE_MIDDLE;
	in.payload_bytes = 4096;
	crowd_in_times(c, &in, CROWD_STRIKES);
}

static void
messages_without_end(struct crowd *c)
{
	struct peer_packet in = request(c, UROCE_RC_WRITE_FIRST, CROWD_BYTES);

	in.payload_bytes = 4096;
	if (c->number++ == 0)
		crowd_in(c, &in);
}

static void
sends_that_nobody_receives(struct crowd *c)
{
	struct peer_packet in = { .opcode = UROCE_RC_SEND_ONLY,
				  .psn = PEER_RQ_PSN,
				  .ack_req = true };

	crowd_in_times(c, &in, CROWD_STRIKES);
}

/* Keep as many requests in flight as allowed: a new one for each response. */
static void
in_flight(struct crowd *c, uint8_t opcode, uint32_t bytes, uint32_t psns)
{
	for (; c->number < c->attack->conf.max_rd_atomic; c->number++) {
		struct peer_packet in = request(c, opcode, bytes);

		if (opcode == UROCE_RC_FLUSH)
			in.feth = IBV_FLUSH_GLOBAL;
		crowd_in(c, &in);
		c->next_psn = uroce_psn_add(c->next_psn, psns);
	}
}

static void
reads(struct crowd *c)
{
	in_flight(c, UROCE_RC_READ_REQUEST, CROWD_BYTES, PACKETS);
}

static void
flushes(struct crowd *c)
{
	in_flight(c, UROCE_RC_FLUSH, 8, 1);
}

static void
answered(struct crowd *c, const struct uroce_packet *p)
{
	if (p->opcode == UROCE_RC_READ_RESPONSE_LAST || p->opcode == UROCE_RC_READ_RESPONSE_ONLY)
		c->number--;
}

static void
more_reads_than_allowed(struct crowd *c)
{
	for (unsigned int i = 0; i < CROWD_STRIKES; i++) {
		struct peer_packet in = request(c, UROCE_RC_READ_REQUEST, CROWD_BYTES);

		crowd_in(c, &in);
		c->next_psn = uroce_psn_add(c->next_psn, PACKETS);
	}
}

static void
reads_again(struct crowd *c)
{
	struct peer_packet in = request(c, UROCE_RC_READ_REQUEST, CROWD_BYTES);

	crowd_in_times(c, &in, CROWD_STRIKES);
}

static void
atomics_again(struct crowd *c)
{
	struct peer_packet in = request(c, UROCE_RC_FETCH_ADD, 0);

	in.va += CROWD_BYTES - 8;
	in.swap_add = 1;
	crowd_in_times(c, &in, CROWD_STRIKES);
}

/* ---- responses ---------------------------------------------------------------------------- */

static struct peer_packet
answer(uint8_t syndrome, uint32_t psn)
{
	return (struct peer_packet){ .opcode = UROCE_RC_ACKNOWLEDGE,
				     .syndrome = syndrome,
				     .psn = psn };
}

/* Note the latest request: `number` counts packets from the first PSN. */
static void
remember(struct crowd *c, const struct uroce_packet *p)
{
	c->number = RTE_MAX(c->number, (uint64_t)uroce_psn_distance(p->psn, PEER_SQ_PSN) + 1);
}

/* Each NAK acknowledges one packet and reports a gap: the requester retransmits all later packets. */
static void
sequence_naks(struct crowd *c)
{
	for (unsigned int i = 0; i < CROWD_STRIKES; i++) {
		struct peer_packet in = answer(UROCE_AETH_NAK | UROCE_NAK_PSN_SEQUENCE_ERROR,
					       uroce_psn_add(c->first_psn, 1));

		if (uroce_psn_distance(in.psn, PEER_SQ_PSN) < c->number) {
			crowd_in(c, &in);
			c->first_psn = in.psn;
		}
	}
}

static void
sequence_naks_of_one(struct crowd *c)
{
	struct peer_packet in = answer(UROCE_AETH_NAK | UROCE_NAK_PSN_SEQUENCE_ERROR, PEER_SQ_PSN);

	crowd_in_times(c, &in, CROWD_STRIKES);
}

static void
rnr_naks(struct crowd *c)
{
	struct peer_packet in = answer(UROCE_AETH_RNR_NAK | 1, PEER_SQ_PSN); /* 10 us */

	crowd_in_times(c, &in, CROWD_STRIKES);
}

static void
acks_of_what_was_not_sent(struct crowd *c)
{
	struct peer_packet in = answer(UNLIMITED, uroce_psn_add(PEER_SQ_PSN, 100000));

	crowd_in_times(c, &in, CROWD_STRIKES);
}

static void
reserved_syndromes(struct crowd *c)
{
	struct peer_packet in = answer(0x9f, PEER_SQ_PSN);

	crowd_in_times(c, &in, CROWD_STRIKES);
}

static void
fatal_naks(struct crowd *c)
{
	struct peer_packet in = answer(UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR,
				       c->first_psn);

	crowd_in_times(c, &in, CROWD_STRIKES);
}

static void
responses_to_nothing(struct crowd *c)
{
	struct peer_packet in = { .opcode = UROCE_RC_READ_RESPONSE_ONLY,
				  .syndrome = UNLIMITED,
				  .psn = PEER_SQ_PSN - 1,
				  .payload_bytes = 64 };

	crowd_in_times(c, &in, CROWD_STRIKES);
}

static void
responses_to_writes(struct crowd *c)
{
	struct peer_packet in = { .opcode = UROCE_RC_READ_RESPONSE_ONLY,
				  .syndrome = UNLIMITED,
				  .psn = PEER_SQ_PSN,
				  .payload_bytes = 64 };

	crowd_in_times(c, &in, CROWD_STRIKES);
}

/* Report out-of-order packets: runs of one packet each, at `from`, `from` + 2, … after the PSN. */
static void
sack(struct crowd *c, uint32_t psn, uint32_t from, unsigned int runs, uint32_t asked)
{
	struct uroce_sack s = { .reserved = 0 };
	struct peer_packet in = { .opcode = UROCE_RC_SACK,
				  .syndrome = UNLIMITED,
				  .psn = psn,
				  .payload = (const uint8_t *)&s,
				  .payload_bytes = UROCE_SACK_BYTES(runs) };

	uroce_put24(s.asked, asked);
	for (unsigned int i = 0; i < runs; i++)
		s.runs[i] = (struct uroce_sack_run){ rte_cpu_to_be_16((uint16_t)(from + 2 * i)),
						     rte_cpu_to_be_16(1) };
	crowd_in(c, &in);
}

/* Report the odd packets, then the even ones, then none and one more acknowledged packet, in turn. */
static void
sacks_that_contradict(struct crowd *c)
{
	for (unsigned int i = 0; i < CROWD_STRIKES; i++) {
		uint32_t first = uroce_psn_distance(c->first_psn, PEER_SQ_PSN);
		uint32_t asked = uroce_psn_add(PEER_SQ_PSN, (uint32_t)c->number);

		if (first + 4 > c->number)
			return;
		sack(c, c->first_psn, 1 + i % 2,
		     i % 3 == 2 ? 0 : RTE_MIN((unsigned int)(c->number - first - 2) / 2,
					      (unsigned int)UROCE_SACK_RUNS),
		     asked);
		if (i % 3 == 2)
			c->first_psn = uroce_psn_add(c->first_psn, 1);
	}
}

/* Runs, or an ASK's PSN, beyond the packets sent; and runs that begin at the missing packet. */
static void
sacks_of_what_was_not_sent(struct crowd *c)
{
	for (unsigned int i = 0; i < CROWD_STRIKES; i += 4) {
		sack(c, PEER_SQ_PSN, 5000, 1, PEER_SQ_PSN);
		sack(c, PEER_SQ_PSN, 1, 0, PEER_SQ_PSN + 100000);
		sack(c, PEER_SQ_PSN, 0, UROCE_SACK_RUNS, PEER_SQ_PSN);
		sack(c, PEER_SQ_PSN + 100000, 1, 1, PEER_SQ_PSN);
	}
}

/* ---- congestion notification packets ------------------------------------------------------- */

static void
cnps(struct crowd *c)
{
	struct peer_packet in = { .opcode = UROCE_CNP };

	crowd_in_times(c, &in, CROWD_STRIKES);
}

static void
cnps_of_others(struct crowd *c)
{
	struct peer_packet in = { .opcode = UROCE_CNP, .last_ip_byte = 77 };

	crowd_in_times(c, &in, CROWD_STRIKES);
}

const struct attack attacks[] = {
	{ .name = "duplicates", .counter = "duplicate", .strike = duplicates },
	{ .name = "psns_ahead", .counter = "drop_ahead", .strike = ahead },
	{ .name = "other_source", .counter = "drop_source", .strike = of_others },
	{ .name = "other_transport", .counter = "drop_transport", .strike = of_another_transport },
	{ .name = "other_partition", .counter = "drop_pkey", .strike = of_another_partition },
	{ .name = "wrong_keys", .counter = "nak_access", .strike = wrong_keys, .fatal = true },
	{ .name = "no_beginning",
	  .counter = "nak_opcode_sequence",
	  .strike = messages_without_beginning,
	  .fatal = true },
	{ .name = "no_end", .counter = "received_bytes", .strike = messages_without_end },
	{ .name = "no_receives", .counter = "nak_rnr", .strike = sends_that_nobody_receives },
	{ .name = "reads",
	  .counter = "sent_packets",
	  .strike = reads,
	  .heard = answered,
	  .conf.max_rd_atomic = 16 },
	{ .name = "too_many_reads",
	  .counter = "nak_rd_atomic",
	  .strike = more_reads_than_allowed,
	  .fatal = true },
	{ .name = "reads_again", .counter = "duplicate", .strike = reads_again },
	{ .name = "atomics_again", .counter = "duplicate", .strike = atomics_again },
	{ .name = "flushes",
	  .counter = "sent_packets",
	  .strike = flushes,
	  .heard = answered,
	  .conf.max_rd_atomic = 64 },
	{ .name = "sequence_naks",
	  .counter = "naks_received",
	  .strike = sequence_naks,
	  .heard = remember,
	  .posts = true },
	{ .name = "sequence_naks_of_one",
	  .counter = "naks_received",
	  .strike = sequence_naks_of_one,
	  .posts = true,
	  .fatal = true },
	{ .name = "rnr_naks", .counter = "rnr_naks_received", .strike = rnr_naks, .posts = true },
	{ .name = "acks_of_unsent",
	  .counter = "drop_ack_unexpected",
	  .strike = acks_of_what_was_not_sent,
	  .posts = true },
	{ .name = "reserved_syndromes",
	  .counter = "drop_ack_syndrome",
	  .strike = reserved_syndromes,
	  .posts = true },
	{ .name = "fatal_naks",
	  .counter = "naks_received",
	  .strike = fatal_naks,
	  .posts = true,
	  .fatal = true },
	{ .name = "responses_to_nothing",
	  .counter = "drop_response_duplicate",
	  .strike = responses_to_nothing,
	  .posts = true },
	{ .name = "responses_to_writes",
	  .counter = "bad_response",
	  .strike = responses_to_writes,
	  .posts = true,
	  .fatal = true },
	{ .name = "asks", .counter = "sent_sacks", .strike = asks },
	{ .name = "sacks_that_contradict",
	  .counter = "sacks_received",
	  .strike = sacks_that_contradict,
	  .heard = remember,
	  .posts = true },
	{ .name = "sacks_of_unsent",
	  .counter = "drop_sack",
	  .strike = sacks_of_what_was_not_sent,
	  .posts = true },
	{ .name = "marks", .counter = "np_cnp_sent", .strike = marks },
	{ .name = "cnps", .counter = "rp_cnp_handled", .strike = cnps, .posts = true },
	{ .name = "cnps_of_others",
	  .counter = "rp_cnp_ignored",
	  .strike = cnps_of_others,
	  .posts = true },
	{ .name = "silence",
	  .counter = "timeouts",
	  .posts = true,
	  .fatal = true,
	  .conf = { .timeout = 1, .retry_cnt = 7 } },
};

const unsigned int attack_count = RTE_DIM(attacks);
