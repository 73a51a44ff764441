/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * "self ADDRESS..." connects to itself by the RDMA CM, by the addresses of its devices, and exchanges messages there.
 * It knows nothing about uroce. To 127.0.0.1, which belongs to no device, it must not connect.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_verbs.h>

#define PORT "7471"

static const struct ibv_qp_init_attr qp_attr = {
	.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	.sq_sig_all = 1,
};

/* @return NULL and errno */
static struct rdma_cm_id *
endpoint(const char *address, int flags)
{
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = RDMA_PS_TCP }, *info;
	struct ibv_qp_init_attr attr = qp_attr;
	struct rdma_cm_id *id = NULL;

	if (rdma_getaddrinfo(address, PORT, &hints, &info) != 0)
		return NULL;
	if (rdma_create_ep(&id, info, NULL, &attr) != 0)
		id = NULL;
	rdma_freeaddrinfo(info);
	return id;
}

/* Return the listener's messages. @return NULL: success */
static void *
echo(void *listener)
{
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	char buffer[64];
	void *failed = listener;

	if (rdma_get_request(listener, &id) != 0)
		return failed;
	mr = rdma_reg_msgs(id, buffer, sizeof(buffer));
	if (mr != NULL && rdma_post_recv(id, NULL, buffer, sizeof(buffer), mr) == 0 && rdma_accept(id, NULL) == 0 &&
	    rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS &&
	    rdma_post_send(id, NULL, buffer, wc.byte_len, mr, 0) == 0 && rdma_get_send_comp(id, &wc) == 1 &&
	    wc.status == IBV_WC_SUCCESS)
		failed = NULL;
	rdma_disconnect(id);
	if (mr != NULL)
		rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	return failed;
}

static int
say(struct rdma_cm_id *id, const char *text)
{
	char buffer[64] = "", *heard = buffer + sizeof(buffer) / 2;
	struct ibv_mr *mr = rdma_reg_msgs(id, buffer, sizeof(buffer));
	struct ibv_wc wc;
	int same = 0;

	snprintf(buffer, sizeof(buffer) / 2, "%s", text);
	if (mr != NULL && rdma_post_recv(id, NULL, heard, sizeof(buffer) / 2, mr) == 0 && rdma_connect(id, NULL) == 0 &&
	    rdma_post_send(id, NULL, buffer, strlen(text) + 1, mr, 0) == 0 && rdma_get_recv_comp(id, &wc) == 1)
		same = wc.status == IBV_WC_SUCCESS && strcmp(heard, text) == 0;
	rdma_disconnect(id);
	if (mr != NULL)
		rdma_dereg_mr(mr);
	return same ? 0 : -1;
}

static int
talk_to(const char *address)
{
	struct rdma_cm_id *listener = endpoint(address, RAI_PASSIVE), *id;
	void *failed = NULL;
	pthread_t thread;
	int ret;

	if (listener == NULL || rdma_listen(listener, 1) != 0)
		return -1;
	id = endpoint(address, 0);
	if (id == NULL || pthread_create(&thread, NULL, echo, listener) != 0) {
		rdma_destroy_ep(listener);
		return -1;
	}
	ret = say(id, address);
	pthread_join(thread, &failed);
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
	return ret != 0 || failed != NULL ? -1 : 0;
}

int
main(int argc, char **argv)
{
	struct rdma_cm_id *id;

	for (int i = 1; i < argc; i++) {
		if (talk_to(argv[i]) != 0) {
			perror(argv[i]);
			return EXIT_FAILURE;
		}
		printf("%s leads to oneself\n", argv[i]);
	}
	id = endpoint("127.0.0.1", 0);
	if (id == NULL)
		perror("127.0.0.1");
	return id == NULL ? EXIT_SUCCESS : EXIT_FAILURE;
}
