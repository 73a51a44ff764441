/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The multicast groups of a port, and what routers are told of them: the host's part of IGMPv1-3 (RFC 1112, 2236,
 * 3376) and MLDv1-2 (RFC 2710, 3810), which differ on the wire (igmp.h, mld.h) but not here. No I/O and no clock:
 * `now` and queries in, reports out. Workers and control threads, under the table's spin lock.
 */

#ifndef UROCE_PORT_NET_GROUP_H
#define UROCE_PORT_NET_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_spinlock.h>

#include "uroce_config.h"

enum uroce_group_family {
	UROCE_GROUP_IPV4,
	UROCE_GROUP_IPV6,
	UROCE_GROUP_FAMILIES,
};

/* The protocol that the querier of a link speaks: MLDv1 is IGMPv2, and MLDv2 IGMPv3, in IPv6's
 * clothes. */
enum uroce_group_version {
	UROCE_GROUP_V1 = 1, /* IGMPv1 only */
	UROCE_GROUP_V2,
	UROCE_GROUP_V3,
};

/* Record types of IGMPv3 and MLDv2. Older versions have one report, and one message for leaving. */
enum uroce_group_record_type {
	UROCE_GROUP_IS = 2,    /* an answer: MODE_IS_EXCLUDE, of no source */
	UROCE_GROUP_LEAVE = 3, /* CHANGE_TO_INCLUDE_MODE */
	UROCE_GROUP_JOIN = 4,  /* CHANGE_TO_EXCLUDE_MODE */
};

struct uroce_group {
	uint8_t gid[16];
	uint64_t answer_ns; /* a query is answered then; UINT64_MAX: there is none */
	uint64_t change_ns; /* the next report of joining or leaving, while there are changes */
	uint32_t refs;      /* 0: it has been left, which is still to be told */
	uint8_t changes;    /* reports of joining or leaving yet to be sent */
	bool used;
};

/* A family's querier. */
struct uroce_group_querier {
	uint64_t v1_until_ns; /* until then a V1 querier is present; 0: never */
	uint64_t v2_until_ns;
	uint64_t answer_ns; /* a general query is answered with all groups then; UINT64_MAX */
	uint8_t version;    /* enum uroce_group_version: what we speak */
	uint8_t robustness; /* times that a change is reported */
};

struct uroce_groups {
	rte_spinlock_t lock;
	uint32_t limit; /* entries from here on have never been used */
	/* entries come and go, and refs change, under the port's lock, too */
	struct uroce_group entries[UROCE_MAX_MCAST_GROUPS];
	struct uroce_group_querier queriers[UROCE_GROUP_FAMILIES];
};

struct uroce_group_query {
	enum uroce_group_family family;
	enum uroce_group_version version;
	bool general; /* of all groups; else of gid */
	uint8_t gid[16];
	uint64_t max_delay_ns;
	uint8_t robustness; /* 0: it does not say */
};

struct uroce_group_report {
	enum uroce_group_family family;
	enum uroce_group_version version;
	unsigned int count; /* V1, V2: 1 */
	struct {
		uint8_t gid[16];
		enum uroce_group_record_type type;
	} records[UROCE_GROUP_RECORDS];
};

void uroce_groups_init(struct uroce_groups *g);

/** Hold a group; the first time its joining is due to be reported at once.
 * @return 1: it is new; 0: it was held already; -ENOSPC */
int uroce_groups_join(struct uroce_groups *g, const uint8_t gid[16]);
/** @return true: it has no holder any more, which is to be reported */
bool uroce_groups_leave(struct uroce_groups *g, const uint8_t gid[16]);
/** Report every group anew: the link has come back. */
void uroce_groups_renew(struct uroce_groups *g);
/** Has anything been left that is still to be reported? */
bool uroce_groups_leaving(struct uroce_groups *g);

/** A querier asks. @return when the answer is due, ns */
uint64_t uroce_groups_query(struct uroce_groups *g, const struct uroce_group_query *query,
			    uint64_t now_ns);
/** Another host has reported the group, in V1 or V2: a host that speaks these need not report it. */
void uroce_groups_heard(struct uroce_groups *g, const uint8_t gid[16], uint64_t now_ns);

/**
 * The next report that is due.
 * @param next_ns	when to call again, if there is none
 * @return	false: there is none
 */
bool uroce_groups_due(struct uroce_groups *g, uint64_t now_ns, struct uroce_group_report *report,
		      uint64_t *next_ns);

#endif /* UROCE_PORT_NET_GROUP_H */
