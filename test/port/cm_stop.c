/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The CM's thread is stopped while something else has woken it: it reads both at once, and must not sleep then. What
 * it and who stops it call of libc is led through here, so that this is what happens every time.
 */

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_ethdev.h>

#include "cm/service.h"
#include "eal.h"
#include "rings.h"
#include "uroce.h"
#include "uroce_cma.h"

#define ROUNDS 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* protects all below */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool hold;		/* the thread, at the next thing that it does */
static bool held;
static bool is_stopped;		/* and nothing wakes it any more */
static unsigned int sleeps;	/* ... after that */

static void
set(bool *flag, bool value)
{
	pthread_mutex_lock(&lock);
	*flag = value;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void
wait_for(const bool *flag)
{
	pthread_mutex_lock(&lock);
	while (!*flag)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

/* What a round begins with: the help for workers that nobody polls. */
int
pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	int (*real)(pthread_mutex_t *) = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_trylock");
	bool wanted;

	pthread_mutex_lock(&lock);
	wanted = hold;
	hold = false;
	pthread_mutex_unlock(&lock);
	if (wanted) {
		set(&held, true);
		wait_for(&is_stopped);
	}
	return real(mutex);
}

int
ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *signals)
{
	int (*real)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *) =
		(int (*)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *))dlsym(RTLD_NEXT, "ppoll");

	pthread_mutex_lock(&lock);
	sleeps += is_stopped;
	pthread_mutex_unlock(&lock);
	return real(fds, count, timeout, signals);
}

/* Who stops it has told it so, and waits. */
int
pthread_join(pthread_t thread, void **value)
{
	int (*real)(pthread_t, void **) = (int (*)(pthread_t, void **))dlsym(RTLD_NEXT, "pthread_join");

	set(&is_stopped, true);
	return real(thread, value);
}

/* What uses the service: a channel, while there is a device. */
static void
start_and_stop(struct uroce_device *dev)
{
	struct rdma_event_channel *channel;

	set(&held, false);
	set(&is_stopped, false);
	channel = uroce_rdma_create_event_channel();
	assert_non_null(channel);
	set(&hold, true);
	dev->ops.service->kick(dev);
	wait_for(&held);
	uroce_rdma_destroy_event_channel(channel);
	assert_int_equal(sleeps, 0);
}

static void
test_stop_while_woken(void **state)
{
	const struct uroce_port_conf conf = { .no_loopback = 1 };
	struct uroce_worker *worker = uroce_create_worker(-1);
	struct ibv_context *device;
	struct test_rings a, b;

	assert_non_null(worker);
	test_rings_create_pair(&a, &b);
	device = uroce_open_port(a.port_id, &conf, &worker, 1);
	assert_non_null(device);
	for (unsigned int i = 0; i < ROUNDS; i++)
		start_and_stop(uroce_device_of(device));
	assert_int_equal(uroce_close_device(device), 0);
	rte_eth_dev_close(a.port_id);
	test_rings_destroy(&b);
	assert_int_equal(uroce_destroy_worker(worker), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stop_while_woken),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
