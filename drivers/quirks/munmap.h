/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The function that a program which links drivers/quirks/munmap.c must define, and one that libibverbs.so.1 calls.
 */

#ifndef UROCE_DRIVERS_QUIRKS_MUNMAP_H
#define UROCE_DRIVERS_QUIRKS_MUNMAP_H

/** Call fn(arg) while no thread of the program is within rte_eth_rx_burst() or rte_eth_tx_burst(). On EAL's interrupt
 * thread. */
void uroce_memif_hold(void (*fn)(void *arg), void *arg);

/** Redirect calls of the shared net_memif driver, if it is loaded, to munmap.c and sendmsg.c, once EAL has started. */
void uroce_memif_driver_hook(void);

#endif /* UROCE_DRIVERS_QUIRKS_MUNMAP_H */
