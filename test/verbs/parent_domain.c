/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Thread domains and parent domains, by the inline calls of <infiniband/verbs.h>. Objects of a parent domain and of its
 * protection domain can be combined. No domain is freed while an object uses it (R47). The application's allocator, if
 * it has one, allocates and frees rings.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "mem/mr.h"
#include "verbs/srq/srq.h"
#include "eal.h"
#include "fake.h"

#define ALL_RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND)

static struct fake_pair pair;
static uint8_t memory[4096];

/* Calls of the application's allocators. */
static struct {
	void *blocks[8];
	uint64_t types[8];
	unsigned int allocs, frees;
	bool refuse, default_wanted;
	struct ibv_pd *pd;
} program;

static void *
program_alloc(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment, uint64_t resource_type)
{
	void *p = NULL;

	assert_ptr_equal(pd_context, &program);
	program.pd = pd;
	if (program.refuse || program.default_wanted)
		return program.refuse ? NULL : IBV_ALLOCATOR_USE_DEFAULT;
	assert_int_equal(posix_memalign(&p, alignment, size), 0);
	memset(p, 0xa5, size);
	program.types[program.allocs] = resource_type;
	program.blocks[program.allocs++] = p;
	return p;
}

static void
program_free(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type)
{
	assert_ptr_equal(pd_context, &program);
	assert_ptr_equal(pd, program.pd);
	/* another thread may deallocate the domain at any time: it must count as used while it has memory to free */
	assert_int_equal(uroce_dealloc_pd(pd), EBUSY);
	for (unsigned int i = 0; i < program.allocs; i++) {
		if (program.blocks[i] != ptr)
			continue;
		assert_int_equal(resource_type, program.types[i]);
		program.blocks[i] = NULL;
		program.frees++;
		free(ptr);
		return;
	}
	fail_msg("%p is not a block of the application's allocator", ptr);
}

static bool
is_programs(const void *p)
{
	for (unsigned int i = 0; i < program.allocs; i++)
		if ((const uint8_t *)p - (const uint8_t *)program.blocks[i] == RTE_CACHE_LINE_SIZE)
			return true;
	return false;
}

static struct ibv_parent_domain_init_attr
good(void)
{
	return (struct ibv_parent_domain_init_attr){
		.pd = pair.pd, .alloc = program_alloc, .free = program_free, .pd_context = &program,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
	};
}

static struct ibv_pd *
parent_create(void)
{
	struct ibv_parent_domain_init_attr attr = good();
	struct ibv_pd *parent = ibv_alloc_parent_domain(fake.context, &attr);

	assert_non_null(parent);
	assert_ptr_equal(parent->context, fake.context);
	return parent;
}

static int
setup(void **state)
{
	memset(&program, 0, sizeof(program));
	fake_setup(state);
	pair = fake_pair_create(16);
	return 0;
}

static int
teardown(void **state)
{
	assert_int_equal(program.frees, program.allocs);
	fake_pair_destroy(&pair);
	return fake_teardown(state);
}

static void
nothing_ends_early(void **state)
{
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_parent_domain_init_attr attr = good();
	struct ibv_pd *parents[2];
	struct ibv_mr *mr;

	(void)state;
	attr.td = ibv_alloc_td(fake.context, &td_attr);
	assert_non_null(attr.td);
	assert_ptr_equal(attr.td->context, fake.context);
	for (int i = 0; i < 2; i++) {
		attr.comp_mask = i == 0 ? 0 : 1 << 2;	/* ALLOW_CC_UNPROTECTED_ALLOC has no effect */
		parents[i] = ibv_alloc_parent_domain(fake.context, &attr);
		assert_non_null(parents[i]);
		assert_int_not_equal(parents[i]->handle, pair.pd->handle);
	}
	mr = uroce_reg_mr(parents[0], memory, sizeof(memory), 0);
	assert_non_null(mr);
	assert_ptr_equal(mr->pd, parents[0]);
	assert_int_equal(uroce_dealloc_pd(pair.pd), EBUSY);
	assert_int_equal(uroce_dealloc_pd(parents[0]), EBUSY);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_td(attr.td), EBUSY);
	assert_int_equal(uroce_dealloc_pd(parents[0]), 0);
	assert_int_equal(ibv_dealloc_td(attr.td), EBUSY);
	assert_int_equal(uroce_dealloc_pd(pair.pd), EBUSY);
	assert_int_equal(uroce_dealloc_pd(parents[1]), 0);
	assert_int_equal(ibv_dealloc_td(attr.td), 0);
	td_attr.comp_mask = 1;
	errno = 0;
	assert_null(ibv_alloc_td(fake.context, &td_attr));
	assert_int_equal(errno, EINVAL);
}

