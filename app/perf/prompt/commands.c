/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The table of commands: each is a list of tokens for rte_cmdline to match and complete. The function of a command
 * checks the values of its words, since it can say what is wrong with them.
 */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmdline.h>
#include <cmdline_parse.h>
#include <cmdline_parse_string.h>
#include <rte_common.h>

#include "prompt/commands.h"
#include "prompt/prompt.h"
#include "prompt/set.h"
#include "prompt/show.h"

#define WORD_BYTES 256 /* with its end */

/* What every command is parsed into: as many words as it has. */
struct command {
	cmdline_fixed_string_t verb;
	cmdline_fixed_string_t noun;
	char word[WORD_BYTES];
};

/* Any word; `words`, with # in between, are those that it is completed to. */
struct word_token {
	struct cmdline_token_hdr hdr;
	const char *words;
};

static struct perf_session *session;
static char *impairment; /* that session->options points to */

static int
word_parse(cmdline_parse_token_hdr_t *token, const char *line, void *result, unsigned int room)
{
	char *word = result;
	unsigned int n = 0;

	RTE_SET_USED(token);
	while (!cmdline_isendoftoken(line[n]))
		n++;
	if (n == 0 || n >= WORD_BYTES || (word != NULL && n >= room))
		return -1;
	if (word != NULL) {
		memcpy(word, line, n);
		word[n] = '\0';
	}
	return (int)n;
}

static int
word_count(cmdline_parse_token_hdr_t *token)
{
	const char *at = ((const struct word_token *)token)->words;
	int n = 0;

	for (; at != NULL && *at != '\0'; n++)
		at += strcspn(at, "#") + (at[strcspn(at, "#")] == '#');
	return n;
}

static int
word_complete(cmdline_parse_token_hdr_t *token, int i, char *word, unsigned int room)
{
	const char *at = ((const struct word_token *)token)->words;

	if (i >= word_count(token))
		return -1;
	while (i-- > 0)
		at += strcspn(at, "#") + 1;
	return snprintf(word, room, "%.*s", (int)strcspn(at, "#"), at) < (int)room ? 0 : -1;
}

static int
word_help(cmdline_parse_token_hdr_t *token, char *text, unsigned int room)
{
	const char *words = ((const struct word_token *)token)->words;

	snprintf(text, room, "%s", words != NULL && words[0] != '\0' ? words : "VALUE");
	return 0;
}

static struct cmdline_token_ops word_ops = {
	.parse = word_parse,
	.complete_get_nb = word_count,
	.complete_get_elt = word_complete,
	.get_help = word_help,
};

#define VERB(name) TOKEN_STRING_INITIALIZER(struct command, verb, name)
#define NOUN(names) TOKEN_STRING_INITIALIZER(struct command, noun, names)
#define WORD(choices) { { &word_ops, offsetof(struct command, word) }, choices }

/* ---- show and clear */

#define SHOWN "port#qp#mr#cq#counters#config#worker#results"

static void
show(void *parsed, struct cmdline *cl, void *data)
{
	const struct command *c = parsed;
	char error[PERF_TEXT_BYTES];

	RTE_SET_USED(cl);
	if (uroce_perf_show(session, uroce_perf_prompt_out(), c->noun, data != NULL ? c->word : NULL, error,
			    sizeof(error)) != 0)
		uroce_perf_prompt_refuse("%s", error);
}

static cmdline_parse_token_string_t show_verb = VERB("show");
static cmdline_parse_token_string_t show_noun = NOUN(SHOWN);
static struct word_token show_word = WORD("all");

static cmdline_parse_inst_t show_command = {
	.f = show,
	.help_str = "show " SHOWN,
	.tokens = { (void *)&show_verb, (void *)&show_noun, NULL },
};

static cmdline_parse_inst_t show_some_command = {
	.f = show,
	.data = &show_word,
	.help_str = "show " SHOWN " NUMBER|all",
	.tokens = { (void *)&show_verb, (void *)&show_noun, (void *)&show_word, NULL },
};

static void
clear(void *parsed, struct cmdline *cl, void *data)
{
	RTE_SET_USED(parsed);
	RTE_SET_USED(cl);
	RTE_SET_USED(data);
	uroce_perf_show_clear(session);
}

static cmdline_parse_token_string_t clear_verb = VERB("clear");
static cmdline_parse_token_string_t clear_noun = NOUN("counters");

