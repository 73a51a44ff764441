/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The precompiled header of builds with -Db_pch=true: the headers that most files include and that take the compiler
 * longest. No file includes this one: each includes the headers that it needs, as builds without -Db_pch verify. It has
 * no header of DPDK, since those depend on earlier definitions (lib/base/trace_points.c).
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>
#ifdef __x86_64__
#include <x86intrin.h>	/* rte_vect.h */
#endif
