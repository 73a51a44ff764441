/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Checks and dispatches the commands that librdmacm writes to the rdma_cm device. A command is a header and a
 * structure, most of which have the address of a reply buffer. A table has the lengths of each. Any thread of the
 * program.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <rte_common.h>

#include "ucma/ucma.h"
#include "ucma/ucma_abi.h"
#include "uroce_config.h"

/* Room for any command. */
union command {
	struct rdma_ucm_create_id create_id;
	struct rdma_ucm_destroy_id destroy_id;
	struct rdma_ucm_bind_ip bind_ip;
	struct rdma_ucm_bind bind;
	struct rdma_ucm_resolve_ip resolve_ip;
	struct rdma_ucm_resolve_addr resolve_addr;
	struct rdma_ucm_resolve_route resolve_route;
	struct rdma_ucm_query query;
	struct rdma_ucm_connect connect;
	struct rdma_ucm_listen listen;
	struct rdma_ucm_accept accept;
	struct rdma_ucm_reject reject;
	struct rdma_ucm_disconnect disconnect;
	struct rdma_ucm_init_qp_attr init_qp_attr;
	struct rdma_ucm_notify notify;
	struct rdma_ucm_join_ip_mcast join_ip_mcast;
	struct rdma_ucm_join_mcast join_mcast;
	struct rdma_ucm_get_event get_event;
	struct rdma_ucm_set_option set_option;
	struct rdma_ucm_migrate_id migrate_id;
	struct uroce_ucma_resolve_ib_service resolve_ib_service;
	struct uroce_ucma_write_cm_event write_cm_event;
};

struct row {
	int (*run)(struct uroce_ucma_file *file, const void *cmd);
	int (*run_room)(struct uroce_ucma_file *file, const void *cmd, uint32_t room);
	uint16_t in_bytes;	/* minimum length of the command */
	uint16_t size;		/* length of the structure; a shorter command is padded with zeros */
	uint16_t out_bytes;	/* minimum length of the reply; 0: no reply */
	uint16_t out_most;	/* length of the reply if the caller has room for it */
	uint16_t response;	/* offset of the reply's address in the command */
};

#define COMMAND(type, name) { .run = (name), .in_bytes = sizeof(struct type), .size = sizeof(struct type) }
/* An older librdmacm leaves out the last member. */
#define GROWN(type, name, last) \
	{ .run = (name), .in_bytes = offsetof(struct type, last), .size = sizeof(struct type) }
#define ANSWERED(type, name, answer)                                                              \
	{ .run = (name), .in_bytes = sizeof(struct type), .size = sizeof(struct type), \
	  .out_bytes = (answer), .out_most = (answer), .response = offsetof(struct type, response) }
#define SEVERAL(type, name, least, most)                                                               \
	{ .run_room = (name), .in_bytes = sizeof(struct type), .size = sizeof(struct type), \
	  .out_bytes = (least), .out_most = (most), .response = offsetof(struct type, response) }

static const struct row rows[] = {
	[RDMA_USER_CM_CMD_CREATE_ID] = ANSWERED(rdma_ucm_create_id, uroce_ucma_create_id,
						sizeof(struct rdma_ucm_create_id_resp)),
	[RDMA_USER_CM_CMD_DESTROY_ID] = ANSWERED(rdma_ucm_destroy_id, uroce_ucma_destroy_id,
						 sizeof(struct rdma_ucm_destroy_id_resp)),
	[RDMA_USER_CM_CMD_BIND_IP] = COMMAND(rdma_ucm_bind_ip, uroce_ucma_bind_ip),
	[RDMA_USER_CM_CMD_RESOLVE_IP] = COMMAND(rdma_ucm_resolve_ip, uroce_ucma_resolve_ip),
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = COMMAND(rdma_ucm_resolve_route, uroce_ucma_resolve_route),
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = SEVERAL(rdma_ucm_query, uroce_ucma_query_route,
						 offsetof(struct rdma_ucm_query_route_resp, ibdev_index),
						 sizeof(struct rdma_ucm_query_route_resp)),
	[RDMA_USER_CM_CMD_CONNECT] = GROWN(rdma_ucm_connect, uroce_ucma_connect, ece),
	[RDMA_USER_CM_CMD_LISTEN] = COMMAND(rdma_ucm_listen, uroce_ucma_listen),
	[RDMA_USER_CM_CMD_ACCEPT] = GROWN(rdma_ucm_accept, uroce_ucma_accept, ece),
	[RDMA_USER_CM_CMD_REJECT] = COMMAND(rdma_ucm_reject, uroce_ucma_reject),
	[RDMA_USER_CM_CMD_DISCONNECT] = COMMAND(rdma_ucm_disconnect, uroce_ucma_disconnect),
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = ANSWERED(rdma_ucm_init_qp_attr, uroce_ucma_init_qp_attr,
						   sizeof(struct ib_uverbs_qp_attr)),
	[RDMA_USER_CM_CMD_GET_EVENT] = SEVERAL(rdma_ucm_get_event, uroce_ucma_get_event,
					       offsetof(struct rdma_ucm_event_resp, reserved),
					       sizeof(struct rdma_ucm_event_resp)),
	[RDMA_USER_CM_CMD_SET_OPTION] = COMMAND(rdma_ucm_set_option, uroce_ucma_set_option),
	[RDMA_USER_CM_CMD_NOTIFY] = COMMAND(rdma_ucm_notify, uroce_ucma_notify),
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = ANSWERED(rdma_ucm_join_ip_mcast, uroce_ucma_join_ip_mcast,
						    sizeof(struct rdma_ucm_create_id_resp)),
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = ANSWERED(rdma_ucm_destroy_id, uroce_ucma_leave_mcast,
						  sizeof(struct rdma_ucm_destroy_id_resp)),
	[RDMA_USER_CM_CMD_MIGRATE_ID] = ANSWERED(rdma_ucm_migrate_id, uroce_ucma_migrate_id,
						 sizeof(struct rdma_ucm_migrate_resp)),
	[RDMA_USER_CM_CMD_QUERY] = SEVERAL(rdma_ucm_query, uroce_ucma_query,
					   sizeof(struct rdma_ucm_query_path_resp),
					   sizeof(struct rdma_ucm_query_addr_resp)),
	[RDMA_USER_CM_CMD_BIND] = COMMAND(rdma_ucm_bind, uroce_ucma_bind),
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = COMMAND(rdma_ucm_resolve_addr, uroce_ucma_resolve_addr),
	[RDMA_USER_CM_CMD_JOIN_MCAST] = ANSWERED(rdma_ucm_join_mcast, uroce_ucma_join_mcast,
						 sizeof(struct rdma_ucm_create_id_resp)),
	[UROCE_UCMA_CMD_RESOLVE_IB_SERVICE] = COMMAND(uroce_ucma_resolve_ib_service, uroce_ucma_resolve_ib_service),
	[UROCE_UCMA_CMD_WRITE_CM_EVENT] = COMMAND(uroce_ucma_write_cm_event, uroce_ucma_write_cm_event),
};

