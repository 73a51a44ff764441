/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Commands of the rdma_cm device that librdmacm never writes: of any length, for any ID, with any address and any
 * bytes. Each succeeds or returns an errno, and accesses no byte outside its memory; closing the descriptors frees all
 * objects.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <sys/mman.h>

#include <cmocka.h>
#include <rte_common.h>

#include "cma_world.h"
#include "eal.h"
#include "groups.h"
#include "ucma_fixture.h"

#define COMMANDS 50000	/* per seed */
#define SEEDS 4
#define IDS 12		/* used by commands, of those that may exist */
#define NONE UINT16_MAX

/* Fields that lead a command further than random bytes. */
struct shape {
	uint16_t bytes;
	uint16_t id;
	uint16_t response;
	uint16_t addr[2];	/* offsets of socket addresses, */
	uint16_t addr_bytes[2];	/* and of their lengths */
};

#define AT(type, member) offsetof(struct rdma_ucm_##type, member)
#define SHAPE(type, ...) { .bytes = sizeof(struct rdma_ucm_##type), __VA_ARGS__ }
#define NO_ANSWER .response = NONE
#define NO_ADDR .addr = { NONE, NONE }, .addr_bytes = { NONE, NONE }

static const struct shape shapes[] = {
	[RDMA_USER_CM_CMD_CREATE_ID] = SHAPE(create_id, .id = NONE, .response = AT(create_id, response), NO_ADDR),
	[RDMA_USER_CM_CMD_DESTROY_ID] =
		SHAPE(destroy_id, .id = AT(destroy_id, id), .response = AT(destroy_id, response), NO_ADDR),
	[RDMA_USER_CM_CMD_BIND_IP] = SHAPE(bind_ip, .id = AT(bind_ip, id), NO_ANSWER,
					   .addr = { AT(bind_ip, addr), NONE }, .addr_bytes = { NONE, NONE }),
	[RDMA_USER_CM_CMD_RESOLVE_IP] =
		SHAPE(resolve_ip, .id = AT(resolve_ip, id), NO_ANSWER,
		      .addr = { AT(resolve_ip, src_addr), AT(resolve_ip, dst_addr) }, .addr_bytes = { NONE, NONE }),
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = SHAPE(resolve_route, .id = AT(resolve_route, id), NO_ANSWER, NO_ADDR),
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = SHAPE(query, .id = AT(query, id), .response = AT(query, response), NO_ADDR),
	[RDMA_USER_CM_CMD_CONNECT] = SHAPE(connect, .id = AT(connect, id), NO_ANSWER, NO_ADDR),
	[RDMA_USER_CM_CMD_LISTEN] = SHAPE(listen, .id = AT(listen, id), NO_ANSWER, NO_ADDR),
	[RDMA_USER_CM_CMD_ACCEPT] = SHAPE(accept, .id = AT(accept, id), NO_ANSWER, NO_ADDR),
	[RDMA_USER_CM_CMD_REJECT] = SHAPE(reject, .id = AT(reject, id), NO_ANSWER, NO_ADDR),
	[RDMA_USER_CM_CMD_DISCONNECT] = SHAPE(disconnect, .id = AT(disconnect, id), NO_ANSWER, NO_ADDR),
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] =
		SHAPE(init_qp_attr, .id = AT(init_qp_attr, id), .response = AT(init_qp_attr, response), NO_ADDR),
	[RDMA_USER_CM_CMD_GET_EVENT] = SHAPE(get_event, .id = NONE, .response = AT(get_event, response), NO_ADDR),
	[RDMA_USER_CM_CMD_GET_OPTION] = SHAPE(set_option, .id = AT(set_option, id), NO_ANSWER, NO_ADDR),
	[RDMA_USER_CM_CMD_SET_OPTION] =
		SHAPE(set_option, .id = AT(set_option, id), .response = AT(set_option, optval), NO_ADDR),
	[RDMA_USER_CM_CMD_NOTIFY] = SHAPE(notify, .id = AT(notify, id), NO_ANSWER, NO_ADDR),
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] =
		SHAPE(join_ip_mcast, .id = AT(join_ip_mcast, id), .response = AT(join_ip_mcast, response),
		      .addr = { AT(join_ip_mcast, addr), NONE }, .addr_bytes = { NONE, NONE }),
	[RDMA_USER_CM_CMD_LEAVE_MCAST] =
		SHAPE(destroy_id, .id = AT(destroy_id, id), .response = AT(destroy_id, response), NO_ADDR),
	[RDMA_USER_CM_CMD_MIGRATE_ID] =
		SHAPE(migrate_id, .id = AT(migrate_id, id), .response = AT(migrate_id, response), NO_ADDR),
	[RDMA_USER_CM_CMD_QUERY] = SHAPE(query, .id = AT(query, id), .response = AT(query, response), NO_ADDR),
	[RDMA_USER_CM_CMD_BIND] = SHAPE(bind, .id = AT(bind, id), NO_ANSWER, .addr = { AT(bind, addr), NONE },
					.addr_bytes = { AT(bind, addr_size), NONE }),
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] =
		SHAPE(resolve_addr, .id = AT(resolve_addr, id), NO_ANSWER,
		      .addr = { AT(resolve_addr, src_addr), AT(resolve_addr, dst_addr) },
		      .addr_bytes = { AT(resolve_addr, src_size), AT(resolve_addr, dst_size) }),
	[RDMA_USER_CM_CMD_JOIN_MCAST] =
		SHAPE(join_mcast, .id = AT(join_mcast, id), .response = AT(join_mcast, response),
		      .addr = { AT(join_mcast, addr), NONE }, .addr_bytes = { AT(join_mcast, addr_size), NONE }),
	[UROCE_UCMA_CMD_RESOLVE_IB_SERVICE] = { .bytes = sizeof(struct uroce_ucma_resolve_ib_service), NO_ANSWER, NO_ADDR,
						.id = offsetof(struct uroce_ucma_resolve_ib_service, id) },
	[UROCE_UCMA_CMD_WRITE_CM_EVENT] = { .bytes = sizeof(struct uroce_ucma_write_cm_event), NO_ANSWER, NO_ADDR,
					    .id = offsetof(struct uroce_ucma_write_cm_event, id) },
};

