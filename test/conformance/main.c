/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Runs the scenarios in its arguments, statement by statement. An action of the engine that no statement expects is a
 * failure, too. For one thread.
 */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data.h"
#include "device.h"
#include "frame.h"
#include "statements.h"
#include "uroce_config.h"

/* Frames of an incomplete burst: ">>" adds one, ">" adds the last. */
static struct device_frame burst[DEVICE_BURST];
static unsigned int burst_frames;

static void
check_no_frame(struct lexer *l)
{
	const struct device_frame *f = device_out_peek();
	char text[512];

	if (f != NULL)
		lexer_fail(l, "the engine has sent a frame that nothing before expects: %s",
			   frame_describe(f, text, sizeof(text)));
}

static uint32_t
first_qpn(struct lexer *l)
{
	const struct object *qp = qp_first();

	if (qp == NULL)
		lexer_fail(l, "there is no queue pair yet");
	return qp->qpn;
}

static void
in_statement(struct lexer *l, bool last)
{
	static struct frame f;

	check_no_frame(l);
	if (burst_frames == DEVICE_BURST)
		lexer_fail(l, "more than %d frames in a burst", DEVICE_BURST);
	frame_parse(l, false, first_qpn(l), &f);
	frame_build(l, &f, &burst[burst_frames++]);
	if (!last)
		return;
	device_in(burst, burst_frames);
	burst_frames = 0;
	device_send();
}

static void
out_statement(struct lexer *l)
{
	static struct frame f;

	frame_parse(l, true, first_qpn(l), &f);
	if (device_out_peek() == NULL)
		lexer_fail(l, "expected %s, got nothing", uroce_opcodes[f.opcode].name);
	frame_check(l, &f, device_out_peek());
	device_out_take();
}

/* "+10ms": no frame leaves in this time. "+10ms < …": this frame leaves then, to the tick of the timer wheel. */
static void
wait_statement(struct lexer *l)
{
	uint64_t ns = lexer_duration(l), left;
	bool frame = lexer_take(l, "<");

	check_no_frame(l);
	left = device_wait(frame ? ns + UROCE_TICK_NS : ns);
	if (!frame) {
		check_no_frame(l);
		if (!lexer_done(l))
			lexer_fail(l, "only '<' may follow a time");
		return;
	}
	if (device_out_peek() != NULL && left > UROCE_TICK_NS)
		lexer_fail(l, "a frame was sent %" PRIu64 " ns too early", left - UROCE_TICK_NS);
	out_statement(l);
}

static void
device_statement(struct lexer *l)
{
	struct device_conf conf = device_ipv4;

	if (lexer_take(l, "ipv6"))
		conf = device_ipv6;
	conf.copy = lexer_take(l, "copy");
	conf.go_back_n = lexer_take(l, "go_back_n");
	if (!lexer_done(l))
		lexer_fail(l, "'%s': nothing that a device can be", l->at);
	if (object_at(0) != NULL)
		lexer_fail(l, "a device comes before everything else");
	device_close();
	device_open(&conf);
	(void)fcntl(device_context()->async_fd, F_SETFL, O_NONBLOCK);
}

static void
counter_statement(struct lexer *l)
{
	const char *name = lexer_need_word(l, "a counter");
	uint64_t got, expected;

	if (!device_counter(name, &got))
		lexer_fail(l, "'%s': no such counter", name);
	expected = object_value(l);
	if (got != expected)
		lexer_fail(l, "counter: expected %" PRIu64 ", got %" PRIu64, expected, got);
	statement_result(l, "counter", 0);
}

/* "A 0..63 = …": the range, and its expected bytes. */
static uint8_t *
memory_range(struct lexer *l, uint8_t *bytes, uint32_t room, uint32_t *n)
{
	struct object *o = object_need(l, OBJECT_MR);
	uint64_t from = object_value(l), to;

	lexer_need(l, "..");
	to = object_value(l);
	if (o->memory == NULL || to < from || to >= o->bytes || to - from >= room)
		lexer_fail(l, "%s has no such range of its own", o->name);
	*n = (uint32_t)(to - from + 1);
	lexer_need(l, "=");
	data_parse(l, bytes, *n, false);
	if (!lexer_done(l))
		lexer_fail(l, "'%s' was not expected", l->at);
	return o->memory + from;
}

