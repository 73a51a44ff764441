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

/* The wait of a deregistration for mbufs of the port's frames. Waiting threads and workers: relaxed rw. */
struct uroce_tx_kick {
	uint64_t since_ns; /* start of the wait */
	uint64_t last_ns;  /* last call of uroce_tx_kick_wait() */
};

/** Note that a deregistration still waits. A waiting thread, or the worker that cleans up for its callback. */
void uroce_tx_kick_wait(struct uroce_port *port, uint64_t now_ns);

/** For a driver without rte_eth_tx_done_cleanup(): queue dummy frames if a deregistration has waited for
 * UROCE_TX_KICK_WAIT_NS. Worker, within a poll. */
void uroce_tx_kick_send(struct uroce_port_queue *q, uint64_t now_ns);

/** Pass dummy frames to the port, if no frame is queued before them. Once the port has accepted as many as its ring has
 * room for, no frame sent earlier is in the ring. Worker's turn. @return the number of frames that the port accepted */
unsigned int uroce_tx_kick_push(struct uroce_port_queue *q);

#endif /* UROCE_PORT_WORKER_TX_KICK_H */