static struct uroce_ucma_file *files[2];
static int fds[2];
static uint8_t *written;	/* a page, */
static uint8_t *answered;	/* and another; an unmapped page follows each */
static size_t page_bytes;
static uint64_t seed;
static uint32_t request;	/* ID of the last request */
static unsigned int accepted[RTE_DIM(shapes)];	/* number of successes of each command */

/* xorshift64* */
static uint32_t
draw(uint32_t below)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (uint32_t)(((seed * 0x2545f4914f6cdd1dull) >> 32) % below);
}

static uint8_t *
map_page(void)
{
	uint8_t *page = mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(mprotect(page + page_bytes, page_bytes, PROT_NONE), 0);
	return page;
}

static int
setup(void **state)
{
	ucma_setup(state);
	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	written = map_page();
	answered = map_page();
	return 0;
}

static int
teardown(void **state)
{
	munmap(written, 2 * page_bytes);
	munmap(answered, 2 * page_bytes);
	return ucma_teardown(state);
}

/* Any command; those that make connections are more frequent. */
static uint32_t
draw_number(void)
{
	static const uint8_t often[] = {
		RDMA_USER_CM_CMD_BIND_IP, RDMA_USER_CM_CMD_LISTEN, RDMA_USER_CM_CMD_RESOLVE_IP,
		RDMA_USER_CM_CMD_RESOLVE_ROUTE, RDMA_USER_CM_CMD_CONNECT, RDMA_USER_CM_CMD_ACCEPT,
	};

	switch (draw(8)) {
	case 0:
	case 1: return RDMA_USER_CM_CMD_GET_EVENT;
	case 2:
	case 3: return often[draw(RTE_DIM(often))];
	case 4: return RDMA_USER_CM_CMD_DESTROY_ID;
	default: return draw(RTE_DIM(shapes));
	}
}

