/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Accepts the connections of hosts: checks the CM's private data, chooses a poller, and hands the queue over to it. Main
 * thread.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "capsule.h"
#include "command/execute.h"
#include "program.h"
#include "target.h"

#define BACKLOG 128

static int
say(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", uroce_app_name, what, strerror(errno));
	return -1;
}

int
uroce_nvmf_listen(struct nvmf_target *t, const struct sockaddr *addr)
{
	t->channel = uroce_rdma_create_event_channel();
	if (t->channel == NULL)
		return say("cannot create an event channel");
	if (fcntl(t->channel->fd, F_SETFL, O_NONBLOCK) != 0)
		return say("cannot make the event channel non-blocking");
	if (uroce_rdma_create_id(t->channel, &t->listener, NULL, RDMA_PS_TCP) != 0)
		return say("cannot create a CM ID");
	if (uroce_rdma_bind_addr(t->listener, (struct sockaddr *)(uintptr_t)addr) != 0)
		return say("cannot bind to the address: another program has the port, or --addr lacks it");
	return uroce_rdma_listen(t->listener, BACKLOG) != 0 ? say("cannot listen") : 0;
}

void
uroce_nvmf_listen_end(struct nvmf_target *t)
{
	if (t->listener != NULL)
		(void)uroce_rdma_destroy_id(t->listener);
	if (t->channel != NULL)
		uroce_rdma_destroy_event_channel(t->channel);
}

static void
reject(struct nvmf_target *t, struct rdma_cm_id *id, uint16_t status)
{
	struct nvme_cm_reject priv = { .status = rte_cpu_to_le_16(status) };

	uroce_nvmf_count(&t->refused, 1);
	(void)uroce_rdma_reject(id, &priv, sizeof(priv));
}

static struct nvmf_poller *
choose(struct nvmf_target *t)
{
	struct nvmf_poller *best = &t->pollers[0];

	for (unsigned int i = 1; i < t->nb_pollers; i++)
		if (__atomic_load_n(&t->pollers[i].nb_queues, __ATOMIC_RELAXED) <
		    __atomic_load_n(&best->nb_queues, __ATOMIC_RELAXED))
			best = &t->pollers[i];
	return best;
}

static int
accept_queue(struct nvmf_queue *q, const struct rdma_conn_param *request)
{
	struct nvme_cm_accept priv = { .crqsize = rte_cpu_to_le_16(q->depth) };
	struct rdma_conn_param param = {
		.private_data = &priv,
		.private_data_len = sizeof(priv),
		.initiator_depth = RTE_MIN(request->initiator_depth, (uint8_t)q->max_reads),
		.rnr_retry_count = 7,
		.retry_count = request->retry_count,
	};

	return uroce_rdma_accept(q->id, &param);
}

/* @return the ID to be destroyed after the event is acknowledged, or NULL */
static struct rdma_cm_id *
requested(struct nvmf_target *t, const struct rdma_cm_event *event)
{
	struct nvmf_poller *p = choose(t);
	struct nvme_cm_request priv;
	struct nvmf_queue *q = NULL;
	uint16_t status = uroce_nvmf_parse_request(event->param.conn.private_data, event->param.conn.private_data_len, &priv);

	if (status == 0 && __atomic_load_n(&t->nb_queues, __ATOMIC_RELAXED) >= UROCE_NVMF_MAX_CONNECTIONS)
		status = NVME_CM_NO_RESOURCES;
	if (status == 0) {
		q = uroce_nvmf_queue_create(t, p, event->id, rte_le_to_cpu_16(priv.qid), rte_le_to_cpu_16(priv.hrqsize),
					    event->param.conn.initiator_depth);
		status = q == NULL ? NVME_CM_NO_RESOURCES : 0;
	}
	if (status == 0) {
		q->execute = uroce_nvmf_execute;
		event->id->context = q;
		if (accept_queue(q, &event->param.conn) == 0) {
			__atomic_fetch_add(&t->nb_queues, 1, __ATOMIC_RELAXED);
			__atomic_fetch_add(&p->nb_queues, 1, __ATOMIC_RELAXED);
			(void)rte_ring_enqueue(p->arrivals, q); /* as large as UROCE_NVMF_MAX_CONNECTIONS */
			return NULL;
		}
		event->id->context = NULL;
		uroce_nvmf_queue_free(q);
		status = NVME_CM_NO_RESOURCES;
	}
	reject(t, event->id, status);
	return event->id;
}

/* The connection has ended: its poller frees the queue, after the event is acknowledged. */
static void
ended(struct nvmf_queue *q)
{
	/* pairs with the acquire in uroce_nvmf_queue_look() */
	__atomic_store_n(&q->gone, true, __ATOMIC_RELEASE);
}

unsigned int
uroce_nvmf_events(struct nvmf_target *t)
{
	struct rdma_cm_event *event;
	unsigned int n = 0;

	while (uroce_rdma_get_cm_event(t->channel, &event) == 0) {
		struct rdma_cm_id *unwanted = NULL;

		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			unwanted = requested(t, event);
		else if (event->id->context != NULL && event->event != RDMA_CM_EVENT_ESTABLISHED &&
			 event->event != RDMA_CM_EVENT_TIMEWAIT_EXIT)
			ended(event->id->context);
		(void)uroce_rdma_ack_cm_event(event);
		if (unwanted != NULL)
			(void)uroce_rdma_destroy_id(unwanted);
		n++;
	}
	return n;
}
