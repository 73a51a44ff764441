/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The service that drives lib/cm while event channels or IDs exist: an agent for each open device, and one thread
 * for all of them, which feeds MADs in, keeps the CM's deadlines, and polls workers that no other thread polls.
 * Control threads. Lock order: service_lock, uroce_cm_lock, the registry's, a port's.
 */

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_errno.h>

#include "cm/service.h"
#include "port/cm/agent.h"
#include "base/clock.h"
#include "port/cm/service.h"
#include "base/log.h"
#include "port/registry.h"
#include "port/resolve.h"
#include "base/thread.h"
#include "port/ethdev/watch.h"
#include "port/worker/worker.h"

static struct {
	/* written under service_lock and uroce_cm_lock, read under either */
	struct uroce_agent *agents[UROCE_MAX_DEVICES];
	unsigned int agent_count;
	/* service_lock */
	bool running;
	pthread_t thread;
	int wake_fd; /* kept once created: a thread that sees a peer depart may kick at any time */
	bool stop;   /* atomic */
	/* the service's thread */
	uint64_t busy_until_ns;
	unsigned int fd_count;
	struct pollfd fds[UROCE_MAX_DEVICES + 1];
} service = { .wake_fd = -1 };

static pthread_mutex_t service_lock = PTHREAD_MUTEX_INITIALIZER;

static void
kick(void)
{
	const uint64_t one = 1;
	int fd = __atomic_load_n(&service.wake_fd, __ATOMIC_ACQUIRE);

	/* a counter that is full already wakes as well */
	if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
		return;
}

static void
rearm(int fd)
{
	for (unsigned int i = 0; i < service.agent_count; i++)
		if (service.agents[i]->channel->fd == fd)
			uroce_agent_rearm(service.agents[i]);
}

/* Take what woke the thread. Under uroce_cm_lock: an agent may have gone meanwhile. */
static void
fds_read(void)
{
	uint64_t value;

	if (service.fd_count == 0)
		return;
	if (service.fds[0].revents != 0 && read(service.fds[0].fd, &value, sizeof(value)) < 0)
		UROCE_LOG(DEBUG, "nothing to be read of what woke the CM\n");
	for (unsigned int i = 1; i < service.fd_count; i++)
		if (service.fds[i].revents != 0)
			rearm(service.fds[i].fd);
}

static void
fds_init(void)
{
	service.fds[0] = (struct pollfd){ .fd = service.wake_fd, .events = POLLIN };
	service.fd_count = 1;
	for (unsigned int i = 0; i < service.agent_count; i++)
		service.fds[service.fd_count++] = (struct pollfd){
			.fd = service.agents[i]->channel->fd,
			.events = POLLIN,
		};
}

/* Its device is no more: nothing leads there from now on. */
static void
agent_gone(struct uroce_agent *a)
{
	if (a->gone)
		return;
	a->gone = true;
	uroce_cma_device_gone(&a->ibcm);
}

/* @param next_ns	when something is due, at the latest
 * @return	how many MADs came and went */
static unsigned int
round_do(uint64_t *next_ns)
{
	uint64_t now_ns = uroce_clock_ns();
	unsigned int n = 0;

	pthread_mutex_lock(&uroce_cm_lock);
	fds_read();
	for (unsigned int i = 0; i < service.agent_count; i++) {
		n += uroce_agent_round(service.agents[i], now_ns);
		if (uroce_watch_is_removed(service.agents[i]->port))
			agent_gone(service.agents[i]);
	}
	uroce_cma_expire(now_ns);
	*next_ns = uroce_cma_deadline();
	for (unsigned int i = 0; i < service.agent_count; i++)
		*next_ns = RTE_MIN(*next_ns, uroce_cm_deadline(service.agents[i]->ibcm.cm));
	fds_init();
	pthread_mutex_unlock(&uroce_cm_lock);
	return n;
}

static void
wait_until(uint64_t when_ns)
{
	uint64_t now_ns = uroce_clock_ns();
	uint64_t ns = when_ns > now_ns ? RTE_MIN(when_ns - now_ns, NS_PER_S) : 0;
	const struct timespec timeout = {
		.tv_sec = (time_t)(ns / NS_PER_S),
		.tv_nsec = (long)(ns % NS_PER_S),
	};

	if (ppoll(service.fds, service.fd_count, &timeout, NULL) <= 0)
		for (unsigned int i = 0; i < service.fd_count; i++)
			service.fds[i].revents = 0;
}