/* One of the device's addresses, another host's, a group, a wildcard, or an invalid one. */
static uint16_t
draw_address(uint8_t *to)
{
	struct sockaddr_in group = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	const uint16_t port = draw(4) != 0 ? PORT : (uint16_t)draw(2);
	const unsigned int host = draw(2) != 0 ? 2 : draw(4);
	const struct sockaddr *addr = draw(8) != 0 ? world_v4(host, port) : world_v6(host, port);

	if (draw(8) == 0) {
		group.sin_addr.s_addr = htonl(0xef010200 + draw(4));
		addr = (const struct sockaddr *)&group;
	}
	if (addr->sa_family == AF_INET) {
		memcpy(to, addr, sizeof(struct sockaddr_in));
		return sizeof(struct sockaddr_in);
	}
	memcpy(to, addr, sizeof(struct sockaddr_in6));
	return sizeof(struct sockaddr_in6);
}

/* The exact room for the response, hardly any, or none. */
static uint64_t
draw_response(uint16_t room)
{
	switch (draw(16)) {
	case 0: return 0;
	case 1: return (uintptr_t)answered + page_bytes;
	case 2: return (uintptr_t)answered + page_bytes - draw(64);
	case 3: return UINT64_MAX - draw(4096);
	case 4: return 1ull << 63 | (uint64_t)draw(INT32_MAX) << 32;
	default: return (uintptr_t)answered + page_bytes - RTE_MIN(room, page_bytes);
	}
}

static void
put(uint8_t *cmd, uint16_t at, const void *value, size_t bytes)
{
	if (at != NONE)
		memcpy(cmd + at, value, bytes);
}

/* Other fields that a command needs. */
static void
fill_rest(uint8_t *cmd, uint32_t number)
{
	struct rdma_ucm_connect *connect = (struct rdma_ucm_connect *)cmd;
	struct rdma_ucm_accept *accept = (struct rdma_ucm_accept *)cmd;
	struct rdma_ucm_set_option *option = (struct rdma_ucm_set_option *)cmd;

	switch (number) {
	case RDMA_USER_CM_CMD_CREATE_ID:
		((struct rdma_ucm_create_id *)cmd)->ps = draw(4) != 0 ? RDMA_PS_TCP : RDMA_PS_UDP;
		break;
	case RDMA_USER_CM_CMD_CONNECT:
		connect->conn_param.valid = 1;
		connect->conn_param.qp_num = draw(64);
		break;
	case RDMA_USER_CM_CMD_ACCEPT:
		accept->conn_param.valid = (uint8_t)draw(2);
		accept->conn_param.qp_num = draw(64);
		break;
	case RDMA_USER_CM_CMD_INIT_QP_ATTR:
		((struct rdma_ucm_init_qp_attr *)cmd)->qp_state = draw(8);
		break;
	case RDMA_USER_CM_CMD_SET_OPTION:
		option->optlen = draw(2) != 0 ? 1 + 3 * draw(2) : draw(UINT32_MAX);
		break;
	case RDMA_USER_CM_CMD_MIGRATE_ID:
		((struct rdma_ucm_migrate_id *)cmd)->fd = (uint32_t)(draw(8) != 0 ? fds[draw(2)] : (int)draw(4096));
		break;
	case UROCE_UCMA_CMD_WRITE_CM_EVENT:
		((struct uroce_ucma_write_cm_event *)cmd)->event = UROCE_UCMA_EVENT_USER + draw(3);
		break;
	default: break;
	}
}

static void
fill(uint8_t *cmd, const struct shape *shape, uint32_t number, uint16_t room)
{
	const uint32_t ids = number == RDMA_USER_CM_CMD_DESTROY_ID ? 4 * IDS : IDS;
	uint32_t id = draw(32) != 0 ? draw(ids) : draw(UINT32_MAX);
	const uint64_t response = draw_response(room);

	if (number == RDMA_USER_CM_CMD_ACCEPT && draw(2) == 0)
		id = request;
	memset(cmd, 0, shape->bytes);
	put(cmd, shape->id, &id, sizeof(id));
	for (unsigned int i = 0; i < RTE_DIM(shape->addr); i++) {
		uint16_t bytes;

		if (shape->addr[i] == NONE || draw(8) == 0)
			continue;
		bytes = draw_address(cmd + shape->addr[i]);
		put(cmd, shape->addr_bytes[i], &bytes, sizeof(bytes));
	}
	fill_rest(cmd, number);
	for (uint32_t n = draw(6) == 0 ? draw(8) : 0; n != 0; n--)
		cmd[draw(shape->bytes)] = (uint8_t)draw(256);
	/* last: random bytes in it could point to other memory of this process */
	put(cmd, shape->response, &response, sizeof(response));
}

