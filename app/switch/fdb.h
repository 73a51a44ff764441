/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The forwarding database: maps a MAC address in a VLAN to the port where it was last seen. One thread.
 */

#ifndef UROCE_SWITCH_FDB_H
#define UROCE_SWITCH_FDB_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_hash.h>

#include <uroce_config.h>

/* A station. It has no padding: its bytes are the hash key. */
struct switch_station {
	struct rte_ether_addr mac;
	rte_be16_t vlan; /* 0: no tag */
};

struct switch_entry {
	uint64_t seen_ns;
	uint16_t port;
	uint16_t before; /* the previous port; equal to `port`: none */
};

struct switch_fdb {
	struct rte_hash *hash;
	struct switch_entry *entries; /* indexed by the hash's position */
	uint64_t aged_ns;             /* time of the last check for old stations */
	uint64_t unlearned;           /* stations that were not learned: the table was full */
	uint16_t stations[UROCE_SWITCH_PORTS]; /* stations of each port */
};

/** @return 0 or -errno */
int uroce_switch_fdb_init(struct switch_fdb *fdb);
void uroce_switch_fdb_fini(struct switch_fdb *fdb);

/** Learn the station's port. In a full table it is not learned: its frames go to all ports. */
void uroce_switch_fdb_learn(struct switch_fdb *fdb, const struct switch_station *station, uint16_t port,
			    uint64_t now_ns);

/** @return the port; -1: unknown */
int uroce_switch_fdb_find(const struct switch_fdb *fdb, const struct switch_station *station);

/** Forget the stations of a port whose link is down.
 * @param gone	called for each station, with its previous port; or NULL */
void uroce_switch_fdb_forget(struct switch_fdb *fdb, uint16_t port,
			     void (*gone)(void *arg, const struct switch_station *station, uint16_t before), void *arg);

/** Forget the stations without a frame for UROCE_SWITCH_AGE_NS. Most calls only compare the time. */
void uroce_switch_fdb_age(struct switch_fdb *fdb, uint64_t now_ns);

#endif /* UROCE_SWITCH_FDB_H */
