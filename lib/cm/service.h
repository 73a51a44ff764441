/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Where lib/port's service and lib/cm meet: the devices that may have connections, an agent for each of them, and the
 * lock of lib/cm's state. The service's thread takes uroce_cm_lock, passes MADs to the agents' communication managers,
 * and calls lib/cm when a deadline has come. The calls that lib/cm makes are in the device's ops (device.h).
 */

#ifndef UROCE_CM_SERVICE_H
#define UROCE_CM_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>

#include "cm/ib/cm.h"
#include "verbs/device/device.h"

/* A device's end of the service: from start() to stop() of struct uroce_service_ops. */
struct uroce_cm_agent {
	TAILQ_ENTRY(uroce_cm_agent) link;	/* uroce_cm_agents, until its device is gone */
	struct uroce_device *dev;
	struct uroce_cm *cm;		/* its ops.event is uroce_cma_event(), its arg the agent */
};

TAILQ_HEAD(uroce_cm_agents, uroce_cm_agent);

/** Protects all of lib/cm's state. */
extern pthread_mutex_t uroce_cm_lock;

/** The agents of devices that are there, in the order in which they came. With the lock held. */
extern struct uroce_cm_agents uroce_cm_agents;

/** The agent of the device that has the GID. With the lock held. @return NULL: none has it */
struct uroce_cm_agent *uroce_cm_find(const union ibv_gid *gid, uint8_t *sgid_index);
/**
 * The agent of the device that leads to dgid most directly, and the GID by which it does. With the lock held.
 *
 * @param sgid	the GID that it must be; NULL: any
 * @return	NULL: none leads there
 */
struct uroce_cm_agent *uroce_cm_route(const union ibv_gid *sgid, const union ibv_gid *dgid, uint8_t *sgid_index);

/** The time: ns of the device's clock. */
uint64_t uroce_cm_now(const struct uroce_cm_agent *agent);
/** Have the service's thread look at uroce_cma_deadline() and uroce_cm_deadline() again. With the lock held. */
void uroce_cm_kick(const struct uroce_cm_agent *agent);

/**
 * An event channel or an ID uses the service. The first user starts it on all open devices, the last stops it. Without
 * the lock. @return 0 or -errno: there are devices, and it could start on none
 */
int uroce_cm_users_get(void);
void uroce_cm_users_put(void);
/** One more while there is one, and one less while others are left. With the lock held. */
void uroce_cm_users_more(void);
void uroce_cm_users_less(void);

/**
 * lib/port has opened a device. While there are event channels or IDs, the service runs on it. Control threads, without
 * the lock.
 */
void uroce_cm_device_opened(struct uroce_device *dev);
/**
 * lib/port is about to close a device: stop the service on it. Control threads, without the lock.
 *
 * @param in_use	called while the service is not starting or stopping: the device has all objects of its agent, or none.
 *			NULL: the device closes in any case
 * @return	whether the service has stopped; false: the device is in use, and stays open
 */
bool uroce_cm_device_closing(struct uroce_device *dev, bool (*in_use)(struct uroce_device *dev));

/* rdma_cm's side, called by the service's thread with uroce_cm_lock held. */
int uroce_cma_event(void *agent, const struct uroce_cm_event *event);	/* struct uroce_cm_ops.event */
void uroce_cma_expire(uint64_t now_ns);
uint64_t uroce_cma_deadline(void);

/** The service has started for a device: it can be found, and wildcard listeners listen on it. With the lock held. */
void uroce_cma_device_come(struct uroce_cm_agent *agent);
/** The device closes or is removed: it cannot be found, and its IDs get DEVICE_REMOVAL. Once. With the lock held. */
void uroce_cma_device_gone(struct uroce_cm_agent *agent);

#endif /* UROCE_CM_SERVICE_H */
