/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A queue's connection: its memory, its completions, its end. Created by the main thread; then on its poller only.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "controller.h"
#include "poller.h"
#include "post.h"
#include "queue.h"
#include "request.h"
#include "target.h"
#include "uroce_config.h"

static void
lay_out(struct nvmf_queue *q)
{
	uint8_t *data = q->memory;
	uint8_t *commands = data + (size_t)q->depth * UROCE_NVMF_IN_CAPSULE_BYTES;
	uint8_t *completions = commands + (size_t)q->depth * sizeof(struct nvme_command);

	for (unsigned int i = 0; i < q->depth; i++) {
		q->capsules[i].queue = q;
		q->capsules[i].data = data + (size_t)i * UROCE_NVMF_IN_CAPSULE_BYTES;
		q->capsules[i].command = (struct nvme_command *)(commands + i * sizeof(struct nvme_command));
	}
	for (unsigned int i = 0; i < q->nb_requests; i++) {
		q->requests[i].queue = q;
		q->requests[i].completion =
			(struct nvme_completion *)(completions + i * sizeof(struct nvme_completion));
		STAILQ_INSERT_TAIL(&q->free, &q->requests[i], free);
	}
}

/* In-capsule data are at the start of pages, for O_DIRECT. */
static int
memory_create(struct nvmf_queue *q)
{
	q->memory_bytes = (size_t)q->depth * (UROCE_NVMF_IN_CAPSULE_BYTES + sizeof(struct nvme_command)) +
			  q->nb_requests * sizeof(struct nvme_completion);
	q->memory = rte_zmalloc("nvmf_queue", q->memory_bytes, 4096);
	q->capsules = calloc(q->depth, sizeof(*q->capsules));
	q->requests = calloc(q->nb_requests, sizeof(*q->requests));
	if (q->memory == NULL || q->capsules == NULL || q->requests == NULL)
		return -ENOMEM;
	q->mr = uroce_reg_mr(q->poller->pd, q->memory, q->memory_bytes, IBV_ACCESS_LOCAL_WRITE);
	if (q->mr == NULL)
		return -errno;
	lay_out(q);
	return 0;
}

static int
qp_create(struct nvmf_queue *q)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = q->poller->cq,
		.recv_cq = q->poller->cq,
		.cap = { .max_send_wr = 3 * q->nb_requests, /* READ; or WRITE and SEND */
			 .max_recv_wr = q->depth,
			 .max_send_sge = 1,
			 .max_recv_sge = 2 },
		.qp_type = IBV_QPT_RC,
	};

	if (uroce_rdma_create_qp(q->id, q->poller->pd, &attr) != 0)
		return -errno;
	q->qp = q->id->qp;
	for (unsigned int i = 0; i < q->depth; i++)
		if (uroce_nvmf_post_receive(&q->capsules[i]) != 0)
			return -ENOMEM;
	return 0;
}

struct nvmf_queue *
uroce_nvmf_queue_create(struct nvmf_target *target, struct nvmf_poller *p, struct rdma_cm_id *id, uint16_t qid,
			uint16_t depth, uint32_t max_reads)
{
	struct nvmf_queue *q = calloc(1, sizeof(*q));

	if (q == NULL)
		return NULL;
	q->target = target;
	q->poller = p;
	q->id = id;
	q->qid = qid;
	q->depth = depth;
	q->max_reads = max_reads;
	q->nb_requests = 2u * depth; /* responses whose completions have not come, and new commands */
	STAILQ_INIT(&q->free);
	STAILQ_INIT(&q->pending);
	if (memory_create(q) == 0 && qp_create(q) == 0)
		return q;
	uroce_nvmf_queue_free(q);
	return NULL;
}

void
uroce_nvmf_queue_free(struct nvmf_queue *q)
{
	if (q->qp != NULL)
		uroce_rdma_destroy_qp(q->id);
	if (q->mr != NULL)
		(void)uroce_dereg_mr(q->mr);
	uroce_nvmf_dhchap_free(q->auth);
	rte_free(q->memory);
	free(q->capsules);
	free(q->requests);
	free(q);
}

