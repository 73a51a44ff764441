/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The peer's end of memif's control socket.
 */

#ifndef UROCE_TEST_PORT_MEMIF_MESSAGES_H
#define UROCE_TEST_PORT_MEMIF_MESSAGES_H

#include "port/memif/wire.h"

/** Make a connected pair of sockets. */
void memif_sockets(int sockets[2]);
/** Wait for the next message. @param fd	set to its descriptor, which the caller closes, or to -1 */
void memif_receive(int socket, struct memif_message *m, int *fd);
/** Has a message arrived? */
int memif_has_message(int socket);

#endif /* UROCE_TEST_PORT_MEMIF_MESSAGES_H */
