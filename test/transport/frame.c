/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The mbufs of one packet: which bytes are copied, which memory is attached, and which references are held.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "peer.h"
#include "uroce_config.h"
#include "wire/psn.h"

#include <rte_malloc.h>

/* A payload of UROCE_ZERO_COPY_BYTES fits into a packet. */
static const struct peer_conf large_mtu = { .mtu = IBV_MTU_4096 };

/* The engine's next frame, unchanged. */
static struct rte_mbuf *
next_frame(struct peer *p)
{
	struct rte_mbuf *m;

	assert_int_equal(uroce_engine_send(&p->engine, &m, 1, p->now_ns), 1);
	rte_mbuf_sanity_check(m, 1);
	return m;
}

static void
post_from(struct peer *p, const struct ibv_mr *mr, uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(uroce_post_send(p->qp, &wr, &bad), 0);
}

static void
large_payloads_of_dpdk_memory_are_attached(void **state)
{
	uint8_t *memory;
	struct ibv_mr *mr;
	struct rte_mbuf *m;
	struct peer p;

	(void)state;
	peer_start(&p, &large_mtu);
	memory = rte_malloc(NULL, 8192, 64);
	mr = uroce_reg_mr(p.pd, memory, 8192, IBV_ACCESS_LOCAL_WRITE);
	post_from(&p, mr, (uintptr_t)memory + 1, UROCE_ZERO_COPY_BYTES);
	m = next_frame(&p);
	assert_int_equal(m->nb_segs, 3);
	assert_ptr_equal(rte_pktmbuf_mtod(m->next, void *), memory + 1);
	assert_int_equal(m->next->data_len, UROCE_ZERO_COPY_BYTES);
	assert_int_equal(m->next->next->data_len, 4);	/* ICRC */
	assert_int_equal(m->pkt_len, 14 + 20 + 8 + 12 + UROCE_ZERO_COPY_BYTES + 4);
	assert_int_equal(p.engine.counters[UROCE_ZERO_COPY_PACKETS], 1);
	rte_pktmbuf_free(m);
	/* below the threshold, the payload is copied into one mbuf of the header pool */
	post_from(&p, mr, (uintptr_t)memory, UROCE_TX_INLINE_BYTES);
	m = next_frame(&p);
	assert_int_equal(m->nb_segs, 1);
	assert_ptr_equal(m->pool, p.headers);
	rte_pktmbuf_free(m);
	post_from(&p, mr, (uintptr_t)memory, UROCE_ZERO_COPY_BYTES - 1);
	m = next_frame(&p);
	assert_int_equal(m->nb_segs, 1);
	assert_ptr_equal(m->pool, p.payloads);
	assert_int_equal(m->pkt_len, 14 + 20 + 8 + 12 + UROCE_ZERO_COPY_BYTES - 1 + 1 + 4);	/* pad */
	rte_pktmbuf_free(m);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	rte_free(memory);
	peer_stop(&p);
}

static void
ordinary_memory_is_copied(void **state)
{
	struct rte_mbuf *m;
	struct peer p;

	(void)state;
	peer_start(&p, &large_mtu);
	post_from(&p, p.mr, (uintptr_t)p.buffer, UROCE_ZERO_COPY_BYTES);
	m = next_frame(&p);
	assert_int_equal(m->nb_segs, 1);
	assert_int_equal(p.engine.counters[UROCE_ZERO_COPY_PACKETS], 0);
	assert_int_equal(m->port, p.dev.port_id);
	rte_pktmbuf_free(m);
	peer_stop(&p);
}

static void
many_pieces_are_copied(void **state)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .num_sge = UROCE_ZERO_COPY_SEGS + 1 }, *bad;
	struct ibv_sge sge[UROCE_ZERO_COPY_SEGS + 1];
	uint8_t *memory;
	struct ibv_mr *mr;
	struct rte_mbuf *m;
	struct peer p;

	(void)state;
	peer_start(&p, &large_mtu);
	memory = rte_malloc(NULL, 8192, 64);
	mr = uroce_reg_mr(p.pd, memory, 8192, IBV_ACCESS_LOCAL_WRITE);
	for (unsigned int i = 0; i < RTE_DIM(sge); i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)memory + 1000 * i, UROCE_ZERO_COPY_BYTES / RTE_DIM(sge) + 1,
					  mr->lkey };
	sge[0].length -= (uint32_t)(RTE_DIM(sge) * sge[0].length) - UROCE_ZERO_COPY_BYTES;
	wr.sg_list = sge;
	assert_int_equal(uroce_post_send(p.qp, &wr, &bad), 0);
	m = next_frame(&p);
	assert_int_equal(m->nb_segs, 1);
	assert_int_equal(rte_mempool_in_use_count(p.headers), 0);	/* the failed attempt leaked nothing */
	rte_pktmbuf_free(m);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	rte_free(memory);
	peer_stop(&p);
}

UROCE_TESTS(frame)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_payloads_of_dpdk_memory_are_attached),
		cmocka_unit_test(ordinary_memory_is_copied),
		cmocka_unit_test(many_pieces_are_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
