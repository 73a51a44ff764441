/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Opens EAL's ports inside the application's process, with the addresses of UROCE_ADDR. The progress thread starts EAL,
 * opens the ports, and then polls them while the application does not. This thread and EAL's threads may run on all CPUs
 * of the process, even if the application has pinned the thread that lists the devices. Loading the library starts
 * nothing, so a program may fork first and its child may list the devices.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_lcore.h>

#include "complain.h"
#include "conf.h"
#include "eal_join.h"
#include "eal_ports.h"
#include "eal_start.h"
#include "host.h"
#include "port_state.h"
#include "progress/progress.h"
#include "progress/queues.h"
#include "progress/rejoin.h"
#include "ucma/ucma.h"
#include "uroce.h"
#include "uroce_config.h"

#define BLANKS " \t\n"
#define NS_PER_US 1000ull

enum state { IDLE, STARTED, FAILED, LEFT, INHERITED };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* protects all below */
static enum state state;
static struct ibv_context *contexts[UROCE_MAX_DEVICES];
static unsigned int count;
static cpu_set_t cpus;	/* affinity of the process; constant after the library was loaded */
static pid_t owner;	/* the process that opened the devices; this one may be its fork */

/* The progress thread's report to the thread that waits for it. */
struct start {
	sem_t done;
	bool ok;
};

/* Runs before main(), when the program has not pinned any thread yet. */
__attribute__((constructor)) static void
remember_processors(void)
{
	if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
		CPU_ZERO(&cpus);	/* more CPUs than a cpu_set_t holds: leave affinities alone */
}

/* EAL pins the thread that starts it, and a new thread inherits the affinity of its creator. */
static void
run_anywhere(void)
{
	if (CPU_COUNT(&cpus) > 0)
		pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
}

/* UROCE_ADDR: addresses with prefix lengths; those of a port are separated by commas, the ports by semicolons. */
static bool
add_addresses(struct ibv_context *context, const char *from, size_t bytes)
{
	char *text = strndup(from, bytes), *next = NULL;
	bool ok = text != NULL;

	for (char *cidr = ok ? strtok_r(text, "," BLANKS, &next) : NULL; cidr != NULL && ok;
	     cidr = strtok_r(NULL, "," BLANKS, &next)) {
		int error = uroce_add_address(context, cidr);

		ok = error == 0;
		if (!ok)
			uroce_complain("UROCE_ADDR: %s: %s", cidr, error == EINVAL ?
				       "use an address with its prefix length, e.g. 10.0.0.1/24" : strerror(error));
	}
	free(text);
	return ok;
}

/* Drop the asynchronous events that the port raised before the program has the device. */
static void
forget_events(struct ibv_context *context)
{
	struct ibv_async_event event;
	const int flags = fcntl(context->async_fd, F_GETFL);

	fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK);
	while (uroce_get_async_event(context, &event) == 0)
		uroce_ack_async_event(&event);
	fcntl(context->async_fd, F_SETFL, flags);
}

static bool
open_ports(struct uroce_worker *const *workers, unsigned int nb_workers, const struct uroce_port_conf *conf, bool has_joined)
{
	const char *given = getenv("UROCE_EAL_ARGS"), *addresses = getenv("UROCE_ADDR");
	uint16_t port_ids[UROCE_MAX_DEVICES];
	const unsigned int found = uroce_eal_ports_find(given != NULL ? given : "", has_joined, port_ids);

	if (addresses == NULL)
		addresses = "";
	while (count < found) {
		const uint16_t port_id = port_ids[count];
		size_t bytes = strcspn(addresses, ";");

		contexts[count] = uroce_open_port(port_id, conf, workers, nb_workers);
		if (contexts[count] == NULL) {
			uroce_complain("cannot open port %u: %s", port_id, strerror(errno));
			return false;
		}
		contexts[count]->cmd_fd = open("/dev/null", O_RDWR | O_CLOEXEC);	/* programs dup() it */
		uroce_port_state_assume(contexts[count], port_id);
		if (!add_addresses(contexts[count++], addresses, bytes))
			return false;
		addresses += bytes + (addresses[bytes] == ';');
	}
	for (unsigned int i = 0; i < count; i++) {
		uroce_port_state_wait(port_ids[i]);
		forget_events(contexts[i]);
		uroce_queues_watch(contexts[i], port_ids[i]);
		uroce_rejoin_watch(contexts[i], port_ids[i]);
	}
	if (count == 0)
		uroce_complain("EAL has found no port: check --vdev and --allow in UROCE_EAL_ARGS (uroce-run: --port)");
	return count > 0;
}

/* Defined in a program that is built with LeakSanitizer. */
extern void __lsan_disable(void) __attribute__((weak));

/* Read a number from the environment. Without one, *number keeps its value.
 * @param what	its unit; NULL: a switch, 0 or 1 */
static bool
setting(const char *name, const char *what, unsigned long least, unsigned long most, unsigned long *number)
{
	const char *given = getenv(name);
	char *end;

	if (given == NULL || given[0] == '\0')
		return true;
	*number = strtoul(given, &end, 10);
	if (strspn(given, "0123456789") != 0 && *end == '\0' && *number >= least && *number <= most)
		return true;
	if (what == NULL)
		uroce_complain("%s=%s: use 0 or 1", name, given);
	else
		uroce_complain("%s=%s: use a number of %s from %lu to %lu", name, given, what, least, most);
	return false;
}