static void
refused(struct ibv_parent_domain_init_attr attr)
{
	const uint32_t count = fake.dev.pd_count;

	errno = 0;
	assert_null(ibv_alloc_parent_domain(fake.context, &attr));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(fake.dev.pd_count, count);
}

static void
wrong_attributes(void **state)
{
	struct ibv_context elsewhere = { 0 };
	struct ibv_pd *parent = parent_create(), stranger = { .context = &elsewhere };
	struct ibv_td foreign = { .context = &elsewhere };
	struct ibv_parent_domain_init_attr bad[6];

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(bad); i++)
		bad[i] = good();
	bad[0].pd = NULL;
	bad[1].pd = &stranger;
	bad[2].pd = parent;	/* a parent domain cannot have a parent domain */
	bad[3].td = &foreign;
	bad[4].free = NULL;
	bad[5].comp_mask |= 1u << 3;
	for (unsigned int i = 0; i < RTE_DIM(bad); i++)
		refused(bad[i]);
	assert_int_equal(uroce_dealloc_pd(parent), 0);
}

/* Keys count for both names of a domain, and not for a third domain. */
static void
one_protection(void **state)
{
	struct ibv_pd *parent = parent_create(), *other = uroce_alloc_pd(fake.context);
	const struct fake_pair named = { .pd = parent, .cq = pair.cq };
	struct ibv_qp *qp = fake_qp_create(&named), *plain = fake_qp_create(&pair);
	struct ibv_pd *pds[3] = { pair.pd, parent, other };
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = uroce_create_srq(parent, &srq_attr);
	struct ibv_mw *mw = ibv_alloc_mw(parent, IBV_MW_TYPE_1);
	const uint64_t addr = (uintptr_t)memory;

	(void)state;
	assert_ptr_equal(qp->pd, parent);
	assert_ptr_equal(srq->pd, parent);
	fake_qp_to(plain, IBV_QPS_RTS);
	for (int i = 0; i < 3; i++) {
		struct ibv_mr *mr = uroce_reg_mr(pds[i], memory, sizeof(memory), ALL_RIGHTS);
		struct ibv_mr *null = uroce_alloc_null_mr(pds[i]);
		struct ibv_mw_bind bind = { .bind_info = { .mr = mr, .addr = addr, .length = 8,
							   .mw_access_flags = IBV_ACCESS_REMOTE_READ } };

		assert_non_null(mr);
		assert_non_null(null);
		for (int j = 0; j < 2; j++) {
			assert_int_equal(uroce_mr_lookup(&fake.dev.mrs, mr->lkey, pds[j], addr, 8, 0) != NULL, i < 2);
			assert_null(uroce_mr_lookup(&fake.dev.mrs, mr->lkey, pds[j], addr, 8, IBV_ACCESS_REMOTE_WRITE));
			assert_null(uroce_mr_lookup(&fake.dev.mrs, mr->lkey, pds[j], addr, sizeof(memory) + 1, 0));
			assert_int_equal(uroce_mr_lookup(&fake.dev.mrs, null->lkey, pds[j], 0, 8, 0) != NULL, i < 2);
		}
		/* ibv_bind_mw() itself compares the PDs with which the two were created */
		assert_int_equal(uroce_bind_mw(plain, mw, &bind), i < 2 ? 0 : EPERM);
		assert_int_equal(uroce_dereg_mr(null), 0);
		assert_int_equal(uroce_dereg_mr(mr), 0);
	}
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(uroce_destroy_srq(srq), 0);
	assert_int_equal(uroce_destroy_qp(plain), 0);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	assert_int_equal(uroce_dealloc_pd(other), 0);
	assert_int_equal(uroce_dealloc_pd(parent), 0);
}

