/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A process at the switch's socket: its messages until it has a port, and its end. Main thread.
 */

#ifndef UROCE_SWITCH_MEMIF_CLIENT_H
#define UROCE_SWITCH_MEMIF_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "memif/link.h"

struct memif_client {
	int fd;            /* the socket, non-blocking; -1: no client */
	uint64_t since_ns; /* when it connected */
	uint32_t id;       /* of the port that it wants */
	bool named;        /* it has sent the port's ID */
	bool connected;    /* and has got it */
	struct memif_link link;
};

/* The kinds of a client's messages, for the server, which has the ports. */
enum memif_said {
	MEMIF_SAID_NOTHING, /* there was none */
	MEMIF_SAID_ENOUGH,  /* all is done that has to be */
	MEMIF_SAID_RING,    /* ... it has given a ring to read from */
	MEMIF_SAID_NAME,    /* it wants the port c->id: to be acknowledged */
	MEMIF_SAID_CONNECT, /* ... now: to be answered */
	MEMIF_SAID_BYE,     /* it has gone, or has disconnected */
	MEMIF_SAID_WRONG,   /* *reason says what */
};

/** A client has connected: send it a HELLO. @return false: it has gone already, and the socket is given up */
bool uroce_memif_client_init(struct memif_client *c, int fd, uint64_t now_ns);
/** Disconnect the client, with the reason unless that is NULL, and free all it has. */
void uroce_memif_client_fini(struct memif_client *c, const char *reason);

/** Read one message, if there is one, and answer it, but those that are the caller's to answer. */
enum memif_said uroce_memif_client_listen(struct memif_client *c, const char **reason);

/** Answer MEMIF_SAID_NAME. @return false: the client does not take it */
bool uroce_memif_client_acknowledge(const struct memif_client *c);
/** Answer MEMIF_SAID_CONNECT: the rings begin. @return NULL, or what is wrong */
const char *uroce_memif_client_connect(struct memif_client *c);

#endif /* UROCE_SWITCH_MEMIF_CLIENT_H */
