/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The rdma_cm device in a world without ports, with commands as librdmacm writes them.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cma_world.h"
#include "ucma_fixture.h"

struct uroce_ucma_file *ucma_file;
int ucma_fd;

int
ucma_open(struct uroce_ucma_file **opened)
{
	int opened_fd = uroce_ucma_open();

	assert_true(opened_fd >= 0);
	assert_int_equal(fcntl(opened_fd, F_SETFL, O_NONBLOCK), 0);
	*opened = uroce_ucma_file_get(opened_fd);
	assert_non_null(*opened);
	uroce_ucma_file_put(*opened);	/* the descriptor holds a reference */
	return opened_fd;
}

int
ucma_setup(void **state)
{
	world_setup(state);
	ucma_fd = ucma_open(&ucma_file);
	return 0;
}

int
ucma_teardown(void **state)
{
	assert_int_equal(uroce_ucma_close(ucma_fd), 0);
	return world_teardown(state);
}

int
ucma_command_of(struct uroce_ucma_file *to, uint32_t number, const void *cmd, size_t bytes, size_t out)
{
	uint8_t buf[1024];
	struct rdma_ucm_cmd_hdr header = { .cmd = number, .in = (uint16_t)bytes, .out = (uint16_t)out };
	ssize_t ret;

	assert_true(sizeof(header) + bytes <= sizeof(buf));
	memcpy(buf, &header, sizeof(header));
	memcpy(buf + sizeof(header), cmd, bytes);
	ret = uroce_ucma_write(to, buf, sizeof(header) + bytes);
	if (ret < 0)
		return errno;
	assert_int_equal(ret, sizeof(header) + bytes);
	return 0;
}

uint32_t
ucma_create(enum rdma_port_space ps, uint64_t uid)
{
	struct rdma_ucm_create_id_resp resp = { .id = UINT32_MAX };
	const struct rdma_ucm_create_id cmd = { .uid = uid, .response = (uintptr_t)&resp, .ps = (uint16_t)ps };

	assert_int_equal(COMMAND(CREATE_ID, cmd, sizeof(resp)), 0);
	return resp.id;
}

uint32_t
ucma_destroy(uint32_t id)
{
	struct rdma_ucm_destroy_id_resp resp = { .events_reported = UINT32_MAX };
	const struct rdma_ucm_destroy_id cmd = { .id = id, .response = (uintptr_t)&resp };

	assert_int_equal(COMMAND(DESTROY_ID, cmd, sizeof(resp)), 0);
	return resp.events_reported;
}

struct sockaddr_in6
ucma_address(const struct sockaddr *addr)
{
	struct sockaddr_in6 wide = { .sin6_family = 0 };

	memcpy(&wide, addr, addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(wide));
	return wide;
}

int
ucma_bind_ip(uint32_t id, const struct sockaddr *addr)
{
	const struct rdma_ucm_bind_ip cmd = { .id = id, .addr = ucma_address(addr) };

	return COMMAND(BIND_IP, cmd, 0);
}

struct rdma_ucm_query_route_resp
ucma_query_route(uint32_t id)
{
	struct rdma_ucm_query_route_resp resp;
	const struct rdma_ucm_query cmd = { .id = id, .response = (uintptr_t)&resp };

	memset(&resp, 0xff, sizeof(resp));
	assert_int_equal(COMMAND(QUERY_ROUTE, cmd, sizeof(resp)), 0);
	return resp;
}

int
ucma_get_event(struct rdma_ucm_event_resp *resp)
{
	const struct rdma_ucm_get_event cmd = { .response = (uintptr_t)resp };

	world_deliver();
	memset(resp, 0xff, sizeof(*resp));
	return COMMAND(GET_EVENT, cmd, sizeof(*resp));
}

struct rdma_ucm_event_resp
ucma_event(enum rdma_cm_event_type type, uint64_t uid)
{
	struct rdma_ucm_event_resp resp;

	assert_int_equal(ucma_get_event(&resp), 0);
	if (resp.event != (uint32_t)type)
		fail_msg("got %s, expected %s", uroce_rdma_event_str((enum rdma_cm_event_type)resp.event),
			 uroce_rdma_event_str(type));
	assert_int_equal(resp.status, 0);
	assert_int_equal(resp.uid, uid);
	return resp;
}

