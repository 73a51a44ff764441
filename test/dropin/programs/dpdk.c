/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * usage: dpdk EAL-ARGUMENTS -- PORT [SERVER]. A DPDK program that also uses verbs, in two processes, which send each
 * other messages from EAL's memory. It prints what it sees of the library that serves it: whether that one's port is in
 * the program's EAL, how much memory the process maps for it, which threads receive its frames, and whether these lead
 * into the program's memory.
 */

#define _GNU_SOURCE

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "ends.h"

#define LINE_BYTES 512

enum { MESSAGES = 2000 };

static struct end end;
static pid_t own_thread;
/* One thread polls the port at a time. */
static unsigned int received_here, received_elsewhere, sent, sent_from_buffer;

static uint16_t
count_received(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t n, uint16_t room, void *arg)
{
	(void)port;
	(void)queue;
	(void)frames;
	(void)room;
	(void)arg;
	if (gettid() == own_thread)
		received_here += n;
	else
		received_elsewhere += n;
	return n;
}

static bool
leads_into_buffer(const struct rte_mbuf *m)
{
	for (; m != NULL; m = m->next)
		if (rte_pktmbuf_mtod(m, uint8_t *) - end.buffer < BYTES && rte_pktmbuf_mtod(m, uint8_t *) >= end.buffer)
			return true;
	return false;
}

static uint16_t
count_sent(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t n, void *arg)
{
	(void)port;
	(void)queue;
	(void)arg;
	sent += n;
	for (uint16_t i = 0; i < n; i++)
		sent_from_buffer += leads_into_buffer(frames[i]);
	return n;
}

/* Watch each port of the program's EAL that has an owner: the program claims none. @return their number */
static unsigned int
watch_ports(void)
{
	struct rte_eth_dev_owner owner;
	unsigned int ports = 0;

	for (uint16_t port = 0; port < RTE_MAX_ETHPORTS; port++) {
		if (!rte_eth_dev_is_valid_port(port))
			continue;
		NEED(rte_eth_dev_owner_get(port, &owner) == 0);
		if (owner.id == RTE_ETH_DEV_NO_OWNER)
			continue;
		NEED(rte_eth_add_rx_callback(port, 0, count_received, NULL) != NULL);
		NEED(rte_eth_add_tx_callback(port, 0, count_sent, NULL) != NULL);
		ports++;
	}
	printf("owned ports: %u of %u\n", ports, rte_eth_dev_count_total());
	return ports;
}

/* @return MiB of writable mappings that are not of a thread's stack or a file */
static unsigned long
writable_mib(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long first, last, bytes = 0;
	char line[LINE_BYTES], rights[5];

	NEED(f != NULL);
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%lx-%lx %4s", &first, &last, rights) == 3 && rights[1] == 'w')
			bytes += last - first;
	fclose(f);
	return bytes >> 20;
}

static unsigned int
threads_of_library(void)
{
	char path[LINE_BYTES], name[LINE_BYTES];
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	unsigned int n = 0;
	FILE *f;

	NEED(tasks != NULL);
	while ((task = readdir(tasks)) != NULL) {
		snprintf(path, sizeof(path), "/proc/self/task/%.16s/comm", task->d_name);
		f = fopen(path, "r");
		n += f != NULL && fgets(name, sizeof(name), f) != NULL && strncmp(name, "uroce", strlen("uroce")) == 0;
		if (f != NULL)
			fclose(f);
	}
	closedir(tasks);
	return n;
}

/* Put the buffer into EAL's memory. */
static void
move_buffer(void)
{
	NEED(ibv_dereg_mr(end.mr) == 0);
	free(end.buffer);
	NEED((end.buffer = rte_zmalloc(NULL, BYTES, BYTES)) != NULL);
	end.mr = ibv_reg_mr(end.pd, end.buffer, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	NEED(end.mr != NULL);
}

/* The ends send in turn: the same buffer receives and sends. */
static void
send_in_turn(bool begins)
{
	for (unsigned int i = 0; i < MESSAGES; i++) {
		if (begins == (i % 2 == 0)) {
			memset(end.buffer, (int)i, BYTES);
			post_send(&end, i, IBV_WR_SEND, NULL);
			NEED(poll_for(&end, IBV_WC_SUCCESS).opcode == IBV_WC_SEND);
			post_recv(&end, i);
			continue;
		}
		NEED(poll_for(&end, IBV_WC_SUCCESS).opcode == IBV_WC_RECV);
		NEED(end.buffer[0] == (uint8_t)i && end.buffer[BYTES - 1] == (uint8_t)i);
	}
}

int
main(int argc, char **argv)
{
	const int used = rte_eal_init(argc, argv);
	struct address own, other;
	struct ibv_device *device;
	unsigned long before_mib;
	unsigned int ports;
	char done = 0;
	int fd;

	NEED(used >= 0);
	argc -= used;
	argv += used;
	NEED(argc >= 2);
	own_thread = gettid();
	before_mib = writable_mib();
	device = device_at(0);
	printf("memory for the library: %lu MiB\n", writable_mib() - before_mib);
	end_open(&end, device);
	move_buffer();
	end_make_qp(&end);
	ports = watch_ports();
	own = end_address(&end);
	fd = meet(argv[1], argv[2]);
	swap(fd, &own, &other, sizeof(own));
	end_connect(&end, &other);
	if (argc < 3)
		post_recv(&end, 0);
	swap(fd, &done, &done, 1);
	send_in_turn(argc >= 3);
	swap(fd, &done, &done, 1);
	printf("frames received on this thread: %u, on others: %u\n", received_here, received_elsewhere);
	printf("frames sent: %u, with the program's memory: %u\n", sent, sent_from_buffer);
	printf("threads of the library: %u\n", threads_of_library());
	NEED(ibv_destroy_qp(end.qp) == 0);
	NEED(ibv_dereg_mr(end.mr) == 0);
	rte_free(end.buffer);
	NEED(ibv_destroy_cq(end.cq) == 0);
	NEED(ibv_destroy_comp_channel(end.channel) == 0);
	NEED(ibv_dealloc_pd(end.pd) == 0);
	NEED(ibv_close_device(end.context) == 0);
	NEED(rte_eal_cleanup() == 0);
	while (ports != 0 && threads_of_library() != 0)	/* the kernel lists a thread for a moment after its end */
		usleep(1000);
	printf("threads of the library after rte_eal_cleanup(): %u\n", threads_of_library());
	return 0;
}
