/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Memory windows: binds and invalidations among other work requests (R48), a peer's access by a window's rkey, and SEND
 * with invalidate from both ends (R33).
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <rte_malloc.h>

#include "base/rcu.h"
#include "groups.h"
#include "peer.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "wire/headers.h"

#define UNLIMITED (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)
#define NAK(code) (UROCE_AETH_NAK | (code))
#define RIGHTS (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

static uint8_t pattern[4096];

static void
post(struct peer *p, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad;

	wr.send_flags |= IBV_SEND_SIGNALED;
	assert_int_equal(uroce_post_send(p->qp, &wr, &bad), 0);
}

static void
post_bind(struct peer *p, struct ibv_mw *mw, uint32_t offset, uint64_t length, unsigned int access, uint64_t wr_id)
{
	post(p, (struct ibv_send_wr){
		.wr_id = wr_id, .opcode = IBV_WR_BIND_MW,
		.bind_mw = { .mw = mw, .rkey = ibv_inc_rkey(mw->rkey),
			     .bind_info = { .mr = p->mr, .addr = (uintptr_t)p->buffer + offset, .length = length,
					    .mw_access_flags = access } } });
}

static void
post_inv(struct peer *p, uint32_t rkey, uint64_t wr_id, unsigned int flags)
{
	post(p, (struct ibv_send_wr){ .wr_id = wr_id, .opcode = IBV_WR_LOCAL_INV, .send_flags = flags,
				      .invalidate_rkey = rkey });
}

static struct ibv_mw *
bound_window(struct peer *p, uint32_t offset, uint64_t length)
{
	struct ibv_mw *mw = uroce_alloc_mw(p->pd, IBV_MW_TYPE_2);

	assert_non_null(mw);
	post_bind(p, mw, offset, length, RIGHTS, 1000);
	peer_expect_nothing(p);
	assert_int_equal(peer_expect_wc(p->send_cq, IBV_WC_SUCCESS, 1000).opcode, IBV_WC_BIND_MW);
	return mw;
}

static struct peer_packet
write_to(uint32_t psn, uint32_t rkey, uint64_t va, uint32_t length)
{
	return (struct peer_packet){ .opcode = UROCE_RC_WRITE_ONLY, .psn = psn, .ack_req = true, .rkey = rkey,
				     .va = va, .dma_len = length, .payload = pattern, .payload_bytes = length };
}

static struct peer_packet
ack_of(uint32_t psn, uint32_t msn)
{
	return (struct peer_packet){ .opcode = UROCE_RC_ACKNOWLEDGE, .psn = psn, .msn = msn, .syndrome = UNLIMITED };
}

static void
a_peer_uses_a_window(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	struct ibv_mw *mw = bound_window(&p, 1000, 64);
	struct peer_packet in = write_to(PEER_RQ_PSN, mw->rkey, (uintptr_t)p.buffer + 1010, 54);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_memory_equal(p.buffer + 1010, pattern, 54);
	peer_expect_ack(&p, UNLIMITED, PEER_RQ_PSN, 1);
	in = (struct peer_packet){ .opcode = UROCE_RC_READ_REQUEST, .psn = PEER_RQ_PSN + 1, .rkey = mw->rkey,
				   .va = (uintptr_t)p.buffer + 1000, .dma_len = 64 };
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	struct peer_packet out = peer_expect(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_RQ_PSN + 1);
	assert_memory_equal(out.bytes, p.buffer + 1000, 64);
	/* without the right to atomics */
	in = (struct peer_packet){ .opcode = UROCE_RC_FETCH_ADD, .psn = PEER_RQ_PSN + 2, .rkey = mw->rkey,
				   .va = (uintptr_t)p.buffer + 1008 };
	assert_int_equal(peer_in(&p, &in), UROCE_NAK_ACCESS);
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	peer_stop(&p);
}

