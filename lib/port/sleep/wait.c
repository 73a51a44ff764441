/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The descriptor of a worker: an epoll instance with an eventfd for wake-ups by other threads, a timerfd for the next
 * deadline, and the descriptors of the RX queues. Most of them are edge-triggered, so that uroce_wait_begin() forgets
 * earlier events with one system call. A driver's socket is level-triggered: receiving its frames makes it unreadable.
 */

#include <errno.h>
#include <unistd.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <rte_malloc.h>

#include "base/clock.h"
#include "base/log.h"
#include "port/ethdev/rx_wake.h"
#include "port/sleep/sleep.h"
#include "port/sleep/wait.h"
#include "port/sleep/wake.h"

#define EVENTS (UROCE_MAX_DEVICES + 2) /* the most descriptors in an epoll instance */

static int
add_fd(const struct uroce_wait *wait, int fd, bool edge)
{
	struct epoll_event event = { .events = EPOLLIN | (edge ? EPOLLET : 0), .data.fd = fd };

	return epoll_ctl(wait->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 || errno == EEXIST ? 0 : -1;
}

static int
open_fds(struct uroce_wait *wait)
{
	wait->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	wait->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	wait->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (wait->epoll_fd < 0 || wait->wake_fd < 0 || wait->timer_fd < 0)
		return -1;
	return add_fd(wait, wait->wake_fd, true) + add_fd(wait, wait->timer_fd, true);
}

struct uroce_wait *
uroce_wait_create(int numa_node)
{
	struct uroce_wait *wait = rte_zmalloc_socket("uroce_wait", sizeof(*wait), 0, numa_node);
	int error;

	errno = ENOMEM;
	if (wait == NULL)
		return NULL;
	wait->timer_ns = UINT64_MAX;
	if (open_fds(wait) == 0)
		return wait;
	error = errno;
	uroce_wait_free(wait);
	errno = error;
	return NULL;
}

void
uroce_wait_free(struct uroce_wait *wait)
{
	if (wait->timer_fd >= 0)
		close(wait->timer_fd);
	if (wait->wake_fd >= 0)
		close(wait->wake_fd);
	if (wait->epoll_fd >= 0)
		close(wait->epoll_fd);
	rte_free(wait);
}

/* Add the descriptor that the driver has now. The driver may have closed the previous one. */
static void
find_fd(struct uroce_wait *wait, struct uroce_port_queue *q)
{
	__atomic_store_n(&q->rx_stale, false, __ATOMIC_RELAXED);
	uroce_rx_wake_find(q);
	if (q->rx_fd >= 0 && add_fd(wait, q->rx_fd, q->rx_wake != UROCE_RX_WAKE_SOCKET) != 0)
		q->rx_wake = UROCE_RX_WAKE_NONE;
}

void
uroce_wait_add_queue(struct uroce_worker *w, struct uroce_port_queue *q)
{
	find_fd(w->wait, q);
	/* A peer process that connects may wake the worker. And what drives a worker polls it anyway. */
	if (q->rx_wake == UROCE_RX_WAKE_NONE && !q->port->at_process && !uroce_worker_is_driven(w))
		UROCE_LOG(NOTICE,
			  "port %u: frames at queue %u do not wake a sleeping worker, which polls every %llu us%s\n",
			  q->port_id, q->id, UROCE_WAIT_POLL_NS / 1000,
			  q->port->wants_rx_interrupts
				  ? ": the driver has no RX interrupt"
				  : ": for RX interrupts, call uroce_worker_fd() before uroce_open_port()");
}

void
uroce_wait_del_queue(struct uroce_wait *wait, struct uroce_port_queue *q)
{
	uroce_rx_wake_enable(q, false);
	if (q->rx_fd >= 0)
		epoll_ctl(wait->epoll_fd, EPOLL_CTL_DEL, q->rx_fd, NULL);
	q->rx_wake = UROCE_RX_WAKE_NONE;
	q->rx_fd = -1;
}

static void
forget_events(struct uroce_wait *wait)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(wait->epoll_fd, events, RTE_DIM(events), 0);

	for (int i = 0; i < n; i++)
		if (events[i].data.fd == wait->timer_fd)
			wait->timer_ns = UINT64_MAX; /* perhaps earlier than by the worker's clock */
}

void
uroce_wait_begin(struct uroce_worker *w)
{
	forget_events(w->wait);
	w->wait->sleeper = pthread_self();
	w->armed = true;
	for (unsigned int i = 0; i < w->nb_queues; i++) {
		struct uroce_port_queue *q = w->queues[i];

		if (unlikely(__atomic_load_n(&q->rx_stale, __ATOMIC_RELAXED)))
			find_fd(w->wait, q);
		if (!uroce_rx_wake_enable(q, true))
			q->rx_wake = UROCE_RX_WAKE_NONE;
	}
}

/* An earlier expiration stays: it costs a wake-up at times, and saves most sleeps a system call. */
void
uroce_wait_until(struct uroce_wait *wait, uint64_t now_ns, uint64_t next_ns)
{
	struct itimerspec timer = { .it_interval = { .tv_sec = 0 } };

	if (wait->timer_ns <= next_ns)
		return;
	timer.it_value.tv_sec = (time_t)((next_ns - now_ns) / NS_PER_S);
	timer.it_value.tv_nsec = (long)((next_ns - now_ns) % NS_PER_S);
	timerfd_settime(wait->timer_fd, 0, &timer, NULL);
	wait->timer_ns = next_ns;
}

/* `sleep` of a driven worker is the state of the thread that drives it, not of one that waits for the descriptor. */
void
uroce_wait_interrupt(struct uroce_worker *w)
{
	if (uroce_worker_is_driven(w))
		uroce_worker_signal_fd(w);
	else
		uroce_worker_wake(w);
}

void
uroce_wait_end(struct uroce_worker *w)
{
	w->armed = false;
	for (unsigned int i = 0; i < w->nb_queues; i++)
		uroce_rx_wake_enable(w->queues[i], false);
	if (!pthread_equal(w->wait->sleeper, pthread_self()))
		uroce_wait_interrupt(w);
	else if (!uroce_worker_is_driven(w))
		__atomic_store_n(&w->sleep, UROCE_AWAKE, __ATOMIC_RELAXED);
}
