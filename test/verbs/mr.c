/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * uroce_reg_mr and uroce_dereg_mr, as in ibv_reg_mr(3): all memory of a process, errors, rights, and a deregistration
 * that waits for frames in flight. For the look-up of keys, see test/mem/mr.c.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_common.h>
#include <rte_malloc.h>

#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "mem/mr.h"
#include "verbs/device/device.h"
#include "verbs/device/reclaim.h"
#include "eal.h"

#define PAGE ((size_t)sysconf(_SC_PAGESIZE))
#define WRITE                                                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)

static struct uroce_device dev;
static struct ibv_pd *pd;
static struct rte_mbuf *in_flight;
static unsigned int progress_calls;
static unsigned int free_after;
static unsigned int freed;
static unsigned int wakes;
static uint64_t now_ns = 1; /* the device's clock */
static uint64_t told_ns[4];
static unsigned int tellings;

static const struct uroce_mr_key *
look_up(const struct ibv_mr *mr, uint64_t addr, uint64_t length, unsigned int access)
{
	return uroce_mr_lookup(&dev.mrs, mr->rkey, pd, addr, length, access);
}

static void
assert_registers(const void *memory, size_t length, int access)
{
	void *va = (void *)(uintptr_t)memory;
	struct ibv_mr *mr = uroce_reg_mr(pd, va, length, access);
	const uint64_t addr = (uintptr_t)va;

	assert_non_null(mr);
	assert_ptr_equal(mr->context, &dev.vctx.context);
	assert_ptr_equal(mr->pd, pd);
	assert_ptr_equal(mr->addr, va);
	assert_int_equal(mr->length, length);
	assert_int_equal(mr->lkey, mr->rkey);
	assert_ptr_equal(uroce_mr_va(look_up(mr, addr, length, (unsigned int)access), addr), va);
	assert_null(look_up(mr, addr, length + 1, 0));
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

static void
assert_refused(const void *memory, size_t length, int access, int error)
{
	errno = 0;
	assert_null(uroce_reg_mr(pd, (void *)(uintptr_t)memory, length, access));
	assert_int_equal(errno, error);
}

/* All of the memory, one byte of it, and an unaligned part. */
static void
assert_any_part_registers(const void *memory, size_t length, int access)
{
	const char *va = memory;

	assert_registers(va, length, access);
	assert_registers(va, 1, access);
	assert_registers(va + length - 1, 1, access);
	assert_registers(va + 3, length - 5, access);
}

static void
assert_any_part_is_read_only(const void *memory, size_t length)
{
	assert_any_part_registers(memory, length, 0);
	assert_any_part_registers(memory, length, IBV_ACCESS_REMOTE_READ);
	assert_refused(memory, length, WRITE, EFAULT);
	assert_refused(memory, 1, IBV_ACCESS_LOCAL_WRITE, EFAULT);
}

static void
test_static_stack_and_heap(void **state)
{
	static char initialized[1000] = { 1 }, zeroed[100000];
	char stack[9999] = { 0 };
	char *heap = malloc(12345);
	char *dpdk = rte_malloc(NULL, 12345, 0);

	assert_any_part_registers(initialized, sizeof(initialized), WRITE);
	assert_any_part_registers(zeroed, sizeof(zeroed), WRITE);
	assert_any_part_registers(stack, sizeof(stack), WRITE);
	assert_any_part_registers(heap, 12345, WRITE);
	assert_any_part_registers(dpdk, 12345, WRITE);
	free(heap);
	rte_free(dpdk);
}

static void
test_text_and_read_only_data(void **state)
{
	static const char constant[200] = "read-only";

	assert_any_part_is_read_only((const void *)(uintptr_t)&test_static_stack_and_heap, 64);
	assert_any_part_is_read_only(constant, sizeof(constant));
	assert_any_part_is_read_only("another read-only literal", 28);
}

static void
test_mapped_and_shared(void **state)
{
	const int fd = memfd_create("reg_mr", 0);
	const int id = shmget(IPC_PRIVATE, 2 * PAGE, 0600);
	char *va;

	assert_int_equal(ftruncate(fd, (off_t)(2 * PAGE)), 0);
	va = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_any_part_registers(va, 2 * PAGE, WRITE);
	munmap(va, 2 * PAGE);
	va = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	assert_any_part_is_read_only(va, 2 * PAGE);
	munmap(va, 2 * PAGE);
	close(fd);
	va = shmat(id, NULL, 0);
	assert_any_part_registers(va, 2 * PAGE, WRITE);
	shmdt(va);
	shmctl(id, IPC_RMID, NULL);
	/* more than the machine's memory; no page is touched */
	va = mmap(NULL, 1ull << 42, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (va != MAP_FAILED) {
		assert_any_part_registers(va, 1ull << 42, WRITE);
		munmap(va, 1ull << 42);
	}
}

static void
test_not_there(void **state)
{
	char *va = mmap(NULL, 5 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(va + 2 * PAGE, PAGE);
	assert_refused(va, 5 * PAGE, 0, EFAULT);
	assert_refused(va + 2 * PAGE, PAGE, 0, EFAULT);
	assert_refused(va, 2 * PAGE + 1, 0, EFAULT);
	assert_any_part_registers(va, 2 * PAGE, WRITE);
	mprotect(va, PAGE, PROT_NONE);
	assert_refused(va, 2 * PAGE, 0, EFAULT);
	mprotect(va, PAGE, PROT_READ);
	assert_refused(va, 2 * PAGE, WRITE, EFAULT);
	assert_any_part_registers(va, 2 * PAGE, IBV_ACCESS_REMOTE_READ);
	munmap(va, 5 * PAGE);
	assert_refused(NULL, 1, 0, EFAULT);
	assert_refused(va, PAGE, 0, EFAULT);
}

static void
test_invalid(void **state)
{
	static char memory[100];

	assert_refused(memory, 0, 0, EINVAL);
	assert_refused(memory, SIZE_MAX, 0, EINVAL);
	assert_refused(memory, UROCE_MAX_MR_BYTES + 1, 0, EINVAL);
	assert_refused((void *)UINTPTR_MAX, 2, 0, EINVAL);
	/* R46 */
	assert_refused(memory, 100, IBV_ACCESS_REMOTE_WRITE, EINVAL);
	assert_refused(memory, 100, IBV_ACCESS_REMOTE_ATOMIC, EINVAL);
	assert_refused(memory, 100, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ, EINVAL);
	assert_refused(memory, 100, IBV_ACCESS_LOCAL_WRITE | 1 << 10, EINVAL);
	assert_refused(memory, 100, -1, EINVAL);
	assert_refused(memory, 100, IBV_ACCESS_ON_DEMAND, EOPNOTSUPP);
	assert_registers(memory, 100, IBV_ACCESS_LOCAL_WRITE);
}

static void
test_hints(void **state)
{
	static char memory[100];
	struct ibv_mr *mr = uroce_reg_mr(pd, memory, 100,
					 IBV_ACCESS_RELAXED_ORDERING | IBV_ACCESS_HUGETLB);

	assert_non_null(mr);
	assert_non_null(look_up(mr, (uintptr_t)memory, 100, 0));
	assert_null(look_up(mr, (uintptr_t)memory, 100, IBV_ACCESS_RELAXED_ORDERING));
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

static void
test_zero_based(void **state)
{
	static char memory[100];
	struct ibv_mr *mr = uroce_reg_mr(pd, memory, 100, IBV_ACCESS_ZERO_BASED | WRITE);

	assert_non_null(mr);
	assert_ptr_equal(mr->addr, memory);
	assert_ptr_equal(uroce_mr_va(look_up(mr, 0, 100, WRITE), 99), memory + 99);
	assert_null(look_up(mr, (uintptr_t)memory, 1, 0));
	assert_null(look_up(mr, 100, 1, 0));
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

static void
test_full(void **state)
{
	static char memory[100];
	struct ibv_mr *mrs[16];

	for (unsigned int i = 0; i < 16; i++) {
		mrs[i] = uroce_reg_mr(pd, memory, 100, WRITE);
		assert_non_null(mrs[i]);
		for (unsigned int j = 0; j < i; j++)
			assert_int_not_equal(mrs[i]->rkey, mrs[j]->rkey);
	}
	assert_refused(memory, 100, WRITE, ENOMEM);
	assert_int_equal(uroce_dereg_mr(mrs[3]), 0);
	mrs[3] = uroce_reg_mr(pd, memory, 100, WRITE);
	assert_non_null(mrs[3]);
	for (unsigned int i = 0; i < 16; i++)
		assert_int_equal(uroce_dereg_mr(mrs[i]), 0);
}

/* Each call advances the clock by half a second. */
static void
progress(struct uroce_device *of)
{
	assert_ptr_equal(of, &dev);
	now_ns += 500000000;
	progress_calls++;
	if (progress_calls == free_after)
		rte_pktmbuf_free(in_flight);
}

static void
clocks(struct uroce_device *of, uint64_t *device_ns, uint64_t *wall_ns)
{
	assert_ptr_equal(of, &dev);
	*device_ns = now_ns;
	*wall_ns = 0;
}

static void
mr_waits(struct uroce_device *of, const struct ibv_mr *mr, uint32_t frames, uint64_t ns)
{
	assert_ptr_equal(of, &dev);
	assert_int_equal(mr->length, 100);
	assert_int_equal(frames, 1);
	assert_true(tellings < RTE_DIM(told_ns));
	told_ns[tellings++] = ns;
}

struct sent {
	struct rte_mempool *pool;
	char *memory;
	struct ibv_mr *mr;
};

/* A region that a frame in flight references. */
static struct sent
sent_create(void)
{
	struct sent s = {
		.pool = rte_pktmbuf_pool_create(
			"reg_mr", 15, 0,
			RTE_ALIGN(sizeof(struct rte_mbuf_ext_shared_info), RTE_MBUF_PRIV_ALIGN), 256,
			SOCKET_ID_ANY),
		.memory = rte_malloc(NULL, 100, 0),
	};
	const uint64_t addr = (uintptr_t)s.memory;

	assert_non_null(s.pool);
	s.mr = uroce_reg_mr(pd, s.memory, 100, 0);
	in_flight = rte_pktmbuf_alloc(s.pool);
	assert_int_equal(uroce_mr_attach(look_up(s.mr, addr, 100, 0), addr, 100, false, in_flight), 0);
	progress_calls = 0;
	tellings = 0;
	freed = 0;
	return s;
}

static void
sent_destroy(const struct sent *s)
{
	assert_int_equal(rte_mempool_avail_count(s->pool), 15);
	assert_int_equal(dev.mrs.count, 0);
	rte_free(s->memory);
	rte_mempool_free(s->pool);
}

static void
test_deregistration_waits(void **state)
{
	struct sent s = sent_create();

	free_after = 10;
	assert_int_equal(uroce_dereg_mr(s.mr), 0);
	assert_int_equal(progress_calls, 10);
	assert_int_equal(tellings, 1);
	assert_int_equal(told_ns[0], UROCE_MR_WAIT_TELL_NS);
	sent_destroy(&s);
}

/* The port never frees the frame: the call times out, and the key is dead. The port keeps the memory until the frame
 * is freed after all. */
static void
test_deregistration_gives_up(void **state)
{
	struct sent s = sent_create();
	const uint64_t addr = (uintptr_t)s.memory;

	free_after = 0;
	assert_int_equal(uroce_dereg_mr(s.mr), ETIMEDOUT);
	assert_int_equal(tellings, 2);
	assert_int_equal(told_ns[0], UROCE_MR_WAIT_TELL_NS);
	assert_int_equal(told_ns[1], UROCE_MR_WAIT_MAX_NS);
	assert_null(look_up(s.mr, addr, 1, 0));
	assert_int_equal(uroce_dealloc_pd(pd), EBUSY);
	assert_int_equal(uroce_rereg_mr(s.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EINVAL);
	free_after = progress_calls + 2;
	assert_int_equal(uroce_dereg_mr(s.mr), 0);
	assert_int_equal(progress_calls, free_after);
	sent_destroy(&s);
}

static void
count_freed(void *arg)
{
	assert_ptr_equal(arg, &dev);
	freed++;
}

/* The call waits for nothing and polls no worker; the callback comes once, after the frame was freed. */
static void
test_deregistration_by_callback(void **state)
{
	struct sent s = sent_create();
	const uint64_t addr = (uintptr_t)s.memory;
	const struct ibv_mr mr = *s.mr;

	assert_int_equal(uroce_dereg_mr_async(s.mr, count_freed, &dev), 0);
	assert_null(look_up(&mr, addr, 1, 0));
	uroce_reclaim_run();
	assert_int_equal(freed, 0);
	assert_true(uroce_reclaim_is_any());
	assert_int_equal(uroce_dealloc_pd(pd), EBUSY);
	now_ns += UROCE_MR_WAIT_TELL_NS;
	uroce_reclaim_run();
	assert_int_equal(tellings, 1);
	rte_pktmbuf_free(in_flight);
	assert_int_equal(freed, 0);
	uroce_reclaim_run();
	assert_int_equal(freed, 1);
	uroce_reclaim_run();
	assert_int_equal(freed, 1);
	assert_false(uroce_reclaim_is_any());
	assert_int_equal(progress_calls, 0);
	sent_destroy(&s);
}

/* The callback also works after a timeout that left the memory with the port, and never comes before the call has
 * returned. */
static void
test_callback_after_giving_up(void **state)
{
	struct sent s = sent_create();

	free_after = 0;
	assert_int_equal(uroce_dereg_mr(s.mr), ETIMEDOUT);
	rte_pktmbuf_free(in_flight);
	wakes = 0;
	assert_int_equal(uroce_dereg_mr_async(s.mr, count_freed, &dev), 0);
	assert_int_equal(wakes, 1);
	assert_int_equal(freed, 0);
	uroce_reclaim_run();
	assert_int_equal(freed, 1);
	sent_destroy(&s);
}

static void
wake(struct uroce_device *device)
{
	assert_ptr_equal(device, &dev);
	wakes++;
}

static int
setup(void **state)
{
	static const struct uroce_worker_ops worker_ops = { .progress = progress, .wake = wake };
	static const struct uroce_port_ops port_ops = { .clocks = clocks, .mr_waits = mr_waits };
	static const struct uroce_device_ops ops = { .worker = &worker_ops, .port = &port_ops };
	const struct uroce_device_conf conf = {
		.name = "uroce0",
		.numa_node = -1,
		.log2_max_qp = 4,
		.log2_max_mr = 4,
	};

	test_eal_init(NULL);
	if (uroce_device_init(&dev, &ops, &conf) != 0)
		return -1;
	pd = uroce_alloc_pd(&dev.vctx.context);
	return pd == NULL;
}

static int
teardown(void **state)
{
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	return uroce_device_fini(&dev);
}

UROCE_TESTS(reg_mr)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_static_stack_and_heap),
		cmocka_unit_test(test_text_and_read_only_data),
		cmocka_unit_test(test_mapped_and_shared),
		cmocka_unit_test(test_not_there),
		cmocka_unit_test(test_invalid),
		cmocka_unit_test(test_hints),
		cmocka_unit_test(test_zero_based),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_deregistration_waits),
		cmocka_unit_test(test_deregistration_gives_up),
		cmocka_unit_test(test_deregistration_by_callback),
		cmocka_unit_test(test_callback_after_giving_up),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
