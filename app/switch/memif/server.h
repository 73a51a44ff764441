/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The socket of the switch, and which client has which of its ports. Main thread.
 */

#ifndef UROCE_SWITCH_MEMIF_SERVER_H
#define UROCE_SWITCH_MEMIF_SERVER_H

#include "memif/client.h"
#include "port.h"

struct memif_server {
	int listener;
	int epoll;
	struct switch_port *ports; /* port i is that of the id i */
	unsigned int nb_ports;
	struct memif_client *owners[UROCE_SWITCH_PORTS]; /* NULL: the port is free */
	struct memif_client clients[UROCE_SWITCH_PORTS + UROCE_SWITCH_GUESTS];
	bool waking; /* the clients are to say when they have filled slots */
	uint64_t refused; /* clients with wrong messages or memory */
	uint64_t said_ns; /* the last time that this was said */
};

/** Listen there, for clients of these ports. @return 0 or -errno */
int uroce_memif_server_open(struct memif_server *s, const char *path, struct switch_port *ports, unsigned int nb_ports);
/** Tell all clients that it is over. */
void uroce_memif_server_close(struct memif_server *s);

/** Give new clients a port, take it back from clients that have gone, and disconnect a client that takes too long to
 * connect. Does not wait. */
void uroce_memif_server_poll(struct memif_server *s, uint64_t now_ns);

/** Have the clients say when they have filled slots: uroce_memif_server_wait() sees that, sooner or later. */
void uroce_memif_server_wake(struct memif_server *s, bool wanted);
/** Wait for a client, for a signal, or for so long. */
void uroce_memif_server_wait(const struct memif_server *s, uint64_t ns);

#endif /* UROCE_SWITCH_MEMIF_SERVER_H */
