/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * XRC domains (ibv_open_xrcd(3)): which opens share a domain, the effect of flags and descriptors, and lifetimes.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "eal.h"
#include "fake.h"
#include "verbs/srq/xrc.h"

#define BOTH (IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS)

static char path[] = "/tmp/uroce_xrcd_XXXXXX";

static struct ibv_xrcd *
open_fd(int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = BOTH, .fd = fd, .oflags = oflags };

	errno = 0;
	return ibv_open_xrcd(fake.context, &attr);
}

static struct uroce_xrc_domain *
domain_of(struct ibv_xrcd *xrcd)
{
	assert_non_null(xrcd);
	return uroce_xrcd_of(xrcd)->domain;
}

static int
temporary(char *name)
{
	int fd;

	memcpy(name + strlen(name) - 6, "XXXXXX", 6);
	fd = mkstemp(name);
	assert_true(fd >= 0);
	return fd;
}

static void
test_without_inode(void **state)
{
	struct ibv_xrcd *a = open_fd(-1, O_CREAT), *b = open_fd(-1, O_CREAT | O_EXCL);

	assert_ptr_equal(a->context, fake.context);
	assert_ptr_not_equal(domain_of(a), domain_of(b));
	assert_int_equal(uroce_device_fini(&fake.dev), -EBUSY);
	assert_int_equal(ibv_close_xrcd(a), 0);
	assert_int_equal(uroce_device_fini(&fake.dev), -EBUSY);
	assert_int_equal(ibv_close_xrcd(b), 0);
}

static void
test_inode(void **state)
{
	int fd = temporary(path), again, other;
	char second[] = "/tmp/uroce_xrcd_XXXXXX";
	struct ibv_xrcd *a, *b, *c;

	assert_null(open_fd(fd, 0));
	assert_int_equal(errno, EAGAIN);
	a = open_fd(fd, O_CREAT | O_EXCL);
	/* the same file, by another descriptor */
	again = open(path, O_RDONLY);
	b = open_fd(again, 0);
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(domain_of(a), domain_of(b));
	assert_null(open_fd(again, O_CREAT | O_EXCL));
	assert_int_equal(errno, EINVAL);
	c = open_fd(again, O_CREAT);
	assert_ptr_equal(domain_of(a), domain_of(c));
	assert_int_equal(uroce_close_xrcd(c), 0);
	/* another file */
	other = temporary(second);
	c = open_fd(other, O_CREAT);
	assert_ptr_not_equal(domain_of(a), domain_of(c));
	assert_int_equal(uroce_close_xrcd(c), 0);
	/* the last close ends the domain, whichever open created it */
	assert_int_equal(uroce_close_xrcd(a), 0);
	a = open_fd(fd, 0);
	assert_ptr_equal(domain_of(a), domain_of(b));
	assert_int_equal(uroce_close_xrcd(a), 0);
	assert_int_equal(uroce_close_xrcd(b), 0);
	assert_null(open_fd(fd, 0));
	assert_int_equal(errno, EAGAIN);
	close(fd);
	close(again);
	close(other);
	unlink(path);
	unlink(second);
}

/* After a file is deleted, another file that reuses its inode number gets a domain of its own. */
static void
test_deleted_file(void **state)
{
	int fd = temporary(path);
	struct ibv_xrcd *a = open_fd(fd, O_CREAT), *b;

	close(fd);
	unlink(path);
	for (int i = 0; i < 20; i++) {
		fd = temporary(path);
		b = open_fd(fd, O_CREAT | O_EXCL);
		assert_ptr_not_equal(domain_of(a), domain_of(b));
		assert_int_equal(uroce_close_xrcd(b), 0);
		close(fd);
		unlink(path);
	}
	assert_int_equal(uroce_close_xrcd(a), 0);
}

static void
test_refused(void **state)
{
	static const struct {
		uint32_t comp_mask;
		int error;
	} masks[] = {
		{ 0, EINVAL },
		{ IBV_XRCD_INIT_ATTR_FD, EINVAL },
		{ IBV_XRCD_INIT_ATTR_OFLAGS, EINVAL },
		{ BOTH | IBV_XRCD_INIT_ATTR_RESERVED, EOPNOTSUPP },
	};

	for (size_t i = 0; i < RTE_DIM(masks); i++) {
		struct ibv_xrcd_init_attr attr = { .comp_mask = masks[i].comp_mask, .fd = -1,
						   .oflags = O_CREAT };

		assert_null(uroce_open_xrcd(fake.context, &attr));
		assert_int_equal(errno, masks[i].error);
	}
	assert_null(open_fd(-2, O_CREAT));
	assert_int_equal(errno, EBADF);
	fake.dev.xrcd_count = UROCE_MAX_XRCD;
	assert_null(open_fd(-1, O_CREAT));
	assert_int_equal(errno, ENOMEM);
	fake.dev.xrcd_count = 0;
}

UROCE_TESTS(xrcd)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_without_inode, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_inode, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_deleted_file, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_refused, fake_setup, fake_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
