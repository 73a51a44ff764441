/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What lib/port lends lib/cm: devices, addresses, QP1, the clock, and a control thread that takes uroce_cm_lock,
 * feeds MADs in, and calls back when a deadline has come. uroce_cm_lock protects all of lib/cm's state.
 */

#ifndef UROCE_CM_SERVICE_H
#define UROCE_CM_SERVICE_H

#include <stdint.h>
#include <pthread.h>

#include <infiniband/verbs.h>

#include "cm/ib/cm.h"
#include "verbs/device/device.h"

/* A device's end of the service: made by lib/port when the service starts, or a device opens while it runs. */
struct uroce_cm_agent {
	struct uroce_device *dev;
	struct uroce_cm *cm;		/* its ops.event is uroce_cma_event(), its arg the agent */
};

/* All but now and kick with uroce_cm_lock held; none of them blocks for long. */
struct uroce_cm_service_ops {
	uint64_t (*now_ns)(void);
	/* Have the service's thread look at uroce_cma_deadline() and uroce_cm_deadline() again. Any thread. */
	void (*kick)(void);
	/* Counted: the first starts QP1 on every device and the thread, the last stops them (without the lock
	 * held). @return 0 or -errno */
	int (*start)(void);
	void (*stop)(void);
	/* The agents of all devices. @return how many there are */
	unsigned int (*agents)(struct uroce_cm_agent **agents, unsigned int room);
	/* The agent whose device has the address; NULL: none */
	struct uroce_cm_agent *(*find)(const union ibv_gid *gid, uint8_t *sgid_index);
	/* Which device and which of its addresses leads to dgid; sgid: NULL, or the address that it must be.
	 * NULL: -ENETUNREACH */
	struct uroce_cm_agent *(*route)(const union ibv_gid *sgid, const union ibv_gid *dgid, uint8_t *sgid_index);
	/* Is the neighbor's Ethernet address known? Asks for it, and again, until it is.
	 * @return 0: it is; -EINPROGRESS: ask again at uroce_cma_deadline(); -EHOSTUNREACH: no answer */
	int (*resolve)(struct uroce_cm_agent *agent, uint8_t sgid_index, const union ibv_gid *dgid);
};

extern pthread_mutex_t uroce_cm_lock;

/** By lib/port, before a device opens. */
void uroce_cm_service_register(const struct uroce_cm_service_ops *ops);
/** NULL: there is no service. */
const struct uroce_cm_service_ops *uroce_cm_service(void);

/* rdma_cm's side, called by the service's thread with uroce_cm_lock held. */
int uroce_cma_event(void *agent, const struct uroce_cm_event *event);	/* struct uroce_cm_ops.event */
void uroce_cma_expire(uint64_t now_ns);
uint64_t uroce_cma_deadline(void);

/** A device closes or its port is gone: its IDs get DEVICE_REMOVAL and are bound no more. With the lock held. */
void uroce_cma_device_gone(struct uroce_cm_agent *agent);
/** A device has opened while the service runs: wildcard listeners listen on it, too. With the lock held. */
void uroce_cma_device_come(struct uroce_cm_agent *agent);

#endif /* UROCE_CM_SERVICE_H */
