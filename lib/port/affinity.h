/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The worker of each QP. Control threads.
 */

#ifndef UROCE_PORT_AFFINITY_H
#define UROCE_PORT_AFFINITY_H

struct uroce_qp;

/** Choose a new QP's worker: that of its thread domain, else that of its send CQ's completion vector. @return 0 */
int uroce_port_qp_attach(struct uroce_qp *qp);

#endif /* UROCE_PORT_AFFINITY_H */
