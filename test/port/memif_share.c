/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * share_memory: two devices of this process, connected by memif's memory and a pair of sockets, read payloads from each
 * other's DPDK memory, and refuse references to other memory.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "cmocka_compat.h"
#include "eal.h"
#include "groups.h"
#include "memif_messages.h"
#include "memif_pair.h"
#include "port/worker/worker.h"
#include "wire/icrc.h"

#define PART  65536u /* of a window, in hostile messages */

static uint64_t
references_of(unsigned int i)
{
	return test_counter(memif_pair.net.ends[i].context, "tx_by_reference");
}

/* Device 1 READs from device 0, whose memory is DPDK's. */
static void
read_all(void)
{
	struct end *from = &memif_pair.net.ends[0], *to = &memif_pair.net.ends[1];

	end_fill(from, 5);
	end_post(to, IBV_WR_RDMA_READ, from, END_BYTES, 0);
	net_expect_ok(&memif_pair.net, to, IBV_WC_RDMA_READ);
	assert_memory_equal(from->buffer, to->buffer, END_BYTES);
}

/* READ responses refer to the memory unless atomic operations may change it. */
static void
test_shared(void **state)
{
	struct ibv_mr *mr;
	uint64_t before;

	memif_pair_open((const bool[2]){ true, true }, true);
	memif_pair_show();
	net_run_operations(&memif_pair.net);
	before = references_of(0);
	assert_true(before >= END_BYTES / 4096); /* a SEND, and those of a WRITE that did not wait for ARP */
	assert_int_equal(references_of(1), 0);	       /* its memory is not DPDK's: copied, but only once */
	assert_true(test_counter(memif_pair.net.ends[1].context, "zero_copy_packets") > 0);
	read_all();
	assert_int_equal(references_of(0), before);
	mr = memif_pair.net.ends[0].mr;
	assert_int_equal(uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ), 0);
	read_all();
	assert_true(references_of(0) >= before + END_BYTES / 4096);
	memif_pair_close();
}

/* Unless both ends have share_memory, and understand the messages, all payloads are copied. */
static void
test_not_shared(void **state)
{
	for (unsigned int i = 0; i < 4; i++) {
		memif_pair_open((const bool[2]){ (i & 1) != 0, (i & 2) != 0 }, i != 3);
		if (i == 1 || i == 2) {
			assert_int_equal(memif_pair_pass(i == 1), MEMIF_ASK);
			assert_false(memif_has_message(memif_pair.sockets[i != 1]));
		}
		net_run_operations(&memif_pair.net);
		assert_int_equal(references_of(0), 0);
		assert_int_equal(references_of(1), 0);
		for (unsigned int e = 0; e < 2; e++)
			assert_null(memif_pair.ports[e]->memif->windows.at[0].addr);
		memif_pair_close();
	}
}

static void *
flood(void *arg)
{
	static const uint16_t types[] = { MEMIF_ASK, MEMIF_SHOW };

	for (unsigned int i = 0; i < RTE_DIM(types); i++) {
		const struct memif_message m = { .type = types[i] };

		uroce_memif_obey(memif_pair.ports[0]->port_id, &m, -1);
	}
	return arg;
}

/* Messages that change nothing do not wait for the workers' turns. */
static void
test_flood(void **state)
{
	const struct memif_message ask = { .type = MEMIF_ASK };
	struct timespec soon;
	pthread_t thread;

	memif_pair_open((const bool[2]){ false, false }, true);
	uroce_memif_obey(memif_pair.ports[0]->port_id, &ask, -1);
	uroce_worker_enter(memif_pair.net.workers[0]);
	assert_int_equal(pthread_create(&thread, NULL, flood, NULL), 0);
	assert_int_equal(clock_gettime(CLOCK_REALTIME, &soon), 0);
	soon.tv_sec += 10;
	assert_int_equal(pthread_timedjoin_np(thread, NULL, &soon), 0);
	uroce_worker_exit(memif_pair.net.workers[0]);
	memif_pair_close();
}

