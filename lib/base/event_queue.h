/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Events that an application waits for at a file descriptor: asynchronous events of a device, completion events of
 * a channel, CM events. Any thread puts and gets. The destruction of an object removes the object's unread events, and
 * waits for an acknowledgement of each event that was read.
 */

#ifndef UROCE_BASE_EVENT_QUEUE_H
#define UROCE_BASE_EVENT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>

#define UROCE_EVENT_BYTES_MAX 16 /* of a record */

/* Each object with events has one; protected by the queue's lock. */
struct uroce_event_refs {
	uint32_t queued;	/* events that were put and not yet got */
	uint32_t reported;	/* events that were got, each of which is to be acknowledged */
};

/* A thread that polls for an event in memory, and so spares it the way through the socket. */
struct uroce_event_taker {
	bool has_record;	/* atomic: a put has filled in the record */
	uint8_t record[UROCE_EVENT_BYTES_MAX];	/* under the queue's lock */
};

/* Sockets rather than a pipe, for MSG_DONTWAIT: the application may leave the reading end blocking, but
 * uroce_event_queue_purge() must not block. */
struct uroce_event_queue {
	int fd;			/* for the application: read, poll, O_NONBLOCK */
	int write_fd;
	uint32_t record_bytes;
	uint32_t lost;		/* atomic: events dropped because the backlog was full */
	/* @return the object of the event; NULL: an object that outlives the queue */
	struct uroce_event_refs *(*refs_of)(const void *record);
	pthread_mutex_t lock;
	struct uroce_event_taker *taker;	/* gets the next record; NULL: the socket does */
	uint32_t in_socket;	/* records that were put into the socket, and not accounted for by a get */
	pthread_cond_t accounted;	/* a get has updated `queued` and `reported` */
	uint8_t *backlog;	/* records that did not fit into the socket */
	uint32_t backlog_head;	/* index of the oldest */
	uint32_t backlog_tail;	/* index behind the newest */
	uint32_t backlog_room;	/* records that fit */
};

/** @return 0 or -errno */
int uroce_event_queue_init(struct uroce_event_queue *q, uint32_t record_bytes,
			   struct uroce_event_refs *(*refs_of)(const void *record));
void uroce_event_queue_fini(struct uroce_event_queue *q);

/** Queue a record without waiting for a reader. @return 0; -ENOSPC, -ENOMEM: the record is lost, and counted */
int uroce_event_queue_put(struct uroce_event_queue *q, const void *record);

/** Get the oldest record; waits for one unless fd has O_NONBLOCK. @return 0 or -errno: EAGAIN, EINTR */
int uroce_event_queue_get(struct uroce_event_queue *q, void *record);

/** Have the next put give its record to the calling thread, which polls has_record. The thread must not be canceled until
 * uroce_event_queue_withdraw(). @return false: a record is queued, or another thread takes the next one */
bool uroce_event_queue_offer(struct uroce_event_queue *q, struct uroce_event_taker *taker);

/** @return true: the taker has a record, as from uroce_event_queue_get() */
bool uroce_event_queue_withdraw(struct uroce_event_queue *q, struct uroce_event_taker *taker);

/** Remove the queued records of an object. The caller ensures that none is put any more.
 * @return number of records that were got */
uint32_t uroce_event_queue_purge(struct uroce_event_queue *q, struct uroce_event_refs *refs);

#endif /* UROCE_BASE_EVENT_QUEUE_H */
