/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Memory of a client: the switch accepts only memory that cannot shrink, and reads no byte beyond it.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "groups.h"
#include "port/memif/region.h"

#define BYTES 8192

static int
memory(int seals)
{
	int fd = memfd_create("test", MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void
test_bounds(void **state)
{
	struct memif_regions r = { 0 };
	int fd = memory(F_SEAL_SHRINK);
	void *at;

	assert_null(uroce_memif_region_at(&r, 0, 0, 0));
	assert_int_equal(uroce_memif_region_add(&r, fd, BYTES), 0);
	assert_int_equal(uroce_memif_region_add(&r, fd, 100), 0);
	assert_int_equal(ftruncate(fd, 0), -1);
	close(fd);
	assert_int_equal(r.count, 2);
	assert_ptr_equal(uroce_memif_region_at(&r, 0, 0, BYTES), r.at[0].addr);
	assert_ptr_equal(uroce_memif_region_at(&r, 0, BYTES - 1, 1), r.at[0].addr + BYTES - 1);
	assert_null(uroce_memif_region_at(&r, 0, 0, BYTES + 1));
	assert_null(uroce_memif_region_at(&r, 0, BYTES, 1));
	assert_null(uroce_memif_region_at(&r, 0, UINT32_MAX, 2)); /* their sum overflows to 1 */
	assert_null(uroce_memif_region_at(&r, 0, 2, UINT32_MAX));
	assert_null(uroce_memif_region_at(&r, 1, 90, 11));
	assert_null(uroce_memif_region_at(&r, 2, 0, 1));
	assert_null(uroce_memif_region_at(&r, UINT16_MAX, 0, 1));
	at = r.at[0].addr;
	assert_int_equal(msync(at, BYTES, MS_ASYNC), 0);
	uroce_memif_regions_drop(&r);
	assert_int_equal(r.count, 0);
	assert_null(uroce_memif_region_at(&r, 0, 0, 1));
	assert_int_equal(msync(at, BYTES, MS_ASYNC), -1); /* it is unmapped */
}

static void
test_refused(void **state)
{
	struct memif_regions r = { 0 };
	int fd = memory(F_SEAL_GROW), pipes[2], file;

	assert_int_equal(uroce_memif_region_add(&r, fd, BYTES), -EPERM);
	close(fd);
	fd = memory(F_SEAL_SHRINK);
	assert_int_equal(uroce_memif_region_add(&r, fd, BYTES + 1), -EINVAL);
	assert_int_equal(uroce_memif_region_add(&r, fd, UINT64_MAX), -EINVAL);
	assert_int_equal(uroce_memif_region_add(&r, fd, 0), -EINVAL);
	assert_int_equal(uroce_memif_region_add(&r, -1, BYTES), -EPERM);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(uroce_memif_region_add(&r, pipes[0], BYTES), -EPERM);
	close(pipes[0]);
	close(pipes[1]);
	file = memory(F_SEAL_SHRINK | F_SEAL_WRITE); /* the rings must be writable */
	assert_int_equal(uroce_memif_region_add(&r, file, BYTES), -EPERM);
	assert_int_equal(r.count, 0);
	close(file);
	file = open("/proc/self/exe", O_RDONLY);
	assert_int_equal(uroce_memif_region_add(&r, file, 100), -EPERM);
	close(file);
	assert_int_equal(ftruncate(fd, (off_t)UROCE_MEMIF_REGION_BYTES + 1), 0); /* a file may grow */
	assert_int_equal(uroce_memif_region_add(&r, fd, UROCE_MEMIF_REGION_BYTES + 1), -ENOSPC);
	assert_int_equal(uroce_memif_region_add(&r, fd, UROCE_MEMIF_REGION_BYTES), 0);
	for (unsigned int i = 1; i < UROCE_MEMIF_REGIONS; i++)
		assert_int_equal(uroce_memif_region_add(&r, fd, BYTES), 0);
	assert_int_equal(uroce_memif_region_add(&r, fd, BYTES), -ENOSPC);
	uroce_memif_regions_drop(&r);
	close(fd);
}

/* Hugepages are refused: a page may be missing when it is accessed. */
static void
test_hugepages(void **state)
{
	struct memif_regions r = { 0 };
	int fd = memfd_create("test", MFD_ALLOW_SEALING | MFD_HUGETLB);

	if (fd < 0 || ftruncate(fd, 1 << 30) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
		skip();
	assert_int_equal(uroce_memif_region_add(&r, fd, 1 << 30), -EPERM);
	close(fd);
}

UROCE_TESTS(port_memif_region)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_hugepages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
