/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The virtual devices net_uroce_udp*, as EAL's arguments describe them. EAL's thread adds and removes them; control
 * threads read.
 */

#ifndef UROCE_PORT_UDP_DEVICE_H
#define UROCE_PORT_UDP_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <netinet/in.h>

#include "uroce_config.h"

union uroce_udp_address {
	struct sockaddr any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
};

struct uroce_udp_device {
	char name[64]; /* of the ethdev; empty: unused */
	union uroce_udp_address locals[UROCE_UDP_LOCALS];
	unsigned int nb_locals;
	uint32_t mtu; /* the least of the interfaces with these addresses */
	bool gso;
};

/** @param name	of an ethdev. @return NULL: it is another kind of port */
const struct uroce_udp_device *uroce_udp_device_find(const char *name);

#endif /* UROCE_PORT_UDP_DEVICE_H */