/* The bytes of a slot. Its frame is held until the peer returns the slot. */
static void
test_held(void **state)
{
	struct memif_waiting w = memif_pair_open_unheard();
	struct end *a = &memif_pair.net.ends[0];
	struct uroce_memif_tx *tx = &memif_pair.ports[0]->memif->tx[0];
	const struct uroce_memif_window *window = &memif_pair.ports[1]->memif->windows.at[w.reference.window];

	assert_int_equal(w.bytes[14 + 20 + 8], 0x0a); /* RC WRITE only */
	assert_int_equal(w.reference.bytes, 4096);
	assert_memory_equal(window->addr + w.reference.at, a->buffer, 4096);
	assert_int_equal(tx->nb_held - tx->nb_freed, 1);
	test_poll(memif_pair.net.workers, 1, 3);
	assert_int_equal(uroce_mr_inflight((struct uroce_mr *)a->mr), 1);
	memif_pair_hear(&w);
	net_expect_ok(&memif_pair.net, a, IBV_WC_RDMA_WRITE);
	assert_int_equal(uroce_mr_inflight((struct uroce_mr *)a->mr), 0);
	assert_memory_equal(memif_pair.net.ends[1].buffer, a->buffer, 4096);
	memif_pair_close();
}

/* Memory that the peer no longer shows reads as zeros. */
static void
test_gone(void **state)
{
	struct memif_waiting w = memif_pair_open_unheard();
	const struct uroce_memif_window *window = &memif_pair.ports[1]->memif->windows.at[0];
	static const uint8_t zeros[4096];
	struct memif_message m = {
		.type = MEMIF_SHOW,
		.show = { .is_gone = 1, .window_bytes = window->bytes, .bytes = window->bytes },
	};

	uroce_memif_obey(memif_pair.ports[1]->port_id, &m, -1);
	memif_pair_hear(&w);
	assert_memory_equal(memif_pair.net.ends[1].buffer, zeros, sizeof(zeros));
	memif_pair_close();
}

enum nonsense { NO_WINDOW, UNUSED_WINDOW, BEYOND, ACROSS, TOO_LONG, NO_HEADERS, NO_REFERENCE, TOO_MANY, NONSENSES };

/* The device receives nothing more from the broken ring, and writes no byte. */
static void
check_nonsense(enum nonsense what)
{
	struct memif_waiting w = memif_pair_open_unheard();
	const struct uroce_memif_window *window = &memif_pair.ports[1]->memif->windows.at[0];
	struct end *b = &memif_pair.net.ends[1];

	memset(b->buffer, 1, 4096);
	switch (what) {
	case NO_WINDOW: w.reference.window = UROCE_MEMIF_WINDOWS; break;
	case UNUSED_WINDOW: w.reference.window = UROCE_MEMIF_WINDOWS - 1; break;
	case BEYOND: w.reference.at = UINT64_MAX; break;
	case ACROSS: w.reference.at = window->bytes - 4095; break;
	case TOO_LONG: w.reference.bytes = 4097; break;
	case NO_HEADERS: w.desc->length = sizeof(w.reference); break;
	case NO_REFERENCE: w.desc->length = sizeof(w.reference) - 1; break;
	default: w.desc->length = UROCE_MEMIF_COPY_BYTES + 1; break;
	}
	if (what != NO_REFERENCE)
		memif_pair_hear(&w);
	memif_pair_set_deaf(false);
	test_poll(memif_pair.net.workers, 1, 3);
	assert_true(memif_pair.ports[1]->memif->rx[0].ring.is_broken);
	for (unsigned int i = 0; i < 4096; i++)
		assert_int_equal(b->buffer[i], 1);
	memif_pair_close();
}

static void
test_nonsense(void **state)
{
	for (unsigned int i = 0; i < NONSENSES; i++)
		check_nonsense(i);
}

static unsigned int nb_seen;

