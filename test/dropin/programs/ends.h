/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What the programs of this directory have in common: a reliable connection's ends. They are what somebody writes who
 * has an RDMA device; nothing of ours is in them, and they are linked with -libverbs.
 */

#ifndef ENDS_H
#define ENDS_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define BYTES 4096
#define GID_INDEX 1	/* the first address that was given */

/* What is not so ends the program. */
#define NEED(condition) need((condition) ? 1 : 0, __FILE__, __LINE__, #condition)

struct address {
	uint32_t qpn;
	uint32_t rkey;
	uint64_t buffer;
	union ibv_gid gid;
};

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buffer;	/* BYTES */
};

void need(int condition, const char *file, int line, const char *text);

/** Device number i, which is there. */
struct ibv_device *device_at(int i);

/** Open a device, and make all that an end has but its queue pair; then that. */
void end_open(struct end *end, struct ibv_device *device);
void end_make_qp(struct end *end);
struct address end_address(const struct end *end);
void end_connect(struct end *end, const struct address *peer);
void end_close(struct end *end);

void post_recv(struct end *end, uint64_t id);
void post_send(struct end *end, uint64_t id, enum ibv_wr_opcode opcode, const struct address *to);
/** The next completion, which has this status, by polling. */
struct ibv_wc poll_for(struct end *end, enum ibv_wc_status status);

/** A socket that is connected to the other process: to a server, or, where there is none, of one. */
int meet(const char *port, const char *server);
/** Both give each other so many bytes. */
void swap(int fd, const void *own, void *others, size_t bytes);

/** Both ends in this process: open, connected. */
void connect_here(struct end *a, struct end *b, struct ibv_device *device);
/** A message from each to the other, by SEND, compared. */
void exchange_here(struct end *a, struct end *b);

#endif /* ENDS_H */