void
ucma_listen_at(uint32_t id, const struct sockaddr *addr)
{
	const struct rdma_ucm_listen cmd = { .id = id, .backlog = 4 };

	assert_int_equal(ucma_bind_ip(id, addr), 0);
	assert_int_equal(COMMAND(LISTEN, cmd, 0), 0);
}

void
ucma_resolve(uint32_t id, uint64_t uid, const struct sockaddr *dst)
{
	const struct rdma_ucm_resolve_ip addr = { .id = id, .dst_addr = ucma_address(dst), .timeout_ms = 1000 };
	const struct rdma_ucm_resolve_route route = { .id = id, .timeout_ms = 1000 };

	assert_int_equal(COMMAND(RESOLVE_IP, addr, 0), 0);
	assert_int_equal(ucma_event(RDMA_CM_EVENT_ADDR_RESOLVED, uid).id, id);
	assert_int_equal(COMMAND(RESOLVE_ROUTE, route, 0), 0);
	assert_int_equal(ucma_event(RDMA_CM_EVENT_ROUTE_RESOLVED, uid).id, id);
}

int
ucma_try_connect(uint32_t id, uint32_t qpn, const char *text)
{
	struct rdma_ucm_connect cmd = {
		.id = id,
		.conn_param = {
			.qp_num = qpn,
			.private_data_len = (uint8_t)strlen(text),
			.responder_resources = 2,
			.initiator_depth = 3,
			.retry_count = 7,
			.rnr_retry_count = 6,
			.valid = 1,
		},
	};

	memcpy(cmd.conn_param.private_data, text, strlen(text));
	return COMMAND(CONNECT, cmd, 0);
}

int
ucma_try_accept(uint32_t id, uint64_t uid, uint32_t qpn, uint8_t valid)
{
	const struct rdma_ucm_accept cmd = {
		.id = id,
		.uid = uid,
		.conn_param = {
			.qp_num = qpn,
			.private_data = "yes",
			.private_data_len = 3,
			.responder_resources = 3,
			.initiator_depth = 2,
			.valid = valid,
		},
	};

	return COMMAND(ACCEPT, cmd, 0);
}

struct ib_uverbs_qp_attr
ucma_qp_attr(uint32_t id, enum ibv_qp_state state)
{
	struct ib_uverbs_qp_attr attr;
	const struct rdma_ucm_init_qp_attr cmd = { .id = id, .qp_state = state, .response = (uintptr_t)&attr };

	memset(&attr, 0xff, sizeof(attr));
	assert_int_equal(COMMAND(INIT_QP_ATTR, cmd, sizeof(attr)), 0);
	assert_int_equal(attr.qp_state, state);
	return attr;
}

void
ucma_connect_pair(struct ucma_pair *pair)
{
	struct rdma_ucm_event_resp resp;

	pair->listener = ucma_create(RDMA_PS_TCP, UID(0));
	ucma_listen_at(pair->listener, world_v4(2, PORT));
	pair->client = ucma_create(RDMA_PS_TCP, UID(1));
	ucma_resolve(pair->client, UID(1), world_v4(2, PORT));
	assert_int_equal(ucma_try_connect(pair->client, 0x11, "hello"), 0);
	resp = ucma_event(RDMA_CM_EVENT_CONNECT_REQUEST, UID(0));
	pair->server = resp.id;
	assert_int_equal(resp.param.conn.qp_num, 0x11);
	assert_int_equal(resp.param.conn.responder_resources, 3);
	assert_int_equal(resp.param.conn.initiator_depth, 2);
	assert_memory_equal(resp.param.conn.private_data, "hello", 6);
	assert_int_equal(ucma_try_accept(pair->server, UID(2), 0x22, 1), 0);
	resp = ucma_event(RDMA_CM_EVENT_CONNECT_RESPONSE, UID(1));
	assert_int_equal(resp.id, pair->client);
	assert_int_equal(resp.param.conn.qp_num, 0x22);
	assert_memory_equal(resp.param.conn.private_data, "yes", 4);
	assert_int_equal(ucma_try_accept(pair->client, 0, 0, 0), 0);
	assert_int_equal(ucma_event(RDMA_CM_EVENT_ESTABLISHED, UID(2)).id, pair->server);
}