static void
a_peer_beyond_a_window(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	struct ibv_mw *mw = bound_window(&p, 1000, 64);
	struct peer_packet in = write_to(PEER_RQ_PSN, mw->rkey, (uintptr_t)p.buffer + 1010, 55);
	assert_int_equal(peer_in(&p, &in), UROCE_NAK_ACCESS);
	peer_expect_ack(&p, NAK(UROCE_NAK_REMOTE_ACCESS_ERROR), PEER_RQ_PSN, 0);
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	peer_stop(&p);
}

/* R47: a frame of a READ may reference a stable region's memory long after the window is gone. A READ by a window's
 * key is copied. */
static void
r47_a_read_in_flight_holds_the_region(void **state)
{
	const struct peer_conf conf = { .mtu = IBV_MTU_4096 };
	struct peer p;
	struct rte_mbuf *m;

	(void)state;
	peer_start(&p, &conf);
	uint8_t *memory = rte_malloc(NULL, 4096, 4096);
	struct ibv_mr *mr = uroce_reg_mr(p.pd, memory, 4096, IBV_ACCESS_MW_BIND | IBV_ACCESS_REMOTE_READ |
							     UROCE_ACCESS_STABLE);
	struct ibv_mw *mw = uroce_alloc_mw(p.pd, IBV_MW_TYPE_2);
	post(&p, (struct ibv_send_wr){
		.opcode = IBV_WR_BIND_MW, .bind_mw = { .mw = mw, .bind_info = {
			.mr = mr, .addr = (uintptr_t)memory, .length = 4096,
			.mw_access_flags = IBV_ACCESS_REMOTE_READ } } });
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 0);
	struct peer_packet in = { .opcode = UROCE_RC_READ_REQUEST, .psn = PEER_RQ_PSN, .rkey = mw->rkey,
				  .va = (uintptr_t)memory, .dma_len = UROCE_ZERO_COPY_BYTES };
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_RQ_PSN);
	assert_int_equal(uroce_mr_inflight((struct uroce_mr *)mr), 0);
	in.psn++;
	in.rkey = mr->rkey;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(uroce_engine_send(&p.engine, &m, 1, p.now_ns), 1);
	assert_true(m->nb_segs > 1);
	assert_int_equal(uroce_mr_inflight((struct uroce_mr *)mr), 1);
	assert_int_equal(uroce_dereg_mr(mr), EBUSY);
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	assert_int_equal(uroce_mr_inflight((struct uroce_mr *)mr), 1);
	rte_pktmbuf_free(m);
	assert_int_equal(uroce_mr_inflight((struct uroce_mr *)mr), 0);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	rte_free(memory);
	peer_stop(&p);
}

/* R27: the network has duplicated a READ whose memory is gone: that is no reason to end the QP. A READ that was not
 * answered yet is refused. */
static void
r27_a_late_duplicate_of_a_read(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	struct ibv_mw *mw = bound_window(&p, 0, 64);
	struct peer_packet in = { .opcode = UROCE_RC_READ_REQUEST, .psn = PEER_RQ_PSN, .rkey = mw->rkey,
				  .va = (uintptr_t)p.buffer, .dma_len = 64 };
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_RQ_PSN);
	post_inv(&p, mw->rkey, 1, 0);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
	peer_expect_ack(&p, NAK(UROCE_NAK_REMOTE_ACCESS_ERROR), PEER_RQ_PSN, 1);
	peer_expect_nothing(&p);
	post_bind(&p, mw, 0, 64, RIGHTS, 2);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 2);
	in.psn++;
	in.rkey = mw->rkey;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	peer_expect_ack(&p, NAK(UROCE_NAK_REMOTE_ACCESS_ERROR), PEER_RQ_PSN + 1, 2);
	peer_stop(&p);
}

