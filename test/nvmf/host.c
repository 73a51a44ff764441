/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <arpa/inet.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_ethdev.h>

#include "host.h"
#include "port/worker/pool.h"

#define SPINS 5000000u
#define TARGET_ADDR "10.0.0.1"
#define HOST_ADDR "10.0.0.2"

static void
target_start(struct host *h, const char *const *namespaces, unsigned int n)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(UROCE_NVMF_PORT) };
	struct nvmf_target *t = calloc(1, sizeof(*t));
	struct nvmf_subsystem *s;
	struct nvmf_reason why;

	assert_non_null(t);
	h->target = t;
	s = &t->subsystem;
	uroce_nvmf_subsystem_init(s);
	strcpy(s->nqn, TARGET_NQN);
	strcpy(s->serial, "0123456789abcdef");
	strcpy(s->traddr, TARGET_ADDR);
	strcpy(s->trsvcid, "4420");
	s->io_queues = 4;
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(uroce_nvmf_subsystem_add(s, namespaces[i], &why), i + 1);
	t->nb_pollers = 1;
	assert_int_equal(uroce_nvmf_poller_init(&t->pollers[0], s, h->ports[0], h->workers[0], 0), 0);
	inet_pton(AF_INET, TARGET_ADDR, &addr.sin_addr);
	assert_int_equal(uroce_nvmf_listen(t, (struct sockaddr *)&addr), 0);
}

void
host_open(struct host *h, const char *const *namespaces, unsigned int n)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };
	static const char *const cidrs[2] = { TARGET_ADDR "/24", HOST_ADDR "/24" };

	memset(h, 0, sizeof(*h));
	test_rings_create_pair(&h->wire[0], &h->wire[1]);
	for (unsigned int i = 0; i < 2; i++) {
		h->workers[i] = uroce_create_worker(-1);
		assert_non_null(h->workers[i]);
		h->ports[i] = uroce_open_port(h->wire[i].port_id, &conf, &h->workers[i], 1);
		assert_non_null(h->ports[i]);
		assert_int_equal(uroce_add_address(h->ports[i], cidrs[i]), 0);
	}
	target_start(h, namespaces, n);
	h->channel = uroce_rdma_create_event_channel();
	assert_non_null(h->channel);
	assert_int_equal(fcntl(h->channel->fd, F_SETFL, O_NONBLOCK), 0);
	h->pd = uroce_alloc_pd(h->ports[1]);
	h->data = calloc(1, HOST_BYTES);
	assert_non_null(h->data);
	h->mr = uroce_reg_mr(h->pd, h->data, HOST_BYTES,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(h->mr);
}

static void
handle(struct host_queue *q, const struct rdma_cm_event *event)
{
	const struct nvme_cm_reject *priv = event->param.conn.private_data;

	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED: q->established = true; break;
	case RDMA_CM_EVENT_REJECTED:
		q->rejected = event->param.conn.private_data_len >= sizeof(*priv) ? rte_le_to_cpu_16(priv->status) : -1;
		break;
	case RDMA_CM_EVENT_DISCONNECTED: q->disconnected = true; break;
	default: break;
	}
}

void
host_poll(struct host *h)
{
	struct rdma_cm_event *event;

	(void)uroce_nvmf_events(h->target);
	uroce_nvmf_subsystem_reclaim(&h->target->subsystem, h->target->pollers, 1);
	(void)uroce_nvmf_poller_round(&h->target->pollers[0]);
	uroce_worker_poll(h->workers[1]);
	while (uroce_rdma_get_cm_event(h->channel, &event) == 0) {
		if (event->id->context != NULL)
			handle(event->id->context, event);
		(void)uroce_rdma_ack_cm_event(event);
	}
}

static void
drain(struct host *h)
{
	for (unsigned int i = 0; h->target->nb_queues != 0; i++) {
		assert_true(i < SPINS);
		host_poll(h);
	}
}

void
host_close(struct host *h)
{
	struct nvmf_target *t = h->target;

	drain(h);
	assert_true(LIST_EMPTY(&t->subsystem.controllers));
	assert_int_equal(t->pollers[0].buffers.nb_free, UROCE_NVMF_BUFFERS);
	uroce_nvmf_listen_end(t);
	uroce_nvmf_poller_fini(&t->pollers[0]);
	uroce_nvmf_subsystem_fini(&t->subsystem);
	free(t);
	assert_int_equal(uroce_dereg_mr(h->mr), 0);
	assert_int_equal(uroce_dealloc_pd(h->pd), 0);
	free(h->data);
	uroce_rdma_destroy_event_channel(h->channel);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(uroce_close_device(h->ports[i]), 0);
		assert_int_equal(uroce_destroy_worker(h->workers[i]), 0);
	}
	rte_eth_dev_close(h->wire[0].port_id);
	test_rings_destroy(&h->wire[1]);
	assert_int_equal(uroce_pools_retired(), 0);
}

