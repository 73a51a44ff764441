/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The neighbors of a device: their MAC addresses, and the frames that wait for a MAC address. No I/O and no clock: the
 * caller passes in the time, and takes out the probes to send. Workers and control threads, under the table's spin
 * lock, which is held for tens of nanoseconds. The data path takes no lock: it only reads lladdr, which paths point to.
 */

#ifndef UROCE_PORT_NET_NEIGHBOR_H
#define UROCE_PORT_NET_NEIGHBOR_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_spinlock.h>

#include "uroce_config.h"

struct rte_hash;

enum uroce_neighbor_state {
	UROCE_NEIGHBOR_FREE,
	UROCE_NEIGHBOR_INCOMPLETE, /* being probed; its MAC address is unknown */
	UROCE_NEIGHBOR_REACHABLE,
	UROCE_NEIGHBOR_PROBED, /* being probed again, because it has aged; its MAC address stays in use */
	UROCE_NEIGHBOR_FAILED, /* has answered no probe; the next frame or path to it restarts the probes */
};

struct uroce_neighbor {
	uint64_t lladdr;    /* MAC in the first 6 bytes; 0: unknown. Written under lock; workers read it relaxed */
	uint64_t known;     /* the last known lladdr; 0: none */
	uint64_t departed;  /* value of the table's `departures` when this host departed; 0: it has not */
	uint8_t addr[16];   /* IPv4 as ::ffff:a.b.c.d; constant while in use */
	uint64_t due_ns;    /* time of the next probe, or of expiry */
	uint64_t wanted_ns; /* uroce_neighbor_ask() keeps the entry until then */
	uint32_t refs;      /* paths that point to lladdr and keep the entry */
	uint32_t position;  /* in uroce_neighbors.by_due */
	uint8_t state;      /* enum uroce_neighbor_state */
	uint8_t probes;     /* unanswered probes */
	uint8_t nb_pending; /* frames that wait */
	uint8_t pending;    /* the last of them: a slot in uroce_neighbors.pending, whose `next` is the first */
	TAILQ_ENTRY(uroce_neighbor) unused; /* in uroce_neighbors.unused; only while refs is 0 */
	LIST_ENTRY(uroce_neighbor) same_mac; /* entries whose `known` has the same hash; only while it is not 0 */
};

LIST_HEAD(uroce_neighbor_macs, uroce_neighbor);

/* A frame that waits for a MAC address. */
struct uroce_neighbor_frame {
	struct rte_mbuf *mbuf;
	uint8_t next; /* slot of the entry's next frame, in a circle; of a free slot: the next free one */
};

/* All members are under lock, but see departures and dropped. */
struct uroce_neighbors {
	rte_spinlock_t lock;
	struct rte_hash *hash; /* from address to index in entries */
	struct uroce_neighbor *entries;
	struct uroce_neighbor **by_due; /* the used entries, a binary heap: the least due_ns first */
	struct uroce_neighbor_macs *macs; /* by hash of the MAC address */
	TAILQ_HEAD(, uroce_neighbor) unused; /* entries without a path, in the order of their release */
	uint32_t capacity;
	uint32_t count; /* used entries; lock: rw, telemetry: relaxed read */
	uint32_t mac_mask; /* number of buckets in macs, less 1 */
	uint32_t seed; /* of the hashes: a peer cannot choose addresses with equal hashes */
	uint32_t nb_pending; /* pending frames of all entries */
	uint8_t free_pending; /* slot in pending, the first of the free ones */
	struct uroce_neighbor_frame pending[UROCE_NEIGHBORS_PENDING];
	uint64_t departures; /* departures of hosts in the table; lock: release, others: acquire */
	uint64_t dropped;    /* dropped frames; others: relaxed read */
};

static_assert(UROCE_NEIGHBORS_PENDING <= UINT8_MAX, "slots of pending frames");

/* Flags of a received message with a neighbor's MAC address. */
#define UROCE_NEIGHBOR_SOLICITED 0x1 /* it answers a probe */
#define UROCE_NEIGHBOR_OVERRIDE  0x2 /* it may replace a known MAC address */

