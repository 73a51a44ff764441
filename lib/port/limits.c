/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The tables of limits that a program may set, and uroce_parse_limits(). Control threads.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "base/sized.h"
#include "port/limits.h"
#include "uroce_config.h"

#define WORKER(member, standard, least, most) UROCE_SIZED_MEMBER(uroce_worker_conf, member, standard, least, most)
#define PORT(member, standard, least, most)   UROCE_SIZED_MEMBER(uroce_port_conf, member, standard, least, most)

static const struct uroce_sized_member worker_members[] = {
	WORKER(header_mbufs, UROCE_HEADER_MBUFS, UROCE_MIN_HEADER_MBUFS, UROCE_MAX_POOL_MBUFS),
	WORKER(payload_mbufs, UROCE_PAYLOAD_MBUFS, UROCE_MIN_PAYLOAD_MBUFS, UROCE_MAX_POOL_MBUFS),
	WORKER(inbox_frames, UROCE_INBOX - 1, UROCE_MIN_INBOX_FRAMES, UROCE_MAX_INBOX_FRAMES),
	WORKER(reorder_frames, UROCE_REORDER_FRAMES, 1, UROCE_MAX_REORDER_FRAMES),
	WORKER(reorder_qps, UROCE_REORDER_QPS, 1, UROCE_MAX_WORKER_QPS),
	WORKER(recoveries, UROCE_RECOVERIES, 1, UROCE_MAX_WORKER_QPS),
	WORKER(rates, UROCE_RATES, 1, UROCE_MAX_WORKER_QPS),
	WORKER(log2_window, UROCE_LOG2_WINDOW, UROCE_MIN_LOG2_WINDOW, UROCE_MAX_LOG2_WINDOW),
	WORKER(path_mtu, UROCE_MAX_PATH_MTU, UROCE_MIN_PATH_MTU, UROCE_MAX_PATH_MTU),
};

static const struct uroce_sized_member port_members[] = {
	PORT(log2_max_qp, UROCE_LOG2_MAX_QP, 1, UROCE_LOG2_LIMIT_QP),
	PORT(log2_max_mr, UROCE_LOG2_MAX_MR, 1, UROCE_LOG2_LIMIT_MR),
	PORT(nb_rx_desc, 0, 1, UINT16_MAX),
	PORT(nb_tx_desc, 0, 1, UINT16_MAX),
	PORT(mtu, 0, 1, UINT16_MAX),
	PORT(max_neighbors, UROCE_MAX_NEIGHBORS, UROCE_MIN_NEIGHBORS, UROCE_LIMIT_NEIGHBORS),
	PORT(rx_mbufs, 0, UROCE_MIN_RX_MBUFS, UROCE_MAX_POOL_MBUFS),
	PORT(log2_window, 0, UROCE_MIN_LOG2_WINDOW, UROCE_MAX_LOG2_WINDOW),
	PORT(max_cq, UROCE_MAX_CQ, 1, UROCE_LIMIT_CQ),
};

int
uroce_limits_worker(struct uroce_worker_conf *conf)
{
	return uroce_sized_limit("uroce_worker_conf", conf, worker_members, RTE_DIM(worker_members));
}

int
uroce_limits_port(struct uroce_port_conf *conf)
{
	return uroce_sized_limit("uroce_port_conf", conf, port_members, RTE_DIM(port_members));
}

/* A struct of the program, and the members that it may set in it. */
struct target {
	const char *name;
	void *conf;
	const struct uroce_sized_member *members;
	unsigned int n;
};

/* @return the member of this name; NULL: there is none, or the struct of the program lacks it */
static const struct uroce_sized_member *
find(const struct target *t, const char *name)
{
	size_t bytes;

	memcpy(&bytes, t->conf, sizeof(bytes));
	for (unsigned int i = 0; i < t->n; i++)
		if (strcmp(t->members[i].name, name) == 0)
			return t->members[i].offset + t->members[i].bytes <= bytes ? &t->members[i] : NULL;
	return NULL;
}

/* Set NAME=N in each struct that has it. */
static int
set(const struct target *targets, unsigned int n, char *limit, char *reason, size_t room)
{
	char *value = strchr(limit, '='), *end = NULL;
	unsigned long long number = 0;
	bool found = false;

	if (value != NULL && value[1] >= '0' && value[1] <= '9') {
		*value++ = '\0';
		number = strtoull(value, &end, 10);
	}
	if (end == NULL || *end != '\0') {
		snprintf(reason, room, "limit %s: write NAME=N, with a decimal number N", limit);
		return -EINVAL;
	}
	for (unsigned int i = 0; i < n; i++) {
		const struct uroce_sized_member *m = find(&targets[i], limit);

		if (m == NULL)
			continue;
		found = true;
		if (uroce_sized_set(targets[i].name, targets[i].conf, m, number, reason, room) < 0)
			return -EINVAL;
	}
	if (!found)
		snprintf(reason, room,
			 "limit %s: there is no such limit; the names are the numbers in struct uroce_worker_conf and "
			 "struct uroce_port_conf, such as log2_window",
			 limit);
	return found ? 0 : -EINVAL;
}

int
uroce_parse_limits(const char *limits, struct uroce_worker_conf *worker, struct uroce_port_conf *port, char *reason,
		   size_t room)
{
	const struct target targets[] = {
		{ "uroce_worker_conf", worker, worker_members, RTE_DIM(worker_members) },
		{ "uroce_port_conf", port, port_members, RTE_DIM(port_members) },
	};
	char *text = strdup(limits), *next = NULL;
	int ret = 0;

	if (text == NULL) {
		snprintf(reason, room, "out of memory");
		return ENOMEM;
	}
	for (char *limit = strtok_r(text, ", ", &next); limit != NULL && ret == 0; limit = strtok_r(NULL, ", ", &next))
		ret = set(targets, RTE_DIM(targets), limit, reason, room);
	free(text);
	return -ret;
}
