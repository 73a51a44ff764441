/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * uroce-switch: arguments, EAL, ports, and the loop. Exit status: 0; 1 on a failure; 2 for a wrong argument.
 */

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ticketlock.h>

#include "closer.h"
#include "dir.h"
#include "eal_start.h"
#include "memif/server.h"
#include "memif_rings.h"
#include "munmap.h"
#include "options.h"
#include "backoff.h"
#include "program.h"
#include "signals.h"
#include "switch.h"
#include "telemetry.h"

enum { STATUS_OK, STATUS_FAILED, STATUS_USAGE };

/* Held while a thread uses the ports: by the main thread for each round, by the interrupt thread while it unmaps
 * memory. */
static rte_ticketlock_t turn = RTE_TICKETLOCK_INITIALIZER;
static volatile sig_atomic_t report_signal;

void
uroce_memif_hold(void (*fn)(void *arg), void *arg)
{
	rte_ticketlock_lock(&turn);
	fn(arg);
	rte_ticketlock_unlock(&turn);
}

/* The ports have one queue, and each connection has at least one ring. */
bool
uroce_memif_rings(uint16_t port_id, unsigned int rings, unsigned int queues)
{
	(void)port_id;
	(void)rings;
	(void)queues;
	return true;
}

static void
on_report(int number)
{
	report_signal = number;
}

static int
fail(const char *what, int ret)
{
	fprintf(stderr, "%s: %s: %s\n", uroce_app_name, what, rte_strerror(-ret));
	return -1;
}

static uint64_t
clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Without EAL arguments: ordinary memory, no devices, no files that other processes look for, and one thread on any
 * CPU, since it sleeps while no frames move. */
static int
start_eal(int argc, char **argv, unsigned int ports)
{
	static char words[][40] = { "--no-huge", "--no-pci", "--no-shconf", "--no-telemetry",
				    "--log-level=lib.eal:error", "-m", "", "--lcores", "" };
	char *args[RTE_DIM(words) + 1] = { argv[0] };

	if (argc > 1)
		return uroce_app_eal_init(argc, argv);
	snprintf(words[6], sizeof(words[6]), "%u", UROCE_SWITCH_BASE_MIB + ports * UROCE_SWITCH_PORT_MIB);
	snprintf(words[8], sizeof(words[8]), "0@(0-%ld)", sysconf(_SC_NPROCESSORS_CONF) - 1);
	for (unsigned int i = 0; i < RTE_DIM(words); i++)
		args[i + 1] = words[i];
	return uroce_app_eal_init(RTE_DIM(args), args);
}

/* The socket's ports come first: port i is the one with ID i. */
static int
open_ports(struct uroce_switch *s, unsigned int memif)
{
	const unsigned int count = memif + rte_eth_dev_count_avail();
	const unsigned int mbufs = count * (UROCE_SWITCH_QUEUE + UROCE_SWITCH_DESC + 2 * UROCE_BURST);
	struct rte_mempool *pool;
	uint16_t id;
	int ret;

	if (count < 2 || count > UROCE_SWITCH_PORTS) {
		fprintf(stderr, "%s: %u ports: a switch has 2 to %d ports: change --ports or EAL's ports\n",
			uroce_app_name, count, UROCE_SWITCH_PORTS);
		return -1;
	}
	pool = rte_pktmbuf_pool_create("uroce_switch", mbufs, UROCE_BURST, 0,
				       RTE_PKTMBUF_HEADROOM + UROCE_SWITCH_FRAME_BYTES, SOCKET_ID_ANY);
	if (pool == NULL)
		return fail("cannot create the pool of frames; raise EAL's -m", -rte_errno);
	for (; s->nb_ports < memif; s->nb_ports++)
		uroce_switch_port_open_memif(&s->ports[s->nb_ports], (uint16_t)s->nb_ports, pool);
	RTE_ETH_FOREACH_DEV(id) {
		ret = uroce_switch_port_open(&s->ports[s->nb_ports], id, pool);
		if (ret != 0)
			return fail("cannot start a port", ret);
		s->nb_ports++;
	}
	return 0;
}

/* Run one round. @return frames moved */
static unsigned int
poll_all(struct uroce_switch *s, struct memif_server *server, uint64_t *watched_ns, uint64_t now_ns)
{
	unsigned int moved;

	rte_ticketlock_lock(&turn);
	if (now_ns - *watched_ns >= UROCE_SWITCH_WATCH_NS) {
		uroce_memif_server_poll(server, now_ns);
		uroce_switch_watch(s, now_ns);
		*watched_ns = now_ns;
	}
	moved = uroce_switch_poll(s, now_ns);
	rte_ticketlock_unlock(&turn);
	return moved;
}

static void
run(struct uroce_switch *s, struct memif_server *server, bool busy)
{
	struct switch_backoff backoff = { .busy = busy, .ethdevs = s->nb_ports > server->nb_ports };
	uint64_t watched_ns = 0;

	while (!uroce_app_stopped()) {
		uint64_t now_ns = clock_ns();
		unsigned int moved = poll_all(s, server, &watched_ns, now_ns);

		if (report_signal != 0) {
			report_signal = 0;
			uroce_switch_report(s, server->refused);
		}
		switch (uroce_switch_backoff(&backoff, moved != 0, now_ns)) {
		case SWITCH_POLL: break;
		case SWITCH_YIELD: sched_yield(); break;
		case SWITCH_ASK: uroce_memif_server_wake(server, true); break;
		case SWITCH_THANK: uroce_memif_server_wake(server, false); break;
		case SWITCH_WAIT:
			uroce_memif_server_wait(server, backoff.wait_ns);
			watched_ns = 0; /* handle the event that ended the wait */
		}
	}
}

