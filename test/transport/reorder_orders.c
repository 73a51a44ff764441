/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests five packets of each kind of message in each order of arrival: the responder executes them in PSN order.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "gaps.h"
#include "groups.h"

/* Build packet `i` of five of one kind of message. @return the number of its PSNs */
typedef uint32_t (*make_t)(const struct peer *p, unsigned int i, struct peer_packet *in);

static uint32_t
make_message(const struct peer *p, unsigned int i, struct peer_packet *in, uint8_t first)
{
	*in = (struct peer_packet){
		.opcode = (uint8_t)(first + (i == 0 ? 0 : i == 4 ? 2 : 1)), .va = (uintptr_t)p->buffer,
		.rkey = p->mr->rkey, .dma_len = 4 * MTU + 5, .payload = gap_pattern + i * MTU,
		.payload_bytes = i == 4 ? 5 : MTU, .ack_req = i == 4,
	};
	return 1;
}

static uint32_t
make_write(const struct peer *p, unsigned int i, struct peer_packet *in)
{
	return make_message(p, i, in, UROCE_RC_WRITE_FIRST);
}

static uint32_t
make_send(const struct peer *p, unsigned int i, struct peer_packet *in)
{
	return make_message(p, i, in, UROCE_RC_SEND_FIRST);
}

static uint32_t
make_onlies(const struct peer *p, unsigned int i, struct peer_packet *in, uint8_t opcode)
{
	*in = (struct peer_packet){
		.opcode = opcode, .va = (uintptr_t)p->buffer + i * MTU, .rkey = p->mr->rkey, .dma_len = MTU,
		.payload = gap_pattern + i * MTU, .payload_bytes = MTU, .ack_req = true,
	};
	return 1;
}

static uint32_t
make_write_onlies(const struct peer *p, unsigned int i, struct peer_packet *in)
{
	return make_onlies(p, i, in, UROCE_RC_WRITE_ONLY);
}

static uint32_t
make_write_imms(const struct peer *p, unsigned int i, struct peer_packet *in)
{
	make_onlies(p, i, in, UROCE_RC_WRITE_ONLY_IMM);
	in->imm = i;
	return 1;
}

static uint32_t
make_send_onlies(const struct peer *p, unsigned int i, struct peer_packet *in)
{
	return make_onlies(p, i, in, UROCE_RC_SEND_ONLY);
}

/* READs whose responses take 1, 2, 3, 1 and 2 packets. */
static uint32_t
make_reads(const struct peer *p, unsigned int i, struct peer_packet *in)
{
	uint32_t packets = i % 3 + 1;

	*in = (struct peer_packet){ .opcode = UROCE_RC_READ_REQUEST, .va = (uintptr_t)p->buffer,
				    .rkey = p->mr->rkey, .dma_len = packets * MTU };
	return packets;
}

static uint32_t
make_mixed(const struct peer *p, unsigned int i, struct peer_packet *in)
{
	static const uint8_t opcodes[] = { UROCE_RC_FETCH_ADD, UROCE_RC_WRITE_ONLY, UROCE_RC_READ_REQUEST,
					   UROCE_RC_ATOMIC_WRITE, UROCE_RC_FLUSH };

	*in = (struct peer_packet){ .opcode = opcodes[i], .va = (uintptr_t)p->buffer + i * MTU,
				    .rkey = p->mr->rkey, .swap_add = 1, .ack_req = true };
	if (i == 1 || i == 3) {
		in->dma_len = in->payload_bytes = 8;
		in->payload = gap_pattern + i * MTU;
	} else if (i == 2) {
		in->dma_len = 3 * MTU;
	} else if (i == 4) {
		in->feth = IBV_FLUSH_GLOBAL | IBV_FLUSH_RANGE << 4;
		in->dma_len = 8;
	}
	return i == 2 ? 3 : 1;
}

/* The k-th permutation of 0..4. */
static void
order_of(unsigned int k, unsigned int order[5])
{
	unsigned int left[5] = { 0, 1, 2, 3, 4 };

	for (unsigned int i = 0, n = 5; n > 0; i++, k /= n, n--) {
		unsigned int j = k % n;

		order[i] = left[j];
		memmove(&left[j], &left[j + 1], (n - 1 - j) * sizeof(left[0]));
	}
}