static void
received(struct nvmf_capsule *c, const struct ibv_wc *wc)
{
	struct nvmf_queue *q = c->queue;

	q->posted--;
	if (wc->status != IBV_WC_SUCCESS || q->dead) {
		q->dead = true;
		return;
	}
	if (wc->byte_len < sizeof(struct nvme_command)) { /* no command: there is no ID to answer */
		q->dead = true;
		uroce_nvmf_queue_kick(q);
		return;
	}
	c->data_bytes = wc->byte_len - sizeof(struct nvme_command);
	uroce_nvmf_request_start(c);
}

static void
fetched(struct nvmf_request *req, const struct ibv_wc *wc)
{
	struct nvmf_queue *q = req->queue;

	q->posted--;
	if (wc->status != IBV_WC_SUCCESS)
		q->dead = true;
	if (q->dead)
		uroce_nvmf_request_free(req);
	else
		uroce_nvmf_request_execute(req);
}

static void
responded(struct nvmf_request *req, const struct ibv_wc *wc)
{
	struct nvmf_queue *q = req->queue;

	if (wc->status != IBV_WC_SUCCESS)
		q->dead = true;
	/* an RDMA WRITE is unsignaled, but completes if it fails; then the SEND completes, too */
	if (wc->status != IBV_WC_SUCCESS && req->state == NVMF_SENDING && wc->opcode == IBV_WC_RDMA_WRITE)
		return;
	q->posted--;
	uroce_nvmf_request_free(req);
}

void
uroce_nvmf_queue_completion(const struct ibv_wc *wc)
{
	void *object = (void *)(uintptr_t)(wc->wr_id & ~(uint64_t)NVMF_WR_KIND_MASK);

	switch (wc->wr_id & NVMF_WR_KIND_MASK) {
	case NVMF_WR_RECV: received(object, wc); break;
	case NVMF_WR_FETCH: fetched(object, wc); break;
	default: responded(object, wc);
	}
}

/* Free the requests that neither RDMA nor a back end will complete. */
static void
drop_waiting(struct nvmf_queue *q)
{
	for (unsigned int i = 0; i < q->nb_requests; i++) {
		struct nvmf_request *req = &q->requests[i];

		if (req->state == NVMF_WAITS_FOR_BUFFER)
			TAILQ_REMOVE(&q->poller->waiting, req, link);
		else if (req->state == NVMF_HELD)
			uroce_nvmf_controller_drop_event(q->controller, req);
		else
			continue;
		uroce_nvmf_request_free(req);
	}
}

static void
destroy(struct nvmf_queue *q)
{
	struct nvmf_poller *p = q->poller;

	TAILQ_REMOVE(&p->queues, q, link);
	if (q->controller != NULL)
		uroce_nvmf_controller_leave(q->controller, q);
	uroce_rdma_destroy_qp(q->id);
	q->qp = NULL;
	(void)uroce_rdma_destroy_id(q->id); /* after this, the main thread has no event that leads to the queue */
	__atomic_fetch_sub(&p->nb_queues, 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&q->target->nb_queues, 1, __ATOMIC_RELAXED);
	uroce_nvmf_queue_free(q);
}

void
uroce_nvmf_queue_look(struct nvmf_queue *q, uint64_t now_ns)
{
	/* pair with the releases of the main thread and of uroce_nvmf_queue_kick() */
	bool gone = __atomic_load_n(&q->gone, __ATOMIC_ACQUIRE);
	bool kick = __atomic_load_n(&q->kick, __ATOMIC_ACQUIRE);

	if (!uroce_nvmf_queue_is_open(q) && !q->dead) {
		if (q->connect_by_ns == 0)
			q->connect_by_ns = now_ns + UROCE_NVMF_CONNECT_NS;
		else
			q->connect_by_ns += q->poller->stopped_ns;
		kick |= now_ns >= q->connect_by_ns;
	}
	if (q->controller != NULL && q->qid == 0 && !q->dead)
		uroce_nvmf_controller_look(q->controller, q, now_ns);
	if ((gone || kick || q->dead) && !q->disconnected) {
		q->dead = true;
		/* a message may come before the RTU, without which there is no DREQ */
		(void)uroce_rdma_notify(q->id, IBV_EVENT_COMM_EST);
		(void)uroce_rdma_disconnect(q->id); /* flushes the QP */
		q->disconnected = true;
	}
	if (!q->disconnected)
		return;
	drop_waiting(q);
	if (q->busy == 0 && q->posted == 0)
		destroy(q);
}
