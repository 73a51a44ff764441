/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * share_memory while DPDK maps and unmaps hugepages: the peer sees what DPDK has, and nothing that it had. The argument
 * says how DPDK keeps its pages: "memfd", "single" (a file for all), or "files" of hugetlbfs. Without hugepages the
 * program names the reason and exits with 77.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include "memif_messages.h"
#include "port/memif/show.h"
#include "port/memif/window.h"

#define SKIP  77
#define MB    (1024ul * 1024)
#define PAGE  (2 * MB)
#define BLOCK (6 * MB) /* of the heap: freeing it frees at least two whole pages */
#define MANY  (40 * MB)
#define PAGES_NEEDED 32

/* This process's memory, as a peer sees it. */
static struct uroce_memif_show shown;
static struct uroce_memif_windows windows;
static uint32_t seen;
static int sockets[2];

static void
obey(void)
{
	struct memif_message m;
	int fd;

	memif_receive(sockets[1], &m, &fd);
	if (m.type == MEMIF_ASK)
		return;
	assert_int_equal(m.type, MEMIF_SHOW);
	assert_int_equal(m.show.is_gone != 0, fd < 0);
	assert_int_equal(uroce_memif_window_set(&windows, &m.show, fd), 0);
	if (fd >= 0)
		close(fd);
	seen++;
}

/* Let the peer catch up. */
static void
catch_up(void)
{
	while (!uroce_memif_is_shown(&shown, &seen))
		if (memif_has_message(sockets[1]))
			obey();
}

/* @return where the peer sees the block */
static const uint8_t *
view_of(const uint8_t *block, size_t bytes)
{
	struct memif_reference r = { 0 };

	assert_true(uroce_memif_refer(&shown, block, (uint32_t)bytes, &r));
	return uroce_memif_window_at(&windows, &r);
}

static uint8_t *
allocate(size_t bytes, uint8_t seed)
{
	uint8_t *block = rte_malloc(NULL, bytes, 0);

	assert_non_null(block);
	for (size_t i = 0; i < bytes; i++)
		block[i] = (uint8_t)(i * 7 + seed);
	return block;
}

static void
check(const uint8_t *block, size_t bytes)
{
	catch_up();
	assert_memory_equal(view_of(block, bytes), block, bytes);
}

/* @return the first whole page of a block */
static uint8_t *
page_of(uint8_t *block)
{
	return RTE_PTR_ALIGN_CEIL(block, PAGE);
}

static void
test_pages(void **state)
{
	static const uint8_t zeros[PAGE];
	uint8_t *block = allocate(BLOCK, 1), *page = page_of(block), *stays = allocate(64, 2);
	const uint8_t *view;

	assert_false(uroce_memif_is_shown(&shown, &seen));
	check(block, BLOCK);
	check(stays, 64);
	view = view_of(page, PAGE);
	rte_free(block);
	assert_false(uroce_memif_is_shown(&shown, &seen));
	catch_up();
	assert_memory_equal(view, zeros, PAGE);
	check(stays, 64);
	block = allocate(BLOCK, 3);
	check(block, BLOCK);
	rte_free(block);
	rte_free(stays);
}

/* Between two messages DPDK unmaps pages and maps others at the same addresses. */
static void
test_other_pages(void **state)
{
	uint8_t *block = allocate(BLOCK, 1), *page = page_of(block);

	check(block, BLOCK);
	for (uint8_t i = 0; i < 10; i++) {
		rte_free(block);
		block = allocate(BLOCK, i);
		assert_ptr_equal(page_of(block), page);
		check(block, BLOCK);
	}
	rte_free(block);
}

/* The peer does not read its messages for a while: the rest follows once it does. */
static void
test_full_socket(void **state)
{
	const int few = 1;
	uint8_t *block;

	catch_up();
	assert_int_equal(setsockopt(sockets[0], SOL_SOCKET, SO_SNDBUF, &few, sizeof(few)), 0);
	block = allocate(MANY, 4);
	usleep(3 * UROCE_MEMIF_SHOW_US);
	check(block, MANY);
	rte_free(block);
	usleep(3 * UROCE_MEMIF_SHOW_US);
	catch_up();
}

static int
begin(void **state)
{
	memif_sockets(sockets);
	uroce_memif_show_begin(&shown, sockets[0]);
	uroce_memif_show_want(&shown, true);
	uroce_memif_show_asked(&shown);
	catch_up();
	return 0;
}

static int
end(void **state)
{
	uroce_memif_show_end(&shown);
	uroce_memif_windows_drop(&windows);
	close(sockets[0]);
	close(sockets[1]);
	return 0;
}

static unsigned int
free_pages(void)
{
	FILE *f = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r");
	unsigned int n = 0;

	if (f == NULL || fscanf(f, "%u", &n) != 1)
		n = 0;
	if (f != NULL)
		fclose(f);
	return n;
}

static void
init_eal(const char *kind)
{
	char *argv[] = { (char *)(uintptr_t)"pages", (char *)(uintptr_t)"--no-pci", (char *)(uintptr_t)"--no-telemetry",
			 (char *)(uintptr_t)"--log-level=lib.eal:error", (char *)(uintptr_t)"--file-prefix=uroce_pages",
			 (char *)(uintptr_t)"--in-memory", (char *)(uintptr_t)"--single-file-segments" };
	int argc = strcmp(kind, "files") == 0 ? 5 : strcmp(kind, "memfd") == 0 ? 6 : 7;

	if (free_pages() < PAGES_NEEDED) {
		printf("skipped: %u of %u hugepages of 2 MiB are free\n", free_pages(), PAGES_NEEDED);
		exit(SKIP);
	}
	if (rte_eal_init(argc, argv) < 0) {
		printf("skipped: EAL cannot start: %s\n", rte_strerror(rte_errno));
		exit(SKIP);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_other_pages),
		cmocka_unit_test(test_full_socket),
	};
	int rc;

	init_eal(argc > 1 ? argv[1] : "memfd");
	rc = cmocka_run_group_tests(tests, begin, end);
	rte_eal_cleanup();
	return rc;
}
