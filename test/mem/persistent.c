/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Which mappings are persistent memory, from lists in the kernel's format.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "groups.h"
#include "mem/persistent.h"

static const char list[] =
	"1000-3000 rw-s 00000000 103:02 133 /mnt/dax/file sf\n"
	"Size:                  8 kB\n"
	"VmFlags: rd wr sh mr mw me ms sf hg \n"
	"3000-4000 rw-s 00002000 103:02 133 /mnt/dax/file\n"
	"VmFlags: rd wr sh mr mw me ms sf \n"
	"5000-6000 rw-p 00000000 00:00 0 [heap] sf\n"
	"Size:                  4 kB\n"
	"VmFlags: rd wr mr mw me ac \n"
	"6000-7000 rw-s 00000000 103:02 134 /mnt/dax/other\n"
	"VmFlags: rd wr sh sf\n";

static int
scan(const char *text, uint64_t first, uint64_t last)
{
	int fd = memfd_create("smaps", 0);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return uroce_persistent_scan(fd, first, last);
}

static void
lists(void **state)
{
	(void)state;
	assert_int_equal(scan(list, 0x1000, 0x1000), 0);
	assert_int_equal(scan(list, 0x2fff, 0x2fff), 0);
	/* across two mappings */
	assert_int_equal(scan(list, 0x1000, 0x3fff), 0);
	assert_int_equal(scan(list, 0x6000, 0x6fff), 0);
	/* a gap before, inside or behind; mapped without MAP_SYNC */
	assert_int_equal(scan(list, 0xfff, 0x1000), -EINVAL);
	assert_int_equal(scan(list, 0x3000, 0x4000), -EINVAL);
	assert_int_equal(scan(list, 0x4fff, 0x4fff), -EINVAL);
	assert_int_equal(scan(list, 0x5000, 0x5fff), -EINVAL);
	assert_int_equal(scan(list, 0x5fff, 0x6000), -EINVAL);
	assert_int_equal(scan(list, 0x6000, 0x7000), -EINVAL);
	assert_int_equal(scan("", 0x1000, 0x1000), -EINVAL);
	assert_int_equal(scan("1000-2000 rw-p 0 0:0 0\n", 0x1000, 0x1000), -EINVAL);
}

static void
ordinary_memory_is_not(void **state)
{
	static uint8_t memory[300];

	(void)state;
	assert_int_equal(uroce_persistent_check((uintptr_t)memory, (uintptr_t)memory + 299), -EINVAL);
	/* writing the memory back does not change it */
	memset(memory, 0xa5, sizeof(memory));
	uroce_persist(memory + 1, 200);
	uroce_persist(memory, 0);
	for (unsigned int i = 0; i < sizeof(memory); i++)
		assert_int_equal(memory[i], 0xa5);
}

UROCE_TESTS(persistent)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(ordinary_memory_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
