/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The text of --help. doc/rping.rst has the details.
 */

#include "program.h"

const char uroce_app_name[] = "uroce-rping";

const char uroce_app_both_ends[] = "leave -s and -c out";

const char uroce_app_usage[] =
	"Usage: uroce-rping [EAL arguments] -- [options]\n"
	"\n"
	"Pings by RDMA, as rping(1) does, and with it: the server reads the client's data by RDMA READ and\n"
	"writes it back by RDMA WRITE. With no DPDK port it makes two net_ring ports and runs both ends in\n"
	"this process. Else it is one end of two:\n"
	"\n"
	"  -s                wait for a client\n"
	"  -c                be one\n"
	"  --addr IP/PREFIX  address of the port; once for each port\n"
	"  -a ADDR           the server's address; with -s: only there (0.0.0.0; ::0 for IPv6, too)\n"
	"  -I ADDR           the client's source address\n"
	"  -p PORT           the server's port of RDMA_PS_TCP (7174)\n"
	"  -P                the server serves any number of clients, until Ctrl-C\n"
	"\n"
	"  -C COUNT          pings (0: until Ctrl-C)\n"
	"  -S SIZE           bytes of a ping (64)\n"
	"  -v                print the data\n"
	"  -V                check every byte that comes back\n"
	"  -d                tell what happens\n"
	"  -q                make and modify the QP by hand\n"
	"  --fault N         the server spoils ping N: the client's -V has to find it\n"
	"  --help, --version\n"
	"\n"
	"Without hugepages say --no-huge among the EAL arguments. Exit status: 0; 1 when something went\n"
	"wrong or a byte was; 2 for a wrong argument.\n";
