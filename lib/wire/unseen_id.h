/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * IPv4 packets whose identification the port does not see, since the kernel has removed the IP header. The ICRC covers
 * the identification, so R5 becomes weaker: the ICRC must be right with one of the 65,536 identifications, and so 16 of
 * its 32 bits check the packet. Workers.
 */

#ifndef UROCE_WIRE_UNSEEN_ID_H
#define UROCE_WIRE_UNSEEN_ID_H

#include <stdbool.h>
#include <stdint.h>

struct rte_ipv4_hdr;

/** Flag of such a packet's mbuf (ol_flags); 0: the process has none. Constant once a port sets it. */
extern uint64_t uroce_unseen_id_flag;

/** Allocate the flag. Control threads. @return 0 or -errno */
int uroce_unseen_id_init(void);

/**
 * Find the identification with which the ICRC is right, and write it into the header.
 *
 * @param ip	the header; its identification is a guess
 * @param error	XOR of the packet's ICRC and of the one that its bytes, with the guess, result in
 * @param covered_bytes	from the IP header up to, not including, the ICRC
 * @return	false: there is none: R5
 */
bool uroce_unseen_id_find(struct rte_ipv4_hdr *ip, uint32_t error, uint32_t covered_bytes);

#endif /* UROCE_WIRE_UNSEEN_ID_H */