enum uroce_hold {
	UROCE_HOLD_KEPT,     /* the table owns the frame now */
	UROCE_HOLD_KEPT_DUE, /* the table owns the frame now, and a probe is due at once */
	UROCE_HOLD_RESOLVED, /* the MAC address is known; the caller still owns the frame */
	UROCE_HOLD_FULL,     /* there is no room; the caller still owns the frame */
};

/* A probe to send: an ARP request or a neighbor solicitation. */
struct uroce_probe {
	uint8_t addr[16];
	struct rte_ether_addr mac; /* destination; zero: broadcast or multicast */
};

/** @return 0 or -errno */
int uroce_neighbors_init(struct uroce_neighbors *t, const char *name, uint32_t capacity,
			  int numa_node);
/** @return an estimate of the bytes of DPDK's memory of such a table */
size_t uroce_neighbors_bytes(uint32_t capacity);
/** Destroy the table and free the pending frames. */
void uroce_neighbors_fini(struct uroce_neighbors *t);

/** Find or add the entry of an address, and hold it. A new or failed entry is due for a probe at once.
 * @return NULL: all entries are held */
struct uroce_neighbor *uroce_neighbor_get(struct uroce_neighbors *t, const uint8_t addr[16]);
void uroce_neighbor_put(struct uroce_neighbors *t, struct uroce_neighbor *n, uint64_t now_ns);
/** Release an entry by the address of its lladdr, which a path holds. */
void uroce_neighbor_put_lladdr(struct uroce_neighbors *t, const uint64_t *lladdr,
				uint64_t now_ns);

/**
 * Is the address's MAC address known? If not, probe it. The entry stays while this is called at least every
 * UROCE_NEIGHBOR_WANTED_NS. A failure is returned once; the next call starts new probes.
 * @return	0: it is known; -EINPROGRESS: not yet; -EHOSTUNREACH: no answer; -ENOBUFS: all entries are held
 */
int uroce_neighbor_ask(struct uroce_neighbors *t, const uint8_t addr[16], uint64_t now_ns);

/** Keep a frame until the MAC address of an existing entry is known.
 * @param mac	set if UROCE_HOLD_RESOLVED is returned */
enum uroce_hold uroce_neighbor_hold(struct uroce_neighbors *t, const uint8_t addr[16],
				     struct rte_mbuf *m, struct rte_ether_addr *mac);

/**
 * Learn a peer's MAC address, if the table has an entry for the peer. Only this host's requests add entries, so no peer
 * can fill the table.
 * @param how	UROCE_NEIGHBOR_SOLICITED, UROCE_NEIGHBOR_OVERRIDE
 * @param frames	room for UROCE_NEIGHBOR_PENDING; set to the frames that waited, which the caller sends to mac
 * @return	the number of frames
 */
unsigned int uroce_neighbor_learn(struct uroce_neighbors *t, const uint8_t addr[16],
				   const struct rte_ether_addr *mac, unsigned int how,
				   uint64_t now_ns, struct rte_mbuf **frames);

/**
 * Collect the probes that are due, and drop the frames of neighbors that do not answer.
 * @param next_ns	set to the time of the next call; now_ns if there was no room for all probes
 * @return	the number of probes, up to room
 */
unsigned int uroce_neighbors_due(struct uroce_neighbors *t, uint64_t now_ns,
				  struct uroce_probe *probes, unsigned int room, uint64_t *next_ns);

/** The port's link has changed. Down: forget all MAC addresses, since the next link may lead to other hosts. Up: neighbors
 * without a MAC address are due for a probe. */
void uroce_neighbors_link(struct uroce_neighbors *t, bool up);

/** The port has been stopped: drop the frames that wait for a MAC address. */
void uroce_neighbors_purge(struct uroce_neighbors *t);

/** The host with this MAC address has departed: note it in the entries of all its addresses.
 * @return whether the table has any */
bool uroce_neighbors_depart(struct uroce_neighbors *t, const struct rte_ether_addr *mac);
/** Has the host with this address departed since the table's `departures` was `since`? */
bool uroce_neighbor_departed(struct uroce_neighbors *t, const uint8_t addr[16], uint64_t since);

static inline uint64_t
uroce_neighbor_mac_word(const struct rte_ether_addr *mac)
{
	uint64_t word = 0;

	__builtin_memcpy(&word, mac, sizeof(*mac));
	return word;
}

#endif /* UROCE_PORT_NET_NEIGHBOR_H */
