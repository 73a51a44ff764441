/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Posting (ibv_post_send(3), ibv_post_recv(3)): which requests are refused and when, lists with a bad entry, each field
 * of a WQE, rings that wrap, and several posters at once.
 */

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "cmocka_compat.h"
#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "eal.h"
#include "fixture.h"

#define SEND_WR 5
#define RECV_WR 3

static uint8_t data[4096];

static int
setup_rts(void **state)
{
	qp_setup(state);
	fake_qp_to(&qp->ibv, IBV_QPS_RTS);
	return 0;
}

static int
post_send(struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int ret = ibv_post_send(&qp->ibv, wr, &bad);

	assert_ptr_equal(bad, ret == 0 ? NULL : wr);
	return ret;
}

static int
post_recv(struct ibv_recv_wr *wr)
{
	struct ibv_recv_wr *bad = NULL;
	int ret = ibv_post_recv(&qp->ibv, wr, &bad);

	assert_ptr_equal(bad, ret == 0 ? NULL : wr);
	return ret;
}

static void
refused(struct ibv_send_wr wr)
{
	uint32_t tail = qp->sq.tail;
	unsigned int doorbells = fake.doorbells;

	assert_int_equal(post_send(&wr), EINVAL);
	assert_int_equal(qp->sq.tail, tail);
	assert_int_equal(fake.doorbells, doorbells);
}

/* The next WQE for the worker. */
static struct uroce_sqe *
take(void)
{
	assert_int_not_equal(qp->sq.head, qp->sq.tail);
	return uroce_sqe_at(&qp->sq, qp->sq.head++);
}

static void
test_states(void **state)
{
	static const struct {
		enum ibv_qp_state state;
		int send, recv;
		bool flush;	/* ring a doorbell for receives, too */
	} cases[] = {
		{ IBV_QPS_RESET, EINVAL, EINVAL, false },
		{ IBV_QPS_INIT, EINVAL, 0, false },
		{ IBV_QPS_RTR, EINVAL, 0, false },
		{ IBV_QPS_RTS, 0, 0, false },
		{ IBV_QPS_SQD, 0, 0, false },
		{ IBV_QPS_SQE, 0, 0, false },
		{ IBV_QPS_ERR, 0, 0, true },
	};
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = { .wr_id = 1 };

	for (size_t i = 0; i < RTE_DIM(cases); i++) {
		unsigned int doorbells = fake.doorbells;

		qp->state = cases[i].state;
		qp->sq.head = qp->sq.tail;
		qp->rq.head = qp->rq.tail;
		assert_int_equal(post_send(&send), cases[i].send);
		assert_int_equal(fake.doorbells - doorbells, cases[i].send == 0);
		doorbells = fake.doorbells;
		assert_int_equal(post_recv(&recv), cases[i].recv);
		assert_int_equal(fake.doorbells - doorbells, cases[i].flush);
	}
}

static void
test_send_refused(void **state)
{
	struct ibv_sge sge[UROCE_MAX_SGE] = { { .addr = (uintptr_t)data, .length = 8, .lkey = 1 } };
	const struct ibv_send_wr good = { .opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 1 };
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_TSO, IBV_WR_DRIVER1, 12, 13, 16, 1000, -1,
	};
	static const enum ibv_wr_opcode not_inline[] = {
		IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct ibv_send_wr bad;

	for (size_t i = 0; i < RTE_DIM(opcodes); i++) {
		bad = good;
		bad.opcode = opcodes[i];
		refused(bad);
	}
	bad = good;
	bad.send_flags = IBV_SEND_IP_CSUM;
	refused(bad);
	bad.send_flags = 1u << 31;
	refused(bad);
	bad = good;
	bad.num_sge = -1;
	refused(bad);
	bad.num_sge = qp->cap.max_send_sge + 1;
	refused(bad);
	bad.send_flags = IBV_SEND_INLINE;
	refused(bad);
	for (size_t i = 0; i < RTE_DIM(not_inline); i++) {
		bad = good;
		bad.opcode = not_inline[i];
		bad.send_flags = IBV_SEND_INLINE;
		refused(bad);
	}
	bad = good;
	bad.send_flags = IBV_SEND_INLINE;
	sge[0].length = qp->cap.max_inline_data + 1;
	refused(bad);
	sge[0].length = UINT32_MAX;
	refused(bad);
	sge[0].length = 8;
	assert_int_equal(post_send(&bad), 0);
}

