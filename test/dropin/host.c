/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Starting EAL and ports from the environment, or using the program's EAL: wrong settings with their messages, effects on
 * the application's threads, and children.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <infiniband/verbs.h>
#include <rte_common.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_version.h>

#include "progress/cpu_load.h"
#include "host.h"
#include "base/clock.h"
#include "process.h"
#include "progress/progress.h"
#include "tasks.h"
#include "ucma/ucma.h"
#include "uroce.h"
#include "uroce_config.h"

#define ONE PROCESS_EAL " --vdev=net_null0"
#define TWO PROCESS_EAL "\t--vdev=net_null0\n--vdev=net_null1 "
#define THREAD "uroce-progress"
/* Since 25.11, rte_eal_init() calls exit() instead of returning an error if it does not know an argument. */
#define EAL_EXITS (RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0))

static char said[PROCESS_TEXT_BYTES];

/* There are no devices, and the reason is printed once. */
static int
none(void)
{
	struct ibv_context *const *contexts;

	CHECK(uroce_host_devices(&contexts) == 0);
	fputs("<once>", stderr);
	CHECK(uroce_host_devices(&contexts) == 0);
	return 0;
}

static void
assert_none(const char *eal_args, const char *addresses, const char *why)
{
	process_run(eal_args, addresses, none, said);
	if (strstr(said, why) == NULL || strcmp(strstr(said, "<once>"), "<once>") != 0)
		fail_msg("not \"%s\": %s", why, said);
}

