/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A poller's round: the worker, completions of RDMA, completions of I/O, and every millisecond the requests of other
 * threads. An lcore.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>

#include "poller.h"
#include "program.h"
#include "queue.h"
#include "request.h"
#include "subsystem.h"

#define WCS 32

static int
say(const char *what, int error)
{
	fprintf(stderr, "%s: %s: %s\n", uroce_app_name, what, strerror(error));
	return -1;
}

int
uroce_nvmf_poller_init(struct nvmf_poller *p, const struct nvmf_subsystem *s, struct ibv_context *device,
		       struct uroce_worker *worker, unsigned int index)
{
	char name[RTE_RING_NAMESIZE];

	memset(p, 0, sizeof(*p));
	p->subsystem = s;
	p->worker = worker;
	p->index = index;
	p->uring.ring.ring_fd = -1;
	TAILQ_INIT(&p->waiting);
	TAILQ_INIT(&p->queues);
	snprintf(name, sizeof(name), "nvmf_arrivals_%u", index);
	p->arrivals = rte_ring_create(name, rte_align32pow2(UROCE_NVMF_MAX_CONNECTIONS + 1), SOCKET_ID_ANY,
				      RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (p->arrivals == NULL)
		return say("out of memory for a ring", ENOMEM);
	p->pd = uroce_alloc_pd(device);
	if (p->pd == NULL)
		return say("cannot allocate a protection domain", errno);
	p->cq = uroce_create_cq(device, UROCE_NVMF_CQES, NULL, NULL, (int)index);
	if (p->cq == NULL)
		return say("cannot create a completion queue", errno);
	if (uroce_nvmf_buffers_init(&p->buffers, p->pd) != 0)
		return -1;
	return uroce_nvmf_uring_init(&p->uring, p->buffers.arena, p->buffers.arena_bytes);
}

void
uroce_nvmf_poller_fini(struct nvmf_poller *p)
{
	uroce_nvmf_uring_fini(&p->uring);
	if (p->cq != NULL)
		(void)uroce_destroy_cq(p->cq);
	uroce_nvmf_buffers_fini(&p->buffers);
	if (p->pd != NULL)
		(void)uroce_dealloc_pd(p->pd);
	rte_ring_free(p->arrivals);
}

static unsigned int
take_completions(struct nvmf_poller *p)
{
	struct ibv_wc wcs[WCS];
	int n = uroce_poll_cq(p->cq, WCS, wcs);

	for (int i = 0; i < n; i++)
		uroce_nvmf_queue_completion(&wcs[i]);
	return n > 0 ? (unsigned int)n : 0;
}

/* Give buffers to the requests that wait for one, in their order. */
static void
serve_waiting(struct nvmf_poller *p)
{
	struct nvmf_request *req;

	while (p->buffers.nb_free != 0 && (req = TAILQ_FIRST(&p->waiting)) != NULL) {
		TAILQ_REMOVE(&p->waiting, req, link);
		uroce_nvmf_request_resume(req);
	}
}

/* Namespaces have been added or removed. No command is between its search for a namespace and its use of it now. */
static void
see_namespaces(struct nvmf_poller *p)
{
	/* pairs with the release in set_namespace() */
	uint32_t changes = __atomic_load_n(&p->subsystem->changes, __ATOMIC_ACQUIRE);

	if (changes == p->seen)
		return;
	for (uint32_t nsid = 1; nsid <= UROCE_NVMF_MAX_NAMESPACES; nsid++) {
		const struct nvmf_namespace *ns = uroce_nvmf_subsystem_namespace(p->subsystem, nsid);

		uroce_nvmf_uring_set_file(&p->uring, nsid - 1, ns != NULL ? ns->fd : -1);
	}
	/* pairs with the acquire in is_used() */
	__atomic_store_n(&p->seen, changes, __ATOMIC_RELEASE);
}

/* The rare work: new queues, and what the main thread or another poller asks of a queue. */
static void
look(struct nvmf_poller *p, uint64_t now_ns)
{
	struct nvmf_queue *q, *next;
	void *arrival;

	p->stopped_ns = p->look_ns != 0 && now_ns - p->look_ns > UROCE_NVMF_STOPPED_NS ? now_ns - p->look_ns : 0;
	p->look_ns = now_ns + UROCE_NVMF_LOOK_NS;
	see_namespaces(p);
	if (now_ns - p->rate_ns >= 1000000000) {
		__atomic_store_n(&p->counters.iops, p->counters.commands - p->rate_commands, __ATOMIC_RELAXED);
		p->rate_commands = p->counters.commands;
		p->rate_ns = now_ns;
	}
	while (rte_ring_dequeue(p->arrivals, &arrival) == 0)
		TAILQ_INSERT_TAIL(&p->queues, (struct nvmf_queue *)arrival, link);
	for (q = TAILQ_FIRST(&p->queues); q != NULL; q = next) {
		next = TAILQ_NEXT(q, link);
		uroce_nvmf_queue_look(q, now_ns);
	}
}

bool
uroce_nvmf_poller_round(struct nvmf_poller *p)
{
	unsigned int work = uroce_worker_poll(p->worker);

	p->now_ns = rte_rdtsc() / (rte_get_tsc_hz() / 1000000) * 1000;
	work += take_completions(p);
	work += uroce_nvmf_uring_poll(&p->uring);
	if (!TAILQ_EMPTY(&p->waiting))
		serve_waiting(p);
	if (p->now_ns >= p->look_ns)
		look(p, p->now_ns);
	return work != 0;
}
