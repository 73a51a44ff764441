/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The calls that rdma-core added after release 44, on a port of net_null: names of opcodes, regions of all kinds,
 * buffers, the speed of a port. The other calls fail.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <infiniband/verbs.h>

#include "process.h"
#include "verbs_symbols.h"

#define EAL PROCESS_EAL " --vdev=net_null0"

static void
test_opcode_names(void **state)
{
	assert_string_equal(ibv_wr_opcode_str(IBV_WR_SEND), "send");
	assert_string_equal(ibv_wr_opcode_str(IBV_WR_ATOMIC_WRITE), "atomic-write");
	assert_string_equal(ibv_wr_opcode_str((enum ibv_wr_opcode)12), "unknown");	/* between two opcodes */
	assert_string_equal(ibv_wr_opcode_str((enum ibv_wr_opcode)16), "unknown");
	assert_string_equal(ibv_wr_opcode_str((enum ibv_wr_opcode)-1), "unknown");
}

#if UROCE_RDMA_CORE >= 59
static char said[PROCESS_TEXT_BYTES];

static struct ibv_context *
open_first(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list != NULL && list[0] != NULL ? ibv_open_device(list[0]) : NULL;

	ibv_free_device_list(list);
	return context;
}

/* Is this registration refused with this error? */
static bool
refuses(struct ibv_pd *pd, struct ibv_mr_init_attr attr, int error)
{
	errno = 0;
	return ibv_reg_mr_ex(pd, &attr) == NULL && errno == error;
}

static int
registered(void)
{
	static char memory[64];
	const uint64_t file = IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET | IBV_REG_MR_MASK_IOVA;
	struct ibv_mr_init_attr attr = { .length = sizeof(memory), .addr = memory, .iova = 4096, .fd = -1,
		.access = IBV_ACCESS_LOCAL_WRITE, .comp_mask = IBV_REG_MR_MASK_ADDR };
	struct ibv_pd *pd = ibv_alloc_pd(open_first());
	struct ibv_mr *mr;

	CHECK(pd != NULL);
	CHECK((mr = ibv_reg_mr_ex(pd, &attr)) != NULL && mr->addr == memory && mr->length == sizeof(memory));
	CHECK(ibv_dereg_mr(mr) == 0);
	attr.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_IOVA;
	CHECK((mr = ibv_reg_mr_ex(pd, &attr)) != NULL && ibv_dereg_mr(mr) == 0);
	attr.comp_mask = IBV_REG_MR_MASK_IOVA;
	CHECK(refuses(pd, attr, EINVAL));
	attr.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_FD_OFFSET;
	CHECK(refuses(pd, attr, EINVAL));
	attr.comp_mask = IBV_REG_MR_MASK_FD;
	CHECK(refuses(pd, attr, EINVAL));
	attr.comp_mask = file | IBV_REG_MR_MASK_ADDR;
	CHECK(refuses(pd, attr, EINVAL));
	attr.comp_mask = file;		/* as ibv_reg_dmabuf_mr() */
	errno = 0;
	CHECK(ibv_reg_dmabuf_mr(pd, 0, sizeof(memory), 4096, -1, attr.access) == NULL && errno != 0);
	CHECK(refuses(pd, attr, errno));
	attr.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_DMAH;
	CHECK(refuses(pd, attr, EOPNOTSUPP));
	attr.comp_mask = IBV_REG_MR_MASK_ADDR | 1ull << 63;
	CHECK(refuses(pd, attr, EOPNOTSUPP));
	errno = 0;
	CHECK(ibv_alloc_dmah(pd->context, NULL) == NULL && errno == EOPNOTSUPP);
	CHECK(ibv_dealloc_dmah(NULL) == EOPNOTSUPP);
	return 0;
}

static void
test_regions(void **state)
{
	process_run(EAL, NULL, registered, said);
}
#endif

#if UROCE_RDMA_CORE >= 62
/* net_null's link is 10 Gb/s. */
static int
sped(void)
{
	struct ibv_context *context = open_first();
	uint64_t speed = 0;

	CHECK(context != NULL);
	CHECK(ibv_query_port_speed(context, 1, &speed) == 0 && speed == 100);
	CHECK(ibv_query_port_speed(context, 2, &speed) == EINVAL);
	errno = 0;
	CHECK(ibv_dm_export_dmabuf_fd(NULL) == -1 && errno == EOPNOTSUPP);
	return 0;
}

