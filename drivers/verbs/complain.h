/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Messages on stderr that explain an error to the program's user: verbs itself reports an errno at best.
 */

#ifndef UROCE_DRIVERS_VERBS_COMPLAIN_H
#define UROCE_DRIVERS_VERBS_COMPLAIN_H

#include <infiniband/verbs.h>

/** Print a line to stderr. Any thread. */
__attribute__((format(printf, 1, 2))) void uroce_complain(const char *format, ...);

/** Print that a type of QP is not supported, once for each type; nothing if it is supported. Any thread. */
void uroce_complain_qp_type(enum ibv_qp_type type);

/**
 * Print a warning if the process has too few free file descriptors: the program's later errors will not name the cause.
 *
 * @param needed	descriptors that a device and a program's objects may use
 */
void uroce_complain_descriptors(unsigned int needed);

#endif /* UROCE_DRIVERS_VERBS_COMPLAIN_H */
