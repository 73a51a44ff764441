/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * usage: leave PORT [SERVER]. The client sends messages on UC, which are not acknowledged, and exits while the server
 * is stopped. Once the server continues, it receives all of them.
 */

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "ends.h"

enum { MESSAGES = 16, STOPPED_MS = 200 };

static void
make_uc_qp(struct end *end)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.cap = { .max_send_wr = MESSAGES, .max_recv_wr = MESSAGES, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UC,
		.sq_sig_all = 1,
	};

	NEED((end->qp = ibv_create_qp(end->pd, &attr)) != NULL);
}

static void
connect_uc(struct end *end, const struct address *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qpn,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = peer->gid, .sgid_index = GID_INDEX, .hop_limit = 8 } },
	};

	NEED(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
	attr.qp_state = IBV_QPS_RTR;
	NEED(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			   IBV_QP_RQ_PSN) == 0);
	attr.qp_state = IBV_QPS_RTS;
	NEED(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
}

/* A process that continues the server some time after it is told to. @return the pipe to tell it */
static int
waker(void)
{
	const struct timespec pause = { .tv_nsec = STOPPED_MS * 1000000 };
	int pipes[2];
	pid_t child, server;

	NEED(pipe(pipes) == 0);
	NEED((child = fork()) >= 0);
	if (child != 0) {
		close(pipes[0]);
		return pipes[1];
	}
	close(pipes[1]);
	if (read(pipes[0], &server, sizeof(server)) == sizeof(server)) {
		nanosleep(&pause, NULL);
		kill(server, SIGCONT);
	}
	_exit(0);
}

static int
is_stopped(pid_t process)
{
	char path[64], state;
	FILE *file;
	int n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)process);
	NEED((file = fopen(path, "r")) != NULL);
	n = fscanf(file, "%*d (%*[^)]) %c", &state);
	fclose(file);
	NEED(n == 1);
	return state == 'T';
}

static void
send_and_leave(struct end *end, pid_t server, int pipe_to_waker)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	while (!is_stopped(server))
		nanosleep(&pause, NULL);
	for (int i = 0; i < MESSAGES; i++)
		post_send(end, (uint64_t)i, IBV_WR_SEND, NULL);
	for (int i = 0; i < MESSAGES; i++)
		NEED(poll_for(end, IBV_WC_SUCCESS).wr_id == (uint64_t)i);
	NEED(write(pipe_to_waker, &server, sizeof(server)) == sizeof(server));
}

int
main(int argc, char **argv)
{
	struct address own, other;
	const pid_t self = getpid();
	pid_t peer;
	struct end end;
	int fd, pipe_to_waker = -1;

	NEED(argc >= 2);
	if (argc > 2)
		pipe_to_waker = waker();
	end_open(&end, device_at(0));
	make_uc_qp(&end);
	own = end_address(&end);
	fd = meet(argv[1], argv[2]);
	swap(fd, &own, &other, sizeof(own));
	connect_uc(&end, &other);
	for (int i = 0; i < MESSAGES; i++)
		post_recv(&end, (uint64_t)i);
	swap(fd, &self, &peer, sizeof(self));
	if (argc > 2) {
		send_and_leave(&end, peer, pipe_to_waker);
		return 0;
	}
	NEED(raise(SIGSTOP) == 0);
	for (int i = 0; i < MESSAGES; i++)
		NEED(poll_for(&end, IBV_WC_SUCCESS).wr_id == (uint64_t)i);
	end_close(&end);
	printf("all %d messages\n", MESSAGES);
	return 0;
}
