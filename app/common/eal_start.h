/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * EAL for main(): its part of the command line, its start, its lcores.
 */

#ifndef UROCE_APP_EAL_START_H
#define UROCE_APP_EAL_START_H

#include <stdbool.h>

/** How many arguments are EAL's, the program's name included: where `--` is, or argc. */
int uroce_app_eal_args(int argc, char **argv);

/** rte_eal_init(), with enough memory without hugepages. @return 0 or -1, messages printed */
int uroce_app_eal_init(int argc, char **argv);

/** Was EAL asked for a device, by --vdev or -a? */
bool uroce_app_eal_device_given(void);

/** Why there is no port, and what to do. Static text. */
const char *uroce_app_eal_no_port(void);

/** The lcores, the main one first. @return how many, at most UROCE_MAX_WORKERS */
unsigned int uroce_app_lcores(unsigned int *lcores);

/** Close the ports and EAL, in that order: a driver's thread must not outlive the memory it uses. */
void uroce_app_eal_fini(void);

#endif /* UROCE_APP_EAL_START_H */
