/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the wait until all sent messages have arrived, with fake ping replies and a fake server thread.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "eal.h"
#include "measure/ping.h"
#include "measure/run.h"

#define QPS 3
#define DEVS 2
#define QUESTIONS 3 /* number of questions until the peer is settled */

static struct perf_qp qps[QPS];
static struct app_host host;
static struct perf_peer peer;
static struct perf_run run;
static struct uroce_worker *const worker_0 = (struct uroce_worker *)&host; /* never dereferenced */
static uint64_t rounds;

static struct {
	unsigned int pings, polls;
	const char *addresses[DEVS];
	unsigned int fails; /* number of the ping that fails */
	uint64_t rounds;    /* rounds of the server's thread */
} did;

int
uroce_ping(struct ibv_context *context, const char *address, unsigned int timeout_ms)
{
	unsigned int dev = did.pings++ % DEVS;

	assert_ptr_equal(context, host.devs[dev].ctx);
	assert_string_equal(address, did.addresses[dev]);
	assert_int_equal(timeout_ms, UROCE_PERF_LOST_MS);
	return did.pings == did.fails ? ETIMEDOUT : 0;
}

unsigned int
uroce_worker_poll(struct uroce_worker *worker)
{
	assert_ptr_equal(worker, worker_0);
	did.polls++;
	rounds += did.rounds;
	return 0;
}

/* Not called: the server has its own thread, or is in another process. */
unsigned int
uroce_perf_server_round(struct perf_server *server)
{
	fail();
	return 0;
}

static int
setup(void **state)
{
	static const uint8_t v4[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 }, v6[16] = { 0xfd, [15] = 2 };

	memset(&did, 0, sizeof(did));
	did.addresses[0] = "10.0.0.1";
	did.addresses[1] = "fd00::2";
	memcpy(qps[0].remote.gid.raw, v4, sizeof(v4));
	memcpy(qps[1].remote.gid.raw, v6, sizeof(v6));
	host.nb_devs = DEVS;
	for (unsigned int i = 0; i < DEVS; i++)
		host.devs[i].ctx = (struct ibv_context *)&host.devs[i]; /* never dereferenced */
	run.rounds = NULL;
	run.peer = &peer;
	run.end.worker = worker_0;
	run.end.host = &host;
	run.end.qps = qps;
	run.end.nb_qps = QPS;
	return 0;
}

/* Each device pings the peer of its first queue pair, until one ping fails. */
static void
test_ping(void **state)
{
	assert_int_equal(uroce_perf_ping(&run.end, UROCE_PERF_LOST_MS), 0);
	assert_int_equal(did.pings, DEVS);
	run.end.nb_qps = 1;
	did.pings = 0;
	assert_int_equal(uroce_perf_ping(&run.end, UROCE_PERF_LOST_MS), 0);
	assert_int_equal(did.pings, 1);
	run.end.nb_qps = QPS;
	did.pings = 0;
	did.fails = 1;
	assert_int_equal(uroce_perf_ping(&run.end, UROCE_PERF_LOST_MS), ETIMEDOUT);
	assert_int_equal(did.pings, 1);
}

/* A peer in another process: its replies say whether it has settled. */
static void
test_settled(void **state)
{
	assert_true(uroce_perf_is_settled(&run));
	assert_int_equal(did.pings, QUESTIONS * DEVS);
	assert_int_equal(did.polls, QUESTIONS);
}

/* A server on another lcore: two rounds of its thread after each reply, as the scheduler may have stopped this thread. */
static void
test_rounds(void **state)
{
	bool settled = false;

	for (unsigned int i = 0; i < 100 && !settled; i++) {
		setup(state);
		run.rounds = &rounds;
		did.rounds = 1;
		settled = uroce_perf_is_settled(&run);
	}
	assert_true(settled);
	assert_int_equal(did.polls, QUESTIONS * (2 + 1));
}

static void
test_no_answer(void **state)
{
	did.fails = 2 * DEVS;
	assert_false(uroce_perf_is_settled(&run));
	assert_int_equal(did.pings, 2 * DEVS);
}

/* The scheduler does not run the server's thread. */
static void
test_no_round(void **state)
{
	run.rounds = &rounds;
	assert_false(uroce_perf_is_settled(&run));
	assert_int_equal(did.pings, DEVS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_ping, setup),      cmocka_unit_test_setup(test_settled, setup),
		cmocka_unit_test_setup(test_rounds, setup),    cmocka_unit_test_setup(test_no_answer, setup),
		cmocka_unit_test_setup(test_no_round, setup),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
