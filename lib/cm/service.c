/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Starts the service on each open device with the first event channel or ID, stops it with the last, and finds the
 * device for an address among those on which it runs. A start or stop does not hold uroce_cm_lock, because the
 * service's thread takes it. Any thread.
 */

#include <limits.h>
#include <stddef.h>

#include <rte_debug.h>

#include "cm/service.h"
#include "uroce_config.h"

pthread_mutex_t uroce_cm_lock = PTHREAD_MUTEX_INITIALIZER;
struct uroce_cm_agents uroce_cm_agents = TAILQ_HEAD_INITIALIZER(uroce_cm_agents);

/* Held while the service starts or stops on a device; before uroce_cm_lock. */
static pthread_mutex_t transition = PTHREAD_MUTEX_INITIALIZER;
static struct uroce_device *devices[UROCE_MAX_DEVICES]; /* the open devices, by index; under transition */
static uint32_t users; /* under uroce_cm_lock */

struct uroce_cm_agent *
uroce_cm_find(const union ibv_gid *gid, uint8_t *sgid_index)
{
	struct uroce_cm_agent *agent;
	int index;

	TAILQ_FOREACH(agent, &uroce_cm_agents, link) {
		index = agent->dev->ops.port->find_gid(agent->dev, gid);
		if (index < 0)
			continue;
		*sgid_index = (uint8_t)index;
		return agent;
	}
	return NULL;
}

struct uroce_cm_agent *
uroce_cm_route(const union ibv_gid *sgid, const union ibv_gid *dgid, uint8_t *sgid_index)
{
	struct uroce_cm_agent *agent, *best = NULL;
	int least = INT_MAX;

	TAILQ_FOREACH(agent, &uroce_cm_agents, link) {
		uint8_t index;
		int ret = agent->dev->ops.port->route(agent->dev, sgid, dgid, &index);

		if (ret < 0 || ret >= least)
			continue;
		least = ret;
		best = agent;
		*sgid_index = index;
	}
	return best;
}

uint64_t
uroce_cm_now(const struct uroce_cm_agent *agent)
{
	uint64_t now_ns, wall_ns;

	agent->dev->ops.port->clocks(agent->dev, &now_ns, &wall_ns);
	return now_ns;
}

void
uroce_cm_kick(const struct uroce_cm_agent *agent)
{
	if (agent != NULL)
		agent->dev->ops.service->kick(agent->dev);
}

/* ---- while the service runs ---- */

static bool
is_used(void)
{
	bool used;

	pthread_mutex_lock(&uroce_cm_lock);
	used = users != 0;
	pthread_mutex_unlock(&uroce_cm_lock);
	return used;
}

/* A device on which the service cannot start has no connections. @return 0, or -errno: all of them failed */
static int
start_all(void)
{
	bool any = false;
	int ret, error = 0;

	for (unsigned int i = 0; i < UROCE_MAX_DEVICES; i++) {
		if (devices[i] == NULL)
			continue;
		ret = devices[i]->ops.service->start(devices[i]);
		if (ret == 0)
			any = true;
		else
			error = ret;
	}
	return any ? 0 : error;
}

static void
stop_all(void)
{
	for (unsigned int i = 0; i < UROCE_MAX_DEVICES; i++)
		if (devices[i] != NULL)
			devices[i]->ops.service->stop(devices[i]);
}

int
uroce_cm_users_get(void)
{
	int ret = 0;

	pthread_mutex_lock(&transition);
	if (!is_used())
		ret = start_all();
	if (ret == 0) {
		pthread_mutex_lock(&uroce_cm_lock);
		users++;
		pthread_mutex_unlock(&uroce_cm_lock);
	}
	pthread_mutex_unlock(&transition);
	return ret;
}

void
uroce_cm_users_put(void)
{
	pthread_mutex_lock(&transition);
	pthread_mutex_lock(&uroce_cm_lock);
	uroce_cm_users_less();
	pthread_mutex_unlock(&uroce_cm_lock);
	if (!is_used())
		stop_all();
	pthread_mutex_unlock(&transition);
}

void
uroce_cm_device_opened(struct uroce_device *dev)
{
	pthread_mutex_lock(&transition);
	devices[dev->index] = dev;
	if (is_used())
		(void)dev->ops.service->start(dev); /* if it fails, the device has no connections */
	pthread_mutex_unlock(&transition);
}

bool
uroce_cm_device_closing(struct uroce_device *dev, bool (*in_use)(struct uroce_device *dev))
{
	bool closes;

	pthread_mutex_lock(&transition);
	closes = in_use == NULL || !in_use(dev);
	if (closes) {
		devices[dev->index] = NULL;
		dev->ops.service->stop(dev);
	}
	pthread_mutex_unlock(&transition);
	return closes;
}

void
uroce_cm_users_more(void)
{
	RTE_VERIFY(users > 0);
	users++;
}

void
uroce_cm_users_less(void)
{
	RTE_VERIFY(users > 0);
	users--;
}
