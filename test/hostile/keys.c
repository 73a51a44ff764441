/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A connected peer that wants access to memory it has no key for: by guessed keys, former keys, keys of other peers,
 * and addresses beside its region.
 */

#include <fcntl.h>
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

#define ALL (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static const uint8_t poison[8] = { 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66 };
static struct peer peer;

static struct peer_packet
write_packet(uint32_t psn, uint32_t rkey)
{
	return (struct peer_packet){
		.opcode = UROCE_RC_WRITE_ONLY,
		.psn = psn,
		.va = (uintptr_t)peer.buffer,
		.rkey = rkey,
		.dma_len = sizeof(poison),
		.payload = poison,
		.payload_bytes = sizeof(poison),
	};
}

static void
expect_untouched(void)
{
	for (unsigned int i = 0; i < PEER_BUFFER_BYTES; i++)
		assert_int_equal(peer.buffer[i], 0);
}

static void
expect_event(enum ibv_event_type type)
{
	struct ibv_async_event event;

	assert_int_equal(fcntl(peer.dev.vctx.context.async_fd, F_SETFL, O_NONBLOCK), 0);
	do
		assert_int_equal(uroce_get_async_event(&peer.dev.vctx.context, &event), 0);
	while (uroce_ack_async_event(&event), event.event_type == IBV_EVENT_COMM_EST);
	assert_int_equal(event.event_type, type);
}

static void
expect_error(void)
{
	assert_int_equal(uroce_qp_of(peer.qp)->state, IBV_QPS_ERR);
	expect_event(IBV_EVENT_QP_ACCESS_ERR);
}

/* The first wrong key is the last: the responder ignores all packets behind it in the burst, even valid ones. */
static void
one_guess_on_rc(void **state)
{
	struct peer_packet burst[3];

	peer_start(&peer, NULL);
	for (unsigned int i = 0; i < 3; i++)
		burst[i] = write_packet(PEER_RQ_PSN + i, peer.mr->rkey);
	burst[0].rkey ^= 1u << 31;
	peer_in_burst(&peer, burst, 3);
	peer_expect_ack(&peer, UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR, PEER_RQ_PSN, 0);
	burst[0].rkey = peer.mr->rkey;
	assert_int_equal(peer_in(&peer, &burst[0]), UROCE_DROP_QP_STATE);
	peer_expect_nothing(&peer);
	expect_untouched();
	assert_int_equal(peer.engine.verdicts[UROCE_NAK_ACCESS], 1);
	expect_error();
	peer_stop(&peer);
}

/* UC reports no error to the peer, but limits the number of wrong keys. */
static void
many_guesses_on_uc(void **state)
{
	const struct peer_conf conf = { .type = IBV_QPT_UC };
	struct peer_packet in;

	peer_start(&peer, &conf);
	for (unsigned int i = 1; i <= UROCE_UC_MAX_WRONG_KEYS; i++) {
		assert_int_equal(uroce_qp_of(peer.qp)->state, IBV_QPS_RTS);
		in = write_packet(PEER_RQ_PSN + i, peer.mr->rkey ^ i << 8);
		in.opcode = UROCE_UC_SEND_FIRST + UROCE_RC_WRITE_ONLY;
		assert_int_equal(peer_in(&peer, &in), UROCE_DROP_ACCESS);
	}
	in.rkey = peer.mr->rkey;
	assert_int_equal(peer_in(&peer, &in), UROCE_DROP_QP_STATE);
	peer_expect_nothing(&peer);
	expect_untouched();
	expect_error();
	peer_stop(&peer);
}

/* A few errors may be mistakes of either end: the QP goes on. A reconnected QP counts from 0. */
static void
some_mistakes_on_uc(void **state)
{
	const struct peer_conf conf = { .type = IBV_QPT_UC };
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct peer_packet in;

	peer_start(&peer, &conf);
	for (unsigned int n = 0; n < 2; n++) {
		for (unsigned int i = 1; i < UROCE_UC_MAX_WRONG_KEYS; i++) {
			in = write_packet(PEER_RQ_PSN + i, peer.mr->rkey ^ i << 8);
			in.opcode = UROCE_UC_SEND_FIRST + UROCE_RC_WRITE_ONLY;
			peer_in(&peer, &in);
		}
		in.rkey = peer.mr->rkey;
		assert_int_equal(peer_in(&peer, &in), UROCE_OK);
		assert_int_equal(uroce_modify_qp(peer.qp, &reset, IBV_QP_STATE), 0);
		peer_connect(peer.qp, &conf);
	}
	assert_memory_equal(peer.buffer, poison, sizeof(poison));
	peer_stop(&peer);
}

/* A key that the peer once had does not open a new region, though it has the same memory and the same slot of the
 * table. */
static void
a_key_that_it_had(void **state)
{
	uint32_t had;

	peer_start(&peer, NULL);
	had = peer.mr->rkey;
	for (unsigned int i = 0; i < 10000; i++) {
		assert_int_equal(uroce_dereg_mr(peer.mr), 0);
		peer.mr = uroce_reg_mr(peer.pd, peer.buffer, PEER_BUFFER_BYTES, ALL);
		assert_non_null(peer.mr);
		assert_int_not_equal(peer.mr->rkey, had);
	}
	assert_int_equal(peer_in(&peer, (struct peer_packet[]){ write_packet(PEER_RQ_PSN, had) }),
			 UROCE_NAK_ACCESS);
	peer_expect_ack(&peer, UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR, PEER_RQ_PSN, 0);
	expect_untouched();
	expect_error();
	peer_stop(&peer);
}

