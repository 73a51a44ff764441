/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A client of net_memif connects when its port starts, and never again: the next program, or switch, that takes the
 * place of the one at the other end would wait for it. Its socket is another one then, and the port starts anew while
 * nobody polls. A socket that the last connection was by is not asked again: nobody is there. On EAL's interrupt thread,
 * where the driver does all that it does with connections.
 */

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <rte_alarm.h>
#include <rte_ethdev.h>

#include "port/log.h"
#include "port/port.h"
#include "port/watch.h"
#include "port_state.h"
#include "rejoin.h"
#include "uroce.h"
#include "uroce_config.h"

#define SOCKET ",socket="

/* Of each port, before it is tended; from then on the interrupt thread's. */
static struct rejoin {
	struct uroce_port *port;
	uint16_t port_id;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];	/* "": a server's, which others connect to */
	struct stat asked;		/* the socket that was asked last for a connection */
	unsigned int left;		/* ... so often it is asked again, */
	unsigned int pause, ticks;	/* after so many looks, of these */
} ports[UROCE_MAX_DEVICES];
static unsigned int count;

/* @return the client's socket in path, or nothing */
static void
find_socket(uint16_t port_id, char *path, size_t room)
{
	const struct rte_devargs *devargs = NULL;
	struct rte_eth_dev_info info;
	const char *args, *name;
	size_t bytes;

	if (rte_eth_dev_info_get(port_id, &info) == 0)
		devargs = rte_dev_devargs(info.device);
	args = devargs != NULL && devargs->args != NULL ? devargs->args : "";
	name = strstr(args, SOCKET);
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

/* A new socket is asked several times: its server turns everybody away until it is started. */
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
	UROCE_LOG(DEBUG, "port %u asks %s for a connection: %s\n", r->port_id, r->path, ret == 0 ? "done" : "refused");
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

	uroce_watch_link(r->port);	/* before there is another one */
	if (uroce_port_state_is_up(r->port_id))
		r->left = 0;
	else if (r->path[0] != '\0')
		ask(r);
	(void)rte_eal_alarm_set(UROCE_VERBS_REJOIN_US, tend, r);
}

void
uroce_rejoin_watch(struct ibv_context *context, uint16_t port_id)
{
	struct rejoin *r = &ports[count];
	struct stat st;

	if (count == RTE_DIM(ports) || !uroce_port_state_is_shared(port_id))
		return;
	*r = (struct rejoin){ .port = uroce_port_of_context(context), .port_id = port_id };
	find_socket(port_id, r->path, sizeof(r->path));
	if (r->path[0] != '\0' && stat(r->path, &st) == 0)
		note(r, &st);
	if (uroce_port_state_is_up(r->port_id))
		r->left = 0;
	if (rte_eal_alarm_set(UROCE_VERBS_REJOIN_US, tend, r) == 0)
		count++;
	else
		UROCE_LOG(NOTICE, "port %u: no memory to look for its peer\n", port_id);
}
