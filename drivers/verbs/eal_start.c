/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Starts EAL with the words of UROCE_EAL_ARGS and arguments of its own, on the progress thread. First it makes sure that
 * no other process has the port.
 */

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#include "complain.h"
#include "eal_ports.h"
#include "eal_start.h"
#include "progress/holder.h"
#include "progress/memif_socket.h"
#include "uroce_config.h"

#define BLANKS " \t\n"
#define MEMIF_LOG "pmd.net.memif"
#define OUR_ARGS 4	/* EAL arguments that this file adds */
#define LCORES "--lcores=0@("	/* one lcore, on any CPU of the list that follows */
#define RANGE_BYTES 12	/* "1022-1023," */

static __thread const char *starting;	/* UROCE_EAL_ARGS while this thread runs rte_eal_init(); otherwise NULL */

/* net_memif logs at its start that it cannot reach secondary processes, of which there are none. So EAL starts with
 * this log at critical; restore the default level, unless the user has chosen another. */
static void
restore_memif_log(void)
{
	const int type = rte_log_register(MEMIF_LOG);

	if (type >= 0 && rte_log_get_level((uint32_t)type) == RTE_LOG_CRIT)
		rte_log_set_level((uint32_t)type, RTE_LOG_NOTICE);
}

#define ALREADY \
	"already uses this port, and a port serves one process: use RDMA in one of the two only, or start this one " \
	"by uroce-run with a port of its own, e.g. --peer NAME"

/* @return true: the port cannot be shared. A net_memif peer accepts one process; with other drivers both get frames. */
static bool
parent_has_port(const char *args)
{
	const pid_t pid = uroce_holder_ancestor(args);
	char name[UROCE_VERBS_PATH_BYTES];

	if (pid == 0)
		return false;
	uroce_holder_name(pid, name, sizeof(name));
	uroce_complain("process %d (%s), an ancestor of this one, " ALREADY, (int)pid, name);
	return strstr(args, "net_memif") != NULL;
}

/* Does this argument name a net_memif port on whose socket another process listens? */
static bool
is_taken(const char *word)
{
	const pid_t pid = uroce_memif_socket_remove(word);
	char name[UROCE_VERBS_PATH_BYTES];

	if (pid < 0)
		return false;
	uroce_holder_name(pid, name, sizeof(name));
	if (pid == 0)
		uroce_complain("%s: another process " ALREADY, word);
	else
		uroce_complain("%s: process %d (%s) " ALREADY, word, (int)pid, name);
	return true;
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

bool
uroce_eal_start(void)
{
	const char *given = getenv("UROCE_EAL_ARGS");
	static char name[] = "uroce", quiet[] = "--log-level=lib.eal:error";
	static char quiet_memif[] = "--log-level=" MEMIF_LOG ":critical";
	char *argv[UROCE_VERBS_EAL_ARGS + UROCE_EAL_PORTS_ARGS] = { name, quiet, quiet_memif };
	char *text, *next = NULL;
	bool has_lcores = false;
	int argc = OUR_ARGS - 1, ret;

	if (given == NULL || given[strspn(given, BLANKS)] == '\0') {
		uroce_complain("no port: start the program by uroce-run, or set UROCE_EAL_ARGS to EAL arguments with "
			       "a port");
		return false;
	}
	if (parent_has_port(given))
		return false;
	if (!uroce_memif_sockets_wait(getenv("UROCE_PEER"), UROCE_VERBS_PEER_WAIT_MS)) {
		uroce_complain("the other process of the pair has not opened its port, %s, within %u s: check that it "
			       "runs and uses RDMA", getenv("UROCE_PEER"), UROCE_VERBS_PEER_WAIT_MS / 1000);
		return false;
	}
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
		if (is_taken(word)) {
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
	if (ret < 0)
		uroce_complain("EAL does not start with UROCE_EAL_ARGS=\"%s\": %s: check that each --vdev (uroce-run's "
			       "--port) is the name of a DPDK driver, e.g. net_tap or net_ring, with that driver's "
			       "arguments", given, rte_strerror(rte_errno));
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
