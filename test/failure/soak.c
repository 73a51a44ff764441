/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Makes, uses and ends thousands of connections, by hand and by rdma_cm. At the end, DPDK's heap, the C library's heap,
 * the mbuf pools, the threads and the files must not exceed what they were after the first connections. The environment
 * variable UROCE_SOAK_CYCLES makes the test longer.
 */

#include <arpa/inet.h>
#include <dirent.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_mempool.h>

#include "eal.h"
#include "groups.h"
#include "pair.h"
#include "uroce_cma.h"
#include "uroce_config.h"

#define CYCLES    10000
#define CM_CYCLES 1000
#define WARM      50		/* cycles that do not count: they fill caches */
#define SLACK     (64u << 10)	/* of the C library's heap, for its own use */
#define RSS_SLACK (4u << 20)
#define CM_PORT   7471

static struct pair pair;

struct usage {
	size_t heap_bytes;
	size_t malloc_bytes;
	size_t rss_bytes;
	unsigned int mbufs; /* taken from their pools */
	unsigned int threads;
	unsigned int files;
};

static unsigned int
entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int n = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

static void
count_mbufs(struct rte_mempool *pool, void *arg)
{
	*(unsigned int *)arg += rte_mempool_in_use_count(pool);
}

static struct usage
usage(void)
{
	struct rte_malloc_socket_stats stats;
	unsigned long pages = 0, resident = 0;
	struct usage u = { 0 };
	FILE *f;

	malloc_trim(0);
	assert_int_equal(rte_malloc_get_socket_stats(0, &stats), 0);
	u.heap_bytes = stats.heap_allocsz_bytes;
	u.malloc_bytes = mallinfo2().uordblks;
	f = fopen("/proc/self/statm", "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu %lu", &pages, &resident), 2);
	fclose(f);
	u.rss_bytes = resident * (size_t)sysconf(_SC_PAGESIZE);
	rte_mempool_walk(count_mbufs, &u.mbufs);
	u.threads = entries("/proc/self/task");
	u.files = entries("/proc/self/fd");
	return u;
}

static void
assert_flat(const struct usage *before)
{
	const struct usage after = usage();

	print_message("heap %zu, %zu of malloc, resident %zu, %u mbufs, %u threads, %u files; before %zu, %zu, "
		      "%zu, %u, %u, %u\n",
		      after.heap_bytes, after.malloc_bytes, after.rss_bytes, after.mbufs, after.threads,
		      after.files, before->heap_bytes, before->malloc_bytes, before->rss_bytes, before->mbufs,
		      before->threads, before->files);
	assert_int_equal(after.heap_bytes, before->heap_bytes);
	assert_true(after.malloc_bytes <= before->malloc_bytes + SLACK);
	/* a sanitizer's allocator, which reports 0 here, keeps freed memory for long */
	if (after.malloc_bytes != 0)
		assert_true(after.rss_bytes <= before->rss_bytes + RSS_SLACK);
	assert_int_equal(after.mbufs, before->mbufs);
	assert_int_equal(after.threads, before->threads);
	assert_int_equal(after.files, before->files);
}

static unsigned int
cycles(unsigned int by_default)
{
	const char *text = getenv("UROCE_SOAK_CYCLES");

	return text != NULL ? (unsigned int)strtoul(text, NULL, 10) : by_default;
}

static int
setup(void **state)
{
	pair_open(&pair);
	return 0;
}

static int
teardown(void **state)
{
	pair_close(&pair);
	return 0;
}

/* Create, use and destroy a pair, idle or in the middle of a transfer. */
static void
by_hand(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int j = 0; j < 2; j++)
			assert_int_equal(pair_end_create(&pair.ends[j]), 0);
		pair_connect(&pair);
		pair_write(&pair);
		pair_write(&pair);
		if (i % 3 == 0)
			pair_poll(&pair, i % 7);
		else
			assert_int_equal(pair_wait(&pair), IBV_WC_SUCCESS);
		for (unsigned int j = 0; j < 2; j++)
			pair_end_destroy(&pair.ends[j]);
	}
	pair_poll(&pair, 20); /* packets on the wire reach no QP */
}

static void
test_by_hand(void **state)
{
	struct usage before;

	by_hand(WARM);
	before = usage();
	by_hand(cycles(CYCLES));
	assert_flat(&before);
}

/* ---- rdma_cm, whose thread polls the worker ---- */

struct cm {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
};

static struct sockaddr *
address(struct sockaddr_in *sin, const char *text, uint16_t port)
{
	memset(sin, 0, sizeof(*sin));
	sin->sin_family = AF_INET;
	sin->sin_port = htons(port);
	assert_int_equal(inet_pton(AF_INET, text, &sin->sin_addr), 1);
	return (struct sockaddr *)sin;
}

