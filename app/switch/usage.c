/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The text of --help. doc/switch.rst has the details.
 */

#include "program.h"

const char uroce_app_name[] = "uroce-switch";

const char uroce_app_both_ends[] = "say --ports";

const char uroce_app_usage[] =
	"Usage: uroce-switch [EAL arguments --] [options]\n"
	"\n"
	"A learning Ethernet switch between processes of this host: each has a net_memif port, and the ports\n"
	"that EAL is given, if any, lead further. It needs neither root nor hugepages. uroce-run finds it.\n"
	"\n"
	"  --dir DIR    where its socket is, DIR/memif, with a port for each id from 0 on; made if it is not\n"
	"               there ($UROCE_DIR, $XDG_RUNTIME_DIR/uroce, /run/uroce for root, else /tmp/uroce-UID)\n"
	"  --ports N    at its socket (8)\n"
	"  --busy       never sleep: the least delay, and a whole CPU\n"
	"  --help, --version\n"
	"\n"
	"Without EAL arguments it uses no hugepages and no PCI devices, and shares its CPUs. SIGUSR1: counters\n"
	"on standard error, as at the end. Exit status: 0; 1 when something went wrong; 2 for a wrong argument.\n";
