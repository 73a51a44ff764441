/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Shared by the programs of this directory: the ends of a reliable connection. The programs use plain verbs, contain
 * nothing of uroce, and are linked with -libverbs.
 */

#ifndef ENDS_H
#define ENDS_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define BYTES 4096
#define GID_INDEX 1	/* of the first given address */

/* A condition that is false ends the program. */
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
	uint8_t *buffer;	/* BYTES long */
};

void need(int condition, const char *file, int line, const char *text);

/** Device number i, which must exist. */
struct ibv_device *device_at(int i);

/** Open a device, and create all objects of an end except its QP; then create that. */
void end_open(struct end *end, struct ibv_device *device);
void end_make_qp(struct end *end);
struct address end_address(const struct end *end);
void end_connect(struct end *end, const struct address *peer);
void end_close(struct end *end);

void post_recv(struct end *end, uint64_t id);
void post_send(struct end *end, uint64_t id, enum ibv_wr_opcode opcode, const struct address *to);
/** Poll for the next completion, which must have this status. */
struct ibv_wc poll_for(struct end *end, enum ibv_wc_status status);

/** Connect a socket to the other process: to a server, or, without `server`, from a client. */
int meet(const char *port, const char *server);
/** Exchange this many bytes in both directions. */
void swap(int fd, const void *own, void *others, size_t bytes);

/** Open and connect two ends within this process. */
void connect_here(struct end *a, struct end *b, struct ibv_device *device);
/** SEND a message in each direction, and compare it. */
void exchange_here(struct end *a, struct end *b);

#endif /* ENDS_H */
