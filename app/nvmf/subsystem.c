/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Namespaces and what concerns all controllers: hosts, changes of namespaces, the end.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "controller.h"
#include "poller.h"
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
	for (unsigned int i = 0; i < UROCE_NVMF_MAX_NAMESPACES; i++) {
		if (s->namespaces[i] != NULL)
			uroce_nvmf_namespace_close(s->namespaces[i]);
		if (s->leaving[i] != NULL)
			uroce_nvmf_namespace_close(s->leaving[i]);
	}
	s->nb_namespaces = s->nb_leaving = 0;
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

/* Under namespace_lock. @param ns	NULL: none any more */
static void
set_namespace(struct nvmf_subsystem *s, uint32_t nsid, struct nvmf_namespace *ns)
{
	/* pairs with the acquire in uroce_nvmf_subsystem_namespace() */
	__atomic_store_n(&s->namespaces[nsid - 1], ns, __ATOMIC_RELEASE);
	__atomic_store_n(&s->nb_namespaces, s->nb_namespaces + (ns != NULL ? 1 : -1), __ATOMIC_RELAXED);
	/* pairs with the acquire in see_namespaces() */
	__atomic_store_n(&s->changes, s->changes + 1, __ATOMIC_RELEASE);
}

/* @return the next number that is free; 0: none */
static uint32_t
new_nsid(const struct nvmf_subsystem *s)
{
	for (uint32_t i = 0; i < UROCE_NVMF_MAX_NAMESPACES; i++) {
		uint32_t at = (s->last_nsid + i) % UROCE_NVMF_MAX_NAMESPACES;

		if (s->namespaces[at] == NULL && s->leaving[at] == NULL)
			return at + 1;
	}
	return 0;
}

/* Two namespaces of one file: hosts that write to both destroy it. @return 0, or -1: it is served already */
static int
check_same(const struct nvmf_namespace *ns, const char *spec, struct nvmf_reason *why)
{
	if (ns == NULL || !uroce_nvmf_namespace_is_same(ns, spec))
		return 0;
	snprintf(why->text, sizeof(why->text), "namespace %s: it is the same as namespace %u, %s: serve it once", spec,
		 ns->nsid, ns->path);
	return -1;
}

/* Under namespace_lock. @return NULL: see why */
static struct nvmf_namespace *
open_namespace(struct nvmf_subsystem *s, const char *spec, struct nvmf_reason *why)
{
	uint32_t nsid = new_nsid(s);

	why->busy = false;
	for (uint32_t i = 0; i < UROCE_NVMF_MAX_NAMESPACES; i++) {
		if (check_same(s->namespaces[i], spec, why) != 0)
			return NULL;
		why->busy = check_same(s->leaving[i], spec, why) != 0; /* until its last command ends */
		if (why->busy)
			return NULL;
	}
	if (nsid != 0)
		return uroce_nvmf_namespace_open(spec, nsid, s->read_only, s->nqn, why);
	snprintf(why->text, sizeof(why->text), "namespace %s: the limit is %u namespaces (UROCE_NVMF_MAX_NAMESPACES): remove one",
		 spec, UROCE_NVMF_MAX_NAMESPACES);
	return NULL;
}

static uint32_t
try_add(struct nvmf_subsystem *s, const char *spec, struct nvmf_reason *why)
{
	struct nvmf_namespace *ns;

	pthread_mutex_lock(&s->namespace_lock);
	ns = open_namespace(s, spec, why);
	if (ns != NULL) {
		set_namespace(s, ns->nsid, ns);
		s->last_nsid = ns->nsid;
	}
	pthread_mutex_unlock(&s->namespace_lock);
	if (ns == NULL)
		return 0;
	changed(s, ns->nsid);
	return ns->nsid;
}

/* The kernel closes the files of a killed process's io_uring a moment after the process has ended. */
uint32_t
uroce_nvmf_subsystem_add(struct nvmf_subsystem *s, const char *spec, struct nvmf_reason *why)
{
	uint32_t nsid = try_add(s, spec, why);

	for (unsigned int i = 1; nsid == 0 && why->busy && i < UROCE_NVMF_BUSY_LOOKS; i++) {
		usleep(UROCE_NVMF_BUSY_US);
		nsid = try_add(s, spec, why);
	}
	return nsid;
}

void
uroce_nvmf_subsystem_skip(struct nvmf_subsystem *s)
{
	s->last_nsid++;
}

int
uroce_nvmf_subsystem_remove(struct nvmf_subsystem *s, uint32_t nsid)
{
	struct nvmf_namespace *ns;

	pthread_mutex_lock(&s->namespace_lock);
	ns = uroce_nvmf_subsystem_namespace(s, nsid);
	if (ns != NULL) {
		set_namespace(s, nsid, NULL);
		ns->removed_at = s->changes;
		s->leaving[nsid - 1] = ns;
		s->nb_leaving++;
		fprintf(stderr, "%s: namespace %u: %s is removed\n", uroce_app_name, nsid, ns->path);
	}
	pthread_mutex_unlock(&s->namespace_lock);
	if (ns == NULL)
		return -ENOENT;
	changed(s, nsid);
	return 0;
}

static bool
is_used(const struct nvmf_namespace *ns, const struct nvmf_poller *pollers, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		/* pairs with the release in see_namespaces() */
		uint32_t seen = __atomic_load_n(&pollers[i].seen, __ATOMIC_ACQUIRE);

		if ((int32_t)(seen - ns->removed_at) < 0)
			return true;
		/* pairs with the release in uroce_nvmf_request_use() */
		if (__atomic_load_n(&pollers[i].uses[ns->nsid - 1], __ATOMIC_ACQUIRE) != 0)
			return true;
	}
	return false;
}

void
uroce_nvmf_subsystem_reclaim(struct nvmf_subsystem *s, const struct nvmf_poller *pollers, unsigned int n)
{
	if (pthread_mutex_trylock(&s->namespace_lock) != 0)
		return; /* the next time: the main thread may be a poller, which must not wait for a file to open */
	for (unsigned int i = 0; s->nb_leaving != 0 && i < UROCE_NVMF_MAX_NAMESPACES; i++) {
		if (s->leaving[i] == NULL || is_used(s->leaving[i], pollers, n))
			continue;
		uroce_nvmf_namespace_close(s->leaving[i]);
		s->leaving[i] = NULL;
		s->nb_leaving--;
	}
	pthread_mutex_unlock(&s->namespace_lock);
}

unsigned int
uroce_nvmf_subsystem_resize(struct nvmf_subsystem *s)
{
	unsigned int n = 0;

	pthread_mutex_lock(&s->namespace_lock);
	for (unsigned int i = 0; i < UROCE_NVMF_MAX_NAMESPACES; i++) {
		struct nvmf_namespace *ns = s->namespaces[i];

		if (ns == NULL || !uroce_nvmf_namespace_resize(ns))
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