/* Check the address of the reply before the command takes effect. @return 0; -EFAULT */
static int
clear_answer(const struct row *row, const union command *cmd, uint16_t room)
{
	uint64_t response;

	if (row->out_bytes == 0)
		return 0;
	memcpy(&response, (const uint8_t *)cmd + row->response, sizeof(response));
	return response == 0 ? -EFAULT : uroce_ucma_user_clear(response, RTE_MIN(room, row->out_most));
}

/* Build the reply in an aligned buffer: the caller's need not be aligned. */
static int
run_answered(struct uroce_ucma_file *file, const struct row *row, union command *cmd)
{
	uint8_t answer[UROCE_UCMA_MAX_BYTES] __rte_aligned(8) = { 0 };
	const uint64_t here = (uintptr_t)answer;
	uint64_t response;
	int ret;

	memcpy(&response, (const uint8_t *)cmd + row->response, sizeof(response));
	memcpy((uint8_t *)cmd + row->response, &here, sizeof(here));
	ret = row->run(file, cmd);
	if (ret == 0)
		memcpy(uroce_ucma_user(response), answer, row->out_bytes);
	return ret;
}

static int
run(struct uroce_ucma_file *file, const struct row *row, const void *in, uint16_t in_bytes, uint16_t room)
{
	union command cmd;
	int ret;

	if (row->run == NULL && row->run_room == NULL)
		return -ENOSYS;
	if (in_bytes < row->in_bytes)
		return -EINVAL;
	if (room < row->out_bytes)
		return -ENOSPC;
	memset(&cmd, 0, sizeof(cmd));
	memcpy(&cmd, in, RTE_MIN(in_bytes, row->size));
	ret = clear_answer(row, &cmd, room);
	if (ret != 0)
		return ret;
	if (row->run_room != NULL)
		return row->run_room(file, &cmd, room);
	return row->out_bytes != 0 ? run_answered(file, row, &cmd) : row->run(file, &cmd);
}

/* A thread canceled (pthread_cancel(3)) during a command would leave locks held. The exception is the command that
 * waits for an event, which holds none while it waits. */
static int
run_guarded(struct uroce_ucma_file *file, const struct rdma_ucm_cmd_hdr *header, const void *in)
{
	const struct row *row = &rows[header->cmd];
	int cancel, ret;

	if (header->cmd == RDMA_USER_CM_CMD_GET_EVENT)
		return run(file, row, in, header->in, header->out);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	ret = run(file, row, in, header->in, header->out);
	pthread_setcancelstate(cancel, &cancel);
	return ret;
}

ssize_t
uroce_ucma_write(struct uroce_ucma_file *file, const void *buf, size_t bytes)
{
	struct rdma_ucm_cmd_hdr header;
	int ret;

	if (file->inherited)
		ret = -EACCES;	/* the kernel's error for a descriptor that another process opened */
	else if (bytes < sizeof(header))
		ret = -EINVAL;
	else {
		memcpy(&header, buf, sizeof(header));
		if (header.cmd >= RTE_DIM(rows) || header.in > bytes - sizeof(header))
			ret = -EINVAL;
		else
			ret = run_guarded(file, &header, (const uint8_t *)buf + sizeof(header));
	}
	if (ret == 0)
		return (ssize_t)bytes;
	errno = -ret;
	return -1;
}
