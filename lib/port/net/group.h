/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The multicast groups of a port, and the reports of them to routers: the host's part of IGMPv1-3 (RFC 1112, 2236,
 * 3376) and MLDv1-2 (RFC 2710, 3810). The formats on the wire are in igmp.c and mld.c. No I/O and no clock: the caller
 * passes in the time and queries, and takes out reports. Workers and control threads, under the table's spin lock.
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

/* The protocol version of the link's querier, as that of IGMP. MLDv1 corresponds to IGMPv2, MLDv2 to IGMPv3. */
enum uroce_group_version {
	UROCE_GROUP_V1 = 1, /* IGMPv1 only */
	UROCE_GROUP_V2,
	UROCE_GROUP_V3,
};

/* Record types of IGMPv3 and MLDv2. Older versions have one report, and one message for leaving. */
enum uroce_group_record_type {
	UROCE_GROUP_IS = 2,    /* the answer to a query: MODE_IS_EXCLUDE, without sources */
	UROCE_GROUP_LEAVE = 3, /* CHANGE_TO_INCLUDE_MODE */
	UROCE_GROUP_JOIN = 4,  /* CHANGE_TO_EXCLUDE_MODE */
};

struct uroce_group {
	uint8_t gid[16];
	uint64_t answer_ns; /* time to answer a query; UINT64_MAX: none is pending */
	uint64_t change_ns; /* time of the next report of a join or leave, if changes > 0 */
	uint32_t refs;      /* number of joins; 0: the group has been left, and the leave is still to be reported */
	uint8_t changes;    /* reports of the join or leave that are still to be sent */
	bool used;
};

/* The querier of an address family. */
struct uroce_group_querier {
	uint64_t v1_until_ns; /* a V1 querier counts as present until then; 0: none was heard */
	uint64_t v2_until_ns; /* the same of a V2 querier */
	uint64_t answer_ns; /* time to answer a general query, with all groups; UINT64_MAX: none is pending */
	uint8_t version;    /* enum uroce_group_version: version of our reports */
	uint8_t robustness; /* number of reports of each change */
};

struct uroce_groups {
	rte_spinlock_t lock;
	uint32_t limit; /* entries from here on have never been used */
	/* adding and removing entries, and changing refs, also requires the port's lock */
	struct uroce_group entries[UROCE_MAX_MCAST_GROUPS];
	struct uroce_group_querier queriers[UROCE_GROUP_FAMILIES];
};

struct uroce_group_query {
	enum uroce_group_family family;
	enum uroce_group_version version;
	bool general; /* a query for all groups; false: for gid */
	uint8_t gid[16];
	uint64_t max_delay_ns;
	uint8_t robustness; /* 0: not in the query */
};

struct uroce_group_report {
	enum uroce_group_family family;
	enum uroce_group_version version;
	unsigned int count; /* number of records; V1 and V2: 1 */
	struct {
		uint8_t gid[16];
		enum uroce_group_record_type type;
	} records[UROCE_GROUP_RECORDS];
};

void uroce_groups_init(struct uroce_groups *g);

/** Join a group. The first join of a group is due to be reported at once.
 * @return 1: the group is new; 0: it was joined before; -ENOSPC: UROCE_MAX_MCAST_GROUPS are joined */
int uroce_groups_join(struct uroce_groups *g, const uint8_t gid[16]);
/** Undo one join. @return true: it was the last one, and the leave is due to be reported */
bool uroce_groups_leave(struct uroce_groups *g, const uint8_t gid[16]);
/** Report all groups again, after the link came up. */
void uroce_groups_renew(struct uroce_groups *g);
/** Is a leave still to be reported? */
bool uroce_groups_leaving(struct uroce_groups *g);

/** A query has arrived. @return the time at which the answer is due, ns */
uint64_t uroce_groups_query(struct uroce_groups *g, const struct uroce_group_query *query,
			    uint64_t now_ns);
/** Another host has reported the group in V1 or V2. If our version is V1 or V2, cancel our own report. */
void uroce_groups_heard(struct uroce_groups *g, const uint8_t gid[16], uint64_t now_ns);

/**
 * Take the next report that is due.
 * @param next_ns	set to the time of the next call, if no report is due
 * @return	false: no report is due
 */
bool uroce_groups_due(struct uroce_groups *g, uint64_t now_ns, struct uroce_group_report *report,
		      uint64_t *next_ns);

#endif /* UROCE_PORT_NET_GROUP_H */