/* Local requests complete in order, after all requests before them; retransmissions do not execute them again. */
static void
local_requests_complete_in_order(void **state)
{
	const struct peer_conf conf = { .go_back_n = true };
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	struct ibv_mw *mw = uroce_alloc_mw(p.pd, IBV_MW_TYPE_2);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 1, 0);
	post_bind(&p, mw, 0, 4096, RIGHTS, 2);
	post_inv(&p, mw->rkey, 3, 0);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 4, 0);
	post_bind(&p, mw, 0, 4096, RIGHTS, 5);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + 1);
	peer_expect_nothing(&p);
	/* bound, but not complete */
	struct peer_packet in = write_to(PEER_RQ_PSN, mw->rkey, (uintptr_t)p.buffer, 8);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_ack(&p, UNLIMITED, PEER_RQ_PSN, 1);
	peer_expect_no_wc(p.send_cq);
	/* all packets are lost and retransmitted: the bind is not repeated */
	while (!peer_out(&p, &in))
		peer_wait(&p);
	assert_int_equal(in.psn, PEER_SQ_PSN);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + 1);
	peer_expect_nothing(&p);
	struct peer_packet ack = ack_of(PEER_SQ_PSN, 1);
	assert_int_equal(peer_in(&p, &ack), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	assert_int_equal(peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 2).opcode, IBV_WC_BIND_MW);
	assert_int_equal(peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 3).opcode, IBV_WC_LOCAL_INV);
	peer_expect_no_wc(p.send_cq);
	ack = ack_of(PEER_SQ_PSN + 1, 2);
	assert_int_equal(peer_in(&p, &ack), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 4);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 5);
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	peer_stop(&p);
}

/* Behind a READ, local requests complete with its response; a fenced one does not start before. */
static void
local_requests_behind_a_read(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	struct ibv_mw *mw = bound_window(&p, 0, 64);
	peer_post(&p, IBV_WR_RDMA_READ, 0, 8, 1, 0);
	post_inv(&p, mw->rkey, 2, IBV_SEND_FENCE);
	peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN);
	peer_expect_nothing(&p);
	struct peer_packet in = write_to(PEER_RQ_PSN, mw->rkey, (uintptr_t)p.buffer, 8);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);	/* the window is still valid */
	peer_expect_ack(&p, UNLIMITED, PEER_RQ_PSN, 1);
	struct peer_packet response = { .opcode = UROCE_RC_READ_RESPONSE_ONLY, .psn = PEER_SQ_PSN, .msn = 1,
					.syndrome = UNLIMITED, .payload_bytes = 8 };
	assert_int_equal(peer_in(&p, &response), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 2);
	in = write_to(PEER_RQ_PSN + 1, mw->rkey, (uintptr_t)p.buffer, 8);
	assert_int_equal(peer_in(&p, &in), UROCE_NAK_ACCESS);
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	peer_stop(&p);
}

/* A refused bind fails after all requests before it, and flushes those behind it (R41). */
static void
a_bind_that_is_refused(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	struct ibv_mw *mw = uroce_alloc_mw(p.pd, IBV_MW_TYPE_2);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 1, 0);
	post_bind(&p, mw, 0, PEER_BUFFER_BYTES + 1, RIGHTS, 2);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 3, 0);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN);
	peer_expect_nothing(&p);
	peer_expect_no_wc(p.send_cq);
	struct peer_packet ack = ack_of(PEER_SQ_PSN, 1);
	assert_int_equal(peer_in(&p, &ack), UROCE_OK);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	assert_int_equal(peer_expect_wc(p.send_cq, IBV_WC_MW_BIND_ERR, 2).opcode, IBV_WC_BIND_MW);
	peer_expect_wc(p.send_cq, IBV_WC_WR_FLUSH_ERR, 3);
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	peer_stop(&p);
}

/* R33: a region cannot be invalidated, with or without windows. */
static void
r33_invalidating_a_region_is_refused(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	struct ibv_mw *mw = bound_window(&p, 0, 64);
	post_inv(&p, p.mr->rkey, 1, 0);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_MW_BIND_ERR, 1);
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	peer_stop(&p);
}

