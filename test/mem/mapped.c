/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * uroce_mapped_check: each kind of memory that a process has, each way in which a part can be missing, and a list of
 * mappings that is long, has long lines, or changes during the read.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "mem/mapped.h"

#define PAGE ((size_t)sysconf(_SC_PAGESIZE))

static int initialized = 1;
static int zeroed[5000];
static const char constant[] = "read-only data";

/* Check with both methods, which must agree. */
static int
check(const void *va, size_t length, bool write)
{
	const uint64_t first = (uintptr_t)va;
	const int rc = uroce_mapped_check(first, first + (length - 1), write);
	const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		assert_int_equal(uroce_mapped_scan(fd, first, first + (length - 1), write), rc);
		close(fd);
	}
	return rc;
}

static void
assert_writable(const void *va, size_t length)
{
	assert_int_equal(check(va, length, false), 0);
	assert_int_equal(check(va, length, true), 0);
}

static void
assert_read_only(const void *va, size_t length)
{
	assert_int_equal(check(va, length, false), 0);
	assert_int_equal(check(va, length, true), -EFAULT);
}

static void
assert_missing(const void *va, size_t length)
{
	assert_int_equal(check(va, length, false), -EFAULT);
	assert_int_equal(check(va, length, true), -EFAULT);
}

static char *
map_pages(size_t n)
{
	char *va = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(va, MAP_FAILED);
	return va;
}

static void
test_program(void **state)
{
	assert_writable(&initialized, sizeof(initialized));
	assert_writable(zeroed, sizeof(zeroed));
	assert_writable((char *)zeroed + 1, 1);
	assert_read_only(constant, sizeof(constant));
	assert_read_only((const void *)(uintptr_t)test_program, 16);
	assert_read_only((const void *)(uintptr_t)strlen, 16);
}

static void
test_stack(void **state)
{
	char large[200000];

	large[199999] = 0; /* all other pages are untouched */
	assert_writable(large, sizeof(large));
	assert_writable(&large[77], 1);
}

static void
test_heap(void **state)
{
	char *small = malloc(1);
	char *large = malloc(64 << 20);

	assert_non_null(small);
	assert_non_null(large);
	assert_writable(small, 1);
	assert_writable(large, 64 << 20);
	free(small);
	free(large);
}

static void
test_shared(void **state)
{
	const int fd = memfd_create("mapped", 0);
	const int id = shmget(IPC_PRIVATE, 3 * PAGE, 0600);
	char *va;

	assert_true(fd >= 0 && id >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(2 * PAGE)), 0);
	va = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_writable(va, 2 * PAGE);
	munmap(va, 2 * PAGE);
	va = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	assert_read_only(va, 2 * PAGE);
	munmap(va, 2 * PAGE);
	close(fd);
	va = shmat(id, NULL, 0);
	assert_writable(va, 3 * PAGE);
	shmdt(va);
	va = shmat(id, NULL, SHM_RDONLY);
	assert_read_only(va, 3 * PAGE);
	shmdt(va);
	shmctl(id, IPC_RMID, NULL);
}

static void
test_protection(void **state)
{
	char *va = map_pages(4);

	assert_writable(va, 4 * PAGE);
	mprotect(va, PAGE, PROT_READ);
	assert_read_only(va, PAGE);
	assert_read_only(va, 4 * PAGE);
	assert_read_only(va + PAGE - 1, 2);
	assert_writable(va + PAGE, 3 * PAGE);
	/* a read-only page in the middle, and one at the end */
	mprotect(va, 4 * PAGE, PROT_READ | PROT_WRITE);
	mprotect(va + PAGE, PAGE, PROT_READ);
	assert_read_only(va, 4 * PAGE);
	assert_writable(va + 2 * PAGE, 2 * PAGE);
	mprotect(va + 3 * PAGE, PAGE, PROT_READ);
	assert_read_only(va + 2 * PAGE, PAGE + 1);
	mprotect(va + 2 * PAGE, PAGE, PROT_NONE);
	assert_missing(va, 4 * PAGE);
	assert_missing(va + 2 * PAGE, 1);
	assert_missing(va + 3 * PAGE - 1, 2);
	assert_read_only(va, 2 * PAGE);
	/* memory that is only writable or only executable cannot be sent */
	mprotect(va, PAGE, PROT_EXEC);
	assert_int_equal(check(va, 1, true), -EFAULT);
	munmap(va, 4 * PAGE);
}