static void
test_atomics_refused(void **state)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct ibv_sge sge[2] = { { .length = 8 }, { .length = 0 } };
	struct ibv_send_wr wr = { .sg_list = sge };

	for (size_t i = 0; i < RTE_DIM(opcodes); i++) {
		wr.opcode = opcodes[i];
		wr.num_sge = 0;
		refused(wr);
		wr.num_sge = 2;
		refused(wr);
		wr.num_sge = 1;
		sge[0].length = 7;
		refused(wr);
		sge[0].length = 9;
		refused(wr);
		sge[0].length = 8;
		assert_int_equal(post_send(&wr), 0);
	}
}

/* Each field of a work request arrives in its field of the WQE, for each opcode. */
static void
test_send_fields(void **state)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		bool rdma, atomic, imm, solicited;
	} cases[] = {
		{ IBV_WR_RDMA_WRITE, true, false, false, false },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, true, false, true, true },
		{ IBV_WR_SEND, false, false, false, true },
		{ IBV_WR_SEND_WITH_IMM, false, false, true, true },
		{ IBV_WR_RDMA_READ, true, false, false, false },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, false, true, false, false },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, false, true, false, false },
		{ IBV_WR_ATOMIC_WRITE, true, false, false, false },
	};
	struct ibv_sge sge = { .addr = 0x1122334455667788, .length = 8, .lkey = 0x99aabbcc };

	for (size_t i = 0; i < RTE_DIM(cases); i++) {
		struct ibv_send_wr wr = {
			.wr_id = 0xfeedfacecafebeef,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = cases[i].opcode,
			.send_flags = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED,
			.imm_data = 0x01020304,
		};
		const struct uroce_sqe *sqe;

		if (cases[i].atomic) {
			wr.wr.atomic.remote_addr = 0x8070605040302010;
			wr.wr.atomic.rkey = 0x12345678;
			wr.wr.atomic.compare_add = 0xaaaaaaaaaaaaaaaa;
			wr.wr.atomic.swap = 0x5555555555555555;
		} else {
			wr.wr.rdma.remote_addr = 0x8070605040302010;
			wr.wr.rdma.rkey = 0x12345678;
		}
		memset(qp->sq.ring, 0xff, ((size_t)qp->sq.mask + 1) * qp->sq.stride);
		assert_int_equal(post_send(&wr), 0);
		sqe = take();
		assert_int_equal(sqe->wr_id, 0xfeedfacecafebeef);
		assert_int_equal(sqe->opcode, cases[i].opcode);
		assert_int_equal(sqe->length, 8);
		assert_int_equal(sqe->num_sge, 1);
		assert_memory_equal(&sqe->sge[0], &sge, sizeof(sge));
		assert_int_equal(sqe->flags, IBV_SEND_FENCE | IBV_SEND_SIGNALED |
				 (cases[i].solicited ? IBV_SEND_SOLICITED : 0));
		assert_int_equal(sqe->posted_status, IBV_WC_SUCCESS);
		assert_int_equal(sqe->imm, cases[i].imm ? 0x01020304 : 0);
		assert_int_equal(sqe->remote_addr,
				 cases[i].rdma || cases[i].atomic ? 0x8070605040302010 : 0);
		assert_int_equal(sqe->rkey, cases[i].rdma || cases[i].atomic ? 0x12345678 : 0);
		assert_int_equal(sqe->compare_add, cases[i].atomic ? 0xaaaaaaaaaaaaaaaa : 0);
		assert_int_equal(sqe->swap, cases[i].atomic ? 0x5555555555555555 : 0);
	}
}

