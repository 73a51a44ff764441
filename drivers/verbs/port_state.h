/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Reports a port whose peer is another process as active before that process has connected.
 */

#ifndef UROCE_DRIVERS_VERBS_PORT_STATE_H
#define UROCE_DRIVERS_VERBS_PORT_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct ibv_context;

/** Report the port as active if its peer is another process. Call it before the program has the context. */
void uroce_port_state_assume(struct ibv_context *context, uint16_t port_id);

/** Does the port share memory with a peer process? Frames that the peer has not read are lost when this process
 * exits. */
bool uroce_port_state_is_shared(uint16_t port_id);

/** Is the port's link up? */
bool uroce_port_state_is_up(uint16_t port_id);

/** Wait for the link, which some ports need a moment to establish: frames sent earlier are lost. A net_memif client
 * tries to connect several times; a net_memif server does not wait. Call it before the program has the port. */
void uroce_port_state_wait(uint16_t port_id);

#endif /* UROCE_DRIVERS_VERBS_PORT_STATE_H */
