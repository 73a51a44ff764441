/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The text of --help. doc/reference/perf.rst has the details.
 */

#include "program.h"

const char uroce_app_name[] = "uroce-perf";

const char uroce_app_both_ends[] = "leave --server and --client out";

const char uroce_app_usage[] =
	"Usage: uroce-perf [EAL arguments] -- [options]\n"
	"\n"
	"Measures RDMA operations. With no DPDK port it makes two net_ring ports and runs both ends in\n"
	"this process: on one lcore, or on two with one for each end. Else it is one end of two:\n"
	"\n"
	"  --server                 wait for a client, serve it, and end\n"
	"  --client ADDR            run the test against the server with this RDMA address\n"
	"  --addr IP/PREFIX         address of the port; once for each port\n"
	"  --oob tcp:[HOST:]PORT    meet over a TCP socket, in place of the RDMA CM over the ports\n"
	"  --oob unix:PATH          or over a UNIX socket\n"
	"\n"
	"What to measure:\n"
	"  --op OP                  write (default), write-imm, read, send, send-imm, fetch-add, cmp-swap\n"
	"  --transport rc|uc|ud     reliable (default), or not: uc has WRITEs and SENDs, ud SENDs\n"
	"  --mode bw|rate|lat       throughput (default), messages per second, or one at a time\n"
	"  --size BYTES[K|M]|all    of a message (64K); all: powers of two from 1 to 8M\n"
	"  --mtu N                  path MTU: 256, 512, 1024, 2048 or 4096 (default)\n"
	"  --qps N                  queue pairs (1)\n"
	"  --depth N                messages outstanding on each of them (128)\n"
	"  --time S                 seconds for each size (5)\n"
	"  --iters N                messages for each size, all queue pairs together, in place of --time\n"
	"\n"
	"  --verify                 check every byte at its destination\n"
	"  --fault N                spoil message N of the first queue pair: --verify has to find it\n"
	"  --floor                  measure before and after what bounds this: a core that only computes CRCs\n"
	"                           and copies, mbufs that only go over rings; print the share of it\n"
	"  --impair loss=P,reorder=P,dup=P,corrupt=P,ecn=P,delay=T,jitter=T,seed=N\n"
	"                           a bad network in front of this end's ports (both ends in one process);\n"
	"                           burst=N, late=T and limit=N, too\n"
	"  --congestion on|off      answer marks, and slow down for CNPs (on), at this end's ports\n"
	"  --go-back-n              answer a loss by sending all again that follows it, as others do\n"
	"  --stats-period S         show every S seconds what moves, what is lost, how busy the workers are\n"
	"  --json FILE|-            write the results there too\n"
	"  -i, --interactive        a prompt: show, set, start, stop, help; EAL's lcores do the work\n"
	"  --cmdline-file FILE      commands of the prompt; after them the prompt, with -i, or the end\n"
	"  --help, --version\n"
	"\n"
	"Without hugepages say --no-huge among the EAL arguments. Exit status: 0; 1 when something went\n"
	"wrong or a byte was; 2 for a wrong argument.\n";
