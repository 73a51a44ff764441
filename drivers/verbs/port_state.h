/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Reports a port whose peer is another process as active before that process has come.
 */

#ifndef UROCE_DRIVERS_VERBS_PORT_STATE_H
#define UROCE_DRIVERS_VERBS_PORT_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct ibv_context;

/** Report the port as active if its link is another process. Before the program has the context. */
void uroce_port_state_assume(struct ibv_context *context, uint16_t port_id);

/** Is the other end a process that shares memory with this one? What is in there goes with this one. */
bool uroce_port_state_is_shared(uint16_t port_id);

/** Has the port a link? */
bool uroce_port_state_is_up(uint16_t port_id);

/** Wait for the link, which some ports take a moment to have: what is sent before goes nowhere. A port that connects to
 * another process tries several times; one that others connect to does not wait. Before the program has the port. */
void uroce_port_state_wait(uint16_t port_id);

#endif /* UROCE_DRIVERS_VERBS_PORT_STATE_H */
