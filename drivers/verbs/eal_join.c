/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Uses the EAL that the program has started, if the library is linked with the same librte_eal.so: its memory, its
 * threads and its ports. Ports that EAL lacks are plugged in. On the progress thread.
 */

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>

#include "complain.h"
#include "eal_claim.h"
#include "eal_join.h"
#include "eal_ports.h"
#include "munmap.h"
#include "plt_hook.h"
#include "uroce_config.h"

#define EAL "librte_eal.so."

static bool is_inherited;	/* a process that has started EAL has forked this one */
static bool (*leave_eal)(void);

static void
forked(void)
{
	is_inherited = uroce_eal_is_running();
}

/* The program may fork before it lists the devices. */
__attribute__((constructor)) static void
watch_forks(void)
{
	pthread_atfork(NULL, NULL, forked);
}

bool
uroce_eal_is_running(void)
{
	return rte_lcore_count() != 0;
}

bool
uroce_eal_is_shared(void)
{
	const char *soname = uroce_plt_soname((const void *)(uintptr_t)rte_eal_init);

	return soname != NULL && strncmp(soname, EAL, strlen(EAL)) == 0;
}

/* The progress thread uses EAL's memory: it must end before EAL unmaps this memory. */
static int
cleanup_instead(void)
{
	return leave_eal() ? rte_eal_cleanup() : 0;
}

/* @return false: EAL has not started completely, or not in this process, or does not allow further threads */
static bool
register_thread(void)
{
	if (is_inherited) {
		uroce_complain("this process is a fork of one that has started EAL: call ibv_get_device_list() in that "
			       "process, or start the program by uroce-run --eal separate");
		return false;
	}
	if (rte_thread_register() == 0)
		return true;
	uroce_complain("the program's EAL refuses a further thread: %s: do not attach a secondary process before "
		       "ibv_get_device_list(), or start the program by uroce-run --eal separate",
		       rte_strerror(rte_errno));
	return false;
}

static bool
plug(const char *device)
{
	const int ret = rte_dev_probe(device);

	if (ret == 0 || ret == -EEXIST)
		return true;
	uroce_complain("the program's EAL cannot plug in %s: %s: check that DPDK's driver for it is installed and, for a "
		       "PCI device, that the program has started EAL without --no-pci", device, rte_strerror(-ret));
	return false;
}

/* net_memif logs that it cannot reach secondary processes, of which there are none: see eal_start.c. */
static bool
plug_all(const char *given)
{
	const int log = rte_log_register(UROCE_VERBS_MEMIF_LOG);
	const int level = log >= 0 ? rte_log_get_level((uint32_t)log) : -1;
	bool ok = true;
	char *device;

	if (level >= 0)
		rte_log_set_level((uint32_t)log, RTE_LOG_CRIT);
	while (ok && (device = uroce_eal_ports_next(&given)) != NULL) {
		ok = plug(device);
		free(device);
	}
	if (level >= 0)
		rte_log_set_level((uint32_t)log, (uint32_t)level);
	return ok;
}

bool
uroce_eal_join(bool (*leave)(void))
{
	static const struct uroce_plt_call cleanup = { "rte_eal_cleanup", NULL, (void (*)(void))cleanup_instead };
	const char *given = getenv("UROCE_EAL_ARGS");

	if (!register_thread())
		return false;
	leave_eal = leave;
	uroce_plt_hook_all(&cleanup);
	uroce_memif_driver_hook();
	return given == NULL || (uroce_eal_claim(given) && plug_all(given));
}
