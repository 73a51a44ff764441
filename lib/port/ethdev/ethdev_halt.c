/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Drains and stops an Ethernet device when a port is stopped or closed. When its peer disconnects, net_memif takes a
 * port down on EAL's interrupt thread, without a lock, and net_bonding polls its members there; so these ports are
 * stopped on that thread, too. Handlers of any driver on that thread may still use the queues' pools; an alarm that
 * runs behind them shows when they have ended. Control threads.
 */

#include <stdbool.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>

#include <uroce_config.h>

#include "port/ethdev/ethdev_halt.h"
#include "port/memif/memif.h"

#define MEMIF     "net_memif"
#define SETTLE_US 100

/* Receive and free the frames in a queue, so that their mbufs return to the pool. */
static void
drain(uint16_t port_id, uint16_t queue)
{
	struct rte_mbuf *frames[UROCE_BURST];
	unsigned int n;

	for (unsigned int total = 0; total < UINT16_MAX; total += n) {
		n = rte_eth_rx_burst(port_id, queue, frames, RTE_DIM(frames));
		if (n == 0)
			break;
		rte_pktmbuf_free_bulk(frames, n);
	}
}

static void
stop(uint16_t port_id, const struct rte_eth_dev_info *info)
{
	/* the driver does not know what uroce_memif_receive() has read, and these rings have no mbufs */
	const bool is_moved = strcmp(info->driver_name, MEMIF) == 0 && uroce_memif_is_moved(port_id);

	for (uint16_t i = 0; !is_moved && i < info->nb_rx_queues; i++)
		drain(port_id, i);
	for (uint16_t i = 0; i < info->nb_tx_queues; i++)
		rte_eth_tx_done_cleanup(port_id, i, 0);
	rte_eth_dev_stop(port_id);
}

struct halting {
	uint16_t port_id;
	const struct rte_eth_dev_info *info; /* NULL: do nothing, only wait for the interrupt thread */
	bool done;
};

static void
halt_in_turn(void *arg)
{
	struct halting *h = arg;

	if (h->info != NULL)
		stop(h->port_id, h->info);
	__atomic_store_n(&h->done, true, __ATOMIC_RELEASE); /* pairs with on_interrupt_thread() */
}

/* Stop the device on EAL's interrupt thread, or with info NULL only wait for the handlers that run there.
 * @return false: this is the interrupt thread, or there is no alarm; nothing was done */
static bool
on_interrupt_thread(uint16_t port_id, const struct rte_eth_dev_info *info)
{
	struct halting h = { .port_id = port_id, .info = info };

	if (rte_thread_is_intr() || rte_eal_alarm_set(1, halt_in_turn, &h) != 0)
		return false;
	while (!__atomic_load_n(&h.done, __ATOMIC_ACQUIRE)) /* pairs with halt_in_turn() */
		rte_delay_us_sleep(SETTLE_US);
	return true;
}

/* Does the driver start, stop or fail over on EAL's interrupt thread, without a lock? */
static bool
is_changed_by_interrupts(const struct rte_eth_dev_info *info)
{
	return strcmp(info->driver_name, MEMIF) == 0 || strcmp(info->driver_name, "net_bonding") == 0;
}

void
uroce_ethdev_halt(uint16_t port_id)
{
	struct rte_eth_dev_info info = { .driver_name = "" };
	bool known = rte_eth_dev_info_get(port_id, &info) == 0;

	if (!known || !is_changed_by_interrupts(&info) || !on_interrupt_thread(port_id, &info))
		stop(port_id, &info);
	on_interrupt_thread(port_id, NULL);
}
