/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What takes the compiler longest of what most files include, so that a build with -Db_pch=true reads it once for each
 * target of many files. No file includes this one: each includes what it needs, which builds without show. Nothing of
 * DPDK is in it, whose headers depend on what is defined before (lib/base/trace_points.c).
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>
#ifdef __x86_64__
#include <x86intrin.h>	/* rte_vect.h */
#endif
