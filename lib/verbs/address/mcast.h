/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A device's multicast groups and the UD QPs that are attached to each. Control threads change them under a lock.
 * Workers look up the group of each multicast packet under uroce_rcu, without the lock.
 */

#ifndef UROCE_VERBS_ADDRESS_MCAST_H
#define UROCE_VERBS_ADDRESS_MCAST_H

#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>

#include "uroce_config.h"

struct uroce_device;
struct uroce_mcast_group;
struct uroce_qp;

struct uroce_mcast {
	pthread_mutex_t lock;
	uint32_t group_count;	/* under lock */
	/* chains of groups; the QPs of a group do not change once it is published. control: release; worker: acquire */
	struct uroce_mcast_group *buckets[UROCE_MCAST_BUCKETS];
};

void uroce_mcast_init(struct uroce_mcast *m);
/** After all QPs of the device are destroyed. */
void uroce_mcast_fini(struct uroce_mcast *m);

/**
 * Look up the QPs that are attached to a multicast group. The caller passes the packet to each of them on the QP's own
 * worker, where the engine checks the Q_Key (R7). Worker, within a poll.
 *
 * @param qps	room for UROCE_MAX_MCAST_QPS
 * @return	the number of QPs; 0: none is attached to the group
 */
unsigned int uroce_mcast_receivers(const struct uroce_device *dev, const uint8_t mgid[16],
				   struct uroce_qp *qps[UROCE_MAX_MCAST_QPS]);

/** R49: is the QP attached to a group? Control threads. */
bool uroce_mcast_is_attached(struct uroce_qp *qp);

#endif /* UROCE_VERBS_ADDRESS_MCAST_H */
