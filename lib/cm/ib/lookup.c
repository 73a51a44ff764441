/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Finds connections by local ID, remote ID and remote QPN, and listeners by service ID. The hashes are chained
 * through the connections themselves: adding allocates nothing, so it cannot fail, and removing touches one bucket.
 * Keys that a peer may choose go through a keyed hash. Under the CM's lock.
 */

#include <errno.h>
#include <stdlib.h>

#include <rte_bitops.h>
#include <rte_common.h>

#include "cm/ib/internal.h"
#include "base/random.h"

uint32_t
uroce_cm_hash(const struct uroce_cm *cm, uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ cm->secret[0]) * (b ^ cm->secret[1]);
	uint64_t folded = (uint64_t)product ^ (uint64_t)(product >> 64);

	return (uint32_t)(folded ^ folded >> 32);
}

uint16_t
uroce_cm_source(const struct uroce_cm *cm, const union ibv_gid *gid)
{
	return (uint16_t)(uroce_cm_hash(cm, gid->global.subnet_prefix, gid->global.interface_id) %
			  UROCE_CM_SOURCES);
}

static struct uroce_cm_conn_list *
bucket(const struct uroce_cm_table *table, uint32_t h)
{
	return &table->buckets[h & table->mask];
}

static int
table_create(struct uroce_cm_table *table, uint32_t buckets)
{
	/* calloc() does not touch the pages of buckets that stay empty */
	table->buckets = calloc(buckets, sizeof(*table->buckets));
	table->mask = buckets - 1;
	return table->buckets == NULL ? -ENOMEM : 0;
}

int
uroce_cm_tables_create(struct uroce_cm *cm)
{
	uint32_t buckets = rte_align32pow2(RTE_MAX(cm->conf.max_conns, 16u));

	cm->secret[0] = uroce_random();
	cm->secret[1] = uroce_random();
	LIST_INIT(&cm->masked);
	if (table_create(&cm->local, buckets) != 0 || table_create(&cm->remote, buckets) != 0 ||
	    table_create(&cm->qpns, buckets) != 0 || table_create(&cm->services, buckets) != 0) {
		uroce_cm_tables_destroy(cm);
		return -ENOMEM;
	}
	return 0;
}

void
uroce_cm_tables_destroy(struct uroce_cm *cm)
{
	free(cm->local.buckets);
	free(cm->remote.buckets);
	free(cm->qpns.buckets);
	free(cm->services.buckets);
}

/* ---- this end's ID ---- */

void
uroce_cm_local_add(struct uroce_cm_conn *conn)
{
	struct uroce_cm *cm = conn->cm;
	uint64_t random;

	do {
		random = uroce_random();
		conn->local_id = (uint32_t)random;
		conn->tid_high = (uint32_t)(random >> 32);
	} while (conn->local_id == 0 || uroce_cm_local_find(cm, conn->local_id) != NULL);
	LIST_INSERT_HEAD(bucket(&cm->local, conn->local_id), conn, local_link);
}

void
uroce_cm_local_remove(struct uroce_cm_conn *conn)
{
	LIST_REMOVE(conn, local_link);
}

struct uroce_cm_conn *
uroce_cm_local_find(struct uroce_cm *cm, uint32_t id)
{
	struct uroce_cm_conn *conn;

	/* the IDs are random and need no hash */
	LIST_FOREACH(conn, bucket(&cm->local, id), local_link)
	if (conn->local_id == id)
		return conn;
	return NULL;
}

/* ---- the peer's ID ---- */

static bool
is_sidr(const struct uroce_cm_conn *conn)
{
	return conn->state == UROCE_CM_SIDR_REQ_RCVD || conn->state == UROCE_CM_SIDR_REP_SENT;
}

void
uroce_cm_remote_add(struct uroce_cm_conn *conn)
{
	struct uroce_cm *cm = conn->cm;
	uint32_t h = uroce_cm_hash(cm, conn->remote_id, conn->remote_ca_guid);

	LIST_INSERT_HEAD(bucket(&cm->remote, h), conn, remote_link);
	conn->in_remote = true;
}

void
uroce_cm_remote_remove(struct uroce_cm_conn *conn)
{
	if (conn->in_remote)
		LIST_REMOVE(conn, remote_link);
	conn->in_remote = false;
}

