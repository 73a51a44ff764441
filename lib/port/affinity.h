/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The worker of each QP. Control threads.
 */

#ifndef UROCE_PORT_AFFINITY_H
#define UROCE_PORT_AFFINITY_H

struct uroce_qp;
struct uroce_worker;

/** Choose a new QP's worker: that of its thread domain, else that of its send CQ's completion vector. @return 0 */
int uroce_port_qp_attach(struct uroce_qp *qp);

/** Move a QP to another worker, as uroce_qp_move(); under the device's engines_lock. */
void uroce_port_qp_move(struct uroce_qp *qp, struct uroce_worker *worker);

#endif /* UROCE_PORT_AFFINITY_H */
