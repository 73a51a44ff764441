/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The CM's thread at the moment when the service stops, on its last device or on one of two. The test replaces
 * functions of the C library that the CM's thread and the stopping thread call, to create these moments.
 */

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_ethdev.h>

#include "cm/service.h"
#include "eal.h"
#include "port/cm/agent.h"
#include "port/port.h"
#include "rings.h"
#include "uroce.h"
#include "uroce_cma.h"

#define ROUNDS 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* protects all variables below */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool hold;		/* block the CM's thread in its next round */
static bool held;
static bool is_stopped;		/* the stop has woken the thread for the last time */
static unsigned int sleeps;	/* calls of ppoll() after that */
static bool hold_poll;		/* block the CM's thread in its next ppoll() */
static bool poll_held;
static bool poll_goes_on;
static int foreign = -1;	/* the number of a former descriptor of the service, now another file */
static bool polled_again;	/* the thread has woken and called ppoll() again */
static bool polls_foreign;	/* ... with that file among its descriptors */

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

/* The thread's round begins with this call: it helps workers that no other thread polls. */
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

	bool wanted;

	pthread_mutex_lock(&lock);
	sleeps += is_stopped;
	wanted = hold_poll;
	hold_poll = false;
	for (nfds_t i = 0; poll_goes_on && i < count; i++)
		polls_foreign |= fds[i].fd == foreign;
	polled_again |= poll_goes_on;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	if (wanted) {
		set(&poll_held, true);
		wait_for(&poll_goes_on);
	}
	return real(fds, count, timeout, signals);
}

/* By then the stopping thread has set the flag and woken the CM's thread. */
int
pthread_join(pthread_t thread, void **value)
{
	int (*real)(pthread_t, void **) = (int (*)(pthread_t, void **))dlsym(RTLD_NEXT, "pthread_join");

	set(&is_stopped, true);
	return real(thread, value);
}

/* An event channel uses the service while a device is open. */
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

/* The thread reads the wake-up of the stop together with another one, and must not sleep then. */
static void
test_stop_while_woken(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };
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

/* One of two devices is closed while the thread is about to poll its descriptor, and another file of the application
 * gets the number of the descriptor. The thread wakes once, does not read that file, and does not poll it again. */
static void
test_close_while_polled(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };
	struct rdma_event_channel *channel;
	struct uroce_worker *workers[2];
	struct ibv_context *devices[2];
	struct test_rings rings[2];
	char byte = 'a';
	int ends[2], fd;

	set(&is_stopped, false);
	assert_int_equal(pipe(ends), 0);
	test_rings_create_pair(&rings[0], &rings[1]);
	for (unsigned int i = 0; i < 2; i++) {
		workers[i] = uroce_create_worker(-1);
		assert_non_null(workers[i]);
		devices[i] = uroce_open_port(rings[i].port_id, &conf, &workers[i], 1);
		assert_non_null(devices[i]);
	}
	channel = uroce_rdma_create_event_channel();
	assert_non_null(channel);
	fd = uroce_port_of_context(devices[1])->agent->channel->fd;
	set(&hold_poll, true);
	wait_for(&poll_held);
	assert_int_equal(uroce_close_device(devices[1]), 0);

	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(dup2(ends[0], fd), fd);
	assert_int_equal(write(ends[1], &byte, 1), 1);
	pthread_mutex_lock(&lock);
	foreign = fd;
	pthread_mutex_unlock(&lock);
	set(&poll_goes_on, true);
	wait_for(&polled_again);
	assert_false(polls_foreign);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(read(fd, &byte, 1), 1);

	uroce_rdma_destroy_event_channel(channel);
	assert_int_equal(uroce_close_device(devices[0]), 0);
	rte_eth_dev_close(rings[0].port_id);
	test_rings_destroy(&rings[1]);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_destroy_worker(workers[i]), 0);
	close(ends[1]);
	close(ends[0]);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stop_while_woken),
		cmocka_unit_test(test_close_while_polled),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
