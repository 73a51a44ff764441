/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Queues events in a socket pair, so that poll(2), epoll(7) and a blocking read work on its descriptor. Events that
 * do not fit into the socket wait in a backlog, which the reader moves to the socket. Any thread; workers put.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <rte_common.h>
#include <rte_debug.h>

#include "uroce_config.h"
#include "base/event_queue.h"

int
uroce_event_queue_init(struct uroce_event_queue *q, uint32_t record_bytes,
		       struct uroce_event_refs *(*refs_of)(const void *record))
{
	int fds[2];

	RTE_VERIFY(record_bytes <= UROCE_EVENT_BYTES_MAX);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
		return -errno;
	*q = (struct uroce_event_queue){
		.fd = fds[0],
		.write_fd = fds[1],
		.record_bytes = record_bytes,
		.refs_of = refs_of,
	};
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->accounted, NULL);
	return 0;
}

void
uroce_event_queue_fini(struct uroce_event_queue *q)
{
	close(q->write_fd);
	close(q->fd);
	free(q->backlog);
	pthread_cond_destroy(&q->accounted);
	pthread_mutex_destroy(&q->lock);
}

/* @return false: the socket is full. Calls the kernel directly, since send(2) is a cancellation point and the caller
 * holds the lock. */
static bool
send_record(struct uroce_event_queue *q, const void *record)
{
	ssize_t n;

	do
		n = syscall(SYS_sendto, q->write_fd, record, (size_t)q->record_bytes, MSG_DONTWAIT | MSG_NOSIGNAL,
			    NULL, 0);
	while (n < 0 && errno == EINTR);
	q->in_socket += n == (ssize_t)q->record_bytes;
	return n == (ssize_t)q->record_bytes;
}

static uint8_t *
backlog_at(const struct uroce_event_queue *q, uint32_t i)
{
	return q->backlog + (size_t)i * q->record_bytes;
}

/* Make room for one record at backlog_tail: move the records to the front, or grow the backlog. */
static int
backlog_reserve(struct uroce_event_queue *q)
{
	uint32_t count = q->backlog_tail - q->backlog_head;
	uint32_t room = RTE_MAX(64u, 2 * q->backlog_room);
	uint8_t *grown;

	if (q->backlog_tail < q->backlog_room)
		return 0;
	if (q->backlog_head >= RTE_MAX(1u, q->backlog_room / 2)) {
		memmove(q->backlog, backlog_at(q, q->backlog_head), (size_t)count * q->record_bytes);
		q->backlog_head = 0;
		q->backlog_tail = count;
		return 0;
	}
	if (room > UROCE_MAX_QUEUED_EVENTS)
		return -ENOSPC;
	grown = realloc(q->backlog, (size_t)room * q->record_bytes);
	if (grown == NULL)
		return -ENOMEM;
	q->backlog = grown;
	q->backlog_room = room;
	return 0;
}

static int
backlog_add(struct uroce_event_queue *q, const void *record)
{
	int ret = backlog_reserve(q);

	if (ret == 0)
		memcpy(backlog_at(q, q->backlog_tail++), record, q->record_bytes);
	else
		__atomic_fetch_add(&q->lost, 1, __ATOMIC_RELAXED);
	return ret;
}

static void
backlog_flush(struct uroce_event_queue *q)
{
	while (q->backlog_head != q->backlog_tail && send_record(q, backlog_at(q, q->backlog_head)))
		q->backlog_head++;
	if (q->backlog_head == q->backlog_tail) {
		q->backlog_head = 0;
		q->backlog_tail = 0;
	}
}

static void
give(struct uroce_event_queue *q, const void *record, struct uroce_event_refs *refs)
{
	memcpy(q->taker->record, record, q->record_bytes);
	__atomic_store_n(&q->taker->has_record, true, __ATOMIC_RELAXED); /* the taker then takes the lock */
	q->taker = NULL;
	if (refs != NULL)
		refs->reported++;
}

