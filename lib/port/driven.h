/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Workers that the application's polls of CQs drive (poll_progress). Any thread of the application.
 */

#ifndef UROCE_PORT_DRIVEN_H
#define UROCE_PORT_DRIVEN_H

struct uroce_cq;
struct uroce_device;
struct uroce_port;
struct uroce_worker;

/** Poll for a thread that polls an empty CQ, or waits for something else (NULL). */
void uroce_driven_poll(struct uroce_device *dev, const struct uroce_cq *cq);

/** @return the worker that the calling thread has polled last; NULL: none */
struct uroce_worker *uroce_driven_last(void);

/** @return the worker for the calling thread's QPs: that of its earlier ones, or else the one of the fewest threads */
struct uroce_worker *uroce_driven_home(const struct uroce_port *port);

#endif /* UROCE_PORT_DRIVEN_H */
