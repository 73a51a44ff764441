/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The subsystem: namespaces, hosts that may connect, and the controllers that exist. The main thread sets it up; its lock
 * protects controllers.
 */

#ifndef UROCE_NVMF_SUBSYSTEM_H
#define UROCE_NVMF_SUBSYSTEM_H

#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>
#include <sys/queue.h>

#include "store/namespace.h"
#include "nvme.h"
#include "uroce_config.h"

struct nvmf_controller;

struct nvmf_subsystem {
	char nqn[NVME_NQN_MAX + 1];
	char serial[21];
	struct nvmf_namespace *namespaces[UROCE_NVMF_MAX_NAMESPACES];	/* by nsid - 1; constant after the set-up */
	uint32_t nb_namespaces;
	const char *const *hosts;	/* NQNs that may connect */
	unsigned int nb_hosts;		/* 0: all */
	unsigned int io_queues;		/* most I/O queues of a controller */
	/* where it is reached, for the discovery log */
	char traddr[256];
	char trsvcid[32];
	bool ipv6;
	pthread_mutex_t lock;
	LIST_HEAD(, nvmf_controller) controllers;
	uint16_t next_cntlid;
};

static inline struct nvmf_namespace *
uroce_nvmf_subsystem_namespace(const struct nvmf_subsystem *s, uint32_t nsid)
{
	return nsid != 0 && nsid <= s->nb_namespaces ? s->namespaces[nsid - 1] : NULL;
}

/** May a host of this NQN connect? */
bool uroce_nvmf_subsystem_admits(const struct nvmf_subsystem *s, const char *hostnqn);

/** Tell all hosts that a namespace has changed. Main thread. */
void uroce_nvmf_subsystem_changed(struct nvmf_subsystem *s, uint32_t nsid);

/** End all controllers: their connections are closed. Main thread. */
void uroce_nvmf_subsystem_end(struct nvmf_subsystem *s);

#endif /* UROCE_NVMF_SUBSYSTEM_H */
