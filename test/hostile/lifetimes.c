/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Bugs that were fatal in other stacks: a packet that arrives before its QP is ready, and an object that is destroyed
 * while a timer, a queue or a peer still uses it. Sanitizers detect bad memory accesses.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "peer.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "wire/headers.h"

#define UNLIMITED (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)

static struct peer peer;

static unsigned int
drain(void)
{
	struct peer_packet out;
	unsigned int n = 0;

	while (peer_out(&peer, &out))
		n++;
	return n;
}

/* No timer fires for the destroyed QP, however much time passes. */
static void
let_time_pass(void)
{
	for (unsigned int i = 0; i < 20; i++) {
		peer.now_ns += 1000000000;
		assert_int_equal(drain(), 0);
	}
	assert_int_equal(uroce_engine_deadline(&peer.engine), UINT64_MAX);
}

/* Create a QP in place of the destroyed one, which peer_stop() destroys. */
static void
replace_qp(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *gone = peer.qp;

	assert_int_equal(uroce_query_qp(gone, &attr, IBV_QP_CAP, &init), 0);
	assert_int_equal(uroce_destroy_qp(gone), 0);
	let_time_pass();
	peer.qp = uroce_create_qp(peer.pd, &init);
	assert_non_null(peer.qp);
}

/* ---- destroyed in the middle ------------------------------------------------------------- */

static void
destroyed_with_its_timer_armed(void **state)
{
	peer_start(&peer, NULL);
	peer_post(&peer, IBV_WR_RDMA_WRITE, 0, 8, 1, 0);
	assert_int_equal(drain(), 1);
	assert_int_not_equal(uroce_engine_deadline(&peer.engine), UINT64_MAX);
	replace_qp();
	peer_stop(&peer);
}

static void
destroyed_while_it_waits_for_a_receive(void **state)
{
	peer_start(&peer, NULL);
	peer_post(&peer, IBV_WR_RDMA_WRITE, 0, 8, 1, 0);
	assert_int_equal(drain(), 1);
	assert_int_equal(peer_in(&peer, &(struct peer_packet){ .opcode = UROCE_RC_ACKNOWLEDGE,
							       .syndrome = UROCE_AETH_RNR_NAK | 31,
							       .psn = PEER_SQ_PSN }),
			 UROCE_OK);
	assert_int_equal(drain(), 0);
	replace_qp();
	peer_stop(&peer);
}

/* The QP has posted requests, a READ to answer and an ACK to send. */
static void
destroyed_with_all_to_do(void **state)
{
	struct peer_packet in = { .opcode = UROCE_RC_READ_REQUEST,
				  .psn = PEER_RQ_PSN,
				  .dma_len = PEER_BUFFER_BYTES };

	peer_start(&peer, NULL);
	in.va = (uintptr_t)peer.buffer;
	in.rkey = peer.mr->rkey;
	for (uint64_t i = 0; i < 20; i++)
		peer_post(&peer, IBV_WR_RDMA_WRITE, 0, 4096, i, 0);
	assert_int_equal(peer_in(&peer, &in), UROCE_OK);
	replace_qp();
	peer_stop(&peer);
}

/* The memory of a READ is deregistered between two of its responses: the rest of it is refused, not read. */
static void
memory_that_goes_under_a_read(void **state)
{
	struct peer_packet out, in = { .opcode = UROCE_RC_READ_REQUEST,
				       .psn = PEER_RQ_PSN,
				       .dma_len = PEER_BUFFER_BYTES };

	peer_start(&peer, NULL);
	in.va = (uintptr_t)peer.buffer;
	in.rkey = peer.mr->rkey;
	assert_int_equal(peer_in(&peer, &in), UROCE_OK);
	assert_true(peer_out(&peer, &out));
	assert_int_equal(uroce_dereg_mr(peer.mr), 0);
	peer.mr = NULL;
	free(peer.buffer);
	peer.buffer = NULL;
	assert_true(peer_out(&peer, &out));
	assert_int_equal(out.opcode, UROCE_RC_ACKNOWLEDGE);
	assert_int_equal(out.syndrome, UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR);
	assert_int_equal(uroce_qp_of(peer.qp)->state, IBV_QPS_ERR);
	peer_stop(&peer);
}

