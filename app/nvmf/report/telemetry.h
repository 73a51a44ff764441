/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Telemetry: the state of the target, and changes of its namespaces.
 */

#ifndef UROCE_NVMF_TELEMETRY_H
#define UROCE_NVMF_TELEMETRY_H

struct nvmf_target;

/** Answer the commands about this target from now on. Main thread. */
void uroce_nvmf_telemetry_start(struct nvmf_target *t);
/** Stop answering them: the target ends. */
void uroce_nvmf_telemetry_stop(void);

#endif /* UROCE_NVMF_TELEMETRY_H */
