/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "cmocka_compat.h"
#include "harness/qp.h"
#include "pair.h"
#include "port/worker/pool.h"

#define PAIR_ACCESS (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

void
pair_open_with(struct pair *p, unsigned int nb_workers, unsigned int queues)
{
	static const char *const addresses[] = { "10.0.0.1/24", "10.0.0.2/24" };
	/* Without loopback: in one process, the devices would not use the wire. Small tables: all pages are touched
	 * early. */
	const struct uroce_port_conf conf = {
		.size = sizeof(conf), .no_loopback = 1, .log2_max_qp = 10, .log2_max_mr = 10,
	};

	memset(p, 0, sizeof(*p));
	test_rings_create_wide(&p->ends[0].wire, &p->ends[1].wire, queues);
	p->nb_workers = nb_workers;
	p->timeout = PAIR_TIMEOUT;
	for (unsigned int i = 0; i < nb_workers; i++) {
		p->workers[i] = uroce_create_worker(-1);
		assert_non_null(p->workers[i]);
	}
	for (unsigned int i = 0; i < 2; i++) {
		p->ends[i].context = uroce_open_port(p->ends[i].wire.port_id, &conf, &p->workers[i % nb_workers], 1);
		assert_non_null(p->ends[i].context);
		assert_int_equal(uroce_add_address(p->ends[i].context, addresses[i]), 0);
	}
}

void
pair_open(struct pair *p)
{
	pair_open_with(p, 1, 1);
}

void
pair_close(struct pair *p)
{
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_close_device(p->ends[i].context), 0);
	test_rings_destroy_wide(&p->ends[0].wire, &p->ends[1].wire);
	for (unsigned int i = 0; i < p->nb_workers; i++)
		assert_int_equal(uroce_destroy_worker(p->workers[i]), 0);
	assert_int_equal(uroce_pools_retired(), 0);
}

void
pair_poll(struct pair *p, unsigned int rounds)
{
	test_poll(p->workers, p->nb_workers, rounds);
}

static int
objects_create(struct pair_end *e)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	e->memory = rte_zmalloc("pair", PAIR_BYTES, RTE_CACHE_LINE_SIZE);
	if (e->memory == NULL)
		return ENOMEM;
	e->pd = uroce_alloc_pd(e->context);
	if (e->pd == NULL)
		return errno;
	e->cq = uroce_create_cq(e->context, 64, NULL, NULL, e->vector);
	if (e->cq == NULL)
		return errno;
	e->mr = uroce_reg_mr(e->pd, e->memory, PAIR_BYTES, IBV_ACCESS_LOCAL_WRITE | PAIR_ACCESS);
	if (e->mr == NULL)
		return errno;
	init.send_cq = e->cq;
	init.recv_cq = e->cq;
	e->qp = uroce_create_qp(e->pd, &init);
	return e->qp != NULL ? 0 : errno;
}

int
pair_end_create(struct pair_end *e)
{
	int ret = objects_create(e);

	if (ret != 0)
		pair_end_destroy(e);
	return ret;
}

void
pair_end_destroy(struct pair_end *e)
{
	if (e->qp != NULL)
		assert_int_equal(uroce_destroy_qp(e->qp), 0);
	if (e->mr != NULL)
		assert_int_equal(uroce_dereg_mr(e->mr), 0);
	if (e->cq != NULL)
		assert_int_equal(uroce_destroy_cq(e->cq), 0);
	if (e->pd != NULL)
		assert_int_equal(uroce_dealloc_pd(e->pd), 0);
	rte_free(e->memory);
	e->qp = NULL;
	e->mr = NULL;
	e->cq = NULL;
	e->pd = NULL;
	e->memory = NULL;
}

void
pair_connect(struct pair *p)
{
	p->psn += PAIR_PSNS;
	for (unsigned int i = 0; i < 2; i++) {
		struct ibv_qp_attr attr = {
			.port_num = 1,
			.qp_access_flags = PAIR_ACCESS,
			.path_mtu = IBV_MTU_1024,
			.rq_psn = p->psn,
			.sq_psn = p->psn,
			.dest_qp_num = p->ends[1 - i].qp->qp_num,
			.min_rnr_timer = 1,
			.max_rd_atomic = 1,
			.max_dest_rd_atomic = 1,
			.timeout = p->timeout,
			.retry_cnt = 7,
			.rnr_retry = 7,
			.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1, .hop_limit = 64 } },
		};

		assert_int_equal(uroce_query_gid(p->ends[1 - i].context, 1, 1, &attr.ah_attr.grh.dgid), 0);
		harness_qp_to(p->ends[i].qp, attr, IBV_QPS_RTS);
	}
}

void
pair_reset(struct pair *p)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_modify_qp(p->ends[i].qp, &attr, IBV_QP_STATE), 0);
}

void
pair_post(struct pair *p, enum ibv_wr_opcode opcode)
{
	struct pair_end *from = &p->ends[0], *to = &p->ends[1];
	struct ibv_sge sge = { (uintptr_t)from->memory, PAIR_BYTES, from->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.wr.rdma = { (uintptr_t)to->memory, to->mr->rkey },
	};

	assert_int_equal(ibv_post_send(from->qp, &wr, &bad), 0);
}

void
pair_write(struct pair *p)
{
	pair_post(p, IBV_WR_RDMA_WRITE);
}

bool
pair_has_completed(struct pair *p)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(p->ends[0].cq, 1, &wc);

	assert_uint_in_range(n, 0, 1);
	if (n == 1)
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	return n == 1;
}

enum ibv_wc_status
pair_wait(struct pair *p)
{
	struct ibv_wc wc;
	int n;

	do {
		pair_poll(p, 1);
		n = ibv_poll_cq(p->ends[0].cq, 1, &wc);
		assert_uint_in_range(n, 0, 1);
	} while (n == 0);
	return wc.status;
}