static uint16_t
see_frames(uint16_t port_id, uint16_t queue, struct rte_mbuf **frames, uint16_t n, uint16_t most, void *arg)
{
	for (uint16_t i = 0; i < n; i++)
		assert_int_equal(frames[i]->ol_flags & UROCE_MBUF_NO_ICRC, 0);
	nb_seen += n;
	return n;
}

/* Receive callbacks, such as those of dpdk-dumpcap, see whole frames with ICRCs. */
static void
test_callback(void **state)
{
	const struct memif_waiting w = memif_pair_open_unheard();
	const struct rte_eth_rxtx_callback *callback =
		rte_eth_add_rx_callback(memif_pair.ports[1]->port_id, 0, see_frames, NULL);

	assert_non_null(callback);
	nb_seen = 0;
	memif_pair_hear(&w);
	assert_int_equal(nb_seen, 1);
	assert_memory_equal(memif_pair.net.ends[0].buffer, memif_pair.net.ends[1].buffer, 4096);
	assert_int_equal(rte_eth_remove_rx_callback(memif_pair.ports[1]->port_id, 0, callback), 0);
	memif_pair_close();
}

/* Messages that cannot be carried out are refused, and change nothing. */
static void
check_refused(struct memif_show show, int fd)
{
	const struct memif_message m = { .type = MEMIF_SHOW, .show = show };
	const struct uroce_memif *memif = memif_pair.ports[1]->memif;
	const uint32_t before = memif->nb_seen;

	uroce_memif_obey(memif_pair.ports[1]->port_id, &m, fd);
	assert_int_equal(memif->nb_seen, before);
	assert_int_equal(memif->rx[0].ring.ring->seen, before);
}

static void
test_refused(void **state)
{
	const struct memif_show good = { .window = 1, .window_bytes = 2 * PART, .at = PART, .bytes = PART };
	int memory = memfd_create("memory", 0), file = open("/proc/self/exe", O_RDONLY), pipes[2];
	struct memif_show bad;

	memif_pair_open((const bool[2]){ true, true }, true);
	memif_pair_show();
	assert_int_equal(ftruncate(memory, PART), 0);
	assert_int_equal(pipe(pipes), 0);
#define REFUSED(member, value) (bad = good, bad.member = (value), check_refused(bad, memory))
	REFUSED(window, UROCE_MEMIF_WINDOWS);
	REFUSED(window_bytes, UROCE_MEMIF_WINDOW_BYTES + 1);
	REFUSED(window_bytes, PART);
	REFUSED(bytes, 0);
	REFUSED(bytes, PART + 1);
	REFUSED(bytes, UINT64_MAX);
	REFUSED(at, UINT64_MAX - PART + 1);
	REFUSED(at, PART - 1);		/* no page begins there */
	REFUSED(file_at, 4096);		/* the file ends before */
	REFUSED(file_at, UINT64_MAX - PART + 1);
	REFUSED(window, 0);		/* it has another size */
#undef REFUSED
	check_refused(good, -1);
	check_refused(good, pipes[0]);
	check_refused(good, file);
	net_run_operations(&memif_pair.net);
	memif_pair_close();
	close(memory);
	close(file);
	close(pipes[0]);
	close(pipes[1]);
}

/* If the kernel refuses to map a part, it reads as zeros, although the kernel has unmapped it. */
static void
test_refused_by_kernel(void **state)
{
	const uint64_t page = 2 << 20;
	const int memory = memfd_create("memory", 0), huge = memfd_create("huge", MFD_HUGETLB);
	const struct memif_show good = { .window_bytes = page, .bytes = page };
	const struct memif_show bad = { .window_bytes = page, .bytes = page, .file_at = 4096 }; /* no hugepage begins there */
	const struct memif_reference reference = { .bytes = 1 };
	struct uroce_memif_windows windows = { 0 };

	if (huge < 0)
		skip(); /* a kernel without hugepages */
	assert_int_equal(ftruncate(memory, (off_t)page), 0);
	assert_int_equal(ftruncate(huge, (off_t)(2 * page)), 0);
	assert_int_equal(pwrite(memory, "m", 1, 0), 1);
	assert_int_equal(uroce_memif_window_set(&windows, &good, memory), 0);
	assert_int_equal(*uroce_memif_window_at(&windows, &reference), 'm');
	assert_int_equal(uroce_memif_window_set(&windows, &bad, huge), -EINVAL);
	assert_int_equal(*uroce_memif_window_at(&windows, &reference), 0);
	uroce_memif_windows_drop(&windows);
	close(memory);
	close(huge);
}

