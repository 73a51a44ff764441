/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The character device /dev/infiniband/rdma_cm as librdmacm knows it, on the rdma_cm calls of lib/cm: descriptors,
 * and on each of them IDs, which have handles. A descriptor is that of an event channel of lib/cm, so poll, epoll,
 * O_NONBLOCK and a blocking read behave as with the kernel's. uroce_ucma_lock protects all of it; it comes before
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
	uint32_t refs;				/* the descriptor's, and each call's that is under way */
	bool inherited;				/* from a parent process: not usable */
};

struct uroce_ucma_mcast {
	LIST_ENTRY(uroce_ucma_mcast) link;
	struct uroce_ucma_id *id;
	struct sockaddr_storage addr;
	uint64_t uid;
	uint32_t handle;
	uint32_t events_reported;
	bool joined;				/* false: the join is under way, and no call may leave */
};

struct uroce_ucma_id {
	LIST_ENTRY(uroce_ucma_id) link;		/* in its file */
	LIST_HEAD(, uroce_ucma_mcast) mcasts;
	struct uroce_ucma_file *file;
	struct rdma_cm_id *cm;			/* constant; its context is this */
	uint64_t uid;				/* the caller's name for it; 0: a request that is not accepted */
	uint32_t handle;
	uint32_t refs;				/* calls under way */
	uint32_t events_reported;
	bool moving;				/* to another file: one call at a time */
	bool leaving;				/* destroyed once the calls are over: in no list any more */
};

extern pthread_mutex_t uroce_ucma_lock;
extern pthread_cond_t uroce_ucma_released; /* no call uses an ID any more, or a move of it has ended */

/* ---- ucma_file.c: the descriptors; as open(2), close(2), write(2) ---- */

/** @return a new descriptor; -1 and errno: ENODEV, the devices are those of the process that has forked this one */
int uroce_ucma_open(void);
/** @return 0, or 1: it is none of ours */
int uroce_ucma_close(int fd);
/** The process ends: what the kernel closes then, is closed, and peers are told. */
void uroce_ucma_exit(void);
/** The file of a descriptor, with a reference; NULL: it is none of ours. */
struct uroce_ucma_file *uroce_ucma_file_get(int fd);
void uroce_ucma_file_put(struct uroce_ucma_file *file);
/** Before fork(2): lock the table, so that the child sees no half of a change. Until uroce_ucma_fork_over() in the
 * parent, uroce_ucma_forked() in the child. */
void uroce_ucma_fork(void);
void uroce_ucma_fork_over(void);
/** In the child of a fork: the inherited descriptors are not usable. @param started	the parent has started devices:
 * the child opens no descriptor either */
void uroce_ucma_forked(bool started);

/* ---- ucma_command.c ---- */

/** A command of <rdma/rdma_user_cm.h>. @return bytes; -1 and errno, the kernel's */
ssize_t uroce_ucma_write(struct uroce_ucma_file *file, const void *buf, size_t bytes);

/* ---- ucma_id.c ---- */

/** The ID with a reference. @return 0; -ENOENT, -EINVAL: it is another descriptor's */
int uroce_ucma_id_get(struct uroce_ucma_file *file, uint32_t handle, struct uroce_ucma_id **id);
void uroce_ucma_id_put(struct uroce_ucma_id *id);
/** A handle for an ID of lib/cm. Lock held. @return NULL: no memory, or too many */
struct uroce_ucma_id *uroce_ucma_id_new(struct uroce_ucma_file *file, struct rdma_cm_id *cm, uint64_t uid);
/** All that a file has, when it is closed. Without the lock. */
void uroce_ucma_ids_destroy(struct uroce_ucma_file *file);
/** All that no call is under way on: the process ends, and a call may be one that will never return. */
void uroce_ucma_ids_abandon(struct uroce_ucma_file *file);

/** The group has its id: give it a handle, and its ID the group. Lock held. @return 0; -ENOMEM */
int uroce_ucma_mcast_insert(struct uroce_ucma_mcast *mcast);
/** Lock held. */
void uroce_ucma_mcast_remove(struct uroce_ucma_mcast *mcast);
/** Lock held. @return NULL: there is none */
struct uroce_ucma_mcast *uroce_ucma_mcast_find(uint32_t handle);

/* ---- commands: cmd is the structure of the command, all of it; 0 or -errno ---- */

int uroce_ucma_create_id(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_destroy_id(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_migrate_id(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_bind_ip(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_bind(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_resolve_ip(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_resolve_addr(struct uroce_ucma_file *file, const void *cmd);
int uroce_ucma_resolve_route(struct uroce_ucma_file *file, const void *cmd);
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

/* These have answers of several lengths: room is what the caller has for one. */
int uroce_ucma_get_event(struct uroce_ucma_file *file, const void *cmd, uint32_t room);
int uroce_ucma_query_route(struct uroce_ucma_file *file, const void *cmd, uint32_t room);
int uroce_ucma_query(struct uroce_ucma_file *file, const void *cmd, uint32_t room);

/** 0 or -errno, of a call of lib/cm's. */
static inline int
uroce_ucma_result(int ret)
{
	return ret == 0 ? 0 : -errno;
}

#endif /* UROCE_DRIVERS_VERBS_UCMA_UCMA_H */