static void
test_signalling(void **state)
{
	struct ibv_qp_init_attr init = fake_init_attr(&pair);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct uroce_qp *all;

	assert_int_equal(post_send(&wr), 0);
	assert_int_equal(take()->flags, 0);
	wr.send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(post_send(&wr), 0);
	assert_int_equal(take()->flags, IBV_SEND_SIGNALED);

	init.sq_sig_all = 1;
	all = uroce_qp_of(uroce_create_qp(pair.pd, &init));
	fake_qp_to(&all->ibv, IBV_QPS_RTS);
	wr.send_flags = 0;
	assert_int_equal(uroce_post_send(&all->ibv, &wr, &bad), 0);
	assert_int_equal(uroce_sqe_at(&all->sq, 0)->flags, IBV_SEND_SIGNALED);
	assert_int_equal(uroce_destroy_qp(&all->ibv), 0);
}

/* Inline data is copied behind the head of the WQE: the caller may reuse its buffer at once, and it needs no key. */
static void
test_inline(void **state)
{
	struct ibv_sge sge[2] = {
		{ .addr = (uintptr_t)data, .length = 5 },
		{ .addr = (uintptr_t)data + 100, .length = 30 },
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.sg_list = sge,
		.num_sge = 2,
		.send_flags = IBV_SEND_INLINE,
	};
	const struct uroce_sqe *sqe;
	uint8_t expected[35];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = i * 7;
	memcpy(expected, data, 5);
	memcpy(expected + 5, data + 100, 30);
	assert_int_equal(post_send(&wr), 0);
	memset(data, 0, sizeof(data));
	sqe = take();
	assert_int_equal(sqe->flags, IBV_SEND_INLINE);
	assert_int_equal(sqe->num_sge, 0);
	assert_int_equal(sqe->length, 35);
	assert_memory_equal(sqe->sge, expected, sizeof(expected));

	/* all granted bytes, and not one more */
	sge[0].length = qp->cap.max_inline_data;
	wr.num_sge = 1;
	memset(data, 0x5a, sizeof(data));
	memset(qp->sq.ring, 0xff, ((size_t)qp->sq.mask + 1) * qp->sq.stride);
	assert_int_equal(post_send(&wr), 0);
	sqe = take();
	assert_memory_equal(sqe->sge, data, qp->cap.max_inline_data);
	assert_int_equal(*(const uint8_t *)((const uint8_t *)sqe + qp->sq.stride), 0xff);

	/* with length 0, a null address is fine */
	sge[0].addr = 0;
	sge[0].length = 0;
	assert_int_equal(post_send(&wr), 0);
	assert_int_equal(take()->length, 0);
	wr.num_sge = 0;
	wr.sg_list = NULL;
	assert_int_equal(post_send(&wr), 0);
	sqe = take();
	assert_int_equal(sqe->length, 0);
	assert_int_equal(sqe->flags, IBV_SEND_INLINE);
}

/* The longest message has 2^31 bytes; longer ones are queued and complete with an error (R42). */
static void
test_length(void **state)
{
	struct ibv_sge sge[4] = {
		{ .length = 1u << 30 }, { .length = 1u << 30 }, { .length = 1 },
		{ .length = UINT32_MAX },
	};
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = sge, .num_sge = 2 };
	const struct uroce_sqe *sqe;

	assert_int_equal(post_send(&wr), 0);
	sqe = take();
	assert_int_equal(sqe->length, UINT32_C(1) << 31);
	assert_int_equal(sqe->posted_status, IBV_WC_SUCCESS);
	wr.num_sge = 3;
	assert_int_equal(post_send(&wr), 0);
	sqe = take();
	assert_int_equal(sqe->length, (UINT32_C(1) << 31) + 1);
	assert_int_equal(sqe->posted_status, IBV_WC_LOC_LEN_ERR);
	/* a sum of more than 32 bits does not wrap to a small one */
	wr.num_sge = 4;
	assert_int_equal(post_send(&wr), 0);
	assert_int_equal(take()->posted_status, IBV_WC_LOC_LEN_ERR);
}