static void
test_speed(void **state)
{
	process_run(EAL, NULL, sped, said);
}
#endif

#if UROCE_RDMA_CORE >= 64
const char *__asan_default_options(void);

/* Without this option, AddressSanitizer ends a program that asks for too much memory. */
const char *
__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static int
buffered(void)
{
	struct ibv_context *context = open_first();
	struct ibv_pd *pd = ibv_alloc_pd(context), *other = ibv_alloc_pd(context);
	struct ibv_mr_init_attr attr = { .length = 16, .access = IBV_ACCESS_LOCAL_WRITE };
	struct ibv_buf *buf = NULL;
	struct ibv_mr *mr;
	char *memory;

	CHECK(pd != NULL && other != NULL);
	CHECK((memory = ibv_alloc_buf(pd, 10000, &buf)) != NULL && buf != NULL);
	CHECK((uintptr_t)memory % (uintptr_t)sysconf(_SC_PAGESIZE) == 0);
	memset(memory, 1, 10000);
	CHECK((mr = ibv_reg_buf_mr(pd, buf, memory + 9000, 1000, IBV_ACCESS_LOCAL_WRITE)) != NULL);
	CHECK(mr->addr == memory + 9000 && mr->length == 1000 && ibv_dereg_mr(mr) == 0);
	errno = 0;
	CHECK(ibv_reg_buf_mr(other, buf, memory, 16, 0) == NULL && errno == EINVAL);
	CHECK(ibv_reg_buf_mr(pd, buf, memory - 1, 16, 0) == NULL && errno == EINVAL);
	CHECK(ibv_reg_buf_mr(pd, buf, memory + 9985, 16, 0) == NULL && errno == EINVAL);
	attr.buf = buf;
	attr.addr = memory;
	attr.comp_mask = IBV_REG_MR_MASK_BUF;
	CHECK(refuses(pd, attr, EINVAL));
	attr.comp_mask = IBV_REG_MR_MASK_BUF | IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_FD;
	CHECK(refuses(pd, attr, EINVAL));
	errno = 0;
	CHECK(ibv_alloc_buf(pd, SIZE_MAX / 2, &buf) == NULL && errno == ENOMEM);
#if UROCE_RDMA_CORE >= 65
	errno = 0;
	CHECK(ibv_export_buf_dmabuf_fd(buf) == -1 && errno == ENODATA);
#endif
	ibv_free_buf(buf);
	return 0;
}

static void
test_buffers(void **state)
{
	process_run(EAL, NULL, buffered, said);
}
#endif

#if UROCE_RDMA_CORE >= 65
static void
test_counters(void **state)
{
	struct ibv_comp_cntr_caps caps;
	uint64_t value;

	errno = 0;
	assert_null(ibv_create_comp_cntr(NULL, NULL));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_query_comp_cntr_caps(NULL, &caps), EOPNOTSUPP);
	assert_int_equal(ibv_destroy_comp_cntr(NULL), EOPNOTSUPP);
	assert_int_equal(ibv_set_comp_cntr(NULL, 0), EOPNOTSUPP);
	assert_int_equal(ibv_set_err_comp_cntr(NULL, 0), EOPNOTSUPP);
	assert_int_equal(ibv_inc_comp_cntr(NULL, 1), EOPNOTSUPP);
	assert_int_equal(ibv_inc_err_comp_cntr(NULL, 1), EOPNOTSUPP);
	assert_int_equal(ibv_read_comp_cntr(NULL, &value), EOPNOTSUPP);
	assert_int_equal(ibv_read_err_comp_cntr(NULL, &value), EOPNOTSUPP);
	assert_int_equal(ibv_qp_attach_comp_cntr(NULL, NULL, NULL), EOPNOTSUPP);
}
#endif

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opcode_names),
#if UROCE_RDMA_CORE >= 59
		cmocka_unit_test(test_regions),
#endif
#if UROCE_RDMA_CORE >= 62
		cmocka_unit_test(test_speed),
#endif
#if UROCE_RDMA_CORE >= 64
		cmocka_unit_test(test_buffers),
#endif
#if UROCE_RDMA_CORE >= 65
		cmocka_unit_test(test_counters),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
