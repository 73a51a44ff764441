/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The neighbors of a device: their MAC addresses, and the frames that wait for one. No I/O and no clock: `now` in,
 * probes to send out. Workers and control threads, under the table's spin lock, which is held for tens of
 * nanoseconds; the data path only reads lladdr, which paths point to.
 */

#ifndef UROCE_PORT_NET_NEIGHBOR_H
#define UROCE_PORT_NET_NEIGHBOR_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_spinlock.h>

#include "uroce_config.h"

struct rte_hash;

enum uroce_neighbor_state {
	UROCE_NEIGHBOR_FREE,
	UROCE_NEIGHBOR_INCOMPLETE, /* being asked for */
	UROCE_NEIGHBOR_REACHABLE,
	UROCE_NEIGHBOR_PROBED, /* known and in use, and being asked for again */
	UROCE_NEIGHBOR_FAILED, /* has not answered; asked again when there is a frame for it */
};

struct uroce_neighbor {
	uint64_t lladdr;    /* MAC in the first 6 bytes, 0: unknown. Under lock: release; workers:
			       relaxed */
	uint64_t known;     /* the last known lladdr; 0: none */
	uint64_t departed;  /* number of the table's departure that was this host's; 0: none */
	uint8_t addr[16];   /* IPv4 as ::ffff:a.b.c.d; constant while in use */
	uint64_t due_ns;    /* next probe, or end of its age */
	uint64_t wanted_ns; /* until then by uroce_neighbor_ask() */
	uint32_t refs;      /* paths that point to lladdr: it stays while there are any */
	uint8_t state;      /* enum uroce_neighbor_state */
	uint8_t probes;     /* unanswered */
	uint8_t nb_pending;
	struct rte_mbuf *pending[UROCE_NEIGHBOR_PENDING];
};

struct uroce_neighbors {
	rte_spinlock_t lock;
	struct rte_hash *hash; /* address to position in entries */
	struct uroce_neighbor *entries;
	uint32_t capacity;
	uint32_t nb_pending; /* frames that wait, of all entries; under lock */
	uint64_t departures; /* of addresses that are here; under lock: release, others: acquire */
	uint64_t dropped;    /* frames; under lock, relaxed read */
};

/* Properties of a message about an address, beside the MAC. */
#define UROCE_NEIGHBOR_SOLICITED 0x1 /* it answers a probe */
#define UROCE_NEIGHBOR_OVERRIDE  0x2 /* may replace a MAC that is known */

enum uroce_hold {
	UROCE_HOLD_KEPT,     /* the table owns the frame now */
	UROCE_HOLD_KEPT_DUE, /* and a probe is due at once */
	UROCE_HOLD_RESOLVED, /* not needed: here is the MAC; the frame is the caller's */
	UROCE_HOLD_FULL,     /* no room; the frame is the caller's */
};

/* A question to be asked on the wire. */
struct uroce_probe {
	uint8_t addr[16];
	struct rte_ether_addr mac; /* destination; zero: all hosts */
};

/** @return 0 or -errno */
int uroce_neighbors_init(struct uroce_neighbors *t, const char *name, uint32_t capacity,
			  int numa_node);
/** Frees the frames that wait, too. */
void uroce_neighbors_fini(struct uroce_neighbors *t);

/** Find or add an address and hold it. One that is new, or has failed, is due for a probe at once.
 * @return NULL when every entry is held */
struct uroce_neighbor *uroce_neighbor_get(struct uroce_neighbors *t, const uint8_t addr[16]);
void uroce_neighbor_put(struct uroce_neighbors *t, struct uroce_neighbor *n, uint64_t now_ns);
/** Release by the word that a path holds. */
void uroce_neighbor_put_lladdr(struct uroce_neighbors *t, const uint64_t *lladdr,
				uint64_t now_ns);

/**
 * Is the address known? If not it is probed, and stays wanted as long as this is called every
 * UROCE_NEIGHBOR_WANTED_NS; a failure is told once, then it is probed anew.
 * @return	0: it is; -EINPROGRESS: not yet; -EHOSTUNREACH: no answer; -ENOBUFS: every
 * entry is held
 */
int uroce_neighbor_ask(struct uroce_neighbors *t, const uint8_t addr[16], uint64_t now_ns);

/** Keep a frame until the address of an entry that exists is known. @param mac set when RESOLVED */
enum uroce_hold uroce_neighbor_hold(struct uroce_neighbors *t, const uint8_t addr[16],
				     struct rte_mbuf *m, struct rte_ether_addr *mac);

/**
 * Learn a peer's MAC address. The table holds only addresses that this host has asked for,
 * so no peer can fill it.
 * @param how	UROCE_NEIGHBOR_*
 * @param frames	room for UROCE_NEIGHBOR_PENDING: what waited for this; the caller's to send
 * to mac
 * @return	how many
 */
unsigned int uroce_neighbor_learn(struct uroce_neighbors *t, const uint8_t addr[16],
				   const struct rte_ether_addr *mac, unsigned int how,
				   uint64_t now_ns, struct rte_mbuf **frames);

/**
 * Go through the entries: which probes are due. Drops the frames of those that do not answer.
 * @param next_ns	when to call again: may be now, when there was no room for all
 * @return	how many probes, up to room
 */
unsigned int uroce_neighbors_due(struct uroce_neighbors *t, uint64_t now_ns,
				  struct uroce_probe *probes, unsigned int room, uint64_t *next_ns);

/** The port's link has changed. Down: forget all MAC addresses, since the next link may lead to other hosts. Up: neighbors
 * without a MAC address are due for a probe. */
void uroce_neighbors_link(struct uroce_neighbors *t, bool up);

/** The host with this MAC address has departed: forget all its addresses. @return whether it had any */
bool uroce_neighbors_depart(struct uroce_neighbors *t, const struct rte_ether_addr *mac);
/** Has the host with this address departed after the table's first `since` departures? */
bool uroce_neighbor_departed(struct uroce_neighbors *t, const uint8_t addr[16], uint64_t since);

static inline uint64_t
uroce_neighbor_mac_word(const struct rte_ether_addr *mac)
{
	uint64_t word = 0;

	__builtin_memcpy(&word, mac, sizeof(*mac));
	return word;
}

#endif /* UROCE_PORT_NET_NEIGHBOR_H */
