/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Decides which ports of EAL become RDMA devices.
 */

#ifndef UROCE_VERBS_EAL_PORTS_H
#define UROCE_VERBS_EAL_PORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "uroce_config.h"

#define UROCE_EAL_PORTS_ARGS 2	/* the most arguments that uroce_eal_ports_args() adds */

/* EAL probes all devices of some buses, unless an argument names one. Add arguments so that it probes none.
 * @param given	UROCE_EAL_ARGS
 * @return number of arguments added to argv */
int uroce_eal_ports_args(const char *given, char *argv[]);

/* Is this port a member of a bonding device? Only the bonding device may use it then.
 * @param given	UROCE_EAL_ARGS
 * @param name	the port's name: a PCI address, or the name of a virtual device */
bool uroce_eal_ports_is_member(const char *given, const char *name);

/* Find the next device that EAL's arguments name with --vdev or --allow.
 * @param given	where to search; moved behind the device
 * @return the device with its arguments, to be freed by the caller; NULL: there is no other one, or no memory */
char *uroce_eal_ports_next(const char **given);

/* Find the ports that become RDMA devices: those without an owner, except members of a bonding device.
 * @param only_named	EAL is the program's: if `given` names devices, take only these, in this order
 * @return number of ports */
unsigned int uroce_eal_ports_find(const char *given, bool only_named, uint16_t ids[UROCE_MAX_DEVICES]);

#endif /* UROCE_VERBS_EAL_PORTS_H */