static void
memory_statement(struct lexer *l)
{
	static uint8_t expected[1 << 16];
	uint32_t n;
	const uint8_t *got = memory_range(l, expected, sizeof(expected), &n);

	data_check(l, "memory", expected, got, n);
}

static void
set_statement(struct lexer *l)
{
	static uint8_t bytes[1 << 16];
	uint32_t n;
	uint8_t *to = memory_range(l, bytes, sizeof(bytes), &n);

	memcpy(to, bytes, n);
}

static void
stall_statement(struct lexer *l)
{
	device_stall(true);
	statement_result(l, "stall", 0);
}

static void
resume_statement(struct lexer *l)
{
	device_stall(false);
	statement_result(l, "resume", 0);
}

/* differ VALUE VALUE */
static void
differ_statement(struct lexer *l)
{
	uint64_t a = object_value(l), b = object_value(l);

	if (a == b)
		lexer_fail(l, "expected two values, got 0x%" PRIx64 " twice", a);
	statement_result(l, "differ", 0);
}

static const struct statement own_statements[] = {
	{ "device", device_statement }, { "counter", counter_statement }, { "memory", memory_statement },
	{ "set", set_statement }, { "stall", stall_statement }, { "resume", resume_statement },
	{ "differ", differ_statement }, { NULL, NULL },
};

static void
run_call(struct lexer *l)
{
	static const struct statement *const tables[] = {
		own_statements, control_statements, qp_statements, work_statements, guess_statements,
	};
	const char *name = lexer_need_word(l, "a statement");

	for (unsigned int i = 0; i < RTE_DIM(tables); i++) {
		for (const struct statement *s = tables[i]; s->name != NULL; s++) {
			if (strcmp(s->name, name) != 0)
				continue;
			s->run(l);
			device_send();
			return;
		}
	}
	lexer_fail(l, "'%s': no such statement", name);
}

static void
run_statement(struct lexer *l)
{
	if (burst_frames > 0 && !lexer_take(l, ">"))
		lexer_fail(l, "a burst ends with '>'");
	else if (burst_frames > 0)
		in_statement(l, !lexer_take(l, ">"));
	else if (lexer_take(l, ">>"))
		in_statement(l, false);
	else if (lexer_take(l, ">"))
		in_statement(l, true);
	else if (lexer_take(l, "<"))
		out_statement(l);
	else if (lexer_take(l, "+"))
		wait_statement(l);
	else
		run_call(l);
}

static void
run(const char *file)
{
	struct lexer l;
	const char *left;

	lexer_open(&l, file);
	device_open(&device_ipv4);
	(void)fcntl(device_context()->async_fd, F_SETFL, O_NONBLOCK);
	burst_frames = 0;
	while (lexer_statement(&l))
		run_statement(&l);
	if (burst_frames > 0)
		lexer_fail(&l, "a burst ends with '>'");
	check_no_frame(&l);
	work_check_empty(&l);
	control_destroy_all(&l);
	left = device_close();
	if (left != NULL)
		lexer_fail(&l, "at the end there are %s left", left);
	object_clear();
	lexer_close(&l);
	printf("%s: ok\n", file);
}

/* Run each file in a process of its own, so that a failure does not end the others. @return the number of failures */
static int
run_each(char **files, int n)
{
	int failed = 0;

	/* initialize EAL once for all of them */
	device_open(&device_ipv4);
	device_close();
	for (int i = 0; i < n; i++) {
		int status;
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			run(files[i]);
			fflush(stdout);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
			failed++;
	}
	return failed;
}

int
main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "--each") == 0)
		return run_each(argv + 2, argc - 2) == 0 ? 0 : 1;
	for (int i = 1; i < argc; i++)
		run(argv[i]);
	return argc > 1 ? 0 : 2;
}