static void
type_1_by_its_own_call(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	struct ibv_mw *mw = uroce_alloc_mw(p.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .wr_id = 7, .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { .mr = p.mr, .addr = (uintptr_t)p.buffer, .length = 64,
						   .mw_access_flags = RIGHTS } };
	uint32_t before = mw->rkey;
	assert_int_equal(uroce_bind_mw(p.qp, mw, &bind), 0);
	assert_int_not_equal(mw->rkey, before);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 7);
	struct peer_packet in = write_to(PEER_RQ_PSN, mw->rkey, (uintptr_t)p.buffer, 8);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_ack(&p, UNLIMITED, PEER_RQ_PSN, 1);
	/* unbound by length 0 */
	bind.bind_info = (struct ibv_mw_bind_info){ .mr = NULL };
	before = mw->rkey;
	assert_int_equal(uroce_bind_mw(p.qp, mw, &bind), 0);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 7);
	in = write_to(PEER_RQ_PSN + 1, before, (uintptr_t)p.buffer, 8);
	assert_int_equal(peer_in(&p, &in), UROCE_NAK_ACCESS);
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	peer_stop(&p);
}

/* Another worker begins and ends a poll, in which it may look up keys and place payloads. */
#define OTHER_WORKER 5

static void
other_worker_begins(void)
{
	assert_int_equal(uroce_rcu_register(OTHER_WORKER), 0);
	uroce_rcu_begin_read(OTHER_WORKER);
}

static void
other_worker_ends(void)
{
	uroce_rcu_end_read(OTHER_WORKER);
	assert_int_equal(uroce_rcu_unregister(OTHER_WORKER), 0);
}

/* Another QP with the same CQs and memory. */
static struct ibv_qp *
second_qp(const struct peer *p, const struct peer_conf *conf)
{
	struct ibv_qp_init_attr init = {
		.send_cq = p->send_cq, .recv_cq = p->recv_cq, .qp_type = conf->type != 0 ? conf->type : IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = uroce_create_qp(p->pd, &init);

	assert_non_null(qp);
	peer_connect(qp, conf);
	return qp;
}

/* Two QPs, RC or UC: the window is bound to the first; the test posts to the second. */
struct two {
	struct peer p;
	struct ibv_qp *first;
	struct ibv_qp *second;
	struct ibv_mw *mw;
};

static void
two_start(struct two *t, enum ibv_qp_type type)
{
	const struct peer_conf conf = { .type = type };

	peer_start(&t->p, &conf);
	t->mw = bound_window(&t->p, 0, 64);
	t->first = t->p.qp;
	t->second = t->p.qp = second_qp(&t->p, &conf);
}

static void
two_stop(struct two *t)
{
	if (t->second != NULL)
		assert_int_equal(uroce_destroy_qp(t->second), 0);
	assert_int_equal(uroce_dealloc_mw(t->mw), 0);
	t->p.qp = t->first;
	peer_stop(&t->p);
}

/* The key is dead, but the request is not complete: its worker goes on polling. */
static void
expect_to_wait(struct peer *p, const struct ibv_mw *mw, uint32_t rkey, struct ibv_qp *bound_to)
{
	for (int i = 0; i < 3; i++) {
		peer_expect_nothing(p);
		assert_null(uroce_key_lookup_whole(&p->dev.mrs, rkey, mw->pd, &uroce_qp_of(bound_to)->windows,
						   IBV_ACCESS_REMOTE_READ));
		peer_expect_no_wc(p->send_cq);
		assert_int_equal(uroce_engine_deadline(&p->engine), p->now_ns);
	}
}

/* The worker of a window's QP may be placing a payload by the window's key. An invalidation by another QP completes
 * when that worker's poll has ended; the requests behind it start then. */
static void
an_invalidation_waits_for_other_workers(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC };

	(void)state;
	for (size_t i = 0; i < RTE_DIM(types); i++) {
		struct two t;

		two_start(&t, types[i]);
		other_worker_begins();
		post_inv(&t.p, t.mw->rkey, 1, 0);
		peer_post(&t.p, IBV_WR_RDMA_WRITE, 0, 8, 2, 0);
		expect_to_wait(&t.p, t.mw, t.mw->rkey, t.first);
		other_worker_ends();
		peer_expect(&t.p, types[i] == IBV_QPT_RC ? UROCE_RC_WRITE_ONLY : UROCE_UC_SEND_FIRST + UROCE_RC_WRITE_ONLY,
			    PEER_SQ_PSN);
		assert_int_equal(peer_expect_wc(t.p.send_cq, IBV_WC_SUCCESS, 1).opcode, IBV_WC_LOCAL_INV);
		if (types[i] == IBV_QPT_UC)
			peer_expect_wc(t.p.send_cq, IBV_WC_SUCCESS, 2);
		peer_expect_no_wc(t.p.send_cq);
		two_stop(&t);
	}
}

