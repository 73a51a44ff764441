/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The switch: its ports and its forwarding database. One thread; a thread that frees memory of its ports first takes
 * the lock of main.c.
 */

#ifndef UROCE_SWITCH_SWITCH_H
#define UROCE_SWITCH_SWITCH_H

#include "fdb.h"
#include "port.h"

struct uroce_switch {
	unsigned int nb_ports;
	struct switch_port ports[UROCE_SWITCH_PORTS];
	unsigned int turn; /* the first port of the next round */
	struct switch_fdb fdb;
};

/** Forward a frame from ports[from], and free it. */
void uroce_switch_forward(struct uroce_switch *s, uint16_t from, struct rte_mbuf *frame, uint64_t now_ns);

/** Poll all ports once. @return frames received and sent */
unsigned int uroce_switch_poll(struct uroce_switch *s, uint64_t now_ns);

/** Check the links, and forget the stations of disconnected clients. Call it at intervals. */
void uroce_switch_watch(struct uroce_switch *s, uint64_t now_ns);

#endif /* UROCE_SWITCH_SWITCH_H */
