/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A stand-in for an engine of the transport, for tests of the layers that only call it: it has a lock, a clock and a
 * timer, and records its calls. It checks that callers hold its lock where they must.
 */

#ifndef UROCE_TEST_HARNESS_ENGINE_H
#define UROCE_TEST_HARNESS_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>

struct harness_device;
struct uroce_engine;
struct uroce_timer;
struct uroce_transport_ops;

struct harness_engine {
	pthread_mutex_t lock;
	struct harness_device *device;
	bool inside;
	uint64_t now_ns;
	struct uroce_timer *timer;	/* the armed timer; at most one */
	uint64_t deadline_ns;
};

void harness_engine_init(struct harness_engine *engine, struct harness_device *device);
void harness_engine_fini(struct harness_engine *engine);

static inline struct uroce_engine *
harness_engine_handle(struct harness_engine *engine)
{
	return (struct uroce_engine *)engine;
}

extern const struct uroce_transport_ops harness_engine_transport_ops;

/* Operations of the worker. */
void harness_engine_enter(struct uroce_engine *engine);
void harness_engine_exit(struct uroce_engine *engine);

#endif /* UROCE_TEST_HARNESS_ENGINE_H */
