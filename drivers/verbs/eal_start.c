/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Starts EAL with the words of UROCE_EAL_ARGS and arguments of its own, on the progress thread.
 */

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#include "complain.h"
#include "eal_claim.h"
#include "eal_join.h"
#include "eal_ports.h"
#include "eal_start.h"
#include "munmap.h"
#include "plt_hook.h"
#include "uroce_config.h"

#define BLANKS " \t\n"
#define OUR_ARGS 4	/* EAL arguments that this file adds */
#define LCORES "--lcores=0@("	/* one lcore, on any CPU of the list that follows */
#define RANGE_BYTES 12	/* "1022-1023," */

static __thread const char *starting;	/* UROCE_EAL_ARGS while this thread runs rte_eal_init(); otherwise NULL */

/* net_memif logs at its start that it cannot reach secondary processes, of which there are none. So EAL starts with
 * this log at critical; restore the default level, unless the user has chosen another. */
static void
restore_memif_log(void)
{
	const int type = rte_log_register(UROCE_VERBS_MEMIF_LOG);

	if (type >= 0 && rte_log_get_level((uint32_t)type) == RTE_LOG_CRIT)
		rte_log_set_level((uint32_t)type, RTE_LOG_NOTICE);
}

/* Does this argument choose EAL's lcores? */
static bool
is_of_lcores(const char *word)
{
	return word[0] == '-' && word[1] != '\0' &&
	       (strchr("clsS", word[1]) != NULL || strncmp(word, "--lc", 4) == 0 || strncmp(word, "--ma", 4) == 0);
}

/* EAL starts a thread for each lcore, and runs its control threads on CPUs without an lcore: by default on the first
 * CPU, to which the program may have pinned a polling thread. So request a single lcore that may run on any CPU.
 * @return NULL: the affinity of this thread is unknown */
static char *
lcores(void)
{
	static char arg[sizeof(LCORES) + CPU_SETSIZE / 2 * RANGE_BYTES];	/* EAL keeps it */
	size_t bytes = (size_t)snprintf(arg, sizeof(arg), LCORES);
	cpu_set_t own;	/* a cpuset may have shrunk since the library was loaded */

	if (sched_getaffinity(0, sizeof(own), &own) != 0)
		return NULL;
	for (int first = 0, last; first < CPU_SETSIZE; first = last + 1) {
		last = first;
		if (!CPU_ISSET(first, &own))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &own))
			last++;
		bytes += (size_t)snprintf(arg + bytes, sizeof(arg) - bytes, "%d-%d,", first, last);
	}
	arg[bytes - 1] = ')';
	return arg;
}

/* The program calls rte_eal_init(), but this library has started the EAL of both. */
static int
init_instead(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	uroce_complain("the program has called ibv_get_device_list() before rte_eal_init(), and so EAL has started for "
		       "uroce only: start the program by uroce-run --eal separate");
	rte_errno = EALREADY;
	return -1;
}

static void
hook(void)
{
	static const struct uroce_plt_call init = { "rte_eal_init", NULL, (void (*)(void))init_instead };

	if (!uroce_eal_is_shared())
		return;
	uroce_memif_driver_hook();
	uroce_plt_hook_all(&init);
}

static const char *
advice_of(int error)
{
	if (error == ENOMEM)
		return "give EAL less memory (-m, uroce-run's --memory), or this process more (hugepages, or with "
		       "--no-huge ulimit -v)";
	return "check that each --vdev (uroce-run's --port) is the name of a DPDK driver, e.g. net_tap or net_ring, with "
	       "that driver's arguments";
}

bool
uroce_eal_start(void)
{
	const char *given = getenv("UROCE_EAL_ARGS");
	static char name[] = "uroce", quiet[] = "--log-level=lib.eal:error";
	static char quiet_memif[] = "--log-level=" UROCE_VERBS_MEMIF_LOG ":critical";
	char *argv[UROCE_VERBS_EAL_ARGS + UROCE_EAL_PORTS_ARGS] = { name, quiet, quiet_memif };
	char *text, *next = NULL;
	bool has_lcores = false;
	int argc = OUR_ARGS - 1, ret;

	if (given == NULL || given[strspn(given, BLANKS)] == '\0') {
		uroce_complain("no port: start the program by uroce-run, or set UROCE_EAL_ARGS to EAL arguments with "
			       "a port");
		return false;
	}
	if (!uroce_eal_claim(given))
		return false;
	text = strdup(given);	/* EAL keeps it */
	if (text == NULL)
		return false;
	for (char *word = strtok_r(text, BLANKS, &next); word != NULL; word = strtok_r(NULL, BLANKS, &next)) {
		if (argc == UROCE_VERBS_EAL_ARGS - 2) {
			uroce_complain("UROCE_EAL_ARGS has more than %d words: use fewer arguments",
				       UROCE_VERBS_EAL_ARGS - OUR_ARGS - 1);
			free(text);
			return false;
		}
		has_lcores = has_lcores || is_of_lcores(word);
		argv[argc++] = word;
	}
	if (!has_lcores)
		argv[argc] = lcores();	/* the last one, NULL or not */
	argc += argv[argc] != NULL;
	argc += uroce_eal_ports_args(given, argv + argc);
	starting = given;
	ret = rte_eal_init(argc, argv);
	starting = NULL;
	restore_memif_log();
	if (ret >= 0)
		hook();
	else
		uroce_complain("EAL does not start with UROCE_EAL_ARGS=\"%s\": %s: %s", given, rte_strerror(rte_errno),
			       advice_of(rte_errno));
	return ret >= 0;
}

/* EAL 25.11 calls exit() on an argument that it does not know, or that is repeated. Destructors run in the thread that
 * called exit(). */
__attribute__((destructor)) static void
explain_exit(void)
{
	if (starting != NULL)
		uroce_complain("EAL ended this process instead of starting with UROCE_EAL_ARGS=\"%s\": correct the "
			       "argument that its message above names", starting);
}