/* @return its exit status */
static int
child_of(int (*fn)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(fn() == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The status is EAL's: neither that of success nor that of a failed check. */
static int
ended_by_eal(void)
{
	CHECK(child_of(none) > EXIT_FAILURE);
	return 0;
}

static void
test_no_port(void **state)
{
	assert_none(NULL, NULL, "uroce: no port: start the program by uroce-run");
	assert_none("", "10.0.0.1/24", "uroce: no port");
	assert_none(" \t\n", NULL, "uroce: no port");
	assert_none(PROCESS_EAL, NULL, "uroce: EAL has found no port: check --vdev");
}

static void
test_wrong_eal_args(void **state)
{
	char words[3 * UROCE_VERBS_EAL_ARGS + 1] = "";

	if (EAL_EXITS) {
		process_run("--nonsense", NULL, ended_by_eal, said);
		assert_non_null(strstr(said, "uroce: EAL ended this process instead of starting with "
					     "UROCE_EAL_ARGS=\"--nonsense\": "));
	} else {
		assert_none("--nonsense", NULL, "uroce: EAL does not start with UROCE_EAL_ARGS=\"--nonsense\": ");
	}
	assert_none(PROCESS_EAL " --vdev=net_nonsense0", NULL, "uroce: EAL does not start");
	assert_none(PROCESS_EAL " --vdev=net_af_packet0,iface=no-such-one", NULL, "uroce: EAL has found no port");
	for (int i = 0; i < UROCE_VERBS_EAL_ARGS; i++)
		strcat(words, "-v ");
	assert_none(words, NULL, "uroce: UROCE_EAL_ARGS has more than 60 words");
}

/* EAL asks for more address space than is left. */
static int
none_in_little_space(void)
{
	unsigned long pages;
	struct rlimit limit;
	FILE *f = fopen("/proc/self/statm", "r");

	CHECK(f != NULL && fscanf(f, "%lu", &pages) == 1 && fclose(f) == 0);
	CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
	limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (1ul << 30);
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
	return none();
}

static void
test_too_much_memory(void **state)
{
	process_run("--no-huge -m 4096 --no-shconf --no-pci --no-telemetry --vdev=net_null0", NULL, none_in_little_space,
		    said);
	assert_non_null(strstr(said, "Cannot allocate memory: give EAL less memory"));
}

static void
test_wrong_addresses(void **state)
{
	static const char *const wrong[] = { "10.0.0.1", "10.0.0.1/33", "10.0.0/24", "fd00::1/129", "nonsense/8", "/" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char why[64];

		snprintf(why, sizeof(why), "uroce: UROCE_ADDR: %s: use an address", wrong[i]);
		assert_none(ONE, wrong[i], why);
	}
	assert_none(ONE, "10.0.0.1/24,10.0.0.1/24", "uroce: UROCE_ADDR: 10.0.0.1/24: File exists");
	assert_none(TWO, "10.0.0.1/24;10.0.0.2", "uroce: UROCE_ADDR: 10.0.0.2: use an address");
}

static int
limited(void)
{
	struct ibv_context *const *contexts;
	struct ibv_device_attr attr;

	CHECK(uroce_host_devices(&contexts) == 1);
	CHECK(uroce_query_device(contexts[0], &attr) == 0);
	CHECK(attr.max_mr == 32 && attr.max_qp == 1 << UROCE_LOG2_MAX_QP);
	return 0;
}

static void
test_limits(void **state)
{
	setenv("UROCE_LIMITS", "log2_max_mr=5,header_mbufs=3000", 1);
	process_run(ONE, NULL, limited, said);
	assert_string_equal(said, "");
	setenv("UROCE_LIMITS", "log2_max_mr=50", 1);
	assert_none(ONE, NULL, "uroce: UROCE_LIMITS: struct uroce_port_conf: log2_max_mr 50 is not in 1..22");
	setenv("UROCE_LIMITS", "max_mr=5", 1);
	assert_none(ONE, NULL, "uroce: UROCE_LIMITS: limit max_mr: there is no such limit");
	unsetenv("UROCE_LIMITS");
}

static void
test_no_memory(void **state)
{
	assert_none("--no-huge -m 2 --no-pci --no-shconf --no-telemetry --vdev=net_null0", NULL, "uroce: ");
}

static int
gid_is(struct ibv_context *context, int index, uint8_t last)
{
	union ibv_gid gid;

	CHECK(uroce_query_gid(context, 1, index, &gid) == 0);
	CHECK(gid.raw[15] == last);
	return 0;
}

/* Addresses apply to the ports in order; too few and too many addresses. */
static int
two_ports(void)
{
	struct ibv_context *const *contexts, *const *again;

	CHECK(uroce_host_devices(&contexts) == 2);
	CHECK(gid_is(contexts[0], 1, 1) == 0 && gid_is(contexts[0], 2, 2) == 0);
	CHECK(gid_is(contexts[1], 1, 3) == 0 && gid_is(contexts[1], 2, 0) == 0);
	CHECK(uroce_host_devices(&again) == 2 && again == contexts);
	return 0;
}

static int
without_address(void)
{
	struct ibv_context *const *contexts;

	CHECK(uroce_host_devices(&contexts) == 1);
	return gid_is(contexts[0], 1, 0);
}

static void
test_addresses(void **state)
{
	process_run(TWO, "10.0.0.1/24, fd00::2/64;10.0.1.3/24;nonsense", two_ports, said);
	process_run(ONE, NULL, without_address, said);
	process_run(ONE, "", without_address, said);
	process_run(ONE, " ;", without_address, said);
	assert_string_equal(said, "");
}

/* The application's thread keeps its signal mask and its CPUs; the library's thread takes no signals, and has the
 * same CPUs. */
static int
threads(void)
{
	struct ibv_context *const *contexts;
	char line[TEST_TASK_LINE], own[TEST_TASK_LINE];
	struct test_tasks earlier, started;
	cpu_set_t before, after;
	sigset_t mask;

	test_tasks_list(&earlier);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	CHECK(sched_getaffinity(0, sizeof(before), &before) == 0);
	CHECK(uroce_host_devices(&contexts) == 1);
	CHECK(sched_getaffinity(0, sizeof(after), &after) == 0 && CPU_EQUAL(&before, &after));
	CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0);
	CHECK(sigismember(&mask, SIGUSR1) == 1 && sigismember(&mask, SIGINT) == 0);
	test_tasks_since(&earlier, &started);
	CHECK(test_tasks_take_signals(&started, NULL) == 0);
	CHECK(test_task_status(test_task_named(&started, THREAD), "Cpus_allowed:\t", line) == 0);
	CHECK(test_task_status(getpid(), "Cpus_allowed:\t", own) == 0);
	CHECK(strcmp(line, own) == 0);
	return 0;
}

static void
test_threads(void **state)
{
	process_run(ONE, "10.0.0.1/24", threads, said);
}

/* A reactor like SPDK's: the application has pinned the thread that first asks for devices. */
static int
pinned(void)
{
	char mask[TEST_TASK_LINE], line[TEST_TASK_LINE];
	struct test_tasks earlier, started;
	struct ibv_context *const *contexts;
	struct uroce_cpu_load *crowd;
	cpu_set_t all, one;

	test_tasks_list(&earlier);
	CHECK(test_task_status(getpid(), "Cpus_allowed:\t", mask) == 0);
	CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
	CHECK(uroce_host_devices(&contexts) == 1);
	CHECK(uroce_ucma_open() >= 0);
	test_tasks_since(&earlier, &started);
	CHECK(test_task_named(&started, THREAD) != 0 && test_task_named(&started, "uroce-cm") != 0);
	for (unsigned int i = 0; i < started.count; i++) {
		CHECK(test_task_status(started.ids[i], "Cpus_allowed:\t", line) == 0);
		CHECK(strcmp(line, mask) == 0);
	}
	CHECK(test_task_status(getpid(), "Cpus_allowed:\t", line) == 0 && strcmp(line, mask) != 0);
	while ((crowd = uroce_progress_crowd()) == NULL)
		usleep(1000);
	uroce_cpu_load_is_high(crowd, uroce_clock_ns() + UROCE_VERBS_CROWD_NS);	/* checks now, for this thread */
	CHECK(crowd->processors == (unsigned int)CPU_COUNT(&all));
	return 0;
}

static void
test_pinned(void **state)
{
	cpu_set_t all;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	if (CPU_COUNT(&all) == 1)
		skip();
	process_run(ONE ",no-rx=1", "10.0.0.1/24", pinned, said);
}

/* Lcores that the user requests are EAL's; the library's own thread still runs on any CPU. */
static int
lcores_of_user(void)
{
	char line[TEST_TASK_LINE], own[TEST_TASK_LINE];
	struct ibv_context *const *contexts;
	struct test_tasks earlier, started;

	test_tasks_list(&earlier);
	CHECK(uroce_host_devices(&contexts) == 1);
	CHECK(rte_lcore_count() == 2);
	test_tasks_since(&earlier, &started);
	CHECK(test_task_status(test_task_named(&started, THREAD), "Cpus_allowed:\t", line) == 0);
	CHECK(test_task_status(getpid(), "Cpus_allowed:\t", own) == 0);
	CHECK(strcmp(line, own) == 0);
	return 0;
}

static void
test_lcores(void **state)
{
	process_run(ONE " --lcores=(3,5)@0", NULL, lcores_of_user, said);
	process_run(ONE " -c 3", NULL, lcores_of_user, said);
	process_run(ONE " -l 0,1", NULL, lcores_of_user, said);
}

static __rte_noinline void *
ask(void *arg)
{
	struct ibv_context *const *contexts;

	*(unsigned int *)arg = uroce_host_devices(&contexts);
	return NULL;
}

static int
all_at_once(void)
{
	unsigned int counts[8] = { 0 };
	pthread_t asking[8];

	for (int i = 0; i < 8; i++)
		CHECK(pthread_create(&asking[i], NULL, ask, &counts[i]) == 0);
	for (int i = 0; i < 8; i++)
		pthread_join(asking[i], NULL);
	for (int i = 0; i < 8; i++)
		CHECK(counts[i] == 2);
	return 0;
}

static void
test_all_at_once(void **state)
{
	process_run(TWO, NULL, all_at_once, said);
}

/* The thread ends in a frame without AddressSanitizer's redzones. */
static void *
ask_cancelled(void *arg)
{
	if (pthread_cancel(pthread_self()) != 0)
		abort();
	ask(arg);
	pthread_testcancel();
	return NULL;
}

/* A thread that is canceled while it starts the library completes the start. */
static int
canceled(void)
{
	unsigned int count = 0;
	pthread_t asking;
	void *ret;

	CHECK(pthread_create(&asking, NULL, ask_cancelled, &count) == 0);
	CHECK(pthread_join(asking, &ret) == 0 && ret == PTHREAD_CANCELED);
	CHECK(count == 2);
	ask(&count);
	CHECK(count == 2);
	return 0;
}

static void
test_cancelled(void **state)
{
	process_run(TWO, NULL, canceled, said);
}

static int
has_one(void)
{
	struct ibv_context *const *contexts;

	CHECK(uroce_host_devices(&contexts) == 1);
	return 0;
}

static int
has_none(void)
{
	struct ibv_context *const *contexts;

	CHECK(uroce_host_devices(&contexts) == 0);
	return 0;
}

static int
none_nor_its_child(void)
{
	CHECK(has_none() == 0);
	return child_of(has_none);
}

static int
children(void)
{
	CHECK(child_of(has_one) == 0);
	CHECK(has_one() == 0);
	CHECK(child_of(none_nor_its_child) == 0);
	return has_one();
}

static void
test_children(void **state)
{
	process_run(ONE, NULL, children, said);
	assert_non_null(strstr(said, "uroce: this process is a fork of process "));
}

/* The program has started the EAL that the library is linked with. It has two ports. */
static int
start_program_eal(void)
{
	char *argv[] = {
		(char[]){ "program" }, (char[]){ "--no-huge" }, (char[]){ "-m" }, (char[]){ "256" },
		(char[]){ "--no-pci" }, (char[]){ "--no-shconf" }, (char[]){ "--no-telemetry" },
		(char[]){ "--log-level=lib.eal:error" }, (char[]){ "--vdev=net_null8" }, (char[]){ "--vdev=net_null9" },
		NULL,
	};

	CHECK(rte_eal_init((int)RTE_DIM(argv) - 1, argv) >= 0);
	CHECK(rte_eth_dev_count_total() == 2);
	return 0;
}

static bool
is_owned(uint16_t port_id)
{
	struct rte_eth_dev_owner owner;

	return rte_eth_dev_owner_get(port_id, &owner) == 0 && owner.id != RTE_ETH_DEV_NO_OWNER;
}

/* Ports that EAL lacks are plugged in, in the order of the arguments; the program's ports stay its own. */
static int
joined(void)
{
	struct ibv_context *const *contexts;

	CHECK(start_program_eal() == 0);
	CHECK(uroce_host_devices(&contexts) == 2);
	CHECK(gid_is(contexts[0], 1, 1) == 0 && gid_is(contexts[1], 1, 2) == 0);
	CHECK(rte_eth_dev_count_total() == 4 && !is_owned(0) && !is_owned(1) && is_owned(2) && is_owned(3));
	CHECK(rte_lcore_id() == rte_get_main_lcore());
	return 0;
}

/* A port that the program has, and that the arguments name. */
static int
joined_named(void)
{
	struct ibv_context *const *contexts;

	CHECK(start_program_eal() == 0);
	CHECK(uroce_host_devices(&contexts) == 1);
	CHECK(rte_eth_dev_count_total() == 2 && !is_owned(0) && is_owned(1));
	return 0;
}

/* Without a name: the ports that the program does not claim. */
static int
joined_unowned(void)
{
	struct rte_eth_dev_owner owner = { .name = "program" };
	struct ibv_context *const *contexts;

	CHECK(start_program_eal() == 0);
	CHECK(rte_eth_dev_owner_new(&owner.id) == 0 && rte_eth_dev_owner_set(0, &owner) == 0);
	CHECK(uroce_host_devices(&contexts) == 1);
	CHECK(is_owned(1));
	return 0;
}

static int
joined_owned(void)
{
	struct rte_eth_dev_owner owner = { .name = "program" };

	CHECK(start_program_eal() == 0);
	CHECK(rte_eth_dev_owner_new(&owner.id) == 0 && rte_eth_dev_owner_set(1, &owner) == 0);
	return none();
}

static int
joined_none(void)
{
	CHECK(start_program_eal() == 0);
	return none();
}

static int
joined_child(void)
{
	CHECK(start_program_eal() == 0);
	return child_of(has_none);
}

static void
test_joined(void **state)
{
	process_run("--vdev=net_null2 -m 1 --vdev net_null3", "10.0.0.1/24;10.0.1.2/24", joined, said);
	assert_string_equal(said, "");
	process_run("--nonsense --vdev=net_null9", NULL, joined_named, said);
	process_run("--no-huge", NULL, joined_unowned, said);
	process_run(NULL, NULL, joined_unowned, said);
	process_run("--vdev=net_null9", NULL, joined_owned, said);
	assert_non_null(strstr(said, "uroce: cannot open port 1: "));
	process_run("--vdev=net_nonsense0", NULL, joined_none, said);
	assert_non_null(strstr(said, "uroce: the program's EAL cannot plug in net_nonsense0: "));
	process_run("--vdev=net_null2", NULL, joined_child, said);
	assert_non_null(strstr(said, "uroce: this process is a fork of one that has started EAL: "));
}

static bool is_leaving;

/* Such a child leaks on purpose: LeakSanitizer asks here. */
int __lsan_is_turned_off(void);

int
__lsan_is_turned_off(void)
{
	return is_leaving;
}

static void
leave(int number)
{
	if (rte_lcore_id() == LCORE_ID_ANY)	/* between two polls, the thread has no borrowed lcore ID */
		return;
	is_leaving = true;
	exit(EXIT_SUCCESS);
}

/* A signal handler ends the program in the middle of a poll. A handler that waited for its own thread would spin
 * until it is killed. */
static int
interrupted(void)
{
	const struct rlimit seconds = { .rlim_cur = 20, .rlim_max = 20 };
	const struct itimerval often = { .it_value.tv_usec = 1000, .it_interval.tv_usec = 1000 };
	struct ibv_context *const *contexts;
	struct ibv_cq *cq;
	struct ibv_wc wc;

	CHECK(uroce_host_devices(&contexts) == 1);
	CHECK(uroce_ucma_open() >= 0);
	CHECK((cq = uroce_create_cq(contexts[0], 1, NULL, NULL, 0)) != NULL);
	CHECK(setrlimit(RLIMIT_CPU, &seconds) == 0);
	signal(SIGALRM, leave);
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	while (uroce_poll_cq(cq, 1, &wc) == 0)
		;
	return -1;
}

static void
test_interrupted(void **state)
{
	process_run(ONE ",no-rx=1", "10.0.0.1/24", interrupted, said);
}

/* A signal handler ends the program in the middle of an RDMA CM call, whose thread has the lock: the peers get no
 * message, and the program ends. */
static int
interrupted_call(void)
{
	struct ibv_context *const *contexts;

	CHECK(uroce_host_devices(&contexts) == 1);
	CHECK(uroce_ucma_open() >= 0);
	CHECK(pthread_mutex_lock(&uroce_ucma_lock) == 0);
	is_leaving = true;
	exit(EXIT_SUCCESS);
}

static void
test_interrupted_call(void **state)
{
	process_run(ONE, "10.0.0.1/24", interrupted_call, said);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_port),
		cmocka_unit_test(test_wrong_eal_args),
		cmocka_unit_test(test_too_much_memory),
		cmocka_unit_test(test_wrong_addresses),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_pinned),
		cmocka_unit_test(test_lcores),
		cmocka_unit_test(test_all_at_once),
		cmocka_unit_test(test_cancelled),
		cmocka_unit_test(test_children),
		cmocka_unit_test(test_joined),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_interrupted_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
