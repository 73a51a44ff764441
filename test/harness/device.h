/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A device without a port: its operations take their results from the fields of this structure, and record their calls
 * in them. Its QPs have an engine of the transport, or a stand-in that only locks and records calls (engine.h). A test
 * may set fields at any time, and may replace operations in dev.ops.
 */

#ifndef UROCE_TEST_HARNESS_DEVICE_H
#define UROCE_TEST_HARNESS_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "engine.h"
#include "verbs/device/device.h"

#define HARNESS_GIDS 4
#define HARNESS_ENGINES 2

struct harness_device {
	struct uroce_device dev;	/* must be first */
	struct ibv_context *context;

	/* the port */
	union ibv_gid gids[HARNESS_GIDS];	/* zero: empty. Entry sgid_index is the source of a path */
	bool all_gids;			/* empty entries have the GID of entry 1 */
	enum ibv_mtu active_mtu;
	uint16_t vlan_tci;		/* of frames; UROCE_NO_VLAN */
	bool multi_seg;			/* the port takes chains */
	uint64_t now_ns;
	const uint64_t *clock_ns;	/* the device's clock: now_ns, unless the test points it elsewhere */
	uint64_t wall_offset_ns;	/* from the device's clock to the wall clock */

	/* the worker */
	struct uroce_engine *engine;	/* of the next QP */
	void (*progress)(struct uroce_device *dev);	/* NULL: no progress */
	uint32_t wakes;		/* calls of wake() */
	void (*entering)(void);		/* stand-in: called by engine_enter before it takes the lock, or NULL */
	struct harness_engine engines[HARNESS_ENGINES];	/* stand-ins */

	/* results of operations: 0 or -errno */
	int attach_error;
	int path_error;
	int port_error;
	int join_error;

	/* recorded calls */
	unsigned int attached;		/* QPs attached; stand-in: less those detached */
	unsigned int paths;		/* paths in use */
	unsigned int path_inits;
	uint32_t path_remote_qpn;
	unsigned int joined;		/* multicast groups joined */
	unsigned int doorbells;		/* stand-in; atomic */
	unsigned int changes;		/* stand-in: changes of a QP's state. The last change: */
	struct uroce_qp *changed_qp;
	enum ibv_qp_state changed_from;
	enum ibv_qp_state changed_to;
	int changed_mask;
};

static inline struct harness_device *
harness_device_of(struct uroce_device *dev)
{
	return (struct harness_device *)dev;
}

/**
 * For QPs on engines of the transport, of which this is the first. The fields are those of a newly plugged device: no
 * GID, 4096 bytes.
 */
void harness_device_init(struct harness_device *device, struct uroce_engine *engine,
			 const struct uroce_device_conf *conf);
/** For QPs on the stand-ins; frames have no headers. */
void harness_device_init_standin(struct harness_device *device, const struct uroce_device_conf *conf);
/** Fails unless all objects are destroyed. @return 0 or EBUSY */
int harness_device_fini(struct harness_device *device);

#endif /* UROCE_TEST_HARNESS_DEVICE_H */
