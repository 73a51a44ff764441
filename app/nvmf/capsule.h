/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Parses capsules.
 */

#ifndef UROCE_NVMF_CAPSULE_H
#define UROCE_NVMF_CAPSULE_H

#include <stdint.h>

struct nvmf_request;

/** Set the request's direction, and what describes its data, from its command and capsule. @return a status */
uint16_t uroce_nvmf_capsule_parse(struct nvmf_request *req);

#endif /* UROCE_NVMF_CAPSULE_H */
