/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The subsystem: namespaces, hosts that may connect, and the controllers that exist. The main thread sets it up; its lock
 * protects controllers. A namespace that is removed is closed when no poller uses it any more.
 */

#ifndef UROCE_NVMF_SUBSYSTEM_H
#define UROCE_NVMF_SUBSYSTEM_H

#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>
#include <sys/queue.h>

#include "auth/secret.h"
#include "store/namespace.h"
#include "nvme.h"
#include "uroce_config.h"

struct nvmf_controller;
struct nvmf_poller;

struct nvmf_subsystem {
	char nqn[NVME_NQN_MAX + 1];
	char serial[21];
	/* written under namespace_lock, which main and telemetry take */
	pthread_mutex_t namespace_lock;
	struct nvmf_namespace *namespaces[UROCE_NVMF_MAX_NAMESPACES];	/* atomic: by nsid - 1; NULL: none */
	struct nvmf_namespace *leaving[UROCE_NVMF_MAX_NAMESPACES];	/* removed; pollers may still use them */
	uint32_t nb_namespaces;		/* atomic */
	uint32_t nb_leaving;
	uint32_t last_nsid;		/* of the last namespace that was added */
	uint32_t changes;		/* atomic: of the array of namespaces, counted */
	bool read_only;			/* namespaces that are added */
	const struct nvmf_host *hosts;	/* that may connect */
	unsigned int nb_hosts;		/* 0: all */
	uint8_t dh_group;		/* enum auth_group: the weakest that is accepted */
	unsigned int io_queues;		/* most I/O queues of a controller */
	/* where it is reached, for the discovery log */
	char traddr[256];
	char trsvcid[32];
	bool ipv6;
	pthread_mutex_t lock;
	LIST_HEAD(, nvmf_controller) controllers;
	uint16_t next_cntlid;
};

/** @return the number of namespaces */
static inline uint32_t
uroce_nvmf_subsystem_count(const struct nvmf_subsystem *s)
{
	return __atomic_load_n(&s->nb_namespaces, __ATOMIC_RELAXED);
}

/** A poller may use the namespace until its next look, and longer if uroce_nvmf_request_use() says so; others hold
 * namespace_lock. */
static inline struct nvmf_namespace *
uroce_nvmf_subsystem_namespace(const struct nvmf_subsystem *s, uint32_t nsid)
{
	if (nsid == 0 || nsid > UROCE_NVMF_MAX_NAMESPACES)
		return NULL;
	/* pairs with the release in set_namespace() */
	return __atomic_load_n(&s->namespaces[nsid - 1], __ATOMIC_ACQUIRE);
}

/** May a host of this NQN connect? @param host	its entry, or NULL: all hosts may */
bool uroce_nvmf_subsystem_admits(const struct nvmf_subsystem *s, const char *hostnqn, const struct nvmf_host **host);

/** Open a namespace, and tell all hosts. Its number follows the last one, since a host that has not seen yet that a
 * namespace was removed takes another one of its number for a fault. Any thread.
 * @return its nsid; 0: none, see why */
uint32_t uroce_nvmf_subsystem_add(struct nvmf_subsystem *s, const char *spec, struct nvmf_reason *why);
/** Leave out a number. Main thread. */
void uroce_nvmf_subsystem_skip(struct nvmf_subsystem *s);
/** Remove a namespace, and tell all hosts: commands that execute finish, later ones find no namespace. Any thread.
 * @return 0 or -ENOENT */
int uroce_nvmf_subsystem_remove(struct nvmf_subsystem *s, uint32_t nsid);
/** Close the removed namespaces that none of the n pollers uses. Main thread, periodically. */
void uroce_nvmf_subsystem_reclaim(struct nvmf_subsystem *s, const struct nvmf_poller *pollers, unsigned int n);
/** Read the sizes of the namespaces again, and tell all hosts of the changed ones. Any thread. @return their number */
unsigned int uroce_nvmf_subsystem_resize(struct nvmf_subsystem *s);

/** Prepare an empty subsystem. */
void uroce_nvmf_subsystem_init(struct nvmf_subsystem *s);
/** Close the namespaces. */
void uroce_nvmf_subsystem_fini(struct nvmf_subsystem *s);

/** End all controllers: their connections are closed. Main thread. */
void uroce_nvmf_subsystem_end(struct nvmf_subsystem *s);

#endif /* UROCE_NVMF_SUBSYSTEM_H */
