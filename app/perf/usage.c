/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The text of --help. doc/reference/perf.rst has the details.
 */

#include "program.h"

const char uroce_app_name[] = "uroce-perf";

const char uroce_app_both_ends[] = "leave out --server and --client";

const char uroce_app_usage[] =
	"Usage: uroce-perf [EAL arguments] -- [options]\n"
	"\n"
	"Measures RDMA bandwidth, message rate and latency. Without a DPDK port it creates two net_ring\n"
	"ports and runs client and server in this process, on one or two lcores. With a port:\n"
	"\n"
	"  --server                 wait for a client, serve its tests, and exit\n"
	"  --client ADDR            run the test against the server with this RDMA address\n"
	"  --addr IP/PREFIX         address of the port; once per port\n"
	"  --oob tcp:[HOST:]PORT    exchange connection data over TCP instead of the RDMA CM\n"
	"  --oob unix:PATH          exchange it over a UNIX socket\n"
	"\n"
	"Test:\n"
	"  --op OP                  write (default), write-imm, read, send, send-imm, fetch-add, cmp-swap\n"
	"  --transport rc|uc|ud     connection type (default rc); uc supports write and send, ud only send\n"
	"  --mode bw|rate|lat       bandwidth (default), message rate, or latency\n"
	"  --size BYTES[K|M]|all    message size (default 64K); all: powers of two from 1 to 8M\n"
	"  --mtu BYTES              path MTU: 256, 512, 1024, 2048 or 4096 (default)\n"
	"  --qps N                  number of queue pairs (default 1)\n"
	"  --depth N                messages in flight per queue pair (default 128)\n"
	"  --time SECONDS           duration for each message size (default 5)\n"
	"  --iters N                messages for each message size, over all queue pairs, instead of --time\n"
	"  --verify                 check every byte at its destination\n"
	"  --fault N                corrupt message N of the first queue pair, which --verify must detect\n"
	"  --floor                  also measure the bounds of this host: CRC and copy on one core, bare\n"
	"                           mbufs over rings; print the share of them that the test reaches\n"
	"\n"
	"Network, at this end's ports (in one process: at both ends'):\n"
	"  --impair loss=P,reorder=P,dup=P,corrupt=P,ecn=P,delay=T,jitter=T,seed=N\n"
	"                           emulate an impaired network; also burst=N, late=T and limit=N\n"
	"  --congestion on|off      congestion control by ECN marks and CNPs (default on)\n"
	"  --go-back-n              recover from losses by go-back-N, as most RNICs do\n"
	"\n"
	"Output:\n"
	"  --stats-period SECONDS   print traffic, losses and worker load at this interval\n"
	"  --json FILE|-            also write the results as JSON\n"
	"  -i, --interactive        prompt with the commands show, set, start, stop and help\n"
	"  --cmdline-file FILE      run the prompt's commands in FILE, then the prompt (-i), or exit\n"
	"  -h, --help, --version\n"
	"\n"
	"Without hugepages, add --no-huge to the EAL arguments. Exit status: 0; 1 on a failure or a wrong\n"
	"byte; 2 on a wrong argument.\n";
