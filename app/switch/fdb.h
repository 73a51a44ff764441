/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The forwarding database: the port at which a MAC address was last seen, in each VLAN. One thread.
 */

#ifndef UROCE_SWITCH_FDB_H
#define UROCE_SWITCH_FDB_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_hash.h>

#include <uroce_config.h>

/* A station. No padding: the bytes are the key. */
struct switch_station {
	struct rte_ether_addr mac;
	rte_be16_t vlan; /* 0: no tag */
};

struct switch_entry {
	uint64_t seen_ns;
	uint16_t port;
	uint16_t before; /* its previous port; `port` itself: none */
};

struct switch_fdb {
	struct rte_hash *hash;
	struct switch_entry *entries; /* at the hash's positions */
	uint64_t aged_ns;             /* the last look for old ones */
	uint64_t unlearned;           /* there was no room */
	uint16_t stations[UROCE_SWITCH_PORTS]; /* of each port */
};

/** @return 0 or -errno */
int uroce_switch_fdb_init(struct switch_fdb *fdb);
void uroce_switch_fdb_fini(struct switch_fdb *fdb);

/** The station is at that port now. With no room it is not learned: its frames go to all ports. */
void uroce_switch_fdb_learn(struct switch_fdb *fdb, const struct switch_station *station, uint16_t port,
			    uint64_t now_ns);

/** @return the port, or -1: not known */
int uroce_switch_fdb_find(const struct switch_fdb *fdb, const struct switch_station *station);

/** Forget the stations of a port whose link has gone.
 * @param gone	called for each, with arg and where it was before; or NULL */
void uroce_switch_fdb_forget(struct switch_fdb *fdb, uint16_t port,
			     void (*gone)(void *arg, const struct switch_station *station, uint16_t before), void *arg);

/** Forget those that have been silent for UROCE_SWITCH_AGE_NS; looks as often as is worth it. */
void uroce_switch_fdb_age(struct switch_fdb *fdb, uint64_t now_ns);

#endif /* UROCE_SWITCH_FDB_H */