int
uroce_event_queue_put(struct uroce_event_queue *q, const void *record)
{
	struct uroce_event_refs *refs = q->refs_of(record);
	int ret = 0;

	pthread_mutex_lock(&q->lock);
	if (q->taker != NULL) {
		give(q, record, refs);
		pthread_mutex_unlock(&q->lock);
		return 0;
	}
	/* a record must not overtake the backlog */
	if (q->backlog_head != q->backlog_tail || !send_record(q, record))
		ret = backlog_add(q, record);
	if (ret == 0 && refs != NULL)
		refs->queued++;
	pthread_mutex_unlock(&q->lock);
	return ret;
}

int
uroce_event_queue_get(struct uroce_event_queue *q, void *record)
{
	struct uroce_event_refs *refs;
	ssize_t n = recv(q->fd, record, q->record_bytes, 0);

	if (n != (ssize_t)q->record_bytes)
		return n < 0 ? -errno : -EIO;

	/* The object counts the record as queued until here, so that a purge of the object waits. */
	refs = q->refs_of(record);
	pthread_mutex_lock(&q->lock);
	q->in_socket--;
	if (refs != NULL) {
		refs->queued--;
		refs->reported++;
		pthread_cond_broadcast(&q->accounted);
	}
	backlog_flush(q);
	pthread_mutex_unlock(&q->lock);
	return 0;
}

bool
uroce_event_queue_offer(struct uroce_event_queue *q, struct uroce_event_taker *taker)
{
	bool is_first;

	taker->has_record = false;
	pthread_mutex_lock(&q->lock);
	is_first = q->taker == NULL && q->in_socket == 0 && q->backlog_head == q->backlog_tail;
	if (is_first)
		q->taker = taker;
	pthread_mutex_unlock(&q->lock);
	return is_first;
}

bool
uroce_event_queue_withdraw(struct uroce_event_queue *q, struct uroce_event_taker *taker)
{
	bool has_record;

	pthread_mutex_lock(&q->lock);
	if (q->taker == taker)
		q->taker = NULL;
	has_record = taker->has_record;
	pthread_mutex_unlock(&q->lock);
	return has_record;
}

/* Put a record into the new backlog, unless it belongs to the object that is destroyed. */
static void
keep_record(struct uroce_event_queue *q, const void *record, const struct uroce_event_refs *leaving)
{
	struct uroce_event_refs *refs = q->refs_of(record);

	if ((refs == leaving || backlog_add(q, record) != 0) && refs != NULL)
		refs->queued--;
}

/* Move the records of the socket, then those of the old backlog, to a new backlog. */
static void
drain(struct uroce_event_queue *q, const struct uroce_event_refs *leaving)
{
	uint8_t record[UROCE_EVENT_BYTES_MAX];
	uint8_t *old = q->backlog;
	uint32_t head = q->backlog_head;
	uint32_t tail = q->backlog_tail;

	q->backlog = NULL;
	q->backlog_head = 0;
	q->backlog_tail = 0;
	q->backlog_room = 0;
	while (recv(q->fd, record, q->record_bytes, MSG_DONTWAIT) == (ssize_t)q->record_bytes) {
		q->in_socket--;
		keep_record(q, record, leaving);
	}
	for (uint32_t i = head; i != tail; i++)
		keep_record(q, old + (size_t)i * q->record_bytes, leaving);
	free(old);
}

uint32_t
uroce_event_queue_purge(struct uroce_event_queue *q, struct uroce_event_refs *refs)
{
	uint32_t reported;

	pthread_mutex_lock(&q->lock);
	if (refs->queued != 0) {
		drain(q, refs);
		backlog_flush(q);
	}
	/* the remaining records were read by threads that wait for the lock */
	while (refs->queued != 0)
		pthread_cond_wait(&q->accounted, &q->lock);
	reported = refs->reported;
	pthread_mutex_unlock(&q->lock);
	return reported;
}
