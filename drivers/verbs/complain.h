/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What the library tells the user of a program on stderr, in a line each: verbs has an errno at best.
 */

#ifndef UROCE_DRIVERS_VERBS_COMPLAIN_H
#define UROCE_DRIVERS_VERBS_COMPLAIN_H

#include <infiniband/verbs.h>

/** A line of stderr. Any thread. */
__attribute__((format(printf, 1, 2))) void uroce_complain(const char *format, ...);

/** A program asked for a QP that is not supported: if that is for its type, say so, once for each type. Any thread. */
void uroce_complain_qp_type(enum ibv_qp_type type);

/**
 * If few file descriptors are left to the process, say so: what fails for this reason fails later, in the program's
 * words.
 *
 * @param needed	of a device and what a program makes with it
 */
void uroce_complain_descriptors(unsigned int needed);

#endif /* UROCE_DRIVERS_VERBS_COMPLAIN_H */
