/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * share_memory, and a queue pair that fails: no peer takes the later bytes of a buffer for those of a message.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/mman.h>

#include <rte_ethdev.h>

#include "cmocka_compat.h"
#include "eal.h"
#include "groups.h"
#include "memif_pair.h"
#include "port/worker/worker.h"

static void
fail_qp(struct end *e)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	assert_int_equal(uroce_modify_qp(e->qp, &attr, IBV_QP_STATE), 0);
}

static void
reset_qp(struct end *e)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	assert_int_equal(uroce_modify_qp(e->qp, &attr, IBV_QP_STATE), 0);
}

/* The QP fails, or is reset, and the application uses the buffer for other bytes. The peer does not take them for those
 * of the message. */
static void
check_revoked(enum ibv_wr_opcode opcode, void (*end_qp)(struct end *e))
{
	struct end *a = &memif_pair.net.ends[0], *b = &memif_pair.net.ends[1];
	struct ibv_sge sge;
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct memif_waiting w;
	struct ibv_wc wc;

	memif_pair_open((const bool[2]){ true, true }, true);
	memif_pair_show();
	net_run_operations(&memif_pair.net);
	sge = (struct ibv_sge){ (uintptr_t)b->buffer, END_BYTES, b->mr->lkey };
	assert_int_equal(uroce_post_recv(b->qp, &recv, &bad), 0);
	w = memif_pair_send_unheard(opcode);
	end_qp(a);
	end_fill(a, 77);
	memset(b->buffer, 0, 4096);
	assert_int_equal(test_counter(b->context, "drop_revoked"), 0);
	memif_pair_hear(&w);
	test_poll(memif_pair.net.workers, 1, 3);
	assert_int_equal(test_counter(b->context, "drop_revoked"), 1);
	assert_int_equal(b->buffer[4095], 0); /* it may poll its memory */
	assert_int_equal(uroce_poll_cq(b->cq, 1, &wc), 0);
	assert_int_equal(uroce_mr_inflight((struct uroce_mr *)a->mr), 0);
	memif_pair_close();
}

static void
test_revoked(void **state)
{
	check_revoked(IBV_WR_SEND, fail_qp);
	check_revoked(IBV_WR_RDMA_WRITE, fail_qp);
	check_revoked(IBV_WR_SEND, reset_qp);
}

/* Another QP goes, which has sent nothing: the frame stays valid. */
static void
test_other_destroyed(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UD };

	for (unsigned int i = 0; i < RTE_DIM(types); i++) {
		struct memif_waiting w = memif_pair_open_unheard();
		struct end *a = &memif_pair.net.ends[0];
		struct ibv_qp_init_attr attr = {
			.qp_type = types[i], .send_cq = a->cq, .recv_cq = a->cq,
			.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		};
		struct ibv_qp *idle = uroce_create_qp(a->pd, &attr);

		assert_non_null(idle);
		assert_int_equal(uroce_destroy_qp(idle), 0);
		assert_int_equal(w.desc->flags, MEMIF_DESC_NO_ICRC | MEMIF_DESC_REFERENCE);
		memif_pair_hear(&w);
		assert_int_equal(test_counter(memif_pair.net.ends[1].context, "drop_revoked"), 0);
		net_expect_ok(&memif_pair.net, a, IBV_WC_RDMA_WRITE);
		memif_pair_close();
	}
}

/* A request fails after its first packets have been built: they must not leave with the memory's later bytes. */
static void
test_revoked_in_burst(void **state)
{
	struct uroce_memif_tx *tx;
	struct end *a = &memif_pair.net.ends[0], *b = &memif_pair.net.ends[1];
	struct ibv_sge sge[2];
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 2, .opcode = IBV_WR_RDMA_WRITE }, *bad;
	struct ibv_wc wc;

	memif_pair_open((const bool[2]){ true, true }, true);
	memif_pair_show();
	net_run_operations(&memif_pair.net);
	sge[0] = (struct ibv_sge){ (uintptr_t)a->buffer, 4096, a->mr->lkey };
	sge[1] = (struct ibv_sge){ (uintptr_t)a->buffer, 4096, a->mr->lkey + 1 };
	wr.wr.rdma.remote_addr = (uintptr_t)b->buffer;
	wr.wr.rdma.rkey = b->mr->rkey;
	tx = &memif_pair.ports[0]->memif->tx[0];
	memif_pair_set_deaf(true);
	memset(b->buffer, 0, 4096);
	assert_int_equal(uroce_post_send(a->qp, &wr, &bad), 0);
	test_poll(memif_pair.net.workers, 1, 3);
	assert_int_equal(uroce_poll_cq(a->cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_LOC_PROT_ERR);
	for (uint32_t i = tx->nb_freed; i != tx->nb_held; i++)
		assert_true((tx->ring.ring->slots[tx->held[i % UROCE_MEMIF_HELD].slot % tx->ring.slots].flags &
			     MEMIF_DESC_REVOKED) != 0);
	memif_pair_close();
}

