/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The interface between lib/port's service and lib/cm: an agent for each device that may have connections, and the lock
 * of lib/cm's state. The service's thread takes uroce_cm_lock, passes MADs to the agents' communication managers, and
 * calls lib/cm when a deadline has passed. lib/cm calls the service by the device's ops (device.h).
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
	TAILQ_ENTRY(uroce_cm_agent) link;	/* uroce_cm_agents, until its device is removed */
	struct uroce_device *dev;
	struct uroce_cm *cm;		/* its ops.event is uroce_cma_event(), its arg the agent */
};

TAILQ_HEAD(uroce_cm_agents, uroce_cm_agent);

/** Protects all of lib/cm's state. */
extern pthread_mutex_t uroce_cm_lock;

/** The agents of the devices present, in the order of their start. With the lock held. */
extern struct uroce_cm_agents uroce_cm_agents;

/** @return the agent of the device that has the GID; NULL: none has it. With the lock held. */
struct uroce_cm_agent *uroce_cm_find(const union ibv_gid *gid, uint8_t *sgid_index);
/**
 * Find the agent of the device with the best route to dgid, and the source GID of that route. With the lock held.
 *
 * @param sgid	the only acceptable source GID; NULL: any
 * @return	NULL: no device has a route
 */
struct uroce_cm_agent *uroce_cm_route(const union ibv_gid *sgid, const union ibv_gid *dgid, uint8_t *sgid_index);

/** @return the time, ns of the device's clock */
uint64_t uroce_cm_now(const struct uroce_cm_agent *agent);
/** Make the service's thread read uroce_cma_deadline() and uroce_cm_deadline() again. With the lock held. */
void uroce_cm_kick(const struct uroce_cm_agent *agent);

/**
 * Count an event channel or ID as a user of the service. The first user starts it on all open devices, the last stops
 * it. Without the lock. @return 0 or -errno: there are devices, and the service could start on none of them
 */
int uroce_cm_users_get(void);
void uroce_cm_users_put(void);
/** The same where the count is not 0 before and after the call, so that nothing starts or stops. With the lock held. */
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
 * @param in_use	called while the service is not starting or stopping: the device has all objects of its agent,
 *			or none. NULL: the device closes in any case
 * @return	whether the service has stopped; false: the device is in use, and stays open
 */
bool uroce_cm_device_closing(struct uroce_device *dev, bool (*in_use)(struct uroce_device *dev));

/* Functions of rdma/, called by the service's thread with uroce_cm_lock held. */
int uroce_cma_event(void *agent, const struct uroce_cm_event *event);	/* struct uroce_cm_ops.event */
void uroce_cma_expire(uint64_t now_ns);
uint64_t uroce_cma_deadline(void);

/** The service has started on a device: it can be found, and wildcard listeners listen on it. With the lock held. */
void uroce_cma_device_come(struct uroce_cm_agent *agent);
/** The device closes or is removed: it cannot be found, and its IDs get DEVICE_REMOVAL. Once. With the lock held. */
void uroce_cma_device_gone(struct uroce_cm_agent *agent);

#endif /* UROCE_CM_SERVICE_H */
