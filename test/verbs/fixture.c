/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The fake device with the objects that most tests of verbs need.
 */

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "uroce.h"
#include "fixture.h"

struct fake_pair pair;
struct uroce_qp *qp;
struct ibv_xrcd *xrcd;

int
pair_setup(void **state)
{
	fake_setup(state);
	pair = fake_pair_create(16);
	return 0;
}

int
pair_teardown(void **state)
{
	fake_pair_destroy(&pair);
	return fake_teardown(state);
}

int
qp_setup(void **state)
{
	pair_setup(state);
	qp = uroce_qp_of(fake_qp_create(&pair));
	return 0;
}

int
qp_teardown(void **state)
{
	assert_int_equal(uroce_destroy_qp(&qp->ibv), 0);
	return pair_teardown(state);
}

struct ibv_xrcd *
open_xrcd(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT,
	};
	struct ibv_xrcd *opened = uroce_open_xrcd(fake.context, &attr);

	assert_non_null(opened);
	return opened;
}

int
xrcd_setup(void **state)
{
	pair_setup(state);
	xrcd = open_xrcd();
	return 0;
}

int
xrcd_teardown(void **state)
{
	assert_int_equal(uroce_close_xrcd(xrcd), 0);
	return pair_teardown(state);
}
