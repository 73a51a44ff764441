/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * One end of the interoperability tests: a verbs program that reads commands from standard input, a line each, and
 * answers each with a line: "ok ..." or "error ...". At a time it has some queue pairs of one type with their memory.
 * scenarios.py sends the commands. "q=" selects a queue pair; the default is the first.
 *
 * qp sgid=A size=N [psn= own=1 type=rc|uc|ud qkey= qps=N srq=1 placement=1 flushed=1]
 *                                  new memory (zeroed), MR, CQ, QPs -> rkey= addr= qpn= qpn1= ...
 * connect dgid=A qpn=N psn=N mtu=N [q= timeout= retry= rnr= min_rnr=]
 *                                  to RTS
 * recv n=N len=N [at= stride= sges=]
 *                                  post receives, wr_id from 0
 * send op=O n=N [len= at= stride= sges= flags= imm= remote= remote_stride= rkey= compare= swap=
 *       step= inv= qkey=]          post one list of n WRs, wr_id from 0
 * place flush=0|1 n=N remote=N rkey=N [at= stride= len= remote_stride= type= level=]
 *                                  post n ATOMIC_WRITEs or FLUSHes, wr_id from 0
 * bind type=1|2 at=N len=N access=N [key=]
 *                                  bind a memory window, with this low byte of its key -> rkey=
 * poll n=N ms=N                    wait for n completions -> id:status:opcode:bytes:imm or
 *                                  invalidated rkey:qpn:src_qp of a datagram ...
 * fill at=N len=N seed=N           write the pattern of this seed into the memory
 * check at=N len=N seed=N          compare with it
 * put at=N value=N, get at=N       64-bit words in host byte order
 * ping address=A                   send an echo request
 * state, counters, close
 */

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>

#include "end.h"
#include "line.h"

#define LINE_BYTES 4096
#define IDLE_NS    50000

struct ibv_context *context;
struct ibv_pd *pd;

void
idle(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = IDLE_NS }, NULL);
}

/* Wait for a command; the implementation makes progress meanwhile. */
static bool
read_line(char *line)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	size_t n = 0;

	for (;;) {
		bool polled = probe_progress();

		if (poll(&in, 1, polled ? 0 : -1) <= 0) {
			idle();
			continue;
		}
		if (n == LINE_BYTES - 1 || read(STDIN_FILENO, line + n, 1) != 1)
			return false;
		if (line[n] == '\n')
			break;
		n++;
	}
	line[n] = '\0';
	return true;
}

static void
do_ping(const char *line)
{
	const char *text = line_text(line, "address");
	char address[INET6_ADDRSTRLEN];
	int ret = EINVAL;

	if (text != NULL && sscanf(text, "%45s", address) == 1)
		ret = probe_ping(context, address);
	if (ret == 0)
		puts("ok");
	else
		printf("error ping: %s\n", strerror(ret));
}

static bool
is(const char *line, const char *command)
{
	size_t n = strlen(command);

	return strncmp(line, command, n) == 0 && (line[n] == ' ' || line[n] == '\0');
}

static void
run_without_qp(const char *line)
{
	if (is(line, "qp")) {
		do_qp(line);
	} else if (is(line, "ping")) {
		do_ping(line);
	} else if (is(line, "counters")) {
		printf("ok");
		probe_counters(context);
		putchar('\n');
	} else if (is(line, "close")) {
		puts(end_close() == 0 ? "ok" : "error closing");
	} else {
		puts("error no such command, or no queue pair");
	}
}

static void
run(const char *line)
{
	if (self.count == 0)
		run_without_qp(line);
	else if (is(line, "connect"))
		do_connect(line);
	else if (is(line, "recv"))
		do_recv(line);
	else if (is(line, "send"))
		do_send(line);
	else if (is(line, "place"))
		do_place(line);
	else if (is(line, "poll"))
		do_poll(line);
	else if (is(line, "fill"))
		do_fill(line);
	else if (is(line, "check"))
		do_check(line);
	else if (is(line, "put") || is(line, "get"))
		do_word(line, is(line, "put"));
	else if (is(line, "state"))
		do_state(line);
	else if (is(line, "bind"))
		do_bind(line);
	else
		run_without_qp(line);
}

int
main(int argc, char **argv)
{
	char line[LINE_BYTES];

	context = probe_open(argc, argv);
	pd = VERB(alloc_pd)(context);
	if (pd == NULL) {
		fprintf(stderr, "%s: no protection domain: %s\n", argv[0], strerror(errno));
		return 1;
	}
	puts("ok ready");
	fflush(stdout);
	while (read_line(line)) {
		run(line);
		fflush(stdout);
	}
	end_close();
	return 0;
}