/* The next event, except those that end the TIMEWAIT of an earlier connection. */
static struct rdma_cm_id *
expect(struct cm *cm, enum rdma_cm_event_type wanted)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	enum rdma_cm_event_type type;

	do {
		assert_int_equal(uroce_rdma_get_cm_event(cm->channel, &event), 0);
		id = event->id;
		type = event->event;
		if (type != wanted && type != RDMA_CM_EVENT_TIMEWAIT_EXIT)
			fail_msg("%s, status %d", uroce_rdma_event_str(type), event->status);
		assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	} while (type != wanted);
	return id;
}

static void
qp_create(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	assert_int_equal(uroce_rdma_create_qp(id, NULL, &init), 0);
}

/* An empty message shows that both ends are connected. */
static void
message(struct rdma_cm_id *from, struct rdma_cm_id *to)
{
	struct ibv_recv_wr *bad_recv, recv = { .wr_id = 1 };
	struct ibv_send_wr *bad, send = { .opcode = IBV_WR_SEND };
	struct ibv_wc wc;
	int n;

	assert_int_equal(ibv_post_recv(to->qp, &recv, &bad_recv), 0);
	assert_int_equal(ibv_post_send(from->qp, &send, &bad), 0);
	while ((n = ibv_poll_cq(to->recv_cq, 1, &wc)) == 0)
		pair_poll(&pair, 1);
	assert_int_equal(n, 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

static void
by_cm(struct cm *cm, unsigned int n)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1, .retry_count = 7 };
	struct rdma_cm_id *client, *server;
	struct sockaddr_in sin;

	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(uroce_rdma_create_id(cm->channel, &client, NULL, RDMA_PS_TCP), 0);
		assert_int_equal(uroce_rdma_resolve_addr(client, NULL, address(&sin, "10.0.0.2", CM_PORT), 60000), 0);
		expect(cm, RDMA_CM_EVENT_ADDR_RESOLVED);
		assert_int_equal(uroce_rdma_resolve_route(client, 60000), 0);
		expect(cm, RDMA_CM_EVENT_ROUTE_RESOLVED);
		qp_create(client);
		assert_int_equal(uroce_rdma_connect(client, &param), 0);
		server = expect(cm, RDMA_CM_EVENT_CONNECT_REQUEST);
		if (i % 5 == 4) {
			assert_int_equal(uroce_rdma_reject(server, NULL, 0), 0);
			expect(cm, RDMA_CM_EVENT_REJECTED);
		} else {
			qp_create(server);
			assert_int_equal(uroce_rdma_accept(server, &param), 0);
			expect(cm, RDMA_CM_EVENT_ESTABLISHED);
			expect(cm, RDMA_CM_EVENT_ESTABLISHED);
			message(client, server);
			assert_int_equal(uroce_rdma_disconnect(client), 0);
			assert_ptr_equal(expect(cm, RDMA_CM_EVENT_DISCONNECTED), server);
			assert_int_equal(uroce_rdma_disconnect(server), 0);
			assert_ptr_equal(expect(cm, RDMA_CM_EVENT_DISCONNECTED), client);
			uroce_rdma_destroy_qp(server);
		}
		uroce_rdma_destroy_qp(client);
		assert_int_equal(uroce_rdma_destroy_id(client), 0);
		assert_int_equal(uroce_rdma_destroy_id(server), 0);
	}
}

static void
cm_open(struct cm *cm)
{
	struct sockaddr_in sin;

	cm->channel = uroce_rdma_create_event_channel();
	assert_non_null(cm->channel);
	assert_int_equal(uroce_rdma_create_id(cm->channel, &cm->listener, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_rdma_bind_addr(cm->listener, address(&sin, "10.0.0.2", CM_PORT)), 0);
	assert_int_equal(uroce_rdma_listen(cm->listener, 8), 0);
}

static void
cm_close(struct cm *cm)
{
	assert_int_equal(uroce_rdma_destroy_id(cm->listener), 0);
	uroce_rdma_destroy_event_channel(cm->channel);
}

/* The service ends with its last user, and takes the connections in TIMEWAIT with it. */
static void
test_by_cm(void **state)
{
	struct usage before;
	struct cm cm;

	cm_open(&cm);
	by_cm(&cm, WARM);
	cm_close(&cm);
	before = usage();
	cm_open(&cm);
	by_cm(&cm, cycles(CM_CYCLES));
	cm_close(&cm);
	assert_flat(&before);
}

UROCE_TESTS(failure_soak)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(by_hand),
		TEST(by_cm),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
