/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The worker of each QP. Control threads.
 */

#ifndef UROCE_PORT_AFFINITY_H
#define UROCE_PORT_AFFINITY_H

#include <stdbool.h>

struct uroce_port;
struct uroce_qp;
struct uroce_worker;

/** Does the worker drive a queue of the port? Under engines_lock. @param w	may be any pointer */
bool uroce_port_has_worker(const struct uroce_port *port, const struct uroce_worker *w);

/** Choose a new QP's worker: that of its thread domain, else that of its send CQ's completion vector. @return 0 */
int uroce_port_qp_attach(struct uroce_qp *qp);

#endif /* UROCE_PORT_AFFINITY_H */