static void
test_holes(void **state)
{
	char *va = map_pages(5);

	/* pages 1 to 3 of 5, isolated */
	munmap(va, PAGE);
	munmap(va + 4 * PAGE, PAGE);
	assert_writable(va + PAGE, 3 * PAGE);
	assert_missing(va + PAGE - 1, 1);
	assert_missing(va + PAGE - 1, 2);
	assert_writable(va + 4 * PAGE - 1, 1);
	assert_missing(va + 4 * PAGE - 1, 2);
	assert_missing(va + PAGE, 3 * PAGE + 1);
	assert_missing(va, 5 * PAGE);
	munmap(va + 2 * PAGE, PAGE);
	assert_missing(va + PAGE, 3 * PAGE);
	assert_missing(va + 2 * PAGE, PAGE);
	assert_writable(va + PAGE, PAGE);
	assert_writable(va + 3 * PAGE, PAGE);
	munmap(va + PAGE, 3 * PAGE);
	assert_missing(va + PAGE, 3 * PAGE);
}

static void
test_ends_of_the_address_space(void **state)
{
	assert_missing(NULL, 1);
	assert_missing(NULL, PAGE);
	assert_missing((void *)1, SIZE_MAX);
	assert_missing((void *)(UINTPTR_MAX - 4095), 4096);
	assert_missing((void *)UINTPTR_MAX, 1);
	assert_missing((void *)(UINTPTR_MAX / 2), 1);
}

/* The range spans thousands of mappings, and so many buffers of the list. */
static void
test_many_mappings(void **state)
{
	const size_t n = 5001;
	char *va = map_pages(n);

	for (size_t i = 1; i < n; i += 2)
		mprotect(va + i * PAGE, PAGE, PROT_READ);
	assert_read_only(va, n * PAGE);
	for (size_t i = 0; i < n; i += 100)
		assert_int_equal(check(va + i * PAGE, PAGE, true), i % 2 == 0 ? 0 : -EFAULT);
	munmap(va + (n - 2) * PAGE, PAGE);
	assert_missing(va, n * PAGE);
	assert_read_only(va, (n - 2) * PAGE);
	munmap(va, n * PAGE);
}

/* Change into directories with long names, map a file there, and return. */
static char *
map_at_a_long_path(void)
{
	char name[201];
	char top[] = "/tmp/uroce-mapped-XXXXXX";
	const int start = open(".", O_RDONLY | O_DIRECTORY);
	char *va;
	int fd;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_non_null(mkdtemp(top));
	assert_int_equal(chdir(top), 0);
	for (unsigned int i = 0; i < 30; i++) {
		assert_int_equal(mkdir(name, 0700), 0);
		assert_int_equal(chdir(name), 0);
	}
	fd = open("f", O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)PAGE), 0);
	va = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(va, MAP_FAILED);
	close(fd);
	unlink("f");
	for (unsigned int i = 0; i < 30; i++) {
		assert_int_equal(chdir(".."), 0);
		rmdir(name);
	}
	assert_int_equal(fchdir(start), 0);
	close(start);
	rmdir(top);
	return va;
}

static void
test_long_lines(void **state)
{
	char *file = map_at_a_long_path();
	char *other = map_pages(1);

	assert_writable(file, PAGE);
	assert_writable(other, PAGE);
	assert_writable(zeroed, sizeof(zeroed));
	/* the stack is the last mapping */
	assert_writable(&file, sizeof(file));
	mprotect(file, PAGE, PROT_READ);
	assert_read_only(file, PAGE);
	munmap(file, PAGE);
	munmap(other, PAGE);
}

