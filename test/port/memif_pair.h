/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Two devices of this process, connected by memif's memory and a pair of sockets.
 */

#ifndef UROCE_TEST_PORT_MEMIF_PAIR_H
#define UROCE_TEST_PORT_MEMIF_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "net.h"
#include "port/memif/memif.h"
#include "port/port.h"

extern struct memif_pair {
	struct net net;
	int memory;
	uint8_t *at;
	int sockets[2]; /* the devices', whose messages the test passes on; device 0 is the server */
	struct uroce_port *ports[2];
} memif_pair;

/** Open both devices, with one worker, and connect them.
 * @param shares	does each device? @param has_sockets	do the devices understand the messages? */
void memif_pair_open(const bool shares[2], bool has_sockets);
/** Connect the devices of memif_pair.net. */
void memif_pair_connect(const bool shares[2], bool has_sockets);
/** The connection ends first: a device that hears nothing more would hold the other's memory. */
void memif_pair_close(void);
/** End the connection's memory and sockets, after the devices. */
void memif_pair_disconnect(void);

/** Pass the next message on to device i. @return its type */
uint16_t memif_pair_pass(unsigned int i);
/** Each device asks, and then gets the other's memory. */
void memif_pair_show(void);

/* A WRITE by reference from device 0 that device 1 has not received. */
struct memif_waiting {
	uint8_t *bytes; /* in the slot */
	struct memif_desc *desc;
	struct memif_reference reference;
};

/** Does device 1 receive nothing? */
void memif_pair_set_deaf(bool is_deaf);
/** Send 4096 bytes, while device 1 is deaf. */
struct memif_waiting memif_pair_send_unheard(enum ibv_wr_opcode opcode);
/** The same with a WRITE, on devices that share their memory. */
struct memif_waiting memif_pair_open_unheard(void);
/** Let device 1 receive it. */
void memif_pair_hear(const struct memif_waiting *w);

#endif /* UROCE_TEST_PORT_MEMIF_PAIR_H */
