/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The socket of the switch: assigns its ports to clients. Main thread.
 */

#ifndef UROCE_SWITCH_MEMIF_SERVER_H
#define UROCE_SWITCH_MEMIF_SERVER_H

#include "memif/client.h"
#include "port.h"

struct memif_server {
	int listener;
	int epoll;
	struct switch_port *ports; /* port i has ID i */
	unsigned int nb_ports;
	struct memif_client *owners[UROCE_SWITCH_PORTS]; /* NULL: the port is free */
	struct memif_client clients[UROCE_SWITCH_PORTS + UROCE_SWITCH_GUESTS];
	bool waking; /* the clients are asked to wake the switch */
	uint64_t refused; /* clients refused for wrong messages or memory */
	uint64_t said_ns; /* time of the last log of a refusal */
};

/** Listen at `path` for clients of these ports. @return 0 or -errno */
int uroce_memif_server_open(struct memif_server *s, const char *path, struct switch_port *ports, unsigned int nb_ports);
/** Disconnect all clients, and close the socket. */
void uroce_memif_server_close(struct memif_server *s);

/** Give new clients a port, free the ports of disconnected clients, and disconnect a client that takes too long to
 * connect. Does not wait. */
void uroce_memif_server_poll(struct memif_server *s, uint64_t now_ns);

/** Ask the clients to wake the switch when they have filled slots, or not to. A client that was just filling slots
 * may miss it. */
void uroce_memif_server_wake(struct memif_server *s, bool wanted);
/** Wait for a client, a signal, or the time. */
void uroce_memif_server_wait(const struct memif_server *s, uint64_t ns);

#endif /* UROCE_SWITCH_MEMIF_SERVER_H */
