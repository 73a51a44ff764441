/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Parses what a host sends.
 */

#ifndef UROCE_NVMF_CAPSULE_H
#define UROCE_NVMF_CAPSULE_H

#include <stddef.h>
#include <stdint.h>

#include "nvme.h"

struct nvmf_request;

/** Set the request's direction, and what describes its data, from its command and capsule. @return a status */
uint16_t uroce_nvmf_capsule_parse(struct nvmf_request *req);

/** Parse the private data of a connection request. @return 0, or an enum nvme_cm_status */
uint16_t uroce_nvmf_parse_request(const void *private_data, size_t bytes, struct nvme_cm_request *priv);

#endif /* UROCE_NVMF_CAPSULE_H */