static void
post_recv(struct end *e)
{
	struct ibv_sge sge = { (uintptr_t)e->buffer, END_BYTES, e->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(uroce_post_recv(e->qp, &recv, &bad), 0);
}

static struct ibv_mw *
bind_window(struct end *e, struct ibv_mr *mr)
{
	struct ibv_mw *mw = uroce_alloc_mw(e->pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED }, *bad;

	assert_non_null(mw);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = mw->rkey + 1;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = mr, .addr = (uintptr_t)e->buffer, .length = 64, .mw_access_flags = IBV_ACCESS_REMOTE_READ,
	};
	assert_int_equal(uroce_post_send(e->qp, &wr, &bad), 0);
	net_expect_ok(&memif_pair.net, e, IBV_WC_BIND_MW);
	mw->rkey = wr.bind_mw.rkey;
	return mw;
}

/* A SEND with invalidate that is revoked, and sent again, is executed once. */
static void
test_revoked_invalidate(void **state)
{
	struct end *a = &memif_pair.net.ends[0], *b = &memif_pair.net.ends[1];
	struct ibv_send_wr wr = {
		.num_sge = 1, .opcode = IBV_WR_SEND_WITH_INV, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_sge sge;
	struct ibv_mr *mr;
	struct ibv_mw *mw;

	memif_pair_open((const bool[2]){ true, true }, true);
	memif_pair_show();
	net_run_operations(&memif_pair.net);
	mr = uroce_reg_mr(b->pd, b->buffer, END_BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	assert_non_null(mr);
	mw = bind_window(b, mr);
	post_recv(b);
	sge = (struct ibv_sge){ (uintptr_t)a->buffer, 4096, a->mr->lkey };
	wr.sg_list = &sge;
	wr.invalidate_rkey = mw->rkey;
	memif_pair_set_deaf(true);
	assert_int_equal(uroce_post_send(a->qp, &wr, &bad), 0);
	test_poll(memif_pair.net.workers, 1, 3);
	uroce_memif_revoke(memif_pair.ports[0]->memif, 0, 0, UROCE_MEMIF_ALL_QPS);
	memif_pair_set_deaf(false);
	net_expect_ok(&memif_pair.net, a, IBV_WC_SEND);
	net_expect_ok(&memif_pair.net, b, IBV_WC_RECV);
	assert_int_equal(test_counter(b->context, "drop_revoked"), 1);
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	memif_pair_close();
}

/* A frame between two devices of the process waits in a worker's inbox when its QP fails: its ICRC protects it. */
static void
test_failed_in_inbox(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf) };
	struct end *a = &memif_pair.net.ends[0], *b = &memif_pair.net.ends[1];
	struct ibv_wc wc;

	net_open(&memif_pair.net, &conf, 2, "10.0.0.1/24", "10.0.0.2/24");
	memif_pair_connect((const bool[2]){ false, false }, true);
	net_run_operations(&memif_pair.net);
	post_recv(b);
	end_post(a, IBV_WR_SEND, b, 4096, 0);
	test_poll(memif_pair.net.workers, 1, 3);
	fail_qp(a);
	end_fill(a, 77);
	test_poll(&memif_pair.net.workers[1], 1, 3);
	assert_int_equal(uroce_poll_cq(b->cq, 1, &wc), 0);
	memif_pair_close();
}

/* As memif_pair_open(), but device 0 has a second worker. */
static void
open_wide(void)
{
	struct net *net = &memif_pair.net;

	memset(net, 0, sizeof(*net));
	test_rings_create_funnel(&net->wire[0], &net->wire[1]);
	net_create_workers(net, 2);
	for (unsigned int i = 0; i < 2; i++) {
		const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };
		struct ibv_context *context = uroce_open_port(net->wire[i].port_id, &conf, net->workers, 2 - i);

		assert_non_null(context);
		assert_int_equal(uroce_add_address(context, i == 0 ? "10.0.0.1/24" : "10.0.0.2/24"), 0);
		end_open(&net->ends[i], context, END_MEMORY_DPDK);
	}
	net_connect(net);
	memif_pair_connect((const bool[2]){ true, true }, true);
	memif_pair_show();
	net_run_operations(net);
}

static void
close_wide(void)
{
	uroce_memif_detach(memif_pair.ports[0]);
	for (unsigned int i = 0; i < 2; i++)
		end_close(&memif_pair.net.ends[i]);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_close_device(memif_pair.net.ends[i].context), 0);
	net_destroy_workers(&memif_pair.net);
	rte_eth_dev_close(memif_pair.net.wire[1].port_id);
	test_rings_destroy(&memif_pair.net.wire[0]);
	memif_pair_disconnect();
}

