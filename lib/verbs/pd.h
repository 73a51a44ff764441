/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Protection domains: an identity and a count of what belongs to it.
 */

#ifndef UROCE_VERBS_PD_H
#define UROCE_VERBS_PD_H

#include <stdint.h>

#include <infiniband/verbs.h>

struct uroce_pd {
	struct ibv_pd ibv;
	uint32_t refs;		/* atomic: MRs, QPs, … (R47) */
};

#endif /* UROCE_VERBS_PD_H */