/* Entries before the bad one are posted, with one doorbell; the call returns the bad one, and does not post those
 * behind it. */
static void
test_send_list(void **state)
{
	struct ibv_send_wr wr[4] = {
		{ .wr_id = 0, .next = &wr[1], .opcode = IBV_WR_SEND },
		{ .wr_id = 1, .next = &wr[2], .opcode = IBV_WR_SEND },
		{ .wr_id = 2, .next = &wr[3], .opcode = IBV_WR_TSO },
		{ .wr_id = 3, .next = NULL, .opcode = IBV_WR_SEND },
	};
	struct ibv_send_wr *bad = NULL;

	assert_int_equal(uroce_post_send(&qp->ibv, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[2]);
	assert_int_equal(fake.doorbells, 1);
	assert_int_equal(take()->wr_id, 0);
	assert_int_equal(take()->wr_id, 1);
	assert_int_equal(qp->sq.head, qp->sq.tail);

	wr[2].opcode = IBV_WR_SEND;
	assert_int_equal(uroce_post_send(&qp->ibv, wr, &bad), 0);
	assert_int_equal(fake.doorbells, 2);
	assert_int_equal(qp->sq.tail - qp->sq.head, 4);
	/* one entry fits */
	assert_int_equal(uroce_post_send(&qp->ibv, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[1]);
	assert_int_equal(fake.doorbells, 3);
	assert_int_equal(uroce_post_send(&qp->ibv, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[0]);
	/* nothing new posted: no doorbell */
	assert_int_equal(fake.doorbells, 3);
}

/* The ring takes its full depth at each position, also where indices wrap. */
static void
test_send_ring(void **state)
{
	uint64_t posted = 0, taken = 0;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	assert_int_equal(qp->cap.max_send_wr, SEND_WR);
	qp->sq.head = UINT32_MAX - 13;
	qp->sq.head_seen = qp->sq.head;
	qp->sq.tail = qp->sq.head;
	for (unsigned int round = 0; round < 40; round++) {
		while (posted - taken < SEND_WR) {
			wr.wr_id = posted++;
			assert_int_equal(post_send(&wr), 0);
		}
		assert_int_equal(post_send(&wr), ENOMEM);
		for (unsigned int i = 0; i < 1 + round % SEND_WR; i++)
			assert_int_equal(take()->wr_id, taken++);
	}
}

static void
test_recv(void **state)
{
	struct ibv_sge sge[UROCE_MAX_SGE] = {
		{ .addr = 1, .length = 10, .lkey = 2 }, { .addr = 3, .length = 20, .lkey = 4 },
		{ .addr = 5, .length = UINT32_MAX, .lkey = 6 },
	};
	struct ibv_recv_wr wr = { .wr_id = 0xabcdef0123456789, .sg_list = sge, .num_sge = 2 };
	const struct uroce_rqe *rqe;

	assert_int_equal(post_recv(&wr), 0);
	rqe = uroce_rqe_at(&qp->rq, 0);
	assert_int_equal(rqe->wr_id, 0xabcdef0123456789);
	assert_int_equal(rqe->length, 30);
	assert_int_equal(rqe->num_sge, 2);
	assert_memory_equal(rqe->sge, sge, 2 * sizeof(sge[0]));
	/* the sum does not wrap */
	wr.num_sge = 3;
	assert_int_equal(post_recv(&wr), 0);
	assert_int_equal(uroce_rqe_at(&qp->rq, 1)->length, UINT32_MAX);
	wr.num_sge = 0;
	wr.sg_list = NULL;
	assert_int_equal(post_recv(&wr), 0);
	assert_int_equal(uroce_rqe_at(&qp->rq, 2)->length, 0);
	assert_int_equal(post_recv(&wr), ENOMEM);

	wr.sg_list = sge;
	wr.num_sge = -1;
	assert_int_equal(post_recv(&wr), EINVAL);
	wr.num_sge = qp->cap.max_recv_sge + 1;
	assert_int_equal(post_recv(&wr), EINVAL);
	assert_int_equal(fake.doorbells, 0);
}

static void
test_recv_list_and_ring(void **state)
{
	struct ibv_recv_wr wr[3] = {
		{ .wr_id = 0, .next = &wr[1] },
		{ .wr_id = 1, .next = &wr[2], .num_sge = -1 },
		{ .wr_id = 2, .next = NULL },
	};
	struct ibv_recv_wr one = { .wr_id = 0 };
	struct ibv_recv_wr *bad = NULL;
	uint64_t posted = 0, taken = 0;

	assert_int_equal(uroce_post_recv(&qp->ibv, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	assert_int_equal(qp->rq.tail - qp->rq.head, 1);

	assert_int_equal(qp->cap.max_recv_wr, RECV_WR);
	qp->rq.head = UINT32_MAX - 13;
	qp->rq.head_seen = qp->rq.head;
	qp->rq.tail = qp->rq.head;
	for (unsigned int round = 0; round < 40; round++) {
		while (posted - taken < RECV_WR) {
			one.wr_id = posted++;
			assert_int_equal(post_recv(&one), 0);
		}
		assert_int_equal(post_recv(&one), ENOMEM);
		for (unsigned int i = 0; i < 1 + round % RECV_WR; i++)
			assert_int_equal(uroce_rqe_at(&qp->rq, qp->rq.head++)->wr_id, taken++);
	}
}

/* Queues without entries, and entries without scatter/gather space. */
static void
test_nothing_granted(void **state)
{
	struct ibv_qp_init_attr init = fake_init_attr(&pair);
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv;
	struct ibv_sge sge = { .length = 1 };
	struct ibv_qp *none;

	memset(&init.cap, 0, sizeof(init.cap));
	none = uroce_create_qp(pair.pd, &init);
	assert_non_null(none);
	fake_qp_to(none, IBV_QPS_RTS);
	assert_int_equal(uroce_post_send(none, &send, &bad_send), ENOMEM);
	assert_int_equal(uroce_post_recv(none, &recv, &bad_recv), ENOMEM);
	assert_int_equal(uroce_destroy_qp(none), 0);

	init.cap.max_send_wr = 1;
	init.cap.max_recv_wr = 1;
	none = uroce_create_qp(pair.pd, &init);
	fake_qp_to(none, IBV_QPS_RTS);
	send.sg_list = &sge;
	send.num_sge = 1;
	recv.sg_list = &sge;
	recv.num_sge = 1;
	assert_int_equal(uroce_post_send(none, &send, &bad_send), EINVAL);
	assert_int_equal(uroce_post_recv(none, &recv, &bad_recv), EINVAL);
	send.num_sge = 0;
	recv.num_sge = 0;
	assert_int_equal(uroce_post_send(none, &send, &bad_send), 0);
	assert_int_equal(uroce_post_recv(none, &recv, &bad_recv), 0);
	assert_int_equal(uroce_destroy_qp(none), 0);
}

#define POSTERS 3
#define PER_POSTER 20000

static void *
poster(void *arg)
{
	uint64_t id = (uintptr_t)arg;
	struct ibv_sge sge = { .addr = id };
	struct ibv_send_wr send = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;

	for (uint32_t i = 0; i < PER_POSTER; i++) {
		send.wr_id = id << 32 | i;
		recv.wr_id = send.wr_id;
		sge.length = i;
		while (uroce_post_send(&qp->ibv, &send, &bad_send) == ENOMEM)
			sched_yield();
		while (uroce_post_recv(&qp->ibv, &recv, &bad_recv) == ENOMEM)
			sched_yield();
	}
	return NULL;
}

/* Consume one entry as the worker does. @return 0 without an entry; 1 if it is whole and in order */
static int
consume_send(uint32_t *next)
{
	const struct uroce_sqe *sqe = uroce_sqe_at(&qp->sq, qp->sq.head);
	uint32_t id, i;

	if (__atomic_load_n(&qp->sq.tail, __ATOMIC_ACQUIRE) == qp->sq.head)
		return 0;
	id = sqe->wr_id >> 32;
	i = (uint32_t)sqe->wr_id;
	assert_uint_in_range(id, 0, POSTERS - 1);
	assert_int_equal(i, next[id]++);
	assert_int_equal(sqe->length, i);
	assert_int_equal(sqe->sge[0].addr, id);
	__atomic_store_n(&qp->sq.head, qp->sq.head + 1, __ATOMIC_RELEASE);
	return 1;
}

static int
consume_recv(uint32_t *next)
{
	const struct uroce_rqe *rqe = uroce_rqe_at(&qp->rq, qp->rq.head);
	uint32_t id, i;

	if (__atomic_load_n(&qp->rq.tail, __ATOMIC_ACQUIRE) == qp->rq.head)
		return 0;
	id = rqe->wr_id >> 32;
	i = (uint32_t)rqe->wr_id;
	assert_uint_in_range(id, 0, POSTERS - 1);
	assert_int_equal(i, next[id]++);
	assert_int_equal(rqe->length, i);
	assert_int_equal(rqe->sge[0].addr, id);
	__atomic_store_n(&qp->rq.head, qp->rq.head + 1, __ATOMIC_RELEASE);
	return 1;
}

static void
test_threads(void **state)
{
	uint32_t sends[POSTERS] = { 0 }, recvs[POSTERS] = { 0 };
	pthread_t threads[POSTERS];
	uint32_t left = 2 * POSTERS * PER_POSTER;

	for (uintptr_t i = 0; i < POSTERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, poster, (void *)i), 0);
	while (left > 0) {
		uint32_t n = consume_send(sends) + consume_recv(recvs);

		left -= n;
		if (n == 0)
			sched_yield();
	}
	for (unsigned int i = 0; i < POSTERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(qp->sq.head, qp->sq.tail);
	assert_int_equal(qp->rq.head, qp->rq.tail);
	assert_int_equal(fake.doorbells, POSTERS * PER_POSTER);
}

UROCE_TESTS(post)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_states, qp_setup, qp_teardown),
		cmocka_unit_test_setup_teardown(test_send_refused, setup_rts, qp_teardown),
		cmocka_unit_test_setup_teardown(test_atomics_refused, setup_rts, qp_teardown),
		cmocka_unit_test_setup_teardown(test_send_fields, setup_rts, qp_teardown),
		cmocka_unit_test_setup_teardown(test_signalling, setup_rts, qp_teardown),
		cmocka_unit_test_setup_teardown(test_inline, setup_rts, qp_teardown),
		cmocka_unit_test_setup_teardown(test_length, setup_rts, qp_teardown),
		cmocka_unit_test_setup_teardown(test_send_list, setup_rts, qp_teardown),
		cmocka_unit_test_setup_teardown(test_send_ring, setup_rts, qp_teardown),
		cmocka_unit_test_setup_teardown(test_recv, setup_rts, qp_teardown),
		cmocka_unit_test_setup_teardown(test_recv_list_and_ring, setup_rts, qp_teardown),
		cmocka_unit_test_setup_teardown(test_nothing_granted, setup_rts, qp_teardown),
		cmocka_unit_test_setup_teardown(test_threads, setup_rts, qp_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
