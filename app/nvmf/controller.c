/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Controllers: creation by Connect, properties, keep-alive, asynchronous events, the end. The subsystem's lock protects
 * the lists of controllers and of their queues; all else belongs to the poller of the admin queue.
 */

#include <stdlib.h>
#include <string.h>

#include "controller.h"
#include "report/log.h"
#include "poller.h"
#include "queue.h"
#include "target.h"
#include "request.h"

#define MAX_KATO_MS 0x7fffffffu

static struct nvmf_controller *
find(struct nvmf_subsystem *s, uint16_t cntlid)
{
	struct nvmf_controller *c;

	LIST_FOREACH(c, &s->controllers, link)
		if (c->cntlid == cntlid)
			return c;
	return NULL;
}

/* Controllers of one host and discovery controllers have different numbers. Under the lock. @return 0: there is none */
static uint16_t
new_cntlid(struct nvmf_subsystem *s)
{
	for (unsigned int i = 0; i < NVME_CNTLID_MAX; i++) {
		s->next_cntlid = (uint16_t)(s->next_cntlid % NVME_CNTLID_MAX + 1);
		if (find(s, s->next_cntlid) == NULL)
			return s->next_cntlid;
	}
	return 0;
}

static unsigned int
count(const struct nvmf_subsystem *s)
{
	const struct nvmf_controller *c;
	unsigned int n = 0;

	LIST_FOREACH(c, &s->controllers, link)
		n++;
	return n;
}

uint16_t
uroce_nvmf_controller_create(struct nvmf_queue *q, const struct nvme_connect_data *data, uint32_t kato_ms)
{
	struct nvmf_subsystem *s = uroce_nvmf_queue_subsystem(q);
	struct nvmf_controller *c = calloc(1, sizeof(*c));
	uint16_t status = NVME_SUCCESS;

	if (c == NULL)
		return NVME_INTERNAL_ERROR;
	c->subsystem = s;
	c->discovery = strcmp(data->subnqn, NVME_DISCOVERY_NQN) == 0;
	memcpy(c->hostnqn, data->hostnqn, NVME_NQN_MAX); /* checked: it ends with a zero by then */
	memcpy(c->hostid, data->hostid, sizeof(c->hostid));
	c->kato_ms = RTE_MIN(kato_ms, MAX_KATO_MS);
	c->io_queues = (uint16_t)s->io_queues;
	TAILQ_INIT(&c->events);
	pthread_mutex_lock(&s->lock);
	if (count(s) >= UROCE_NVMF_MAX_CONTROLLERS)
		status = NVME_CONNECT_BUSY;
	c->cntlid = status == NVME_SUCCESS ? new_cntlid(s) : 0;
	if (c->cntlid == 0)
		status = NVME_CONNECT_BUSY;
	if (status == NVME_SUCCESS) {
		c->queues[0] = q;
		c->nb_queues = 1;
		LIST_INSERT_HEAD(&s->controllers, c, link);
		q->controller = c;
	}
	pthread_mutex_unlock(&s->lock);
	if (status != NVME_SUCCESS) {
		free(c);
		return status;
	}
	if (!c->discovery)
		uroce_nvmf_log(NVMF_LOG_CONNECTED, "controller %u: host %s has connected", c->cntlid,
			       uroce_nvmf_host_name(c->hostnqn));
	return NVME_SUCCESS;
}

static bool
may_join(const struct nvmf_controller *c, const struct nvme_connect_data *data, uint16_t qid)
{
	return !c->ends && !c->discovery && uroce_nvmf_controller_is_ready(c) && qid <= c->io_queues &&
	       c->queues[qid] == NULL && strcmp(c->hostnqn, data->hostnqn) == 0 &&
	       memcmp(c->hostid, data->hostid, sizeof(c->hostid)) == 0;
}

uint16_t
uroce_nvmf_controller_join(struct nvmf_queue *q, const struct nvme_connect_data *data, uint16_t qid)
{
	struct nvmf_subsystem *s = uroce_nvmf_queue_subsystem(q);
	uint16_t status = NVME_CONNECT_INVALID_PARAM;
	struct nvmf_controller *c;

	pthread_mutex_lock(&s->lock);
	c = find(s, rte_le_to_cpu_16(data->cntlid));
	if (c != NULL && qid < UROCE_NVMF_MAX_QUEUES && may_join(c, data, qid)) {
		c->queues[qid] = q;
		c->nb_queues++;
		q->controller = c;
		status = NVME_SUCCESS;
	}
	pthread_mutex_unlock(&s->lock);
	return status;
}

/* Under the lock. */
static void
kick_io_queues(struct nvmf_controller *c)
{
	for (unsigned int i = 1; i < UROCE_NVMF_MAX_QUEUES; i++)
		if (c->queues[i] != NULL)
			uroce_nvmf_queue_kick(c->queues[i]);
}