/* An errno that a command may return. */
static bool
is_known(int error)
{
	switch (error) {
	case EINVAL:
	case EFAULT:
	case ENOENT:
	case ENOSYS:
	case ENOSPC:
	case EBADF:
	case EAGAIN:
	case EADDRINUSE:
	case EADDRNOTAVAIL:
	case EPROTONOSUPPORT:
	case EOPNOTSUPP:
	case ENODEV:
	case ENOMEM: return true;
	default: return false;
	}
}

/* Use the part of an event that is always present. */
static void
note(uint64_t response)
{
	struct rdma_ucm_event_resp resp;

	memcpy(&resp, (const void *)(uintptr_t)response, offsetof(struct rdma_ucm_event_resp, reserved));
	if (resp.event == RDMA_CM_EVENT_CONNECT_REQUEST)
		request = resp.id;
}

/* Place the command at the end of the page. */
static void
write_one(void)
{
	const uint32_t number = draw_number();
	const struct shape *shape = &shapes[number];
	const uint16_t room = draw(16) != 0 ? 512 : (uint16_t)draw(UINT16_MAX + 1);
	const uint16_t bytes = draw(16) != 0 ? shape->bytes : (uint16_t)draw(shape->bytes + 64);
	struct rdma_ucm_cmd_hdr header = { .cmd = number, .in = bytes, .out = room };
	uint8_t cmd[1024] __rte_aligned(8) = { 0 };
	uint8_t *at = written + page_bytes - sizeof(header) - bytes;
	ssize_t ret;

	fill(cmd, shape, number, room);
	if (draw(64) == 0)
		header.cmd = draw(UINT32_MAX);
	if (draw(64) == 0)
		header.in = (uint16_t)draw(UINT16_MAX + 1);
	memcpy(at, &header, sizeof(header));
	memcpy(at + sizeof(header), cmd, bytes);
	ret = uroce_ucma_write(files[draw(8) == 0], at, sizeof(header) + bytes);
	if (ret >= 0)
		assert_int_equal(ret, sizeof(header) + bytes);
	else if (!is_known(errno))
		fail_msg("command %u: %s", number, strerror(errno));
	accepted[number] += ret >= 0;
	if (number == RDMA_USER_CM_CMD_GET_EVENT && ret >= 0)
		note(((const struct rdma_ucm_get_event *)cmd)->response);
}

static void
run(uint64_t from)
{
	seed = from;
	for (unsigned int i = 0; i < RTE_DIM(files); i++)
		fds[i] = ucma_open(&files[i]);
	for (unsigned int i = 0; i < COMMANDS; i++) {
		write_one();
		if (draw(4) == 0)
			world_deliver();
		if (draw(256) == 0)
			world_pass(WORLD_MS << draw(14));
	}
	for (unsigned int i = 0; i < RTE_DIM(files); i++)
		assert_int_equal(uroce_ucma_close(fds[i]), 0);
}

/* Each command must succeed now and then, so that the code behind the checks runs. */
static void
test_any(void **state)
{
	for (uint64_t i = 1; i <= SEEDS; i++)
		run(i * 0x9e3779b97f4a7c15ull);
	for (uint32_t number = 0; number < RTE_DIM(shapes); number++)
		if (number != RDMA_USER_CM_CMD_GET_OPTION && number != RDMA_USER_CM_CMD_NOTIFY &&
		    number != UROCE_UCMA_CMD_RESOLVE_IB_SERVICE && accepted[number] == 0)
			fail_msg("command %u never succeeded", number);
}

UROCE_TESTS(ucma_hostile)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_any, setup, teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