/* Polls that begin later do not delay the invalidation: they cannot find the key. */
static void
an_invalidation_waits_for_no_later_poll(void **state)
{
	struct two t;

	(void)state;
	two_start(&t, IBV_QPT_RC);
	other_worker_begins();
	post_inv(&t.p, t.mw->rkey, 1, 0);
	expect_to_wait(&t.p, t.mw, t.mw->rkey, t.first);
	uroce_rcu_end_read(OTHER_WORKER);
	uroce_rcu_begin_read(OTHER_WORKER);
	peer_expect_nothing(&t.p);
	peer_expect_wc(t.p.send_cq, IBV_WC_SUCCESS, 1);
	other_worker_ends();
	two_stop(&t);
}

/* A window of this QP is used by packets of this QP only, which this worker receives: no other worker places
 * payloads by its key. */
static void
an_invalidation_on_its_own_qp_waits_for_nobody(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	struct ibv_mw *mw = bound_window(&p, 0, 64);
	other_worker_begins();
	post_inv(&p, mw->rkey, 1, 0);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	other_worker_ends();
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	peer_stop(&p);
}

/* Any QP of the domain may use a type 1 window: binding it again, or to nothing, must wait for other workers. */
static void
binding_type_1_again_waits_for_other_workers(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	struct ibv_mw *mw = uroce_alloc_mw(p.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { .mr = p.mr, .addr = (uintptr_t)p.buffer, .length = 64,
						   .mw_access_flags = RIGHTS } };
	other_worker_begins();
	assert_int_equal(uroce_bind_mw(p.qp, mw, &bind), 0);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 0);
	for (uint64_t i = 1; i <= 2; i++) {
		const uint32_t rkey = mw->rkey;

		bind.wr_id = i;
		if (i == 2)
			bind.bind_info = (struct ibv_mw_bind_info){ .mr = NULL };
		assert_int_equal(uroce_bind_mw(p.qp, mw, &bind), 0);
		expect_to_wait(&p, mw, rkey, p.qp);
		other_worker_ends();
		peer_expect_nothing(&p);
		peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, i);
		other_worker_begins();
	}
	/* unbound: no key must be withdrawn */
	assert_int_equal(uroce_bind_mw(p.qp, mw, &bind), 0);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 2);
	other_worker_ends();
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	peer_stop(&p);
}

/* A QP is reset while its invalidation waits. */
static void
a_qp_ends_with_an_invalidation(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	(void)state;
	for (size_t i = 0; i < RTE_DIM(types); i++) {
		const struct peer_conf conf = { .type = types[i] };
		struct two t;

		two_start(&t, types[i]);
		other_worker_begins();
		post_inv(&t.p, t.mw->rkey, 1, 0);
		expect_to_wait(&t.p, t.mw, t.mw->rkey, t.first);
		assert_int_equal(uroce_modify_qp(t.second, &attr, IBV_QP_STATE), 0);
		peer_expect_wc(t.p.send_cq, IBV_WC_WR_FLUSH_ERR, 1);
		attr.qp_state = IBV_QPS_RESET;
		assert_int_equal(uroce_modify_qp(t.second, &attr, IBV_QP_STATE), 0);
		peer_expect_nothing(&t.p);
		/* after the reset, the key does not exist */
		peer_connect(t.second, &conf);
		post_inv(&t.p, t.mw->rkey, 2, 0);
		peer_expect_nothing(&t.p);
		peer_expect_wc(t.p.send_cq, IBV_WC_MW_BIND_ERR, 2);
		other_worker_ends();
		two_stop(&t);
		attr.qp_state = IBV_QPS_ERR;
	}
}

