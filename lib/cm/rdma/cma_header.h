/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Encodes and decodes the private data of a REQ or SIDR_REQ: 36 bytes in which rdma_cm passes the IP addresses and the
 * source port of the active side, followed by the application's data. No state.
 */

#ifndef UROCE_CM_RDMA_CMA_HEADER_H
#define UROCE_CM_RDMA_CMA_HEADER_H

#include <stdint.h>
#include <sys/socket.h>

#include "cm/rdma/cma.h"

#define UROCE_CMA_HEADER_BYTES 36

/** @param src	with the port; of the same family as dst */
void uroce_cma_header_encode(uint8_t header[UROCE_CMA_HEADER_BYTES], const struct sockaddr *src,
			     const struct sockaddr *dst);

/**
 * Everything in it may be hostile.
 * @param src	the sender's address and port
 * @param dst	this end's address, with port 0: the port is in the service ID
 * @return 0; -EINVAL: too short, another version, neither IPv4 nor IPv6, or not from a unicast address to another
 */
int uroce_cma_header_decode(const void *data, uint32_t bytes, struct sockaddr_storage *src,
			    struct sockaddr_storage *dst);

/** The private data of a request: the header, the data of rdma_create_ep(3) and the application's. Under uroce_cm_lock.
 * @return bytes, or -EINVAL: too many */
int uroce_cma_private_build(const struct uroce_cma_id *id, const struct rdma_conn_param *param,
			    uint8_t *data, unsigned int room);

#endif /* UROCE_CM_RDMA_CMA_HEADER_H */