/* Lists that no kernel writes must not confuse the scan. */
static void
test_strange_lists(void **state)
{
	static const struct {
		const char *text;
		int rc;
	} rows[] = {
		{ "", -EFAULT },
		{ "1000-3000 rw-p 0 0:0 0\n", 0 },
		{ "1000-3000 rw-p 0 0:0 0", -EFAULT },
		{ "1000-2000 rw-p 0 0:0 0\n2000-3000 rw-p 0 0:0 0\n", 0 },
		{ "0-1000 ---p\n1000-2fff rw-p\n2fff-3000 rw-p\n", 0 },
		{ "1000-2000 rw-p\n1000-3000 rw-p\n", 0 },
		{ "1000-2000 rw-p\n2001-3000 rw-p\n", -EFAULT },
		{ "1000-2000 rw-p\n2000-3000 r--p\n", -EFAULT },
		{ "1001-3000 rw-p\n", -EFAULT },
		{ "1000-2fff rw-p\n4000-5000 rw-p\n", -EFAULT },
		{ "\n", -EIO },
		{ "mappings follow\n", -EIO },
		{ "1000 3000 rw-p\n", -EIO },
		{ "1000-3000\n", -EIO },
		{ "1000-3000 rw\n", -EIO },
		{ "1000-ffffffffffffffff rw-p\n", 0 },
	};

	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		const int fd = memfd_create("maps", 0);
		const ssize_t n = (ssize_t)strlen(rows[i].text);

		assert_int_equal(write(fd, rows[i].text, (size_t)n), n);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		if (uroce_mapped_scan(fd, 0x1000, 0x2fff, true) != rows[i].rc)
			fail_msg("row %u", i);
		close(fd);
	}
	assert_int_equal(uroce_mapped_scan(-1, 0x1000, 0x2fff, true), -EBADF);
}

static void
test_no_descriptors(void **state)
{
	struct rlimit old, none = { 0 };

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(check(zeroed, 1, false), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(check(zeroed, 1, false), 0);
}

struct neighbor {
	char *va; /* 8 pages around the constant ones: 0 to 3 before, 6 to 9 after */
	int stop; /* atomic */
};

static void *
change_neighbors(void *arg)
{
	static const int protections[] = { PROT_NONE, PROT_READ | PROT_WRITE, PROT_READ };
	struct neighbor *n = arg;

	for (unsigned int i = 0; __atomic_load_n(&n->stop, __ATOMIC_RELAXED) == 0; i++) {
		mprotect(n->va + (i % 4) * PAGE, PAGE, protections[i % 3]);
		mprotect(n->va + (6 + i % 4) * PAGE, PAGE, protections[(i + 1) % 3]);
	}
	return NULL;
}

/* Mappings around the range are split and merged all the time; the range itself does not change. */
static void
test_changes_around(void **state)
{
	struct neighbor n = { .va = map_pages(10) };
	char *before[100];
	pthread_t thread;

	/* mappings below it that fill several buffers */
	for (unsigned int i = 0; i < RTE_DIM(before); i++) {
		before[i] = map_pages(3);
		mprotect(before[i] + PAGE, PAGE, PROT_READ);
	}
	assert_int_equal(pthread_create(&thread, NULL, change_neighbors, &n), 0);
	for (unsigned int i = 0; i < 2000; i++)
		assert_int_equal(check(n.va + 4 * PAGE, 2 * PAGE, true), 0);
	__atomic_store_n(&n.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	for (unsigned int i = 0; i < RTE_DIM(before); i++)
		munmap(before[i], 3 * PAGE);
	munmap(n.va, 10 * PAGE);
}

UROCE_TESTS(mapped)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_heap),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_protection),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_ends_of_the_address_space),
		cmocka_unit_test(test_many_mappings),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_strange_lists),
		cmocka_unit_test(test_no_descriptors),
		cmocka_unit_test(test_changes_around),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
