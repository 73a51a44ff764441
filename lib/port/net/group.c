/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Decides when to report a port's multicast groups to routers. A change is reported as often as the querier's
 * robustness requires, a query is answered after a random delay up to the query's limit. Reports have the oldest
 * version that a querier of the link has used lately. A query for certain sources is answered as a query for the group.
 * Workers and control threads, under the table's lock.
 */

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "base/random.h"
#include "port/net/group.h"
#include "wire/gid.h"

#define ROBUSTNESS 2

static enum uroce_group_family
family_of(const uint8_t gid[16])
{
	return uroce_gid_is_ipv4(gid) ? UROCE_GROUP_IPV4 : UROCE_GROUP_IPV6;
}

/* Is the group reported to routers? Not 224.0.0.1 and ff02::1, which contain all hosts, and not IPv6's scopes 0 and 1,
 * whose packets do not leave the host. */
static bool
is_reported(const uint8_t gid[16])
{
	static const uint8_t all_hosts[16] = UROCE_GID_IPV4(224, 0, 0, 1);
	static const uint8_t all_nodes[16] = { 0xff, 0x02, [15] = 0x01 };

	if (uroce_gid_is_ipv4(gid))
		return memcmp(gid, all_hosts, sizeof(all_hosts)) != 0;
	return (gid[1] & 0xf) > 1 && memcmp(gid, all_nodes, sizeof(all_nodes)) != 0;
}

static uint64_t
random_delay(uint64_t max_ns)
{
	/* in microseconds: 32 bits are more than an hour */
	return (uroce_random_below((uint32_t)RTE_MIN(max_ns / 1000, UINT32_MAX - 1)) + 1) *
	       UINT64_C(1000);
}

void
uroce_groups_init(struct uroce_groups *g)
{
	memset(g, 0, sizeof(*g));
	rte_spinlock_init(&g->lock);
	for (unsigned int i = 0; i < UROCE_GROUP_FAMILIES; i++) {
		g->queriers[i].version = UROCE_GROUP_V3;
		g->queriers[i].robustness = ROBUSTNESS;
		g->queriers[i].answer_ns = UINT64_MAX;
	}
}

static struct uroce_group *
find(struct uroce_groups *g, const uint8_t gid[16])
{
	for (unsigned int i = 0; i < g->limit; i++) {
		struct uroce_group *e = &g->entries[i];

		if (e->used && memcmp(e->gid, gid, sizeof(e->gid)) == 0)
			return e;
	}
	return NULL;
}

static struct uroce_group *
find_free(struct uroce_groups *g)
{
	for (unsigned int i = 0; i < g->limit; i++)
		if (!g->entries[i].used)
			return &g->entries[i];
	if (g->limit < RTE_DIM(g->entries))
		return &g->entries[g->limit++];
	/* reuse an entry whose leave is still to be reported: the new group matters more */
	for (unsigned int i = 0; i < g->limit; i++)
		if (g->entries[i].refs == 0)
			return &g->entries[i];
	return NULL;
}

/* Schedule the reports of a join or leave. */
static void
change(struct uroce_groups *g, struct uroce_group *e)
{
	const struct uroce_group_querier *querier = &g->queriers[family_of(e->gid)];

	e->changes = is_reported(e->gid) ? querier->robustness : 0;
	/* version 2 reports a leave once, version 1 does not report it */
	if (e->refs == 0 && querier->version < UROCE_GROUP_V3)
		e->changes = querier->version == UROCE_GROUP_V2 ? RTE_MIN(e->changes, 1) : 0;
	e->change_ns = 0;
	if (e->refs == 0) {
		e->answer_ns = UINT64_MAX;
		e->used = e->changes != 0;
	}
}

int
uroce_groups_join(struct uroce_groups *g, const uint8_t gid[16])
{
	struct uroce_group *e;
	int ret = 0;

	rte_spinlock_lock(&g->lock);
	e = find(g, gid);
	if (e != NULL && e->refs != 0) {
		e->refs++;
		goto unlock;
	}
	if (e == NULL)
		e = find_free(g);
	ret = -ENOSPC;
	if (e == NULL)
		goto unlock;
	*e = (struct uroce_group){ .refs = 1, .used = true, .answer_ns = UINT64_MAX };
	memcpy(e->gid, gid, sizeof(e->gid));
	change(g, e);
	ret = 1;
unlock:
	rte_spinlock_unlock(&g->lock);
	return ret;
}