static void
resolve(struct host_queue *q)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(UROCE_NVMF_PORT) };
	struct sockaddr_in own = { .sin_family = AF_INET };
	struct rdma_cm_event *event;

	inet_pton(AF_INET, TARGET_ADDR, &addr.sin_addr);
	inet_pton(AF_INET, HOST_ADDR, &own.sin_addr);
	assert_int_equal(uroce_rdma_create_id(q->host->channel, &q->id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_rdma_resolve_addr(q->id, (struct sockaddr *)&own, (struct sockaddr *)&addr, 10000), 0);
	for (unsigned int step = 0; step < 2; step++) {
		while (uroce_rdma_get_cm_event(q->host->channel, &event) != 0) {
			uroce_worker_poll(q->host->workers[1]);
			(void)uroce_nvmf_poller_round(&q->host->target->pollers[0]);
		}
		assert_int_equal(event->event, step == 0 ? RDMA_CM_EVENT_ADDR_RESOLVED : RDMA_CM_EVENT_ROUTE_RESOLVED);
		(void)uroce_rdma_ack_cm_event(event);
		if (step == 0)
			assert_int_equal(uroce_rdma_resolve_route(q->id, 10000), 0);
	}
	q->id->context = q;
}

static void
post_receive(struct host_queue *q, unsigned int i)
{
	struct ibv_sge sge = { (uintptr_t)&q->memory->completions[i], sizeof(struct nvme_completion), q->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(uroce_post_recv(q->id->qp, &wr, &bad), 0);
}

bool
host_queue_open(struct host *h, struct host_queue *q, uint16_t qid, const struct nvme_cm_request *priv)
{
	const struct nvme_cm_request usual = {
		.qid = rte_cpu_to_le_16(qid), .hrqsize = rte_cpu_to_le_16(32), .hsqsize = rte_cpu_to_le_16(31),
	};
	struct rdma_conn_param param = {
		.private_data = priv != NULL ? priv : &usual, .private_data_len = sizeof(usual), .responder_resources = 16,
		.initiator_depth = 16, .retry_count = 7, .rnr_retry_count = 7,
	};
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 1 },
	};

	memset(q, 0, sizeof(*q));
	q->host = h;
	resolve(q);
	q->cq = uroce_create_cq(h->ports[1], 64, NULL, NULL, 0);
	attr.send_cq = attr.recv_cq = q->cq;
	assert_int_equal(uroce_rdma_create_qp(q->id, h->pd, &attr), 0);
	q->memory = calloc(1, sizeof(*q->memory));
	assert_non_null(q->memory);
	q->mr = uroce_reg_mr(h->pd, q->memory, sizeof(*q->memory), IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(q->mr);
	for (unsigned int i = 0; i < RTE_DIM(q->memory->completions); i++)
		post_receive(q, i);
	assert_int_equal(uroce_rdma_connect(q->id, &param), 0);
	for (unsigned int i = 0; !q->established && q->rejected == 0; i++) {
		assert_true(i < SPINS);
		host_poll(h);
	}
	return q->established;
}

void
host_queue_close(struct host_queue *q)
{
	if (q->established && !q->disconnected)
		(void)uroce_rdma_disconnect(q->id);
	uroce_rdma_destroy_qp(q->id);
	(void)uroce_rdma_destroy_id(q->id);
	assert_int_equal(uroce_destroy_cq(q->cq), 0);
	assert_int_equal(uroce_dereg_mr(q->mr), 0);
	free(q->memory);
}

static void
send_capsule(struct host_queue *q, uint32_t in_capsule)
{
	struct ibv_sge sges[2] = {
		{ (uintptr_t)&q->memory->command, sizeof(struct nvme_command), q->mr->lkey },
		{ (uintptr_t)q->memory->in_capsule, in_capsule, q->mr->lkey },
	};
	struct ibv_send_wr wr = {
		.sg_list = sges, .num_sge = in_capsule != 0 ? 2 : 1, .opcode = IBV_WR_SEND,
	}, *bad;

	assert_int_equal(uroce_post_send(q->id->qp, &wr, &bad), 0);
}

