/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What connecting by a connection (cma_connect.c) and by SIDR (cma_datagram.c) have in common. Under uroce_cm_lock.
 */

#ifndef UROCE_CM_RDMA_CMA_CONNECT_H
#define UROCE_CM_RDMA_CMA_CONNECT_H

#include <stdint.h>

#include "cm/rdma/cma.h"

/** The private data of a request: rdma_cm's header and the user's. @return bytes, or -EINVAL: too
 * many */
int uroce_cma_private_build(const struct uroce_cma_id *id, const struct rdma_conn_param *param,
			    uint8_t *data, unsigned int room);

#endif /* UROCE_CM_RDMA_CMA_CONNECT_H */