static void
refused(struct peer_packet in)
{
	in.psn = PEER_RQ_PSN;
	assert_int_equal(peer_in(&peer, &in), UROCE_NAK_ACCESS);
	peer_expect_ack(&peer, UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR, PEER_RQ_PSN, 0);
	expect_untouched();
	expect_error();
}

/* A QP of one client's protection domain cannot use keys of another domain. */
static void
a_key_of_another_domain(void **state)
{
	struct ibv_pd *pd;
	struct ibv_mr *mr;

	peer_start(&peer, NULL);
	pd = uroce_alloc_pd(&peer.dev.vctx.context);
	mr = uroce_reg_mr(pd, peer.buffer, PEER_BUFFER_BYTES, ALL);
	assert_non_null(mr);
	refused(write_packet(0, mr->rkey));
	assert_int_equal(uroce_dereg_mr(mr), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	peer_stop(&peer);
}

/* A byte before, a byte behind, across the end of the address space, and all of it. */
static void
what_lies_beside(void **state)
{
	static const struct {
		int64_t offset;
		uint32_t bytes;
	} cases[] = {
		{ -1, 8 },
		{ PEER_BUFFER_BYTES - 7, 8 },
		{ PEER_BUFFER_BYTES, 8 },
		{ 0, PEER_BUFFER_BYTES + 1 },
		{ INT64_MIN, 8 },
		{ -8, 8 },
		{ 0, 1u << 31 },
	};

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		peer_start(&peer, NULL);
		refused((struct peer_packet){ .opcode = UROCE_RC_READ_REQUEST,
					      .va = (uintptr_t)peer.buffer +
						    (uint64_t)cases[i].offset,
					      .rkey = peer.mr->rkey,
					      .dma_len = cases[i].bytes });
		peer_stop(&peer);
	}
	peer_start(&peer, NULL);
	refused((struct peer_packet){ .opcode = UROCE_RC_READ_REQUEST,
				      .va = UINT64_MAX - 3,
				      .rkey = peer.mr->rkey,
				      .dma_len = 8 });
	peer_stop(&peer);
}

/* Read-only memory cannot be written, and local memory cannot be accessed at all. */
static void
rights_that_it_has_not(void **state)
{
	static const struct {
		int access;
		uint8_t opcode;
	} cases[] = {
		{ IBV_ACCESS_REMOTE_READ, UROCE_RC_WRITE_ONLY },
		{ IBV_ACCESS_LOCAL_WRITE, UROCE_RC_WRITE_ONLY },
		{ IBV_ACCESS_LOCAL_WRITE, UROCE_RC_READ_REQUEST },
		{ IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, UROCE_RC_READ_REQUEST },
		{ ALL, UROCE_RC_FETCH_ADD },
	};

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		struct peer_packet in;
		struct ibv_mr *mr;

		peer_start(&peer, NULL);
		mr = uroce_reg_mr(peer.pd, peer.buffer, PEER_BUFFER_BYTES, cases[i].access);
		assert_non_null(mr);
		in = write_packet(0, mr->rkey);
		in.opcode = cases[i].opcode;
		if (in.opcode != UROCE_RC_WRITE_ONLY)
			in.payload_bytes = 0;
		refused(in);
		assert_int_equal(uroce_dereg_mr(mr), 0);
		peer_stop(&peer);
	}
}

/* Once invalidated, a window's key is dead, and the next key works on its own QP only, though the peer can derive
 * it. */
static void
a_window_that_was_taken_back(void **state)
{
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_qp_init_attr init;
	struct ibv_qp *other;
	struct ibv_qp_attr attr;
	struct ibv_mw *mw;

	peer_start(&peer, NULL);
	assert_int_equal(uroce_query_qp(peer.qp, &attr, IBV_QP_CAP, &init), 0);
	other = uroce_create_qp(peer.pd, &init);
	assert_non_null(other);
	peer_connect(other, &(struct peer_conf){ 0 });
	mw = uroce_alloc_mw(peer.pd, IBV_MW_TYPE_2);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info =
		(struct ibv_mw_bind_info){ .mr = peer.mr,
					   .addr = (uintptr_t)peer.buffer,
					   .length = 64,
					   .mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
	/* the window is bound for this QP; the peer of the other QP uses the key */
	assert_int_equal(uroce_post_send(peer.qp, &wr, &bad), 0);
	peer_expect_nothing(&peer);
	RTE_SWAP(peer.qp, other);
	assert_int_equal(
		peer_in(&peer, (struct peer_packet[]){ write_packet(PEER_RQ_PSN, mw->rkey) }),
		UROCE_NAK_ACCESS);
	RTE_SWAP(peer.qp, other);
	/* invalidated and bound again: the first key opens nothing */
	wr = (struct ibv_send_wr){ .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = mw->rkey };
	assert_int_equal(uroce_post_send(peer.qp, &wr, &bad), 0);
	peer_expect_ack(&peer, UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR, PEER_RQ_PSN, 0);
	peer_expect_nothing(&peer);
	assert_int_equal(
		peer_in(&peer, (struct peer_packet[]){ write_packet(PEER_RQ_PSN, mw->rkey) }),
		UROCE_NAK_ACCESS);
	peer_expect_ack(&peer, UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR, PEER_RQ_PSN, 0);
	expect_untouched();
	assert_int_equal(uroce_destroy_qp(other), 0);
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	peer_stop(&peer);
}

UROCE_TESTS(hostile_keys)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_guess_on_rc),
		cmocka_unit_test(many_guesses_on_uc),
		cmocka_unit_test(some_mistakes_on_uc),
		cmocka_unit_test(a_key_that_it_had),
		cmocka_unit_test(a_key_of_another_domain),
		cmocka_unit_test(what_lies_beside),
		cmocka_unit_test(rights_that_it_has_not),
		cmocka_unit_test(a_window_that_was_taken_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
