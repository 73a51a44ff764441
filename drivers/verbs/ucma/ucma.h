/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The character device /dev/infiniband/rdma_cm for librdmacm, on top of the rdma_cm calls of lib/cm. Each descriptor
 * has IDs, which have handles. A descriptor is that of an event channel of lib/cm, so poll, epoll, O_NONBLOCK and a
 * blocking read behave as with the kernel's device. uroce_ucma_lock protects all of it. It is taken before
 * uroce_cm_lock, and is not held in calls that wait.
 */

#ifndef UROCE_DRIVERS_VERBS_UCMA_UCMA_H
#define UROCE_DRIVERS_VERBS_UCMA_UCMA_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include <rdma/rdma_cma.h>

#include "ucma/ucma_user.h"

struct uroce_ucma_id;

struct uroce_ucma_file {
	struct rdma_event_channel *channel;	/* constant; its fd is the descriptor */
	LIST_HEAD(, uroce_ucma_id) ids;
	uint32_t refs;				/* one for the descriptor, one for each call in progress */
	bool inherited;				/* from a parent process: not usable */
};

struct uroce_ucma_mcast {
	LIST_ENTRY(uroce_ucma_mcast) link;
	struct uroce_ucma_id *id;
	struct sockaddr_storage addr;
	uint64_t uid;
	uint32_t handle;
	uint32_t events_reported;
	bool joined;				/* false: the join is in progress, no call may leave the group */
};

struct uroce_ucma_id {
	LIST_ENTRY(uroce_ucma_id) link;		/* in its file */
	LIST_HEAD(, uroce_ucma_mcast) mcasts;
	struct uroce_ucma_file *file;
	struct rdma_cm_id *cm;			/* constant; its context is this struct */
	uint64_t uid;				/* librdmacm's name for the ID; 0: a request not yet accepted */
	uint32_t handle;
	uint32_t refs;				/* calls in progress */
	uint32_t events_reported;
	bool moving;				/* a call moves it to another file; one at a time */
	bool leaving;				/* in no list any more; destroyed when its calls have returned */
};

extern pthread_mutex_t uroce_ucma_lock;
extern pthread_cond_t uroce_ucma_released; /* signaled when the last call on an ID, or a move of it, ends */

/* ---- ucma_file.c: the descriptors; like open(2) and close(2) ---- */

/** @return a new descriptor; -1 and errno: ENODEV, the devices belong to the process that forked this one */
int uroce_ucma_open(void);
/** @return 0; 1: not a descriptor of this device */
int uroce_ucma_close(int fd);
/** At the end of the process: close the descriptors, as the kernel would, and disconnect from the peers. */
void uroce_ucma_exit(void);
/** Get the file of a descriptor, with a reference. @return NULL: not a descriptor of this device */
struct uroce_ucma_file *uroce_ucma_file_get(int fd);
void uroce_ucma_file_put(struct uroce_ucma_file *file);
/** Before fork(2): lock the table, so that the child inherits a consistent one. uroce_ucma_fork_over() unlocks it in
 * the parent, uroce_ucma_forked() in the child. */
void uroce_ucma_fork(void);
void uroce_ucma_fork_over(void);
/** In the child of a fork: mark the inherited descriptors as unusable.
 * @param started	the parent has started devices: the child cannot open this device either */
void uroce_ucma_forked(bool started);

/* ---- ucma_command.c ---- */

/** Run a command of <rdma/rdma_user_cm.h>. @return bytes; -1 and the errno of the kernel */
ssize_t uroce_ucma_write(struct uroce_ucma_file *file, const void *buf, size_t bytes);

/* ---- ucma_id.c ---- */

/** Get an ID, with a reference. @return 0; -ENOENT; -EINVAL: the ID belongs to another descriptor */
int uroce_ucma_id_get(struct uroce_ucma_file *file, uint32_t handle, struct uroce_ucma_id **id);
void uroce_ucma_id_put(struct uroce_ucma_id *id);
/** Give an ID of lib/cm a handle. Lock held. @return NULL: no memory, or too many IDs */
struct uroce_ucma_id *uroce_ucma_id_new(struct uroce_ucma_file *file, struct rdma_cm_id *cm, uint64_t uid);
/** Destroy all IDs of a file that is closed. Lock not held. */
void uroce_ucma_ids_destroy(struct uroce_ucma_file *file);
/** At the end of the process: destroy the IDs without a call in progress. The other calls may never return. */
void uroce_ucma_ids_abandon(struct uroce_ucma_file *file);

/** Give a group a handle, and add it to its ID, which is set. Lock held. @return 0; -ENOMEM */
int uroce_ucma_mcast_insert(struct uroce_ucma_mcast *mcast);
/** Lock held. */
void uroce_ucma_mcast_remove(struct uroce_ucma_mcast *mcast);
/** Lock held. @return NULL: no such group */
struct uroce_ucma_mcast *uroce_ucma_mcast_find(uint32_t handle);

/* ---- commands: cmd is the complete structure of the command; each returns 0 or -errno ---- */

int uroce_ucma_create_id(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_destroy_id(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_migrate_id(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_bind_ip(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_bind(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_resolve_ip(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_resolve_addr(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_resolve_route(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_resolve_ib_service(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_connect(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_listen(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_accept(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_reject(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_disconnect(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_init_qp_attr(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_set_option(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_notify(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_join_ip_mcast(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_join_mcast(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_leave_mcast(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_write_cm_event(struct uroce_ucma_file *file, const void *cmd);

/* The replies to these have several lengths; `room` is the size of the caller's buffer. */
int uroce_ucma_get_event(struct uroce_ucma_file *file, const void *cmd, uint32_t room);
int uroce_ucma_query_route(struct uroce_ucma_file *file, const void *cmd, uint32_t room);
int uroce_ucma_query(struct uroce_ucma_file *file, const void *cmd, uint32_t room);

/** Convert the result of a call of lib/cm to 0 or -errno. */
static inline int
uroce_ucma_result(int ret)
{
	return ret == 0 ? 0 : -errno;
}

#endif /* UROCE_DRIVERS_VERBS_UCMA_UCMA_H */
