/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Reconnects a net_memif client port when the process at its other end is replaced: the driver connects only when the
 * port starts. The new process creates a new socket; the port then restarts while no thread polls. The socket of the
 * last connection is not tried again, since no process listens on it.
 *
 * If the other end is one program and not a switch, the end of the connection is the end of that program and of all
 * its connections. The driver then frees its memory, before it accepts another connection.
 *
 * Runs on EAL's interrupt thread, on which the driver handles its connections.
 */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <rte_alarm.h>
#include <rte_ethdev.h>

#include "port/cm/departure.h"
#include "base/log.h"
#include "munmap.h"
#include "port/port.h"
#include "port/ethdev/watch.h"
#include "port_state.h"
#include "progress/rejoin.h"
#include "uroce.h"
#include "uroce_config.h"

#define SOCKET ",socket="

/* Each is written before `count` includes it (release/acquire); later only the interrupt thread uses it. */
static struct rejoin {
	struct uroce_port *port;
	uint16_t port_id;
	bool is_pair;			/* the other end is one program, not a switch */
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];	/* to connect to; "": a server's port */
	struct stat asked;		/* the socket of the last connection attempt */
	unsigned int left;		/* connection attempts left for this socket */
	unsigned int pause, ticks;	/* checks between two attempts; checks left */
} ports[UROCE_MAX_DEVICES];
static unsigned int count;

static const char *
args_of(uint16_t port_id)
{
	const struct rte_devargs *devargs = NULL;
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(port_id, &info) == 0)
		devargs = rte_dev_devargs(info.device);
	return devargs != NULL && devargs->args != NULL ? devargs->args : "";
}

/* Write the client's socket to path; nothing if the port is not a client. */
static void
find_socket(const char *args, char *path, size_t room)
{
	const char *name = strstr(args, SOCKET);
	size_t bytes;

	if (strstr(args, "role=client") == NULL || strstr(args, "socket-abstract=no") == NULL || name == NULL)
		return;
	name += strlen(SOCKET);
	bytes = strcspn(name, ",");
	if (bytes < room)
		memcpy(path, name, bytes);
}

static bool
is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Try a new socket several times: its server refuses connections until its port is started. */
static void
note(struct rejoin *r, const struct stat *st)
{
	r->asked = *st;
	r->left = UROCE_VERBS_REJOINS;
	r->pause = 1;
	r->ticks = 0;
}

static void
restart(void *arg)
{
	const struct rejoin *r = arg;
	int ret;

	rte_eth_dev_stop(r->port_id);
	ret = rte_eth_dev_start(r->port_id);
	UROCE_LOG(DEBUG, "port %u connects to %s: %s\n", r->port_id, r->path, ret == 0 ? "done" : "refused");
}

static void
ask(struct rejoin *r)
{
	struct stat st;

	if (stat(r->path, &st) != 0 || !S_ISSOCK(st.st_mode))
		return;
	if (!is_same(&r->asked, &st))
		note(r, &st);
	if (r->left == 0 || r->ticks-- > 0)
		return;
	r->left--;
	r->ticks = r->pause;
	r->pause *= 2;
	uroce_hold_workers(restart, r);
}

static void
tend(void *arg)
{
	struct rejoin *r = arg;

	uroce_watch_link(r->port);	/* notice a lost link before the port gets a new one */
	if (uroce_port_state_is_up(r->port_id))
		r->left = 0;
	else if (r->path[0] != '\0')
		ask(r);
	(void)rte_eal_alarm_set(UROCE_VERBS_REJOIN_US, tend, r);
}

/* A server's port has one client, which is a program. A client's port leads to a switch, unless UROCE_PEER lists its
 * socket as that of a pair. */
static bool
is_pair(const char *args, const char *path)
{
	const char *peers = getenv("UROCE_PEER");
	size_t bytes;

	if (strstr(args, "role=server") != NULL)
		return true;
	for (; path[0] != '\0' && peers != NULL && peers[0] != '\0'; peers += bytes + (peers[bytes] == ',')) {
		bytes = strcspn(peers, ",");
		if (bytes == strlen(path) && memcmp(peers, path, bytes) == 0)
			return true;
	}
	return false;
}

/* Replaces the function in drivers/quirks/memif_workers.c: the freed memory may be that of a peer that has exited. */
void
uroce_memif_hold(void (*fn)(void *arg), void *arg)
{
	/* pairs with the release in uroce_rejoin_watch() */
	const unsigned int n = __atomic_load_n(&count, __ATOMIC_ACQUIRE);

	uroce_hold_workers(fn, arg);
	for (unsigned int i = 0; i < n; i++)
		if (ports[i].is_pair && !uroce_port_state_is_up(ports[i].port_id))
			uroce_depart_all(ports[i].port);
}

void
uroce_rejoin_watch(struct ibv_context *context, uint16_t port_id)
{
	struct rejoin *r = &ports[count];
	const char *args = args_of(port_id);
	struct stat st;

	if (count == RTE_DIM(ports) || !uroce_port_state_is_shared(port_id))
		return;
	*r = (struct rejoin){ .port = uroce_port_of_context(context), .port_id = port_id };
	find_socket(args, r->path, sizeof(r->path));
	r->is_pair = is_pair(args, r->path);
	if (r->path[0] != '\0' && stat(r->path, &st) == 0)
		note(r, &st);
	if (uroce_port_state_is_up(r->port_id))
		r->left = 0;
	if (rte_eal_alarm_set(UROCE_VERBS_REJOIN_US, tend, r) == 0)
		__atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);	/* pairs with uroce_memif_hold() */
	else
		UROCE_LOG(NOTICE, "port %u: out of memory: it will not reconnect to its peer\n", port_id);
}

void
uroce_rejoin_stop(void)
{
	for (unsigned int i = 0; i < count; i++)
		(void)rte_eal_alarm_cancel(tend, &ports[i]);	/* waits if tend() is running */
	__atomic_store_n(&count, 0, __ATOMIC_RELEASE);	/* pairs with uroce_memif_hold() */
}