/* The QP moves to another worker, and fails there. */
static void
test_revoked_after_move(void **state)
{
	struct end *a = &memif_pair.net.ends[0], *b = &memif_pair.net.ends[1];
	struct memif_waiting w;

	open_wide();
	w = memif_pair_send_unheard(IBV_WR_RDMA_WRITE);
	assert_int_equal(uroce_qp_move(a->qp, memif_pair.net.workers[1]), 0);
	fail_qp(a);
	memset(a->buffer, 77, 4096);
	memif_pair_hear(&w);
	assert_int_equal(test_counter(b->context, "drop_revoked"), 1);
	close_wide();
}

/* A frame that must be kept, for another worker or until earlier ones arrive, is revoked while it is copied. */
static void
test_revoked_while_kept(void **state)
{
	struct memif_waiting w = memif_pair_open_unheard();
	struct uroce_memif *memif = memif_pair.ports[1]->memif;
	struct rte_mbuf *frames[UROCE_BURST];
	struct uroce_packet p, kept;

	memif_pair_set_deaf(false);
	assert_int_equal(uroce_memif_receive(memif, 0, memif_pair.ports[1]->queues[0].pool, frames), 1);
	p = (struct uroce_packet){
		.mbuf = frames[0], .bth = rte_pktmbuf_mtod(frames[0], void *),
		.src_ip = rte_pktmbuf_mtod(frames[0], void *), .dst_ip = rte_pktmbuf_mtod(frames[0], void *),
	};
	assert_int_equal(uroce_packet_keep(&p, &kept), 0);
	assert_false(uroce_mbuf_is_revoked(kept.mbuf));
	rte_pktmbuf_free(kept.mbuf);
	fail_qp(&memif_pair.net.ends[0]);
	assert_true((w.desc->flags & MEMIF_DESC_REVOKED) != 0);
	assert_int_equal(uroce_packet_keep(&p, &kept), -ENOBUFS);
	uroce_memif_release(memif, 0);
	memif_pair_close();
}

/* The connection ends: the frame is free. */
static void
test_held_at_end(void **state)
{
	const struct memif_desc *desc = memif_pair_open_unheard().desc;

	/* the test's own view of it: ring 0 is device 0's */
	desc = &((const struct memif_ring *)memif_pair.at)->slots[desc - memif_pair.ports[0]->memif->tx[0].ring.ring->slots];
	uroce_memif_detach(memif_pair.ports[0]);
	assert_true((desc->flags & MEMIF_DESC_REVOKED) != 0); /* the peer may learn of the end later */
	assert_int_equal(uroce_mr_inflight((struct uroce_mr *)memif_pair.net.ends[0].mr), 0);
	memif_pair_close();
}

/* A frame that waits, since the ring takes none, does not need the application's memory any more. */
static void
test_unmapped(void **state)
{
	const size_t bytes = 2 * 4096;
	uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uroce_memif_ring *r;
	struct end *a = &memif_pair.net.ends[0], *b = &memif_pair.net.ends[1];
	struct ibv_sge sge = { .addr = (uintptr_t)memory, .length = (uint32_t)bytes };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_mr *mr;

	assert_ptr_not_equal(memory, MAP_FAILED);
	memif_pair_open((const bool[2]){ false, false }, true);
	net_run_operations(&memif_pair.net);
	memset(memory, 7, bytes);
	mr = uroce_reg_mr(b->pd, memory, bytes, 0);
	assert_non_null(mr);
	sge.lkey = mr->lkey;
	wr.wr.rdma.remote_addr = (uintptr_t)a->buffer;
	wr.wr.rdma.rkey = a->mr->rkey;
	r = &memif_pair.ports[1]->memif->tx[0].ring;
	r->is_broken = true; /* takes no frame */
	assert_int_equal(uroce_post_send(b->qp, &wr, &bad), 0);
	test_poll(memif_pair.net.workers, 1, 3);
	assert_int_equal(mprotect(memory, bytes, PROT_NONE), 0);
	r->is_broken = false;
	net_expect_ok(&memif_pair.net, b, IBV_WC_RDMA_WRITE);
	for (size_t i = 0; i < bytes; i++)
		assert_int_equal(a->buffer[i], 7);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	munmap(memory, bytes);
	memif_pair_close();
}

UROCE_TESTS(port_memif_revoke)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_revoked),		   cmocka_unit_test(test_revoked_while_kept),
		cmocka_unit_test(test_other_destroyed),	   cmocka_unit_test(test_revoked_in_burst),
		cmocka_unit_test(test_revoked_after_move), cmocka_unit_test(test_revoked_invalidate),
		cmocka_unit_test(test_failed_in_inbox),	   cmocka_unit_test(test_held_at_end),
		cmocka_unit_test(test_unmapped),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