struct uroce_cm_conn *
uroce_cm_remote_find(struct uroce_cm *cm, uint32_t id, uint64_t ca_guid, const union ibv_gid *dgid)
{
	struct uroce_cm_conn *conn;

	LIST_FOREACH(conn, bucket(&cm->remote, uroce_cm_hash(cm, id, ca_guid)), remote_link)
	if (conn->remote_id == id && conn->remote_ca_guid == ca_guid && !is_sidr(conn) &&
	    uroce_cm_same_gid(&conn->path.dgid, dgid))
		return conn;
	return NULL;
}

void
uroce_cm_sidr_add(struct uroce_cm_conn *conn)
{
	struct uroce_cm *cm = conn->cm;
	uint32_t h = uroce_cm_hash(cm, conn->remote_id, conn->path.dgid.global.interface_id);

	LIST_INSERT_HEAD(bucket(&cm->remote, h), conn, remote_link);
	conn->in_remote = true;
}

struct uroce_cm_conn *
uroce_cm_sidr_find(struct uroce_cm *cm, uint32_t request_id, const union ibv_gid *dgid)
{
	uint32_t h = uroce_cm_hash(cm, request_id, dgid->global.interface_id);
	struct uroce_cm_conn *conn;

	LIST_FOREACH(conn, bucket(&cm->remote, h), remote_link)
	if (conn->remote_id == request_id && is_sidr(conn) &&
	    uroce_cm_same_gid(&conn->path.dgid, dgid))
		return conn;
	return NULL;
}

/* ---- the peer's QP ---- */

void
uroce_cm_qpn_add(struct uroce_cm_conn *conn)
{
	struct uroce_cm *cm = conn->cm;
	uint32_t h = uroce_cm_hash(cm, conn->remote_qpn, conn->remote_ca_guid);

	LIST_INSERT_HEAD(bucket(&cm->qpns, h), conn, qpn_link);
	conn->in_qpn = true;
}

void
uroce_cm_qpn_remove(struct uroce_cm_conn *conn)
{
	if (conn->in_qpn)
		LIST_REMOVE(conn, qpn_link);
	conn->in_qpn = false;
}

struct uroce_cm_conn *
uroce_cm_qpn_find(struct uroce_cm *cm, uint32_t qpn, uint64_t ca_guid, const union ibv_gid *dgid)
{
	struct uroce_cm_conn *conn;

	LIST_FOREACH(conn, bucket(&cm->qpns, uroce_cm_hash(cm, qpn, ca_guid)), qpn_link)
	if (conn->remote_qpn == qpn && conn->remote_ca_guid == ca_guid &&
	    uroce_cm_same_gid(&conn->path.dgid, dgid))
		return conn;
	return NULL;
}

/* ---- listeners ---- */

void
uroce_cm_listen_add(struct uroce_cm_conn *conn)
{
	struct uroce_cm *cm = conn->cm;

	if (conn->service_mask == UINT64_MAX)
		LIST_INSERT_HEAD(bucket(&cm->services, uroce_cm_hash(cm, conn->service_id, 0)), conn,
				 listen_link);
	else
		LIST_INSERT_HEAD(&cm->masked, conn, listen_link);
	conn->in_listen = true;
}

void
uroce_cm_listen_remove(struct uroce_cm_conn *conn)
{
	if (conn->in_listen)
		LIST_REMOVE(conn, listen_link);
	conn->in_listen = false;
}

/* @return the next connection of the list that still listens for the service ID */
static struct uroce_cm_conn *
listens(struct uroce_cm_conn *conn, uint64_t service_id)
{
	for (; conn != NULL; conn = LIST_NEXT(conn, listen_link))
		if (conn->state == UROCE_CM_LISTEN &&
		    (service_id & conn->service_mask) == conn->service_id)
			return conn;
	return NULL;
}

struct uroce_cm_conn *
uroce_cm_listen_next(struct uroce_cm *cm, uint64_t service_id, const struct uroce_cm_conn *after)
{
	struct uroce_cm_conn *conn;

	if (after == NULL)
		conn = listens(LIST_FIRST(bucket(&cm->services, uroce_cm_hash(cm, service_id, 0))),
			       service_id);
	else
		conn = listens(LIST_NEXT(after, listen_link), service_id);
	if (conn == NULL && (after == NULL || after->service_mask == UINT64_MAX))
		conn = listens(LIST_FIRST(&cm->masked), service_id);
	return conn;
}