/* When to poll the workers next: soon while there is work, else rarely. */
static uint64_t
next_poll(uint64_t now_ns, bool busy)
{
	if (busy)
		service.busy_until_ns = now_ns + UROCE_CM_BUSY_NS;
	return now_ns + (now_ns < service.busy_until_ns ? UROCE_CM_BUSY_POLL_NS : UROCE_CM_POLL_NS);
}

static void *
service_main(void *arg)
{
	uint64_t next_ns, now_ns;
	unsigned int frames, mads;
	bool helped;

	RTE_SET_USED(arg);
	for (;;) {
		helped = uroce_workers_help(&frames);
		mads = round_do(&next_ns);
		/* After the read of wake_fd: the thread that stops this one sets the flag before it writes there, and a
		 * write that was read wakes no more. Pairs with the release in thread_stop() */
		if (__atomic_load_n(&service.stop, __ATOMIC_ACQUIRE))
			return NULL;
		now_ns = uroce_clock_ns();
		if (helped)
			next_ns = RTE_MIN(next_ns, next_poll(now_ns, frames + mads != 0));
		if (mads >= UROCE_CM_ROUND)
			next_ns = now_ns; /* there may be more */
		wait_until(next_ns);
	}
}

/* The port has this agent, or none, from now on. */
static void
port_set_agent(struct uroce_port *port, struct uroce_agent *a)
{
	uroce_registry_lock();
	port->agent = a;
	uroce_registry_unlock();
}

/* Under service_lock and uroce_cm_lock. */
static void
agent_add(struct uroce_agent *a)
{
	service.agents[service.agent_count++] = a;
	port_set_agent(a->port, a);
}

static void
agent_del(struct uroce_agent *a)
{
	port_set_agent(a->port, NULL);
	for (unsigned int i = 0; i < service.agent_count; i++)
		if (service.agents[i] == a)
			service.agents[i] = service.agents[--service.agent_count];
}

/* Let what was sent last, farewells among it, leave. */
static void
agent_flush(struct uroce_agent *a)
{
	const struct timespec pause = { .tv_nsec = UROCE_CM_BUSY_POLL_NS };
	uint64_t until_ns = uroce_clock_ns() + UROCE_CM_LEAVE_NS;
	unsigned int frames;
	bool flushed;

	for (;;) {
		pthread_mutex_lock(&uroce_cm_lock);
		flushed = uroce_agent_flushed(a);
		pthread_mutex_unlock(&uroce_cm_lock);
		if (flushed || uroce_clock_ns() >= until_ns)
			return;
		uroce_workers_progress();
		(void)uroce_workers_help(&frames); /* this thread may own no worker */
		nanosleep(&pause, NULL);
	}
}

static void
agent_remove(struct uroce_agent *a)
{
	agent_flush(a);
	pthread_mutex_lock(&uroce_cm_lock);
	agent_del(a);
	pthread_mutex_unlock(&uroce_cm_lock);
	uroce_agent_destroy(a);
}

/* An agent for each open device. A device that cannot have one takes no part. */
static void
agents_create(void)
{
	struct uroce_agent *created[UROCE_MAX_DEVICES];
	unsigned int n = 0;

	uroce_registry_lock();
	for (unsigned int i = 0; i < UROCE_MAX_DEVICES; i++) {
		struct uroce_port *port = uroce_registry_port(i);

		if (port == NULL)
			continue;
		created[n] = uroce_agent_create(port);
		if (created[n] != NULL)
			n++;
		else
			UROCE_LOG(ERR, "%s: no QP1: %s\n", port->dev.ibv.name, rte_strerror(errno));
	}
	uroce_registry_unlock();
	pthread_mutex_lock(&uroce_cm_lock);
	for (unsigned int i = 0; i < n; i++)
		agent_add(created[i]);
	pthread_mutex_unlock(&uroce_cm_lock);
}

static void
agents_destroy(void)
{
	while (service.agent_count > 0)
		agent_remove(service.agents[0]);
}

/* @return 0 or -errno */
static int
thread_start(void)
{
	if (service.wake_fd < 0) {
		int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

		if (fd < 0)
			return -errno;
		__atomic_store_n(&service.wake_fd, fd, __ATOMIC_RELEASE);
	}
	service.busy_until_ns = 0;
	service.fd_count = 0;
	__atomic_store_n(&service.stop, false, __ATOMIC_RELAXED);
	return uroce_thread_create(&service.thread, "uroce-cm", service_main, NULL);
}

