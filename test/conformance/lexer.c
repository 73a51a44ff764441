/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Reads scenario files, and prints each error in one. For one thread.
 */

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lexer.h"

void
lexer_fail(const struct lexer *l, const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "%s:%u: ", l->file, l->line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

void
lexer_open(struct lexer *l, const char *file)
{
	FILE *f = fopen(file, "rb");
	long bytes;

	memset(l, 0, sizeof(*l));
	l->file = file;
	if (f == NULL || fseek(f, 0, SEEK_END) != 0 || (bytes = ftell(f)) < 0)
		lexer_fail(l, "cannot be opened");
	rewind(f);
	l->text = calloc(1, (size_t)bytes + 1);
	if (l->text == NULL || fread(l->text, 1, (size_t)bytes, f) != (size_t)bytes)
		lexer_fail(l, "cannot be read");
	fclose(f);
	l->next = l->text;
	l->next_line = 1;
}

void
lexer_close(struct lexer *l)
{
	free(l->text);
	l->text = NULL;
}

/* Cut off the next line, without its comment. @return false: no line is left */
static bool
next_line(struct lexer *l, char **line)
{
	char *end, *comment;

	if (*l->next == '\0')
		return false;
	*line = l->next;
	end = strchr(l->next, '\n');
	l->next = end == NULL ? l->next + strlen(l->next) : end + 1;
	if (end != NULL)
		*end = '\0';
	comment = strchr(*line, '#');
	if (comment != NULL)
		*comment = '\0';
	return true;
}

static bool
is_blank(const char *line)
{
	return line[strspn(line, " \t\r")] == '\0';
}

/* Join two lines in place: the bytes between them become blanks. */
static void
join(char *line, char *more)
{
	char *end = line + strlen(line);

	memset(end, ' ', (size_t)(more - end));
}

bool
lexer_statement(struct lexer *l)
{
	char *line;

	do {
		l->line = l->next_line++;
		if (!next_line(l, &line))
			return false;
	} while (is_blank(line));
	if (isblank((unsigned char)*line))
		lexer_fail(l, "nothing comes before this line that it could continue");
	l->at = line;
	while (isblank((unsigned char)*l->next)) {
		char *more;

		l->next_line++;
		if (next_line(l, &more))
			join(line, more);
	}
	return true;
}

static void
skip_blanks(struct lexer *l)
{
	l->at += strspn(l->at, " \t\r");
}

bool
lexer_done(struct lexer *l)
{
	skip_blanks(l);
	return *l->at == '\0';
}

static bool
is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

bool
lexer_take(struct lexer *l, const char *literal)
{
	size_t n = strlen(literal);

	skip_blanks(l);
	if (strncmp(l->at, literal, n) != 0)
		return false;
	if (is_word_char(literal[n - 1]) && is_word_char(l->at[n]))
		return false;
	l->at += n;
	return true;
}

void
lexer_need(struct lexer *l, const char *literal)
{
	if (!lexer_take(l, literal))
		lexer_fail(l, "expected '%s' before '%s'", literal, l->at);
}

const char *
lexer_word(struct lexer *l)
{
	size_t n = 0;

	skip_blanks(l);
	if (!isalpha((unsigned char)*l->at))
		return NULL;
	while (is_word_char(l->at[n]))
		n++;
	if (n >= sizeof(l->word))
		lexer_fail(l, "'%s': a word is too long", l->at);
	memcpy(l->word, l->at, n);
	l->word[n] = '\0';
	l->at += n;
	return l->word;
}

const char *
lexer_need_word(struct lexer *l, const char *what)
{
	const char *word = lexer_word(l);

	if (word == NULL)
		lexer_fail(l, "expected %s before '%s'", what, l->at);
	return word;
}

bool
lexer_is_number(struct lexer *l)
{
	skip_blanks(l);
	return isdigit((unsigned char)*l->at);
}

uint64_t
lexer_number(struct lexer *l)
{
	char *end;
	uint64_t value;

	if (!lexer_is_number(l))
		lexer_fail(l, "expected a number before '%s'", l->at);
	value = strtoull(l->at, &end, 0);
	if (is_word_char(*end))
		lexer_fail(l, "'%s': not a number", l->at);
	l->at = end;
	return value;
}

uint64_t
lexer_duration(struct lexer *l)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char *end;
	double value;

	if (!lexer_is_number(l))
		lexer_fail(l, "expected a duration before '%s'", l->at);
	value = strtod(l->at, &end);
	l->at = end;
	for (unsigned int i = 0; i < RTE_DIM(units); i++)
		if (lexer_take(l, units[i].name))
			return (uint64_t)(value * units[i].ns + 0.5);
	lexer_fail(l, "expected ns, us, ms or s before '%s'", l->at);
}

const char *
lexer_text(struct lexer *l)
{
	size_t n;

	skip_blanks(l);
	n = strcspn(l->at, " \t\r");
	if (n == 0 || n >= sizeof(l->word))
		lexer_fail(l, "expected an address before '%s'", l->at);
	memcpy(l->word, l->at, n);
	l->word[n] = '\0';
	l->at += n;
	return l->word;
}

static unsigned int
hex_digit(struct lexer *l)
{
	char c = (char)tolower((unsigned char)*l->at);

	if (!isxdigit((unsigned char)c))
		lexer_fail(l, "expected hexadecimal digits before '%s'", l->at);
	l->at++;
	return c <= '9' ? (unsigned int)(c - '0') : (unsigned int)(c - 'a') + 10;
}

uint32_t
lexer_hex(struct lexer *l, uint8_t *bytes, uint32_t room)
{
	uint32_t n = 0;

	skip_blanks(l);
	while (*l->at != '\0' && strchr(" \t\r", *l->at) == NULL) {
		unsigned int high = hex_digit(l);

		if (n == room)
			lexer_fail(l, "more than %u bytes", room);
		bytes[n++] = (uint8_t)(high << 4 | hex_digit(l));
	}
	return n;
}
