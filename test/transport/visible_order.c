/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The order in which the engine writes the application's memory: for each kind of message, the last byte is written
 * last.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>

#include "groups.h"
#include "peer.h"
#include "store_order.h"
#include "uroce_config.h"

#define EMPTY 0xee
#define ALL_RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

static uint8_t pattern[4096];
static uint8_t *boundary;
static struct ibv_mr *mr;

/* Deliver `bytes` of a message, `below` of them before the boundary. */
typedef void (*bring)(struct peer *p, uint32_t bytes, uint32_t below);

static void
bring_write(struct peer *p, uint32_t bytes, uint32_t below)
{
	static uint32_t psn = PEER_RQ_PSN;
	struct peer_packet in = {
		.opcode = UROCE_RC_WRITE_ONLY, .psn = psn++, .rkey = mr->rkey, .va = (uintptr_t)boundary - below,
		.dma_len = bytes, .payload = pattern, .payload_bytes = bytes,
	};

	assert_int_equal(peer_in(p, &in), UROCE_OK);
}

/* Post a receive of three contiguous pieces. */
static void
post_pieces(struct peer *p, uint32_t bytes, uint32_t below)
{
	uint8_t *at = boundary - below;
	uint32_t a = bytes / 3, b = bytes / 2 - bytes / 3;
	struct ibv_sge sge[] = {
		{ (uintptr_t)at, a, mr->lkey },
		{ (uintptr_t)(at + a), b, mr->lkey },
		{ (uintptr_t)(at + a + b), bytes - a - b, mr->lkey },
	};
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = RTE_DIM(sge) }, *bad;

	assert_int_equal(uroce_post_recv(p->qp, &wr, &bad), 0);
}

static void
bring_send(struct peer *p, uint32_t bytes, uint32_t below)
{
	static uint32_t psn = PEER_RQ_PSN;
	struct peer_packet in = { .opcode = UROCE_RC_SEND_ONLY, .psn = psn++, .payload = pattern,
				  .payload_bytes = bytes };

	post_pieces(p, bytes, below);
	assert_int_equal(peer_in(p, &in), UROCE_OK);
	peer_expect_wc(p->recv_cq, IBV_WC_SUCCESS, 0);
}

static void
bring_datagram(struct peer *p, uint32_t bytes, uint32_t below)
{
	struct peer_packet in = { .opcode = UROCE_UD_SEND_ONLY, .payload = pattern, .payload_bytes = bytes - 40 };

	post_pieces(p, bytes, below);
	assert_int_equal(peer_in(p, &in), UROCE_OK);
	peer_expect_wc(p->recv_cq, IBV_WC_SUCCESS, 0);
}

static void
post(struct peer *p, enum ibv_wr_opcode opcode, uint32_t bytes, uint32_t below)
{
	struct ibv_sge sge = { (uintptr_t)boundary - below, bytes, mr->lkey };
	struct ibv_send_wr wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { 0x1000, 1 } }, *bad;
	struct peer_packet out;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		wr.wr.atomic.rkey = 1;
	assert_int_equal(uroce_post_send(p->qp, &wr, &bad), 0);
	assert_true(peer_out(p, &out));
}

static void
bring_response(struct peer *p, uint32_t bytes, uint32_t below)
{
	static uint32_t psn = PEER_SQ_PSN;
	struct peer_packet in = { .opcode = UROCE_RC_READ_RESPONSE_ONLY, .psn = psn++, .syndrome = 0x1f,
				  .payload = pattern, .payload_bytes = bytes };

	post(p, IBV_WR_RDMA_READ, bytes, below);
	assert_int_equal(peer_in(p, &in), UROCE_OK);
	peer_expect_wc(p->send_cq, IBV_WC_SUCCESS, 0);
}

static void
bring_atomic(struct peer *p, uint32_t bytes, uint32_t below)
{
	static uint32_t psn = PEER_SQ_PSN;
	struct peer_packet in = { .opcode = UROCE_RC_ATOMIC_ACKNOWLEDGE, .psn = psn++, .syndrome = 0x1f,
				  .original = 0x0102030405060708 };

	post(p, IBV_WR_ATOMIC_FETCH_AND_ADD, bytes, below);
	assert_int_equal(peer_in(p, &in), UROCE_OK);
	peer_expect_wc(p->send_cq, IBV_WC_SUCCESS, 0);
}

static void
check(struct peer *p, bring how, uint32_t bytes, uint32_t below)
{
	uint32_t seen;

	store_order_watch(EMPTY);
	how(p, bytes, below);
	seen = store_order_below();
	if (seen != below)
		fail_msg("%u bytes: when byte %u was written, only %u of those before it were", bytes, below, seen);
	assert_int_equal(boundary[-(ptrdiff_t)below - 1], EMPTY);
	assert_int_not_equal(boundary[bytes - below - 1], EMPTY);
	assert_int_equal(boundary[bytes - below], EMPTY);
}

static void
check_sizes(const struct peer_conf *conf, bring how, uint32_t least, uint32_t most)
{
	struct peer p;

	peer_start(&p, conf);
	boundary = store_order_init();
	mr = uroce_reg_mr(p.pd, boundary - STORE_ORDER_BYTES, 2 * STORE_ORDER_BYTES, ALL_RIGHTS);
	assert_non_null(mr);
	for (uint32_t bytes = least; bytes <= most; bytes += bytes < 300 ? 1 : 37) {
		check(&p, how, bytes, 1);
		check(&p, how, bytes, bytes / 2);
		check(&p, how, bytes, bytes - RTE_MIN(bytes / 2, 24u));
		check(&p, how, bytes, bytes - 1);
	}
	assert_int_equal(uroce_dereg_mr(mr), 0);
	store_order_fini();
	peer_stop(&p);
}

static const struct peer_conf rc = { .mtu = IBV_MTU_4096 }, ud = { .type = IBV_QPT_UD, .mtu = IBV_MTU_4096 };

static void
of_a_write(void **state)
{
	check_sizes(&rc, bring_write, 2, 4096);
}

static void
of_a_send_in_pieces(void **state)
{
	check_sizes(&rc, bring_send, 6, 4096);
}

static void
of_a_datagram_and_its_grh(void **state)
{
	check_sizes(&ud, bring_datagram, 41, 4096);
}

static void
of_a_read_response(void **state)
{
	check_sizes(&rc, bring_response, 2, 4096);
}

static void
of_what_an_atomic_brings(void **state)
{
	check_sizes(&rc, bring_atomic, 8, 8);
}

UROCE_TESTS(visible_order)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_write),		    cmocka_unit_test(of_a_send_in_pieces),
		cmocka_unit_test(of_a_datagram_and_its_grh), cmocka_unit_test(of_a_read_response),
		cmocka_unit_test(of_what_an_atomic_brings),
	};

	for (unsigned int i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i % 199);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