static bool
create_workers(struct uroce_worker **workers, unsigned long n, const struct uroce_worker_conf *conf)
{
	for (unsigned long i = 0; i < n; i++) {
		workers[i] = uroce_create_worker_ex(conf);
		if (workers[i] == NULL) {
			uroce_complain("cannot create worker %lu of %lu: %s: use fewer workers (UROCE_WORKERS) or "
				       "more memory (EAL's -m, uroce-run's --memory)", i + 1, n, strerror(errno));
			return false;
		}
	}
	return true;
}

/* The program calls rte_eal_cleanup(). @return false: objects in EAL's memory still exist */
static bool
leave_eal(void)
{
	unsigned int open = 0;

	pthread_mutex_lock(&lock);
	if (state == STARTED) {
		(void)uroce_progress_leave(uroce_ucma_exit);
		state = LEFT;
		uroce_rejoin_stop();
		uroce_queues_stop();
		if (!uroce_progress_stop())
			open = count;
		for (unsigned int i = 0; i < count && open < count; i++)
			open += uroce_close_device(contexts[i]) != 0;
		count = 0;
	}
	pthread_mutex_unlock(&lock);
	return open == 0;
}

static void *
run(void *arg)
{
	const bool joins = uroce_eal_is_running();
	struct start *start = arg;
	struct uroce_worker *workers[UROCE_MAX_WORKERS];
	struct uroce_worker_conf worker_conf;
	struct uroce_port_conf port_conf;
	unsigned long busy_us = UROCE_VERBS_BUSY_US, n = 1, share = 0;
	bool ok;

	if (__lsan_disable != NULL)	/* it would report blocks to which only DPDK's memory points */
		__lsan_disable();
	run_anywhere();
	uroce_complain_descriptors(UROCE_VERBS_FILES);
	/* UROCE_BUSY_US: how long a thread polls for frames before it sleeps */
	ok = setting("UROCE_BUSY_US", "microseconds", 0, UROCE_VERBS_MAX_BUSY_US, &busy_us) &&
	     setting("UROCE_WORKERS", "workers", 1, UROCE_MAX_WORKERS, &n) &&
	     setting("UROCE_SHARE_MEMORY", NULL, 0, 1, &share) &&
	     uroce_verbs_limits(&worker_conf, &port_conf) && (joins ? uroce_eal_join(leave_eal) : uroce_eal_start()) &&
	     create_workers(workers, n, &worker_conf);
	run_anywhere();
	port_conf.poll_progress = 1;
	port_conf.share_memory = (uint8_t)share;
	ok = ok && open_ports(workers, (unsigned int)n, &port_conf, joins) &&
	     uroce_progress_init(workers, (unsigned int)n, busy_us * NS_PER_US, joins ? UROCE_VERBS_REACTOR_GAP_NS : 0);
	if (!ok)
		rte_thread_unregister();
	start->ok = ok;
	sem_post(&start->done);
	if (ok)
		uroce_progress_run();
	return NULL;
}

/* In the child of a fork: the progress thread does not exist here, nor perhaps the thread that held the lock. */
static void
forked(void)
{
	pthread_mutex_init(&lock, NULL);
	uroce_ucma_forked(state == STARTED || state == INHERITED);
	if (state != STARTED)
		return;
	state = INHERITED;
	count = 0;
}

/* The progress thread blocks all signals: they are for the program's threads. */
static bool
start_thread(void)
{
	struct start start = { .ok = false };
	sigset_t all, before;
	pthread_t thread;
	int error;

	sem_init(&start.done, 0, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, NULL, run, &start);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error != 0) {
		uroce_complain("cannot start the progress thread: %s", strerror(error));
		return false;
	}
	pthread_setname_np(thread, UROCE_VERBS_THREAD_NAME);
	pthread_detach(thread);
	while (sem_wait(&start.done) != 0)
		;
	sem_destroy(&start.done);
	return start.ok;
}

unsigned int
uroce_host_devices(struct ibv_context *const **devices)
{
	static bool registered;
	int cancel;

	/* a thread canceled during the start would leave the lock held, and the progress thread would write its
	 * result to that thread's freed stack */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&lock);
	if (!registered)
		registered = pthread_atfork(uroce_ucma_fork, uroce_ucma_fork_over, forked) == 0;
	if (state == IDLE) {
		owner = getpid();
		state = start_thread() ? STARTED : FAILED;
		if (state == FAILED)
			count = 0;
	}
	if (state == INHERITED)
		uroce_complain("this process is a fork of process %d, which has the devices: call "
			       "ibv_get_device_list() after the fork, or in one of the two only", (int)owner);
	pthread_mutex_unlock(&lock);
	pthread_setcancelstate(cancel, &cancel);
	*devices = contexts;
	return count;
}

/* Frames that a net_memif peer has not read are lost when this process exits: the last ACK, the last datagram. On a
 * wire they would have been sent. */
__attribute__((destructor)) static void
linger(void)
{
	const struct timespec t = { .tv_nsec = UROCE_VERBS_LINGER_NS };

	if (state != STARTED)
		return;
	/* not in the handler of a signal that has interrupted a poll: this thread holds the turn that the progress
	 * thread would wait for */
	if (!uroce_progress_is_interrupted() && uroce_progress_leave(uroce_ucma_exit))
		return;
	nanosleep(&t, NULL);
}