static cmdline_parse_inst_t clear_command = {
	.f = clear,
	.help_str = "clear counters",
	.tokens = { (void *)&clear_verb, (void *)&clear_noun, NULL },
};

/* ---- set */

/* A server's tests are its client's. */
static bool
is_idle(const char *what)
{
	if (session->bench == NULL)
		uroce_perf_prompt_refuse("%s: the client says what runs: tell its prompt", what);
	else if (uroce_perf_session_state(session) == PERF_SESSION_RUNNING)
		uroce_perf_prompt_refuse("%s: a test runs: stop it, or wait", what);
	else
		return true;
	return false;
}

static void
set(void *parsed, struct cmdline *cl, void *data)
{
	const struct command *c = parsed;
	char error[PERF_TEXT_BYTES], *value;

	RTE_SET_USED(cl);
	RTE_SET_USED(data);
	if (!is_idle("set"))
		return;
	value = strdup(c->word);
	if (value == NULL) {
		uroce_perf_prompt_refuse("set: no memory");
	} else if (uroce_perf_set(&session->options, c->noun, value, error, sizeof(error)) != 0) {
		uroce_perf_prompt_refuse("set %s", error);
	} else if (session->options.impair == value) {
		free(impairment);
		impairment = value;
		return;
	}
	free(value);
}

static cmdline_parse_token_string_t set_verb = VERB("set");

#define SET(name, text, words) \
	static cmdline_parse_token_string_t set_##name##_noun = NOUN(#name); \
	static struct word_token set_##name##_word = WORD(words); \
	static cmdline_parse_inst_t set_##name##_command = { \
		.f = set, \
		.help_str = "set " #name " " text, \
		.tokens = { (void *)&set_verb, (void *)&set_##name##_noun, (void *)&set_##name##_word, NULL }, \
	}

SET(op, "OP", "write#write-imm#read#send#send-imm#fetch-add#cmp-swap");
SET(transport, "rc|uc|ud", "rc#uc#ud");
SET(mode, "bw|rate|lat", "bw#rate#lat");
SET(size, "BYTES[K|M]|all", "all");
SET(mtu, "256..4096", "256#512#1024#2048#4096");
SET(qps, "N", NULL);
SET(depth, "N", NULL);
SET(time, "SECONDS", NULL);
SET(iters, "N", NULL);
SET(verify, "on|off", "on#off");
SET(fault, "N|off", "off");
SET(impair, "loss=P,...|off", "off");
SET(congestion, "on|off", "on#off");

/* ---- what runs */

static void
start(void *parsed, struct cmdline *cl, void *data)
{
	RTE_SET_USED(parsed);
	RTE_SET_USED(cl);
	RTE_SET_USED(data);
	if (!is_idle("start"))
		return;
	uroce_perf_prompt_wait(0); /* results that are not printed yet are about to go */
	if (!uroce_perf_session_start(session))
		uroce_perf_prompt_refuse("start: the program ends");
}

/* What follows finds it stopped. */
static void
stop(void *parsed, struct cmdline *cl, void *data)
{
	RTE_SET_USED(parsed);
	RTE_SET_USED(cl);
	RTE_SET_USED(data);
	if (session->bench == NULL) {
		uroce_perf_prompt_refuse("stop: the client says what runs: quit ends this end");
		return;
	}
	uroce_perf_session_stop(session);
	uroce_perf_prompt_wait(-1);
}

static void
wait_some(void *parsed, struct cmdline *cl, void *data)
{
	const struct command *c = parsed;
	double seconds = -1;
	char *end;

	RTE_SET_USED(cl);
	if (data != NULL) {
		seconds = strtod(c->word, &end);
		if (end == c->word || *end != '\0' || !isfinite(seconds) || seconds < 0 ||
		    seconds > UROCE_PERF_MAX_TIME_S) {
			uroce_perf_prompt_refuse("wait %s: give seconds, up to %u, as 5 or 0.5", c->word,
						 UROCE_PERF_MAX_TIME_S);
			return;
		}
	}
	uroce_perf_prompt_wait(seconds);
}

static void
quit(void *parsed, struct cmdline *cl, void *data)
{
	RTE_SET_USED(parsed);
	RTE_SET_USED(cl);
	RTE_SET_USED(data);
	uroce_perf_prompt_quit();
}

