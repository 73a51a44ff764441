/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The storage of the neighbor table, for neighbor.c: entries by address, by MAC address and by time, and the frames
 * that wait. Under the table's lock.
 */

#ifndef UROCE_PORT_NET_NEIGHBOR_TABLE_H
#define UROCE_PORT_NET_NEIGHBOR_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "port/net/neighbor.h"

struct uroce_neighbor *uroce_neighbor_find(struct uroce_neighbors *t, const uint8_t addr[16]);
/** Add an entry, of which all other fields are 0. Removes the entry that has been without a path for longest, if the
 * table is full. @return NULL: all entries have paths */
struct uroce_neighbor *uroce_neighbor_add(struct uroce_neighbors *t, const uint8_t addr[16]);
/** Remove an entry without a path, and drop its frames. */
void uroce_neighbor_remove(struct uroce_neighbors *t, struct uroce_neighbor *n);

/** Count a path to the entry. */
void uroce_neighbor_ref(struct uroce_neighbors *t, struct uroce_neighbor *n);
void uroce_neighbor_unref(struct uroce_neighbors *t, struct uroce_neighbor *n);

/** Set due_ns. */
void uroce_neighbor_schedule(struct uroce_neighbors *t, struct uroce_neighbor *n, uint64_t due_ns);

/** Set `known`. */
void uroce_neighbor_set_known(struct uroce_neighbors *t, struct uroce_neighbor *n, uint64_t lladdr);
/** @return the list that has all entries with this `known`, and others */
struct uroce_neighbor_macs *uroce_neighbors_with(struct uroce_neighbors *t, uint64_t lladdr);

/** Keep a frame. @return false: there is no room for it */
bool uroce_neighbor_keep(struct uroce_neighbors *t, struct uroce_neighbor *n, struct rte_mbuf *m);
/** Take all frames of the entry, in their order. @return their number */
unsigned int uroce_neighbor_take(struct uroce_neighbors *t, struct uroce_neighbor *n, struct rte_mbuf **frames);
/** Free all frames of the entry, and count them. */
void uroce_neighbor_drop(struct uroce_neighbors *t, struct uroce_neighbor *n);

#endif /* UROCE_PORT_NET_NEIGHBOR_TABLE_H */