bool
uroce_groups_leave(struct uroce_groups *g, const uint8_t gid[16])
{
	struct uroce_group *e;
	bool last;

	rte_spinlock_lock(&g->lock);
	e = find(g, gid);
	RTE_VERIFY(e != NULL && e->refs != 0);
	last = --e->refs == 0;
	if (last)
		change(g, e);
	rte_spinlock_unlock(&g->lock);
	return last;
}

void
uroce_groups_renew(struct uroce_groups *g)
{
	rte_spinlock_lock(&g->lock);
	for (unsigned int i = 0; i < g->limit; i++)
		if (g->entries[i].refs != 0)
			change(g, &g->entries[i]);
	rte_spinlock_unlock(&g->lock);
}

bool
uroce_groups_leaving(struct uroce_groups *g)
{
	bool leaving = false;

	rte_spinlock_lock(&g->lock);
	for (unsigned int i = 0; i < g->limit; i++)
		leaving |= g->entries[i].used && g->entries[i].refs == 0;
	rte_spinlock_unlock(&g->lock);
	return leaving;
}

/* Use the version of the oldest querier that has sent a query within UROCE_GROUP_OLD_QUERIER_NS. When an older querier
 * appears, cancel all pending reports (RFC 3376, 7.2.1; RFC 3810, 8.2.1), because its own queries request them. When it
 * times out, keep the pending reports, in the newer version: otherwise no querier would learn of groups joined since. */
static void
version_update(struct uroce_groups *g, enum uroce_group_family family, uint64_t now_ns)
{
	struct uroce_group_querier *querier = &g->queriers[family];
	enum uroce_group_version version = UROCE_GROUP_V3;
	bool older;

	if (querier->v1_until_ns > now_ns)
		version = UROCE_GROUP_V1;
	else if (querier->v2_until_ns > now_ns)
		version = UROCE_GROUP_V2;
	older = version < querier->version;
	querier->version = version;
	if (!older)
		return;
	querier->answer_ns = UINT64_MAX;
	for (unsigned int i = 0; i < g->limit; i++) {
		struct uroce_group *e = &g->entries[i];

		if (!e->used || family_of(e->gid) != family)
			continue;
		e->answer_ns = UINT64_MAX;
		e->changes = 0;
		e->used = e->refs != 0;
	}
}

static uint64_t
answer_by(uint64_t *answer_ns, uint64_t max_delay_ns, uint64_t now_ns)
{
	*answer_ns = RTE_MIN(*answer_ns, now_ns + random_delay(max_delay_ns));
	return *answer_ns;
}

/* Schedule an answer for each group by itself: for all groups of the family, or for the group of the query. */
static uint64_t
answer_each(struct uroce_groups *g, const struct uroce_group_query *query, uint64_t delay_ns,
	    uint64_t now_ns)
{
	uint64_t due_ns = UINT64_MAX;

	for (unsigned int i = 0; i < g->limit; i++) {
		struct uroce_group *e = &g->entries[i];

		if (e->refs == 0 || family_of(e->gid) != query->family || !is_reported(e->gid))
			continue;
		if (query->general || memcmp(e->gid, query->gid, sizeof(e->gid)) == 0)
			due_ns = RTE_MIN(due_ns, answer_by(&e->answer_ns, delay_ns, now_ns));
	}
	return due_ns;
}

uint64_t
uroce_groups_query(struct uroce_groups *g, const struct uroce_group_query *query, uint64_t now_ns)
{
	struct uroce_group_querier *querier = &g->queriers[query->family];
	/* a lower bound, so that frequent queries do not cause as many reports */
	uint64_t delay_ns = RTE_MAX(query->max_delay_ns, UROCE_GROUP_MIN_DELAY_NS);
	uint64_t due_ns;

	rte_spinlock_lock(&g->lock);
	if (query->version == UROCE_GROUP_V1)
		querier->v1_until_ns = now_ns + UROCE_GROUP_OLD_QUERIER_NS;
	else if (query->version == UROCE_GROUP_V2)
		querier->v2_until_ns = now_ns + UROCE_GROUP_OLD_QUERIER_NS;
	else
		querier->robustness = query->robustness != 0 ? query->robustness : ROBUSTNESS;
	version_update(g, query->family, now_ns);
	if (query->general && querier->version == UROCE_GROUP_V3)
		due_ns = answer_by(&querier->answer_ns, delay_ns, now_ns);
	else
		due_ns = answer_each(g, query, delay_ns, now_ns);
	rte_spinlock_unlock(&g->lock);
	return due_ns;
}

