/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What an engine of the transport needs: EAL, pools, and a peer's headers.
 */

#ifndef UROCE_TEST_HARNESS_SETUP_H
#define UROCE_TEST_HARNESS_SETUP_H

#include <stdint.h>

#include <infiniband/verbs.h>

#include "wire/template.h"

/** EAL and RCU, at the first call. */
void harness_eal(void);

/** For frames with so many bytes of payload. */
struct rte_mempool *harness_pool(const char *name, unsigned int mbufs, uint32_t payload);

/** What frames from one address to another begin with; as in device.h the last byte is also that of the Ethernet
 * address. Both are of one family. */
void harness_headers(struct uroce_template *headers, const union ibv_gid *from, const union ibv_gid *to);

#endif /* UROCE_TEST_HARNESS_SETUP_H */