static void
a_qp_is_destroyed_with_an_invalidation(void **state)
{
	struct two t;

	(void)state;
	two_start(&t, IBV_QPT_RC);
	other_worker_begins();
	post_inv(&t.p, t.mw->rkey, 1, 0);
	expect_to_wait(&t.p, t.mw, t.mw->rkey, t.first);
	uroce_transport_ops.qp_detach(uroce_qp_of(t.second));
	peer_expect_nothing(&t.p);
	other_worker_ends();
	assert_int_equal(uroce_destroy_qp(t.second), 0);
	t.second = NULL;
	t.p.qp = t.first;
	peer_expect_nothing(&t.p);
	assert_int_equal(uroce_engine_deadline(&t.p.engine), UINT64_MAX);
	two_stop(&t);
}

/* The ACK may carry any credits. */
static void
expect_acked(struct peer *p, uint32_t psn, uint32_t msn)
{
	struct peer_packet out = peer_expect(p, UROCE_RC_ACKNOWLEDGE, psn);

	assert_int_equal(out.syndrome & UROCE_AETH_CLASS_MASK, UROCE_AETH_ACK);
	assert_int_equal(out.msn, msn);
}

static void
r33_send_with_invalidate_is_executed(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	struct ibv_mw *mw = bound_window(&p, 0, 64);
	peer_post_recv(&p, 4096, 64, 1);
	peer_post_recv(&p, 4096, 2048, 2);
	struct peer_packet in = { .opcode = UROCE_RC_SEND_ONLY_INV, .psn = PEER_RQ_PSN, .ack_req = true,
				  .payload = pattern, .payload_bytes = 16, .imm = mw->rkey };
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	struct ibv_wc wc = peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 1);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, mw->rkey);
	assert_int_equal(wc.byte_len, 16);
	assert_memory_equal(p.buffer + 4096, pattern, 16);
	expect_acked(&p, PEER_RQ_PSN, 1);
	/* a duplicate is acknowledged, but not executed, whichever state the window has */
	post_bind(&p, mw, 0, 64, RIGHTS, 3);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 3);
	in.imm = mw->rkey;
	assert_int_equal(peer_in(&p, &in), UROCE_DUPLICATE);
	expect_acked(&p, PEER_RQ_PSN, 1);
	/* a SEND of several packets, the last of which has the rkey */
	in = (struct peer_packet){ .opcode = UROCE_RC_SEND_FIRST, .psn = PEER_RQ_PSN + 1, .payload = pattern,
				   .payload_bytes = 1024 };
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	in = (struct peer_packet){ .opcode = UROCE_RC_SEND_LAST_INV, .psn = PEER_RQ_PSN + 2, .ack_req = true,
				   .payload = pattern, .payload_bytes = 1, .imm = mw->rkey };
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 2).invalidated_rkey, mw->rkey);
	expect_acked(&p, PEER_RQ_PSN + 2, 2);
	in = write_to(PEER_RQ_PSN + 3, mw->rkey, (uintptr_t)p.buffer, 8);
	assert_int_equal(peer_in(&p, &in), UROCE_NAK_ACCESS);
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	peer_stop(&p);
}