void
uroce_groups_heard(struct uroce_groups *g, const uint8_t gid[16], uint64_t now_ns)
{
	enum uroce_group_family family = family_of(gid);
	struct uroce_group *e;

	rte_spinlock_lock(&g->lock);
	version_update(g, family, now_ns);
	e = find(g, gid);
	if (e != NULL && e->refs != 0 && g->queriers[family].version < UROCE_GROUP_V3) {
		e->answer_ns = UINT64_MAX;
		e->changes = 0;
	}
	rte_spinlock_unlock(&g->lock);
}

/* If the answer to a general query is due, make the answer of each group due. */
static void
answer_all(struct uroce_groups *g, enum uroce_group_family family, uint64_t now_ns)
{
	struct uroce_group_querier *querier = &g->queriers[family];

	if (querier->answer_ns > now_ns)
		return;
	querier->answer_ns = UINT64_MAX;
	for (unsigned int i = 0; i < g->limit; i++) {
		struct uroce_group *e = &g->entries[i];

		if (e->refs != 0 && family_of(e->gid) == family && is_reported(e->gid))
			e->answer_ns = 0;
	}
}

static bool
is_due(const struct uroce_group *e, uint64_t now_ns)
{
	return e->answer_ns <= now_ns || (e->changes != 0 && e->change_ns <= now_ns);
}

/* Add the entry's record to the report. The record of a change also answers a query. */
static void
record(struct uroce_groups *g, struct uroce_group *e, uint64_t now_ns,
       struct uroce_group_report *report)
{
	const struct uroce_group_querier *querier = &g->queriers[report->family];
	enum uroce_group_record_type type = UROCE_GROUP_IS;

	if (e->changes != 0 && e->change_ns <= now_ns) {
		type = e->refs != 0 ? UROCE_GROUP_JOIN : UROCE_GROUP_LEAVE;
		e->changes--;
		e->change_ns = now_ns + random_delay(querier->version == UROCE_GROUP_V3
							     ? UROCE_GROUP_REPEAT_NS
							     : UROCE_GROUP_OLD_REPEAT_NS);
	}
	e->answer_ns = UINT64_MAX;
	e->used = e->refs != 0 || e->changes != 0;
	memcpy(report->records[report->count].gid, e->gid, sizeof(e->gid));
	report->records[report->count++].type = type;
}

/* @return the time at which the entry is due, ns */
static uint64_t
due_of(const struct uroce_group *e)
{
	return e->changes != 0 ? RTE_MIN(e->answer_ns, e->change_ns) : e->answer_ns;
}

/* Collect the due records of a family, up to one message. */
static bool
collect(struct uroce_groups *g, enum uroce_group_family family, uint64_t now_ns,
	struct uroce_group_report *report, uint64_t *next_ns)
{
	const struct uroce_group_querier *querier = &g->queriers[family];
	unsigned int room;

	version_update(g, family, now_ns);
	answer_all(g, family, now_ns);
	room = querier->version == UROCE_GROUP_V3 ? UROCE_GROUP_RECORDS : 1;
	report->family = family;
	report->version = querier->version;
	report->count = 0;
	for (unsigned int i = 0; i < g->limit && report->count < room; i++) {
		struct uroce_group *e = &g->entries[i];

		if (!e->used || family_of(e->gid) != family)
			continue;
		if (is_due(e, now_ns))
			record(g, e, now_ns, report);
		else
			*next_ns = RTE_MIN(*next_ns, due_of(e));
	}
	*next_ns = RTE_MIN(*next_ns, querier->answer_ns);
	return report->count != 0;
}

bool
uroce_groups_due(struct uroce_groups *g, uint64_t now_ns, struct uroce_group_report *report,
		 uint64_t *next_ns)
{
	bool any = false;

	*next_ns = UINT64_MAX;
	rte_spinlock_lock(&g->lock);
	for (unsigned int i = 0; i < UROCE_GROUP_FAMILIES && !any; i++)
		any = collect(g, i, now_ns, report, next_ns);
	rte_spinlock_unlock(&g->lock);
	return any;
}