static void
thread_stop(void)
{
	__atomic_store_n(&service.stop, true, __ATOMIC_RELEASE);
	kick();
	pthread_join(service.thread, NULL);
}

static int
start(void)
{
	int ret;

	pthread_mutex_lock(&service_lock);
	uroce_clock_init();
	agents_create();
	ret = thread_start();
	if (ret < 0)
		agents_destroy();
	service.running = ret == 0;
	pthread_mutex_unlock(&service_lock);
	return ret;
}

static void
stop(void)
{
	pthread_mutex_lock(&service_lock);
	thread_stop();
	agents_destroy();
	service.running = false;
	pthread_mutex_unlock(&service_lock);
}

static unsigned int
agents(struct uroce_cm_agent **list, unsigned int room)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < service.agent_count; i++) {
		if (service.agents[i]->gone)
			continue;
		if (n < room)
			list[n] = &service.agents[i]->ibcm;
		n++;
	}
	return n;
}

static struct uroce_cm_agent *
find(const union ibv_gid *gid, uint8_t *sgid_index)
{
	struct uroce_agent *a = NULL;
	struct uroce_port *port;
	unsigned int index;

	uroce_registry_lock();
	port = uroce_port_find(gid->raw, &index);
	if (port != NULL) {
		a = port->agent;
		*sgid_index = (uint8_t)index;
	}
	uroce_registry_unlock();
	return a != NULL && !a->gone ? &a->ibcm : NULL;
}

/* Of several devices the one that leads there most directly. */
static struct uroce_cm_agent *
route(const union ibv_gid *sgid, const union ibv_gid *dgid, uint8_t *sgid_index)
{
	const uint8_t *from = sgid != NULL ? sgid->raw : NULL;
	struct uroce_agent *best = NULL;
	int least = INT_MAX;

	uroce_registry_lock();
	for (unsigned int i = 0; i < service.agent_count; i++) {
		unsigned int index;
		int ret = uroce_port_route(service.agents[i]->port, from, dgid->raw, &index);

		if (ret >= 0 && ret < least && !service.agents[i]->gone) {
			least = ret;
			best = service.agents[i];
			*sgid_index = (uint8_t)index;
		}
	}
	uroce_registry_unlock();
	return best != NULL ? &best->ibcm : NULL;
}

static int
resolve(struct uroce_cm_agent *agent, uint8_t sgid_index, const union ibv_gid *dgid)
{
	struct uroce_agent *a = container_of(agent, struct uroce_agent, ibcm);
	int ret;

	RTE_SET_USED(sgid_index); /* the way depends on where to */
	uroce_registry_lock();
	ret = uroce_port_resolve(a->port, dgid->raw);
	uroce_registry_unlock();
	/* no more neighbors, or no way any more: not reached, either way */
	return ret == 0 || ret == -EINPROGRESS ? ret : -EHOSTUNREACH;
}

static const struct uroce_cm_service_ops ops = {
	.now_ns = uroce_clock_ns,
	.kick = kick,
	.start = start,
	.stop = stop,
	.agents = agents,
	.find = find,
	.route = route,
	.resolve = resolve,
};

RTE_INIT(uroce_cm_service_init)
{
	uroce_cm_service_register(&ops);
}

void
uroce_cm_service_device_come(struct uroce_port *port)
{
	struct uroce_agent *a;

	pthread_mutex_lock(&service_lock);
	if (!service.running || port->agent != NULL)
		goto unlock;
	a = uroce_agent_create(port);
	if (a == NULL) {
		UROCE_LOG(ERR, "%s: no QP1: %s\n", port->dev.ibv.name, rte_strerror(errno));
		goto unlock;
	}
	pthread_mutex_lock(&uroce_cm_lock);
	agent_add(a);
	uroce_cma_device_come(&a->ibcm);
	pthread_mutex_unlock(&uroce_cm_lock);
	kick();
unlock:
	pthread_mutex_unlock(&service_lock);
}

void
uroce_cm_service_device_gone(struct uroce_port *port)
{
	struct uroce_agent *a;

	pthread_mutex_lock(&service_lock);
	a = port->agent;
	if (a != NULL) {
		pthread_mutex_lock(&uroce_cm_lock);
		agent_gone(a);
		pthread_mutex_unlock(&uroce_cm_lock);
		agent_remove(a);
	}
	pthread_mutex_unlock(&service_lock);
}
