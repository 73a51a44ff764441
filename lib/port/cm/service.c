/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The service that drives lib/cm while event channels or IDs exist: an agent for each open device, and one thread for
 * all of them, which passes MADs to the CM, runs its timers, and polls workers that no other thread polls. lib/cm
 * starts and stops the service for one device at a time. Control threads. Lock order: uroce_cm_lock, the registry's
 * lock, a port's lock.
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
#include "base/thread.h"
#include "port/ethdev/watch.h"
#include "port/worker/worker.h"

static struct {
	/* written by start() and stop() under uroce_cm_lock, read by them or under that lock */
	struct uroce_agent *agents[UROCE_MAX_DEVICES];
	unsigned int agent_count;
	/* used by start() and stop() */
	pthread_t thread;
	int wake_fd; /* never closed: any thread may call kick() at any time, such as when a peer departs */
	bool stop;   /* atomic */
	/* used by the service's thread */
	uint64_t busy_until_ns;
	unsigned int fd_count;
	struct pollfd fds[UROCE_MAX_DEVICES + 1];
} service = { .wake_fd = -1 };

static void
kick(struct uroce_device *dev)
{
	const uint64_t one = 1;
	/* pairs with the release in thread_start() */
	int fd = __atomic_load_n(&service.wake_fd, __ATOMIC_ACQUIRE);

	RTE_SET_USED(dev); /* one thread drives all devices */
	/* if the write fails, the eventfd's counter is full, and wakes the thread as well */
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

/* Read the descriptors that have woken the thread. Under uroce_cm_lock; an agent may have been removed meanwhile. */
static void
fds_read(void)
{
	uint64_t value;

	if (service.fd_count == 0)
		return;
	if (service.fds[0].revents != 0 && read(service.fds[0].fd, &value, sizeof(value)) < 0)
		UROCE_LOG(DEBUG, "CM service: the eventfd was readable, but had no value\n");
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

/* The agent's device is removed or stops: notify its IDs, once. From now on no look-up finds the device. */
static void
agent_gone(struct uroce_agent *a)
{
	if (a->gone)
		return;
	a->gone = true;
	uroce_cma_device_gone(&a->ibcm);
}

/* One round for all agents. @param next_ns	set to the earliest deadline
 * @return	the number of MADs received and posted */
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

/* @return the time of the next poll of the workers: soon while they are busy, else rarely */
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
		/* Check the flag after round_do() has read wake_fd: a write that was read does not wake this thread
		 * again, and thread_stop() sets the flag before it writes. Pairs with the release in thread_stop() */
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

/* Set the port's agent, or clear it with NULL. */
static void
port_set_agent(struct uroce_port *port, struct uroce_agent *a)
{
	uroce_registry_lock();
	port->agent = a;
	uroce_registry_unlock();
}

/* Add the agent to the service. Under uroce_cm_lock. */
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

/* Wait until the last MADs have been sent, such as DREQs, for at most UROCE_CM_LEAVE_NS. */
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
		(void)uroce_workers_help(&frames); /* polls the workers that another thread owns but does not poll */
		nanosleep(&pause, NULL);
	}
}

/* @return 0 or -errno */
static int
thread_start(void)
{
	if (service.wake_fd < 0) {
		int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

		if (fd < 0)
			return -errno;
		/* pairs with the acquire in kick() */
		__atomic_store_n(&service.wake_fd, fd, __ATOMIC_RELEASE);
	}
	service.busy_until_ns = 0;
	service.fd_count = 0;
	__atomic_store_n(&service.stop, false, __ATOMIC_RELAXED);
	return uroce_thread_create(&service.thread, "uroce-cm", service_main, NULL);
}

static void
thread_stop(struct uroce_device *dev)
{
	/* pairs with the acquire in service_main() */
	__atomic_store_n(&service.stop, true, __ATOMIC_RELEASE);
	kick(dev);
	pthread_join(service.thread, NULL);
}

static int
start(struct uroce_device *dev)
{
	struct uroce_agent *a = uroce_agent_create(uroce_port_of(dev));
	int ret = a == NULL ? -errno : 0;

	if (ret == 0 && service.agent_count == 0)
		ret = thread_start();
	if (ret < 0) {
		UROCE_LOG(ERR, "%s: rdma_cm cannot use this device: cannot create %s: %s\n", dev->ibv.name,
			  a == NULL ? "QP1 or its CM" : "the CM service's thread", rte_strerror(-ret));
		if (a != NULL)
			uroce_agent_destroy(a);
		return ret;
	}
	pthread_mutex_lock(&uroce_cm_lock);
	agent_add(a);
	uroce_cma_device_come(&a->ibcm);
	pthread_mutex_unlock(&uroce_cm_lock);
	kick(dev);
	return 0;
}

static void
stop(struct uroce_device *dev)
{
	struct uroce_agent *a = uroce_port_of(dev)->agent;

	if (a == NULL)
		return;
	pthread_mutex_lock(&uroce_cm_lock);
	agent_gone(a);
	pthread_mutex_unlock(&uroce_cm_lock);
	agent_flush(a);
	pthread_mutex_lock(&uroce_cm_lock);
	agent_del(a);
	pthread_mutex_unlock(&uroce_cm_lock);
	if (service.agent_count == 0)
		thread_stop(dev);
	/* the service's thread may still poll the agent's descriptor, closed here, for one round: it reads nothing */
	uroce_agent_destroy(a);
}

const struct uroce_service_ops uroce_service_ops = {
	.start = start,
	.stop = stop,
	.kick = kick,
};
