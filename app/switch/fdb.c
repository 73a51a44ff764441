/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The forwarding database: an rte_hash whose positions index the entries of the stations.
 */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include <rte_errno.h>
#include <rte_hash_crc.h>

#include "fdb.h"

static_assert(sizeof(struct switch_station) == 8, "the key");

int
uroce_switch_fdb_init(struct switch_fdb *fdb)
{
	const struct rte_hash_parameters conf = {
		.name = "uroce_switch_fdb",
		.entries = UROCE_SWITCH_STATIONS,
		.key_len = sizeof(struct switch_station),
		.hash_func = rte_hash_crc,
		.socket_id = SOCKET_ID_ANY,
	};

	*fdb = (struct switch_fdb){ .hash = rte_hash_create(&conf) };
	if (fdb->hash == NULL)
		return -rte_errno;
	fdb->entries = calloc((size_t)rte_hash_max_key_id(fdb->hash) + 1, sizeof(*fdb->entries));
	if (fdb->entries == NULL) {
		rte_hash_free(fdb->hash);
		return -ENOMEM;
	}
	return 0;
}

void
uroce_switch_fdb_fini(struct switch_fdb *fdb)
{
	free(fdb->entries);
	rte_hash_free(fdb->hash);
}

void
uroce_switch_fdb_learn(struct switch_fdb *fdb, const struct switch_station *station, uint16_t port, uint64_t now_ns)
{
	int at = rte_hash_lookup(fdb->hash, station);
	uint16_t before = port;

	if (at >= 0) {
		const struct switch_entry *entry = &fdb->entries[at];

		before = entry->port != port ? entry->port : entry->before;
		fdb->stations[entry->port]--;
	} else {
		at = rte_hash_add_key(fdb->hash, station);
		if (at < 0) {
			fdb->unlearned++;
			return;
		}
	}
	fdb->entries[at] = (struct switch_entry){ .seen_ns = now_ns, .port = port, .before = before };
	fdb->stations[port]++;
}

int
uroce_switch_fdb_find(const struct switch_fdb *fdb, const struct switch_station *station)
{
	int at = rte_hash_lookup(fdb->hash, station);

	return at < 0 ? -1 : fdb->entries[at].port;
}

/* Forget the stations of a port (-1: of any port) that were last seen before `before_ns`. */
static void
forget(struct switch_fdb *fdb, int port, uint64_t before_ns,
       void (*gone)(void *arg, const struct switch_station *station, uint16_t before), void *arg)
{
	const void *station;
	uint32_t next = 0;
	void *data;
	int at;

	while ((at = rte_hash_iterate(fdb->hash, &station, &data, &next)) >= 0) {
		const struct switch_entry *entry = &fdb->entries[at];

		if ((port >= 0 && entry->port != port) || entry->seen_ns >= before_ns)
			continue;
		fdb->stations[entry->port]--;
		if (gone != NULL)
			gone(arg, station, entry->before);
		rte_hash_del_key(fdb->hash, station);
	}
}

void
uroce_switch_fdb_forget(struct switch_fdb *fdb, uint16_t port,
			void (*gone)(void *arg, const struct switch_station *station, uint16_t before), void *arg)
{
	forget(fdb, port, UINT64_MAX, gone, arg);
}

void
uroce_switch_fdb_age(struct switch_fdb *fdb, uint64_t now_ns)
{
	if (now_ns - fdb->aged_ns < UROCE_SWITCH_AGE_NS / 16)
		return;
	fdb->aged_ns = now_ns;
	if (now_ns >= UROCE_SWITCH_AGE_NS)
		forget(fdb, -1, now_ns - UROCE_SWITCH_AGE_NS, NULL, NULL);
}
