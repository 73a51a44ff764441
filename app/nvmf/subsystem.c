/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What concerns all controllers: hosts, changes of namespaces, the end.
 */

#include <string.h>

#include "controller.h"
#include "queue.h"
#include "subsystem.h"

bool
uroce_nvmf_subsystem_admits(const struct nvmf_subsystem *s, const char *hostnqn)
{
	for (unsigned int i = 0; i < s->nb_hosts; i++)
		if (strcmp(s->hosts[i], hostnqn) == 0)
			return true;
	return s->nb_hosts == 0;
}

void
uroce_nvmf_subsystem_changed(struct nvmf_subsystem *s, uint32_t nsid)
{
	struct nvmf_controller *c;

	pthread_mutex_lock(&s->lock);
	LIST_FOREACH(c, &s->controllers, link) {
		__atomic_fetch_or(&c->changed[(nsid - 1) / 64], UINT64_C(1) << ((nsid - 1) % 64), __ATOMIC_RELAXED);
		/* pairs with the exchange in send_event() */
		__atomic_store_n(&c->event_due, true, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&s->lock);
}

void
uroce_nvmf_subsystem_end(struct nvmf_subsystem *s)
{
	struct nvmf_controller *c;

	pthread_mutex_lock(&s->lock);
	LIST_FOREACH(c, &s->controllers, link)
		for (unsigned int i = 0; i < UROCE_NVMF_MAX_QUEUES; i++)
			if (c->queues[i] != NULL)
				uroce_nvmf_queue_kick(c->queues[i]);
	pthread_mutex_unlock(&s->lock);
}
