/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The prerequisites of a transport engine: EAL, pools, and the headers of frames to a peer.
 */

#ifndef UROCE_TEST_HARNESS_SETUP_H
#define UROCE_TEST_HARNESS_SETUP_H

#include <stdint.h>

#include <infiniband/verbs.h>

#include "wire/template.h"

/** Initialize EAL and RCU, at the first call. */
void harness_eal(void);

/** For frames with up to this many bytes of payload. */
struct rte_mempool *harness_pool(const char *name, unsigned int mbufs, uint32_t payload);

/**
 * The headers of frames from one address to another, of the same family; as in device.h, the last byte of an address is
 * also the last byte of its Ethernet address.
 */
void harness_headers(struct uroce_template *headers, const union ibv_gid *from, const union ibv_gid *to);

#endif /* UROCE_TEST_HARNESS_SETUP_H */