/* R33: the key of the region, of a type 1 window, of a window of another QP, and an unknown key. */
static void
r33_send_with_a_wrong_rkey(void **state)
{
	enum { REGION, TYPE_1, OTHER_QP, UNBOUND, ZERO, COUNT };

	(void)state;
	for (int wrong = 0; wrong < COUNT; wrong++) {
		struct peer p;

		peer_start(&p, NULL);
		struct ibv_mw *mw = uroce_alloc_mw(p.pd, wrong == TYPE_1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
		struct uroce_mw_owner other = { 0 };
		struct uroce_mw_bind b = {
			.mw = (struct uroce_mw *)mw, .lkey = p.mr->lkey, .addr = (uintptr_t)p.buffer, .length = 8,
			.access = RIGHTS, .pd = p.pd, .qp = &other,
			.rkey = uroce_mw_next_rkey((struct uroce_mw *)mw, 1),
		};
		if (wrong == TYPE_1 || wrong == OTHER_QP)
			assert_int_equal(uroce_mw_bind(&p.dev.mrs, &b), 0);
		peer_post_recv(&p, 4096, 64, 1);
		peer_post_recv(&p, 4096, 64, 2);
		struct peer_packet in = { .opcode = UROCE_RC_SEND_ONLY_INV, .psn = PEER_RQ_PSN, .ack_req = true,
					  .payload_bytes = 16,
					  .imm = wrong == REGION ? p.mr->rkey : wrong == ZERO ? 0 : b.rkey };
		assert_int_equal(peer_in(&p, &in), UROCE_NAK_INVALIDATE);
		peer_expect_ack(&p, NAK(UROCE_NAK_REMOTE_ACCESS_ERROR), PEER_RQ_PSN, 0);
		peer_expect_wc(p.recv_cq, IBV_WC_REM_INV_REQ_ERR, 1);
		peer_expect_wc(p.recv_cq, IBV_WC_WR_FLUSH_ERR, 2);
		assert_int_equal(uroce_dealloc_mw(mw), 0);
		peer_stop(&p);
	}
}

static void
send_with_invalidate_is_sent(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (unsigned int i = 0; i < 2; i++) {
		struct ibv_sge sge = { .addr = (uintptr_t)p.buffer, .length = i == 0 ? 8 : 1025, .lkey = p.mr->lkey };

		post(&p, (struct ibv_send_wr){ .opcode = IBV_WR_SEND_WITH_INV, .sg_list = &sge, .num_sge = 1,
					       .invalidate_rkey = 0x11223344 });
	}
	struct peer_packet out = peer_expect(&p, UROCE_RC_SEND_ONLY_INV, PEER_SQ_PSN);
	assert_int_equal(out.imm, 0x11223344);
	peer_expect(&p, UROCE_RC_SEND_FIRST, PEER_SQ_PSN + 1);
	out = peer_expect(&p, UROCE_RC_SEND_LAST_INV, PEER_SQ_PSN + 2);
	assert_int_equal(out.imm, 0x11223344);
	assert_int_equal(out.payload_bytes, 1);
	struct peer_packet ack = ack_of(PEER_SQ_PSN + 2, 2);
	assert_int_equal(peer_in(&p, &ack), UROCE_OK);
	assert_int_equal(peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 0).opcode, IBV_WC_SEND);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 0);
	peer_stop(&p);
}

UROCE_TESTS(window)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_uses_a_window),
		cmocka_unit_test(a_peer_beyond_a_window),
		cmocka_unit_test(r47_a_read_in_flight_holds_the_region),
		cmocka_unit_test(r27_a_late_duplicate_of_a_read),
		cmocka_unit_test(local_requests_complete_in_order),
		cmocka_unit_test(local_requests_behind_a_read),
		cmocka_unit_test(a_bind_that_is_refused),
		cmocka_unit_test(r33_invalidating_a_region_is_refused),
		cmocka_unit_test(type_1_by_its_own_call),
		cmocka_unit_test(an_invalidation_waits_for_other_workers),
		cmocka_unit_test(an_invalidation_waits_for_no_later_poll),
		cmocka_unit_test(an_invalidation_on_its_own_qp_waits_for_nobody),
		cmocka_unit_test(binding_type_1_again_waits_for_other_workers),
		cmocka_unit_test(a_qp_ends_with_an_invalidation),
		cmocka_unit_test(a_qp_is_destroyed_with_an_invalidation),
		cmocka_unit_test(r33_send_with_invalidate_is_executed),
		cmocka_unit_test(r33_send_with_a_wrong_rkey),
		cmocka_unit_test(send_with_invalidate_is_sent),
	};

	for (unsigned int i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 7 + 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