/* The same for a WRITE, between two of its packets. */
static void
memory_that_goes_under_a_write(void **state)
{
	struct peer_packet in = { .opcode = UROCE_RC_WRITE_FIRST,
				  .psn = PEER_RQ_PSN,
				  .dma_len = 2048,
				  .payload_bytes = 1024 };

	peer_start(&peer, NULL);
	in.va = (uintptr_t)peer.buffer;
	in.rkey = peer.mr->rkey;
	assert_int_equal(peer_in(&peer, &in), UROCE_OK);
	assert_int_equal(uroce_dereg_mr(peer.mr), 0);
	peer.mr = NULL;
	free(peer.buffer);
	peer.buffer = NULL;
	in.opcode = UROCE_RC_WRITE_LAST;
	in.psn++;
	assert_int_equal(peer_in(&peer, &in), UROCE_NAK_ACCESS);
	drain();
	peer_stop(&peer);
}

/* ---- too early ---------------------------------------------------------------------------- */

/* Send the minimum that each opcode needs to be decoded. */
static void
every_opcode(enum ibv_qp_type type, enum ibv_qp_state in_state)
{
	const struct peer_conf conf = { .type = type, .state = in_state };

	for (unsigned int opcode = 0; opcode < 256; opcode++) {
		struct peer_packet in = { .opcode = (uint8_t)opcode,
					  .psn = PEER_RQ_PSN,
					  .syndrome = UNLIMITED,
					  .qkey = PEER_QKEY };

		/* CNPs have a format of their own */
		if (uroce_opcodes[opcode].name == NULL ||
		    uroce_opcodes[opcode].transport == UROCE_TRANSPORT_CNP)
			continue;
		for (unsigned int bytes = 0; bytes <= 1024; bytes += 1024) {
			peer_start(&peer, &conf);
			in.payload_bytes = uroce_opcodes[opcode].flags & UROCE_OPF_PAYLOAD ? bytes
											   : 0;
			in.rkey = peer.mr->rkey ^ 1u << 30;
			in.dma_len = 8;
			peer_in(&peer, &in);
			assert_true(drain() <= 1);
			for (unsigned int i = 0; i < PEER_BUFFER_BYTES; i += 8)
				assert_int_equal(*(uint64_t *)(peer.buffer + i), 0);
			peer_expect_no_wc(peer.send_cq);
			peer_stop(&peer);
		}
	}
}

static void
every_opcode_as_the_first(void **state)
{
	every_opcode(IBV_QPT_RC, IBV_QPS_RTS);
	every_opcode(IBV_QPT_UC, IBV_QPS_RTS);
	every_opcode(IBV_QPT_UD, IBV_QPS_RTS);
}

static void
every_opcode_before_it_is_ready(void **state)
{
	every_opcode(IBV_QPT_RC, IBV_QPS_INIT);
	every_opcode(IBV_QPT_RC, IBV_QPS_RTR);
	every_opcode(IBV_QPT_UC, IBV_QPS_INIT);
	every_opcode(IBV_QPT_UD, IBV_QPS_INIT);
}

/* ---- too much ----------------------------------------------------------------------------- */

/* Sizes that overflow in the computation of an allocation are refused. */
static void
sizes_that_overflow(void **state)
{
	static const struct ibv_qp_cap caps[] = {
		{ .max_send_wr = UINT32_MAX },
		{ .max_recv_wr = UINT32_MAX },
		{ .max_send_wr = 1, .max_send_sge = UINT32_MAX },
		{ .max_recv_wr = 1, .max_recv_sge = UINT32_MAX },
		{ .max_send_wr = 1, .max_inline_data = UINT32_MAX },
		{ .max_send_wr = UINT32_MAX / 64 + 2 },
		{ .max_send_wr = UROCE_MAX_QP_WR + 1 },
	};

	peer_start(&peer, NULL);
	for (unsigned int i = 0; i < RTE_DIM(caps); i++) {
		struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
						 .send_cq = peer.send_cq,
						 .recv_cq = peer.recv_cq,
						 .cap = caps[i] };

		errno = 0;
		assert_null(uroce_create_qp(peer.pd, &init));
		assert_int_equal(errno, EINVAL);
	}
	assert_null(uroce_reg_mr(peer.pd, (void *)(uintptr_t)(UINTPTR_MAX - 4095), 8192, 0));
	assert_null(uroce_reg_mr(peer.pd, peer.buffer, SIZE_MAX, 0));
	assert_null(uroce_create_cq(&peer.dev.vctx.context, INT32_MAX, NULL, NULL, 0));
	peer_stop(&peer);
}

UROCE_TESTS(hostile_lifetimes)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(destroyed_with_its_timer_armed),
		cmocka_unit_test(destroyed_while_it_waits_for_a_receive),
		cmocka_unit_test(destroyed_with_all_to_do),
		cmocka_unit_test(memory_that_goes_under_a_read),
		cmocka_unit_test(memory_that_goes_under_a_write),
		cmocka_unit_test(every_opcode_as_the_first),
		cmocka_unit_test(every_opcode_before_it_is_ready),
		cmocka_unit_test(sizes_that_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
