/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * QP1, which the connection manager uses: a UD QP of the device that no application can create. Control threads.
 */

#ifndef UROCE_VERBS_QP_GSI_H
#define UROCE_VERBS_QP_GSI_H

#include <infiniband/verbs.h>

/**
 * Create the device's QP1 and bring it to RTS. Its Q_Key is UROCE_GSI_QKEY. A send to another QP1 passes it as
 * remote_qkey, with UROCE_GSI_QPN as remote_qpn. Otherwise QP1 works as any UD QP; uroce_destroy_qp() destroys it.
 *
 * @param cap	the capacities of its queues
 * @return	NULL and errno: EEXIST: the device has a QP1; and those of uroce_create_qp() and uroce_modify_qp()
 */
struct ibv_qp *uroce_gsi_create(struct ibv_pd *pd, struct ibv_cq *send_cq, struct ibv_cq *recv_cq,
				const struct ibv_qp_cap *cap);

#endif /* UROCE_VERBS_QP_GSI_H */
