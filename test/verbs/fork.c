/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A fork needs no preparation: while a child shares a page copy-on-write, a WRITE into the parent's region reaches the
 * parent.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "groups.h"
#include "uroce.h"
#include "eal.h"
#include "fake.h"

static void
test_unneeded(void **state)
{
	assert_int_equal(uroce_is_fork_initialized(), IBV_FORK_UNNEEDED);
	assert_int_equal(uroce_fork_init(), 0);
	assert_int_equal(uroce_is_fork_initialized(), IBV_FORK_UNNEEDED);
}

static void
test_a_child_takes_nothing_away(void **state)
{
	struct fake_pair pair = fake_pair_create(4);
	uint8_t *page = aligned_alloc(4096, 4096);
	const struct uroce_mr_key *key;
	struct ibv_mr *mr;
	int go[2], status;
	pid_t child;
	char c;

	mr = uroce_reg_mr(pair.pd, page, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(mr);
	page[7] = 1;
	assert_int_equal(pipe(go), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(go[1]);
		/* wait until the parent has written */
		_exit(read(go[0], &c, 1) == 0 && page[7] == 1 ? 0 : 1);
	}
	close(go[0]);
	/* look up the address as the responder does for a WRITE */
	key = uroce_mr_lookup(&fake.dev.mrs, mr->rkey, pair.pd, (uintptr_t)page + 7, 1, IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(key);
	*uroce_mr_va(key, (uintptr_t)page + 7) = 2;
	assert_int_equal(page[7], 2);
	close(go[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	free(page);
	fake_pair_destroy(&pair);
}

UROCE_TESTS(fork)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unneeded),
		cmocka_unit_test_setup_teardown(test_a_child_takes_nothing_away, fake_setup, fake_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
