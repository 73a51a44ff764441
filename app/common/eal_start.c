/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Starts EAL and, if EAL does not start, explains what the user of this program can do about it. Main thread.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_pdump.h>

#include <uroce_config.h>

#include "eal_start.h"
#include "program.h"

/* The first device among EAL's arguments; NULL: none. */
static const char *device_arg;

static void
usage_hook(const char *program)
{
	RTE_SET_USED(program);
	printf("\n%s", uroce_app_usage);
}

int
uroce_app_eal_args(int argc, char **argv)
{
	int n = 1;

	while (n < argc && strcmp(argv[n], "--") != 0)
		n++;
	return n;
}

static bool
has_arg(int argc, char **argv, const char *arg)
{
	for (int i = 1; i < argc; i++) {
		if (strncmp(argv[i], arg, strlen(arg)) == 0)
			return true;
	}
	return false;
}

static unsigned long
free_hugepages(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	unsigned long n = 0;
	char line[128];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "HugePages_Free: %lu", &n) == 1)
			break;
	}
	if (f != NULL)
		fclose(f);
	return n;
}

/* EAL has printed the error; print the remedy. */
static void
eal_explain(int argc, char **argv)
{
	const bool huge = !has_arg(argc, argv, "--no-huge");
	const char *hint =
		"See EAL's messages above. Check for an unknown argument (those of this program come after a --), "
		"for an lcore or a device that does not exist, and for another process with this --file-prefix.";

	if (rte_errno == 0) /* EAL fails to lock its configuration without an errno */
		hint = "Another process uses the same --file-prefix, or the default one: choose another, "
		       "e.g. --file-prefix mine.";
	else if (huge && rte_errno != EINVAL && free_hugepages() == 0)
		hint = "There are no free hugepages: reserve some as root (sysctl vm.nr_hugepages=512), or use "
		       "--no-huge.";
	else if (!huge && rte_errno == ENOMEM)
		hint = "Give EAL less memory (-m, in MiB), or this process more (ulimit -v).";
	else if (rte_errno != EINVAL && geteuid() != 0)
		hint = "Hugepages and PCI ports need root: run as root, or use --no-huge and --no-pci.";
	else if (huge && rte_errno == EACCES)
		hint = "hugetlbfs may not be mounted: mount it as root (mount -t hugetlbfs none /dev/hugepages), or use "
		       "--no-huge.";
	fprintf(stderr, "%s: EAL did not start%s%s\n%s\n", uroce_app_name,
		rte_errno != 0 ? ": " : "", rte_errno != 0 ? rte_strerror(rte_errno) : "", hint);
}

static bool
wants_usage(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0 ||
		    strcmp(argv[i], "--log-level=help") == 0 ||
		    (strcmp(argv[i], "--log-level") == 0 && i + 1 < argc && strcmp(argv[i + 1], "help") == 0))
			return true;
	}
	return false;
}

static struct {
	int argc;
	char **argv;	/* NULL: EAL does not start */
} starting;

/* EAL 25.11 calls exit() on an argument that it does not know, or that is repeated. */
static void
explain_exit(void)
{
	if (starting.argv == NULL)
		return;
	rte_errno = EINVAL;
	eal_explain(starting.argc, starting.argv);
	_exit(EXIT_FAILURE);
}

/* Discard EAL's usage: its 150 lines follow the message that names a wrong argument, and hide it. The usage goes to
 * standard output, messages to standard error. */
static int
eal_init_quietly(int argc, char **argv)
{
	const int null = open("/dev/null", O_WRONLY | O_CLOEXEC), out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	const bool mute = null >= 0 && out >= 0 && !wants_usage(argc, argv);
	int ret;

	fflush(stdout);
	if (mute)
		dup2(null, STDOUT_FILENO);
	if (!wants_usage(argc, argv) && atexit(explain_exit) == 0) {
		starting.argc = argc;
		starting.argv = argv;
	}
	ret = rte_eal_init(argc, argv);
	starting.argv = NULL;
	fflush(stdout);
	if (mute)
		dup2(out, STDOUT_FILENO);
	if (null >= 0)
		close(null);
	if (out >= 0)
		close(out);
	return ret;
}

bool
uroce_app_eal_device_given(void)
{
	return device_arg != NULL;
}