/* Make sleeps precise, and ask for a short time slice, so that this thread runs soon after it wakes. Older kernels
 * ignore the slice. */
static void
be_quick(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = { .size = sizeof(attr) };

	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) == 0 && attr.policy == SCHED_OTHER) {
		attr.runtime = UROCE_SWITCH_SLICE_NS;
		syscall(SYS_sched_setattr, 0, &attr, 0);
	}
}

/* Open the socket, run the loop, and report the counters. */
static int
serve_ports(struct uroce_switch *s, struct memif_server *server, struct switch_dir *dir, const struct switch_options *o)
{
	int ret = uroce_switch_closer_start();

	if (ret != 0)
		return fail("cannot start a thread", ret);
	ret = uroce_memif_server_open(server, dir->socket, s->ports, o->ports);
	if (ret != 0) {
		uroce_switch_closer_stop();
		return fail(dir->socket, ret);
	}
	ret = uroce_switch_dir_open(dir, o->ports);
	if (ret != 0) {
		fail(dir->path, ret);
	} else {
		printf("%u ports, %u of them at %s\n", s->nb_ports, o->ports, dir->socket);
		fflush(stdout);
		be_quick();
		uroce_switch_telemetry_start(s, &server->refused);
		run(s, server, o->busy);
		uroce_switch_telemetry_stop();
		uroce_switch_report(s, server->refused);
	}
	uroce_memif_server_close(server);
	uroce_switch_closer_stop();
	return ret;
}

/* Open the ports, serve them, and close them. */
static int
serve(struct uroce_switch *s, struct switch_dir *dir, const struct switch_options *o)
{
	struct memif_server *server = calloc(1, sizeof(*server));
	int ret = server == NULL ? -ENOMEM : uroce_switch_fdb_init(&s->fdb);

	if (ret != 0) {
		free(server);
		return fail("cannot create the forwarding database; raise EAL's -m", ret);
	}
	ret = open_ports(s, o->ports);
	if (ret == 0)
		ret = serve_ports(s, server, dir, o);
	for (unsigned int i = 0; i < s->nb_ports; i++)
		uroce_switch_port_close(&s->ports[i]);
	uroce_switch_fdb_fini(&s->fdb);
	free(server);
	return ret;
}

static int
take_dir(struct switch_dir *dir, const char *path)
{
	int ret = uroce_switch_dir_take(dir, path);

	switch (ret) {
	case 0: return 0;
	case -EBUSY:
		fprintf(stderr, "%s: another switch uses %s: give this one a --dir of its own\n", uroce_app_name,
			dir->path);
		break;
	case -EACCES:
		fprintf(stderr, "%s: another user owns %s: use --dir with a directory of your own\n", uroce_app_name,
			dir->path);
		break;
	case -EINVAL:
		fprintf(stderr, "%s: --dir '%s': use a path with neither a comma nor a blank\n", uroce_app_name,
			dir->path);
		break;
	case -ENOENT:
		fprintf(stderr, "%s: --dir %s: the directory above it does not exist: create that one first\n",
			uroce_app_name, dir->path);
		break;
	default: fprintf(stderr, "%s: --dir %s: %s\n", uroce_app_name, dir->path, strerror(-ret));
	}
	return -1;
}

/* Without a "--", all arguments are the switch's own. */
int
main(int argc, char **argv)
{
	const int dashes = uroce_app_eal_args(argc, argv);
	const int own = dashes == argc ? 0 : dashes;
	const struct sigaction on_usr1 = { .sa_handler = on_report };
	struct switch_options o;
	struct uroce_switch *s;
	struct switch_dir dir;
	char error[256];
	int ret = -1;

	if (uroce_switch_options_parse(&o, argc - own, argv + own, error, sizeof(error)) != 0) {
		fprintf(stderr, "%s: %s\n", uroce_app_name, error);
		return STATUS_USAGE;
	}
	if (o.action == SWITCH_HELP)
		return fputs(uroce_app_usage, stdout) < 0 ? STATUS_FAILED : STATUS_OK;
	if (o.action == SWITCH_VERSION)
		return printf("%s %s\n", uroce_app_name, UROCE_VERSION) < 0 ? STATUS_FAILED : STATUS_OK;
	uroce_app_signals_init();
	sigaction(SIGUSR1, &on_usr1, NULL);
	if (take_dir(&dir, o.dir) != 0)
		return STATUS_FAILED;
	s = calloc(1, sizeof(*s));
	if (s != NULL && start_eal(own == 0 ? 1 : own, argv, o.ports) == 0) {
		ret = serve(s, &dir, &o);
		uroce_app_eal_fini();
	}
	uroce_switch_dir_release(&dir);
	free(s);
	return ret == 0 ? STATUS_OK : STATUS_FAILED;
}
