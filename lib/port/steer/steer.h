/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Brings frames to the queue of their QP's worker. With uroce's RSS key, the UDP source port alone decides the queue,
 * and uroce peers derive it from the destination QPN. So a QPN is drawn that leads to the QP's worker. A connection
 * request asks the peer for a flow label, hence a source port, that leads there. Flow rules bring all other frames.
 */

#ifndef UROCE_PORT_STEER_STEER_H
#define UROCE_PORT_STEER_STEER_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "port/steer/rss.h"
#include "port/steer/rules.h"

struct uroce_device;
struct uroce_port;
struct uroce_qp;
struct uroce_worker;

struct uroce_steer {
	alignas(uint32_t) uint8_t key[UROCE_RSS_KEY_BYTES]; /* the key that was configured; drivers keep its address */
	struct uroce_rss rss;           /* constant while the device is started; reta_size 0: unknown */
	void (*make_rules)(void *port); /* of EAL's interrupt thread; constant */
	bool noted;                     /* atomic: a queue has new notes */
	uint64_t due_ns;                /* worker 0: earliest time to make rules */
	struct uroce_rules rules;
};

/** Read the RSS function of the started device, before workers poll it. Control threads. */
void uroce_steer_start(struct uroce_port *port);
/** Remove the rules and the notes. The device is started, and no worker polls it any more. Control threads. */
void uroce_steer_stop(struct uroce_port *port);

/* struct uroce_worker_ops */
bool uroce_steer_suits(const struct uroce_qp *qp, uint32_t qpn);
/* struct uroce_port_ops */
uint32_t uroce_steer_label(struct uroce_device *dev, uint32_t qpn, const union ibv_gid *own, const union ibv_gid *peer);

#endif /* UROCE_PORT_STEER_STEER_H */