void
host_send(struct host_queue *q, struct nvme_command *c, uint32_t in_capsule)
{
	c->cid = rte_cpu_to_le_16(++q->next_cid);
	c->flags |= NVME_PSDT_SGL;
	q->memory->command = *c;
	send_capsule(q, in_capsule);
}

struct nvme_completion
host_wait(struct host_queue *q)
{
	struct nvme_completion completion;
	struct ibv_wc wc;

	for (unsigned int i = 0; uroce_poll_cq(q->cq, 1, &wc) == 0; i++) {
		assert_true(i < SPINS);
		host_poll(q->host);
	}
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, sizeof(completion));
	completion = q->memory->completions[wc.wr_id];
	post_receive(q, (unsigned int)wc.wr_id);
	return completion;
}

struct nvme_completion
host_run(struct host_queue *q, struct nvme_command *c, uint32_t in_capsule)
{
	struct nvme_completion completion;

	host_send(q, c, in_capsule);
	completion = host_wait(q);
	q->no_retry = (rte_le_to_cpu_16(completion.status) >> 1 & NVME_DO_NOT_RETRY) != 0;
	assert_int_equal(rte_le_to_cpu_16(completion.cid), q->next_cid);
	return completion;
}

void
host_keyed(struct host *h, struct nvme_command *c, uint32_t bytes)
{
	c->sgl.keyed.addr = rte_cpu_to_le_64((uintptr_t)h->data);
	c->sgl.keyed.type = NVME_SGL_KEYED;
	for (unsigned int i = 0; i < 3; i++)
		c->sgl.keyed.length[i] = (uint8_t)(bytes >> 8 * i);
	for (unsigned int i = 0; i < 4; i++)
		c->sgl.keyed.key[i] = (uint8_t)(h->mr->rkey >> 8 * i);
}

uint16_t
host_connect_as(struct host_queue *q, uint16_t qid, uint16_t cntlid, const char *subnqn, const char *hostnqn)
{
	struct nvme_connect_data data = { .cntlid = rte_cpu_to_le_16(cntlid) };
	struct nvme_command c = { .opcode = NVME_OPCODE_FABRICS, .fabrics.fctype = NVME_FABRICS_CONNECT };

	c.connect.qid = rte_cpu_to_le_16(qid);
	c.connect.sqsize = rte_cpu_to_le_16(31);
	strcpy(data.subnqn, subnqn);
	strcpy(data.hostnqn, hostnqn);
	memcpy(q->memory->in_capsule, &data, sizeof(data));
	c.sgl.block.length = rte_cpu_to_le_32(sizeof(data));
	c.sgl.block.type = NVME_SGL_IN_CAPSULE;
	return host_status(host_run(q, &c, sizeof(data)));
}

uint16_t
host_connect(struct host_queue *q, uint16_t qid, uint16_t cntlid, const char *subnqn)
{
	return host_connect_as(q, qid, cntlid, subnqn, HOST_NQN);
}

void
host_enable(struct host_queue *admin)
{
	struct nvme_command c = { .opcode = NVME_OPCODE_FABRICS, .fabrics.fctype = NVME_FABRICS_PROPERTY_SET };

	c.property.offset = rte_cpu_to_le_32(NVME_PROPERTY_CC);
	c.property.value = rte_cpu_to_le_64(NVME_CC_ENABLE | 6u << NVME_CC_IOSQES_SHIFT | 4u << NVME_CC_IOCQES_SHIFT);
	assert_int_equal(host_status(host_run(admin, &c, 0)), NVME_SUCCESS);
	c.fabrics.fctype = NVME_FABRICS_PROPERTY_GET;
	c.property.offset = rte_cpu_to_le_32(NVME_PROPERTY_CSTS);
	assert_int_equal(rte_le_to_cpu_64(host_run(admin, &c, 0).result), NVME_CSTS_READY);
}

uint16_t
host_start(struct host *h, struct host_queue *admin, struct host_queue *io)
{
	uint16_t cntlid;

	assert_true(host_queue_open(h, admin, 0, NULL));
	assert_int_equal(host_connect(admin, 0, NVME_CNTLID_DYNAMIC, TARGET_NQN), NVME_SUCCESS);
	cntlid = LIST_FIRST(&h->target->subsystem.controllers)->cntlid;
	host_enable(admin);
	assert_true(host_queue_open(h, io, 1, NULL));
	assert_int_equal(host_connect(io, 1, cntlid, TARGET_NQN), NVME_SUCCESS);
	return cntlid;
}
