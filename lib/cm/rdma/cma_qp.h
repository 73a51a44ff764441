/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates the CQs of an ID's QP or SRQ. The application's threads.
 */

#ifndef UROCE_CM_RDMA_CMA_QP_H
#define UROCE_CM_RDMA_CMA_QP_H

#include <stdint.h>

#include <rdma/rdma_cma.h>

/** CQs with channels, of these sizes; 0: none. @return 0 or -errno */
int uroce_cma_cqs_create(struct rdma_cm_id *id, uint32_t send_size, uint32_t recv_size);
void uroce_cma_cqs_destroy(struct rdma_cm_id *id);

#endif /* UROCE_CM_RDMA_CMA_QP_H */