#define PLAIN(name) \
	static cmdline_parse_token_string_t name##_verb = VERB(#name); \
	static cmdline_parse_inst_t name##_command = { \
		.f = name, \
		.help_str = #name, \
		.tokens = { (void *)&name##_verb, NULL }, \
	}

PLAIN(start);
PLAIN(stop);
PLAIN(quit);

static cmdline_parse_token_string_t wait_verb = VERB("wait");
static struct word_token wait_word = WORD(NULL);

static cmdline_parse_inst_t wait_command = {
	.f = wait_some,
	.help_str = "wait",
	.tokens = { (void *)&wait_verb, NULL },
};

static cmdline_parse_inst_t wait_some_command = {
	.f = wait_some,
	.data = &wait_word,
	.help_str = "wait SECONDS",
	.tokens = { (void *)&wait_verb, (void *)&wait_word, NULL },
};

/* ---- help */

static const struct {
	const char *topic;
	const char *text;
} topics[] = {
	{ "show",
	  "show port|qp|mr|cq|counters|config|worker|results [NUMBER|all]\n"
	  "  qp, mr, cq         those of the test that runs; NUMBER: one queue pair at length\n"
	  "  counters [all]     what is not 0, since clear counters\n"
	  "  config             what set has set: what start will run\n"
	  "  worker             how much of their time, since they were shown last, the workers had work\n"
	  "  results            of the last test\n"
	  "clear counters       from now on they are shown as counted from here\n" },
	{ "set",
	  "set NAME VALUE       while no test runs, in the words of the command line:\n"
	  "  op OP              write, write-imm, read, send, send-imm, fetch-add, cmp-swap\n"
	  "  transport, mode    rc, uc or ud; bw, rate or lat\n"
	  "  size, mtu          BYTES[K|M] or all; 256, 512, 1024, 2048 or 4096\n"
	  "  qps, depth         queue pairs, and messages outstanding on each\n"
	  "  time, iters        seconds, or messages: what was set last ends the test\n"
	  "  verify             on or off\n"
	  "  fault              the message that is spoilt, with verify; or off\n"
	  "  impair             loss=P,reorder=P,dup=P,corrupt=P,ecn=P,delay=T,... or off\n"
	  "  congestion         on or off\n" },
	{ "run",
	  "start                run a test; the prompt goes on meanwhile\n"
	  "stop                 end it, and wait for its results; Ctrl-C ends it too\n"
	  "wait [SECONDS]       until it has ended, or so long\n"
	  "quit                 end it, and the program; so do Ctrl-D, and Ctrl-C when no test runs\n" },
};

static void
help(void *parsed, struct cmdline *cl, void *data)
{
	const struct command *c = parsed;
	FILE *out = uroce_perf_prompt_out();
	bool found = false;

	RTE_SET_USED(cl);
	for (unsigned int i = 0; i < RTE_DIM(topics); i++) {
		if (data != NULL && strcmp(c->word, topics[i].topic) != 0)
			continue;
		fprintf(out, "%s", topics[i].text);
		found = true;
	}
	if (!found)
		uroce_perf_prompt_refuse("help %s: there is show, set and run", c->word);
}

static cmdline_parse_token_string_t help_verb = VERB("help");
static struct word_token help_word = WORD("show#set#run");

static cmdline_parse_inst_t help_command = {
	.f = help,
	.help_str = "help",
	.tokens = { (void *)&help_verb, NULL },
};

static cmdline_parse_inst_t help_topic_command = {
	.f = help,
	.data = &help_word,
	.help_str = "help show|set|run",
	.tokens = { (void *)&help_verb, (void *)&help_word, NULL },
};

cmdline_parse_ctx_t uroce_perf_commands[] = {
	&help_command,
	&help_topic_command,
	&show_command,
	&show_some_command,
	&clear_command,
	&set_op_command,
	&set_transport_command,
	&set_mode_command,
	&set_size_command,
	&set_mtu_command,
	&set_qps_command,
	&set_depth_command,
	&set_time_command,
	&set_iters_command,
	&set_verify_command,
	&set_fault_command,
	&set_impair_command,
	&set_congestion_command,
	&start_command,
	&stop_command,
	&wait_command,
	&wait_some_command,
	&quit_command,
	NULL,
};

void
uroce_perf_commands_init(struct perf_session *s)
{
	session = s;
}
