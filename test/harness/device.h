/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A device without a port: what the port and the worker would do is answered from the fields here, and noted in them.
 * Its QPs have an engine of the transport, or a stand-in that only locks and notes (engine.h).
 *
 * A test sets fields at any time, and may put an operation of its own into dev.ops.
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
	struct uroce_device dev;	/* first */
	struct ibv_context *context;

	/* the port */
	union ibv_gid gids[HARNESS_GIDS];	/* zero: empty. A path's source is entry sgid_index */
	bool all_gids;			/* entries that are empty have the GID of entry 1 */
	enum ibv_mtu active_mtu;
	uint16_t vlan_tci;		/* of frames; UROCE_NO_VLAN */
	bool multi_seg;			/* the port takes chains */
	uint64_t now_ns;
	const uint64_t *clock_ns;	/* what the device's clock shows: now_ns, unless the test points elsewhere */
	uint64_t wall_offset_ns;	/* of the wall's clock to the device's */

	/* the worker */
	struct uroce_engine *engine;	/* of the next QP */
	void (*progress)(struct uroce_device *dev);	/* NULL: nothing */
	void (*entering)(void);		/* stand-in: called by engine_enter, before it has entered; NULL: nothing */
	struct harness_engine engines[HARNESS_ENGINES];	/* stand-ins */

	/* to return, -errno */
	int attach_error;
	int path_error;
	int port_error;
	int join_error;

	/* what was called */
	unsigned int attached;		/* QPs; stand-in: and not detached */
	unsigned int paths;		/* set up and not taken down */
	unsigned int path_inits;
	uint32_t path_local_qpn;
	uint32_t path_remote_qpn;
	unsigned int joined;		/* multicast groups */
	unsigned int doorbells;		/* stand-in; atomic */
	unsigned int changes;		/* stand-in: of QPs' states; the last one: */
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

/** For QPs on engines of the transport, the first of which is this one. The fields are as in a device that has just
 * been plugged in: no GID, 4096 bytes. */
void harness_device_init(struct harness_device *device, struct uroce_engine *engine,
			 const struct uroce_device_conf *conf);
/** For QPs on the stand-ins; frames have no headers. */
void harness_device_init_standin(struct harness_device *device, const struct uroce_device_conf *conf);
/** Every object must be gone. @return 0 or EBUSY */
int harness_device_fini(struct harness_device *device);

#endif /* UROCE_TEST_HARNESS_DEVICE_H */