static void
leave_memory(void *bytes, void *arg)
{
}

/* A frame as the builder makes it, with its payload in DPDK's memory. */
static struct rte_mbuf *
make_frame(struct rte_mempool *pool, struct rte_mbuf_ext_shared_info *shared)
{
	struct rte_mbuf *m[3];

	for (unsigned int i = 0; i < 3; i++) {
		m[i] = rte_pktmbuf_alloc(pool);
		assert_non_null(m[i]);
	}
	rte_pktmbuf_attach_extbuf(m[1], memif_pair.net.ends[0].buffer, RTE_BAD_IOVA, 4096, shared);
	assert_non_null(rte_pktmbuf_append(m[0], 70));
	assert_non_null(rte_pktmbuf_append(m[1], 4096));
	assert_non_null(rte_pktmbuf_append(m[2], 4));
	memset(rte_pktmbuf_mtod(m[0], void *), 0, 70);
	assert_int_equal(rte_pktmbuf_chain(m[1], m[2]), 0);
	assert_int_equal(rte_pktmbuf_chain(m[0], m[1]), 0);
	m[0]->ol_flags |= UROCE_MBUF_NO_ICRC;
	return m[0];
}

/* A peer that reads no frames holds only so many, and only a part of a pool of n mbufs; further payloads are copied. */
static void
check_most_held(unsigned int n, unsigned int most)
{
	struct rte_mbuf_ext_shared_info shared = { .free_cb = leave_memory, .refcnt = (uint16_t)(most + 1) };
	struct uroce_memif *memif;
	uint64_t references = 0;
	struct rte_mempool *pool;

	memif_pair_open((const bool[2]){ true, true }, true);
	memif_pair_show();
	memif = memif_pair.ports[0]->memif;
	memif->tx[0].ring.is_started = true;
	pool = rte_pktmbuf_pool_create("held", n, 0, 64, 2048, SOCKET_ID_ANY);
	assert_non_null(pool);
	test_poll(memif_pair.net.workers, 1, 3);
	memif_pair_set_deaf(true);
	for (unsigned int i = 0; i < most + 1; i++) {
		struct rte_mbuf *m = make_frame(pool, &shared);

		assert_int_equal(uroce_memif_send(memif, 0, &m, 1, &references), 1);
	}
	assert_int_equal(references, most);
	assert_int_equal(rte_mbuf_ext_refcnt_read(&shared), most);
	uroce_memif_detach(memif_pair.ports[0]);
	assert_int_equal(rte_mempool_avail_count(pool), n);
	rte_mempool_free(pool);
	memif_pair_close();
}

static void
test_most_held(void **state)
{
	check_most_held(UROCE_MEMIF_HELD_PART * UROCE_MEMIF_HELD, UROCE_MEMIF_HELD);
	check_most_held(UROCE_MEMIF_HELD_PART * 10, 10);
}

UROCE_TESTS(port_memif_share)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared),	 cmocka_unit_test(test_not_shared), cmocka_unit_test(test_held),
		cmocka_unit_test(test_gone),	 cmocka_unit_test(test_nonsense),   cmocka_unit_test(test_callback),
		cmocka_unit_test(test_refused),	 cmocka_unit_test(test_most_held),  cmocka_unit_test(test_flood),
		cmocka_unit_test(test_refused_by_kernel),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
