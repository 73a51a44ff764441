/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The name and the help texts that each program defines for the shared code.
 */

#ifndef UROCE_APP_PROGRAM_H
#define UROCE_APP_PROGRAM_H

extern const char uroce_app_name[];	/* "uroce-perf" */
extern const char uroce_app_usage[];	/* the text of --help */
extern const char uroce_app_both_ends[];	/* how to run both ends in one process: "leave … out"; or "" */

#endif /* UROCE_APP_PROGRAM_H */
