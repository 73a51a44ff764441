/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * EAL for main(): its part of the command line, its start and end, its lcores.
 */

#ifndef UROCE_APP_EAL_START_H
#define UROCE_APP_EAL_START_H

#include <stdbool.h>

/** Get the number of EAL's arguments, including the program's name: the index of `--`, or argc. */
int uroce_app_eal_args(int argc, char **argv);

/** Call rte_eal_init(), with enough memory if there are no hugepages. @return 0 or -1, messages printed */
int uroce_app_eal_init(int argc, char **argv);

/** Is a device among EAL's arguments, by --vdev or -a? */
bool uroce_app_eal_device_given(void);

/** Get a message that says why there is no port, and the remedy. Static text. */
const char *uroce_app_eal_no_port(void);

/** Get the lcores, the main lcore first. @return their number, at most UROCE_MAX_WORKERS */
unsigned int uroce_app_lcores(unsigned int *lcores);

/** Close the ports, then EAL: a driver's thread must not outlive the memory it uses. */
void uroce_app_eal_fini(void);

#endif /* UROCE_APP_EAL_START_H */