void
uroce_nvmf_controller_leave(struct nvmf_controller *c, struct nvmf_queue *q)
{
	struct nvmf_subsystem *s = c->subsystem;
	bool last;

	pthread_mutex_lock(&s->lock);
	c->queues[q->qid] = NULL;
	last = --c->nb_queues == 0;
	if (q->qid == 0)
		c->ends = true;
	if (c->ends)
		kick_io_queues(c);
	if (last)
		LIST_REMOVE(c, link);
	pthread_mutex_unlock(&s->lock);
	if (!last)
		return;
	if (!c->discovery)
		uroce_nvmf_log(NVMF_LOG_GONE, "controller %u: host %s has gone", c->cntlid, uroce_nvmf_host_name(c->hostnqn));
	free(c);
}

/* End the I/O queues, at a reset or shutdown. */
static void
end_io_queues(struct nvmf_controller *c)
{
	pthread_mutex_lock(&c->subsystem->lock);
	kick_io_queues(c);
	pthread_mutex_unlock(&c->subsystem->lock);
}

uint64_t
uroce_nvmf_controller_property(const struct nvmf_controller *c, uint32_t offset, bool *known)
{
	*known = true;
	switch (offset) {
	case NVME_PROPERTY_CAP: /* CQR, TO in 500 ms, CSS: NVM; 4 KiB pages only */
		return (uint64_t)(UROCE_NVMF_QUEUE_DEPTH - 1) | UINT64_C(1) << 16 |
		       (uint64_t)UROCE_NVMF_READY_500MS << 24 | UINT64_C(1) << 37;
	case NVME_PROPERTY_VS: return NVME_VERSION_1_4;
	case NVME_PROPERTY_CC: return c->cc;
	case NVME_PROPERTY_CSTS: return c->csts;
	default: *known = false; return 0;
	}
}

/* CC.EN may be set only with the values that the controller supports. */
static bool
can_enable(uint32_t cc)
{
	return (cc & (NVME_CC_CSS | NVME_CC_MPS)) == 0 && (cc >> NVME_CC_IOSQES_SHIFT & 0xf) == 6 &&
	       (cc >> NVME_CC_IOCQES_SHIFT & 0xf) == 4;
}

uint16_t
uroce_nvmf_controller_set_property(struct nvmf_controller *c, uint32_t offset, uint64_t value)
{
	uint32_t cc = (uint32_t)value, before = c->cc;

	if (offset != NVME_PROPERTY_CC)
		return NVME_INVALID_FIELD;
	c->cc = cc;
	if ((cc & NVME_CC_ENABLE) != 0 && (before & NVME_CC_ENABLE) == 0) {
		bool io = !c->discovery;

		c->csts = !io || can_enable(cc) ? NVME_CSTS_READY : NVME_CSTS_FATAL;
	} else if ((cc & NVME_CC_ENABLE) == 0 && (before & NVME_CC_ENABLE) != 0) {
		c->csts &= ~(NVME_CSTS_READY | NVME_CSTS_SHUTDOWN_DONE);
		end_io_queues(c);
	}
	if ((cc & NVME_CC_SHUTDOWN) != 0 && (before & NVME_CC_SHUTDOWN) == 0) {
		end_io_queues(c);
		c->csts |= NVME_CSTS_SHUTDOWN_DONE;
	}
	return NVME_SUCCESS;
}

uint16_t
uroce_nvmf_controller_hold_event(struct nvmf_controller *c, struct nvmf_request *req)
{
	if (c->nb_events == UROCE_NVMF_EVENTS)
		return NVME_ASYNC_EVENT_LIMIT;
	req->state = NVMF_HELD;
	TAILQ_INSERT_TAIL(&c->events, req, link);
	c->nb_events++;
	return NVME_SUCCESS;
}

void
uroce_nvmf_controller_drop_event(struct nvmf_controller *c, struct nvmf_request *req)
{
	TAILQ_REMOVE(&c->events, req, link);
	c->nb_events--;
}

/* One event until the host has read the log; the others wait. */
static void
send_event(struct nvmf_controller *c)
{
	struct nvmf_request *req = TAILQ_FIRST(&c->events);

	if (req == NULL || c->event_masked || (c->event_config & NVME_EVENT_NAMESPACE) == 0)
		return;
	/* pairs with the release in changed() */
	if (!__atomic_exchange_n(&c->event_due, false, __ATOMIC_ACQUIRE))
		return;
	c->event_masked = true;
	uroce_nvmf_controller_drop_event(c, req);
	uroce_nvmf_request_finish_with(req, NVME_SUCCESS, NVME_EVENT_NAMESPACE_CHANGED);
}

void
uroce_nvmf_controller_look(struct nvmf_controller *c, struct nvmf_queue *q, uint64_t now_ns)
{
	c->alive_ns = c->alive_ns == 0 ? now_ns : c->alive_ns + q->poller->stopped_ns;
	if (c->kato_ms != 0 && now_ns - c->alive_ns > (uint64_t)c->kato_ms * 1000000 + UROCE_NVMF_KATO_GRACE_NS) {
		uroce_nvmf_log(NVMF_LOG_SILENT, "controller %u: host %s has sent no keep-alive for %u ms: disconnecting",
			       c->cntlid, uroce_nvmf_host_name(c->hostnqn), c->kato_ms);
		c->kato_ms = 0;
		uroce_nvmf_queue_kick(q);
		return;
	}
	send_event(c);
}
