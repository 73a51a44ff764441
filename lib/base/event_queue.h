/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Events that an application waits for at a file descriptor: asynchronous events of a device, completion events of
 * a channel, CM events. Any thread puts and gets. An object that is destroyed removes its unread events and learns
 * how many were read, so that it can wait for as many acknowledgements.
 */

#ifndef UROCE_BASE_EVENT_QUEUE_H
#define UROCE_BASE_EVENT_QUEUE_H

#include <stdint.h>
#include <pthread.h>

/* In each object that has events; under the queue's lock. */
struct uroce_event_refs {
	uint32_t queued;	/* put and not yet got, or being got */
	uint32_t reported;	/* got: the object waits for as many acknowledgements */
};

/* A connected pair of sockets rather than a pipe, for MSG_DONTWAIT: the application decides whether the reading
 * end blocks, and uroce_event_queue_purge() must not. */
struct uroce_event_queue {
	int fd;			/* for the application: read, poll, O_NONBLOCK */
	int write_fd;
	uint32_t record_bytes;
	uint32_t lost;		/* atomic: did not fit into the backlog either */
	/* whose event a record is; NULL: nobody's who could go away */
	struct uroce_event_refs *(*refs_of)(const void *record);
	pthread_mutex_t lock;
	pthread_cond_t accounted;	/* a thread that was getting an event has accounted for it */
	/* what did not fit into the socket, oldest first from backlog_head */
	uint8_t *backlog;
	uint32_t backlog_head;
	uint32_t backlog_tail;
	uint32_t backlog_room;	/* records */
};

/** @return 0 or -errno */
int uroce_event_queue_init(struct uroce_event_queue *q, uint32_t record_bytes,
			   struct uroce_event_refs *(*refs_of)(const void *record));
void uroce_event_queue_fini(struct uroce_event_queue *q);

/** Queue a record. Does not wait for whoever reads. @return 0; -ENOSPC, -ENOMEM: it is lost, and counted */
int uroce_event_queue_put(struct uroce_event_queue *q, const void *record);

/** Take the oldest record; waits for one unless fd has O_NONBLOCK. @return 0 or -errno: EAGAIN, EINTR */
int uroce_event_queue_get(struct uroce_event_queue *q, void *record);

/** Forget what is queued for an object for which nothing is put any more. @return how many were got */
uint32_t uroce_event_queue_purge(struct uroce_event_queue *q, struct uroce_event_refs *refs);

#endif /* UROCE_BASE_EVENT_QUEUE_H */
