/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The contexts of a device: its own, which lives as long as the device, and one for each uroce_open_device(). An object
 * raises its events at the context that it was made from.
 */

#ifndef UROCE_VERBS_DEVICE_CONTEXT_H
#define UROCE_VERBS_DEVICE_CONTEXT_H

#include "verbs/device/device.h"

/** The queue of a context's asynchronous events. */
struct uroce_event_queue *uroce_context_events(struct ibv_context *context);

/** For event queues: the event counts of an event's object, which stays until the events are acknowledged.
 * @return NULL: the event has no object */
struct uroce_event_refs *uroce_async_event_refs(const void *record);

/** Count an object made from the context: the context lives until the object's put. */
void uroce_context_get(struct ibv_context *context);
void uroce_context_put(struct ibv_context *context);

/** Set num_comp_vectors of all contexts of the device. */
void uroce_device_set_comp_vectors(struct uroce_device *dev, unsigned int n);

/** Close a context that uroce_open_device() has opened. @return false: it is the device's own */
bool uroce_context_close(struct ibv_context *context);

#endif /* UROCE_VERBS_DEVICE_CONTEXT_H */
