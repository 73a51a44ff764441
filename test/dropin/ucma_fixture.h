/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The rdma_cm device in a world without ports, with commands as librdmacm writes them. Each command must succeed,
 * except those that return an errno.
 */

#ifndef UROCE_TEST_DROPIN_UCMA_FIXTURE_H
#define UROCE_TEST_DROPIN_UCMA_FIXTURE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "ucma/ucma.h"
#include "ucma/ucma_abi.h"

#define PORT 7174
#define UID(n) (0x1000u + (n))

extern struct uroce_ucma_file *ucma_file;	/* the device that most tests use: commands go there */
extern int ucma_fd;				/* its descriptor */

/* Set-up and tear-down for cmocka; the latter closes the device, and fails if anything leaks. */
int ucma_setup(void **state);
int ucma_teardown(void **state);
/* Open another, non-blocking descriptor. */
int ucma_open(struct uroce_ucma_file **opened);

/* Write a command of these lengths. @return 0 or the errno */
int ucma_command_of(struct uroce_ucma_file *to, uint32_t number, const void *cmd, size_t bytes, size_t out);

#define COMMAND(number, cmd, out) \
	ucma_command_of(ucma_file, RDMA_USER_CM_CMD_##number, &(cmd), sizeof(cmd), out)

uint32_t ucma_create(enum rdma_port_space ps, uint64_t uid);
/* @return events reported */
uint32_t ucma_destroy(uint32_t id);
struct sockaddr_in6 ucma_address(const struct sockaddr *addr);
/* @return 0 or the errno */
int ucma_bind_ip(uint32_t id, const struct sockaddr *addr);
void ucma_listen_at(uint32_t id, const struct sockaddr *addr);
/* Resolve address and route. */
void ucma_resolve(uint32_t id, uint64_t uid, const struct sockaddr *dst);
/* @return 0 or the errno */
int ucma_try_connect(uint32_t id, uint32_t qpn, const char *text);
int ucma_try_accept(uint32_t id, uint64_t uid, uint32_t qpn, uint8_t valid);
struct rdma_ucm_query_route_resp ucma_query_route(uint32_t id);
struct ib_uverbs_qp_attr ucma_qp_attr(uint32_t id, enum ibv_qp_state state);
/* Deliver all MADs in flight, then get the next event. @return 0 or the errno */
int ucma_get_event(struct rdma_ucm_event_resp *resp);
/* The next event must be this one. */
struct rdma_ucm_event_resp ucma_event(enum rdma_cm_event_type type, uint64_t uid);

struct ucma_pair {
	uint32_t listener;
	uint32_t client;
	uint32_t server;
};

/* Connect as librdmacm does, from the listener to the second ESTABLISHED. */
void ucma_connect_pair(struct ucma_pair *pair);

#define UCMA_TEST(name) cmocka_unit_test_setup_teardown(name, ucma_setup, ucma_teardown)

#endif /* UROCE_TEST_DROPIN_UCMA_FIXTURE_H */