static void
rings_are_the_programs(void **state)
{
	struct ibv_pd *parent = parent_create();
	const struct fake_pair named = { .pd = parent, .cq = pair.cq };
	struct ibv_qp *qp = fake_qp_create(&named);
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = uroce_create_srq(parent, &srq_attr);
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 8, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
					       .parent_domain = parent };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(fake.context, &cq_attr);

	(void)state;
	assert_non_null(cq);
	assert_int_equal(program.allocs, 4);
	assert_true(is_programs(uroce_qp_of(qp)->sq.ring));
	assert_true(is_programs(uroce_qp_of(qp)->rq.ring));
	assert_true(is_programs(uroce_srq_of(srq)->wq.ring));
	assert_true(is_programs(uroce_cq_of_ex(cq)->get.wcs));
	assert_int_equal(uroce_qp_of(qp)->sq.ring[0], 0);
	assert_int_equal(program.types[0], UROCE_RES_TYPE_QP);
	assert_int_equal(program.types[2], UROCE_RES_TYPE_SRQ);
	assert_int_equal(program.types[3], UROCE_RES_TYPE_CQ);
	/* the allocator also allocates the new rings, and frees the old ones */
	assert_int_equal(uroce_resize_cq(ibv_cq_ex_to_cq(cq), 20), 0);
	srq_attr.attr.max_wr = 9;
	assert_int_equal(uroce_modify_srq(srq, &srq_attr.attr, IBV_SRQ_MAX_WR), 0);
	assert_int_equal(program.allocs, 6);
	assert_int_equal(program.frees, 2);
	assert_true(is_programs(uroce_srq_of(srq)->wq.ring));
	assert_true(is_programs(uroce_cq_of_ex(cq)->get.wcs));
	assert_int_equal(uroce_destroy_qp(qp), 0);
	assert_int_equal(uroce_destroy_srq(srq), 0);
	assert_int_equal(uroce_dealloc_pd(parent), EBUSY);
	assert_int_equal(uroce_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	assert_int_equal(uroce_dealloc_pd(parent), 0);
}

static void
program_declines(void **state)
{
	struct ibv_pd *parent = parent_create();
	const struct fake_pair named = { .pd = parent, .cq = pair.cq };
	struct ibv_qp_init_attr init = fake_init_attr(&named);
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 8, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
					       .parent_domain = pair.pd };
	struct ibv_qp *qp;

	(void)state;
	program.refuse = true;
	errno = 0;
	assert_null(uroce_create_qp(parent, &init));
	assert_int_equal(errno, ENOMEM);
	program.refuse = false;
	program.default_wanted = true;
	qp = uroce_create_qp(parent, &init);
	assert_non_null(qp);
	assert_int_equal(program.allocs, 0);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	/* a CQ needs a parent domain, not a PD */
	errno = 0;
	assert_null(ibv_create_cq_ex(fake.context, &cq_attr));
	assert_int_equal(errno, EINVAL);
	cq_attr.parent_domain = NULL;
	assert_null(ibv_create_cq_ex(fake.context, &cq_attr));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(uroce_dealloc_pd(parent), 0);
}

/* One thread uses the objects of a thread domain: posts and polls take no lock. This test hangs if one does. */
static void
thread_domain_has_no_locks(void **state)
{
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_parent_domain_init_attr attr = { .pd = pair.pd, .td = ibv_alloc_td(fake.context, &td_attr) };
	struct ibv_qp_init_attr init = fake_init_attr(&pair);
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD };
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr *bad_recv, recv = { .wr_id = 7 };
	struct ibv_wc wc = { .wr_id = 9 };
	struct ibv_cq *cq;
	struct uroce_qp *qp;

	(void)state;
	cq_attr.parent_domain = ibv_alloc_parent_domain(fake.context, &attr);
	assert_non_null(cq_attr.parent_domain);
	cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(fake.context, &cq_attr));
	init.send_cq = init.recv_cq = cq;
	qp = uroce_qp_of(uroce_create_qp(cq_attr.parent_domain, &init));
	assert_non_null(qp);
	fake_qp_to(&qp->ibv, IBV_QPS_RTS);
	rte_spinlock_lock(&qp->sq.lock);
	rte_spinlock_lock(&qp->rq.lock);
	rte_spinlock_lock(&uroce_cq_of(cq)->poll_lock);
	assert_int_equal(ibv_post_send(&qp->ibv, &wr, &bad), 0);
	assert_int_equal(ibv_post_recv(&qp->ibv, &recv, &bad_recv), 0);
	assert_true(uroce_cq_push(uroce_cq_of(cq), qp->engine, &wc, false));
	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 9);
	assert_int_equal(uroce_destroy_qp(&qp->ibv), 0);
	assert_int_equal(uroce_destroy_cq(cq), 0);
	assert_int_equal(uroce_dealloc_pd(cq_attr.parent_domain), 0);
	assert_int_equal(ibv_dealloc_td(attr.td), 0);
}

UROCE_TESTS(parent_domain)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_ends_early, setup, teardown),
		cmocka_unit_test_setup_teardown(wrong_attributes, setup, teardown),
		cmocka_unit_test_setup_teardown(one_protection, setup, teardown),
		cmocka_unit_test_setup_teardown(rings_are_the_programs, setup, teardown),
		cmocka_unit_test_setup_teardown(program_declines, setup, teardown),
		cmocka_unit_test_setup_teardown(thread_domain_has_no_locks, setup, teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