/* Execution shows in the MSN and in the expected PSN: both match the packets that have arrived without a gap. */
static void
check_in_turn(const struct peer *p, const uint32_t *psns, const bool *here, uint32_t first, uint32_t msn,
	      bool message)
{
	const struct uroce_responder *resp = uroce_responder_of(uroce_qp_of(p->qp));
	unsigned int run = 0, beyond = 0;
	uint32_t psn = first;

	for (; run < 5 && here[run]; run++)
		psn = uroce_psn_add(psn, psns[run]);
	for (unsigned int i = run; i < 5; i++)
		beyond += here[i];
	assert_int_equal(resp->psn, psn);
	assert_int_equal(resp->msn, message ? msn + (run == 5) : msn + run);
	assert_int_equal(gap_kept(p), beyond);
}

static uint32_t
one_order(struct peer *p, make_t make, unsigned int k, uint32_t first, uint32_t msn, bool message)
{
	struct peer_packet in[5], out, last = { 0 };
	uint32_t psns[5], psn = first;
	bool here[5] = { false };
	unsigned int order[5];

	for (unsigned int i = 0; i < 5; i++) {
		psns[i] = make(p, i, &in[i]);
		in[i].psn = psn;
		psn = uroce_psn_add(psn, psns[i]);
	}
	order_of(k, order);
	for (unsigned int i = 0; i < 5; i++) {
		enum uroce_verdict v = peer_in(p, &in[order[i]]);
		bool ahead = false;

		for (unsigned int j = 0; j < order[i]; j++)
			ahead |= !here[j];
		assert_int_equal(v, ahead ? UROCE_EARLY : UROCE_OK);
		here[order[i]] = true;
		check_in_turn(p, psns, here, first, msn, message);
		while (k % 2 != 0 && peer_out(p, &out))	/* replies after a burst, or one by one */
			last = out;
	}
	while (peer_out(p, &out))
		last = out;
	assert_int_equal(last.psn, uroce_psn_add(psn, UROCE_PSN_MASK));	/* all requests are acknowledged */
	assert_int_not_equal(last.syndrome, UROCE_AETH_SEQUENCE_NAK);
	return psn;
}

static void
orders(make_t make, bool message, unsigned int recvs)
{
	struct peer_conf conf = { .rq_psn = 0xffff80, .max_rd_atomic = 16 };	/* R11: PSNs wrap on the way */
	uint32_t psn = conf.rq_psn, msn = 0;
	struct ibv_wc wc;
	struct peer p;

	peer_start(&p, &conf);
	for (unsigned int k = 0; k < 120; k++) {
		memset(p.buffer, 0, 8 * MTU);
		for (unsigned int i = 0; i < recvs; i++)
			peer_post_recv(&p, i * MTU, message ? 5 * MTU : MTU, i);
		psn = one_order(&p, make, k, psn, msn, message);
		msn += message ? 1 : 5;
		for (unsigned int i = 0; i < recvs; i++) {
			wc = peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, i);
			assert_int_equal(wc.byte_len, message ? 4 * MTU + 5 : MTU);
		}
		peer_expect_no_wc(p.recv_cq);
		if (make == make_mixed)
			assert_int_equal(*(uint64_t *)p.buffer, 1);
		else if (make != make_reads)
			assert_memory_equal(p.buffer, gap_pattern, message ? 4 * MTU + 5 : 5 * MTU);
	}
	assert_true(uroce_psn_diff(psn, conf.rq_psn) > 0 && psn < conf.rq_psn);
	assert_int_equal(gap_counter(&p, UROCE_EARLY_DROPPED), 0);
	peer_stop(&p);
}

static void
every_order_is_executed_in_turn(void **state)
{
	(void)state;
	orders(make_write, true, 0);
	orders(make_send, true, 1);
	orders(make_write_onlies, false, 0);
	orders(make_write_imms, false, 5);
	orders(make_send_onlies, false, 5);
	orders(make_reads, false, 0);
	orders(make_mixed, false, 0);
}

UROCE_TESTS(reorder_orders)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_order_is_executed_in_turn),
	};

	gap_pattern_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
