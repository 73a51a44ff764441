/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Two devices with several workers each, on ports that distribute frames as NICs do (nic.h), and traffic between them.
 */

#ifndef UROCE_TEST_PORT_SIDES_H
#define UROCE_TEST_PORT_SIDES_H

#include <stdint.h>

#include "nic.h"
#include "uroce.h"

#define SIDE_WORKERS NIC_QUEUES
#define SIDE_QPS     32
#define SIDE_BYTES   5000 /* of a message: two packets */
#define SIDE_GRH     40
#define SIDE_QKEY    0x11111111

#define GID_IPV4 1
#define GID_IPV6 2

/* A device with a CQ for each worker. */
struct side {
	struct nic nic;
	struct uroce_worker *workers[SIDE_WORKERS];
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cqs[SIDE_WORKERS];
	struct ibv_mr *mr;
	uint8_t *buffer; /* a send and a receive buffer of each QP */
	struct ibv_qp *qps[SIDE_QPS];
	unsigned int sent;
	unsigned int received;
};

extern struct side sides[2];

/** Create the ports. Before sides_open(), a test may change their capabilities. cmocka's setup and teardown. */
int sides_setup(void **state);
int sides_teardown(void **state);
/** Open both devices. @param inbox_frames	of each worker; 0: the default */
void sides_open(uint32_t inbox_frames);

/** @return the number of the worker of QP i. It is another worker than that of the other side's QP i. */
unsigned int side_worker(const struct side *s, unsigned int i);
/** Create QP 0 to n - 1 of both sides and connect them.
 * @param label	for the flow labels, which differ; 0: none */
void sides_connect(enum ibv_qp_type type, unsigned int n, uint8_t gid_index, uint32_t label);
void side_qp_connect(struct side *s, unsigned int i, uint8_t gid_index, uint32_t flow_label);

struct ibv_sge side_sge(const struct side *s, unsigned int buffer, uint32_t bytes);
void side_receive_post(struct side *s, unsigned int i);
/** @param ah	to the other side; NULL: the QP is connected */
void side_send_post(struct side *s, unsigned int i, uint32_t bytes, struct ibv_ah *ah);
void side_take_completions(struct side *s);

/** Poll all workers once, and take completions. */
void sides_poll(void);
/** Send `each` datagrams from QP 0 to n - 1 to their peers, and receive them all. */
void sides_datagrams(struct side *from, unsigned int n, unsigned int each, struct ibv_ah *ah, void (*poll)(void));
/** Send a message of each QP from `first` on, in both directions. */
void sides_traffic(unsigned int first, unsigned int n);

uint64_t side_counter(unsigned int side, const char *name);
void sides_expect_nothing_lost(void);
/** Check that all frames reached their workers, and that each worker received some. */
void sides_expect_all_steered(void);

#endif /* UROCE_TEST_PORT_SIDES_H */
