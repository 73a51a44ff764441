/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A program that uses devices, to test the library's messages on stderr. It contains nothing of uroce.
 *
 *	messages		prints the number of devices, and waits for the end of its input
 *	messages run COMMAND...	prints it, and runs a command
 *	messages fork		prints it, in a child, too
 *	messages raw | raw_ex	tries twice to create QPs for raw packets
 *	messages wrong		tries to create a QP with an unsupported flag
 */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

#include <infiniband/verbs.h>

static struct ibv_device *
first_device(void)
{
	struct ibv_device **list;
	int n = 0;

	list = ibv_get_device_list(&n);
	printf("%d devices\n", n);
	fflush(stdout);
	return n > 0 ? list[0] : NULL;
}

static int
child_of(char *command[])
{
	const pid_t pid = fork();
	int status = 1;

	if (pid == 0 && command == NULL) {
		first_device();
		_exit(0);
	}
	if (pid == 0) {
		dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);	/* the command must not wait for input */
		execvp(command[0], command);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* @return 0 if all attempts fail */
static int
queue_pair(struct ibv_device *device, const char *how)
{
	struct ibv_context *context = ibv_open_device(device);
	struct ibv_pd *pd = context != NULL ? ibv_alloc_pd(context) : NULL;
	struct ibv_cq *cq = context != NULL ? ibv_create_cq(context, 16, NULL, NULL, 0) : NULL;
	struct ibv_qp_init_attr attr = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RAW_PACKET };
	struct ibv_qp_init_attr_ex ex = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RAW_PACKET, .pd = pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD };

	if (pd == NULL || cq == NULL)
		return 1;
	if (strcmp(how, "raw") == 0)
		return ibv_create_qp(pd, &attr) != NULL || ibv_create_qp(pd, &attr) != NULL;
	if (strcmp(how, "wrong") == 0) {
		ex.qp_type = IBV_QPT_RC;
		ex.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
		ex.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	}
	return ibv_create_qp_ex(context, &ex) != NULL || ibv_create_qp_ex(context, &ex) != NULL;
}

int
main(int argc, char *argv[])
{
	struct ibv_device *device = first_device();
	char end;

	if (argc > 2 && strcmp(argv[1], "run") == 0)
		return child_of(&argv[2]);
	if (argc > 1 && strcmp(argv[1], "fork") == 0)
		return child_of(NULL);
	if (argc > 1)
		return device == NULL || queue_pair(device, argv[1]);
	return read(STDIN_FILENO, &end, 1) > 0;
}
