/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The ends of reliable connections, as in the manual pages. See ends.h.
 */

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>

#include "ends.h"

enum { ATTEMPTS = 300 };
enum { DEPTH = 16, TIMEOUT = 18 };	/* 1 s: the peer may have to wait for a CPU */

void
need(int condition, const char *file, int line, const char *text)
{
	if (condition)
		return;
	fprintf(stderr, "%s:%d: not so: %s (%m)\n", file, line, text);
	exit(1);
}

struct ibv_device *
device_at(int i)
{
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);
	struct ibv_device *device;

	NEED(list != NULL);
	NEED(i < count);
	device = list[i];
	ibv_free_device_list(list);
	return device;
}

void
end_open(struct end *end, struct ibv_device *device)
{
	memset(end, 0, sizeof(*end));
	NEED((end->context = ibv_open_device(device)) != NULL);
	NEED((end->pd = ibv_alloc_pd(end->context)) != NULL);
	NEED((end->channel = ibv_create_comp_channel(end->context)) != NULL);
	NEED((end->cq = ibv_create_cq(end->context, 2 * DEPTH, end, end->channel, 0)) != NULL);
	NEED((end->buffer = calloc(1, BYTES)) != NULL);
	end->mr = ibv_reg_mr(end->pd, end->buffer, BYTES,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	NEED(end->mr != NULL);
}

void
end_make_qp(struct end *end)
{
	struct ibv_qp_init_attr attr = {
		.qp_context = end,
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	NEED((end->qp = ibv_create_qp(end->pd, &attr)) != NULL);
}

struct address
end_address(const struct end *end)
{
	struct address address = { .qpn = end->qp->qp_num, .rkey = end->mr->rkey, .buffer = (uintptr_t)end->buffer };

	NEED(ibv_query_gid(end->context, 1, GID_INDEX, &address.gid) == 0);
	return address;
}

void
end_connect(struct end *end, const struct address *peer)
{
	struct ibv_port_attr port;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.dest_qp_num = peer->qpn, .max_dest_rd_atomic = 1, .max_rd_atomic = 1,
		.min_rnr_timer = 1, .timeout = TIMEOUT, .retry_cnt = 7, .rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = peer->gid, .sgid_index = GID_INDEX, .hop_limit = 8 } },
	};

	NEED(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
	NEED(ibv_query_port(end->context, 1, &port) == 0);
	attr.path_mtu = port.active_mtu;
	attr.qp_state = IBV_QPS_RTR;
	NEED(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
	attr.qp_state = IBV_QPS_RTS;
	NEED(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

void
end_close(struct end *end)
{
	NEED(ibv_destroy_qp(end->qp) == 0);
	NEED(ibv_dereg_mr(end->mr) == 0);
	NEED(ibv_destroy_cq(end->cq) == 0);
	NEED(ibv_destroy_comp_channel(end->channel) == 0);
	NEED(ibv_dealloc_pd(end->pd) == 0);
	NEED(ibv_close_device(end->context) == 0);
	free(end->buffer);
}

void
post_recv(struct end *end, uint64_t id)
{
	struct ibv_sge sge = { .addr = (uintptr_t)end->buffer, .length = BYTES, .lkey = end->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	NEED(ibv_post_recv(end->qp, &wr, &bad) == 0);
}

void
post_send(struct end *end, uint64_t id, enum ibv_wr_opcode opcode, const struct address *to)
{
	struct ibv_sge sge = { .addr = (uintptr_t)end->buffer, .length = BYTES, .lkey = end->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = opcode }, *bad;

	if (to != NULL) {
		wr.wr.rdma.remote_addr = to->buffer;
		wr.wr.rdma.rkey = to->rkey;
	}
	NEED(ibv_post_send(end->qp, &wr, &bad) == 0);
}

struct ibv_wc
poll_for(struct end *end, enum ibv_wc_status status)
{
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(end->cq, 1, &wc);
	while (n == 0);
	NEED(n == 1);
	if (wc.status != status)
		fprintf(stderr, "got %s, expected %s\n", ibv_wc_status_str(wc.status), ibv_wc_status_str(status));
	NEED(wc.status == status);
	return wc;
}

void
connect_here(struct end *a, struct end *b, struct ibv_device *device)
{
	struct address of_a, of_b;

	end_open(a, device);
	end_open(b, device);
	end_make_qp(a);
	end_make_qp(b);
	of_a = end_address(a);
	of_b = end_address(b);
	end_connect(a, &of_b);
	end_connect(b, &of_a);
}

static void
send_here(struct end *from, struct end *to, uint8_t value)
{
	memset(from->buffer, value, BYTES);
	post_recv(to, value);
	post_send(from, value, IBV_WR_SEND, NULL);
	NEED(poll_for(to, IBV_WC_SUCCESS).byte_len == BYTES);
	NEED(poll_for(from, IBV_WC_SUCCESS).wr_id == value);
	NEED(memcmp(from->buffer, to->buffer, BYTES) == 0);
	NEED(to->buffer[BYTES - 1] == value);
}

void
exchange_here(struct end *a, struct end *b)
{
	send_here(a, b, 0x5a);
	send_here(b, a, 0xa5);
}

int
meet(const char *port, const char *server)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1, listener, i;

	NEED(fd >= 0);
	NEED(inet_pton(AF_INET, server != NULL ? server : "0.0.0.0", &address.sin_addr) == 1);
	if (server == NULL) {
		listener = fd;
		setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		NEED(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0);
		NEED(listen(listener, 1) == 0);
		NEED((fd = accept(listener, NULL, NULL)) >= 0);
		close(listener);
		return fd;
	}
	for (i = 0; i < ATTEMPTS && connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0; i++) {
		close(fd);
		usleep(100000);
		fd = socket(AF_INET, SOCK_STREAM, 0);
	}
	NEED(i < ATTEMPTS);
	return fd;
}

void
swap(int fd, const void *own, void *others, size_t bytes)
{
	NEED(send(fd, own, bytes, MSG_NOSIGNAL) == (ssize_t)bytes);
	NEED(recv(fd, others, bytes, MSG_WAITALL) == (ssize_t)bytes);
}