const char *
uroce_app_eal_no_port(void)
{
	static char text[512];

	if (device_arg == NULL) {
		snprintf(text, sizeof(text),
			 "no DPDK port: give EAL one, e.g. --vdev=net_af_packet0,iface=NAME or a PCI device with "
			 "-a%s%s%s",
			 uroce_app_both_ends[0] != '\0' ? ", or " : "", uroce_app_both_ends,
			 uroce_app_both_ends[0] != '\0' ? " to run both ends in this process" : "");
		return text;
	}
	snprintf(text, sizeof(text),
		 "EAL has created no port of %s: see its messages above; check that the device exists and is free%s",
		 device_arg, geteuid() != 0 ? ", and run as root, which most devices need" : "");
	return text;
}

/* Find the first device among EAL's arguments: "--vdev=NAME", "--vdev NAME", "-a NAME" or "--allow". */
static const char *
device_find(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *value = strchr(argv[i], '=');

		if (strncmp(argv[i], "--vdev", 6) != 0 && strncmp(argv[i], "--allow", 7) != 0 &&
		    strcmp(argv[i], "-a") != 0)
			continue;
		if (argv[i][1] == '-' && value != NULL)
			return value + 1;
		return i + 1 < argc ? argv[i + 1] : NULL;
	}
	return NULL;
}

/* dpdk-dumpcap attaches as a secondary process. Where EAL shares nothing (--in-memory, --no-shconf, --no-huge),
 * nothing can be captured, which needs no message. */
static void
capture_init(void)
{
	if (rte_pdump_init() != 0 && rte_errno != ENOTSUP)
		fprintf(stderr, "%s: dpdk-dumpcap cannot capture here: %s\n", uroce_app_name,
			rte_strerror(rte_errno));
}

/* Without hugepages, EAL's default is 64 MiB. */
int
uroce_app_eal_init(int argc, char **argv)
{
	char **args = calloc((size_t)argc + 3, sizeof(*args));
	static char memory[] = "-m", mib[] = UROCE_APP_NO_HUGE_MIB;
	int n = argc;

	if (args == NULL)
		return -1;
	memcpy(args, argv, (size_t)argc * sizeof(*args));
	if (has_arg(argc, argv, "--no-huge") && !has_arg(argc, argv, "-m") &&
	    !has_arg(argc, argv, "--socket-mem")) {
		args[n++] = memory;
		args[n++] = mib;
	}
	device_arg = device_find(argc, argv);
	/* Standard output is for results only. */
	rte_openlog_stream(stderr);
	rte_set_application_usage_hook(usage_hook);
	n = eal_init_quietly(n, args);
	if (n < 0)
		eal_explain(argc, argv);
	else
		capture_init();
	free(args);
	return n < 0 ? -1 : 0;
}

unsigned int
uroce_app_lcores(unsigned int *lcores)
{
	unsigned int n = 0, lcore;

	lcores[n++] = rte_get_main_lcore();
	RTE_LCORE_FOREACH_WORKER(lcore) {
		if (n < UROCE_MAX_WORKERS)
			lcores[n++] = lcore;
	}
	return n;
}

static void
settled(void *done)
{
	__atomic_store_n((bool *)done, true, __ATOMIC_RELEASE); /* pairs with done_wait() */
}

static void
done_wait(const bool *done)
{
	/* pairs with the release in settled() */
	while (!__atomic_load_n(done, __ATOMIC_ACQUIRE))
		rte_delay_us_sleep(100);
}

/* Handlers and alarms run on EAL's interrupt thread: once this alarm has run, earlier handlers have returned. */
static void
interrupts_settle(void)
{
	bool done = false;

	if (rte_eal_alarm_set(1, settled, &done) == 0)
		done_wait(&done);
}

static void
stay(void *done)
{
	settled(done);
	for (;;)
		pause();
}

/* Keep the interrupt thread in a handler of our own: net_memif (DPDK 22.11) leaves its listener's handle registered,
 * in memory that rte_eal_cleanup() unmaps. An alarm would not do: rte_eal_cleanup() waits for its end. */
static void
interrupts_end(void)
{
	static struct rte_intr_handle *handle;	/* the interrupt thread uses it until the process exits */
	bool done = false;

	handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	if (handle == NULL)
		return;
	if (rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT) == 0 &&
	    rte_intr_fd_set(handle, eventfd(1, EFD_CLOEXEC)) == 0 &&
	    rte_intr_callback_register(handle, stay, &done) == 0)
		done_wait(&done);
}

void
uroce_app_eal_fini(void)
{
	uint16_t port;

	rte_pdump_uninit();
	RTE_ETH_FOREACH_DEV(port)
		rte_eth_dev_close(port);
	interrupts_settle();
	interrupts_settle(); /* for callbacks that the first one has deferred */
	interrupts_end();
	rte_eal_cleanup();
}
