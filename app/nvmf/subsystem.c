/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Namespaces and what concerns all controllers: hosts, changes of namespaces, the end.
 */

#include <stdio.h>
#include <string.h>

#include "controller.h"
#include "program.h"
#include "queue.h"
#include "subsystem.h"

bool
uroce_nvmf_subsystem_admits(const struct nvmf_subsystem *s, const char *hostnqn, const struct nvmf_host **host)
{
	*host = NULL;
	for (unsigned int i = 0; i < s->nb_hosts && *host == NULL; i++)
		if (strcmp(s->hosts[i].nqn, hostnqn) == 0)
			*host = &s->hosts[i];
	return s->nb_hosts == 0 || *host != NULL;
}

void
uroce_nvmf_subsystem_init(struct nvmf_subsystem *s)
{
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->namespace_lock, NULL);
	LIST_INIT(&s->controllers);
}

void
uroce_nvmf_subsystem_fini(struct nvmf_subsystem *s)
{
	for (unsigned int i = 0; i < s->nb_namespaces; i++)
		uroce_nvmf_namespace_close(s->namespaces[i]);
	s->nb_namespaces = 0;
}

/* Tell all hosts that a namespace has changed. */
static void
changed(struct nvmf_subsystem *s, uint32_t nsid)
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

uint32_t
uroce_nvmf_subsystem_add(struct nvmf_subsystem *s, const char *spec)
{
	struct nvmf_namespace *ns = NULL;
	uint32_t n;

	pthread_mutex_lock(&s->namespace_lock);
	n = s->nb_namespaces;
	if (n < UROCE_NVMF_MAX_NAMESPACES)
		ns = uroce_nvmf_namespace_open(spec, n + 1, s->read_only, s->nqn);
	else
		fprintf(stderr, "%s: namespace %s: the limit is %u namespaces (UROCE_NVMF_MAX_NAMESPACES)\n",
			uroce_app_name, spec, n);
	if (ns != NULL) {
		s->namespaces[n] = ns;
		/* pairs with the acquire in uroce_nvmf_subsystem_count() */
		__atomic_store_n(&s->nb_namespaces, n + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&s->namespace_lock);
	if (ns == NULL)
		return 0;
	changed(s, n + 1);
	return n + 1;
}

unsigned int
uroce_nvmf_subsystem_resize(struct nvmf_subsystem *s)
{
	unsigned int n = 0;

	pthread_mutex_lock(&s->namespace_lock);
	for (unsigned int i = 0; i < s->nb_namespaces; i++) {
		struct nvmf_namespace *ns = s->namespaces[i];

		if (!uroce_nvmf_namespace_resize(ns))
			continue;
		fprintf(stderr, "%s: namespace %u: %llu blocks\n", uroce_app_name, ns->nsid,
			(unsigned long long)uroce_nvmf_namespace_blocks(ns));
		changed(s, ns->nsid);
		n++;
	}
	pthread_mutex_unlock(&s->namespace_lock);
	return n;
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
