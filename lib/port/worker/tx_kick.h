/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Dummy frames for ports whose drivers free transmitted mbufs only when they send more.
 */

#ifndef UROCE_PORT_WORKER_TX_KICK_H
#define UROCE_PORT_WORKER_TX_KICK_H

#include <stdint.h>

struct uroce_port;
struct uroce_port_queue;

/* Somebody waits for memory that the port's frames lead into. */
struct uroce_tx_kick {
	/* who waits: rw, workers: relaxed read */
	uint64_t since_ns;
	uint64_t last_ns;
};

/** Note that somebody still waits. Any thread but a worker's. */
void uroce_tx_kick_wait(struct uroce_port *port, uint64_t now_ns);

/** The port of this queue cannot be asked for what it has sent: if somebody has waited for long,
 * give it something to send. Worker, within a poll. */
void uroce_tx_kick_send(struct uroce_port_queue *q, uint64_t now_ns);

/** Give the port some behind all that was sent, if that has left. A ring that has taken as many as it has room for has
 * nothing in it any more that was sent before. Worker's turn. @return how many the port has taken */
unsigned int uroce_tx_kick_push(struct uroce_port_queue *q);

#endif /* UROCE_PORT_WORKER_TX_KICK_H */
