/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A device's multicast groups and the UD QPs that are attached to each. Control threads change them, under a lock;
 * workers look a group up for each multicast packet, under uroce_rcu without it.
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
	/* chains of groups, none of which changes while it can be seen. control: release; worker: acquire */
	struct uroce_mcast_group *buckets[UROCE_MCAST_BUCKETS];
};

void uroce_mcast_init(struct uroce_mcast *m);
/** All QPs of the device are gone. */
void uroce_mcast_fini(struct uroce_mcast *m);

/**
 * The QPs that a multicast packet is for. The caller gives each of them the packet, on its own worker; whether
 * its Q_Key is theirs, their engines find out (R7). Worker, within a poll.
 *
 * @param qps	room for UROCE_MAX_MCAST_QPS
 * @return	how many; 0: nobody is attached to the group
 */
unsigned int uroce_mcast_receivers(const struct uroce_device *dev, const uint8_t mgid[16],
				   struct uroce_qp *qps[UROCE_MAX_MCAST_QPS]);

/** R49: is it attached to a group? Control threads. */
bool uroce_mcast_is_attached(struct uroce_qp *qp);

#endif /* UROCE_VERBS_ADDRESS_MCAST_H */
