/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A process at the switch's socket: handles its messages until it has a port, and its disconnection. Main thread.
 */

#ifndef UROCE_SWITCH_MEMIF_CLIENT_H
#define UROCE_SWITCH_MEMIF_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "memif/link.h"

struct memif_client {
	int fd;            /* the socket, non-blocking; -1: no client */
	uint64_t since_ns; /* when it connected */
	uint32_t id;       /* the port that the client requests */
	bool named;        /* the client has sent the port's ID */
	bool connected;    /* the client has its port */
	struct memif_link link;
};

/* The kinds of a client's messages; the server, which has the ports, answers some of them. */
enum memif_said {
	MEMIF_SAID_NOTHING, /* no message */
	MEMIF_SAID_ENOUGH,  /* handled completely */
	MEMIF_SAID_RING,    /* the client has added a ring to read from */
	MEMIF_SAID_NAME,    /* the client requests port c->id: acknowledge it */
	MEMIF_SAID_CONNECT, /* the client connects to its port: answer it */
	MEMIF_SAID_BYE,     /* the client has exited or disconnected */
	MEMIF_SAID_WRONG,   /* wrong: *reason says why */
};

/** A client has connected: send it a HELLO. @return false: the client has disconnected, and its socket is closed */
bool uroce_memif_client_init(struct memif_client *c, int fd, uint64_t now_ns);
/** Disconnect the client, with the reason unless that is NULL, and free its resources. */
void uroce_memif_client_fini(struct memif_client *c, const char *reason);

/** Read one message, if there is one. Answers it, except for the kinds that the caller answers. */
enum memif_said uroce_memif_client_listen(struct memif_client *c, const char **reason);

/** Answer MEMIF_SAID_NAME. @return false: the client does not read */
bool uroce_memif_client_acknowledge(const struct memif_client *c);
/** Answer MEMIF_SAID_CONNECT, and start the rings. @return NULL, or the reason of a failure */
const char *uroce_memif_client_connect(struct memif_client *c);

#endif /* UROCE_SWITCH_MEMIF_CLIENT_H */
